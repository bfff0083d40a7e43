//! The arguments of `flashlab load`, and the load itself, which `flashlab what-if` takes too.

use super::SEED;
use super::real::{Keep, Real};
use super::trace::Trace;
use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;
use flashlab_spec::{
    BytePattern, Offsets, RandomShares, Rate, RateProcess, Rw, Sharing, Sizes, SweepStep, Verify, WriteHint,
};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::path::{Path, PathBuf};

/// fio's default.
const BS_DEFAULT: Bytes = Bytes::kib(4);

#[derive(Debug, ClapArgs)]
pub(crate) struct Load {
    /// Files and loop devices, loaded all at once, or one modelled drive; several with commas, or the option again
    #[arg(long, required = true, value_delimiter = ',', value_name = "PATH|DRIVE")]
    pub(crate) on: Vec<String>,
    #[command(flatten)]
    pub(crate) from: From,
    /// Use this much of each target; creates a file that does not exist
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Measured time of each point; an amount or passes may end it before [default: until these, or one pass]
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,
    /// Seed of all streams
    #[arg(long, default_value_t = SEED)]
    pub(crate) seed: u64,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
    /// Only show what it would do, with the token of each device; touches nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) keep: Keep,
    // Last, since what follows a heading stands below it.
    #[command(flatten)]
    pub(crate) any: AnyKeys,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) real: Real,
}

/// Where a load comes from, beside its own options.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct From {
    /// The load from a TOML file with the keys of a sweep in a suite; several tables named load run at the same time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["Keys", "iodepth", "workload", "fio"])]
    pub(crate) job: Option<PathBuf>,
    /// The load from a fio job file; where there may be several, its sections run one after another or at the same time,
    /// as in fio
    #[arg(long, value_name = "FILE", conflicts_with_all = ["Keys", "iodepth", "workload"])]
    pub(crate) fio: Option<PathBuf>,
    /// Only this section of the fio job file
    #[arg(long, value_name = "NAME", requires = "fio")]
    pub(crate) section: Option<String>,
    #[command(flatten)]
    pub(crate) trace: Trace,
}

/// What is said of any load, one from a trace too.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "The load")]
#[group(skip)]
pub(crate) struct AnyKeys {
    /// Outstanding I/Os a job; several with commas for a sweep [default: 1; 256 of a trace with times]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub(crate) iodepth: Vec<u32>,
    /// Name in results [default: after pattern and size, or the trace]
    #[arg(long, visible_alias = "name", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) workload: Option<String>,
}

