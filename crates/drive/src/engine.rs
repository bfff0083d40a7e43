//! One job in virtual time: the loop that takes the next event and moves its request one box on.

use crate::controller::{Controller, Decode};
use crate::duration::{END, JOB_TIME_MAX};
use crate::event::{Event, EventQueue, Lane, What};
use crate::flush::Flusher;
use crate::ftl::Ftl;
use crate::host::Host;
use crate::link::{Carried, Joined, Link};
use crate::merge::Merger;
use crate::nand::Nand;
use crate::outcome::Outcome;
use crate::queue_pair::Holdoff;
use crate::read_ahead::ReadAhead;
use crate::scale::Geometry;
use crate::time::{Ps, nanos, ps};
use crate::write_buffer::WriteBuffer;
use flashlab_spec::{HostProfile, Job, ModelParameters, Region, Rw};
use flashlab_target::{Observer, Progress};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::Direction;

/// Events between two looks at the observer.
const EVENTS_PER_LOOK: u64 = 1 << 16;
/// No job simulates more I/Os than this: at a million a second and more it bounds a point to some
/// tens of seconds, whatever was asked for.
const IOS_MAX: u64 = 1 << 24;
/// Reads before an interval may end a job: 20 samples lie beyond p99.95.
const READS_MIN: u64 = 40_000;
/// Completions dropped before a job that writes nothing is measured: at least this many, and at least
/// this many for each outstanding I/O.
const WARM_UP_MIN: u64 = 256;
const WARM_UP_ROUNDS: u64 = 4;
/// Completions after which a job is measured although its writes have not filled the buffer.
const WARM_UP_IOS_MAX: u64 = 1 << 20;
/// Time after which it is measured as well: requests that come so slowly neither queue nor fill the buffer.
const WARM_UP_TIME_MAX: Ps = ps(Nanos::secs(3600));
/// An event that is so much before the last one has lost the highest bits of its time, see [`END`].
const LOST_BITS: Ps = 1 << 60;

/// Bytes counted since the last purge, at the scaled size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) host_read: u64,
    pub(crate) host_written: u64,
    pub(crate) media_written: u64,
    /// What the one-bit flash holds now.
    pub(crate) pslc_used: u64,
}

/// When a job ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// This much virtual time after writes began to be mapped, and after at least this many bytes were
    /// admitted by the buffer in the measured window.
    Written { time: Ps, admitted: u64 },
    /// After this many bytes moved in the measured window. Or earlier, after this much time in it, if as
    /// much was done as a job that ends by time alone does at least: the buffer has admitted so many
    /// bytes, or, where nothing is written, [`READS_MIN`] I/Os are done.
    Amount { bytes: u64, limit: Option<Limit> },
    /// When every job has moved its extents; all of it is measured.
    Extents { bytes: u64 },
    /// When the replayed list has been played, all of it measured: a list stands for itself, and its first
    /// requests meet an idle drive as they did where it was recorded.
    Replay { bytes: u64 },
    /// When the interval of the mean is within this share, at the latest after this much time.
    Interval { share: f64, time: Ps },
}

/// A time that ends a job, whose amount may end it before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) time: Ps,
    /// 0 for a job that writes nothing.
    pub(crate) admitted: u64,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Goal,
    Interval,
    Observer,
    /// The longest time of a job was over before its goal was reached.
    Time,
}

/// What is asked of an engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order<'a> {
    pub(crate) parameters: &'a ModelParameters,
    pub(crate) host: &'a HostProfile,
    pub(crate) geometry: Geometry,
    pub(crate) job: &'a Job,
    pub(crate) goal: Goal,
}

/// Runs a job against the drive's state; says why it ended and what it did.
pub(crate) fn run(
    order: Order<'_>,
    mapping: &mut Ftl,
    counters: &mut Counters,
    observer: &mut dyn Observer,
) -> (Stop, Outcome) {
    if order.is_reads() {
        Engine::<true>::new(order, mapping, counters).run(observer)
    } else {
        Engine::<false>::new(order, mapping, counters).run(observer)
    }
}

impl Order<'_> {
    /// Whether nothing but reads runs, in a closed loop, and the controller takes their commands in the order
    /// of arrival: then commands reach the drive in the order of completions.
    fn is_reads(&self) -> bool {
        let job = self.job;
        let in_order = !Controller::takes_turns(&self.parameters.controller, job.numjobs);
        matches!(job.rw, Rw::Read | Rw::RandRead) && job.arrival.is_closed() && in_order
    }
}

