//! Checkpoints: the seconds of each, over the passes, and the means of the passes.

use super::{Procedure, Section, Series, hover_beside_published, published, tag};
use crate::chart::{Axis, Chart, Line, Look, Mark};
use flashlab_analysis::RunRecord;
use flashlab_samples::{MetricName, PointResult};
use flashlab_spec::SuiteStep;

const SHOWN: [MetricName; 4] =
    [MetricName::Seconds, MetricName::Bandwidth, MetricName::WriteAmplification, MetricName::FreePool];

/// More marks than this would hide their own line.
const MARKS_SHOWN_MAX: usize = 60;

fn is(section: &Section<'_>, procedure: Procedure) -> bool {
    section.kind.is_some_and(|kind| kind.procedure == procedure)
}

/// Number of the last checkpoint of each finished pass: it stands in the step that also brought the
/// mean of the pass.
fn pass_ends(run: &RunRecord, single: &str) -> Vec<u32> {
    let passes = single.strip_suffix("-single").unwrap_or(single);
    let with_mean = run.steps.iter().filter(|step| step.points.iter().any(|p| p.at.workload == passes));
    with_mean
        .filter_map(|step| step.points.iter().find(|p| p.at.workload == single))
        .filter_map(|p| p.at.pass)
        .collect()
}

/// Checkpoints of a pass: as the first finished pass had, or as the suite says of the drive.
fn a_pass(run: &RunRecord, single: &str) -> Option<u32> {
    let said = run.suite.steps.iter().find_map(|step| match step {
        SuiteStep::Checkpoint(c) => c.count.get(&run.provenance.target.id).copied(),
        _ => None,
    });
    pass_ends(run, single).first().copied().or(said).filter(|n| *n > 0)
}

/// Seconds of the single checkpoints over the passes, so that drives with different numbers of
/// checkpoints a pass lie over each other.
pub(crate) fn singles_chart(section: &Section<'_>) -> Option<Chart> {
    if !is(section, Procedure::Checkpoints) {
        return None;
    }
    let mut lines = Vec::new();
    let mut passes = 0_f64;
    for series in &section.series {
        let of_pass = a_pass(series.run, section.workload).map_or(1.0, f64::from);
        let mark = |p: &&PointResult| {
            let number = p.at.pass?;
            // In the middle of its share of the pass.
            let x = (f64::from(number) - 0.5) / of_pass;
            let of_pass = of_pass as u32;
            let words = format!("checkpoint {} of pass {}", (number - 1) % of_pass + 1, (number - 1) / of_pass + 1);
            let hover = format!("{words}\n{}", hover_beside_published(series, p, MetricName::Seconds, &SHOWN));
            Some(Mark { x, y: p.value(MetricName::Seconds)?, hover })
        };
        let marks: Vec<Mark> = series.points.iter().filter_map(mark).collect();
        passes = marks.iter().map(|m| m.x.ceil()).fold(passes, f64::max);
        let look = if marks.len() > MARKS_SHOWN_MAX { Look::Plain } else { Look::Marked };
        lines.push(Line::new(series.label.clone(), series.rank, marks).look(look).of_drive(series.rank));
    }
    let x = Axis { from_zero: false, ..Axis::linear("Passes over the drive (count)") };
    let y = Axis { from_zero: false, ..Axis::linear("Time of a checkpoint (s)") };
    let chart = Chart::new("Seconds of each checkpoint", tag(section.judged_points()), x, y, lines)
        .caption("Dotted: a pass ends and the next begins to overwrite it. The time axis does not begin at zero.");
    let rules = (1..passes as u32).map(f64::from).collect();
    Some(Chart { rules, ..chart }).filter(Chart::has_a_line)
}

/// Mean seconds of a checkpoint by pass, with what was published.
pub(crate) fn passes_chart(section: &Section<'_>) -> Option<Chart> {
    if !is(section, Procedure::Passes) {
        return None;
    }
    let mut lines = Vec::new();
    let mut most = 0;
    for series in &section.series {
        let mark = |p: &&PointResult| {
            let hover = hover_beside_published(series, p, MetricName::Seconds, &SHOWN);
            Some(Mark { x: f64::from(p.at.pass?), y: p.value(MetricName::Seconds)?, hover })
        };
        let marks = series.points.iter().filter_map(mark).collect();
        lines.push(Line::new(series.label.clone(), series.rank, marks).of_drive(series.rank));
        let printed = published::line(series, MetricName::Seconds, 1.0, &|p| p.pass.map(f64::from));
        lines.extend(printed.map(|line| line.of_drive(series.rank)));
        most = series.points.iter().filter_map(|p| p.at.pass).fold(most, u32::max);
    }
    let ticks = (1..=most).map(|n| (f64::from(n), n.to_string())).collect();
    let x = Axis { from_zero: false, ticks, ..Axis::linear("Pass (number)") };
    let y = Axis::linear("Mean time of a checkpoint (s)");
    let printed = section.series.iter().any(|s| !s.published.is_empty());
    let caption = if printed { "Hollow marks: published by reviews." } else { "" };
    let title = "Mean seconds of a checkpoint by pass";
    Some(Chart::new(title, tag(section.judged_points()), x, y, lines).caption(caption)).filter(Chart::has_a_line)
}

impl Section<'_> {
    /// Seconds are what its figures are about.
    pub(crate) fn is_checkpoints(&self) -> bool {
        is(self, Procedure::Checkpoints) || is(self, Procedure::Passes)
    }
}

/// Seconds of the passes of a series, in their order.
pub(crate) fn pass_seconds(series: &Series<'_>) -> Vec<f64> {
    series.points.iter().filter_map(|p| p.value(MetricName::Seconds)).collect()
}
