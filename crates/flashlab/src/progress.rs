//! Progress on standard error: one bar a run with step, rate and time left.

use crate::stop::Stop;
use flashlab_analysis::{RunRecord, RunStatus, StepRecord};
use flashlab_lab::{Plan, RunObserver};
use flashlab_samples::{Origin, Provenance};
use flashlab_target::{Observer, Progress, StepHeader, StepOutcome};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Positions of a bar; fine enough for a step to be seen moving.
const POSITIONS: u64 = 10_000;

/// Draws a run.
pub(crate) struct Bar {
    bar: ProgressBar,
    stop: Stop,
    /// Share of the whole that each step is expected to take, summed before it.
    starts: Vec<f64>,
    step: usize,
    title: String,
    /// What the store could not keep.
    lost: Option<StepRecord>,
}

impl Bar {
    /// For `plan`, alone or among the bars of other runs. Drawn only on a terminal.
    pub(crate) fn new(plan: &Plan, stop: Stop, among: Option<&Bars>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(POSITIONS), ProgressDrawTarget::stderr_with_hz(8));
        let bar = among.map_or(bar.clone(), |bars| bars.all.add(bar));
        let style = ProgressStyle::with_template(
            "{prefix:>20} {bar:24} {percent:>3} %  {elapsed} gone, {eta} left  {wide_msg}",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(format!("{} {}", plan.target.id, plan.suite.id));
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar, stop, starts: starts(plan), step: 0, title: String::new(), lost: None }
    }

    /// Removes it.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// What the store could not keep, as a run of its own.
    pub(crate) fn lost(&mut self, plan: &Plan, provenance: &Provenance) -> Option<RunRecord> {
        let step = self.lost.take()?;
        Some(RunRecord {
            id: 0,
            suite: plan.suite.clone(),
            provenance: provenance.clone(),
            status: RunStatus::Failed("the store could not keep what follows".into()),
            steps_planned: plan.steps.len() as u32,
            steps: vec![step],
        })
    }

    fn place(&self, share: f64) {
        let (from, to) = (self.starts[self.step], self.starts[self.step + 1]);
        self.bar.set_position(((from + (to - from) * share) * POSITIONS as f64) as u64);
    }
}

/// The bars of several runs at once, with one for all of them.
pub(crate) struct Bars {
    all: MultiProgress,
    runs: ProgressBar,
}

impl Bars {
    /// For so many runs.
    pub(crate) fn new(runs: usize) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        let bar = all.add(ProgressBar::new(runs as u64));
        let style = ProgressStyle::with_template("{prefix:>20} {bar:24} {pos:>2} of {len}  {elapsed} gone, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix("runs");
        bar.enable_steady_tick(Duration::from_millis(250));
        Bars { all, runs: bar }
    }

    /// One more is done.
    pub(crate) fn one_done(&self) {
        self.runs.inc(1);
    }

    /// Removes them.
    pub(crate) fn clear(&self) {
        self.runs.finish_and_clear();
    }
}

/// Where each step starts, as a share of the whole: by time on a real target, evenly on a modelled
/// one, whose steps take about the same computing.
fn starts(plan: &Plan) -> Vec<f64> {
    let weight = |i: usize| match plan.target.origin {
        Origin::Modelled => 1.0,
        _ => plan.steps[i].estimate.time.as_secs_f64().max(0.1),
    };
    let total: f64 = (0..plan.steps.len()).map(weight).sum();
    let mut sum = 0.0;
    let mut out = vec![0.0];
    for i in 0..plan.steps.len() {
        sum += weight(i) / total;
        out.push(sum);
    }
    out
}

impl Observer for Bar {
    fn progress(&mut self, progress: &Progress) {
        self.place(progress.share.unwrap_or(0.0));
        let rate = progress.rate.map(|r| format!("{r}  ")).unwrap_or_default();
        self.bar.set_message(format!("{rate}{}", self.title));
    }

    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl RunObserver for Bar {
    fn step_begins(&mut self, index: u32, of: u32, _round: u32, title: &str) {
        self.step = index as usize;
        self.title = format!("{}/{of} {title}", index + 1);
        self.place(0.0);
        self.bar.set_message(self.title.clone());
    }

    fn step_kept(&mut self, _outcome: &StepOutcome) {
        self.place(1.0);
    }

    fn step_lost(&mut self, step: &StepHeader, outcome: &StepOutcome) {
        self.lost = Some(StepRecord {
            index: step.index,
            round: step.round,
            title: step.title.clone(),
            points: outcome.points.clone(),
            state_after: outcome.state_after,
            remarks: outcome.remarks.clone(),
        });
    }
}
