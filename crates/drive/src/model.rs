//! The modelled drive as a target.

use crate::duration;
use crate::engine::{self, Counters, Goal, Limit, Order, Stop, writes_data};
use crate::ftl::{Collected, Ftl, Policy, UNMAPPED, Victims};
use crate::replay::{self, Footprint};
use crate::scale::{Geometry, MAPPED_UNITS_MAX};
use crate::time::{Ps, ps};
use flashlab_samples::{Ended, Granted, HealthLog, JobResult, Origin, Series, TargetIdentity, TargetKind};
use flashlab_spec::{
    DriveProfile, Feature, Hosts, Isolation, Job, Pattern, Region, RoundLength, Rw, SpecError, SteadyStep, Suite,
    SuiteStep, VictimChoice,
};
use flashlab_target::{Observer, Purge, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use flashlab_workload::named_seed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Interval that ends a read job where the suite does not say: ±0.5 % of the mean latency.
const INTERVAL_SHARE: f64 = 0.005;
/// The usual length of a point.
const POINT: Nanos = Nanos::secs(30);
/// A write point lasts at least this many buffers after the first, unmeasured one.
const BUFFERS_MEASURED: u64 = 3;
/// As many shortest points a checkpoint is at least: its first programs, and those in flight at its end,
/// are no small part of it otherwise.
const CHECKPOINT_POINTS: u64 = 2;
/// A fill of more buffers than this is simulated I/O by I/O for so long and written in bulk after.
const BUFFERS_OF_A_FILL: u64 = 8;

/// Spares of random writes after which write amplification no longer moves.
const AGING_SPARES: u64 = 4;

/// What the model does beyond reads and writes of one size in a closed loop.
const SUPPORTED: [Feature; 10] = [
    Feature::Trim,
    Feature::SequentialMix,
    Feature::Distribution,
    Feature::Layout,
    Feature::Sizes,
    Feature::PartlyRandom,
    Feature::Passes,
    Feature::OpenLoop,
    Feature::Replay,
    Feature::Placement,
];

/// A drive that exists only as a profile. A clone is a checkpoint of it: the same jobs do the same to
/// both.
#[derive(Debug, Clone)]
pub struct ModelledDrive {
    profile: DriveProfile,
    hosts: Hosts,
    identity: TargetIdentity,
    geometry: Geometry,
    mapping: Ftl,
    counters: Counters,
    /// Bytes that the host wrote before the last purge, at the scaled size: no purge undoes them.
    written_before_purge: u64,
}

impl ModelledDrive {
    /// A purged drive at the scale that `suite` needs: its shortest point of writes must still exceed the
    /// write buffer, which is not scaled, and a checkpoint must be several of them.
    pub fn for_suite(profile: DriveProfile, hosts: Hosts, profile_sha256: Option<String>, suite: &Suite) -> Self {
        let rate = profile.parameters.program_rate();
        let point = |step: &SuiteStep| match step {
            SuiteStep::Sweep(s) if s.rw.writes() => s.runtime,
            SuiteStep::Steady(SteadyStep { round: RoundLength::Time(time), .. }) => Some(*time),
            SuiteStep::Checkpoint(c) => Some(rate.time_for(Bytes(c.bytes.0 / CHECKPOINT_POINTS))),
            SuiteStep::Purge | SuiteStep::Fill(_) | SuiteStep::Steady(_) | SuiteStep::Sweep(_) => None,
            // Refused by the plan: one load at a time.
            SuiteStep::Concurrent(_) => None,
        };
        let shortest = suite.steps.iter().filter_map(point).min();
        let whole = Region { offset: Bytes::ZERO, length: profile.parameters.capacity.user.value };
        let listed = |step: &SuiteStep| match step {
            SuiteStep::Sweep(load) if load.replay.is_some() => Some(units_for(&profile, &load.job(1, 1, whole).ok()?)),
            _ => None,
        };
        let units = suite.steps.iter().filter_map(listed).max().unwrap_or(0).max(units_for_points(&profile, shortest));
        Self::with_units_max(profile, hosts, profile_sha256, units.min(MAPPED_UNITS_MAX))
    }

    /// A purged drive by a checked profile, loaded by `hosts`. `profile_sha256` identifies the text
    /// that the profile was read from.
    pub fn new(profile: DriveProfile, hosts: Hosts, profile_sha256: Option<String>) -> Self {
        Self::for_points(profile, hosts, profile_sha256, Some(POINT))
    }

    /// Refuses a job that asks for what no modelled drive can do, or for more than [`JOB_TIME_MAX`].
    ///
    /// # Errors
    /// [`SpecError::Job`] that names the first such thing.
    ///
    /// [`JOB_TIME_MAX`]: crate::JOB_TIME_MAX
    pub fn can_run(job: &Job) -> Result<(), SpecError> {
        job.check_supported("the modelled drive", &SUPPORTED)?;
        duration::check_runtime(job)
    }

    /// Virtual time over which the requests of a job come, at most: known of one at a rate or at recorded times
    /// that ends with its bytes or its list, `None` for others. Gaps at random are counted by their mean. Longer
    /// than [`JOB_TIME_MAX`] it is refused.
    ///
    /// [`JOB_TIME_MAX`]: crate::JOB_TIME_MAX
    pub fn time_of(&self, job: &Job) -> Option<Nanos> {
        duration::of(&self.scaled_job(job))
    }

    /// The same, at the coarsest scale at which a point of `shortest` still writes several buffers; with
    /// `None`, for jobs that only read or write shares of the capacity, the coarsest of all. At most
    /// [`MAPPED_UNITS_MAX`] units are mapped: points that would need more are simulated for longer.
    pub fn for_points(
        profile: DriveProfile,
        hosts: Hosts,
        profile_sha256: Option<String>,
        shortest: Option<Nanos>,
    ) -> Self {
        let units = units_for_points(&profile, shortest);
        Self::with_units_max(profile, hosts, profile_sha256, units.min(MAPPED_UNITS_MAX))
    }

    /// The same, for the replayed list of `job`: at a scale at which the list fits, one pass of it does not
    /// use up the free pool, and its overwrites are few beside the spare, as on the real drive; at most
    /// [`MAPPED_UNITS_MAX`] units are mapped. [`Footprint`] says whether that was enough.
    pub fn for_replay(profile: DriveProfile, hosts: Hosts, profile_sha256: Option<String>, job: &Job) -> Self {
        let units = units_for(&profile, job);
        Self::with_units_max(profile, hosts, profile_sha256, units.min(MAPPED_UNITS_MAX))
    }

    /// The same, at a scale at which at most `units_max` indirection units are mapped.
    pub fn with_units_max(profile: DriveProfile, hosts: Hosts, profile_sha256: Option<String>, units_max: u64) -> Self {
        let geometry = Geometry::new(&profile, units_max);
        let identity = TargetIdentity {
            kind: TargetKind::ModelledDrive,
            id: profile.id.clone(),
            path: None,
            model: Some(format!("{} {}", profile.vendor, profile.model)),
            serial: None,
            firmware: None,
            profile_sha256,
            capacity: profile.parameters.capacity.user.value,
            // Drives of this class are formatted to 4 KiB or emulate 512 B; their models see units.
            logical_block: Bytes(512),
        };
        let mapping = purged(&profile, &geometry);
        let counters = Counters::default();
        ModelledDrive { profile, hosts, identity, geometry, mapping, counters, written_before_purge: 0 }
    }

    /// The profile it follows.
    pub fn profile(&self) -> &DriveProfile {
        &self.profile
    }

    /// Whether the unit at byte `offset` of the scaled drive is mapped. Jobs have addresses at full scale;
    /// [`ModelledDrive::scaled_job`] says where they go.
    pub fn is_mapped(&self, offset: Bytes) -> bool {
        let lpn = offset.0 >> self.geometry.unit_shift;
        lpn < u64::from(self.geometry.user_units) && self.mapping.lookup(lpn as u32) != UNMAPPED
    }

    /// Checks that the map agrees with itself ([`Ftl::check`]), and the counted bytes with the map. Looks
    /// at every unit: for tests.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        self.mapping.check()?;
        let (layout, c) = (self.mapping.layout(), &self.counters);
        // Of each stream of collected data one program may have been begun and not be full; and one when
        // the writes after a fill ended, which are in no log.
        let streams = self.mapping.policy().frontiers() - self.mapping.policy().host_streams;
        let begun = 2 * u64::from(streams) * self.geometry.program_bytes();
        let units = self.mapping.host_units() + self.mapping.moved_units();
        if c.media_written + begun < units * self.geometry.unit_bytes {
            return Err(format!("{units} units were written and only {} bytes programmed", c.media_written));
        }
        if self.mapping.free_units() > layout.physical_units() {
            return Err(format!("{} units are free of {}", self.mapping.free_units(), layout.physical_units()));
        }
        Ok(())
    }

    /// The job as it runs on the scaled drive: the region, extents and amount at its size. Times are
    /// scaled when it runs. A replayed list keeps its times and sizes; its addresses are moved together.
    pub fn scaled_job(&self, job: &Job) -> Job {
        let mut scaled = job.clone();
        if job.replay.is_some() {
            scaled.replay = replay::scaled(job, &self.geometry);
            scaled.region = Region { offset: Bytes(0), length: Bytes(self.geometry.user_bytes()) };
            return scaled;
        }
        let user = self.geometry.user_bytes() / job.bs.0 * job.bs.0;
        let whole = job.region.length >= self.identity.capacity;
        let grain = job.bs.0.max(self.geometry.unit_bytes);
        let floor = job.bs.0 * u64::from(job.numjobs);
        let length = if whole { user } else { self.geometry.scaled(job.region.length, grain).max(floor).min(user) };
        let offset = if whole { 0 } else { self.geometry.scaled(job.region.offset, grain).min(user - length) };
        scaled.region = Region { offset: Bytes(offset), length: Bytes(length) };
        scaled.extents = self.scaled_extents(job);
        scaled.amount = job.amount.map(|amount| {
            // Once through the region stays once through it.
            let (times, rest) = (amount.0 / job.region.length.0.max(1), amount.0 % job.region.length.0.max(1));
            let rest = self.geometry.scaled(Bytes(rest), job.bs.0);
            Bytes(length.saturating_mul(times).saturating_add(rest).max(job.bs.0))
        });
        scaled
    }

    /// Neighbours stay neighbours and keep apart: both ends are scaled alike. What rounding leaves
    /// unequal between the threads is cut off the longer lists.
    fn scaled_extents(&self, job: &Job) -> Vec<Vec<Region>> {
        let at = |full: u64| self.geometry.scaled(Bytes(full), job.bs.0);
        let scale = |e: &Region| {
            let (start, end) = (at(e.offset.0), at(e.offset.0 + e.length.0));
            Region { offset: Bytes(start), length: Bytes(end - start) }
        };
        let mut lists: Vec<Vec<Region>> = job.extents.iter().map(|list| list.iter().map(scale).collect()).collect();
        let total = |list: &[Region]| list.iter().map(|e| e.length.0).sum::<u64>();
        let shortest = lists.iter().map(|list| total(list)).min().unwrap_or(0);
        for list in &mut lists {
            let mut excess = total(list) - shortest;
            for extent in list.iter_mut().rev() {
                let cut = excess.min(extent.length.0);
                extent.length.0 -= cut;
                excess -= cut;
            }
            list.retain(|e| e.length.0 > 0);
        }
        lists
    }

    fn check_placement(&self, job: &Job) -> Result<(), SpecError> {
        let handles = self.profile.parameters.mapping.handles.value;
        let refuse = |id: u16| SpecError::Job {
            workload: job.workload.clone(),
            reason: format!("placement identifier {id}, and the drive has {handles}"),
            remedy: format!("use 0 to {}, or a profile with more mapping.handles", handles - 1),
        };
        job.placement.iter().find(|id| u32::from(**id) >= handles).map_or(Ok(()), |id| Err(refuse(*id)))
    }

    fn goal(&self, job: &Job) -> Goal {
        if !job.extents.is_empty() {
            let bytes = job.extents.iter().flatten().map(|e| e.length.0).sum();
            return Goal::Extents { bytes };
        }
        if let Some(list) = &job.replay {
            return Goal::Replay { bytes: (0..job.numjobs).map(|i| replay::bytes_of_thread(job, list, i)).sum() };
        }
        let admitted = BUFFERS_MEASURED * self.profile.parameters.write.buffer.value.0;
        if let Some(Bytes(bytes)) = job.bytes_to_end() {
            // The amount is scaled, and so is the time that it takes.
            let limit = job.runtime.map(|runtime| Limit {
                time: ps(runtime) / self.geometry.factor,
                admitted: if writes_data(job) { admitted } else { 0 },
            });
            return Goal::Amount { bytes, limit };
        }
        let runtime: Ps = ps(job.runtime.unwrap_or(Nanos::secs(1)));
        if writes_data(job) {
            Goal::Written { time: runtime / self.geometry.factor, admitted }
        } else {
            Goal::Interval { share: job.interval_goal.unwrap_or(INTERVAL_SHARE), time: runtime }
        }
    }

    /// Whether the job is a fill that is worth the bulk path.
    fn is_fill(&self, job: &Job) -> bool {
        let buffers = BUFFERS_OF_A_FILL * self.profile.parameters.write.buffer.value.0;
        job.rw == Rw::Write
            && job.numjobs == 1
            && job.extents.is_empty()
            && job.replay.is_none()
            && job.pattern == Pattern::default()
            && job.arrival.is_closed()
            && job.runtime.is_none()
            && job.amount.is_some_and(|a| a.0 > 2 * buffers && a <= job.region.length)
    }

    fn program_rate(&self) -> BytesPerSecond {
        self.profile.parameters.program_rate()
    }

    /// Writes what a simulated start of a fill has left, and adds its time and bytes to the result.
    /// `written` bytes were mapped already, all but some from the start of the region on.
    fn finish_fill(&mut self, job: &Job, written: u64, result: &mut JobResult) {
        let unit = self.geometry.unit_bytes;
        let amount = job.amount.map_or(0, |a| a.0);
        // Of that, as much as is outstanding may have been under way when writes began to be mapped, and
        // lie elsewhere.
        let certain = written.saturating_sub(job.outstanding() * job.bs.0);
        let start = (job.region.offset.0 + certain) / unit;
        let end = (job.region.offset.0 + amount).div_ceil(unit).min(u64::from(self.geometry.user_units));
        let stream = u32::from(job.placement_of(0).unwrap_or(0));
        let filled = self.mapping.fill_sequential(start as u32, end as u32, stream);
        let bytes = amount.saturating_sub(result.write.bytes.0);
        let programmed = (filled.host_programs + filled.moved_programs) * self.geometry.program_bytes();
        self.counters.host_written += amount.saturating_sub(written);
        self.counters.media_written += programmed;
        let rate = result.bandwidth().unwrap_or(self.program_rate());
        result.elapsed += rate.time_for(Bytes(bytes)).max(self.program_rate().time_for(Bytes(programmed)));
        result.write.bytes.0 += bytes;
        result.write.ios += bytes / job.bs.0;
    }

    /// What a whole checkpoint takes besides its bytes.
    fn add_job_time(&self, job: &Job, result: &mut JobResult) {
        let time = self.hosts.of(job.generator).job_time.as_ref().map_or(Nanos::ZERO, |t| t.value);
        let with = result.elapsed + Nanos(time.0 / self.geometry.factor);
        if with.0 > 0 {
            let busy = result.elapsed.0 as f64 / with.0 as f64;
            result.in_flight_mean = result.in_flight_mean.map(|n| n * busy);
        }
        result.elapsed = with;
    }

    /// Leaves as much of the spare free as the profile says that a fill of such transfers does. Dead
    /// superblocks are erased; if less than all of the spare is to be free, random writes of whole units
    /// bring the drive to its steady state, and collection without a load frees that much again.
    /// A part of the drive that was filled says nothing of what lies in the rest: no random writes then.
    fn age(&mut self, fill: &Job) {
        self.mapping.erase_dead();
        let m = &self.profile.parameters.mapping;
        let below = fill.bs < m.indirection_unit.value;
        let share = if below { m.sub_unit_free_share.value } else { m.initial_free_share.value };
        let whole = fill.amount.is_some_and(|amount| amount >= self.identity.capacity);
        // No job asked for any of this, so that it is in no log.
        self.mapping.unlogged(|mapping| {
            mapping.collect_early();
            if share < 1.0 && whole {
                write_at_random(mapping, fill.seed);
                mapping.collect_until_erased(mapping.layout().erased_units(mapping.policy(), share));
            }
        });
    }

    fn health_now(&self) -> HealthLog {
        self.health_at(self.geometry.factor)
    }

    /// With the bytes read and written of a drive `factor` times as large as the scaled one.
    fn health_at(&self, factor: u64) -> HealthLog {
        let full = |bytes: u64| Some(Bytes(bytes * factor));
        let wear = self.mapping.wear();
        let written = (self.written_before_purge + self.counters.host_written) * self.geometry.factor;
        HealthLog {
            host_read: full(self.counters.host_read),
            host_written: full(self.counters.host_written),
            media_written: full(self.counters.media_written),
            erases: Some(self.mapping.erases()),
            free_pool: Some(Bytes(self.mapping.free_units() * self.geometry.unit_bytes * self.geometry.factor)),
            wear: Some(wear),
            percentage_used: self.profile.percentage_used(wear.erases_mean, Bytes(written)),
        }
    }
}

