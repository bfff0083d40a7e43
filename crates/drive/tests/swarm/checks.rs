//! What must hold for the result of any job on any drive.

use flashlab_drive::ModelledDrive;
use flashlab_samples::{ClassTimes, DirectionResult, Ended, JobResult};
use flashlab_spec::{Arrival, DriveProfile, HostProfile, Job, Rw, SizeRule};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::Direction;

/// Below so many I/Os the ends of the window weigh more than what is compared.
const IOS_FOR_LITTLE: u64 = 20_000;
const LITTLE: f64 = 0.01;
/// Requests that were followed through their stages, below which their mean says little.
const FOLLOWED_MIN: u64 = 100;
/// Thousands of means are compared: at six standard errors none is off by chance.
const SIGMAS: f64 = 6.0;
/// Two roundings of up to half a nanosecond, and the stages that are cut to whole picoseconds.
const ROUNDING: Nanos = Nanos(2);

/// A job that ran, on which drive, and its result.
pub(crate) struct Ran<'a> {
    pub(crate) drive: &'a ModelledDrive,
    pub(crate) host: &'a HostProfile,
    pub(crate) job: &'a Job,
    pub(crate) result: &'a JobResult,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

impl Ran<'_> {
    /// All of them.
    pub(crate) fn check(&self) -> Checked {
        self.drive.check()?;
        let directions = [&self.result.read, &self.result.write, &self.result.trim];
        for (direction, did) in Direction::ALL.into_iter().zip(directions) {
            self.latencies(direction, did).map_err(|e| format!("{}: {e}", direction.word()))?;
        }
        self.counts()?;
        self.goal()?;
        self.log()?;
        self.little()?;
        self.stages()
    }

    fn profile(&self) -> &DriveProfile {
        self.drive.profile()
    }

    fn outstanding(&self) -> u64 {
        self.job.outstanding()
    }

    /// Whether a fill was written in bulk after its start: such I/Os have no latencies.
    fn bulk(&self) -> bool {
        self.result.ios() > self.result.latency().count()
    }

    fn latencies(&self, direction: Direction, did: &DirectionResult) -> Checked {
        let expected = if self.bulk() { did.ios >= did.lat.count() } else { did.ios == did.lat.count() };
        ensure(expected, || format!("{} I/Os and {} latencies", did.ios, did.lat.count()))?;
        ensure(did.service.is_some() != self.job.arrival.is_closed(), || {
            "service times are those of open loops".into()
        })?;
        let served = did.service.as_ref().unwrap_or(&did.lat);
        ensure(served.count() == did.lat.count(), || "as many service times as latencies".into())?;
        let least = self.least(direction);
        if let Some(min) = served.min() {
            ensure(min + ROUNDING >= least, || format!("{min} is faster than the path, {least}"))?;
        }
        let mut before = did.lat.min().unwrap_or_default();
        for percent in [1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            let Some(percentile) = did.lat.percentile(percent) else { break };
            ensure(percentile.value >= before, || format!("p{percent} is {} after {before}", percentile.value))?;
            before = percentile.value;
        }
        ensure(did.lat.max().unwrap_or_default() >= before, || "a percentile above the maximum".into())
    }

    /// What no request of this direction can be faster than: host, command, link, acknowledgement.
    fn least(&self, direction: Direction) -> Nanos {
        let p = &self.profile().parameters;
        let path = self.host.submit_time.value + p.controller.command_time.value;
        let link = |bytes: u64| p.link.port_rate().time_for(Bytes(bytes));
        path + match direction {
            Direction::Read => link(self.smallest(direction)),
            Direction::Write => link(self.smallest(direction)) + p.write.acknowledge_time.value,
            Direction::Trim => p.write.acknowledge_time.value,
        }
    }

    fn smallest(&self, direction: Direction) -> u64 {
        let rule = self.job.pattern.sizes.as_ref().map(|sizes| sizes.of(direction));
        let cut = !self.job.rw.is_random();
        match rule {
            // The last request of a part may be shorter.
            _ if cut => 512,
            None => self.job.bs.0,
            Some(SizeRule::Fixed(bs)) => bs.0,
            Some(SizeRule::Range { min, .. }) => min.0,
            Some(SizeRule::Split(shares)) => shares.iter().map(|s| s.bs.0).min().unwrap_or(0),
        }
    }

    fn counts(&self) -> Checked {
        let r = self.result;
        let shared: u64 = r.shares.iter().map(|s| s.ios).sum();
        ensure(self.bulk() || shared == r.ios(), || format!("{shared} I/Os by thread, {} by direction", r.ios()))?;
        ensure(r.shares.len() == self.job.numjobs as usize, || format!("{} shares", r.shares.len()))?;
        let followed: u64 = r.classes.iter().map(|c| c.ios).sum();
        // Counted a little before completion: those on their way at the end of the window as well.
        ensure(followed <= r.ios() + self.outstanding(), || format!("{followed} I/Os by class of {}", r.ios()))?;
        let random_of_one_size = self.job.rw.is_random() && self.job.pattern.sizes.is_none();
        for did in [&r.read, &r.write, &r.trim] {
            ensure(!random_of_one_size || did.bytes.0 == did.ios * self.job.bs.0, || {
                format!("{} I/Os of {} are {}", did.ios, self.job.bs, did.bytes)
            })?;
        }
        let in_flight = r.in_flight_mean.unwrap_or(0.0);
        ensure((-1e-9..=self.outstanding() as f64 + 1e-9).contains(&in_flight), || {
            format!("{in_flight} in flight of {}", self.outstanding())
        })?;
        let service = self.profile().parameters.controller.command_time.value;
        // Commands are taken one after another; those decoded before the window began are few.
        let most = r.elapsed.0 / service.0.max(1) + self.outstanding() + 1;
        ensure(self.bulk() || r.ios() <= most, || format!("{} commands in {}, at most {most}", r.ios(), r.elapsed))
    }

    /// What was asked for was done, unless the job was stopped.
    fn goal(&self) -> Checked {
        let (r, job) = (self.result, self.drive.scaled_job(self.job));
        if r.ended == Ended::Interrupted {
            return Ok(());
        }
        let moved = r.bytes().0 + r.trim.bytes.0;
        if !job.extents.is_empty() {
            let bytes: u64 = job.extents.iter().flatten().map(|e| e.length.0).sum();
            return ensure(moved == bytes, || format!("moved {moved} of {bytes} bytes"));
        }
        if let Some(Bytes(bytes)) = job.bytes_to_end() {
            let timed = job.runtime.is_some_and(|time| r.elapsed + ROUNDING >= Nanos(time.0 / r.scale));
            return ensure(moved >= bytes || timed, || format!("moved {moved} of {bytes} bytes")).and_then(|()| {
                ensure(moved < bytes + job.bs.0.max(self.unit()), || format!("moved {moved}, not {bytes}"))
            });
        }
        let runtime = job.runtime.unwrap_or_default().0 / r.scale;
        let writes = r.write.ios > 0;
        let enough = if writes { r.elapsed.0 > 0 } else { r.ios() >= 40_000 };
        ensure(enough && (!writes || r.write.bytes.0 > 0), || {
            format!("{} I/Os in {} of {runtime} ns", r.ios(), r.elapsed)
        })
    }

    fn unit(&self) -> u64 {
        self.profile().parameters.mapping.indirection_unit.value.0
    }

    /// The drive's own log.
    fn log(&self) -> Checked {
        let r = self.result;
        let log = r.health.ok_or("no log")?;
        let scaled = |bytes: Option<Bytes>| bytes.map(|b| b.0 / r.scale).ok_or("a modelled drive knows its log");
        let (read, written, media) = (scaled(log.host_read)?, scaled(log.host_written)?, scaled(log.media_written)?);
        let edge = self.outstanding() * self.job.bs.0;
        ensure(read >= r.read.bytes.0, || format!("the log has {read} bytes read, the job {}", r.read.bytes))?;
        ensure(written + edge >= r.write.bytes.0, || {
            format!("the log has {written} bytes written, the job {}", r.write.bytes)
        })?;
        let job = self.drive.scaled_job(self.job);
        let unit = self.unit();
        let exact = job.pattern.sizes.is_none() && job.rw.is_random() && job.pattern.align.is_none();
        let joins = self.profile().parameters.merge.coalesce.value && !job.bs.0.is_multiple_of(unit);
        if exact && !job.trims() && !joins {
            let forced = written / job.bs.0 * job.bs.0.div_ceil(unit) * unit;
            ensure(media >= forced, || format!("{media} bytes programmed, and whole units are {forced}"))?;
        }
        let p = &self.profile().parameters.capacity;
        let usable = p.raw.value.0 as f64 * (1.0 - p.unusable_share.value);
        let free = log.free_pool.map_or(0.0, |b| b.0 as f64);
        // Superblocks are rounded to whole programs.
        let least = usable / f64::from(self.profile().parameters.mapping.superblocks.value) * 0.5;
        ensure((least..=usable * 1.5).contains(&free), || format!("{free} bytes free of {usable}"))
    }

    fn little(&self) -> Checked {
        let r = self.result;
        let (Some(rate), Some(in_flight)) = (r.iops(), r.in_flight_mean) else { return Ok(()) };
        if r.ios() < IOS_FOR_LITTLE || self.bulk() {
            return Ok(());
        }
        let all = [&r.read, &r.write, &r.trim].map(|d| {
            let lat = d.service.as_ref().unwrap_or(&d.lat);
            lat.mean_ns().unwrap_or(0.0) * lat.count() as f64
        });
        let mean_ns = all.iter().sum::<f64>() / r.ios() as f64;
        let little = rate.0 * mean_ns / 1e9;
        // What is in flight at one end of the window may have been so for as long as the slowest.
        let slowest =
            [&r.read, &r.write, &r.trim].map(|d| d.service.as_ref().unwrap_or(&d.lat).max().unwrap_or_default());
        let slowest = slowest.into_iter().max().unwrap_or_default();
        let edge = self.outstanding() as f64 * slowest.0 as f64 / r.elapsed.0 as f64;
        ensure((little - in_flight).abs() <= LITTLE * in_flight + edge, || {
            format!("Little's law: {little} by rate and latency, {in_flight} integrated, {edge} at the ends")
        })
    }

    /// The stages of the requests that were followed add up to the latency of all, within their scatter.
    fn stages(&self) -> Checked {
        let r = self.result;
        if self.bulk() || r.ios() < 100 * self.outstanding() {
            return Ok(());
        }
        for (direction, did) in [(Direction::Read, &r.read), (Direction::Write, &r.write), (Direction::Trim, &r.trim)] {
            let of = |c: &&ClassTimes| direction_of(&c.class) == direction;
            let followed: u64 = r.classes.iter().filter(of).map(|c| c.ios).sum();
            let (Some(lat), Some(scatter)) = (did.lat.mean_ns(), did.lat.stddev_ns()) else { continue };
            if followed < FOLLOWED_MIN {
                continue;
            }
            let stages = r.classes.iter().filter(of).map(|c| sum(c) * c.ios as f64).sum::<f64>() / followed as f64;
            // At either end of the window as many as are outstanding are counted on one side only.
            let edge = 2.0 * self.outstanding() as f64 / did.ios as f64 * did.lat.max().map_or(0.0, |max| max.0 as f64);
            let tolerance = edge + SIGMAS * scatter / (followed as f64).sqrt() + 0.001 * lat + 1.0;
            ensure((stages - lat).abs() <= tolerance, || {
                format!(
                    "stages of {} add up to {stages} ns, its latency is {lat}, within {tolerance}",
                    direction.word()
                )
            })?;
        }
        Ok(())
    }
}

