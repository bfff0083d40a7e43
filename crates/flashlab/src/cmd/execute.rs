//! From what `run` and `load` were asked for to runs that are kept: a suite on a file or device, on several
//! at once, or on a modelled drive.

use super::plan::text;
use crate::args::{Keep, Real};
use crate::exit::{CliError, Exit};
use crate::made::Made;
use crate::origin;
use crate::output;
use crate::progress::Bar;
use crate::real::{Ways, ledgers, refuse_a_common_ledger, refuse_for_a_model, refuse_token_for_files};
use crate::resolve::{self, Named};
use crate::session::{Session, exit_of, how_it_ended};
use crate::together::{self, Part};
use flashlab_drive::ModelledDrive;
use flashlab_guard::{Inspection, Subject};
use flashlab_lab::{Finished, Plan, PlanOptions, TargetFacts, plan, run_plan};
use flashlab_samples::TargetKind;
use flashlab_spec::Suite;
use flashlab_target::Target;
use flashlab_units::Bytes;
use std::path::{Path, PathBuf};

/// A suite on one or several targets.
pub(crate) struct Request<'a> {
    /// As they were named.
    pub(crate) on: &'a [String],
    pub(crate) profiles: &'a [PathBuf],
    /// The suite for a target of this capacity: sections of a fio file may take a share of it.
    pub(crate) suite: &'a dyn Fn(Bytes) -> Suite,
    pub(crate) options: PlanOptions,
    /// What it reads beside its targets and profiles, which is neither a target nor replaced by an output.
    pub(crate) inputs: Vec<(&'static str, &'a Path)>,
}

/// How it is run, and where its results go.
pub(crate) struct Means<'a> {
    pub(crate) real: &'a Real,
    pub(crate) keep: &'a Keep,
    /// Title of its report, before the name of the target, such as `quick of`.
    pub(crate) title: String,
}

impl Request<'_> {
    /// What was named, each with its plan. Nothing is touched.
    pub(crate) fn plans(&self) -> anyhow::Result<Vec<(Named, Plan)>> {
        let rough = (self.suite)(Bytes::ZERO);
        let mut out: Vec<(Named, Plan)> = Vec::with_capacity(self.on.len());
        for on in self.on {
            let named = resolve::named(on, self.options.size, self.profiles, &rough)?;
            if let Named::Real(inspection) = &named {
                self.refuse_an_input(inspection)?;
                if inspection.protections.is_empty() && !resolve::writes(&rough) {
                    resolve::to_be_read(inspection, self.options.size)?;
                }
            }
            let facts = match &named {
                Named::Modelled(drive) => TargetFacts::of(drive.as_ref() as &dyn Target),
                Named::Real(inspection) => resolve::facts(inspection, self.options.size)?,
            };
            let plan = plan(&(self.suite)(facts.capacity), &facts, &self.options)?;
            if let Named::Modelled(_) = named {
                // Here, before anything is made.
                plan.steps.iter().flat_map(|step| step.kind.jobs()).try_for_each(ModelledDrive::can_run)?;
            }
            if let (Named::Modelled(drive), true) = (&named, self.on.len() > 1) {
                let what =
                    format!("{} is a modelled drive, and several targets at once are real ones", drive.profile().id);
                let remedy = "name it alone, several modelled drives to flashlab review, or a file as ./name";
                return Err(CliError::usage(what, remedy).into());
            }
            if let Some((_, first)) = out.first() {
                in_step(first, &plan)?;
            }
            out.push((named, plan));
        }
        Ok(out)
    }

    /// Runs it; what it makes is removed again if something fails before the run begins.
    pub(crate) fn execute(&self, means: &Means<'_>) -> anyhow::Result<Exit> {
        let (mut inspections, mut rehearsals) = (Vec::new(), Vec::new());
        for (named, plan) in self.plans()? {
            match named {
                Named::Modelled(drive) => {
                    refuse_for_a_model(means.real, &self.on[0])?;
                    return self.on_a_model(means, *drive, &plan);
                }
                Named::Real(inspection) => inspections.push(*inspection),
            }
            rehearsals.push(plan);
        }
        self.on_real_ones(means, inspections, &rehearsals)
    }

    fn on_a_model(&self, means: &Means<'_>, mut drive: ModelledDrive, plan: &Plan) -> anyhow::Result<Exit> {
        let mut made = Made::default();
        let mut session = Session::begin(means.keep, &self.inputs(), &mut made)?;
        let profile = drive.profile().clone();
        made.keep();
        let finished = one(plan, &mut drive, &mut session)?;
        session.finish(&[finished.run], &[profile], &format!("{} {}", means.title, plan.target.id))?;
        Ok(exit_of(&[finished]))
    }

    fn on_real_ones(
        &self,
        means: &Means<'_>,
        inspections: Vec<Inspection>,
        rehearsals: &[Plan],
    ) -> anyhow::Result<Exit> {
        for (i, inspection) in inspections.iter().enumerate() {
            let is_same = |other: &Inspection| other.resolved == inspection.resolved;
            if inspections[..i].iter().any(is_same) {
                let what = format!("{} is named twice", inspection.path.display());
                return Err(CliError::usage(what, "name each target once; more jobs are --numjobs").into());
            }
        }
        refuse_token_for_files(means.real, &inspections.iter().collect::<Vec<_>>())?;
        let ways = Ways::of(means.real, &rehearsals[0])?;
        refuse_a_common_ledger(means.real, &inspections)?;
        let mut made = Made::default();
        let ledgers = ledgers(means.real, &inspections);
        let mut inputs = self.inputs();
        inputs.extend(ledgers.iter().map(|ledger| ("the ledger", ledger.as_path())));
        let mut session = Session::begin(means.keep, &inputs, &mut made)?;
        let of = inspections.len();
        let mut parts: Vec<Part> = Vec::with_capacity(of);
        let names: Vec<String> = inspections.iter().map(resolve::name_of).collect();
        for (number, (inspection, rehearsal)) in inspections.into_iter().zip(rehearsals).enumerate() {
            let writes = rehearsal.writes();
            let path = inspection.path.display().to_string();
            let mut target = ways.open(inspection, self.options.size, means.real, (number, of), writes, &mut made)?;
            // Files of the same name in several folders go by their paths; a device has its name in the kernel.
            let is_file = target.identity().kind == TargetKind::File;
            if is_file && names.iter().filter(|name| **name == names[number]).count() > 1 {
                target = target.with_id(path.trim_start_matches("./").to_owned());
            }
            // Again, with what is only known of an open target.
            let facts = TargetFacts::of(&target);
            let plan = plan(&(self.suite)(facts.capacity), &facts, &self.options)?;
            if let Some(first) = parts.first() {
                in_step(&first.plan, &plan)?;
            }
            parts.push(Part { target, plan });
        }
        // Before the first step of any of them, which may destroy what a later one would be refused for.
        for Part { target, plan } in &parts {
            let steps: Vec<_> = plan.steps.iter().map(|step| step.kind.jobs()).collect();
            target.check(&steps)?;
        }
        made.keep();
        if let [Part { target, plan }] = parts.as_mut_slice() {
            let finished = one(plan, target, &mut session)?;
            session.finish(&[finished.run], &[], &format!("{} {}", means.title, plan.target.id))?;
            return Ok(exit_of(&[finished]));
        }
        let finished = together::run(parts, &mut session)?;
        let runs: Vec<_> = finished.iter().map(|finished| finished.run).collect();
        session.finish(&runs, &[], &format!("{} {of} targets at once", means.title))?;
        let Some((sum, each)) = finished.split_last() else { return Ok(Exit::Done) };
        // What went wrong at a target is said once, and not again of the sum.
        Ok(exit_of(each).max(how_it_ended(sum).0))
    }

    /// All that no output may replace.
    pub(super) fn inputs(&self) -> Vec<(&'static str, &Path)> {
        let mut out: Vec<(&str, &Path)> = self.on.iter().map(|on| ("a target", Path::new(on))).collect();
        out.extend(self.read());
        out
    }

    /// What it reads beside its targets.
    fn read(&self) -> Vec<(&'static str, &Path)> {
        let profiles = self.profiles.iter().map(|profile| ("a drive profile", profile.as_path()));
        profiles.chain(self.inputs.iter().copied()).collect()
    }

    /// Refuses a target, or the file behind it, that is read as something else: no flag says that the load, the
    /// suite or the ledger may be overwritten by what it describes.
    fn refuse_an_input(&self, inspection: &Inspection) -> Result<(), CliError> {
        let path = match &inspection.subject {
            Subject::LoopDevice(facts) => &facts.backing_file,
            _ => &inspection.resolved,
        };
        match self.read().into_iter().find(|(_, input)| output::same_file(path, input)) {
            Some((what, input)) => Err(CliError::Refused {
                what: format!("the target {} is also {what} ({})", inspection.path.display(), input.display()),
                remedy: "give each a file of its own".into(),
            }),
            None => Ok(()),
        }
    }
}

