//! Writes: acknowledged from the buffer, merged where they are smaller than a unit, then flushed.

use crate::engine::{Engine, WarmUp};
use crate::event::{Event, Lane, What};
use crate::ftl::UNMAPPED;
use crate::host::Class;
use crate::merge::Partial;
use crate::time::Ps;

/// A job that writes a little faster than the flash fills the buffer slowly. It is measured once the
/// buffer is full, but not later than after so many buffers.
const BUFFERS_WARM_UP_MAX: u64 = 32;

/// Marks the stream of a unit that was only written to fill the buffer, see [`Engine::rehearses`].
pub(crate) const REHEARSED: u16 = 1 << 15;

impl<const READS: bool> Engine<'_, READS> {
    /// A write's data is in the drive: into the buffer, or wait for room.
    #[inline]
    pub(crate) fn arrive(&mut self, slot: u32, at: Ps) {
        self.host.slots[slot as usize].flash_done = at;
        let bytes = self.room_for(slot);
        if self.buffer.admit_or_wait(slot, bytes) {
            self.admitted(slot, at);
            self.merge(at);
        }
        self.flush(at);
    }

    /// The path to the drive may hand on the writes that it carried.
    pub(crate) fn hand_on_to_drive(&mut self, at: Ps) {
        let mut slots = std::mem::take(&mut self.batch);
        if let Some(at) = self.link.hand_on_to_drive(at, &mut slots) {
            self.events.add(at, Event::of(What::HandOnToDrive, 0));
        }
        slots.iter().for_each(|(slot, _)| self.arrive(*slot, at));
        self.batch = slots;
    }

    pub(crate) fn admit_waiting(&mut self, at: Ps) {
        while let Some(slot) = self.buffer.first_waiting() {
            if !self.buffer.admit_first(self.room_for(slot)) {
                break;
            }
            self.admitted(slot, at);
        }
        self.merge(at);
    }

    /// A write has room: acknowledge it, and queue its units for merge or flush.
    fn admitted(&mut self, slot: u32, at: Ps) {
        let s = &self.host.slots[slot as usize];
        let (unit, shift) = (self.geometry.unit_bytes, self.geometry.unit_shift);
        let (offset, end, length, stream) =
            (s.offset, s.offset + u64::from(s.length), s.length, self.host.placement(s.job));
        let mut merges = false;
        let rehearses = self.rehearses();
        let mark = if rehearses { REHEARSED } else { 0 };
        for lpn in offset >> shift..=(end - 1) >> shift {
            let fresh = end.min((lpn + 1) * unit) - offset.max(lpn * unit);
            if fresh == unit {
                self.buffer.add_pending(stream, if rehearses { UNMAPPED } else { lpn as u32 });
            } else {
                merges = true;
                if self.merger.add(lpn as u32, fresh, stream as u16 | mark) == Partial::Joined {
                    self.buffer.release(unit);
                }
            }
        }
        if !rehearses {
            self.counters.host_written += u64::from(length);
        }
        let apart = merges && !self.merger.continues(offset, u64::from(length));
        let acknowledged = at + self.buffer.acknowledge(length, self.link.slack(length), apart);
        let s = &mut self.host.slots[slot as usize];
        s.class = if merges { Class::MergedWrite } else { Class::Write };
        let stages = || {
            [
                s.arrived - s.stamp,
                s.decoded - s.arrived,
                s.flash_done - s.decoded,
                at - s.flash_done,
                acknowledged - at,
                0,
                0,
                0,
                0,
            ]
        };
        self.outcome.went(s.class, stages);
        self.events.add_in_order(Lane::Complete, acknowledged, Event::of(What::Complete, slot));
        if self.warm_up.is_some() {
            self.warm_up_writes(at);
        }
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
                    self.begin_real(at);
                } else {
                    self.warm_up = Some(WarmUp::Filling);
                }
            }
            Some(WarmUp::Filling) if self.buffer.is_full() || admitted >= BUFFERS_WARM_UP_MAX * room => {
                self.begin_real(at);
            }
            _ => {}
        }
    }

    /// Starts as many read-modify-writes as there are contexts.
    fn merge(&mut self, at: Ps) {
        while let Some((lpn, stream, whole)) = self.merger.start(self.geometry.unit_bytes) {
            let ppn = self.mapping.lookup(lpn);
            let read = if whole || ppn == UNMAPPED { 0 } else { self.nand.merge_read_time(self.nand.place(ppn)) };
            let merged = Event::merged(lpn, stream);
            self.events.add_in_order(Lane::Merged, at + read + self.merger.overhead, merged);
        }
    }

    /// The old content of a unit was read: it is whole now.
    pub(crate) fn merged(&mut self, lpn: u32, stream: u16, at: Ps) {
        if self.merger.done(lpn) {
            let unit = if stream & REHEARSED == 0 { lpn } else { UNMAPPED };
            self.buffer.add_pending(u32::from(stream & !REHEARSED), unit);
            self.merge(at);
        } else {
            self.buffer.release(self.geometry.unit_bytes);
            self.admit_waiting(at);
        }
        self.flush(at);
    }

    /// A trim deallocates the units it covers whole. It takes a command and, as the map is changed in
    /// protected DRAM, the time of an acknowledgement.
    pub(crate) fn trim(&mut self, slot: u32, at: Ps) {
        let s = &mut self.host.slots[slot as usize];
        let shift = self.geometry.unit_shift;
        let first = s.offset.div_ceil(self.geometry.unit_bytes) as u32;
        let end = ((s.offset + u64::from(s.length)) >> shift) as u32;
        s.class = Class::Trim;
        let acknowledged = at + self.buffer.acknowledge(0, 0, false);
        let stages = || [s.arrived - s.stamp, s.decoded - s.arrived, acknowledged - at, 0, 0, 0, 0, 0, 0];
        self.outcome.went(s.class, stages);
        if first < end && !self.rehearses() {
            // What still waits for a merge or a program must not come back after the trim.
            let forgotten = self.buffer.forget(first, end) + self.merger.trim(first, end);
            (first..end).for_each(|lpn| _ = self.mapping.trim(lpn));
            if forgotten > 0 {
                self.buffer.release(forgotten * self.geometry.unit_bytes);
                self.admit_waiting(at);
                self.flush(at);
            }
        }
        self.events.add_in_order(Lane::Complete, acknowledged, Event::of(What::Complete, slot));
    }

    /// Room a write takes in the buffer: the units it touches, whole.
    #[inline]
    fn room_for(&self, slot: u32) -> u64 {
        let s = &self.host.slots[slot as usize];
        let shift = self.geometry.unit_shift;
        let units = ((s.offset + u64::from(s.length) - 1) >> shift) - (s.offset >> shift) + 1;
        units << shift
    }
}
