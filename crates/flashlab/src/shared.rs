//! One store for several runs at once.

use flashlab_store::Store;
use flashlab_target::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};
use std::borrow::BorrowMut;
use std::sync::{Mutex, PoisonError};

/// The journal of one of several threads that keep their runs in one store.
pub(crate) struct SharedJournal<'a, S>(pub(crate) &'a Mutex<S>);

impl<S: BorrowMut<Store>> SharedJournal<'_, S> {
    /// A thread that panicked has left the store between two transactions, so that it is still good.
    fn with<T>(&self, call: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        call((*store).borrow_mut())
    }
}

impl<S: BorrowMut<Store>> Journal for SharedJournal<'_, S> {
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError> {
        self.with(|store| store.begin_run(header))
    }
    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError> {
        self.with(|store| store.begin_step(run, step))
    }
    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        self.with(|store| store.commit_step(run, step, outcome))
    }
    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError> {
        self.with(|store| store.end_run(run, end))
    }
}
