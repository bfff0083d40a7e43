//! What a modelled job did inside its measured window, and when it has seen enough.

use crate::host::{Class, Slot};
use crate::time::{Ps, nanos};
use flashlab_samples::{ClassTimes, DirectionResult, JobShare, LatencyRecorder, StageTime, mean_interval_share};
use flashlab_spec::Job;
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::{Direction, named_seed};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Completions of one batch whose mean latency is one value for the interval.
const BATCH_IOS_MIN: u64 = 4_096;
/// Batches before an interval is trusted.
const BATCHES_MIN: usize = 10;

/// Stages of a request at most, in the order of the path.
pub(crate) const STAGES: usize = 9;
/// Stages of a mapped read.
const READ_STAGES: [&str; STAGES] =
    ["host", "controller", "die wait", "die read", "channel", "link", "read overhead", "hold-off", "jobs delay"];
/// Stages of a read that is served from DRAM.
const DRAM_STAGES: [&str; STAGES] =
    ["host", "controller", "", "", "read-ahead", "link", "read overhead", "hold-off", "jobs delay"];
/// Stages of a read of nothing: zeros from the controller.
const ZERO_STAGES: [&str; STAGES] = ["host", "controller", "", "", "", "link", "", "", "jobs delay"];
/// Stages of a write. Collection is in the wait for room: its programs take turns with the host's.
const WRITE_STAGES: [&str; STAGES] = ["host", "controller", "link", "buffer wait", "acknowledge", "", "", "", ""];
/// Stages of a trim.
const TRIM_STAGES: [&str; STAGES] = ["host", "controller", "acknowledge", "", "", "", "", "", ""];
const CLASSES: [(Class, &str, [&str; STAGES]); 7] = [
    (Class::MappedRead, "mapped read", READ_STAGES),
    (Class::ReadAhead, "read-ahead hit", DRAM_STAGES),
    (Class::LostReadAhead, "read whose window was lost", DRAM_STAGES),
    (Class::UnmappedRead, "deallocated read", ZERO_STAGES),
    (Class::Write, "write", WRITE_STAGES),
    (Class::MergedWrite, "write below the indirection unit", WRITE_STAGES),
    (Class::Trim, "trim", TRIM_STAGES),
];

/// From one request that is followed through its stages to the next there are 1 to 2^5 requests, drawn
/// anew each time: any fixed step falls in with some pattern of offsets.
const FOLLOWED_BITS: u32 = 5;

/// Where the time of one class of request went.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    ios: u64,
    /// In an open loop that the drive can't keep up with, 64 bits are too few.
    sums: [u128; STAGES],
}

/// What one direction did.
#[derive(Debug, Default)]
struct Counts {
    ios: u64,
    bytes: u64,
    lat: LatencyRecorder,
    service: LatencyRecorder,
}

impl Counts {
    fn result(self, open_loop: bool) -> DirectionResult {
        let service = open_loop.then(|| self.service.into_histogram());
        DirectionResult { ios: self.ios, bytes: Bytes(self.bytes), lat: self.lat.into_histogram(), slat: None, service }
    }
}

/// Counts, latencies and the interval.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Start of the measured window; `None` during warm-up.
    started_at: Option<Ps>,
    ended_at: Option<Ps>,
    /// When the last I/O so far was complete.
    completed_at: Ps,
    read: Counts,
    write: Counts,
    trim: Counts,
    per_job: Vec<(u64, u64)>,
    times: [Times; CLASSES.len()],
    /// Requests until the next one that is followed.
    follows_in: u64,
    follows: Xoshiro256PlusPlus,
    batch_ios: u64,
    batch: (u64, u64),
    batches: Vec<f64>,
    /// Whether latency and service time are two.
    open_loop: bool,
    slots: u64,
    /// Time that slots had nothing in flight.
    idle: i128,
    /// When the last I/O was complete of each slot that has no more.
    retired: Vec<Ps>,
}

impl Outcome {
    pub(crate) fn new(job: &Job) -> Self {
        let outstanding = job.outstanding();
        Outcome {
            started_at: None,
            ended_at: None,
            completed_at: 0,
            read: Counts::default(),
            write: Counts::default(),
            trim: Counts::default(),
            open_loop: !job.arrival.is_closed(),
            per_job: vec![(0, 0); job.numjobs as usize],
            times: [Times::default(); CLASSES.len()],
            follows_in: 1 << FOLLOWED_BITS,
            follows: Xoshiro256PlusPlus::seed_from_u64(named_seed(job.seed, "followed", 0)),
            batch_ios: BATCH_IOS_MIN.max(outstanding * 4),
            batch: (0, 0),
            batches: Vec::new(),
            slots: outstanding,
            idle: 0,
            retired: Vec::new(),
        }
    }

    /// Begins the measured window; the I/Os of the slots were or will be submitted at `submitted`.
    pub(crate) fn start(&mut self, at: Ps, submitted: impl Iterator<Item = Ps>) {
        assert!(self.started_at.is_none(), "a measured window begins once");
        self.started_at = Some(at);
        self.idle = sum_after(at, submitted);
    }

    /// When the measured window began, 0 before.
    pub(crate) fn started_at(&self) -> Ps {
        self.started_at.unwrap_or(0)
    }

    /// I/Os completed in the window.
    pub(crate) fn ios(&self) -> u64 {
        self.read.ios + self.write.ios + self.trim.ios
    }

    /// Bytes completed in the window.
    pub(crate) fn bytes(&self) -> u64 {
        self.read.bytes + self.write.bytes
    }

    /// The same with those that were trimmed, which count for the amount of a job.
    pub(crate) fn bytes_asked(&self) -> u64 {
        self.bytes() + self.trim.bytes
    }

