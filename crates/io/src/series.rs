//! The one-second intervals of all threads, merged on their common grid.

use crate::tally::{INTERVAL_NS, IntervalPart};
use flashlab_samples::{Interval, IntervalDirection, Series, SparseHistogram};
use flashlab_units::{Bytes, Nanos};

/// Intervals as they come in, by index. All threads share the start of the measured window, so that
/// the same index means the same second.
#[derive(Debug, Default)]
pub(crate) struct SeriesBuilder {
    seconds: Vec<(IntervalDirection, IntervalDirection)>,
}

impl SeriesBuilder {
    /// Adds one second of one thread.
    pub(crate) fn add(&mut self, part: &IntervalPart) {
        let index = part.index as usize;
        if self.seconds.len() <= index {
            self.seconds.resize_with(index + 1, Default::default);
        }
        let (read, write) = &mut self.seconds[index];
        merge(read, &part.read);
        merge(write, &part.write);
    }

    /// The series of a window of `elapsed`: no gaps, the last interval cut to the window.
    pub(crate) fn finish(mut self, elapsed: Nanos) -> Series {
        let count = elapsed.0.div_ceil(INTERVAL_NS) as usize;
        if self.seconds.len() > count && count > 0 {
            // An I/O that completed exactly at the end, on the edge of a second.
            for (read, write) in self.seconds.split_off(count) {
                merge(&mut self.seconds[count - 1].0, &read);
                merge(&mut self.seconds[count - 1].1, &write);
            }
        }
        self.seconds.resize_with(count, Default::default);
        let intervals = self.seconds.into_iter().zip(0u64..).map(|((read, write), index)| {
            let start = Nanos(index * INTERVAL_NS);
            Interval { start, length: Nanos(elapsed.saturating_sub(start).0.min(INTERVAL_NS)), read, write }
        });
        Series { intervals: intervals.collect() }
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

    #[test]
    fn no_gaps_and_a_short_end() {
        let mut builder = SeriesBuilder::default();
        for (index, read) in [(0, &[1, 2][..]), (2, &[3]), (0, &[9]), (4, &[7])] {
            builder.add(&IntervalPart { index, read: direction(read), write: direction(&[]) });
        }
        let series = builder.finish(Nanos(4 * INTERVAL_NS));
        let seen: Vec<_> = series.intervals.iter().map(|i| (i.start.0 / INTERVAL_NS, i.read.ios)).collect();
        assert_eq!(seen, [(0, 3), (1, 0), (2, 1), (3, 1)]);
        let mut builder = SeriesBuilder::default();
        builder.add(&IntervalPart { index: 0, read: direction(&[1]), write: direction(&[2]) });
        let series = builder.finish(Nanos(INTERVAL_NS + 5));
        assert_eq!(series.intervals.iter().map(|i| i.length.0).collect::<Vec<_>>(), [INTERVAL_NS, 5]);
        assert_eq!(series.intervals[0].write.ios, 1);
        assert_eq!(SeriesBuilder::default().finish(Nanos::ZERO).intervals, []);
    }
}
