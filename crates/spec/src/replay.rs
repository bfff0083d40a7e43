//! A list of requests to replay, such as a trace that was read in.
//!
//! The list itself is no part of a stored job: what is kept says where it came from and what was in
//! it, so that two jobs over the same list compare equal.

use crate::pattern::Fault;
use crate::{Arrival, Direction, Job};
use flashlab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One request of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReplayRequest {
    /// Since the start of the list.
    pub at: Nanos,
    /// Read, write or trim.
    pub direction: Direction,
    /// First byte, from the start of the job's region.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: u32,
}

/// What happens after the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayEnd {
    /// The job ends.
    Once,
    /// The list begins again.
    Loop,
}

/// What happens to a request that reaches beyond the job's region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beyond {
    /// The job is refused.
    Refuse,
    /// Its offset is taken modulo the region; one that would still cross the end is moved back to it.
    Fold,
}

/// A list of requests, handed to the threads of a job in turn: thread i of n takes i, i + n, ….
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    /// Where the list came from, for people.
    pub source: String,
    /// After the last request.
    pub end: ReplayEnd,
    /// Beyond the region.
    pub beyond: Beyond,
    summary: ReplaySummary,
    #[serde(skip)]
    requests: Arc<[ReplayRequest]>,
}

/// What a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaySummary {
    /// Requests.
    pub count: u64,
    /// Byte after the last one that is touched.
    pub end: Bytes,
    /// Largest request.
    pub length_max: u32,
    /// Smallest request.
    pub length_min: u32,
    /// Greatest common divisor of all offsets and lengths.
    pub grain: Bytes,
    /// From the first request to the last.
    pub span: Nanos,
    /// Requests that read, write and trim.
    pub by_direction: [u64; 3],
    /// FNV-1a over all requests, so that lists can be told apart without them.
    pub digest: u64,
}

impl PartialEq for Replay {
    fn eq(&self, other: &Self) -> bool {
        (&self.source, self.end, self.beyond, self.summary) == (&other.source, other.end, other.beyond, other.summary)
    }
}

impl Replay {
    /// A list from `source`. Requests are put in the order of their times; those of one time keep
    /// their order.
    pub fn new(source: impl Into<String>, mut requests: Vec<ReplayRequest>, end: ReplayEnd, beyond: Beyond) -> Self {
        requests.sort_by_key(|r| r.at);
        let summary = ReplaySummary::of(&requests);
        Replay { source: source.into(), end, beyond, summary, requests: requests.into() }
    }

    /// The requests in the order of their times.
    pub fn requests(&self) -> &Arc<[ReplayRequest]> {
        &self.requests
    }

    /// What the list holds.
    pub fn summary(&self) -> &ReplaySummary {
        &self.summary
    }

    /// How long one turn through the list takes: its span and one mean gap, so that the first request
    /// of the next turn does not meet the last one.
    pub fn period(&self) -> Nanos {
        let ReplaySummary { span, count, .. } = self.summary;
        Nanos(span.0.saturating_add(span.0 / count.saturating_sub(1).max(1)))
    }

    /// A request's first byte, counted from the start of a region of `length`: folded where it lies
    /// beyond.
    #[inline]
    pub fn place(request: &ReplayRequest, length: Bytes) -> Bytes {
        let size = u64::from(request.length);
        if request.offset.0.saturating_add(size) <= length.0 {
            return request.offset;
        }
        Bytes((request.offset.0 % length.0).min(length.0.saturating_sub(size)))
    }

    pub(crate) fn check(&self, job: &Job, logical_block: Bytes) -> Result<(), Fault> {
        let s = &self.summary;
        if self.requests.len() as u64 != s.count || s.count == 0 {
            let reason = format!("{} has {} requests, of which {} are here", self.source, s.count, self.requests.len());
            return Err((reason, "read the list in again".into()));
        }
        if s.count < u64::from(job.numjobs) {
            let reason = format!("{} has {} requests for {} threads", self.source, s.count, job.numjobs);
            return Err((reason, format!("use numjobs {} or less", s.count)));
        }
        if s.length_min == 0 || !s.grain.0.is_multiple_of(logical_block.0) {
            let reason = format!("requests of {} are in parts of {}, or empty", self.source, s.grain.exact());
            return Err((reason, format!("round offsets and lengths to the logical block of {logical_block}")));
        }
        if u64::from(s.length_max) > job.bs.0 {
            let reason = format!("bs is {} and a request of {} has {} B", job.bs.exact(), self.source, s.length_max);
            return Err((reason, format!("set bs to {}, for which buffers are made", s.length_max)));
        }
        if s.end > job.region.length && self.beyond == Beyond::Refuse {
            let reason = format!("{} reaches to {} and the region has {}", self.source, s.end, job.region.length);
            return Err((reason, "use a larger region, or fold the addresses into it".into()));
        }
        if s.by_direction[1] + s.by_direction[2] > 0 && !job.rw.writes() {
            let reason = format!("{} writes or trims and the job is {}", self.source, job.rw.word());
            return Err((reason, "use randrw, or leave the writes out of the list".into()));
        }
        let is_recorded = matches!(job.arrival, Arrival::Recorded { .. });
        if is_recorded && self.end == ReplayEnd::Loop && s.span == Nanos::ZERO {
            let reason = format!("all requests of {} have the same time", self.source);
            return Err((reason, "play it once, or give a rate".into()));
        }
        Ok(())
    }
}

impl ReplaySummary {
    fn of(requests: &[ReplayRequest]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        let (mut end, mut grain, mut by_direction) = (0, 0, [0; 3]);
        for r in requests {
            [r.at.0, r.direction as u64, r.offset.0, u64::from(r.length)].into_iter().for_each(&mut add);
            end = end.max(r.offset.0.saturating_add(u64::from(r.length)));
            grain = gcd(gcd(grain, r.offset.0), u64::from(r.length));
            by_direction[r.direction as usize] += 1;
        }
        let at = |r: Option<&ReplayRequest>| r.map_or(0, |r| r.at.0);
        let lengths = || requests.iter().map(|r| r.length);
        ReplaySummary {
            count: requests.len() as u64,
            end: Bytes(end),
            length_max: lengths().max().unwrap_or(0),
            length_min: lengths().min().unwrap_or(0),
            grain: Bytes(grain),
            span: Nanos(at(requests.last()) - at(requests.first())),
            by_direction,
            digest: hash,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
