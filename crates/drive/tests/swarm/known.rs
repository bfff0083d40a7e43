//! Faults of the engine that the swarm has found and that are still to be mended. What meets one is left
//! out, by name; whoever mends one takes its line away here.

use flashlab_spec::{HostProfile, Job, Rw};

/// Why a job would fail, if it would.
pub(crate) fn stops(job: &Job) -> Option<&'static str> {
    let bounded = job.amount.is_some() || job.passes.is_some();
    let faults = [
        (job.trims() && bounded, "what is trimmed does not count for the amount"),
        (!job.extents.is_empty() && job.pattern.sizes.is_some(), "extents end after as many requests as bs gives"),
    ];
    faults.into_iter().find(|(meets, _)| *meets).map(|(_, fault)| fault)
}

/// Whether the mean number in flight of a job is wrong: it counts from the intended start in an open loop
/// and beyond the ends of the window, which matters where a host is slow to make data, and reads that
/// overtake each other are completed ahead of time.
pub(crate) fn in_flight_is_wrong(job: &Job, host: &HostProfile) -> bool {
    let reads_only = matches!(job.rw, Rw::Read | Rw::RandRead);
    host.job_rate.is_some() || !job.arrival.is_closed() || !job.extents.is_empty() || reads_only
}

/// Whether the sums of the stages may overflow: in an open loop that the drive can't keep up with.
pub(crate) fn stages_overflow(job: &Job) -> bool {
    !job.arrival.is_closed()
}
