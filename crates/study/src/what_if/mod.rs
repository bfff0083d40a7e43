//! What would a drive do under a load: fresh, in steady state, and with one thing changed.
//!
//! Every drive and every variant is a modelled drive of its own from the purge on, so that they can
//! be done in any order and on any number of threads with equal answers.

mod life;
mod load;
mod measure;
mod rank;
mod trace;
mod variant;

pub use life::Life;
pub use load::Load;
pub use rank::{Criterion, Place};

use crate::StudyError;
use flashlab_drive::{JOB_TIME_MAX, ModelledDrive};
use flashlab_samples::Origin;
use flashlab_spec::{DriveProfile, Hosts, Job};
use flashlab_target::Target;
use flashlab_units::Bytes;
use measure::{Asking, Order, measure};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use variant::Variant;

/// Name and version of the JSON.
const SCHEMA: &str = "flashlab.what-if/1";

/// What is asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// Of which drives.
    pub drives: Vec<&'a DriveProfile>,
    /// The hosts that load them.
    pub hosts: &'a Hosts,
    /// The load.
    pub load: &'a Load,
    /// What the host writes a day, for years of life.
    pub daily: Option<Bytes>,
    /// Seed of all streams.
    pub seed: u64,
    /// Threads, from 1.
    pub threads: usize,
}

/// Who waits for an answer.
pub struct Watch<'a> {
    /// Asked often; true ends the study.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Told after each variant how many of how many are done.
    pub done: &'a (dyn Fn(usize, usize) + Sync),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhatIf {
    /// Name and version of this form.
    pub schema: &'static str,
    /// Always modelled.
    pub provenance: Origin,
    /// The load in words.
    pub load: String,
    /// Seed of all streams.
    pub seed: u64,
    /// What the host writes a day, in bytes.
    pub daily_bytes: Option<u64>,
    /// Each drive.
    pub drives: Vec<DriveAnswer>,
    /// The drives in order, by criterion; empty for one drive.
    pub ranking: Vec<Criterion>,
}

/// The answer of one drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveAnswer {
    /// Name of the profile.
    pub drive_id: String,
    /// How good its parameters are.
    pub profile_status: String,
    /// What the host sees, in bytes.
    pub capacity_bytes: u64,
    /// Indirection unit in bytes.
    pub indirection_unit_bytes: u64,
    /// Years at the daily volume.
    pub life: Life,
    /// The load as asked, then what changes when one thing is changed.
    pub variants: Vec<VariantAnswer>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantAnswer {
    /// `as asked`, `aligned`, `fdp`, `unused-7` and so on.
    pub variant: String,
    /// What is changed, or why it was left out.
    pub what: String,
    /// The answer; `None` where it was left out.
    pub outcome: Option<Outcome>,
}

/// What a load gets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// After two sequential fills: a point of 30 s, or one pass of a trace.
    pub fresh: Figures,
    /// In steady state; `None` if the load writes nothing, and the drive stays as it is.
    pub steady: Option<Figures>,
    /// Whether the last rounds agree within 10 %; `None` without rounds.
    pub steady_reached: Option<bool>,
    /// When the free pool is used up.
    pub cliff: Cliff,
}

/// Figures of a load in one state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes a second, both directions.
    pub bytes_per_s: f64,
    /// I/Os a second.
    pub iops: f64,
    /// Of reads; `None` if there were none.
    pub read_latency: Option<Latency>,
    /// Of writes; `None` if there were none.
    pub write_latency: Option<Latency>,
    /// Bytes programmed for each byte the host wrote; `None` if it wrote none.
    pub write_amplification: Option<f64>,
    /// What must be known with the figures.
    pub remarks: Vec<String>,
}

/// Latencies; a percentile with no sample beyond it is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// I/Os.
    pub samples: u64,
    /// Mean in ns.
    pub mean_ns: f64,
    /// Median in ns.
    pub p50_ns: Option<u64>,
    /// 99th percentile in ns.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile in ns.
    pub p999_ns: Option<u64>,
}

/// The end of the free pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cliff {
    /// Seconds of the load from the fills on; `None` if it never comes.
    pub seconds: Option<f64>,
    /// How it was found, or why there is none.
    pub why: String,
}

impl Outcome {
    /// In steady state, or fresh where the load changes nothing.
    pub fn lasting(&self) -> &Figures {
        self.steady.as_ref().unwrap_or(&self.fresh)
    }
}

impl DriveAnswer {
    /// The load as asked.
    pub fn base(&self) -> Option<&Outcome> {
        self.variants.first().and_then(|v| v.outcome.as_ref())
    }
}

/// One drive with one change, ready to run.
struct Task<'a> {
    drive: usize,
    variant: Variant,
    what: String,
    profile: DriveProfile,
    job: Job,
    used: Bytes,
    question: &'a Question<'a>,
}