/// A job being run against the drive's state. The loop is compiled twice: with `READS` for jobs of
/// [`Order::is_reads`], on whose path nothing then asks for anything else; and for all others.
pub(crate) struct Engine<'a, const READS: bool> {
    pub(crate) geometry: Geometry,
    pub(crate) mapping: &'a mut Ftl,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: EventQueue,
    pub(crate) host: Host,
    pub(crate) holdoff: Option<Holdoff>,
    pub(crate) link: Link,
    pub(crate) controller: Controller,
    pub(crate) buffer: WriteBuffer,
    pub(crate) flusher: Flusher,
    pub(crate) merger: Merger,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) nand: Nand,
    /// Reused for each batch that the path hands on.
    pub(crate) batch: Vec<Carried>,
    pub(crate) outcome: Outcome,
    pub(crate) warm_up: Option<WarmUp>,
    /// Completions until warm-up and goal are looked at again, and the time from which on every one is.
    looks_in: u64,
    looks_from: Ps,
    /// Since when writes are mapped; those before only fill the buffer.
    pub(crate) real_since: Ps,
    /// Whether a read that leaves the link is completed ahead of time, see [`Engine::completes_in_order`].
    pub(crate) in_order: bool,
    goal: Goal,
    /// Where its requests lie.
    region: Region,
    /// The largest request.
    length_max: u64,
    pub(crate) stop: Option<Stop>,
}

/// What still has to pass before the measured window begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WarmUp {
    /// So many completions of reads.
    Completions(u64),
    /// The first buffer, which goes into empty DRAM at the speed of the link.
    FirstBuffer,
    /// The second, while the first programs are still on their way; the buffer held so much before.
    SecondBuffer { used: u64 },
    /// What it takes until the buffer is full.
    Filling,
    /// Until what the buffer held of those is in flash.
    Settling,
}

impl WarmUp {
    /// Completions after which it is over.
    fn ios_max(self) -> u64 {
        if let WarmUp::Completions(n) = self { n } else { WARM_UP_IOS_MAX }
    }

    /// Whether writes only fill the buffer, so that a point ages the drive by what it was asked to write
    /// and not by the buffer, which is not scaled down as the drive is.
    fn rehearses(self) -> bool {
        matches!(self, WarmUp::FirstBuffer | WarmUp::SecondBuffer { .. } | WarmUp::Filling)
    }
}

/// Whether no request of the job follows another in place.
fn is_all_random(job: &Job) -> bool {
    job.rw.is_random() && job.replay.is_none() && job.pattern.random.is_none()
}

/// Whether a job writes any data: trims and mixes of nothing but reads and trims do not.
pub(crate) fn writes_data(job: &Job) -> bool {
    job.mix()[Direction::Write as usize] > 0
}

impl<'a, const READS: bool> Engine<'a, READS> {
    fn new(order: Order<'_>, mapping: &'a mut Ftl, counters: &'a mut Counters) -> Self {
        let Order { parameters, host, geometry, job, goal } = order;
        let outstanding = job.outstanding();
        let warm_up = if writes_data(job) {
            WarmUp::FirstBuffer
        } else {
            // As many rounds as I/Os wait at a die, until the queues have their usual lengths.
            let at_a_die = outstanding / u64::from(parameters.nand.dies.value * parameters.nand.planes.value);
            WarmUp::Completions((outstanding * at_a_die.max(WARM_UP_ROUNDS)).max(WARM_UP_MIN))
        };
        let whole = Region { offset: Bytes(0), length: Bytes(geometry.user_bytes()) };
        let holdoff = parameters.queue_pair.as_ref().map(|p| Holdoff::new(p, job.numjobs, job.iodepth));
        Engine {
            geometry,
            mapping,
            counters,
            events: EventQueue::default(),
            host: Host::new(host, job),
            holdoff,
            link: Link::new(&parameters.link, host, job.numjobs),
            controller: Controller::new(&parameters.controller, job.numjobs),
            buffer: WriteBuffer::new(parameters),
            flusher: Flusher::new(parameters, &geometry),
            merger: Merger::new(&parameters.merge),
            // A list does not say whether it is sequential: each of its reads is looked at.
            read_ahead: ReadAhead::new(&parameters.read_ahead, is_all_random(job)),
            nand: Nand::new(&parameters.nand, geometry.unit_bytes, geometry.factor),
            batch: Vec::new(),
            outcome: Outcome::new(job),
            warm_up: Some(warm_up),
            looks_in: warm_up.ios_max(),
            looks_from: WARM_UP_TIME_MAX,
            real_since: 0,
            in_order: false,
            goal,
            region: if job.extents.is_empty() { job.region } else { whole },
            length_max: job.bs.0,
            stop: None,
        }
    }

