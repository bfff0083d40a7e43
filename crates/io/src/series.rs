//! The intervals of all threads, merged on their common grid: kept for the result, or handed out one
//! by one as soon as no thread can add to them, so that a run of days needs no memory for them.

use crate::tally::IntervalPart;
use flashlab_samples::{Interval, IntervalDirection, Series};
use flashlab_units::Nanos;
use std::collections::VecDeque;

/// Intervals as they come in, by index. All threads share the start of the measured window, so that
/// the same index means the same time.
#[derive(Debug)]
pub(crate) struct SeriesBuilder {
    length_ns: u64,
    /// Intervals that were handed out.
    gone: u64,
    open: VecDeque<[IntervalDirection; 3]>,
}

impl SeriesBuilder {
    /// For intervals of `length`.
    pub(crate) fn new(length: Nanos) -> Self {
        SeriesBuilder { length_ns: length.0, gone: 0, open: VecDeque::new() }
    }

    /// Adds one interval of one thread. One that was handed out must not be added to.
    pub(crate) fn add(&mut self, part: &IntervalPart) {
        // A thread that was left behind and came back all the same; its counts are not in the result.
        let Some(index) = part.index.checked_sub(self.gone) else { return };
        let index = index as usize;
        if self.open.len() <= index {
            self.open.resize_with(index + 1, Default::default);
        }
        merge(&mut self.open[index], &part.directions);
    }

    /// The first interval, if it lies before `before`, where no thread adds to it any more.
    pub(crate) fn take(&mut self, before: u64) -> Option<Interval> {
        if self.gone >= before {
            return None;
        }
        let [read, write, trim] = self.open.pop_front().unwrap_or_default();
        let start = Nanos(self.gone * self.length_ns);
        self.gone += 1;
        Some(Interval { start, length: Nanos(self.length_ns), read, write, trim })
    }

    /// What is left of a window of `elapsed`: no gaps, the last interval cut to the window.
    pub(crate) fn finish(mut self, elapsed: Nanos) -> Series {
        let all = elapsed.0.div_ceil(self.length_ns);
        let count = all.saturating_sub(self.gone) as usize;
        if self.open.len() > count && count > 0 {
            // An I/O that completed exactly at the end, on the edge of an interval.
            for late in self.open.split_off(count) {
                merge(&mut self.open[count - 1], &late);
            }
        }
        let mut intervals = Vec::with_capacity(count);
        while let Some(interval) = self.take(all) {
            let length = Nanos(elapsed.saturating_sub(interval.start).0.min(self.length_ns));
            intervals.push(Interval { length, ..interval });
        }
        Series { intervals }
    }
}

fn merge(into: &mut [IntervalDirection; 3], from: &[IntervalDirection; 3]) {
    into.iter_mut().zip(from).for_each(|(into, from)| into.merge(from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::LatencyHistogram;
    use flashlab_units::Bytes;

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut h = LatencyHistogram::new();
        values.iter().for_each(|v| h.record(Nanos(*v)));
        h
    }

    fn direction(values: &[u64]) -> IntervalDirection {
        let lat = of(values).to_sparse();
        IntervalDirection { ios: values.len() as u64, bytes: Bytes(512 * values.len() as u64), lat }
    }

    const S: u64 = 1_000_000_000;

    fn builder() -> SeriesBuilder {
        SeriesBuilder::new(Nanos(S))
    }

    fn part(index: u64, read: &[u64]) -> IntervalPart {
        IntervalPart { index, directions: [direction(read), direction(&[]), direction(&[])] }
    }

    #[test]
    fn no_gaps_and_a_short_end() {
        let mut series = builder();
        for (index, read) in [(0, &[1, 2][..]), (2, &[3]), (0, &[9]), (4, &[7])] {
            series.add(&part(index, read));
        }
        let series = series.finish(Nanos(4 * S));
        let seen: Vec<_> = series.intervals.iter().map(|i| (i.start.0 / S, i.read.ios)).collect();
        assert_eq!(seen, [(0, 3), (1, 0), (2, 1), (3, 1)]);
        let mut series = builder();
        series.add(&IntervalPart { index: 0, directions: [direction(&[1]), direction(&[2]), direction(&[3, 4])] });
        let series = series.finish(Nanos(S + 5));
        assert_eq!(series.intervals.iter().map(|i| i.length.0).collect::<Vec<_>>(), [S, 5]);
        assert_eq!((series.intervals[0].write.ios, series.intervals[0].trim.ios), (1, 2));
        assert_eq!(builder().finish(Nanos::ZERO).intervals, []);
    }

    #[test]
    fn what_was_handed_out_is_whole_and_not_kept() {
        let mut series = builder();
        series.add(&part(0, &[1]));
        series.add(&part(0, &[5]));
        series.add(&part(2, &[7, 8]));
        assert_eq!(series.take(0), None);
        let given: Vec<_> = std::iter::from_fn(|| series.take(2)).map(|i| (i.start.0 / S, i.read.ios)).collect();
        assert_eq!(given, [(0, 2), (1, 0)]);
        series.add(&part(2, &[9]));
        let rest = series.finish(Nanos(3 * S + 1)).intervals;
        let seen: Vec<_> = rest.iter().map(|i| (i.start.0 / S, i.length.0, i.read.ios)).collect();
        assert_eq!(seen, [(2, S, 3), (3, 1, 0)]);
    }
}
