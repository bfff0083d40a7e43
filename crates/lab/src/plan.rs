//! A suite resolved against a target: every step with its job, what it writes and how long it takes.

use crate::LabError;
use crate::checkpoint::Placement;
use flashlab_samples::{Origin, TargetKind};
use flashlab_spec::{
    Arrival, CheckpointStep, ConcurrentStep, FillStep, Generator, Job, Region, RoundLength, Rw, SpecError, SteadyRule,
    SteadyStep, Suite, SuiteStep, SweepStep,
};
use flashlab_target::Target;
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use flashlab_workload::named_seed;
use std::collections::BTreeSet;

/// Steps of a plan at most: a suite that expands to more is a slip.
const STEPS_MAX: usize = 10_000;

/// What a plan needs to know of a target; nothing is touched to learn it.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetFacts {
    /// `drive_id` in results.
    pub id: String,
    /// File, loop device, drive or model.
    pub kind: TargetKind,
    /// Measured or modelled.
    pub origin: Origin,
    /// Size in bytes.
    pub capacity: Bytes,
    /// Smallest addressable unit.
    pub logical_block: Bytes,
    /// Space beyond the user capacity, where it is known.
    pub nominal_spare: Option<Bytes>,
    /// Expected rate of writes and its ground.
    pub write_rate: (BytesPerSecond, &'static str),
    /// Expected rate of reads and its ground.
    pub read_rate: (BytesPerSecond, &'static str),
}

impl TargetFacts {
    /// Of an open target.
    pub fn of(target: &dyn Target) -> Self {
        let identity = target.identity();
        TargetFacts {
            id: identity.id.clone(),
            kind: identity.kind,
            origin: target.origin(),
            capacity: identity.capacity,
            logical_block: identity.logical_block,
            nominal_spare: target.nominal_spare(),
            write_rate: target.expected_rate(true),
            read_rate: target.expected_rate(false),
        }
    }
}

/// What the user changes in a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanOptions {
    /// Seed of the run.
    pub seed: u64,
    /// Use this much of the target instead of what the suite says.
    pub size: Option<Bytes>,
    /// Run each point (and each timed round) for this long instead of what the suite says.
    pub runtime: Option<Nanos>,
    /// One load is asked for rather than a suite: its author knows why a region has few transfers and no whole
    /// number of them, and a `runtime` stands beside its amount and passes.
    pub small: bool,
}

/// A suite against a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The suite, with the user's changes.
    pub suite: Suite,
    /// The target.
    pub target: TargetFacts,
    /// The part of the target that is used.
    pub region: Region,
    /// Seed of the run.
    pub seed: u64,
    /// The steps in their order.
    pub steps: Vec<PlannedStep>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// For people.
    pub title: String,
    /// What is done.
    pub kind: StepKind,
    /// What it will write and how long it will take.
    pub estimate: Estimate,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// Purge the target.
    Purge,
    /// Fill the region; reported under the job's workload name as this pass, where it has a number.
    Fill {
        /// The job.
        job: Job,
        /// Number of the fill in this plan, from 1; `None` if the suite named the workload.
        pass: Option<u32>,
    },
    /// One point of a sweep.
    Point {
        /// The job.
        job: Job,
    },
    /// Loads that begin together, each to its own end.
    Concurrent {
        /// Their jobs.
        jobs: Vec<Job>,
    },
    /// One checkpoint of a pass.
    Checkpoint {
        /// The job, with the extents of its files.
        job: Job,
        /// Pass, from 1.
        pass: u32,
        /// Number within the pass, from 1.
        number: u32,
        /// Checkpoints of a pass.
        of: u32,
    },
    /// Rounds until steady.
    Steady {
        /// The job of a round.
        job: Job,
        /// When it is steady.
        rule: SteadyRule,
        /// Written before the first round.
        lead_in: Option<Bytes>,
        /// Whether a rule that is not met is no failure.
        only_report: bool,
    },
}

