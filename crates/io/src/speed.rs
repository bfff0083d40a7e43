//! How far a running job is.

use flashlab_spec::Job;
use flashlab_target::Progress;
use flashlab_units::{Bytes, BytesPerSecond, Nanos};

/// How often progress is reported and a stop is asked for.
pub(crate) const TICK_NS: u64 = 100_000_000;

/// Turns byte counts into progress.
#[derive(Debug, Default)]
pub(crate) struct Speedometer {
    last: Option<(u64, u64)>,
}

impl Speedometer {
    /// The report at `now`, after `bytes` in all.
    pub(crate) fn progress(&mut self, job: &Job, now: u64, bytes: u64) -> Progress {
        let rate = self.last.and_then(|(then, before)| Bytes(bytes.saturating_sub(before)).over(Nanos(now - then)));
        self.last = Some((now, bytes));
        let (by_time, by_bytes) = (time_left(job, now), bytes_left(job, bytes, rate));
        let share = [by_time.map(|(s, _)| s), by_bytes.map(|(s, _)| s)].into_iter().flatten().reduce(f64::max);
        let left = [by_time.map(|(_, l)| l), by_bytes.and_then(|(_, l)| l)].into_iter().flatten().min();
        Progress { share, bytes: Bytes(bytes), rate, left }
    }
}

/// Several jobs as one, each with whether it is still running: as far as the one that is last, where that is
/// known of all that are running.
pub(crate) fn of_all(each: &[(bool, Progress)]) -> Progress {
    let running = || each.iter().filter(|(is_running, _)| *is_running).map(|(_, progress)| progress);
    let shares: Option<Vec<f64>> = running().map(|progress| progress.share).collect();
    let left: Option<Vec<Nanos>> = running().map(|progress| progress.left).collect();
    let rates = running().filter_map(|progress| progress.rate).map(|rate| rate.0);
    Progress {
        share: shares.and_then(|shares| shares.into_iter().reduce(f64::min)),
        bytes: Bytes(each.iter().map(|(_, progress)| progress.bytes.0).sum()),
        rate: rates.reduce(|a, b| a + b).map(BytesPerSecond),
        left: left.and_then(|left| left.into_iter().max()),
    }
}

/// Share done and time left of a job that ends by time.
fn time_left(job: &Job, now: u64) -> Option<(f64, Nanos)> {
    let whole = job.ramp + job.runtime?;
    Some(((now as f64 / whole.0 as f64).min(1.0), whole.saturating_sub(Nanos(now))))
}

/// Share done and, at a known rate, time left of a job that ends by bytes.
fn bytes_left(job: &Job, bytes: u64, rate: Option<BytesPerSecond>) -> Option<(f64, Option<Nanos>)> {
    let amount = job.amount?;
    let left = Bytes(amount.0.saturating_sub(bytes));
    let moving = rate.filter(|rate| rate.0 > 0.0);
    Some(((bytes as f64 / amount.0 as f64).min(1.0), moving.map(|rate| rate.time_for(left))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw};

    fn job() -> Job {
        let region = Region { offset: Bytes::ZERO, length: Bytes::kib(64) };
        Job {
            numjobs: 2,
            runtime: Some(Nanos::secs(10)),
            ramp: Nanos::secs(10),
            ..Job::new("w", Rw::Read, Bytes::kib(4), region)
        }
    }

    #[test]
    fn several_are_as_far_as_the_last_that_is_running() {
        let of = |share, left, rate| Progress {
            share: Some(share),
            bytes: Bytes(10),
            rate: Some(BytesPerSecond(rate)),
            left: Some(Nanos(left)),
        };
        let all = of_all(&[(true, of(0.9, 1, 5.0)), (true, of(0.4, 7, 3.0)), (false, of(0.1, 9, 100.0))]);
        assert_eq!(all, Progress { bytes: Bytes(30), ..of(0.4, 7, 8.0) });
        let unknown = Progress { share: None, left: None, ..of(0.0, 0, 1.0) };
        let all = of_all(&[(true, of(0.9, 1, 5.0)), (true, unknown)]);
        assert_eq!((all.share, all.left, all.rate), (None, None, Some(BytesPerSecond(6.0))));
        assert_eq!(of_all(&[(true, unknown)]), unknown);
    }

    #[test]
    fn progress_counts_ramp_and_amount() {
        let mut meter = Speedometer::default();
        let first = meter.progress(&job(), 5_000_000_000, 0);
        assert_eq!((first.share, first.rate, first.left), (Some(0.25), None, Some(Nanos::secs(15))));
        let both = Job { amount: Some(Bytes(4_000)), ..job() };
        let second = meter.progress(&both, 6_000_000_000, 2_000);
        assert_eq!((second.share, second.left), (Some(0.5), Some(Nanos::secs(1))));
        assert_eq!(second.rate, Some(BytesPerSecond(2_000.0)));
        let amount = Job { runtime: None, ..both };
        assert_eq!(meter.progress(&amount, 7_000_000_000, 2_000).left, None);
    }
}
