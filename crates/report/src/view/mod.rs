//! What a report shows, computed and not yet laid out.
//!
//! A report is a list of sections, one a workload of a suite; a section holds one series for every
//! run that has points there, with what reviews printed about it. One run gives one series a section, seven drives give seven, and
//! nothing else changes: everything after this module takes a slice of series.

mod bars;
mod ceilings;
mod checkpoint;
mod curves;
mod exceedance;
mod fidelity;
mod key_figures;
mod kind;
mod matrix;
mod notes;
mod published;
mod space;
mod stages;
mod steady;
mod time;

pub(crate) use bars::bars;
pub(crate) use ceilings::{Rating, Reached, ratings};
pub(crate) use checkpoint::{pass_seconds, passes_chart, singles_chart};
pub(crate) use curves::curves;
pub(crate) use fidelity::{Deviation, deviations, scatters};
pub(crate) use key_figures::{KeyFigure, key_figures};
pub(crate) use kind::{Kind, Procedure, kind_of};
pub(crate) use matrix::{Matrix, matrix};
pub(crate) use notes::Notes;
pub(crate) use published::{peaks, words_of_place as words_of_published_place};
pub(crate) use space::{Space, WearRow, space_charts, wear_rows};
pub(crate) use stages::{Breakdown, breakdowns, sentences, stages_chart};
pub(crate) use steady::{Rounds, WindowRow, rounds_chart, window_rows};
pub(crate) use time::time_charts;

use crate::text;
use flashlab_analysis::{PublishedPoint, RunRecord};
use flashlab_samples::{Condition, Coordinates, Granted, MetricName, Origin, PointResult};
use kind::{rate_of, rule_of};

/// Which rate a workload is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    Bandwidth,
    Iops,
}

impl Rate {
    pub(crate) const fn metric(self) -> MetricName {
        match self {
            Rate::Bandwidth => MetricName::Bandwidth,
            Rate::Iops => MetricName::Iops,
        }
    }

    /// In the middle of a sentence.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Rate::Bandwidth => "bandwidth",
            Rate::Iops => "IOPS",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Rate::Bandwidth => "Bandwidth",
            Rate::Iops => "IOPS",
        }
    }
}

/// A workload of a suite with every run that has results there.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) suite: &'a str,
    pub(crate) workload: &'a str,
    pub(crate) rate: Rate,
    /// As the suite of its first run says.
    pub(crate) kind: Option<Kind>,
    /// A fill that the suite runs for the state it leaves, not for its figures.
    pub(crate) prepares: bool,
    pub(crate) series: Vec<Series<'a>>,
}

/// The points of one run in a section.
#[derive(Debug)]
pub(crate) struct Series<'a> {
    pub(crate) run: &'a RunRecord,
    /// The drive, with the run where two runs of one drive are shown together.
    pub(crate) label: String,
    /// Position of the label among those of the report, so that a drive keeps its colour.
    pub(crate) rank: usize,
    /// As its own suite says.
    pub(crate) kind: Option<Kind>,
    /// Points that stand for themselves, in the order in which they were taken.
    pub(crate) points: Vec<&'a PointResult>,
    /// Rounds on the way to steady state, where the workload has them.
    pub(crate) rounds: Option<Rounds<'a>>,
    /// What reviews printed for this drive and workload; modelled drives only.
    pub(crate) published: Vec<&'a PublishedPoint>,
}

impl<'a> Section<'a> {
    /// See [`Series::judged_points`].
    pub(crate) fn judged_points(&self) -> impl Iterator<Item = &'a PointResult> + Clone {
        self.series.iter().flat_map(Series::judged_points).collect::<Vec<_>>().into_iter()
    }

    /// All points, of all series, rounds included.
    pub(crate) fn all_points(&self) -> impl Iterator<Item = &'a PointResult> {
        self.series.iter().flat_map(Series::all_points)
    }
}

