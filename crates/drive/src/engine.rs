//! One job in virtual time: the loop that takes the next event and moves its request one box on.

use crate::controller::Controller;
use crate::event::{Event, EventQueue};
use crate::host::Host;
use crate::mapping::{Collected, Mapping, UNMAPPED};
use crate::merge::{Merger, Partial};
use crate::nand::Nand;
use crate::outcome::Outcome;
use crate::read_ahead::ReadAhead;
use crate::scale::Geometry;
use crate::time::{Ps, Server, nanos, ps};
use crate::write_buffer::WriteBuffer;
use flashlab_spec::{HostProfile, Job, ModelParameters};
use flashlab_target::{Observer, Progress};
use flashlab_units::Bytes;
use flashlab_workload::Direction;

/// Events between two looks at the observer.
const EVENTS_PER_LOOK: u64 = 1 << 16;
/// No job simulates more I/Os than this: at a million a second and more it bounds a point to some
/// tens of seconds, whatever was asked for.
const IOS_MAX: u64 = 1 << 24;
/// Reads before an interval may end a job: 20 samples lie beyond p99.95.
const READS_MIN: u64 = 40_000;
/// A job that writes a little faster than the flash fills the buffer slowly. It is measured once the
/// buffer is full, but not later than after so many buffers.
const BUFFERS_WARM_UP_MAX: u64 = 32;
/// Completions dropped before a read job is measured, in multiples of the outstanding I/Os.
const WARM_UP_ROUNDS: u64 = 4;

/// Bytes counted since the last purge, at the scaled size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) host_read: u64,
    pub(crate) host_written: u64,
    pub(crate) media_written: u64,
}

/// When a job ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// After this much virtual time and at least this many bytes admitted by the buffer.
    Written { time: Ps, admitted: u64 },
    /// After this many bytes moved in the measured window.
    Amount { bytes: u64 },
    /// When every job has moved its extents; all of it is measured.
    Extents { bytes: u64 },
    /// When the interval of the mean is within this share, at the latest after this much time.
    Interval { share: f64, time: Ps },
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Goal,
    Interval,
    Observer,
}

/// A job being run against the drive's state.
pub(crate) struct Engine<'a> {
    geometry: Geometry,
    mapping: &'a mut Mapping,
    counters: &'a mut Counters,
    events: EventQueue,
    host: Host,
    controller: Controller,
    buffer: WriteBuffer,
    merger: Merger,
    read_ahead: ReadAhead,
    nand: Nand,
    read_overhead: Ps,
    programs_in_flight: u32,
    programs_max: u32,
    /// Starts of programs are spread evenly, as peak-power management does: no faster than the
    /// ceiling on programs in flight can sustain.
    program_starts: Server,
    program_spacing: Ps,
    /// Programs that garbage collection owes, by their first physical unit.
    collect_programs: std::collections::VecDeque<u32>,
    /// Reused for each program, so that none allocates.
    scratch: Vec<u32>,
    collected: Collected,
    pub(crate) outcome: Outcome,
    warm_up: Option<WarmUp>,
}

