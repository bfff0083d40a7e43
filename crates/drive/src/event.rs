//! What is still to happen, in the order of virtual time.
//!
//! Most events come in an order that is known beforehand: a server that works first come, first
//! served finishes in the order it began. Such events go through a **lane**, a plain queue. The rest
//! goes into a **timing wheel**: buckets of 131 ns, each a short list sorted by time, and a bitmap
//! that finds the next bucket in use. What lies beyond the wheel's 4.3 ms waits in a heap. An event
//! that comes before all others goes nowhere, but is at hand when the next one is asked for. The order
//! is exact: by time, then lanes before the wheel before the heap, then first come, first served.

use crate::time::Ps;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Something that happens at a point in virtual time, packed into one number: events are moved far more
/// often than they are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event(u64);

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A command reaches the drive.
    Submit,
    /// The controller can take the next command of a queue pair.
    Arbitrate,
    /// A write's data has crossed the link.
    Arrive,
    /// A die has read its part of a request; the channel comes next.
    DieDone,
    /// A part is in the controller, its channel is free; the link comes next.
    Ready,
    /// Data that needed no flash is ready for the link: a part, or with no bytes all of a request.
    FromDram,
    /// A request is complete for the host.
    Complete,
    /// A program has ended, unless reads have suspended it meanwhile.
    Programmed,
    /// The path to the host, or to the drive, may hand on what it carried.
    HandOnToHost,
    HandOnToDrive,
    /// The old content of a unit was read; the merged unit can be flushed.
    Merged,
}

/// Lowest bits of an event: what; then a slot, program or unit; then a channel or stream; then a length.
const WHAT_BITS: u32 = 4;
const ID_BITS: u32 = 32;
const CHANNEL_BITS: u32 = 14;
/// Lengths are whole logical blocks of at least this; 14 bits of them are 8 MiB, and a part is never
/// more than a program unit.
const BLOCK_SHIFT: u32 = 9;
const LENGTH_SHIFT: u32 = WHAT_BITS + ID_BITS + CHANNEL_BITS;
/// The longest part.
pub(crate) const PART_MAX: u32 = ((1 << (u64::BITS - LENGTH_SHIFT)) - 1) << BLOCK_SHIFT;

/// By the number in an event; those that are none stand for the last.
const WHATS: [What; 1 << WHAT_BITS] = {
    let mut whats = [What::Merged; 1 << WHAT_BITS];
    let all = [
        What::Submit,
        What::Arbitrate,
        What::Arrive,
        What::DieDone,
        What::Ready,
        What::FromDram,
        What::Complete,
        What::Programmed,
        What::HandOnToHost,
        What::HandOnToDrive,
    ];
    let mut i = 0;
    while i < all.len() {
        whats[all[i] as usize] = all[i];
        i += 1;
    }
    whats
};

impl Event {
    /// `id` is the slot of a request, or the program.
    #[inline]
    pub(crate) fn of(what: What, id: u32) -> Self {
        Event(what as u64 | u64::from(id) << WHAT_BITS)
    }

    /// A part of a request: so many bytes of it, at most [`PART_MAX`], from a die on `channel`.
    #[inline]
    pub(crate) fn part(what: What, slot: u32, channel: u32, bytes: u32) -> Self {
        let length = u64::from(bytes >> BLOCK_SHIFT) << LENGTH_SHIFT;
        Event(Event::of(what, slot).0 | u64::from(channel) << (WHAT_BITS + ID_BITS) | length)
    }

    /// The same part, now on its way over the channel.
    #[inline]
    pub(crate) fn at_channel(self) -> Self {
        Event(self.0 & !((1 << WHAT_BITS) - 1) | What::Ready as u64)
    }

    /// A merged unit and the stream that wrote it; a stream has at most 16 bits, and no length follows.
    pub(crate) fn merged(lpn: u32, stream: u16) -> Self {
        Event(Event::of(What::Merged, lpn).0 | u64::from(stream) << (WHAT_BITS + ID_BITS))
    }

