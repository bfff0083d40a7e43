//! One job with its threads: sets them up, starts them together, hears what they say, and merges what they
//! counted. [`Runs`](crate::runs::Runs) watches it, alone or beside others.

use crate::machine::{check_memory, clock_resolution, process_cpu};
use crate::merge::{add, durability, flush_class, merge_errors, share};
use crate::series::SeriesBuilder;
use crate::speed::Speedometer;
use crate::tally::{Counts, ErrorRecord, IntervalPart};
use crate::verify;
use crate::worker::{End, Message, Meter, Setup, Worker, stuck_kind};
use flashlab_samples::{CpuTime, DirectionResult, Ended, Granted, Interval, JobResult, JobShare, LatencyHistogram};
use flashlab_spec::Job;
use flashlab_target::{Observer, Progress, TargetError};
use flashlab_units::Nanos;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// A thread that made no progress for this much longer than the deadline of one I/O is left behind:
/// it sits in the kernel and can't count its own I/Os as stuck.
const GRACE_NS: u64 = 2_000_000_000;
/// Stack of a thread: the loop calls little, and 1,024 of them must fit.
const STACK: usize = 256 * 1024;

/// One thread as the coordinator sees it.
struct Thread {
    meter: Arc<Meter>,
    start: Option<Sender<Instant>>,
    seen: u64,
    seen_ns: u64,
    outcome: Outcome,
}

enum Outcome {
    Running,
    Done(End, Box<Counts>),
    /// Panicked, or left behind in the kernel.
    Lost,
}

/// How the threads of several jobs reach one coordinator.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Position of the job among them.
    pub(crate) place: usize,
    /// Threads of the jobs before it.
    pub(crate) threads_before: u32,
    pub(crate) messages: &'a Sender<(usize, Message)>,
    pub(crate) heard: &'a Receiver<(usize, Message)>,
}

/// CPU time of this process at the edges of the measured window.
struct Edges {
    begin: Option<CpuTime>,
    end: Option<CpuTime>,
}

/// A job with its threads set up.
pub(crate) struct Run<'a> {
    /// Its position among the jobs that run at the same time.
    place: usize,
    job: &'a Job,
    path: &'a Path,
    setup: Arc<Setup>,
    threads: Vec<Thread>,
    intervals: Receiver<IntervalPart>,
    meter: Speedometer,
    stop: Arc<AtomicBool>,
    granted: Granted,
    series: SeriesBuilder,
    /// Intervals that the observer did not take.
    returned: Vec<Interval>,
    /// Errors that no thread could count itself.
    errors: Vec<ErrorRecord>,
    panic: Option<String>,
    cpu: Edges,
}

impl<'a> Run<'a> {
    /// Sets up the threads of a job that was admitted; they wait for the start.
    ///
    /// # Errors
    /// [`TargetError`] if a thread, its buffers or its ring can't be had; then nothing was done.
    pub(crate) fn new(
        job: &'a Job,
        path: &'a Path,
        setup: Setup,
        direct: bool,
        line: Line<'_>,
    ) -> Result<Self, TargetError> {
        check_memory(job)?;
        let (interval_in, intervals) = channel();
        let setup = Arc::new(setup);
        let mut run = Run {
            place: line.place,
            job,
            path,
            threads: Vec::with_capacity(job.numjobs as usize),
            intervals,
            meter: Speedometer::default(),
            stop: Arc::new(AtomicBool::new(false)),
            granted: Granted::default(),
            series: SeriesBuilder::new(setup.tuning.interval),
            returned: Vec::new(),
            setup,
            errors: Vec::new(),
            panic: None,
            cpu: Edges { begin: None, end: None },
        };
        for index in 0..job.numjobs {
            run.spawn(index, line, &interval_in)?;
        }
        drop(interval_in);
        run.await_ready(line.heard)?;
        run.granted.engine = run.setup.engine.word().to_owned();
        run.granted.direct = Some(direct);
        if let Some(resolution) = clock_resolution() {
            run.remark(&format!("CLOCK_MONOTONIC in steps of {resolution}"));
        }
        if job.rw.writes() {
            run.remark(&durability(job));
        }
        Ok(run)
    }

    /// Adds a word about what was asked for and not granted.
    pub(crate) fn refused(&mut self, text: String) {
        self.granted.refused.push(text);
    }

    /// Adds a word about what was in force.
    pub(crate) fn remark(&mut self, text: &str) {
        self.granted.features.push(text.to_owned());
    }

