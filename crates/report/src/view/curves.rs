//! The charts of a sweep: rate and latency over outstanding I/Os, latency over rate, and how many
//! I/Os took longer.
//!
//! One run shows its own structure (a line a numjobs, a line a percentile); several runs show a line
//! each, so that seven drives stay seven lines.

use super::{Rate, Section, Series, hover, outstanding, tag};
use crate::chart::{Axis, Chart, Line, Mark};
use crate::text;
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
/// Two marks of an exceedance line are at least this far apart in latency or share, which no screen
/// resolves; bounds the size of the page at some 100 marks a line.
const EXCEEDANCE_STEP: f64 = 1.1;
/// Fewer marks than this is a latency that hardly varies: the percentiles in the table say it all.
const EXCEEDANCE_MARKS_MIN: usize = 5;

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
    let all = [rate_chart(section), latency_chart(section), latency_by_rate(section), exceedance(section)];
    all.into_iter().flatten().filter(Chart::has_a_line).collect()
}

/// The one series of a section, where it has one.
fn only<'a, 'b>(section: &'b Section<'a>) -> Option<&'b Series<'a>> {
    match section.series.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

fn points<'a>(section: &Section<'a>) -> Vec<&'a PointResult> {
    section.series.iter().flat_map(|s| s.points.iter().copied()).collect()
}

fn outstanding_axis(points: &[&PointResult]) -> Axis {
    Axis::powers_of_two("Outstanding I/Os (count)", points.iter().filter_map(|p| outstanding(&p.at)))
}

fn rate_scale(section: &Section<'_>, points: &[&PointResult]) -> Scale {
    let values = points.iter().filter_map(|p| p.value(section.rate.metric()));
    Scale::of_rate(section.rate, values.fold(0.0, f64::max))
}

fn latency_axis(points: &[&PointResult], names: &[MetricName]) -> (Axis, Scale) {
    let values: Vec<f64> = points.iter().flat_map(|p| names.iter().filter_map(|n| p.value(*n))).collect();
    let scale = Scale::of_latency(values.iter().copied().fold(f64::INFINITY, f64::min));
    let axis = Axis::decades("Latency", scale.unit, values.iter().map(|v| v / scale.factor));
    (axis, scale)
}

/// Rate over outstanding I/Os.
fn rate_chart(section: &Section<'_>) -> Option<Chart> {
    let all = points(section);
    let scale = rate_scale(section, &all);
    let mark = |label: &str, outstanding: u64, point: &PointResult| {
        let y = point.value(section.rate.metric())? / scale.factor;
        Some(Mark { x: outstanding as f64, y, hover: hover(label, point, &SHOWN) })
    };
    let (lines, caption) = match only(section) {
        Some(series) => {
            let mut groups: Vec<Option<u32>> = series.points.iter().map(|p| p.at.numjobs).collect();
            groups.sort_unstable();
            groups.dedup();
            let line = |(colour, jobs): (usize, Option<u32>)| {
                let members = series.points.iter().filter(|p| p.at.numjobs == jobs);
                let mut marks: Vec<Mark> =
                    members.filter_map(|p| mark(&series.label, outstanding(&p.at)?, p)).collect();
                marks.sort_by(|a, b| a.x.total_cmp(&b.x));
                Line::new(jobs.map_or(series.label.clone(), |n| format!("numjobs {n}")), colour, marks)
            };
            (
                groups.into_iter().enumerate().map(line).collect(),
                "One line a numjobs; outstanding is iodepth × numjobs.".to_owned(),
            )
        }
        None => {
            let line = |series: &Series<'_>| {
                let frontier = series.by_outstanding(section.rate);
                let marks = frontier.into_iter().filter_map(|(o, p)| mark(&series.label, o, p)).collect();
                Line::new(series.label.clone(), series.rank, marks)
            };
            (section.series.iter().map(line).collect(), BEST_COMBINATION.to_owned())
        }
    };
    Some(Chart {
        title: format!("{} over outstanding I/Os", section.rate.title()),
        caption,
        tag: tag(all.iter().copied()),
        x: outstanding_axis(&all),
        y: Axis::linear(format!("{} ({})", section.rate.title(), scale.unit)),
        lines,
        bands: vec![],
    })
}

const BEST_COMBINATION: &str =
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
        Some(Mark { x: x(o, p)?, y: p.value(name)? / scale.factor, hover: hover(&series.label, p, &SHOWN) })
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
        None => section
            .series
            .iter()
            .map(|s| Line::new(s.label.clone(), s.rank, latency_line(section, s, MetricName::LatP99, scale, x)))
            .collect(),
    }
}

fn drawn(section: &Section<'_>) -> (&'static [MetricName], &'static str) {
    if only(section).is_some() { (&DRAWN, "Latency percentiles") } else { (&[MetricName::LatP99], "99th percentile") }
}

