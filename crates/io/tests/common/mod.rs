//! What the tests of the engine share: scratch files, loop devices, jobs and observers.
#![allow(dead_code, missing_docs, unreachable_pub)]

use flashlab_guard::{Consent, create_file, inspect, permit};
use flashlab_io::{FileTarget, OpenOptions};
use flashlab_samples::Interval;
use flashlab_spec::{Job, Region, Rw};
use flashlab_target::{Observer, Progress};
use flashlab_units::{Bytes, Nanos};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder on a disk file system: the build folder, since /tmp may be kept in memory.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a scratch folder")
}

/// A new file of `size` that may be written.
pub fn new_target(path: &Path, size: Bytes) -> FileTarget {
    let (inspection, permit) = create_file(path, size).expect("a new file");
    FileTarget::open(&inspection, Some(permit), &OpenOptions::default()).expect("open")
}

/// A file that is there, with permission to overwrite it.
pub fn writable(path: &Path, options: &OpenOptions) -> FileTarget {
    let inspection = inspect(path).expect("inspect");
    let consent = Consent { destroy_token: inspection.token(), overwrite: true };
    let permit = permit(&inspection, &consent).expect("permit");
    FileTarget::open(&inspection, Some(permit), options).expect("open")
}

/// A file or device that is only read.
pub fn readable(path: &Path) -> FileTarget {
    FileTarget::open(&inspect(path).expect("inspect"), None, &OpenOptions::default()).expect("open")
}

pub fn job(rw: Rw, bs: Bytes, length: Bytes) -> Job {
    Job {
        iodepth: 8,
        seed: 11,
        ..Job::new(format!("{}-{}", rw.word(), bs.block_name()), rw, bs, Region { offset: Bytes::ZERO, length })
    }
}

/// A job that writes or reads the whole region once.
pub fn once(rw: Rw, bs: Bytes, length: Bytes) -> Job {
    Job { amount: Some(length), ..job(rw, bs, length) }
}

pub fn timed(rw: Rw, bs: Bytes, length: Bytes, runtime: Nanos) -> Job {
    Job { runtime: Some(runtime), ..job(rw, bs, length) }
}

/// Little's law: (rate × mean latency, integrated in flight, difference in percent).
pub fn little(result: &flashlab_samples::JobResult) -> (f64, f64, f64) {
    let by_law = result.iops().expect("rate").0 * result.latency().mean_ns().expect("latency") / 1e9;
    let integrated = result.in_flight_mean.expect("in flight");
    (by_law, integrated, 100.0 * (by_law - integrated) / integrated)
}

/// Stops a job, or does something to it, after a number of progress reports.
pub struct After<'a> {
    pub reports: usize,
    pub act: RefCell<Option<Box<dyn FnOnce() + 'a>>>,
    pub stop: bool,
    pub seen: Vec<Progress>,
    stopped: Cell<bool>,
}

impl<'a> After<'a> {
    pub fn stop(reports: usize) -> Self {
        After { reports, act: RefCell::new(None), stop: true, seen: Vec::new(), stopped: Cell::new(false) }
    }

    pub fn act(reports: usize, act: impl FnOnce() + 'a) -> Self {
        After { act: RefCell::new(Some(Box::new(act))), stop: false, ..Self::stop(reports) }
    }
}

impl Observer for After<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.seen.push(*progress);
        if self.seen.len() >= self.reports
            && let Some(act) = self.act.borrow_mut().take()
        {
            act();
        }
    }

    fn stop_requested(&self) -> bool {
        self.stop && self.seen.len() >= self.reports
    }
}

/// Takes all intervals of the series.
pub struct Taker<F>(pub F);

impl<F: FnMut(Interval)> Observer for Taker<F> {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        false
    }
    fn interval(&mut self, _job: usize, interval: Interval) -> Option<Interval> {
        (self.0)(interval);
        None
    }
}

/// Runs a program; its standard output, or what went wrong.
pub fn shell(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device over a new file, detached when dropped.
pub struct Loop {
    pub device: PathBuf,
    pub backing: PathBuf,
    _folder: TempDir,
}

impl Loop {
    /// `None`, with the reason printed, where this machine has no loop devices for us.
    pub fn new(size: Bytes, logical_block: u32) -> Option<Self> {
        Self::over(size, logical_block, "on")
    }

    /// As [`Loop::new`], over the page cache: faster than the drive, and as fast on any machine.
    pub fn cached(size: Bytes, logical_block: u32) -> Option<Self> {
        Self::over(size, logical_block, "off")
    }

    fn over(size: Bytes, logical_block: u32, direct: &str) -> Option<Self> {
        let folder = scratch();
        let backing = folder.path().join("backing.img");
        drop(create_file(&backing, size).expect("backing file"));
        let block = logical_block.to_string();
        let file = backing.to_string_lossy().into_owned();
        match shell("losetup", &["--find", "--show", &format!("--direct-io={direct}"), "-b", &block, &file]) {
            Ok(device) => Some(Loop { device: device.into(), backing, _folder: folder }),
            Err(reason) => {
                println!("skipped: no loop device: {reason}");
                None
            }
        }
    }

    /// `major:minor`.
    pub fn number(&self) -> String {
        let name = self.device.file_name().expect("device name").to_string_lossy().into_owned();
        std::fs::read_to_string(format!("/sys/block/{name}/dev")).expect("number").trim().to_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(reason) = shell("losetup", &["-d", &self.device.to_string_lossy()]) {
            println!("not detached: {reason}");
        }
    }
}

/// A blkio cgroup that the calling thread is in, and so all threads it starts; removed when dropped.
pub struct Throttle {
    group: PathBuf,
}

const BLKIO: &str = "/sys/fs/cgroup/blkio";

impl Throttle {
    /// `None`, with the reason printed, without the version 1 blkio controller.
    pub fn new(name: &str) -> Option<Self> {
        let group = Path::new(BLKIO).join(format!("flashlab-test-{}-{name}", std::process::id()));
        let made = std::fs::create_dir(&group)
            .and_then(|()| std::fs::write(group.join("tasks"), thread_id()))
            .map_err(|e| println!("skipped: no blkio controller at {BLKIO}: {e}"));
        made.ok().map(|()| Throttle { group })
    }

    /// Sets a limit, such as `read_iops_device`, on a device; 0 lifts it.
    pub fn limit(&self, what: &str, number: &str, limit: u64) {
        let file = self.group.join(format!("blkio.throttle.{what}"));
        std::fs::write(file, format!("{number} {limit}")).expect("a limit");
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = std::fs::write(Path::new(BLKIO).join("tasks"), thread_id());
        // Threads of the job that just ended may take a moment to leave.
        for _ in 0..200 {
            if std::fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        println!("not removed: {}", self.group.display());
    }
}

fn thread_id() -> String {
    let link = std::fs::read_link("/proc/thread-self").expect("procfs");
    link.file_name().expect("thread id").to_string_lossy().into_owned()
}
