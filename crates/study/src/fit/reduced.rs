//! A suite cut down to what the figures of a fit need.

use flashlab_analysis::{Comparable, PublishedPoint};
use flashlab_spec::{Suite, SuiteStep, SweepStep};
use std::collections::BTreeMap;

/// Interval that ends a read point of the search: ±1 % of the mean latency, a quarter of the usual cost.
const INTERVAL_SHARE: f64 = 0.01;

/// The steps of `suite` that `points` need: sweeps of writes whole, for they age the drive; sweeps of reads
/// at their points only; fills before either; the first fill, and every purge.
pub(crate) fn reduced(suite: &Suite, points: &[&PublishedPoint]) -> Suite {
    let of = |workload: &str| points.iter().filter(|p| p.workload == workload).copied().collect::<Vec<_>>();
    let mut steps: Vec<SuiteStep> = Vec::new();
    let mut first_fill = true;
    for step in &suite.steps {
        match step {
            SuiteStep::Purge => steps.push(step.clone()),
            SuiteStep::Fill(_) => {
                let replaces = steps.last().is_some_and(|s| matches!(s, SuiteStep::Fill(_))) && !first_fill;
                if replaces && steps.iter().filter(|s| matches!(s, SuiteStep::Fill(_))).count() > 1 {
                    steps.pop();
                }
                steps.push(step.clone());
                first_fill = false;
            }
            SuiteStep::Sweep(sweep) => steps.extend(sweeps(sweep, &of(&sweep.workload))),
            SuiteStep::Steady(s) if !of(&s.workload).is_empty() => steps.push(step.clone()),
            SuiteStep::Checkpoint(c) => {
                let last = of(&c.workload).iter().filter_map(|p| p.pass).max();
                let passes = last.map(|last| last.min(c.passes));
                steps.extend(
                    passes.map(|passes| SuiteStep::Checkpoint(flashlab_spec::CheckpointStep { passes, ..c.clone() })),
                );
            }
            // A modelled drive runs one load at a time.
            SuiteStep::Steady(_) | SuiteStep::Concurrent(_) => {}
        }
    }
    while steps.last().is_some_and(|s| matches!(s, SuiteStep::Fill(_))) {
        steps.pop();
    }
    Suite { steps, ..suite.clone() }
}

/// A sweep at the places of `points`, a step for each outer value.
fn sweeps(sweep: &SweepStep, points: &[&PublishedPoint]) -> Vec<SuiteStep> {
    if points.is_empty() {
        return vec![];
    }
    let sweep = SweepStep { interval_goal: sweep.interval_goal.or(Some(INTERVAL_SHARE)), ..sweep.clone() };
    if sweep.rw.writes() || points.iter().any(|p| p.comparable == Comparable::Peak) {
        return vec![SuiteStep::Sweep(Box::new(sweep))];
    }
    if !sweep.threads.is_empty() {
        let threads: Vec<u32> =
            sweep.threads.iter().copied().filter(|t| points.iter().any(|p| p.threads == Some(*t))).collect();
        return if threads.is_empty() {
            vec![]
        } else {
            vec![SuiteStep::Sweep(Box::new(SweepStep { threads, ..sweep }))]
        };
    }
    let mut by_depth: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (iodepth, numjobs) in points.iter().filter_map(|p| p.iodepth.zip(p.numjobs)) {
        let jobs = by_depth.entry(iodepth).or_default();
        if !jobs.contains(&numjobs) {
            jobs.push(numjobs);
        }
    }
    let step =
        |(iodepth, numjobs)| SuiteStep::Sweep(Box::new(SweepStep { iodepth: vec![iodepth], numjobs, ..sweep.clone() }));
    by_depth.into_iter().map(step).collect()
}
