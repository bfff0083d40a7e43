//! The requests of a replayed list that are one thread's.

use flashlab_spec::{Job, Replay, ReplayRequest};
use flashlab_units::Bytes;
use std::sync::Arc;

/// A thread's turn through a list: every n-th request of n threads.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    requests: Arc<[ReplayRequest]>,
    first: usize,
    next: usize,
    step: usize,
    pub(crate) passes: u32,
}

impl Turn {
    pub(crate) fn new(replay: &Replay, job: &Job, index: u32) -> Self {
        let (requests, first) = (Arc::clone(replay.requests()), index as usize);
        assert!(first < requests.len(), "job {} was not validated", job.workload);
        Turn { requests, first, next: first, step: job.numjobs as usize, passes: 0 }
    }

    /// The next request and the pass it belongs to.
    #[inline]
    pub(crate) fn take(&mut self) -> (ReplayRequest, u32) {
        let taken = (self.requests[self.next], self.passes);
        self.next += self.step;
        if self.next >= self.requests.len() {
            self.next = self.first;
            self.passes = self.passes.saturating_add(1);
        }
        taken
    }
}

/// A list placed in a job's region.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    pub(crate) turn: Turn,
    base: u64,
    length: Bytes,
}

impl Replayed {
    pub(crate) fn new(replay: &Replay, job: &Job, index: u32) -> Self {
        Replayed { turn: Turn::new(replay, job, index), base: job.region.offset.0, length: job.region.length }
    }

    /// The next request, at its place on the target.
    #[inline]
    pub(crate) fn take(&mut self) -> ReplayRequest {
        let (request, _) = self.turn.take();
        let offset = Bytes(self.base + Replay::place(&request, self.length).0);
        ReplayRequest { offset, ..request }
    }
}
