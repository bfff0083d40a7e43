//! The charts of a sweep: rate and latency over outstanding I/Os, and latency over rate.
//!
//! One run shows its own structure (a line a numjobs, a line a percentile); several runs show a line
//! each, so that seven drives stay seven lines.

use super::exceedance::exceedance;
use super::{Procedure, Rate, Section, Series, hover_beside_published, outstanding, published, tag};
use crate::chart::{Axis, Chart, Line, Look, Mark};
use crate::text;
use flashlab_analysis::PublishedPoint;
use flashlab_samples::{MetricName, PointResult};
use flashlab_units::Nanos;

/// What a point of a sweep says when it is pointed at.
const SHOWN: [MetricName; 7] = [
    MetricName::Bandwidth,
    MetricName::Iops,
    MetricName::LatMean,
    MetricName::LatP50,
    MetricName::LatP99,
    MetricName::LatP999,
    MetricName::LatP9999,
];
/// The percentiles drawn as lines where one run is shown.
const DRAWN: [MetricName; 3] = [MetricName::LatP50, MetricName::LatP99, MetricName::LatP999];
/// Published latencies are means.
const MEAN: MetricName = MetricName::LatMean;

/// A unit and its size, chosen so that the numbers of an axis are short.
pub(super) struct Scale {
    pub(super) unit: &'static str,
    pub(super) factor: f64,
}

impl Scale {
    pub(super) fn of_rate(rate: Rate, most: f64) -> Self {
        match rate {
            Rate::Bandwidth => {
                let unit = ["GB/s", "MB/s", "kB/s"].into_iter().find(|u| most >= text::rate_unit(u)).unwrap_or("B/s");
                Scale { unit, factor: text::rate_unit(unit) }
            }
            Rate::Iops if most >= 1e6 => Scale { unit: "million operations/s", factor: 1e6 },
            Rate::Iops if most >= 1e3 => Scale { unit: "thousand operations/s", factor: 1e3 },
            Rate::Iops => Scale { unit: "operations/s", factor: 1.0 },
        }
    }

    pub(super) fn of_latency(least_ns: f64) -> Self {
        if least_ns >= Nanos::millis(1).0 as f64 {
            Scale { unit: "ms", factor: Nanos::millis(1).0 as f64 }
        } else {
            Scale { unit: "us", factor: Nanos::micros(1).0 as f64 }
        }
    }
}

/// All charts of a section that have more than one point a line.
pub(crate) fn curves(section: &Section<'_>) -> Vec<Chart> {
    let mean = only(section).is_none() || section.series.iter().any(|s| s.published.iter().any(|p| p.metric == MEAN));
    let all = [
        Some(rate_chart(section)),
        mean.then(|| mean_chart(section)),
        Some(latency_chart(section)),
        Some(latency_by_rate(section)),
        exceedance(section),
    ];
    all.into_iter().flatten().filter(Chart::has_a_line).collect()
}

/// The one series of a section, where it has one.
pub(super) fn only<'a, 'b>(section: &'b Section<'a>) -> Option<&'b Series<'a>> {
    match section.series.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

fn points<'a>(section: &Section<'a>) -> Vec<&'a PointResult> {
    section.series.iter().flat_map(|s| s.points.iter().copied()).collect()
}

fn is_threads(section: &Section<'_>) -> bool {
    section.kind.is_some_and(|kind| kind.procedure == Procedure::Threads)
}

