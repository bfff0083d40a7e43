//! A target, a journal and a watcher that do nothing but note what they are asked, in one list. No
//! test here sleeps or measures: each figure follows from the answers that a test sets.

#![allow(dead_code, reason = "each test program uses a part of it")]

use flashlab_lab::{Finished, LabError, Plan, PlanOptions, RunObserver, TargetFacts, plan, run_plan};
use flashlab_samples::{
    BuildInfo, DirectionResult, DriveState, Ended, ErrorCount, Granted, HealthLog, Interval, IntervalDirection,
    JobResult, Origin, Provenance, Series, TargetIdentity, TargetKind,
};
use flashlab_spec::{Job, Suite};
use flashlab_target::{
    Journal, JournalError, Observer, Progress, Purge, RunEnd, RunHeader, RunId, StepHeader, StepOutcome, Target,
    TargetError,
};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Everything that was called, in order.
pub(crate) type Calls = Rc<RefCell<Vec<String>>>;
/// What the target says to the job with this number, from 0.
pub(crate) type Answer = Box<dyn FnMut(usize, &Job) -> Result<JobResult, TargetError>>;

/// 1 MiB of capacity is 8 blocks of 128K or 256 of 4K.
pub(crate) const CAPACITY: Bytes = Bytes::mib(64);

/// A job that did `ios` I/Os in one second, each in 100 us.
pub(crate) fn clean(job: &Job, ios: u64) -> JobResult {
    let mut done = DirectionResult { ios, bytes: Bytes(ios * job.bs.0), ..Default::default() };
    done.lat.record_n(Nanos::micros(100), ios);
    let (read, write) = if job.rw.writes() { (Default::default(), done) } else { (done, Default::default()) };
    JobResult {
        elapsed: Nanos::secs(1),
        ramp: Nanos::ZERO,
        read,
        write,
        trim: DirectionResult::default(),
        in_flight_mean: None,
        series: Series::default(),
        classes: vec![],
        shares: vec![],
        granted: Granted::default(),
        errors: vec![],
        cpu: None,
        health: None,
        ended: Ended::Completed,
        scale: 1,
        interval_share: None,
    }
}

/// A job that a stop ended early.
pub(crate) fn stopped(job: &Job) -> JobResult {
    JobResult { ended: Ended::Interrupted, ..clean(job, 7) }
}

/// A job that met three I/O errors.
pub(crate) fn with_errors(job: &Job) -> JobResult {
    let error = ErrorCount { kind: "EIO".into(), count: 3, first_offset: Some(Bytes(8192)), addresses: vec![] };
    JobResult { ended: Ended::Failed, errors: vec![error], ..clean(job, 7) }
}

/// A target that gave no result.
pub(crate) fn gone() -> TargetError {
    TargetError::NotGranted { what: "io_uring", reason: "refused".into(), remedy: "allow it".into() }
}

pub(crate) struct MockTarget {
    identity: TargetIdentity,
    pub(crate) origin: Origin,
    pub(crate) spare: Option<Bytes>,
    pub(crate) purge: Purge,
    pub(crate) answer: Answer,
    pub(crate) jobs: Vec<Job>,
    /// Seconds of each job's series.
    pub(crate) seconds: u64,
    /// Whether a job was asked to stop at its end.
    pub(crate) stopped: bool,
    calls: Calls,
}

impl Target for MockTarget {
    fn identity(&self) -> &TargetIdentity {
        &self.identity
    }
    fn origin(&self) -> Origin {
        self.origin
    }
    fn purge(&mut self) -> Result<Purge, TargetError> {
        self.calls.borrow_mut().push("purge".into());
        Ok(self.purge.clone())
    }
    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        self.one(0, job, observer)
    }
    fn run_at_once(&mut self, jobs: &[Job], observer: &mut dyn Observer) -> Result<Vec<JobResult>, TargetError> {
        jobs.iter().enumerate().map(|(place, job)| self.one(place, job, observer)).collect()
    }
    fn health(&mut self) -> Result<Option<HealthLog>, TargetError> {
        Ok(None)
    }
    fn nominal_spare(&self) -> Option<Bytes> {
        self.spare
    }
    fn expected_rate(&self, writes: bool) -> (BytesPerSecond, &'static str) {
        (BytesPerSecond(if writes { 1e6 } else { 2e6 }), "for the test")
    }
}

