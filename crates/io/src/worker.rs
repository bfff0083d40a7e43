//! One thread of a job: it sets up its engine, waits for the common start, runs its requests to
//! their end and hands back what it counted.

use crate::EngineChoice;
use crate::data::{Content, Stamper, fill_buffers};
use crate::ledger::{Geometry, Ledger};
use crate::null::Null;
use crate::pace::Pace;
use crate::psync::Psync;
use crate::region::Region;
use crate::ring::Modes;
use crate::source::Source;
use crate::tally::{Counts, IntervalPart, Kept, Tally, Window};
use crate::think::Think;
use crate::tuning::Tuning;
use crate::uring::Uring;
use crate::verify::{Checked, Checker};
use flashlab_samples::Granted;
use flashlab_spec::{Data, Job, Verify};
use flashlab_target::TargetError;
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::{Direction, named_seed};
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

/// What the coordinator sees of a thread, alone on its cache line so that threads don't slow each other.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Meter {
    /// Bytes moved.
    pub(crate) bytes: AtomicU64,
    /// Turns of its loop: whether it is alive.
    pub(crate) turns: AtomicU64,
    /// Intervals of the series that it is done with.
    pub(crate) intervals: AtomicU64,
}

/// What all threads of a job share.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) file: Arc<File>,
    pub(crate) engine: EngineChoice,
    pub(crate) tuning: Tuning,
    /// Of the ring, as far as the target allows.
    pub(crate) modes: Modes,
    pub(crate) logical_block: Bytes,
    pub(crate) is_block_device: bool,
    /// Of verification.
    pub(crate) geometry: Geometry,
    pub(crate) ledger: Option<Arc<Ledger>>,
    /// What all threads checked.
    pub(crate) checked: Arc<Checked>,
    pub(crate) stuck_after_ns: u64,
}

/// How often a thread makes its writes durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flushes {
    every: u32,
    /// Writes that came back since the last one.
    since: u32,
    pub(crate) data_only: bool,
}

impl Flushes {
    fn new(job: &Job) -> Self {
        let d = &job.durability;
        Flushes { every: d.fsync_every.max(d.fdatasync_every), since: 0, data_only: d.fdatasync_every > 0 }
    }

    /// Whether to flush now; then the count begins anew.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.every > 0 && self.since >= self.every;
        if due {
            self.since = 0;
        }
        due
    }
}

/// What a running thread works with.
pub(crate) struct Duty {
    pub(crate) source: Source,
    pub(crate) pace: Pace,
    pub(crate) tally: Tally,
    pub(crate) clock: Clock,
    pub(crate) stamper: Stamper,
    pub(crate) checker: Option<Box<Checker>>,
    pub(crate) flushes: Flushes,
    pub(crate) think: Think,
    /// Of pwritev2.
    pub(crate) write_flags: i32,
    /// 0 for none.
    pub(crate) write_stream: u8,
    pub(crate) is_block_device: bool,
    pub(crate) writes: bool,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) moved: u64,
    pub(crate) stuck_after_ns: u64,
    /// Errors after which this thread still goes on.
    errors_left: u64,
    content: Content,
    checks_reads: bool,
    /// Whether requests are all reads, or writes of unique data.
    is_plain: bool,
    meter: Arc<Meter>,
    turns: u64,
    look_ns: u64,
    look_every_ns: u64,
}

impl Duty {
    fn new(job: &Job, index: u32, setup: &Setup, common: Common) -> Self {
        let start_ns = job.ramp.0;
        let end_ns = job.runtime.map_or(u64::MAX, |runtime| start_ns.saturating_add(runtime.0));
        let window = Window { start_ns, end_ns, interval_ns: setup.tuning.interval.0 };
        let kept = Kept { service: !job.arrival.is_closed(), slat: setup.tuning.split_submission };
        let look_every_ns = LOOK_EVERY_NS.min(setup.stuck_after_ns / 4).max(1);
        let checker = Checker::new(job, index, setup.geometry, setup.ledger.clone(), Arc::clone(&setup.checked));
        let is_plain = !job.trims()
            && job.data == Data::default()
            && job.durability == Default::default()
            && job.placement.is_empty()
            && job.think.is_none()
            && checker.is_none();
        Duty {
            source: Source::new(job, index, setup.logical_block),
            pace: Pace::new(job, index),
            tally: Tally::new(window, kept, common.intervals, Arc::clone(&common.meter)),
            clock: common.clock,
            stamper: Stamper::new(job.bs, data_seed(job, "generation", index)),
            checker: checker.map(Box::new),
            flushes: Flushes::new(job),
            think: Think::new(job),
            write_flags: if job.durability.dsync { libc::RWF_DSYNC } else { 0 },
            // The kernel counts streams from 1.
            write_stream: job.placement_of(index).map_or(0, |id| id as u8 + 1),
            is_block_device: setup.is_block_device,
            writes: job.rw.writes(),
            stop: common.stop,
            moved: 0,
            stuck_after_ns: setup.stuck_after_ns,
            errors_left: setup.tuning.errors_max,
            content: Content::new(job, index),
            checks_reads: job.verify == Verify::Check,
            is_plain,
            meter: common.meter,
            turns: 0,
            look_ns: look_every_ns,
            look_every_ns,
        }
    }

