//! Writes smaller than an indirection unit: the old content is read and merged before the flush.

use crate::streams::{NumberMap, Streams};
use crate::time::{Ps, ps};
use flashlab_spec::MergeModel;
use std::collections::VecDeque;

/// Sequential streams of small writes that can be told apart: twice the threads of the largest
/// published sweep.
const STREAMS_MAX: usize = 256;

/// Read-modify-writes waiting and in progress, through a limited number of contexts.
#[derive(Debug, Clone)]
pub(crate) struct Merger {
    contexts: u32,
    /// Units that are being merged, and whether a trim has made that vain; at most one a context.
    running: Vec<(u32, bool)>,
    pub(crate) overhead: Ps,
    coalesce: bool,
    streams: Streams,
    /// Units that wait, and the stream that wrote them.
    waiting: VecDeque<(u32, u16)>,
    /// Bytes that are new in each unit that waits or is in progress; only looked up, never walked,
    /// so that the order of the table does not matter. Empty without coalescing.
    fresh_bytes: NumberMap<u32, u64>,
}

/// What became of a partial write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partial {
    /// It waits for a context.
    Waits,
    /// It was joined with a merge that waits or runs; its buffer room is free again.
    Joined,
}

impl Merger {
    pub(crate) fn new(p: &MergeModel) -> Self {
        Merger {
            contexts: p.contexts.value,
            running: Vec::with_capacity(p.contexts.value as usize),
            overhead: ps(p.overhead.value),
            coalesce: p.coalesce.value,
            streams: Streams::new(if p.coalesce.value { STREAMS_MAX } else { 0 }),
            waiting: VecDeque::new(),
            fresh_bytes: NumberMap::default(),
        }
    }

    /// A write of `bytes` into unit `lpn` by `stream`.
    pub(crate) fn add(&mut self, lpn: u32, bytes: u64, stream: u16) -> Partial {
        if self.coalesce {
            let fresh = self.fresh_bytes.entry(lpn).or_insert(0);
            *fresh += bytes;
            if *fresh > bytes {
                return Partial::Joined;
            }
        }
        self.waiting.push_back((lpn, stream));
        Partial::Waits
    }

    /// Whether a write goes on where another ended, in a drive that coalesces such writes.
    pub(crate) fn continues(&mut self, offset: u64, length: u64) -> bool {
        self.streams.continues(offset, length)
    }

    /// The next merge and its stream, if a context is free; it is busy until [`Merger::done`]. `true` if
    /// the unit was meanwhile written whole, so that no read is needed.
    pub(crate) fn start(&mut self, unit_bytes: u64) -> Option<(u32, u16, bool)> {
        if self.running.len() == self.contexts as usize {
            return None;
        }
        let (lpn, stream) = self.waiting.pop_front()?;
        self.running.push((lpn, false));
        let whole = self.fresh_bytes.get(&lpn).is_some_and(|fresh| *fresh >= unit_bytes);
        Some((lpn, stream, whole))
    }

    /// The merge of `lpn` is over. `false` if the unit was trimmed meanwhile, so that it goes nowhere.
    pub(crate) fn done(&mut self, lpn: u32) -> bool {
        let place = self.running.iter().position(|(running, _)| *running == lpn);
        let place = place.unwrap_or_else(|| unreachable!("unit {lpn} is merged and was not begun"));
        let (_, trimmed) = self.running.swap_remove(place);
        self.fresh_bytes.remove(&lpn);
        !trimmed
    }

    /// Whether nothing waits or is merged.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Units in `[first, end)` are trimmed: what waits of them is forgotten, what is being merged goes
    /// nowhere. Returns how many waited.
    pub(crate) fn trim(&mut self, first: u32, end: u32) -> u64 {
        let trimmed = |lpn: u32| (first..end).contains(&lpn);
        let before = self.waiting.len();
        self.waiting.retain(|(lpn, _)| !trimmed(*lpn));
        self.running.iter_mut().filter(|(lpn, _)| trimmed(*lpn)).for_each(|(_, vain)| *vain = true);
        // A write after the trim is a merge of its own.
        self.fresh_bytes.retain(|lpn, _| !trimmed(*lpn));
        (before - self.waiting.len()) as u64
    }

    /// Nothing joins what waits or runs so far.
    pub(crate) fn forget(&mut self) {
        self.fresh_bytes.clear();
    }

    /// All units that wait, for the drain at the end of a job.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.fresh_bytes.clear();
        self.waiting.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Source, Sourced};
    use flashlab_units::Nanos;

    fn merger(contexts: u32, coalesce: bool) -> Merger {
        fn assumed<T>(value: T) -> Sourced<T> {
            Sourced { value, source: Source::Assumed, note: String::new() }
        }
        Merger::new(&MergeModel {
            contexts: assumed(contexts),
            overhead: assumed(Nanos(1)),
            acknowledge_extra: assumed(Nanos(1)),
            coalesce: assumed(coalesce),
        })
    }

    #[test]
    fn contexts_are_limited() {
        let mut m = merger(1, false);
        assert_eq!((m.add(1, 4096, 0), m.add(2, 4096, 0)), (Partial::Waits, Partial::Waits));
        assert_eq!(m.start(8192), Some((1, 0, false)));
        assert_eq!(m.start(8192), None);
        assert!(m.done(1), "not trimmed");
        assert_eq!(m.start(8192), Some((2, 0, false)));
    }

    #[test]
    fn a_trim_ends_what_waits_and_what_runs() {
        let mut m = merger(1, true);
        (0..3).for_each(|lpn| _ = m.add(lpn, 4096, 0));
        assert_eq!(m.start(8192), Some((0, 0, false)));
        assert_eq!(m.trim(0, 2), 1, "unit 1 waited");
        assert_eq!(m.add(0, 4096, 0), Partial::Waits, "a write after the trim does not join what was before it");
        assert!(!m.done(0), "the merge that ran was in vain");
        assert_eq!((m.start(8192), m.done(2)), (Some((2, 0, false)), true));
        assert_eq!((m.start(8192), m.done(0)), (Some((0, 0, false)), true));
        assert!(m.is_idle());
    }

    #[test]
    fn neighbours_join_where_the_drive_does_so() {
        let mut m = merger(1, true);
        assert_eq!((m.add(1, 4096, 0), m.add(1, 4096, 0)), (Partial::Waits, Partial::Joined));
        assert_eq!(m.start(8192), Some((1, 0, true)), "written whole: nothing to read");
        assert!(m.done(1), "not trimmed");
        assert_eq!(m.add(1, 4096, 0), Partial::Waits);
        let mut apart = merger(1, false);
        assert_eq!((apart.add(1, 4096, 0), apart.add(1, 4096, 0)), (Partial::Waits, Partial::Waits));
    }
}
