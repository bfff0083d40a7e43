//! What was measured or modelled, as data: latency histograms, time series, the result of a job,
//! the state of a drive, and the provenance that goes with every number.
//!
//! Second in the flow. Everything here is a value that can be stored, merged and exported; nothing
//! here measures, judges or prints.

mod histogram;
mod interval;
mod point;
mod provenance;
mod result;
mod state;

pub use histogram::{LatencyHistogram, LatencyRecorder, Percentile, SparseHistogram};
pub use interval::mean_interval_share;
pub use point::{Coordinates, Metric, MetricName, PointResult};
pub use provenance::{BuildInfo, Granted, Origin, Provenance, TargetIdentity, TargetKind};
pub use result::{
    ClassTimes, CpuTime, DirectionResult, ERROR_ADDRESSES_MAX, Ended, ErrorAddress, ErrorCount, Interval,
    IntervalDirection, JobResult, JobShare, Series, StageTime,
};
pub use state::{Condition, DriveState, HealthLog, Wear};
