//! Dies, planes and channels: each knows when it is next free.
//!
//! A die has two timelines. Reads queue per plane and suspend a program or an erase rather than wait
//! for its end; programs and erases queue per die, and each suspension makes them that much longer.

use crate::event::Event;
use crate::time::{Divisor, PerByte, Ps, Server, ps};
use flashlab_spec::NandModel;
use std::collections::VecDeque;

/// Page types of a QLC word line; they differ in read time.
const PAGE_TYPES: usize = 4;

/// Where a unit lies: on which die, and how far into a program unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) die: u32,
    pub(crate) from: u32,
}

/// A read of a die.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DieRead {
    /// When the pages are in the die's register.
    pub(crate) done: Ps,
    /// How long the flash itself took.
    pub(crate) busy: Ps,
}

/// Programs and erases of one die.
#[derive(Debug, Clone, Copy, Default)]
struct Writes {
    /// Start of the programs that follow each other without a gap, and the end of the last.
    busy_from: Ps,
    busy_until: Ps,
    /// By how much suspensions have made programs longer so far.
    extended: Ps,
}

/// A channel and the parts that wait for it.
#[derive(Debug, Clone, Default)]
struct Channel {
    busy: bool,
    waiting: VecDeque<Event>,
}

/// The flash.
#[derive(Debug, Clone)]
pub(crate) struct Nand {
    /// Per plane, die by die.
    reads: Vec<Server>,
    writes: Vec<Writes>,
    /// Whether there was any program or erase yet.
    written: bool,
    channels: Vec<Channel>,
    dies: Divisor,
    dies_count: u32,
    /// Added to the number of a program before it is taken modulo the dies.
    turned: u32,
    planes: u32,
    channel_of: Vec<u16>,
    channel: PerByte,
    program_units: Divisor,
    unit_bytes: u32,
    stripe: Divisor,
    stripe_dies: u32,
    page_times: [Ps; PAGE_TYPES],
    page: Divisor,
    plane_bytes: Divisor,
    program_time: Ps,
    erase_time: Ps,
    suspend_time: Ps,
}

impl Nand {
    /// `erase_scale` is the capacity scale: erases come that much more often and take that much less.
    pub(crate) fn new(p: &NandModel, unit_bytes: u64, erase_scale: u64) -> Self {
        let read = ps(p.read_time.value);
        let spread = (read as f64 * p.read_time_spread.value) as u64;
        let third = spread / 3;
        let (dies, planes, channels) = (p.dies.value, p.planes.value, p.channels.value);
        let page_bytes = (p.program_unit.value.0 as u32 / PAGE_TYPES as u32).max(planes);
        Nand {
            reads: vec![Server::default(); (dies * planes) as usize],
            writes: vec![Writes::default(); dies as usize],
            written: false,
            channels: vec![Channel::default(); channels as usize],
            dies: Divisor::new(dies),
            dies_count: dies,
            turned: 0,
            planes,
            channel_of: (0..dies).map(|die| (die % channels) as u16).collect(),
            channel: PerByte::of(p.channel_rate.value),
            program_units: Divisor::new((p.program_unit.value.0 / unit_bytes) as u32),
            unit_bytes: unit_bytes as u32,
            stripe: Divisor::new(p.stripe_dies.value),
            stripe_dies: p.stripe_dies.value,
            page_times: [read - spread, read - third, read + third, read + spread],
            page: Divisor::new(page_bytes),
            plane_bytes: Divisor::new(page_bytes / planes),
            program_time: ps(p.program_time.value),
            erase_time: ps(p.erase_time.value) / erase_scale,
            suspend_time: ps(p.suspend_time.value),
        }
    }

    /// Where physical unit `ppn` lies. Programs go round over the dies; with stripes, the units of the
    /// programs of a stripe go round over its dies.
    #[inline]
    pub(crate) fn place(&self, ppn: u32) -> Place {
        let (program, position) = self.program_units.divide(ppn);
        if self.stripe_dies == 1 {
            return Place { die: self.die(program), from: position * self.unit_bytes };
        }
        let (stripe, in_stripe) = self.stripe.divide(program);
        let (depth, die) = self.stripe.divide(in_stripe * self.units_of_a_program() + position);
        Place { die: self.die(stripe * self.stripe_dies + die), from: depth * self.unit_bytes }
    }

    /// The channel that `die` is on.
    #[inline]
    pub(crate) fn channel_of(&self, die: u32) -> u32 {
        self.channel_of[die as usize].into()
    }

    /// Whether a unit and the next lie on one die and can be read as one.
    #[inline]
    pub(crate) fn neighbours(&self, ppn: u32) -> bool {
        self.stripe_dies == 1 && self.program_units.divide(ppn + 1).1 != 0
    }

    /// The die that programs physical units from `ppn` on.
    #[inline]
    pub(crate) fn die_of_program(&self, ppn: u32) -> u32 {
        self.die(self.program_units.divide(ppn).0)
    }

    #[inline]
    fn die(&self, program: u32) -> u32 {
        self.dies.divide(program + self.turned).1
    }

    /// Numbers the dies anew, in whole stripes, so that the program of unit `ppn` is on the die where
    /// program `program` was.
    pub(crate) fn renumber(&mut self, ppn: u32, program: u32) {
        let dies = self.dies_count;
        let from = self.dies.divide(self.program_units.divide(ppn).0).1;
        let turn = (program % dies + dies - from) % dies;
        self.turned = turn / self.stripe_dies * self.stripe_dies;
    }