/// What still has to pass before the measured window begins.
#[derive(Debug, Clone, Copy)]
enum WarmUp {
    /// So many completions of reads.
    Completions(u64),
    /// The first buffer, which goes into empty DRAM at the speed of the link.
    FirstBuffer,
    /// The second, while the first programs are still on their way; the buffer held so much before.
    SecondBuffer { used: u64 },
    /// What it takes until the buffer is full.
    Filling,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        parameters: &ModelParameters,
        host: &HostProfile,
        geometry: Geometry,
        mapping: &'a mut Mapping,
        counters: &'a mut Counters,
        job: &Job,
    ) -> Self {
        let buffer = WriteBuffer::new(parameters);
        let programs_max = parameters.write.programs_in_flight.value.min(parameters.nand.dies.value);
        let warm_up = if job.rw.writes() {
            WarmUp::FirstBuffer
        } else {
            WarmUp::Completions((job.outstanding() * WARM_UP_ROUNDS).max(256))
        };
        Engine {
            geometry,
            mapping,
            counters,
            events: EventQueue::default(),
            host: Host::new(host, job),
            controller: Controller::new(parameters, host),
            merger: Merger::new(&parameters.merge),
            read_ahead: ReadAhead::new(&parameters.read_ahead),
            nand: Nand::new(&parameters.nand, geometry.factor),
            read_overhead: ps(parameters.controller.read_overhead.value),
            programs_in_flight: 0,
            programs_max,
            program_starts: Server::default(),
            program_spacing: ps(parameters.nand.program_time.value) / u64::from(programs_max),
            collect_programs: std::collections::VecDeque::new(),
            scratch: Vec::with_capacity(geometry.program_units as usize),
            collected: Collected::default(),
            outcome: Outcome::new(job.numjobs, job.outstanding()),
            warm_up: Some(warm_up),
            buffer,
        }
    }

    /// Runs until the goal or a stop. What the buffer still holds is then flushed.
    pub(crate) fn run(&mut self, goal: Goal, observer: &mut dyn Observer) -> Stop {
        if matches!(goal, Goal::Extents { .. }) {
            self.begin_window(0);
        }
        for slot in 0..self.host.slots.len() as u32 {
            let at = self.host.submit(slot, 0);
            self.submit_at(slot, at);
        }
        let mut handled = 0u64;
        let mut now = 0;
        let stop = loop {
            let Some((at, event)) = self.events.next() else { unreachable!("a closed loop always has an event") };
            assert!(at >= now, "time does not run backwards");
            now = at;
            self.handle(at, event);
            handled += 1;
            if matches!(event, Event::Complete { .. })
                && let Some(stop) = self.reached(goal, now)
            {
                break stop;
            }
            if handled.is_multiple_of(EVENTS_PER_LOOK) {
                if observer.stop_requested() {
                    break Stop::Observer;
                }
                observer.progress(&self.progress(goal, now));
            }
        };
        self.outcome.end(now);
        self.drain();
        stop
    }

    #[inline]
    fn handle(&mut self, at: Ps, event: Event) {
        match event {
            Event::Submit { slot } => {
                self.outcome.submitted(at, self.host.slots[slot as usize].stamp);
                self.command(slot, at);
            }
            Event::Arrive { slot } => self.arrive(slot, at),
            Event::DieDone { slot, die, bytes } => {
                let in_controller = self.nand.transfer(die, at, u64::from(bytes));
                self.events.add(in_controller, Event::Ready { slot, bytes });
            }
            Event::Ready { slot, bytes } => self.deliver(slot, bytes, at),
            Event::Complete { slot } => self.complete(slot, at),
            Event::Programmed { host_units } => {
                self.programs_in_flight -= 1;
                self.buffer.release(u64::from(host_units) * self.geometry.unit_bytes);
                self.admit_waiting(at);
                self.flush(at);
            }
            Event::Merged { lpn } => {
                self.merger.done(lpn);
                self.buffer.pending.push_back(lpn);
                self.merge(at);
                self.flush(at);
            }
        }
    }

    /// A command reaches the drive: decode it and start on it.
    fn command(&mut self, slot: u32, at: Ps) {
        let request = self.host.slots[slot as usize].request;
        let decoded = self.controller.command(at);
        let length = u64::from(request.length);
        match request.direction {
            Direction::Write => {
                let arrived = self.controller.fetch(decoded, length);
                self.events.add(arrived, Event::Arrive { slot });
            }
            Direction::Read if self.read_ahead.continues(request.offset.0, length) => {
                let ready = self.read_ahead.serve(decoded, length);
                self.one_part(slot, 0);
                self.events.add(ready, Event::Ready { slot, bytes: request.length });
            }
            Direction::Read => self.mapped_read(slot, decoded, request.offset.0, length),
            Direction::Trim => unreachable!("jobs with trims are refused"),
        }
    }

    /// Splits a read into runs of units that lie together in one program, a die read each.
    fn mapped_read(&mut self, slot: u32, at: Ps, offset: u64, length: u64) {
        let unit = self.geometry.unit_bytes;
        let end = offset + length;
        let (mut lpn, last) = (offset / unit, (end - 1) / unit);
        let mut parts = 0;
        while lpn <= last {
            let ppn = self.mapping.lookup(lpn as u32);
            let first = lpn;
            lpn += 1;
            if ppn == UNMAPPED {
                continue;
            }
            let in_program = |p: u32| p / self.geometry.program_units;
            while lpn <= last {
                let next = self.mapping.lookup(lpn as u32);
                if next == UNMAPPED || next != ppn + (lpn - first) as u32 || in_program(next) != in_program(ppn) {
                    break;
                }
                lpn += 1;
            }
            let from = offset.max(first * unit) - first * unit;
            let bytes = end.min(lpn * unit) - offset.max(first * unit);
            let in_unit = u64::from(ppn % self.geometry.program_units) * unit + from;
            let die = self.die_of(ppn);
            let done = self.nand.read(die, at, in_unit, bytes);
            self.events.add(done, Event::DieDone { slot, die, bytes: bytes as u32 });
            parts += 1;
        }
        if parts == 0 {
            // Nothing mapped: zeros straight from the controller.
            self.one_part(slot, 0);
            self.events.add(at, Event::Ready { slot, bytes: length as u32 });
        } else {
            let s = &mut self.host.slots[slot as usize];
            (s.parts_left, s.overhead) = (parts, self.read_overhead);
        }
    }

    fn one_part(&mut self, slot: u32, overhead: Ps) {
        let s = &mut self.host.slots[slot as usize];
        (s.parts_left, s.overhead) = (1, overhead);
    }

    /// A part of a read crosses the link; the last one completes the request. The link is reached in
    /// the order of time, so that no request waits for one that comes later.
    fn deliver(&mut self, slot: u32, bytes: u32, at: Ps) {
        let at_host = self.controller.deliver(at, u64::from(bytes));
        let s = &mut self.host.slots[slot as usize];
        s.parts_left -= 1;
        if s.parts_left == 0 {
            self.events.add(at_host + s.overhead, Event::Complete { slot });
        }
    }

    /// A write's data is in the drive: into the buffer, or wait for room.
    fn arrive(&mut self, slot: u32, at: Ps) {
        let bytes = self.room_for(slot);
        if self.buffer.admit_or_wait(slot, bytes) {
            self.admitted(slot, at);
            self.merge(at);
            self.flush(at);
        }
    }

    fn admit_waiting(&mut self, at: Ps) {
        loop {
            let (host, unit) = (&self.host, self.geometry.unit_bytes);
            let room = |slot: u32| {
                let request = host.slots[slot as usize].request;
                units_touched(request.offset.0, request.length, unit) * unit
            };
            let Some(slot) = self.buffer.admit_next(room) else { break };
            self.admitted(slot, at);
        }
        self.merge(at);
    }

    /// A write has room: acknowledge it, and queue its units for merge or flush.
    fn admitted(&mut self, slot: u32, at: Ps) {
        let request = self.host.slots[slot as usize].request;
        let unit = self.geometry.unit_bytes;
        let (offset, end) = (request.offset.0, request.offset.0 + u64::from(request.length));
        let mut merges = false;
        for lpn in offset / unit..=(end - 1) / unit {
            let fresh = end.min((lpn + 1) * unit) - offset.max(lpn * unit);
            if fresh == unit {
                self.buffer.pending.push_back(lpn as u32);
            } else {
                merges = true;
                if self.merger.add(lpn as u32, fresh) == Partial::Joined {
                    self.buffer.release(unit);
                }
            }
        }
        let length = u64::from(request.length);
        let apart = merges && !self.merger.continues(offset, length);
        let acknowledged = at + self.buffer.acknowledge(length, self.controller.slack(length), apart);
        self.events.add(acknowledged, Event::Complete { slot });
        self.warm_up_writes(at);
    }

    fn warm_up_writes(&mut self, at: Ps) {
        let (room, admitted) = (self.buffer.size(), self.buffer.admitted);
        match self.warm_up {
            Some(WarmUp::FirstBuffer) if admitted >= room => {
                self.warm_up = Some(WarmUp::SecondBuffer { used: self.buffer.used() });
            }
            Some(WarmUp::SecondBuffer { used }) if admitted >= 2 * room => {
                let gained = self.buffer.used().saturating_sub(used);
                if self.buffer.is_full() || gained * BUFFERS_WARM_UP_MAX < room {
                    self.begin_window(at);
                } else {
                    self.warm_up = Some(WarmUp::Filling);
                }
            }
            Some(WarmUp::Filling) if self.buffer.is_full() || admitted >= BUFFERS_WARM_UP_MAX * room => {
                self.begin_window(at);
            }
            _ => {}
        }
    }

    /// Starts as many read-modify-writes as there are contexts.
    fn merge(&mut self, at: Ps) {
        while let Some((lpn, whole)) = self.merger.start(self.geometry.unit_bytes) {
            let ppn = self.mapping.lookup(lpn);
            let read = if whole || ppn == UNMAPPED {
                0
            } else {
                let from = u64::from(ppn % self.geometry.program_units) * self.geometry.unit_bytes;
                self.nand.merge_read_time(from, self.geometry.unit_bytes)
            };
            self.events.add(at + read + self.merger.overhead, Event::Merged { lpn });
        }
    }

    /// Starts programs while the power or controller ceiling allows: what collection owes first, so
    /// that free space stays level, then whole programs of host data.
    fn flush(&mut self, at: Ps) {
        let units = self.geometry.program_units as usize;
        while self.programs_in_flight < self.programs_max {
            if let Some(ppn) = self.collect_programs.pop_front() {
                self.program(ppn, at, 0);
            } else if self.buffer.pending.len() >= units {
                self.program_host(units, at);
            } else {
                break;
            }
        }
    }

    fn program_host(&mut self, units: usize, at: Ps) {
        let mut lpns = std::mem::take(&mut self.scratch);
        lpns.clear();
        lpns.extend(self.buffer.pending.drain(..units));
        let mut collected = std::mem::take(&mut self.collected);
        let ppn = self.mapping.write_program(&lpns, &mut collected);
        self.scratch = lpns;
        for read in &collected.read {
            let die = self.die_of(*read);
            self.nand.collect_read(die, at);
        }
        for _ in 0..collected.erased {
            self.nand.erase(at);
        }
        self.collect_programs.extend(collected.programs.drain(..));
        collected.read.clear();
        collected.erased = 0;
        self.collected = collected;
        self.program(ppn, at, units as u32);
    }

    fn program(&mut self, ppn: u32, at: Ps, host_units: u32) {
        self.programs_in_flight += 1;
        self.counters.media_written += u64::from(self.geometry.program_units) * self.geometry.unit_bytes;
        let start = self.program_starts.serve(at, self.program_spacing) - self.program_spacing;
        let done = self.nand.program(self.die_of(ppn), start);
        self.events.add(done, Event::Programmed { host_units });
    }

    fn complete(&mut self, slot: u32, at: Ps) {
        let s = self.host.slots[slot as usize];
        self.outcome.completed(at, s.stamp, s.request.length, s.request.direction, s.job);
        match s.request.direction {
            Direction::Read => self.counters.host_read += u64::from(s.request.length),
            Direction::Write => self.counters.host_written += u64::from(s.request.length),
            Direction::Trim => unreachable!("jobs with trims are refused"),
        }
        match self.warm_up {
            Some(WarmUp::Completions(1)) => self.begin_window(at),
            Some(WarmUp::Completions(n)) => self.warm_up = Some(WarmUp::Completions(n - 1)),
            _ => {}
        }
        let next = self.host.resubmit(slot, at);
        self.submit_at(slot, next);
    }

    fn submit_at(&mut self, slot: u32, at: Option<Ps>) {
        if let Some(at) = at {
            self.events.add(at, Event::Submit { slot });
        }
    }

    fn begin_window(&mut self, at: Ps) {
        self.warm_up = None;
        self.outcome.start(at);
        self.buffer.admitted = 0;
    }

    fn reached(&self, goal: Goal, now: Ps) -> Option<Stop> {
        if !self.outcome.is_measuring() {
            return None;
        }
        let elapsed = self.outcome.elapsed(now);
        let done = match goal {
            Goal::Written { time, admitted } => elapsed >= time && self.buffer.admitted >= admitted,
            Goal::Amount { bytes } | Goal::Extents { bytes } => self.outcome.bytes() >= bytes,
            Goal::Interval { time, .. } => elapsed >= time && self.outcome.ios() >= READS_MIN,
        };
        if done || self.outcome.ios() >= IOS_MAX {
            return Some(Stop::Goal);
        }
        let Goal::Interval { share, .. } = goal else { return None };
        let narrow = self.outcome.ios() >= READS_MIN
            && self.outcome.at_batch_end()
            && self.outcome.interval_share().is_some_and(|half_width| half_width <= share);
        narrow.then_some(Stop::Interval)
    }

    fn progress(&self, goal: Goal, now: Ps) -> Progress {
        let elapsed = self.outcome.elapsed(now);
        let share = match goal {
            Goal::Written { time, admitted } => {
                (elapsed as f64 / time.max(1) as f64).min(self.buffer.admitted as f64 / admitted.max(1) as f64)
            }
            Goal::Amount { bytes } | Goal::Extents { bytes } => self.outcome.bytes() as f64 / bytes.max(1) as f64,
            Goal::Interval { .. } => self.outcome.ios() as f64 / READS_MIN as f64,
        };
        let bytes = Bytes(self.outcome.bytes());
        Progress { share: Some(share.min(1.0)), bytes, rate: bytes.over(nanos(elapsed)), left: None }
    }

    /// Flushes what the buffer holds, padding the last program, so that every acknowledged byte is
    /// mapped when the job is over.
    fn drain(&mut self) {
        let mut left: Vec<u32> = self.buffer.pending.drain(..).collect();
        left.extend(self.merger.drain());
        while let Some((_, event)) = self.events.next() {
            if let Event::Merged { lpn } = event {
                left.push(lpn);
            }
        }
        for lpns in left.chunks(self.geometry.program_units as usize) {
            let mut collected = Collected::default();
            self.mapping.write_program(lpns, &mut collected);
            self.collect_programs.extend(collected.programs);
            self.collect_programs.push_back(0);
        }
        let programs = self.collect_programs.drain(..).count() as u64;
        self.counters.media_written += programs * u64::from(self.geometry.program_units) * self.geometry.unit_bytes;
    }

    #[inline]
    fn die_of(&self, ppn: u32) -> u32 {
        ppn / self.geometry.program_units % self.nand.dies()
    }

    /// Room a write takes in the buffer: the units it touches, whole.
    fn room_for(&self, slot: u32) -> u64 {
        let request = self.host.slots[slot as usize].request;
        units_touched(request.offset.0, request.length, self.geometry.unit_bytes) * self.geometry.unit_bytes
    }
}

/// Units that `[offset, offset + length)` touches.
fn units_touched(offset: u64, length: u32, unit: u64) -> u64 {
    (offset + u64::from(length) - 1) / unit - offset / unit + 1
}
