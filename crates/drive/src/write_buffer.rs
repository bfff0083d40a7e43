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
    /// Logical units whose newest data is complete and waits for a program, oldest first.
    pub(crate) pending: VecDeque<u32>,
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
            pending: VecDeque::new(),
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

    /// The oldest waiting write, if it fits now; `bytes_of` tells its size in whole units.
    #[inline]
    pub(crate) fn admit_next(&mut self, bytes_of: impl Fn(u32) -> u64) -> Option<u32> {
        let slot = *self.waiting.front()?;
        let bytes = bytes_of(slot);
        if !self.fits(bytes) {
            return None;
        }
        self.take(bytes);
        self.waiting.pop_front()
    }

    /// Time from arrival in the buffer to the acknowledgement; `slack` is how much later the data came
    /// than the link could have brought it.
    #[inline]
    pub(crate) fn acknowledge(&self, bytes: u64, slack: Ps, merges: bool) -> Ps {
        let put_away = self.acknowledge.time(bytes.min(SPLIT_BYTES)).saturating_sub(slack);
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
