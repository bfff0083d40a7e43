//! What the results of a command are kept in and shown by: store, report folder, table and JSON.

use crate::args::Keep;
use crate::exit::{CliError, Exit};
use crate::made::Made;
use crate::output::{self, ReportFolder};
use crate::{catalog, stop};
use flashlab_analysis::RunRecord;
use flashlab_lab::Finished;
use flashlab_spec::DriveProfile;
use flashlab_store::Store;
use flashlab_target::{RunEnd, RunId};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Everything that a run needs beside its target.
pub(crate) struct Session {
    pub(crate) store: Store,
    pub(crate) stop: stop::Stop,
    path: PathBuf,
    folder: Option<ReportFolder>,
    json: Option<PathBuf>,
    replace: bool,
}

impl Session {
    /// Checks that no output takes the place of anything, listens for signals, and opens or makes the
    /// store and the folder; what is made is noted in `made`.
    pub(crate) fn begin(keep: &Keep, inputs: &[(&str, &Path)], made: &mut Made) -> anyhow::Result<Self> {
        let path = keep.store.clone().unwrap_or_else(|| PathBuf::from("flashlab.db"));
        keep_apart(keep, &path, inputs)?;
        if let Some(path) = &keep.json {
            output::check(path, keep.replace)?;
        }
        let stop = stop::listen()?;
        let folder =
            keep.out.as_ref().map(|out| made.make(out, || ReportFolder::prepare(out, keep.replace))).transpose()?;
        let store = made.make(&path, || Store::create_or_open(&path))?;
        Ok(Session { store, stop, path, folder, json: keep.json.clone(), replace: keep.replace })
    }

    /// Writes and prints what became of `runs`.
    pub(crate) fn finish(&self, runs: &[RunId], profiles: &[DriveProfile], title: &str) -> anyhow::Result<()> {
        let records = runs.iter().map(|run| self.store.run(run.0)).collect::<Result<Vec<RunRecord>, _>>()?;
        if let Some(folder) = &self.folder {
            folder.write(&records, profiles, title)?;
        }
        show(&records, self.json.as_deref(), self.replace)?;
        if let Some(folder) = &self.folder {
            folder.announce();
        }
        let numbers = runs.iter().map(|run| run.0.to_string()).collect::<Vec<_>>();
        let is_default = self.path == Path::new("flashlab.db");
        let option = if is_default { String::new() } else { format!(" --store {}", self.path.display()) };
        let (word, path) = (if runs.len() == 1 { "run" } else { "runs" }, self.path.display());
        eprintln!(
            "kept as {word} {} in {path}; its report: flashlab report {}{option}",
            numbers.join(", "),
            numbers.join(" ")
        );
        Ok(())
    }
}

impl Session {
    /// Prints what the store could not keep, so that what was measured is not lost with it.
    pub(crate) fn show_lost(&self, records: &[RunRecord]) -> anyhow::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        eprintln!("flashlab: the store could not keep what follows; copy it from here");
        show(records, self.json.as_deref(), self.replace)
    }
}

/// Outputs, store and inputs are files of their own.
fn keep_apart(keep: &Keep, store: &Path, inputs: &[(&str, &Path)]) -> Result<(), CliError> {
    let report = keep.out.as_ref().map(|out| ReportFolder::outputs(out)).unwrap_or_default();
    let mut outputs: Vec<(&str, &Path)> = report.iter().map(|file| ("the report's", file.as_path())).collect();
    outputs.retain(|(_, path)| !path.as_os_str().is_empty());
    outputs.extend(keep.json.as_ref().map(|json| ("--json", json.as_path())));
    let mut others = inputs.to_vec();
    others.push(("the store", store));
    output::keep_apart(&outputs, &others)?;
    // The store is only added to, but not on top of an input.
    match inputs.iter().find(|(_, path)| output::same_file(store, path)) {
        Some((what, path)) => {
            let what = format!("the store {} is also {what} ({})", store.display(), path.display());
            Err(CliError::Refused { what, remedy: "give --store another path".into() })
        }
        None => Ok(()),
    }
}

/// Prints the table, and the JSON where it was asked for; JSON on standard output takes its place.
pub(crate) fn show(records: &[RunRecord], json: Option<&Path>, replace: bool) -> anyhow::Result<()> {
    if let Some(path) = json {
        output::write_or_print(path, &flashlab_report::results_json(records)?, replace)?;
    }
    if json != Some(Path::new("-")) {
        output::print(&flashlab_report::terminal_table(
            records,
            &catalog::published()?,
            output::width(),
            output::color(),
        ))?;
        let mut limits: Vec<&str> = Vec::new();
        for limit in records.iter().flat_map(|r| &r.suite.limits) {
            if !limits.contains(&limit.as_str()) {
                limits.push(limit);
            }
        }
        if !limits.is_empty() {
            output::print(&format!("\nWhat this does not say:\n  - {}\n", limits.join("\n  - ")))?;
        }
    }
    Ok(())
}

/// The exit code of finished runs, that of the gravest end; says what went wrong, each thing once.
pub(crate) fn exit_of(finished: &[Finished]) -> Exit {
    let mut said = BTreeSet::new();
    let each = finished.iter().map(|finished| {
        let (exit, text) = how_it_ended(finished);
        if let Some(text) = text.filter(|text| said.insert(text.clone())) {
            eprintln!("flashlab: {text}");
        }
        exit
    });
    // The codes rise with gravity.
    each.max().unwrap_or(Exit::Done)
}

/// Its code, and what went wrong.
pub(crate) fn how_it_ended(finished: &Finished) -> (Exit, Option<String>) {
    match &finished.end {
        RunEnd::Done if finished.steady_reached => (Exit::Done, None),
        RunEnd::Done => (Exit::CriterionNotMet, Some("steady state was not reached".into())),
        RunEnd::Interrupted => {
            let text = "interrupted; the finished steps are kept, and a stopped point as a part";
            (Exit::Interrupted, Some(text.into()))
        }
        RunEnd::Failed(reason) => {
            let remedy = "the finished steps are kept; check the target, then run again";
            (Exit::Device, Some(format!("failed: {reason}\n  {remedy}")))
        }
    }
}