/// Bytes and time of a step; exact where the step is bounded by them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Bytes written, at most.
    pub writes: Bytes,
    /// Whether `writes` is what will be written, rather than the expected rate times the time.
    pub writes_exact: bool,
    /// Time taken by the target, at most; a modelled drive computes it in less.
    pub time: Nanos,
    /// Whether `time` is what it will take, rather than the bytes at the expected rate.
    pub time_exact: bool,
}

/// Resolves `suite` against a target.
///
/// # Errors
/// [`LabError::Spec`] if a job can't run on the target or the region is too small.
pub fn plan(suite: &Suite, target: &TargetFacts, options: &PlanOptions) -> Result<Plan, LabError> {
    let region = region(suite, target, options)?;
    let mut planner = Planner { suite, target, options, region, steps: Vec::new(), fills: 0, places: BTreeSet::new() };
    for step in &suite.steps {
        match step {
            SuiteStep::Purge => planner.purge(),
            SuiteStep::Fill(fill) => planner.fill(fill)?,
            SuiteStep::Sweep(sweep) => planner.sweep(sweep)?,
            SuiteStep::Concurrent(concurrent) => planner.concurrent(concurrent)?,
            SuiteStep::Steady(steady) => planner.steady(steady)?,
            SuiteStep::Checkpoint(checkpoint) => planner.checkpoint(checkpoint)?,
        }
    }
    let steps = planner.steps;
    Ok(Plan { suite: suite.clone(), target: target.clone(), region, seed: options.seed, steps })
}

/// The part of the target that is used: all of a modelled drive; of a real one what was asked for or
/// the suite allows, in whole blocks of the largest transfer.
fn region(suite: &Suite, target: &TargetFacts, options: &PlanOptions) -> Result<Region, SpecError> {
    if target.origin == Origin::Modelled && options.size.is_none() {
        return Ok(Region { offset: Bytes(0), length: target.capacity });
    }
    let largest = suite.steps.iter().map(block_of).max().unwrap_or(Bytes(1)).max(Bytes(1));
    let wanted = options.size.or(suite.region_max).unwrap_or(target.capacity).min(target.capacity);
    // A single load goes to the last block of the target: its end is what its author says.
    let unit = if options.small { target.logical_block } else { largest };
    let length = Bytes(wanted.0 / unit.0 * unit.0);
    // A region of a few blocks is a cache test; 64 blocks is the least that still spreads offsets.
    let needed = Bytes(if options.small { 0 } else { largest.0.saturating_mul(64) });
    if length < needed {
        return Err(SpecError::TooSmall { workload: format!("suite {}", suite.id), needed, have: wanted });
    }
    Ok(Region { offset: Bytes(0), length })
}

fn block_of(step: &SuiteStep) -> Bytes {
    match step {
        SuiteStep::Purge => Bytes(0),
        SuiteStep::Fill(f) => f.bs,
        SuiteStep::Sweep(s) => s.largest(),
        SuiteStep::Concurrent(s) => s.loads.iter().map(SweepStep::largest).max().unwrap_or_default(),
        SuiteStep::Steady(s) => s.bs,
        SuiteStep::Checkpoint(c) => c.bs,
    }
}

struct Planner<'a> {
    suite: &'a Suite,
    target: &'a TargetFacts,
    options: &'a PlanOptions,
    region: Region,
    steps: Vec<PlannedStep>,
    fills: u32,
    /// Workload, iodepth, numjobs and generator of the results planned since the last fill.
    places: BTreeSet<(String, u32, u32, &'static str)>,
}

