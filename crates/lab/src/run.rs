//! Running a plan: one step after another, each kept before the next begins.

mod concurrent;
mod watch;

use crate::plan::{Plan, PlannedStep, StepKind};
use crate::{LabError, steady};
use flashlab_analysis::{SteadyVerdict, figures, judge_steady, remarks, replay_remarks};
use flashlab_samples::{
    Condition, Coordinates, DriveState, Ended, JobResult, Metric, MetricName, Origin, PointResult, Provenance,
    mean_interval_share,
};
use flashlab_spec::{Generator, Job, SteadyRule};
use flashlab_target::{
    Journal, JournalError, Observer, Purge, RunEnd, RunHeader, RunId, StepHeader, StepOutcome, StepPlace, Target,
};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::named_seed;
use std::time::Instant;
use watch::JobWatch;

/// Less erased space than this share of the nominal spare is the reserve that garbage collection works
/// with, not a pool.
const POOL_SHARE_MIN: f64 = 1.0 / 6.0;
/// Writes that go to free space are not amplified, but for padding.
const AMPLIFICATION_MIN: f64 = 1.1;
/// Fills after which a target counts as preconditioned.
const FILLS_OF_A_PRECONDITION: u32 = 2;

/// Who watches a run.
pub trait RunObserver: Observer {
    /// Step `index` (from 0) of `of` begins; `round` counts from 1 inside a steady-state step.
    fn step_begins(&mut self, index: u32, of: u32, round: u32, title: &str);
    /// It is kept.
    fn step_kept(&mut self, outcome: &StepOutcome);
    /// The journal could not keep it, which ends the run: here it is for the last time.
    fn step_lost(&mut self, _step: &StepHeader, _outcome: &StepOutcome) {}
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Its number in the journal.
    pub run: RunId,
    /// How it ended.
    pub end: RunEnd,
    /// Whether every steady-state step reached a steady state.
    pub steady_reached: bool,
}

/// Runs `plan` on `target` and keeps every finished step in `journal` before the next begins. A stop
/// keeps what a point in progress has measured, marked as a part, and drops any other step in progress.
/// An I/O error ends the run, unless the target goes on in spite of it; the run then ends as failed
/// once its steps are done.
///
/// # Errors
/// When nothing can be kept or the target gives no result. The run is then closed as failed.
pub fn run_plan(
    plan: &Plan,
    target: &mut dyn Target,
    journal: &mut dyn Journal,
    provenance: &Provenance,
    observer: &mut dyn RunObserver,
) -> Result<Finished, LabError> {
    let header =
        RunHeader { suite: plan.suite.clone(), provenance: provenance.clone(), steps: plan.steps.len() as u32 };
    let run = journal.begin_run(&header)?;
    let mut runner = Runner {
        plan,
        target,
        journal,
        observer,
        run,
        state: provenance.state_before,
        drive_id: provenance.target.id.clone(),
        steady_reached: true,
        pass: Vec::new(),
        checkpoints: 0,
        errors: Vec::new(),
        lost: None,
    };
    match runner.all_steps() {
        Ok(end) => {
            let steady_reached = runner.steady_reached;
            journal.end_run(run, &end)?;
            Ok(Finished { run, end, steady_reached })
        }
        Err(error) => {
            // The error that stopped the run is the one to report, whether or not closing works.
            let _ = journal.end_run(run, &RunEnd::Failed(error.to_string()));
            Err(error)
        }
    }
}

/// How a step ended.
enum StepEnd {
    Done,
    Stopped,
    Failed(String),
}

struct Runner<'a> {
    plan: &'a Plan,
    target: &'a mut dyn Target,
    journal: &'a mut dyn Journal,
    observer: &'a mut dyn RunObserver,
    run: RunId,
    state: DriveState,
    drive_id: String,
    steady_reached: bool,
    /// Seconds and results of the checkpoints of this pass so far.
    pass: Vec<(f64, JobResult)>,
    /// Checkpoints so far, all passes.
    checkpoints: u32,
    /// Of steps that went on in spite of them.
    errors: Vec<String>,
    /// Why the journal could not keep a part of the step that runs, which was stopped for that.
    lost: Option<JournalError>,
}

