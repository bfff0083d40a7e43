//! A recorded list of requests on one modelled drive: once after two fills, then again and again until
//! write amplification and rate no longer move.

use super::measure::{Asking, Order, Rounds, agree, amplification, figures, fills, free_pool, spare_of};
use super::{Cliff, Figures, Outcome};
use flashlab_drive::{Footprint, JOB_TIME_MAX, MAPPED_UNITS_MAX, ModelledDrive};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Arrival, Beyond, Direction, Job, Region, Replay, ReplayEnd, ReplayRequest, Rw};
use flashlab_target::{Target, TargetError};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::named_seed;

/// Spares written before the first round, as for other loads.
const LEAD_IN_SPARES: u64 = 6;
/// Rounds at most, and those that must agree.
const ROUNDS_MAX: usize = 10;
const WINDOW: usize = 3;
/// Requests of the lead-in and of a round at most, in whole passes: a minute of modelling a variant.
const LEAD_IN_REQUESTS: u64 = 1 << 22;
const ROUND_REQUESTS: u64 = 1 << 19;
/// So much that is collected, as a share of what is written, is next to nothing.
const COLLECTED: f64 = 0.01;
/// A list that ends later than this share of its time, and than this time, after its last request is due
/// was not served as fast as it was recorded.
const LATE_SHARE: f64 = 0.02;
const LATE: Nanos = Nanos::millis(100);

/// The job of a list whose largest request has `bs`: what it may do, when, and how often is set here.
pub(super) fn job(title: &str, replay: &Replay, time_percent: Option<u32>, iodepth: u32, capacity: Bytes) -> Job {
    let [_, writes, trims] = replay.summary().by_direction;
    let rw = if writes + trims > 0 { Rw::RandRw } else { Rw::RandRead };
    let bs = Bytes(u64::from(replay.summary().length_max));
    let arrival = time_percent.map_or(Arrival::Closed, |time_percent| Arrival::Recorded { time_percent });
    let whole = Region { offset: Bytes(0), length: Bytes(capacity.0 / BLOCK * BLOCK) };
    Job { iodepth, arrival, replay: Some(replay.clone()), ..Job::new(title, rw, bs, whole) }
}

/// Largest logical block of a drive: a region ends on whole ones.
const BLOCK: u64 = 4096;

/// The same list with each write widened to whole units of `unit`, within `end`; `None` if it is already.
pub(super) fn aligned(replay: &Replay, unit: Bytes, end: Bytes) -> Option<Replay> {
    let widened = |r: &ReplayRequest| {
        let after = (r.offset.0 + u64::from(r.length)).next_multiple_of(unit.0);
        let offset = r.offset.0 / unit.0 * unit.0;
        match u32::try_from(after - offset) {
            Ok(length) if r.direction == Direction::Write && after <= end.0 => {
                ReplayRequest { offset: Bytes(offset), length, ..*r }
            }
            _ => *r,
        }
    };
    let requests: Vec<_> = replay.requests().iter().map(widened).collect();
    let changes = requests.as_slice() != &replay.requests()[..];
    changes.then(|| Replay::new(replay.source.clone(), requests, replay.end, replay.beyond))
}

/// Why the list of `job` can't be put on a drive with so much capacity and such units, unless it is folded.
pub(super) fn too_large(job: &Job, capacity: Bytes, unit: Bytes) -> Option<String> {
    let replay = job.replay.as_ref().filter(|replay| replay.beyond == Beyond::Refuse)?;
    let end = replay.summary().end;
    if end > capacity {
        return Some(format!("it reaches to {} and the drive has {}", end.si(), capacity.si()));
    }
    let touched = Footprint::of(job, unit)?.touched_units;
    (touched > MAPPED_UNITS_MAX).then(|| {
        format!("it touches {touched} indirection units of {unit}, and the model maps {MAPPED_UNITS_MAX} at most")
    })
}

/// A time of the list of `job` as it is played; `None` where it has none.
fn stretched(job: &Job, recorded: Nanos) -> Option<Nanos> {
    match job.arrival {
        Arrival::Recorded { time_percent } => {
            let stretched = u128::from(recorded.0) * u128::from(time_percent) / 100;
            Some(Nanos(u64::try_from(stretched).unwrap_or(u64::MAX)))
        }
        _ => None,
    }
}

/// How long one pass of the list of `job` takes, if that is more than a modelled drive runs one job.
pub(super) fn too_long(job: &Job) -> Option<Nanos> {
    stretched(job, job.replay.as_ref()?.summary().span).filter(|span| *span > JOB_TIME_MAX)
}

