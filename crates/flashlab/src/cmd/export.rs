//! `flashlab export`: the results of stored runs for other programs.

use super::{run_numbers, store_to_read};
use crate::args::Export;
use crate::exit::{CliError, Exit};
use crate::output;
use flashlab_analysis::RunRecord;
use flashlab_report::SeriesCsv;
use flashlab_store::Store;
use flashlab_target::{RunId, StepPlace};
use std::path::Path;

/// Intervals that are in memory at once.
const INTERVALS_AT_ONCE: u32 = 1_000;

pub(crate) fn run(args: &Export) -> anyhow::Result<Exit> {
    let outputs =
        [("--csv", &args.csv), ("--json", &args.json), ("--series", &args.series), ("--stages", &args.stages)];
    let given: Vec<(&str, &Path)> = outputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))).collect();
    for (i, (name, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[i + 1..].iter().find(|(_, other)| other == path) {
            let place = if *path == Path::new("-") { "standard output" } else { "the same file" };
            let remedy = "give one of them another file: --csv results.csv";
            return Err(CliError::usage(format!("{name} and {other} can't both go to {place}"), remedy).into());
        }
    }
    let store = store_to_read(args.store.store.as_ref())?;
    let mut records = Vec::new();
    for id in run_numbers(&store, &args.runs)? {
        records.push(store.run(id)?);
    }
    // All or none: looked at before the first is written.
    for (_, path) in &given {
        output::check(path, args.replace)?;
    }
    output::keep_apart(&given, &[("the store", store.path())])?;
    let csv = args.csv.clone().or_else(|| given.is_empty().then(|| "-".into()));
    if let Some(path) = &csv {
        output::write_or_print(path, &flashlab_report::results_csv(&records)?, args.replace)?;
    }
    if let Some(path) = &args.json {
        output::write_or_print(path, &flashlab_report::results_json(&records)?, args.replace)?;
    }
    if let Some(path) = &args.stages {
        output::write_or_print(path, &flashlab_report::stages_csv(&records)?, args.replace)?;
    }
    if let Some(path) = &args.series {
        output::write_or_print(path, &series(&store, &records)?, args.replace)?;
    }
    Ok(Exit::Done)
}

/// Every interval of every job, however long it ran.
fn series(store: &Store, records: &[RunRecord]) -> anyhow::Result<String> {
    let mut csv = SeriesCsv::new()?;
    for record in records {
        for step in &record.steps {
            let place = StepPlace { step: step.index, round: step.round };
            for (position, point) in (0..).zip(&step.points) {
                let Some(job) = &point.job else { continue };
                let some = |first| store.intervals(RunId(record.id), place, position, first, INTERVALS_AT_ONCE);
                let mut rows = some(0)?;
                if rows.is_empty() {
                    // Of an earlier program, which kept it with the result.
                    csv.add(record.id, point, &job.series.intervals)?;
                }
                let mut first = 0;
                while !rows.is_empty() {
                    csv.add(record.id, point, &rows)?;
                    first += rows.len() as u64;
                    rows = some(first)?;
                }
            }
        }
    }
    Ok(csv.finish()?)
}