    #[inline]
    pub(crate) fn what(self) -> What {
        WHATS[self.0 as usize % WHATS.len()]
    }

    /// The slot, program or unit.
    #[inline]
    pub(crate) fn id(self) -> u32 {
        (self.0 >> WHAT_BITS) as u32
    }

    /// The channel of a part.
    #[inline]
    pub(crate) fn channel(self) -> u32 {
        (self.0 >> (WHAT_BITS + ID_BITS)) as u32 & ((1 << CHANNEL_BITS) - 1)
    }

    /// The stream of a merged unit.
    pub(crate) fn stream(self) -> u16 {
        (self.0 >> (WHAT_BITS + ID_BITS)) as u16
    }

    /// The bytes of a part.
    #[inline]
    pub(crate) fn bytes(self) -> u32 {
        ((self.0 >> LENGTH_SHIFT) as u32) << BLOCK_SHIFT
    }
}

/// Queues of events that usually come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Submit,
    /// Data of writes over the link, data of reads out of DRAM.
    Link,
    Ready,
    Complete,
    Programmed,
    Merged,
}

const LANES: usize = 6;
/// Places of the wheel's and the heap's next event beside those of the lanes.
const WHEEL: usize = LANES;
const FAR: usize = LANES + 1;
const PLACES: usize = LANES + 2;
/// Times are kept with their place in the lowest bits, so that the earliest is found by comparing one
/// number each; 2^61 ps are 26.7 days. A time beyond that loses its highest bits here: its event comes out at
/// once, and too early, by which the engine knows it.
const PLACE_BITS: u32 = PLACES.next_power_of_two().ilog2();

#[inline]
fn key(at: Ps, place: usize) -> u64 {
    at << PLACE_BITS | place as u64
}

/// How far from the end of a lane an event that comes out of order is put into its place.
const NEAR: usize = 16;

/// A queue of events in the order of time: a ring that grows.
#[derive(Debug)]
struct Ring {
    /// A power of two of places.
    entries: Vec<(Ps, Event)>,
    first: usize,
    end: usize,
    tail_at: Ps,
}

