//! What the modelled drive says beside rates and latencies: where the time of requests went, and the wear
//! of its flash.

mod common;

use common::{CAPACITY, hosts, profile};
use flashlab_drive::ModelledDrive;
use flashlab_samples::{ClassTimes, HealthLog, JobResult};
use flashlab_spec::{DriveProfile, Job, Region, Rw};
use flashlab_target::{Purge, Target, Unobserved};
use flashlab_units::{Bytes, Nanos};

/// As small as a drive can be: what is asked for here does not depend on the scale.
fn drive(profile: DriveProfile) -> ModelledDrive {
    ModelledDrive::with_units_max(profile, hosts(), None, 1)
}

fn job(rw: Rw, bs: Bytes, iodepth: u32, numjobs: u32) -> Job {
    let region = Region { offset: Bytes(0), length: CAPACITY };
    Job { iodepth, numjobs, runtime: Some(Nanos::secs(1)), seed: 3, ..Job::new("w", rw, bs, region) }
}

fn run(d: &mut ModelledDrive, job: &Job) -> JobResult {
    d.run(job, &mut Unobserved).expect("a valid job runs")
}

fn fill(d: &mut ModelledDrive, bs: Bytes) -> HealthLog {
    let fill = Job { runtime: None, amount: Some(CAPACITY), ..job(Rw::Write, bs, 16, 1) };
    run(d, &fill).health.expect("a log")
}

/// The one class of a job, and its stages by name.
fn only<'a>(r: &'a JobResult, class: &str) -> &'a ClassTimes {
    assert_eq!(r.classes.iter().map(|c| c.class.as_str()).collect::<Vec<_>>(), [class]);
    &r.classes[0]
}

fn stage(times: &ClassTimes, name: &str) -> f64 {
    let found = times.stages.iter().find(|stage| stage.stage == name);
    found.unwrap_or_else(|| panic!("no {name} in {times:?}")).mean_ns
}

fn near(got: f64, expected: f64, what: &str) {
    assert!((got - expected).abs() <= 0.5, "{what}: {got} ns against {expected}");
}

/// At depth 1 nothing waits, and each stage takes what the profiles say, to the rounding of a nanosecond.
#[test]
fn the_stages_of_a_read_without_queueing_are_the_times_of_the_profile() {
    let mut p = profile();
    p.parameters.nand.read_time_spread.value = 0.0;
    let (nand, controller, bytes) = (p.parameters.nand.clone(), p.parameters.controller.clone(), Bytes::kib(4));
    let link = p.parameters.link.port_rate().time_for(bytes).0 as f64;
    let mut d = drive(p);
    fill(&mut d, Bytes::kib(128));
    let r = run(&mut d, &job(Rw::RandRead, bytes, 1, 1));
    let read = only(&r, "mapped read");
    near(stage(read, "host"), 1_200.0, "host");
    near(stage(read, "controller"), controller.command_time.value.0 as f64, "controller");
    near(stage(read, "die wait"), 0.0, "die wait");
    near(stage(read, "die read"), nand.read_time.value.0 as f64, "die read");
    near(stage(read, "channel"), nand.channel_rate.value.time_for(bytes).0 as f64, "channel");
    near(stage(read, "link"), link, "link");
    near(stage(read, "read overhead"), controller.read_overhead.value.0 as f64, "read overhead");
    near(stage(read, "hold-off"), 0.0, "nothing is held at depth 1");
    near(stage(read, "jobs delay"), 0.0, "one job");
    let (ios, sum) = (r.ios(), read.stages.iter().map(|stage| stage.mean_ns).sum::<f64>());
    near(sum, r.latency().mean_ns().expect("reads"), "all of it");
    assert!((ios / 20..ios / 10).contains(&read.ios), "one of 16 or so is followed: {} of {ios}", read.ios);
}

/// With much outstanding, the time goes to where the queue is; the fixed stages stay.
#[test]
fn queues_show_where_they_are() {
    let mut d = drive(profile());
    fill(&mut d, Bytes::kib(128));
    let deep = run(&mut d, &job(Rw::RandRead, Bytes::kib(4), 512, 16));
    let read = only(&deep, "mapped read");
    let all: f64 = read.stages.iter().map(|s| s.mean_ns).sum();
    let waits = ["host", "controller", "die wait", "hold-off"].map(|name| stage(read, name));
    assert!(waits.iter().sum::<f64>() > 0.8 * all, "{read:?}");
    assert!(stage(read, "die read") < 1.5 * 70_000.0);
    let write = run(&mut d, &job(Rw::RandWrite, Bytes::kib(64), 32, 8));
    let write = only(&write, "write");
    assert!(stage(write, "buffer wait") > 0.9 * write.stages.iter().map(|s| s.mean_ns).sum::<f64>(), "{write:?}");
    let trim = run(&mut d, &job(Rw::RandTrim, Bytes::kib(64), 1, 1));
    assert_eq!(only(&trim, "trim").stages.len(), 3);
    assert_eq!(trim.bandwidth(), None, "a trim moves no data");
    assert!(trim.iops().is_some());
}

