//! When a thread's next request is due, in an open loop.

use flashlab_spec::{Arrival, Job};
use flashlab_workload::ArrivalStream;

/// A thread that sleeps wakes up to this much late (timers, and a halted CPU that must be woken); the
/// rest of the time to a due request it spins, so that its own sleep is not taken for latency.
pub(crate) const SPIN_NS: u64 = 60_000;
/// Longest sleep, after which a stop request and stuck I/Os are looked for.
pub(crate) const WAIT_MAX_NS: u64 = 100_000_000;
/// Later than this at the end of a job, an open loop was not kept up with.
const LATE_NS: u64 = 1_000_000;

/// The intended starts of one thread's requests. In a closed loop all are due at once.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    arrivals: Option<ArrivalStream>,
    /// Whether they are those of a list, which ends with its last request and not a gap later.
    is_list: bool,
    is_over: bool,
    /// When the next request is due, in ns since the job's start.
    pub(crate) due_ns: u64,
}

impl Pace {
    pub(crate) fn new(job: &Job, index: u32) -> Self {
        let is_list = matches!(job.arrival, Arrival::Recorded { .. });
        let mut pace = Pace { arrivals: ArrivalStream::new(job, index), is_list, is_over: false, due_ns: 0 };
        pace.advance(false);
        pace
    }

    pub(crate) fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    /// On to the next request, unless the one that was taken was the last.
    #[inline]
    pub(crate) fn advance(&mut self, was_last: bool) {
        if self.is_list && was_last {
            self.is_over = true;
        } else if let Some(arrivals) = &mut self.arrivals {
            self.due_ns = arrivals.next_arrival().nanos().0;
        }
    }

    /// How long to sleep at `now` until a request is due or the window ends; 0 where there is no time to sleep.
    #[inline]
    pub(crate) fn sleep_ns(&self, now: u64, end_ns: u64) -> u64 {
        self.due_ns.min(end_ns).saturating_sub(now.saturating_add(SPIN_NS)).min(WAIT_MAX_NS)
    }

    /// What people should know of an open loop that ended at `end_ns`.
    pub(crate) fn remark(&self, end_ns: u64) -> Option<String> {
        let late_ns = end_ns.saturating_sub(self.due_ns);
        (self.is_open() && !self.is_over && late_ns > LATE_NS).then(|| {
            format!(
                "open loop not kept up with: at the end a request was waiting for {}",
                flashlab_units::Nanos(late_ns / LATE_NS * LATE_NS)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Arrival, Rate, Region, Rw};
    use flashlab_units::Bytes;

    fn pace(arrival: Arrival) -> Pace {
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        Pace::new(&Job { arrival, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) }, 0)
    }

    #[test]
    fn a_closed_loop_is_always_due() {
        let mut closed = pace(Arrival::Closed);
        closed.advance(false);
        assert_eq!((closed.is_open(), closed.due_ns, closed.sleep_ns(5, u64::MAX)), (false, 0, 0));
        assert_eq!(closed.remark(u64::MAX), None);
    }

    #[test]
    fn it_sleeps_short_of_what_is_due_and_says_when_it_is_late() {
        let mut open = pace(Arrival::Fixed(Rate::iops(1_000)));
        assert_eq!(open.due_ns, 0);
        open.advance(true);
        assert_eq!(open.due_ns, 1_000_000);
        assert_eq!(open.sleep_ns(0, u64::MAX), 1_000_000 - SPIN_NS);
        assert_eq!(open.sleep_ns(950_000, u64::MAX), 0);
        assert_eq!(open.sleep_ns(0, 500_000), 500_000 - SPIN_NS);
        assert_eq!(open.remark(1_500_000), None);
        assert!(open.remark(3_500_000).is_some_and(|text| text.contains("waiting for 2 ms")));
    }
}
