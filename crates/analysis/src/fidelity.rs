//! How far results lie from published figures.

use crate::published::{Comparable, PublishedPoint};
use flashlab_samples::{MetricName, PointResult};
use std::collections::BTreeMap;

/// A point is at a ceiling from this share of the drive's published maximum in bytes a second, over
/// the same suite, state and direction. Such points show one constant again and again.
const CEILING_SHARE: f64 = 0.97;

/// A published figure beside the result at the same place.
#[derive(Debug, Clone, PartialEq)]
pub struct FidelityRow {
    /// The published figure.
    pub published: PublishedPoint,
    /// Ours, in the same base unit.
    pub result: f64,
    /// Whether the published figure is at a ceiling of the drive.
    pub at_ceiling: bool,
}

impl FidelityRow {
    /// (result − published) / published.
    pub fn error(&self) -> f64 {
        self.result / self.published.value - 1.0
    }
}

/// Errors of a group of rows, as shares without sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorSummary {
    /// Rows.
    pub count: usize,
    /// Median.
    pub median: f64,
    /// 90th percentile: the value at rank floor(0.9 × (n − 1)) from the smallest.
    pub p90: f64,
    /// Largest.
    pub worst: f64,
}

/// All comparisons that could be made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fidelity {
    /// Published figures with a result, in the order of the published file.
    pub rows: Vec<FidelityRow>,
    /// Published figures of the drives that have results, without a result at their place.
    pub missing: Vec<PublishedPoint>,
}

type Place<'a> = (&'a str, &'a str, &'a str, Option<u32>, Option<u32>, Option<u32>, Option<u32>);

/// Holds `results` against `published`, drive by drive; drives without any result are left out.
pub fn fidelity(published: &[PublishedPoint], results: &[&PointResult]) -> Fidelity {
    let mut at: BTreeMap<Place<'_>, &PointResult> = BTreeMap::new();
    for r in results {
        let c = &r.at;
        at.insert((&c.drive_id, &c.suite, &c.workload, c.iodepth, c.numjobs, c.threads, c.pass), r);
    }
    let ceilings = ceilings(published);
    let mut out = Fidelity::default();
    for p in published.iter().filter(|p| results.iter().any(|r| r.at.drive_id == p.drive_id)) {
        let place: Place<'_> = (&p.drive_id, &p.suite, &p.workload, p.iodepth, p.numjobs, p.threads, p.pass);
        let result = match p.comparable {
            Comparable::Point => at.get(&place).and_then(|r| r.value(p.metric)),
            Comparable::Peak => at
                .iter()
                .filter(|(k, _)| (k.0, k.1, k.2) == (place.0, place.1, place.2))
                .filter_map(|(_, r)| r.value(p.metric))
                .max_by(f64::total_cmp),
        };
        match result {
            Some(result) => {
                let top = ceilings.get(&group(p)).copied().unwrap_or(f64::INFINITY);
                let at_ceiling = bytes_per_second(p).is_some_and(|rate| rate >= CEILING_SHARE * top);
                out.rows.push(FidelityRow { published: p.clone(), result, at_ceiling });
            }
            None => out.missing.push(p.clone()),
        }
    }
    out
}

