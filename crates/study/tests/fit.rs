//! Fits that must find what is known.

use flashlab_analysis::PublishedPoint;
use flashlab_drive::ModelledDrive;
use flashlab_samples::{MetricName, Origin};
use flashlab_spec::{DriveProfile, HostProfile, Hosts, Job, Region, Rw, Suite};
use flashlab_study::StudyError;
use flashlab_study::fit::{Fit, FitPlan, FitQuestion, fit, twin};
use flashlab_study::what_if::Watch;
use flashlab_target::{Observer, Progress, Target};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const DRIVE: &str = include_str!("../../../data/drives/r6060-122.toml");
const PLAN: &str = r#"
[parameter."controller.command_time"]
start = "1400ns"
low = "200ns"
high = "3us"
why = "twice what is true"

[parameter."controller.read_overhead"]
start = "6us"
low = "1us"
high = "40us"
why = "half of what is true"

[parameter."nand.dies"]
start = 90
low = 32
high = 1024
why = "half of what is true"

[parameter."nand.channel_rate"]
start = "1.2GB/s"
low = "0.3GB/s"
high = "2.4GB/s"
why = "twice what is true"

[[block]]
name = "reads"
workloads = { reads = ["rand-read-4k", "rand-read-64k"] }

[drive.r6060-122]
reads = ["controller.command_time", "controller.read_overhead", "nand.dies", "nand.channel_rate"]
"#;
const SUITE: &str = r#"
id = "reads"
title = "random reads"
purpose = "to be fitted"

[[step]]
do = "purge"

[[step]]
do = "fill"
bs = "128KiB"
iodepth = 16
passes = 1

[[step]]
do = "sweep"
workload = "rand-read-4k"
rw = "randread"
bs = "4KiB"
iodepth = [1, 8, 32]
numjobs = [1, 4, 64]
runtime = "1s"

[[step]]
do = "sweep"
workload = "rand-read-64k"
rw = "randread"
bs = "64KiB"
iodepth = [1, 8]
numjobs = [1, 8]
runtime = "1s"
"#;
const PLACES: [(&str, u64, u32, u32); 13] = [
    ("rand-read-4k", 4, 1, 1),
    ("rand-read-4k", 4, 1, 4),
    ("rand-read-4k", 4, 1, 64),
    ("rand-read-4k", 4, 8, 1),
    ("rand-read-4k", 4, 8, 4),
    ("rand-read-4k", 4, 8, 64),
    ("rand-read-4k", 4, 32, 1),
    ("rand-read-4k", 4, 32, 4),
    ("rand-read-4k", 4, 32, 64),
    ("rand-read-64k", 64, 1, 1),
    ("rand-read-64k", 64, 1, 8),
    ("rand-read-64k", 64, 8, 1),
    ("rand-read-64k", 64, 8, 8),
];

struct Patient;

impl Observer for Patient {
    fn progress(&mut self, _progress: &Progress) {}
    fn stop_requested(&self) -> bool {
        false
    }
}

fn hosts() -> Hosts {
    let texts = [
        include_str!("../../../data/hosts/fio.toml"),
        include_str!("../../../data/hosts/gdsio.toml"),
        include_str!("../../../data/hosts/checkpoint.toml"),
    ];
    Hosts::new(texts.iter().map(|text| HostProfile::parse(text, "a host").expect("good")).collect())
}

