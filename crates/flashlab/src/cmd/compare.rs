//! `flashlab compare`: two drives or two runs side by side, like with like.

use super::fidelity::place;
use super::{run_numbers, store_to_read};
use crate::args::Compare as Args;
use crate::exit::{CliError, Exit};
use crate::output;
use flashlab_analysis::{Comparison, RunRecord, RunStatus, compare};
use flashlab_report::{Column, Table, number};
use flashlab_samples::{MetricName, Origin, PointResult};
use flashlab_store::Store;
use std::fmt::Write;

/// What is compared: rates, mean and tail, seconds of fills and checkpoints, write amplification.
const METRICS: [MetricName; 6] = [
    MetricName::Bandwidth,
    MetricName::Iops,
    MetricName::LatMean,
    MetricName::LatP99,
    MetricName::Seconds,
    MetricName::WriteAmplification,
];

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = store_to_read(args.store.store.as_ref())?;
    let (a, b) = (records(&store, &args.a)?, records(&store, &args.b)?);
    let points = |records: &[RunRecord]| records.iter().flat_map(|r| r.points().cloned()).collect::<Vec<PointResult>>();
    let (points_a, points_b) = (points(&a), points(&b));
    let compared = compare(&points_a.iter().collect::<Vec<_>>(), &points_b.iter().collect::<Vec<_>>(), &METRICS);
    output::print(&text(&compared, (&args.a, &a), (&args.b, &b), args.all))?;
    if compared.rows.is_empty() {
        let remedy = "compare runs of the same suite: flashlab list shows what there is";
        return Err(CliError::usage(format!("{} and {} have no place in common", args.a, args.b), remedy).into());
    }
    Ok(Exit::Done)
}

/// The runs that a name stands for: a number, or the newest finished runs of a drive, one a suite.
fn records(store: &Store, name: &str) -> anyhow::Result<Vec<RunRecord>> {
    let mut newest = std::collections::BTreeMap::new();
    for run in store.runs()? {
        if run.drive_id == name && run.status == RunStatus::Done {
            newest.insert(run.suite_id, run.id);
        }
    }
    let mut ids: Vec<i64> = newest.into_values().collect();
    if ids.is_empty() {
        ids = run_numbers(store, &[name.to_owned()])?;
    }
    Ok(ids.iter().map(|id| store.run(*id)).collect::<Result<Vec<_>, _>>()?)
}

fn text(c: &Comparison, (name_a, a): (&str, &[RunRecord]), (name_b, b): (&str, &[RunRecord]), all: bool) -> String {
    let origin = |records: &[RunRecord]| records.first().map_or("", |r| r.provenance.origin.word()).to_uppercase();
    let named = |name: &str, records: &[RunRecord]| match records.first() {
        Some(r) if r.provenance.target.id != name => format!("{name} ({})", r.provenance.target.id),
        _ => name.to_owned(),
    };
    let (name_a, name_b) = (&named(name_a, a), &named(name_b, b));
    let mut out = format!("{name_a} ({}) against {name_b} ({}), like with like\n\n", origin(a), origin(b));
    let mut table = Table::new(vec![
        Column::text("suite").drop_rank(2),
        Column::text("workload"),
        Column::text("state"),
        Column::text("figure"),
        Column::text("at"),
        Column::number(name_a.clone()),
        Column::number(name_b.clone()),
        Column::number("ratio"),
        Column::text("better"),
    ]);
    for row in c.rows.iter().filter(|row| all || is_headline(c, row)) {
        let better = match row.second_is_better() {
            Some(true) => name_b.as_str(),
            Some(false) => name_a.as_str(),
            None => "even",
        };
        table.row([
            row.at.suite.clone(),
            row.at.workload.clone(),
            row.condition.word().to_owned(),
            row.a.name.word().to_owned(),
            place(row.at.iodepth, row.at.numjobs, row.at.threads, row.at.pass),
            number(row.a.name, row.a.value),
            number(row.a.name, row.b.value),
            format!("{:.2}", row.ratio()),
            better.to_owned(),
        ]);
    }
    out.push_str(&table.render(output::width(), output::color()));
    if !all {
        _ = writeln!(out, "\nFirst and last place of each workload; --all shows all {} figures.", c.rows.len());
    }
    for (at, first, second) in &c.unlike {
        let at_place = place(at.iodepth, at.numjobs, at.threads, at.pass);
        let (first, second) = (first.word(), second.word());
        _ = writeln!(
            out,
            "Not compared, unlike states: {} {} {at_place}: {first} and {second}.",
            at.suite, at.workload
        );
    }
    if c.unmatched > 0 {
        _ = writeln!(out, "On one side only: {} results; export both to see them.", c.unmatched);
    }
    if a.iter().chain(b).any(|r| r.provenance.origin == Origin::Modelled) {
        out.push_str("How far modelled figures are from published ones: flashlab fidelity\n");
    }
    out
}

/// Rates and mean latency at the first and the last place of a workload.
fn is_headline(c: &Comparison, row: &flashlab_analysis::ComparisonRow) -> bool {
    let same = |r: &&flashlab_analysis::ComparisonRow| {
        (&r.at.suite, &r.at.workload, r.a.name) == (&row.at.suite, &row.at.workload, row.a.name)
    };
    let wanted = matches!(row.a.name, MetricName::Bandwidth | MetricName::Seconds | MetricName::LatMean);
    let single = row.at.workload.ends_with("-single") || row.at.workload.starts_with("fill-");
    let ends = [c.rows.iter().find(same), c.rows.iter().rev().find(same)];
    wanted && !single && ends.into_iter().flatten().any(|r| r.at == row.at)
}
