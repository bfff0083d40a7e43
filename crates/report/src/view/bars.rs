//! Workloads of one point a drive: a bar each.

use super::curves::Scale;
use super::{Section, Series, hover_beside_published, published, tag};
use crate::chart::{Axis, Chart, DARK, Line, Look, Mark};
use flashlab_analysis::PublishedPoint;
use flashlab_samples::{MetricName, PointResult};

const SHOWN: [MetricName; 4] = [MetricName::Bandwidth, MetricName::Iops, MetricName::LatMean, MetricName::LatP99];

/// The rates of several drives that have one point each, with the published figures on them.
pub(crate) fn bars(section: &Section<'_>) -> Option<Chart> {
    let alone = |s: &&Series<'_>| s.points.len() == 1 && s.rounds.is_none();
    if section.series.len() < 2 || !section.series.iter().all(|s| alone(&s)) {
        return None;
    }
    let rate = section.rate.metric();
    let all = || section.series.iter().flat_map(|s| s.points.iter().copied());
    let scale = Scale::of_rate(section.rate, all().filter_map(|p| p.value(rate)).fold(0.0, f64::max));
    let mut lines = Vec::new();
    for (row, series) in section.series.iter().enumerate() {
        let y = row as f64;
        let bar = |p: &&PointResult| {
            let hover = hover_beside_published(series, p, rate, &SHOWN);
            Some(Mark { x: p.value(rate)? / scale.factor, y, hover })
        };
        let marks = series.points.iter().filter_map(bar).collect();
        lines.push(Line::new(series.label.clone(), series.rank, marks).look(Look::Bars).of_drive(series.rank));
        let mark = |p: &&PublishedPoint| {
            let x = published::value_as(p, rate, series.kind)? / scale.factor;
            Some(Mark { x, y, hover: published::hover(series, p, rate) })
        };
        let printed: Vec<Mark> = series.published.iter().filter_map(mark).collect();
        if !printed.is_empty() {
            // A mark in the colour of its bar would not be seen on it.
            let line = Line::new(series.label.clone(), DARK, printed).look(Look::Published);
            lines.push(line.of_drive(series.rank));
        }
    }
    let x = Axis::linear(format!("{} ({})", section.rate.title(), scale.unit));
    let y = Axis::names("Drive (name)", section.series.iter().map(|s| s.label.clone()));
    let chart = Chart::new(section.rate.title(), tag(all().collect::<Vec<_>>()), x, y, lines);
    let printed = section.series.iter().any(|s| !s.published.is_empty());
    Some(if printed { chart.caption("Hollow marks: published by reviews.") } else { chart })
}