/// The load itself.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "The load")]
#[group(conflicts_with = "trace")]
pub(crate) struct Keys {
    /// Access pattern: read, write, randread, randwrite, randrw, rw, trim, randtrim
    #[arg(long, alias = "readwrite", value_name = "RW")]
    rw: Option<Rw>,
    /// Transfer size [default: 4KiB]
    #[arg(long, alias = "blocksize", value_name = "SIZE")]
    bs: Option<Bytes>,
    /// Transfer sizes: 4KiB-64KiB, 4KiB/60:64KiB/40, or one rule each for reads,writes,trims
    #[arg(long, visible_aliases = ["bssplit", "bsrange"], value_name = "SIZES", conflicts_with = "bs")]
    sizes: Option<Sizes>,
    /// Jobs; several with commas for a sweep [default: 1]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    numjobs: Vec<u32>,
    /// Share of reads in percent of all requests of a mixed load [default: 50]
    #[arg(long, value_name = "PERCENT")]
    rwmixread: Option<u8>,
    /// Share of trims in percent of all requests of a mixed load; the rest are writes [default: 0]
    #[arg(long, value_name = "PERCENT")]
    rwmixtrim: Option<u8>,
    /// Open loop: bytes a second that each job asks for
    #[arg(long, value_name = "RATE", conflicts_with = "rate_iops")]
    rate: Option<BytesPerSecond>,
    /// Open loop: requests a second that each job asks for, such as 20000 or 2/3s
    #[arg(long, alias = "rate_iops", value_name = "N")]
    rate_iops: Option<Rate>,
    /// How they are spaced: linear or poisson [default: linear]
    #[arg(long, alias = "rate_process", value_name = "PROCESS")]
    rate_process: Option<RateProcess>,
    /// Pause of a job once the requests before it are back; in no latency
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "rate_iops"])]
    thinktime: Option<Nanos>,
    /// Requests of a job between two pauses [default: 1]
    #[arg(long, alias = "thinktime_blocks", value_name = "N", requires = "thinktime")]
    thinktime_blocks: Option<u32>,
    /// Begin this far into the target
    #[arg(long, value_name = "SIZE")]
    pub(crate) offset: Option<Bytes>,
    /// Bytes that all jobs of a point move together, ramp included
    #[arg(long, value_name = "SIZE")]
    amount: Option<Bytes>,
    /// Passes of each job over its part of the target [default: 1 without runtime and amount]
    #[arg(long, alias = "loops", value_name = "N")]
    passes: Option<u32>,
    /// Time before the measured window, dropped [default: 0]
    #[arg(long, visible_alias = "ramp-time", alias = "ramp_time", value_name = "TIME")]
    ramp: Option<Nanos>,
    /// Of random offsets: random, once, zipf:THETA, pareto:H, normal:PERCENT, zoned:ACCESS/SPACE:… [default: random]
    #[arg(long, visible_alias = "random-distribution", alias = "random_distribution", value_name = "HOW")]
    distribution: Option<Offsets>,
    /// Share of a random load's requests that go to random places, in percent; the others go on where the last
    /// one ended. One for all, or reads,writes,trims [default: 100]
    #[arg(long, alias = "percentage_random", value_name = "PERCENT")]
    percentage_random: Option<RandomShares>,
    /// Offsets are multiples of this [default of random ones: bs, or the smallest of the sizes]
    #[arg(long, value_name = "SIZE")]
    align: Option<Bytes>,
    /// From the start of one sequential request to that of the next
    #[arg(long, value_name = "SIZE")]
    stride: Option<Bytes>,
    /// Whether jobs go over the same part of the target: shared, or slices [default: random ones share]
    #[arg(long, value_name = "HOW", value_parser = sharing)]
    sharing: Option<Sharing>,
    /// fsync after this many writes of a job
    #[arg(long, value_name = "N", conflicts_with = "fdatasync")]
    fsync: Option<u32>,
    /// fdatasync after this many writes of a job
    #[arg(long, value_name = "N")]
    fdatasync: Option<u32>,
    /// Each write returns once its data is durable (O_DSYNC, forced unit access)
    #[arg(long)]
    dsync: bool,
    /// How long the data is expected to live: none, short, medium, long, extreme
    #[arg(long, value_name = "HINT")]
    write_hint: Option<WriteHint>,
    /// FDP placement identifiers of the jobs' writes, in turn
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    placement: Vec<u16>,
    /// Share of each block that compresses away, in percent [default: 0]
    #[arg(long, visible_alias = "buffer-compress-percentage", value_name = "PERCENT")]
    compress_percent: Option<u8>,
    /// Share of the blocks that are copies of others, in percent [default: 0]
    #[arg(long, visible_alias = "dedupe-percentage", value_name = "PERCENT")]
    dedupe_percent: Option<u8>,
    /// Bytes that are repeated over each block instead, such as 0xdeadbeef
    #[arg(long, visible_alias = "buffer-pattern", value_name = "HEX")]
    data_pattern: Option<BytePattern>,
    /// stamp: write blocks that a later run can check; read-back: and check them at the end; check: check what is read
    #[arg(long, value_name = "HOW")]
    verify: Option<Verify>,
}

impl From {
    /// The files that it is read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.job, &self.fio, &self.trace.file].into_iter().flatten().map(PathBuf::as_path)
    }
}

fn sharing(text: &str) -> Result<Sharing, &'static str> {
    match text {
        "shared" => Ok(Sharing::Shared),
        "slices" => Ok(Sharing::Slices),
        _ => Err("write shared or slices"),
    }
}

impl Keys {
    /// The load that was asked for, without an end; `None` without `--rw`.
    pub(crate) fn load(&self, any: &AnyKeys) -> Option<SweepStep> {
        let bs = if self.sizes.is_some() { Bytes::ZERO } else { self.bs.unwrap_or(BS_DEFAULT) };
        let plain = SweepStep::new(self.rw?, bs);
        Some(SweepStep {
            workload: any.workload.clone().unwrap_or_default(),
            rwmixread: self.rwmixread.unwrap_or(plain.rwmixread),
            rwmixtrim: self.rwmixtrim.unwrap_or_default(),
            sizes: self.sizes.clone(),
            iodepth: any.iodepth.clone(),
            numjobs: self.numjobs.clone(),
            amount: self.amount,
            passes: self.passes,
            ramp: self.ramp.unwrap_or_default(),
            offset: self.offset.unwrap_or_default(),
            distribution: self.distribution.clone().unwrap_or_default(),
            percentage_random: self.percentage_random,
            thinktime: self.thinktime.unwrap_or_default(),
            thinktime_blocks: self.thinktime_blocks,
            align: self.align,
            stride: self.stride,
            sharing: self.sharing,
            rate: self.rate,
            rate_iops: self.rate_iops,
            rate_process: self.rate_process.unwrap_or_default(),
            fsync: self.fsync.unwrap_or_default(),
            fdatasync: self.fdatasync.unwrap_or_default(),
            dsync: self.dsync,
            write_hint: self.write_hint,
            placement: self.placement.clone(),
            compress_percent: self.compress_percent.unwrap_or_default(),
            dedupe_percent: self.dedupe_percent.unwrap_or_default(),
            data_pattern: self.data_pattern.clone().unwrap_or_default(),
            verify: self.verify.unwrap_or_default(),
            ..plain
        })
    }
}
