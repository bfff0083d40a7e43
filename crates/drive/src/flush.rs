//! From the buffer to flash: programs in flight, and the pace at which they start.

use crate::engine::{Engine, WarmUp};
use crate::event::{Event, Lane, What};
use crate::ftl::{Collected, UNMAPPED};
use crate::scale::Geometry;
use crate::time::{Ps, Server, ps};
use crate::write_path::REHEARSED;
use flashlab_spec::ModelParameters;
use std::collections::VecDeque;

/// A program under way.
#[derive(Debug, Clone, Copy)]
struct Program {
    die: u32,
    /// Units of the write buffer that it frees.
    host_units: u32,
    /// Suspensions of its die that its end already counts.
    extended: Ps,
}

/// Flash written with one bit a cell.
#[derive(Debug, Clone, Copy)]
struct Pslc {
    size: u64,
    program_time: Ps,
    spacing: Ps,
}

/// Starts programs.
#[derive(Debug)]
pub(crate) struct Flusher {
    in_flight: u32,
    /// Those of them that make room in the buffer.
    releasing: u32,
    in_flight_max: u32,
    /// Starts of programs are spread evenly, as peak-power management does: no faster than the
    /// ceiling on programs in flight can sustain.
    starts: Server,
    spacing: Ps,
    programs: Vec<Program>,
    unused: Vec<u32>,
    /// Programs that garbage collection owes, by their first physical unit.
    owed: VecDeque<u32>,
    pslc: Option<Pslc>,
    /// Reused for each program, so that none allocates.
    units: Vec<u32>,
    collected: Collected,
    /// Programs of the warm-up, which go round over the dies like others.
    rehearsed: u32,
}

impl Flusher {
    pub(crate) fn new(p: &ModelParameters, geometry: &Geometry) -> Self {
        let in_flight_max = p.write.programs_in_flight.value.min(p.nand.dies.value);
        let spacing = |time: Ps| time / u64::from(in_flight_max);
        let pslc = p.pslc.as_ref().map(|pslc| {
            let program_time = ps(pslc.program_time.value);
            Pslc { size: pslc.size.value.0 / geometry.factor, program_time, spacing: spacing(program_time) }
        });
        Flusher {
            in_flight: 0,
            releasing: 0,
            in_flight_max,
            starts: Server::default(),
            spacing: spacing(ps(p.nand.program_time.value)),
            programs: Vec::new(),
            unused: Vec::new(),
            owed: VecDeque::new(),
            pslc,
            units: Vec::with_capacity(geometry.program_units as usize),
            collected: Collected::default(),
            rehearsed: 0,
        }
    }
}

