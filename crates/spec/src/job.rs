//! One job: one point of a sweep, one fill, one round.

use crate::pattern::Fault;
use crate::{
    Arrival, Data, Direction, Durability, Pattern, Replay, ReplayEnd, Sharing, SpecError, ThinkTime, Verify, WriteHint,
};
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
    /// Random reads, trims and writes, mixed by `rwmixread` and `rwmixtrim`.
    RandRw,
    /// Sequential reads, trims and writes, mixed by `rwmixread` and `rwmixtrim`.
    #[serde(rename = "rw", alias = "readwrite")]
    ReadWrite,
    /// Sequential trims.
    Trim,
    /// Random trims.
    RandTrim,
}

impl Rw {
    /// Whether offsets are random.
    pub const fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw | Rw::RandTrim)
    }
    /// Whether reads and writes are mixed.
    pub const fn is_mixed(self) -> bool {
        matches!(self, Rw::RandRw | Rw::ReadWrite)
    }
    /// Whether what lies on the target is changed: by writes, or by trims, which discard it.
    pub const fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }
    /// fio's word.
    pub const fn word(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::RandRw => "randrw",
            Rw::ReadWrite => "rw",
            Rw::Trim => "trim",
            Rw::RandTrim => "randtrim",
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
    /// Share of reads in percent of all requests of a mixed job, ignored otherwise.
    pub rwmixread: u8,
    /// Share of trims in percent of all requests of a mixed job, ignored otherwise. What neither reads nor
    /// trims writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rwmixtrim: u8,
    /// Transfer size; with [`Pattern::sizes`] the largest one.
    pub bs: Bytes,
    /// Outstanding I/Os a job; with an open loop, the most there may be.
    pub iodepth: u32,
    /// Jobs (threads), each with its own queue. How they share the region: [`Job::slice`].
    pub numjobs: u32,
    /// Where.
    pub region: Region,
    /// End after this much measured time.
    pub runtime: Option<Nanos>,
    /// End after this many bytes in all jobs together.
    pub amount: Option<Bytes>,
    /// End after this many passes of each thread over its part of the region, its extents or its
    /// replayed list. A pass is once through what is sequential or without repeats, else as many
    /// requests as there are places for them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub passes: Option<u32>,
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
    /// Order, place and sizes of its requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pattern: Pattern,
    /// When its requests arrive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arrival: Arrival,
    /// Pauses between its requests; their time is in no latency.
    #[serde(default, skip_serializing_if = "is_default")]
    pub think: Option<ThinkTime>,
    /// Requests to replay instead of a pattern. `rw` then only says whether the list may change the target.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replay: Option<Replay>,
    /// FDP placement identifiers of the threads' writes, in turn; empty for none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub placement: Vec<u16>,
    /// How long its data is expected to live.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_hint: Option<WriteHint>,
    /// How often its writes are made durable.
    #[serde(default, skip_serializing_if = "is_default")]
    pub durability: Durability,
    /// What it writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub data: Data,
    /// How its blocks are checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verify: Verify,
}

