//! Sequential reads: a bounded table of streams, served from DRAM at the rate of the flash behind it.

use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::ReadAheadModel;

/// Follows sequential streams, at most so many at once.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    streams: Vec<Stream>,
    streams_max: usize,
    clock: u64,
}

/// Serves sequential reads.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    streams: Streams,
    hit_time: Ps,
    hit: PerByte,
    rate: PerByte,
    server: Server,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    next_offset: u64,
    used: u64,
}

impl Streams {
    /// A table for `streams_max` streams; with 0 nothing is ever known.
    pub(crate) fn new(streams_max: usize) -> Self {
        Streams { streams: Vec::new(), streams_max, clock: 0 }
    }

    /// Whether an I/O continues a known stream. One that does not may begin one and takes the place of the stream that was used longest ago.
    #[inline]
    pub(crate) fn continues(&mut self, offset: u64, length: u64) -> bool {
        if self.streams_max == 0 {
            return false;
        }
        self.clock += 1;
        let found = self.streams.iter().position(|s| s.next_offset == offset);
        let entry = Stream { next_offset: offset + length, used: self.clock };
        match found {
            Some(i) => self.streams[i] = entry,
            None if self.streams.len() < self.streams_max => self.streams.push(entry),
            None => {
                if let Some(oldest) = self.streams.iter_mut().min_by_key(|s| s.used) {
                    *oldest = entry;
                }
            }
        }
        found.is_some()
    }
}

impl ReadAhead {
    pub(crate) fn new(p: &ReadAheadModel) -> Self {
        ReadAhead {
            streams: Streams::new(p.streams.value as usize),
            hit_time: ps(p.hit_time.value),
            hit: PerByte::of(p.hit_rate.value),
            rate: PerByte::of(p.rate.value),
            server: Server::default(),
        }
    }

    /// Whether a read continues a known stream, so that it is served from DRAM.
    #[inline]
    pub(crate) fn continues(&mut self, offset: u64, length: u64) -> bool {
        self.streams.continues(offset, length)
    }

    /// When the data of a hit, asked for at `at`, is ready for the link.
    #[inline]
    pub(crate) fn serve(&mut self, at: Ps, bytes: u64) -> Ps {
        self.server.serve(at, self.rate.time(bytes)) + self.hit_time + self.hit.time(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Source, Sourced};
    use flashlab_units::{BytesPerSecond, Nanos};

    fn table(streams: u32) -> ReadAhead {
        fn assumed<T>(value: T) -> Sourced<T> {
            Sourced { value, source: Source::Assumed, note: String::new() }
        }
        ReadAhead::new(&ReadAheadModel {
            streams: assumed(streams),
            hit_time: assumed(Nanos(7_000)),
            hit_rate: assumed(BytesPerSecond(2e9)),
            rate: assumed(BytesPerSecond(1e9)),
        })
    }

    #[test]
    fn follows_as_many_streams_as_it_has_room_for() {
        let mut two = table(2);
        assert!(!two.continues(0, 10) && !two.continues(1000, 10));
        assert!(two.continues(10, 10) && two.continues(1010, 10) && two.continues(20, 10));
        assert!(!two.continues(5000, 10), "a third stream is not known");
        assert!(!two.continues(1020, 10), "and it took the place of the one used longest ago");
        let mut none = table(0);
        assert!(!none.continues(0, 10) && !none.continues(10, 10));
    }

    #[test]
    fn serves_at_its_rate() {
        let mut r = table(1);
        assert_eq!(r.serve(0, 1000), 1_000_000 + 7_000_000 + 500_000);
        assert_eq!(r.serve(0, 1000), 2_000_000 + 7_000_000 + 500_000);
    }
}
