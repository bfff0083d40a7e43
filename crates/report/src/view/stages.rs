//! Where the time of requests went: the stages that a modelled drive followed them through.
//!
//! A breakdown is one class of requests, such as mapped reads, at several places: the load of one drive
//! from light to heavy, or the highest rate of each of several drives.

use super::{Section, Series, tag};
use crate::chart::{Axis, Chart, Line, Look, Mark, NEUTRAL};
use crate::text;
use flashlab_samples::{ClassTimes, PointResult};

/// A class with a smaller share of the requests of every place is left out.
const SHARE_MIN: f64 = 0.05;

/// Colours of the stages, so that one has the same on every chart. No class has two of one colour.
const COLOURS: [(&str, usize); 11] = [
    ("host", 6),
    ("controller", 0),
    ("die wait", 1),
    ("buffer wait", 1),
    ("die read", 2),
    ("acknowledge", 2),
    ("read-ahead", 2),
    ("channel", 3),
    ("link", 4),
    ("read overhead", 5),
    ("hold-off", 7),
];

/// One class of requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Breakdown<'a> {
    pub(crate) class: &'a str,
    /// In the order of the path; those that take no time anywhere are left out.
    pub(crate) stages: Vec<&'a str>,
    pub(crate) rows: Vec<Row<'a>>,
}

/// The class at one place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row<'a> {
    /// The place, or the drive where there are several.
    pub(crate) label: String,
    /// Number of the drive on this page, where there are several.
    pub(crate) drive: Option<usize>,
    pub(crate) point: &'a PointResult,
    pub(crate) times: &'a ClassTimes,
}

impl Row<'_> {
    /// Mean time from submission to completion.
    pub(crate) fn mean_ns(&self) -> f64 {
        self.times.stages.iter().map(|stage| stage.mean_ns).sum()
    }

    /// Mean time in a stage; `None` where the class does not have it.
    pub(crate) fn stage_ns(&self, stage: &str) -> Option<f64> {
        self.times.stages.iter().find(|s| s.stage == stage).map(|s| s.mean_ns)
    }
}

/// The classes of a section that matter, those with the most requests first.
pub(crate) fn breakdowns<'a>(section: &Section<'a>) -> Vec<Breakdown<'a>> {
    let places = places(section);
    let mut classes: Vec<(&str, u64)> = Vec::new();
    for times in places.iter().flat_map(|(.., point)| followed(point)).filter(|(_, share)| *share >= SHARE_MIN) {
        match classes.iter_mut().find(|(class, _)| *class == times.0.class) {
            Some((_, ios)) => *ios += times.0.ios,
            None => classes.push((&times.0.class, times.0.ios)),
        }
    }
    classes.sort_by_key(|(_, ios)| std::cmp::Reverse(*ios));
    classes.into_iter().map(|(class, _)| breakdown(class, &places)).collect()
}

fn breakdown<'a>(class: &'a str, places: &[(String, Option<usize>, &'a PointResult)]) -> Breakdown<'a> {
    let of_class = |point: &'a PointResult| followed(point).map(|(times, _)| times).find(|t| t.class == class);
    let row = |(label, drive, point): &(String, Option<usize>, &'a PointResult)| {
        Some(Row { label: label.clone(), drive: *drive, point, times: of_class(point)? })
    };
    let rows: Vec<Row<'a>> = places.iter().filter_map(row).collect();
    let mut stages: Vec<&str> = Vec::new();
    for stage in rows.iter().flat_map(|row| &row.times.stages).filter(|stage| stage.mean_ns > 0.0) {
        if !stages.contains(&stage.stage.as_str()) {
            stages.push(&stage.stage);
        }
    }
    // Those that begin to take time only at a later place must not stand behind those that follow them.
    let order = rows.first().map(|row| row.times.stages.as_slice()).unwrap_or_default();
    stages.sort_by_key(|name| order.iter().position(|stage| stage.stage == *name));
    Breakdown { class, stages, rows }
}

/// The classes of a point, each with its share of the requests that were followed.
fn followed(point: &PointResult) -> impl Iterator<Item = (&ClassTimes, f64)> {
    let all = point.job.iter().flat_map(|job| &job.classes);
    let ios: u64 = all.clone().map(|times| times.ios).sum();
    all.map(move |times| (times, times.ios as f64 / ios as f64))
}

/// The places to look at: of one drive its loads from light to heavy, of several the highest rate of each.
fn places<'a>(section: &Section<'a>) -> Vec<(String, Option<usize>, &'a PointResult)> {
    if let [only] = section.series.as_slice() {
        let loads = only.by_outstanding(section.rate);
        if loads.is_empty() {
            return last(only).map(|point| (text::short_place(&point.at), None, point)).into_iter().collect();
        }
        return loads.into_iter().map(|(_, point)| (text::short_place(&point.at), None, point)).collect();
    }
    let name = section.rate.metric();
    let best = |series: &Series<'a>| {
        let point = series.best(name).filter(|point| point.job.is_some()).or_else(|| last(series))?;
        Some((series.label.clone(), Some(series.rank), point))
    };
    section.series.iter().filter_map(best).collect()
}

