//! Several targets at once, as in a box of drives: each runs its own jobs on a thread of its own, those
//! at the same place of their plans start together, and their sum is taken over the time in which all of
//! them were at work. Where several jobs run at the same time on each, each of these has a sum of its own.

use crate::machine::process_cpu;
use crate::target::{FileTarget, only};
use flashlab_samples::{
    CpuTime, DirectionResult, Ended, ErrorCount, Granted, HealthLog, Interval, IntervalDirection, JobResult,
    LatencyHistogram, Origin, Series, TargetIdentity,
};
use flashlab_spec::Job;
use flashlab_target::{Observer, Purge, StepPlace, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Makes targets run in step: a job begins when all targets have come to it, or to a later one. Where some
/// are at a later place of their plan, such as those that were steady after fewer rounds, they wait for the
/// others. A target that is dropped, because its run is over or has failed, is waited for no longer.
pub fn in_step(targets: Vec<FileTarget>) -> (Vec<Member>, Step) {
    let state = State { members: targets.len(), ..State::default() };
    let step = Step(Arc::new((Mutex::new(state), Condvar::new())));
    let members = targets.into_iter().enumerate();
    let members = members.map(|(number, target)| {
        let step = Step(Arc::clone(&step.0));
        Member { target, number, at: StepPlace::default(), step }
    });
    (members.collect(), step)
}

/// Where targets meet before each of their jobs, and what became of those jobs.
pub struct Step(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    members: usize,
    /// Where members wait.
    waiting: Vec<StepPlace>,
    /// Jobs that were begun.
    rounds: BTreeMap<StepPlace, Round>,
}

/// The jobs of all members at one place.
struct Round {
    start: Instant,
    cpu: Option<CpuTime>,
    /// CPU time at the last end so far.
    cpu_end: Option<CpuTime>,
    parts: Vec<Part>,
}

/// What one job adds to a sum, but for its series.
struct Part {
    number: usize,
    /// Position among the jobs that ran at the same time on its target.
    load: usize,
    elapsed: Nanos,
    ramp: Nanos,
    /// Length of the intervals of its series.
    interval: Nanos,
    ended: Ended,
    errors: Vec<ErrorCount>,
    granted: Granted,
}

/// The sum over all targets whose job at a place came to its end, of the time in which all of them were
/// at work. What a failing target did is left out, and its own result says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Targets in it, by their number.
    pub targets: Vec<usize>,
    /// Whole intervals of their series that lie within the window.
    pub intervals: u64,
    /// Their I/Os as one result, as far as they were [added](Sum::add). CPU time is that of the process
    /// from the common start to the last end; `None` if it is of other jobs too.
    pub result: JobResult,
}

impl Sum {
    /// Adds an interval of the window, already merged over all targets. The series itself is not kept.
    pub fn add(&mut self, interval: &Interval) {
        let JobResult { read, write, trim, .. } = &mut self.result;
        [read, write, trim].into_iter().zip(interval.directions()).for_each(|(into, from)| add(into, from));
    }
}

impl Step {
    /// Where jobs were begun, in order.
    pub fn places(&self) -> Vec<StepPlace> {
        self.state().rounds.keys().copied().collect()
    }

