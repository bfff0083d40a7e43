//! What the modelled drive costs: host I/Os a second of CPU time on one core, histogram included, beside
//! the plain event-driven simulation of the tests in the same run; and its peak memory.
//!
//! The aims are the issue's, in CPU time; they depend on the machine and are shown, not judged. Judged
//! is the ratio of model and reference, which take turns batch by batch, so that whoever else uses the
//! machine disturbs both. Each figure is the median of its batches. `FLASHLAB_BENCH_SECONDS` says how
//! long each side of a row runs, 1 if it is not set.
//!
//! `cargo bench -p flashlab-drive --bench drive [-- --smoke | --memory SCALE | --count WORKLOAD N]`: a run
//! that shows that all works and judges nothing; only the peak memory at one of [`MEMORY_SCALES`]; one
//! fixed workload, for counting its instructions from outside.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "../tests/reference/mod.rs"]
mod reference;

use flashlab_drive::ftl::{Collected, Ftl, Layout, Policy, Victims};
use flashlab_drive::{MAPPED_UNITS_MAX, ModelledDrive};
use flashlab_samples::{JobResult, LatencyHistogram};
use flashlab_spec::{DriveProfile, HostProfile, Hosts, Job, Region, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::RequestStream;
use reference::{Reference, Seen};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::process::{Command, ExitCode};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Outstanding random reads of the table: one job and several.
const DEPTHS: [(u32, u32); 9] = [(1, 1), (16, 1), (4, 4), (64, 1), (16, 4), (256, 1), (32, 8), (1024, 1), (64, 16)];
/// Least ratio of model and reference from so many outstanding I/Os on, and below.
const DEEP: u64 = 256;
const RATIO_DEEP_MIN: f64 = 5.0;
const RATIO_MIN: f64 = 3.0;
/// Aims in million host I/Os (preconditioning: units) a CPU-second, and in MB.
const AIM_READ: f64 = 15.0;
const AIM_WRITE: f64 = 6.0;
const AIM_MIX: f64 = 8.0;
const AIM_FILL: f64 = 15.0;
/// How far the largest drive is scaled down where memory is looked at, with the aim in MB: for jobs that read,
/// or write shares of the capacity; and for write points of 30 s.
const MEMORY_SCALES: [(&str, Option<Nanos>, f64); 2] =
    [("shares", None, 128.0), ("points", Some(Nanos::secs(30)), 512.0)];
/// Spare of the largest drive as a share of its flash.
const SPARE_SHARE: f64 = 0.127;
/// Rate and mean latency of model and reference may differ so much over batches of this length: more is no noise, and
/// then the ratio of their speeds means nothing.
const DIFFERENCE_MAX: f64 = 0.02;

/// How much to do.
#[derive(Debug, Clone, Copy)]
struct Size {
    seconds: f64,
    /// I/Os of a batch of the model; the reference does a quarter.
    batch_ios: u64,
    units_max: u64,
}

/// Mapped units: what most drives need for points of 30 s.
const UNITS: u64 = 1 << 23;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let seconds = match std::env::var("FLASHLAB_BENCH_SECONDS") {
        Ok(text) => {
            text.parse().map_err(|_| format!("FLASHLAB_BENCH_SECONDS is `{text}`; use a number such as 0.5"))?
        }
        Err(_) => 1.0,
    };
    let full = Size { seconds, batch_ios: 1_000_000, units_max: UNITS };
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => table(full),
        ["--smoke"] => table(Size { seconds: 0.0, batch_ios: 20_000, units_max: 1 }),
        ["--memory", scale] => memory(scale).map(|()| ExitCode::SUCCESS),
        ["--count", workload, n] => count(workload, n.parse()?).map(|()| ExitCode::SUCCESS),
        other => Err(format!("unknown arguments {other:?}; use --smoke, --memory SCALE or --count WORKLOAD N").into()),
    }
}

