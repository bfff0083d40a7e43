//! How far the modelled drives lie from what reviews printed.

use super::Page;
use crate::text::{self, clean};
use crate::view::{self, Deviation, Section, deviations, scatters, words_of_published_place};
use flashlab_analysis::{ErrorSummary, Fidelity, PublishedPoint};
use maud::{Markup, html};

/// How many of the largest errors are named.
const WORST: usize = 10;
/// With fewer errors a 90th percentile is no more than one of them.
const P90_COUNT_MIN: usize = 10;
/// More lines than this are folded away.
const ROWS_SHOWN_MAX: usize = 12;

/// Nothing where no published figure has a result.
pub(super) fn section(page: &mut Page, fidelity: &Fidelity, sections: &[Section<'_>]) -> Markup {
    html! {
        @if !fidelity.rows.is_empty() {
            section id="fidelity" {
                h2 { "Against published figures" }
                p {
                    (fidelity.rows.len()) " figures that reviews printed have a modelled result at their place. The error is "
                    "modelled over published, less one. Points at a ceiling of the drive (97 % or more of its published "
                    "maximum) repeat one constant and are counted apart, so that they don't carry the median."
                }
                (summaries(&deviations(fidelity), sections))
                (page.charts(&scatters(fidelity, sections)))
                (worst(fidelity, sections))
                (missing(&fidelity.missing))
            }
        }
    }
}

/// What it comes to, and each drive and workload, folded where there are many.
fn summaries(rows: &[Deviation], sections: &[Section<'_>]) -> Markup {
    let (each, together): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|d| rank(sections, &d.drive).is_some());
    html! {
        (summary(&together, sections))
        details open[each.len() <= ROWS_SHOWN_MAX] {
            summary { "Each drive and workload, " (each.len()) " lines" }
            (summary(&each, sections))
        }
        p.source { "Errors without their sign. p90 is the error that 90 % stay below; it is given from " (P90_COUNT_MIN) " points on." }
    }
}

fn summary(rows: &[Deviation], sections: &[Section<'_>]) -> Markup {
    let count = |s: &Option<ErrorSummary>| s.map_or(0, |s| s.count);
    let share = |value: Option<f64>| value.map_or_else(|| text::NONE.to_owned(), text::percent);
    let headings = ["Points", "Median", "p90", "Worst", "At a ceiling", "Their median", "Their worst"];
    html! {
        div.scroll { table.stack {
            thead { tr {
                th { "Drive" } th { "Suite" } th { "Workload" }
                @for name in headings { th.number { (name) } }
            } }
            tbody { @for row in rows {
                @let p90 = row.free.filter(|s| s.count >= P90_COUNT_MIN).map(|s| s.p90);
                tr data-drive=[rank(sections, &row.drive)] {
                    th scope="row" { (clean(&row.drive)) }
                    td data-label="Suite" { (clean(&row.suite)) }
                    td data-label="Workload" { (clean(&row.workload)) }
                    td.number data-label="Points" { (count(&row.free)) }
                    td.number data-label="Median" { (share(row.free.map(|s| s.median))) }
                    td.number data-label="p90" { (share(p90)) }
                    td.number data-label="Worst" { (share(row.free.map(|s| s.worst))) }
                    td.number data-label="At a ceiling" { (count(&row.at_ceiling)) }
                    td.number data-label="Their median" { (share(row.at_ceiling.map(|s| s.median))) }
                    td.number data-label="Their worst" { (share(row.at_ceiling.map(|s| s.worst))) }
                }
            } }
        } }
    }
}

fn rank(sections: &[Section<'_>], drive: &str) -> Option<usize> {
    view::drive_ids(sections).into_iter().find(|(_, id)| *id == drive).map(|(rank, _)| rank)
}

fn worst(fidelity: &Fidelity, sections: &[Section<'_>]) -> Markup {
    let rows = fidelity.worst(WORST);
    html! {
        h3 { "The " (rows.len()) " largest errors" }
        div.scroll { table.stack {
            thead { tr {
                th { "Drive" } th { "Suite" } th { "Workload" } th { "At" } th { "Figure" } th.number { "Published" } th.number { "Modelled" }
                th.number { "Error" } th { "Review" }
            } }
            tbody { @for row in rows {
                @let p = &row.published;
                tr data-drive=[rank(sections, &p.drive_id)] {
                    th scope="row" { (clean(&p.drive_id)) }
                    td data-label="Suite" { (p.suite) }
                    td data-label="Workload" { (clean(&p.workload)) }
                    td data-label="At" { (clean(&words_of_published_place(p))) }
                    td data-label="Figure" { (text::label(p.metric)) }
                    td.number data-label="Published" title=(clean(&p.printed)) { (text::number(p.metric, p.value)) }
                    td.number data-label="Modelled" { (text::number(p.metric, row.result)) }
                    td.number data-label="Error" { (text::signed_percent(row.error())) }
                    td data-label="Review" { (clean(&p.review)) }
                }
            } }
        } }
    }
}

fn missing(points: &[PublishedPoint]) -> Markup {
    html! {
        @if !points.is_empty() {
            details {
                summary { (points.len()) " published figures of these drives have no result at their place" }
                ul { @for p in points { li {
                    (clean(&p.drive_id)) ", " (p.suite) " " (clean(&p.workload)) ", " (clean(&words_of_published_place(p)))
                    ": " (text::label(p.metric)) " " (clean(&p.printed))
                } } }
            }
        }
    }
}
