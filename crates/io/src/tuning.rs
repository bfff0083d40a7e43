//! What a person may ask of the engine beyond the job; what was granted is in the result.

use flashlab_units::Nanos;

/// Ways to run the same job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuning {
    /// Completions are polled for instead of interrupting (IOPOLL). Needs O_DIRECT and a driver with
    /// poll queues; without them the job runs on interrupts and says so.
    pub iopoll: bool,
    /// A kernel thread submits (SQPOLL), which takes a CPU of its own.
    pub sqpoll: bool,
    /// Submission is a system call of its own, timed as slat; costs a call more a batch.
    pub split_submission: bool,
    /// CPUs that the threads are pinned to, in turn; empty for none. Buffers and rings are allocated
    /// after pinning, and so on the NUMA node of the thread.
    pub cpus: Vec<u32>,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// I/O errors after which a thread still goes on; 0 to end the job at the first one. A result with
    /// errors is not clean either way.
    pub errors_max: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            iopoll: false,
            sqpoll: false,
            split_submission: false,
            cpus: Vec::new(),
            interval: Nanos::secs(1),
            errors_max: 0,
        }
    }
}