    /// Runs until the goal or a stop. What the buffer still holds is then flushed.
    fn run(mut self, observer: &mut dyn Observer) -> (Stop, Outcome) {
        if matches!(self.goal, Goal::Extents { .. } | Goal::Replay { .. }) {
            self.begin_window(0);
        }
        self.in_order = READS && self.completes_in_order();
        self.submit_all();
        let mut now = 0;
        while self.stop.is_none() {
            now = self.handle_some(now);
            if self.stop.is_none() && now >= END {
                self.end_by_time(now);
            }
            if self.stop.is_none() {
                if observer.stop_requested() {
                    self.end_window(now.max(self.outcome.completed_at()));
                    self.stop = Some(Stop::Observer);
                }
                observer.progress(&self.progress(now));
            }
        }
        self.drain();
        (self.stop.unwrap_or(Stop::Goal), self.outcome)
    }

    /// Whether all reads take as long from the link to their completion, and leave it in the order in which
    /// they reached it: then their completions need no event. Those out of DRAM take less than those of
    /// flash, a hold-off differs from read to read, and two ports overtake each other.
    fn completes_in_order(&self) -> bool {
        let Region { offset, length } = self.region;
        let first = offset.0 >> self.geometry.unit_shift;
        let end = (offset.0 + length.0).div_ceil(self.geometry.unit_bytes);
        let even = self.holdoff.is_none() && self.link.delivers_in_order() && !self.read_ahead.follows();
        even && self.mapping.all_mapped(first as u32, end as u32)
    }

    /// Puts a first request into each slot.
    fn submit_all(&mut self) {
        for slot in 0..self.host.slots.len() as u32 {
            if let Some(at) = self.submit(slot, 0, 0) {
                self.command(slot, at);
            }
        }
    }

    /// Handles events until the next look at the observer or the end; returns the time of the last one.
    fn handle_some(&mut self, mut now: Ps) -> Ps {
        for _ in 0..EVENTS_PER_LOOK {
            let Some((at, event)) = self.events.next::<READS>() else {
                if self.host.has_later {
                    self.end_by_time(now);
                    break;
                }
                // The jobs have no more requests.
                self.stop = Some(Stop::Goal);
                let end = match self.goal {
                    Goal::Replay { .. } => self.outcome.completed_at(),
                    _ => self.all_written_at(now),
                };
                self.end_window(end);
                break;
            };
            if at < now {
                assert!(now - at >= LOST_BITS, "time does not run backwards");
                self.end_by_time(now);
                break;
            }
            now = at;
            self.handle(at, event);
            if self.stop.is_some() {
                break;
            }
        }
        now
    }

    /// No job goes on longer: this one has reached its goal if all it asked for was time.
    #[cold]
    fn end_by_time(&mut self, now: Ps) {
        let end = now.max(self.outcome.completed_at());
        let reached = match self.goal {
            Goal::Written { time, .. } | Goal::Interval { time, .. } => self.outcome.elapsed(end) >= time,
            Goal::Amount { limit, .. } => limit.is_some_and(|limit| self.outcome.elapsed(end) >= limit.time),
            Goal::Extents { .. } | Goal::Replay { .. } => false,
        };
        self.stop = Some(if reached { Stop::Goal } else { Stop::Time });
        self.end_window(end);
    }

    /// When all that jobs with an end of their own wrote is in flash, less the time of one program, in which
    /// the first data was on its way. The buffer is not scaled down as such a job is: it would hide a part
    /// of the job that it does not hide of one a thousand times as large.
    fn all_written_at(&self, last_event: Ps) -> Ps {
        self.outcome.completed_at().max(last_event.saturating_sub(self.nand.program_time()))
    }

    /// Moves a request one box on, or several where the times between are known: a read goes from the link by
    /// its completion to the die of the next one.
    #[inline(always)]
    fn handle(&mut self, mut at: Ps, mut event: Event) {
        let (slot, mut what) = (event.id(), event.what());
        if what == What::DieDone {
            let Some(ready) = self.die_done(event, at) else { return };
            (at, event) = ready;
            what = What::Ready;
        }
        let command = if what == What::Submit {
            Some(at)
        } else {
            let completed = match what {
                What::Ready => self.ready(event, at),
                What::FromDram => self.dram_ready(event, at),
                What::HandOnToHost => return self.hand_on_to_host(at),
                What::Complete => Some(at),
                other if READS => unreachable!("{other:?} is no step of a read"),
                _ => return self.handle_other(at, event),
            };
            completed.and_then(|at| self.complete(slot, at))
        };
        if let Some(at) = command {
            self.command(slot, at);
        }
    }

