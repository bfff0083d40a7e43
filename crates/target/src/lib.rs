//! The seam: what the lab asks of a target, a journal and an observer, and the plain data that
//! crosses. No code stands behind it.
//!
//! Fifth in the flow. The seam is coarse on purpose: a [`Target`] runs whole jobs, so
//! that inside it the loop over I/Os has no dynamic dispatch, lock or allocation.

mod journal;

pub use journal::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};

use flashlab_samples::{HealthLog, Interval, JobResult, Origin, TargetIdentity};
use flashlab_spec::Job;
use flashlab_units::{Bytes, BytesPerSecond, Nanos};

/// Something that can be loaded: a file, a loop device, a real drive, a modelled drive.
pub trait Target {
    /// What it is.
    fn identity(&self) -> &TargetIdentity;

    /// Whether its figures are measured or modelled.
    fn origin(&self) -> Origin;

    /// Brings it to the state of no written block, where it can do so.
    ///
    /// # Errors
    /// [`TargetError`] if it tried and failed; a target that has no purge is not an error.
    fn purge(&mut self) -> Result<Purge, TargetError>;

    /// Whether it can run a plan, as far as that is known before the first job: the jobs of each step in
    /// order, those of one step at the same time. Nothing is touched.
    ///
    /// # Errors
    /// [`TargetError`] as [`Target::run`] would give it in mid-run.
    fn check(&self, _steps: &[&[Job]]) -> Result<(), TargetError> {
        Ok(())
    }

    /// Told before each job which one of the plan it is. Targets that are run in step meet there.
    fn begins(&mut self, _place: StepPlace) {}

    /// Runs one validated job to its end, its errors or a stop. Intervals that the observer took are not in
    /// the result's series.
    ///
    /// # Errors
    /// [`TargetError`] when no result could be taken. I/O errors inside a running job are counted in
    /// the result instead.
    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError>;

    /// Runs validated jobs that begin together, each to its own end; the results are in the order of the jobs.
    /// One that fails says so in its result, and the others go on. Intervals are handed to the observer with
    /// the position of their job. A target that runs one job at a time takes lists of one.
    ///
    /// # Errors
    /// [`TargetError`] when no result could be taken; what is refused is refused before any job begins.
    fn run_at_once(&mut self, jobs: &[Job], observer: &mut dyn Observer) -> Result<Vec<JobResult>, TargetError> {
        let [job] = jobs else {
            return Err(TargetError::NotGranted {
                what: "several loads at the same time",
                reason: format!("{} runs one load at a time", self.identity().id),
                remedy: "use one mixed load (rw = \"randrw\" with rwmixread), or a file or loop device".into(),
            });
        };
        self.run(job, observer).map(|result| vec![result])
    }

    /// What its logs say now; `None` if it has none.
    fn health(&mut self) -> Result<Option<HealthLog>, TargetError>;

    /// Space beyond the user capacity that is known: raw less unusable less user. `None` if unknown.
    fn nominal_spare(&self) -> Option<Bytes>;

    /// How fast it is believed to be for an estimate of time, and on what ground.
    fn expected_rate(&self, writes: bool) -> (BytesPerSecond, &'static str);

    /// How many times smaller than the real drive the modelled one is; 1 for real targets. Volumes
    /// and times of jobs bounded by bytes are this many times larger at full scale.
    fn scale(&self) -> u64 {
        1
    }
}

/// A job's place in a plan; places are in the order of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StepPlace {
    /// Position of its step, from 0.
    pub step: u32,
    /// Round of a steady-state step, from 1; 0 for steps that are done in one piece.
    pub round: u32,
}

/// What a purge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purge {
    /// No written block is left.
    Purged,
    /// This kind of target has no purge; the reason for people.
    NotAvailable(String),
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Done share of this job, 0 to 1, where it is known.
    pub share: Option<f64>,
    /// Bytes moved so far in this job.
    pub bytes: Bytes,
    /// Rate over the last moment; `None` before the first.
    pub rate: Option<BytesPerSecond>,
    /// Time left of this job, where it is known, on the wall clock.
    pub left: Option<Nanos>,
}

/// Who watches a job. Nothing below the command line prints.
pub trait Observer {
    /// Called a few times a second of wall clock while a job runs.
    fn progress(&mut self, progress: &Progress);

    /// Asked a few times a second; a job that sees `true` ends cleanly and hands back what it has.
    fn stop_requested(&self) -> bool;

    /// An interval of the series of the job at this position, 0 where there is one. It is handed over in the
    /// order of the series as soon as it is whole. Whoever keeps it elsewhere takes it, so that a job of days
    /// needs no memory for its series; one that is given back stands in the result.
    fn interval(&mut self, _job: usize, interval: Interval) -> Option<Interval> {
        Some(interval)
    }
}

/// An observer that watches nothing and never stops a job.
#[derive(Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        false
    }
}

/// Why a target gave no result.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// An operation on the target failed.
    #[error("{action} {path}: {source}\n  {remedy}")]
    Io {
        /// What was being done, such as "opening".
        action: &'static str,
        /// The target.
        path: String,
        /// The system's error.
        source: std::io::Error,
        /// What to do about it.
        remedy: String,
    },
    /// The kernel does not grant what the engine needs.
    #[error("{what} is not available: {reason}\n  {remedy}")]
    NotGranted {
        /// Such as "io_uring".
        what: &'static str,
        /// What the kernel said.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A write was asked for and there is no permit for this target.
    #[error("{path} may not be written: {reason}")]
    NotPermitted {
        /// The target.
        path: String,
        /// Why.
        reason: String,
    },
    /// The job does not fit the target.
    #[error(transparent)]
    Spec(#[from] flashlab_spec::SpecError),
}
