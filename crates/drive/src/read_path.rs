//! Reads: from DRAM where the read-ahead has them, from dies and channels else, over the link.

use crate::engine::Engine;
use crate::event::{Event, Lane, PART_MAX, What};
use crate::ftl::UNMAPPED;
use crate::host::Class;
use crate::link::Joined;
use crate::nand::Nand;
use crate::read_ahead::Served;
use crate::time::{Ps, nanos, ps};
use flashlab_units::Nanos;

impl<const READS: bool> Engine<'_, READS> {
    /// A read was decoded.
    #[inline(always)]
    pub(crate) fn read(&mut self, slot: u32, at: Ps) {
        let s = &mut self.host.slots[slot as usize];
        let (offset, length) = (s.offset, s.length);
        s.decoded = at;
        match self.read_ahead.read(at, offset, u64::from(length)) {
            Served::No => {}
            Served::Hit(ready) => return self.serve_from_dram(slot, Class::ReadAhead, ready),
            Served::Missed(ready) => {
                let ready = ready.max(at + self.nand.page_time_mean());
                return self.serve_from_dram(slot, Class::LostReadAhead, ready);
            }
        }
        let shift = self.geometry.unit_shift;
        let (first, last) = ((offset >> shift) as u32, ((offset + u64::from(length) - 1) >> shift) as u32);
        if first != last {
            self.read_parts(slot, at, first, last);
            return;
        }
        let ppn = self.mapping.lookup(first);
        if ppn == UNMAPPED {
            // Nothing mapped: zeros straight from the controller.
            self.serve_from_dram(slot, Class::UnmappedRead, at);
            return;
        }
        let in_unit = offset as u32 & (self.geometry.unit_bytes as u32 - 1);
        let (done, busy, part) = read_die(&mut self.nand, slot, at, ppn, (in_unit, length));
        (s.parts_left, s.class, s.busy_ns) = (1, Class::MappedRead, busy_ns(busy));
        self.events.add(done, part);
    }

    /// A read of several units: those that lie together on a die are one part.
    #[inline(never)]
    fn read_parts(&mut self, slot: u32, at: Ps, first: u32, last: u32) {
        let s = &self.host.slots[slot as usize];
        let (offset, end) = (s.offset, s.offset + u64::from(s.length));
        let unit = self.geometry.unit_bytes;
        let (mut lpn, mut parts, mut busiest, mut zeros) = (first, 0, 0, s.length);
        while lpn <= last {
            let (start, ppn) = (lpn, self.mapping.lookup(lpn));
            lpn += 1;
            if ppn == UNMAPPED {
                continue;
            }
            let mut previous = ppn;
            while lpn <= last && self.mapping.lookup(lpn) == previous + 1 && self.nand.neighbours(previous) {
                previous += 1;
                lpn += 1;
            }
            let unit_start = u64::from(start) * unit;
            let from = offset.max(unit_start);
            let bytes = end.min(u64::from(lpn) * unit) - from;
            let in_units = ((from - unit_start) as u32, bytes as u32);
            let (done, busy, part) = read_die(&mut self.nand, slot, at, ppn, in_units);
            self.events.add(done, part);
            busiest = busiest.max(busy);
            zeros -= bytes as u32;
            parts += 1;
        }
        if parts == 0 {
            self.serve_from_dram(slot, Class::UnmappedRead, at);
        } else {
            let s = &mut self.host.slots[slot as usize];
            (s.parts_left, s.class, s.busy_ns) = (parts, Class::MappedRead, busy_ns(busiest));
            self.zeros(slot, at, zeros);
        }
    }

    /// What of a read of mapped units is not mapped: as many zeros, from the controller at once.
    fn zeros(&mut self, slot: u32, at: Ps, mut bytes: u32) {
        while bytes > 0 {
            let part = bytes.min(PART_MAX);
            self.host.slots[slot as usize].parts_left += 1;
            self.events.add_in_order(Lane::Link, at, Event::part(What::FromDram, slot, 0, part));
            bytes -= part;
        }
    }

    #[inline(never)]
    fn serve_from_dram(&mut self, slot: u32, class: Class, ready: Ps) {
        let s = &mut self.host.slots[slot as usize];
        (s.parts_left, s.class, s.flash_done, s.busy_ns) = (1, class, s.decoded, 0);
        self.events.add_in_order(Lane::Link, ready, Event::of(What::FromDram, slot));
    }

    /// A die has a part in its register: over the channel with it, once that is free. Returns when it is
    /// in the controller, and its event, if nothing else happens before that.
    #[inline(always)]
    pub(crate) fn die_done(&mut self, event: Event, at: Ps) -> Option<(Ps, Event)> {
        self.host.slots[event.id() as usize].flash_done = at;
        let part = event.at_channel();
        let ready = self.nand.transfer(part, at)?;
        if self.events.none_at_all_before(Lane::Ready, ready) {
            return Some((ready, part));
        }
        self.events.add_in_order(Lane::Ready, ready, part);
        None
    }

    /// A part is in the controller. The next one that waits for the channel begins. Returns what
    /// [`Engine::deliver`] does.
    #[inline(always)]
    pub(crate) fn ready(&mut self, event: Event, at: Ps) -> Option<Ps> {
        if let Some((part, ready)) = self.nand.next_transfer(event.channel(), at) {
            self.events.add_in_order(Lane::Ready, ready, part);
        }
        self.deliver(event.id(), event.bytes(), at)
    }

    /// The data of a whole request, or zeros that are a part of it, are in the controller.
    #[inline(always)]
    pub(crate) fn dram_ready(&mut self, event: Event, at: Ps) -> Option<Ps> {
        let (slot, part) = (event.id(), event.bytes());
        let bytes = if part > 0 { part } else { self.host.slots[slot as usize].length };
        self.deliver(slot, bytes, at)
    }

    /// A part crosses the link; the last one completes the request. The link is reached in the order
    /// of time, so that no request waits for one that comes later. Returns when the request is complete,
    /// if no other completion can come before that one.
    #[inline(always)]
    fn deliver(&mut self, slot: u32, bytes: u32, at: Ps) -> Option<Ps> {
        let s = &mut self.host.slots[slot as usize];
        let at_host = self.link.deliver(s.job, at, bytes);
        s.parts_left -= 1;
        if s.parts_left > 0 {
            return None;
        }
        match self.link.join_to_host(slot, at) {
            Joined::Alone => self.delivered(slot, at, at_host),
            Joined::First(at) => {
                self.events.add(at, Event::of(What::HandOnToHost, 0));
                None
            }
            Joined::Waits => None,
        }
    }

    /// The path to the host may hand on the reads that it carried.
    #[inline(never)]
    pub(crate) fn hand_on_to_host(&mut self, at: Ps) {
        let mut slots = std::mem::take(&mut self.batch);
        if let Some(at) = self.link.hand_on_to_host(at, &mut slots) {
            self.events.add(at, Event::of(What::HandOnToHost, 0));
        }
        for (slot, ready) in slots.iter().copied() {
            if self.stop.is_some() {
                break;
            }
            let completed = self.delivered(slot, ready, at);
            if let Some(at) = completed.and_then(|at| self.complete(slot, at)) {
                self.command(slot, at);
            }
        }
        self.batch = slots;
    }

    /// All of a read that was ready for the link at `at` is with the host at `at_host`. Returns what
    /// [`Engine::deliver`] does.
    #[inline(always)]
    fn delivered(&mut self, slot: u32, at: Ps, at_host: Ps) -> Option<Ps> {
        let s = self.host.slots[slot as usize];
        let (mut overhead, mut held) = (0, 0);
        if matches!(s.class, Class::MappedRead | Class::LostReadAhead) {
            overhead = self.controller.read_overhead;
            if let Some(holdoff) = &self.holdoff {
                held = holdoff.hold(s.job, self.host.in_flight(s.job) - 1, s.length);
            }
        }
        let completed = at_host + self.host.jobs_delay + overhead + held;
        self.outcome.went(s.class, || {
            let in_flash = s.flash_done - s.decoded;
            let busy = ps(Nanos(s.busy_ns.into())).min(in_flash);
            let [host, controller] = [s.arrived - s.stamp, s.decoded - s.arrived];
            let [behind_flash, link] = [at - s.flash_done, at_host - at];
            [host, controller, in_flash - busy, busy, behind_flash, link, overhead, held, self.host.jobs_delay]
        });
        if READS && self.in_order {
            return Some(completed);
        }
        self.events.add_in_order(Lane::Complete, completed, Event::of(What::Complete, slot));
        None
    }
}

/// Time of the flash as a slot keeps it.
#[inline(always)]
fn busy_ns(busy: Ps) -> u32 {
    nanos(busy).0.try_into().unwrap_or(u32::MAX)
}

/// Starts a die on so many bytes of unit `ppn`, from one of its bytes on. Returns when it is done, how long
/// it is busy with them, and the event of that.
#[inline(always)]
fn read_die(nand: &mut Nand, slot: u32, at: Ps, ppn: u32, (from, bytes): (u32, u32)) -> (Ps, Ps, Event) {
    let mut place = nand.place(ppn);
    place.from += from;
    let read = nand.read(place, at, bytes);
    (read.done, read.busy, Event::part(What::DieDone, slot, nand.channel_of(place.die), bytes))
}
