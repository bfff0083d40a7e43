//! Sequential reads: a bounded table of streams, served from DRAM at the rate of the flash behind it.

use crate::streams::Streams;
use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::ReadAheadModel;

/// Serves sequential reads.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    streams: Streams,
    hit_time: Ps,
    hit: PerByte,
    rate: PerByte,
    server: Server,
}

impl ReadAhead {
    /// For a job of `random` offsets, which has no streams to follow.
    pub(crate) fn new(p: &ReadAheadModel, random: bool) -> Self {
        ReadAhead {
            streams: Streams::new(if random { 0 } else { p.streams.value as usize }),
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
        ReadAhead::new(
            &ReadAheadModel {
                streams: assumed(streams),
                hit_time: assumed(Nanos(7_000)),
                hit_rate: assumed(BytesPerSecond(2e9)),
                rate: assumed(BytesPerSecond(1e9)),
            },
            false,
        )
    }

    #[test]
    fn serves_at_its_rate() {
        let mut r = table(1);
        assert_eq!(r.serve(0, 1000), 1_000_000 + 7_000_000 + 500_000);
        assert_eq!(r.serve(0, 1000), 2_000_000 + 7_000_000 + 500_000);
    }
}
