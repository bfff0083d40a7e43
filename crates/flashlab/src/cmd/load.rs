//! `flashlab load`: one load, or a sweep of it, on a file or device, on several at once, or on a
//! modelled drive. A load is a suite of its own, so that it is planned, run, kept and shown as any other.
//! Several loads run one after another or at the same time, as their file says.

use super::execute::{Means, Request};
use crate::args::{AnyKeys, From, Keys, Load};
use crate::catalog;
use crate::exit::{CliError, Exit};
use crate::trace::{self, Trace};
use flashlab_interop::FioJob;
use flashlab_lab::PlanOptions;
use flashlab_spec::{ConcurrentStep, LoadFile, SpecError, Suite, SuiteStep, SweepStep};
use flashlab_units::Bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a log of `read_iolog` is, as an input.
pub(super) const A_TRACE: &str = "a trace of the fio file";

pub(crate) fn run(args: &Load) -> anyhow::Result<Exit> {
    let asked = Asked::read(args)?;
    let options = PlanOptions { seed: args.seed, size: asked.size(args), runtime: args.runtime, small: true };
    let suite = |capacity| asked.suite(capacity);
    let mut inputs: Vec<_> = args.from.files().map(|file| ("the load", file)).collect();
    inputs.extend(asked.traces().iter().map(|file| (A_TRACE, file.as_path())));
    inputs.extend(args.real.ledger.as_ref().map(|ledger| ("the ledger", ledger.as_path())));
    let request = Request { on: &args.on, profiles: &args.profile, suite: &suite, options, inputs };
    if args.plan {
        return super::plan::show(&request, args.keep.json.as_deref(), args.keep.replace, |_| {
            let words = std::env::args().skip(1).filter(|word| word != "--plan");
            words.fold("flashlab".to_owned(), |command, word| command + " " + &quoted(&word))
        });
    }
    request.execute(&Means {
        real: &args.real,
        keep: &args.keep,
        title: format!("{} on", asked.suite(Bytes::ZERO).title),
    })
}

/// The one load that was asked for by a trace, a file or options; what ends it may be open.
pub(super) fn one(from: &From, any: &AnyKeys, keys: &Keys) -> anyhow::Result<SweepStep> {
    match file_or_options(from, any, keys)? {
        LoadFile::One(load) => Ok(*load),
        LoadFile::AtOnce(_) => {
            let what = "--job: several loads at the same time, and a modelled drive runs one load at a time";
            Err(CliError::usage(what, "give the keys of one load, without [[load]]").into())
        }
    }
}