    /// The sum at a place of the jobs at this position among those that ran at the same time (0 where there is
    /// one), of the targets among `targets`; the intervals are still to be added. `None` if none of these came
    /// to its end there after a whole interval, or if their ramps or the lengths of their intervals differ.
    pub fn sum(&self, place: StepPlace, load: usize, targets: &[usize]) -> Option<Sum> {
        sum(self.state().rounds.get(&place)?, load, targets)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all have come here or further; the start that all of them have.
    fn meet(&self, place: StepPlace) -> Instant {
        let mut state = self.state();
        state.waiting.push(place);
        self.begin_if_all_are_there(&mut state);
        loop {
            if let Some(round) = state.rounds.get(&place) {
                return round.start;
            }
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn begin_if_all_are_there(&self, state: &mut State) {
        let Some(place) = state.waiting.iter().min().copied().filter(|_| state.waiting.len() == state.members) else {
            return;
        };
        state.waiting.retain(|other| *other != place);
        let (start, cpu) = (Instant::now(), process_cpu());
        state.rounds.insert(place, Round { start, cpu, cpu_end: None, parts: Vec::new() });
        self.0.1.notify_all();
    }
}

/// One of several targets that run in step.
pub struct Member {
    target: FileTarget,
    number: usize,
    at: StepPlace,
    step: Step,
}

impl Target for Member {
    fn identity(&self) -> &TargetIdentity {
        self.target.identity()
    }

    fn origin(&self) -> Origin {
        self.target.origin()
    }

    fn purge(&mut self) -> Result<Purge, TargetError> {
        self.target.purge()
    }

    fn check(&self, steps: &[&[Job]]) -> Result<(), TargetError> {
        self.target.check(steps)
    }

    fn begins(&mut self, place: StepPlace) {
        self.at = place;
    }

    /// As of the target alone, but that its CPU time is not known: the process does the others' work too.
    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        only(self.run_at_once(std::slice::from_ref(job), observer))
    }

    fn run_at_once(&mut self, jobs: &[Job], observer: &mut dyn Observer) -> Result<Vec<JobResult>, TargetError> {
        // Refused or not, a target must come to the meeting, or the others would wait for ever.
        let mut results = self.target.run_from(jobs, observer, || self.step.meet(self.at))?;
        results.iter_mut().for_each(|result| result.cpu = None);
        let mut state = self.step.state();
        if let Some(round) = state.rounds.get_mut(&self.at) {
            round.cpu_end = process_cpu();
            round.parts.extend(results.iter().enumerate().map(|(load, result)| Part {
                number: self.number,
                load,
                elapsed: result.elapsed,
                ramp: result.ramp,
                interval: self.target.interval(),
                ended: result.ended,
                errors: result.errors.clone(),
                granted: result.granted.clone(),
            }));
        }
        Ok(results)
    }

    fn health(&mut self) -> Result<Option<HealthLog>, TargetError> {
        self.target.health()
    }

    fn nominal_spare(&self) -> Option<Bytes> {
        self.target.nominal_spare()
    }

    fn expected_rate(&self, writes: bool) -> (BytesPerSecond, &'static str) {
        self.target.expected_rate(writes)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = self.step.state();
        state.members -= 1;
        self.step.begin_if_all_are_there(&mut state);
    }
}

fn sum(round: &Round, load: usize, targets: &[usize]) -> Option<Sum> {
    let is_whole = |part: &&Part| part.load == load && part.ended != Ended::Failed && targets.contains(&part.number);
    let mut whole: Vec<&Part> = round.parts.iter().filter(is_whole).collect();
    whole.sort_by_key(|part| part.number);
    // Windows that begin at different times, or are cut in another way, have no common intervals.
    let first = whole.first()?;
    if whole.iter().any(|part| (part.ramp, part.interval) != (first.ramp, first.interval)) {
        return None;
    }
    let intervals = whole.iter().map(|part| part.elapsed.0 / part.interval.0).min().filter(|n| *n > 0)?;
    let is_alone = round.parts.iter().all(|part| part.load == load);
    let is_a_part = whole.iter().any(|part| part.ended == Ended::Interrupted);
    let result = JobResult {
        elapsed: Nanos(intervals * first.interval.0),
        ramp: first.ramp,
        read: DirectionResult::default(),
        write: DirectionResult::default(),
        trim: DirectionResult::default(),
        in_flight_mean: None,
        series: Series::default(),
        shares: Vec::new(),
        granted: granted(whole.iter().map(|part| &part.granted)),
        classes: Vec::new(),
        errors: errors(&whole),
        cpu: round.cpu.zip(round.cpu_end).filter(|_| is_alone).map(|(begin, end)| CpuTime {
            user: end.user.saturating_sub(begin.user),
            system: end.system.saturating_sub(begin.system),
        }),
        health: None,
        ended: if is_a_part { Ended::Interrupted } else { Ended::Completed },
        scale: 1,
        interval_share: None,
    };
    Some(Sum { targets: whole.iter().map(|part| part.number).collect(), intervals, result })
}

/// Errors of all by kind; an offset says nothing where there are several targets.
fn errors(parts: &[&Part]) -> Vec<ErrorCount> {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for error in parts.iter().flat_map(|part| &part.errors) {
        *all.entry(&error.kind).or_default() += error.count;
    }
    let count = |(kind, count): (&str, u64)| ErrorCount {
        kind: kind.to_owned(),
        count,
        first_offset: None,
        addresses: Vec::new(),
    };
    all.into_iter().map(count).collect()
}

fn add(into: &mut DirectionResult, from: &IntervalDirection) {
    into.ios += from.ios;
    into.bytes = Bytes(into.bytes.0 + from.bytes.0);
    into.lat.merge(&LatencyHistogram::from_sparse(&from.lat));
}

/// In force is what was so for all of them.
fn granted<'a>(mut each: impl Iterator<Item = &'a Granted>) -> Granted {
    let mut all = each.next().cloned().unwrap_or_default();
    for one in each {
        all.features.retain(|feature| one.features.contains(feature));
        all.direct = if all.direct == one.direct { all.direct } else { Some(false) };
        let news = one.refused.iter().filter(|text| !all.refused.contains(text)).cloned();
        let news: Vec<String> = news.collect();
        all.refused.extend(news);
    }
    all
}
