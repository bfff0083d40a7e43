//! The report as one HTML file that opens anywhere: style, script and data are inside, and a content
//! policy forbids it to fetch anything.
//!
//! Markup is escaped by `maud`; chart data stands in one JSON block that can't end its script
//! element. What is said is decided in `view`.

mod fidelity;
mod head;
mod method;
mod navigation;
mod points;
mod sheet;
mod short;
mod workload;

use crate::ReportError;
use crate::chart::{Chart, Texts, script_json};
use crate::error::check_finite;
use crate::text::{self, clean};
use crate::view::{self, Notes, Space, WearRow, sections, space_charts, wear_rows};
use flashlab_analysis::{PublishedPoint, RunRecord};
use flashlab_samples::Origin;
use flashlab_spec::DriveProfile;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value, json};

const STYLE: &str = include_str!("style.css");
const DRAW: &str = include_str!("draw.js");
/// Nothing may be fetched or sent. Inline script and style are the file itself; `data:` and `blob:`
/// are the pictures that the chart library makes of a chart.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

/// One self-contained HTML file about `runs`: measured, modelled or both, of one drive or several.
/// `profiles` are those of the modelled drives among them; their sheets and parameters are printed.
/// Of `published`, what agrees with a modelled run in drive, suite and workload is drawn beside it.
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn html(
    runs: &[RunRecord],
    profiles: &[DriveProfile],
    published: &[PublishedPoint],
    title: &str,
) -> Result<String, ReportError> {
    check_finite(runs)?;
    let sections = sections(runs, published);
    let modelled = runs.iter().filter(|run| run.provenance.origin == Origin::Modelled).flat_map(RunRecord::points);
    let compared = flashlab_analysis::fidelity(published, &modelled.collect::<Vec<_>>());
    let drives = view::drives(runs);
    let space = space_charts(runs);
    let wear = wear_rows(runs);
    let mut page = Page::default();
    let main = html! {
        (short::in_short(&sections, &drives))
        (head::limits(runs))
        (sheet::spec_sheets(profiles, &sections))
        (workload::workloads(&mut page, &sections))
        (space_section(&mut page, &space))
        (wear_section(&wear))
        (fidelity::section(&mut page, &compared, &sections))
        (workload::preparation(&mut page, &sections))
        (sheet::parameters(profiles))
        (method::method(runs))
        footer { (runs.first().map(|r| head::tool(&r.provenance.build)).unwrap_or_default()) }
    };
    let parts = navigation::Parts {
        sections: &sections,
        sheets: !profiles.is_empty(),
        space: !space.is_empty(),
        wear: !wear.is_empty(),
        fidelity: !compared.rows.is_empty(),
    };
    let body = html! {
        (head::head(runs, title))
        div.columns {
            (navigation::navigation(&parts, &drives))
            main { (main) }
        }
    };
    Ok(document(title, &body, drives.len(), &page).into_string())
}

/// What grows while the page is written.
#[derive(Debug, Default)]
pub(super) struct Page {
    charts: Vec<Value>,
    texts: Texts,
    notes: Notes,
    /// Element id of the workload being written, which makes the ids of its notes unique.
    anchor: String,
}

impl Page {
    /// Gives the chart a place on the page and keeps its data for the script.
    fn chart(&mut self, chart: &Chart) -> Markup {
        let id = format!("chart-{}", self.charts.len() + 1);
        let json = chart.to_json(&id, &mut self.texts);
        self.charts.push(json);
        html! {
            figure {
                figcaption {
                    b { (clean(&chart.title)) }
                    @if !chart.caption.is_empty() { p { (clean(&chart.caption)) } }
                }
                div.plot id=(id) style={ "min-height:" (chart.height_px()) "px" } role="img" aria-label={ (clean(&chart.title)) ", " (clean(&chart.tag)) } {}
            }
        }
    }

    fn charts(&mut self, charts: &[Chart]) -> Markup {
        html! {
            @if !charts.is_empty() {
                div.charts { @for chart in charts { (self.chart(chart)) } }
            }
        }
    }
}

fn document(title: &str, body: &Markup, drives: usize, page: &Page) -> Markup {
    let data = json!({"texts": page.texts.to_json(), "charts": page.charts});
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="flashlab";
                title { (clean(title)) }
                style { (PreEscaped(STYLE)) (PreEscaped(hiding(drives))) }
            }
            body {
                (body)
                noscript { p { "The charts need JavaScript; every figure also stands in the tables." } }
                script type="application/json" id="chart-data" { (PreEscaped(script_json(&data))) }
                script type="text/plain" id="chart-library" { (PreEscaped(chart_library())) }
                script { (PreEscaped(DRAW)) }
            }
        }
    }
}

/// What hides the rows and columns of a drive while the page has the class for it.
fn hiding(drives: usize) -> String {
    let rules =
        (0..drives).filter(|_| drives > 1).map(|n| format!(".hide-{n} [data-drive=\"{n}\"] {{ display: none; }}\n"));
    rules.collect()
}

/// The text of the chart library's script. `plotly` hands out two script elements; the second, for
/// formulas, is not used here and left out.
fn chart_library() -> String {
    let all = plotly::Plot::offline_js_sources();
    let start = all.find('>').map_or(0, |i| i + 1);
    let end = all.find("</script>").unwrap_or(all.len());
    all.get(start..end).unwrap_or_default().to_owned()
}

/// The element id of a section.
fn anchor(index: usize) -> String {
    format!("workload-{}", index + 1)
}

fn space_section(page: &mut Page, all: &[Space<'_>]) -> Markup {
    html! {
        @if !all.is_empty() {
            section id="space" {
                h2 { "Free pool and write amplification" }
                p {
                    "Writes are cheap while there is erased space to put them; once it is used up, the drive copies "
                    "data to make space, and each host byte costs more than one byte of flash. The volume is what the "
                    "measured windows wrote, at full scale; what only prepares a state leaves no figure and is not in it."
                }
                @for space in all {
                    @if all.len() > 1 { h3 { "Suite " (clean(space.suite)) } }
                    (page.charts(&space.charts))
                }
            }
        }
    }
}

/// What the flash has been through.
fn wear_section(rows: &[WearRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section id="wear" {
                h2 { "Wear" }
                p {
                    "By the drive's log at the end of each run: erases of a superblock since the drive was made, and the share of "
                    "the rated life that is used up (" (text::NONE) ": no rating is known). A model's log knows no life before the run."
                }
                div.scroll { table.stack {
                    thead { tr {
                        th { "Suite" } th { "Drive" }
                        th.number { "Erases, least" } th.number { "mean" } th.number { "most" }
                        th.number { "Life used" } th.number { "Free pool" } th { "" }
                    } }
                    tbody { @for row in rows { tr data-drive=(row.rank) {
                        th scope="row" { (clean(&row.suite)) }
                        td data-label="Drive" { (clean(&row.label)) }
                        @for (label, erases) in ["Erases, least", "Erases, mean", "Erases, most"].iter().zip(&row.erases) {
                            td.number data-label=(label) { (erases) }
                        }
                        td.number data-label="Life used" { (row.used) }
                        td.number data-label="Free pool" { (row.free_pool) }
                        td data-label="Provenance" { small { (row.origin) } }
                    } } }
                } }
            }
        }
    }
}
