//! What the lab tells a journal: which run began, which step is done.

use flashlab_samples::{DriveState, Interval, PointResult, Provenance};
use flashlab_spec::{Job, Suite};
use flashlab_units::Nanos;
use serde::{Deserialize, Serialize};

/// A run in a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub i64);

/// What is known when a run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// The suite as asked for, with the user's changes applied.
    pub suite: Suite,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// How many steps the plan has.
    pub steps: u32,
}

/// A step that is about to begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepHeader {
    /// Position in the plan, from 0.
    pub index: u32,
    /// Round of a steady-state step, from 1; 0 for steps that are done in one piece.
    pub round: u32,
    /// For people, such as "rand-read-4k, iodepth 32, numjobs 4".
    pub title: String,
    /// The job, or those that run at the same time; none where the step runs none.
    pub jobs: Vec<Job>,
}

/// A step that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// Results, none for a step that only prepares.
    pub points: Vec<PointResult>,
    /// State of the target after it.
    pub state_after: DriveState,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// Wall-clock time it took. Not exported, so that equal runs export equal files.
    pub wall: Nanos,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// All steps done.
    Done,
    /// Stopped by the user; the finished steps are kept.
    Interrupted,
    /// Stopped by an error, which is given.
    Failed(String),
}

/// A place that keeps what is done. Each call returns only once the data would survive a kill of
/// this process.
pub trait Journal {
    /// Opens a run.
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError>;
    /// Notes that a step has begun.
    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError>;
    /// Keeps more intervals of the series of a job that runs in a step that has begun; in order, each
    /// once. `point` is the position of its result among those of the step. Those that are in a result at its
    /// commit follow them. A job is running: where others use the journal this does not wait for them, and
    /// gives back `false`; then nothing was kept, and the same intervals come again later.
    fn keep_intervals(
        &mut self,
        run: RunId,
        step: &StepHeader,
        point: u32,
        intervals: &[Interval],
    ) -> Result<bool, JournalError>;
    /// Keeps a finished step, whole or not at all.
    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError>;
    /// Closes a run.
    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError>;
}

/// The journal could not keep something.
#[derive(Debug, thiserror::Error)]
#[error("{path}: could not {action}: {reason}\n  {remedy}")]
pub struct JournalError {
    /// The store.
    pub path: String,
    /// What was being kept.
    pub action: &'static str,
    /// What went wrong.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}
