//! One thread of a job: it sets up its engine, waits for the common start, runs its requests to
//! their end and hands back what it counted.

use crate::EngineChoice;
use crate::psync::Psync;
use crate::region::{Region, Stamper};
use crate::source::Source;
use crate::tally::{Counts, IntervalPart, Tally, Window};
use crate::uring::Uring;
use flashlab_samples::Granted;
use flashlab_spec::Job;
use flashlab_target::TargetError;
use flashlab_units::Nanos;
use flashlab_workload::named_seed;
use std::any::Any;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

/// How often a running thread looks for I/Os that are out too long.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// Time since the job's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn from(start: Instant) -> Self {
        Clock { start }
    }

    /// CLOCK_MONOTONIC since the start; 584 years fit.
    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// Why a thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The run time is over.
    Time,
    /// Its share of the amount is done.
    Amount,
    /// It was told to.
    Stopped,
    /// An I/O failed.
    Error,
}

/// Bytes a thread has moved, alone on its cache line so that threads don't slow each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Meter(pub(crate) AtomicU64);

/// What a running thread works with.
pub(crate) struct Duty {
    pub(crate) source: Source,
    pub(crate) tally: Tally,
    pub(crate) clock: Clock,
    pub(crate) stamper: Stamper,
    pub(crate) writes: bool,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) moved: u64,
    pub(crate) stuck_after_ns: u64,
    meter: Arc<Meter>,
    look_ns: u64,
}

impl Duty {
    /// Lets the coordinator see how far this thread is. One store to the thread's own cache line.
    #[inline]
    pub(crate) fn publish(&self) {
        self.meter.0.store(self.moved, Ordering::Relaxed);
    }

    /// Whether it is time to look for stuck I/Os again.
    #[inline]
    pub(crate) fn look_for_stuck(&mut self, now: u64) -> bool {
        let due = now >= self.look_ns;
        if due {
            self.look_ns = now + LOOK_EVERY_NS;
        }
        due
    }

    /// Counts an error, ends this thread's window, and has all threads stop.
    #[cold]
    pub(crate) fn fail(&mut self, kind: String, offset: Option<u64>, now: u64) {
        self.tally.error(kind, offset, now);
        self.tally.close(now);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts an I/O that has been out for `age_ns`; its kind carries the age.
    #[cold]
    pub(crate) fn stuck(&mut self, offset: u64, age_ns: u64, now: u64) {
        self.fail(stuck_kind(age_ns), Some(offset), now);
    }
}

/// The kind of an I/O that did not come back, with its age to a tenth of a second.
pub(crate) fn stuck_kind(age_ns: u64) -> String {
    format!("stuck-{}", Nanos(age_ns / 100_000_000 * 100_000_000).exact())
}

/// What a thread tells the coordinator.
pub(crate) enum Message {
    /// Set up; what it was granted.
    Ready(Granted),
    /// It could not be set up.
    Refused(TargetError),
    /// It ran to its end.
    Done(u32, End, Box<Counts>),
    /// It panicked: a fault of this program.
    Panicked(u32, String),
}

/// What a thread is made from. It owns all of it, so that a thread that never comes back from the
/// kernel can be left behind.
pub(crate) struct Worker {
    pub(crate) index: u32,
    pub(crate) job: Job,
    pub(crate) engine: EngineChoice,
    pub(crate) file: Arc<File>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) stuck_after_ns: u64,
    pub(crate) start: Receiver<Instant>,
    pub(crate) messages: Sender<Message>,
    pub(crate) intervals: Sender<IntervalPart>,
}

enum Engine {
    Uring(Box<Uring>),
    Psync(Psync),
}

impl Worker {
    /// The body of the thread. A message that finds no receiver is dropped: the job was given up.
    pub(crate) fn work(self) {
        let (index, messages) = (self.index, self.messages.clone());
        let last = match catch_unwind(AssertUnwindSafe(|| self.work_to_end())) {
            Ok(None) => return,
            Ok(Some(message)) => message,
            Err(panic) => Message::Panicked(index, panic_text(panic.as_ref())),
        };
        let _ = messages.send(last);
    }

    /// `None` if the job never started.
    fn work_to_end(self) -> Option<Message> {
        let held = hold_back_file_size_signal();
        debug_assert!(held, "SIGXFSZ can be blocked");
        let (mut engine, granted) = match self.set_up() {
            Ok(ready) => ready,
            Err(e) => return Some(Message::Refused(e)),
        };
        let _ = self.messages.send(Message::Ready(granted));
        let Worker { index, job, stop, meter, stuck_after_ns, start, intervals, .. } = self;
        let clock = Clock::from(start.recv().ok()?);
        let start_ns = job.ramp.0;
        let end_ns = job.runtime.map_or(u64::MAX, |runtime| start_ns.saturating_add(runtime.0));
        let mut duty = Duty {
            source: Source::new(&job, index),
            tally: Tally::new(Window { start_ns, end_ns }, intervals),
            clock,
            stamper: Stamper::new(job.bs, data_seed(&job, "generation", index)),
            writes: job.rw.writes(),
            stop,
            moved: 0,
            stuck_after_ns,
            meter,
            look_ns: LOOK_EVERY_NS,
        };
        let end = match &mut engine {
            Engine::Uring(uring) => uring.run(&mut duty),
            Engine::Psync(psync) => psync.run(&mut duty),
        };
        let counts = duty.tally.finish(duty.clock.now_ns());
        Some(Message::Done(index, end, Box::new(counts)))
    }

    fn set_up(&self) -> Result<(Engine, Granted), TargetError> {
        let mut region = Region::map(self.job.iodepth, self.job.bs).map_err(|source| TargetError::Io {
            action: "mapping buffers for",
            path: self.job.workload.clone(),
            source,
            remedy: "use a smaller iodepth, numjobs or bs".into(),
        })?;
        if self.job.rw.writes() {
            region.fill_random(data_seed(&self.job, "data", self.index));
        }
        let file = Arc::clone(&self.file);
        let mut granted = Granted::default();
        let engine = match self.engine {
            EngineChoice::IoUring => Engine::Uring(Box::new(Uring::prepare(&self.job, file, region, &mut granted)?)),
            EngineChoice::Psync => Engine::Psync(Psync::prepare(file, region)),
        };
        Ok((engine, granted))
    }
}

/// The seed of a thread's data: the same job writes the same data, another workload or thread other data.
fn data_seed(job: &Job, name: &str, index: u32) -> u64 {
    named_seed(named_seed(job.seed, &job.workload, 0), name, u64::from(index))
}

/// A write beyond the limit on file sizes raises SIGXFSZ, which would end the whole program before
/// the error could be counted.
fn hold_back_file_size_signal() -> bool {
    // SAFETY: the set lives on this stack, is initialised by sigemptyset before it is read, and only
    // this thread's mask is changed.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) == 0
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