impl Planner<'_> {
    fn purge(&mut self) {
        let estimate = Estimate { writes: Bytes(0), writes_exact: true, time: Nanos::ZERO, time_exact: false };
        self.steps.push(PlannedStep { title: "purge".into(), kind: StepKind::Purge, estimate });
    }

    fn fill(&mut self, fill: &FillStep) -> Result<(), SpecError> {
        for _ in 0..fill.passes {
            self.fills += 1;
            let named = fill.workload.clone();
            let pass = named.is_none().then_some(self.fills);
            let mut job = self.job(
                named.unwrap_or_else(|| format!("fill-{}", fill.bs.block_name())),
                Rw::Write,
                fill.bs,
                (fill.iodepth, 1),
            );
            job.amount = Some(self.region.length);
            let title = format!("{}: sequential fill, {} KiB, iodepth {}", job.workload, job.bs.0 >> 10, job.iodepth);
            self.push(title, StepKind::Fill { job, pass }, None)?;
        }
        Ok(())
    }

    fn sweep(&mut self, sweep: &SweepStep) -> Result<(), SpecError> {
        // Threads stand for jobs of one outstanding I/O each.
        let one = [1];
        let (depths, jobs) = if sweep.threads.is_empty() {
            (sweep.iodepth.as_slice(), sweep.numjobs.as_slice())
        } else {
            (one.as_slice(), sweep.threads.as_slice())
        };
        for iodepth in depths {
            for numjobs in jobs {
                let job = self.point(sweep, (*iodepth, *numjobs))?;
                self.push(title_of(sweep, &job), StepKind::Point { job }, None)?;
            }
        }
        Ok(())
    }

    /// The job at one point of a sweep.
    fn point(&self, sweep: &SweepStep, (iodepth, numjobs): (u32, u32)) -> Result<Job, SpecError> {
        let mut job = Job { seed: self.seed(), ..sweep.job(iodepth, numjobs, self.region)? };
        // A time from the command line ends the point of a suite instead of what the suite says; a load keeps its
        // own ends, and the first of them counts.
        if let Some(runtime) = self.options.runtime {
            let kept = if self.options.small { (job.amount, job.passes) } else { (None, None) };
            (job.runtime, job.amount, job.passes) = (Some(runtime), kept.0, kept.1);
        }
        Ok(job)
    }

    fn concurrent(&mut self, step: &ConcurrentStep) -> Result<(), SpecError> {
        let (mut jobs, mut titles) = (Vec::new(), Vec::new());
        for (i, load) in (0..).zip(&step.loads) {
            let one = |axis: &[u32]| axis.first().copied().unwrap_or(1);
            let numjobs = if load.threads.is_empty() { one(&load.numjobs) } else { one(&load.threads) };
            let job = self.point(load, (one(&load.iodepth), numjobs))?;
            // Each has a stream of its own.
            let job = Job { seed: named_seed(job.seed, "load", i), ..job };
            titles.push(title_of(load, &job));
            jobs.push(job);
        }
        if self.target.origin == Origin::Modelled {
            return Err(SpecError::Job {
                workload: titles.join(" and "),
                reason: format!("{} is a modelled drive, which runs one load at a time", self.target.id),
                remedy: "use one mixed load (randrw with rwmixread), or run it on a file or loop device".into(),
            });
        }
        self.push(format!("{}, at the same time", titles.join(" and ")), StepKind::Concurrent { jobs }, None)
    }

    fn checkpoint(&mut self, step: &CheckpointStep) -> Result<(), SpecError> {
        let in_proportion = self.target.origin != Origin::Modelled;
        let placement = Placement::new(step, &self.target.id, self.region, in_proportion)?;
        for pass in 1..=step.passes {
            for number in 1..=placement.count {
                let mut job = self.job(step.workload.clone(), Rw::Write, step.bs, (step.iodepth, step.ranks));
                job.generator = Generator::Checkpoint;
                job.amount = Some(placement.checkpoint_bytes());
                job.extents = placement.extents(pass - 1, number - 1, self.options.seed);
                let of = placement.count;
                let title = format!("{} {number} of {of}, pass {pass}", step.workload);
                self.push(title, StepKind::Checkpoint { job, pass, number, of }, None)?;
            }
        }
        Ok(())
    }

    fn steady(&mut self, steady: &SteadyStep) -> Result<(), SpecError> {
        let mut job = self.job(steady.workload.clone(), steady.rw, steady.bs, (steady.iodepth, steady.numjobs));
        match steady.round {
            RoundLength::Time(time) => job.runtime = Some(self.options.runtime.unwrap_or(time)),
            RoundLength::CapacityShare(share) => {
                let blocks = (self.region.length.0 as f64 * share / job.bs.0 as f64).ceil() as u64;
                job.amount = Some(Bytes(blocks.max(1) * job.bs.0));
            }
        }
        let lead_in = steady.lead_in_spare.then_some(self.target.nominal_spare).flatten();
        let title = format!(
            "{} iodepth {}, numjobs {}: rounds until steady, at most {}",
            steady.workload, steady.iodepth, steady.numjobs, steady.rule.rounds_max
        );
        self.push(title, StepKind::Steady { job, rule: steady.rule, lead_in, only_report: steady.only_report }, lead_in)
    }

    fn job(&self, workload: String, rw: Rw, bs: Bytes, (iodepth, numjobs): (u32, u32)) -> Job {
        Job { rwmixread: 0, iodepth, numjobs, seed: self.seed(), ..Job::new(workload, rw, bs, self.region) }
    }

    /// Each step has a stream of its own: equal streams would write the same blocks again.
    fn seed(&self) -> u64 {
        named_seed(self.options.seed, &self.suite.id, self.steps.len() as u64)
    }

    fn push(&mut self, title: String, kind: StepKind, lead_in: Option<Bytes>) -> Result<(), SpecError> {
        for job in kind.jobs() {
            job.validate(self.target.logical_block, self.target.capacity)?;
        }
        // Asked at each step: a short suite can expand to more steps than memory holds.
        if self.steps.len() == STEPS_MAX {
            return Err(SpecError::Job {
                workload: format!("suite {}", self.suite.id),
                reason: format!("it expands to more than {STEPS_MAX} steps"),
                remedy: "shorten the lists of iodepth and numjobs, or split the suite".into(),
            });
        }
        let mut estimate = self.estimate(&kind);
        self.take_places(&kind)?;
        if let Some(lead_in) = lead_in {
            estimate.writes.0 += lead_in.0;
            estimate.time += self.target.write_rate.0.time_for(lead_in);
            estimate.time_exact = false;
        }
        self.steps.push(PlannedStep { title, kind, estimate });
        Ok(())
    }

    /// Two results at one place of the table could not be told apart. After a purge or a fill the state
    /// is another, and the same points may be taken again.
    fn take_places(&mut self, kind: &StepKind) -> Result<(), SpecError> {
        if !matches!(kind, StepKind::Point { .. } | StepKind::Concurrent { .. } | StepKind::Steady { .. }) {
            self.places.clear();
            return Ok(());
        }
        for job in kind.jobs() {
            if !self.places.insert((job.workload.clone(), job.iodepth, job.numjobs, job.generator.word())) {
                return Err(SpecError::Job {
                    workload: job.workload.clone(),
                    reason: format!("iodepth {}, numjobs {} stands in the suite twice", job.iodepth, job.numjobs),
                    remedy: "give one of the two another workload name, or leave it out".into(),
                });
            }
        }
        Ok(())
    }

    /// What a step writes and how long it takes; of jobs at the same time, what all write and the longest time.
    fn estimate(&self, kind: &StepKind) -> Estimate {
        let repeats = match kind {
            StepKind::Steady { rule, .. } => u64::from(rule.rounds_max),
            _ => 1,
        };
        let mut all = NOTHING;
        for one in kind.jobs().iter().map(|job| self.of_a_job(job, repeats)) {
            all = all.and(&one, all.time.max(one.time));
        }
        all
    }

    fn of_a_job(&self, job: &Job, repeats: u64) -> Estimate {
        let rate = self.pace(job);
        let times = |n: u64| n.saturating_mul(repeats);
        let asked = job.bytes_to_end();
        let (time, bytes) = match (job.runtime, asked) {
            (None, None) if job.replay.is_some() => return self.estimate_of_replay(job),
            (None, asked) => {
                let bytes = Bytes(times(asked.unwrap_or_default().0));
                (rate.time_for(bytes), bytes)
            }
            // What comes first ends it.
            (Some(time), asked) => {
                let whole = Nanos(times(time.0 + job.ramp.0));
                let most = asked.map_or(Bytes(u64::MAX), |asked| Bytes(times(asked.0)));
                let bytes = Bytes((rate.0 * whole.as_secs_f64()) as u64).min(most);
                (whole.min(asked.map_or(whole, |_| rate.time_for(most))), bytes)
            }
        };
        let [_, share, _] = job.mix();
        Estimate {
            writes: Bytes((u128::from(bytes.0) * u128::from(share) / 100) as u64),
            // Of a mix each request is drawn.
            writes_exact: share == 0 || (share == 100 && job.runtime.is_none()),
            time,
            time_exact: job.runtime.is_some() && asked.is_none(),
        }
    }

    /// What the target gives, or what the job asks for where that is less.
    fn pace(&self, job: &Job) -> BytesPerSecond {
        let most = if job.rw.writes() { self.target.write_rate.0 } else { self.target.read_rate.0 };
        match job.arrival {
            Arrival::Fixed(rate) | Arrival::Poisson(rate) => {
                let ios = rate.ios as f64 / rate.per.as_secs_f64() * f64::from(job.numjobs);
                BytesPerSecond(most.0.min(ios * job.bs.0 as f64))
            }
            Arrival::Closed | Arrival::Recorded { .. } => most,
        }
    }
}

