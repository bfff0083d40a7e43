//! A run as the store hands it out and the report shows it.

use flashlab_samples::{DriveState, PointResult, Provenance};
use flashlab_spec::Suite;
use serde::{Deserialize, Serialize};

/// How a stored run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// No end was recorded: it is still running, or its process was killed.
    Unfinished,
    /// All steps were done.
    Done,
    /// The user stopped it.
    Interrupted,
    /// An error stopped it.
    Failed(String),
}

impl RunStatus {
    /// One word for tables.
    pub const fn word(&self) -> &'static str {
        match self {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Done => "done",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed(_) => "failed",
        }
    }
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Position in the plan, from 0.
    pub index: u32,
    /// Round of a steady-state step, from 1; 0 for steps done in one piece.
    pub round: u32,
    /// For people.
    pub title: String,
    /// Results; none for a step that only prepared.
    pub points: Vec<PointResult>,
    /// State of the target after it.
    pub state_after: DriveState,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

/// A run with everything that was kept of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Number in its store.
    pub id: i64,
    /// The suite as it ran.
    pub suite: Suite,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// How it ended.
    pub status: RunStatus,
    /// Steps in the plan; more than `steps` where it did not finish.
    pub steps_planned: u32,
    /// The finished steps in their order.
    pub steps: Vec<StepRecord>,
}

impl RunRecord {
    /// All results in the order in which they were taken.
    pub fn points(&self) -> impl Iterator<Item = &PointResult> {
        self.steps.iter().flat_map(|step| &step.points)
    }

    /// How many of the planned steps are finished; the rounds of one step count once it is over.
    pub fn steps_done(&self) -> u32 {
        let mut indices: Vec<u32> = self.steps.iter().map(|s| s.index).collect();
        indices.dedup();
        indices.len() as u32
    }
}
