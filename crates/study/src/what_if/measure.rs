//! One load on one modelled drive: fresh after two fills, then in steady state.

use super::{Cliff, Figures, Latency, Outcome};
use flashlab_drive::{JOB_TIME_MAX, ModelledDrive};
use flashlab_samples::{DirectionResult, Ended, HealthLog, JobResult, LatencyHistogram};
use flashlab_spec::{Arrival, Direction, DriveProfile, Job, Region, Rw};
use flashlab_target::{Observer, Progress, Target, TargetError};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::named_seed;

/// Transfer and depth of the fills: those of the review suite.
const FILL_BS: Bytes = Bytes::kib(128);
const FILL_DEPTH: u32 = 16;
/// Fills before the fresh answer, as the SNIA test specification asks for.
const FILLS: u64 = 2;
/// Length of the fresh answer, as a point of the review suite.
const POINT: Nanos = Nanos::secs(30);
/// Spares written before the first round: after six, write amplification no longer moves under
/// uniform random writes.
const LEAD_IN_SPARES: u64 = 6;
/// Rounds of one spare each, at most; a load that still drifts then is said to.
const ROUNDS_MAX: u64 = 10;
/// Virtual time of the lead-in and of a round at most: half of what the model allows, as gaps at random add up
/// to more than their mean.
const ROUND_TIME: Nanos = Nanos(JOB_TIME_MAX.0 / 2);
/// Rounds that must agree.
const WINDOW: usize = 3;
/// How far the highest and the lowest round of the window may differ, as a share of their mean: half
/// of what the SNIA test specification allows a measured drive, because a model has no noise of a host.
const RANGE_MAX: f64 = 0.1;
/// A free pool that shrinks by less than this share of what the host writes is not used up: collection
/// and overwriting give back what is taken.
const SHRINKS_FROM: f64 = 0.1;
/// An open loop that gets less than this share of what it asked for is not served.
const SERVED_FROM: f64 = 0.98;

/// Asks the caller whether to go on.
pub(super) struct Asking<'a>(pub(super) &'a (dyn Fn() -> bool + Sync));

impl Observer for Asking<'_> {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        (self.0)()
    }
}

/// What a run of a load needs.
pub(super) struct Order<'a> {
    pub(super) profile: &'a DriveProfile,
    /// The load on the usable space; its end is set here.
    pub(super) job: &'a Job,
    /// The part of the capacity that is ever written.
    pub(super) used: Bytes,
    pub(super) seed: u64,
}

/// Fills the drive, then answers fresh and steady. `None` if the caller stopped it.
pub(super) fn measure(
    order: &Order<'_>,
    mut drive: ModelledDrive,
    asking: &mut Asking<'_>,
) -> Result<Option<Outcome>, TargetError> {
    let Order { profile, job, seed, .. } = order;
    if !fills(order, &mut drive, asking)? {
        return Ok(None);
    }
    let before = free_pool(&mut drive)?;
    let point = Job { runtime: Some(POINT), seed: named_seed(*seed, "fresh", 0), ..endless(job) };
    let result = drive.run(&point, asking)?;
    if result.ended == Ended::Interrupted {
        return Ok(None);
    }
    let after = free_pool(&mut drive)?;
    let cliff = cliff(profile, job, (before, after), &result);
    let fresh = figures(std::slice::from_ref(&result), job);
    if !job.rw.writes() {
        return Ok(Some(Outcome { fresh, steady: None, steady_reached: None, cliff }));
    }
    let Some((rounds, reached, why)) = steady(order, &mut drive, asking)? else { return Ok(None) };
    let mut steady = figures(&rounds, job);
    steady.remarks.extend(why);
    Ok(Some(Outcome { fresh, steady: Some(steady), steady_reached: Some(reached), cliff }))
}