impl Ring {
    fn new() -> Self {
        Ring { entries: vec![(0, Event(0)); 64], first: 0, end: 0, tail_at: 0 }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn push(&mut self, at: Ps, event: Event) {
        if self.end - self.first == self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        self.entries[self.end & mask] = (at, event);
        self.end += 1;
        self.tail_at = at;
    }

    /// Puts an event that is a little earlier than the last ones into its place, if that is near.
    #[inline]
    fn insert(&mut self, at: Ps, event: Event) -> bool {
        if self.end - self.first == self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let near = self.first.max(self.end.saturating_sub(NEAR));
        let Some(place) = (near..self.end).rev().find(|i| self.entries[i & mask].0 <= at) else {
            // Before all that is near: right only if those are all there are.
            return near == self.first && {
                self.open(near, at, event);
                true
            };
        };
        self.open(place + 1, at, event);
        true
    }

    /// Moves what lies from `place` on up by one, and puts an event there.
    #[inline]
    fn open(&mut self, place: usize, at: Ps, event: Event) {
        let mask = self.entries.len() - 1;
        for i in (place..self.end).rev() {
            self.entries[(i + 1) & mask] = self.entries[i & mask];
        }
        self.entries[place & mask] = (at, event);
        self.end += 1;
    }

    /// Time of the first event.
    #[inline]
    fn first_at(&self) -> Ps {
        self.entries[self.first & (self.entries.len() - 1)].0
    }

    /// Takes the first event; also says when the next one is.
    #[inline]
    fn pop(&mut self) -> (Event, Option<Ps>) {
        let mask = self.entries.len() - 1;
        let event = self.entries[self.first & mask].1;
        self.first += 1;
        (event, (self.first != self.end).then(|| self.entries[self.first & mask].0))
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.entries.len() - 1;
        self.entries.rotate_left(self.first & mask);
        (self.first, self.end) = (0, self.entries.len());
        self.entries.resize(self.entries.len() * 2, (0, Event(0)));
    }
}

/// A bucket is 2^17 ps wide: at two million I/Os a second it holds less than one event.
const BUCKET_SHIFT: u32 = 17;
/// 2^15 buckets reach 4.3 ms ahead, past reads, channels and links; programs come later.
const BUCKETS: usize = 1 << 15;
/// No bucket is met twice within this time.
const AHEAD_MAX: Ps = (BUCKETS as u64 - 1) << BUCKET_SHIFT;
/// Words of the bitmap of buckets in use.
const WORDS: usize = BUCKETS / 64;
const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    at: Ps,
    event: Event,
    next: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Far {
    at: Ps,
    order: u64,
    event: Event,
}

impl Ord for Far {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events by time.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Key of the first event of all places.
    first: u64,
    /// Key of the event that is held back from its place, as it came before all others when it was added:
    /// where little is in flight, what has just been added is often what happens next.
    held: u64,
    held_event: Event,
    /// Keys of the next event of each lane, of the wheel and of the heap.
    next: [u64; PLACES],
    lanes: [Ring; LANES],
    /// First node of each bucket.
    buckets: Box<[u32; BUCKETS]>,
    /// One bit a bucket that is in use.
    used: Box<[u64; WORDS]>,
    nodes: Vec<Node>,
    unused: u32,
    in_wheel: u32,
    far: BinaryHeap<Reverse<Far>>,
    far_added: u64,
    now: Ps,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            first: NEVER,
            held: NEVER,
            held_event: Event(0),
            next: [NEVER; PLACES],
            lanes: std::array::from_fn(|_| Ring::new()),
            buckets: Box::new([NONE; BUCKETS]),
            used: Box::new([0; WORDS]),
            nodes: Vec::with_capacity(1024),
            unused: NONE,
            in_wheel: 0,
            far: BinaryHeap::new(),
            far_added: 0,
            now: 0,
        }
    }
}

impl EventQueue {
    /// Adds an event that usually comes after those added to `lane` before it, or not long before the
    /// last of them; if it does not, it goes into the wheel.
    #[inline]
    pub(crate) fn add_in_order(&mut self, lane: Lane, at: Ps, event: Event) {
        let i = lane as usize;
        if self.holds(key(at, i), event) {
            return;
        }
        let ring = &mut self.lanes[i];
        if ring.is_empty() {
            self.next[i] = key(at, i);
            self.first = self.first.min(key(at, i));
        } else if at < ring.tail_at {
            self.add_late(lane, at, event);
            return;
        }
        ring.push(at, event);
    }

    /// Adds an event that is earlier than the last one of its lane.
    #[inline(never)]
    fn add_late(&mut self, lane: Lane, at: Ps, event: Event) {
        let i = lane as usize;
        let ring = &mut self.lanes[i];
        if ring.insert(at, event) {
            self.next[i] = key(ring.first_at(), i);
            self.first = self.first.min(self.next[i]);
        } else {
            self.add_to_wheel(at, event);
        }
    }

    /// Holds an event back that comes before all others.
    #[inline]
    fn holds(&mut self, key: u64, event: Event) -> bool {
        let holds = key < self.first && self.held == NEVER;
        if holds {
            (self.held, self.held_event) = (key, event);
        }
        holds
    }

    /// Whether no event waits for its time before `at` in `lane`.
    #[inline]
    pub(crate) fn none_before(&self, lane: Lane, at: Ps) -> bool {
        let key = key(at, lane as usize);
        let held_before = self.held < key && self.held as usize % (1 << PLACE_BITS) == lane as usize;
        self.next[lane as usize] >= key && !held_before
    }

    /// Whether an event that `lane` got now would be the next one.
    #[inline]
    pub(crate) fn none_at_all_before(&self, lane: Lane, at: Ps) -> bool {
        key(at, lane as usize) < self.first.min(self.held)
    }

