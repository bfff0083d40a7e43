//! Jobs that run at the same time on one target: they start together, each runs to its own end, and one loop
//! watches all of them.

use crate::job::{Line, Run};
use crate::machine::Threads;
use crate::speed::{TICK_NS, of_all};
use crate::worker::{Clock, Message, Setup};
use flashlab_samples::JobResult;
use flashlab_spec::Job;
use flashlab_target::{Observer, TargetError};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Jobs that are set up; their threads wait for the start.
pub(crate) struct Runs<'a> {
    runs: Vec<Run<'a>>,
    messages: Sender<(usize, Message)>,
    heard: Receiver<(usize, Message)>,
    threads: Threads,
}

impl Default for Runs<'_> {
    fn default() -> Self {
        let (messages, heard) = channel();
        Runs { runs: Vec::new(), messages, heard, threads: Threads::default() }
    }
}

impl<'a> Runs<'a> {
    /// For jobs that may have these threads.
    pub(crate) fn with(threads: Threads) -> Self {
        Runs { threads, ..Self::default() }
    }

    /// Sets up one more job, which was admitted.
    ///
    /// # Errors
    /// As [`Run::new`].
    pub(crate) fn add(
        &mut self,
        job: &'a Job,
        path: &'a Path,
        setup: Setup,
        direct: bool,
    ) -> Result<&mut Run<'a>, TargetError> {
        let threads_before = self.runs.iter().map(Run::numjobs).sum();
        let line = Line { place: self.runs.len(), threads_before, messages: &self.messages, heard: &self.heard };
        self.runs.push(Run::new(job, path, setup, direct, line)?);
        let last = self.runs.len() - 1;
        Ok(&mut self.runs[last])
    }

    /// Begins the ledgers, once all jobs are set up and none can be refused any more.
    pub(crate) fn begin_ledgers(&self) {
        self.runs.iter().for_each(Run::begin_ledger);
    }

    /// Starts all threads together, after [`Runs::begin_ledgers`], and runs all jobs to their ends. The results are in the order of the jobs;
    /// those of several have no CPU time, since that of the process is of all of them.
    ///
    /// # Errors
    /// [`TargetError::Io`] if a thread panicked, which is a fault of this program.
    pub(crate) fn finish(self, start: Instant, observer: &mut dyn Observer) -> Result<Vec<JobResult>, TargetError> {
        let Runs { mut runs, messages, heard, threads: _held } = self;
        // What is left are the threads' own.
        drop(messages);
        let clock = Clock::from(start);
        runs.iter_mut().for_each(|run| run.start(start));
        let mut tick_ns = 0;
        while runs.iter().any(Run::is_running) {
            let now = clock.now_ns();
            runs.iter_mut().for_each(|run| run.mark_edges(now));
            if now >= tick_ns {
                tick_ns = now + TICK_NS;
                tick(&mut runs, now, observer);
            }
            match heard.recv_timeout(nap(&runs, now, tick_ns)) {
                Ok((place, message)) => runs[place].hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                // All senders are gone, so no thread is running whatever it last said.
                Err(RecvTimeoutError::Disconnected) => {
                    runs.iter_mut().for_each(|run| run.lose_running("a thread ended without a word"));
                }
            }
            if runs.iter().any(Run::is_broken) {
                runs.iter().for_each(Run::stop);
            }
            runs.iter_mut().for_each(|run| run.take_intervals(observer));
        }
        let is_alone = runs.len() == 1;
        let results = runs.into_iter().map(|run| run.finish(observer));
        results.map(|result| result.map(|r| JobResult { cpu: r.cpu.filter(|_| is_alone), ..r })).collect()
    }
}