impl Planner<'_> {
    /// A list that is played once: what it writes is known, and where it has times, how long it takes at least.
    fn estimate_of_replay(&self, job: &Job) -> Estimate {
        let Some(replay) = &job.replay else { unreachable!("only jobs with a list come here") };
        let [read, write, _] = replay.bytes();
        let moved = self.target.read_rate.0.time_for(read) + self.target.write_rate.0.time_for(write);
        let time = match job.arrival {
            Arrival::Recorded { time_percent } => {
                Nanos((u128::from(replay.summary().span.0) * u128::from(time_percent) / 100) as u64)
            }
            _ => moved,
        };
        Estimate { writes: write, writes_exact: true, time, time_exact: false }
    }
}

/// A point of a sweep for people.
fn title_of(sweep: &SweepStep, job: &Job) -> String {
    if sweep.threads.is_empty() {
        format!("{} iodepth {}, numjobs {}", job.workload, job.iodepth, job.numjobs)
    } else {
        format!("{} threads {}", job.workload, job.numjobs)
    }
}

impl StepKind {
    /// The job that the step runs, or those that run at the same time; a purge runs none.
    pub fn jobs(&self) -> &[Job] {
        match self {
            StepKind::Purge => &[],
            StepKind::Concurrent { jobs } => jobs,
            StepKind::Fill { job, .. }
            | StepKind::Point { job }
            | StepKind::Checkpoint { job, .. }
            | StepKind::Steady { job, .. } => std::slice::from_ref(job),
        }
    }
}

/// Where a sum begins.
const NOTHING: Estimate = Estimate { writes: Bytes(0), writes_exact: true, time: Nanos::ZERO, time_exact: true };

impl Estimate {
    /// Both, which take this long together.
    fn and(&self, other: &Estimate, time: Nanos) -> Estimate {
        Estimate {
            writes: Bytes(self.writes.0.saturating_add(other.writes.0)),
            writes_exact: self.writes_exact && other.writes_exact,
            time,
            time_exact: self.time_exact && other.time_exact,
        }
    }
}

impl Plan {
    /// All steps together.
    pub fn total(&self) -> Estimate {
        self.steps.iter().map(|step| step.estimate).fold(NOTHING, |all, one| all.and(&one, all.time + one.time))
    }

    /// Whether any step writes.
    pub fn writes(&self) -> bool {
        // By kind, never by an estimate, which may round to nothing.
        self.steps.iter().any(|s| s.kind == StepKind::Purge || s.kind.jobs().iter().any(|job| job.rw.writes()))
    }
}