    /// Adds an event.
    #[inline(always)]
    pub(crate) fn add(&mut self, at: Ps, event: Event) {
        if !self.holds(key(at, WHEEL), event) {
            self.add_to_wheel(at, event);
        }
    }

    /// Adds an event to the wheel, or to the heap if that does not reach so far.
    #[inline(always)]
    fn add_to_wheel(&mut self, at: Ps, event: Event) {
        if at - self.now >= AHEAD_MAX {
            self.add_to_far(at, event);
            return;
        }
        let node = self.new_node(at, event);
        let bucket = (at >> BUCKET_SHIFT) as usize % BUCKETS;
        self.used[bucket / 64] |= 1 << (bucket % 64);
        self.in_wheel += 1;
        self.next[WHEEL] = self.next[WHEEL].min(key(at, WHEEL));
        self.first = self.first.min(key(at, WHEEL));
        let first = self.buckets[bucket];
        if first == NONE || self.nodes[first as usize].at > at {
            self.nodes[node as usize].next = first;
            self.buckets[bucket] = node;
        } else {
            self.add_behind(first, node);
        }
    }

    /// Puts a node into its place in the list that begins with `before`.
    #[inline(never)]
    fn add_behind(&mut self, mut before: u32, node: u32) {
        let at = self.nodes[node as usize].at;
        loop {
            let next = self.nodes[before as usize].next;
            if next == NONE || self.nodes[next as usize].at > at {
                self.nodes[node as usize].next = next;
                self.nodes[before as usize].next = node;
                return;
            }
            before = next;
        }
    }

    #[cold]
    fn add_to_far(&mut self, at: Ps, event: Event) {
        self.far_added += 1;
        self.far.push(Reverse(Far { at, order: self.far_added, event }));
        self.next[FAR] = self.next[FAR].min(key(at, FAR));
        self.first = self.first.min(key(at, FAR));
    }

    /// The next event, and when it happens. With `READS` only lanes that reads use are looked at.
    #[inline(always)]
    pub(crate) fn next<const READS: bool>(&mut self) -> Option<(Ps, Event)> {
        if self.held <= self.first {
            return self.take_held();
        }
        let (at, place) = (self.first >> PLACE_BITS, self.first as usize % (1 << PLACE_BITS));
        self.now = at;
        let event = match place {
            WHEEL => self.take_from_wheel(at),
            FAR => self.take_from_far(),
            lane => {
                let (event, next_at) = self.lanes[lane].pop();
                self.next[lane] = next_at.map_or(NEVER, |at| key(at, lane));
                event
            }
        };
        let [submit, link, ready, complete, programmed, merged, wheel, far] = self.next;
        self.first = submit.min(link).min(ready.min(complete)).min(wheel.min(far));
        if !READS {
            self.first = self.first.min(programmed.min(merged));
        }
        Some((at, event))
    }

    #[inline(always)]
    fn take_held(&mut self) -> Option<(Ps, Event)> {
        let held = std::mem::replace(&mut self.held, NEVER);
        (held != NEVER).then(|| {
            self.now = held >> PLACE_BITS;
            (self.now, self.held_event)
        })
    }

    #[inline(always)]
    fn take_from_wheel(&mut self, at: Ps) -> Event {
        let bucket = (at >> BUCKET_SHIFT) as usize % BUCKETS;
        let first = self.buckets[bucket];
        let Node { event, next, .. } = self.nodes[first as usize];
        self.nodes[first as usize].next = self.unused;
        self.unused = first;
        self.in_wheel -= 1;
        self.buckets[bucket] = next;
        self.next[WHEEL] = if next != NONE {
            key(self.nodes[next as usize].at, WHEEL)
        } else {
            self.used[bucket / 64] &= !(1 << (bucket % 64));
            self.first_after(bucket)
        };
        event
    }

