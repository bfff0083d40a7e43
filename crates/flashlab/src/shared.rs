//! One store for several runs at once.

use flashlab_store::Store;
use flashlab_target::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The journal of one of several threads that keep their runs in one store.
pub(crate) struct SharedJournal<'a>(pub(crate) &'a Mutex<Store>);

impl SharedJournal<'_> {
    /// A thread that panicked has left the store between two transactions, so that it is still good.
    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for SharedJournal<'_> {
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError> {
        self.store().begin_run(header)
    }
    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError> {
        self.store().begin_step(run, step)
    }
    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        self.store().commit_step(run, step, outcome)
    }
    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError> {
        self.store().end_run(run, end)
    }
}
