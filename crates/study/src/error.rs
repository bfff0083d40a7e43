//! Why a study gave no answer.

use flashlab_lab::LabError;
use flashlab_spec::SpecError;
use flashlab_target::TargetError;
use flashlab_units::Nanos;

/// A study that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The load or a profile can't be used.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A trace does not fit a drive.
    #[error(
        "{source_file}: {drive} is too small for the trace: {reason}\n  use a larger drive, or fold the addresses (--fold)"
    )]
    TraceTooLarge {
        /// The trace.
        source_file: String,
        /// The drive.
        drive: String,
        /// What does not fit.
        reason: String,
    },
    /// A trace lasts longer than a modelled drive counts.
    #[error(
        "{source_file}: the trace lasts {time}, and a modelled drive runs one job for {longest} at most\n  give a part of it, such as its first {longest}"
    )]
    TraceTooLong {
        /// The trace.
        source_file: String,
        /// How long one pass of it takes.
        time: Nanos,
        /// The longest time of a job.
        longest: Nanos,
    },
    /// A modelled drive gave no result.
    #[error("{drive}, {variant}: {source}")]
    Target {
        /// The drive.
        drive: String,
        /// The variant of the load or the drive.
        variant: String,
        /// What the model said.
        source: TargetError,
    },
    /// A suite could not be run on a modelled drive.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A run of a modelled drive ended early.
    #[error("{drive}: {reason}\n  this is a fault of the model; run `flashlab run SUITE --on {drive}` and report it")]
    Run {
        /// The drive.
        drive: String,
        /// What ended it.
        reason: String,
    },
    /// A figure has no place in its suite.
    #[error(
        "{workload} of suite {suite}: the suite makes no result at the place of a figure\n  use the suite that the figures were measured with"
    )]
    NoPlace {
        /// The workload.
        workload: String,
        /// The suite.
        suite: String,
    },
    /// There is nothing to fit to.
    #[error(
        "{drive}: no figure tells of any parameter that the plan frees\n  give figures of the workloads that the blocks of data/fit.toml name"
    )]
    NoFigures {
        /// The drive.
        drive: String,
    },
    /// The plan frees a parameter that the profile does not have.
    #[error("{key}: the profile has no such parameter\n  give it a value to begin with, or take it out of the plan")]
    NoParameter {
        /// Table and key.
        key: String,
    },
    /// The text of a profile can't be handled.
    #[error("{0}\n  a whole example: a file in data/drives")]
    Profile(String),
    /// The caller stopped it.
    #[error("stopped before all answers were there; nothing was written\n  run it again")]
    Stopped,
}
