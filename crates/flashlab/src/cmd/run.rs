//! `flashlab run`: a suite on a file, a loop device or a modelled drive.

use crate::args::{Run, What};
use crate::exit::Exit;
use crate::made::Made;
use crate::progress::Bar;
use crate::real::{Ways, refuse_for_a_model, refuse_token_for_files};
use crate::resolve::{self, Named};
use crate::session::{Session, exit_of};
use crate::stop::Stop;
use crate::{catalog, origin};
use flashlab_lab::{Finished, Plan, PlanOptions, TargetFacts, plan, run_plan};
use flashlab_spec::DriveProfile;
use flashlab_store::Store;
use flashlab_target::Target;
use std::path::Path;

pub(crate) fn run(args: &Run) -> anyhow::Result<Exit> {
    let suite = catalog::suite(&args.what.suite)?;
    let options = options(&args.what);
    let named = resolve::named(&args.what.on, options.size, &args.what.profile, &suite)?;
    let rehearsal = plan(&suite, &facts(&named, &options)?, &options)?;
    let ways = match &named {
        Named::Modelled(_) => None,
        Named::Real(inspection) => {
            refuse_token_for_files(&args.real, &[inspection])?;
            Some(Ways::of(&args.real, &rehearsal)?)
        }
    };
    // Until the run begins, what is made here is removed again if something fails.
    let mut made = Made::default();
    let mut session = Session::begin(&args.keep, &inputs(&args.what), &mut made)?;
    let (mut target, profile): (Box<dyn Target>, Option<DriveProfile>) = match (named, ways) {
        (Named::Real(inspection), Some(ways)) => {
            let asked = (rehearsal.writes(), 1);
            (Box::new(ways.open(*inspection, options.size, &args.real, asked, &mut made)?), None)
        }
        (Named::Modelled(drive), _) => {
            refuse_for_a_model(&args.real, &args.what.on)?;
            let profile = drive.profile().clone();
            (drive, Some(profile))
        }
        (Named::Real(_), None) => unreachable!("ways were found for a real target"),
    };
    // Again, with what is only known of an open target.
    let plan = plan(&suite, &TargetFacts::of(target.as_ref()), &options)?;
    made.keep();
    let stop = session.stop.clone();
    let finished = execute(&plan, target.as_mut(), &mut session.store, stop)?;
    let title = format!("{} of {}", plan.suite.id, plan.target.id);
    session.finish(&[finished.run], profile.as_slice(), &title)?;
    Ok(exit_of(&finished))
}

/// What the user changes in the suite.
pub(crate) fn options(what: &What) -> PlanOptions {
    PlanOptions { seed: what.seed, size: what.size, runtime: what.runtime, small: false }
}

/// What a run reads, as inputs that no output may replace.
pub(crate) fn inputs(what: &What) -> Vec<(&'static str, &Path)> {
    let mut out = vec![("the suite", Path::new(&what.suite)), ("the target", Path::new(&what.on))];
    out.extend(what.profile.iter().map(|profile| ("a drive profile", profile.as_path())));
    out
}

/// What the plan needs to know of what was named, without opening it.
pub(crate) fn facts(named: &Named, options: &PlanOptions) -> anyhow::Result<TargetFacts> {
    match named {
        Named::Modelled(drive) => Ok(TargetFacts::of(drive.as_ref() as &dyn Target)),
        Named::Real(inspection) => resolve::facts(inspection, options.size),
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
