//! `flashlab export`: the results of stored runs for other programs.

use super::{run_numbers, store_to_read};
use crate::args::Export;
use crate::exit::{CliError, Exit};
use crate::output;
use std::path::Path;

pub(crate) fn run(args: &Export) -> anyhow::Result<Exit> {
    let dash = Some(Path::new("-"));
    if args.csv.is_some() && args.csv == args.json {
        let place = if args.csv.as_deref() == dash { "standard output" } else { "the same file" };
        let remedy = "give one of them another file: --csv results.csv";
        return Err(CliError::usage(format!("CSV and JSON can't both go to {place}"), remedy).into());
    }
    let store = store_to_read(args.store.store.as_ref())?;
    let mut records = Vec::new();
    for id in run_numbers(&store, &args.runs)? {
        records.push(store.run(id)?);
    }
    // Both or none: looked at before the first is written.
    for path in [&args.csv, &args.json].into_iter().flatten() {
        output::check(path, args.replace)?;
    }
    let outputs = [("--csv", &args.csv), ("--json", &args.json)];
    let outputs: Vec<_> = outputs.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))).collect();
    output::keep_apart(&outputs, &[("the store", store.path())])?;
    let csv = args.csv.clone().or_else(|| args.json.is_none().then(|| "-".into()));
    if let Some(path) = &csv {
        output::write_or_print(path, &flashlab_report::results_csv(&records)?, args.replace)?;
    }
    if let Some(path) = &args.json {
        output::write_or_print(path, &flashlab_report::results_json(&records)?, args.replace)?;
    }
    Ok(Exit::Done)
}
