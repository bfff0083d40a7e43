//! Exit codes, and which error gives which.

use flashlab_guard::GuardError;
use flashlab_interop::InteropError;
use flashlab_lab::LabError;
use flashlab_spec::SpecError;
use flashlab_store::StoreError;
use flashlab_study::StudyError;
use flashlab_target::TargetError;
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All done.
    Done = 0,
    /// Done, and a criterion was not met: a steady state that was not reached.
    CriterionNotMet = 1,
    /// The command line, a suite or a profile is wrong.
    Usage = 2,
    /// A device, a file or the store failed.
    Device = 3,
    /// Refused so that nothing is lost.
    Refused = 4,
    /// Stopped by a signal; what was finished is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error of the command line itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The arguments don't go together, or name nothing.
    #[error("{what}\n  {remedy}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A file would be overwritten.
    #[error("{what}\n  {remedy}")]
    Refused {
        /// What would be lost.
        what: String,
        /// What to do.
        remedy: String,
    },
    /// A file of ours could not be read or written.
    #[error("{path}: could not {action}: {source}\n  {remedy}")]
    File {
        /// The file.
        path: String,
        /// What was being done.
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
        /// What to do.
        remedy: &'static str,
    },
}

impl CliError {
    /// Wrong usage.
    pub(crate) fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        CliError::Usage { what: what.into(), remedy: remedy.into() }
    }
}

/// The exit code of an error.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref::<CliError>() {
        return match error {
            CliError::Usage { .. } => Exit::Usage,
            CliError::Refused { .. } => Exit::Refused,
            CliError::File { .. } => Exit::Device,
        };
    }
    if error.is::<SpecError>() || error.is::<InteropError>() {
        return Exit::Usage;
    }
    if let Some(error) = error.downcast_ref::<GuardError>() {
        return of_guard(error);
    }
    if let Some(error) = error.downcast_ref::<TargetError>() {
        return of_target(error);
    }
    if let Some(error) = error.downcast_ref::<StudyError>() {
        return match error {
            StudyError::Spec(_)
            | StudyError::TraceTooLarge { .. }
            | StudyError::TraceTooLong { .. }
            | StudyError::NoPlace { .. }
            | StudyError::NoFigures { .. }
            | StudyError::NoParameter { .. }
            | StudyError::Profile(_) => Exit::Usage,
            StudyError::Target { source, .. } => of_target(source),
            StudyError::Lab(error) => of_lab(error),
            StudyError::Run { .. } => Exit::Device,
            StudyError::Stopped => Exit::Interrupted,
        };
    }
    if let Some(StoreError::Missing { .. } | StoreError::NoFolder { .. }) = error.downcast_ref::<StoreError>() {
        return Exit::Usage;
    }
    error.downcast_ref::<LabError>().map_or(Exit::Device, of_lab)
}

fn of_lab(error: &LabError) -> Exit {
    match error {
        LabError::Spec(_) => Exit::Usage,
        LabError::Target { source, .. } => of_target(source),
        LabError::Journal(_) => Exit::Device,
    }
}

fn of_target(error: &TargetError) -> Exit {
    match error {
        TargetError::NotPermitted { .. } => Exit::Refused,
        TargetError::Spec(_) => Exit::Usage,
        TargetError::Io { .. } | TargetError::NotGranted { .. } => Exit::Device,
    }
}

fn of_guard(error: &GuardError) -> Exit {
    match error {
        GuardError::Refused { .. }
        | GuardError::TokenMissing { .. }
        | GuardError::TokenWrong { .. }
        | GuardError::Changed { .. }
        | GuardError::NotTheObject { .. }
        | GuardError::InUse { .. }
        | GuardError::Exists { .. } => Exit::Refused,
        GuardError::NoParent { .. }
        | GuardError::DanglingLink { .. }
        | GuardError::Missing { .. }
        | GuardError::Size { .. } => Exit::Usage,
        _ => Exit::Device,
    }
}

/// The error with what led to it, a line each.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut out = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Most of our errors already say their source.
        if !out.contains(&cause) {
            out.push_str("\n  because: ");
            out.push_str(&cause);
        }
    }
    out
}
