//! A file or loop device as a target: opened once, checked against its permit, run job by job.

use crate::admit::{self, Facts};
use crate::beside::check_together;
use crate::explain::{direct_refused, open_error};
use crate::ledger::{Geometry, Ledger};
use crate::machine::{Threads, check_threads};
use crate::runs::Runs;
use crate::tuning::Tuning;
use crate::verify::{self, Checked};
use crate::worker::Setup;
use flashlab_guard::{Inspection, Subject, WritePermit};
use flashlab_samples::{HealthLog, JobResult, Origin, TargetIdentity, TargetKind};
use flashlab_spec::{Job, Rw, SpecError, Verify};
use flashlab_target::{Observer, Purge, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// For an estimate of time before anything was measured: about a SATA drive, slow enough that a
/// plan seldom promises too much.
pub const ASSUMED_RATE: BytesPerSecond = BytesPerSecond(500e6);
/// The deadline of one I/O. The NVMe driver gives up on a command after 30 s by default, so that an
/// I/O that is out longer has been lost or is being retried over and over.
const STUCK_AFTER: Nanos = Nanos::secs(30);

/// Which engine does the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// One ring a job, iodepth outstanding I/Os each.
    #[default]
    IoUring,
    /// One blocking call at a time; only if asked for, and only at iodepth 1.
    Psync,
    /// As io_uring, but the kernel is asked to do nothing (IORING_OP_NOP): what the ring costs.
    Nop,
    /// Nothing is asked of the kernel: what the engine costs.
    Null,
}

