//! What one thread counts while it runs: latencies by direction, a series of intervals, the time
//! integral of the number in flight, and errors.
//!
//! An I/O belongs to the measured window if it *completes* inside it: after the ramp, before the
//! end. Each latency is recorded once, into the recorder of the current interval; at the interval's
//! end that one is added to the total and sent away sparse, which allocates once an interval and
//! never per I/O. The integral uses only the time stamps of batches and the number in flight, never
//! a latency, so that Little's law checks one against the other.

use crate::worker::Meter;
use flashlab_samples::{ERROR_ADDRESSES_MAX, IntervalDirection, LatencyHistogram, LatencyRecorder};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::Direction;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

/// Kinds of errors that are kept apart; the kernel has no more error numbers that I/O returns.
const ERROR_KINDS_MAX: usize = 64;

/// The measured window in ns since the job's start, and how its series is cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// End of the ramp.
    pub start_ns: u64,
    /// End of the run time; `u64::MAX` without one.
    pub end_ns: u64,
    /// Length of an interval of the series.
    pub interval_ns: u64,
}

/// Which latencies are kept beside the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Kept {
    /// Service time, in an open loop.
    pub service: bool,
    /// Submission apart from completion.
    pub slat: bool,
}

/// One interval of one thread.
#[derive(Debug)]
pub(crate) struct IntervalPart {
    /// Whole intervals since the start of the measured window.
    pub index: u64,
    /// In the order of [`Direction::ALL`].
    pub directions: [IntervalDirection; 3],
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorRecord {
    pub kind: String,
    pub count: u64,
    pub first_offset: Option<u64>,
    /// Offset and count of the first ones.
    pub addresses: Vec<(u64, u64)>,
    /// When the first one came, in ns since the job's start.
    pub first_ns: u64,
}

/// One kind of latency: the current interval, and what came before.
#[derive(Debug, Default)]
struct Latency {
    interval: LatencyRecorder,
    total: LatencyHistogram,
}

/// One direction's counts.
#[derive(Debug, Default)]
struct DirectionTally {
    lat: Latency,
    service: Option<Latency>,
    slat: Option<Latency>,
    bytes: u64,
    interval_bytes: u64,
}

impl DirectionTally {
    fn new(kept: Kept) -> Self {
        DirectionTally {
            service: kept.service.then(Latency::default),
            slat: kept.slat.then(Latency::default),
            ..Self::default()
        }
    }

    /// Moves the interval into the total and hands it out.
    fn roll(&mut self) -> IntervalDirection {
        let lat = self.lat.interval.drain_into(&mut self.lat.total);
        for other in [&mut self.service, &mut self.slat].into_iter().flatten() {
            other.interval.drain_into(&mut other.total);
        }
        self.bytes += self.interval_bytes;
        IntervalDirection { ios: lat.count(), bytes: Bytes(std::mem::take(&mut self.interval_bytes)), lat }
    }

    fn into_counts(self) -> DirectionCounts {
        let total = |latency: Option<Latency>| latency.map(|l| l.total);
        DirectionCounts { lat: self.lat.total, service: total(self.service), slat: total(self.slat), bytes: self.bytes }
    }
}

/// One direction's counts of a whole window.
#[derive(Debug, Default)]
pub(crate) struct DirectionCounts {
    pub lat: LatencyHistogram,
    pub service: Option<LatencyHistogram>,
    pub slat: Option<LatencyHistogram>,
    pub bytes: u64,
}

/// Everything one thread counts.
#[derive(Debug)]
pub(crate) struct Tally {
    window: Window,
    /// Whether completions of the current batch lie inside the window.
    counting: bool,
    /// In the order of [`Direction::ALL`].
    directions: [DirectionTally; 3],
    flushes: Latency,
    interval_index: u64,
    interval_end_ns: u64,
    /// Below zero only between [`Tally::reaped`] and [`Tally::not_reaped`].
    in_flight: i64,
    in_flight_ns: u128,
    changed_ns: u64,
    errors: Vec<ErrorRecord>,
    intervals: Sender<IntervalPart>,
    meter: Arc<Meter>,
}

/// What a thread hands back.
#[derive(Debug)]
pub(crate) struct Counts {
    /// In the order of [`Direction::ALL`].
    pub directions: [DirectionCounts; 3],
    /// Times of fsync and fdatasync.
    pub flushes: LatencyHistogram,
    /// Number in flight integrated over the window, in I/O × ns.
    pub in_flight_ns: u128,
    /// Length of the thread's measured window.
    pub elapsed_ns: u64,
    /// Of the time before it.
    pub ramp_ns: u64,
    pub errors: Vec<ErrorRecord>,
    /// What else people should know.
    pub remarks: Vec<String>,
}

impl Tally {
    pub(crate) fn new(window: Window, kept: Kept, intervals: Sender<IntervalPart>, meter: Arc<Meter>) -> Self {
        Tally {
            window,
            counting: false,
            directions: std::array::from_fn(|_| DirectionTally::new(kept)),
            flushes: Latency::default(),
            interval_index: 0,
            interval_end_ns: window.start_ns.saturating_add(window.interval_ns),
            in_flight: 0,
            in_flight_ns: 0,
            changed_ns: 0,
            errors: Vec::with_capacity(ERROR_KINDS_MAX),
            intervals,
            meter,
        }
    }

