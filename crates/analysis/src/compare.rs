//! Two sets of results side by side. Only like is compared with like: the same suite, workload,
//! coordinates and state.

use flashlab_samples::{Condition, Coordinates, Metric, MetricName, PointResult};

/// One figure of two sets at the same place.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRow {
    /// Where, without the drive.
    pub at: Coordinates,
    /// In which state of both drives.
    pub condition: Condition,
    /// The figure of the first set.
    pub a: Metric,
    /// The same figure of the second.
    pub b: Metric,
}

impl ComparisonRow {
    /// Second over first.
    pub fn ratio(&self) -> f64 {
        self.b.value / self.a.value
    }

    /// Which is better: the second (`Some(true)`), the first, or neither, where the 95 % intervals of
    /// the two overlap.
    pub fn second_is_better(&self) -> Option<bool> {
        if let (Some((a_low, a_high)), Some((b_low, b_high))) = (self.a.interval, self.b.interval)
            && a_low <= b_high
            && b_low <= a_high
        {
            return None;
        }
        let more_is_better = matches!(self.a.name, MetricName::Bandwidth | MetricName::Iops | MetricName::FreePool);
        match self.ratio() {
            r if r == 1.0 || !r.is_finite() => None,
            r => Some((r > 1.0) == more_is_better),
        }
    }
}

/// Two sets of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Figures at places that both have, in the order of the first set.
    pub rows: Vec<ComparisonRow>,
    /// Places that both have in unlike states: (where, state of the first, state of the second).
    pub unlike: Vec<(Coordinates, Condition, Condition)>,
    /// Places that only one of them has.
    pub unmatched: usize,
}

/// Compares the figures named in `metrics` of `a` and `b`.
pub fn compare(a: &[&PointResult], b: &[&PointResult], metrics: &[MetricName]) -> Comparison {
    let mut out = Comparison::default();
    for first in a {
        let Some(second) = b.iter().find(|p| same_place(&p.at, &first.at)) else {
            out.unmatched += 1;
            continue;
        };
        if first.state.condition != second.state.condition {
            out.unlike.push((first.at.clone(), first.state.condition, second.state.condition));
            continue;
        }
        for name in metrics {
            let find = |p: &PointResult| p.metrics.iter().find(|m| m.name == *name).copied();
            if let (Some(a), Some(b)) = (find(first), find(second)) {
                out.rows.push(ComparisonRow { at: first.at.clone(), condition: first.state.condition, a, b });
            }
        }
    }
    out.unmatched += b.iter().filter(|p| !a.iter().any(|q| same_place(&p.at, &q.at))).count();
    out
}

fn same_place(a: &Coordinates, b: &Coordinates) -> bool {
    Coordinates { drive_id: String::new(), ..a.clone() } == Coordinates { drive_id: String::new(), ..b.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::{DriveState, Origin};

    fn point(drive: &str, iodepth: u32, condition: Condition, iops: f64, interval: Option<(f64, f64)>) -> PointResult {
        PointResult {
            at: Coordinates {
                drive_id: drive.into(),
                suite: "review".into(),
                workload: "w".into(),
                iodepth: Some(iodepth),
                numjobs: Some(1),
                threads: None,
                pass: None,
            },
            state: DriveState { condition, ..DriveState::UNKNOWN },
            origin: Origin::Modelled,
            metrics: vec![Metric { name: MetricName::Iops, value: iops, interval, samples: 1 }],
            job: None,
            remarks: vec![],
        }
    }

    #[test]
    fn only_like_is_compared_with_like() {
        let a = [
            point("a", 1, Condition::AfterFill, 100.0, None),
            point("a", 2, Condition::AfterFill, 100.0, Some((90.0, 110.0))),
            point("a", 4, Condition::GcSteady, 100.0, None),
            point("a", 8, Condition::AfterFill, 100.0, None),
        ];
        let b = [
            point("b", 1, Condition::AfterFill, 150.0, None),
            point("b", 2, Condition::AfterFill, 105.0, Some((95.0, 115.0))),
            point("b", 4, Condition::AfterFill, 600.0, None),
            point("b", 16, Condition::AfterFill, 1.0, None),
        ];
        let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
        let c = compare(&a, &b, &[MetricName::Iops, MetricName::LatMean]);
        assert_eq!(c.rows.len(), 2);
        assert_eq!((c.rows[0].ratio(), c.rows[0].second_is_better()), (1.5, Some(true)));
        assert_eq!(c.rows[1].second_is_better(), None, "the intervals overlap");
        assert_eq!((c.unlike.len(), c.unmatched), (1, 2));
    }
}
