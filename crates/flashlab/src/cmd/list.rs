//! `flashlab list`: the runs in a store.

use super::{STORES, store_to_read};
use crate::args::List;
use crate::exit::Exit;
use crate::output;
use flashlab_analysis::RunStatus;
use flashlab_report::{RunRow, runs_table};
use flashlab_samples::{Ended, PointResult};
use flashlab_store::{RunSummary, Store};
use std::path::Path;

/// Of the title of a load, in characters.
const TITLE_MAX: usize = 80;

pub(crate) fn run(args: &List) -> anyhow::Result<Exit> {
    let store = store_to_read(args.store.store.as_ref())?;
    let runs = store.runs()?;
    if let Some(path) = &args.json.json {
        output::keep_apart(&[("--json", path)], &[("the store", store.path())])?;
        output::write_or_print(path, &(serde_json::to_string_pretty(&runs)? + "\n"), args.json.replace)?;
    }
    if args.json.json.as_deref() == Some(Path::new("-")) {
        return Ok(Exit::Done);
    }
    let rows: Vec<RunRow> = runs.iter().map(row).collect();
    output::print(&runs_table(&rows, output::width(), output::color()))?;
    for run in &runs {
        if let (RunStatus::Unfinished | RunStatus::Interrupted | RunStatus::Failed(_), Some(step)) =
            (&run.status, &run.current)
        {
            output::print(&format!(
                "run {}: {} {step}\n",
                run.id,
                if run.alive == Some(true) { "now at" } else { "stopped at" }
            ))?;
        }
        if run.status == RunStatus::Interrupted
            && let Some(title) = partial(&store, run.id)?
        {
            output::print(&format!("run {}: {title} is a part: it was stopped in it\n", run.id))?;
        }
        if let RunStatus::Failed(reason) = &run.status {
            output::print(&format!("run {}: {reason}\n", run.id))?;
        }
    }
    eprintln!("{} run(s) in {}", runs.len(), store.path().display());
    let others =
        STORES.iter().map(Path::new).filter(|p| args.store.store.is_none() && p.exists() && *p != store.path());
    for other in others {
        eprintln!("another store: flashlab list --store {}", other.display());
    }
    Ok(Exit::Done)
}

/// The step that a stopped run has kept a part of.
fn partial(store: &Store, id: i64) -> anyhow::Result<Option<String>> {
    let is_part = |point: &PointResult| point.job.as_ref().is_some_and(|job| job.ended == Ended::Interrupted);
    let steps = store.run(id)?.steps;
    Ok(steps.into_iter().find(|step| step.points.iter().any(is_part)).map(|step| step.title))
}

/// The suite; loads are all of one, and are told apart by what they do.
fn what_ran(run: &RunSummary) -> String {
    let (true, Some(title)) = (run.suite_id == "load", &run.title) else { return run.suite_id.clone() };
    let cut: String = title.chars().take(TITLE_MAX).collect();
    let more = if cut.len() < title.len() { "…" } else { "" };
    format!("load: {cut}{more}")
}

fn row(run: &RunSummary) -> RunRow {
    let status = match (&run.status, run.alive) {
        (RunStatus::Unfinished, Some(true)) => "running".to_owned(),
        (RunStatus::Unfinished, Some(false)) => "unfinished (its process is gone)".to_owned(),
        (status, _) => status.word().to_owned(),
    };
    RunRow {
        id: run.id,
        suite: what_ran(run),
        target: run.drive_id.clone(),
        status,
        steps_done: run.steps_done,
        steps_planned: run.steps_planned,
        started: run.started.clone().or_else(|| Some(run.begun_at.clone())),
        provenance: run.origin.word().to_owned(),
    }
}
