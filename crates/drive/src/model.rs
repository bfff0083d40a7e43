//! The modelled drive as a target.

use crate::engine::{Counters, Engine, Goal, Stop};
use crate::fill;
use crate::mapping::Mapping;
use crate::scale::{Geometry, MAPPED_UNITS_MAX};
use crate::time::{Ps, ps};
use flashlab_samples::{Ended, Granted, HealthLog, JobResult, Origin, Series, TargetIdentity, TargetKind};
use flashlab_spec::{DriveProfile, Feature, Hosts, Job, Region, Rw};
use flashlab_target::{Observer, Purge, Target, TargetError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};

/// Interval that ends a read job where the suite does not say: ±0.5 % of the mean latency.
const INTERVAL_SHARE: f64 = 0.005;
/// A write point lasts at least this many buffers after the first, unmeasured one.
const BUFFERS_MEASURED: u64 = 3;
/// A fill of more buffers than this is simulated I/O by I/O for so long and written in bulk after.
const BUFFERS_OF_A_FILL: u64 = 8;
/// What the model does beyond reads and writes of one size in a closed loop: nothing yet.
const SUPPORTED: [Feature; 0] = [];

/// A drive that exists only as a profile.
pub struct ModelledDrive {
    profile: DriveProfile,
    hosts: Hosts,
    identity: TargetIdentity,
    geometry: Geometry,
    mapping: Mapping,
    counters: Counters,
}

impl ModelledDrive {
    /// A purged drive by a checked profile, loaded by `hosts`. `profile_sha256` identifies the text
    /// that the profile was read from.
    pub fn new(profile: DriveProfile, hosts: Hosts, profile_sha256: Option<String>) -> Self {
        Self::with_units_max(profile, hosts, profile_sha256, MAPPED_UNITS_MAX)
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
        let mapping = Mapping::new(geometry);
        ModelledDrive { profile, hosts, identity, geometry, mapping, counters: Counters::default() }
    }

    /// The profile it follows.
    pub fn profile(&self) -> &DriveProfile {
        &self.profile
    }

