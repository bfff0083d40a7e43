//! Sequential streams: a bounded table of where each would go on, forgetting the one used longest ago.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A table with keys of one number. Such tables are only looked up, never walked, so that the order
/// in them does not matter.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Fibonacci hashing of one number: the keys are offsets and unit numbers of our own, not a stranger's.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
    fn write_u64(&mut self, number: u64) {
        // The table takes its place from the low bits and its tag from the high ones: both must mix.
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// Follows sequential streams, at most so many at once.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    /// Where a stream goes on, and when it was used last.
    next: NumberMap<u64, u64>,
    /// The same in the order of use; entries that are no longer true are skipped.
    order: VecDeque<(u64, u64)>,
    streams_max: usize,
    clock: u64,
}

impl Streams {
    /// A table for `streams_max` streams; with 0 nothing is ever known.
    pub(crate) fn new(streams_max: usize) -> Self {
        Streams { next: NumberMap::default(), order: VecDeque::new(), streams_max, clock: 0 }
    }

    /// Whether an I/O continues a known stream. One that does not may begin one and takes the place of
    /// the stream that was used longest ago.
    #[inline]
    pub(crate) fn continues(&mut self, offset: u64, length: u64) -> bool {
        if self.streams_max == 0 {
            return false;
        }
        self.clock += 1;
        let known = self.next.remove(&offset).is_some();
        self.next.insert(offset + length, self.clock);
        self.order.push_back((offset + length, self.clock));
        while self.next.len() > self.streams_max {
            let Some((oldest, used)) = self.order.pop_front() else { break };
            if self.next.get(&oldest) == Some(&used) {
                self.next.remove(&oldest);
            }
        }
        if self.order.len() > 8 * self.streams_max {
            let next = &self.next;
            self.order.retain(|(offset, used)| next.get(offset) == Some(used));
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_as_many_streams_as_it_has_room_for() {
        let mut two = Streams::new(2);
        assert!(!two.continues(0, 10) && !two.continues(1000, 10));
        assert!(two.continues(10, 10) && two.continues(1010, 10) && two.continues(20, 10));
        assert!(!two.continues(5000, 10), "a third stream is not known");
        assert!(!two.continues(1020, 10), "and it took the place of the one used longest ago");
        let mut none = Streams::new(0);
        assert!(!none.continues(0, 10) && !none.continues(10, 10));
    }

    #[test]
    fn a_long_stream_takes_no_memory() {
        let mut one = Streams::new(3);
        one.continues(1 << 40, 1);
        assert!((0..10_000u64).skip(1).fold(!one.continues(0, 1), |all, i| all & one.continues(i, 1)));
        assert!(one.order.len() <= 24 && one.next.len() <= 3);
        assert!(one.continues((1 << 40) + 1, 1), "an idle stream is kept while there is room");
    }
}