/// Latency over outstanding I/Os.
fn latency_chart(section: &Section<'_>) -> Option<Chart> {
    let all = points(section);
    let (names, title) = drawn(section);
    let (y, scale) = latency_axis(&all, names);
    Some(Chart {
        title: format!("{title} over outstanding I/Os"),
        caption: BEST_COMBINATION.to_owned(),
        tag: tag(all.iter().copied()),
        x: outstanding_axis(&all),
        y,
        lines: latency_lines(section, &scale, &|outstanding, _| Some(outstanding as f64)),
        bands: vec![],
    })
}

/// What a latency costs in rate: flat until the drive saturates, then straight up.
fn latency_by_rate(section: &Section<'_>) -> Option<Chart> {
    let all = points(section);
    let (names, title) = drawn(section);
    let (y, scale) = latency_axis(&all, names);
    let rate = rate_scale(section, &all);
    Some(Chart {
        title: format!("{title} over {}", section.rate.word()),
        caption: "From few outstanding I/Os to many. Where a line turns upwards, more load only waits longer.".into(),
        tag: tag(all.iter().copied()),
        x: Axis::linear(format!("{} ({})", section.rate.title(), rate.unit)),
        y,
        lines: latency_lines(section, &scale, &|_, p| Some(p.value(section.rate.metric())? / rate.factor)),
        bands: vec![],
    })
}

/// Share of the I/Os that took longer than a latency, for the lightest, a middle and the heaviest
/// load of one run, or the heaviest load of each of several.
fn exceedance(section: &Section<'_>) -> Option<Chart> {
    let chosen: Vec<(String, usize, &PointResult)> = match only(section) {
        Some(series) => {
            let frontier: Vec<_> =
                series.by_outstanding(section.rate).into_iter().filter(|(_, p)| p.job.is_some()).collect();
            let mut picks = vec![0, frontier.len() / 2, frontier.len().saturating_sub(1)];
            picks.dedup();
            let picked = picks.into_iter().filter_map(|i| frontier.get(i)).enumerate();
            picked.map(|(i, (_, p))| (text::place(&p.at), i, *p)).collect()
        }
        None => section
            .series
            .iter()
            .filter_map(|s| {
                let (_, heaviest) = s.by_outstanding(section.rate).into_iter().rfind(|(_, p)| p.job.is_some())?;
                Some((format!("{}, {}", s.label, text::short_place(&heaviest.at)), s.rank, heaviest))
            })
            .collect(),
    };
    let drawn: Vec<_> = chosen
        .into_iter()
        .map(|(name, colour, point)| (name, colour, point, exceedance_of(point)))
        .filter(|(_, _, _, marks)| marks.len() >= EXCEEDANCE_MARKS_MIN)
        .collect();
    let all = || drawn.iter().flat_map(|(_, _, _, marks)| marks);
    let scale = Scale::of_latency(all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min));
    let lines = drawn.iter().map(|(name, colour, _, marks)| {
        let mark = |(ns, share): &(f64, f64)| Mark {
            x: ns / scale.factor,
            y: share * 100.0,
            hover: format!("{name}\n{} of the I/Os took longer than {}", share_words(*share), text::latency(*ns)),
        };
        let marks = marks.iter().map(mark).collect();
        Line { markers: false, steps: true, ..Line::new(name.clone(), *colour, marks) }
    });
    Some(Chart {
        title: "Share of I/Os that took longer".into(),
        caption: "At 1 % a line crosses the 99th percentile, at 0.1 % the 99.9th; it ends at the longest latency."
            .into(),
        tag: tag(drawn.iter().map(|(_, _, point, _)| *point)),
        x: Axis::decades("Latency", scale.unit, all().map(|(x, _)| x / scale.factor)),
        y: Axis::decades("I/Os that took longer", "%", all().map(|(_, y)| y * 100.0)),
        lines: lines.collect(),
        bands: vec![],
    })
}

/// (latency in ns, share of the I/Os beyond it), exact at the buckets' ends, thinned; from the
/// shortest latency to the longest.
fn exceedance_of(point: &PointResult) -> Vec<(f64, f64)> {
    let Some(job) = &point.job else { return Vec::new() };
    let sparse = job.latency().to_sparse();
    let total = sparse.count();
    let mut beyond = total;
    let mut out: Vec<(f64, f64)> = vec![(sparse.min_ns as f64, 1.0)];
    for (value, count) in &sparse.buckets {
        beyond -= count;
        let (x, y) = (*value as f64, beyond as f64 / total as f64);
        let far = |(px, py): &(f64, f64)| x > px * EXCEEDANCE_STEP || y * EXCEEDANCE_STEP < *py;
        if beyond > 0 && out.last().is_none_or(far) {
            out.push((x, y));
        }
    }
    let last_share = out.last().map_or(1.0, |(_, share)| *share);
    out.push((sparse.max_ns as f64, last_share));
    out
}

/// A share as percent with as many decimals as a rare event needs.
fn share_words(share: f64) -> String {
    if share >= 0.01 { text::percent(share) } else { format!("{:.2e} %", share * 100.0) }
}
