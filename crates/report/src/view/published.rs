//! Figures that reviews printed, beside the results at the same place.
//!
//! Only for modelled drives: a drive on the bench is another piece than the one in the review, and
//! its own results are what counts. Only where drive, suite and workload agree; of the figures only
//! those that a chart or a column is about. A rate that was printed as IOPS is the same measurement as
//! the bandwidth, so it is drawn in either, with what was printed in its hover text.

use super::{Kind, Section, Series, outstanding};
use crate::chart::{Line, Look, Mark};
use crate::table::wrap;
use crate::text;
use flashlab_analysis::{Comparable, PublishedPoint, RunRecord};
use flashlab_samples::{Coordinates, MetricName, PointResult, TargetKind};

/// Columns of a note in a hover text.
const NOTE_WIDTH: usize = 60;

/// The published figures of one workload of `run`.
pub(super) fn of_run<'a>(run: &RunRecord, workload: &str, all: &'a [PublishedPoint]) -> Vec<&'a PublishedPoint> {
    let target = &run.provenance.target;
    if target.kind != TargetKind::ModelledDrive {
        return Vec::new();
    }
    all.iter().filter(|p| p.drive_id == target.id && p.suite == run.suite.id && p.workload == workload).collect()
}

/// The value of a published figure as `name`, in its base unit.
pub(crate) fn value_as(p: &PublishedPoint, name: MetricName, kind: Option<Kind>) -> Option<f64> {
    let block = || kind.map(|k| k.bs.0 as f64);
    match (p.metric, name) {
        (have, want) if have == want => Some(p.value),
        (MetricName::Iops, MetricName::Bandwidth) => Some(p.value * block()?),
        (MetricName::Bandwidth, MetricName::Iops) => Some(p.value / block()?),
        _ => None,
    }
}

/// Where a figure was printed for, as coordinates of our own results.
pub(crate) fn place(p: &PublishedPoint) -> Coordinates {
    Coordinates {
        drive_id: p.drive_id.clone(),
        suite: p.suite.to_owned(),
        workload: p.workload.clone(),
        iodepth: p.iodepth,
        numjobs: p.numjobs,
        threads: p.threads,
        pass: p.pass,
    }
}

/// Whether the review named no place, only the top of a sweep.
pub(crate) fn is_a_peak(p: &PublishedPoint) -> bool {
    p.comparable == Comparable::Peak
}

impl<'a> Series<'a> {
    /// The published figure `name` for the place of `point`.
    pub(crate) fn published_for(&self, point: &PointResult, name: MetricName) -> Option<(&'a PublishedPoint, f64)> {
        let at = &point.at;
        let here = |p: &PublishedPoint| {
            !is_a_peak(p) && (p.iodepth, p.numjobs, p.threads, p.pass) == (at.iodepth, at.numjobs, at.threads, at.pass)
        };
        self.published.iter().filter(|p| here(p)).find_map(|p| Some((*p, value_as(p, name, self.kind)?)))
    }

    /// Ours at the place of a published figure; for the top of a sweep our own top.
    pub(crate) fn ours(&self, p: &PublishedPoint, name: MetricName) -> Option<f64> {
        if is_a_peak(p) {
            return self.best(name)?.value(name);
        }
        let here = |at: &Coordinates| {
            (p.iodepth, p.numjobs, p.threads, p.pass) == (at.iodepth, at.numjobs, at.threads, at.pass)
        };
        self.all_points().find(|point| here(&point.at)).and_then(|point| point.value(name))
    }
}

/// What a published mark says: what was printed where, and how far ours lies from it.
pub(crate) fn hover(series: &Series<'_>, p: &PublishedPoint, name: MetricName) -> String {
    let mut lines = vec![format!("{}, published", series.label), words_of_place(p)];
    lines.push(format!("printed {}: {} in the {} review", text::label(p.metric), p.printed, p.review));
    if let (Some(ours), Some(theirs)) = (series.ours(p, name), value_as(p, name, series.kind)) {
        lines.push(format!("here {} ({})", text::number(name, ours), text::signed_percent(ours / theirs - 1.0)));
    }
    if !p.note.is_empty() && p.note != "exact" {
        lines.extend(wrap(&p.note, NOTE_WIDTH));
    }
    lines.join("\n")
}

/// The place of a published figure in words.
pub(crate) fn words_of_place(p: &PublishedPoint) -> String {
    if is_a_peak(p) { "top of the sweep, place not named".to_owned() } else { text::place(&place(p)) }
}

/// Hollow marks of `series` for the figure `name`, in units of `factor`, at x of `x`.
pub(super) fn line(
    series: &Series<'_>,
    name: MetricName,
    factor: f64,
    x: &dyn Fn(&PublishedPoint) -> Option<f64>,
) -> Option<Line> {
    let mark = |p: &&PublishedPoint| {
        let y = value_as(p, name, series.kind)? / factor;
        Some(Mark { x: x(p)?, y, hover: hover(series, p, name) })
    };
    let marks: Vec<Mark> = series.published.iter().filter_map(mark).collect();
    (!marks.is_empty()).then(|| Line::new(series.label.clone(), series.rank, marks).look(Look::Published))
}

/// Outstanding I/Os or threads of a published figure.
pub(super) fn outstanding_of(p: &PublishedPoint) -> Option<f64> {
    outstanding(&place(p)).map(|o| o as f64)
}

/// The published tops of sweeps of a section, a sentence each; a chart has no place for them.
pub(crate) fn peaks(section: &Section<'_>) -> Vec<String> {
    // In the unit that was printed.
    let one = |series: &Series<'_>, p: &&PublishedPoint| {
        let ours = series.ours(p, p.metric)?;
        let error = text::signed_percent(ours / p.value - 1.0);
        let (label, printed, review) = (&series.label, &p.printed, &p.review);
        let ours = text::number(p.metric, ours);
        Some(format!("{label}: {printed} at the top of the sweep ({review} review); here {ours} ({error})"))
    };
    let all = section.series.iter().flat_map(|s| s.published.iter().map(move |p| (s, p)));
    all.filter(|(_, p)| is_a_peak(p)).filter_map(|(s, p)| one(s, p)).collect()
}
