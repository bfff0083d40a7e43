//! What a modelled job did inside its measured window, and when it has seen enough.

use crate::time::{Ps, nanos};
use flashlab_samples::{DirectionResult, JobShare, LatencyHistogram, mean_interval_share};
use flashlab_units::Nanos;
use flashlab_workload::Direction;

/// Completions of one batch whose mean latency is one value for the interval.
const BATCH_IOS_MIN: u64 = 4_096;
/// Batches before an interval is trusted.
const BATCHES_MIN: usize = 10;

/// Counts, latencies and the interval.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Start of the measured window; `None` during warm-up.
    started_at: Option<Ps>,
    ended_at: Ps,
    read: DirectionResult,
    write: DirectionResult,
    per_job: Vec<(u64, u128)>,
    batch_ios: u64,
    batch: (u64, u128),
    batches: Vec<f64>,
    in_flight: u64,
    in_flight_since: Ps,
    in_flight_integral: u128,
}

impl Outcome {
    pub(crate) fn new(numjobs: u32, outstanding: u64) -> Self {
        let direction = || DirectionResult { lat: LatencyHistogram::new(), ..DirectionResult::default() };
        Outcome {
            started_at: None,
            ended_at: 0,
            read: direction(),
            write: direction(),
            per_job: vec![(0, 0); numjobs as usize],
            batch_ios: BATCH_IOS_MIN.max(outstanding * 4),
            batch: (0, 0),
            batches: Vec::new(),
            in_flight: 0,
            in_flight_since: 0,
            in_flight_integral: 0,
        }
    }

    /// Begins the measured window.
    pub(crate) fn start(&mut self, at: Ps) {
        assert!(self.started_at.is_none(), "a measured window begins once");
        self.integrate(at);
        self.in_flight_integral = 0;
        self.started_at = Some(at);
    }

    pub(crate) fn is_measuring(&self) -> bool {
        self.started_at.is_some()
    }

    /// I/Os completed in the window.
    pub(crate) fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    /// Bytes completed in the window.
    pub(crate) fn bytes(&self) -> u64 {
        self.read.bytes.0 + self.write.bytes.0
    }

    /// Time since the window began.
    pub(crate) fn elapsed(&self, now: Ps) -> Ps {
        self.started_at.map_or(0, |start| now.saturating_sub(start))
    }

    /// An I/O that the host began to submit at `stamp` has reached the drive at `at`. The time
    /// integral of those in flight does not use latencies.
    #[inline]
    pub(crate) fn submitted(&mut self, at: Ps, stamp: Ps) {
        self.integrate(at);
        self.in_flight_integral += u128::from(at - stamp);
        self.in_flight += 1;
    }

    /// An I/O of job `job` is complete.
    #[inline]
    pub(crate) fn completed(&mut self, at: Ps, stamp: Ps, bytes: u32, direction: Direction, job: u32) {
        self.integrate(at);
        self.in_flight -= 1;
        if self.started_at.is_none() {
            return;
        }
        assert!(at >= stamp, "completed before it was submitted");
        let latency = nanos(at - stamp);
        let result = match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => unreachable!("jobs with trims are refused"),
        };
        result.ios += 1;
        result.bytes.0 += u64::from(bytes);
        result.lat.record(latency);
        let share = &mut self.per_job[job as usize];
        *share = (share.0 + 1, share.1 + u128::from(latency.0));
        self.batch = (self.batch.0 + 1, self.batch.1 + u128::from(latency.0));
        if self.batch.0 == self.batch_ios {
            self.batches.push(self.batch.1 as f64 / self.batch.0 as f64);
            self.batch = (0, 0);
        }
    }

    /// Half width of the 95 % interval of the mean latency, as a share of it.
    pub(crate) fn interval_share(&self) -> Option<f64> {
        (self.batches.len() >= BATCHES_MIN).then(|| mean_interval_share(&self.batches)).flatten()
    }

    /// Whether a batch has just been closed, so that the interval is worth looking at.
    pub(crate) fn at_batch_end(&self) -> bool {
        self.batch.0 == 0
    }

    /// Ends the measured window.
    pub(crate) fn end(&mut self, at: Ps) {
        self.integrate(at);
        self.ended_at = at;
    }

    /// Length of the window.
    pub(crate) fn window(&self) -> Nanos {
        nanos(self.elapsed(self.ended_at))
    }

    /// Mean number of I/Os in flight over the window.
    pub(crate) fn in_flight_mean(&self) -> Option<f64> {
        let window = self.elapsed(self.ended_at);
        (window > 0).then(|| self.in_flight_integral as f64 / window as f64)
    }

    /// Share of each job.
    pub(crate) fn shares(&self) -> Vec<JobShare> {
        let mean = |(ios, sum): (u64, u128)| (ios > 0).then(|| sum as f64 / ios as f64);
        self.per_job.iter().map(|s| JobShare { ios: s.0, lat_mean_ns: mean(*s) }).collect()
    }

    /// Reads and writes of the window.
    pub(crate) fn into_directions(self) -> (DirectionResult, DirectionResult) {
        (self.read, self.write)
    }

    fn integrate(&mut self, at: Ps) {
        self.in_flight_integral += u128::from(at - self.in_flight_since) * u128::from(self.in_flight);
        self.in_flight_since = at;
    }
}