impl<const READS: bool> Engine<'_, READS> {
    /// Starts programs while the power or controller ceiling allows: what collection owes first, so
    /// that free space stays level, then whole programs of host data, then folding.
    ///
    /// Less than a program is padded only where writes wait for room and nothing under way will make any:
    /// with many streams or large writes a small buffer can be full of such rests.
    pub(crate) fn flush(&mut self, at: Ps) {
        let units = self.geometry.program_units as usize;
        while self.flusher.in_flight < self.flusher.in_flight_max {
            if let Some(ppn) = self.flusher.owed.pop_front() {
                self.counters.media_written += self.geometry.program_bytes();
                self.program(ppn, at, 0, None);
            } else if let Some(stream) = self.buffer.whole_program(units) {
                self.program_host(stream, units, at);
            } else if self.flusher.releasing == 0
                && self.buffer.is_full()
                && self.merger.is_idle()
                && let Some(stream) = self.buffer.any_pending()
            {
                self.program_host(stream, units, at);
            } else if !self.fold(at) {
                break;
            }
        }
    }

    fn program_host(&mut self, stream: u32, units: usize, at: Ps) {
        self.buffer.take_program(stream, units, &mut self.flusher.units);
        let taken = self.flusher.units.len() as u32;
        self.flusher.units.retain(|lpn| *lpn != UNMAPPED);
        if self.flusher.units.is_empty() {
            // Written only to fill the buffer: as long as a program, but nothing is mapped.
            self.flusher.rehearsed = self.flusher.rehearsed.wrapping_add(1);
            self.program(self.flusher.rehearsed * units as u32, at, taken, None);
            return;
        }
        let settled = matches!(self.warm_up, Some(WarmUp::Settling));
        if settled {
            self.begin_window(at);
        }
        self.counters.media_written += self.geometry.program_bytes();
        let mut collected = std::mem::take(&mut self.flusher.collected);
        collected.clear();
        let ppn = self.mapping.write_program(stream, &self.flusher.units, &mut collected);
        if settled {
            // Dies are numbered so that the first program goes on where those of the warm-up ended, as
            // they would have had they all been one sequence.
            self.nand.renumber(ppn, self.flusher.rehearsed + 1);
        }
        for (first, units) in &collected.reads {
            let bytes = units * self.geometry.unit_bytes as u32;
            self.nand.collect_read(self.nand.place(*first), at, bytes);
        }
        for _ in 0..collected.erased {
            self.nand.erase(at);
        }
        self.flusher.owed.extend(collected.programs.drain(..));
        self.flusher.collected = collected;
        let room = |pslc: &Pslc| self.counters.pslc_used + self.geometry.program_bytes() <= pslc.size;
        let pslc = self.flusher.pslc.filter(room);
        if pslc.is_some() {
            self.counters.pslc_used += self.geometry.program_bytes();
        }
        self.program(ppn, at, taken, pslc);
    }

    /// Moves a program's worth out of the one-bit flash, while nothing else is to be done.
    fn fold(&mut self, at: Ps) -> bool {
        let bytes = self.geometry.program_bytes();
        if self.flusher.pslc.is_none() || self.counters.pslc_used < bytes {
            return false;
        }
        self.counters.pslc_used -= bytes;
        self.counters.media_written += bytes;
        // Where it goes to was settled when it was written: any die will do for the time it takes.
        self.program((self.counters.pslc_used / self.geometry.unit_bytes) as u32, at, 0, None);
        true
    }

    fn program(&mut self, ppn: u32, at: Ps, host_units: u32, pslc: Option<Pslc>) {
        self.flusher.in_flight += 1;
        self.flusher.releasing += u32::from(host_units > 0);
        let (spacing, time) = pslc.map_or((self.flusher.spacing, None), |p| (p.spacing, Some(p.program_time)));
        let start = self.flusher.starts.serve(at, spacing) - spacing;
        let die = self.nand.die_of_program(ppn);
        let (done, extended) = self.nand.program(die, start, time);
        let program = Program { die, host_units, extended };
        let id = if let Some(id) = self.flusher.unused.pop() {
            self.flusher.programs[id as usize] = program;
            id
        } else {
            self.flusher.programs.push(program);
            self.flusher.programs.len() as u32 - 1
        };
        self.events.add_in_order(Lane::Programmed, done, Event::of(What::Programmed, id));
    }

    /// A program should be done by now; reads that suspended it meanwhile have put its end off.
    pub(crate) fn programmed(&mut self, id: u32, at: Ps) {
        let Program { die, host_units, extended } = self.flusher.programs[id as usize];
        let now = self.nand.extended(die);
        if now > extended {
            self.flusher.programs[id as usize].extended = now;
            self.events.add(at + now - extended, Event::of(What::Programmed, id));
            return;
        }
        self.flusher.unused.push(id);
        self.flusher.in_flight -= 1;
        self.flusher.releasing -= u32::from(host_units > 0);
        self.buffer.release(u64::from(host_units) * self.geometry.unit_bytes);
        self.admit_waiting(at);
        self.flush(at);
    }

    /// Flushes what the buffer holds, padding the last program, so that every acknowledged byte is
    /// mapped when the job is over. Counted in programs, not in time: the job has ended.
    pub(crate) fn drain(&mut self) {
        let mut left: Vec<(u32, u16)> = self.merger.drain().collect();
        while let Some((_, event)) = self.events.next::<READS>() {
            if event.what() == What::Merged && self.merger.done(event.id()) {
                left.push((event.id(), event.stream()));
            }
        }
        for (lpn, stream) in left.into_iter().filter(|(_, stream)| stream & REHEARSED == 0) {
            self.buffer.add_pending(u32::from(stream), lpn);
        }
        let mut programs = self.flusher.owed.drain(..).count();
        let mut collected = Collected::default();
        let mut units = Vec::new();
        while let Some(stream) = self.buffer.any_pending() {
            self.buffer.take_program(stream, self.geometry.program_units as usize, &mut units);
            units.retain(|lpn| *lpn != UNMAPPED);
            collected.clear();
            if !units.is_empty() {
                self.mapping.write_program(stream, &units, &mut collected);
            }
            programs += usize::from(!units.is_empty()) + collected.programs.len();
        }
        self.counters.media_written += programs as u64 * self.geometry.program_bytes();
    }
}
