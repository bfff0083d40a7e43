//! What is in a trace, for people: how much of what, how fast, how large, how sequential, how aligned.

use flashlab_spec::{Direction, ReplayRequest};
use flashlab_units::{Bytes, BytesPerSecond, Iops, Nanos};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A request is sequential when it begins where one of so many before it, of its direction, ended:
/// as many streams as a busy host interleaves.
const STREAMS: usize = 32;
/// Unit of the footprint: the smallest mapping unit of common drives, and the page of hosts.
const BLOCK: u64 = 4096;
/// Sizes that are named; the others are counted together.
const SIZES_SHOWN: usize = 6;

/// A size with its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeCount {
    /// Bytes a request.
    pub size: Bytes,
    /// Requests of that size.
    pub count: u64,
}

/// The requests of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionSummary {
    /// Requests.
    pub requests: u64,
    /// Bytes in all of them.
    pub bytes: Bytes,
    /// Requests that begin where one of the 32 before them in this direction ended.
    pub sequential: u64,
    /// Sizes, the most frequent first.
    pub sizes: Vec<SizeCount>,
    /// Requests of which offset and length are multiples of [`TraceSummary::ALIGNMENTS`], in its order.
    pub aligned: [u64; 5],
    /// Distinct blocks of 4 KiB that are touched, in bytes; exact.
    pub footprint: Bytes,
}

/// What is in a list of requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceSummary {
    /// Reads.
    pub read: DirectionSummary,
    /// Writes.
    pub write: DirectionSummary,
    /// Trims.
    pub trim: DirectionSummary,
    /// From the first request to the last.
    pub span: Nanos,
    /// Distinct blocks of 4 KiB that are read or written, in bytes; exact.
    pub footprint: Bytes,
    /// Byte after the last one that is touched.
    pub end: Bytes,
}

impl DirectionSummary {
    /// The part of the requests that `count` is, 0 to 1; `None` without requests.
    pub fn share(&self, count: u64) -> Option<f64> {
        (self.requests > 0).then(|| count as f64 / self.requests as f64)
    }
}

impl TraceSummary {
    /// The indirection units that alignment is counted for.
    pub const ALIGNMENTS: [Bytes; 5] = [Bytes::kib(4), Bytes::kib(8), Bytes::kib(16), Bytes::kib(32), Bytes::kib(64)];

    /// Counts requests that are in the order of their times.
    pub fn of(requests: &[ReplayRequest]) -> Self {
        let mut tallies: [Tally; 3] = Default::default();
        for request in requests {
            tallies[request.direction as usize].add(request);
        }
        let [mut read, mut write, mut trim] = tallies;
        let (reads, writes, trims) = (read.blocks.total(), write.blocks.total(), trim.blocks.total());
        read.blocks.join(&mut write.blocks);
        let at = |request: Option<&ReplayRequest>| request.map_or(Nanos::ZERO, |r| r.at);
        let end = requests.iter().map(|r| r.offset.0.saturating_add(u64::from(r.length))).max();
        TraceSummary {
            read: read.finish(reads),
            write: write.finish(writes),
            trim: trim.finish(trims),
            span: at(requests.last()).saturating_sub(at(requests.first())),
            footprint: read.blocks.total(),
            end: Bytes(end.unwrap_or(0)),
        }
    }

