//! A file or loop device as a target: opened once, checked against its permit, run job by job.

use crate::explain::{direct_refused, open_error};
use crate::job::Run;
use crate::source::check_amount;
use flashlab_guard::{Inspection, Subject, WritePermit};
use flashlab_samples::{HealthLog, JobResult, Origin, TargetIdentity, TargetKind};
use flashlab_spec::{Feature, Job, Rw, SpecError};
use flashlab_target::{Observer, Purge, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// For an estimate of time before anything was measured: about a SATA drive, slow enough that a
/// plan seldom promises too much.
pub const ASSUMED_RATE: BytesPerSecond = BytesPerSecond(500e6);
/// The deadline of one I/O. The NVMe driver gives up on a command after 30 s by default, so that an
/// I/O that is out longer has been lost or is being retried over and over.
const STUCK_AFTER: Nanos = Nanos::secs(30);
/// What the engine does beyond reads and writes of one size in a closed loop.
const SUPPORTED: [Feature; 1] = [Feature::Distribution];

/// Which engine does the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// One ring a job, iodepth outstanding I/Os each.
    #[default]
    IoUring,
    /// One blocking call at a time; only if asked for, and only at iodepth 1.
    Psync,
}

/// How to open a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// O_DIRECT, past the page cache. If it is refused, opening fails; a run through the page cache
    /// is never a silent replacement.
    pub direct: bool,
    /// The engine.
    pub engine: EngineChoice,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { direct: true, engine: EngineChoice::IoUring }
    }
}

/// An opened regular file or loop device.
#[derive(Debug)]
pub struct FileTarget {
    file: Arc<File>,
    path: PathBuf,
    identity: TargetIdentity,
    options: OpenOptions,
    permit: Option<WritePermit>,
    stuck_after: Nanos,
    /// Last measured rates of reads and writes.
    measured: [Option<BytesPerSecond>; 2],
}

impl FileTarget {
    /// Opens what was inspected: to write with a permit, which is checked on the very file that was
    /// opened, and to read without one.
    ///
    /// # Errors
    /// [`TargetError::Io`] if it can't be opened or is neither a file nor a loop device,
    /// [`TargetError::NotGranted`] if O_DIRECT is asked for and refused, [`TargetError::NotPermitted`]
    /// if the permit is for something else, or for a real device.
    pub fn open(
        inspection: &Inspection,
        permit: Option<WritePermit>,
        options: &OpenOptions,
    ) -> Result<Self, TargetError> {
        let mut identity = identity_of(inspection)?;
        let path = inspection.resolved.clone();
        if options.direct {
            direct_means_something(inspection)?;
        }
        let flags = libc::O_CLOEXEC | if options.direct { libc::O_DIRECT } else { 0 };
        // No O_EXCL: the permit holds a device exclusively for as long as it lives.
        let file = File::options().read(true).write(permit.is_some()).custom_flags(flags).open(&path);
        let file = file.map_err(|e| open_error(&inspection.path, e, options.direct))?;
        if let Some(permit) = &permit {
            permit.check(&file).map_err(|e| TargetError::NotPermitted {
                path: inspection.path.display().to_string(),
                reason: e.to_string(),
            })?;
        }
        identity.capacity = size_of(&file).map_err(|e| open_error(&inspection.path, e, false))?;
        Ok(FileTarget {
            file: Arc::new(file),
            path,
            identity,
            options: *options,
            permit,
            stuck_after: STUCK_AFTER,
            measured: [None; 2],
        })
    }

    /// The same target with another deadline than 30 s for one I/O. An I/O that is out longer is
    /// counted as an error with its age, and ends the job.
    #[must_use]
    pub fn with_deadline(self, stuck_after: Nanos) -> Self {
        FileTarget { stuck_after, ..self }
    }

    /// Checks that the job fits the target as it is now, and may run on it.
    fn admit(&self, job: &Job) -> Result<(), TargetError> {
        let path = || self.path.display().to_string();
        let size = size_of(&self.file).map_err(|e| open_error(&self.path, e, false))?;
        // A file that shrank since it was opened must not be read past its end.
        job.validate(self.identity.logical_block, size.min(self.identity.capacity))?;
        job.check_supported("the load engine", &SUPPORTED)?;
        check_amount(job, self.identity.logical_block)?;
        match &self.permit {
            None if job.rw.writes() => {
                let reason = format!("{} writes, and the target was opened without a write permit", job.workload);
                return Err(TargetError::NotPermitted { path: path(), reason });
            }
            Some(permit) if job.rw.writes() => {
                let refused =
                    |e: flashlab_guard::GuardError| TargetError::NotPermitted { path: path(), reason: e.to_string() };
                permit.check(&self.file).map_err(refused)?;
            }
            _ => {}
        }
        if self.options.engine == EngineChoice::Psync && job.iodepth > 1 {
            return Err(TargetError::Spec(SpecError::Job {
                workload: job.workload.clone(),
                reason: format!("iodepth is {} and the psync engine does one I/O at a time", job.iodepth),
                remedy: format!("use iodepth 1 with numjobs {}, or the io_uring engine", job.outstanding()),
            }));
        }
        Ok(())
    }

    /// Whether this is a loop device that was attached without direct I/O: O_DIRECT then ends at it.
    fn is_loop_over_page_cache(&self) -> bool {
        let setting = format!("/sys/block/{}/loop/dio", self.identity.id);
        self.identity.kind == TargetKind::LoopDevice
            && std::fs::read_to_string(setting).is_ok_and(|text| text.trim() == "0")
    }

