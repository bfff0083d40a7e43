//! `flashlab fidelity`: results held against what reviews printed.

use super::{run_numbers, store_to_read};
use crate::args::Fidelity as Args;
use crate::catalog;
use crate::exit::Exit;
use crate::output;
use flashlab_analysis::{ErrorSummary, Fidelity, FidelityRow, Reason, fidelity};
use flashlab_report::{Column, Table, fidelity_csv, number};
use flashlab_samples::PointResult;
use std::fmt::Write;

/// Below this many points the 90th percentile says nothing.
const POINTS_FOR_P90: usize = 10;
/// How many of the largest errors are named.
const WORST: usize = 10;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(path) = &args.csv {
        output::check(path, args.replace)?;
    }
    let store = store_to_read(args.store.store.as_ref())?;
    if let Some(path) = &args.csv {
        output::keep_apart(&[("--csv", path)], &[("the store", store.path())])?;
    }
    let ids = if args.runs.is_empty() { newest_of_each(&store)? } else { run_numbers(&store, &args.runs)? };
    let records = ids.iter().map(|id| store.run(*id)).collect::<Result<Vec<_>, _>>()?;
    let points: Vec<&PointResult> = records.iter().flat_map(|r| r.points()).collect();
    let compared = fidelity(&catalog::published()?, &points);
    if compared.rows.is_empty() {
        let what = format!("nothing to compare in {}: no result lies at a published figure", store.path().display());
        let remedy = "review modelled drives first (flashlab review), or name another store with --store";
        return Err(crate::exit::CliError::usage(what, remedy).into());
    }
    if let Some(path) = &args.csv {
        output::write_or_print(path, &fidelity_csv(&compared)?, args.replace)?;
    }
    if args.csv.as_deref() != Some(std::path::Path::new("-")) {
        output::print(&text(&compared, &catalog::reasons()?))?;
    }
    Ok(Exit::Done)
}

/// The last finished run of each drive and suite.
fn newest_of_each(store: &flashlab_store::Store) -> anyhow::Result<Vec<i64>> {
    let mut newest = std::collections::BTreeMap::new();
    for run in store.runs()? {
        if run.status == flashlab_analysis::RunStatus::Done {
            newest.insert((run.drive_id, run.suite_id), run.id);
        }
    }
    Ok(newest.into_values().collect())
}

fn text(f: &Fidelity, reasons: &[Reason]) -> String {
    let mut out = String::from("Error against published figures; points at a ceiling of the drive are apart.\n\n");
    let mut table = Table::new(vec![
        Column::text("drive"),
        Column::text("suite"),
        Column::text("workload"),
        Column::number("points"),
        Column::number("median"),
        Column::number("p90"),
        Column::number("worst"),
        Column::number("at ceiling").drop_rank(2),
        Column::number("ceiling median").drop_rank(1),
    ]);
    for (drive, workload, suite) in f.groups() {
        let here = |r: &FidelityRow| {
            r.published.drive_id == drive && r.published.workload == workload && r.published.suite == suite
        };
        let (free, at) = (f.summary(|r| here(r) && !r.at_ceiling), f.summary(|r| here(r) && r.at_ceiling));
        table.row(cells(&drive, &suite, &workload, free, at));
    }
    for (name, gds) in [("FIO and checkpoints", false), ("GDS", true)] {
        let here = |r: &FidelityRow| (r.published.suite == "gds") == gds;
        let (free, at) = (f.summary(|r| here(r) && !r.at_ceiling), f.summary(|r| here(r) && r.at_ceiling));
        table.row(cells("all", "", name, free, at));
    }
    out.push_str(&table.render(output::width(), output::color()));
    out.push_str(&worst(f, reasons));
    if !f.missing.is_empty() {
        _ = writeln!(out, "\n{} published figures have no result at their place:", f.missing.len());
        let mut places: Vec<String> =
            f.missing.iter().map(|p| format!("{} {} {}", p.drive_id, p.suite, p.workload)).collect();
        places.dedup();
        places.iter().for_each(|p| _ = writeln!(out, "  {p}"));
    }
    out
}

fn cells(
    drive: &str,
    suite: &str,
    workload: &str,
    free: Option<ErrorSummary>,
    at: Option<ErrorSummary>,
) -> Vec<String> {
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    let or_none = |x: Option<f64>| x.map_or("-".to_owned(), percent);
    vec![
        drive.to_owned(),
        suite.to_owned(),
        workload.to_owned(),
        free.map_or(0, |s| s.count).to_string(),
        or_none(free.map(|s| s.median)),
        or_none(free.filter(|s| s.count >= POINTS_FOR_P90).map(|s| s.p90)),
        or_none(free.map(|s| s.worst)),
        at.map_or(0, |s| s.count).to_string(),
        or_none(at.map(|s| s.median)),
    ]
}

fn worst(f: &Fidelity, reasons: &[Reason]) -> String {
    let mut out = format!("\nThe {WORST} largest errors:\n");
    let mut table = Table::new(vec![
        Column::text("drive"),
        Column::text("workload"),
        Column::text("at"),
        Column::text("figure"),
        Column::number("published"),
        Column::number("modelled"),
        Column::number("error"),
    ]);
    for row in f.worst(WORST) {
        let p = &row.published;
        table.row([
            p.drive_id.clone(),
            p.workload.clone(),
            place(p.iodepth, p.numjobs, p.threads, p.pass),
            p.metric.word().to_owned(),
            number(p.metric, p.value),
            number(p.metric, row.result),
            format!("{:+.1} %", row.error() * 100.0),
        ]);
    }
    out.push_str(&table.render(output::width(), output::color()));
    let mut said: Vec<&Reason> = Vec::new();
    for row in f.worst(WORST) {
        match reasons.iter().find(|r| r.is_of(&row.published)) {
            Some(reason) if said.contains(&reason) => {}
            Some(reason) => {
                _ = writeln!(out, "  {} {}: {}", reason.drive, reason.workload, reason.reason);
                said.push(reason);
            }
            None => _ = writeln!(out, "  {} {}: not explained", row.published.drive_id, row.published.workload),
        }
    }
    out
}

/// Coordinates in the field's short form.
pub(crate) fn place(iodepth: Option<u32>, numjobs: Option<u32>, threads: Option<u32>, pass: Option<u32>) -> String {
    match (iodepth, numjobs, threads, pass) {
        (Some(d), Some(j), _, None) => format!("{d}/{j}"),
        (Some(d), Some(j), _, Some(p)) => format!("{d}/{j}, pass {p}"),
        (_, _, Some(1), _) => "1 thread".to_owned(),
        (_, _, Some(t), _) => format!("{t} threads"),
        (_, _, _, Some(p)) => format!("pass {p}"),
        _ => "peak".to_owned(),
    }
}