    fn units_of_a_program(&self) -> u32 {
        self.program_units.divisor()
    }

    /// Reads `bytes` at `place`: each page type touched is one read of the planes it spans.
    #[inline(always)]
    pub(crate) fn read(&mut self, place: Place, at: Ps, bytes: u32) -> DieRead {
        let (first, in_page) = self.page.divide(place.from);
        let one_page = in_page + bytes <= self.page.divisor();
        let busy = if one_page {
            self.page_times[first as usize % PAGE_TYPES]
        } else {
            let (last, _) = self.page.divide(place.from + bytes - 1);
            (first..=last).map(|page| self.page_times[page as usize % PAGE_TYPES]).sum()
        };
        let begin = if self.written { self.suspended(place.die, at, busy) } else { at };
        let base = (place.die * self.planes) as usize;
        if self.planes == 1 {
            return DieRead { done: self.reads[base].serve(begin, busy), busy };
        }
        let planes = if one_page {
            let plane = self.plane_bytes.divide(in_page).0;
            plane..(self.plane_bytes.divide(in_page + bytes - 1).0 + 1).min(self.planes)
        } else {
            0..self.planes
        };
        let planes = &mut self.reads[base + planes.start as usize..base + planes.end as usize];
        let start = planes.iter().map(Server::free_at).max().unwrap_or(0).max(begin);
        planes.iter_mut().for_each(|plane| _ = plane.serve(start, busy));
        DieRead { done: start + busy, busy }
    }

    /// If a program or erase is under way on `die` at `at`, a read of `busy` suspends it: when the read
    /// can begin. A read that finds the die already reading does not suspend it again.
    #[inline]
    fn suspended(&mut self, die: u32, at: Ps, busy: Ps) -> Ps {
        let writes = &mut self.writes[die as usize];
        if at >= writes.busy_until || at < writes.busy_from {
            return at;
        }
        let reading = self.reads[(die * self.planes) as usize].free_at() > at;
        let around = if reading { 0 } else { self.suspend_time };
        writes.extended += busy + 2 * around;
        writes.busy_until += busy + 2 * around;
        at + around
    }

    /// Time of a program.
    pub(crate) fn program_time(&self) -> Ps {
        self.program_time
    }

    /// Mean time of a page read.
    pub(crate) fn page_time_mean(&self) -> Ps {
        self.page_times.iter().sum::<Ps>() / PAGE_TYPES as u64
    }

    /// The time that reading a unit for a merge takes, without waiting for the die or its channel.
    #[inline]
    pub(crate) fn merge_read_time(&self, place: Place) -> Ps {
        let page = self.page.divide(place.from).0 as usize % PAGE_TYPES;
        self.page_times[page] + self.channel.time(u64::from(self.unit_bytes))
    }

    /// A part is in its die's register. Returns when it will have crossed the channel, if that is free;
    /// else it waits, see [`Nand::next_transfer`].
    #[inline]
    pub(crate) fn transfer(&mut self, part: Event, at: Ps) -> Option<Ps> {
        let channel = &mut self.channels[part.channel() as usize];
        if channel.busy {
            channel.waiting.push_back(part);
            return None;
        }
        channel.busy = true;
        Some(at + self.channel.time(u64::from(part.bytes())))
    }

    /// Channel `channel` is free at `at`: the part that begins to cross it now, and when it is done.
    #[inline]
    pub(crate) fn next_transfer(&mut self, channel: u32, at: Ps) -> Option<(Event, Ps)> {
        let channel = &mut self.channels[channel as usize];
        let Some(part) = channel.waiting.pop_front() else {
            channel.busy = false;
            return None;
        };
        Some((part, at + self.channel.time(u64::from(part.bytes()))))
    }

    /// Begins a program on `die` not before `at`; `time` is `None` for all bits of a cell. Returns when
    /// it will be done, and the suspensions so far, to be asked for again then.
    #[inline]
    pub(crate) fn program(&mut self, die: u32, at: Ps, time: Option<Ps>) -> (Ps, Ps) {
        let done = self.write(die, at, time.unwrap_or(self.program_time));
        (done, self.writes[die as usize].extended)
    }

    /// By how much suspensions have made programs of `die` longer.
    #[inline]
    pub(crate) fn extended(&self, die: u32) -> Ps {
        self.writes[die as usize].extended
    }

    /// Reads of `pages` pages for garbage collection on `die`; they delay the die's other reads.
    #[inline]
    pub(crate) fn collect_read(&mut self, place: Place, at: Ps, bytes: u32) {
        self.read(place, at, bytes);
    }

    /// Erases a superblock: every die its share.
    pub(crate) fn erase(&mut self, at: Ps) {
        for die in 0..self.dies_count {
            self.write(die, at, self.erase_time);
        }
    }

    fn write(&mut self, die: u32, at: Ps, time: Ps) -> Ps {
        self.written = true;
        let writes = &mut self.writes[die as usize];
        if at > writes.busy_until {
            writes.busy_from = at;
            writes.busy_until = at;
        }
        writes.busy_until += time;
        writes.busy_until
    }
}