    /// End of the window; `u64::MAX` without one.
    pub(crate) fn end_ns(&self) -> u64 {
        self.window.end_ns
    }

    /// I/Os in the kernel's hands.
    #[cfg(test)]
    fn in_flight(&self) -> i64 {
        self.in_flight
    }

    /// `n` I/Os go to the kernel at `now`.
    #[inline]
    pub(crate) fn submitted(&mut self, now: u64, n: u64) {
        self.integrate(now);
        self.in_flight += n as i64;
    }

    /// An I/O that was due at `due_ns` and goes to the kernel at `now` was in flight already: an open
    /// loop's latency counts from there, and so does the number in flight.
    #[inline]
    pub(crate) fn waited(&mut self, due_ns: u64, now: u64) {
        let from = due_ns.max(self.window.start_ns);
        self.in_flight_ns += u128::from(now.min(self.window.end_ns).saturating_sub(from));
    }

    /// `n` I/Os came back at `now`; the [`Tally::count`] calls for them follow. True if the run time
    /// is over, so that they don't count.
    #[inline]
    pub(crate) fn reaped(&mut self, now: u64, n: u64) -> bool {
        self.integrate(now);
        self.in_flight -= n as i64;
        if now >= self.interval_end_ns {
            self.roll(now);
        }
        let over = now >= self.window.end_ns;
        self.counting = now >= self.window.start_ns && !over;
        over
    }

    /// One of those that came back was no I/O; said in the same moment.
    #[inline]
    pub(crate) fn not_reaped(&mut self) {
        self.in_flight += 1;
    }

    /// Counts one completed I/O of the batch.
    #[inline]
    pub(crate) fn count(&mut self, direction: Direction, latency_ns: u64, length: u32) {
        if self.counting {
            let tally = &mut self.directions[direction as usize];
            tally.lat.interval.record(Nanos(latency_ns));
            tally.interval_bytes += u64::from(length);
        }
    }

    /// Adds the service time of the I/O that is being counted.
    #[inline]
    pub(crate) fn service(&mut self, direction: Direction, service_ns: u64) {
        if self.counting
            && let Some(service) = &mut self.directions[direction as usize].service
        {
            service.interval.record(Nanos(service_ns));
        }
    }

    /// Adds the time that submitting the I/O that is being counted took.
    #[inline]
    pub(crate) fn slat(&mut self, direction: Direction, slat_ns: u64) {
        if self.counting
            && let Some(slat) = &mut self.directions[direction as usize].slat
        {
            slat.interval.record(Nanos(slat_ns));
        }
    }

    /// Counts one fsync or fdatasync.
    #[inline]
    pub(crate) fn flushed(&mut self, latency_ns: u64) {
        if self.counting {
            self.flushes.interval.record(Nanos(latency_ns));
        }
    }

    /// Adds one error.
    #[cold]
    pub(crate) fn error(&mut self, kind: String, offset: Option<u64>, now: u64) {
        if let Some(known) = self.errors.iter_mut().find(|e| e.kind == kind) {
            known.count += 1;
            offset.into_iter().for_each(|offset| add_address(&mut known.addresses, offset, 1));
        } else if self.errors.len() < ERROR_KINDS_MAX {
            let addresses = offset.into_iter().map(|offset| (offset, 1)).collect();
            self.errors.push(ErrorRecord { kind, count: 1, first_offset: offset, addresses, first_ns: now });
        }
    }

    /// Ends the window at `now`, or where it had ended before; what completes later isn't counted. If I/Os left
    /// after `now`, which they do while a batch that came back is gone through, it ends there: what was integrated
    /// up to that time must lie within it.
    pub(crate) fn close(&mut self, now: u64) {
        let now = now.max(self.changed_ns);
        self.integrate(now);
        self.window.end_ns = self.window.end_ns.min(now);
        self.counting = false;
    }

    /// What was counted.
    pub(crate) fn finish(mut self, now: u64) -> Counts {
        self.close(now);
        self.roll(now);
        Counts {
            directions: self.directions.map(DirectionTally::into_counts),
            flushes: self.flushes.total,
            in_flight_ns: self.in_flight_ns,
            elapsed_ns: self.window.end_ns.saturating_sub(self.window.start_ns),
            ramp_ns: self.window.start_ns.min(self.window.end_ns),
            errors: self.errors,
            remarks: Vec::new(),
        }
    }

    #[inline]
    fn integrate(&mut self, now: u64) {
        let from = self.changed_ns.max(self.window.start_ns);
        let to = now.min(self.window.end_ns);
        if to > from {
            self.in_flight_ns += self.in_flight.max(0) as u128 * u128::from(to - from);
        }
        self.changed_ns = self.changed_ns.max(now);
    }