    /// What does not happen among reads alone.
    #[inline(never)]
    fn handle_other(&mut self, at: Ps, event: Event) {
        match event.what() {
            What::Arrive => self.arrive(event.id(), at),
            What::HandOnToDrive => self.hand_on_to_drive(at),
            What::Programmed => self.programmed(event.id(), at),
            What::Merged => self.merged(event.id(), event.stream(), at),
            What::Arbitrate => self.arbitrate(at),
            other => unreachable!("{other:?} is handled before"),
        }
    }

    /// Puts the next request into a slot whose last one was complete at `completed` and that is free
    /// from `at` on. Returns when its command reaches the drive, if no other can overtake it any more.
    #[inline(always)]
    fn submit(&mut self, slot: u32, completed: Ps, at: Ps) -> Option<Ps> {
        let (mapping, shift) = (&*self.mapping, self.geometry.unit_shift);
        let submitted = self.host.submit::<READS>(slot, at, |drawn| {
            // Their places in the map come from memory now, all at once, and not one by one when each
            // command is served.
            std::hint::black_box(mapping.touch(drawn.iter().map(|request| (request.offset.0 >> shift) as u32)));
        });
        let Some((started, at, waited)) = submitted else {
            self.outcome.retired(completed);
            return None;
        };
        self.outcome.idle(completed, started);
        // Commands that follow come from later completions, as long as none waited for its job to submit.
        if READS && !waited && self.events.none_before(Lane::Submit, at) {
            return Some(at);
        }
        self.events.add_in_order(Lane::Submit, at, Event::of(What::Submit, slot));
        None
    }

    /// A command reaches the drive.
    #[inline(always)]
    pub(crate) fn command(&mut self, slot: u32, at: Ps) {
        if !READS {
            self.host.begun(slot);
        }
        let s = &mut self.host.slots[slot as usize];
        s.arrived = at;
        match self.controller.command(at, s.job, slot) {
            Decode::Done(decoded) => self.decoded(slot, decoded),
            Decode::LookAt(at) => self.events.add(at, Event::of(What::Arbitrate, 0)),
            Decode::Waits => {}
        }
    }

    fn arbitrate(&mut self, at: Ps) {
        if let Some((slot, decoded, more)) = self.controller.arbitrate(at) {
            self.decoded(slot, decoded);
            if more {
                self.events.add(decoded, Event::of(What::Arbitrate, 0));
            }
        }
    }

    /// The command is understood at `at`: start on it.
    #[inline(always)]
    fn decoded(&mut self, slot: u32, at: Ps) {
        if READS {
            return self.read(slot, at);
        }
        let s = &mut self.host.slots[slot as usize];
        s.decoded = at;
        match s.direction {
            Direction::Read => self.read(slot, at),
            Direction::Write => {
                let arrived = self.link.fetch(s.job, at, s.length);
                match self.link.join_to_drive(slot, at) {
                    Joined::Alone => self.events.add_in_order(Lane::Link, arrived, Event::of(What::Arrive, slot)),
                    Joined::First(at) => self.events.add(at, Event::of(What::HandOnToDrive, 0)),
                    Joined::Waits => {}
                }
            }
            Direction::Trim => self.trim(slot, at),
        }
    }

    /// A request is complete for the host, and the next one takes its slot; returns what
    /// [`Engine::submit`] does.
    ///
    /// Reads whose time is known when they leave the link are completed there and then, ahead of time, if
    /// `at` never goes backwards then: [`Engine::completes_in_order`].
    #[inline(always)]
    pub(crate) fn complete(&mut self, slot: u32, at: Ps) -> Option<Ps> {
        let s = &self.host.slots[slot as usize];
        self.outcome.completed::<READS>(at, s);
        if READS || s.direction == Direction::Read {
            self.counters.host_read += u64::from(s.length);
        }
        if !READS {
            self.host.done(slot);
        }
        self.looks_in -= 1;
        if self.looks_in == 0 || at >= self.looks_from {
            self.look(at);
        }
        let free_at = self.host.free_at(at);
        self.submit(slot, at, free_at)
    }

    /// Looks at warm-up and goal at the completion at `at`.
    #[inline(never)]
    fn look(&mut self, at: Ps) {
        match self.warm_up {
            Some(WarmUp::Completions(_) | WarmUp::Settling) => self.begin_window(at),
            Some(_) => {
                self.begin_real(at);
                self.begin_window(at);
            }
            None => {}
        }
        if self.stop.is_none() {
            self.stop = self.reached(at);
            if self.stop.is_some() {
                self.end_window(at);
            }
            self.plan_look();
        }
    }