impl Target for ModelledDrive {
    fn identity(&self) -> &TargetIdentity {
        &self.identity
    }

    fn origin(&self) -> Origin {
        Origin::Modelled
    }

    fn purge(&mut self) -> Result<Purge, TargetError> {
        self.mapping.purge();
        self.written_before_purge += self.counters.host_written;
        self.counters = Counters::default();
        Ok(Purge::Purged)
    }

    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        job.validate(self.identity.logical_block, self.identity.capacity)?;
        Self::can_run(job)?;
        self.check_placement(job)?;
        let scaled = self.scaled_job(job);
        let user = Bytes(self.geometry.user_bytes());
        replay::check(job, &scaled, user)?;
        duration::check(&scaled)?;
        scaled.validate(self.identity.logical_block, user)?;
        // What a list moves and how long it takes is not scaled.
        let factor = if job.replay.is_some() { 1 } else { self.geometry.factor };
        let before = self.health_at(factor);
        let written_before = self.counters.host_written;
        let fill = self.is_fill(&scaled);
        let goal = if fill {
            Goal::Amount { bytes: BUFFERS_OF_A_FILL * self.profile.parameters.write.buffer.value.0, limit: None }
        } else {
            self.goal(&scaled)
        };
        let (parameters, host) = (&self.profile.parameters, self.hosts.of(scaled.generator));
        let order = Order { parameters, host, geometry: self.geometry, job: &scaled, goal };
        let (stop, outcome) = engine::run(order, &mut self.mapping, &mut self.counters, observer);
        let (elapsed, in_flight_mean, shares) = (outcome.window(), outcome.in_flight_mean(), outcome.shares());
        let classes = outcome.class_times();
        let interval_share = outcome.interval_share();
        let [read, write, trim] = outcome.into_directions();
        let mut result = JobResult {
            elapsed,
            ramp: Nanos::ZERO,
            read,
            write,
            trim,
            in_flight_mean,
            series: Series::default(),
            shares,
            classes,
            granted: Granted {
                engine: "model".into(),
                direct: None,
                features: vec![
                    format!("host profile {}", scaled.generator.word()),
                    format!("scale 1/{}", self.geometry.factor),
                ],
                refused: vec![],
            },
            errors: vec![],
            cpu: None,
            health: None,
            ended: match stop {
                Stop::Goal => Ended::Completed,
                Stop::Interval => Ended::IntervalReached,
                Stop::Observer => Ended::Interrupted,
                Stop::Time => return Err(duration::not_done(job).into()),
            },
            scale: factor,
            interval_share,
        };
        if fill && stop != Stop::Observer {
            self.finish_fill(&scaled, self.counters.host_written - written_before, &mut result);
            self.age(job);
        }
        if !scaled.extents.is_empty() {
            self.add_job_time(&scaled, &mut result);
        }
        let health = self.health_at(factor).since(&before);
        result.health = Some(if job.replay.is_some() { of_list(health, &scaled, user, &mut result) } else { health });
        Ok(result)
    }

    fn health(&mut self) -> Result<Option<HealthLog>, TargetError> {
        Ok(Some(self.health_now()))
    }

    fn nominal_spare(&self) -> Option<Bytes> {
        let c = &self.profile.parameters.capacity;
        let usable = c.raw.value.0 as f64 * (1.0 - c.unusable_share.value);
        Some(Bytes(usable as u64 - c.user.value.0))
    }

    fn expected_rate(&self, writes: bool) -> (BytesPerSecond, &'static str) {
        let p = &self.profile.parameters;
        if writes {
            (self.program_rate(), "the profile's program ceiling")
        } else {
            let rate = p.read_ahead.rate.value.0.min(p.link.payload_rate().0);
            (BytesPerSecond(rate), "the profile's link and read-ahead ceiling")
        }
    }

    fn scale(&self) -> u64 {
        self.geometry.factor
    }
}

