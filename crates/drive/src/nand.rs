//! Dies and channels: each knows when it is next free.

use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::NandModel;

/// Page types of a QLC word line; they differ in read time.
const PAGE_TYPES: u64 = 4;

/// The flash.
#[derive(Debug, Clone)]
pub(crate) struct Nand {
    /// Reads of a die queue among themselves; they suspend a program rather than wait for it.
    reads: Vec<Server>,
    /// Programs and erases of a die, one after another.
    programs: Vec<Server>,
    channels: Vec<Server>,
    channel: PerByte,
    page_times: [Ps; PAGE_TYPES as usize],
    page_bytes: u64,
    program_time: Ps,
    erase_time: Ps,
}

impl Nand {
    /// `erase_scale` is the capacity scale: erases come that much more often and take that much less.
    pub(crate) fn new(p: &NandModel, erase_scale: u64) -> Self {
        let read = ps(p.read_time.value);
        let spread = (read as f64 * p.read_time_spread.value) as u64;
        let third = spread / 3;
        Nand {
            reads: vec![Server::default(); p.dies.value as usize],
            programs: vec![Server::default(); p.dies.value as usize],
            channels: vec![Server::default(); p.channels.value as usize],
            channel: PerByte::of(p.channel_rate.value),
            page_times: [read - spread, read - third, read + third, read + spread],
            page_bytes: (p.program_unit.value.0 / PAGE_TYPES).max(1),
            program_time: ps(p.program_time.value),
            erase_time: ps(p.erase_time.value) / erase_scale,
        }
    }

    /// Number of dies.
    pub(crate) fn dies(&self) -> u32 {
        self.reads.len() as u32
    }

    /// Reads bytes `[from, from + bytes)` of a program unit on `die`; returns when the pages are in
    /// the die's register. Each page type touched is one read, all planes at once.
    #[inline]
    pub(crate) fn read(&mut self, die: u32, at: Ps, from: u64, bytes: u64) -> Ps {
        let first = from / self.page_bytes;
        let last = (from + bytes - 1) / self.page_bytes;
        let time: Ps = (first..=last).map(|page| self.page_times[(page % PAGE_TYPES) as usize]).sum();
        self.reads[die as usize].serve(at, time)
    }

    /// The time that reading a unit for a merge takes, without waiting for the die or its channel.
    #[inline]
    pub(crate) fn merge_read_time(&self, from: u64, bytes: u64) -> Ps {
        self.page_times[(from / self.page_bytes % PAGE_TYPES) as usize] + self.channel.time(bytes)
    }

    /// Moves `bytes` from `die` over its channel; returns when the last is in the controller.
    #[inline]
    pub(crate) fn transfer(&mut self, die: u32, at: Ps, bytes: u64) -> Ps {
        let channel = die as usize % self.channels.len();
        self.channels[channel].serve(at, self.channel.time(bytes))
    }

    /// Programs one unit on `die`; returns when it is done.
    #[inline]
    pub(crate) fn program(&mut self, die: u32, at: Ps) -> Ps {
        self.programs[die as usize].serve(at, self.program_time)
    }

    /// A page read for garbage collection on `die`; it delays the die's reads.
    #[inline]
    pub(crate) fn collect_read(&mut self, die: u32, at: Ps) {
        self.reads[die as usize].serve(at, self.page_times[1]);
    }

    /// Erases a superblock: every die its share.
    pub(crate) fn erase(&mut self, at: Ps) {
        for die in &mut self.programs {
            die.serve(at, self.erase_time);
        }
    }
}