/// Answers `question`.
///
/// # Errors
/// [`StudyError::Spec`] if the load can't run on a drive, before anything is run; [`StudyError::Stopped`]
/// if the caller said so.
pub fn what_if(question: &Question<'_>, watch: &Watch<'_>) -> Result<WhatIf, StudyError> {
    let (mut tasks, mut left_out) = (Vec::new(), Vec::new());
    for (drive, profile) in question.drives.iter().enumerate() {
        let block = logical_block(profile, question.hosts);
        for variant in Variant::all() {
            match prepare(question, drive, (profile, block), variant)? {
                Ok(task) => tasks.push(task),
                Err(why) => left_out.push((drive, variant, why)),
            }
        }
    }
    let outcomes = run_all(&tasks, question.threads, watch)?;
    let answer = |(drive, profile): (usize, &&DriveProfile)| {
        let of = |variant: Variant| {
            let done = tasks.iter().zip(&outcomes).find(|(t, _)| t.drive == drive && t.variant == variant);
            let why = left_out.iter().find(|(d, v, _)| *d == drive && *v == variant).map(|(.., why)| why.clone());
            VariantAnswer {
                variant: variant.name(),
                what: done.map(|(t, _)| t.what.clone()).or(why).unwrap_or_default(),
                outcome: done.map(|(_, outcome)| outcome.clone()),
            }
        };
        let variants: Vec<VariantAnswer> = Variant::all().into_iter().map(of).collect();
        DriveAnswer {
            drive_id: profile.id.clone(),
            profile_status: profile.status.clone(),
            capacity_bytes: profile.parameters.capacity.user.value.0,
            indirection_unit_bytes: profile.parameters.mapping.indirection_unit.value.0,
            life: Life::of(profile, question.daily),
            variants,
        }
    };
    let drives: Vec<DriveAnswer> = question.drives.iter().enumerate().map(answer).collect();
    let writes = tasks.first().is_some_and(|t| t.job.rw.writes());
    let ranking = if drives.len() > 1 { rank::rank(&question.drives, &drives, writes) } else { Vec::new() };
    Ok(WhatIf {
        schema: SCHEMA,
        provenance: Origin::Modelled,
        load: question.load.title().to_owned(),
        seed: question.seed,
        daily_bytes: question.daily.map(|d| d.0),
        drives,
        ranking,
    })
}

/// The block that a drive's addresses are multiples of, asked of a model at its coarsest scale.
fn logical_block(profile: &DriveProfile, hosts: &Hosts) -> Bytes {
    ModelledDrive::for_points(profile.clone(), hosts.clone(), None, None).identity().logical_block
}

/// The task of a variant, or why it is left out. What the drive refuses of the load as asked is an error.
fn prepare<'a>(
    question: &'a Question<'a>,
    drive: usize,
    (profile, logical_block): (&DriveProfile, Bytes),
    variant: Variant,
) -> Result<Result<Task<'a>, String>, StudyError> {
    let capacity = profile.parameters.capacity.user.value;
    let used = variant.used(capacity);
    let mut job = question.load.on(used);
    if variant != Variant::Base && job.replay.is_none() {
        // A part that was given in bytes shrinks to what is left.
        let left = used.0.saturating_sub(job.region.offset.0) / job.bs.0.max(1) * job.bs.0;
        job.region.length.0 = job.region.length.0.min(left);
    }
    let ended = |job: &Job| Job { amount: Some(job.bs), ..job.clone() };
    if let Some(reason) = trace::too_large(&job, used, profile.parameters.mapping.indirection_unit.value) {
        if variant != Variant::Base {
            return Ok(Err(reason));
        }
        let source = job.replay.map(|replay| replay.source).unwrap_or_default();
        return Err(StudyError::TraceTooLarge { source_file: source, drive: profile.id.clone(), reason });
    }
    if let Some(time) = trace::too_long(&job) {
        let source = job.replay.map(|replay| replay.source).unwrap_or_default();
        return Err(StudyError::TraceTooLong { source_file: source, time, longest: JOB_TIME_MAX });
    }
    if variant == Variant::Base {
        ModelledDrive::can_run(&job)?;
        ended(&job).validate(logical_block, capacity)?;
    }
    let (profile, job, what) = match variant.apply(profile, job) {
        Ok(applied) => applied,
        Err(why) => return Ok(Err(why)),
    };
    if let Err(why) = ended(&job).validate(logical_block, used) {
        return Ok(Err(why.to_string()));
    }
    Ok(Ok(Task { drive, variant, what, profile, job, used, question }))
}

/// All tasks on so many threads, in their order.
fn run_all(tasks: &[Task<'_>], threads: usize, watch: &Watch<'_>) -> Result<Vec<Outcome>, StudyError> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || -> Result<Vec<(usize, Outcome)>, StudyError> {
        let mut outcomes = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(index) else { return Ok(outcomes) };
            outcomes.push((index, task.run(watch)?));
            (watch.done)(done.fetch_add(1, Ordering::Relaxed) + 1, tasks.len());
        }
    };
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, tasks.len().max(1))).map(|_| scope.spawn(worker)).collect();
        let join = |w: std::thread::ScopedJoinHandle<'_, _>| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        workers.into_iter().map(join).collect::<Result<Vec<_>, _>>()
    })?;
    let mut all: Vec<(usize, Outcome)> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

impl Task<'_> {
    fn run(&self, watch: &Watch<'_>) -> Result<Outcome, StudyError> {
        if (watch.stop)() {
            return Err(StudyError::Stopped);
        }
        let (profile, hosts, asking) = (self.profile.clone(), self.question.hosts.clone(), &mut Asking(watch.stop));
        let order = Order { profile: &self.profile, job: &self.job, used: self.used, seed: self.question.seed };
        let outcome = if self.job.replay.is_some() {
            trace::measure(&order, ModelledDrive::for_replay(profile, hosts, None, &self.job), asking)
        } else {
            measure(&order, ModelledDrive::new(profile, hosts, None), asking)
        };
        match outcome {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(StudyError::Stopped),
            // What the drive can't do is the question's fault.
            Err(flashlab_target::TargetError::Spec(error)) => Err(error.into()),
            Err(source) => {
                Err(StudyError::Target { drive: self.profile.id.clone(), variant: self.variant.name(), source })
            }
        }
    }
}
