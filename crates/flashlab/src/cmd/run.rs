//! `flashlab run`: a suite on a file, a loop device or a modelled drive.

use crate::args::{Engine, Run};
use crate::exit::Exit;
use crate::output::{self, ReportFolder};
use crate::progress::Bar;
use crate::resolve::{self, Named};
use crate::stop::{self, Stop};
use crate::{catalog, origin};
use flashlab_analysis::RunRecord;
use flashlab_guard::Consent;
use flashlab_io::{EngineChoice, OpenOptions};
use flashlab_lab::{Finished, Plan, PlanOptions, TargetFacts, plan, run_plan};
use flashlab_spec::DriveProfile;
use flashlab_store::Store;
use flashlab_target::{RunEnd, Target};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Run) -> anyhow::Result<Exit> {
    let suite = catalog::suite(&args.what.suite)?;
    let options = PlanOptions { seed: args.what.seed, size: args.what.size, runtime: args.what.runtime };
    let named = resolve::named(&args.what)?;
    // Planned before anything is opened or created, so that what can't run leaves nothing behind.
    let (mut target, profile): (Box<dyn Target>, Option<DriveProfile>) = match named {
        Named::Modelled(drive) => {
            let profile = drive.profile().clone();
            (drive, Some(profile))
        }
        Named::Real(inspection) => {
            let rehearsal = plan(&suite, &resolve::facts(&inspection, options.size)?, &options)?;
            let consent = Consent { destroy_token: args.destroy_data.clone(), overwrite: args.overwrite };
            let engine = match args.engine {
                Engine::IoUring => EngineChoice::IoUring,
                Engine::Psync => EngineChoice::Psync,
            };
            let open = OpenOptions { direct: !args.buffered, engine };
            (Box::new(resolve::open(*inspection, options.size, &consent, rehearsal.writes(), &open)?), None)
        }
    };
    let plan = plan(&suite, &TargetFacts::of(target.as_ref()), &options)?;
    let folder = args.out.as_ref().map(|out| ReportFolder::prepare(out, args.replace)).transpose()?;
    let path = args.store.clone().unwrap_or_else(|| PathBuf::from("flashlab.db"));
    let mut store = Store::create_or_open(&path)?;
    let stop = stop::listen()?;
    let finished = execute(&plan, target.as_mut(), &mut store, stop)?;
    let record = store.run(finished.run.0)?;
    let records = [record];
    if let Some(folder) = &folder {
        let title = format!("{} of {}", plan.suite.id, plan.target.id);
        folder.write(&records, profile.as_slice(), &title)?;
    }
    show(&records, args.json.as_deref())?;
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

/// Runs a plan with a bar.
pub(crate) fn execute(plan: &Plan, target: &mut dyn Target, store: &mut Store, stop: Stop) -> anyhow::Result<Finished> {
    let provenance = origin::provenance(target.origin(), plan.seed, target.identity());
    let mut bar = Bar::new(plan, stop);
    let finished = run_plan(plan, target, store, &provenance, &mut bar);
    bar.clear();
    Ok(finished?)
}

/// Prints the table, and the JSON where it was asked for; JSON on standard output takes its place.
pub(crate) fn show(records: &[RunRecord], json: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = json {
        output::write_or_print(path, &flashlab_report::results_json(records)?, true)?;
    }
    if json != Some(Path::new("-")) {
        output::print(&flashlab_report::terminal_table(records, output::width(), output::color()))?;
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
