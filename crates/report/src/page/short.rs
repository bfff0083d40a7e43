//! The answer in short: a matrix of drives for several of them, and a line a workload.

use crate::text::{self, clean};
use crate::view::{KeyFigure, Matrix, Section, key_figures, matrix};
use maud::{Markup, html};

/// More lines than this are folded away beneath the matrix.
const LINES_SHOWN_MAX: usize = 12;

/// With as many suites the same drive has figures in several states, which the matrix sets side by side.
const SUITES_MIN: usize = 2;

/// The matrix where there are several drives or suites, and the key figures of each workload.
pub(super) fn in_short(sections: &[Section<'_>], drives: &[String]) -> Markup {
    let figures = key_figures(sections);
    let several_suites = super::workload::suites(sections).len() >= SUITES_MIN;
    let matrix =
        if drives.len() > 1 || several_suites { matrix(sections) } else { Matrix { columns: vec![], rows: vec![] } };
    let with_matrix = !matrix.columns.is_empty();
    html! {
        section id="in-short" {
            h2 { "In short" }
            @if with_matrix { (matrix_table(&matrix)) }
            @if figures.is_empty() {
                p { "No result was taken." }
            } @else if with_matrix && figures.len() > LINES_SHOWN_MAX {
                details {
                    summary { "Every workload: its best rate and lowest latency, " (figures.len()) " lines" }
                    (key_table(&figures, drives.len() > 1))
                }
            } @else {
                (key_table(&figures, drives.len() > 1))
            }
        }
    }
}

fn matrix_table(matrix: &Matrix) -> Markup {
    html! {
        p {
            "The highest figure of each kind. A figure holds for the state in its heading and for no other: random "
            "writes into the free pool that a fill leaves behind say nothing about the same drive once that pool is used up. "
            "Beneath it is what reviews printed, and how far the model is from it; where it is more than 10 % off, in red, "
            "the published figure is the one to go by."
        }
        div.scroll { table.stack {
            thead { tr {
                th { "Drive" }
                @for column in &matrix.columns {
                    th.number.wrap {
                        (column.title) @if !column.unit.is_empty() { " (" (column.unit) ")" }
                        br; small { (column.state) }
                    }
                }
            } }
            tbody { @for row in &matrix.rows { tr data-drive=(row.rank) {
                th scope="row" { (clean(&row.label)) br; small { (row.origin) } }
                @for (column, cell) in matrix.columns.iter().zip(&row.cells) {
                    @let label = format!("{}{}", column.title, if column.state.is_empty() { String::new() } else { format!(" ({})", column.state) });
                    @match cell {
                        Some(cell) => td.number data-label=(label) title=(clean(&cell.hover)) {
                            div {
                                (cell.text) span.unit { " " (column.unit) }
                                // Figures of one column in unlike states must not look alike.
                                @if let Some(state) = cell.state.filter(|state| column.state != *state) { br; small { (state) } }
                                @if let Some(printed) = &cell.published {
                                    br; small class=[cell.is_off().then_some("off")] {
                                        "published " (printed.text) " (" (text::signed_percent(printed.error)) ")"
                                    }
                                }
                            }
                        },
                        None => td.number data-label=(label) title="not taken" { (text::NONE) },
                    }
                }
            } } }
        } }
    }
}

fn key_table(figures: &[KeyFigure], drive: bool) -> Markup {
    let suite = figures.iter().any(|f| Some(&f.suite) != figures.first().map(|first| &first.suite));
    html! {
        p {
            "The highest rate that each workload reached, and the lowest mean latency. A figure holds for the "
            "state beside it and for no other."
        }
        div.scroll { table.stack {
            thead { tr {
                th { "Workload" } @if suite { th { "Suite" } } @if drive { th { "Drive" } }
                th { "Best" } th { "at iodepth/numjobs" } th.number { "p99 there" } th { "Lowest mean latency" } th { "State" }
                th { "" }
            } }
            tbody { @for figure in figures { (key_row(figure, suite, drive)) } }
        } }
        @if !drive {
            @for figure in figures {
                @if let Some(verdict) = &figure.verdict {
                    p.source { b { (clean(&figure.workload)) ", " (clean(&figure.label)) } ": " (verdict) }
                }
            }
        }
    }
}

fn key_row(figure: &KeyFigure, suite: bool, drive: bool) -> Markup {
    html! {
        tr data-drive=(figure.rank) {
            th scope="row" { (clean(&figure.workload)) }
            @if suite { td data-label="Suite" { (clean(&figure.suite)) } }
            @if drive { td data-label="Drive" { (clean(&figure.label)) } }
            td.figure data-label="Best" { (figure.best) }
            td data-label="at iodepth/numjobs" { (figure.at) }
            td.number data-label="p99 there" { (figure.p99) }
            td data-label="Lowest mean latency" { (figure.lightest) }
            td data-label="State" { (figure.state) }
            td data-label="Provenance" { @if let Some(origin) = figure.origin { small { (origin.word()) } } }
        }
    }
}
