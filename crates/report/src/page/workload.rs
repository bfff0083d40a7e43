//! The workloads: what state they belong to, their charts, and beneath them their tables.

use super::points::{side_by_side, table};
use super::{Page, anchor};
use crate::text::clean;
use crate::view::{
    self, Breakdown, Rate, Section, WindowRow, bars, breakdowns, curves, passes_chart, rounds_chart, singles_chart,
    stages_chart, time_charts, window_rows,
};
use maud::{Markup, html};

/// The suites that answer something, in the order in which they ran.
pub(super) fn suites<'a>(sections: &[Section<'a>]) -> Vec<&'a str> {
    let mut out = Vec::new();
    for section in sections.iter().filter(|s| !s.prepares) {
        if !out.contains(&section.suite) {
            out.push(section.suite);
        }
    }
    out
}

/// All that answer something, under the heading of their suite where there are several.
pub(super) fn workloads(page: &mut Page, sections: &[Section<'_>]) -> Markup {
    let suites = suites(sections);
    html! {
        @for suite in &suites {
            @let here: Vec<(usize, &Section<'_>)> =
                sections.iter().enumerate().filter(|(_, s)| !s.prepares && s.suite == *suite).collect();
            @if suites.len() > 1 {
                section id={ "suite-" (clean(suite)) } {
                    h2 { "Suite " (clean(suite)) @if let Some(title) = title(&here) { ": " (clean(title)) } }
                }
            }
            @for (index, section) in here { (workload(page, section, index, suites.len() > 1)) }
        }
    }
}

fn title<'a>(sections: &[(usize, &Section<'a>)]) -> Option<&'a str> {
    sections.first().and_then(|(_, s)| s.series.first()).map(|series| series.run.suite.title.as_str())
}

/// What the fills did that only make a state.
pub(super) fn preparation(page: &mut Page, sections: &[Section<'_>]) -> Markup {
    let here: Vec<(usize, &Section<'_>)> = sections.iter().enumerate().filter(|(_, s)| s.prepares).collect();
    html! {
        @if !here.is_empty() {
            section id="preparation" {
                h2 { "Preparation" }
                p { "The fills that bring a drive into the state of a test. They are there for the state that they leave." }
                @for (index, section) in here {
                    details open[sections.len() <= OPEN_MAX] id=(anchor(index)) {
                        summary { (clean(section.workload)) " of suite " (clean(section.suite)) }
                        ({ page.anchor = anchor(index); table(page, section) })
                    }
                }
            }
        }
    }
}

/// Fills of a page with more sections than this are folded away.
const OPEN_MAX: usize = 12;

/// The section of a workload.
fn workload(page: &mut Page, section: &Section<'_>, index: usize, under_a_suite: bool) -> Markup {
    page.anchor = anchor(index);
    let stages = breakdowns(section);
    html! {
        section id=(page.anchor) {
            @if under_a_suite {
                h3.workload { (clean(section.workload)) }
            } @else {
                h2 { (clean(section.workload)) " " small { "suite " (clean(section.suite)) } }
            }
            p {
                @for origin in view::origins(section.all_points()) { (super::head::badge(origin)) " " }
                (view::state_sentence(section.judged_points()))
                @for fills in view::fills(section.judged_points()) { "; " (fills) }
                "."
            }
            (verdicts(section))
            (page.charts(&charts(section, &stages)))
            (published_peaks(section))
            (side_by_side(section))
            (table(page, section))
            (stages_tables(&stages))
        }
    }
}

/// Where the time of the requests went, as numbers.
fn stages_tables(all: &[Breakdown<'_>]) -> Markup {
    html! {
        @if !all.is_empty() {
            details {
                summary { "Mean time in each stage" }
                @for breakdown in all { (stages_table(breakdown)) }
            }
        }
    }
}

fn stages_table(breakdown: &Breakdown<'_>) -> Markup {
    let several = breakdown.rows.iter().any(|row| row.drive.is_some());
    let time = |ns: Option<f64>| ns.map_or_else(|| crate::text::NONE.to_owned(), crate::text::latency);
    html! {
        div.scroll { table.stack {
            thead { tr {
                th { (clean(breakdown.class)) }
                @if several { th { "at" } }
                @for stage in &breakdown.stages { th.number { (clean(stage)) } }
                th.number { "mean" } th.number { "followed" } th { "" }
            } }
            tbody { @for row in &breakdown.rows { tr data-drive=[row.drive] {
                th scope="row" { (clean(&row.label)) }
                @if several { td data-label="at" { (crate::text::short_place(&row.point.at)) } }
                @for stage in &breakdown.stages {
                    td.number data-label=(clean(stage)) { (time(row.stage_ns(stage))) }
                }
                td.number data-label="mean" { (time(Some(row.mean_ns()))) }
                td.number data-label="followed" { (crate::text::grouped(row.times.ios)) }
                td data-label="Provenance" { small { (row.point.origin.word()) } }
            } } }
        } }
    }
}

fn charts(section: &Section<'_>, stages: &[Breakdown<'_>]) -> Vec<crate::chart::Chart> {
    let mut out = Vec::new();
    if section.is_checkpoints() {
        out.extend(singles_chart(section));
        out.extend(passes_chart(section));
        out.extend(stages.iter().map(stages_chart));
        return out;
    }
    out.extend(bars(section));
    // With several drives, the seconds of each single point would be charts of their own.
    if section.series.len() == 1 {
        out.extend(time_charts(section));
    }
    out.extend(curves(section));
    out.extend(stages.iter().map(stages_chart));
    out.extend(rounds_chart(section));
    out
}

/// A sentence for one drive, a table for several.
fn verdicts(section: &Section<'_>) -> Markup {
    html! {
        @if let [only] = section.series.as_slice() {
            @if let Some(rounds) = &only.rounds { p { (rounds.words(section.rate)) } }
        } @else {
            @let rows = window_rows(section);
            @if !rows.is_empty() { (window_table(section, &rows)) }
        }
    }
}

fn window_table(section: &Section<'_>, rows: &[WindowRow]) -> Markup {
    let unit = if section.rate == Rate::Bandwidth { " (MB/s)" } else { "" };
    let printed = rows.iter().any(|r| r.published != crate::text::NONE);
    html! {
        div.scroll { table.stack {
            thead { tr {
                th { "Drive" } th { "Rounds" } th { "Window" }
                th.number.wrap { (section.rate.title()) " over the window" (unit) }
                th { "95 % interval" }
                @if printed { th.number { "Published" } }
                th.number { "Range" } th.number.wrap { "Fitted line moves" } th { "Verdict" } th { "State" }
            } }
            tbody { @for row in rows { tr data-drive=(row.rank) {
                th scope="row" { (clean(&row.label)) }
                td data-label="Rounds" { (row.rounds) }
                td data-label="Window" { (row.window) }
                td.number.figure data-label={ (section.rate.title()) (unit) } { (row.rate) }
                td data-label="95 % interval" { (row.interval) }
                @if printed { td.number data-label="Published" { (row.published) } }
                td.number data-label="Range" { (row.range) }
                td.number data-label="Fitted line moves" { (row.movement) }
                td data-label="Verdict" { (row.verdict) }
                td data-label="State" { (row.state) }
            } } }
        } }
    }
}

/// Published figures without a place in a chart.
fn published_peaks(section: &Section<'_>) -> Markup {
    let all = view::peaks(section);
    html! {
        @if !all.is_empty() {
            p.source { "Published without a place in the chart: " (clean(&all.join("; "))) "." }
        }
    }
}