    /// Time since the window began.
    pub(crate) fn elapsed(&self, now: Ps) -> Ps {
        self.started_at.map_or(0, |start| now.saturating_sub(start))
    }

    /// A slot whose I/O was complete at `completed` has its next one from `submitted` on. The mean number in
    /// flight follows from such gaps and uses no latency.
    #[inline]
    pub(crate) fn idle(&mut self, completed: Ps, submitted: Ps) {
        if let (Some(start), None) = (self.started_at, self.ended_at) {
            self.idle += i128::from(submitted.max(start) - completed.max(start));
        }
    }

    /// A slot whose I/O was complete at `completed` has no next one.
    pub(crate) fn retired(&mut self, completed: Ps) {
        if let (Some(start), None) = (self.started_at, self.ended_at) {
            self.retired.push(completed.max(start));
        }
    }

    /// An I/O is complete, with `READS` a read of a closed loop.
    #[inline(always)]
    pub(crate) fn completed<const READS: bool>(&mut self, at: Ps, slot: &Slot) {
        self.completed_at = at;
        if self.started_at.is_none() {
            return;
        }
        assert!(at >= slot.stamp, "completed before it was submitted");
        let latency = nanos(at - slot.stamp);
        let result = match slot.direction {
            _ if READS => &mut self.read,
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        };
        if !READS && self.open_loop {
            result.service.record(nanos(at - slot.started));
        }
        result.ios += 1;
        result.bytes += u64::from(slot.length);
        result.lat.record(latency);
        let share = &mut self.per_job[slot.job as usize];
        *share = (share.0 + 1, share.1 + latency.0);
        self.batch = (self.batch.0 + 1, self.batch.1 + latency.0);
        if self.batch.0 == self.batch_ios {
            self.batches.push(self.batch.1 as f64 / self.batch.0 as f64);
            self.batch = (0, 0);
        }
    }

    /// Where the time of one request went, asked for if it is one of those that are followed.
    #[inline(always)]
    pub(crate) fn went(&mut self, class: Class, stages: impl FnOnce() -> [Ps; STAGES]) {
        self.follows_in -= 1;
        if self.follows_in == 0 {
            self.follows_in = 1 + (self.follows.next_u64() >> (u64::BITS - FOLLOWED_BITS));
            if self.started_at.is_some() {
                let times = &mut self.times[class as usize];
                times.ios += 1;
                times.sums.iter_mut().zip(stages()).for_each(|(sum, stage)| *sum += u128::from(stage));
            }
        }
    }

    /// Mean time of each stage, by class of request.
    pub(crate) fn class_times(&self) -> Vec<ClassTimes> {
        let mean = |sum: u128, ios: u64| sum as f64 / 1_000.0 / ios as f64;
        let stages = |times: &Times, names: [&str; STAGES]| {
            let named = times.sums.iter().zip(names).filter(|(_, name)| !name.is_empty());
            named.map(|(sum, name)| StageTime { stage: name.into(), mean_ns: mean(*sum, times.ios) }).collect()
        };
        let classes = CLASSES.iter().map(|(class, name, names)| (&self.times[*class as usize], name, names));
        classes
            .filter(|(times, ..)| times.ios > 0)
            .map(|(t, name, names)| ClassTimes { class: (*name).into(), ios: t.ios, stages: stages(t, *names) })
            .collect()
    }

    /// Half width of the 95 % interval of the mean latency, as a share of it.
    pub(crate) fn interval_share(&self) -> Option<f64> {
        (self.batches.len() >= BATCHES_MIN).then(|| mean_interval_share(&self.batches)).flatten()
    }

    /// I/Os until the batch is closed.
    pub(crate) fn ios_to_batch_end(&self) -> u64 {
        self.batch_ios - self.batch.0
    }

    /// Whether a batch has just been closed, so that the interval is worth looking at.
    pub(crate) fn at_batch_end(&self) -> bool {
        self.batch.0 == 0
    }

    /// When the last I/O so far was complete: reads may be before their time has come.
    pub(crate) fn completed_at(&self) -> Ps {
        self.completed_at
    }

    /// Ends the measured window; the I/Os of the slots were or will be submitted at `submitted`. Those after
    /// the end left their slots idle until then only, and those that do not come did so from their last.
    pub(crate) fn end(&mut self, at: Ps, submitted: impl Iterator<Item = Ps>) {
        self.ended_at = Some(at);
        if self.started_at.is_some() {
            let retired: i128 = self.retired.iter().map(|completed| i128::from(at.saturating_sub(*completed))).sum();
            self.idle += retired - sum_after(at, submitted);
        }
    }

    fn measured(&self) -> Ps {
        self.ended_at.map_or(0, |at| self.elapsed(at))
    }

    /// Length of the window.
    pub(crate) fn window(&self) -> Nanos {
        nanos(self.measured())
    }

    /// Mean number of I/Os in flight over the window.
    pub(crate) fn in_flight_mean(&self) -> Option<f64> {
        let window = self.measured();
        (window > 0).then(|| self.slots as f64 - self.idle as f64 / window as f64)
    }

    /// Share of each job.
    pub(crate) fn shares(&self) -> Vec<JobShare> {
        let mean = |(ios, sum): (u64, u64)| (ios > 0).then(|| sum as f64 / ios as f64);
        self.per_job.iter().map(|s| JobShare { ios: s.0, lat_mean_ns: mean(*s) }).collect()
    }

    /// Reads, writes and trims of the window.
    pub(crate) fn into_directions(self) -> [DirectionResult; 3] {
        [self.read, self.write, self.trim].map(|counts| counts.result(self.open_loop))
    }
}

/// By how much `times` are after `at`, together.
fn sum_after(at: Ps, times: impl Iterator<Item = Ps>) -> i128 {
    times.map(|time| i128::from(time.saturating_sub(at))).sum()
}