/// Tells how far all are, and passes on a stop.
fn tick(runs: &mut [Run<'_>], now: u64, observer: &mut dyn Observer) {
    let each: Vec<_> = runs.iter_mut().map(|run| (run.is_running(), run.progress(now))).collect();
    observer.progress(&of_all(&each));
    if observer.stop_requested() {
        runs.iter().for_each(Run::stop);
    }
    runs.iter_mut().for_each(|run| run.leave_stuck_threads(now));
}

/// How long to wait for a message: until the next tick or edge.
fn nap(runs: &[Run<'_>], now: u64, tick_ns: u64) -> Duration {
    let edges = runs.iter().filter_map(|run| run.next_edge(now));
    let next = edges.chain(Some(tick_ns).filter(|tick| *tick > now)).min();
    Duration::from_nanos(next.unwrap_or(now + TICK_NS) - now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::machine::MAPS_A_THREAD;
    use crate::ring::Modes;
    use crate::{EngineChoice, Tuning, verify};
    use flashlab_spec::{Region, Rw, Verify};
    use flashlab_target::{Progress, Unobserved};
    use flashlab_units::{Bytes, Nanos};
    use std::fs::File;
    use std::sync::Arc;

    fn job() -> Job {
        Job {
            numjobs: 2,
            runtime: Some(Nanos::secs(10)),
            ramp: Nanos::secs(10),
            ..Job::new("w", Rw::Read, Bytes::kib(4), Region { offset: Bytes::ZERO, length: Bytes::kib(64) })
        }
    }

    fn setup(file: &Arc<File>, job: &Job) -> Setup {
        Setup {
            file: Arc::clone(file),
            engine: EngineChoice::Psync,
            tuning: Tuning::default(),
            modes: Modes::default(),
            logical_block: Bytes(512),
            is_block_device: false,
            geometry: verify::geometry(job, Bytes(512), 0),
            ledger: None,
            checked: Arc::default(),
            stuck_after_ns: 1_000_000_000,
        }
    }

    /// The mappings of this process, and the most that were seen while a job ran.
    #[derive(Default)]
    struct Mappings(usize);

    impl Mappings {
        fn now() -> usize {
            std::fs::read_to_string("/proc/self/maps").expect("procfs").lines().count()
        }
    }

    impl Observer for Mappings {
        fn progress(&mut self, _progress: &Progress) {
            self.0 = self.0.max(Self::now());
        }
        fn stop_requested(&self) -> bool {
            false
        }
    }

    /// Large buffers take most, and so does a writer that counts all there is to count.
    #[test]
    fn a_thread_takes_no_more_mappings_than_are_counted_for_it() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(16 << 20).expect("size");
        let file = Arc::new(file);
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(16) };
        let job = Job { numjobs: 128, iodepth: 1, bs: Bytes::mib(2), rw: Rw::RandRw, region, ..job() };
        let job = Job { ramp: Nanos(0), runtime: Some(Nanos::millis(500)), ..job };
        let (before, mut most) = (Mappings::now(), Mappings::default());
        let mut runs = Runs::default();
        let tuning = Tuning { split_submission: true, ..Tuning::default() };
        let setup = Setup { engine: EngineChoice::IoUring, tuning, ..setup(&file, &job) };
        runs.add(&job, Path::new("/x"), setup, false).expect("set up");
        runs.finish(Instant::now(), &mut most).expect("results");
        let each = (most.0 - before) as f64 / 128.0;
        assert!((1.0..=MAPS_A_THREAD as f64).contains(&each), "{each}");
    }

    /// A job that stamps 16 blocks and another one, which can't be had: its buffers are larger than any memory.
    #[test]
    fn a_ledger_begins_no_generation_for_what_is_refused() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(64 << 10).expect("size");
        let file = Arc::new(file);
        let stamp =
            Job { rw: Rw::Write, verify: Verify::Stamp, runtime: None, ramp: Nanos(0), passes: Some(1), ..job() };
        let huge = Job { bs: Bytes::mib(64), iodepth: 4096, numjobs: 1024, ..job() };
        let geometry = verify::geometry(&stamp, Bytes(512), 0);
        let ledger = Arc::new(Ledger::open(None, geometry, 1).expect("memory"));
        let setup = |job: &Job, ledger: Option<&Arc<Ledger>>| Setup { ledger: ledger.cloned(), ..setup(&file, job) };
        let mut runs = Runs::default();
        runs.add(&stamp, Path::new("/x"), setup(&stamp, Some(&ledger)), false).expect("set up");
        assert!(runs.add(&huge, Path::new("/x"), setup(&huge, None), false).is_err());
        drop(runs);
        assert_eq!(ledger.ranges(), []);
        let mut runs = Runs::default();
        runs.add(&stamp, Path::new("/x"), setup(&stamp, Some(&ledger)), false).expect("set up");
        runs.begin_ledgers();
        let results = runs.finish(Instant::now(), &mut Unobserved).expect("results");
        assert_eq!((results[0].write.bytes, ledger.generation(0)), (Bytes::kib(64), 1));
    }

    #[test]
    fn a_thread_that_panics_stops_the_others_and_is_reported() {
        let file = tempfile::tempfile().expect("file");
        file.set_len(64 << 10).expect("size");
        // Was not admitted: one block can't be shared by two sequential threads, which panics in both.
        let job = Job { region: Region { offset: Bytes::ZERO, length: Bytes::kib(4) }, ..job() };
        let setup = setup(&Arc::new(file), &job);
        let mut runs = Runs::default();
        runs.add(&job, Path::new("/x"), setup, false).expect("set up");
        let error = runs.finish(Instant::now(), &mut Unobserved).expect_err("a panic").to_string();
        assert!(error.contains("not validated") && error.contains("fault of flashlab"), "{error}");
    }
}
