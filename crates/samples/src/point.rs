//! One figure of a result, with its coordinates: the row of a table, a CSV or a chart.

use crate::{DriveState, JobResult, Origin};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a figure belongs; the first columns of `results.csv`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Coordinates {
    /// Profile id, file or device name.
    pub drive_id: String,
    /// Suite, such as `review`.
    pub suite: String,
    /// Workload, such as `rand-read-4k`.
    pub workload: String,
    /// Outstanding I/Os a job, where it applies.
    pub iodepth: Option<u32>,
    /// Jobs (fio's numjobs), where it applies.
    pub numjobs: Option<u32>,
    /// Threads (gdsio), where it applies.
    pub threads: Option<u32>,
    /// Pass over the drive or round of a steady-state test, from 1, where it applies.
    pub pass: Option<u32>,
}

/// The figures that exist, with fixed base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MetricName {
    /// Bytes per second.
    #[serde(rename = "bandwidth")]
    Bandwidth,
    /// Operations per second.
    #[serde(rename = "iops")]
    Iops,
    /// Mean latency in ns.
    #[serde(rename = "lat_mean")]
    LatMean,
    /// Median latency in ns.
    #[serde(rename = "lat_p50")]
    LatP50,
    /// 99th percentile in ns.
    #[serde(rename = "lat_p99")]
    LatP99,
    /// 99.9th percentile in ns.
    #[serde(rename = "lat_p99.9")]
    LatP999,
    /// 99.99th percentile in ns.
    #[serde(rename = "lat_p99.99")]
    LatP9999,
    /// Largest latency in ns.
    #[serde(rename = "lat_max")]
    LatMax,
    /// Duration in seconds, of a checkpoint or a fill.
    #[serde(rename = "seconds")]
    Seconds,
    /// Media bytes written per host byte written.
    #[serde(rename = "write_amplification")]
    WriteAmplification,
    /// Erased bytes ready to be written, at full scale.
    #[serde(rename = "free_pool")]
    FreePool,
}

impl MetricName {
    /// All, in the order in which they are exported.
    pub const ALL: [MetricName; 11] = [
        MetricName::Bandwidth,
        MetricName::Iops,
        MetricName::LatMean,
        MetricName::LatP50,
        MetricName::LatP99,
        MetricName::LatP999,
        MetricName::LatP9999,
        MetricName::LatMax,
        MetricName::Seconds,
        MetricName::WriteAmplification,
        MetricName::FreePool,
    ];

    /// The latency percentiles among them.
    pub const PERCENTILES: [(MetricName, f64); 4] = [
        (MetricName::LatP50, 50.0),
        (MetricName::LatP99, 99.0),
        (MetricName::LatP999, 99.9),
        (MetricName::LatP9999, 99.99),
    ];

    /// The name in exports.
    pub const fn word(self) -> &'static str {
        match self {
            MetricName::Bandwidth => "bandwidth",
            MetricName::Iops => "iops",
            MetricName::LatMean => "lat_mean",
            MetricName::LatP50 => "lat_p50",
            MetricName::LatP99 => "lat_p99",
            MetricName::LatP999 => "lat_p99.9",
            MetricName::LatP9999 => "lat_p99.99",
            MetricName::LatMax => "lat_max",
            MetricName::Seconds => "seconds",
            MetricName::WriteAmplification => "write_amplification",
            MetricName::FreePool => "free_pool",
        }
    }

    /// The base unit in exports.
    pub const fn unit(self) -> &'static str {
        match self {
            MetricName::Bandwidth => "B/s",
            MetricName::Iops => "IOPS",
            MetricName::Seconds => "s",
            MetricName::WriteAmplification => "ratio",
            MetricName::FreePool => "B",
            _ => "ns",
        }
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A figure: a value, what surrounds it, and how many samples stand behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Which figure.
    pub name: MetricName,
    /// Its value in the base unit.
    pub value: f64,
    /// 95 % interval in the base unit, where one was computed.
    pub interval: Option<(f64, f64)>,
    /// Number of I/Os (or checkpoints, rounds) behind it.
    pub samples: u64,
}

/// All figures of one point, with where they belong and the state they belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Where.
    pub at: Coordinates,
    /// In which state of the drive.
    pub state: DriveState,
    /// Measured, modelled, imported or published.
    pub origin: Origin,
    /// The figures, in the order of [`MetricName::ALL`].
    pub metrics: Vec<Metric>,
    /// The whole result behind them, where there is one.
    pub job: Option<JobResult>,
    /// What a reader must know, such as "interrupted after 3 s" or "3 samples beyond p99.99".
    pub remarks: Vec<String>,
}

impl PointResult {
    /// The value of a figure, where it was taken.
    pub fn value(&self, name: MetricName) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).map(|m| m.value)
    }
}
