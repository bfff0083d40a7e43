//! The arguments, as parsed; touches nothing.

mod load;
mod real;
mod trace;

pub(crate) use load::{AnyKeys, From, Keys, Load};
pub(crate) use real::{CpuList, Engine, Fallback, Keep, Real};
pub(crate) use trace::Trace;

use clap::{Args as ClapArgs, Parser, Subcommand};
use flashlab_units::{Bytes, Nanos};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 a criterion was not met, 2 usage or spec, 3 device or I/O error, \
4 refused for safety, 130 interrupted.

Start with:
  flashlab review                                  review a modelled drive, no hardware needed
  flashlab plan quick --on ./scratch.img --size 1G what a run would do; touches nothing
  flashlab run quick --on ./scratch.img --size 1G  a first answer about a disk in about a minute
  flashlab load --on ./scratch.img --rw randread   one load, as fio runs it";

/// Seed of a run where none is given.
pub(crate) const SEED: u64 = 1;

/// SSD evaluation lab: purge, precondition, steady state, sweeps, report; on files, loop devices and
/// modelled drives.
#[derive(Debug, Parser)]
#[command(name = "flashlab", version = crate::origin::VERSION, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Review modelled drives and write the report, the CSV and the store into a folder
    Review(Review),
    /// Run a suite on a file or loop device, on several at once, or on a modelled drive
    Run(Run),
    /// Run one load, or a sweep of it, on a file, on several at once, or on a modelled drive
    Load(Box<Load>),
    /// Show every step of a run with the bytes it writes and the time it takes; touches nothing
    Plan(PlanArgs),
    /// List the runs in a store
    List(List),
    /// Write the report of stored runs as one HTML file
    Report(Report),
    /// Export the results of stored runs as CSV or JSON
    Export(Export),
    /// Compare two drives or two runs, like with like
    Compare(Compare),
    /// Hold results against the figures that reviews printed
    Fidelity(Fidelity),
    /// Ask modelled drives what they would do under a load, fresh and in steady state
    WhatIf(Box<WhatIf>),
    /// Fit the free parameters of a drive's model to published or measured results
    Fit(Fit),
    /// List the modelled drives, or show one with the source of every parameter
    Drives(Drives),
    /// List the hosts that load modelled drives, or show one with the source of every parameter
    Hosts(Hosts),
    /// List the suites, or show one
    Suites(Suites),
    /// Check what this machine grants: io_uring, O_DIRECT, permissions, CPU governor, devices
    Doctor(Doctor),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Review {
    /// Drives to review, by name, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "DRIVE",
        default_value = "r6060-122,j5060-61,p5430-30,p5336-61,p5336-122,6550-ion-61,6600-ion-245"
    )]
    pub(crate) drives: Vec<String>,
    /// Suites to run, by name or as TOML files, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "SUITE", default_value = "review,gds,checkpoint,steady")]
    pub(crate) suite: Vec<String>,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
    /// Seed of the run; the same seed gives the same results.csv
    #[arg(long, default_value_t = SEED)]
    pub(crate) seed: u64,
    /// Folder for index.html, results.csv, manifest.json and flashlab.db
    #[arg(long, default_value = "review", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Replace the report files in a folder that has some; its store is kept and added to
    #[arg(long)]
    pub(crate) replace: bool,
    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}

/// What to run, on what.
#[derive(Debug, ClapArgs)]
pub(crate) struct What {
    /// Suite by name (see `flashlab suites`), or a TOML file
    pub(crate) suite: String,
    /// Files and loop devices (a path with a slash, or one that exists), loaded all at once, or one modelled
    /// drive by name; several with commas, or the option again
    #[arg(long, required = true, value_delimiter = ',', value_name = "PATH|DRIVE")]
    pub(crate) on: Vec<String>,
    /// Use this much of the target; creates a file that does not exist
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Time of each point (and timed round) instead of the suite's
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,
    /// Seed of the run
    #[arg(long, default_value_t = SEED)]
    pub(crate) seed: u64,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) real: Real,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