fn load_word(section: &Section<'_>) -> &'static str {
    if is_threads(section) { "threads" } else { "outstanding I/Os" }
}

fn load_axis(section: &Section<'_>, points: &[&PointResult]) -> Axis {
    let title = if is_threads(section) { "Threads (count, log scale)" } else { "Outstanding I/Os (count, log scale)" };
    Axis::powers_of_two(title, points.iter().filter_map(|p| outstanding(&p.at)))
}

fn rate_scale(section: &Section<'_>, points: &[&PointResult]) -> Scale {
    let values = points.iter().filter_map(|p| p.value(section.rate.metric()));
    Scale::of_rate(section.rate, values.fold(0.0, f64::max))
}

fn latency_axis(what: &str, points: &[&PointResult], names: &[MetricName]) -> (Axis, Scale) {
    let values: Vec<f64> = points.iter().flat_map(|p| names.iter().filter_map(|n| p.value(*n))).collect();
    let scale = Scale::of_latency(values.iter().copied().fold(f64::INFINITY, f64::min));
    let axis = Axis::decades(what, scale.unit, values.iter().map(|v| v / scale.factor));
    (axis, scale)
}

/// The figure `name` over the load, in units of `factor`: several drives get a line each through the
/// combinations with the highest rate, the others as faint marks; one drive a line a numjobs. Hollow
/// marks where a review printed the figure.
fn over_load(section: &Section<'_>, name: MetricName, factor: f64) -> Vec<Line> {
    let mark = |series: &Series<'_>, point: &PointResult| {
        let (x, y) = (outstanding(&point.at)? as f64, point.value(name)? / factor);
        Some(Mark { x, y, hover: hover_beside_published(series, point, name, &SHOWN) })
    };
    if let Some(series) = only(section) {
        return by_numjobs(series, name, factor, &mark);
    }
    let mut lines = Vec::new();
    for series in &section.series {
        let frontier = series.by_outstanding(section.rate);
        let on_line = |p: &PointResult| frontier.iter().any(|(_, q)| std::ptr::eq(*q, p));
        let marks = frontier.iter().filter_map(|(_, p)| mark(series, p)).collect();
        let others: Vec<Mark> = series.points.iter().filter(|p| !on_line(p)).filter_map(|p| mark(series, p)).collect();
        lines.push(Line::new(series.label.clone(), series.rank, marks).of_drive(series.rank));
        if !others.is_empty() {
            let faint = Line::new(series.label.clone(), series.rank, others).look(Look::Faint);
            lines.push(faint.of_drive(series.rank));
        }
        let printed = published::line(series, name, factor, &published::outstanding_of);
        lines.extend(printed.map(|line| line.of_drive(series.rank)));
    }
    lines
}