/// The last point that a job stands behind: what sums up rounds or checkpoints has none.
fn last<'a>(series: &Series<'a>) -> Option<&'a PointResult> {
    series.all_points().filter(|point| point.job.is_some()).last()
}

/// Stages with a smaller share are left out of a sentence.
const SAID_MIN: f64 = 0.005;

/// A sentence for each class of a section: where its time goes at the highest rate.
pub(crate) fn sentences(section: &Section<'_>) -> Vec<String> {
    let rate = |row: &&Row<'_>| row.point.value(section.rate.metric()).unwrap_or(0.0);
    let sentence = |breakdown: Breakdown<'_>| {
        let row = breakdown.rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        let mean = row.mean_ns();
        let shares = breakdown.stages.iter().filter_map(|stage| Some((stage, row.stage_ns(stage)? / mean)));
        let said = shares.filter(|(_, share)| *share >= SAID_MIN);
        let shares: Vec<String> = said.map(|(stage, share)| format!("{stage} {}", text::percent(share))).collect();
        let (class, place) = (breakdown.class, text::short_place(&row.point.at));
        let (mean, origin) = (text::latency(mean), row.point.origin.word());
        Some(format!("Time of a {class} at {place} ({mean}, {origin}): {}", shares.join(", ")))
    };
    breakdowns(section).into_iter().filter_map(sentence).collect()
}

/// A bar a place, each stage as its share of the mean.
pub(crate) fn stages_chart(breakdown: &Breakdown<'_>) -> Chart {
    let several = breakdown.rows.iter().any(|row| row.drive.is_some());
    let part = |(y, row): (usize, &Row<'_>), stage: &str| {
        let (mean, ns) = (row.mean_ns(), row.stage_ns(stage)?);
        let share = if mean > 0.0 { ns / mean } else { 0.0 };
        let hover = format!(
            "{}\n{}\n{stage}: {}, {} of {}\n{}, {}",
            row.label,
            text::place(&row.point.at),
            text::latency(ns),
            text::percent(share),
            text::latency(mean),
            row.point.origin.word(),
            row.point.state.condition.word()
        );
        Some(Mark { x: share * 100.0, y: y as f64, hover })
    };
    let line = |stage: &&str| {
        let marks = breakdown.rows.iter().enumerate().filter_map(|row| part(row, stage)).collect();
        let colour = COLOURS.iter().find(|(name, _)| name == stage).map_or(NEUTRAL, |(_, colour)| *colour);
        Line::new(*stage, colour, marks).look(Look::Parts)
    };
    let labels = breakdown.rows.iter().map(|row| format!("{} · {}", row.label, text::latency(row.mean_ns())));
    let threads = breakdown.rows.iter().any(|row| row.point.at.threads.is_some());
    let y = match (several, threads) {
        (true, _) => "Drive (name · mean)",
        (false, true) => "Load (threads · mean)",
        (false, false) => "Load (iodepth/numjobs · mean)",
    };
    let points: Vec<&PointResult> = breakdown.rows.iter().map(|row| row.point).collect();
    let lines = breakdown.stages.iter().map(line).collect();
    let x = Axis { to: Some(100.0), ..Axis::linear("Share of the mean latency (%)") };
    let chart = Chart::new(title(breakdown.class), tag(points), x, Axis::names(y, labels), lines);
    chart.caption(if several { OF_DRIVES } else { OF_LOADS })
}

fn title(class: &str) -> String {
    format!("Where the time of a {class} goes")
}

const OF_LOADS: &str = "From a light load to a heavy one, by iodepth/numjobs or threads. Waiting counts where it happens: for a \
     die, for room in the write buffer.";
const OF_DRIVES: &str =
    "Each drive at its highest rate. Waiting counts where it happens: for a die, for room in the write buffer.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_class_has_two_stages_of_one_colour() {
        let classes: [&[&str]; 4] = [
            &["host", "controller", "die wait", "die read", "channel", "link", "read overhead", "hold-off"],
            &["host", "controller", "read-ahead", "link", "read overhead", "hold-off"],
            &["host", "controller", "link", "buffer wait", "acknowledge"],
            &["host", "controller", "acknowledge"],
        ];
        for class in classes {
            let mut colours: Vec<usize> =
                class.iter().filter_map(|s| COLOURS.iter().find(|(n, _)| n == s)).map(|(_, c)| *c).collect();
            colours.sort_unstable();
            colours.dedup();
            assert_eq!(colours.len(), class.len(), "{class:?}");
        }
    }
}
