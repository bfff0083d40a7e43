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

/// Tables of up to so many streams are searched one by one, which is faster than hashing.
const FEW: usize = 32;

/// Follows sequential streams, at most so many at once.
#[derive(Debug, Clone)]
pub(crate) enum Streams {
    Few(Few),
    Many(Many),
}

/// Where each stream goes on, and when it was used last.
#[derive(Debug, Clone)]
pub(crate) struct Few {
    next: Vec<u64>,
    used: Vec<u64>,
    clock: u64,
}

/// The same for many streams.
#[derive(Debug, Clone)]
pub(crate) struct Many {
    next: NumberMap<u64, u64>,
    /// The same in the order of use; entries that are no longer true are skipped.
    order: VecDeque<(u64, u64)>,
    streams_max: usize,
    clock: u64,
}

impl Streams {
    /// A table for `streams_max` streams; with 0 nothing is ever known.
    pub(crate) fn new(streams_max: usize) -> Self {
        if streams_max <= FEW {
            // No request begins at the end of the address space, so that a free place is never met.
            Streams::Few(Few { next: vec![u64::MAX; streams_max], used: vec![0; streams_max], clock: 0 })
        } else {
            Streams::Many(Many { next: NumberMap::default(), order: VecDeque::new(), streams_max, clock: 0 })
        }
    }

    /// Whether an I/O continues a known stream. One that does not may begin one and takes the place of
    /// the stream that was used longest ago.
    #[inline]
    pub(crate) fn continues(&mut self, offset: u64, length: u64) -> bool {
        match self {
            Streams::Few(few) => few.continues(offset, length),
            Streams::Many(many) => many.continues(offset, length),
        }
    }
}

impl Few {
    #[inline]
    fn continues(&mut self, offset: u64, length: u64) -> bool {
        if self.next.is_empty() {
            return false;
        }
        self.clock += 1;
        let known = self.next.iter().position(|next| *next == offset);
        let place = known.unwrap_or_else(|| {
            let oldest = self.used.iter().enumerate().min_by_key(|(_, used)| **used);
            oldest.map_or(0, |(place, _)| place)
        });
        self.next[place] = offset + length;
        self.used[place] = self.clock;
        known.is_some()
    }
}

impl Many {
    fn continues(&mut self, offset: u64, length: u64) -> bool {
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
    use flashlab_workload::named_seed;

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
    fn few_and_many_agree() {
        let mut few = Streams::new(FEW);
        let mut many =
            Streams::Many(Many { next: NumberMap::default(), order: VecDeque::new(), streams_max: FEW, clock: 0 });
        let mut at: Vec<u64> = (0..40).map(|i| i << 32).collect();
        let mut known = 0;
        for i in 0..100_000u64 {
            // Some streams are used far more often than others.
            let stream = (named_seed(1, "s", i) % 40).min(named_seed(2, "s", i) % 40) as usize;
            let answer = few.continues(at[stream], 4);
            assert_eq!(many.continues(at[stream], 4), answer, "step {i}");
            at[stream] += 4;
            known += u32::from(answer);
        }
        assert!((50_000..99_000).contains(&known), "{known}");
        let Streams::Many(many) = many else { unreachable!() };
        assert!(many.order.len() <= 8 * FEW && many.next.len() <= FEW, "a long stream takes no memory");
    }
}
