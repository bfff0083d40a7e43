//! One job: one point of a sweep, one fill, one round.

use crate::SpecError;
use flashlab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// More outstanding I/Os a job than any queue pair of a drive in `drives.csv` takes.
const IODEPTH_MAX: u32 = 4096;
/// More jobs than any published sweep, and than a host has use for.
const NUMJOBS_MAX: u32 = 1024;
/// Largest transfer; MDTS of known drives is at most 4 MiB, the kernel splits at less.
const BS_MAX: Bytes = Bytes::mib(64);

/// Shorter than this, what a run measures is its own start.
const RUNTIME_MIN: Nanos = Nanos::millis(1);

/// Access pattern, in fio's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random reads and writes mixed by `rwmixread`.
    RandRw,
}

impl Rw {
    /// Whether offsets are random.
    pub const fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw)
    }
    /// Whether anything is written.
    pub const fn writes(self) -> bool {
        matches!(self, Rw::Write | Rw::RandWrite | Rw::RandRw)
    }
    /// fio's word.
    pub const fn word(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::RandRw => "randrw",
        }
    }
}

/// What makes the I/Os: the load generator whose costs a modelled host has. A real target is loaded
/// by this program, whatever the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// fio, one thread a job.
    #[default]
    Fio,
    /// gdsio, storage to GPU memory.
    Gdsio,
    /// Ranks that write a checkpoint through a file system.
    Checkpoint,
}

impl Generator {
    /// The word in suites and host profiles.
    pub const fn word(self) -> &'static str {
        match self {
            Generator::Fio => "fio",
            Generator::Gdsio => "gdsio",
            Generator::Checkpoint => "checkpoint",
        }
    }
}

/// The part of the target that a job touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: Bytes,
}

/// Everything a target needs to run one job. Region and seed are filled in when a suite is planned
/// against a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Workload name, such as `rand-read-4k`.
    pub workload: String,
    /// Access pattern.
    pub rw: Rw,
    /// Share of reads in percent for [`Rw::RandRw`], ignored otherwise.
    pub rwmixread: u8,
    /// Transfer size.
    pub bs: Bytes,
    /// Outstanding I/Os a job.
    pub iodepth: u32,
    /// Jobs (threads), each with its own queue. Sequential jobs share the region in equal slices.
    pub numjobs: u32,
    /// Where.
    pub region: Region,
    /// End after this much measured time.
    pub runtime: Option<Nanos>,
    /// End after this many bytes in all jobs together.
    pub amount: Option<Bytes>,
    /// Time before the measured window; its samples are dropped.
    pub ramp: Nanos,
    /// A modelled read job may end once the 95 % interval of its mean latency is within this share
    /// of the mean on both sides. Real targets ignore it.
    pub interval_goal: Option<f64>,
    /// Seed of its random streams.
    pub seed: u64,
    /// What makes the I/Os.
    #[serde(default)]
    pub generator: Generator,
    /// For a sequential job, the extents that each of its threads moves once, in order, instead of a
    /// slice of the region: one list a thread, equal in bytes. Empty for all other jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extents: Vec<Vec<Region>>,
}

impl Job {
    /// A job with one outstanding I/O on one thread, closed loop, half of it reads where reads and
    /// writes are mixed. It has no end and seed 0: the caller sets `runtime` or `amount`, `seed`, and
    /// what else differs, best as `Job { runtime, ..Job::new(…) }`, so that a later field breaks nothing.
    pub fn new(workload: impl Into<String>, rw: Rw, bs: Bytes, region: Region) -> Self {
        Job {
            workload: workload.into(),
            rw,
            rwmixread: 50,
            bs,
            iodepth: 1,
            numjobs: 1,
            region,
            runtime: None,
            amount: None,
            ramp: Nanos::ZERO,
            interval_goal: None,
            seed: 0,
            generator: Generator::Fio,
            extents: Vec::new(),
        }
    }

    /// Checks that a drive with this logical block size and capacity can run it.
    ///
    /// # Errors
    /// [`SpecError::Job`] or [`SpecError::TooSmall`] with what to change.
    pub fn validate(&self, logical_block: Bytes, capacity: Bytes) -> Result<(), SpecError> {
        let refuse =
            |reason: String, remedy: String| Err(SpecError::Job { workload: self.workload.clone(), reason, remedy });
        if self.bs.0 == 0 {
            return refuse("bs is 0".into(), format!("give a block size, such as {}", logical_block.exact()));
        }
        if !self.bs.0.is_multiple_of(logical_block.0) {
            return refuse(
                format!("bs {} B is not a multiple of the logical block of {logical_block}", self.bs.0),
                format!("use {}", Bytes(self.bs.0.div_ceil(logical_block.0).saturating_mul(logical_block.0))),
            );
        }
        if self.bs > BS_MAX {
            return refuse(format!("bs {} is larger than {BS_MAX}", self.bs), format!("use at most {BS_MAX}"));
        }
        if self.iodepth == 0 || self.iodepth > IODEPTH_MAX {
            return refuse(format!("iodepth is {}", self.iodepth), format!("use 1 to {IODEPTH_MAX}"));
        }
        if self.numjobs == 0 || self.numjobs > NUMJOBS_MAX {
            return refuse(format!("numjobs is {}", self.numjobs), format!("use 1 to {NUMJOBS_MAX}"));
        }
        if self.rwmixread > 100 {
            return refuse(format!("rwmixread is {}", self.rwmixread), "use 0 to 100".into());
        }
        if self.runtime.is_none() && self.amount.is_none() {
            return refuse("neither a run time nor an amount is given".into(), "set runtime, such as 30s".into());
        }
        if let Some(runtime) = self.runtime.filter(|time| *time < RUNTIME_MIN) {
            return refuse(format!("runtime is {runtime}"), format!("use at least {RUNTIME_MIN}"));
        }
        let end = self.region.offset.0.checked_add(self.region.length.0);
        if end.is_none_or(|end| end > capacity.0) || !self.region.offset.0.is_multiple_of(logical_block.0) {
            return refuse(
                format!("the region of {} at {} lies outside {capacity}", self.region.length, self.region.offset),
                "make the region smaller".into(),
            );
        }
        let needed = Bytes(self.bs.0.saturating_mul(u64::from(self.numjobs)));
        if self.region.length < needed {
            return Err(SpecError::TooSmall { workload: self.workload.clone(), needed, have: self.region.length });
        }
        self.validate_extents().or_else(|(reason, remedy)| refuse(reason, remedy.into()))
    }

