//! What a workload is, as the suite that ran it says.

use super::Rate;
use flashlab_samples::{MetricName, PointResult};
use flashlab_spec::{Generator, Rw, SteadyRule, Suite, SuiteStep, SweepStep};
use flashlab_units::Bytes;

/// From this block size on a person asks for bytes a second, below it for operations a second.
const BANDWIDTH_BLOCK_MIN: Bytes = Bytes::kib(64);

/// What the points of a workload are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Procedure {
    /// iodepth × numjobs.
    Grid,
    /// Threads with one I/O each, as gdsio loads a drive.
    Threads,
    /// Rounds to steady state.
    Rounds,
    /// A fill that is reported.
    Fill,
    /// Passes of checkpoints.
    Passes,
    /// The single checkpoints of those passes.
    Checkpoints,
}

/// Procedure, pattern and transfer size of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) procedure: Procedure,
    pub(crate) rw: Rw,
    pub(crate) bs: Bytes,
}

/// The kind of a workload, where the suite has it.
pub(crate) fn kind_of(suite: &Suite, workload: &str) -> Option<Kind> {
    suite.steps.iter().find_map(|step| match step {
        SuiteStep::Sweep(s) if s.workload == workload => Some(of_a_sweep(s)),
        SuiteStep::Concurrent(s) => s.loads.iter().find(|load| load.name() == workload).map(of_a_sweep),
        SuiteStep::Steady(s) if s.workload == workload => {
            Some(Kind { procedure: Procedure::Rounds, rw: s.rw, bs: s.bs })
        }
        SuiteStep::Fill(f) if f.workload.as_deref() == Some(workload) => {
            Some(Kind { procedure: Procedure::Fill, rw: Rw::Write, bs: f.bs })
        }
        SuiteStep::Checkpoint(c) if c.workload == workload => {
            Some(Kind { procedure: Procedure::Passes, rw: Rw::Write, bs: c.bs })
        }
        SuiteStep::Checkpoint(c) if workload.strip_suffix("-single") == Some(&c.workload) => {
            Some(Kind { procedure: Procedure::Checkpoints, rw: Rw::Write, bs: c.bs })
        }
        _ => None,
    })
}

fn of_a_sweep(sweep: &SweepStep) -> Kind {
    let threads = !sweep.threads.is_empty() || sweep.generator == Generator::Gdsio;
    let procedure = if threads { Procedure::Threads } else { Procedure::Grid };
    Kind { procedure, rw: sweep.rw, bs: sweep.bs }
}

/// The rule for steady state of a workload that is run in rounds.
pub(super) fn rule_of(suite: &Suite, workload: &str) -> Option<SteadyRule> {
    suite.steps.iter().find_map(|step| match step {
        SuiteStep::Steady(s) if s.workload == workload => Some(s.rule),
        _ => None,
    })
}

/// By the transfer size; where the suite does not tell it, by the bytes an operation moved. Trims move none.
pub(super) fn rate_of(kind: Option<Kind>, point: &PointResult) -> Rate {
    let moved = || {
        let (bytes, ios) = (point.value(MetricName::Bandwidth)?, point.value(MetricName::Iops)?);
        (ios > 0.0).then(|| Bytes((bytes / ios).round() as u64))
    };
    let bandwidth = match kind {
        Some(kind) if matches!(kind.rw, Rw::Trim | Rw::RandTrim) => false,
        Some(kind) => !kind.rw.is_random() || kind.bs >= BANDWIDTH_BLOCK_MIN,
        None => moved().is_none_or(|bs| bs >= BANDWIDTH_BLOCK_MIN),
    };
    if bandwidth { Rate::Bandwidth } else { Rate::Iops }
}