/// Fills what is used twice; false if the caller stopped it.
pub(super) fn fills(
    order: &Order<'_>,
    drive: &mut ModelledDrive,
    asking: &mut Asking<'_>,
) -> Result<bool, TargetError> {
    for pass in 0..FILLS {
        let fill = Job {
            iodepth: FILL_DEPTH,
            amount: Some(order.used),
            seed: named_seed(order.seed, "fill", pass),
            ..Job::new("fill", Rw::Write, FILL_BS, Region { offset: Bytes(0), length: order.used })
        };
        if drive.run(&fill, asking)?.ended == Ended::Interrupted {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The job without an end.
fn endless(job: &Job) -> Job {
    Job { runtime: None, amount: None, passes: None, ramp: Nanos::ZERO, ..job.clone() }
}

/// The rounds that count, whether they are steady, and why they may not be.
pub(super) type Rounds = (Vec<JobResult>, bool, Option<String>);

/// The job with as much of its amount as its rate moves in [`ROUND_TIME`].
fn in_time(drive: &ModelledDrive, mut job: Job) -> Job {
    let (asked, bs) = (job.amount.unwrap_or_default().0, job.bs.0);
    let mut amount = asked;
    while amount > bs
        && let Some(time) = drive.time_of(&job).filter(|time| *time > ROUND_TIME)
    {
        // A small part of a small region takes as long as a little more of it on the scaled drive.
        let fits = (amount as f64 * ROUND_TIME.as_secs_f64() / time.as_secs_f64()) as u64;
        amount = fits.min(amount / 2).max(bs) / bs * bs;
        job.amount = Some(Bytes(amount));
    }
    job
}

/// Rounds of one spare each until three agree; the last of them.
fn steady(
    order: &Order<'_>,
    drive: &mut ModelledDrive,
    asking: &mut Asking<'_>,
) -> Result<Option<Rounds>, TargetError> {
    let (job, spare) = (order.job, spare_of(order, drive));
    let amount = |spares: u64| bytes_for(order.profile, job, Bytes(spare.0.saturating_mul(spares)));
    let wanted = amount(LEAD_IN_SPARES);
    let lead = Job { amount: Some(wanted), seed: named_seed(order.seed, "lead-in", 0), ..endless(job) };
    let lead = in_time(drive, lead);
    let short = lead.amount.filter(|amount| *amount < wanted).map(|amount| {
        let spares = LEAD_IN_SPARES as f64 * amount.0 as f64 / wanted.0 as f64;
        format!(
            "not steady: at its rate the load writes {spares:.2} spares in the {ROUND_TIME} of the modelled drive before \
             the rounds, {LEAD_IN_SPARES} are needed"
        )
    });
    if drive.run(&lead, asking)?.ended == Ended::Interrupted {
        return Ok(None);
    }
    let mut rounds = Vec::new();
    for round in 0..ROUNDS_MAX {
        let next = Job { amount: Some(amount(1)), seed: named_seed(order.seed, "round", round), ..endless(job) };
        let result = drive.run(&in_time(drive, next), asking)?;
        if result.ended == Ended::Interrupted {
            return Ok(None);
        }
        rounds.push(result);
        let window = &rounds[rounds.len().saturating_sub(WINDOW)..];
        if window.len() == WINDOW && agree(window, |r| r.iops().map_or(0.0, |i| i.0)) {
            return Ok(Some((window.to_vec(), short.is_none(), short)));
        }
    }
    let window = rounds.split_off(rounds.len() - WINDOW);
    Ok(Some((window, false, short)))
}

/// Whether a figure of the rounds is the same.
pub(super) fn agree(window: &[JobResult], figure: impl Fn(&JobResult) -> f64) -> bool {
    let rates: Vec<f64> = window.iter().map(figure).collect();
    let (low, high) = rates.iter().fold((f64::MAX, 0.0_f64), |(l, h), r| (l.min(*r), h.max(*r)));
    high - low <= RANGE_MAX * rates.iter().sum::<f64>() / rates.len() as f64
}

/// Space beyond what the load and the fills use.
pub(super) fn spare_of(order: &Order<'_>, drive: &ModelledDrive) -> Bytes {
    let unused = order.profile.parameters.capacity.user.value.0.saturating_sub(order.used.0);
    Bytes(drive.nominal_spare().unwrap_or_default().0.saturating_add(unused))
}

/// Bytes that the load moves while the drive takes up `volume` of whole indirection units: a write below
/// the unit takes one up, and reads of a mix take none.
fn bytes_for(profile: &DriveProfile, job: &Job, volume: Bytes) -> Bytes {
    let iu = profile.parameters.mapping.indirection_unit.value.0;
    let share = (job.bs.0 as f64 / iu as f64).min(1.0);
    // Trims alone take up none; what takes up little is bounded below all the same.
    let written = if job.rw.is_mixed() { f64::from(job.mix()[Direction::Write as usize].max(5)) / 100.0 } else { 1.0 };
    let bytes = (volume.0 as f64 * share / written) as u64;
    // A small region overwrites itself long before the spare is used up: no more than two of it a spare.
    let bytes = bytes.min(job.region.length.0.saturating_mul(2 * LEAD_IN_SPARES));
    Bytes((bytes / job.bs.0).max(1) * job.bs.0)
}

pub(super) fn free_pool(drive: &mut ModelledDrive) -> Result<Bytes, TargetError> {
    Ok(drive.health()?.and_then(|h| h.free_pool).unwrap_or_default())
}

/// When the free pool is used up at the pace of the fresh answer.
fn cliff(profile: &DriveProfile, job: &Job, (before, after): (Bytes, Bytes), result: &JobResult) -> Cliff {
    if !job.rw.writes() {
        return Cliff { seconds: None, why: "the load writes nothing".into() };
    }
    let p = &profile.parameters;
    let usable = p.capacity.raw.value.0 as f64 * (1.0 - p.capacity.unusable_share.value);
    let reserve = usable * f64::from(p.mapping.reserve_superblocks.value) / f64::from(p.mapping.superblocks.value);
    let taken = before.0 as f64 - after.0 as f64;
    let written = result.health.and_then(|h| h.host_written).unwrap_or_default().0 as f64;
    // Both bytes and time are those of the scaled drive times its scale.
    let seconds = result.elapsed.as_secs_f64() * result.scale as f64;
    if taken < SHRINKS_FROM * written || seconds <= 0.0 {
        let why = "the free pool does not shrink: overwriting and collection give back what is taken";
        return Cliff { seconds: None, why: why.into() };
    }
    let pool = (before.0 as f64 - reserve).max(0.0);
    let why = format!(
        "{} of free pool above the reserve, used up at {}",
        Bytes(pool as u64).si(),
        flashlab_units::BytesPerSecond(taken / seconds)
    );
    Cliff { seconds: Some(pool / (taken / seconds)), why }
}

/// Results of one load, added up.
pub(super) fn figures(results: &[JobResult], job: &Job) -> Figures {
    let seconds: f64 = results.iter().map(|r| r.elapsed.as_secs_f64()).sum();
    let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let iops = per_second(results.iter().map(JobResult::ios).sum());
    let direction = |pick: fn(&JobResult) -> &DirectionResult| {
        let mut all = LatencyHistogram::new();
        results.iter().for_each(|r| all.merge(&pick(r).lat));
        latency(&all)
    };
    let mut remarks = Vec::new();
    if let Arrival::Fixed(rate) | Arrival::Poisson(rate) = job.arrival {
        let asked = rate.per_second().map_or(0.0, |r| r.0) * f64::from(job.numjobs);
        if iops < SERVED_FROM * asked {
            let served = iops / asked * 100.0;
            remarks.push(format!(
                "the load asks for {asked:.0} IOPS and gets {served:.0} % of it: it queues without bound"
            ));
        }
    }
    Figures {
        bytes_per_s: per_second(results.iter().map(|r| r.bytes().0).sum()),
        iops,
        read_latency: direction(|r| &r.read),
        write_latency: direction(|r| &r.write),
        write_amplification: amplification(results.iter().filter_map(|r| r.health)),
        remarks,
    }
}

pub(super) fn amplification(logs: impl Iterator<Item = HealthLog>) -> Option<f64> {
    let sums = logs.fold((0.0, 0.0), |(media, host), h| {
        let bytes = |b: Option<Bytes>| b.unwrap_or_default().0 as f64;
        (media + bytes(h.media_written), host + bytes(h.host_written))
    });
    (sums.1 > 0.0).then(|| sums.0 / sums.1)
}

fn latency(all: &LatencyHistogram) -> Option<Latency> {
    let mean_ns = all.mean_ns()?;
    // Without a sample beyond it a percentile is only the maximum.
    let at = |percent: f64| all.percentile(percent).filter(|p| p.samples_beyond > 0).map(|p| p.value.0);
    Some(Latency { samples: all.count(), mean_ns, p50_ns: at(50.0), p99_ns: at(99.0), p999_ns: at(99.9) })
}
