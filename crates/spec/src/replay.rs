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

    /// Bytes that are read, written and trimmed in one turn, folded or not.
    pub fn bytes(&self) -> [Bytes; 3] {
        let mut bytes = [Bytes::ZERO; 3];
        for request in self.requests.iter() {
            let sum = &mut bytes[request.direction as usize].0;
            *sum = sum.saturating_add(u64::from(request.length));
        }
        bytes
    }

    /// What a job with this list replays, for people: how much, how fast, and what became of its addresses.
    pub fn sentence(&self, arrival: Arrival, region: Bytes) -> String {
        let ReplaySummary { count, end, span, by_direction, .. } = self.summary;
        let parts: Vec<String> = Direction::ALL
            .into_iter()
            .filter(|direction| by_direction[*direction as usize] > 0)
            .map(|direction| format!("{} {}", by_direction[direction as usize], direction.word()))
            .collect();
        let pace = match arrival {
            Arrival::Recorded { time_percent: 100 } => format!("at their times over {span}"),
            Arrival::Recorded { time_percent } => format!("at their times over {span}, stretched to {time_percent} %"),
            _ => "as fast as they are served, without times".to_owned(),
        };
        let folded = if end > region {
            format!("; the list reaches to {end}, and addresses beyond {region} were folded into it")
        } else {
            String::new()
        };
        format!("replayed: {}, {count} requests ({}) {pace}{folded}", self.source, parts.join(", "))
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
            return Err((reason, "use a larger part of the target, or fold the addresses into it (--fold)".into()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, Region, Rw};

    fn request(at: u64, direction: Direction, offset: u64, length: u32) -> ReplayRequest {
        ReplayRequest { at: Nanos(at), direction, offset: Bytes(offset), length }
    }

    fn reads(list: &[(u64, u64, u32)]) -> Vec<ReplayRequest> {
        list.iter().map(|r| request(r.0, Direction::Read, r.1, r.2)).collect()
    }

    fn job(requests: Vec<ReplayRequest>, end: ReplayEnd) -> Job {
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        let replay = Some(Replay::new("a.csv", requests, end, Beyond::Refuse));
        Job { replay, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) }
    }

    #[test]
    fn lists_that_cannot_be_played_are_refused() {
        let good = || reads(&[(0, 4096, 4096), (10, 0, 512)]);
        let once = |requests| job(requests, ReplayEnd::Once);
        let recorded = Arrival::Recorded { time_percent: 100 };
        let same_time = reads(&[(5, 0, 512), (5, 512, 512)]);
        let trims = || vec![request(0, Direction::Trim, 0, 4096)];
        let again = Job { runtime: Some(Nanos::secs(1)), ..job(same_time, ReplayEnd::Loop) };
        let extents = vec![vec![Region { offset: Bytes::ZERO, length: Bytes::kib(4) }]];
        let scatter = Pattern { scatter: false, ..Pattern::default() };
        for (bad, says) in [
            (once(vec![]), "0 requests"),
            (Job { numjobs: 3, ..once(good()) }, "2 requests for 3 threads"),
            (once(reads(&[(0, 0, 0)])), "or empty"),
            (once(reads(&[(0, 100, 512)])), "in parts of 4B"),
            (once(reads(&[(0, 0, 8192)])), "set bs to 8192"),
            (once(reads(&[(0, 1 << 20, 512)])), "a.csv reaches to"),
            (once(reads(&[(0, u64::MAX - 511, 512)])), "a.csv reaches to"),
            (once(trims()), "a.csv writes or trims and the job is randread"),
            (job(good(), ReplayEnd::Loop), "neither a run time"),
            (Job { passes: Some(2), ..once(good()) }, "played once has no passes"),
            (Job { arrival: recorded, ..again }, "the same time"),
            (Job { arrival: recorded, replay: None, passes: Some(1), ..once(good()) }, "without a list"),
            (Job { pattern: scatter, ..once(good()) }, "its own order"),
            (Job { rw: Rw::Read, extents, ..once(good()) }, "its own order"),
        ] {
            let text = bad.validate(Bytes(512), Bytes::mib(1)).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(text.contains(says), "{says}: {text}");
        }
        for works in [
            once(good()),
            Job { rw: Rw::RandRw, ..once(trims()) },
            Job { arrival: recorded, passes: Some(2), ..job(good(), ReplayEnd::Loop) },
        ] {
            assert_eq!(works.validate(Bytes(512), Bytes::mib(1)), Ok(()));
        }
        assert!(Job { rw: Rw::RandRw, ..once(trims()) }.trims() && !once(good()).trims());
    }

    #[test]
    fn a_stored_list_is_known_again_and_not_played() {
        let kept = job(reads(&[(30, 4096, 4096), (10, 0, 512), (20, 512, 512)]), ReplayEnd::Once);
        let summary = *kept.replay.as_ref().expect("a list").summary();
        assert_eq!((summary.count, summary.end, summary.grain), (3, Bytes::kib(8), Bytes(512)));
        assert_eq!((summary.span, summary.length_max, summary.by_direction), (Nanos(20), 4096, [3, 0, 0]));
        let text = toml::to_string(&kept).expect("text");
        let back: Job = toml::from_str(&text).expect("a job");
        assert_eq!(back, kept);
        let refused = back.validate(Bytes(512), Bytes::mib(1)).expect_err("no requests").to_string();
        assert!(refused.contains("of which 0 are here"), "{refused}");
        let other = job(reads(&[(30, 4096, 4096), (10, 0, 512), (20, 1024, 512)]), ReplayEnd::Once);
        assert_ne!(other, kept);
    }

    #[test]
    fn a_list_says_what_is_replayed() {
        let mut requests = reads(&[(0, 0, 4096), (10, 8192, 512)]);
        requests.push(request(2_000_000, Direction::Trim, 4096, 4096));
        let list = Replay::new("a.csv (msr)", requests, ReplayEnd::Once, Beyond::Fold);
        assert_eq!(list.bytes(), [Bytes(4608), Bytes::ZERO, Bytes(4096)]);
        let recorded = |time_percent| Arrival::Recorded { time_percent };
        assert_eq!(
            list.sentence(recorded(100), Bytes::mib(1)),
            "replayed: a.csv (msr), 3 requests (2 read, 1 trim) at their times over 2 ms"
        );
        assert!(list.sentence(recorded(50), Bytes::mib(1)).ends_with("over 2 ms, stretched to 50 %"));
        let folded = list.sentence(Arrival::Closed, Bytes::kib(8));
        assert!(folded.contains("without times; the list reaches to"), "{folded}");
        assert!(folded.ends_with("addresses beyond 8 KiB were folded into it"), "{folded}");
    }

    #[test]
    fn a_turn_takes_the_span_and_one_mean_gap() {
        let period = |list: &[(u64, u64, u32)]| Replay::new("x", reads(list), ReplayEnd::Loop, Beyond::Fold).period();
        assert_eq!(period(&[(100, 0, 512), (130, 0, 512), (110, 0, 512)]), Nanos(45));
        assert_eq!(period(&[(7, 0, 512)]), Nanos(0));
    }
}
