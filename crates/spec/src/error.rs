//! What can be wrong with a specification.

use flashlab_units::Bytes;

/// A specification that can't be used, with the place and the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecError {
    /// The text is not TOML, or a key or value is wrong.
    #[error("{file}:{line}: {message}{}", hint.as_ref().map(|h| format!("\n  {h}")).unwrap_or_default())]
    Text {
        /// Where the text came from.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
        /// What to write instead, where there is a near name.
        hint: Option<String>,
    },
    /// A value has the right form and can't work.
    #[error("{file}: `{key}` = {value}: {reason}\n  {remedy}")]
    Value {
        /// Where the value came from: a file, or "the command line".
        file: String,
        /// The key, with its table.
        key: String,
        /// The value as written.
        value: String,
        /// Why it can't work.
        reason: String,
        /// The nearest value that works, or what to change.
        remedy: String,
    },
    /// A job that no drive can run.
    #[error("{workload}: {reason}\n  {remedy}")]
    Job {
        /// The workload.
        workload: String,
        /// Why it can't run.
        reason: String,
        /// What to change.
        remedy: String,
    },
    /// The target is smaller than the suite needs.
    #[error("{workload} needs at least {needed} and the target has {have}\n  give a larger --size, or another suite")]
    TooSmall {
        /// The workload that doesn't fit.
        workload: String,
        /// Bytes it needs.
        needed: Bytes,
        /// Bytes there are.
        have: Bytes,
    },
    /// No such drive, suite or other named thing.
    #[error("unknown {what} `{name}`{}\n  known: {known}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// "drive", "suite".
        what: &'static str,
        /// The name as given.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
}

impl SpecError {
    /// An unknown name among `known`, with the nearest one.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let all: Vec<&str> = known.into_iter().collect();
        SpecError::Unknown {
            what,
            name: name.to_owned(),
            nearest: crate::nearest(name, all.iter().copied()).map(str::to_owned),
            known: all.join(", "),
        }
    }
}
