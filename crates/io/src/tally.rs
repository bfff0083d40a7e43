//! What one thread counts while it runs: latencies by direction, one-second intervals, the time
//! integral of the number in flight, and errors.
//!
//! An I/O belongs to the measured window if it *completes* inside it: after the ramp, before the
//! end. Each latency is recorded once, into the histogram of the current second; at the second's
//! end that one is merged into the total and sent away sparse, which allocates once a second and
//! never per I/O. The integral uses only the time stamps of batches and the number in flight, never
//! a latency, so that Little's law checks one against the other.

use flashlab_samples::{IntervalDirection, LatencyHistogram};
use flashlab_units::{Bytes, Nanos};
use std::sync::mpsc::Sender;

/// Length of an interval of the series.
pub(crate) const INTERVAL_NS: u64 = 1_000_000_000;
/// Kinds of errors that are kept apart; the kernel has no more error numbers that I/O returns.
const ERROR_KINDS_MAX: usize = 64;

/// The measured window in ns since the job's start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// End of the ramp.
    pub start_ns: u64,
    /// End of the run time; `u64::MAX` without one.
    pub end_ns: u64,
}

/// One second of one thread.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    /// Whole seconds since the start of the measured window.
    pub index: u64,
    pub read: IntervalDirection,
    pub write: IntervalDirection,
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorRecord {
    pub kind: String,
    pub count: u64,
    pub first_offset: Option<u64>,
    /// When the first one came, in ns since the job's start.
    pub first_ns: u64,
}

/// One direction's counts.
#[derive(Debug, Default)]
pub(crate) struct DirectionTally {
    pub total: LatencyHistogram,
    pub bytes: u64,
    interval: LatencyHistogram,
    interval_bytes: u64,
}

impl DirectionTally {
    #[inline]
    fn record(&mut self, latency_ns: u64, length: u32) {
        self.interval.record(Nanos(latency_ns));
        self.interval_bytes += u64::from(length);
    }

    /// Moves the interval into the total and hands it out.
    fn roll(&mut self) -> IntervalDirection {
        let part = IntervalDirection {
            ios: self.interval.count(),
            bytes: Bytes(self.interval_bytes),
            lat: self.interval.to_sparse(),
        };
        self.total.merge(&self.interval);
        self.bytes += self.interval_bytes;
        self.interval.clear();
        self.interval_bytes = 0;
        part
    }
}

/// Everything one thread counts.
#[derive(Debug)]
pub(crate) struct Tally {
    window: Window,
    /// Whether completions of the current batch lie inside the window.
    counting: bool,
    read: DirectionTally,
    write: DirectionTally,
    interval_index: u64,
    interval_end_ns: u64,
    in_flight: u64,
    in_flight_ns: u128,
    changed_ns: u64,
    errors: Vec<ErrorRecord>,
    intervals: Sender<IntervalPart>,
}

/// What a thread hands back.
#[derive(Debug)]
pub(crate) struct Counts {
    pub read: (LatencyHistogram, u64),
    pub write: (LatencyHistogram, u64),
    /// Number in flight integrated over the window, in I/O × ns.
    pub in_flight_ns: u128,
    /// Length of the thread's measured window.
    pub elapsed_ns: u64,
    pub errors: Vec<ErrorRecord>,
}

impl Tally {
    pub(crate) fn new(window: Window, intervals: Sender<IntervalPart>) -> Self {
        Tally {
            window,
            counting: false,
            read: DirectionTally::default(),
            write: DirectionTally::default(),
            interval_index: 0,
            interval_end_ns: window.start_ns.saturating_add(INTERVAL_NS),
            in_flight: 0,
            in_flight_ns: 0,
            changed_ns: 0,
            errors: Vec::with_capacity(ERROR_KINDS_MAX),
            intervals,
        }
    }

    /// I/Os in the kernel's hands.
    #[cfg(test)]
    fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// `n` I/Os go to the kernel at `now`.
    #[inline]
    pub(crate) fn submitted(&mut self, now: u64, n: u64) {
        self.integrate(now);
        self.in_flight += n;
    }

    /// `n` I/Os came back at `now`; the [`Tally::count`] calls for them follow. True if the run time
    /// is over, so that they don't count.
    #[inline]
    pub(crate) fn reaped(&mut self, now: u64, n: u64) -> bool {
        self.integrate(now);
        self.in_flight -= n;
        if now >= self.interval_end_ns {
            self.roll(now);
        }
        let over = now >= self.window.end_ns;
        self.counting = now >= self.window.start_ns && !over;
        over
    }

