//! Loads that run at the same time: a point each, in their order.

use super::{Runner, StepEnd, since};
use crate::LabError;
use crate::plan::PlannedStep;
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Job, Verify};
use flashlab_target::StepOutcome;
use flashlab_units::Nanos;
use std::time::Instant;

/// A load that ended earlier than another by less than this share of the other's window was beside it all the
/// time: threads that are told to stop do so within milliseconds of each other.
const EARLY_SHARE_MIN: f64 = 0.01;

impl Runner<'_> {
    /// Keeps what each load has measured. One that failed has no figures, and ends the run after this step.
    pub(super) fn concurrent(&mut self, index: u32, step: &PlannedStep, jobs: &[Job]) -> Result<StepEnd, LabError> {
        let header = self.begin(index, 0, &step.title, jobs)?;
        let started = Instant::now();
        let results = self.run_jobs(step, &header, jobs)?;
        if results.iter().all(|result| result.ended == Ended::Interrupted && result.ios() == 0) {
            return Ok(StepEnd::Stopped);
        }
        for (job, result) in jobs.iter().zip(&results) {
            self.note_pool(job, result);
        }
        let (mut points, mut failed) = (Vec::with_capacity(jobs.len()), Vec::new());
        for (i, (job, result)) in jobs.iter().zip(&results).enumerate() {
            let mut point = self.result_point(job, None, self.state.condition, result);
            if result.ended == Ended::Failed {
                point.metrics.clear();
                failed.push(format!("{}: {}", job.workload, point.remarks.join("; ")));
            }
            self.note_errors(index, step, result, &point);
            point.remarks.insert(0, beside(jobs, &results, i));
            points.push(point);
        }
        let outcome = StepOutcome { points, state_after: self.state, remarks: vec![], wall: since(started) };
        self.keep(&header, &outcome)?;
        Ok(match () {
            () if !failed.is_empty() => StepEnd::Failed(failed.join("; ")),
            () if results.iter().any(|result| result.ended == Ended::Interrupted) => StepEnd::Stopped,
            () => StepEnd::Done,
        })
    }
}

/// Which loads ran beside one, and which of them not to its end.
fn beside(jobs: &[Job], results: &[JobResult], own: usize) -> String {
    let end = |i: usize| results[i].ramp + results[i].elapsed;
    let others = (0..jobs.len()).filter(|i| *i != own).map(|i| {
        let early: Nanos = end(own).saturating_sub(end(i));
        let is_early = early.0 as f64 > EARLY_SHARE_MIN * results[own].elapsed.0 as f64;
        let name = &jobs[i].workload;
        let early = is_early.then(|| format!("ended {early} earlier"));
        // Its reads back are in no figure, and load the target all the same.
        let back = (jobs[i].verify == Verify::ReadBack).then(|| "then read back what it wrote".to_owned());
        match early.into_iter().chain(back).collect::<Vec<_>>().join(" and ") {
            said if said.is_empty() => name.clone(),
            said => format!("{name}, which {said}"),
        }
    });
    format!("ran at the same time as {}", others.collect::<Vec<_>>().join("; "))
}
