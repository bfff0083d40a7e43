//! What a deep queue pair costs: an empirical delay of its reads, no cause of which is known.

use crate::time::{PerByte, Ps, ps};
use flashlab_spec::QueuePairModel;

/// Fixed point of shares: 2^16 is 1.
const SHARE_SHIFT: u32 = 16;

/// Holds reads by how many others of their queue pair are in flight.
#[derive(Debug, Clone)]
pub(crate) struct Holdoff {
    time: Ps,
    byte: PerByte,
    /// Share of the longest hold, by the number of others in flight.
    by_others: Vec<u32>,
    /// Share of the hold of the first queue pair, by queue pair.
    by_queue: Vec<u32>,
}

impl Holdoff {
    /// For `queues` queue pairs of depth `depth`.
    pub(crate) fn new(p: &QueuePairModel, queues: u32, depth: u32) -> Self {
        let share = |share: f64| (share * f64::from(1 << SHARE_SHIFT)).round() as u32;
        let half = p.holdoff_half.value;
        let by_queue = std::iter::successors(Some(1.0), |share| Some(share * p.holdoff_next.value));
        Holdoff {
            time: ps(p.holdoff_time.value),
            byte: p.holdoff_rate.as_ref().map_or(PerByte::NONE, |rate| PerByte::of(rate.value)),
            by_others: (0..depth.max(1)).map(|n| share(f64::from(n) / (f64::from(n) + half))).collect(),
            by_queue: by_queue.take(queues as usize).map(share).collect(),
        }
    }

    /// How long a read of `bytes` is held that has `others` of its queue pair in flight beside it.
    #[inline]
    pub(crate) fn hold(&self, queue: u32, others: u32, bytes: u32) -> Ps {
        let longest = self.time + self.byte.time(u64::from(bytes));
        let share = u64::from(self.by_others[others as usize]) * u64::from(self.by_queue[queue as usize]);
        ((u128::from(longest) * u128::from(share)) >> (2 * SHARE_SHIFT)) as Ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Source, Sourced};
    use flashlab_units::{BytesPerSecond, Nanos};

    #[test]
    fn nothing_at_depth_one_and_half_at_its_half() {
        fn fitted<T>(value: T) -> Sourced<T> {
            Sourced { value, source: Source::Fitted, note: String::new() }
        }
        let model = QueuePairModel {
            holdoff_time: fitted(Nanos::micros(100)),
            holdoff_rate: Some(fitted(BytesPerSecond(1e9))),
            holdoff_half: fitted(3.0),
            holdoff_next: fitted(0.5),
        };
        let hold = Holdoff::new(&model, 2, 8);
        assert_eq!(hold.hold(0, 0, 4096), 0);
        assert_eq!(hold.hold(0, 3, 100_000), 100_000_000, "half of 100 us + 100 us");
        assert_eq!(hold.hold(1, 3, 100_000), 50_000_000, "and half of that for the next queue pair");
    }
}
