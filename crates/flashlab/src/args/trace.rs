//! The arguments of a load from a trace, of `flashlab load` and `flashlab what-if`.

use crate::exit::CliError;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
#[group(skip)]
pub(crate) struct Trace {
    /// The load from a trace: fio iolog, text of blkparse, or CSV of the MSR set at the SNIA
    #[arg(long = "trace", value_name = "FILE", conflicts_with_all = ["job", "fio"])]
    #[arg(id = "trace")]
    pub(crate) file: Option<PathBuf>,
    /// Format of the trace: iolog, blkparse, msr [default: told by its first lines]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) format: Option<String>,
    /// Device of the trace whose requests are played, where it has several
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(crate) device: Option<String>,
    /// Fold addresses of the trace that lie beyond the target into it
    #[arg(long, requires = "trace")]
    pub(crate) fold: bool,
}

impl Trace {
    /// Refuses options of a trace where there is none: clap does not ask for what an option requires where
    /// another one excludes it.
    pub(crate) fn refuse_without_one(&self) -> Result<(), CliError> {
        if self.file.is_none() && (self.fold || self.format.is_some() || self.device.is_some()) {
            let what = "--format, --device and --fold are for a trace";
            return Err(CliError::usage(what, "give --trace FILE, or leave them out"));
        }
        Ok(())
    }
}
