//! From the options of real targets to what the engine and the guard take.

use crate::args::{CpuList, Engine, Fallback, Real};
use crate::exit::CliError;
use crate::made::Made;
use crate::resolve;
use flashlab_guard::{Consent, Inspection, Subject};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions, Tuning, Unavailable};
use flashlab_lab::Plan;
use flashlab_spec::{Job, Verify};
use flashlab_target::TargetError;
use flashlab_units::Bytes;
use std::path::PathBuf;

/// How a real target is opened and run, decided before anything is made.
pub(crate) struct Ways {
    open: OpenOptions,
    tuning: Tuning,
    /// Why it is not the engine that is usual, where nobody asked for another.
    fell_back: Option<String>,
}

impl Ways {
    /// What was asked for and can be had.
    ///
    /// # Errors
    /// Where there is no such CPU or NUMA node, no io_uring and no fallback, or where a job of `plan`
    /// would be refused by the engine.
    pub(crate) fn of(args: &Real, plan: &Plan) -> anyhow::Result<Self> {
        let (engine, fell_back) = engine(args)?;
        if engine == EngineChoice::Psync {
            check_depth(plan)?;
        }
        let any = |wanted: fn(&Job) -> bool| plan.steps.iter().flat_map(|step| step.kind.jobs()).any(wanted);
        if engine == EngineChoice::Null && any(|job| job.think.is_some()) {
            let remedy = "use the engine nop, or leave thinktime out";
            return Err(CliError::usage("thinktime with the engine null, which shows its own cost", remedy).into());
        }
        if args.ledger.is_some() && !any(|job| job.verify != Verify::Off) {
            let remedy = "add --verify stamp, read-back or check, or leave the ledger out";
            return Err(CliError::usage("--ledger: nothing is verified", remedy).into());
        }
        let default = Tuning::default();
        let tuning = Tuning {
            iopoll: args.iopoll,
            sqpoll: args.sqpoll,
            split_submission: args.slat,
            cpus: cpus(args)?,
            interval: args.interval.unwrap_or(default.interval),
            errors_max: args.continue_on_error.unwrap_or(default.errors_max),
        };
        Ok(Ways { open: OpenOptions { direct: !args.buffered, engine }, tuning, fell_back })
    }

    /// Opens target `number` of `of`, with the permit that the consent gives.
    pub(crate) fn open(
        &self,
        inspection: Inspection,
        size: Option<Bytes>,
        args: &Real,
        (number, of): (usize, usize),
        writes: bool,
        made: &mut Made,
    ) -> anyhow::Result<FileTarget> {
        let ledger = ledger(args, &inspection, of);
        let consent = consent(args, &inspection, of);
        let mut target = resolve::open(inspection, size, &consent, writes, &self.open, made)?;
        let cpus = turned(&self.tuning.cpus, number, of);
        target = target.with_tuning(Tuning { cpus, ..self.tuning.clone() });
        if let Some(deadline) = args.deadline {
            target = target.with_deadline(deadline);
        }
        if let Some(ledger) = ledger {
            target = target.with_ledger(ledger);
        }
        if let Some(why) = &self.fell_back {
            target = target.with_refusal(why.clone());
        }
        Ok(target)
    }
}

/// The token is that of a device. Who gives one with files only has perhaps named the wrong thing.
pub(crate) fn refuse_token_for_files(args: &Real, inspections: &[&Inspection]) -> Result<(), CliError> {
    let is_file = |i: &&Inspection| matches!(i.subject, Subject::File(_) | Subject::Missing { .. });
    let (Some(first), true, false) =
        (inspections.first(), inspections.iter().all(is_file), args.destroy_data.is_empty())
    else {
        return Ok(());
    };
    let what = format!("--destroy-data is for devices, and {} is a file", first.path.display());
    Err(CliError::usage(what, "leave it out, or name the device; a file that flashlab did not make needs --overwrite"))
}

/// The engine, and why it is another than io_uring, where nobody named one.
fn engine(args: &Real) -> anyhow::Result<(EngineChoice, Option<String>)> {
    let wanted = match args.engine {
        Some(Engine::Psync) => EngineChoice::Psync,
        Some(Engine::Null) => EngineChoice::Null,
        Some(Engine::Nop) => EngineChoice::Nop,
        Some(Engine::IoUring) | None => EngineChoice::IoUring,
    };
    if !matches!(wanted, EngineChoice::IoUring | EngineChoice::Nop) {
        return Ok((wanted, None));
    }
    let Err(Unavailable { reason, remedy }) = flashlab_io::probe(None).io_uring else { return Ok((wanted, None)) };
    match args.fallback {
        Some(Fallback::Psync) => {
            eprintln!("flashlab: io_uring is not available: {reason}; psync takes its place, as --fallback says");
            Ok((EngineChoice::Psync, Some(format!("io_uring: {reason}"))))
        }
        None => Err(TargetError::NotGranted { what: "io_uring", reason, remedy }.into()),
    }
}

