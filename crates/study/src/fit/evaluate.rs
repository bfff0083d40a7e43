//! Runs a candidate profile through the suites of a block and holds it against the figures.

use super::parameter::Free;
use super::reduced::reduced;
use crate::StudyError;
use flashlab_analysis::{FidelityRow, PublishedPoint, fidelity};
use flashlab_drive::ModelledDrive;
use flashlab_lab::{PlanOptions, RunObserver, TargetFacts, plan, run_plan};
use flashlab_samples::{BuildInfo, Condition, DriveState, Interval, Origin, PointResult, Provenance};
use flashlab_spec::{DriveProfile, Hosts, Suite};
use flashlab_target::{
    Journal, JournalError, Observer, Progress, RunEnd, RunHeader, RunId, StepHeader, StepOutcome, Target,
};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Figures of one drive, and the suites that make the same.
pub(crate) struct Judge<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) suites: Vec<(Suite, Vec<PublishedPoint>)>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) stop: &'a (dyn Fn() -> bool + Sync),
    /// Told after each run of a candidate.
    pub(crate) ran: &'a (dyn Fn() + Sync),
}

impl<'a> Judge<'a> {
    /// The suites are cut down to what `points` need.
    pub(crate) fn new(like: &Judge<'a>, suites: &[&Suite], points: &[PublishedPoint]) -> Self {
        let of = |suite: &&Suite| {
            let points: Vec<&PublishedPoint> = points.iter().filter(|p| p.suite == suite.id).collect();
            (!points.is_empty()).then(|| (reduced(suite, &points), points.into_iter().cloned().collect()))
        };
        Judge { suites: suites.iter().filter_map(of).collect(), ..*like }
    }

    /// Figures that the candidates are held against.
    pub(crate) fn figures(&self) -> usize {
        self.suites.iter().map(|(_, points)| points.len()).sum()
    }

    /// The candidate beside each figure, in the order of suites and figures.
    pub(crate) fn rows(&self, profile: &DriveProfile) -> Result<Vec<FidelityRow>, StudyError> {
        let mut rows = Vec::new();
        for (suite, points) in &self.suites {
            let results = self.run(profile, suite)?;
            let compared = fidelity(points, &results.iter().collect::<Vec<_>>());
            if let Some(missing) = compared.missing.first() {
                return Err(StudyError::NoPlace { workload: missing.workload.clone(), suite: suite.id.clone() });
            }
            rows.extend(compared.rows);
        }
        (self.ran)();
        Ok(rows)
    }

    fn run(&self, profile: &DriveProfile, suite: &Suite) -> Result<Vec<PointResult>, StudyError> {
        let mut drive = ModelledDrive::for_suite(profile.clone(), self.hosts.clone(), None, suite);
        let options = PlanOptions { seed: self.seed, ..PlanOptions::default() };
        let plan = plan(suite, &TargetFacts::of(&drive), &options)?;
        let provenance = Provenance {
            origin: Origin::Modelled,
            build: BuildInfo { tool: "flashlab".into(), version: env!("CARGO_PKG_VERSION").into(), commit: None },
            seed: self.seed,
            started: None,
            host: None,
            kernel: None,
            target: drive.identity().clone(),
            state_before: DriveState { condition: Condition::Purged, ..DriveState::UNKNOWN },
        };
        let (mut kept, mut watcher) = (Kept::default(), Watcher(self.stop));
        let finished = run_plan(&plan, &mut drive, &mut kept, &provenance, &mut watcher)?;
        match finished.end {
            RunEnd::Done => Ok(kept.0),
            RunEnd::Interrupted => Err(StudyError::Stopped),
            RunEnd::Failed(reason) => Err(StudyError::Run { drive: profile.id.clone(), reason }),
        }
    }
}

/// Results in memory.
#[derive(Default)]
struct Kept(Vec<PointResult>);

impl Journal for Kept {
    fn begin_run(&mut self, _header: &RunHeader) -> Result<RunId, JournalError> {
        Ok(RunId(0))
    }
    fn begin_step(&mut self, _run: RunId, _step: &StepHeader) -> Result<(), JournalError> {
        Ok(())
    }
    fn keep_intervals(
        &mut self,
        _run: RunId,
        _step: &StepHeader,
        _point: u32,
        _intervals: &[Interval],
    ) -> Result<bool, JournalError> {
        unreachable!("a modelled drive has no wall clock, and so no series")
    }
    fn commit_step(&mut self, _run: RunId, _step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        self.0.extend(outcome.points.iter().cloned());
        Ok(())
    }
    fn end_run(&mut self, _run: RunId, _end: &RunEnd) -> Result<(), JournalError> {
        Ok(())
    }
}

