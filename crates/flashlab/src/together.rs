//! Several real targets at once: a run each, in step, and a run for their sum.

use crate::origin;
use crate::progress::{Bar, Bars};
use crate::session::Session;
use crate::shared::SharedJournal;
use crate::stop::Stop;
use flashlab_analysis::{figures, remarks};
use flashlab_io::{FileTarget, Member, Step, Sum, in_step};
use flashlab_lab::{Finished, LabError, Plan, run_plan};
use flashlab_samples::{
    Condition, Coordinates, DriveState, Origin, PointResult, Provenance, TargetIdentity, TargetKind,
};
use flashlab_spec::Job;
use flashlab_store::Store;
use flashlab_target::{Journal, RunEnd, RunHeader, StepHeader, StepOutcome, Target};
use flashlab_units::{Bytes, Nanos};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// More targets than this are counted in the name of their sum rather than named.
const NAMES_MAX: usize = 3;

/// A target with what is done on it.
pub(crate) struct Part {
    pub(crate) target: FileTarget,
    pub(crate) plan: Plan,
}

/// Runs all of them at the same time, point by point. One that fails marks itself and the others go on.
/// The runs in their order, and last that of the sum.
pub(crate) fn run(parts: Vec<Part>, session: &mut Session, stop: Stop) -> anyhow::Result<Vec<Finished>> {
    let begun = Instant::now();
    let identities: Vec<TargetIdentity> = parts.iter().map(|part| part.target.identity().clone()).collect();
    let (targets, plans): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.target, part.plan)).unzip();
    let provenance = origin::provenance(Origin::Measured, plans[0].seed, &whole(&identities));
    let (members, step) = in_step(targets);
    let bars = Bars::new(members.len());
    let store = Mutex::new(&mut session.store);
    let ended = std::thread::scope(|scope| {
        let threads: Vec<_> = members
            .into_iter()
            .zip(&plans)
            .map(|(member, plan)| {
                let (stop, bars) = (stop.clone(), &bars);
                let (journal, begun) = SharedJournal::telling(&store);
                let thread = scope.spawn(move || one(member, plan, journal, stop, bars));
                // One after another, so that runs are numbered in the order of their targets.
                let _ = begun.recv();
                thread
            })
            .collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        threads.into_iter().map(join).collect::<Vec<Result<Finished, LabError>>>()
    });
    bars.clear();
    // A target that gave no result has closed its run as failed; the others have theirs.
    if !ended.iter().any(Result::is_ok) {
        let first = ended.into_iter().find_map(Result::err);
        return Err(first.map_or_else(|| anyhow::anyhow!("no targets"), Into::into));
    }
    for error in ended.iter().filter_map(|ended| ended.as_ref().err()) {
        eprintln!("flashlab: {error}\n  the other targets went on");
    }
    let all = All { identities: &identities, ended: &ended, plan: &plans[0], step: &step, provenance };
    let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sum = all.keep(store, Nanos::from_duration(begun.elapsed()))?;
    Ok(ended.into_iter().flatten().chain([sum]).collect())
}

/// A run of one of them.
fn one(
    mut member: Member,
    plan: &Plan,
    mut journal: SharedJournal<'_, &mut Store>,
    stop: Stop,
    bars: &Bars,
) -> Result<Finished, LabError> {
    let provenance = origin::provenance(member.origin(), plan.seed, member.identity());
    let mut bar = Bar::new(plan, stop, Some(bars));
    let finished = run_plan(plan, &mut member, &mut journal, &provenance, &mut bar);
    bar.clear();
    bars.one_done();
    finished
}

/// All targets as one.
fn whole(each: &[TargetIdentity]) -> TargetIdentity {
    let names: Vec<&str> = each.iter().map(|identity| identity.id.as_str()).collect();
    TargetIdentity {
        kind: TargetKind::Several,
        id: if names.len() > NAMES_MAX { format!("{}-targets", names.len()) } else { names.join("+") },
        path: None,
        model: None,
        serial: None,
        firmware: None,
        profile_sha256: None,
        capacity: Bytes(each.iter().map(|identity| identity.capacity.0).sum()),
        logical_block: each.iter().map(|identity| identity.logical_block).max().unwrap_or_default(),
    }
}

/// What the run of the sum is made from.
struct All<'a> {
    identities: &'a [TargetIdentity],
    ended: &'a [Result<Finished, LabError>],
    plan: &'a Plan,
    step: &'a Step,
    provenance: Provenance,
}

impl All<'_> {
    /// Keeps the sums as a run of their own.
    fn keep(&self, store: &mut Store, wall: Nanos) -> anyhow::Result<Finished> {
        let steps = self.plan.steps.len() as u32;
        let header = RunHeader { suite: self.plan.suite.clone(), provenance: self.provenance.clone(), steps };
        let run = store.begin_run(&header)?;
        for (index, planned) in self.plan.steps.iter().enumerate() {
            let (Some(job), Some(sum)) = (planned.kind.job(), self.step.sum(index)) else { continue };
            let header =
                StepHeader { index: index as u32, round: 0, title: planned.title.clone(), job: Some(job.clone()) };
            store.begin_step(run, &header)?;
            let points = vec![self.point(job, &sum)];
            store.commit_step(
                run,
                &header,
                &StepOutcome { points, state_after: DriveState::UNKNOWN, remarks: vec![], wall },
            )?;
        }
        let end = self.end();
        store.end_run(run, &end)?;
        Ok(Finished { run, end, steady_reached: true })
    }

    fn end(&self) -> RunEnd {
        let failed = self.identities.iter().zip(self.ended).filter_map(|(identity, ended)| match ended {
            Ok(Finished { end: RunEnd::Failed(reason), .. }) => Some(format!("{}: {reason}", identity.id)),
            Err(error) => Some(format!("{}: {error}", identity.id)),
            Ok(_) => None,
        });
        let failed: Vec<String> = failed.collect();
        let stopped = self.ended.iter().flatten().any(|finished| finished.end == RunEnd::Interrupted);
        match () {
            () if !failed.is_empty() => RunEnd::Failed(failed.join("; ")),
            () if stopped => RunEnd::Interrupted,
            () => RunEnd::Done,
        }
    }

    fn point(&self, job: &Job, sum: &Sum) -> PointResult {
        let names = |is_in: bool| {
            let each = self.identities.iter().enumerate().filter(|(i, _)| sum.targets.contains(i) == is_in);
            each.map(|(_, identity)| identity.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut said = vec![format!(
            "sum of {} targets over the {} in which all were at work: {}; iodepth and numjobs are those of each",
            sum.targets.len(),
            sum.result.elapsed,
            names(true)
        )];
        if sum.targets.len() < self.identities.len() {
            said.push(format!("not a clean result: left out, as it failed or was refused: {}", names(false)));
        }
        said.extend(remarks(&sum.result, Condition::Unknown));
        PointResult {
            at: Coordinates {
                drive_id: self.provenance.target.id.clone(),
                suite: self.plan.suite.id.clone(),
                workload: job.workload.clone(),
                iodepth: Some(job.iodepth),
                numjobs: Some(job.numjobs),
                threads: None,
                pass: None,
            },
            state: DriveState::UNKNOWN,
            origin: Origin::Measured,
            metrics: figures(&sum.result),
            job: Some(sum.result.clone()),
            remarks: said,
        }
    }
}
