//! The arguments of commands that load something: how a real target is opened and run, and where
//! results are kept.

use clap::{Args as ClapArgs, ValueEnum};
use flashlab_units::Nanos;
use std::path::PathBuf;
use std::str::FromStr;

/// Errors after which a job still goes on, where no number is given.
const GO_ON_MAX: &str = "1000";
/// CPUs of the largest set that the kernel's interface takes without an allocation.
const CPUS_MAX: u32 = 1024;

/// How a real target is opened and loaded. None of it has a meaning for a modelled drive.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options of real targets")]
pub(crate) struct Real {
    /// Destroy the data of a device: the token that a plan prints for it; several with commas
    #[arg(long, value_delimiter = ',', value_name = "TOKEN")]
    pub(crate) destroy_data: Vec<String>,
    /// Overwrite a file that flashlab did not create
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Go through the page cache instead of O_DIRECT; results say so
    #[arg(long)]
    pub(crate) buffered: bool,
    /// I/O engine
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) engine: Option<Engine>,
    /// Engine to use, and to say so, where io_uring is not available
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) fallback: Option<Fallback>,
    /// Poll for completions (IOPOLL); needs O_DIRECT and a driver with poll queues. Results say whether it was granted
    #[arg(long, alias = "hipri")]
    pub(crate) iopoll: bool,
    /// Let a kernel thread submit (SQPOLL), which takes a CPU of its own
    #[arg(long, alias = "sqthread-poll")]
    pub(crate) sqpoll: bool,
    /// Pin the jobs to these CPUs in turn, such as 0-3,8
    #[arg(long, alias = "cpus-allowed", value_name = "LIST", conflicts_with = "numa")]
    pub(crate) cpus: Option<CpuList>,
    /// Pin the jobs to the CPUs of this NUMA node in turn; their buffers lie there too
    #[arg(long, alias = "numa-cpu-nodes", value_name = "NODE")]
    pub(crate) numa: Option<u32>,
    /// Time submission apart from completion (slat); costs a system call more a batch
    #[arg(long)]
    pub(crate) slat: bool,
    /// Length of an interval of the series, 10ms or more [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Nanos>,
    /// An I/O that is out longer ends the job and is reported with its age [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<Nanos>,
    /// Keep what was written and acknowledged in this file, on another file system, so that a later run
    /// can verify it; each of several targets has a ledger of its own, FILE.NAME after its base name
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Go on after I/O errors, up to so many a job; the result is still no clean one
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = GO_ON_MAX)]
    pub(crate) continue_on_error: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// One io_uring a job, the default
    #[value(name = "io_uring")]
    IoUring,
    /// One blocking call at a time; iodepth 1 only
    Psync,
    /// io_uring, but the kernel is asked to do nothing: what the ring costs
    Nop,
    /// Nothing is asked of the kernel: what the engine itself costs
    Null,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fallback {
    /// One blocking call at a time; iodepth 1 only
    Psync,
}

/// CPUs in the kernel's form of a list, `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<u32>);

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("write CPUs as numbers below {CPUS_MAX} and ranges, such as 0-3,8");
        let mut cpus = Vec::new();
        for part in text.trim().split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.parse().map_err(|_| refuse())?, to.parse().map_err(|_| refuse())?);
            if from > to || to >= CPUS_MAX {
                return Err(refuse());
            }
            cpus.extend(from..=to);
        }
        Ok(CpuList(cpus))
    }
}

/// Where results go.
#[derive(Debug, ClapArgs)]
pub(crate) struct Keep {
    /// Store to keep the run in [default: ./flashlab.db]
    #[arg(long, value_name = "FILE", env = "FLASHLAB_STORE")]
    pub(crate) store: Option<PathBuf>,
    /// Also write the report, results.csv and manifest.json into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the report files in a folder that has some
    #[arg(long)]
    pub(crate) replace: bool,
    /// Write the results as JSON to a file, or to standard output with -
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!("0-2,8".parse(), Ok(CpuList(vec![0, 1, 2, 8])));
        for text in ["", "a", "3-1", "0-1024", "1,,2", "-1"] {
            assert!(text.parse::<CpuList>().is_err_and(|e| e.contains("0-3,8")), "{text}");
        }
    }
}