    /// Whether requests need the loop that can do everything.
    pub(crate) fn needs_everything(&self) -> bool {
        !self.is_plain
    }

    /// Makes the buffer of a write what it should be.
    ///
    /// # Safety
    /// `buffer` must be valid for writes of `length` bytes, a multiple of a logical block, and be
    /// aligned to 8; no I/O may be using it.
    pub(crate) unsafe fn prepare_write(&mut self, buffer: *mut u8, offset: u64, length: u32) {
        if let Some(checker) = &mut self.checker {
            // SAFETY: as the caller promises; the region's bytes are initialised.
            let block = unsafe { std::slice::from_raw_parts_mut(buffer, length as usize) };
            return checker.seal(block, offset);
        }
        // SAFETY: as the caller promises.
        unsafe { self.content.prepare(buffer, offset, length) };
    }

    /// What follows a completed request beyond its count: its write is acknowledged and counted towards
    /// the next flush, and what was read is checked.
    ///
    /// # Safety
    /// `buffer` must be valid for reads of `length` bytes, and no I/O may be using it.
    pub(crate) unsafe fn settle(
        &mut self,
        direction: Direction,
        buffer: *const u8,
        offset: u64,
        length: u32,
        now: u64,
    ) {
        match (direction, &mut self.checker) {
            (Direction::Write, checker) => {
                self.flushes.since += 1;
                if let Some(checker) = checker {
                    checker.acknowledge(offset);
                }
            }
            (Direction::Read, Some(checker)) if self.checks_reads => {
                // SAFETY: as the caller promises; the region's bytes are initialised.
                let bytes = unsafe { std::slice::from_raw_parts(buffer, length as usize) };
                checker.check(bytes, offset, &mut self.tally, now);
            }
            _ => {}
        }
    }

    /// Reads back what was written, where the job asks for it and came to its end.
    fn read_back(&mut self, file: &File, end: End) {
        let Some(mut checker) = self.checker.take() else { return };
        if matches!(end, End::Time | End::Amount) {
            let (now, stop, meter) = (self.clock.now_ns(), &self.stop, &self.meter);
            let go_on = || {
                meter.turns.fetch_add(1, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            checker.read_back(file, &mut self.tally, now, go_on);
        }
        self.checker = Some(checker);
    }

    /// What was counted.
    fn finish(self) -> Counts {
        let late = self.pace.remark(self.tally.end_ns().min(self.clock.now_ns()));
        let found = self.checker.map_or_else(Vec::new, |checker| checker.into_remarks());
        let mut counts = self.tally.finish(self.clock.now_ns());
        counts.remarks = found.into_iter().chain(late).collect();
        counts
    }

    /// Lets the coordinator see how far this thread is. Two stores to the thread's own cache line.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.turns += 1;
        self.meter.bytes.store(self.moved, Ordering::Relaxed);
        self.meter.turns.store(self.turns, Ordering::Relaxed);
    }

    /// Whether it is time to look for stuck I/Os again.
    #[inline]
    pub(crate) fn look_for_stuck(&mut self, now: u64) -> bool {
        let due = now >= self.look_ns;
        if due {
            self.look_ns = now + self.look_every_ns;
        }
        due
    }

    /// Counts the error of an I/O; whether the thread goes on in spite of it. Where it doesn't, this is
    /// as [`Duty::fail`].
    #[cold]
    pub(crate) fn survives(&mut self, kind: String, offset: Option<u64>, now: u64) -> bool {
        if self.errors_left == 0 {
            self.fail(kind, offset, now);
            return false;
        }
        self.errors_left -= 1;
        self.tally.error(kind, offset, now);
        true
    }

    /// Counts an error, ends this thread's window, and has all threads stop.
    #[cold]
    pub(crate) fn fail(&mut self, kind: String, offset: Option<u64>, now: u64) {
        self.tally.error(kind, offset, now);
        self.tally.close(now);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts I/Os that have not come back, by their offsets, where they have one. Their kind carries the age of
    /// the oldest. This thread's window ends, and all threads stop.
    #[cold]
    pub(crate) fn stuck(&mut self, offsets: impl Iterator<Item = Option<u64>>, age_ns: u64, now: u64) {
        let kind = stuck_kind(age_ns);
        offsets.for_each(|offset| self.fail(kind.clone(), offset, now));
    }
}

/// The kind of an I/O that did not come back, with its age: to a tenth of a second, below a second to a
/// millisecond, which is the least deadline.
pub(crate) fn stuck_kind(age_ns: u64) -> String {
    let step = if age_ns < Nanos::secs(1).0 { Nanos::millis(1) } else { Nanos::millis(100) };
    format!("stuck-{}", Nanos(age_ns / step.0 * step.0).exact())
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
    /// Position of its job among those that run at the same time.
    pub(crate) place: usize,
    pub(crate) index: u32,
    /// Its number among the threads of all those jobs, which take CPUs in turn.
    pub(crate) turn: u32,
    pub(crate) job: Job,
    pub(crate) setup: Arc<Setup>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) start: Receiver<Instant>,
    pub(crate) messages: Sender<(usize, Message)>,
    pub(crate) intervals: Sender<IntervalPart>,
}

/// What ties a thread to the others of its job.
struct Common {
    clock: Clock,
    stop: Arc<AtomicBool>,
    meter: Arc<Meter>,
    intervals: Sender<IntervalPart>,
}

enum Engine {
    Uring(Box<Uring>),
    Psync(Psync),
    Null(Null),
}

impl Worker {
    /// The body of the thread. A message that finds no receiver is dropped: the job was given up.
    pub(crate) fn work(self) {
        let (place, index, messages) = (self.place, self.index, self.messages.clone());
        let last = match catch_unwind(AssertUnwindSafe(|| self.work_to_end())) {
            Ok(None) => return,
            Ok(Some(message)) => message,
            Err(panic) => Message::Panicked(index, panic_text(panic.as_ref())),
        };
        let _ = messages.send((place, last));
    }

