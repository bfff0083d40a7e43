//! fio job files in: sections, inheritance, and what becomes of every option.
//!
//! Each option is mapped, or listed as ignored with the reason, or refused with file, line and the
//! nearest known name. fio's slips (a size of `1.5G` is one byte to it, `30sec` thirty microseconds)
//! are refused with what to write.

mod build;
mod content;
mod iolog;
mod options;
mod rates;
mod sections;
mod values;

use crate::InteropError;
use flashlab_spec::{
    Arrival, BytePattern, Data, Direction, Durability, Job, Offsets, Pattern, RandomShares, RateProcess, Region,
    Replay, Rw, Sharing, SizeRule, Sizes, SweepStep, ThinkTime, Verify,
};
use flashlab_units::{Bytes, Nanos};

pub use iolog::FioTrace;

/// A size or an offset: bytes, or a share of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// This many bytes.
    Bytes(Bytes),
    /// This share of the target in percent, 1 to 100.
    Percent(u8),
}

impl Extent {
    /// In bytes, on a target of this capacity.
    pub fn of(self, capacity: Bytes) -> Bytes {
        match self {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(percent) => Bytes((u128::from(capacity.0) * u128::from(percent) / 100) as u64),
        }
    }
}

/// An option that changes nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// As written, with its value.
    pub option: String,
    /// Line, from 1.
    pub line: u64,
    /// Why.
    pub reason: &'static str,
}

/// Something that the author of a job file may not have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Line, from 1; the section's where an option is missing.
    pub line: u64,
    /// What, and what it was taken for.
    pub text: String,
}

/// A section of a job file with what it inherits: all that it says of a load, as plain values. fio's
/// defaults stand where it says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// `name`, or the section's.
    pub name: String,
    /// Line of the section, from 1.
    pub line: u64,
    /// Jobs of one wave run at the same time in fio; a stonewall begins the next wave. From 0.
    pub wave: u32,
    /// Access pattern.
    pub rw: Rw,
    /// Transfer sizes of reads, writes and trims.
    pub bs: [Bytes; 3],
    /// Outstanding I/Os a job; 1 where the engine is synchronous.
    pub iodepth: u32,
    /// Jobs with these values.
    pub numjobs: u32,
    /// Part of the target that each of the jobs covers; `None` for all from `offset` on.
    pub size: Option<Extent>,
    /// Whether these parts follow one another, instead of being one and the same.
    pub own_parts: bool,
    /// Bytes that each of the jobs moves where no time ends it; `None` for its part of the target.
    pub io_size: Option<Bytes>,
    /// Where that part begins.
    pub offset: Extent,
    /// How many times over; 1 unless `loops` says more.
    pub loops: u32,
    /// Share of reads of a mixed job in percent.
    pub rwmixread: u8,
    /// When requests arrive; from `rate` or `rate_iops`, of one job.
    pub arrival: Arrival,
    /// Longest run time.
    pub runtime: Option<Nanos>,
    /// Whether the job goes on until its run time is over.
    pub time_based: bool,
    /// Time before the measured window.
    pub ramp: Nanos,
    /// Whether random requests go to each block once before any is used again.
    pub once: bool,
    /// How often writes are made durable.
    pub durability: Durability,
    /// Transfer sizes where there are several of a direction; they go before `bs`.
    pub sizes: Option<Sizes>,
    /// What random requests are aligned to, where it isn't the smallest size; it goes before `once`.
    pub align: Option<Bytes>,
    /// Where random requests go, where it isn't uniform; it goes before `once`.
    pub distribution: Option<Offsets>,
    /// Share of random offsets of a random job, where it isn't all; it goes before `once`.
    pub random: Option<RandomShares>,
    /// Pauses between requests.
    pub think: Option<ThinkTime>,
    /// What is written.
    pub data: Data,
    /// How blocks are checked.
    pub verify: Verify,
    /// A trace that is replayed instead of a pattern; see [`FioJob::attach`].
    pub trace: Option<FioTrace>,
    /// Options that change nothing here.
    pub ignored: Vec<Ignored>,
    /// What the author may not have meant.
    pub notes: Vec<Note>,
}