impl Runner<'_> {
    fn all_steps(&mut self) -> Result<RunEnd, LabError> {
        let plan = self.plan;
        for (index, step) in plan.steps.iter().enumerate() {
            if self.observer.stop_requested() {
                return Ok(RunEnd::Interrupted);
            }
            let index = index as u32;
            let end = match &step.kind {
                StepKind::Purge => self.purge(index, step)?,
                StepKind::Fill { job, pass } => self.fill(index, step, job, *pass)?,
                StepKind::Point { job } => self.point(index, step, job)?,
                StepKind::Concurrent { jobs } => self.concurrent(index, step, jobs)?,
                StepKind::Checkpoint { job, pass, number, of } => {
                    self.checkpoint(index, step, job, *pass, *number == *of)?
                }
                StepKind::Steady { job, rule, lead_in, only_report } => {
                    self.steady(index, step, job, rule, *lead_in, *only_report)?
                }
            };
            if let Some(error) = self.lost.take() {
                return Err(error.into());
            }
            match end {
                StepEnd::Done => {}
                StepEnd::Stopped => return Ok(RunEnd::Interrupted),
                StepEnd::Failed(reason) => {
                    return Ok(RunEnd::Failed(format!("step {} ({}): {reason}", index + 1, step.title)));
                }
            }
        }
        if self.errors.is_empty() { Ok(RunEnd::Done) } else { Ok(RunEnd::Failed(self.errors.join("; "))) }
    }

    fn begin(&mut self, index: u32, round: u32, title: &str, jobs: &[Job]) -> Result<StepHeader, LabError> {
        let header = StepHeader { index, round, title: title.to_owned(), jobs: jobs.to_vec() };
        self.journal.begin_step(self.run, &header)?;
        self.observer.step_begins(index, self.plan.steps.len() as u32, round, title);
        Ok(header)
    }

    fn keep(&mut self, header: &StepHeader, outcome: &StepOutcome) -> Result<(), LabError> {
        let kept = match self.lost.take() {
            Some(error) => Err(error),
            None => self.journal.commit_step(self.run, header, outcome),
        };
        if let Err(error) = kept {
            self.observer.step_lost(header, outcome);
            return Err(error.into());
        }
        self.observer.step_kept(outcome);
        Ok(())
    }

    fn purge(&mut self, index: u32, step: &PlannedStep) -> Result<StepEnd, LabError> {
        let header = self.begin(index, 0, &step.title, &[])?;
        let started = Instant::now();
        let purged = self.target.purge().map_err(|source| failed(index, step, source))?;
        let remarks = match purged {
            Purge::Purged => {
                self.state = DriveState { condition: Condition::Purged, fills: 0, last_fill_bs: None };
                Vec::new()
            }
            Purge::NotAvailable(reason) => vec![format!("not purged: {reason}")],
        };
        let outcome = StepOutcome { points: vec![], state_after: self.state, remarks, wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(StepEnd::Done)
    }

    fn fill(&mut self, index: u32, step: &PlannedStep, job: &Job, pass: Option<u32>) -> Result<StepEnd, LabError> {
        let header = self.begin(index, 0, &step.title, std::slice::from_ref(job))?;
        let started = Instant::now();
        let result = self.run_job(step, &header, job)?;
        if let Some(end) = self.not_clean(&header, job, &result, started)? {
            return Ok(end);
        }
        let mut point = self.result_point(job, pass, self.state.condition, &result);
        push_sorted(&mut point.metrics, seconds(job, &result), None, result.ios());
        let fills = self.state.fills + 1;
        let condition = if fills >= FILLS_OF_A_PRECONDITION { Condition::AfterFill } else { Condition::Written };
        self.state = DriveState { condition, fills, last_fill_bs: Some(job.bs) };
        let outcome =
            StepOutcome { points: vec![point], state_after: self.state, remarks: vec![], wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(StepEnd::Done)
    }

    /// One checkpoint, reported by its number; the last of a pass brings the means of the pass.
    fn checkpoint(
        &mut self,
        index: u32,
        step: &PlannedStep,
        job: &Job,
        pass: u32,
        last: bool,
    ) -> Result<StepEnd, LabError> {
        let header = self.begin(index, 0, &step.title, std::slice::from_ref(job))?;
        let started = Instant::now();
        let result = self.run_job(step, &header, job)?;
        if let Some(end) = self.not_clean(&header, job, &result, started)? {
            return Ok(end);
        }
        self.state.condition = Condition::CheckpointFill;
        self.checkpoints += 1;
        let took = seconds(job, &result);
        let single = Job { workload: format!("{}-single", job.workload), ..job.clone() };
        let mut point = self.result_point(&single, Some(self.checkpoints), self.state.condition, &result);
        push_sorted(&mut point.metrics, took, None, result.ios());
        self.pass.push((took, result));
        let mut points = vec![point];
        if last {
            points.push(self.pass_mean(job, pass));
        }
        let outcome = StepOutcome { points, state_after: self.state, remarks: vec![], wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(StepEnd::Done)
    }

    /// Mean seconds a checkpoint of the pass that is over, with its interval.
    fn pass_mean(&mut self, job: &Job, pass: u32) -> PointResult {
        let done = std::mem::take(&mut self.pass);
        let seconds: Vec<f64> = done.iter().map(|(s, _)| *s).collect();
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let results: Vec<JobResult> = done.into_iter().map(|(_, r)| r).collect();
        let mut point = self.result_point(job, Some(pass), self.state.condition, &results[results.len() - 1]);
        point.job = None;
        point.metrics = steady::window_figures(&results);
        let interval = mean_interval_share(&seconds).map(|share| (mean * (1.0 - share), mean * (1.0 + share)));
        push_sorted(&mut point.metrics, mean, interval, seconds.len() as u64);
        point.remarks = vec![format!(
            "mean of {} checkpoints of {} by {} ranks, each file overwritten without TRIM from the second pass on",
            seconds.len(),
            job.amount.unwrap_or_default().si(),
            job.numjobs
        )];
        if self.target.origin() == Origin::Measured {
            point.remarks.push("checkpoints in proportion to the target, written as extents of it: no file system and no torch.save take part".into());
        }
        point
    }

    fn point(&mut self, index: u32, step: &PlannedStep, job: &Job) -> Result<StepEnd, LabError> {
        let header = self.begin(index, 0, &step.title, std::slice::from_ref(job))?;
        let started = Instant::now();
        let result = self.run_job(step, &header, job)?;
        // What a stopped point has measured is kept, and says that it is a part. One that went on in
        // spite of errors has its figures, and the run is no clean one.
        let is_partial = result.ended == Ended::Interrupted && result.ios() > 0;
        if !is_partial
            && !went_on(&result)
            && let Some(end) = self.not_clean(&header, job, &result, started)?
        {
            return Ok(end);
        }
        self.note_pool(job, &result);
        let point = self.result_point(job, None, self.state.condition, &result);
        self.note_errors(index, step, &result, &point);
        let outcome =
            StepOutcome { points: vec![point], state_after: self.state, remarks: vec![], wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(if is_partial { StepEnd::Stopped } else { StepEnd::Done })
    }

    /// Notes errors in spite of which a job went on: the run is no clean one.
    fn note_errors(&mut self, index: u32, step: &PlannedStep, result: &JobResult, point: &PointResult) {
        if went_on(result) {
            let said: Vec<&str> = point.remarks.iter().map(String::as_str).filter(|r| r.contains(" × ")).collect();
            self.errors.push(format!("step {} ({}): {}", index + 1, step.title, said.join("; ")));
        }
    }

    /// Notes that a job has used up the pool that the fills left.
    fn note_pool(&mut self, job: &Job, result: &JobResult) {
        if job.rw.writes() && self.state.condition == Condition::AfterFill && self.pool_is_used_up(result) {
            self.state.condition = Condition::PoolExhausted;
        }
    }

    /// Where the drive says how much erased space is left.
    fn pool_is_used_up(&self, result: &JobResult) -> bool {
        let Some(health) = result.health else { return false };
        let little = health.free_pool.zip(self.target.nominal_spare());
        let little = little.is_some_and(|(free, spare)| (free.0 as f64) < POOL_SHARE_MIN * spare.0 as f64);
        let moved = health.media_written.zip(health.host_written);
        little && moved.is_some_and(|(media, host)| media.0 as f64 > AMPLIFICATION_MIN * host.0 as f64)
    }

    fn steady(
        &mut self,
        index: u32,
        step: &PlannedStep,
        job: &Job,
        rule: &SteadyRule,
        lead_in: Option<Bytes>,
        only_report: bool,
    ) -> Result<StepEnd, LabError> {
        if let Some(amount) = lead_in
            && let Some(end) = self.lead_in(index, step, job, amount)?
        {
            return Ok(end);
        }
        let (mut rounds, mut rates): (Vec<JobResult>, Vec<f64>) = (Vec::new(), Vec::new());
        for round in 1..=rule.rounds_max {
            let title = format!("{} iodepth {}, numjobs {}, round {round}", job.workload, job.iodepth, job.numjobs);
            let job = Job { seed: named_seed(job.seed, "round", u64::from(round)), ..job.clone() };
            let header = self.begin(index, round, &title, std::slice::from_ref(&job))?;
            let started = Instant::now();
            let result = self.run_job(step, &header, &job)?;
            if let Some(end) = self.not_clean(&header, &job, &result, started)? {
                return Ok(end);
            }
            rates.push(result.bandwidth().map_or(0.0, |b| b.0));
            let verdict = judge_steady(&rates, rule);
            self.state.condition = steady::condition(&verdict, lead_in.is_some(), self.target.origin());
            let mut points = vec![self.result_point(&job, Some(round), self.state.condition, &result)];
            rounds.push(result);
            let mut said = Vec::new();
            let over = match verdict {
                SteadyVerdict::NotYet(_) => false,
                SteadyVerdict::Steady(window) | SteadyVerdict::NotReached(window) => {
                    let steady = matches!(verdict, SteadyVerdict::Steady(_));
                    self.steady_reached &= steady || only_report;
                    let sentence = steady::sentence(&window, steady, rounds.len());
                    let in_window = &rounds[window.first_round as usize - 1..];
                    let mut point = self.result_point(&job, None, self.state.condition, &rounds[rounds.len() - 1]);
                    point.metrics = steady::window_figures(in_window);
                    point.job = None;
                    point.remarks = vec![sentence.clone()];
                    // What holds for a round holds for the window, but for the number of samples.
                    let said_of_rounds = in_window.iter().flat_map(|r| remarks(r, self.state.condition));
                    for remark in said_of_rounds.filter(|r| !r.starts_with("fewer than")) {
                        if !point.remarks.contains(&remark) {
                            point.remarks.push(remark);
                        }
                    }
                    points.push(point);
                    said.push(sentence);
                    true
                }
            };
            let outcome = StepOutcome { points, state_after: self.state, remarks: said, wall: since(started) };
            self.keep(&header, &outcome)?;
            if over {
                break;
            }
            if self.observer.stop_requested() {
                return Ok(StepEnd::Stopped);
            }
        }
        Ok(StepEnd::Done)
    }

    /// Writes the nominal spare at random before the first round; kept as a step without results.
    fn lead_in(
        &mut self,
        index: u32,
        step: &PlannedStep,
        job: &Job,
        amount: Bytes,
    ) -> Result<Option<StepEnd>, LabError> {
        let amount = Bytes(amount.0.div_ceil(job.bs.0) * job.bs.0);
        let lead = Job { runtime: None, amount: Some(amount), seed: named_seed(job.seed, "lead-in", 0), ..job.clone() };
        let title = format!("{}: writing the nominal spare of {} first", job.workload, amount.si());
        let header = self.begin(index, 0, &title, std::slice::from_ref(&lead))?;
        let started = Instant::now();
        let result = self.run_job(step, &header, &lead)?;
        if let Some(end) = self.not_clean(&header, &lead, &result, started)? {
            return Ok(Some(end));
        }
        self.state.condition = Condition::NotSteady;
        let outcome = StepOutcome { points: vec![], state_after: self.state, remarks: vec![], wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(None)
    }

    /// Runs the job of a step that has begun.
    fn run_job(&mut self, step: &PlannedStep, header: &StepHeader, job: &Job) -> Result<JobResult, LabError> {
        let mut results = self.run_jobs(step, header, std::slice::from_ref(job))?;
        Ok(results.swap_remove(0))
    }

    /// Runs the jobs of a step that has begun, at the same time. Their series go to the journal while they run;
    /// what is left of them stands in the results, one a job.
    fn run_jobs(&mut self, step: &PlannedStep, header: &StepHeader, jobs: &[Job]) -> Result<Vec<JobResult>, LabError> {
        self.target.begins(StepPlace { step: header.index, round: header.round });
        let mut watch = JobWatch::new(self.observer, self.journal, self.run, header);
        let mut results = self.target.run_at_once(jobs, &mut watch);
        let lost = watch.finish(results.as_deref_mut().unwrap_or_default());
        if results.is_ok() {
            // What the stopped jobs have measured is shown before the run ends for it.
            self.lost = lost;
        } else if let Some(error) = lost {
            return Err(error.into());
        }
        results.map_err(|source| failed(header.index, step, source))
    }

    /// A stopped job is dropped. A job that ended by errors is kept with its remarks and without figures, and
    /// ends the run.
    fn not_clean(
        &mut self,
        header: &StepHeader,
        job: &Job,
        result: &JobResult,
        started: Instant,
    ) -> Result<Option<StepEnd>, LabError> {
        if result.ended == Ended::Interrupted {
            return Ok(Some(StepEnd::Stopped));
        }
        if result.is_clean() {
            return Ok(None);
        }
        let mut point = self.result_point(job, None, self.state.condition, result);
        point.metrics.clear();
        let said = point.remarks.clone();
        let outcome =
            StepOutcome { points: vec![point], state_after: self.state, remarks: said.clone(), wall: since(started) };
        self.keep(header, &outcome)?;
        Ok(Some(StepEnd::Failed(said.join("; "))))
    }

    fn result_point(&self, job: &Job, pass: Option<u32>, condition: Condition, result: &JobResult) -> PointResult {
        let mut said = remarks(result, condition);
        said.extend(replay_remarks(job, result));
        if job.generator == Generator::Gdsio && self.target.origin() == Origin::Measured {
            said.push("CPU-only transfer: storage to host memory, no GPU takes part".into());
        }
        PointResult {
            at: coordinates(&self.drive_id, &self.plan.suite.id, job, pass),
            state: DriveState { condition, ..self.state },
            origin: self.target.origin(),
            metrics: figures(result),
            job: Some(result.clone()),
            remarks: said,
        }
    }
}

/// Where the result of a job stands; a generator other than fio's has no iodepth or numjobs of its own.
pub fn coordinates(drive_id: &str, suite: &str, job: &Job, pass: Option<u32>) -> Coordinates {
    let (iodepth, numjobs, threads) = match job.generator {
        Generator::Fio => (Some(job.iodepth), Some(job.numjobs), None),
        Generator::Gdsio => (None, None, Some(job.numjobs)),
        Generator::Checkpoint => (None, None, None),
    };
    let (drive_id, suite, workload) = (drive_id.to_owned(), suite.to_owned(), job.workload.clone());
    Coordinates { drive_id, suite, workload, iodepth, numjobs, threads, pass }
}

fn failed(index: u32, step: &PlannedStep, source: flashlab_target::TargetError) -> LabError {
    LabError::Target { step: index + 1, title: step.title.clone(), source }
}

/// Whether a job came to its end in spite of errors.
fn went_on(result: &JobResult) -> bool {
    result.ended == Ended::Completed && !result.errors.is_empty()
}

fn since(started: Instant) -> Nanos {
    Nanos::from_duration(started.elapsed())
}

/// Seconds a job bounded by bytes takes at full scale.
fn seconds(job: &Job, result: &JobResult) -> f64 {
    match (job.amount, result.bandwidth()) {
        // Scaled extents are rounded to whole blocks; their rate holds for the bytes asked for.
        (Some(amount), Some(rate)) if result.scale > 1 && !job.extents.is_empty() => amount.0 as f64 / rate.0,
        _ => result.elapsed.as_secs_f64() * result.scale as f64,
    }
}

/// Adds the seconds to figures and keeps the order of export.
fn push_sorted(metrics: &mut Vec<Metric>, seconds: f64, interval: Option<(f64, f64)>, samples: u64) {
    metrics.push(Metric { name: MetricName::Seconds, value: seconds, interval, samples });
    metrics.sort_by_key(|m| m.name);
}
