//! One load, or a grid of loads over iodepth and numjobs: the keys of a sweep in a suite, of a load
//! file and of the command line.

use crate::pattern::Fault;
use crate::suite::Wrong;
use crate::words::{self, BytePattern};
use crate::{
    Arrival, Data, Durability, Generator, Job, Offsets, Pattern, RandomShares, Rate, Region, Replay, Rw, Sharing,
    Sizes, SpecError, ThinkTime, Verify, WriteHint, toml_text,
};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use serde::{Deserialize, Serialize};

use crate::job::is_default;

/// How the requests of a load with a rate are spaced, in fio's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// With exponentially distributed gaps: independent users.
    Poisson,
}

/// A grid of points: one job at each point of iodepth × numjobs. With one value each, a single load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepStep {
    /// Name in results, such as `rand-write-64k`; absent, it is named after pattern and size.
    #[serde(default)]
    pub workload: String,
    /// Pattern.
    pub rw: Rw,
    /// Share of reads in percent of all requests of a mixed load.
    #[serde(default = "half")]
    pub rwmixread: u8,
    /// Share of trims in percent of all requests of a mixed load; the rest are writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rwmixtrim: u8,
    /// Transfer size; with `sizes` the largest of them, and may be left out.
    #[serde(default)]
    pub bs: Bytes,
    /// Transfer sizes other than one: a range, a split, or one for each direction.
    #[serde(
        default,
        alias = "bssplit",
        alias = "bsrange",
        skip_serializing_if = "is_default",
        serialize_with = "words::write_some",
        deserialize_with = "words::read_some"
    )]
    pub sizes: Option<Sizes>,
    /// Outer axis.
    #[serde(default, deserialize_with = "words::read_axis")]
    pub iodepth: Vec<u32>,
    /// Inner axis.
    #[serde(default, deserialize_with = "words::read_axis")]
    pub numjobs: Vec<u32>,
    /// Instead of iodepth and numjobs: threads with one outstanding I/O each, as in gdsio.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// What makes the I/Os on a modelled host.
    #[serde(default)]
    pub generator: Generator,
    /// Measured time a point. One of runtime, amount and passes is needed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runtime: Option<Nanos>,
    /// Bytes that all jobs of a point move together, ramp included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub amount: Option<Bytes>,
    /// Passes of each job over its part of the region.
    #[serde(default, skip_serializing_if = "is_default")]
    pub passes: Option<u32>,
    /// Time before each measured window.
    #[serde(default)]
    pub ramp: Nanos,
    /// See [`crate::Job::interval_goal`].
    #[serde(default)]
    pub interval_goal: Option<f64>,
    /// Begin this far into the region.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: Bytes,
    /// Use this much from there; absent, all that is left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub size: Option<Bytes>,
    /// Which block comes next in a random load.
    #[serde(
        default,
        alias = "random_distribution",
        skip_serializing_if = "is_default",
        serialize_with = "words::write",
        deserialize_with = "words::read"
    )]
    pub distribution: Offsets,
    /// Share of the requests of a random load that go to random places, in percent.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        serialize_with = "words::write_some",
        deserialize_with = "words::read_some"
    )]
    pub percentage_random: Option<RandomShares>,
    /// See [`Pattern::align`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub align: Option<Bytes>,
    /// See [`Pattern::stride`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub stride: Option<Bytes>,
    /// See [`Pattern::sharing`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharing: Option<Sharing>,
    /// Bytes a second that each job asks for: an open loop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rate: Option<BytesPerSecond>,
    /// Requests a second that each job asks for: an open loop.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        serialize_with = "words::write_some",
        deserialize_with = "words::read_some"
    )]
    pub rate_iops: Option<Rate>,
    /// How those requests are spaced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rate_process: RateProcess,
    /// Pause of a job, in no latency; 0 for none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thinktime: Nanos,
    /// Requests of a job between two pauses; absent, 1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thinktime_blocks: Option<u32>,
    /// fsync after this many writes of a job; 0 for never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fsync: u32,
    /// fdatasync after this many writes of a job; 0 for never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fdatasync: u32,
    /// Each write returns once its data is durable.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dsync: bool,
    /// How long the data is expected to live.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write_hint: Option<WriteHint>,
    /// FDP placement identifiers of the jobs' writes, in turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub placement: Vec<u16>,
    /// Share of each block that compresses away, in percent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub compress_percent: u8,
    /// Share of the blocks that are copies of others, in percent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dedupe_percent: u8,
    /// Bytes that are repeated over each block instead, in hexadecimal digits.
    #[serde(
        default,
        skip_serializing_if = "is_default",
        serialize_with = "words::write",
        deserialize_with = "words::read"
    )]
    pub data_pattern: BytePattern,
    /// How blocks are checked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verify: Verify,
    /// Stretches the times of `replay` to this, 100 for as recorded; absent, it is as fast as it is served.
    #[serde(default, skip_serializing_if = "is_default")]
    pub time_percent: Option<u32>,
    /// A list of requests instead of a pattern, played once. Of a stored load only its summary is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replay: Option<Replay>,
}

