//! `flashlab export`: the results of stored runs for other programs.

use super::{run_numbers, store_to_read};
use crate::args::Export;
use crate::exit::{CliError, Exit};
use crate::output;
use std::path::Path;

pub(crate) fn run(args: &Export) -> anyhow::Result<Exit> {
    let outputs = [("--csv", &args.csv), ("--json", &args.json), ("--stages", &args.stages)];
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
    Ok(Exit::Done)
}
