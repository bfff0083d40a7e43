//! One store for several runs at once.

use flashlab_samples::Interval;
use flashlab_store::Store;
use flashlab_target::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};
use std::borrow::BorrowMut;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError, TryLockError};

/// The journal of one of several threads that keep their runs in one store.
pub(crate) struct SharedJournal<'a, S> {
    store: &'a Mutex<S>,
    /// Who waits for the number of the run.
    begun: Option<Sender<RunId>>,
}

impl<S: BorrowMut<Store>> SharedJournal<'_, S> {
    /// A thread that panicked has left the store between two transactions, so that it is still good.
    /// On a store.
    pub(crate) fn new(store: &'_ Mutex<S>) -> SharedJournal<'_, S> {
        SharedJournal { store, begun: None }
    }

    /// The same, and a receiver of the run's number; it ends without one if the run never began.
    pub(crate) fn telling(store: &'_ Mutex<S>) -> (SharedJournal<'_, S>, Receiver<RunId>) {
        let (begun, told) = channel();
        (SharedJournal { store, begun: Some(begun) }, told)
    }

    fn with<T>(&self, call: impl FnOnce(&mut Store) -> T) -> T {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        call((*store).borrow_mut())
    }
}

impl<S: BorrowMut<Store>> Journal for SharedJournal<'_, S> {
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError> {
        let begun = self.begun.take();
        let run = self.with(|store| store.begin_run(header))?;
        // Nobody has to listen.
        let _ = begun.map(|begun| begun.send(run));
        Ok(run)
    }
    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError> {
        self.with(|store| store.begin_step(run, step))
    }
    fn keep_intervals(
        &mut self,
        run: RunId,
        step: &StepHeader,
        point: u32,
        intervals: &[Interval],
    ) -> Result<bool, JournalError> {
        // Nor does it wait for the other threads.
        let mut store = match self.store.try_lock() {
            Ok(store) => store,
            Err(TryLockError::Poisoned(store)) => store.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(false),
        };
        (*store).borrow_mut().keep_intervals(run, step, point, intervals)
    }
    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        self.with(|store| store.commit_step(run, step, outcome))
    }
    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError> {
        self.with(|store| store.end_run(run, end))
    }
}