    /// The current interval is over at `now`; intervals without a completion are left out.
    #[cold]
    fn roll(&mut self, now: u64) {
        let directions = self.directions.each_mut().map(DirectionTally::roll);
        self.flushes.interval.drain_into(&mut self.flushes.total);
        if directions.iter().any(|d| d.ios > 0) {
            // The receiver is gone only when the job was given up; then nobody wants the interval.
            let _ = self.intervals.send(IntervalPart { index: self.interval_index, directions });
        }
        self.interval_index = now.saturating_sub(self.window.start_ns) / self.window.interval_ns;
        self.interval_end_ns = self.window.start_ns + (self.interval_index + 1) * self.window.interval_ns;
        // After the send: whoever reads this finds all earlier intervals in the channel.
        self.meter.intervals.store(self.interval_index, Ordering::Release);
    }
}

/// Counts errors at an offset, as far as there is room.
pub(crate) fn add_address(addresses: &mut Vec<(u64, u64)>, offset: u64, count: u64) {
    if let Some((_, counted)) = addresses.iter_mut().find(|(known, _)| *known == offset) {
        *counted += count;
    } else if addresses.len() < ERROR_ADDRESSES_MAX {
        addresses.push((offset, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const S: u64 = 1_000_000_000;

    fn tally(start_ns: u64, end_ns: u64, kept: Kept) -> (Tally, std::sync::mpsc::Receiver<IntervalPart>) {
        let (tx, rx) = channel();
        (Tally::new(Window { start_ns, end_ns, interval_ns: S }, kept, tx, Arc::default()), rx)
    }

    #[test]
    fn ramp_and_late_completions_do_not_count() {
        let (mut tally, rx) = tally(2 * S, 4 * S, Kept::default());
        tally.submitted(0, 4);
        for (at, over) in [(S, false), (2 * S, false), (3 * S + 5, false), (4 * S, true)] {
            assert_eq!(tally.reaped(at, 1), over);
            tally.count(if at > 3 * S { Direction::Write } else { Direction::Read }, 100, 512);
            tally.submitted(at, u64::from(!over));
        }
        assert_eq!(tally.in_flight(), 3);
        let counts = tally.finish(4 * S + 7);
        let [read, write, trim] = &counts.directions;
        assert_eq!((read.bytes, write.bytes, counts.elapsed_ns), (512, 512, 2 * S));
        assert_eq!((read.lat.count(), write.lat.count(), trim.lat.count()), (1, 1, 0));
        assert_eq!(counts.in_flight_ns, u128::from(4 * 2 * S));
        let intervals: Vec<_> = rx.try_iter().map(|i| (i.index, i.directions.map(|d| d.ios))).collect();
        assert_eq!(intervals, [(0, [1, 0, 0]), (1, [0, 1, 0])]);
    }

    #[test]
    fn a_stop_ends_the_window_where_it_was_seen() {
        let (mut tally, _rx) = tally(0, u64::MAX, Kept::default());
        tally.submitted(0, 2);
        tally.close(500);
        tally.reaped(900, 2);
        tally.count(Direction::Read, 900, 512);
        let counts = tally.finish(1000);
        assert_eq!((counts.elapsed_ns, counts.in_flight_ns, counts.directions[0].lat.count()), (500, 1000, 0));
    }

    /// The window of an error ends no earlier than the last submission that was seen.
    #[test]
    fn the_mean_in_flight_is_never_above_the_number_in_flight() {
        let (mut tally, _rx) = tally(0, u64::MAX, Kept::default());
        tally.submitted(0, 128);
        tally.reaped(100, 3);
        // While these are gone through others leave; then the deadline of one of them is seen to be over.
        tally.submitted(120, 3);
        tally.close(100);
        let counts = tally.finish(500);
        assert_eq!((counts.elapsed_ns, counts.in_flight_ns), (120, 128 * 100 + 125 * 20));
    }

    #[test]
    fn errors_are_counted_by_kind_with_the_first_offset() {
        let (mut tally, _rx) = tally(0, 1, Kept::default());
        tally.error("EIO".into(), Some(4096), 7);
        tally.error("EIO".into(), Some(0), 8);
        let errors = tally.finish(9).errors;
        let addresses = vec![(4096, 1), (0, 1)];
        assert_eq!(
            errors,
            [ErrorRecord { kind: "EIO".into(), count: 2, first_offset: Some(4096), addresses, first_ns: 7 }]
        );
    }
    #[test]
    fn an_open_loop_counts_waiting_as_in_flight_and_keeps_service_time_apart() {
        let (mut tally, _rx) = tally(S, 10 * S, Kept { service: true, slat: false });
        // Due before the window began: only the part inside it counts.
        tally.waited(S - 500, S + 300);
        tally.submitted(S + 300, 1);
        tally.reaped(S + 1_000, 1);
        tally.count(Direction::Write, 1_500, 4096);
        tally.service(Direction::Write, 700);
        tally.slat(Direction::Write, 7);
        let counts = tally.finish(2 * S);
        let write = &counts.directions[1];
        assert_eq!(counts.in_flight_ns, 300 + 700);
        assert_eq!(write.lat.mean_ns(), Some(1_500.0));
        assert_eq!(write.service.as_ref().and_then(LatencyHistogram::mean_ns), Some(700.0));
        assert_eq!(write.slat, None);
    }
}