impl EngineChoice {
    /// The word in results.
    pub const fn word(self) -> &'static str {
        match self {
            EngineChoice::IoUring => "io_uring",
            EngineChoice::Psync => "psync",
            EngineChoice::Nop => "io_uring-nop",
            EngineChoice::Null => "null",
        }
    }
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
pub struct FileTarget {
    file: Arc<File>,
    path: PathBuf,
    identity: TargetIdentity,
    options: OpenOptions,
    permit: Option<WritePermit>,
    stuck_after: Nanos,
    tuning: Tuning,
    ledger: Option<PathBuf>,
    /// What each result says was asked for and not granted, before any job.
    refusals: Vec<String>,
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
        let open = |flags| File::options().read(true).write(permit.is_some()).custom_flags(flags).open(&path);
        // A read should not write a time of access. Only the owner of a file may ask for that.
        let file = open(flags | libc::O_NOATIME)
            .or_else(|e| if e.raw_os_error() == Some(libc::EPERM) { open(flags) } else { Err(e) });
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
            tuning: Tuning::default(),
            ledger: None,
            refusals: Vec::new(),
            measured: [None; 2],
        })
    }

    /// The same target with another deadline than 30 s for one I/O, of a millisecond or more. I/Os that are
    /// out longer are counted as errors with the age of the oldest, and end the job.
    #[must_use]
    pub fn with_deadline(self, stuck_after: Nanos) -> Self {
        FileTarget { stuck_after, ..self }
    }

    /// The same target, run in another way.
    #[must_use]
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        FileTarget { tuning, ..self }
    }

    /// The same target with a ledger file for jobs that verify: it keeps what was acknowledged, so that
    /// a later run can check it, whatever became of this process. It must lie on another file system.
    #[must_use]
    pub fn with_ledger(self, path: PathBuf) -> Self {
        FileTarget { ledger: Some(path), ..self }
    }

    /// The same target under another name in results.
    #[must_use]
    pub fn with_id(mut self, id: String) -> Self {
        self.identity.id = id;
        self
    }

    /// The same target, whose results say that this was asked for and not granted, such as an engine
    /// that another one stands in for.
    #[must_use]
    pub fn with_refusal(mut self, text: String) -> Self {
        self.refusals.push(text);
        self
    }

    /// Length of an interval of the series.
    pub(crate) fn interval(&self) -> Nanos {
        self.tuning.interval
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            file: &self.file,
            path: &self.path,
            identity: &self.identity,
            options: self.options,
            tuning: &self.tuning,
            permit: self.permit.as_ref(),
            stuck_after: self.stuck_after,
        }
    }

    /// Sets up jobs that may run at the same time. Nothing is done if one of them is refused.
    fn prepare<'a>(&'a self, jobs: &'a [Job], checked: &[Arc<Checked>]) -> Result<Runs<'a>, TargetError> {
        jobs.iter().try_for_each(|job| self.facts().admit(job))?;
        check_together(jobs, self.ledger.is_some())?;
        let mut runs = Runs::with(Threads::take(jobs)?);
        let trims = jobs.iter().any(Job::trims);
        jobs.iter().zip(checked).try_for_each(|(job, checked)| self.set_up(job, checked, trims, &mut runs))?;
        Ok(runs)
    }

    /// Sets up a job that was admitted; whether one of those that run with it `trims`.
    fn set_up<'a>(
        &'a self,
        job: &'a Job,
        checked: &Arc<Checked>,
        trims: bool,
        runs: &mut Runs<'a>,
    ) -> Result<(), TargetError> {
        let facts = self.facts();
        let (modes, refused) = facts.modes(job);
        let geometry = self.geometry(job);
        let setup = Setup {
            file: Arc::clone(&self.file),
            engine: self.options.engine,
            tuning: self.tuning.clone(),
            modes,
            logical_block: self.identity.logical_block,
            is_block_device: self.identity.kind != TargetKind::File,
            geometry,
            ledger: self.open_ledger(job)?,
            checked: Arc::clone(checked),
            stuck_after_ns: self.stuck_after.0,
        };
        let hint = facts.hint(job)?;
        let run = runs.add(job, &self.path, setup, self.options.direct)?;
        self.refusals.iter().cloned().chain(refused).for_each(|text| run.refused(text));
        hint.into_iter().for_each(|text| run.remark(&text));
        if job.verify != Verify::Off && self.ledger.is_none() {
            run.remark("verified without a ledger file: a later run can't tell stale blocks");
        }
        if self.reads_data(job) {
            if let Some(how_much) = self.unwritten(job) {
                run.remark(&format!(
                    "{how_much} unwritten before it began: reads of what was never written touch no device"
                ));
            }
            if trims {
                run.remark("what is trimmed meanwhile is unwritten too: reads of it touch no device");
            }
        }
        Ok(())
    }

    fn reads_data(&self, job: &Job) -> bool {
        !matches!(self.options.engine, EngineChoice::Nop | EngineChoice::Null)
            && !matches!(job.rw, Rw::Write | Rw::RandWrite | Rw::Trim | Rw::RandTrim)
    }

    fn geometry(&self, job: &Job) -> Geometry {
        verify::geometry(job, self.identity.logical_block, admit::identity_hash(&self.identity))
    }

    /// The ledger of a job that verifies: that of an earlier run where it only checks, and one in memory where
    /// there is no file and it writes.
    fn open_ledger(&self, job: &Job) -> Result<Option<Arc<Ledger>>, TargetError> {
        if job.verify == Verify::Off || (self.ledger.is_none() && !job.rw.writes()) {
            return Ok(None);
        }
        if let Some(path) = &self.ledger {
            self.facts().check_ledger_place(path)?;
            if job.verify == Verify::Check {
                return self.earlier_ledger(job, path).map(|ledger| Some(Arc::new(ledger)));
            }
        }
        let seed = flashlab_workload::named_seed(job.seed, "ledger", 0);
        Ok(Some(Arc::new(Ledger::open(self.ledger.as_deref(), self.geometry(job), seed)?)))
    }

    /// The ledger that an earlier run left. One that knows of no write would let anything pass.
    fn earlier_ledger(&self, job: &Job, path: &Path) -> Result<Ledger, TargetError> {
        let found = Ledger::of_earlier(path, self.geometry(job));
        found.map_err(|what| {
            // What several targets at once wrote has a ledger for each, named after it.
            let own = PathBuf::from(format!("{}.{}", path.display(), self.identity.id));
            let remedy = if own.exists() {
                format!("several targets at once have a ledger each: use --ledger {}", own.display())
            } else {
                "name the ledger of the run that wrote these blocks, with the same target, bs, offset and size; \
                 or leave it out, and seals are checked alone"
                    .to_owned()
            };
            let reason = format!("nothing to check by: the ledger {} {what}", path.display());
            TargetError::Spec(SpecError::Job { workload: job.workload.clone(), reason, remedy })
        })
    }

    /// Runs jobs that start when `start` returns, which is called once whether they are refused or not.
    pub(crate) fn run_from(
        &mut self,
        jobs: &[Job],
        observer: &mut dyn Observer,
        start: impl FnOnce() -> Instant,
    ) -> Result<Vec<JobResult>, TargetError> {
        let checked: Vec<Arc<Checked>> = jobs.iter().map(|_| Arc::default()).collect();
        let prepared = self.prepare(jobs, &checked).inspect(Runs::begin_ledgers);
        let start = start();
        let mut results = prepared?.finish(start, observer)?;
        for (result, (job, checked)) in results.iter_mut().zip(jobs.iter().zip(&checked)) {
            result.granted.features.extend(checked.remark(self.ledger.is_some() || job.rw.writes()));
        }
        if self.options.direct && self.is_loop_over_page_cache() {
            let reason = "the loop device reads and writes its file through the page cache; attach it with losetup --direct-io=on";
            for result in &mut results {
                result.granted.direct = Some(false);
                result.granted.refused.push(format!("O_DIRECT below the loop device: {reason}"));
            }
        }
        if let [alone] = results.as_slice() {
            self.note_rates(alone);
        }
        Ok(results)
    }

    /// Keeps what a job without others beside it has measured, for an estimate.
    fn note_rates(&mut self, result: &JobResult) {
        for (slot, direction) in self.measured.iter_mut().zip([&result.read, &result.write]) {
            if direction.ios > 0 {
                *slot = direction.bytes.over(result.elapsed).or(*slot);
            }
        }
    }

    /// Whether this is a loop device that was attached without direct I/O: O_DIRECT then ends at it.
    fn is_loop_over_page_cache(&self) -> bool {
        let setting = format!("/sys/block/{}/loop/dio", self.identity.id);
        self.identity.kind == TargetKind::LoopDevice
            && std::fs::read_to_string(setting).is_ok_and(|text| text.trim() == "0")
    }

    /// The file behind a loop device, and where in it the device begins.
    fn backing(&self) -> Option<(Arc<File>, u64)> {
        let setting = |name: &str| std::fs::read_to_string(format!("/sys/block/{}/loop/{name}", self.identity.id)).ok();
        let file = File::open(setting("backing_file")?.trim_end_matches('\n')).ok()?;
        Some((Arc::new(file), setting("offset")?.trim().parse().ok()?))
    }

    /// How much of what will be read was never written: holes, or space that was only reserved.
    fn unwritten(&self, job: &Job) -> Option<&'static str> {
        let (file, base) = match self.identity.kind {
            TargetKind::LoopDevice => self.backing()?,
            _ => (Arc::clone(&self.file), 0),
        };
        // Where space was reserved, what was only read counts as data as long as it lies in the page cache.
        if self.options.direct && !self.is_loop_over_page_cache() {
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
        let seek = |to| rustix::fs::seek(&file, to);
        let start = base + job.region.offset.0;
        let end = start + job.region.length.0;
        let hole = seek(rustix::fs::SeekFrom::Hole(start)).ok()?;
        // No data at all is an error of its own (ENXIO).
        let data = seek(rustix::fs::SeekFrom::Data(start));
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

    fn check(&self, steps: &[&[Job]]) -> Result<(), TargetError> {
        let facts = self.facts();
        let mut stamps = false;
        for job in steps.iter().copied().flatten() {
            facts.suits(job)?;
            if let (Some(ledger), false) = (&self.ledger, job.verify == Verify::Off) {
                facts.check_ledger_place(ledger)?;
                // What an earlier step stamps is not in the ledger yet.
                if job.verify == Verify::Check && !stamps {
                    self.earlier_ledger(job, ledger)?;
                }
                stamps |= job.verify != Verify::Check;
            }
        }
        steps.iter().try_for_each(|step| check_together(step, self.ledger.is_some()))?;
        steps.iter().try_for_each(|step| check_threads(step))?;
        // Once is enough: it depends on no job.
        steps.iter().copied().flatten().find(|job| job.rw.writes()).map_or(Ok(()), |job| facts.check_permit(job))
    }

    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        only(self.run_from(std::slice::from_ref(job), observer, Instant::now))
    }

    fn run_at_once(&mut self, jobs: &[Job], observer: &mut dyn Observer) -> Result<Vec<JobResult>, TargetError> {
        self.run_from(jobs, observer, Instant::now)
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
            None => (ASSUMED_RATE, "assumed"),
        }
    }
}

/// The result of one job alone.
pub(crate) fn only(results: Result<Vec<JobResult>, TargetError>) -> Result<JobResult, TargetError> {
    results.map(|mut results| results.swap_remove(0))
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
            return Err(TargetError::NotGranted {
                what: "a real drive as a target",
                reason: format!("of {path} as of any other only files on it are opened so far, to read too"),
                remedy: "name a file on it, or a loop device over one; a later version opens real drives".into(),
            });
        }
        Subject::Missing { .. } => {
            return no_target(
                std::io::ErrorKind::NotFound,
                "check the path; what writes creates a file where --size is given",
            );
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
pub(crate) fn size_of(file: &File) -> std::io::Result<Bytes> {
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