/// Whether a field of a job need not be stored.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
            rwmixtrim: 0,
            bs,
            iodepth: 1,
            numjobs: 1,
            region,
            runtime: None,
            amount: None,
            passes: None,
            ramp: Nanos::ZERO,
            interval_goal: None,
            seed: 0,
            generator: Generator::Fio,
            extents: Vec::new(),
            pattern: Pattern::default(),
            arrival: Arrival::Closed,
            think: None,
            replay: None,
            placement: Vec::new(),
            write_hint: None,
            durability: Durability::default(),
            data: Data::default(),
            verify: Verify::Off,
        }
    }

    /// Checks that a drive with this logical block size and capacity can run it.
    ///
    /// # Errors
    /// [`SpecError::Job`] or [`SpecError::TooSmall`] with what to change.
    pub fn validate(&self, logical_block: Bytes, capacity: Bytes) -> Result<(), SpecError> {
        self.check_shape(logical_block).map_err(|fault| self.refuse(fault))?;
        self.check_end().map_err(|fault| self.refuse(fault))?;
        self.check_region(logical_block, capacity).map_err(|fault| self.refuse(fault))?;
        let needed = Bytes(self.bs.0.saturating_mul(u64::from(self.numjobs)));
        if self.region.length < needed {
            return Err(SpecError::TooSmall { workload: self.workload.clone(), needed, have: self.region.length });
        }
        self.check_extents()
            .and_then(|()| self.check_pattern(logical_block))
            .and_then(|()| self.check_source(logical_block))
            .and_then(|()| self.check_writes())
            .map_err(|fault| self.refuse(fault))
    }

    /// This job's [`SpecError::Job`].
    pub(crate) fn refuse(&self, (reason, remedy): Fault) -> SpecError {
        SpecError::Job { workload: self.workload.clone(), reason, remedy }
    }

    fn check_shape(&self, logical_block: Bytes) -> Result<(), Fault> {
        if self.bs.0 == 0 {
            return Err(("bs is 0".into(), format!("give a block size, such as {}", logical_block.exact())));
        }
        if !self.bs.0.is_multiple_of(logical_block.0) {
            return Err((
                format!("bs {} B is not a multiple of the logical block of {logical_block}", self.bs.0),
                format!("use {}", Bytes(self.bs.0.div_ceil(logical_block.0).saturating_mul(logical_block.0))),
            ));
        }
        if self.bs > BS_MAX {
            return Err((format!("bs {} is larger than {BS_MAX}", self.bs), format!("use at most {BS_MAX}")));
        }
        if self.iodepth == 0 || self.iodepth > IODEPTH_MAX {
            return Err((format!("iodepth is {}", self.iodepth), format!("use 1 to {IODEPTH_MAX}")));
        }
        if self.numjobs == 0 || self.numjobs > NUMJOBS_MAX {
            return Err((format!("numjobs is {}", self.numjobs), format!("use 1 to {NUMJOBS_MAX}")));
        }
        for (name, share) in [("rwmixread", self.rwmixread), ("rwmixtrim", self.rwmixtrim)] {
            if share > 100 {
                return Err((format!("{name} is {share}"), "use 0 to 100".into()));
            }
        }
        let (reads, trims) = (self.rwmixread, self.rwmixtrim);
        if self.rw.is_mixed() && reads + trims > 100 {
            return Err((
                format!("rwmixread {reads} and rwmixtrim {trims} are {} % of all requests", reads + trims),
                format!("use rwmixread {} or less beside these trims; what is left are writes", 100 - trims),
            ));
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), Fault> {
        let plays_once = self.replay.as_ref().is_some_and(|replay| replay.end == ReplayEnd::Once);
        if self.runtime.is_none() && self.amount.is_none() && self.passes.is_none() && !plays_once {
            return Err(("neither a run time nor an amount is given".into(), "set runtime, such as 30s".into()));
        }
        if let Some(runtime) = self.runtime.filter(|time| *time < RUNTIME_MIN) {
            return Err((format!("runtime is {runtime}"), format!("use at least {RUNTIME_MIN}")));
        }
        if self.amount == Some(Bytes::ZERO) {
            return Err(("the amount is 0".into(), format!("use at least {}, or leave it out", self.bs.exact())));
        }
        if self.passes == Some(0) {
            return Err(("passes is 0".into(), "use at least 1, or leave it out".into()));
        }
        if plays_once && self.passes.is_some() {
            return Err(("a list that is played once has no passes".into(), "let it loop, or leave passes out".into()));
        }
        Ok(())
    }

    fn check_region(&self, logical_block: Bytes, capacity: Bytes) -> Result<(), Fault> {
        let Region { offset, length } = self.region;
        if !offset.0.is_multiple_of(logical_block.0) {
            let before = Bytes(offset.0 / logical_block.0 * logical_block.0);
            return Err((
                format!("the region begins at {}, inside a logical block of {logical_block}", offset.exact()),
                format!("begin it at {}", before.exact()),
            ));
        }
        if offset.0.checked_add(length.0).is_none_or(|end| end > capacity.0) {
            return Err((
                format!(
                    "the region of {} from {} on lies outside {}",
                    length.exact(),
                    offset.exact(),
                    capacity.exact()
                ),
                "make the region smaller".into(),
            ));
        }
        // Only these go up to the last byte of a region; others stop at a whole block.
        let to_the_end = self.passes.is_some() || self.replay.is_some();
        if to_the_end && !self.region.length.0.is_multiple_of(logical_block.0) {
            return Err((
                format!("the region of {} ends inside a logical block of {logical_block}", self.region.length.exact()),
                format!("use {}", Bytes(self.region.length.0 / logical_block.0 * logical_block.0).exact()),
            ));
        }
        Ok(())
    }

    /// Where its requests come from and when.
    fn check_source(&self, logical_block: Bytes) -> Result<(), Fault> {
        self.arrival.check()?;
        self.think.map_or(Ok(()), |think| think.check(&self.arrival))?;
        let Some(replay) = &self.replay else {
            return match self.arrival {
                Arrival::Recorded { .. } => {
                    Err(("recorded arrivals without a list".into(), "give the list, or a rate".into()))
                }
                _ => Ok(()),
            };
        };
        if !self.extents.is_empty() || self.pattern != Pattern::default() {
            return Err(("a replayed list has its own order and sizes".into(), "leave pattern and extents out".into()));
        }
        replay.check(self, logical_block)
    }

    fn check_writes(&self) -> Result<(), Fault> {
        if self.placement.len() > NUMJOBS_MAX as usize {
            let reason = format!("{} placement identifiers", self.placement.len());
            return Err((reason, format!("give at most {NUMJOBS_MAX}, one a thread")));
        }
        self.durability.check()?;
        self.data.check()?;
        self.verify.check(self.rw.writes(), &self.data)
    }

    fn check_extents(&self) -> Result<(), Fault> {
        if self.extents.is_empty() {
            return Ok(());
        }
        if self.rw.is_random() || self.extents.len() != self.numjobs as usize {
            return Err((
                format!("{} lists of extents", self.extents.len()),
                "give one list a thread to a sequential job".into(),
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
            return Err((what, "extents are whole blocks inside the region".into()));
        }
        let mut totals = self.extents.iter().map(|list| list.iter().map(|r| r.length.0).sum::<u64>());
        let first = totals.next().unwrap_or(0);
        if first == 0 || totals.any(|t| t != first) {
            let remedy = "give each thread the same number of bytes".into();
            return Err(("the threads' extents differ in bytes".into(), remedy));
        }
        Ok(())
    }

    /// Bytes after which its amount or its passes end it, whichever comes first; `None` where neither is given.
    /// Of passes in a stride or of several sizes it is the most.
    pub fn bytes_to_end(&self) -> Option<Bytes> {
        let of_a_pass = match (self.extents.is_empty(), self.sharing()) {
            (false, _) => self.extents.iter().flatten().map(|extent| extent.length.0).sum(),
            (true, Sharing::Shared) => self.region.length.0.saturating_mul(u64::from(self.numjobs)),
            (true, Sharing::Slices) => self.region.length.0,
        };
        let passes = self.passes.map(|passes| Bytes(of_a_pass.saturating_mul(u64::from(passes))));
        self.amount.into_iter().chain(passes).min()
    }

    /// Shares of reads, writes and trims in percent of all requests, as [`Direction::ALL`] has them; of a
    /// replayed list only the list knows.
    pub fn mix(&self) -> [u8; 3] {
        match self.rw {
            Rw::Read | Rw::RandRead => [100, 0, 0],
            Rw::Write | Rw::RandWrite => [0, 100, 0],
            Rw::Trim | Rw::RandTrim => [0, 0, 100],
            Rw::RandRw | Rw::ReadWrite => {
                let writes = 100u8.saturating_sub(self.rwmixread.saturating_add(self.rwmixtrim));
                [self.rwmixread, writes, self.rwmixtrim]
            }
        }
    }

    /// Whether anything is trimmed.
    pub fn trims(&self) -> bool {
        let listed = |replay: &Replay| replay.summary().by_direction[Direction::Trim as usize] > 0;
        self.replay
            .as_ref()
            .map_or(matches!(self.rw, Rw::Trim | Rw::RandTrim) || (self.rw.is_mixed() && self.rwmixtrim > 0), listed)
    }

    /// The FDP placement identifier of thread `index`, if placement is asked for.
    pub fn placement_of(&self, index: u32) -> Option<u16> {
        let turn = (index as usize).checked_rem(self.placement.len())?;
        self.placement.get(turn).copied()
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
        check(|j| j.region.offset = Bytes(u64::MAX - 511), "outside");
        check(|j| j.region.offset = Bytes(513), "begins at 513B, inside a logical block of 512 B\n  begin it at 512B");
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
        check(|j| j.rwmixtrim = 101, "rwmixtrim is 101");
        check(|j| (j.rw, j.rwmixread, j.rwmixtrim) = (Rw::RandRw, 50, 60), "rwmixread 50 and rwmixtrim 60 are 110 %");
        check(|j| (j.rw, j.rwmixread, j.rwmixtrim) = (Rw::ReadWrite, 100, 100), "use rwmixread 0 or less");
        check(|j| j.passes = Some(0), "passes is 0");
        check(|j| j.amount = Some(Bytes::ZERO), "the amount is 0");
        check(|j| (j.passes, j.region.length) = (Some(1), Bytes(5000)), "use 4608B");
        check(|j| j.placement = vec![0; 1025], "1025 placement identifiers");
        assert_eq!(job().validate(Bytes(512), Bytes::mib(1)), Ok(()));
    }

    #[test]
    fn what_trims_also_writes() {
        for rw in [Rw::Trim, Rw::RandTrim, Rw::ReadWrite] {
            assert!(rw.writes(), "{rw:?} needs a permit");
        }
        assert!(Job { rw: Rw::Trim, ..job() }.trims());
        assert!(Job { rw: Rw::RandRw, rwmixtrim: 1, ..job() }.trims());
        assert!(!Job { rw: Rw::RandRead, rwmixtrim: 1, ..job() }.trims());
    }

    #[test]
    fn shares_of_a_mix_are_of_all_requests() {
        let mix = |rw, rwmixread, rwmixtrim| Job { rw, rwmixread, rwmixtrim, ..job() }.mix();
        assert_eq!(mix(Rw::RandRw, 80, 10), [80, 10, 10]);
        assert_eq!(mix(Rw::ReadWrite, 50, 50), [50, 0, 50]);
        assert_eq!([mix(Rw::Read, 50, 0), mix(Rw::RandTrim, 50, 10)], [[100, 0, 0], [0, 0, 100]]);
        let full = Job { rw: Rw::RandRw, rwmixread: 60, rwmixtrim: 40, ..job() };
        assert_eq!(full.validate(Bytes(512), Bytes::mib(1)), Ok(()));
    }

    #[test]
    fn what_comes_first_ends_it() {
        let of = |rw, numjobs, amount, passes| Job { rw, numjobs, amount, passes, ..job() }.bytes_to_end();
        let (mib, kib) = (Some(Bytes::mib(1)), Some(Bytes::kib(64)));
        assert_eq!(of(Rw::Read, 4, None, None), None);
        assert_eq!([of(Rw::Read, 4, mib, None), of(Rw::Read, 4, None, Some(1))], [mib; 2]);
        assert_eq!([of(Rw::Read, 1, kib, Some(1)), of(Rw::Read, 1, Some(Bytes::gib(1)), Some(1))], [kib, mib]);
        // Each of four jobs goes over all of it.
        assert_eq!(of(Rw::RandRead, 4, None, Some(2)), Some(Bytes::mib(8)));
    }

    #[test]
    fn placement_goes_round() {
        let placed = Job { placement: vec![4, 7], ..job() };
        assert_eq!([0, 1, 2].map(|i| placed.placement_of(i)), [Some(4), Some(7), Some(4)]);
        assert_eq!(job().placement_of(3), None);
    }
}
