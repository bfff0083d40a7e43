//! Several real targets at once: a run each, in step, and a run for their sum.

use crate::origin;
use crate::progress::{Bar, Bars};
use crate::session::Session;
use crate::shared::SharedJournal;
use crate::stop::Stop;
use flashlab_analysis::{figures, remarks};
use flashlab_io::{FileTarget, Member, Step, Sum, in_step};
use flashlab_lab::{Finished, LabError, Plan, StepKind, coordinates, run_plan};
use flashlab_samples::{DriveState, Interval, Origin, PointResult, Provenance, TargetIdentity, TargetKind};
use flashlab_spec::Job;
use flashlab_store::Store;
use flashlab_target::{Journal, RunEnd, RunHeader, RunId, StepHeader, StepOutcome, StepPlace, Target};
use flashlab_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Intervals of each target that are in memory at once while the sum is made.
const INTERVALS_AT_ONCE: u64 = 64;
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
                (begun.recv().ok(), thread)
            })
            .collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        threads.into_iter().map(|(run, thread)| (run, join(thread))).collect::<Vec<_>>()
    });
    let (runs, ended): (Vec<Option<RunId>>, Vec<Result<Finished, LabError>>) = ended.into_iter().unzip();
    bars.clear();
    // A target that gave no result has closed its run as failed; the others have theirs.
    if !ended.iter().any(Result::is_ok) {
        let first = ended.into_iter().find_map(Result::err);
        return Err(first.map_or_else(|| anyhow::anyhow!("no targets"), Into::into));
    }
    for error in ended.iter().filter_map(|ended| ended.as_ref().err()) {
        eprintln!("flashlab: {error}\n  the other targets went on");
    }
    let all = All { identities: &identities, runs: &runs, ended: &ended, plan: &plans[0], step: &step };
    let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sum = all.keep(store, &provenance, Nanos::from_duration(begun.elapsed()))?;
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
    runs: &'a [Option<RunId>],
    ended: &'a [Result<Finished, LabError>],
    plan: &'a Plan,
    step: &'a Step,
}

