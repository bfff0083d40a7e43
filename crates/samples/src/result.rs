//! The result of one job: one point of a sweep, one fill, one round.

use crate::{Granted, HealthLog, LatencyHistogram, SparseHistogram};
use flashlab_units::{Bytes, BytesPerSecond, Iops, Nanos};
use serde::{Deserialize, Serialize};

/// Why a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The time or the bytes asked for were reached.
    Completed,
    /// The confidence interval became narrow enough before the time was over (modelled reads only).
    IntervalReached,
    /// A signal or the caller stopped it; the result covers what was done.
    Interrupted,
    /// An I/O error stopped it; the result covers what was done and is not clean.
    Failed,
}

/// What one direction of a job did inside the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Time from submission to completion.
    pub lat: LatencyHistogram,
    /// Time spent submitting; `None` unless submission was timed apart from completion.
    pub slat: Option<LatencyHistogram>,
    /// In an open loop, where `lat` counts from the intended start: time from the actual submission.
    /// `None` in a closed loop, where the two are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyHistogram>,
}

impl DirectionResult {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.ios == 0
    }
}

/// One job's (thread's) share of a result, for spotting unequal service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JobShare {
    /// I/Os completed by this thread in the measured window.
    pub ios: u64,
    /// Mean latency of this thread in ns; `None` when it completed nothing.
    pub lat_mean_ns: Option<f64>,
}

/// One second (or shorter) of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, counted from the start of the measured window.
    pub start: Nanos,
    /// Length; the last interval may be shorter than the others.
    pub length: Nanos,
    /// Reads completed in it.
    pub read: IntervalDirection,
    /// Writes completed in it.
    pub write: IntervalDirection,
    /// Trims completed in it; their bytes are what was deallocated.
    #[serde(default, skip_serializing_if = "IntervalDirection::is_empty")]
    pub trim: IntervalDirection,
}

impl Interval {
    /// Reads, writes and trims.
    pub fn directions(&self) -> [&IntervalDirection; 3] {
        [&self.read, &self.write, &self.trim]
    }

    /// Adds what `other` counted; start and length stay as they are.
    pub fn merge(&mut self, other: &Interval) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.trim.merge(&other.trim);
    }
}

/// One direction inside an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IntervalDirection {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Their latencies, non-empty buckets only.
    pub lat: SparseHistogram,
}

impl IntervalDirection {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.ios == 0
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &IntervalDirection) {
        // Never overflows for what was measured; stored series are hostile.
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = Bytes(self.bytes.0.saturating_add(other.bytes.0));
        self.lat.merge(&other.lat);
    }
}

/// Consecutive intervals of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Ascending, without gaps.
    pub intervals: Vec<Interval>,
}

/// Where the time of one class of request went inside a modelled drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassTimes {
    /// What the requests were for the drive, such as `mapped read` or `read-ahead hit`.
    pub class: String,
    /// Requests of the class that were followed: a fixed share of those in the measured window.
    pub ios: u64,
    /// Stages in the order of the path; their means add up to the mean latency of those requests.
    pub stages: Vec<StageTime>,
}

/// Mean time a request spent in one stage, waiting and being served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageTime {
    /// Stage, such as `controller` or `die wait`.
    pub stage: String,
    /// Mean in ns.
    pub mean_ns: f64,
}

/// I/O errors of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The error's name, such as `EIO`, `ENOSPC`, `short-read`.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// Offset of the first one.
    pub first_offset: Option<Bytes>,
    /// Where they came, the first [`ERROR_ADDRESSES_MAX`] offsets in the order of their first error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<ErrorAddress>,
}

/// Offsets that are kept of one kind of error: a bad region is seen from fewer, and a device that is
/// gone fails at all of them.
pub const ERROR_ADDRESSES_MAX: usize = 16;

/// Errors of one kind at one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAddress {
    /// Offset of the request.
    pub offset: Bytes,
    /// How often.
    pub count: u64,
}

/// CPU time of the threads that did the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
}

/// What a target hands back for one job. All figures cover the measured window: after the ramp,
/// until the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Length of the measured window.
    pub elapsed: Nanos,
    /// Time before it whose samples were dropped.
    pub ramp: Nanos,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Trims; they move no data, their bytes are what was deallocated.
    #[serde(default, skip_serializing_if = "DirectionResult::is_empty")]
    pub trim: DirectionResult,
    /// Mean number of I/Os in flight, integrated over time independently of the latencies; with
    /// Little's law (in flight = rate × mean latency) it checks the whole measuring chain.
    pub in_flight_mean: Option<f64>,
    /// One-second series, empty where there is no wall clock to cut into seconds.
    pub series: Series,
    /// Share of each of the numjobs threads, in their order.
    pub shares: Vec<JobShare>,
    /// What was in force.
    pub granted: Granted,
    /// Where the time of each class of request went; empty for real targets, which do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassTimes>,
    /// Errors by kind; a result with errors is not clean.
    pub errors: Vec<ErrorCount>,
    /// CPU time, where it was measured.
    pub cpu: Option<CpuTime>,
    /// What the drive's log added during the job, where the drive says.
    pub health: Option<HealthLog>,
    /// Why it ended.
    pub ended: Ended,
    /// How many times smaller than the real drive the modelled one was; 1 for real targets. I/Os,
    /// bytes and elapsed are as simulated; rates and latencies do not depend on it.
    pub scale: u64,
    /// Half width of the 95 % interval of the mean latency as a share of it, where it was computed.
    pub interval_share: Option<f64>,
}

impl JobResult {
    /// Completed I/Os, trims among them.
    pub fn ios(&self) -> u64 {
        self.read.ios + self.write.ios + self.trim.ios
    }

    /// Bytes moved: those read and written, not those trimmed.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.read.bytes.0 + self.write.bytes.0)
    }

    /// Bytes a second in both directions; `None` for an empty window, and where nothing but trims, which move
    /// no data, was done.
    pub fn bandwidth(&self) -> Option<BytesPerSecond> {
        let moves_none = self.trim.ios > 0 && self.read.ios + self.write.ios == 0;
        self.bytes().over(self.elapsed).filter(|_| !moves_none)
    }

    /// I/Os a second, trims among them; `None` for an empty window.
    pub fn iops(&self) -> Option<Iops> {
        Iops::over(self.ios(), self.elapsed)
    }

    /// Latencies of all I/Os together.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = self.read.lat.clone();
        all.merge(&self.write.lat);
        all.merge(&self.trim.lat);
        all
    }

    /// Whether it ran to its end without an error.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty() && matches!(self.ended, Ended::Completed | Ended::IntervalReached)
    }
}
