//! Several real targets at once: a run each, in step, and a run for their sum.

use crate::origin;
use crate::progress::{Bar, Bars};
use crate::session::Session;
use crate::shared::SharedJournal;
use crate::stop::Stop;
use flashlab_analysis::{RunRecord, figures, remarks};
use flashlab_io::{FileTarget, Member, Step, Sum, in_step};
use flashlab_lab::{Finished, LabError, Plan, StepKind, coordinates, run_plan};
use flashlab_samples::{DriveState, Interval, Origin, PointResult, Provenance, TargetIdentity, TargetKind};
use flashlab_spec::Job;
use flashlab_store::Store;
use flashlab_target::{Journal, RunEnd, RunHeader, RunId, StepHeader, StepOutcome, StepPlace, Target};
use flashlab_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Intervals of each target that are in memory at once while the sum is made.
const INTERVALS_AT_ONCE: u64 = 64;
/// As long as any other call waits for a store that others use.
const PATIENCE: Duration = Duration::from_secs(60);
const A_MOMENT: Duration = Duration::from_millis(20);
/// More targets than this are counted in the name of their sum rather than named.
const NAMES_MAX: usize = 3;

/// A target with what is done on it.
pub(crate) struct Part {
    pub(crate) target: FileTarget,
    pub(crate) plan: Plan,
}

/// Runs all of them at the same time, point by point. One that fails marks itself and the others go on.
/// The runs in their order, and last that of the sum.
pub(crate) fn run(parts: Vec<Part>, session: &mut Session) -> anyhow::Result<Vec<Finished>> {
    let stop = session.stop.clone();
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
    bars.clear();
    let (runs, ended): (Vec<Option<RunId>>, Vec<_>) = ended.into_iter().unzip();
    let (ended, lost): (Vec<Result<Finished, LabError>>, Vec<Option<RunRecord>>) = ended.into_iter().unzip();
    session.show_lost(&lost.into_iter().flatten().collect::<Vec<_>>())?;
    // A target that gave no result has closed its run as failed; the others have theirs.
    if !ended.iter().any(Result::is_ok) {
        let first = ended.into_iter().find_map(Result::err);
        return Err(first.map_or_else(|| anyhow::anyhow!("no targets"), Into::into));
    }
    for error in ended.iter().filter_map(|ended| ended.as_ref().err()) {
        eprintln!("flashlab: {error}\n  the other targets went on");
    }
    let kept = runs.iter().map(|run| kept(&session.store, *run)).collect::<anyhow::Result<Vec<_>>>()?;
    let all = All { identities: &identities, runs: &runs, ended: &ended, kept: &kept, plan: &plans[0], step: &step };
    let sum = all.keep(&mut session.store, &provenance)?;
    Ok(ended.into_iter().flatten().chain([sum]).collect())
}

/// A run of one of them.
fn one(
    mut member: Member,
    plan: &Plan,
    mut journal: SharedJournal<'_, &mut Store>,
    stop: Stop,
    bars: &Bars,
) -> (Result<Finished, LabError>, Option<RunRecord>) {
    let provenance = origin::provenance(member.origin(), plan.seed, member.identity());
    let mut bar = Bar::new(plan, stop, Some(bars));
    let finished = run_plan(plan, &mut member, &mut journal, &provenance, &mut bar);
    bar.clear();
    bars.one_done();
    (finished, bar.lost(plan, &provenance))
}

/// What the store has of one target at a place.
struct Kept {
    state: DriveState,
    /// Of each load, in their order.
    remarks: Vec<Vec<String>>,
}

/// What the store has of one target, but for its figures; a step without results, such as one that was
/// dropped, is not among it.
fn kept(store: &Store, run: Option<RunId>) -> anyhow::Result<BTreeMap<StepPlace, Kept>> {
    let Some(run) = run else { return Ok(BTreeMap::new()) };
    let steps = store.run(run.0)?.steps.into_iter();
    let with_place = steps.filter_map(|step| {
        let state = step.points.first()?.state;
        let remarks = step.points.into_iter().map(|point| point.remarks).collect();
        Some((StepPlace { step: step.index, round: step.round }, Kept { state, remarks }))
    });
    Ok(with_place.collect())
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
    kept: &'a [BTreeMap<StepPlace, Kept>],
    plan: &'a Plan,
    step: &'a Step,
}