/// Fails before anything is made where the first job would fail for want of depth.
fn check_depth(plan: &Plan) -> Result<(), CliError> {
    match plan.steps.iter().find(|s| s.kind.jobs().iter().any(|job| job.iodepth > 1)) {
        Some(step) => {
            let what = format!("{}: the psync engine does one I/O at a time, iodepth 1", step.title);
            let remedy = "use --engine io_uring, or iodepth 1 with more numjobs (in a suite: one of your own)";
            Err(CliError::usage(what, remedy))
        }
        None => Ok(()),
    }
}

/// The CPUs that jobs are pinned to.
fn cpus(args: &Real) -> Result<Vec<u32>, CliError> {
    let Some(node) = args.numa else { return Ok(args.cpus.clone().map(|list| list.0).unwrap_or_default()) };
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let list = std::fs::read_to_string(&path).ok().and_then(|text| text.parse::<CpuList>().ok());
    match list {
        Some(list) => Ok(list.0),
        None => {
            let what = format!("--numa {node}: there is no such node with CPUs ({path})");
            Err(CliError::usage(what, "see the nodes with lscpu, or name CPUs with --cpus"))
        }
    }
}

/// The CPUs as target `number` of `of` takes them in turn: each begins elsewhere, so that the first jobs of all
/// targets do not share a CPU while others have none.
fn turned(cpus: &[u32], number: usize, of: usize) -> Vec<u32> {
    let mut turned = cpus.to_vec();
    turned.rotate_left(cpus.len() * number / of);
    turned
}

/// A device takes the token that is its own, of those given. Of several devices one takes no token of another: it
/// has none then, rather than a wrong one.
fn consent(args: &Real, inspection: &Inspection, of: usize) -> Consent {
    let own = inspection.token();
    let prefix = format!("{}-", resolve::name_of(inspection));
    let is_for_it = |token: &&String| of == 1 || token.starts_with(&prefix);
    let given = args.destroy_data.iter().find(|token| own.as_ref() == Some(*token));
    let given = given.or_else(|| args.destroy_data.iter().find(is_for_it));
    Consent { destroy_token: given.cloned(), overwrite: args.overwrite }
}

/// Each of several targets has a ledger named after it, so that two of one name would have one between them.
pub(crate) fn refuse_a_common_ledger(args: &Real, inspections: &[Inspection]) -> Result<(), CliError> {
    let names: Vec<String> = inspections.iter().map(resolve::name_of).collect();
    let twice = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
    match (&args.ledger, twice) {
        (Some(ledger), Some((_, name))) => {
            let what =
                format!("--ledger: two targets are named {name}, and both would have {}.{name}", ledger.display());
            Err(CliError::usage(what, "rename one of the two, or run them one after another with a ledger each"))
        }
        _ => Ok(()),
    }
}

/// Of several targets each has a ledger of its own, named after it.
fn ledger(args: &Real, inspection: &Inspection, of: usize) -> Option<PathBuf> {
    let path = args.ledger.clone()?;
    if of == 1 {
        return Some(path);
    }
    let name = resolve::name_of(inspection);
    Some(path.with_file_name(format!("{}.{name}", path.file_name().unwrap_or_default().to_string_lossy())))
}

/// The ledgers of all targets. One that is a target too would be written over by it.
pub(crate) fn ledgers(args: &Real, inspections: &[Inspection]) -> Vec<PathBuf> {
    inspections.iter().filter_map(|inspection| ledger(args, inspection, inspections.len())).collect()
}

/// Options that would have no effect are refused rather than ignored.
pub(crate) fn refuse_for_a_model(args: &Real, name: &str) -> Result<(), CliError> {
    let given = [
        ("--destroy-data", !args.destroy_data.is_empty()),
        ("--overwrite", args.overwrite),
        ("--buffered", args.buffered),
        ("--engine", args.engine.is_some()),
        ("--fallback", args.fallback.is_some()),
        ("--iopoll", args.iopoll),
        ("--sqpoll", args.sqpoll),
        ("--cpus", args.cpus.is_some()),
        ("--numa", args.numa.is_some()),
        ("--slat", args.slat),
        ("--interval", args.interval.is_some()),
        ("--deadline", args.deadline.is_some()),
        ("--ledger", args.ledger.is_some()),
        ("--continue-on-error", args.continue_on_error.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let what = format!("{option} has no meaning for {name}, a modelled drive");
            Err(CliError::usage(what, format!("leave it out; for a file of that name write ./{name}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::turned;

    #[test]
    fn targets_begin_at_cpus_of_their_own() {
        let cpus = [0, 1, 2, 3, 8];
        assert_eq!(turned(&cpus, 0, 2), cpus);
        assert_eq!(turned(&cpus, 1, 2), [2, 3, 8, 0, 1]);
        let first: Vec<u32> = (0..10).map(|number| turned(&cpus, number, 10)[0]).collect();
        assert_eq!(first, [0, 0, 1, 1, 2, 2, 3, 3, 8, 8]);
        assert_eq!(turned(&[], 1, 2), Vec::<u32>::new());
    }
}
