//! Why a study gave no answer.

use flashlab_spec::SpecError;
use flashlab_target::TargetError;

/// A study that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The load or a profile can't be used.
    #[error(transparent)]
    Spec(#[from] SpecError),
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
    /// The caller stopped it.
    #[error("stopped before all answers were there\n  run it again, with fewer drives if it takes too long")]
    Stopped,
}