    fn validate_extents(&self) -> Result<(), (String, &'static str)> {
        if self.extents.is_empty() {
            return Ok(());
        }
        if self.rw.is_random() || self.extents.len() != self.numjobs as usize {
            return Err((
                format!("{} lists of extents", self.extents.len()),
                "give one list a thread to a sequential job",
            ));
        }
        let outside = |r: &Region| {
            let end = r.offset.0.checked_add(r.length.0);
            r.length.0 == 0
                || !r.length.0.is_multiple_of(self.bs.0)
                || r.offset < self.region.offset
                || end.is_none_or(|end| end > self.region.offset.0 + self.region.length.0)
        };
        if let Some(bad) = self.extents.iter().flatten().find(|r| outside(r)) {
            let what = format!("the extent of {} at {}", bad.length.exact(), bad.offset.exact());
            return Err((what, "extents are whole blocks inside the region"));
        }
        let mut totals = self.extents.iter().map(|list| list.iter().map(|r| r.length.0).sum::<u64>());
        let first = totals.next().unwrap_or(0);
        if first == 0 || totals.any(|t| t != first) {
            return Err(("the threads' extents differ in bytes".into(), "give each thread the same number of bytes"));
        }
        Ok(())
    }

    /// Outstanding I/Os in all jobs together.
    pub fn outstanding(&self) -> u64 {
        u64::from(self.iodepth) * u64::from(self.numjobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            runtime: Some(Nanos::secs(1)),
            seed: 1,
            ..Job::new("rand-read-4k", Rw::RandRead, Bytes::kib(4), Region { offset: Bytes(0), length: Bytes::mib(1) })
        }
    }

    #[test]
    fn impossible_jobs_are_refused_with_a_remedy() {
        let check = |change: fn(&mut Job), says: &str| {
            let mut j = job();
            change(&mut j);
            let error = j.validate(Bytes(512), Bytes::mib(1)).expect_err(says).to_string();
            assert!(error.contains(says), "{error}");
        };
        check(|j| j.bs = Bytes(0), "bs is 0");
        check(|j| j.bs = Bytes(1000), "use 1 KiB");
        check(|j| j.bs = Bytes::gib(1), "larger than 64 MiB");
        check(|j| j.iodepth = 0, "iodepth is 0");
        check(|j| j.numjobs = 0, "numjobs is 0");
        check(|j| j.numjobs = 5000, "use 1 to 1024");
        check(|j| j.runtime = None, "neither");
        check(|j| j.runtime = Some(Nanos::ZERO), "runtime is 0 ns");
        check(|j| j.region.length = Bytes::mib(2), "outside");
        check(|j| j.region.offset = Bytes(u64::MAX), "outside");
        let extent = |at: u64, n: u64| Region { offset: Bytes::kib(at), length: Bytes::kib(n) };
        let extents = |rw: Rw, lists: Vec<Vec<Region>>| {
            let numjobs = 2;
            Job { rw, numjobs, extents: lists, ..job() }.validate(Bytes(512), Bytes::mib(1)).map_err(|e| e.to_string())
        };
        assert_eq!(extents(Rw::Write, vec![vec![extent(0, 4)], vec![extent(8, 4)]]), Ok(()));
        for (rw, lists) in [
            (Rw::RandWrite, vec![vec![extent(0, 4)], vec![extent(8, 4)]]),
            (Rw::Write, vec![vec![extent(0, 4)]]),
            (Rw::Write, vec![vec![extent(0, 4)], vec![extent(8, 8)]]),
            (Rw::Write, vec![vec![extent(0, 4)], vec![extent(8, 2)]]),
            (Rw::Write, vec![vec![extent(0, 4)], vec![extent(1022, 4)]]),
            (Rw::Write, vec![vec![], vec![]]),
        ] {
            assert!(extents(rw, lists.clone()).is_err(), "{lists:?}");
        }
        check(|j| (j.bs, j.numjobs) = (Bytes::mib(1), 2), "needs at least 2 MiB");
        assert_eq!(job().validate(Bytes(512), Bytes::mib(1)), Ok(()));
    }
}
