//! What this machine has and what this process takes of it.

use crate::region::stride;
use flashlab_samples::CpuTime;
use flashlab_spec::{Job, SpecError};
use flashlab_target::TargetError;
use flashlab_units::{Bytes, Nanos};

/// Buffers may take this share of the memory that is available, so that a test does not push the
/// machine into reclaim while it measures.
const MEMORY_SHARE: u64 = 2;

/// User and system time of the whole process, the kernel's workers for it included.
pub(crate) fn process_cpu() -> Option<CpuTime> {
    // SAFETY: `usage` is plain data on this stack, and getrusage fills it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0).then_some(usage)
    }?;
    let time = |t: libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000);
    Some(CpuTime { user: time(usage.ru_utime), system: time(usage.ru_stime) })
}

/// The smallest step of the clock that stamps the I/Os.
pub(crate) fn clock_resolution() -> Option<Nanos> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is plain data on this stack, and clock_getres fills it.
    let known = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut step) } == 0;
    known.then(|| Nanos(step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64))
}

/// Refuses a job whose buffers alone would fill the memory.
pub(crate) fn check_memory(job: &Job) -> Result<(), TargetError> {
    let needed = u128::from(stride(job.bs)) * u128::from(job.outstanding());
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_memory(&text));
    match available {
        Some(Bytes(available)) if needed > u128::from(available / MEMORY_SHARE) => {
            Err(TargetError::Spec(SpecError::Job {
                workload: job.workload.clone(),
                reason: format!(
                    "the buffers of {} outstanding I/Os of {} do not fit half of the {} of memory available",
                    job.outstanding(),
                    job.bs,
                    Bytes(available).iec()
                ),
                remedy: "use a smaller iodepth, numjobs or bs".into(),
            }))
        }
        _ => Ok(()),
    }
}

/// The line `MemAvailable` of /proc/meminfo.
fn available_memory(text: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok().map(Bytes::kib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw};

    fn job() -> Job {
        let region = Region { offset: Bytes::ZERO, length: Bytes::kib(64) };
        Job {
            numjobs: 2,
            runtime: Some(Nanos::secs(10)),
            ramp: Nanos::secs(10),
            ..Job::new("w", Rw::Read, Bytes::kib(4), region)
        }
    }

    #[test]
    fn buffers_beyond_the_memory_are_refused() {
        assert_eq!(available_memory("MemTotal: 9 kB\nMemAvailable:    1234 kB\nX: 1"), Some(Bytes::kib(1234)));
        let huge = Job { bs: Bytes::mib(64), iodepth: 4096, numjobs: 1024, ..job() };
        assert!(check_memory(&huge).is_err_and(|e| e.to_string().contains("memory")));
        assert!(check_memory(&job()).is_ok());
    }
}
