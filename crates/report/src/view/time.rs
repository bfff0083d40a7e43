//! A job over its seconds: rate, and the latency between median and 99th percentile.

use super::curves::Scale;
use super::{Rate, Section, hover, tag};
use crate::chart::{Axis, Chart, Line, Mark};
use crate::text;
use flashlab_samples::{Interval, LatencyHistogram, PointResult, Series};
use flashlab_units::{BytesPerSecond, Iops, Nanos};

/// More marks than this on one line are merged, so that a day of seconds stays a page.
const MARKS_MAX: usize = 1000;

/// Some consecutive intervals of a job, all directions together.
struct Slice {
    start: Nanos,
    length: Nanos,
    ios: u64,
    bytes: u64,
    lat: LatencyHistogram,
}

/// Charts over time for each point that stands alone and was taken on a wall clock; a sweep has its
/// curves instead.
pub(crate) fn time_charts(section: &Section<'_>) -> Vec<Chart> {
    let alone = section.series.iter().filter(|s| s.points.len() == 1 && s.rounds.is_none());
    alone.flat_map(|series| series.points.iter().flat_map(|p| charts(section, &series.label, p))).collect()
}

fn charts(section: &Section<'_>, label: &str, point: &PointResult) -> Vec<Chart> {
    let Some(job) = &point.job else { return Vec::new() };
    let slices = slices(&job.series);
    if slices.len() < 2 {
        return Vec::new();
    }
    vec![rate_chart(section, label, point, &slices), latency_chart(label, point, &slices)]
}

/// Intervals merged by equal numbers; counts add up and histograms merge, so nothing is averaged.
fn slices(series: &Series) -> Vec<Slice> {
    let chunk = series.intervals.len().div_ceil(MARKS_MAX).max(1);
    series.intervals.chunks(chunk).filter_map(merge).collect()
}

fn merge(intervals: &[Interval]) -> Option<Slice> {
    let mut out =
        Slice { start: intervals.first()?.start, length: Nanos::ZERO, ios: 0, bytes: 0, lat: LatencyHistogram::new() };
    for interval in intervals {
        out.length += interval.length;
        for direction in interval.directions() {
            out.ios += direction.ios;
            out.bytes += direction.bytes.0;
            out.lat.merge(&LatencyHistogram::from_sparse(&direction.lat));
        }
    }
    (out.length > Nanos::ZERO).then_some(out)
}

fn time_axis() -> Axis {
    Axis::linear("Time in the measured window (s)")
}

fn rate_chart(section: &Section<'_>, label: &str, point: &PointResult, slices: &[Slice]) -> Chart {
    let value = |s: &Slice| {
        let count = if section.rate == Rate::Bandwidth { s.bytes } else { s.ios };
        count as f64 / s.length.as_secs_f64()
    };
    let scale = Scale::of_rate(section.rate, slices.iter().map(value).fold(0.0, f64::max));
    let words = |s: &Slice| match section.rate {
        Rate::Bandwidth => BytesPerSecond(value(s)).si(),
        Rate::Iops => Iops(value(s)).to_string(),
    };
    let mark = |s: &Slice| Mark {
        x: s.start.as_secs_f64(),
        y: value(s) / scale.factor,
        hover: format!("from {} for {}\n{}\n{}", s.start, s.length, words(s), hover(label, point, &[])),
    };
    let title = format!("{} by second, {}", section.rate.title(), text::place(&point.at));
    let y = Axis::linear(format!("{} ({})", section.rate.title(), scale.unit));
    let line = Line::new(section.rate.title(), 0, slices.iter().map(mark).collect());
    Chart::new(title, tag([point]), time_axis(), y, vec![line])
}

fn latency_chart(label: &str, point: &PointResult, slices: &[Slice]) -> Chart {
    let at = |s: &Slice, percent: f64| s.lat.percentile(percent).map(|p| p.value.0 as f64);
    let values: Vec<f64> = slices.iter().flat_map(|s| [at(s, 50.0), at(s, 99.0)]).flatten().collect();
    let scale = Scale::of_latency(values.iter().copied().fold(f64::INFINITY, f64::min));
    let line = |name: &str, colour: usize, percent: f64| {
        let mark = |s: &Slice| {
            let ns = at(s, percent)?;
            let hover = format!("{name} from {} for {}\n{}\n{label}", s.start, s.length, text::latency(ns));
            Some(Mark { x: s.start.as_secs_f64(), y: ns / scale.factor, hover })
        };
        Line::new(name, colour, slices.iter().filter_map(mark).collect())
    };
    let title = format!("Latency by second, {}", text::place(&point.at));
    let y = Axis::decades("Latency", scale.unit, values.iter().map(|v| v / scale.factor));
    let lines = vec![line("p50", 0, 50.0), Line { fill_to_previous: true, ..line("p99", 1, 99.0) }];
    Chart::new(title, tag([point]), time_axis(), y, lines)
        .caption("Shaded: between the median and the 99th percentile of each second.")
}