    /// The requests of one direction.
    pub const fn of_direction(&self, direction: Direction) -> &DirectionSummary {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// All requests.
    pub const fn requests(&self) -> u64 {
        self.read.requests + self.write.requests + self.trim.requests
    }

    /// Requests in the span; `None` where all have one time.
    pub fn iops(&self) -> Option<Iops> {
        Iops::over(self.requests(), self.span)
    }

    /// Bytes read and written in the span; `None` where all have one time.
    pub fn throughput(&self) -> Option<BytesPerSecond> {
        Bytes(self.read.bytes.0.saturating_add(self.write.bytes.0)).over(self.span)
    }
}

/// Counts one direction.
#[derive(Default)]
struct Tally {
    summary: DirectionSummary,
    sizes: BTreeMap<u32, u64>,
    ends: VecDeque<u64>,
    blocks: Blocks,
}

impl Tally {
    fn add(&mut self, request: &ReplayRequest) {
        let (offset, length) = (request.offset.0, u64::from(request.length));
        let end = offset.saturating_add(length);
        self.summary.requests += 1;
        self.summary.bytes = Bytes(self.summary.bytes.0.saturating_add(length));
        *self.sizes.entry(request.length).or_default() += 1;
        for (count, unit) in self.summary.aligned.iter_mut().zip(TraceSummary::ALIGNMENTS) {
            *count += u64::from((offset | length).is_multiple_of(unit.0));
        }
        if let Some(stream) = self.ends.iter().rposition(|e| *e == offset) {
            self.summary.sequential += 1;
            self.ends.remove(stream);
        } else if self.ends.len() == STREAMS {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
        if length > 0 {
            self.blocks.add(offset / BLOCK, end.div_ceil(BLOCK));
        }
    }

    fn finish(&self, footprint: Bytes) -> DirectionSummary {
        let mut sizes: Vec<SizeCount> =
            self.sizes.iter().map(|(size, count)| SizeCount { size: Bytes(u64::from(*size)), count: *count }).collect();
        sizes.sort_by_key(|s| std::cmp::Reverse(s.count));
        DirectionSummary { sizes, footprint, ..self.summary.clone() }
    }
}

/// A set of blocks as ranges: at most one a request, fewer where requests touch or overlap.
#[derive(Debug, Default)]
struct Blocks {
    ranges: Vec<(u64, u64)>,
    /// So many ranges are in order and apart.
    merged: usize,
}

/// Ranges beyond the merged ones at which merging begins anew, at least.
const MERGE_MIN: usize = 1 << 10;

impl Blocks {
    fn add(&mut self, first: u64, after: u64) {
        if self.ranges.len() > self.merged
            && let Some(last) = self.ranges.last_mut()
            && first >= last.0
            && first <= last.1
        {
            last.1 = last.1.max(after);
            return;
        }
        self.ranges.push((first, after));
        // Twice as many each time, so that sorting costs a constant number of steps a range.
        if self.ranges.len() - self.merged >= self.merged.max(MERGE_MIN) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        self.merged = self.ranges.len();
    }

    fn join(&mut self, other: &mut Blocks) {
        self.ranges.append(&mut other.ranges);
    }

    fn total(&mut self) -> Bytes {
        self.merge();
        let blocks: u64 = self.ranges.iter().map(|(first, after)| after - first).sum();
        Bytes(blocks.saturating_mul(BLOCK))
    }
}

/// A line a direction, then the whole; no result of a run, only what the trace says.
impl fmt::Display for TraceSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for direction in Direction::ALL {
            let of = self.of_direction(direction);
            if of.requests > 0 {
                writeln!(f, "{}: {of}", direction.word())?;
            }
        }
        write!(f, "all: {} requests", self.requests())?;
        if let (Some(iops), Some(throughput)) = (self.iops(), self.throughput()) {
            write!(f, " in {}: {iops}, {throughput}", self.span)?;
        }
        write!(f, "; touches {} (reads and writes, 4 KiB blocks) below {}", self.footprint, self.end)
    }
}