/// Output for machines.
#[derive(Debug, ClapArgs)]
pub(crate) struct JsonArg {
    /// Write as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-", global = true)]
    pub(crate) json: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, global = true)]
    pub(crate) replace: bool,
}

/// Which store.
#[derive(Debug, ClapArgs)]
pub(crate) struct StoreArg {
    /// Store to read [default: ./flashlab.db, else ./review/flashlab.db]
    #[arg(long, value_name = "FILE", env = "FLASHLAB_STORE")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) store: StoreArg,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Report {
    /// Runs by number (see `flashlab list`), or `latest`
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Folder for index.html, results.csv and manifest.json
    #[arg(long, default_value = "report", value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Replace the report files in a folder that has some
    #[arg(long)]
    pub(crate) replace: bool,
    /// More drive profiles (TOML), for runs of drives that are not built in
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Export {
    /// Runs by number (see `flashlab list`), or `latest`
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Long CSV: one figure a row, base units [default, to standard output]
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
    /// JSON with histograms, series and the whole provenance
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// CSV of the jobs second by second: a direction of an interval a row
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) series: Option<PathBuf>,
    /// CSV of where the time of the requests went: one stage of a class of requests a row
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) stages: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Compare {
    /// A drive by name (its newest finished run of each suite), or a run by number
    pub(crate) a: String,
    /// Another
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Show every figure, not only the first and last place of each workload
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Fidelity {
    /// Runs by number [default: the newest finished run of each drive and suite]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Every comparison as CSV to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) csv: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Fit {
    /// The drive: its profile is fitted, or a twin begins with it
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: String,
    /// Fit a twin of what was measured in these runs [default: fit to what reviews published of the drive]
    #[arg(long, value_name = "RUN", value_delimiter = ',')]
    pub(crate) from: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
    /// Name of the twin's profile [default: that of the measured drive and -twin]
    #[arg(long, value_name = "ID", requires = "from")]
    pub(crate) id: Option<String>,
    /// Write the fitted profile (TOML) to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) out: Option<PathBuf>,
    /// Fail (exit code 1) if the profile is not what the fit gives
    #[arg(long, conflicts_with = "from")]
    pub(crate) check: bool,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Seed of all streams; the same seed gives the same profile
    #[arg(long, default_value_t = SEED)]
    pub(crate) seed: u64,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WhatIf {
    /// Modelled drives by name, separated by commas
    #[arg(value_delimiter = ',', required = true, value_name = "DRIVE")]
    pub(crate) drives: Vec<String>,
    #[command(flatten)]
    pub(crate) from: From,
    /// Part of the drive that is used [default: all of it]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["job", "fio", "trace"])]
    pub(crate) size: Option<Bytes>,
    /// Bytes that the host writes a day, for years of life
    #[arg(long, value_name = "SIZE")]
    pub(crate) daily: Option<Bytes>,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Seed of all streams; the same seed gives the same answer
    #[arg(long, default_value_t = SEED)]
    pub(crate) seed: u64,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
    // Last, since what follows a heading stands below it.
    #[command(flatten)]
    pub(crate) any: AnyKeys,
    #[command(flatten)]
    pub(crate) keys: Keys,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Drives {
    #[command(subcommand)]
    pub(crate) action: Option<DrivesAction>,
    /// More drive profiles (TOML)
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) profile: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DrivesAction {
    /// Show the data sheet and each model parameter with its source
    Show {
        /// Drive by name
        id: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hosts {
    #[command(subcommand)]
    pub(crate) action: Option<HostsAction>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostsAction {
    /// Show each parameter with its source and where it acts
    Show {
        /// Host by the name of its generator
        generator: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Suites {
    #[command(subcommand)]
    pub(crate) action: Option<SuitesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuitesAction {
    /// Print a suite as TOML, to start one of your own
    Show {
        /// Suite by name
        id: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Also check O_DIRECT and protection at this path
    #[arg(long, value_name = "PATH")]
    pub(crate) on: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: JsonArg,
}