const fn half() -> u8 {
    50
}

impl SweepStep {
    /// One load of one job with one outstanding I/O, in a closed loop, without an end: the caller sets
    /// what else differs.
    pub fn new(rw: Rw, bs: Bytes) -> Self {
        SweepStep {
            workload: String::new(),
            rw,
            rwmixread: half(),
            rwmixtrim: 0,
            bs,
            sizes: None,
            iodepth: vec![1],
            numjobs: vec![1],
            threads: Vec::new(),
            generator: Generator::Fio,
            runtime: None,
            amount: None,
            passes: None,
            ramp: Nanos::ZERO,
            interval_goal: None,
            offset: Bytes::ZERO,
            size: None,
            distribution: Offsets::default(),
            percentage_random: None,
            align: None,
            stride: None,
            sharing: None,
            rate: None,
            rate_iops: None,
            rate_process: RateProcess::Linear,
            thinktime: Nanos::ZERO,
            thinktime_blocks: None,
            fsync: 0,
            fdatasync: 0,
            dsync: false,
            write_hint: None,
            placement: Vec::new(),
            compress_percent: 0,
            dedupe_percent: 0,
            data_pattern: BytePattern::default(),
            verify: Verify::Off,
            time_percent: None,
            replay: None,
        }
    }

    /// One turn through a list: at its times stretched to `time_percent`, or as fast as it is served.
    pub fn of_replay(workload: impl Into<String>, replay: Replay, time_percent: Option<u32>) -> Self {
        let [_, writes, trims] = replay.summary().by_direction;
        let rw = if writes + trims > 0 { Rw::RandRw } else { Rw::RandRead };
        let bs = Bytes(u64::from(replay.summary().length_max));
        SweepStep { workload: workload.into(), time_percent, replay: Some(replay), ..SweepStep::new(rw, bs) }
    }