/// What the health of a scaled drive says of a list that is not scaled; whether the list was folded is added to
/// the result.
fn of_list(health: HealthLog, scaled: &Job, user: Bytes, result: &mut JobResult) -> HealthLog {
    if let Some(placed) = scaled.replay.as_ref().filter(|placed| placed.summary().end > user) {
        let text = format!("replay: {} touches more than the model maps, and is folded into it", placed.source);
        result.granted.features.push(text);
    }
    // What the pool and the life of the whole drive lose does not follow from the scaled one.
    HealthLog { free_pool: None, percentage_used: None, ..health }
}

/// Units to map for the replayed list of `job`.
fn units_for(profile: &DriveProfile, job: &Job) -> u64 {
    let m = &profile.parameters.mapping;
    let program_units = profile.parameters.nand.program_unit.value.0 / m.indirection_unit.value.0;
    let wanted = |f: Footprint| f.units_wanted(profile.spare_share(), program_units);
    Footprint::of(job, m.indirection_unit.value).map_or(0, wanted)
}

/// Units to map so that a point of `shortest` writes several buffers; 0 for the coarsest scale.
fn units_for_points(profile: &DriveProfile, shortest: Option<Nanos>) -> u64 {
    let units = shortest.map_or(0.0, |shortest| {
        let written = profile.parameters.program_rate().0 * shortest.as_secs_f64();
        let buffers = ((BUFFERS_MEASURED + 1) * profile.parameters.write.buffer.value.0) as f64;
        let p = &profile.parameters;
        let full = (p.capacity.user.value.0 / p.mapping.indirection_unit.value.0) as f64;
        full * buffers / written.max(1.0)
    });
    units as u64
}