/// A drive and the list on it.
struct Played<'a> {
    order: &'a Order<'a>,
    replay: &'a Replay,
    footprint: Footprint,
    /// Indirection units of the modelled drive that are never mapped at one time, and all of its flash.
    spare_units: u64,
    physical_units: u64,
}

/// Fills the drive, then plays the list fresh and steady. `None` if the caller stopped it.
pub(super) fn measure(
    order: &Order<'_>,
    mut drive: ModelledDrive,
    asking: &mut Asking<'_>,
) -> Result<Option<Outcome>, TargetError> {
    let unit = order.profile.parameters.mapping.indirection_unit.value;
    let (Some(replay), Some(footprint)) = (&order.job.replay, Footprint::of(order.job, unit)) else {
        unreachable!("only jobs with a list come here")
    };
    if !fills(order, &mut drive, asking)? {
        return Ok(None);
    }
    let scale = drive.scale();
    let units = |bytes: u64| bytes / scale / unit.0;
    let spare_units = units(spare_of(order, &drive).0);
    let capacity = order.profile.parameters.capacity.user.value;
    let physical_units = units(drive.nominal_spare().unwrap_or_default().0 + capacity.0);
    let played = Played { order, replay, footprint, spare_units, physical_units };
    let pool = free_pool(&mut drive)?;
    let first = drive.run(&played.passes(1, ("fresh", 0)), asking)?;
    if first.ended == Ended::Interrupted {
        return Ok(None);
    }
    let first = [first];
    let mut fresh = played.figures(&first, scale, scale == 1);
    fresh.remarks.splice(0..0, played.says(&drive));
    fresh.remarks.extend(played.late(&first[0]));
    let cliff = played.cliff(pool);
    if played.footprint.units_a_pass == 0 {
        return Ok(Some(Outcome { fresh, steady: None, steady_reached: None, cliff }));
    }
    let Some((rounds, reached, why)) = played.steady(&mut drive, asking)? else { return Ok(None) };
    let mut steady = played.figures(&rounds, scale, played.holds(scale));
    steady.remarks.extend(why);
    Ok(Some(Outcome { fresh, steady: Some(steady), steady_reached: Some(reached), cliff }))
}

