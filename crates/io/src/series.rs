//! The intervals of all threads, merged on their common grid: kept for the result, or handed out one
//! by one as soon as no thread can add to them, so that a run of days needs no memory for them.

use crate::tally::IntervalPart;
use flashlab_samples::{Interval, IntervalDirection, Series, SparseHistogram};
use flashlab_units::{Bytes, Nanos};
use std::collections::VecDeque;

/// Intervals as they come in, by index. All threads share the start of the measured window, so that
/// the same index means the same time.
#[derive(Debug)]
pub(crate) struct SeriesBuilder {
    length_ns: u64,
    /// Intervals that were handed out.
    gone: u64,
    open: VecDeque<(IntervalDirection, IntervalDirection)>,
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
        let (read, write) = &mut self.open[index];
        merge(read, &part.read);
        merge(write, &part.write);
    }

    /// The first interval, if it lies before `before`, where no thread adds to it any more.
    pub(crate) fn take(&mut self, before: u64) -> Option<Interval> {
        if self.gone >= before {
            return None;
        }
        let (read, write) = self.open.pop_front().unwrap_or_default();
        let start = Nanos(self.gone * self.length_ns);
        self.gone += 1;
        Some(Interval { start, length: Nanos(self.length_ns), read, write })
    }

    /// What is left of a window of `elapsed`: no gaps, the last interval cut to the window.
    pub(crate) fn finish(mut self, elapsed: Nanos) -> Series {
        let all = elapsed.0.div_ceil(self.length_ns);
        let count = all.saturating_sub(self.gone) as usize;
        if self.open.len() > count && count > 0 {
            // An I/O that completed exactly at the end, on the edge of an interval.
            for (read, write) in self.open.split_off(count) {
                merge(&mut self.open[count - 1].0, &read);
                merge(&mut self.open[count - 1].1, &write);
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

fn merge(into: &mut IntervalDirection, from: &IntervalDirection) {
    into.ios += from.ios;
    into.bytes = Bytes(into.bytes.0 + from.bytes.0);
    into.lat = merge_sparse(&into.lat, &from.lat);
}

/// The union of two sparse histograms: both are ascending, so one walk over each.
fn merge_sparse(a: &SparseHistogram, b: &SparseHistogram) -> SparseHistogram {
    if a.buckets.is_empty() {
        return b.clone();
    }
    if b.buckets.is_empty() {
        return a.clone();
    }
    let mut buckets = Vec::with_capacity(a.buckets.len() + b.buckets.len());
    let (mut left, mut right) = (a.buckets.iter().peekable(), b.buckets.iter().peekable());
    while let (Some((x, n)), Some((y, m))) = (left.peek(), right.peek()) {
        let (value, count) = ((*x).min(*y), if x <= y { *n } else { 0 } + if y <= x { *m } else { 0 });
        left.next_if(|(x, _)| *x == value);
        right.next_if(|(y, _)| *y == value);
        buckets.push((value, count));
    }
    buckets.extend(left.chain(right).copied());
    SparseHistogram {
        buckets,
        sum_ns: a.sum_ns.saturating_add(b.sum_ns),
        min_ns: a.min_ns.min(b.min_ns),
        max_ns: a.max_ns.max(b.max_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::LatencyHistogram;

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut h = LatencyHistogram::new();
        values.iter().for_each(|v| h.record(Nanos(*v)));
        h
    }

    fn direction(values: &[u64]) -> IntervalDirection {
        let lat = of(values).to_sparse();
        IntervalDirection { ios: values.len() as u64, bytes: Bytes(512 * values.len() as u64), lat }
    }

    #[test]
    fn sparse_merge_is_the_union() {
        let (a, b) = ([5, 5, 900, 70_000, 8_000_000], [5, 901, 4_000, 70_000, 90_000_000_000]);
        for (x, y) in [(&a[..], &b[..]), (&b, &a), (&a, &[]), (&[], &b), (&a, &a)] {
            assert_eq!(merge_sparse(&of(x).to_sparse(), &of(y).to_sparse()), of(&[x, y].concat()).to_sparse());
        }
    }

    const S: u64 = 1_000_000_000;

    fn builder() -> SeriesBuilder {
        SeriesBuilder::new(Nanos(S))
    }

    fn part(index: u64, read: &[u64]) -> IntervalPart {
        IntervalPart { index, read: direction(read), write: direction(&[]) }
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
        series.add(&IntervalPart { index: 0, read: direction(&[1]), write: direction(&[2]) });
        let series = series.finish(Nanos(S + 5));
        assert_eq!(series.intervals.iter().map(|i| i.length.0).collect::<Vec<_>>(), [S, 5]);
        assert_eq!(series.intervals[0].write.ios, 1);
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
