//! Protected DRAM: writes are acknowledged from it while it has room, and wait when it is full.

use crate::time::{PerByte, Ps, ps};
use flashlab_spec::ModelParameters;
use std::collections::VecDeque;

/// Transfers larger than this are split into commands of it at most; the acknowledgement of the last
/// is what the host waits for. A usual MDTS of 128 KiB.
const SPLIT_BYTES: u64 = 128 << 10;

/// The buffer's room, the writes that wait for room, and the units that wait for a program.
#[derive(Debug, Clone)]
pub(crate) struct WriteBuffer {
    room: u64,
    used: u64,
    /// Slots whose write waits for room, oldest first.
    waiting: VecDeque<u32>,
    /// Logical units whose newest data is complete and waits for a program, oldest first, by stream.
    pending: Vec<VecDeque<u32>>,
    acknowledge_time: Ps,
    acknowledge: PerByte,
    merge_extra: Ps,
    /// Bytes admitted since the start of the job, in whole units.
    pub(crate) admitted: u64,
}

impl WriteBuffer {
    pub(crate) fn new(p: &ModelParameters) -> Self {
        WriteBuffer {
            room: p.write.buffer.value.0,
            used: 0,
            waiting: VecDeque::new(),
            pending: vec![VecDeque::new(); p.mapping.handles.value as usize],
            acknowledge_time: ps(p.write.acknowledge_time.value),
            acknowledge: PerByte::of(p.write.acknowledge_rate.value),
            merge_extra: ps(p.merge.acknowledge_extra.value),
            admitted: 0,
        }
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.room
    }

    /// Bytes held.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Whether writes wait for room.
    pub(crate) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a write of `bytes` (whole units), or lets it wait behind the others.
    #[inline]
    pub(crate) fn admit_or_wait(&mut self, slot: u32, bytes: u64) -> bool {
        if self.waiting.is_empty() && self.fits(bytes) {
            self.take(bytes);
            true
        } else {
            self.waiting.push_back(slot);
            false
        }
    }

    /// The oldest waiting write.
    #[inline]
    pub(crate) fn first_waiting(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// Takes the oldest waiting write of `bytes` (whole units), if it fits now.
    #[inline]
    pub(crate) fn admit_first(&mut self, bytes: u64) -> bool {
        let fits = self.fits(bytes);
        if fits {
            self.take(bytes);
            self.waiting.pop_front();
        }
        fits
    }

    /// A unit of `stream` is complete and waits for a program.
    #[inline]
    pub(crate) fn add_pending(&mut self, stream: u32, lpn: u32) {
        self.pending[stream as usize].push_back(lpn);
    }

    /// A stream that has `units` units for a program; the one that has most.
    #[inline]
    pub(crate) fn whole_program(&self, units: usize) -> Option<u32> {
        let stream = self.fullest();
        (self.pending[stream as usize].len() >= units).then_some(stream)
    }

    /// A stream that has any unit.
    pub(crate) fn any_pending(&self) -> Option<u32> {
        let stream = self.fullest();
        (!self.pending[stream as usize].is_empty()).then_some(stream)
    }

    #[inline]
    fn fullest(&self) -> u32 {
        if self.pending.len() == 1 {
            return 0;
        }
        let by_length = |i: &u32| self.pending[*i as usize].len();
        (0..self.pending.len() as u32).rev().max_by_key(by_length).unwrap_or(0)
    }

    /// Moves up to `units` units of `stream` into `program`.
    #[inline]
    pub(crate) fn take_program(&mut self, stream: u32, units: usize, program: &mut Vec<u32>) {
        let pending = &mut self.pending[stream as usize];
        program.clear();
        program.extend(pending.drain(..units.min(pending.len())));
    }

    /// Forgets units in `[first, end)` that wait for a program; returns how many.
    pub(crate) fn forget(&mut self, first: u32, end: u32) -> u64 {
        let count = |pending: &[VecDeque<u32>]| pending.iter().map(VecDeque::len).sum::<usize>();
        let before = count(&self.pending);
        self.pending.iter_mut().for_each(|p| p.retain(|lpn| !(first..end).contains(lpn)));
        (before - count(&self.pending)) as u64
    }

    /// Time from arrival in the buffer to the acknowledgement; `slack` is how much later the data came
    /// than the link could have brought it.
    #[inline]
    pub(crate) fn acknowledge(&self, bytes: u32, slack: Ps, merges: bool) -> Ps {
        let put_away = self.acknowledge.time(u64::from(bytes).min(SPLIT_BYTES)).saturating_sub(slack);
        self.acknowledge_time + put_away + if merges { self.merge_extra } else { 0 }
    }

    /// Gives back the room of programmed (or joined) data.
    #[inline]
    pub(crate) fn release(&mut self, bytes: u64) {
        assert!(bytes <= self.used, "released {bytes} of {} bytes", self.used);
        self.used -= bytes;
    }

    fn fits(&self, bytes: u64) -> bool {
        // A write larger than the whole buffer is let through an empty one.
        self.used + bytes <= self.room || self.used == 0
    }

    fn take(&mut self, bytes: u64) {
        self.used += bytes;
        self.admitted += bytes;
    }
}
