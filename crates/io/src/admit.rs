//! Whether a job fits a target and may run on it, and which ways of running it the target allows.

use crate::explain::{errno_text, open_error};
use crate::ring::Modes;
use crate::source::check_amount;
use crate::target::{EngineChoice, OpenOptions, size_of};
use crate::tuning::Tuning;
use crate::verify::check_verifiable;
use flashlab_guard::WritePermit;
use flashlab_samples::{TargetIdentity, TargetKind};
use flashlab_spec::{Feature, Job, SpecError, Verify, WriteHint};
use flashlab_target::TargetError;
use flashlab_units::Nanos;
use flashlab_workload::named_seed;
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Shorter intervals hold too few I/Os for a histogram and cost more than they say.
const INTERVAL_MIN: Nanos = Nanos::millis(10);
/// Shorter deadlines are missed by many drives in good health, and by this program's own threads.
const DEADLINE_MIN: Nanos = Nanos::millis(1);
/// `F_SET_RW_HINT`, `F_LINUX_SPECIFIC_BASE + 12` in linux/fcntl.h.
const F_SET_RW_HINT: libc::c_int = 1024 + 12;

/// What is known of an opened target.
pub(crate) struct Facts<'a> {
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
    pub(crate) identity: &'a TargetIdentity,
    pub(crate) options: OpenOptions,
    pub(crate) tuning: &'a Tuning,
    pub(crate) permit: Option<&'a WritePermit>,
    /// The deadline of one I/O.
    pub(crate) stuck_after: Nanos,
}

