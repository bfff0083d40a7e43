//! Sequential reads: a bounded table of streams, served from DRAM at the rate of the flash behind it.

use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::ReadAheadModel;

/// Follows sequential streams and serves them.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    streams: Vec<Stream>,
    streams_max: usize,
    hit_time: Ps,
    rate: PerByte,
    server: Server,
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    next_offset: u64,
    used: u64,
}

impl ReadAhead {
    pub(crate) fn new(p: &ReadAheadModel) -> Self {
        ReadAhead {
            streams: Vec::new(),
            streams_max: p.streams.value as usize,
            hit_time: ps(p.hit_time.value),
            rate: PerByte::of(p.rate.value),
            server: Server::default(),
            clock: 0,
        }
    }

    /// Whether a read continues a known stream. A read that does not may begin one and takes the
    /// place of the stream that was used longest ago.
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

    /// When the data of a hit, asked for at `at`, is ready for the link.
    #[inline]
    pub(crate) fn serve(&mut self, at: Ps, bytes: u64) -> Ps {
        self.server.serve(at, self.rate.time(bytes)) + self.hit_time
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
        assert_eq!(r.serve(0, 1000), 1_000_000 + 7_000_000);
        assert_eq!(r.serve(0, 1000), 2_000_000 + 7_000_000);
    }
}
