//! A mergeable latency histogram with a relative error of at most 1/128.

use flashlab_units::Nanos;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Two significant digits give 128 buckets a power of two: a bucket is at most 1/128 of its value
/// wide, and values below 256 ns are exact.
const SIGNIFICANT_DIGITS: u8 = 2;
/// 2^42 ns, 73 minutes. Longer latencies are counted in the last bucket; `max` stays exact.
const HIGHEST_NS: u64 = 1 << 42;

/// Latencies of I/Os: log-linear buckets plus exact count, sum, minimum and maximum.
///
/// Merging two histograms equals the histogram of the union. Percentiles are read from the merged
/// buckets and are never averaged.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// Counts latencies with a few instructions each, in the same buckets as [`LatencyHistogram`], to
/// become one when a loop over I/Os is over.
#[derive(Debug, Clone)]
pub struct LatencyRecorder {
    counts: Vec<u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// The last bucket ends here: the tables reach to a power of two above [`HIGHEST_NS`].
const LAST_NS: u64 = 2 * HIGHEST_NS - 1;
/// Values below 2^8 ns have a bucket each, and every doubling above has 2^7.
const SUB_BUCKET_BITS: u32 = 8;

impl Default for LatencyRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyRecorder {
    /// An empty one; all memory (36 KiB) is allocated here.
    pub fn new() -> Self {
        LatencyRecorder { counts: vec![0; Self::bucket(LAST_NS) + 1], sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    #[inline]
    fn bucket(ns: u64) -> usize {
        let doublings = (u64::BITS - (ns | ((1 << SUB_BUCKET_BITS) - 1)).leading_zeros()) - SUB_BUCKET_BITS;
        ((doublings << (SUB_BUCKET_BITS - 1)) + (ns >> doublings) as u32) as usize
    }

    /// Counts one latency. Their sum must stay below 2^64 ns.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        let ns = latency.0;
        self.counts[Self::bucket(ns.min(LAST_NS))] += 1;
        self.sum_ns += ns;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// The highest value of a bucket.
    fn highest_ns(bucket: usize) -> u64 {
        let doublings = (bucket >> (SUB_BUCKET_BITS - 1)).saturating_sub(1);
        let lowest = ((bucket - (doublings << (SUB_BUCKET_BITS - 1))) as u64) << doublings;
        lowest + (1 << doublings) - 1
    }

    /// The histogram of what was counted.
    pub fn into_histogram(mut self) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        self.drain_into(&mut histogram);
        histogram
    }

    /// Adds what was counted to `total` and begins anew, with the same memory; returns what it was.
    pub fn drain_into(&mut self, total: &mut LatencyHistogram) -> SparseHistogram {
        let used = self.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0);
        let buckets: Vec<_> = used.map(|(bucket, n)| (Self::highest_ns(bucket), std::mem::take(n))).collect();
        if buckets.is_empty() {
            return SparseHistogram::default();
        }
        let sum_ns = total.sum_ns.saturating_add(u128::from(self.sum_ns));
        let (min_ns, max_ns) = (total.min_ns.min(self.min_ns), total.max_ns.max(self.max_ns));
        buckets.iter().for_each(|(ns, count)| total.record_n(Nanos(*ns), *count));
        (total.sum_ns, total.min_ns, total.max_ns) = (sum_ns, min_ns, max_ns);
        let drained = SparseHistogram { buckets, sum_ns: self.sum_ns, min_ns: self.min_ns, max_ns: self.max_ns };
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
        drained
    }
}

/// The value below which a share of the samples lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Upper end of the bucket that holds the rank, at most 1/128 above the sample itself and never
    /// above the maximum.
    pub value: Nanos,
    /// How many samples lie beyond the rank. Zero means that the sample is too small for this
    /// percentile and the value is only the maximum.
    pub samples_beyond: u64,
}

/// The buckets that are not empty, for storage: (upper value in ns, count), ascending. One that is read is
/// checked: its buckets ascend and its smallest sample is no larger than its largest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct SparseHistogram {
    /// (highest value of the bucket in ns, samples in it), ascending.
    pub buckets: Vec<(u64, u64)>,
    /// Exact sum of all samples in ns; fits for 10^9 samples of half a year.
    pub sum_ns: u64,
    /// Exact smallest sample in ns, 0 when empty.
    pub min_ns: u64,
    /// Exact largest sample in ns, 0 when empty.
    pub max_ns: u64,
}