impl Facts<'_> {
    /// Checks that the job fits the target as it is now, and may run on it.
    ///
    /// # Errors
    /// [`TargetError`] with the reason and the remedy.
    pub(crate) fn admit(&self, job: &Job) -> Result<(), TargetError> {
        self.suits(job)?;
        self.check_permit(job)
    }

    /// Checks that the job fits the target, and that the target can run it.
    ///
    /// # Errors
    /// [`TargetError`] with the reason and the remedy.
    pub(crate) fn suits(&self, job: &Job) -> Result<(), TargetError> {
        let size = size_of(self.file).map_err(|e| open_error(self.path, e, false))?;
        let logical_block = self.identity.logical_block;
        // A file that shrank since it was opened must not be read past its end.
        job.validate(logical_block, size.min(self.identity.capacity))?;
        job.check_supported("the load engine", &Feature::ALL)?;
        check_amount(job, logical_block)?;
        check_verifiable(job, logical_block)?;
        self.check_engine(job)?;
        if !job.placement.is_empty() {
            self.check_placement(job)?;
        }
        if job.trims() && !self.does_nothing() {
            self.check_trims()?;
        }
        Ok(())
    }

    fn does_nothing(&self) -> bool {
        matches!(self.options.engine, EngineChoice::Nop | EngineChoice::Null)
    }

    /// Checks that a job that writes may do so: one look at the machine's tables.
    pub(crate) fn check_permit(&self, job: &Job) -> Result<(), TargetError> {
        if !job.rw.writes() {
            return Ok(());
        }
        let refused = |reason: String| TargetError::NotPermitted { path: self.path.display().to_string(), reason };
        match self.permit {
            None => Err(refused(format!("{} writes, and the target was opened without a write permit", job.workload))),
            Some(permit) => permit.check(self.file).map_err(|e| refused(e.to_string())),
        }
    }

    fn check_engine(&self, job: &Job) -> Result<(), TargetError> {
        let refuse = |reason: String, remedy: String| {
            Err(TargetError::Spec(SpecError::Job { workload: job.workload.clone(), reason, remedy }))
        };
        let engine = self.options.engine;
        if engine == EngineChoice::Psync && job.iodepth > 1 {
            return refuse(
                format!("iodepth is {} and the psync engine does one I/O at a time", job.iodepth),
                format!("use iodepth 1 with numjobs {}, or the io_uring engine", job.outstanding()),
            );
        }
        if self.does_nothing() && job.verify != Verify::Off {
            let reason = format!("verification with the engine {}, which moves no data", engine.word());
            return refuse(reason, "use io_uring or psync".into());
        }
        if self.tuning.interval < INTERVAL_MIN {
            let reason = format!("intervals of {}", self.tuning.interval);
            return refuse(reason, format!("use at least {INTERVAL_MIN}"));
        }
        if self.stuck_after < DEADLINE_MIN {
            let reason = format!("a deadline of {}", self.stuck_after);
            return refuse(reason, format!("use at least {DEADLINE_MIN}"));
        }
        if self.tuning.split_submission && matches!(engine, EngineChoice::Psync | EngineChoice::Null) {
            let reason =
                format!("slat with the engine {}, where submission and completion are one call", engine.word());
            return refuse(reason, "use io_uring, or leave the split of submission out".into());
        }
        Ok(())
    }

    /// FDP placement needs a block device with write streams.
    fn check_placement(&self, job: &Job) -> Result<(), TargetError> {
        let refuse = |reason: String| TargetError::NotGranted {
            what: "FDP placement",
            reason,
            remedy:
                "use a drive with FDP enabled, on Linux 6.16 or newer, with the io_uring engine; or leave placement out"
                    .into(),
        };
        if self.options.engine == EngineChoice::Psync {
            return Err(refuse("the system calls of psync carry no placement identifier".into()));
        }
        let streams = self.queue_setting("max_write_streams").and_then(|text| text.parse::<u16>().ok());
        let largest = job.placement.iter().max().copied().unwrap_or(0);
        match streams.unwrap_or(0) {
            0 => Err(refuse(format!("{} has no write streams", self.path.display()))),
            streams if largest >= streams.min(u16::from(u8::MAX)) => {
                Err(refuse(format!("identifier {largest} of a device with {streams} write streams")))
            }
            _ => Ok(()),
        }
    }

    /// Trims need a device that discards, or a file system that punches holes.
    fn check_trims(&self) -> Result<(), TargetError> {
        let refuse =
            |reason: String, remedy: &str| TargetError::NotGranted { what: "trim", reason, remedy: remedy.into() };
        if self.identity.kind != TargetKind::File {
            let most = self.queue_setting("discard_max_bytes").and_then(|text| text.parse::<u64>().ok());
            if most == Some(0) {
                let reason = format!("{} discards nothing (discard_max_bytes is 0)", self.path.display());
                return Err(refuse(reason, "leave the trims out"));
            }
            if self.options.engine == EngineChoice::IoUring && !kernel_is_at_least(6, 12) {
                let reason = "io_uring discards block devices since Linux 6.12".to_owned();
                return Err(refuse(reason, "use the psync engine (--engine psync, iodepth 1 only)"));
            }
            return Ok(());
        }
        match punches_holes(self.path) {
            Ok(()) => Ok(()),
            Err(e) => {
                let reason = format!("the file system of {} punches no holes: {}", self.path.display(), errno_text(&e));
                Err(refuse(reason, "use a file on ext4 or xfs, or leave the trims out"))
            }
        }
    }

    /// Ring modes that the target allows of those asked for, and why not the others.
    pub(crate) fn modes(&self, job: &Job) -> (Modes, Vec<String>) {
        let mut refused = Vec::new();
        let mut modes = Modes { iopoll: self.tuning.iopoll, sqpoll: self.tuning.sqpoll };
        let needs_interrupts = job.trims() || job.durability.fsync_every.max(job.durability.fdatasync_every) > 0;
        let why = match () {
            () if !modes.iopoll => None,
            () if !self.options.direct => Some("needs O_DIRECT"),
            () if needs_interrupts => Some("trims and flushes can't be polled for"),
            () if self.queue_setting("io_poll").as_deref() != Some("1") => {
                Some("the driver has no poll queues (for NVMe: the module option nvme.poll_queues)")
            }
            () => None,
        };
        if let Some(why) = why {
            modes.iopoll = false;
            refused.push(format!("IOPOLL: {why}"));
        }
        if !matches!(self.options.engine, EngineChoice::IoUring | EngineChoice::Nop) {
            for (on, name) in [(&mut modes.iopoll, "IOPOLL"), (&mut modes.sqpoll, "SQPOLL")] {
                if std::mem::take(on) {
                    refused.push(format!("{name}: not with the engine {}", self.options.engine.word()));
                }
            }
        }
        (modes, refused)
    }

    /// Passes the job's write hint on to the kernel, which keeps it with the open file's inode; a job
    /// that writes without a hint takes an earlier one back. A word about it, where there is one.
    ///
    /// # Errors
    /// [`TargetError::NotGranted`] if the kernel takes no hint for this target.
    pub(crate) fn hint(&self, job: &Job) -> Result<Option<String>, TargetError> {
        if self.does_nothing() || !job.rw.writes() {
            return Ok(None);
        }
        // RWH_WRITE_LIFE_NOT_SET, _NONE, _SHORT, _MEDIUM, _LONG, _EXTREME.
        let (value, word): (u64, _) = match job.write_hint {
            None => (0, "not set"),
            Some(WriteHint::None) => (1, "none"),
            Some(WriteHint::Short) => (2, "short"),
            Some(WriteHint::Medium) => (3, "medium"),
            Some(WriteHint::Long) => (4, "long"),
            Some(WriteHint::Extreme) => (5, "extreme"),
        };
        // SAFETY: the kernel reads one u64, which lives on this stack.
        let set = unsafe { libc::fcntl(self.file.as_raw_fd(), F_SET_RW_HINT, &raw const value) } == 0;
        match (job.write_hint, set) {
            (Some(_), true) => Ok(Some(format!("write hint {word}"))),
            (Some(_), false) => Err(TargetError::NotGranted {
                what: "the write hint",
                reason: errno_text(&io::Error::last_os_error()),
                remedy: "use Linux 4.13 or newer (6.13 for block devices), or leave the hint out".into(),
            }),
            (None, _) => Ok(None),
        }
    }

    /// A ledger beside the data it tells of would be lost with it, and would be written to by the test.
    pub(crate) fn check_ledger_place(&self, ledger: &Path) -> Result<(), TargetError> {
        let folder = ledger.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let refuse = |reason: String| TargetError::NotGranted {
            what: "the verification ledger",
            reason,
            remedy: "name a file in a folder on another file system, such as /dev/shm".into(),
        };
        let of_ledger = std::fs::metadata(folder).map_err(|e| refuse(format!("{}: {e}", folder.display())))?.dev();
        let own = self.file.metadata().map_err(|e| open_error(self.path, e, false))?;
        let backing = self.backing().and_then(|path| std::fs::metadata(path).ok()).map(|found| found.dev());
        let is_same = [own.dev(), own.rdev()].contains(&of_ledger) && self.identity.kind == TargetKind::File
            || own.rdev() == of_ledger
            || backing == Some(of_ledger);
        if is_same {
            return Err(refuse(format!("{} is on the target's own file system", ledger.display())));
        }
        Ok(())
    }

    fn backing(&self) -> Option<PathBuf> {
        let setting = format!("/sys/block/{}/loop/backing_file", self.identity.id);
        let text = (self.identity.kind == TargetKind::LoopDevice).then(|| std::fs::read_to_string(setting).ok())??;
        Some(PathBuf::from(text.trim_end_matches('\n')))
    }

    /// A setting of the queue of the target's device, or of the device that its file system lies on.
    fn queue_setting(&self, name: &str) -> Option<String> {
        let found = self.file.metadata().ok()?;
        let number = if self.identity.kind == TargetKind::File { found.dev() } else { found.rdev() };
        let device = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
        // A partition has its queue one level up.
        let places = [format!("{device}/queue/{name}"), format!("{device}/../queue/{name}")];
        places.iter().find_map(|place| std::fs::read_to_string(place).ok()).map(|text| text.trim().to_owned())
    }
}

