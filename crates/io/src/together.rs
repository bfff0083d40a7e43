//! Several targets at once, as in a box of drives: each runs its own job, all start together, and the
//! sum is taken over the time in which all of them were at work.

use crate::machine::process_cpu;
use crate::target::FileTarget;
use flashlab_samples::{CpuTime, Ended, Interval, IntervalDirection, JobResult, LatencyHistogram};
use flashlab_spec::Job;
use flashlab_target::{Observer, Progress, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is reported and a stop is asked for.
const TICK: Duration = Duration::from_millis(100);

/// What several targets did at once.
#[derive(Debug)]
pub struct Together {
    /// Each target's result or refusal, in their order. The CPU time of a result is `None`, since it
    /// is that of the whole process.
    pub each: Vec<Result<JobResult, TargetError>>,
    /// Their sum; `None` if no target came to its end with a series of whole intervals, or if their
    /// ramps differ.
    pub sum: Option<Sum>,
    /// CPU time of the process from the common start to the last end.
    pub cpu: Option<CpuTime>,
}

/// The sum over all targets that came to their end, of the time in which all of them were at work.
/// What a failing target did is left out, and its own result says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Targets in it, by their place.
    pub targets: Vec<usize>,
    /// From the end of the ramp; whole intervals of the series.
    pub window: Nanos,
    /// Reads.
    pub read: DirectionSum,
    /// Writes.
    pub write: DirectionSum,
}

/// One direction of a [`Sum`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionSum {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Their latencies.
    pub lat: LatencyHistogram,
}

/// How far one target is, for the thread that reports.
struct Relay<'a> {
    stop: &'a AtomicBool,
    progress: &'a Mutex<Option<Progress>>,
}

impl Observer for Relay<'_> {
    fn progress(&mut self, progress: &Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(*progress);
    }

    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs a job on each target, all at the same time. A target that refuses its job or fails marks itself;
/// the others go on.
pub fn run_together(targets: Vec<(&mut FileTarget, &Job)>, observer: &mut dyn Observer) -> Together {
    let (gate, start) = (Barrier::new(targets.len()), OnceLock::new());
    let stop = AtomicBool::new(false);
    let progress: Vec<Mutex<Option<Progress>>> = targets.iter().map(|_| Mutex::new(None)).collect();
    let before = process_cpu();
    let each = std::thread::scope(|scope| {
        let running: Vec<_> = targets
            .into_iter()
            .zip(&progress)
            .map(|((target, job), progress)| {
                let (gate, start, stop) = (&gate, &start, &stop);
                scope.spawn(move || {
                    // Refused or not, a target must come to the gate, or the others would wait for ever.
                    let common = || {
                        gate.wait();
                        *start.get_or_init(Instant::now)
                    };
                    target.run_from(job, &mut Relay { stop, progress }, common)
                })
            })
            .collect();
        while running.iter().any(|thread| !thread.is_finished()) {
            std::thread::sleep(TICK);
            observer.progress(&overall(&progress));
            if observer.stop_requested() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().map(join).collect::<Vec<Result<JobResult, TargetError>>>()
    });
    let cpu = before.zip(process_cpu()).map(|(before, after)| CpuTime {
        user: after.user.saturating_sub(before.user),
        system: after.system.saturating_sub(before.system),
    });
    let each: Vec<_> = each.into_iter().map(|r| r.map(|result| JobResult { cpu: None, ..result })).collect();
    Together { sum: sum(&each), each, cpu }
}

/// The progress of all: bytes and rates add up; the slowest says how far they are.
fn overall(each: &[Mutex<Option<Progress>>]) -> Progress {
    let seen = each.iter().filter_map(|p| *p.lock().unwrap_or_else(PoisonError::into_inner));
    let none = Progress { share: None, bytes: Bytes::ZERO, rate: None, left: None };
    seen.reduce(|a, b| Progress {
        share: [a.share, b.share].into_iter().flatten().reduce(f64::min),
        bytes: Bytes(a.bytes.0 + b.bytes.0),
        rate: [a.rate, b.rate].into_iter().flatten().reduce(|a, b| BytesPerSecond(a.0 + b.0)),
        left: a.left.max(b.left),
    })
    .unwrap_or(none)
}

fn sum(each: &[Result<JobResult, TargetError>]) -> Option<Sum> {
    let at_work = |result: &&JobResult| result.ended != Ended::Failed && !result.series.intervals.is_empty();
    let whole: Vec<(usize, &JobResult)> =
        each.iter().enumerate().filter_map(|(i, r)| r.as_ref().ok().filter(at_work).map(|r| (i, r))).collect();
    // Windows that begin at different times have no common intervals.
    let ramps = || whole.iter().map(|(_, r)| r.ramp);
    if ramps().min() != ramps().max() {
        return None;
    }
    let shortest = whole.iter().map(|(_, r)| r.elapsed).min()?;
    let coarsest = whole.iter().filter_map(|(_, r)| r.series.intervals.first()).map(|i| i.length.0).max()?;
    let window = Nanos(shortest.0 / coarsest * coarsest);
    let mut sum = Sum {
        targets: whole.iter().map(|(i, _)| *i).collect(),
        window,
        read: DirectionSum::default(),
        write: DirectionSum::default(),
    };
    let intervals = whole.iter().flat_map(|(_, r)| &r.series.intervals);
    for Interval { read, write, .. } in intervals.filter(|i| i.start + i.length <= window) {
        add(&mut sum.read, read);
        add(&mut sum.write, write);
    }
    (window > Nanos::ZERO).then_some(sum)
}

fn add(into: &mut DirectionSum, from: &IntervalDirection) {
    into.ios += from.ios;
    into.bytes = Bytes(into.bytes.0 + from.bytes.0);
    into.lat.merge(&LatencyHistogram::from_sparse(&from.lat));
}
