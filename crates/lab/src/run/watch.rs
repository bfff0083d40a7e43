//! The observer of a run as the observer of one of its steps.

use super::RunObserver;
use flashlab_samples::{Interval, JobResult};
use flashlab_target::{Journal, JournalError, Observer, Progress, RunId, StepHeader};
use flashlab_units::Nanos;

/// The series of a job goes to the journal this much at a time: each call of it syncs a disk, perhaps the one
/// that is measured, and a minute is little to lose with a process that is killed.
const SERIES_EVERY: Nanos = Nanos::secs(60);
/// Or so many short intervals, which take a megabyte or two.
const INTERVALS_MAX: usize = 256;

/// Hands the series of a step's jobs on to the journal.
pub(super) struct JobWatch<'a> {
    observer: &'a mut dyn RunObserver,
    journal: &'a mut dyn Journal,
    run: RunId,
    header: &'a StepHeader,
    /// Intervals of each job that the journal does not have yet.
    waiting: Vec<Vec<Interval>>,
    /// How many of them were offered in vain, while others used the journal.
    offered: Vec<usize>,
    /// Why the journal can't keep them; then the jobs are stopped.
    refused: Option<JournalError>,
}

impl<'a> JobWatch<'a> {
    pub(super) fn new(
        observer: &'a mut dyn RunObserver,
        journal: &'a mut dyn Journal,
        run: RunId,
        header: &'a StepHeader,
    ) -> Self {
        let waiting = vec![Vec::new(); header.jobs.len()];
        let offered = vec![0; header.jobs.len()];
        JobWatch { observer, journal, run, header, waiting, offered, refused: None }
    }

    /// Puts what the journal does not have yet into the results, and gives the reason if it could not keep a part.
    pub(super) fn finish(self, results: &mut [JobResult]) -> Option<JournalError> {
        for (result, waiting) in results.iter_mut().zip(self.waiting) {
            result.series.intervals.splice(0..0, waiting);
        }
        self.refused
    }
}

impl Observer for JobWatch<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(progress);
    }

    fn stop_requested(&self) -> bool {
        self.refused.is_some() || self.observer.stop_requested()
    }

    fn interval(&mut self, job: usize, interval: Interval) -> Option<Interval> {
        let (waiting, offered) = (&mut self.waiting[job], &mut self.offered[job]);
        let is_long = |first: &Interval| (interval.start + interval.length).saturating_sub(first.start) >= SERIES_EVERY;
        // After a try in vain as much must come again: each one waits a moment, in which no stop is seen.
        let new = &waiting[*offered..];
        let is_due = new.first().is_some_and(is_long) || new.len() + 1 >= INTERVALS_MAX;
        waiting.push(interval);
        // Those of a short job are kept with its result.
        if is_due && self.refused.is_none() {
            // Jobs stand behind the points in their order.
            match self.journal.keep_intervals(self.run, self.header, job as u32, waiting) {
                Ok(true) => waiting.clear(),
                Ok(false) => {}
                // What could not be kept goes into the result, which is shown.
                Err(error) => self.refused = Some(error),
            }
            *offered = waiting.len();
        }
        None
    }
}