/// A hash by which a ledger knows its target again: what it is, not how large.
pub(crate) fn identity_hash(identity: &TargetIdentity) -> u64 {
    let serial = identity.serial.as_deref().unwrap_or_default();
    named_seed(named_seed(0, &identity.id, 0), serial, 0)
}

/// Punches a hole into a nameless file beside `path`.
fn punches_holes(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = File::options().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(folder);
    // Where there are no nameless files, the first trim says it.
    let Ok(file) = file else { return Ok(()) };
    file.set_len(8192)?;
    Ok(rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 4096)?)
}

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_units::Bytes;

    #[test]
    fn kernels_are_compared_by_number() {
        assert!(kernel_is_at_least(2, 6) && !kernel_is_at_least(99, 0));
    }

    #[test]
    fn a_folder_on_disk_punches_holes() {
        let program = std::env::current_exe().expect("program");
        assert!(punches_holes(&program).is_ok());
    }

    #[test]
    fn targets_are_told_apart() {
        let identity = |serial: &str, capacity| TargetIdentity {
            kind: TargetKind::File,
            id: "a".into(),
            path: None,
            model: None,
            serial: Some(serial.into()),
            firmware: None,
            profile_sha256: None,
            capacity: Bytes(capacity),
            logical_block: Bytes(512),
        };
        assert_eq!(identity_hash(&identity("1:2", 1)), identity_hash(&identity("1:2", 2)));
        assert_ne!(identity_hash(&identity("1:2", 1)), identity_hash(&identity("1:3", 1)));
    }
}