impl Played<'_> {
    /// So many times through the list.
    fn passes(&self, passes: u64, seed: (&str, u64)) -> Job {
        let mut replay = self.replay.clone();
        replay.end = ReplayEnd::Loop;
        Job {
            runtime: None,
            amount: None,
            passes: Some(u32::try_from(passes).unwrap_or(u32::MAX)),
            seed: named_seed(self.order.seed, seed.0, seed.1),
            replay: Some(replay),
            ..self.order.job.clone()
        }
    }

    /// Passes that write `spares` spares, or as many as there is time for.
    fn passes_for(&self, spares: u64, requests_max: u64) -> u64 {
        let wanted = (self.spare_units.saturating_mul(spares)).div_ceil(self.footprint.units_a_pass).max(1);
        let allowed = requests_max / self.replay.summary().count;
        wanted.min(allowed.max(1)).min(self.passes_in_time())
    }

    /// Passes of which one job can have so many.
    fn passes_in_time(&self) -> u64 {
        let period = stretched(self.order.job, self.replay.period());
        // A nanosecond more: each end is rounded down.
        period.map_or(u64::MAX, |period| (JOB_TIME_MAX.0 / (period.0 + 1)).max(1))
    }

    /// Plays the list until three rounds agree.
    fn steady(&self, drive: &mut ModelledDrive, asking: &mut Asking<'_>) -> Result<Option<Rounds>, TargetError> {
        let wanted = self.passes_for(LEAD_IN_SPARES, u64::MAX);
        let lead = self.passes_for(LEAD_IN_SPARES, LEAD_IN_REQUESTS);
        if drive.run(&self.passes(lead, ("lead-in", 0)), asking)?.ended == Ended::Interrupted {
            return Ok(None);
        }
        let written = lead * self.footprint.units_a_pass;
        let short = (lead < wanted || written < LEAD_IN_SPARES * self.spare_units).then(|| {
            let spares = written as f64 / self.spare_units.max(1) as f64;
            format!(
                "not steady: {lead} passes before the rounds wrote {spares:.2} spares of the modelled drive, \
                 {LEAD_IN_SPARES} are needed"
            )
        });
        let mut rounds: Vec<JobResult> = Vec::new();
        for round in 0..ROUNDS_MAX {
            let next = self.passes(self.passes_for(1, ROUND_REQUESTS), ("round", round as u64));
            let result = drive.run(&next, asking)?;
            if result.ended == Ended::Interrupted {
                return Ok(None);
            }
            rounds.push(result);
            let window = &rounds[rounds.len().saturating_sub(WINDOW)..];
            if window.len() == WINDOW && agree(window, rate) && agree(window, written_for_each) {
                return Ok(Some((window.to_vec(), short.is_none(), short)));
            }
        }
        let why = short.unwrap_or_else(|| format!("not steady: {ROUNDS_MAX} rounds did not agree within 10 %"));
        Ok(Some((rounds.split_off(ROUNDS_MAX - WINDOW), false, Some(why))))
    }

    /// Whether write amplification of the repeated list is that of the drive at any scale.
    fn holds(&self, scale: u64) -> bool {
        scale == 1 || self.footprint.is_small_beside(self.physical_units)
    }

    /// Whether next to nothing but what the list wrote was programmed: a drive with more space collects no
    /// more than that either.
    fn collected_nothing(&self, results: &[JobResult]) -> bool {
        let p = &self.order.profile.parameters;
        let programmed: u64 = results.iter().filter_map(|r| r.health?.media_written).map(|bytes| bytes.0).sum();
        let passes = results.iter().map(JobResult::ios).sum::<u64>() / self.replay.summary().count;
        let written = (self.footprint.units_a_pass * passes * p.mapping.indirection_unit.value.0) as f64;
        let begun = results.len() as u64 * p.nand.program_unit.value.0;
        programmed as f64 <= written * (1.0 + COLLECTED) + begun as f64
    }

    /// Figures of passes; without the write amplification where that does not hold at full scale.
    fn figures(&self, results: &[JobResult], scale: u64, holds: bool) -> Figures {
        let mut figures = figures(results, self.order.job);
        if !holds
            && !self.collected_nothing(results)
            && let Some(modelled) = figures.write_amplification.take()
        {
            figures.remarks.push(format!(
                "write amplification is not known at full scale: the drive modelled at 1/{scale} has {modelled:.2}, \
                 and the real one, with {scale} times the spare for the same writes, no more; its throughput is no \
                 lower and its latencies no longer either"
            ));
        }
        figures
    }

    /// What was done to put the list on the drive.
    fn says(&self, drive: &ModelledDrive) -> Vec<String> {
        let (f, scale) = (&self.footprint, drive.scale());
        let unit = self.order.profile.parameters.mapping.indirection_unit.value;
        let capacity = self.order.profile.parameters.capacity.user.value;
        let full = f.touched_units as f64 * unit.0 as f64 / capacity.0 as f64 * 100.0;
        let mut says = vec![format!(
            "the trace touches {} ({} indirection units), {full:.4} % of the drive; modelled at 1/{scale} of its size, \
             of which that is {:.2} %: requests, sizes and times are as recorded, the parts that are never touched are \
             left out",
            Bytes(f.touched_units * unit.0),
            f.touched_units,
            full * scale as f64,
        )];
        let reaches = self.replay.summary().end;
        let user_units = capacity.0 / scale / unit.0;
        if reaches > self.order.job.region.length || f.touched_units > user_units {
            says.push("addresses beyond the drive, or beyond its modelled part, are folded into it".into());
        }
        if self.order.job.arrival.is_closed() {
            let depth = self.order.job.iodepth;
            says.push(format!("the trace is played as if it had no times, as fast as possible: {depth} in flight"));
        }
        says
    }

    /// How much later than recorded the list ended.
    fn late(&self, first: &JobResult) -> Option<String> {
        let span = stretched(self.order.job, self.replay.summary().span)?;
        let late = first.elapsed.saturating_sub(span);
        let is_late = late > LATE && late.as_secs_f64() > LATE_SHARE * span.as_secs_f64();
        is_late.then(|| format!("the drive does not keep up: it is done {late} after the last request was due"))
    }

    /// Repeated, a list overwrites what it wrote: no time follows, only how much of the pool a pass takes.
    fn cliff(&self, pool: Bytes) -> Cliff {
        let unit = self.order.profile.parameters.mapping.indirection_unit.value.0;
        let why = match self.footprint.units_a_pass {
            0 => "the trace writes nothing".to_owned(),
            units => format!(
                "not known: one pass of the trace takes up {} of a free pool of {}, and what comes after it is not in it",
                Bytes(units * unit).si(),
                pool.si()
            ),
        };
        Cliff { seconds: None, why }
    }
}

fn rate(result: &JobResult) -> f64 {
    result.iops().map_or(0.0, |iops| iops.0)
}

fn written_for_each(result: &JobResult) -> f64 {
    amplification(result.health.into_iter()).unwrap_or(0.0)
}