struct Watcher<'a>(&'a (dyn Fn() -> bool + Sync));

impl Observer for Watcher<'_> {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        (self.0)()
    }
}

impl RunObserver for Watcher<'_> {
    fn step_begins(&mut self, _index: u32, _of: u32, _round: u32, _title: &str) {}
    fn step_kept(&mut self, _outcome: &StepOutcome) {}
}

/// A profile with free parameters.
#[derive(Clone)]
pub(crate) struct Base(toml::Table);

impl Base {
    pub(crate) fn new(text: &str, file: &str) -> Result<Self, StudyError> {
        let profile = DriveProfile::parse(text, file)?;
        Ok(Base(toml::Table::try_from(profile).map_err(|e| StudyError::Profile(e.to_string()))?))
    }

    /// The value of `free` is set; its table must be there.
    pub(crate) fn set(&mut self, free: &Free, value: f64) -> Result<(), StudyError> {
        let none = || StudyError::NoParameter { key: free.key.clone() };
        let (table, key) = free.key.split_once('.').ok_or_else(none)?;
        let parameter = self.0.get_mut("parameters").and_then(|p| p.get_mut(table)).and_then(|t| t.get_mut(key));
        parameter.and_then(toml::Value::as_table_mut).ok_or_else(none)?.insert("value".into(), free.value(value));
        Ok(())
    }

    /// Checked as any profile.
    pub(crate) fn profile(&self) -> Result<DriveProfile, StudyError> {
        let text = toml::to_string(&self.0).map_err(|e| StudyError::Profile(e.to_string()))?;
        Ok(DriveProfile::parse(&text, "the fit")?)
    }
}

/// A candidate's number and errors.
type Numbered = (usize, Option<Vec<f64>>);

/// Candidates of one block: values of its free parameters on their axes.
pub(crate) struct Trials<'a> {
    pub(crate) judge: &'a Judge<'a>,
    pub(crate) base: &'a Base,
    pub(crate) free: &'a [&'a Free],
    known: Mutex<HashMap<Vec<u64>, Option<Vec<f64>>>>,
}

impl<'a> Trials<'a> {
    pub(crate) fn new(judge: &'a Judge<'a>, base: &'a Base, free: &'a [&'a Free]) -> Self {
        Trials { judge, base, free, known: Mutex::default() }
    }

    /// Values of a candidate in their base units.
    pub(crate) fn values(&self, at: &[f64]) -> Vec<f64> {
        self.free.iter().zip(at).map(|(free, at)| free.value_at(*at)).collect()
    }

    /// ln(model / figure) of each candidate, on all threads; `None` for one that is no possible profile.
    pub(crate) fn errors(&self, candidates: &[Vec<f64>]) -> Result<Vec<Option<Vec<f64>>>, StudyError> {
        let next = AtomicUsize::new(0);
        let worker = || -> Result<Vec<Numbered>, StudyError> {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(candidate) = candidates.get(index) else { return Ok(done) };
                done.push((index, self.error(candidate)?));
            }
        };
        let threads = self.judge.threads.clamp(1, candidates.len().max(1));
        let done = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let join = |w: std::thread::ScopedJoinHandle<'_, _>| {
                w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().map(join).collect::<Result<Vec<_>, StudyError>>()
        })?;
        let mut out = vec![None; candidates.len()];
        for (index, errors) in done.into_iter().flatten() {
            out[index] = errors;
        }
        Ok(out)
    }

    fn error(&self, candidate: &[f64]) -> Result<Option<Vec<f64>>, StudyError> {
        let values = self.values(candidate);
        let key: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
        let known = || self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return Ok(known.clone());
        }
        let mut base = self.base.clone();
        for (free, value) in self.free.iter().zip(&values) {
            base.set(free, *value)?;
        }
        let errors = match base.profile() {
            Ok(profile) => {
                let rows = self.judge.rows(&profile)?;
                Some(rows.iter().map(|r| (r.result / r.published.value).ln()).collect())
            }
            // Such as a spare below the reserve: outside of what can be.
            Err(StudyError::Spec(_)) => None,
            Err(other) => return Err(other),
        };
        known().insert(key, errors.clone());
        Ok(errors)
    }
}
