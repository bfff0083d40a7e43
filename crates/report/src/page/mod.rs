//! The report as one HTML file that opens anywhere: style, script and data are inside, and a content
//! policy forbids it to fetch anything.
//!
//! Markup is escaped by `maud`; chart data stands in one JSON block that can't end its script
//! element. What is said is decided in `view`.

mod head;
mod method;
mod sheet;
mod workload;

use crate::ReportError;
use crate::chart::{Chart, script_json};
use crate::error::check_finite;
use crate::text::clean;
use crate::view::{Notes, Section, sections, space_charts};
use flashlab_analysis::RunRecord;
use flashlab_spec::DriveProfile;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

const STYLE: &str = include_str!("style.css");
const DRAW: &str = include_str!("draw.js");
/// Nothing may be fetched or sent. Inline script and style are the file itself; `data:` and `blob:`
/// are the pictures that the chart library makes of a chart.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

/// One self-contained HTML file about `runs`: measured, modelled or both, of one drive or several.
/// `profiles` are those of the modelled drives among them; their sheets and parameters are printed.
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn html(runs: &[RunRecord], profiles: &[DriveProfile], title: &str) -> Result<String, ReportError> {
    check_finite(runs)?;
    let sections = sections(runs);
    let mut page = Page::default();
    let body = html! {
        (head::head(runs, title))
        main {
            (navigation(&sections, profiles))
            (head::in_short(&sections, runs))
            (head::limits(runs))
            (sheet::spec_sheets(profiles, &sections))
            @for (i, section) in sections.iter().enumerate() { (workload::workload(&mut page, section, i)) }
            (space(&mut page, runs))
            (sheet::parameters(profiles))
            (method::method(runs))
        }
        footer { (runs.first().map(|r| head::tool(&r.provenance.build)).unwrap_or_default()) }
    };
    Ok(document(title, &body, &Value::Array(page.charts)).into_string())
}

/// What grows while the page is written.
#[derive(Debug, Default)]
pub(super) struct Page {
    charts: Vec<Value>,
    notes: Notes,
    /// Element id of the workload being written, which makes the ids of its notes unique.
    anchor: String,
}

impl Page {
    /// Gives the chart a place on the page and keeps its data for the script.
    fn chart(&mut self, chart: &Chart) -> Markup {
        let id = format!("chart-{}", self.charts.len() + 1);
        self.charts.push(chart.to_json(&id));
        html! {
            figure {
                figcaption {
                    b { (clean(&chart.title)) }
                    @if !chart.caption.is_empty() { p { (clean(&chart.caption)) } }
                }
                div.plot id=(id) role="img" aria-label={ (clean(&chart.title)) ", " (clean(&chart.tag)) } {}
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

fn document(title: &str, body: &Markup, charts: &Value) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="flashlab";
                title { (clean(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                noscript { p { "The charts need JavaScript; every figure also stands in the tables." } }
                script type="application/json" id="chart-data" { (PreEscaped(script_json(charts))) }
                script id="chart-library" { (PreEscaped(chart_library())) }
                script { (PreEscaped(DRAW)) }
            }
        }
    }
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

fn navigation(sections: &[Section<'_>], profiles: &[DriveProfile]) -> Markup {
    let twice = |section: &Section<'_>| sections.iter().filter(|s| s.workload == section.workload).count() > 1;
    html! {
        nav aria-label="Contents" {
            a href="#in-short" { "In short" }
            a href="#limits" { "What it does not say" }
            @if !profiles.is_empty() { a href="#sheet" { "Spec sheet" } }
            @for (i, section) in sections.iter().enumerate().filter(|(_, s)| !s.prepares) {
                a href={ "#" (anchor(i)) } {
                    (clean(section.workload)) @if twice(section) { " (" (clean(section.suite)) ")" }
                }
            }
            @if let Some(i) = sections.iter().position(|s| s.prepares) { a href={ "#" (anchor(i)) } { "Preparation" } }
            @if !profiles.is_empty() { a href="#parameters" { "Model" } }
            a href="#method" { "Provenance and method" }
        }
    }
}

fn space(page: &mut Page, runs: &[RunRecord]) -> Markup {
    let charts = space_charts(runs);
    html! {
        @if !charts.is_empty() {
            section id="space" {
                h2 { "Free pool and write amplification" }
                p {
                    "Writes are cheap while there is erased space to put them; once it is used up, the drive copies "
                    "data to make space, and each host byte costs more than one byte of flash."
                }
                (page.charts(&charts))
            }
        }
    }
}