    /// `None` if the job never started.
    fn work_to_end(self) -> Option<Message> {
        let held = hold_back_file_size_signal();
        debug_assert!(held, "SIGXFSZ can be blocked");
        let (mut engine, granted) = match self.set_up() {
            Ok(ready) => ready,
            Err(e) => return Some(Message::Refused(e)),
        };
        let _ = self.messages.send((self.place, Message::Ready(granted)));
        let Worker { index, job, setup, stop, meter, start, intervals, .. } = self;
        let clock = Clock::from(start.recv().ok()?);
        let mut duty = Duty::new(&job, index, &setup, Common { clock, stop, meter, intervals });
        let end = match &mut engine {
            Engine::Uring(uring) => uring.run(&mut duty),
            Engine::Psync(psync) => psync.run(&mut duty),
            Engine::Null(null) => null.run(&mut duty),
        };
        duty.read_back(&setup.file, end);
        Some(Message::Done(index, end, Box::new(duty.finish())))
    }

    fn set_up(&self) -> Result<(Engine, Granted), TargetError> {
        let mut granted = Granted::default();
        pin(&self.setup.tuning.cpus, self.turn, &mut granted)?;
        if !self.job.arrival.is_closed() || self.job.think.is_some() {
            wake_on_time();
        }
        let mut region = Region::map(self.job.iodepth, self.job.bs).map_err(|source| TargetError::Io {
            action: "mapping buffers for",
            path: self.job.workload.clone(),
            source,
            remedy: "use a smaller iodepth, numjobs or bs".into(),
        })?;
        if self.job.rw.writes() {
            fill_buffers(&mut region, &self.job, self.index);
        }
        let setup = Arc::clone(&self.setup);
        let engine = match self.setup.engine {
            EngineChoice::IoUring | EngineChoice::Nop => {
                let is_nop = self.setup.engine == EngineChoice::Nop;
                Engine::Uring(Box::new(Uring::prepare(&self.job, setup, is_nop, region, &mut granted)?))
            }
            EngineChoice::Psync => Engine::Psync(Psync::prepare(setup, region)),
            EngineChoice::Null => Engine::Null(Null::prepare(self.job.iodepth)),
        };
        Ok((engine, granted))
    }
}

/// Pins the calling thread to its CPU, if it is to have one.
fn pin(cpus: &[u32], turn: u32, granted: &mut Granted) -> Result<(), TargetError> {
    let Some(turn) = (turn as usize).checked_rem(cpus.len()) else { return Ok(()) };
    let cpu = cpus[turn];
    // SAFETY: the set lives on this stack and is plain data; CPU_SET is given a number inside it.
    let pinned = unsafe {
        let mut set = std::mem::zeroed::<libc::cpu_set_t>();
        if cpu < libc::CPU_SETSIZE as u32 {
            libc::CPU_SET(cpu as usize, &mut set);
        }
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &raw const set) == 0
    };
    if !pinned {
        return Err(TargetError::NotGranted {
            what: "CPU pinning",
            reason: format!("CPU {cpu}: {}", std::io::Error::last_os_error()),
            remedy: "name CPUs that are online and allowed to this process (taskset -p $$)".into(),
        });
    }
    granted.features.push(format!("pinned to CPUs {}", list(cpus)));
    Ok(())
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Sleeps of this thread end as soon as they may, instead of up to 50 us later.
fn wake_on_time() {
    // SAFETY: changes a number of the calling thread only.
    let set = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    debug_assert_eq!(set, 0, "the timer slack can be set");
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

#[cfg(test)]
mod tests {
    use super::stuck_kind;

    #[test]
    fn ages_have_the_digits_that_tell() {
        let seen = [1_000_000, 12_999_999, 999_000_001, 1_000_000_000, 30_080_000_000].map(stuck_kind);
        assert_eq!(seen, ["stuck-1ms", "stuck-12ms", "stuck-999ms", "stuck-1s", "stuck-30s"]);
    }
}
