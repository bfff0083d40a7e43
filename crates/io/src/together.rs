//! Several targets at once, as in a box of drives: each runs its own jobs on a thread of its own, the
//! n-th jobs of all start together, and their sum is taken over the time in which all of them were at
//! work.

use crate::machine::process_cpu;
use crate::target::FileTarget;
use flashlab_samples::{
    CpuTime, DirectionResult, Ended, Granted, HealthLog, Interval, IntervalDirection, JobResult, LatencyHistogram,
    Origin, Series, TargetIdentity,
};
use flashlab_spec::Job;
use flashlab_target::{Observer, Purge, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Makes targets run in step: the n-th job of each begins when all of them have come to it. A target
/// that is dropped, because its run is over or has failed, is waited for no longer; the others go on.
pub fn in_step(targets: Vec<FileTarget>) -> (Vec<Member>, Step) {
    let state = State { members: targets.len(), ..State::default() };
    let step = Step(Arc::new((Mutex::new(state), Condvar::new())));
    let members = targets.into_iter().enumerate();
    let members = members.map(|(place, target)| Member { target, place, step: Step(Arc::clone(&step.0)) });
    (members.collect(), step)
}

/// Where targets meet before each of their jobs, and what became of those jobs.
pub struct Step(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    members: usize,
    waiting: usize,
    /// Jobs that were begun.
    rounds: Vec<Round>,
}

/// One job of each.
struct Round {
    start: Instant,
    cpu: Option<CpuTime>,
    /// CPU time at the last end so far.
    cpu_end: Option<CpuTime>,
    results: Vec<(usize, JobResult)>,
}

/// The sum over all targets whose job came to its end, of the time in which all of them were at work.
/// What a failing target did is left out, and its own result says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Sum {
    /// Targets in it, by their place.
    pub targets: Vec<usize>,
    /// Their reads and writes as one result over whole intervals of the series; trims are in no series
    /// and so not in it. CPU time is that of the process from the common start to the last end.
    pub result: JobResult,
}

impl Step {
    /// The sum of the n-th jobs; `None` if no target came to their end with a series of whole
    /// intervals, or if their ramps differ.
    pub fn sum(&self, n: usize) -> Option<Sum> {
        let state = self.state();
        sum(state.rounds.get(n)?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all have come; the round and the start that all of them have.
    fn meet(&self) -> (usize, Instant) {
        let mut state = self.state();
        let round = state.rounds.len();
        state.waiting += 1;
        self.begin_if_all_are_there(&mut state);
        while state.rounds.len() == round {
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (round, state.rounds[round].start)
    }

    fn begin_if_all_are_there(&self, state: &mut State) {
        if state.waiting > 0 && state.waiting == state.members {
            state.waiting = 0;
            let (start, cpu) = (Instant::now(), process_cpu());
            state.rounds.push(Round { start, cpu, cpu_end: None, results: Vec::new() });
            self.0.1.notify_all();
        }
    }
}

/// One of several targets that run in step.
pub struct Member {
    target: FileTarget,
    place: usize,
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

    /// As of the target alone, but that its CPU time is not known: the process does the others' work too.
    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        let (step, mut round) = (&self.step, 0);
        // Refused or not, a target must come to the meeting, or the others would wait for ever.
        let common = || {
            let (number, start) = step.meet();
            round = number;
            start
        };
        let result = self.target.run_from(job, observer, common)?;
        let result = JobResult { cpu: None, ..result };
        let mut state = self.step.state();
        let round = &mut state.rounds[round];
        round.cpu_end = process_cpu();
        round.results.push((self.place, result.clone()));
        Ok(result)
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

fn sum(round: &Round) -> Option<Sum> {
    let at_work =
        |(_, result): &&(usize, JobResult)| result.ended != Ended::Failed && !result.series.intervals.is_empty();
    let mut whole: Vec<&(usize, JobResult)> = round.results.iter().filter(at_work).collect();
    whole.sort_by_key(|(place, _)| *place);
    // Windows that begin at different times have no common intervals.
    let ramps = || whole.iter().map(|(_, r)| r.ramp);
    if ramps().min() != ramps().max() {
        return None;
    }
    let shortest = whole.iter().map(|(_, r)| r.elapsed).min()?;
    let coarsest = whole.iter().filter_map(|(_, r)| r.series.intervals.first()).map(|i| i.length.0).max()?;
    let window = Nanos(shortest.0 / coarsest * coarsest);
    if window == Nanos::ZERO {
        return None;
    }
    let series = merged(whole.iter().flat_map(|(_, r)| &r.series.intervals).filter(|i| i.start + i.length <= window));
    let mut result = JobResult {
        elapsed: window,
        ramp: ramps().next()?,
        read: direction(series.intervals.iter().map(|i| &i.read)),
        write: direction(series.intervals.iter().map(|i| &i.write)),
        trim: DirectionResult::default(),
        in_flight_mean: None,
        series,
        shares: Vec::new(),
        granted: granted(whole.iter().map(|(_, r)| &r.granted)),
        classes: Vec::new(),
        errors: Vec::new(),
        cpu: round.cpu.zip(round.cpu_end).map(|(begin, end)| CpuTime {
            user: end.user.saturating_sub(begin.user),
            system: end.system.saturating_sub(begin.system),
        }),
        health: None,
        ended: Ended::Completed,
        scale: 1,
        interval_share: None,
    };
    if whole.iter().any(|(_, r)| r.ended == Ended::Interrupted) {
        result.ended = Ended::Interrupted;
    }
    Some(Sum { targets: whole.iter().map(|(place, _)| *place).collect(), result })
}

/// Intervals of the same start as one.
fn merged<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Series {
    let mut all: Vec<Interval> = Vec::new();
    for interval in intervals {
        match all.binary_search_by_key(&interval.start, |known| known.start) {
            Ok(at) => {
                add(&mut all[at].read, &interval.read);
                add(&mut all[at].write, &interval.write);
            }
            Err(at) => all.insert(at, interval.clone()),
        }
    }
    Series { intervals: all }
}

fn add(into: &mut IntervalDirection, from: &IntervalDirection) {
    into.ios += from.ios;
    into.bytes = Bytes(into.bytes.0 + from.bytes.0);
    let mut lat = LatencyHistogram::from_sparse(&into.lat);
    lat.merge(&LatencyHistogram::from_sparse(&from.lat));
    into.lat = lat.to_sparse();
}

fn direction<'a>(intervals: impl Iterator<Item = &'a IntervalDirection>) -> DirectionResult {
    let mut all = DirectionResult::default();
    for interval in intervals {
        all.ios += interval.ios;
        all.bytes = Bytes(all.bytes.0 + interval.bytes.0);
        all.lat.merge(&LatencyHistogram::from_sparse(&interval.lat));
    }
    all
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