/// What a drive of `profile` does at each place, off by a normal error of 2 % drawn from `seed`.
fn measured(profile: &DriveProfile, seed: u64) -> Vec<PublishedPoint> {
    let mut drive = ModelledDrive::with_units_max(profile.clone(), hosts(), None, 1 << 18);
    let whole = Region { offset: Bytes(0), length: profile.parameters.capacity.user.value };
    let fill = Job { iodepth: 16, amount: Some(whole.length), ..Job::new("fill", Rw::Write, Bytes::kib(128), whole) };
    drive.run(&fill, &mut Patient).expect("fills");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = || {
        let uniform = |x: u64| (x >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(|_| uniform(rng.next_u64())).sum::<f64>() - 6.0
    };
    let mut point = |&(workload, kib, iodepth, numjobs): &(&str, u64, u32, u32)| {
        let runtime = Some(Nanos::secs(1));
        let job = Job { iodepth, numjobs, seed, runtime, ..Job::new(workload, Rw::RandRead, Bytes::kib(kib), whole) };
        let result = drive.run(&job, &mut Patient).expect("runs");
        PublishedPoint {
            drive_id: profile.id.clone(),
            suite: "reads".into(),
            workload: workload.into(),
            iodepth: Some(iodepth),
            numjobs: Some(numjobs),
            threads: None,
            pass: None,
            metric: MetricName::Iops,
            value: result.iops().expect("reads").0 * (0.02 * normal()).exp(),
            comparable: flashlab_analysis::Comparable::Point,
            printed: String::new(),
            review: String::new(),
            note: String::new(),
        }
    };
    PLACES.iter().map(&mut point).collect()
}

fn run(text: &str, points: &[PublishedPoint], threads: usize, stop: bool) -> Result<Fit, StudyError> {
    let (plan, suite) = (FitPlan::parse(PLAN, "plan")?, Suite::parse(SUITE, "suite")?);
    let (hosts, stop) = (hosts(), || stop);
    let question = FitQuestion {
        text,
        file: "r6060-122.toml",
        plan: &plan,
        like: "r6060-122",
        hosts: &hosts,
        suites: vec![&suite],
        points,
        seed: 1,
        threads,
    };
    fit(&question, &Watch { stop: &stop, done: &|_, _| {} })
}

/// A drive that differs from its profile in all four, measured with noise: the fit must find each within
/// its own 95 % interval, from starts that are off by a factor of two.
#[test]
fn a_twin_finds_the_parameters_of_its_drive() {
    let mut truth = DriveProfile::parse(DRIVE, "drive").expect("good");
    let p = &mut truth.parameters;
    (p.controller.command_time.value, p.controller.read_overhead.value) = (Nanos(700), Nanos(11_000));
    (p.nand.dies.value, p.nand.channel_rate.value) = (190, BytesPerSecond(0.62e9));
    let points = measured(&truth, 7);
    let fitted = run(DRIVE, &points, 2, false).expect("fits");
    let truths = [700.0, 11_000.0, 190.0, 0.62e9];
    assert_eq!(fitted.blocks.len(), 1);
    for (parameter, truth) in fitted.blocks[0].parameters.iter().zip(truths) {
        let within = parameter.low_base <= truth && truth <= parameter.high_base;
        assert!(within, "{truth} is not within {parameter:?}");
        assert!(parameter.high_base < 2.5 * parameter.low_base, "an interval that says nothing: {parameter:?}");
    }
    let profile = DriveProfile::parse(&fitted.profile, "fitted").expect("a profile");
    assert_eq!(f64::from(profile.parameters.nand.dies.value), fitted.blocks[0].parameters[2].value_base);
    assert_eq!(profile.parameters.nand.dies.source, flashlab_spec::Source::Fitted);
    // Neither threads nor what the file said before are of consequence.
    let again = run(&fitted.profile, &points, 1, false).expect("fits");
    assert_eq!(again.profile, fitted.profile);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let one = || PublishedPoint { value: 1e5, ..measured_without_a_run() };
    let refused = |points: &[PublishedPoint], says: &str| {
        let error = run(DRIVE, points, 1, false).expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(&[], "no figure tells of any parameter");
    refused(&[PublishedPoint { drive_id: "other".into(), ..one() }], "no figure tells of any parameter");
    refused(&[PublishedPoint { suite: "review".into(), ..one() }], "no figure tells of any parameter");
    refused(&[PublishedPoint { pass: Some(3), ..one() }], "no result at the place");
    assert!(matches!(run(DRIVE, &[one()], 1, true), Err(StudyError::Stopped)));
}

fn measured_without_a_run() -> PublishedPoint {
    PublishedPoint {
        drive_id: "r6060-122".into(),
        suite: "reads".into(),
        workload: "rand-read-4k".into(),
        iodepth: Some(1),
        numjobs: Some(1),
        threads: None,
        pass: None,
        metric: MetricName::Iops,
        value: 1.0,
        comparable: flashlab_analysis::Comparable::Point,
        printed: String::new(),
        review: String::new(),
        note: String::new(),
    }
}

#[test]
fn a_twin_has_the_size_of_what_was_measured() {
    let text = twin(DRIVE, "scratch-twin", "a test", Bytes(1_000_000_000_000)).expect("a profile");
    let profile = DriveProfile::parse(&text, "twin").expect("good");
    let before = DriveProfile::parse(DRIVE, "drive").expect("good");
    assert_eq!((profile.id.as_str(), profile.parameters.capacity.user.value), ("scratch-twin", Bytes(953_674 << 20)));
    assert!((profile.spare_share() - before.spare_share()).abs() < 1e-3);
    assert_eq!(twin(DRIVE, &before.id, &before.status, before.parameters.capacity.user.value).expect("same"), DRIVE);
    assert_eq!(ModelledDrive::new(profile, hosts(), None).origin(), Origin::Modelled);
    assert!(twin("id = ", "x", "y", Bytes(1)).is_err());
}