    /// Reads a load file: these keys as TOML, where iodepth and numjobs may be left out for 1, and a
    /// load without an end makes one pass. `file` is named in errors.
    ///
    /// # Errors
    /// [`SpecError`] with the line or the key.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let mut load = Self::parse_as_written(text, file)?;
        load.complete();
        Ok(load)
    }

    /// The same, and what the file leaves out stays left out.
    ///
    /// # Errors
    /// As [`SweepStep::parse`].
    pub fn parse_as_written(text: &str, file: &str) -> Result<Self, SpecError> {
        let load: SweepStep = toml_text::parse(text, file)?;
        let mut whole = load.clone();
        whole.complete();
        whole.check().map_err(|wrong| wrong.in_file(file, wrong.key.to_owned()))?;
        Ok(load)
    }

    /// What a load means where its author says nothing: one job, one outstanding I/O, one pass.
    pub fn complete(&mut self) {
        if self.threads.is_empty() {
            for axis in [&mut self.iodepth, &mut self.numjobs] {
                if axis.is_empty() {
                    axis.push(1);
                }
            }
        }
        if self.has_no_end() {
            self.passes = Some(1);
        }
    }

    /// Whether it would go on for ever; a list is played once.
    fn has_no_end(&self) -> bool {
        (self.runtime, self.amount, self.passes) == (None, None, None) && self.replay.is_none()
    }

    /// The largest transfer.
    pub fn largest(&self) -> Bytes {
        match &self.sizes {
            Some(sizes) if self.bs.0 == 0 => sizes.largest(),
            _ => self.bs,
        }
    }

    /// The name in results.
    pub fn name(&self) -> String {
        if !self.workload.is_empty() {
            return self.workload.clone();
        }
        let order = if self.rw.is_random() { "rand" } else { "seq" };
        let what = match self.rw {
            Rw::Read | Rw::RandRead => "read".to_owned(),
            Rw::Write | Rw::RandWrite => "write".to_owned(),
            Rw::Trim | Rw::RandTrim => "trim".to_owned(),
            Rw::ReadWrite | Rw::RandRw => format!("mix-{}r", self.rwmixread),
        };
        let largest = self.largest();
        let smallest = self.sizes.as_ref().map_or(largest, |sizes| sizes.smallest());
        // A mix of sizes is not to be taken for the load of its largest.
        let sizes = if smallest == largest { String::new() } else { smallest.block_name() + "-" };
        format!("{order}-{what}-{sizes}{}", largest.block_name())
    }

    /// The job at one point, on this part of a target. Its seed is the caller's.
    ///
    /// # Errors
    /// [`SpecError::Job`] if `offset` and `size` lie outside the part, or the rate is too low to count.
    pub fn job(&self, iodepth: u32, numjobs: u32, part: Region) -> Result<Job, SpecError> {
        let arrival = self.arrival().map_err(|wrong| SpecError::Job {
            workload: self.name(),
            reason: format!("{} is {}: {}", wrong.key, wrong.value, wrong.reason),
            remedy: wrong.remedy.into(),
        })?;
        let job = Job {
            rwmixread: if self.rw.is_mixed() { self.rwmixread } else { 0 },
            rwmixtrim: self.rwmixtrim,
            iodepth,
            numjobs,
            runtime: self.runtime,
            amount: self.amount,
            passes: self.passes,
            ramp: self.ramp,
            interval_goal: self.interval_goal,
            generator: self.generator,
            pattern: self.pattern(),
            arrival,
            think: self.think(),
            placement: self.placement.clone(),
            write_hint: self.write_hint,
            durability: Durability { fsync_every: self.fsync, fdatasync_every: self.fdatasync, dsync: self.dsync },
            data: Data {
                compress_percent: self.compress_percent,
                dedupe_percent: self.dedupe_percent,
                pattern: self.data_pattern.0.clone(),
            },
            verify: self.verify,
            replay: self.replay.clone(),
            ..Job::new(self.name(), self.rw, self.largest(), part)
        };
        self.refuse_idle_keys().map_err(|fault| job.refuse(fault))?;
        Ok(Job { region: self.region(&job, part)?, ..job })
    }

    /// Keys that are about writes or about a mix, of a load that has none: they would do nothing.
    fn refuse_idle_keys(&self) -> Result<(), Fault> {
        let of_writes = [
            ("fsync", self.fsync > 0),
            ("fdatasync", self.fdatasync > 0),
            ("dsync", self.dsync),
            ("write_hint", self.write_hint.is_some()),
            ("placement", !self.placement.is_empty()),
            ("compress_percent", self.compress_percent > 0),
            ("dedupe_percent", self.dedupe_percent > 0),
            ("data_pattern", !self.data_pattern.0.is_empty()),
        ];
        let refuse = |key: &str, what: &str| Err((format!("{key} of a load {what}"), format!("leave {key} out")));
        match of_writes.iter().find(|(_, given)| *given) {
            Some((key, _)) if !self.rw.writes() => refuse(key, "that writes nothing"),
            _ if self.rwmixread != half() && !self.rw.is_mixed() => refuse("rwmixread", "that is no mix"),
            _ if self.rwmixtrim > 0 && !self.rw.is_mixed() => refuse("rwmixtrim", "that is no mix"),
            _ => Ok(()),
        }
    }

    /// Its place inside a part of a target.
    fn region(&self, job: &Job, part: Region) -> Result<Region, SpecError> {
        let left = part.length.0.checked_sub(self.offset.0);
        match (left, self.size) {
            (Some(left), size) if size.is_none_or(|size| size.0 <= left) => {
                let offset = Bytes(part.offset.0 + self.offset.0);
                Ok(Region { offset, length: size.unwrap_or(Bytes(left)) })
            }
            _ => {
                let size = self.size.map_or_else(|| "what follows".to_owned(), |size| size.to_string());
                let reason = format!("{size} from offset {} on lies outside the {} in use", self.offset, part.length);
                Err(job.refuse((reason, "use a smaller offset or size, or a larger target".into())))
            }
        }
    }

    fn pattern(&self) -> Pattern {
        Pattern {
            offsets: self.distribution.clone(),
            align: self.align,
            stride: self.stride,
            sharing: self.sharing,
            sizes: self.sizes.clone(),
            random: self.percentage_random,
            ..Pattern::default()
        }
    }

    fn think(&self) -> Option<ThinkTime> {
        let blocks = self.thinktime_blocks.unwrap_or(1);
        (self.thinktime != Nanos::ZERO).then_some(ThinkTime { time: self.thinktime, blocks })
    }

    fn arrival(&self) -> Result<Arrival, Wrong> {
        if let (Some(time_percent), Some(_)) = (self.time_percent, &self.replay) {
            return Ok(Arrival::Recorded { time_percent });
        }
        let rate = match (self.rate, self.rate_iops) {
            (None, None) if self.rate_process == RateProcess::Poisson => {
                let reason = "arrivals at random without a rate";
                return Err(Wrong::new("rate_process", "poisson", reason, "give rate_iops, such as 20000"));
            }
            (None, None) => return Ok(Arrival::Closed),
            (None, Some(rate)) => rate,
            (Some(rate), None) if self.sizes.is_none() => Rate::of_bytes(rate, self.bs).ok_or_else(|| {
                let reason = "less than one request in a thousand seconds";
                Wrong::new("rate", rate.exact(), reason, "give a higher rate, or none for a closed loop")
            })?,
            (Some(rate), None) => {
                let reason = "bytes a second of requests of several sizes";
                return Err(Wrong::new("rate", rate.exact(), reason, "give rate_iops instead"));
            }
            (Some(rate), Some(_)) => {
                return Err(Wrong::new("rate", rate.exact(), "stands beside rate_iops", "give one of the two"));
            }
        };
        Ok(match self.rate_process {
            RateProcess::Linear => Arrival::Fixed(rate),
            RateProcess::Poisson => Arrival::Poisson(rate),
        })
    }

    /// Refuses what can't work on any target.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        if !self.threads.is_empty() && (!self.iodepth.is_empty() || !self.numjobs.is_empty()) {
            let shown = format!("{:?}", self.threads);
            return Err(Wrong::new("threads", shown, "stands beside iodepth or numjobs", "give one or the other"));
        }
        let axes = [("iodepth", &self.iodepth), ("numjobs", &self.numjobs), ("threads", &self.threads)];
        let axes = if self.threads.is_empty() { &axes[..2] } else { &axes[2..] };
        for (key, axis) in axes {
            let mut sorted = (*axis).clone();
            sorted.sort_unstable();
            sorted.dedup();
            if axis.is_empty() || axis.contains(&0) || sorted.len() != axis.len() {
                let reason = "an axis needs values from 1, each once";
                return Err(Wrong::new(key, format!("{axis:?}"), reason, "such as [1, 8]"));
            }
        }
        if self.interval_goal.is_some_and(|g| !(0.0001..0.5).contains(&g)) {
            let shown = format!("{:?}", self.interval_goal);
            return Err(Wrong::new("interval_goal", shown, "not a share", "use 0.005"));
        }
        if let (Some(blocks), Nanos::ZERO) = (self.thinktime_blocks, self.thinktime) {
            let reason = "there is no thinktime to follow them";
            return Err(Wrong::new("thinktime_blocks", blocks.to_string(), reason, "give one, such as 1ms"));
        }
        if self.has_no_end() {
            let reason = "neither runtime nor amount nor passes ends it";
            return Err(Wrong::new("runtime", "missing", reason, "give a runtime, such as 30s"));
        }
        self.arrival().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Beyond, Direction, ReplayEnd, ReplayRequest};

    fn part() -> Region {
        Region { offset: Bytes::mib(1), length: Bytes::mib(64) }
    }

    /// Every key of a load file reaches the job.
    #[test]
    fn each_key_reaches_the_job() {
        let text = r#"
            rw = "randrw"
            rwmixread = 70
            rwmixtrim = 5
            sizes = "4KiB/60:64KiB/40"
            iodepth = 32
            numjobs = [2, 4]
            amount = "1GiB"
            passes = 3
            ramp = "2s"
            offset = "16MiB"
            size = "32MiB"
            distribution = "zipf:1.1"
            align = "4KiB"
            sharing = "slices"
            rate_iops = 20000
            rate_process = "poisson"
            fsync = 8
            dsync = true
            write_hint = "short"
            placement = [0, 1]
            compress_percent = 50
            dedupe_percent = 10
        "#;
        let load = SweepStep::parse(text, "l.toml").expect("a load");
        let job = load.job(32, 4, part()).expect("a job");
        let asked = (job.workload.as_str(), job.bs, job.iodepth, job.numjobs, job.rwmixread, job.rwmixtrim);
        assert_eq!(asked, ("rand-mix-70r-4k-64k", Bytes::kib(64), 32, 4, 70, 5));
        assert_eq!(
            (job.runtime, job.amount, job.passes, job.ramp),
            (None, Some(Bytes::gib(1)), Some(3), Nanos::secs(2))
        );
        assert_eq!(job.region, Region { offset: Bytes::mib(17), length: Bytes::mib(32) });
        assert_eq!(job.pattern.offsets, Offsets::Zipf { theta: 1.1 });
        assert_eq!((job.pattern.align, job.pattern.sharing), (Some(Bytes::kib(4)), Some(Sharing::Slices)));
        assert_eq!(job.arrival, Arrival::Poisson(Rate::iops(20_000)));
        assert_eq!(job.durability, Durability { fsync_every: 8, fdatasync_every: 0, dsync: true });
        assert_eq!((job.write_hint, job.placement), (Some(WriteHint::Short), vec![0, 1]));
        assert_eq!((job.data.compress_percent, job.data.dedupe_percent), (50, 10));
        let again: SweepStep = toml::from_str(&toml::to_string(&load).expect("text")).expect("a load");
        assert_eq!(again, load);
    }

    #[test]
    fn a_mix_of_sizes_has_a_name_of_its_own() {
        let name =
            |keys: &str| SweepStep::parse(&format!("rw = 'randwrite'\n{keys}"), "l.toml").expect("a load").name();
        assert_eq!(name("bs = '64KiB'"), "rand-write-64k");
        assert_eq!(name("sizes = '4KiB/60:64KiB/40'"), "rand-write-4k-64k");
        assert_eq!(name("sizes = '512B-4KiB'"), "rand-write-512b-4k");
    }

    #[test]
    fn keys_that_would_do_nothing_are_refused_by_name() {
        for (key, says) in [
            ("fsync = 1", "fsync of a load that writes nothing"),
            ("fdatasync = 1", "leave fdatasync out"),
            ("dsync = true", "dsync of"),
            ("write_hint = 'short'", "write_hint of"),
            ("placement = [0]", "placement of"),
            ("compress_percent = 1", "compress_percent of"),
            ("dedupe_percent = 1", "dedupe_percent of"),
            ("data_pattern = '0xff'", "data_pattern of"),
            ("rwmixread = 70", "rwmixread of a load that is no mix"),
            ("rwmixtrim = 1", "rwmixtrim of a load that is no mix"),
        ] {
            let load = |rw| SweepStep::parse(&format!("rw = '{rw}'\nbs = '4KiB'\n{key}"), "l.toml").expect("a load");
            let refused = load("randread").job(1, 1, part()).map(drop).expect_err(key).to_string();
            assert!(refused.contains(says), "{key}: {refused}");
            assert!(load("randrw").job(1, 1, part()).is_ok(), "{key}");
        }
    }

    #[test]
    fn what_is_left_out_has_the_usual_meaning() {
        let load = SweepStep::parse("rw = 'randread'\nbs = '4KiB'\nrate = '40MB/s'\nstride = '8KiB'", "l.toml")
            .expect("a load");
        let job = load.job(1, 1, part()).expect("a job");
        assert_eq!((job.workload.as_str(), job.passes, job.region), ("rand-read-4k", Some(1), part()));
        assert_eq!((load.iodepth, load.numjobs), (vec![1], vec![1]));
        let Arrival::Fixed(rate) = job.arrival else { panic!("an open loop") };
        assert!((rate.per_second().expect("a rate").0 * 4096.0 / 40e6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn shares_and_pauses_reach_the_job() {
        let text = "rw = 'randrw'\nbs = '4KiB'\npercentage_random = '30,75'\nthinktime = '2ms'\nthinktime_blocks = 8";
        let load = SweepStep::parse(text, "l.toml").expect("a load");
        let job = load.job(1, 1, part()).expect("a job");
        assert_eq!(job.pattern.random, Some(RandomShares { read: 30, write: 75, trim: 75 }));
        assert_eq!(job.think, Some(ThinkTime { time: Nanos::millis(2), blocks: 8 }));
        assert_eq!(job.validate(Bytes(512), Bytes::gib(1)), Ok(()));
        let again: SweepStep = toml::from_str(&toml::to_string(&load).expect("text")).expect("a load");
        assert_eq!(again, load);
        let one = SweepStep::parse("rw = 'randread'\nbs = '4k'\npercentage_random = 50\nthinktime = '1s'", "l.toml");
        let one = one.expect("a load").job(1, 1, part()).expect("a job");
        assert_eq!((one.pattern.random, one.think.map(|t| t.blocks)), (Some(RandomShares::all(50)), Some(1)));
        let refused = |job: Job, says: &str| {
            let error = job.validate(Bytes(512), Bytes::gib(1)).expect_err(says).to_string();
            assert!(error.contains(says), "{error}");
        };
        refused(Job { rw: Rw::Read, ..one.clone() }, "use rand and the same word");
        refused(Job { arrival: Arrival::Fixed(Rate::iops(1)), ..one.clone() }, "pauses in an open loop");
        let once = Pattern { offsets: Offsets::Once, ..one.pattern.clone() };
        refused(Job { pattern: once, ..one }, "each block once a pass");
    }

    #[test]
    fn a_list_is_a_load_that_ends_with_it() {
        let request = |at, direction| ReplayRequest { at: Nanos(at), direction, offset: Bytes::ZERO, length: 8192 };
        let list = |direction| {
            Replay::new(
                "a.csv",
                vec![request(0, Direction::Read), request(9, direction)],
                ReplayEnd::Once,
                Beyond::Fold,
            )
        };
        for (direction, rw) in [(Direction::Read, Rw::RandRead), (Direction::Trim, Rw::RandRw)] {
            let mut load = SweepStep::of_replay("w", list(direction), Some(50));
            load.complete();
            assert!(load.check().is_ok());
            let job = load.job(8, 1, part()).expect("a job");
            assert_eq!((job.rw, job.bs, job.passes), (rw, Bytes::kib(8), None));
            assert_eq!((job.arrival, job.replay.is_some()), (Arrival::Recorded { time_percent: 50 }, true));
            assert_eq!(job.validate(Bytes(512), Bytes::gib(1)), Ok(()));
            // A stored one is known again, and not played.
            let stored: SweepStep = toml::from_str(&toml::to_string(&load).expect("text")).expect("a load");
            assert_eq!(stored, load);
            assert!(stored.job(8, 1, part()).expect("a job").validate(Bytes(512), Bytes::gib(1)).is_err());
            load.time_percent = None;
            assert!(load.job(8, 1, part()).expect("a job").arrival.is_closed());
        }
    }

    #[test]
    fn slips_are_refused() {
        for (text, says) in [
            ("", "l.toml:1: missing field `rw`"),
            ("rw = 'read'\nio_depth = 3", "l.toml:2: "),
            ("rw = 'read'\nbs = '4k'\nrate_process = 'poisson'", "rate_iops, such as"),
            ("rw = 'read'\nbs = '4k'\nrate = '1MB/s'\nrate_iops = 3", "one of the two"),
            ("rw = 'read'\nsizes = '4k-8k'\nrate = '1MB/s'", "give rate_iops instead"),
            ("rw = 'read'\nbs = '1m'\nrate = '1B/s'", "higher rate"),
            ("rw = 'read'\nbs = '4k'\ndistribution = 'zipf'", "l.toml:3: `distribution`: `zipf` is no distribution"),
            ("rw = 'read'\nbs = '4k'\niodepth = 0", "values from 1"),
            ("rw = 'read'\nbs = '4k'\nthinktime_blocks = 2", "no thinktime"),
            ("rw = 'randread'\nbs = '4k'\npercentage_random = '101'", "reads,writes,trims"),
        ] {
            let error = SweepStep::parse(text, "l.toml").expect_err(says).to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
        let load =
            SweepStep { offset: Bytes::mib(60), size: Some(Bytes::mib(5)), ..SweepStep::new(Rw::Read, Bytes::kib(4)) };
        let error = load.job(1, 1, part()).expect_err("outside").to_string();
        assert!(error.contains("5 MiB from offset 60 MiB"), "{error}");
    }
}