    /// Counts one completed I/O of the batch.
    #[inline]
    pub(crate) fn count(&mut self, is_write: bool, latency_ns: u64, length: u32) {
        if self.counting {
            let direction = if is_write { &mut self.write } else { &mut self.read };
            direction.record(latency_ns, length);
        }
    }

    /// Adds one error.
    #[cold]
    pub(crate) fn error(&mut self, kind: String, offset: Option<u64>, now: u64) {
        if let Some(known) = self.errors.iter_mut().find(|e| e.kind == kind) {
            known.count += 1;
        } else if self.errors.len() < ERROR_KINDS_MAX {
            self.errors.push(ErrorRecord { kind, count: 1, first_offset: offset, first_ns: now });
        }
    }

    /// Ends the window at `now`, or where it had ended before; what completes later isn't counted.
    pub(crate) fn close(&mut self, now: u64) {
        self.integrate(now);
        self.window.end_ns = self.window.end_ns.min(now);
        self.counting = false;
    }

    /// What was counted.
    pub(crate) fn finish(mut self, now: u64) -> Counts {
        self.close(now);
        self.roll(now);
        Counts {
            read: (self.read.total, self.read.bytes),
            write: (self.write.total, self.write.bytes),
            in_flight_ns: self.in_flight_ns,
            elapsed_ns: self.window.end_ns.saturating_sub(self.window.start_ns),
            errors: self.errors,
        }
    }

    #[inline]
    fn integrate(&mut self, now: u64) {
        let from = self.changed_ns.max(self.window.start_ns);
        let to = now.min(self.window.end_ns);
        if to > from {
            self.in_flight_ns += u128::from(self.in_flight) * u128::from(to - from);
        }
        self.changed_ns = now;
    }

    /// The current interval is over at `now`; seconds without a completion are left out.
    #[cold]
    fn roll(&mut self, now: u64) {
        let part = IntervalPart { index: self.interval_index, read: self.read.roll(), write: self.write.roll() };
        if part.read.ios + part.write.ios > 0 {
            // The receiver is gone only when the job was given up; then nobody wants the interval.
            let _ = self.intervals.send(part);
        }
        self.interval_index = now.saturating_sub(self.window.start_ns) / INTERVAL_NS;
        self.interval_end_ns = self.window.start_ns + (self.interval_index + 1) * INTERVAL_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const S: u64 = INTERVAL_NS;

    #[test]
    fn ramp_and_late_completions_do_not_count() {
        let (tx, rx) = channel();
        let mut tally = Tally::new(Window { start_ns: 2 * S, end_ns: 4 * S }, tx);
        tally.submitted(0, 4);
        for (at, over) in [(S, false), (2 * S, false), (3 * S + 5, false), (4 * S, true)] {
            assert_eq!(tally.reaped(at, 1), over);
            tally.count(at > 3 * S, 100, 512);
            tally.submitted(at, u64::from(!over));
        }
        assert_eq!(tally.in_flight(), 3);
        let counts = tally.finish(4 * S + 7);
        assert_eq!((counts.read.1, counts.write.1, counts.elapsed_ns), (512, 512, 2 * S));
        assert_eq!((counts.read.0.count(), counts.write.0.count()), (1, 1));
        assert_eq!(counts.in_flight_ns, u128::from(4 * 2 * S));
        let intervals: Vec<_> = rx.try_iter().map(|i| (i.index, i.read.ios, i.write.ios)).collect();
        assert_eq!(intervals, [(0, 1, 0), (1, 0, 1)]);
    }

    #[test]
    fn a_stop_ends_the_window_where_it_was_seen() {
        let (tx, _rx) = channel();
        let mut tally = Tally::new(Window { start_ns: 0, end_ns: u64::MAX }, tx);
        tally.submitted(0, 2);
        tally.close(500);
        tally.reaped(900, 2);
        tally.count(false, 900, 512);
        let counts = tally.finish(1000);
        assert_eq!((counts.elapsed_ns, counts.in_flight_ns, counts.read.0.count()), (500, 1000, 0));
    }

    #[test]
    fn errors_are_counted_by_kind_with_the_first_offset() {
        let (tx, _rx) = channel();
        let mut tally = Tally::new(Window { start_ns: 0, end_ns: 1 }, tx);
        tally.error("EIO".into(), Some(4096), 7);
        tally.error("EIO".into(), Some(0), 8);
        let errors = tally.finish(9).errors;
        assert_eq!(errors, [ErrorRecord { kind: "EIO".into(), count: 2, first_offset: Some(4096), first_ns: 7 }]);
    }
}
