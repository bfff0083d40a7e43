//! `flashlab load`: one load, or a sweep of it, on a file or device, on several at once, or on a
//! modelled drive. A load is a suite of its own, so that it is planned, run, kept and shown as any other.

use super::execute::{Means, Request, show_plans};
use crate::args::{AnyKeys, From, Keys, Load};
use crate::catalog;
use crate::exit::{CliError, Exit};
use crate::trace::{self, Trace};
use flashlab_interop::{Extent, FioJob};
use flashlab_lab::PlanOptions;
use flashlab_spec::{SpecError, Suite, SuiteStep, SweepStep};
use flashlab_units::Bytes;
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn run(args: &Load) -> anyhow::Result<Exit> {
    let asked = Asked::read(args)?;
    let options = PlanOptions { seed: args.seed, size: asked.size(args), runtime: args.runtime, small: true };
    let suite = |capacity| asked.suite(capacity);
    let request = Request { on: &args.on, profiles: &args.profile, suite: &suite, options };
    if args.plan {
        let words = std::env::args().skip(1).filter(|word| word != "--plan");
        let command = words.fold("flashlab".to_owned(), |command, word| command + " " + &quoted(&word));
        show_plans(&request.plans()?, &command)?;
        return Ok(Exit::Done);
    }
    request.execute(&Means {
        real: &args.real,
        keep: &args.keep,
        inputs: args.from.files().map(|file| ("the load", file)).collect(),
        title: format!("{} on", asked.suite(Bytes::ZERO).title),
    })
}

/// The one load that was asked for by a trace, a file or options; what ends it may be open.
pub(super) fn one(from: &From, any: &AnyKeys, keys: &Keys) -> anyhow::Result<SweepStep> {
    if let Some(trace) = Trace::asked(&from.trace)? {
        return Ok(trace.load(any));
    }
    if let Some(file) = &from.job {
        return Ok(SweepStep::parse_as_written(&catalog::read(file)?, &file.display().to_string())?);
    }
    let remedy = "give --rw, such as --rw randread --bs 4KiB --iodepth 32, or --job, --fio or --trace FILE";
    Ok(keys.load(any).ok_or_else(|| CliError::usage("no load was given", remedy))?)
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
    One(Box<SweepStep>),
    /// By sections of a fio job file, one after another.
    Fio(Vec<FioJob>),
}

impl Asked {
    fn read(args: &Load) -> anyhow::Result<Self> {
        if let Some(file) = &args.from.fio {
            args.from.trace.refuse_without_one()?;
            return fio(file, args.from.section.as_deref());
        }
        let mut load = one(&args.from, &args.any, &args.keys)?;
        // The place is that of the options, where they give one.
        if let (Some(size), Some(_)) = (args.size, args.keys.offset) {
            load.size = Some(size);
        }
        if args.runtime.is_some() {
            load.runtime = args.runtime;
        }
        load.complete();
        Ok(Asked::One(Box::new(load)))
    }

    /// How much of a target is used: as `--size` says, or as far as the load itself goes where it says so.
    fn size(&self, args: &Load) -> Option<Bytes> {
        let end = |offset: Bytes, size: Bytes| Bytes(offset.0.saturating_add(size.0));
        let own = match self {
            Asked::One(load) => load.size.map(|size| end(load.offset, size)),
            Asked::Fio(jobs) => {
                let end = |job: &FioJob| match (job.offset, job.size) {
                    (Extent::Bytes(offset), Some(Extent::Bytes(size))) => Some(end(offset, size)),
                    _ => None,
                };
                jobs.iter().map(end).collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max())
            }
        };
        match (own, args.size) {
            (Some(own), Some(size)) => Some(own.max(size)),
            (own, size) => own.or(size),
        }
    }

    /// The load as a suite for a target of this capacity.
    fn suite(&self, capacity: Bytes) -> Suite {
        let steps: Vec<SweepStep> = match self {
            Asked::One(load) => vec![load.as_ref().clone()],
            Asked::Fio(jobs) => jobs.iter().map(|job| job.load(capacity)).collect(),
        };
        let title = steps.iter().map(words).collect::<Vec<_>>().join("; ");
        Suite {
            id: "load".into(),
            title,
            purpose: "One load as asked for.".into(),
            limits: vec![
                "A load without preparation says nothing of a steady state: what the drive went through before is not known."
                    .into(),
            ],
            region_max: None,
            steps: steps.into_iter().map(|step| SuiteStep::Sweep(Box::new(step))).collect(),
        }
    }
}

/// The load in words.
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

/// The sections of a fio job file that run one after another. What changes nothing here, and what may
/// not be meant, goes to standard error.
fn fio(file: &Path, section: Option<&str>) -> anyhow::Result<Asked> {
    let name = file.display().to_string();
    let mut jobs = flashlab_interop::read_jobs(&catalog::read(file)?, &name, &|key| std::env::var(key).ok())?;
    if let Some(wanted) = section {
        let known: Vec<String> = jobs.iter().map(|job| job.name.clone()).collect();
        jobs.retain(|job| job.name == wanted);
        if jobs.is_empty() {
            return Err(SpecError::unknown("section", wanted, known.iter().map(String::as_str)).into());
        }
    }
    if let Some(pair) = jobs.windows(2).find(|pair| pair[0].wave == pair[1].wave) {
        let what = format!("{name}: {} and {} run at the same time in fio", pair[0].name, pair[1].name);
        let remedy = "put stonewall into the second to run them one after another, or choose one with --section NAME";
        return Err(CliError::usage(what, remedy).into());
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
    Ok(Asked::Fio(jobs))
}