/// Refuses targets whose plans would part ways, since those at the same place begin together.
fn in_step(first: &Plan, other: &Plan) -> Result<(), CliError> {
    let titles = |plan: &Plan| plan.steps.iter().map(|step| step.title.clone()).collect::<Vec<_>>();
    if titles(first) == titles(other) {
        return Ok(());
    }
    let what =
        format!("{} and {} would go through different steps, as their sizes differ", first.target.id, other.target.id);
    Err(CliError::usage(what, "use the same part of each with --size, or run them one after another"))
}

/// Runs a plan with a bar.
fn one(plan: &Plan, target: &mut dyn Target, session: &mut Session) -> anyhow::Result<Finished> {
    let provenance = origin::provenance(target.origin(), plan.seed, target.identity());
    let mut bar = Bar::new(plan, session.stop.clone(), None);
    let finished = run_plan(plan, target, &mut session.store, &provenance, &mut bar);
    bar.clear();
    session.show_lost(bar.lost(plan, &provenance).as_slice())?;
    Ok(finished?)
}

/// The command with what permits it to write to all of them.
fn permitted(plans: &[(Named, Plan)], command: &str) -> String {
    let mut out = command.to_owned();
    let written = || plans.iter().filter(|(_, plan)| plan.writes()).filter_map(|(named, _)| named.inspection());
    for flag in written().flat_map(|inspection| &inspection.protections).filter_map(|p| p.overridable_by) {
        if !out.contains(flag) {
            out = format!("{out} {flag}");
        }
    }
    let tokens: Vec<String> = written().filter_map(Inspection::token).collect();
    if !tokens.is_empty() && !out.contains("--destroy-data") {
        out = format!("{out} --destroy-data {}", tokens.join(","));
    }
    out
}

/// Prints the plan of each; `command` is the one that runs all of them.
pub(crate) fn show_plans(plans: &[(Named, Plan)], command: &str) -> anyhow::Result<()> {
    let command = permitted(plans, command);
    for (i, (named, plan)) in plans.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        // All run together, so that the command stands once, at the end.
        let command = (i + 1 == plans.len()).then_some(command.as_str());
        output::print(&format!("{gap}{}", text(plan, named.inspection(), command)))?;
    }
    Ok(())
}
