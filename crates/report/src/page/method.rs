//! Where the numbers come from: the full manifest, what was granted, and what every step said.

use super::head::{target_words, tool};
use crate::text::{self, clean};
use crate::view;
use flashlab_analysis::{RunRecord, StepRecord};
use flashlab_samples::Granted;
use maud::{Markup, html};

/// More runs than this are folded away, each by itself.
const OPEN_MAX: usize = 2;
/// A longer list of steps is folded away.
const OPEN_STEPS_MAX: usize = 12;

/// Provenance and method of all runs.
pub(super) fn method(runs: &[RunRecord]) -> Markup {
    html! {
        section id="method" {
            h2 { "Provenance and method" }
            p {
                "Latency is counted from submission to completion, in histograms with an error of at most 1/128; "
                "percentiles are read from merged histograms and never averaged. MB/s and GB/s are powers of 1000. "
                "A dash means that a figure was not taken, which is not zero. Point at a figure of a table for its "
                "exact value."
            }
            @for run in runs {
                @if runs.len() > OPEN_MAX {
                    details { summary { (heading(run)) } (one(run, false)) }
                } @else {
                    h3 { (heading(run)) }
                    (one(run, true))
                }
            }
        }
    }
}

fn heading(run: &RunRecord) -> String {
    clean(&format!("Run {}: {} on {}", run.id, run.suite.id, run.provenance.target.id))
}

fn one(run: &RunRecord, all_steps: bool) -> Markup {
    html! {
        div.scroll { table.manifest { tbody {
            @for (name, value) in manifest(run) { tr { th scope="row" { (name) } td { (clean(&value)) } } }
        } } }
        @for granted in view::grants(run) { (grant(granted)) }
        (steps(run, all_steps))
    }
}

fn manifest(run: &RunRecord) -> Vec<(&'static str, String)> {
    let p = &run.provenance;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    vec![
        ("Provenance", p.origin.word().into()),
        ("Status", format!("{}, {} of {} steps", run.status.word(), run.steps_done(), run.steps_planned)),
        ("Tool", tool(&p.build)),
        ("Seed", p.seed.to_string()),
        ("Started", known(&p.started)),
        ("Host", known(&p.host)),
        ("Kernel", known(&p.kernel)),
        ("Target", target_words(&p.target)),
        ("Path", known(&p.target.path)),
        ("Model", known(&p.target.model)),
        ("Serial", known(&p.target.serial)),
        ("Firmware", known(&p.target.firmware)),
        ("Profile SHA-256", known(&p.target.profile_sha256)),
        ("Capacity", format!("{} ({} bytes)", p.target.capacity.si(), text::grouped(p.target.capacity.0))),
        ("Logical block", p.target.logical_block.exact()),
        ("State before the run", text::state(&p.state_before)),
    ]
}

fn grant(granted: &Granted) -> Markup {
    let direct = match granted.direct {
        Some(true) => "O_DIRECT in force",
        Some(false) => "O_DIRECT not in force",
        None => "O_DIRECT has no meaning here",
    };
    html! {
        p {
            "Granted: engine " b { (clean(&granted.engine)) } ", " (direct)
            @if !granted.features.is_empty() { "; features " (clean(&granted.features.join(", "))) }
            @if !granted.refused.is_empty() { "; asked for and refused: " (clean(&granted.refused.join("; "))) }
            "."
        }
    }
}

/// All steps, folded away, with what they and their points said; of many runs only the steps that
/// said something themselves, because the remarks of points stand beneath the tables.
fn steps(run: &RunRecord, all: bool) -> Markup {
    let spoke = |step: &&StepRecord| if all { !said(step).is_empty() } else { !step.remarks.is_empty() };
    let spoken = run.steps.iter().filter(spoke).count();
    let listed: Vec<&StepRecord> = run.steps.iter().filter(|step| all || spoke(step)).collect();
    html! {
        details open[spoken > 0 && listed.len() <= OPEN_STEPS_MAX] {
            summary {
                (run.steps.len()) " finished steps, " (spoken) " with remarks" @if !all && spoken > 0 { ", which follow" }
            }
            @if !listed.is_empty() { div.scroll { table {
                thead { tr { th.number { "Step" } th { "What" } th { "State after it" } th { "Remarks and errors" } } }
                tbody { @for step in listed { tr {
                    td.number { (step.index + 1) @if step.round > 0 { ", round " (step.round) } }
                    td { (clean(&step.title)) }
                    td { (text::state(&step.state_after)) }
                    td.prose { @for remark in said(step) { p { (clean(&remark)) } } }
                } } }
            } } }
        }
    }
}

/// Remarks of a step and of its points, each once.
fn said(step: &StepRecord) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for remark in step.remarks.iter().chain(step.points.iter().flat_map(|p| &p.remarks)) {
        if !out.contains(remark) {
            out.push(remark.clone());
        }
    }
    out
}