fn sum(class: &ClassTimes) -> f64 {
    class.stages.iter().map(|stage| stage.mean_ns).sum()
}

fn direction_of(class: &str) -> Direction {
    match class {
        "mapped read" | "read-ahead hit" | "read whose window was lost" | "deallocated read" => Direction::Read,
        "write" | "write below the indirection unit" => Direction::Write,
        "trim" => Direction::Trim,
        _ => panic!("the swarm doesn't know requests of class {class}"),
    }
}

/// A job for people.
pub(crate) fn describe(job: &Job) -> String {
    let open = match job.arrival {
        Arrival::Closed => "closed".to_owned(),
        other => format!("{other:?}"),
    };
    let mix = if job.rw.is_mixed() { format!(" {}r/{}t", job.rwmixread, job.rwmixtrim) } else { String::new() };
    let trims = if matches!(job.rw, Rw::Trim | Rw::RandTrim) { " (trims)" } else { "" };
    format!(
        "{}{mix}{trims} bs {} depth {} x {} jobs, region {}+{}, {open}, end {:?} {:?} {:?}, {} extents, placement {:?}, {:?}",
        job.rw.word(),
        job.bs.exact(),
        job.iodepth,
        job.numjobs,
        job.region.offset.exact(),
        job.region.length.exact(),
        job.runtime,
        job.amount.map(Bytes::exact),
        job.passes,
        job.extents.iter().map(Vec::len).sum::<usize>(),
        job.placement,
        job.pattern,
    )
}