    fn spawn(&mut self, index: u32, line: Line<'_>, intervals: &Sender<IntervalPart>) -> Result<(), TargetError> {
        let failed = |source: io::Error| TargetError::Io {
            action: "starting threads on",
            path: self.path.display().to_string(),
            source,
            remedy: "use a smaller numjobs, or raise `ulimit -u` and `ulimit -n`".into(),
        };
        let (start_in, start) = channel();
        let meter = Arc::new(Meter::default());
        let worker = Worker {
            place: self.place,
            index,
            turn: line.threads_before + index,
            job: self.job.clone(),
            setup: Arc::clone(&self.setup),
            stop: Arc::clone(&self.stop),
            meter: Arc::clone(&meter),
            start,
            messages: line.messages.clone(),
            intervals: intervals.clone(),
        };
        let builder = std::thread::Builder::new().name(format!("job-{index}")).stack_size(STACK);
        // Not joined: a thread that never leaves the kernel must not hold up the result. It owns all it uses.
        builder.spawn(move || worker.work()).map_err(failed)?;
        self.threads.push(Thread { meter, start: Some(start_in), seen: 0, seen_ns: 0, outcome: Outcome::Running });
        Ok(())
    }

    /// Waits until every thread is set up. When this fails the start channels close, and all
    /// threads end.
    fn await_ready(&mut self, heard: &Receiver<(usize, Message)>) -> Result<(), TargetError> {
        for first in (0..self.threads.len()).map(|i| i == 0) {
            // No other job says anything: those that are set up wait for the start.
            match heard.recv().map(|(_, message)| message) {
                Ok(Message::Ready(granted)) if first => self.granted = granted,
                Ok(Message::Ready(granted)) => {
                    // In force is what every thread was granted.
                    self.granted.features.retain(|feature| granted.features.contains(feature));
                    let news = granted.refused.into_iter().filter(|r| !self.granted.refused.contains(r));
                    let news: Vec<String> = news.collect();
                    self.granted.refused.extend(news);
                }
                Ok(Message::Refused(e)) => return Err(e),
                Ok(Message::Panicked(_, text)) => return Err(self.fault(&text)),
                Ok(Message::Done(..)) | Err(_) => return Err(self.fault("a thread ended before the start")),
            }
        }
        Ok(())
    }

    pub(crate) fn numjobs(&self) -> u32 {
        self.job.numjobs
    }

    /// Tells the ledger what the threads are about to write. A job that may yet be refused must not: it would
    /// make what was acknowledged before less certain.
    pub(crate) fn begin_ledger(&self) {
        if let Some(ledger) = self.setup.ledger.as_ref().filter(|_| self.job.rw.writes()) {
            verify::begin(ledger, self.job);
        }
    }