    /// The job on the scaled drive.
    fn scaled(&self, job: &Job) -> Job {
        let mut scaled = job.clone();
        let user = self.geometry.user_bytes() / job.bs.0 * job.bs.0;
        let whole = job.region.length >= self.identity.capacity;
        let grain = job.bs.0.max(self.geometry.unit_bytes);
        let floor = job.bs.0 * u64::from(job.numjobs);
        let length = if whole { user } else { self.geometry.scaled(job.region.length, grain).max(floor) };
        let offset = if whole { 0 } else { self.geometry.scaled(job.region.offset, grain).min(user - length) };
        scaled.region = Region { offset: Bytes(offset), length: Bytes(length) };
        scaled.extents = self.scaled_extents(job);
        let all = |amount: Bytes| amount >= job.region.length;
        scaled.amount =
            job.amount.map(|a| Bytes(if all(a) { length } else { self.geometry.scaled(a, job.bs.0).max(job.bs.0) }));
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

    fn goal(&self, job: &Job) -> Goal {
        if !job.extents.is_empty() {
            let bytes = job.extents.iter().flatten().map(|e| e.length.0).sum();
            return Goal::Extents { bytes };
        }
        if let Some(bytes) = job.amount {
            return Goal::Amount { bytes: bytes.0 };
        }
        let runtime: Ps = ps(job.runtime.unwrap_or(Nanos::secs(1)));
        if job.rw.writes() {
            let buffer = self.profile.parameters.write.buffer.value.0;
            Goal::Written { time: runtime / self.geometry.factor, admitted: BUFFERS_MEASURED * buffer }
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
            && job.amount.is_some_and(|a| a.0 > 2 * buffers)
    }

    /// Sequential writes in bytes a second while programs are the limit.
    fn program_rate(&self) -> BytesPerSecond {
        let p = &self.profile.parameters;
        let in_flight = f64::from(p.write.programs_in_flight.value.min(p.nand.dies.value));
        BytesPerSecond(in_flight * p.nand.program_unit.value.0 as f64 / p.nand.program_time.value.as_secs_f64())
    }

    /// Writes what a simulated start of a fill has left, and adds its time and bytes to the result.
    fn finish_fill(&mut self, job: &Job, result: &mut JobResult) {
        let unit = self.geometry.unit_bytes;
        let amount = job.amount.map_or(0, |a| a.0);
        // The simulated part began at the start of the region; it is written again here in whole, so
        // that no unit is left out where it stopped. Its own programs are taken off again.
        let first = job.region.offset.0 / unit;
        let end = (job.region.offset.0 + amount.min(job.region.length.0)).div_ceil(unit);
        let written = result.write.bytes.0;
        let start = (job.region.offset.0 + written) / unit;
        let before = self.counters;
        let bulk = fill::write_in_order(
            &mut self.mapping,
            &mut self.counters,
            &self.geometry,
            start.max(first) as u32,
            end.min(u64::from(self.geometry.user_units)) as u32,
        );
        let bytes = self.counters.host_written - before.host_written;
        let rate = result.bandwidth().unwrap_or(self.program_rate());
        let programs = bulk.host_programs + bulk.moved_programs;
        let programmed = Bytes(programs * u64::from(self.geometry.program_units) * unit);
        let time = rate.time_for(Bytes(bytes)).max(self.program_rate().time_for(programmed));
        result.elapsed += time;
        result.write.bytes.0 += bytes;
        result.write.ios += bytes / job.bs.0;
    }

    fn health_now(&self) -> HealthLog {
        let full = |bytes: u64| Some(Bytes(bytes * self.geometry.factor));
        HealthLog {
            host_read: full(self.counters.host_read),
            host_written: full(self.counters.host_written),
            media_written: full(self.counters.media_written),
            erases: Some(self.mapping.erases),
            free_pool: full(self.mapping.free_units() * self.geometry.unit_bytes),
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
        self.mapping = Mapping::new(self.geometry);
        self.counters = Counters::default();
        Ok(Purge::Purged)
    }

    fn run(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<JobResult, TargetError> {
        job.validate(self.identity.logical_block, self.identity.capacity)?;
        job.check_supported("the modelled drive", &SUPPORTED)?;
        let scaled = self.scaled(job);
        scaled.validate(self.identity.logical_block, Bytes(self.geometry.user_bytes()))?;
        let before = self.health_now();
        let fill = self.is_fill(&scaled);
        let goal = if fill {
            Goal::Amount { bytes: BUFFERS_OF_A_FILL * self.profile.parameters.write.buffer.value.0 }
        } else {
            self.goal(&scaled)
        };
        let parameters = &self.profile.parameters;
        let mut engine = Engine::new(
            parameters,
            self.hosts.of(scaled.generator),
            self.geometry,
            &mut self.mapping,
            &mut self.counters,
            &scaled,
        );
        let stop = engine.run(goal, observer);
        let outcome = engine.outcome;
        let (elapsed, in_flight_mean, shares) = (outcome.window(), outcome.in_flight_mean(), outcome.shares());
        let interval_share = outcome.interval_share();
        let (read, write) = outcome.into_directions();
        let mut result = JobResult {
            elapsed,
            ramp: Nanos::ZERO,
            read,
            write,
            in_flight_mean,
            series: Series::default(),
            shares,
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
            },
            scale: self.geometry.factor,
            interval_share,
        };
        if fill && stop != Stop::Observer {
            self.finish_fill(&scaled, &mut result);
        }
        result.health = Some(self.health_now().since(&before));
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
            let rate = p.read_ahead.rate.value.0.min(p.link.payload_rate.value.0);
            (BytesPerSecond(rate), "the profile's link and read-ahead ceiling")
        }
    }

    fn scale(&self) -> u64 {
        self.geometry.factor
    }
}