/// As it stands in a file.
#[derive(Deserialize)]
struct Unchecked {
    buckets: Vec<(u64, u64)>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl TryFrom<Unchecked> for SparseHistogram {
    type Error = String;

    fn try_from(Unchecked { buckets, sum_ns, min_ns, max_ns }: Unchecked) -> Result<Self, String> {
        if let Some(pair) = buckets.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!("the buckets of a histogram ascend, and {} stands before {}", pair[0].0, pair[1].0));
        }
        if min_ns > max_ns {
            return Err(format!("the smallest sample of a histogram, {min_ns} ns, is above its largest, {max_ns} ns"));
        }
        Ok(SparseHistogram { buckets, sum_ns, min_ns, max_ns })
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram; all memory (36 KiB) is allocated here.
    pub fn new() -> Self {
        let buckets = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
        LatencyHistogram {
            buckets: buckets.unwrap_or_else(|e| unreachable!("constant bounds are valid: {e}")),
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Counts one latency. No allocation.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }

    /// Counts `n` I/Os of the same latency.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, n: u64) {
        if n == 0 {
            return;
        }
        self.buckets.saturating_record_n(latency.0, n);
        // Never overflows for what was measured; stored histograms are hostile.
        self.sum_ns = self.sum_ns.saturating_add(u128::from(latency.0) * u128::from(n));
        self.min_ns = self.min_ns.min(latency.0);
        self.max_ns = self.max_ns.max(latency.0);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.buckets.add(&other.buckets).unwrap_or_else(|e| unreachable!("equal bounds: {e}"));
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets all samples, keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.reset();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Exact mean in ns; `None` when nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// Standard deviation in ns about the bucket means; `None` below two samples.
    pub fn stddev_ns(&self) -> Option<f64> {
        (self.count() > 1).then(|| self.buckets.stdev())
    }

    /// Exact smallest sample.
    pub fn min(&self) -> Option<Nanos> {
        (self.count() > 0).then_some(Nanos(self.min_ns))
    }

    /// Exact largest sample.
    pub fn max(&self) -> Option<Nanos> {
        (self.count() > 0).then_some(Nanos(self.max_ns))
    }

    /// The latency below which `percent` of the samples lie, `0 < percent <= 100`: the first bucket
    /// whose cumulative count reaches `percent / 100 × count` (fio's rank rule).
    pub fn percentile(&self, percent: f64) -> Option<Percentile> {
        let count = self.count();
        if count == 0 || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let value = self.buckets.value_at_quantile(percent / 100.0).clamp(self.min_ns, self.max_ns);
        let rank = (percent / 100.0 * count as f64).ceil() as u64;
        Some(Percentile { value: Nanos(value), samples_beyond: count.saturating_sub(rank) })
    }

    /// The non-empty buckets, for storage and charts.
    pub fn to_sparse(&self) -> SparseHistogram {
        let buckets =
            self.buckets.iter_recorded().map(|v| (v.value_iterated_to(), v.count_since_last_iteration())).collect();
        let empty = self.count() == 0;
        SparseHistogram {
            buckets,
            sum_ns: u64::try_from(self.sum_ns).unwrap_or(u64::MAX),
            min_ns: if empty { 0 } else { self.min_ns },
            max_ns: self.max_ns,
        }
    }

    /// Rebuilds a histogram that equals the one `sparse` was taken from.
    pub fn from_sparse(sparse: &SparseHistogram) -> Self {
        let mut histogram = Self::new();
        for (value, count) in &sparse.buckets {
            histogram.record_n(Nanos(*value), *count);
        }
        if histogram.count() > 0 {
            histogram.sum_ns = u128::from(sparse.sum_ns);
            (histogram.min_ns, histogram.max_ns) = (sparse.min_ns.min(sparse.max_ns), sparse.max_ns);
        }
        histogram
    }
}

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        self.buckets == other.buckets
            && self.sum_ns == other.sum_ns
            && (self.count() == 0 || (self.min_ns, self.max_ns) == (other.min_ns, other.max_ns))
    }
}

