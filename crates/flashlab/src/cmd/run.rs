//! `flashlab run`: a suite on a file, a loop device or a modelled drive.

use crate::args::{Engine, Run, What};
use crate::exit::{CliError, Exit};
use crate::made::Made;
use crate::output::{self, ReportFolder};
use crate::progress::Bar;
use crate::resolve::{self, Named};
use crate::stop::{self, Stop};
use crate::{catalog, origin};
use flashlab_analysis::RunRecord;
use flashlab_guard::{Consent, Inspection, Subject};
use flashlab_io::{EngineChoice, OpenOptions, Unavailable};
use flashlab_lab::{Finished, Plan, PlanOptions, TargetFacts, plan, run_plan};
use flashlab_spec::DriveProfile;
use flashlab_store::Store;
use flashlab_target::{RunEnd, Target, TargetError};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Run) -> anyhow::Result<Exit> {
    let suite = catalog::suite(&args.what.suite)?;
    let options = PlanOptions { seed: args.what.seed, size: args.what.size, runtime: args.what.runtime };
    let named = resolve::named(&args.what, &suite)?;
    let rehearsal = plan(&suite, &facts(&named, &options)?, &options)?;
    if let Named::Real(inspection) = &named {
        refuse_token_for_file(args, inspection)?;
        check_engine(&rehearsal, args.engine)?;
    }
    let path = args.store.clone().unwrap_or_else(|| PathBuf::from("flashlab.db"));
    keep_apart(args, &path)?;
    if let Some(path) = &args.json {
        output::check(path, args.replace)?;
    }
    let stop = stop::listen()?;
    // Until the run begins, what is made here is removed again if something fails.
    let mut made = Made::default();
    let folder =
        args.out.as_ref().map(|out| made.make(out, || ReportFolder::prepare(out, args.replace))).transpose()?;
    let mut store = made.make(&path, || Store::create_or_open(&path))?;
    let (mut target, profile): (Box<dyn Target>, Option<DriveProfile>) = match named {
        Named::Modelled(drive) => {
            refuse_options_of_real_targets(args)?;
            let profile = drive.profile().clone();
            (drive, Some(profile))
        }
        Named::Real(inspection) => {
            let consent = Consent { destroy_token: args.destroy_data.clone(), overwrite: args.overwrite };
            let engine = match args.engine {
                Engine::IoUring => EngineChoice::IoUring,
                Engine::Psync => EngineChoice::Psync,
            };
            let open = OpenOptions { direct: !args.buffered, engine };
            let opened = resolve::open(*inspection, options.size, &consent, rehearsal.writes(), &open, &mut made)?;
            (Box::new(opened), None)
        }
    };
    // Again, with what is only known of an open target.
    let plan = plan(&suite, &TargetFacts::of(target.as_ref()), &options)?;
    made.keep();
    let finished = execute(&plan, target.as_mut(), &mut store, stop)?;
    let record = store.run(finished.run.0)?;
    let records = [record];
    if let Some(folder) = &folder {
        let title = format!("{} of {}", plan.suite.id, plan.target.id);
        folder.write(&records, profile.as_slice(), &title)?;
    }
    show(&records, args.json.as_deref(), args.replace)?;
    if let Some(folder) = &folder {
        folder.announce();
    }
    let store_option =
        if path == Path::new("flashlab.db") { String::new() } else { format!(" --store {}", path.display()) };
    eprintln!(
        "kept as run {} in {}; its report: flashlab report {}{store_option}",
        finished.run.0,
        path.display(),
        finished.run.0
    );
    Ok(exit_of(&finished))
}

/// What a run reads, as inputs that no output may replace.
pub(crate) fn inputs(what: &What) -> Vec<(&'static str, &Path)> {
    let mut out = vec![("the suite", Path::new(&what.suite)), ("the target", Path::new(&what.on))];
    out.extend(what.profile.iter().map(|profile| ("a drive profile", profile.as_path())));
    out
}

/// Outputs, store and inputs are files of their own.
fn keep_apart(args: &Run, store: &Path) -> Result<(), CliError> {
    let report = args.out.as_ref().map(|out| ReportFolder::outputs(out)).unwrap_or_default();
    let mut outputs: Vec<(&str, &Path)> = report.iter().map(|file| ("the report's", file.as_path())).collect();
    outputs.retain(|(_, path)| !path.as_os_str().is_empty());
    outputs.extend(args.json.as_ref().map(|json| ("--json", json.as_path())));
    let mut others = inputs(&args.what);
    others.push(("the store", store));
    output::keep_apart(&outputs, &others)?;
    // The store is only added to, but not on top of an input.
    match inputs(&args.what).into_iter().find(|(_, path)| output::same_file(store, path)) {
        Some((what, path)) => {
            let what = format!("the store {} is also {what} ({})", store.display(), path.display());
            Err(CliError::Refused { what, remedy: "give --store another path".into() })
        }
        None => Ok(()),
    }
}

