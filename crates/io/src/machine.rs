//! What this machine has and what this process takes of it.

use crate::region::stride;
use flashlab_samples::CpuTime;
use flashlab_spec::{Job, SpecError};
use flashlab_target::TargetError;
use flashlab_units::{Bytes, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};

/// Buffers may take this share of the memory that is available, so that a test does not push the
/// machine into reclaim while it measures.
const MEMORY_SHARE: u64 = 2;

/// Most mappings that one thread takes: its stack and that for signals with a guard page each, the two of its
/// ring, and up to three of its buffers, where huge pages split them.
pub(crate) const MAPS_A_THREAD: u64 = 9;
/// Mappings left to all else in this process: programs and libraries, ledgers, stores, and the heaps of the
/// allocator, at most 8 a CPU.
const MAPS_OF_ALL_ELSE: u64 = 2_000;

/// Threads of all targets of this process that are set up.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// Threads that a step may have; given back when dropped.
#[derive(Debug, Default)]
pub(crate) struct Threads(u64);

impl Threads {
    /// For jobs that run at the same time, beside those of other targets.
    ///
    /// # Errors
    /// As [`check_threads`].
    pub(crate) fn take(jobs: &[Job]) -> Result<Self, TargetError> {
        let wanted = threads(jobs);
        let most = mappings_max();
        let mut others = THREADS.load(Ordering::Acquire);
        // Taken only if there is room, so that what is refused keeps nobody else out.
        loop {
            check_mappings(wanted, others, most)?;
            match THREADS.compare_exchange(others, others + wanted, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(Threads(wanted)),
                Err(now) => others = now,
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        THREADS.fetch_sub(self.0, Ordering::AcqRel);
    }
}

fn threads(jobs: &[Job]) -> u64 {
    jobs.iter().map(|job| u64::from(job.numjobs)).sum()
}

fn mappings_max() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

/// Refuses jobs that run at the same time with more threads than the kernel has mappings for: a thread that gets
/// no stack for signals ends the whole process.
///
/// # Errors
/// [`TargetError::NotGranted`] with how many there may be.
pub(crate) fn check_threads(jobs: &[Job]) -> Result<(), TargetError> {
    check_mappings(threads(jobs), 0, mappings_max())
}

/// `others` are threads of other targets.
fn check_mappings(wanted: u64, others: u64, mappings_max: Option<u64>) -> Result<(), TargetError> {
    let Some(most) = mappings_max else { return Ok(()) };
    let room = most.saturating_sub(MAPS_OF_ALL_ELSE) / MAPS_A_THREAD;
    if wanted + others <= room {
        return Ok(());
    }
    let needed = (wanted + others) * MAPS_A_THREAD + MAPS_OF_ALL_ELSE;
    let beside = if others > 0 { format!(" beside {others} of other targets") } else { String::new() };
    Err(TargetError::NotGranted {
        what: "so many threads at the same time",
        reason: format!(
            "a thread takes up to {MAPS_A_THREAD} memory mappings, and the {most} that a process may have \
             (vm.max_map_count) are enough for {room} threads, not for {wanted}{beside}"
        ),
        remedy: format!(
            "use fewer loads or a smaller numjobs, with a larger iodepth for as many outstanding I/Os; \
             or `sysctl vm.max_map_count={needed}`"
        ),
    })
}

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
    fn threads_beyond_the_mappings_are_refused() {
        assert!(check_mappings(5_000, 0, Some(65_530)).is_ok());
        let error = check_mappings(12 * 1024, 0, Some(65_530)).expect_err("too many").to_string();
        assert!(error.contains("enough for 7058 threads, not for 12288"), "{error}");
        assert!(error.contains("sysctl vm.max_map_count=112592"), "{error}");
        assert!(check_mappings(12 * 1024, 0, Some(112_592)).is_ok());
        assert!(
            check_mappings(12 * 1024, 1, Some(112_592)).is_err_and(|e| e.to_string().contains("beside 1 of other"))
        );
        assert!(check_mappings(u64::from(u32::MAX), 0, None).is_ok());
        // What is refused takes nothing from others, and neither does what has ended.
        if let Some(most) = mappings_max().filter(|most| *most < 1 << 20) {
            let many = vec![Job { numjobs: 1024, ..job() }; most as usize / 1024];
            assert!((0..3).all(|_| Threads::take(&many).is_err() && check_threads(&many).is_err()));
            assert!((0..most).all(|_| Threads::take(&[job()]).is_ok()));
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
