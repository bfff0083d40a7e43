//! The top of the page: what was tested, by what, in which state; the answer in short; its limits.

use crate::text::{self, clean};
use crate::view::{self, Section};
use flashlab_analysis::{RunRecord, RunStatus};
use flashlab_samples::{BuildInfo, Origin, TargetIdentity, TargetKind};
use maud::{Markup, html};

/// Several runs are listed as a table above this many.
const CARDS_MAX: usize = 2;
/// A longer list of runs is folded away.
const RUNS_SHOWN_MAX: usize = 4;

/// Title and the runs.
pub(super) fn head(runs: &[RunRecord], title: &str) -> Markup {
    let origins: Vec<Origin> = view::origins(runs.iter().flat_map(RunRecord::points));
    let origins = if origins.is_empty() { runs.iter().map(|r| r.provenance.origin).collect() } else { origins };
    html! {
        header {
            h1 { (clean(title)) }
            p { @for origin in &origins { (badge(*origin)) " " (origin_sentence(*origin)) " " } }
            @for run in runs { (status(run)) }
            @if runs.len() <= CARDS_MAX { @for run in runs { (card(run)) } } @else { (run_table(runs)) }
        }
    }
}

pub(super) fn badge(origin: Origin) -> Markup {
    html! { span class={ "badge " (origin.word()) } { (origin.word().to_uppercase()) } }
}

const fn origin_sentence(origin: Origin) -> &'static str {
    match origin {
        Origin::Measured => "Measured on this machine; whether it or its disks are virtual is not known.",
        Origin::Modelled => "Computed by a model of the drive; no hardware was involved.",
        Origin::Imported => "Taken by another program and read from its output.",
        Origin::Published => "Printed in a review or a data sheet.",
    }
}

/// Said first, because figures of half a procedure are easily misread.
fn status(run: &RunRecord) -> Markup {
    let (done, planned) = (run.steps_done(), run.steps_planned);
    let what = format!("Run {} ({} on {})", run.id, run.suite.id, run.provenance.target.id);
    let text = match &run.status {
        RunStatus::Done => None,
        RunStatus::Unfinished => Some(format!(
            "{what} has no end: it is still running or was killed. {done} of {planned} steps are finished."
        )),
        RunStatus::Interrupted => Some(format!("{what} was interrupted. {done} of {planned} steps are finished.")),
        RunStatus::Failed(why) => Some(format!("{what} failed after {done} of {planned} steps: {why}")),
    };
    html! { @if let Some(text) = text { p.warning role="alert" { (clean(&text)) } } }
}

fn card(run: &RunRecord) -> Markup {
    let p = &run.provenance;
    let rows = [
        ("Suite", format!("{}: {}", run.suite.id, run.suite.title)),
        ("Target", target_words(&p.target)),
        ("Capacity", p.target.capacity.si()),
        ("State", run_state(run)),
        ("Status", format!("{}, {} of {} steps", run.status.word(), run.steps_done(), run.steps_planned)),
        ("Tool", tool(&p.build)),
        ("Seed", p.seed.to_string()),
        ("Started", p.started.clone().unwrap_or_else(|| "not recorded".into())),
    ];
    html! {
        dl.card {
            @for (name, value) in &rows { div { dt { (name) } dd { (clean(value)) } } }
        }
    }
}

/// What was run, in a sentence, and the list of runs, folded where it is long.
fn run_table(runs: &[RunRecord]) -> Markup {
    let drives = view::drives(runs).len();
    let mut suites: Vec<&str> = Vec::new();
    for run in runs.iter().filter(|run| run.status == RunStatus::Done) {
        if !suites.contains(&run.suite.id.as_str()) {
            suites.push(&run.suite.id);
        }
    }
    let done = runs.iter().filter(|run| run.status == RunStatus::Done).count();
    html! {
        p {
            (drives) " drive" @if drives != 1 { "s" } ", suites " (clean(&suites.join(", "))) "; "
            (done) " of " (runs.len()) " runs done."
            @if let Some(run) = runs.first() { " " (tool(&run.provenance.build)) "." }
        }
        details open[runs.len() <= RUNS_SHOWN_MAX] {
            summary { "The " (runs.len()) " runs" }
            div.scroll { table.stack {
                thead { tr { @for name in ["Target", "Suite", "State", "Status", "Seed", "Started"] { th { (name) } } } }
                tbody { @for run in runs { tr {
                    th scope="row" { (clean(&target_words(&run.provenance.target))) }
                    td data-label="Suite" { (clean(&run.suite.id)) }
                    td.prose data-label="State" { (clean(&run_state(run))) }
                    td data-label="Status" { (run.status.word()) ", " (run.steps_done()) " of " (run.steps_planned) " steps" }
                    td data-label="Seed" { (run.provenance.seed) }
                    td data-label="Started" { (clean(run.provenance.started.as_deref().unwrap_or("not recorded"))) }
                } } }
            } }
        }
    }
}

/// The states that the answers of a run belong to.
fn run_state(run: &RunRecord) -> String {
    let sections = view::sections(std::slice::from_ref(run), &[]);
    let answers = sections.iter().filter(|s| !s.prepares).flat_map(Section::judged_points);
    let states = view::state_sentence(answers);
    if states.is_empty() { format!("before the run: {}", text::state(&run.provenance.state_before)) } else { states }
}

/// What was tested, in one line.
pub(super) fn target_words(target: &TargetIdentity) -> String {
    let kind = match target.kind {
        TargetKind::ModelledDrive => "modelled drive",
        TargetKind::File => "file",
        TargetKind::LoopDevice => "loop device",
        TargetKind::BlockDevice => "block device",
        TargetKind::Several => "several targets at once",
    };
    let mut out = format!("{} ({kind}", target.id);
    let named = [("", &target.model), ("serial ", &target.serial), ("firmware ", &target.firmware), ("", &target.path)];
    for (name, value) in named {
        if let Some(value) = value {
            out.push_str(&format!(", {name}{value}"));
        }
    }
    out.push(')');
    out
}

/// The program that made the numbers.
pub(super) fn tool(build: &BuildInfo) -> String {
    let commit = build.commit.as_ref().map_or_else(|| "commit unknown".to_owned(), |c| format!("commit {c}"));
    format!("{} {}, {commit}", build.tool, build.version)
}

/// What the suites' answers do not say.
pub(super) fn limits(runs: &[RunRecord]) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    let suites: Vec<&RunRecord> = runs
        .iter()
        .filter(|run| {
            let new = !seen.contains(&run.suite.id.as_str());
            seen.push(&run.suite.id);
            new
        })
        .collect();
    html! {
        section id="limits" {
            h2 { "What this answer does not say" }
            @for run in &suites {
                p { b { (clean(&run.suite.title)) ". " } (clean(&run.suite.purpose)) }
                @if run.suite.limits.is_empty() {
                    p { "The suite names no limits." }
                } @else {
                    ul { @for limit in &run.suite.limits { li { (clean(limit)) } } }
                }
            }
        }
    }
}