fn by_numjobs(
    series: &Series<'_>,
    name: MetricName,
    factor: f64,
    mark: &dyn Fn(&Series<'_>, &PointResult) -> Option<Mark>,
) -> Vec<Line> {
    let mut groups: Vec<Option<u32>> = series.points.iter().map(|p| p.at.numjobs).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut lines = Vec::new();
    for (colour, jobs) in groups.into_iter().enumerate() {
        let members = series.points.iter().filter(|p| p.at.numjobs == jobs);
        let mut marks: Vec<Mark> = members.filter_map(|p| mark(series, p)).collect();
        marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        let label = jobs.map_or(series.label.clone(), |n| format!("numjobs {n}"));
        lines.push(Line::new(label.clone(), colour, marks));
        let here = |p: &PublishedPoint| published::outstanding_of(p).filter(|_| p.numjobs == jobs);
        let printed = published::line(series, name, factor, &here);
        lines.extend(printed.map(|line| Line { name: label, colour, ..line }));
    }
    lines
}

/// What was drawn how, under the chart.
fn explanation(section: &Section<'_>, name: MetricName) -> String {
    let grid = !is_threads(section);
    let mut out = match (only(section).is_some(), grid) {
        (true, true) => "One line a numjobs; outstanding is iodepth × numjobs.".to_owned(),
        (false, true) => BEST_COMBINATION.to_owned(),
        (_, false) => "Each thread has one I/O outstanding.".to_owned(),
    };
    let placed = |s: &Series<'_>| published::line(s, name, 1.0, &published::outstanding_of).is_some();
    if section.series.iter().any(placed) {
        out.push_str(" Hollow marks: published by reviews.");
    }
    out
}

/// Rate over outstanding I/Os.
fn rate_chart(section: &Section<'_>) -> Chart {
    let all = points(section);
    let scale = rate_scale(section, &all);
    let y = Axis::linear(format!("{} ({})", section.rate.title(), scale.unit));
    let lines = over_load(section, section.rate.metric(), scale.factor);
    let title = format!("{} over {}", section.rate.title(), load_word(section));
    let tag = tag(all.iter().copied());
    Chart::new(title, tag, load_axis(section, &all), y, lines).caption(explanation(section, section.rate.metric()))
}

/// Mean latency over outstanding I/Os, which is what reviews print.
fn mean_chart(section: &Section<'_>) -> Chart {
    let all = points(section);
    let (y, scale) = latency_axis("Mean latency", &all, &[MEAN]);
    let title = format!("Mean latency over {}", load_word(section));
    let tag = tag(all.iter().copied());
    let lines = over_load(section, MEAN, scale.factor);
    Chart::new(title, tag, load_axis(section, &all), y, lines).caption(explanation(section, MEAN))
}

const BEST_COMBINATION: &str = "A line goes through the iodepth/numjobs with the highest rate where several have the same number \
     outstanding; faint marks are the others.";
const BEST_ONLY: &str =
    "Where several combinations have the same number of outstanding I/Os, the one with the highest rate is drawn.";

/// A line of marks (x, percentile) over the frontier of a series.
fn latency_line(
    section: &Section<'_>,
    series: &Series<'_>,
    name: MetricName,
    scale: &Scale,
    x: &dyn Fn(u64, &PointResult) -> Option<f64>,
) -> Vec<Mark> {
    let frontier = series.by_outstanding(section.rate);
    let mark = |(o, p): (u64, &PointResult)| {
        let y = p.value(name)? / scale.factor;
        Some(Mark { x: x(o, p)?, y, hover: hover_beside_published(series, p, section.rate.metric(), &SHOWN) })
    };
    frontier.into_iter().filter_map(mark).collect()
}

/// Percentiles of one run, or the 99th of each of several.
fn latency_lines(section: &Section<'_>, scale: &Scale, x: &dyn Fn(u64, &PointResult) -> Option<f64>) -> Vec<Line> {
    match only(section) {
        Some(series) => DRAWN
            .iter()
            .enumerate()
            .map(|(i, name)| Line::new(text::label(*name), i, latency_line(section, series, *name, scale, x)))
            .collect(),
        None => {
            let line = |s: &Series<'_>| {
                let marks = latency_line(section, s, MetricName::LatP99, scale, x);
                Line::new(s.label.clone(), s.rank, marks).of_drive(s.rank)
            };
            section.series.iter().map(line).collect()
        }
    }
}

fn drawn(section: &Section<'_>) -> (&'static [MetricName], &'static str) {
    if only(section).is_some() { (&DRAWN, "Latency percentiles") } else { (&[MetricName::LatP99], "99th percentile") }
}

/// Latency over outstanding I/Os.
fn latency_chart(section: &Section<'_>) -> Chart {
    let all = points(section);
    let (names, title) = drawn(section);
    let (y, scale) = latency_axis("Latency", &all, names);
    let lines = latency_lines(section, &scale, &|outstanding, _| Some(outstanding as f64));
    let title = format!("{title} over {}", load_word(section));
    let caption = if is_threads(section) { "" } else { BEST_ONLY };
    Chart::new(title, tag(all.iter().copied()), load_axis(section, &all), y, lines).caption(caption)
}

/// What a latency costs in rate: flat until the drive saturates, then straight up.
fn latency_by_rate(section: &Section<'_>) -> Chart {
    let all = points(section);
    let (names, title) = drawn(section);
    let (y, scale) = latency_axis("Latency", &all, names);
    let rate = rate_scale(section, &all);
    let lines = latency_lines(section, &scale, &|_, p| Some(p.value(section.rate.metric())? / rate.factor));
    let x = Axis::linear(format!("{} ({})", section.rate.title(), rate.unit));
    Chart::new(format!("{title} over {}", section.rate.word()), tag(all.iter().copied()), x, y, lines)
        .caption("From a light load to a heavy one. Where a line turns upwards, more load only waits longer.")
}