impl All<'_> {
    /// Keeps the sums as a run of their own: of each place of the plan where all that did not fail were at work.
    fn keep(&self, store: &mut Store, provenance: &Provenance, wall: Nanos) -> anyhow::Result<Finished> {
        let (suite, steps) = (self.plan.suite.clone(), self.plan.steps.len() as u32);
        let run = store.begin_run(&RunHeader { suite, provenance: provenance.clone(), steps })?;
        let states = self.states(store)?;
        let mut checkpoints = 0;
        for place in self.step.places() {
            let planned = &self.plan.steps[place.step as usize];
            let named = named(&planned.kind, place, &mut checkpoints);
            let sums = named.into_iter().enumerate();
            let sums = sums.filter_map(|(load, named)| Some((load, named, self.step.sum(place, load)?)));
            let sums: Vec<_> = sums.filter(|(_, _, sum)| !self.is_missed(sum)).collect();
            if sums.is_empty() {
                continue;
            }
            let header = StepHeader {
                index: place.step,
                round: place.round,
                title: planned.title.clone(),
                jobs: planned.kind.jobs().to_vec(),
            };
            store.begin_step(run, &header)?;
            let state = states.get(&place).copied().unwrap_or(DriveState::UNKNOWN);
            let mut points = Vec::with_capacity(sums.len());
            for (load, (job, pass), mut sum) in sums {
                self.add_up(store, (run, points.len() as u32), &header, load, &mut sum)?;
                points.push(self.point((load, &job, pass), &header.jobs, state, sum));
            }
            store.commit_step(run, &header, &StepOutcome { points, state_after: state, remarks: vec![], wall })?;
        }
        let end = self.end();
        store.end_run(run, &end)?;
        Ok(Finished { run, end, steady_reached: self.ended.iter().flatten().all(|finished| finished.steady_reached) })
    }

    /// Whether a target that did not fail was not at work any more: it was steady earlier.
    fn is_missed(&self, sum: &Sum) -> bool {
        let is_well = |ended: &Result<Finished, LabError>| {
            matches!(ended, Ok(Finished { end: RunEnd::Done | RunEnd::Interrupted, .. }))
        };
        self.ended.iter().enumerate().any(|(i, ended)| is_well(ended) && !sum.targets.contains(&i))
    }

    /// Adds the series of one load on all targets in a sum, a few intervals at a time, so that a run of days
    /// needs no memory for them, and keeps theirs as that of a point of the sum's run.
    fn add_up(
        &self,
        store: &mut Store,
        (run, point): (RunId, u32),
        header: &StepHeader,
        load: usize,
        sum: &mut Sum,
    ) -> anyhow::Result<()> {
        let place = StepPlace { step: header.index, round: header.round };
        let mut first = 0;
        while first < sum.intervals {
            let limit = (sum.intervals - first).min(INTERVALS_AT_ONCE) as u32;
            let mut all: Vec<Interval> = Vec::new();
            for run in sum.targets.iter().filter_map(|target| self.runs[*target]) {
                let of_one = store.intervals(run, place, load as u32, first, limit)?;
                if all.is_empty() {
                    all = of_one;
                } else {
                    all.iter_mut().zip(&of_one).for_each(|(all, one)| all.merge(one));
                }
            }
            all.iter().for_each(|interval| sum.add(interval));
            store.keep_intervals(run, header, point, &all)?;
            first += u64::from(limit);
        }
        Ok(())
    }

    /// The state of the targets at each place, where it was the same for all of them.
    fn states(&self, store: &Store) -> anyhow::Result<BTreeMap<StepPlace, DriveState>> {
        let mut states: BTreeMap<StepPlace, DriveState> = BTreeMap::new();
        for run in self.runs.iter().flatten() {
            for step in store.run(run.0)?.steps {
                let place = StepPlace { step: step.index, round: step.round };
                let Some(state) = step.points.first().map(|point| point.state) else { continue };
                let known = states.entry(place).or_insert(state);
                if *known != state {
                    *known = DriveState::UNKNOWN;
                }
            }
        }
        Ok(states)
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

    /// The point of a sum of the load at this position among those that ran at the same time.
    fn point(
        &self,
        (load, job, pass): (usize, &Job, Option<u32>),
        at_once: &[Job],
        state: DriveState,
        sum: Sum,
    ) -> PointResult {
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
        let others = at_once.iter().enumerate().filter(|(i, _)| *i != load);
        let others: Vec<&str> = others.map(|(_, job)| job.workload.as_str()).collect();
        if !others.is_empty() {
            said.push(format!("ran at the same time as {} on each target", others.join("; ")));
        }
        said.extend(remarks(&sum.result, state.condition));
        PointResult {
            at: coordinates(&whole(self.identities).id, &self.plan.suite.id, job, pass),
            state,
            origin: Origin::Measured,
            metrics: figures(&sum.result),
            job: Some(sum.result),
            remarks: said,
        }
    }
}

/// The jobs at a place under the names and numbers of their results; none where there are no results.
fn named(kind: &StepKind, place: StepPlace, checkpoints: &mut u32) -> Vec<(Job, Option<u32>)> {
    match kind {
        StepKind::Purge => vec![],
        StepKind::Point { job } => vec![(job.clone(), None)],
        StepKind::Concurrent { jobs } => jobs.iter().map(|job| (job.clone(), None)).collect(),
        StepKind::Fill { job, pass } => vec![(job.clone(), *pass)],
        StepKind::Checkpoint { job, .. } => {
            *checkpoints += 1;
            vec![(Job { workload: format!("{}-single", job.workload), ..job.clone() }, Some(*checkpoints))]
        }
        // What is written before the first round is no round.
        StepKind::Steady { job, .. } => {
            (place.round > 0).then(|| (job.clone(), Some(place.round))).into_iter().collect()
        }
    }
}