impl Fidelity {
    /// Errors of the rows that `keep` takes; `None` if it takes none.
    pub fn summary(&self, keep: impl Fn(&FidelityRow) -> bool) -> Option<ErrorSummary> {
        let mut errors: Vec<f64> = self.rows.iter().filter(|r| keep(r)).map(|r| r.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        let middle = errors.get(count.checked_sub(1)? / 2)? + errors.get(count / 2)?;
        let p90 = errors[((count - 1) as f64 * 0.9) as usize];
        Some(ErrorSummary { count, median: middle / 2.0, p90, worst: errors[count - 1] })
    }

    /// Drives and workloads that have rows, in order, each once.
    pub fn groups(&self) -> Vec<(String, String, String)> {
        let mut out: Vec<_> = self
            .rows
            .iter()
            .map(|r| (r.published.drive_id.clone(), r.published.workload.clone(), r.published.suite.clone()))
            .collect();
        out.sort();
        out.dedup();
        out
    }

    /// The rows with the largest errors, largest first.
    pub fn worst(&self, count: usize) -> Vec<&FidelityRow> {
        let mut rows: Vec<&FidelityRow> = self.rows.iter().collect();
        rows.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
        rows.truncate(count);
        rows
    }
}

type Group = (String, String, bool);

/// Drive, suite (with the state in it) and direction.
fn group(p: &PublishedPoint) -> Group {
    (p.drive_id.clone(), p.suite.clone(), p.workload.contains("write") || p.suite == "checkpoint")
}

/// Published maxima in bytes a second.
fn ceilings(published: &[PublishedPoint]) -> BTreeMap<Group, f64> {
    let mut out: BTreeMap<Group, f64> = BTreeMap::new();
    for p in published {
        if let Some(rate) = bytes_per_second(p) {
            let top = out.entry(group(p)).or_insert(0.0);
            *top = top.max(rate);
        }
    }
    out
}

/// A figure as bytes a second: IOPS by the block in the workload's name, a mean latency by Little's
/// law with what is outstanding.
fn bytes_per_second(p: &PublishedPoint) -> Option<f64> {
    let block = || block_bytes(&p.workload);
    match p.metric {
        MetricName::Bandwidth => Some(p.value),
        MetricName::Iops => Some(p.value * block()?),
        MetricName::LatMean => {
            let outstanding = p.threads.or_else(|| Some(p.iodepth? * p.numjobs?))?;
            Some(f64::from(outstanding) * block()? * 1e9 / p.value)
        }
        _ => None,
    }
}

/// The block size at the end of a workload's name.
fn block_bytes(workload: &str) -> Option<f64> {
    let size = workload.rsplit('-').next()?;
    let (digits, unit) = size.split_at(size.len().checked_sub(1)?);
    let factor = match unit {
        "k" => 1024.0,
        "m" => 1_048_576.0,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::{Coordinates, DriveState, Metric, Origin};

    fn published_at(iodepth: u32, metric: MetricName, value: f64, comparable: Comparable) -> PublishedPoint {
        PublishedPoint {
            drive_id: "d".into(),
            suite: "review".into(),
            workload: "rand-read-4k".into(),
            iodepth: Some(iodepth),
            numjobs: Some(1),
            threads: None,
            pass: None,
            metric,
            value,
            comparable,
            printed: String::new(),
            review: String::new(),
            note: String::new(),
        }
    }

    fn result(iodepth: u32, iops: f64) -> PointResult {
        PointResult {
            at: Coordinates {
                drive_id: "d".into(),
                suite: "review".into(),
                workload: "rand-read-4k".into(),
                iodepth: Some(iodepth),
                numjobs: Some(1),
                threads: None,
                pass: None,
            },
            state: DriveState::UNKNOWN,
            origin: Origin::Modelled,
            metrics: vec![Metric { name: MetricName::Iops, value: iops, interval: None, samples: 1 }],
            job: None,
            remarks: vec![],
        }
    }

    #[test]
    fn points_peaks_ceilings_and_missing() {
        let published = [
            published_at(1, MetricName::Iops, 10_000.0, Comparable::Point),
            published_at(32, MetricName::Iops, 100_000.0, Comparable::Point),
            published_at(32, MetricName::Iops, 120_000.0, Comparable::Peak),
            published_at(2, MetricName::Iops, 20_000.0, Comparable::Point),
            published_at(1, MetricName::LatMean, 100_000.0, Comparable::Point),
        ];
        let (one, many) = (result(1, 11_000.0), result(32, 90_000.0));
        let f = fidelity(&published, &[&one, &many]);
        let errors: Vec<f64> = f.rows.iter().map(|r| (r.error() * 1000.0).round() / 1000.0).collect();
        assert_eq!(errors, [0.1, -0.1, -0.25]);
        assert_eq!(f.missing.len(), 2);
        assert_eq!(f.rows.iter().map(|r| r.at_ceiling).collect::<Vec<_>>(), [false, false, true]);
        let all = f.summary(|_| true).expect("rows");
        assert!((all.median - 0.1).abs() < 1e-9 && (all.worst - 0.25).abs() < 1e-9 && (all.p90 - 0.1).abs() < 1e-9);
        assert_eq!(f.worst(1)[0].published.value, 120_000.0);
        assert_eq!(f.summary(|r| r.published.drive_id == "x"), None);
        assert!(fidelity(&published, &[]).missing.is_empty(), "drives without results are left out");
    }

    #[test]
    fn rates_of_other_figures() {
        assert_eq!(block_bytes("gds-seq-read-1m"), Some(1_048_576.0));
        assert_eq!(block_bytes("checkpoint"), None);
        let p = published_at(4, MetricName::LatMean, 100_000.0, Comparable::Point);
        assert_eq!(bytes_per_second(&p), Some(4.0 * 4096.0 * 1e9 / 100_000.0));
    }
}