impl fmt::Display for DirectionSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |count: u64| self.share(count).unwrap_or(0.0) * 100.0;
        write!(f, "{} requests, {}, {:.1} % sequential; sizes", self.requests, self.bytes, percent(self.sequential))?;
        for s in self.sizes.iter().take(SIZES_SHOWN) {
            write!(f, " {} {:.1} %", s.size.block_name(), percent(s.count))?;
        }
        let more: u64 = self.sizes.iter().skip(SIZES_SHOWN).map(|s| s.count).sum();
        if more > 0 {
            write!(f, " others {:.1} %", percent(more))?;
        }
        write!(f, "; aligned to")?;
        for (count, unit) in self.aligned.iter().zip(TraceSummary::ALIGNMENTS) {
            write!(f, " {} {:.1} %", unit.block_name(), percent(*count))?;
        }
        write!(f, "; touches {}", self.footprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn request(at: u64, direction: Direction, offset: u64, length: u32) -> ReplayRequest {
        ReplayRequest { at: Nanos(at), direction, offset: Bytes(offset), length }
    }

    #[test]
    fn a_small_list() {
        let (r, w, t) = (Direction::Read, Direction::Write, Direction::Trim);
        let list = [
            request(0, r, 0, 4096),
            request(10, r, 4096, 4096),
            request(20, w, 1 << 20, 65_536),
            request(30, r, 8192, 512),
            request(40, w, 0, 512),
            request(50, t, 0, 1 << 20),
            request(1_000_000_000, r, 0, 4096),
        ];
        let s = TraceSummary::of(&list);
        assert_eq!((s.read.requests, s.read.bytes, s.read.sequential), (4, Bytes(12_800), 2));
        assert_eq!(s.read.sizes[0], SizeCount { size: Bytes::kib(4), count: 3 });
        assert_eq!((s.read.aligned, s.write.aligned), ([3, 0, 0, 0, 0], [1, 1, 1, 1, 1]));
        assert_eq!((s.read.footprint, s.write.footprint), (Bytes::kib(12), Bytes::kib(68)));
        assert_eq!((s.trim.footprint, s.footprint, s.end), (Bytes::mib(1), Bytes::kib(76), Bytes(1_114_112)));
        assert_eq!((s.span, s.iops()), (Nanos::secs(1), Some(Iops(7.0))));
        assert_eq!(s.throughput(), Some(BytesPerSecond(78_848.0)));
        let text = s.to_string();
        for says in ["read: 4 requests", "4k 75.0 % 512b 25.0 %", "all: 7 requests in 1 s: 7 IOPS", "touches 76 KiB"] {
            assert!(text.contains(says), "{says}: {text}");
        }
    }

    #[test]
    fn an_empty_list_has_no_rate() {
        let s = TraceSummary::of(&[]);
        assert_eq!((s.requests(), s.iops(), s.throughput(), s.read.share(0)), (0, None, None, None));
    }

    #[test]
    fn interleaved_streams_are_sequential_up_to_the_bound() {
        let streams = |n: u64| {
            let list: Vec<_> =
                (0..4 * n).map(|i| request(i, Direction::Read, (i % n) << 30 | (i / n) << 12, 4096)).collect();
            TraceSummary::of(&list).read.sequential
        };
        let within = STREAMS as u64;
        assert_eq!((streams(within), streams(within + 1)), (3 * within, 0));
    }

    proptest! {
        /// Against a set of every block, and across several merges.
        #[test]
        fn the_footprint_is_exact(list in prop::collection::vec((0_u64..500, 0_u64..2000, 1_u32..40_000), 0..200), cycles in 1_u64..40) {
            let mut expected = BTreeSet::new();
            let mut requests = Vec::new();
            for cycle in 0..cycles {
                for (at, offset, length) in &list {
                    requests.push(request(*at, Direction::Write, offset * 512 + cycle % 3 * 7_000_000, *length));
                }
            }
            for r in requests.iter().take(3 * list.len()) {
                expected.extend(r.offset.0 / BLOCK..(r.offset.0 + u64::from(r.length)).div_ceil(BLOCK));
            }
            let s = TraceSummary::of(&requests);
            prop_assert_eq!(s.footprint, Bytes(expected.len() as u64 * BLOCK));
            prop_assert_eq!(s.write.footprint, s.footprint);
        }
    }
}
