//! Erased space and write amplification over the volume that a run wrote.

use super::{distinct, drives, hover, labels, tag};
use crate::chart::{Axis, Chart, Line, Look, Mark};
use crate::text;
use flashlab_analysis::RunRecord;
use flashlab_samples::{MetricName, PointResult, Wear};
use flashlab_units::Bytes;

const SHOWN: [MetricName; 3] = [MetricName::FreePool, MetricName::WriteAmplification, MetricName::Bandwidth];

/// The charts of one suite.
pub(crate) struct Space<'a> {
    pub(crate) suite: &'a str,
    pub(crate) charts: Vec<Chart>,
}

/// Free pool and write amplification, a pair a suite, for the runs that say them. Volume is what the
/// measured windows of all points up to there wrote, at full scale; steps that only prepare leave no
/// figure and are not in it.
pub(crate) fn space_charts(runs: &[RunRecord]) -> Vec<Space<'_>> {
    let suites = distinct(runs.iter().map(|run| run.suite.id.as_str()));
    let several = drives(runs).len() > 1;
    let charts = |suite: &str| -> Vec<Chart> {
        let both = [MetricName::FreePool, MetricName::WriteAmplification];
        both.into_iter().filter_map(|name| chart(runs, suite, name, several)).filter(Chart::has_a_line).collect()
    };
    let all = suites.into_iter().map(|suite| Space { suite, charts: charts(suite) });
    all.filter(|space| !space.charts.is_empty()).collect()
}

/// What the flash of a drive has been through by the end of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WearRow {
    pub(crate) suite: String,
    pub(crate) label: String,
    pub(crate) rank: usize,
    pub(crate) origin: &'static str,
    /// Erases of a superblock: least, mean, most.
    pub(crate) erases: [String; 3],
    /// Share of the rated life; that no rating is known is not zero.
    pub(crate) used: String,
    pub(crate) free_pool: String,
}

/// A row a run whose log says how often its blocks were erased, by the last of its logs.
pub(crate) fn wear_rows(runs: &[RunRecord]) -> Vec<WearRow> {
    let drives = drives(runs);
    let row = |(run, label): (&RunRecord, String)| {
        let logs = run.points().filter_map(|point| Some((point, point.job.as_ref()?.health?)));
        let (point, health) = logs.last()?;
        let Wear { erases_min, erases_mean, erases_max } = health.wear?;
        let none = || text::NONE.to_owned();
        Some(WearRow {
            suite: run.suite.id.clone(),
            rank: drives.iter().position(|d| *d == label).unwrap_or_default(),
            label,
            origin: point.origin.word(),
            erases: [erases_min.to_string(), format!("{erases_mean:.2}"), erases_max.to_string()],
            used: health.percentage_used.map_or_else(none, |used| format!("{used:.3} %")),
            free_pool: health.free_pool.map_or_else(none, |free| free.si()),
        })
    };
    runs.iter().zip(labels(runs)).filter_map(row).collect()
}

/// The points of a run that say `name`, each with the bytes written up to its end.
fn over_volume(run: &RunRecord, name: MetricName) -> Vec<(f64, &PointResult)> {
    let mut written = 0.0;
    let mut out = Vec::new();
    for (step, point) in run.steps.iter().flat_map(|step| step.points.iter().map(move |p| (step, p))) {
        written += point.job.as_ref().map_or(0.0, |job| job.write.bytes.0 as f64 * job.scale as f64);
        // A point that sums up rounds or checkpoints repeats what they said.
        let sums_up = point.job.is_none() || (step.round > 0 && point.at.pass.is_none());
        if !sums_up && point.value(name).is_some() {
            out.push((written, point));
        }
    }
    out
}

fn chart(runs: &[RunRecord], suite: &str, name: MetricName, several: bool) -> Option<Chart> {
    let drives = drives(runs);
    let of_suite: Vec<(&RunRecord, String)> =
        runs.iter().zip(labels(runs)).filter(|(r, _)| r.suite.id == suite).collect();
    let points: Vec<Vec<(f64, &PointResult)>> = of_suite.iter().map(|(run, _)| over_volume(run, name)).collect();
    let all: Vec<&PointResult> = points.iter().flatten().map(|(_, p)| *p).collect();
    let most = |value: &dyn Fn(&(f64, &PointResult)) -> f64| points.iter().flatten().map(value).fold(0.0, f64::max);
    let volume = Unit::of_bytes(most(&|(written, _)| *written));
    let pool = Unit::of_bytes(most(&|(_, p)| p.value(name).unwrap_or_default()));
    let mut lines = Vec::new();
    for ((run, label), points) in of_suite.iter().zip(&points) {
        let rank = drives.iter().position(|d| d == label).unwrap_or_default();
        let capacity = run.provenance.target.capacity.0 as f64;
        let x_factor = if several { capacity } else { volume.factor };
        let y_factor = match name {
            MetricName::FreePool if several => capacity / 100.0,
            MetricName::FreePool => pool.factor,
            _ => 1.0,
        };
        let mark = |(written, point): &(f64, &PointResult)| {
            let place = hover(&format!("{label}, {}", point.at.workload), point, &SHOWN);
            let hover = format!("{place}\nafter {} written", Bytes(*written as u64).si());
            Some(Mark { x: written / x_factor, y: point.value(name)? / y_factor, hover })
        };
        let line = Line::new(label.clone(), rank, points.iter().filter_map(mark).collect());
        // Hundreds of marks would hide their own line.
        let line = if points.len() > MARKS_SHOWN_MAX { line.look(Look::Plain) } else { line };
        lines.push(if several { line.of_drive(rank) } else { line });
    }
    let x = if several { "Written (user capacities)".to_owned() } else { format!("Written ({})", volume.name) };
    let (title, y) = match name {
        MetricName::FreePool if several => {
            ("Free pool over the volume written", "Free pool (% of the user capacity)".to_owned())
        }
        MetricName::FreePool => ("Free pool over the volume written", format!("Free pool ({})", pool.name)),
        _ => ("Write amplification over the volume written", "Write amplification (ratio)".to_owned()),
    };
    (!all.is_empty()).then(|| Chart::new(title, tag(all.iter().copied()), Axis::linear(x), Axis::linear(y), lines))
}

/// More marks than this on a line are left out.
const MARKS_SHOWN_MAX: usize = 60;

/// A unit of bytes for an axis.
struct Unit {
    name: &'static str,
    factor: f64,
}

impl Unit {
    fn of_bytes(most: f64) -> Self {
        let name = ["TB", "GB"].into_iter().find(|unit| most >= text::byte_unit(unit)).unwrap_or("MB");
        Unit { name, factor: text::byte_unit(name) }
    }
}
