//! How far the modelled drives lie from what reviews printed.

use super::published::value_as;
use super::{Section, words_of_published_place};
use crate::chart::{Axis, Chart, Line, Look, Mark, NEUTRAL};
use crate::text;
use flashlab_analysis::{ErrorSummary, Fidelity, FidelityRow};
use flashlab_samples::MetricName;
use flashlab_units::Nanos;

/// The band drawn around "as published".
const BAND: f64 = 0.10;

/// A row of the summary.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Deviation {
    /// The drive, or "all drives".
    pub(crate) drive: String,
    pub(crate) suite: String,
    pub(crate) workload: String,
    /// Points that are not at a ceiling.
    pub(crate) free: Option<ErrorSummary>,
    /// Points at a ceiling.
    pub(crate) at_ceiling: Option<ErrorSummary>,
}

/// All drives and workloads, and at the top what they come to together.
pub(crate) fn deviations(fidelity: &Fidelity) -> Vec<Deviation> {
    let row = |drive: &str, suite: &str, workload: &str, here: &dyn Fn(&FidelityRow) -> bool| Deviation {
        drive: drive.to_owned(),
        suite: suite.to_owned(),
        workload: workload.to_owned(),
        free: fidelity.summary(|r| here(r) && !r.at_ceiling),
        at_ceiling: fidelity.summary(|r| here(r) && r.at_ceiling),
    };
    let is_gds = |r: &FidelityRow| r.published.suite == "gds";
    let together =
        [row("all drives", "", "fio and checkpoints", &|r| !is_gds(r)), row("all drives", "gds", "all", &is_gds)];
    let each = fidelity.groups().into_iter().map(|(drive, workload, suite)| {
        row(&drive, &suite, &workload, &|r| {
            let p = &r.published;
            (p.drive_id.as_str(), p.workload.as_str(), p.suite.as_str())
                == (drive.as_str(), workload.as_str(), suite.as_str())
        })
    });
    together.into_iter().filter(|d| d.free.is_some() || d.at_ceiling.is_some()).chain(each).collect()
}

/// Modelled over published, a chart a unit: bandwidth, IOPS, latency, seconds.
pub(crate) fn scatters(fidelity: &Fidelity, sections: &[Section<'_>]) -> Vec<Chart> {
    let axes = [
        (MetricName::Bandwidth, "Bandwidth", "GB/s", text::rate_unit("GB/s")),
        (MetricName::Iops, "IOPS", "thousand IOPS", 1e3),
        (MetricName::LatMean, "Mean latency", "us", Nanos::micros(1).0 as f64),
        (MetricName::Seconds, "Time of a checkpoint", "s", 1.0),
    ];
    axes.into_iter()
        .filter_map(|(name, what, unit, factor)| scatter(fidelity, sections, name, what, unit, factor))
        .collect()
}

fn scatter(
    fidelity: &Fidelity,
    sections: &[Section<'_>],
    name: MetricName,
    what: &str,
    unit: &str,
    factor: f64,
) -> Option<Chart> {
    let rows: Vec<&FidelityRow> = fidelity.rows.iter().filter(|r| r.published.metric == name).collect();
    let values = || rows.iter().flat_map(|r| [r.published.value / factor, r.result / factor]);
    let (low, high) = values().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
    if rows.is_empty() || low <= 0.0 {
        return None;
    }
    let ends = [low / (1.0 + BAND), high * (1.0 + BAND)];
    let guide = |label: &str, times: f64, look: Look| {
        let mark = |x: f64| Mark { x, y: x * times, hover: label.to_owned() };
        Line::new(label, NEUTRAL, ends.map(mark).to_vec()).look(look)
    };
    let mut lines = vec![
        guide("within ± 10 %", 1.0 - BAND, Look::Dashed),
        Line { fill_to_previous: true, ..guide("within ± 10 %", 1.0 + BAND, Look::Dashed) },
        guide("as published", 1.0, Look::Plain),
    ];
    // One entry of the legend is enough for the two edges of the band.
    lines[0].look = Look::DashedUnnamed;
    for (rank, label) in super::drive_ids(sections) {
        for (at_ceiling, look) in [(false, Look::Dots), (true, Look::Faint)] {
            let here = |r: &&&FidelityRow| r.published.drive_id == label && r.at_ceiling == at_ceiling;
            let mark = |r: &&FidelityRow| {
                let x = value_as(&r.published, name, None)? / factor;
                Some(Mark { x, y: r.result / factor, hover: hover(r) })
            };
            let marks: Vec<Mark> = rows.iter().filter(here).filter_map(mark).collect();
            if !marks.is_empty() {
                lines.push(Line::new(label, rank, marks).look(look).of_drive(rank));
            }
        }
    }
    let x = Axis::decades("Published", unit, values());
    let y = Axis::decades("Modelled", unit, values());
    let chart =
        Chart::new(format!("{what}, modelled over published"), "MODELLED · each in its own state".into(), x, y, lines);
    Some(chart.caption("Small pale marks: at a ceiling of the drive."))
}

/// What was printed, what came out, and how far they lie apart.
fn hover(row: &FidelityRow) -> String {
    let p = &row.published;
    let ceiling = if row.at_ceiling { "\nat a ceiling of the drive" } else { "" };
    format!(
        "{}, {} {}\n{}\npublished {} (printed {}, {} review)\nmodelled {} ({}){ceiling}",
        p.drive_id,
        p.suite,
        p.workload,
        words_of_published_place(p),
        text::number(p.metric, p.value),
        p.printed,
        p.review,
        text::number(p.metric, row.result),
        text::signed_percent(row.error()),
    )
}
