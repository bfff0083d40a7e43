//! How long a job lasts in virtual time: what is known of it before it runs, and the longest there may be.
//!
//! Only times between requests make a job long: those of a rate, or of a recorded list. What the drive itself
//! does is over within minutes, whatever was asked for, as the number of I/Os is bounded.

use crate::time::{Ps, ps};
use flashlab_spec::{Arrival, Direction, Job, Rate, SizeRule, SpecError};
use flashlab_units::Nanos;

const DAY: u64 = 86_400;
/// Longest virtual time that is asked of a job. The event queue counts to 2^61 ps, or 26.7 days; a job ends
/// before that with room for its warm-up and for what is then still in flight.
pub const JOB_TIME_MAX: Nanos = Nanos::secs(24 * DAY);
/// No request comes later, and no job goes on.
pub(crate) const END: Ps = ps(Nanos::secs(26 * DAY));

/// At most how long the requests of a job come, as it runs on the scaled drive: one with times of its own
/// that ends with its bytes or its list. `None` for all others.
pub(crate) fn of(scaled: &Job) -> Option<Nanos> {
    let ns = match scaled.arrival {
        Arrival::Closed => return None,
        Arrival::Recorded { time_percent } => {
            let list = scaled.replay.as_ref()?;
            let turns = u128::from(list.period().0) * (passes(scaled) - 1);
            (turns + u128::from(list.summary().span.0)) * u128::from(time_percent) / 100
        }
        Arrival::Fixed(rate) | Arrival::Poisson(rate) => at_rate(scaled, rate)?,
    };
    Some(Nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
}

fn passes(job: &Job) -> u128 {
    u128::from(job.passes.unwrap_or(1))
}

fn at_rate(scaled: &Job, rate: Rate) -> Option<u128> {
    let requests = match &scaled.replay {
        Some(list) => u128::from(list.summary().count) * passes(scaled),
        None if scaled.runtime.is_some() => return None,
        None => bytes(scaled)?.div_ceil(u128::from(smallest_mean(scaled).max(1))),
    };
    // The first ones come at the start.
    let gaps = requests.saturating_sub(1);
    Some(gaps.saturating_mul(u128::from(rate.per.0)) / (u128::from(rate.ios) * u128::from(scaled.numjobs)).max(1))
}

/// What the job moves.
fn bytes(scaled: &Job) -> Option<u128> {
    if !scaled.extents.is_empty() {
        return Some(scaled.extents.iter().flatten().map(|e| u128::from(e.length.0)).sum());
    }
    let pass = u128::from(scaled.region.length.0);
    scaled.amount.map(|amount| u128::from(amount.0)).or(scaled.passes.map(|passes| pass * u128::from(passes)))
}

/// Mean size of the requests, of the direction whose requests are smallest.
fn smallest_mean(job: &Job) -> u64 {
    let mean = |rule: &SizeRule| match rule {
        SizeRule::Fixed(bs) => bs.0,
        SizeRule::Range { min, max, .. } => u64::midpoint(min.0, max.0),
        SizeRule::Split(shares) => {
            let percent: f64 = shares.iter().map(|s| s.percent).sum();
            (shares.iter().map(|s| s.percent * s.bs.0 as f64).sum::<f64>() / percent) as u64
        }
    };
    let sizes = job.pattern.sizes.as_ref();
    sizes.map_or(job.bs.0, |sizes| Direction::ALL.map(|d| mean(sizes.of(d))).into_iter().min().unwrap_or(job.bs.0))
}

/// Refuses a run time that is too long.
pub(crate) fn check_runtime(job: &Job) -> Result<(), SpecError> {
    let asked = job.runtime.map_or(Nanos::ZERO, |runtime| Nanos(runtime.0.saturating_add(job.ramp.0)));
    if asked <= JOB_TIME_MAX {
        return Ok(());
    }
    let what = if job.ramp == Nanos::ZERO { "the run time is" } else { "run time and ramp are" };
    let reason = format!("{what} {asked}, and a modelled drive runs one job for {JOB_TIME_MAX} at most");
    Err(refuse(job, reason, format!("give a run time of at most {JOB_TIME_MAX}, or several jobs one after another")))
}

/// Refuses a job whose requests come for too long.
pub(crate) fn check(scaled: &Job) -> Result<(), SpecError> {
    let Some(time) = of(scaled).filter(|time| *time > JOB_TIME_MAX) else { return Ok(()) };
    let (what, remedy) = match (&scaled.replay, scaled.passes) {
        (Some(list), Some(passes)) if passes > 1 => {
            (format!("{passes} passes of {} take", list.source), "play fewer passes, or only a part of the list")
        }
        (Some(list), _) => (format!("{} takes", list.source), "play only a part of the list, or play it faster"),
        (None, _) => ("its requests come".to_owned(), "give a higher rate, or less to do"),
    };
    let reason = format!("{what} up to {time}, and a modelled drive runs one job for {JOB_TIME_MAX} at most");
    Err(refuse(scaled, reason, remedy.into()))
}

/// Of a job that was not done at [`END`], which could not be told before: gaps at random were long, or the
/// drive was late.
pub(crate) fn not_done(job: &Job) -> SpecError {
    let reason = format!("it was not done after 26 d, and a modelled drive runs one job for {JOB_TIME_MAX} at most");
    refuse(job, reason, "give a higher rate, or less to do".into())
}

fn refuse(job: &Job, reason: String, remedy: String) -> SpecError {
    SpecError::Job { workload: job.workload.clone(), reason, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw};
    use flashlab_units::Bytes;

    fn job(arrival: Arrival) -> Job {
        let region = Region { offset: Bytes(0), length: Bytes::mib(1) };
        Job { arrival, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) }
    }

    #[test]
    fn the_time_of_what_comes_at_a_rate_is_known() {
        let daily = Arrival::Fixed(Rate { ios: 1, per: Nanos::secs(DAY) });
        let amount = |bytes: Bytes| Job { amount: Some(bytes), ..job(daily) };
        assert_eq!(of(&amount(Bytes::kib(12))), Some(Nanos::secs(2 * DAY)));
        assert_eq!(of(&Job { numjobs: 2, ..amount(Bytes::kib(12)) }), Some(Nanos::secs(DAY)));
        assert_eq!(of(&Job { passes: Some(1), ..job(daily) }), Some(Nanos::secs(255 * DAY)));
        assert_eq!(of(&Job { runtime: Some(Nanos::secs(1)), ..amount(Bytes::mib(1)) }), None);
        assert_eq!(of(&Job { amount: Some(Bytes::mib(1)), ..job(Arrival::Closed) }), None);
        let sizes = "4KiB/50:12KiB/50".parse().ok();
        let mut mixed = Job { bs: Bytes::kib(12), ..amount(Bytes::kib(24)) };
        mixed.pattern.sizes = sizes;
        assert_eq!(of(&mixed), Some(Nanos::secs(2 * DAY)));
        assert_eq!(check(&amount(Bytes::kib(100))), Ok(()));
        let refused = check(&amount(Bytes::kib(104))).expect_err("25 days").to_string();
        assert!(
            refused.contains("25 d, and a modelled drive runs one job for 24 d") && refused.contains("higher rate")
        );
    }

    #[test]
    fn no_run_time_is_longer() {
        let job = |runtime: Nanos, ramp: Nanos| Job { runtime: Some(runtime), ramp, ..job(Arrival::Closed) };
        assert_eq!(check_runtime(&job(JOB_TIME_MAX, Nanos::ZERO)), Ok(()));
        for (runtime, ramp) in
            [(Nanos::secs(300 * DAY), Nanos::ZERO), (JOB_TIME_MAX, Nanos(1)), (Nanos(u64::MAX), Nanos(9))]
        {
            let refused = check_runtime(&job(runtime, ramp)).expect_err("too long").to_string();
            assert!(refused.contains("for 24 d at most\n  give a run time of at most 24 d"), "{refused}");
        }
    }
}