impl<'a> Series<'a> {
    /// Rounds first: the points of a steady-state step sum them up.
    pub(crate) fn all_points(&self) -> impl Iterator<Item = &'a PointResult> {
        let rounds = self.rounds.as_ref().map(|r| r.points.as_slice()).unwrap_or_default();
        rounds.iter().chain(&self.points).copied()
    }

    /// The points whose state is the state of the answer: all of a sweep, the last of rounds.
    pub(crate) fn judged_points(&self) -> impl Iterator<Item = &'a PointResult> + Clone {
        let last_round = self.rounds.as_ref().and_then(|r| r.points.last().copied());
        let standing_in = last_round.filter(|_| self.points.is_empty());
        self.points.iter().copied().chain(standing_in).collect::<Vec<_>>().into_iter()
    }

    /// The point with the highest value of `name`.
    pub(crate) fn best(&self, name: MetricName) -> Option<&'a PointResult> {
        extreme(&self.points, name, f64::total_cmp)
    }

    /// The point with the lowest value of `name`.
    pub(crate) fn lowest(&self, name: MetricName) -> Option<&'a PointResult> {
        extreme(&self.points, name, |a, b| b.total_cmp(a))
    }

    /// One point a number of outstanding I/Os, ascending: the one with the highest rate where several
    /// combinations have the same number.
    pub(crate) fn by_outstanding(&self, rate: Rate) -> Vec<(u64, &'a PointResult)> {
        let mut out: Vec<(u64, &PointResult)> = Vec::new();
        for point in &self.points {
            let (Some(outstanding), Some(value)) = (outstanding(&point.at), point.value(rate.metric())) else {
                continue;
            };
            match out.iter_mut().find(|(o, _)| *o == outstanding) {
                Some((_, held)) if held.value(rate.metric()).is_none_or(|v| v < value) => *held = point,
                Some(_) => {}
                None => out.push((outstanding, point)),
            }
        }
        out.sort_by_key(|(outstanding, _)| *outstanding);
        out
    }
}

/// The first of the points whose value is the greatest by `order`.
fn extreme<'a>(
    points: &[&'a PointResult],
    name: MetricName,
    order: impl Fn(&f64, &f64) -> std::cmp::Ordering,
) -> Option<&'a PointResult> {
    let valued = points.iter().filter_map(|p| Some((*p, p.value(name)?)));
    valued.first_max_by(order)
}

/// `max_by` that keeps the first of equals, so that the lightest load that reaches a rate is named.
trait FirstMax<'a>: Iterator<Item = (&'a PointResult, f64)> + Sized {
    fn first_max_by(self, order: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Option<&'a PointResult> {
        self.reduce(|held, next| if order(&next.1, &held.1).is_gt() { next } else { held }).map(|(point, _)| point)
    }
}
impl<'a, I: Iterator<Item = (&'a PointResult, f64)>> FirstMax<'a> for I {}

/// Outstanding I/Os of a point in all jobs together.
pub(crate) fn outstanding(at: &Coordinates) -> Option<u64> {
    match (at.iodepth, at.numjobs) {
        (Some(depth), Some(jobs)) => Some(u64::from(depth) * u64::from(jobs)),
        _ => at.threads.map(u64::from),
    }
}

/// All sections of `runs`, in the order in which their first points were taken, preparing ones last.
pub(crate) fn sections<'a>(runs: &'a [RunRecord], published: &'a [PublishedPoint]) -> Vec<Section<'a>> {
    let labels = labels(runs);
    let drives = distinct(labels.iter().cloned());
    let mut out: Vec<Section<'a>> = Vec::new();
    for (run, label) in runs.iter().zip(labels) {
        let rank = drives.iter().position(|d| *d == label).unwrap_or_default();
        for point in run.points() {
            let (suite, workload) = (point.at.suite.as_str(), point.at.workload.as_str());
            let at = out.iter().position(|s| s.suite == suite && s.workload == workload).unwrap_or_else(|| {
                let kind = kind_of(&run.suite, workload);
                let prepares = kind.is_none() && workload.starts_with("fill-");
                out.push(Section { suite, workload, rate: rate_of(kind, point), kind, prepares, series: Vec::new() });
                out.len() - 1
            });
            let series = &mut out[at].series;
            if series.last().is_none_or(|s| !std::ptr::eq(s.run, run)) {
                series.push(Series {
                    run,
                    label: label.clone(),
                    rank,
                    kind: kind_of(&run.suite, workload),
                    points: Vec::new(),
                    rounds: rule_of(&run.suite, workload).map(Rounds::new),
                    published: published::of_run(run, workload, published),
                });
            }
            if let Some(series) = series.last_mut() {
                match &mut series.rounds {
                    Some(rounds) if point.at.pass.is_some() => rounds.points.push(point),
                    _ => series.points.push(point),
                }
            }
        }
    }
    out.sort_by_key(|section| section.prepares);
    out
}

/// The drives of a report, each once, in the order of its runs; see [`labels`].
pub(crate) fn drives(runs: &[RunRecord]) -> Vec<String> {
    distinct(labels(runs))
}