/// Options that would have no effect are refused rather than ignored.
fn refuse_options_of_real_targets(args: &Run) -> Result<(), CliError> {
    let given = [
        ("--destroy-data", args.destroy_data.is_some()),
        ("--overwrite", args.overwrite),
        ("--buffered", args.buffered),
        ("--engine", !matches!(args.engine, Engine::IoUring)),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let what = format!("{option} has no meaning for {}, a modelled drive", args.what.on);
            Err(CliError::usage(what, format!("leave it out; for a file of that name write ./{}", args.what.on)))
        }
        None => Ok(()),
    }
}

/// The token is that of a device. Who gives one with a file has perhaps named the wrong thing.
fn refuse_token_for_file(args: &Run, inspection: &Inspection) -> Result<(), CliError> {
    let is_file = matches!(inspection.subject, Subject::File(_) | Subject::Missing { .. });
    if args.destroy_data.is_none() || !is_file {
        return Ok(());
    }
    let what = format!("--destroy-data is for devices, and {} is a file", inspection.path.display());
    Err(CliError::usage(what, "leave it out, or name the device; a file that flashlab did not make needs --overwrite"))
}

/// What the plan needs to know of what was named, without opening it.
fn facts(named: &Named, options: &PlanOptions) -> anyhow::Result<TargetFacts> {
    match named {
        Named::Modelled(drive) => Ok(TargetFacts::of(drive.as_ref() as &dyn Target)),
        Named::Real(inspection) => resolve::facts(inspection, options.size),
    }
}

/// Fails before anything is made where the first job would fail for want of an engine.
fn check_engine(plan: &Plan, engine: Engine) -> anyhow::Result<()> {
    match engine {
        Engine::Psync => match plan.steps.iter().find(|s| s.kind.job().is_some_and(|job| job.iodepth > 1)) {
            Some(step) => {
                let what = format!("{}: the psync engine does one I/O at a time, iodepth 1", step.title);
                let remedy =
                    "use --engine io_uring, or a suite of your own with iodepth 1 (flashlab suites show quick)";
                Err(CliError::usage(what, remedy).into())
            }
            None => Ok(()),
        },
        Engine::IoUring => match flashlab_io::probe(None).io_uring {
            Ok(_) => Ok(()),
            Err(Unavailable { reason, remedy }) => {
                Err(TargetError::NotGranted { what: "io_uring", reason, remedy }.into())
            }
        },
    }
}

/// Runs a plan with a bar.
pub(crate) fn execute(plan: &Plan, target: &mut dyn Target, store: &mut Store, stop: Stop) -> anyhow::Result<Finished> {
    let provenance = origin::provenance(target.origin(), plan.seed, target.identity());
    let mut bar = Bar::new(plan, stop, None);
    let finished = run_plan(plan, target, store, &provenance, &mut bar);
    bar.clear();
    Ok(finished?)
}

/// Prints the table, and the JSON where it was asked for; JSON on standard output takes its place.
pub(crate) fn show(records: &[RunRecord], json: Option<&Path>, replace: bool) -> anyhow::Result<()> {
    if let Some(path) = json {
        output::write_or_print(path, &flashlab_report::results_json(records)?, replace)?;
    }
    if json != Some(Path::new("-")) {
        output::print(&flashlab_report::terminal_table(
            records,
            &catalog::published()?,
            output::width(),
            output::color(),
        ))?;
        let mut limits: Vec<&str> = Vec::new();
        for limit in records.iter().flat_map(|r| &r.suite.limits) {
            if !limits.contains(&limit.as_str()) {
                limits.push(limit);
            }
        }
        if !limits.is_empty() {
            output::print(&format!("\nWhat this does not say:\n  - {}\n", limits.join("\n  - ")))?;
        }
    }
    Ok(())
}

/// The exit code of a finished run.
pub(crate) fn exit_of(finished: &Finished) -> Exit {
    match &finished.end {
        RunEnd::Done if finished.steady_reached => Exit::Done,
        RunEnd::Done => {
            eprintln!("flashlab: steady state was not reached");
            Exit::CriterionNotMet
        }
        RunEnd::Interrupted => {
            eprintln!("flashlab: interrupted; the finished steps are kept");
            Exit::Interrupted
        }
        RunEnd::Failed(reason) => {
            eprintln!("flashlab: failed: {reason}\n  the finished steps are kept; check the target, then run again");
            Exit::Device
        }
    }
}