impl MockTarget {
    fn one(&mut self, place: usize, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        self.calls.borrow_mut().push(format!("job {} {}/{}", job.workload, job.iodepth, job.numjobs));
        observer.progress(&Progress { share: Some(0.5), bytes: Bytes(0), rate: None, left: None });
        self.jobs.push(job.clone());
        for second in 0..self.seconds {
            let none = IntervalDirection::default();
            let (read, write, trim) = (none.clone(), none.clone(), none);
            let start = Nanos::secs(second);
            let back = observer.interval(place, Interval { start, length: Nanos::secs(1), read, write, trim });
            assert_eq!(back, None, "the lab keeps series");
        }
        self.stopped = observer.stop_requested();
        (self.answer)(self.jobs.len() - 1, job)
    }
}

pub(crate) struct MockJournal {
    calls: Calls,
    pub(crate) kept: Vec<(StepHeader, StepOutcome)>,
    pub(crate) ends: Vec<RunEnd>,
    /// Commits that work; the next one fails.
    pub(crate) room: usize,
    /// Intervals that were kept while jobs ran.
    pub(crate) series: Vec<(u32, Interval)>,
    /// Calls that others keep from keeping intervals.
    pub(crate) busy: usize,
    /// Intervals that still fit.
    pub(crate) interval_room: usize,
}

impl Journal for MockJournal {
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError> {
        self.calls.borrow_mut().push(format!("begin run of {}", header.steps));
        Ok(RunId(41))
    }
    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError> {
        assert_eq!(run, RunId(41));
        self.calls.borrow_mut().push(format!("begin {}.{}", step.index, step.round));
        Ok(())
    }
    fn keep_intervals(
        &mut self,
        run: RunId,
        step: &StepHeader,
        point: u32,
        intervals: &[Interval],
    ) -> Result<bool, JournalError> {
        assert_eq!(run, RunId(41));
        let (index, round, n) = (step.index, step.round, intervals.len());
        if self.busy > 0 {
            self.busy -= 1;
            return Ok(false);
        }
        if n > self.interval_room {
            let (path, action) = ("store.db".to_owned(), "keep intervals");
            return Err(JournalError { path, action, reason: "no space".into(), remedy: "free some".into() });
        }
        self.interval_room -= n;
        self.calls.borrow_mut().push(format!("{n} intervals {index}.{round}, point {point}"));
        self.series.extend(intervals.iter().map(|interval| (point, interval.clone())));
        Ok(true)
    }
    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        assert_eq!(run, RunId(41));
        if self.kept.len() == self.room {
            let (path, action) = ("store.db".to_owned(), "keep a step");
            return Err(JournalError { path, action, reason: "no space".into(), remedy: "free some".into() });
        }
        self.calls.borrow_mut().push(format!("keep {}.{}", step.index, step.round));
        self.kept.push((step.clone(), outcome.clone()));
        Ok(())
    }
    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError> {
        assert_eq!(run, RunId(41));
        self.calls.borrow_mut().push("end run".into());
        self.ends.push(end.clone());
        Ok(())
    }
}

/// Asks for a stop once this many steps are kept.
struct Watcher {
    stop_after: Option<usize>,
    kept: Cell<usize>,
    begun: Vec<String>,
    lost: Vec<StepOutcome>,
}

impl Observer for Watcher {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        self.stop_after.is_some_and(|after| self.kept.get() >= after)
    }
}

impl RunObserver for Watcher {
    fn step_begins(&mut self, index: u32, of: u32, round: u32, _title: &str) {
        self.begun.push(format!("{index} of {of}, round {round}"));
    }
    fn step_kept(&mut self, _outcome: &StepOutcome) {
        self.kept.set(self.kept.get() + 1);
    }
    fn step_lost(&mut self, _step: &StepHeader, outcome: &StepOutcome) {
        self.lost.push(outcome.clone());
    }
}

/// A whole run with all of its parts.
pub(crate) struct Lab {
    pub(crate) target: MockTarget,
    pub(crate) journal: MockJournal,
    pub(crate) calls: Calls,
    /// Ask for a stop once this many steps are kept.
    pub(crate) stop_after: Option<usize>,
    /// What the watcher was told.
    pub(crate) begun: Vec<String>,
    /// What could not be kept.
    pub(crate) lost: Vec<StepOutcome>,
}

