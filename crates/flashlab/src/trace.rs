//! A load from a trace: what `flashlab load` and `flashlab what-if` share of it.

use crate::args;
use crate::catalog;
use flashlab_interop::{DeviceChoice, FioJob, TraceFormat, TraceOptions, TraceRead};
use flashlab_spec::{Beyond, Replay, SpecError, SweepStep};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Requests of a trace with times that may be in flight: as many as hosts keep in a queue of a drive.
const DEPTH: u32 = 256;
/// The times of a trace as they were recorded.
const AS_RECORDED: u32 = 100;

/// A trace that was read.
pub(crate) struct Trace {
    /// Its requests.
    replay: Replay,
    /// How its times are stretched, in percent; `None` for a trace without times.
    time_percent: Option<u32>,
    format: TraceFormat,
    /// File without its folder and ending.
    stem: String,
}

impl Trace {
    /// Reads the trace that was asked for, if one was; what was understood of it goes to standard error.
    ///
    /// # Errors
    /// Also for an option that belongs to a trace, without one.
    pub(crate) fn asked(args: &args::Trace) -> anyhow::Result<Option<Self>> {
        args.refuse_without_one()?;
        let Some(file) = &args.file else { return Ok(None) };
        let known = |word: &String| {
            let found = TraceFormat::ALL.into_iter().find(|format| format.word() == word.as_str());
            found.ok_or_else(|| SpecError::unknown("trace format", word, TraceFormat::ALL.iter().map(|f| f.word())))
        };
        let options = TraceOptions {
            format: args.format.as_ref().map(known).transpose()?,
            device: args.device.clone().map_or(DeviceChoice::Only, DeviceChoice::Named),
            beyond: if args.fold { Beyond::Fold } else { Beyond::Refuse },
            ..TraceOptions::default()
        };
        let read = read(file, &options)?;
        Ok(Some(Trace {
            stem: file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            format: read.format,
            time_percent: read.timed.then_some(AS_RECORDED),
            replay: read.replay,
        }))
    }

    /// The usual number in flight.
    fn depth(&self) -> u32 {
        if self.time_percent.is_some() { DEPTH } else { 1 }
    }

    /// As a load, played once. Its source, which results give, is the file and the format.
    pub(crate) fn load(mut self, any: &args::AnyKeys) -> SweepStep {
        self.replay.source = format!("{} ({})", self.replay.source, self.format);
        let name = any.workload.clone().unwrap_or_else(|| format!("trace-{}", self.stem));
        let iodepth = if any.iodepth.is_empty() { vec![self.depth()] } else { any.iodepth.clone() };
        SweepStep { iodepth, ..SweepStep::of_replay(name, self.replay, self.time_percent) }
    }
}

/// The traces that jobs replay.
pub(crate) fn named(jobs: &[FioJob]) -> Vec<PathBuf> {
    jobs.iter().filter_map(|job| job.trace.as_ref()).map(|trace| PathBuf::from(&trace.file)).collect()
}

/// Reads the traces of jobs that replay one.
pub(crate) fn attach(jobs: &mut [FioJob]) -> anyhow::Result<()> {
    for job in jobs {
        if let Some(trace) = &job.trace {
            let device = if trace.redirect { DeviceChoice::All } else { DeviceChoice::Only };
            let read = read(Path::new(&trace.file), &TraceOptions { device, ..TraceOptions::default() })?;
            job.attach(read);
        }
    }
    Ok(())
}

/// Reads a trace; what was understood of it goes to standard error.
pub(crate) fn read(file: &Path, options: &TraceOptions) -> anyhow::Result<TraceRead> {
    let name = file.display().to_string();
    let read = flashlab_interop::read_trace(BufReader::new(catalog::open(file)?), &name, options)?;
    eprintln!("{read}");
    Ok(read)
}
