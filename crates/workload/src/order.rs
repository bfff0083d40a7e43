//! Orders in which every block has its turn: sequential, and random without repeats.

use crate::named_seed;
use crate::permutation::Permutation;
use flashlab_spec::Job;

/// Sequential over a list of parts, each once a pass, in order.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    base: u64,
    at: u64,
    length: u64,
    /// At this place or beyond, the part is done.
    limit: u64,
    advance: Advance,
    /// Most bytes a request has.
    bs: u64,
    /// First byte and length.
    parts: Box<[(u64, u64)]>,
    part: usize,
    pub(crate) passes: u32,
}

#[derive(Debug, Clone, Copy)]
enum Advance {
    /// The next request begins where the last one ended.
    Length,
    /// At the next multiple of this.
    Aligned(u64),
    /// This far from where the last one began.
    Stride(u64),
}

impl Sequence {
    /// Thread `index` of `job`: its extents, or its slice.
    pub(crate) fn new(job: &Job, index: u32) -> Self {
        let mut parts: Vec<(u64, u64)> =
            job.extents.get(index as usize).into_iter().flatten().map(|e| (e.offset.0, e.length.0)).collect();
        if parts.is_empty() {
            let slice = job.slice(index);
            // Without passes a tail that is shorter than bs is left out; slices have none anyway.
            let whole = if job.passes.is_some() { slice.length.0 } else { slice.length.0 / job.bs.0 * job.bs.0 };
            parts.push((slice.offset.0, whole));
        }
        let advance = match (job.pattern.stride, job.pattern.align) {
            (Some(stride), _) => Advance::Stride(stride.0),
            (None, Some(align)) => Advance::Aligned(align.0),
            (None, None) => Advance::Length,
        };
        let (part, passes) = (0, 0);
        let mut run =
            Sequence { base: 0, at: 0, length: 0, limit: 0, advance, bs: job.bs.0, parts: parts.into(), part, passes };
        run.begin_part();
        run
    }

    fn begin_part(&mut self) {
        (self.base, self.length) = self.parts[self.part];
        self.at = 0;
        self.limit = match self.advance {
            // A request that would be cut short is left out.
            Advance::Stride(_) => (self.length + 1).saturating_sub(self.bs).max(1),
            Advance::Length | Advance::Aligned(_) => self.length,
        };
    }

    /// First byte and length of the next request, which has `length` unless its part ends before.
    #[inline]
    pub(crate) fn take(&mut self, length: u32) -> (u64, u32) {
        let left = self.length - self.at;
        let length = u64::from(length).min(left);
        let offset = self.base + self.at;
        self.at += match self.advance {
            Advance::Length => length,
            Advance::Aligned(align) => length.next_multiple_of(align),
            Advance::Stride(stride) => stride,
        };
        if self.at >= self.limit {
            self.turn();
        }
        (offset, length as u32)
    }

    /// On to the next part, or back to the first.
    #[cold]
    fn turn(&mut self) {
        self.part += 1;
        if self.part == self.parts.len() {
            self.part = 0;
            self.passes = self.passes.saturating_add(1);
        }
        self.begin_part();
    }
}

/// Each slot once a pass, each pass in an order of its own.
#[derive(Debug, Clone)]
pub(crate) struct OncePerPass {
    permutation: Permutation,
    next: u64,
    seed: u64,
    pub(crate) passes: u32,
}

impl OncePerPass {
    pub(crate) fn new(slots: u64, seed: u64) -> Self {
        OncePerPass { permutation: Self::order(slots, seed, 0), next: 0, seed, passes: 0 }
    }

    fn order(slots: u64, seed: u64, pass: u32) -> Permutation {
        Permutation::new(slots, named_seed(seed, "pass", u64::from(pass)))
    }

    /// The next slot.
    #[inline]
    pub(crate) fn take(&mut self) -> u64 {
        let slot = self.permutation.at(self.next);
        self.next += 1;
        if self.next == self.permutation.len() {
            self.turn();
        }
        slot
    }

    #[cold]
    fn turn(&mut self) {
        self.next = 0;
        self.passes = self.passes.saturating_add(1);
        self.permutation = Self::order(self.permutation.len(), self.seed, self.passes);
    }
}