/// Reads the text of a job file. `variable` gives the value of an environment variable, for `${NAME}`.
///
/// # Errors
/// [`InteropError::Option`] with the line and what to write, or [`InteropError::NoJob`].
pub fn read_jobs(
    text: &str,
    file: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<FioJob>, InteropError> {
    let sections = sections::read(text, file, variable)?;
    let mut jobs: Vec<FioJob> = Vec::with_capacity(sections.len());
    let mut wave = 0;
    for (index, section) in sections.iter().enumerate() {
        let mut job = build::job(section, file)?;
        wave += u32::from(index > 0 && section.is_on(options::Key::Stonewall));
        job.wave = wave;
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(InteropError::NoJob { file: file.to_owned() });
    }
    Ok(jobs)
}

impl FioJob {
    /// The largest transfer of a direction that the job uses.
    pub fn bs_max(&self) -> Bytes {
        if let Some((replay, _)) = self.list() {
            return Bytes(u64::from(replay.summary().length_max));
        }
        if let Some(sizes) = self.pattern().sizes {
            return sizes.largest();
        }
        let [read, write, trim] = self.bs;
        match self.rw {
            Rw::Read | Rw::RandRead => read,
            Rw::Write | Rw::RandWrite => write,
            Rw::Trim | Rw::RandTrim => trim,
            Rw::ReadWrite | Rw::RandRw => read.max(write),
        }
    }

    /// The requests of its trace with how their times are stretched, once they are attached; `None` for as fast
    /// as they are served.
    pub fn list(&self) -> Option<(&Replay, Option<u32>)> {
        self.trace.as_ref().and_then(FioTrace::list)
    }

    /// Where the job's part of a target ends, if that doesn't depend on the target.
    pub fn end(&self) -> Option<Bytes> {
        let parts = if self.own_parts { u64::from(self.numjobs) } else { 1 };
        match (self.offset, self.size) {
            (Extent::Bytes(offset), Some(Extent::Bytes(size))) => {
                Some(Bytes(size.0.saturating_mul(parts).saturating_add(offset.0)))
            }
            _ => None,
        }
    }

    /// The job on a target of this capacity, as fio would run it there: jobs that are sequential
    /// share the region, and a job that nothing else ends moves each job's part, or `io_size`, `loops`
    /// times. The result is not validated: [`Job::validate`] refuses what the target can't do, such as
    /// a size beyond its end. The seed is 0.
    pub fn on(&self, capacity: Bytes) -> Job {
        let bs = self.bs_max();
        let whole = |bytes: Bytes, unit: Bytes| Bytes(bytes.0 / unit.0.max(1) * unit.0.max(1));
        let offset = match self.offset {
            Extent::Bytes(bytes) => bytes,
            share @ Extent::Percent(_) => whole(share.of(capacity), bs),
        };
        let parts = if self.own_parts { u64::from(self.numjobs) } else { 1 };
        let each = match self.size {
            None => capacity.0.saturating_sub(offset.0),
            Some(Extent::Bytes(bytes)) => bytes.0,
            // fio takes the share of the whole and stops at the end.
            Some(share) => whole(share.of(capacity), bs).0.min(capacity.0.saturating_sub(offset.0)),
        };
        let length = each.saturating_mul(parts);
        let each = self.io_size.unwrap_or(Bytes(each));
        let times = u64::from(self.loops).saturating_mul(u64::from(self.numjobs));
        Job {
            rwmixread: self.rwmixread,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            runtime: self.runtime,
            amount: (!self.time_based).then(|| Bytes(each.0.saturating_mul(times))),
            ramp: self.ramp,
            pattern: self.pattern(),
            arrival: self.arrival,
            think: self.think,
            durability: self.durability,
            data: self.data.clone(),
            verify: self.verify,
            ..Job::new(self.name.clone(), self.rw, bs, Region { offset, length: Bytes(length) })
        }
    }

    /// The job as a load of a target of this capacity, to be run by this program: as [`FioJob::on`], and
    /// what ends it are passes where no bytes are given.
    pub fn load(&self, capacity: Bytes) -> SweepStep {
        if let Some((replay, time_percent)) = self.list() {
            let listed = SweepStep::of_replay(self.name.clone(), replay.clone(), time_percent);
            let (iodepth, runtime, ramp) = (vec![self.iodepth], self.runtime, self.ramp);
            return SweepStep { iodepth, runtime, ramp, ..listed };
        }
        let job = self.on(capacity);
        let plain = SweepStep::new(self.rw, job.bs);
        let (rate_iops, rate_process) = match self.arrival {
            Arrival::Fixed(rate) => (Some(rate), RateProcess::Linear),
            Arrival::Poisson(rate) => (Some(rate), RateProcess::Poisson),
            Arrival::Closed | Arrival::Recorded { .. } => (None, RateProcess::Linear),
        };
        SweepStep {
            workload: self.name.clone(),
            rwmixread: self.rwmixread,
            iodepth: vec![self.iodepth],
            numjobs: vec![self.numjobs],
            runtime: self.runtime,
            amount: job.amount.filter(|_| self.io_size.is_some()),
            passes: (!self.time_based && self.io_size.is_none()).then_some(self.loops),
            ramp: self.ramp,
            offset: job.region.offset,
            size: self.size.map(|_| job.region.length),
            sizes: job.pattern.sizes,
            align: job.pattern.align,
            distribution: job.pattern.offsets,
            sharing: job.pattern.sharing,
            percentage_random: job.pattern.random,
            thinktime: self.think.map(|think| think.time).unwrap_or_default(),
            thinktime_blocks: self.think.map(|think| think.blocks),
            rate_iops,
            rate_process,
            fsync: self.durability.fsync_every,
            fdatasync: self.durability.fdatasync_every,
            dsync: self.durability.dsync,
            compress_percent: self.data.compress_percent,
            dedupe_percent: self.data.dedupe_percent,
            data_pattern: BytePattern(self.data.pattern.clone()),
            verify: self.verify,
            ..plain
        }
    }

    /// The sizes of the directions that the job has. One of a direction that it doesn't have would count as
    /// the largest.
    fn used(&self, sizes: &Sizes) -> Sizes {
        let Sizes { read, write, trim } = sizes;
        match self.rw {
            Rw::Read | Rw::RandRead => Sizes::all(read.clone()),
            Rw::Write | Rw::RandWrite => Sizes::all(write.clone()),
            Rw::Trim | Rw::RandTrim => Sizes::all(trim.clone()),
            Rw::ReadWrite | Rw::RandRw => Sizes { read: read.clone(), write: write.clone(), trim: read.clone() },
        }
    }

    /// The sizes, where they are not all the same.
    fn several_sizes(&self) -> Option<Sizes> {
        let [read, write, trim] = self.bs;
        let mixed = self.rw.is_mixed() && read != write;
        let sizes = mixed.then(|| Sizes {
            read: SizeRule::Fixed(read),
            write: SizeRule::Fixed(write),
            // Such a job trims nothing; a size of its own would count as the largest.
            trim: SizeRule::Fixed(trim.min(read).min(write)),
        });
        self.sizes.as_ref().map(|sizes| self.used(sizes)).or(sizes)
    }

    /// Whether blocks may come again although a map is asked for: with several sizes no order of blocks has each once.
    fn repeats_for_its_sizes(&self) -> bool {
        let varied = |sizes: &Sizes| Direction::ALL.iter().any(|d| sizes.of(*d).smallest() != sizes.largest());
        let has_a_map = self.once && self.random.is_none() && self.align.is_none() && self.distribution.is_none();
        has_a_map && self.rw.is_random() && self.several_sizes().as_ref().is_some_and(varied)
    }

    fn pattern(&self) -> Pattern {
        let sizes = self.several_sizes();
        let once = self.once && self.random.is_none() && self.align.is_none() && !self.repeats_for_its_sizes();
        let usual = if once { Offsets::Once } else { Offsets::Repeats };
        let offsets = if self.rw.is_random() { self.distribution.clone().unwrap_or(usual) } else { Offsets::Repeats };
        let sharing = if self.own_parts {
            Some(Sharing::Slices)
        } else {
            (self.numjobs > 1 && !self.rw.is_random()).then_some(Sharing::Shared)
        };
        Pattern { offsets, sharing, sizes, align: self.align, random: self.random, ..Pattern::default() }
    }
}