    /// Opens the gate of all threads; the ledger was begun.
    pub(crate) fn start(&mut self, start: Instant) {
        for thread in &mut self.threads {
            // A thread that is gone has sent its reason, which is read later.
            let _ = thread.start.take().map(|gate| gate.send(start));
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.threads.iter().any(|t| matches!(t.outcome, Outcome::Running))
    }

    /// Has all threads stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a thread panicked, or ended without a word.
    pub(crate) fn is_broken(&self) -> bool {
        self.panic.is_some()
    }

    /// The result, once no thread is running.
    ///
    /// # Errors
    /// [`TargetError::Io`] if a thread panicked, which is a fault of this program.
    pub(crate) fn finish(mut self, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        self.cpu.end = self.cpu.end.or_else(process_cpu);
        self.intervals.try_iter().for_each(|part| self.series.add(&part));
        if let Some(text) = self.panic.take() {
            return Err(self.fault(&text));
        }
        let (mut returned, place) = (std::mem::take(&mut self.returned), self.place);
        let mut result = self.merge();
        let rest = std::mem::take(&mut result.series.intervals);
        returned.extend(rest.into_iter().filter_map(|interval| observer.interval(place, interval)));
        result.series.intervals = returned;
        Ok(result)
    }

    /// Adds the intervals that came in, and hands on those that all threads are done with.
    pub(crate) fn take_intervals(&mut self, observer: &mut dyn Observer) {
        // Before the channel is emptied: what a thread is done with it has sent.
        let done = |thread: &Thread| match thread.outcome {
            Outcome::Running => thread.meter.intervals.load(Ordering::Acquire),
            Outcome::Done(..) | Outcome::Lost => u64::MAX,
        };
        // A thread that ended has told so through the other channel, after its last interval.
        let whole = self.threads.iter().map(done).min().filter(|n| *n < u64::MAX);
        // The last one may be cut by the end of the window, and is handed on when that is known.
        let within = self.job.runtime.map_or(u64::MAX, |runtime| runtime.0 / self.setup.tuning.interval.0);
        let whole = whole.map(|whole| whole.min(within));
        self.intervals.try_iter().for_each(|part| self.series.add(&part));
        while let Some(interval) = whole.and_then(|whole| self.series.take(whole)) {
            self.returned.extend(observer.interval(self.place, interval));
        }
    }

    pub(crate) fn hear(&mut self, message: Message) {
        match message {
            Message::Done(index, end, counts) => {
                self.threads[index as usize].outcome = Outcome::Done(end, counts);
            }
            Message::Panicked(index, text) => {
                self.threads[index as usize].outcome = Outcome::Lost;
                self.panic = Some(text);
                self.stop();
            }
            Message::Ready(_) | Message::Refused(_) => unreachable!("all threads are set up"),
        }
    }

    pub(crate) fn lose_running(&mut self, why: &str) {
        for thread in self.threads.iter_mut().filter(|t| matches!(t.outcome, Outcome::Running)) {
            thread.outcome = Outcome::Lost;
            self.panic = Some(why.to_owned());
        }
    }

    /// How far it is.
    pub(crate) fn progress(&mut self, now: u64) -> Progress {
        let bytes = self.threads.iter().map(|t| t.meter.bytes.load(Ordering::Relaxed)).sum();
        self.meter.progress(self.job, now, bytes)
    }

    /// Takes the process's CPU time when the measured window begins and ends.
    pub(crate) fn mark_edges(&mut self, now: u64) {
        if now >= self.job.ramp.0 && self.cpu.begin.is_none() {
            self.cpu.begin = process_cpu();
        }
        if self.end_ns().is_some_and(|end| now >= end) && self.cpu.end.is_none() {
            self.cpu.end = process_cpu();
        }
    }

    fn end_ns(&self) -> Option<u64> {
        self.job.runtime.map(|runtime| self.job.ramp.0.saturating_add(runtime.0))
    }

    /// When its measured window next begins or ends.
    pub(crate) fn next_edge(&self, now: u64) -> Option<u64> {
        [Some(self.job.ramp.0), self.end_ns()].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// Gives up threads that the kernel does not give back.
    pub(crate) fn leave_stuck_threads(&mut self, now: u64) {
        for thread in self.threads.iter_mut().filter(|t| matches!(t.outcome, Outcome::Running)) {
            let turns = thread.meter.turns.load(Ordering::Relaxed);
            if turns != thread.seen {
                (thread.seen, thread.seen_ns) = (turns, now);
            }
            let age_ns = now - thread.seen_ns;
            if age_ns > self.setup.stuck_after_ns.saturating_add(GRACE_NS) {
                thread.outcome = Outcome::Lost;
                let kind = stuck_kind(age_ns);
                self.errors.push(ErrorRecord {
                    kind,
                    count: 1,
                    first_offset: None,
                    addresses: Vec::new(),
                    first_ns: now,
                });
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn fault(&self, text: &str) -> TargetError {
        TargetError::Io {
            action: "running a job on",
            path: self.path.display().to_string(),
            source: io::Error::other(format!("a thread of the engine panicked: {text}")),
            remedy: "this is a fault of flashlab; please report it with the command line".into(),
        }
    }

    /// One result from what all threads counted.
    fn merge(self) -> JobResult {
        let mut directions: [DirectionResult; 3] = Default::default();
        let mut flushes = LatencyHistogram::new();
        let (mut in_flight_ns, mut elapsed_ns, mut ramp_ns) = (0u128, 0u64, 0u64);
        let (mut records, mut granted) = (self.errors, self.granted);
        let mut shares = Vec::with_capacity(self.threads.len());
        let (mut stopped, mut ended_by_error) = (false, false);
        for thread in self.threads {
            let Outcome::Done(end, counts) = thread.outcome else {
                ended_by_error = true;
                shares.push(JobShare { ios: 0, lat_mean_ns: None });
                continue;
            };
            stopped |= end == End::Stopped;
            ended_by_error |= end == End::Error;
            shares.push(share(&counts.directions));
            directions.iter_mut().zip(&counts.directions).for_each(|(into, counts)| add(into, counts));
            flushes.merge(&counts.flushes);
            in_flight_ns += counts.in_flight_ns;
            elapsed_ns = elapsed_ns.max(counts.elapsed_ns);
            ramp_ns = ramp_ns.max(counts.ramp_ns);
            records.extend(counts.errors);
            granted.features.extend(counts.remarks);
        }
        let errors = merge_errors(records);
        let ended = match () {
            () if ended_by_error || (!errors.is_empty() && self.setup.tuning.errors_max == 0) => Ended::Failed,
            () if stopped => Ended::Interrupted,
            () => Ended::Completed,
        };
        let elapsed = Nanos(elapsed_ns);
        let [read, write, trim] = directions;
        JobResult {
            elapsed,
            ramp: Nanos(ramp_ns),
            read,
            write,
            trim,
            in_flight_mean: (elapsed_ns > 0).then(|| in_flight_ns as f64 / elapsed_ns as f64),
            series: self.series.finish(elapsed),
            classes: flush_class(self.job, &flushes),
            shares,
            granted,
            errors,
            cpu: self.cpu.begin.zip(self.cpu.end).map(|(begin, end)| CpuTime {
                user: end.user.saturating_sub(begin.user),
                system: end.system.saturating_sub(begin.system),
            }),
            health: None,
            ended,
            scale: 1,
            interval_share: None,
        }
    }
}