/// CPU time of this process in seconds.
fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Million a CPU-second of the `n` things that `work` says it did, and what else it returned.
fn speed<T>(work: impl FnOnce() -> Outcome<(u64, T)>) -> Outcome<(u64, f64, T)> {
    let before = cpu_seconds();
    let (n, value) = work()?;
    Ok((n, n as f64 / 1e6 / (cpu_seconds() - before), value))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A drive with its load: built in profiles, changed where a row says so.
#[derive(Debug, Clone)]
struct Setup {
    profile: DriveProfile,
    host: HostProfile,
    units_max: u64,
}

impl Setup {
    /// The largest drive there is a profile of.
    fn largest(units_max: u64) -> Outcome<Self> {
        let text = include_str!("../../../data/drives/6600-ion-245.toml");
        let profile = DriveProfile::parse(text, "6600-ion-245.toml")?;
        let host = HostProfile::parse(include_str!("../../../data/hosts/fio.toml"), "fio.toml")?;
        Ok(Setup { profile, host, units_max })
    }

    /// The same with 1,024 dies on 16 channels, so that depth meets dies, a controller of 4 million
    /// commands a second, and a host of which one job can load all that.
    fn wide(units_max: u64) -> Outcome<Self> {
        let mut setup = Self::largest(units_max)?;
        let p = &mut setup.profile.parameters;
        (p.nand.dies.value, p.nand.channels.value) = (1024, 16);
        p.controller.command_time.value = Nanos(250);
        setup.host.submit_time.value = Nanos(20);
        // An empirical delay of reads, which the reference does not have.
        setup.host.jobs_delay = None;
        Ok(setup)
    }

    fn hosts(&self) -> Outcome<Hosts> {
        let other = |text, file| HostProfile::parse(text, file);
        Ok(Hosts::new(vec![
            self.host.clone(),
            other(include_str!("../../../data/hosts/gdsio.toml"), "gdsio.toml")?,
            other(include_str!("../../../data/hosts/checkpoint.toml"), "checkpoint.toml")?,
        ]))
    }

    fn drive(&self) -> Outcome<ModelledDrive> {
        Ok(ModelledDrive::with_units_max(self.profile.clone(), self.hosts()?, None, self.units_max))
    }

    fn region(&self) -> Region {
        Region { offset: Bytes(0), length: self.profile.parameters.capacity.user.value }
    }

    fn unit(&self) -> Bytes {
        self.profile.parameters.mapping.indirection_unit.value
    }

    /// A job that ends after `ios` I/Os on `drive`, which may be scaled down. It has seed 0: batches take
    /// others, as writes to the same places over and over would be a hot set.
    fn job(&self, drive: &ModelledDrive, rw: Rw, bs: Bytes, (iodepth, numjobs): (u32, u32), ios: u64) -> Job {
        let amount = Some(Bytes(ios * bs.0 * drive.scale()));
        Job { rwmixread: 70, iodepth, numjobs, amount, ..Job::new("bench", rw, bs, self.region()) }
    }

    /// Two fills in order; units written.
    fn fill_twice(&self, drive: &mut ModelledDrive) -> Outcome<u64> {
        let fill = Job {
            iodepth: 16,
            amount: Some(self.region().length),
            ..Job::new("fill", Rw::Write, Bytes::kib(128), self.region())
        };
        let mut units = 0;
        for _ in 0..2 {
            let result = drive_run(drive, &fill)?;
            units += ios(drive, &result, self.unit());
        }
        Ok(units)
    }

    /// Random writes of `spares` times the spare, after which all writes meet collection.
    fn collect(&self, drive: &mut ModelledDrive, spares: u64) -> Outcome<()> {
        let spare = drive.nominal_spare().ok_or("a model knows its spare")?;
        let writes = spares * spare.0 / drive.scale() / self.unit().0;
        let job = self.job(drive, Rw::RandWrite, self.unit(), (32, 8), writes);
        drive_run(drive, &job).map(|_| ())
    }
}

fn drive_run(drive: &mut ModelledDrive, job: &Job) -> Outcome<JobResult> {
    Ok(drive.run(job, &mut Unobserved)?)
}

/// All I/Os (or blocks) of `bs` that a job did, those before its window as well.
fn ios(drive: &ModelledDrive, result: &JobResult, bs: Bytes) -> u64 {
    let log = result.health.as_ref();
    let bytes = |of: fn(&flashlab_samples::HealthLog) -> Option<Bytes>| log.and_then(of).map_or(0, |bytes| bytes.0);
    (bytes(|log| log.host_read) + bytes(|log| log.host_written)) / drive.scale() / bs.0
}

/// One row of the table.
struct Row {
    workload: &'static str,
    depth: Option<(u32, u32)>,
    ios: u64,
    model: f64,
    reference: Option<f64>,
    aim: Option<f64>,
    remark: String,
}

impl Row {
    fn print(&self) {
        let depth = self.depth.map_or("-".to_owned(), |(iodepth, numjobs)| format!("{iodepth}/{numjobs}"));
        let reference = self.reference.map_or("-".to_owned(), |speed| format!("{speed:.2}"));
        let ratio = self.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.1}"));
        let aim = self.aim.map_or("-".to_owned(), |aim| format!("{aim:.0}"));
        let reached = self.aim.map_or("-", |aim| if self.model >= aim { "yes" } else { "no" });
        println!(
            "{:<30} {depth:>7} {:>11} {:>8.2} {reference:>10} {ratio:>6} {aim:>5} {reached:>7}  {}",
            self.workload, self.ios, self.model, self.remark
        );
    }

    fn ratio(&self) -> Option<f64> {
        self.reference.map(|reference| self.model / reference)
    }

    /// Whether the ratio is what it must be, and what that is.
    fn gate(&self) -> Option<(bool, String)> {
        let (ratio, depth) = (self.ratio()?, self.depth?);
        let min = if u64::from(depth.0) * u64::from(depth.1) >= DEEP { RATIO_DEEP_MIN } else { RATIO_MIN };
        let what = format!("{} {}/{}: {ratio:.1} x the reference, at least {min}", self.workload, depth.0, depth.1);
        Some((ratio >= min, what))
    }
}

