//! What is still to happen, in the order of virtual time.

use crate::time::Ps;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Something that happens at a point in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A command reaches the drive.
    Submit { slot: u32 },
    /// A write's data has crossed the link.
    Arrive { slot: u32 },
    /// A die has read its part of a request; the channel comes next.
    DieDone { slot: u32, die: u32, bytes: u32 },
    /// Data for the host is in the controller; the link comes next.
    Ready { slot: u32, bytes: u32 },
    /// A request is complete for the host.
    Complete { slot: u32 },
    /// A program has ended; `host_units` units of the write buffer are free again.
    Programmed { host_units: u32 },
    /// The old content of a unit was read; the merged unit can be flushed.
    Merged { lpn: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: Ps,
    order: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events by time; those of one time in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    added: u64,
}

impl EventQueue {
    #[inline]
    pub(crate) fn add(&mut self, at: Ps, event: Event) {
        self.added += 1;
        self.heap.push(Reverse(Entry { at, order: self.added, event }));
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Ps, Event)> {
        self.heap.pop().map(|Reverse(e)| (e.at, e.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_arrival() {
        let mut q = EventQueue::default();
        for (at, slot) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            q.add(at, Event::Complete { slot });
        }
        let order: Vec<_> = std::iter::from_fn(|| q.next()).map(|(at, _)| at).collect();
        assert_eq!(order, [3, 3, 5, 5]);
        q.add(1, Event::Submit { slot: 1 });
        q.add(1, Event::Submit { slot: 2 });
        assert_eq!(q.next(), Some((1, Event::Submit { slot: 1 })));
    }
}