impl Lab {
    /// On a measured file that answers each job with 100 I/Os.
    pub(crate) fn new() -> Self {
        let calls = Calls::default();
        let target = MockTarget {
            identity: identity(),
            origin: Origin::Measured,
            spare: None,
            purge: Purge::Purged,
            answer: Box::new(|_, job| Ok(clean(job, 100))),
            jobs: vec![],
            seconds: 0,
            stopped: false,
            calls: Rc::clone(&calls),
        };
        let journal = MockJournal {
            calls: Rc::clone(&calls),
            kept: vec![],
            ends: vec![],
            room: usize::MAX,
            series: vec![],
            busy: 0,
            interval_room: usize::MAX,
        };
        Lab { target, journal, calls, stop_after: None, begun: vec![], lost: vec![] }
    }

    /// With another answer to the jobs.
    pub(crate) fn answering(
        mut self,
        answer: impl FnMut(usize, &Job) -> Result<JobResult, TargetError> + 'static,
    ) -> Self {
        self.target.answer = Box::new(answer);
        self
    }

    /// Plans and runs a suite made of these steps.
    pub(crate) fn run(&mut self, steps: &str) -> Result<Finished, LabError> {
        let plan = plan(&suite(steps), &TargetFacts::of(&self.target), &PlanOptions { seed: 5, ..Default::default() });
        self.run_plan(&plan.expect("a suite that fits"))
    }

    pub(crate) fn run_plan(&mut self, plan: &Plan) -> Result<Finished, LabError> {
        let mut watcher = Watcher { stop_after: self.stop_after, kept: Cell::new(0), begun: vec![], lost: vec![] };
        let provenance = provenance(self.target.origin, self.target.identity.clone());
        let finished = run_plan(plan, &mut self.target, &mut self.journal, &provenance, &mut watcher);
        (self.begun, self.lost) = (watcher.begun, watcher.lost);
        finished
    }
}

fn identity() -> TargetIdentity {
    TargetIdentity {
        kind: TargetKind::File,
        id: "mock".into(),
        path: None,
        model: None,
        serial: None,
        firmware: None,
        profile_sha256: None,
        capacity: CAPACITY,
        logical_block: Bytes(512),
    }
}

fn provenance(origin: Origin, target: TargetIdentity) -> Provenance {
    let build = BuildInfo { tool: "flashlab".into(), version: "0".into(), commit: None };
    Provenance {
        origin,
        build,
        seed: 5,
        started: None,
        host: None,
        kernel: None,
        target,
        state_before: DriveState::UNKNOWN,
    }
}

/// A suite named `t` with these steps.
pub(crate) fn suite(steps: &str) -> Suite {
    Suite::parse(&format!("id = 't'\ntitle = 't'\npurpose = 't'\n{steps}"), "t.toml").expect("a good suite")
}

/// The text of a sweep step.
pub(crate) fn sweep(workload: &str, rw: &str, bs: &str, iodepth: &str, numjobs: &str) -> String {
    format!(
        "[[step]]\ndo = 'sweep'\nworkload = '{workload}'\nrw = '{rw}'\nbs = '{bs}'\niodepth = {iodepth}\n\
         numjobs = {numjobs}\nruntime = '30s'\n"
    )
}

/// The text of a step of a reader and a writer at the same time.
pub(crate) const AT_ONCE: &str = "[[step]]\ndo = 'concurrent'\n\
    [[step.load]]\nworkload = 'reader'\nrw = 'randread'\nbs = '4KiB'\niodepth = 1\nnumjobs = 1\nruntime = '30s'\n\
    [[step.load]]\nworkload = 'writer'\nrw = 'write'\nbs = '128KiB'\niodepth = 4\nnumjobs = 2\nruntime = '20s'\n";

/// The text of a fill step.
pub(crate) fn fill(bs: &str, passes: u32) -> String {
    format!("[[step]]\ndo = 'fill'\nbs = '{bs}'\niodepth = 16\npasses = {passes}\n")
}

/// The text of a purge step.
pub(crate) const PURGE: &str = "[[step]]\ndo = 'purge'\n";
