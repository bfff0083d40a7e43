//! Where the numbers come from: the full manifest, what was granted, and what every step said.

use super::head::{target_words, tool};
use crate::text::{self, clean};
use crate::view;
use flashlab_analysis::{RunRecord, StepRecord};
use flashlab_samples::Granted;
use maud::{Markup, html};

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
            @for run in runs { (one(run)) }
        }
    }
}

fn one(run: &RunRecord) -> Markup {
    html! {
        h3 { "Run " (run.id) ": " (clean(&run.suite.id)) " on " (clean(&run.provenance.target.id)) }
        div.scroll { table.manifest { tbody {
            @for (name, value) in manifest(run) { tr { th scope="row" { (name) } td { (clean(&value)) } } }
        } } }
        @for granted in view::grants(run) { (grant(granted)) }
        (steps(run))
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

/// All steps, folded away; those that said something are marked.
fn steps(run: &RunRecord) -> Markup {
    let spoke = run.steps.iter().filter(|s| !said(s).is_empty()).count();
    html! {
        details open[spoke > 0 && run.steps.len() <= 12] {
            summary { (run.steps.len()) " finished steps, " (spoke) " with remarks" }
            div.scroll { table {
                thead { tr { th.number { "Step" } th { "What" } th { "State after it" } th { "Remarks and errors" } } }
                tbody { @for step in &run.steps { tr {
                    td.number { (step.index + 1) @if step.round > 0 { ", round " (step.round) } }
                    td { (clean(&step.title)) }
                    td { (text::state(&step.state_after)) }
                    td.prose { @for remark in said(step) { p { (clean(&remark)) } } }
                } } }
            } }
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