/// The targets of `sections` by the number of their first label, each once.
pub(crate) fn drive_ids<'a>(sections: &[Section<'a>]) -> Vec<(usize, &'a str)> {
    let mut out: Vec<(usize, &str)> = Vec::new();
    for series in sections.iter().flat_map(|s| &s.series) {
        let id = series.run.provenance.target.id.as_str();
        match out.iter_mut().find(|(_, known)| *known == id) {
            Some((rank, _)) => *rank = series.rank.min(*rank),
            None => out.push((series.rank, id)),
        }
    }
    out.sort_unstable();
    out
}

/// A name for each run: the drive, with the run's number where the drive alone would not tell.
pub(crate) fn labels(runs: &[RunRecord]) -> Vec<String> {
    let id = |run: &RunRecord| run.provenance.target.id.clone();
    let twice = |run: &RunRecord| {
        let same = |other: &&RunRecord| id(other) == id(run) && other.suite.id == run.suite.id;
        runs.iter().filter(same).count() > 1
    };
    runs.iter().map(|run| if twice(run) { format!("{} (run {})", id(run), run.id) } else { id(run) }).collect()
}

/// The conditions that `points` belong to, each once.
pub(crate) fn conditions<'a>(points: impl IntoIterator<Item = &'a PointResult>) -> Vec<Condition> {
    distinct(points.into_iter().map(|p| p.state.condition))
}

/// The origins of `points`, each once.
pub(crate) fn origins<'a>(points: impl IntoIterator<Item = &'a PointResult>) -> Vec<Origin> {
    distinct(points.into_iter().map(|p| p.origin))
}

/// Each different grant that a job of `run` had, in the order of first appearance.
pub(crate) fn grants(run: &RunRecord) -> Vec<&Granted> {
    distinct(run.points().filter_map(|p| p.job.as_ref()).map(|job| &job.granted))
}

fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for value in values {
        if !out.contains(&value) {
            out.push(value);
        }
    }
    out
}

/// What is written on every chart: how the numbers came to be, in which state of the drive, and the
/// workload, so that a picture of it can stand alone.
pub(crate) fn tag<'a>(points: impl IntoIterator<Item = &'a PointResult> + Clone) -> String {
    let origin: Vec<String> = origins(points.clone()).iter().map(|o| o.word().to_uppercase()).collect();
    let state: Vec<&str> = conditions(points.clone()).iter().map(|c| c.word()).collect();
    let workloads = distinct(points.into_iter().map(|p| p.at.workload.as_str()));
    let workload = if let [one] = workloads.as_slice() { format!(" · {one}") } else { String::new() };
    format!("{} · {}{workload}", origin.join(" + "), state.join(", "))
}

/// The states of `points` as sentences.
pub(crate) fn state_sentence<'a>(points: impl IntoIterator<Item = &'a PointResult>) -> String {
    let sentences: Vec<&str> = conditions(points).iter().map(|c| c.sentence()).collect();
    sentences.join("; ")
}

/// The fills before `points`, each history once: `2 fills, last at 128 KiB`.
pub(crate) fn fills<'a>(points: impl IntoIterator<Item = &'a PointResult>) -> Vec<String> {
    distinct(points.into_iter().filter_map(|p| text::fills(&p.state)))
}

/// What a chart shows when a point is pointed at: where it lies and its figures with units.
pub(crate) fn hover(label: &str, point: &PointResult, names: &[MetricName]) -> String {
    let mut lines = vec![label.to_owned(), text::place(&point.at)];
    for metric in names.iter().filter_map(|name| text::metric(point, *name)) {
        let exact = match metric.name {
            MetricName::Iops => format!("{} IOPS", text::grouped(metric.value.round() as u64)),
            _ => text::figure(metric),
        };
        let name =
            if metric.name == MetricName::Iops { String::new() } else { format!("{} ", text::label(metric.name)) };
        lines.push(format!("{name}{exact}"));
    }
    lines.push(format!("{}, {}", point.origin.word(), point.state.condition.word()));
    lines.join("\n")
}

/// [`hover`], and what a review printed for `name` at the same place.
pub(crate) fn hover_beside_published(
    series: &Series<'_>,
    point: &PointResult,
    name: MetricName,
    names: &[MetricName],
) -> String {
    let mut out = hover(&series.label, point, names);
    if let Some((printed, theirs)) = series.published_for(point, name)
        && let Some(ours) = point.value(name)
    {
        let (what, error) = (text::number(name, theirs), text::signed_percent(ours / theirs - 1.0));
        out.push_str(&format!("\npublished {what} ({} review); here {error}", printed.review));
    }
    out
}