    /// How much of what will be read was never written: holes, or space that was only reserved.
    fn unwritten(&self, job: &Job) -> Option<&'static str> {
        if self.identity.kind == TargetKind::LoopDevice {
            let backing = std::fs::read_to_string(format!("/sys/block/{}/loop/backing_file", self.identity.id)).ok()?;
            let found = std::fs::metadata(backing.trim_end_matches('\n')).ok()?;
            let allocated = found.blocks() * 512;
            return (allocated < found.len()).then_some(if allocated == 0 { "entirely" } else { "partly" });
        }
        let seek = |to| rustix::fs::seek(&self.file, to);
        let end = job.region.offset.0 + job.region.length.0;
        let hole = seek(rustix::fs::SeekFrom::Hole(job.region.offset.0)).ok()?;
        // No data at all is an error of its own (ENXIO).
        let data = seek(rustix::fs::SeekFrom::Data(job.region.offset.0));
        let none = data.is_err() || data.is_ok_and(|data| data >= end);
        (hole < end).then_some(if none { "entirely" } else { "partly" })
    }
}

impl Target for FileTarget {
    fn identity(&self) -> &TargetIdentity {
        &self.identity
    }

    fn origin(&self) -> Origin {
        Origin::Measured
    }

    fn purge(&mut self) -> Result<Purge, TargetError> {
        let what = if self.identity.kind == TargetKind::File { "file" } else { "loop device" };
        Ok(Purge::NotAvailable(format!(
            "a {what} has no purge: it lies on a drive whose other blocks stay as they are, so its state is unknown until it is filled"
        )))
    }

    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        self.admit(job)?;
        let mut run = Run::new(job, &self.file, &self.path, self.options, self.stuck_after)?;
        if !matches!(job.rw, Rw::Write | Rw::RandWrite)
            && let Some(how_much) = self.unwritten(job)
        {
            run.remark(&format!("{how_much} unwritten: reads of what was never written touch no device"));
        }
        let mut result = run.finish(observer)?;
        if self.options.direct && self.is_loop_over_page_cache() {
            result.granted.direct = Some(false);
            let reason = "the loop device reads and writes its file through the page cache; attach it with losetup --direct-io=on";
            result.granted.refused.push(format!("O_DIRECT below the loop device: {reason}"));
        }
        for (slot, direction) in self.measured.iter_mut().zip([&result.read, &result.write]) {
            if direction.ios > 0 {
                *slot = direction.bytes.over(result.elapsed).or(*slot);
            }
        }
        Ok(result)
    }

    fn health(&mut self) -> Result<Option<HealthLog>, TargetError> {
        Ok(None)
    }

    fn nominal_spare(&self) -> Option<Bytes> {
        None
    }

    fn expected_rate(&self, writes: bool) -> (BytesPerSecond, &'static str) {
        match self.measured[usize::from(writes)] {
            Some(rate) => (rate, "as in the last job of this direction"),
            None => (ASSUMED_RATE, "assumed; nothing measured yet"),
        }
    }
}

/// Who it is, from what guard saw.
fn identity_of(inspection: &Inspection) -> Result<TargetIdentity, TargetError> {
    let path = inspection.path.display().to_string();
    let no_target = |kind: std::io::ErrorKind, remedy: &str| {
        Err(TargetError::Io { action: "opening", path: path.clone(), source: kind.into(), remedy: remedy.into() })
    };
    let (kind, id, serial, capacity, logical_block) = match &inspection.subject {
        Subject::File(facts) => {
            let name = inspection.resolved.file_name().unwrap_or(inspection.resolved.as_os_str());
            (TargetKind::File, name.to_string_lossy().into_owned(), &facts.id, facts.size, facts.logical_block)
        }
        Subject::LoopDevice(facts) => {
            (TargetKind::LoopDevice, facts.name.clone(), &facts.backing_id, facts.size, facts.logical_block)
        }
        Subject::BlockDevice(_) => {
            let reason = "only files and loop devices are opened; a later version opens real drives".to_owned();
            return Err(TargetError::NotPermitted { path, reason });
        }
        Subject::Missing { .. } => {
            return no_target(std::io::ErrorKind::NotFound, "check the path, or give --size to have a file created");
        }
        Subject::Directory => {
            return no_target(std::io::ErrorKind::IsADirectory, "name a file in it, with --size to have it created");
        }
        Subject::Other(_) => {
            return no_target(std::io::ErrorKind::InvalidInput, "name a regular file or a loop device");
        }
    };
    Ok(TargetIdentity {
        kind,
        id,
        path: Some(inspection.resolved.display().to_string()),
        model: None,
        serial: Some(serial.to_string()),
        firmware: None,
        profile_sha256: None,
        capacity,
        logical_block,
    })
}

/// Refuses O_DIRECT where open would accept it and the page cache would be used all the same.
fn direct_means_something(inspection: &Inspection) -> Result<(), TargetError> {
    let Subject::File(facts) = &inspection.subject else { return Ok(()) };
    if matches!(facts.file_system.as_str(), "tmpfs" | "ramfs" | "devtmpfs") {
        let reason = format!("{} keeps its files in memory, where O_DIRECT has no meaning", facts.file_system);
        return Err(direct_refused(&inspection.path, reason));
    }
    if facts.direct_io == Some(false) {
        let reason = format!("{} does no direct I/O on this file", facts.file_system);
        return Err(direct_refused(&inspection.path, reason));
    }
    Ok(())
}

/// Size of an opened file or block device.
fn size_of(file: &File) -> std::io::Result<Bytes> {
    Ok(Bytes(rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_can_move_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<FileTarget>();
    }

    #[test]
    fn direct_and_io_uring_are_the_default() {
        assert_eq!(OpenOptions::default(), OpenOptions { direct: true, engine: EngineChoice::IoUring });
    }
}