/// The path of a host that hands on in batches belongs to the link, not to the flash before it.
#[test]
fn the_path_to_a_gpu_is_in_the_stage_of_the_link() {
    let mut d = drive(profile());
    fill(&mut d, Bytes::kib(128));
    let gds = Job { generator: flashlab_spec::Generator::Gdsio, ..job(Rw::RandRead, Bytes::mib(1), 1, 16) };
    let r = run(&mut d, &gds);
    let read = only(&r, "mapped read");
    assert!(stage(read, "link") > 2.0 * stage(read, "channel"), "{read:?}");
}

/// Each erase makes room for what is written: no more superblocks are erased than the log says were written,
/// but for those that one fill leaves dead for the next. The random writes that age a drive after a fill
/// are in no log.
#[test]
fn wear_is_that_of_what_was_asked_for() {
    let mut p = profile();
    // Most of the pool is taken by random writes after each fill, which erase each superblock many times.
    p.parameters.mapping.initial_free_share.value = 0.1;
    let superblocks = f64::from(p.parameters.mapping.superblocks.value);
    let (spare, mut d) = (p.spare_share(), drive(p));
    let logs = [(); 3].map(|()| fill(&mut d, Bytes::kib(128)));
    assert_eq!(logs[0].erases, Some(0), "the first fill erases nothing");
    let erases: Vec<f64> = logs.iter().map(|log| log.erases.expect("known") as f64).collect();
    for (log, erased) in logs.iter().zip(&erases) {
        let volume = log.media_written.expect("known").0 as f64 / CAPACITY.0 as f64 * superblocks * (1.0 - spare);
        assert!((volume - erased).abs() <= superblocks, "{erased} erases, {volume} superblocks written");
    }
    let wear = logs[2].wear.expect("known");
    assert!((wear.erases_mean * superblocks - erases.iter().sum::<f64>()).abs() < 0.5, "{wear:?} of {erases:?}");
    assert!(f64::from(wear.erases_min) <= wear.erases_mean && wear.erases_mean <= f64::from(wear.erases_max));
}

/// A purge erases and forgets data, not wear.
#[test]
fn no_purge_undoes_wear() {
    let mut p = profile();
    (p.rated.pbw, p.rated.pe_cycles) = (Some(1.2288), None);
    let mut d = drive(p);
    let used = |log: HealthLog| log.percentage_used.expect("rated");
    let first = fill(&mut d, Bytes::kib(128));
    assert!((used(first) - 10.0).abs() < 0.01, "122.88 TB of 1,228.8: {}", used(first));
    assert_eq!(d.purge().expect("a model can purge"), Purge::Purged);
    let purged = d.health().expect("a log").expect("a log");
    assert_eq!((purged.host_written, purged.erases), (Some(Bytes(0)), Some(0)));
    assert_eq!(used(purged), used(first));
    let wear = purged.wear.expect("known");
    assert_eq!((wear.erases_min, wear.erases_max), (0, 1), "what was written is erased");
    let second = fill(&mut d, Bytes::kib(128));
    assert!((used(second) - 20.0).abs() < 0.02, "{}", used(second));
}

/// Cycles that are stated count before volumes, and without either there is no figure, not zero.
#[test]
fn life_is_used_up_by_what_is_rated() {
    let with = |pbw, dwpd, pe_cycles| {
        let mut p = profile();
        (p.rated.pbw, p.rated.dwpd, p.rated.dwpd_years, p.rated.pe_cycles) = (pbw, dwpd, Some(5), pe_cycles);
        p.percentage_used(150.0, CAPACITY)
    };
    assert_eq!(with(None, None, None), None);
    assert_eq!(with(Some(122.88), None, None), Some(0.1));
    assert_eq!(with(Some(122.88), Some(1.0), Some(1500)), Some(10.0));
    let by_day = with(None, Some(2.0), None).expect("rated");
    assert!((by_day - 100.0 / 3650.0).abs() < 1e-9, "one of 3,650 drive writes: {by_day}");
}
