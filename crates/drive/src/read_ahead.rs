//! Sequential reads: followed by stream, served from DRAM at the rate of the flash behind it.
//!
//! There is room for one window of data read ahead. A stream that reads alone finds each request in it.
//! Where streams interleave, each request finds the window of another: its own is read again, and what
//! was read ahead is lost. So many streams at most are read ahead of; the others pay only for what they
//! ask. All of it goes through one engine, so that every request waits for the windows of the others.

use crate::streams::Streams;
use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::ReadAheadModel;

/// Streams that can be told apart: twice the threads of the largest published sweep.
const STREAMS_MAX: usize = 256;
/// A stream that was not read for so many requests of others is no longer read ahead of.
const IDLE_MAX: u64 = 4 * STREAMS_MAX as u64;

/// Serves sequential reads.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    follows: bool,
    detector: Streams,
    /// Where the streams that are read ahead of go on, and when they were read last.
    ahead: Vec<(u64, u64)>,
    ahead_max: usize,
    /// Where the stream goes on whose window is in DRAM.
    window_of: u64,
    requests: u64,
    window: u64,
    window_byte: PerByte,
    miss_time: Ps,
    miss: PerByte,
    hit_time: Ps,
    hit: PerByte,
    rate: PerByte,
    server: Server,
}

/// How a sequential read is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// It is no sequential read: from its dies.
    No,
    /// From DRAM, ready at this time.
    Hit(Ps),
    /// Its window was lost: ready at this time, and as late as a read of flash.
    Missed(Ps),
}

impl ReadAhead {
    /// For a job of `random` offsets, which has no streams to follow.
    pub(crate) fn new(p: &ReadAheadModel, random: bool) -> Self {
        let follows = !random && p.streams.value > 0;
        ReadAhead {
            follows,
            detector: Streams::new(if follows { STREAMS_MAX } else { 0 }),
            ahead: Vec::new(),
            ahead_max: p.streams.value as usize,
            window_of: u64::MAX,
            requests: 0,
            window: p.window.value.0,
            window_byte: PerByte::of(p.window_rate.value),
            miss_time: ps(p.miss_time.value),
            miss: PerByte::of(p.miss_rate.as_ref().unwrap_or(&p.rate).value),
            hit_time: ps(p.hit_time.value),
            hit: PerByte::of(p.hit_rate.value),
            rate: PerByte::of(p.rate.value),
            server: Server::default(),
        }
    }

    /// Whether it follows any streams, so that some reads may come out of DRAM.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// A read of `bytes` at `offset`, decoded at `at`.
    #[inline]
    pub(crate) fn read(&mut self, at: Ps, offset: u64, bytes: u64) -> Served {
        let alone = self.window_of == offset || bytes >= self.window;
        let follows = self.detector.continues(offset, bytes);
        self.window_of = if self.ahead_max > 0 { offset + bytes } else { u64::MAX };
        if !follows {
            return Served::No;
        }
        self.requests += 1;
        if alone {
            return Served::Hit(self.server.serve(at, self.rate.time(bytes)) + self.hit_time + self.hit.time(bytes));
        }
        let lost = if self.reads_ahead_of(offset, bytes) { self.window - bytes } else { 0 };
        let busy = self.window_byte.time(lost) + self.miss_time + self.miss.time(bytes);
        Served::Missed(self.server.serve(at, busy))
    }

    /// Whether the stream at `offset` is one of those that are read ahead of. A new one becomes one if
    /// there is room, or if another has been idle for long.
    fn reads_ahead_of(&mut self, offset: u64, bytes: u64) -> bool {
        let now = (offset + bytes, self.requests);
        if let Some(stream) = self.ahead.iter_mut().find(|(next, _)| *next == offset) {
            *stream = now;
            return true;
        }
        if self.ahead.len() < self.ahead_max {
            self.ahead.push(now);
            return true;
        }
        let idle = self.ahead.iter_mut().find(|(_, read)| self.requests - read > IDLE_MAX);
        idle.map(|stream| *stream = now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Source, Sourced};
    use flashlab_units::{Bytes, BytesPerSecond, Nanos};

    fn table(streams: u32) -> ReadAhead {
        fn assumed<T>(value: T) -> Sourced<T> {
            Sourced { value, source: Source::Assumed, note: String::new() }
        }
        let model = ReadAheadModel {
            streams: assumed(streams),
            window: assumed(Bytes(10_000)),
            window_rate: assumed(BytesPerSecond(1e9)),
            miss_time: assumed(Nanos(500)),
            miss_rate: None,
            hit_time: assumed(Nanos(7_000)),
            hit_rate: assumed(BytesPerSecond(2e9)),
            rate: assumed(BytesPerSecond(1e9)),
        };
        ReadAhead::new(&model, false)
    }

    const US: Ps = 1_000_000;

    #[test]
    fn one_stream_is_served_at_its_rate() {
        let mut r = table(1);
        assert_eq!(r.read(0, 0, 1000), Served::No, "one request is no stream");
        assert_eq!(r.read(0, 1000, 1000), Served::Hit(US + 7 * US + US / 2));
        assert_eq!(r.read(0, 2000, 1000), Served::Hit(2 * US + 7 * US + US / 2));
    }

    #[test]
    fn interleaved_streams_read_their_windows_for_nothing() {
        let mut r = table(2);
        let mut at = [0, 1 << 20, 1 << 21];
        let mut next = |stream: usize, bytes: u64| {
            at[stream] += bytes;
            r.read(0, at[stream] - bytes, bytes)
        };
        (0..3).for_each(|stream| assert_eq!(next(stream, 1000), Served::No));
        // 9,000 bytes of the window at 1 GB/s, 0.5 us, and 1,000 bytes at 1 GB/s.
        assert_eq!((next(0, 1000), next(1, 1000)), (Served::Missed(21 * US / 2), Served::Missed(21 * US)));
        assert_eq!(next(2, 1000), Served::Missed(45 * US / 2), "a third is not read ahead of");
        assert!(matches!(next(0, 10_000), Served::Hit(_)), "a whole window loses nothing");
    }

    #[test]
    fn without_streams_nothing_is_followed() {
        let mut r = table(0);
        assert_eq!((r.read(0, 0, 10), r.read(0, 10, 10)), (Served::No, Served::No));
    }
}