impl All<'_> {
    /// Keeps the sums as a run of their own: of each place of the plan where all that did not fail were at
    /// work and have their results in the store.
    fn keep(&self, store: &mut Store, provenance: &Provenance) -> anyhow::Result<Finished> {
        let suite = self.plan.suite.clone();
        let steps = self.plan.steps.iter().filter(|step| !step.kind.jobs().is_empty()).count() as u32;
        let run = store.begin_run(&RunHeader { suite, provenance: provenance.clone(), steps })?;
        let mut checkpoints = 0;
        for place in self.step.places() {
            let planned = &self.plan.steps[place.step as usize];
            let named = named(&planned.kind, place, &mut checkpoints);
            let there: Vec<usize> = (0..self.kept.len()).filter(|i| self.kept[*i].contains_key(&place)).collect();
            if named.is_empty() || there.is_empty() || self.is_one_done(place, &there) {
                continue;
            }
            let header = StepHeader {
                index: place.step,
                round: place.round,
                title: planned.title.clone(),
                jobs: planned.kind.jobs().to_vec(),
            };
            store.begin_step(run, &header)?;
            let state = self.state(place, &there);
            let (mut points, mut said, mut wall) = (Vec::new(), Vec::new(), Nanos::ZERO);
            for (load, (job, pass)) in named.into_iter().enumerate() {
                let sum = self.step.sum(place, load, &there);
                match sum.filter(|sum| self.series_are_whole(store, place, load, sum)) {
                    Some(mut sum) => {
                        self.add_up(store, (run, points.len() as u32), &header, load, &mut sum)?;
                        wall = wall.max(sum.result.ramp + sum.result.elapsed);
                        points.push(self.point(place, load, (&job, pass), state, sum));
                    }
                    None => said.push(format!(
                        "no sum of {}: the targets have no whole interval of the series in common; a shorter one is --interval 100ms",
                        job.workload
                    )),
                }
            }
            said.iter().for_each(|text| eprintln!("flashlab: {}: {text}", planned.title));
            store.commit_step(run, &header, &StepOutcome { points, state_after: state, remarks: said, wall })?;
        }
        let end = self.end();
        store.end_run(run, &end)?;
        Ok(Finished { run, end, steady_reached: self.ended.iter().flatten().all(|finished| finished.steady_reached) })
    }

    /// Whether a target that is not among those `there` did well all the same: it was steady earlier, or its
    /// step was dropped by a stop.
    fn is_one_done(&self, place: StepPlace, there: &[usize]) -> bool {
        let was_further = |i: usize| self.kept[i].range(place..).next().is_some();
        let is_well = |i: usize| matches!(self.ended[i], Ok(Finished { end: RunEnd::Done | RunEnd::Interrupted, .. }));
        (0..self.kept.len()).any(|i| !there.contains(&i) && (was_further(i) || is_well(i)))
    }

    /// The state of the targets, where it is the same for all of them.
    fn state(&self, place: StepPlace, there: &[usize]) -> DriveState {
        let mut states = there.iter().filter_map(|i| self.kept[*i].get(&place)).map(|kept| kept.state);
        let first = states.next().unwrap_or(DriveState::UNKNOWN);
        if states.all(|state| state == first) { first } else { DriveState::UNKNOWN }
    }

    /// Whether the store has all that the sum is made from.
    fn series_are_whole(&self, store: &Store, place: StepPlace, load: usize, sum: &Sum) -> bool {
        let has_last = |run: RunId| {
            store.intervals(run, place, load as u32, sum.intervals - 1, 1).is_ok_and(|last| !last.is_empty())
        };
        sum.targets.iter().all(|target| self.runs[*target].is_some_and(has_last))
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
            // No job runs any more, so that this may wait for others.
            let since = Instant::now();
            while !store.keep_intervals(run, header, point, &all)? {
                anyhow::ensure!(since.elapsed() < PATIENCE, "{}: in use by another program", store.path().display());
                std::thread::sleep(A_MOMENT);
            }
            first += u64::from(limit);
        }
        Ok(())
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
        place: StepPlace,
        load: usize,
        (job, pass): (&Job, Option<u32>),
        state: DriveState,
        sum: Sum,
    ) -> PointResult {
        let names = |is_in: bool| {
            let each = self.identities.iter().enumerate().filter(|(i, _)| sum.targets.contains(i) == is_in);
            each.map(|(_, identity)| identity.id.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut said = match sum.targets.as_slice() {
            [_] => vec![format!("of one target alone: {}", names(true))],
            all => vec![format!(
                "sum of {} targets over the {} in which all were at work: {}; iodepth and numjobs are those of each",
                all.len(),
                sum.result.elapsed,
                names(true)
            )],
        };
        if sum.targets.len() < self.identities.len() {
            said.push(format!("not a clean result: left out, as it failed or was refused: {}", names(false)));
        }
        said.extend(remarks(&sum.result, state.condition));
        said.extend(self.said_of_each(place, load, &sum, &said));
        PointResult {
            at: coordinates(&whole(self.identities).id, &self.plan.suite.id, job, pass),
            state,
            origin: Origin::Measured,
            metrics: figures(&sum.result),
            job: Some(sum.result),
            remarks: said,
        }
    }

    /// What was said of the targets and is not said of the sum yet, with their names unless it was said of all.
    fn said_of_each(&self, place: StepPlace, load: usize, sum: &Sum, said: &[String]) -> Vec<String> {
        let mut by_text: Vec<(&str, Vec<&str>)> = Vec::new();
        for target in &sum.targets {
            let remarks = self.kept[*target].get(&place).and_then(|kept| kept.remarks.get(load));
            // How far percentiles and windows reach is said of the sum itself.
            let is_of_it_alone = |text: &&String| text.starts_with("fewer than") || text.starts_with("interrupted");
            for text in remarks.into_iter().flatten().filter(|text| !said.contains(text) && !is_of_it_alone(text)) {
                let name = self.identities[*target].id.as_str();
                match by_text.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, names)) => names.push(name),
                    None => by_text.push((text, vec![name])),
                }
            }
        }
        let all = sum.targets.len();
        let told = |(text, names): (&str, Vec<&str>)| {
            if names.len() == all { text.to_owned() } else { format!("{}: {text}", names.join(", ")) }
        };
        by_text.into_iter().map(told).collect()
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
