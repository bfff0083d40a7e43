//! Erased space and write amplification over a run.

use super::{hover, labels, tag};
use crate::chart::{Axis, Chart, Line, Mark};
use crate::text;
use flashlab_analysis::RunRecord;
use flashlab_samples::{MetricName, PointResult};

const SHOWN: [MetricName; 3] = [MetricName::FreePool, MetricName::WriteAmplification, MetricName::Bandwidth];

/// Free pool and write amplification by finished step, for the runs that say them. A step that only
/// prepares has no figures, so the lines go over it.
pub(crate) fn space_charts(runs: &[RunRecord]) -> Vec<Chart> {
    let terabyte = text::byte_unit("TB");
    let pool = chart(runs, MetricName::FreePool, |most| {
        let unit = if most >= terabyte { "TB" } else { "GB" };
        (format!("Free pool ({unit})"), text::byte_unit(unit))
    });
    let amplification =
        chart(runs, MetricName::WriteAmplification, |_| ("Write amplification (ratio)".to_owned(), 1.0));
    [pool, amplification].into_iter().flatten().filter(Chart::has_a_line).collect()
}

fn chart(runs: &[RunRecord], name: MetricName, axis: impl Fn(f64) -> (String, f64)) -> Option<Chart> {
    let valued = |p: &&PointResult| p.value(name).is_some();
    let all: Vec<&PointResult> = runs.iter().flat_map(RunRecord::points).filter(valued).collect();
    let most = all.iter().filter_map(|p| p.value(name)).fold(0.0, f64::max);
    let (title, factor) = axis(most);
    let lines = runs.iter().zip(labels(runs)).enumerate().map(|(rank, (run, label))| {
        let steps =
            run.steps.iter().enumerate().flat_map(|(i, step)| step.points.iter().map(move |p| (i + 1, step, p)));
        // The point that sums up a window of rounds repeats what its rounds said.
        let steps = steps.filter(|(_, step, point)| step.round == 0 || point.at.pass.is_some());
        let mark = |(position, step, point): (usize, &flashlab_analysis::StepRecord, &PointResult)| {
            let hover = format!("step {position}: {}\n{}", step.title, hover(&point.at.workload, point, &SHOWN));
            Some(Mark { x: position as f64, y: point.value(name)? / factor, hover })
        };
        Line::new(label, rank, steps.filter_map(mark).collect())
    });
    let (what, caption) = if name == MetricName::FreePool {
        ("Erased space ready to be written", "After each step, in the order in which they ran.")
    } else {
        ("Write amplification", "Media bytes written per host byte, for each step in the order in which they ran.")
    };
    (!all.is_empty()).then(|| Chart {
        title: format!("{what}, step by step"),
        caption: caption.into(),
        tag: tag(all.iter().copied()),
        x: Axis::linear("Finished step (count)"),
        y: Axis::linear(title),
        lines: lines.collect(),
        bands: vec![],
    })
}
