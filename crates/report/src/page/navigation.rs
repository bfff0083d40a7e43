//! Contents, and the drives of the page to show and hide.

use super::anchor;
use crate::chart::sign;
use crate::text::clean;
use crate::view::Section;
use maud::{Markup, html};

/// Which parts the page has.
pub(super) struct Parts<'a> {
    pub(super) sections: &'a [Section<'a>],
    pub(super) sheets: bool,
    pub(super) space: bool,
    pub(super) wear: bool,
    pub(super) fidelity: bool,
}

impl Parts<'_> {
    /// The suites with workloads that answer something, each once.
    fn suites(&self) -> Vec<&str> {
        super::workload::suites(self.sections)
    }
}

/// Beside the page where it is wide, folded above it where it is narrow.
pub(super) fn navigation(parts: &Parts<'_>, drives: &[String]) -> Markup {
    let suites = parts.suites();
    html! {
        nav aria-label="Contents" {
            details.contents open {
                summary { "Contents" @if drives.len() > 1 { " and drives" } }
                @if drives.len() > 1 { (drive_list(drives)) }
                ul {
                    li { a href="#in-short" { "In short" } }
                    li { a href="#limits" { "What it does not say" } }
                    @if parts.sheets { li { a href="#sheet" { "Spec sheet" } } }
                    @for suite in &suites {
                        @if suites.len() > 1 {
                            li {
                                a href={ "#suite-" (clean(suite)) } { "Suite " (clean(suite)) }
                                ul { (workloads(parts, suite)) }
                            }
                        } @else { (workloads(parts, suite)) }
                    }
                    @if parts.space { li { a href="#space" { "Free pool, write amplification" } } }
                    @if parts.wear { li { a href="#wear" { "Wear" } } }
                    @if parts.fidelity { li { a href="#fidelity" { "Against published figures" } } }
                    @if parts.sections.iter().any(|s| s.prepares) { li { a href="#preparation" { "Preparation" } } }
                    @if parts.sheets { li { a href="#parameters" { "Model parameters" } } }
                    li { a href="#method" { "Provenance and method" } }
                }
            }
        }
    }
}

fn workloads(parts: &Parts<'_>, suite: &str) -> Markup {
    let here = parts.sections.iter().enumerate().filter(|(_, s)| !s.prepares && s.suite == suite);
    html! { @for (i, section) in here { li { a href={ "#" (anchor(i)) } { (clean(section.workload)) } } } }
}

/// A box a drive: its lines and rows on the whole page.
fn drive_list(drives: &[String]) -> Markup {
    html! {
        fieldset.drives {
            legend { "Drives shown" }
            @for (rank, drive) in drives.iter().enumerate() {
                label {
                    input type="checkbox" checked data-shows=(rank);
                    span style={ "color:" (sign(rank).0) } aria-hidden="true" { (sign(rank).1) } " " (clean(drive))
                }
            }
        }
    }
}