/// Random writes of whole units until write amplification no longer moves.
fn write_at_random(mapping: &mut Ftl, seed: u64) {
    let layout = *mapping.layout();
    let spare = layout.physical_units() - u64::from(layout.user_units);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(named_seed(seed, "aging", 0));
    let mut units = vec![0; layout.program_units as usize];
    let mut collected = Collected::default();
    for _ in 0..AGING_SPARES * spare / u64::from(layout.program_units) {
        units.fill_with(|| (((rng.next_u64() >> 32) * u64::from(layout.user_units)) >> 32) as u32);
        collected.clear();
        mapping.write_program(0, &units, &mut collected);
    }
}

/// A drive with nothing mapped and every superblock erased.
fn purged(profile: &DriveProfile, geometry: &Geometry) -> Ftl {
    let m = &profile.parameters.mapping;
    let victims = match m.victims.value {
        VictimChoice::Greedy => Victims::Greedy,
        VictimChoice::Fifo => Victims::Fifo,
        VictimChoice::Choices => Victims::DChoices(m.victim_choices.value),
        VictimChoice::AgeAware => Victims::AgeAware,
    };
    let policy = Policy {
        victims,
        host_streams: m.handles.value,
        separate_collected: m.isolation.value == Isolation::Persistent,
        eager_valid_share: m.eager_valid_share.value,
        collect_from_share: m.collect_from_share.value,
        seed: 0,
    };
    Ftl::new(geometry.layout(), policy).unwrap_or_else(|e| unreachable!("the profile was checked: {e}"))
}
