//! Why a procedure could not be planned or run.

use flashlab_spec::SpecError;
use flashlab_target::{JournalError, TargetError};

/// A procedure that could not be planned or run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The suite does not fit the target.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The target gave no result.
    #[error("step {step} ({title}): {source}")]
    Target {
        /// Position in the plan, from 1.
        step: u32,
        /// The step.
        title: String,
        /// What the target said.
        source: TargetError,
    },
    /// A result could not be kept; nothing was measured after it.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