    /// Key of the first event in the buckets after `bucket`, once around.
    #[inline]
    fn first_after(&self, bucket: usize) -> u64 {
        if self.in_wheel == 0 {
            return NEVER;
        }
        let mut word = bucket / 64;
        // Bits below the bucket in its own word belong to the far end of the wheel.
        let mut bits = self.used[word] & (!0 << (bucket % 64));
        for _ in 0..=WORDS {
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                return key(self.nodes[self.buckets[bucket] as usize].at, WHEEL);
            }
            word = (word + 1) % WORDS;
            bits = self.used[word];
        }
        unreachable!("{} events in the wheel and no bucket in use", self.in_wheel)
    }

    fn take_from_far(&mut self) -> Event {
        let Some(Reverse(far)) = self.far.pop() else { unreachable!("a heap with a time has an event") };
        self.next[FAR] = self.far.peek().map_or(NEVER, |Reverse(far)| key(far.at, FAR));
        far.event
    }

    #[inline]
    fn new_node(&mut self, at: Ps, event: Event) -> u32 {
        let node = Node { at, event, next: NONE };
        if self.unused == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let place = self.unused;
        self.unused = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LANE_OF: [Lane; LANES] =
        [Lane::Submit, Lane::Link, Lane::Ready, Lane::Complete, Lane::Programmed, Lane::Merged];

    proptest! {
        /// Against a sorted list: events of all kinds of distance, some through lanes.
        #[test]
        fn comes_out_by_time(steps in prop::collection::vec((0u64..20_000_000_000, 0usize..9, 1usize..4), 1..400)) {
            let mut queue = EventQueue::default();
            let (mut waiting, mut now, mut slot) = (Vec::new(), 0, 0);
            for (ahead, lane, pops) in steps {
                // Short distances are the usual ones.
                let at = now + (ahead >> (ahead % 20));
                match LANE_OF.get(lane) {
                    Some(lane) => queue.add_in_order(*lane, at, Event::of(What::Complete, slot)),
                    None => queue.add(at, Event::of(What::Complete, slot)),
                }
                waiting.push((at, slot));
                slot += 1;
                for _ in 0..pops - 1 {
                    let Some((at, event)) = queue.next::<false>() else { break };
                    let slot = event.id();
                    prop_assert!(at >= now, "backwards");
                    now = at;
                    let earliest = waiting.iter().map(|w| w.0).min().unwrap_or(u64::MAX);
                    prop_assert_eq!(at, earliest);
                    waiting.retain(|w| w.1 != slot);
                }
            }
            while let Some((at, event)) = queue.next::<false>() {
                let slot = event.id();
                prop_assert!(at >= now);
                now = at;
                waiting.retain(|w| w.1 != slot);
            }
            prop_assert!(waiting.is_empty(), "lost {:?}", waiting);
        }
    }

    /// What is too late to be counted comes out at once, long before its time, so that it is noticed.
    #[test]
    fn a_time_beyond_the_last_is_known_by_the_next_event() {
        let (now, late) = ((1 << 61) - 10, (1 << 61) + 1_000_000);
        for lane in [None, Some(Lane::Complete)] {
            let mut queue = EventQueue::default();
            queue.add(now, Event::of(What::Submit, 0));
            assert_eq!(queue.next::<false>(), Some((now, Event::of(What::Submit, 0))));
            queue.add(now + 5, Event::of(What::Submit, 1));
            match lane {
                None => queue.add(late, Event::of(What::Submit, 2)),
                Some(lane) => queue.add_in_order(lane, late, Event::of(What::Complete, 2)),
            }
            let (at, _) = queue.next::<false>().expect("two are left");
            assert!(now - at >= 1 << 60, "{lane:?}: {at}");
        }
    }

    #[test]
    fn equal_times_keep_their_order() {
        let mut q = EventQueue::default();
        (0..4).for_each(|slot| q.add(5, Event::of(What::Submit, slot)));
        let order: Vec<_> = std::iter::from_fn(|| q.next::<false>()).collect();
        assert_eq!(order, [0, 1, 2, 3].map(|slot| (5, Event::of(What::Submit, slot))));
    }
}