impl SparseHistogram {
    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    /// Adds all samples of `other`: both are ascending, so one walk over each.
    pub fn merge(&mut self, other: &SparseHistogram) {
        if other.buckets.is_empty() {
            return;
        }
        if self.buckets.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut buckets = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut left, mut right) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        while let (Some((x, n)), Some((y, m))) = (left.peek(), right.peek()) {
            let here = (if x <= y { *n } else { 0 }, if y <= x { *m } else { 0 });
            let value = (*x).min(*y);
            left.next_if(|(x, _)| *x == value);
            right.next_if(|(y, _)| *y == value);
            buckets.push((value, here.0.saturating_add(here.1)));
        }
        buckets.extend(left.chain(right).copied());
        self.buckets = buckets;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Serialize for LatencyHistogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_sparse().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SparseHistogram::deserialize(deserializer).map(|sparse| Self::from_sparse(&sparse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut h = LatencyHistogram::new();
        values.iter().for_each(|v| h.record(Nanos(*v)));
        h
    }

    #[test]
    fn empty_is_not_zero() {
        let h = LatencyHistogram::new();
        assert_eq!((h.mean_ns(), h.percentile(99.0), h.min(), h.max()), (None, None, None, None));
    }

    #[test]
    fn a_hostile_stored_histogram_does_no_harm() {
        let sparse = SparseHistogram { buckets: vec![(u64::MAX, u64::MAX); 3], ..SparseHistogram::default() };
        assert_eq!(sparse.count(), u64::MAX);
        let histogram = LatencyHistogram::from_sparse(&sparse);
        assert!(histogram.count() > 0 && histogram.percentile(50.0).is_some());
        let turned = SparseHistogram { buckets: vec![(9, 1)], sum_ns: 9, min_ns: 14, max_ns: 9 };
        assert!(LatencyHistogram::from_sparse(&turned).percentile(50.0).is_some());
        for (text, says) in [
            (r#"{"buckets":[[9,1]],"sum_ns":9,"min_ns":14,"max_ns":9}"#, "smallest sample"),
            (r#"{"buckets":[[9,1],[9,1]],"sum_ns":9,"min_ns":1,"max_ns":9}"#, "ascend"),
        ] {
            let sparse = serde_json::from_str::<SparseHistogram>(text).map(|_| ());
            assert!(sparse.is_err_and(|e| e.to_string().contains(says)), "{text}");
            let whole = serde_json::from_str::<LatencyHistogram>(text).map(|_| ());
            assert!(whole.is_err_and(|e| e.to_string().contains(says)), "{text}");
        }
    }

    #[test]
    fn a_sparse_merge_is_the_union() {
        let (a, b) = ([5, 5, 900, 70_000, 8_000_000], [5, 901, 4_000, 70_000, 90_000_000_000]);
        for (x, y) in [(&a[..], &b[..]), (&b, &a), (&a, &[]), (&[], &b), (&a, &a)] {
            let mut merged = of(x).to_sparse();
            merged.merge(&of(y).to_sparse());
            assert_eq!(merged, of(&[x, y].concat()).to_sparse());
        }
        let mut hostile = SparseHistogram { buckets: vec![(9, u64::MAX), (1, 1)], ..SparseHistogram::default() };
        hostile.merge(&hostile.clone());
        assert_eq!(hostile.count(), u64::MAX);
    }

    #[test]
    fn too_few_samples_are_said_so() {
        let h = of(&[10, 20, 30]);
        assert_eq!(h.percentile(99.99).map(|p| (p.value, p.samples_beyond)), Some((Nanos(30), 0)));
        assert_eq!(h.percentile(50.0).map(|p| p.samples_beyond), Some(1));
    }

    #[test]
    fn longer_than_the_last_bucket_keeps_the_maximum() {
        let h = of(&[1_000, u64::MAX / 4]);
        assert_eq!(h.max(), Some(Nanos(u64::MAX / 4)));
        assert_eq!(h.count(), 2);
    }

    proptest! {
        #[test]
        fn error_is_at_most_one_in_128(mut values in prop::collection::vec(1u64..4_000_000_000_000, 1..300), percent in 0.1f64..100.0) {
            let h = of(&values);
            values.sort_unstable();
            let rank = ((percent / 100.0 * values.len() as f64).ceil() as usize).max(1);
            let exact = values[rank - 1];
            let got = h.percentile(percent).map(|p| p.value.0).unwrap_or_default();
            prop_assert!(got >= exact && (got - exact) as f64 <= exact as f64 / 128.0, "{got} for {exact}");
        }

        #[test]
        fn a_recorder_becomes_the_same_histogram(values in prop::collection::vec((0u64..1 << 43, 0u32..43), 0..300)) {
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let mut recorder = LatencyRecorder::new();
            values.iter().for_each(|v| recorder.record(Nanos(*v)));
            prop_assert_eq!(recorder.into_histogram(), of(&values));
        }

        #[test]
        fn a_drained_recorder_is_empty_and_its_parts_add_up(
            parts in prop::collection::vec(prop::collection::vec(0u64..1 << 43, 0..100), 0..4),
        ) {
            let (mut recorder, mut total) = (LatencyRecorder::new(), LatencyHistogram::new());
            for part in &parts {
                part.iter().for_each(|v| recorder.record(Nanos(*v)));
                prop_assert_eq!(recorder.drain_into(&mut total), of(part).to_sparse());
            }
            prop_assert_eq!(total, of(&parts.concat()));
            prop_assert_eq!(recorder.into_histogram(), LatencyHistogram::new());
        }

        #[test]
        fn merge_is_the_union(a in prop::collection::vec(0u64..10_000_000_000, 0..200), b in prop::collection::vec(0u64..10_000_000_000, 0..200)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn sparse_round_trip(a in prop::collection::vec(0u64..10_000_000_000, 0..200)) {
            let h = of(&a);
            prop_assert_eq!(LatencyHistogram::from_sparse(&h.to_sparse()), h);
        }
    }
}
