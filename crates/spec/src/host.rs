//! The host that drives a modelled drive: what the load generator and kernel cost.

use crate::{Parameter, Sourced, SpecError, toml_text};
use flashlab_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times of a load generator on its host; fitted once for all drives, never per drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// Such as `fio`.
    pub id: String,
    /// What it stands for.
    pub title: String,
    /// Time a job needs to submit one I/O; a job submits one at a time.
    pub submit_time: Sourced<Nanos>,
    /// Time between a completion and the submission of the next I/O of that slot; outside the latency.
    pub resubmit_gap: Sourced<Nanos>,
}

impl HostProfile {
    /// Reads a profile; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        toml_text::parse(text, file)
    }

    /// Every parameter with its source and where it acts.
    pub fn parameters(&self) -> Vec<Parameter> {
        vec![
            self.submit_time.row("host.submit_time", "serial per job, before the queue pair"),
            self.resubmit_gap.row("host.resubmit_gap", "between completion and next submission of a slot"),
        ]
    }
}