    /// When the goal may be reached at the earliest.
    fn plan_look(&mut self) {
        let bytes_of = |bytes: u64| bytes.saturating_sub(self.outcome.bytes_asked()).div_ceil(self.length_max);
        let (ios, from) = match self.goal {
            Goal::Written { time, .. } => (u64::MAX, self.real_since + time),
            Goal::Amount { bytes, limit } => {
                let from = |limit: Limit| self.outcome.started_at().saturating_add(limit.time);
                (bytes_of(bytes), limit.map_or(Ps::MAX, from))
            }
            Goal::Extents { bytes } => (bytes_of(bytes), Ps::MAX),
            Goal::Replay { .. } => (u64::MAX, Ps::MAX),
            Goal::Interval { time, .. } => (self.outcome.ios_to_batch_end(), self.outcome.started_at() + time),
        };
        let ios_max = if self.ends_by_itself() { u64::MAX } else { IOS_MAX };
        self.looks_in = ios.min(ios_max.saturating_sub(self.outcome.ios())).max(1);
        self.looks_from = from;
    }

    /// Whether writes only fill the buffer.
    #[inline]
    pub(crate) fn rehearses(&self) -> bool {
        self.warm_up.is_some_and(WarmUp::rehearses)
    }

    /// From now on writes are mapped, those of the job from its first one on.
    pub(crate) fn begin_real(&mut self, at: Ps) {
        self.host.begin_again();
        self.merger.forget();
        self.real_since = at;
        self.warm_up = Some(WarmUp::Settling);
    }

    pub(crate) fn begin_window(&mut self, at: Ps) {
        self.warm_up = None;
        self.outcome.start(at, self.host.slots.iter().map(|s| s.started));
        self.buffer.admitted = 0;
        self.plan_look();
    }

    fn end_window(&mut self, at: Ps) {
        self.outcome.end(at, self.host.slots.iter().map(|s| s.started));
    }

    /// Whether the goal is the end of a list, however long that is.
    fn ends_by_itself(&self) -> bool {
        matches!(self.goal, Goal::Replay { .. })
    }

    /// Whether the goal is reached at the completion at `now`.
    fn reached(&self, now: Ps) -> Option<Stop> {
        let ios = self.outcome.ios();
        let done = match self.goal {
            Goal::Written { time, admitted } => {
                now.saturating_sub(self.real_since) >= time && (self.buffer.admitted >= admitted || self.is_long(now))
            }
            Goal::Amount { bytes, limit } => {
                self.outcome.bytes_asked() >= bytes || limit.is_some_and(|limit| self.is_over(limit, now))
            }
            // Ends with its last program, see `all_written_at`, or its last request.
            Goal::Extents { .. } | Goal::Replay { .. } => false,
            Goal::Interval { time, .. } => (ios >= READS_MIN || self.is_long(now)) && self.outcome.elapsed(now) >= time,
        };
        if done || (ios >= IOS_MAX && !self.ends_by_itself()) {
            return Some(Stop::Goal);
        }
        match self.goal {
            Goal::Interval { share, .. } if self.outcome.at_batch_end() && ios >= READS_MIN => {
                let half_width = self.outcome.interval_share()?;
                (half_width <= share).then_some(Stop::Interval)
            }
            _ => None,
        }
    }

    /// Whether the time of a job is over at `now`, and enough done.
    fn is_over(&self, limit: Limit, now: Ps) -> bool {
        let enough =
            if limit.admitted > 0 { self.buffer.admitted >= limit.admitted } else { self.outcome.ios() >= READS_MIN };
        (enough || self.is_long(now)) && self.outcome.elapsed(now) >= limit.time
    }

    /// Whether the window is as long as any that is asked for: it does not wait for more to be done then.
    fn is_long(&self, now: Ps) -> bool {
        self.outcome.elapsed(now) >= ps(JOB_TIME_MAX)
    }

    fn progress(&self, now: Ps) -> Progress {
        let elapsed = self.outcome.elapsed(now);
        let share = match self.goal {
            Goal::Written { time, admitted } => {
                (elapsed as f64 / time.max(1) as f64).min(self.buffer.admitted as f64 / admitted.max(1) as f64)
            }
            Goal::Amount { bytes, .. } | Goal::Extents { bytes } | Goal::Replay { bytes } => {
                self.outcome.bytes_asked() as f64 / bytes.max(1) as f64
            }
            Goal::Interval { .. } => self.outcome.ios() as f64 / READS_MIN as f64,
        };
        let bytes = Bytes(self.outcome.bytes());
        Progress { share: Some(share.min(1.0)), bytes, rate: bytes.over(nanos(elapsed)), left: None }
    }
}