/// The loads that were asked for by a trace, a file or options; what ends a single one may be open.
fn file_or_options(from: &From, any: &AnyKeys, keys: &Keys) -> anyhow::Result<LoadFile> {
    if let Some(trace) = Trace::asked(&from.trace)? {
        return Ok(LoadFile::One(Box::new(trace.load(any))));
    }
    if let Some(file) = &from.job {
        return Ok(LoadFile::parse(&catalog::read(file)?, &file.display().to_string())?);
    }
    let remedy = "give --rw, such as --rw randread --bs 4KiB --iodepth 32, or --job, --fio or --trace FILE";
    let load = keys.load(any).ok_or_else(|| CliError::usage("no load was given", remedy))?;
    Ok(LoadFile::One(Box::new(load)))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The load as it was asked for.
enum Asked {
    /// By options, a load file or a trace.
    File(LoadFile),
    /// By sections of a fio job file; those of one wave run at the same time. With the traces that the file names.
    Fio(Vec<FioJob>, Vec<PathBuf>),
}

impl Asked {
    fn read(args: &Load) -> anyhow::Result<Self> {
        if let Some(file) = &args.from.fio {
            args.from.trace.refuse_without_one()?;
            return fio(file, args.from.section.as_deref());
        }
        let mut file = file_or_options(&args.from, &args.any, &args.keys)?;
        if let LoadFile::One(load) = &mut file {
            // The place is that of the options, where they give one.
            if let (Some(size), Some(_)) = (args.size, args.keys.offset) {
                load.size = Some(size);
            }
            if args.runtime.is_some() {
                load.runtime = args.runtime;
            }
            load.complete();
        }
        Ok(Asked::File(file))
    }

    /// How much of a target is used: as `--size` says, or as far as the load itself goes where it says so.
    fn size(&self, args: &Load) -> Option<Bytes> {
        let end = |offset: Bytes, size: Bytes| Bytes(offset.0.saturating_add(size.0));
        let of_a_load = |load: &SweepStep| load.size.map(|size| end(load.offset, size));
        let ends: Option<Vec<Bytes>> = match self {
            Asked::File(LoadFile::One(load)) => of_a_load(load).map(|end| vec![end]),
            Asked::File(LoadFile::AtOnce(step)) => step.loads.iter().map(of_a_load).collect(),
            Asked::Fio(jobs, _) => jobs.iter().map(FioJob::end).collect(),
        };
        let own = ends.and_then(|ends| ends.into_iter().max());
        match (own, args.size) {
            (Some(own), Some(size)) => Some(own.max(size)),
            (own, size) => own.or(size),
        }
    }

    /// The traces that it is read from, beside the files of the command line.
    fn traces(&self) -> &[PathBuf] {
        match self {
            Asked::Fio(_, traces) => traces,
            Asked::File(_) => &[],
        }
    }

    /// The load as a suite for a target of this capacity.
    fn suite(&self, capacity: Bytes) -> Suite {
        let steps: Vec<SuiteStep> = match self {
            Asked::File(LoadFile::One(load)) => vec![SuiteStep::Sweep(load.clone())],
            Asked::File(LoadFile::AtOnce(step)) => vec![SuiteStep::Concurrent(step.clone())],
            Asked::Fio(jobs, _) => {
                waves(jobs).map(|wave| step(wave.iter().map(|job| job.load(capacity)).collect())).collect()
            }
        };
        let title = steps.iter().map(of_a_step).collect::<Vec<_>>().join("; ");
        Suite {
            id: "load".into(),
            title,
            purpose: "One load as asked for.".into(),
            limits: vec![
                "A load without preparation says nothing of a steady state: what the drive went through before is not known."
                    .into(),
            ],
            region_max: None,
            steps,
        }
    }
}

/// The sections that run at the same time, wave by wave.
fn waves(jobs: &[FioJob]) -> impl Iterator<Item = &[FioJob]> {
    jobs.chunk_by(|a, b| a.wave == b.wave)
}

fn step(mut loads: Vec<SweepStep>) -> SuiteStep {
    match loads.pop() {
        Some(only) if loads.is_empty() => SuiteStep::Sweep(Box::new(only)),
        last => SuiteStep::Concurrent(ConcurrentStep { loads: loads.into_iter().chain(last).collect() }),
    }
}

/// A step in words.
fn of_a_step(step: &SuiteStep) -> String {
    match step {
        SuiteStep::Sweep(load) => words(load),
        SuiteStep::Concurrent(step) => {
            format!("{}, at the same time", step.loads.iter().map(words).collect::<Vec<_>>().join(" and "))
        }
        SuiteStep::Purge | SuiteStep::Fill(_) | SuiteStep::Steady(_) | SuiteStep::Checkpoint(_) => {
            unreachable!("a load has no such step")
        }
    }
}

/// A load in words.
pub(super) fn words(load: &SweepStep) -> String {
    let list = |axis: &[u32]| axis.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if let Some(replay) = &load.replay {
        let (count, span) = (replay.summary().count, replay.summary().span);
        let pace =
            if load.time_percent.is_some() { format!("in {span} as recorded") } else { "without times".to_owned() };
        return format!("{}, {count} requests {pace}, iodepth {}", replay.source, list(&load.iodepth));
    }
    if !load.threads.is_empty() {
        return format!("{}, threads {}", load.name(), list(&load.threads));
    }
    format!("{}, iodepth {}, numjobs {}", load.name(), list(&load.iodepth), list(&load.numjobs))
}

/// The sections of a fio job file. What changes nothing here, and what may not be meant, goes to standard
/// error.
fn fio(file: &Path, section: Option<&str>) -> anyhow::Result<Asked> {
    let name = file.display().to_string();
    let mut jobs = flashlab_interop::read_jobs(&catalog::read(file)?, &name, &|key| std::env::var(key).ok())?;
    let traces = trace::named(&jobs);
    if let Some(wanted) = section {
        let known: Vec<String> = jobs.iter().map(|job| job.name.clone()).collect();
        jobs.retain(|job| job.name == wanted);
        if jobs.is_empty() {
            return Err(SpecError::unknown("section", wanted, known.iter().map(String::as_str)).into());
        }
    }
    for wave in waves(&jobs).filter(|wave| wave.len() > 1) {
        at_once(&name, wave, &jobs)?;
    }
    trace::attach(&mut jobs)?;
    // What stands in a global section is inherited by several.
    let mut said = BTreeSet::new();
    for job in &jobs {
        for ignored in &job.ignored {
            said.insert((ignored.line, format!("{} changes nothing here: {}", ignored.option, ignored.reason)));
        }
        said.extend(job.notes.iter().map(|note| (note.line, note.text.clone())));
    }
    said.iter().for_each(|(line, text)| eprintln!("{name}:{line}: {text}"));
    Ok(Asked::Fio(jobs, traces))
}

/// Refuses sections that fio would run at the same time on different files, and those that can't be told apart.
fn at_once(file: &str, wave: &[FioJob], all: &[FioJob]) -> Result<(), CliError> {
    for job in wave {
        if all.iter().filter(|other| other.name == job.name).count() > 1 {
            let what = format!("{file}:{}: another section is named {} too", job.line, job.name);
            let remedy = "give each a name of its own: results of loads at the same time are told apart by it";
            return Err(CliError::usage(what, remedy));
        }
    }
    let own = |job: &FioJob| {
        let name =
            |option: &str| option.split_once('=').filter(|(key, _)| *key == "filename").map(|(_, v)| v.to_owned());
        // That of the section goes before an inherited one.
        job.ignored.iter().rev().find_map(|ignored| name(&ignored.option))
    };
    let first = own(&wave[0]);
    if let Some(other) = wave.iter().find(|job| own(job) != first) {
        let what =
            format!("{file}: {} and {} run at the same time on different files in fio", wave[0].name, other.name);
        let remedy =
            "give both the same filename, or choose one with --section NAME; one load on several targets is --on A,B";
        return Err(CliError::usage(what, remedy));
    }
    if first.is_none() {
        let names = wave.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
        eprintln!("{file}: {names} have a file each in fio, as no filename is given; here all load the whole target");
    }
    Ok(())
}