fn table(size: Size) -> Outcome<ExitCode> {
    println!("million host I/Os (preconditioning, mapping: units) a second of CPU time, medians of batches");
    println!(
        "{:<30} {:>7} {:>11} {:>8} {:>10} {:>6} {:>5} {:>7}",
        "workload", "depth", "I/Os", "model", "reference", "ratio", "aim", "reached"
    );
    let wide = Setup::wide(size.units_max)?;
    let mut rows = Vec::new();
    let mut add = |row: Row| {
        row.print();
        rows.push(row);
    };
    let mut drive = wide.drive()?;
    add(preconditioning(&wide, &mut drive, size)?);
    for depth in DEPTHS {
        add(random_reads(&wide, &mut drive, depth, size)?);
    }
    wide.collect(&mut drive, 4)?;
    add(steady(&wide, &mut drive, "16K random write, collecting", Rw::RandWrite, AIM_WRITE, size)?);
    add(steady(&wide, &mut drive, "16K 70/30 mix, collecting", Rw::RandRw, AIM_MIX, size)?);
    drop(drive);
    add(translation_alone(size)?);
    memory_in_a_process_of_its_own()?;
    if size.seconds == 0.0 {
        println!("nothing is judged at this length");
        return Ok(ExitCode::SUCCESS);
    }
    let gates: Vec<(bool, String)> = rows.iter().filter_map(Row::gate).collect();
    println!("gates:");
    for (good, what) in &gates {
        println!("  {} {what}", if *good { "ok    " } else { "FAILED" });
    }
    Ok(if gates.iter().all(|(good, _)| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Two sequential fills of a purged drive.
fn preconditioning(setup: &Setup, drive: &mut ModelledDrive, size: Size) -> Outcome<Row> {
    let (mut units, mut speeds, start) = (0, Vec::new(), cpu_seconds());
    while speeds.is_empty() || cpu_seconds() - start < size.seconds {
        let (n, million, ()) = speed(|| {
            drive.purge()?;
            Ok((setup.fill_twice(drive)?, ()))
        })?;
        units += n;
        speeds.push(million);
    }
    let model = median(speeds);
    let workload = "preconditioning, two fills";
    Ok(Row { workload, depth: None, ios: units, model, reference: None, aim: Some(AIM_FILL), remark: String::new() })
}

/// 4K random reads, model and reference in turn.
fn random_reads(setup: &Setup, drive: &mut ModelledDrive, depth: (u32, u32), size: Size) -> Outcome<Row> {
    let bs = Bytes::kib(4);
    let job = setup.job(drive, Rw::RandRead, bs, depth, size.batch_ios);
    let mut parameters = setup.profile.parameters.clone();
    // Random reads don't hit; the reference knows no read-ahead, the model looks for streams all the same.
    parameters.read_ahead.streams.value = 0;
    let region = Region { offset: Bytes(0), length: Bytes(setup.region().length.0 / drive.scale() / bs.0 * bs.0) };
    let (mut done, mut ours, mut theirs, start) = (0, Vec::new(), Vec::new(), cpu_seconds());
    let mut remark = String::new();
    while ours.is_empty() || cpu_seconds() - start < 2.0 * size.seconds {
        let job = Job { seed: 1 + ours.len() as u64, ..job.clone() };
        let scaled = Job { region, ..job.clone() };
        let (n, million, result) = speed(|| {
            let result = drive_run(drive, &job)?;
            Ok((ios(drive, &result, bs), result))
        })?;
        done += n;
        ours.push(million);
        let warm_up = n - result.ios();
        let (_, million, seen) = speed(|| {
            let seen = Reference::new(&parameters, &setup.host, &scaled).run(warm_up, size.batch_ios / 4);
            Ok((warm_up + seen.ios, seen))
        })?;
        theirs.push(million);
        remark = same(&result, &seen).map_err(|why| format!("model and reference differ at {depth:?}: {why}"))?;
    }
    let (model, reference) = (median(ours), Some(median(theirs)));
    let workload = "4K random read, 1,024 dies";
    Ok(Row { workload, depth: Some(depth), ios: done, model, reference, aim: Some(AIM_READ), remark })
}

/// Whether both did the same work, as far as batches of different length can show.
fn same(model: &JobResult, reference: &Seen) -> Outcome<String> {
    let rates = (model.iops().map_or(0.0, |iops| iops.0), reference.ios as f64 / reference.elapsed.as_secs_f64());
    let mean = |h: &LatencyHistogram| h.mean_ns().unwrap_or_default();
    let means = (mean(&model.latency()), mean(&reference.latency));
    let (rate, mean) = (rates.0 / rates.1 - 1.0, means.0 / means.1 - 1.0);
    let text = format!("{:.0} kIOPS, {:.1} us; ", rates.0 / 1e3, means.0 / 1e3);
    let text = text + &format!("{:+.2} %, {:+.2} % from the reference", rate * 100.0, mean * 100.0);
    if rate.abs().max(mean.abs()) > DIFFERENCE_MAX { Err(text.into()) } else { Ok(text) }
}

/// Random I/Os of one unit on a drive in the steady state.
fn steady(
    setup: &Setup,
    drive: &mut ModelledDrive,
    workload: &'static str,
    rw: Rw,
    aim: f64,
    size: Size,
) -> Outcome<Row> {
    let depth = (32, 8);
    let job = setup.job(drive, rw, setup.unit(), depth, size.batch_ios);
    let (mut done, mut speeds, start) = (0, Vec::new(), cpu_seconds());
    let mut remark = String::new();
    while speeds.is_empty() || cpu_seconds() - start < size.seconds {
        let job = Job { workload: workload.into(), seed: speeds.len() as u64, ..job.clone() };
        let (n, million, result) = speed(|| {
            let result = drive_run(drive, &job)?;
            Ok((ios(drive, &result, setup.unit()), result))
        })?;
        done += n;
        speeds.push(million);
        let log = result.health.as_ref().ok_or("a model has a log")?;
        if let (Some(host), Some(media)) = (log.host_written, log.media_written) {
            remark = format!("write amplification {:.2}", media.0 as f64 / host.0 as f64);
        }
    }
    Ok(Row { workload, depth: Some(depth), ios: done, model: median(speeds), reference: None, aim: Some(aim), remark })
}

/// The flash translation layer without time around it: uniform random writes, a program at a time, with
/// the spare of the largest drive.
fn translation_alone(size: Size) -> Outcome<Row> {
    let superblock_units = if size.seconds > 0.0 { 16_384 } else { 2_048 };
    let layout = Layout { user_units: 0, superblock_units, superblocks: 720, program_units: 16, reserve: 4 };
    let user_units = (layout.physical_units() as f64 * (1.0 - SPARE_SHARE)) as u32;
    let mut ftl = Ftl::new(Layout { user_units, ..layout }, Policy::new(Victims::Greedy))?;
    ftl.fill_sequential(0, user_units, 0);
    let region = Region { offset: Bytes(0), length: Bytes(u64::from(user_units)) };
    let mut stream = RequestStream::new(&Job::new("ftl", Rw::RandWrite, Bytes(1), region), 0);
    let (mut lpns, mut out) = ([0u32; 16], Collected::default());
    let mut write = |ftl: &mut Ftl, units: u64| {
        for _ in 0..units / 16 {
            lpns.iter_mut().for_each(|lpn| *lpn = stream.next_request().offset.0 as u32);
            std::hint::black_box(ftl.touch(lpns.iter().copied()));
            out.clear();
            ftl.write_program(0, &lpns, &mut out);
        }
    };
    write(&mut ftl, u64::from(user_units));
    ftl.reset_counters();
    let (mut speeds, start) = (Vec::new(), cpu_seconds());
    while speeds.is_empty() || cpu_seconds() - start < size.seconds {
        let before = ftl.host_units();
        let (_, million, ()) = speed(|| {
            write(&mut ftl, size.batch_ios);
            Ok((ftl.host_units() - before, ()))
        })?;
        speeds.push(million);
    }
    let (host, moved) = (ftl.host_units(), ftl.moved_units());
    let remark = format!("write amplification {:.2}", (host + moved) as f64 / host as f64);
    let workload = "mapping alone, random writes";
    Ok(Row { workload, depth: None, ios: host, model: median(speeds), reference: None, aim: None, remark })
}

/// Two fills and a point of each kind on the largest drive as its profile is; prints the peak.
fn memory(scale: &str) -> Outcome<()> {
    let known = MEMORY_SCALES.iter().find(|(name, ..)| *name == scale);
    let (name, shortest, aim) = known.ok_or_else(|| format!("no scale `{scale}`; there are shares and points"))?;
    let setup = Setup::largest(MAPPED_UNITS_MAX)?;
    let mut drive = ModelledDrive::for_points(setup.profile.clone(), setup.hosts()?, None, *shortest);
    setup.fill_twice(&mut drive)?;
    let points = [
        (Rw::RandRead, 4, 200_000),
        (Rw::Read, 128, 100_000),
        (Rw::RandWrite, 16, 200_000),
        (Rw::RandWrite, 4, 100_000),
        (Rw::RandRw, 16, 200_000),
        (Rw::Write, 128, 100_000),
    ];
    for (rw, kib, ios) in points {
        let job = setup.job(&drive, rw, Bytes::kib(kib), (64, 16), ios);
        drive_run(&mut drive, &job)?;
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel doesn't tell VmHWM")?;
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse()?;
    let mb = Bytes::kib(kib).0 as f64 / 1e6;
    let reached = if mb <= *aim { "yes" } else { "no" };
    let scale = drive.scale();
    println!(
        "peak memory, 245.76 TB, two fills and a point of each kind, {name}, 1/{scale}: {mb:.0} MB; aim {aim:.0}: {reached}"
    );
    Ok(())
}

/// A peak is that of a process: this one has seen larger.
fn memory_in_a_process_of_its_own() -> Outcome<()> {
    for (scale, ..) in MEMORY_SCALES {
        let status = Command::new(std::env::current_exe()?).args(["--memory", scale]).status()?;
        if !status.success() {
            return Err(format!("the run for peak memory ended with {status}").into());
        }
    }
    Ok(())
}

/// One small fixed workload of `n` I/Os (fill: of `n` times two fills); says how many it did, so that the
/// difference of two runs is free of what both begin with.
fn count(workload: &str, n: u64) -> Outcome<()> {
    let mut setup = Setup::largest(1)?;
    let p = &mut setup.profile.parameters;
    (p.nand.dies.value, p.mapping.superblocks.value) = (128, 128);
    let bs = if workload == "read" { Bytes::kib(4) } else { setup.unit() };
    let rw = match workload {
        "read" => Rw::RandRead,
        "write" => Rw::RandWrite,
        "mix" => Rw::RandRw,
        "fill" => {
            let mut drive = setup.drive()?;
            let mut units = 0;
            for _ in 0..n {
                units += setup.fill_twice(&mut drive)?;
            }
            println!("ios {units}");
            return Ok(());
        }
        other => return Err(format!("no workload `{other}`; there are read, write, mix and fill").into()),
    };
    let mut drive = setup.drive()?;
    setup.fill_twice(&mut drive)?;
    if rw.writes() {
        setup.collect(&mut drive, 2)?;
    }
    let job = Job { seed: 1, ..setup.job(&drive, rw, bs, (32, 8), n) };
    let result = drive_run(&mut drive, &job)?;
    println!("ios {}", ios(&drive, &result, bs));
    Ok(())
}
