//! Random reads of the modelled drive against a plain event-driven simulation that makes the same
//! requests, and against queueing theory.
//!
//! Model and reference draw the same offsets, drop the same number of completions and count the same
//! number after, so that what differs is physics and not sampling. That is exact for one job: the n-th
//! submission then makes the n-th request on both sides, whatever the order of two completions at one
//! instant. With several jobs that order decides which job goes on first, the runs part at the first
//! such tie and are only alike on average: there the mean difference over several seeds is judged, with
//! its standard error. `FLASHLAB_LONG=1` counts more I/Os.
#![allow(clippy::print_stdout, reason = "the errors that were reached are shown")]

mod reference;

use flashlab_drive::{MAPPED_UNITS_MAX, ModelledDrive};
use flashlab_samples::{JobResult, LatencyHistogram};
use flashlab_spec::{DriveProfile, HostProfile, Hosts, Job, LinkModel, Region, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use reference::{Reference, Seen};

/// Share by which rate and mean latency may differ beyond what sampling explains. Both sides compute in
/// picoseconds; this leaves room for a model that orders what lies closer than a transfer otherwise.
const SHARE_MAX: f64 = 0.000_5;
/// Histogram steps by which a percentile may differ beyond what sampling explains.
const STEPS_MAX: f64 = 1.0;
/// Standard errors that sampling explains.
const ERRORS_MAX: f64 = 3.0;
/// Seeds over which differences of several jobs are averaged.
const SEEDS: u64 = 8;
/// Percentiles that are compared.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

/// A drive, its host, and the region that one sequential fill has written.
struct Bench {
    profile: DriveProfile,
    host: HostProfile,
    region: Region,
}

impl Bench {
    /// `dies` dies at full scale. All times are whole picoseconds, so that neither side rounds.
    fn new(dies: u32, program_unit: Bytes) -> Self {
        let text = include_str!("../../../data/drives/6600-ion-245.toml");
        let mut profile = DriveProfile::parse(text, "6600-ion-245.toml").expect("a good profile");
        let p = &mut profile.parameters;
        p.nand.dies.value = dies;
        p.nand.channels.value = 16;
        p.nand.channel_rate.value = page_in(3_276_713);
        p.nand.program_unit.value = program_unit;
        p.nand.read_time.value = Nanos(60_012);
        p.nand.read_time_spread.value = 0.25;
        p.controller.command_time.value = Nanos(101);
        set_link(&mut p.link, page_in(163_846));
        // Two random reads that happen to follow each other are no stream.
        p.read_ahead.streams.value = 0;
        // A superblock is a whole number of rounds over the dies, so that the k-th program of the fill
        // is on die k mod dies whichever superblocks it takes.
        let superblock = Bytes::gib(2).0;
        assert!(superblock.is_multiple_of(u64::from(dies) * program_unit.0), "whole rounds over the dies");
        p.mapping.superblocks.value = 24;
        p.capacity.raw.value = Bytes(24 * superblock);
        p.capacity.user.value = Bytes(17 * superblock);
        p.capacity.unusable_share.value = 0.0;
        let mut host = host(include_str!("../../../data/hosts/fio.toml"));
        // Fast enough for one job to keep the drive busy.
        host.submit_time.value = Nanos(20);
        // The reference knows no delay by the number of jobs.
        host.jobs_delay = None;
        Bench { profile, host, region: Region { offset: Bytes(0), length: Bytes(16 * superblock) } }
    }

    fn change(mut self, change: impl FnOnce(&mut DriveProfile, &mut HostProfile)) -> Self {
        change(&mut self.profile, &mut self.host);
        self
    }

    /// A purged drive, written once in order: as extents, so that all of it is simulated and none is
    /// written in bulk or twice.
    fn filled(&self) -> ModelledDrive {
        let gdsio = host(include_str!("../../../data/hosts/gdsio.toml"));
        let checkpoint = host(include_str!("../../../data/hosts/checkpoint.toml"));
        let hosts = Hosts::new(vec![self.host.clone(), gdsio, checkpoint]);
        let mut drive = ModelledDrive::with_units_max(self.profile.clone(), hosts, None, MAPPED_UNITS_MAX);
        let fill = Job {
            iodepth: 4,
            amount: Some(self.region.length),
            extents: vec![vec![self.region]],
            ..Job::new("fill", Rw::Write, Bytes::mib(1), self.region)
        };
        let written = drive.run(&fill, &mut Unobserved).expect("a fill runs");
        assert_eq!((written.bytes(), drive.scale()), (self.region.length, 1), "each block once, at full scale");
        drive
    }

    fn job(&self, bs: Bytes, (iodepth, numjobs): (u32, u32), ios: u64, seed: u64) -> Job {
        let amount = Some(Bytes(ios * bs.0));
        Job { iodepth, numjobs, amount, seed, ..Job::new("rand-read", Rw::RandRead, bs, self.region) }
    }

    /// Runs a job on both sides.
    fn pair(&self, drive: &mut ModelledDrive, job: &Job) -> Difference {
        let got = read(drive, job);
        let warm_up = warm_up(&got, job.bs);
        assert!(warm_up >= job.outstanding(), "{warm_up} completions before the window");
        let expected = Reference::new(&self.profile.parameters, &self.host, job).run(warm_up, got.ios());
        Difference::of(&got, &expected)
    }

    /// One job at each depth: the same requests in the same order on both sides.
    fn one_job(&self, bs: Bytes, depths: &[u32], ios: u64) {
        let mut drive = self.filled();
        for depth in depths {
            let difference = self.pair(&mut drive, &self.job(bs, (*depth, 1), ios, 11));
            self.judge(bs, (*depth, 1), difference, None);
        }
    }

    /// Several jobs: the mean of the differences over the seeds.
    fn jobs(&self, bs: Bytes, depths: &[(u32, u32)], ios: u64) {
        let mut drive = self.filled();
        for depth in depths {
            let each: Vec<Difference> =
                (0..SEEDS).map(|seed| self.pair(&mut drive, &self.job(bs, *depth, ios, seed))).collect();
            let (mean, error) = Difference::mean_and_error(&each);
            self.judge(bs, *depth, mean, Some(error));
        }
    }

    fn judge(&self, bs: Bytes, depth: (u32, u32), mean: Difference, error: Option<Difference>) {
        let dies = self.profile.parameters.nand.dies.value;
        let what = format!("{dies} dies, {bs}, {}/{}", depth.0, depth.1);
        println!("{what}: {mean}{}", error.map(|e| format!("; standard error {e}")).unwrap_or_default());
        if let Err(why) = mean.judge(&error.unwrap_or_default()) {
            panic!("{what}: {why}");
        }
    }
}

/// How far the model is from the reference.
#[derive(Debug, Clone, Copy, Default)]
struct Difference {
    /// IOPS, as a share.
    rate: f64,
    /// Mean latency, as a share.
    mean: f64,
    /// [`PERCENTS`], in histogram steps.
    steps: [f64; 3],
}

impl Difference {
    fn of(got: &JobResult, expected: &Seen) -> Self {
        assert_eq!(got.ios(), expected.ios, "both count the same number");
        let latency = got.latency();
        let mean = |h: &LatencyHistogram| h.mean_ns().expect("samples");
        let steps = PERCENTS.map(|percent| {
            let at = |h: &LatencyHistogram| h.percentile(percent).expect("samples").value.0;
            let (a, b) = (at(&latency), at(&expected.latency));
            (a as f64 - b as f64) / step(a.max(b)) as f64
        });
        Difference {
            rate: expected.elapsed.0 as f64 / got.elapsed.0 as f64 - 1.0,
            mean: mean(&latency) / mean(&expected.latency) - 1.0,
            steps,
        }
    }

    fn values(&self) -> [f64; 5] {
        [self.rate, self.mean, self.steps[0], self.steps[1], self.steps[2]]
    }

    fn from_values(v: [f64; 5]) -> Self {
        Difference { rate: v[0], mean: v[1], steps: [v[2], v[3], v[4]] }
    }

    /// Mean and its standard error.
    fn mean_and_error(each: &[Difference]) -> (Self, Self) {
        let n = each.len() as f64;
        let (mut means, mut errors) = ([0.0; 5], [0.0; 5]);
        for i in 0..5 {
            means[i] = each.iter().map(|d| d.values()[i]).sum::<f64>() / n;
            let squares = each.iter().map(|d| (d.values()[i] - means[i]).powi(2)).sum::<f64>();
            errors[i] = (squares / (n - 1.0) / n).sqrt();
        }
        (Self::from_values(means), Self::from_values(errors))
    }

    fn judge(&self, error: &Self) -> Result<(), String> {
        let max = [SHARE_MAX, SHARE_MAX, STEPS_MAX, STEPS_MAX, STEPS_MAX];
        let names = ["rate", "mean", "p50", "p99", "p99.9"];
        for (i, name) in names.iter().enumerate() {
            let (value, error) = (self.values()[i], error.values()[i]);
            if value.abs() > max[i] + ERRORS_MAX * error {
                return Err(format!("{name} differs: {self}, standard error of that {error:.5}"));
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p50, p99, p999] = self.steps;
        let (rate, mean) = (self.rate * 100.0, self.mean * 100.0);
        write!(out, "rate {rate:+.4} %, mean {mean:+.4} %, steps {p50:+.2} {p99:+.2} {p999:+.2}")
    }
}

/// The rate that moves 4 KiB in this many picoseconds.
fn page_in(picos: u32) -> BytesPerSecond {
    BytesPerSecond(4096.0 * 1e12 / f64::from(picos))
}

fn host(text: &str) -> HostProfile {
    HostProfile::parse(text, "host.toml").expect("a good host")
}

/// I/Os that are counted: `usual`, or many more on demand, as far as the region has blocks of 4 KiB.
fn ios(usual: u64) -> u64 {
    if std::env::var_os("FLASHLAB_LONG").is_some_and(|v| v == "1") { (usual * 16).min(8_000_000) } else { usual }
}

fn read(drive: &mut ModelledDrive, job: &Job) -> JobResult {
    let result = drive.run(job, &mut Unobserved).expect("a valid job runs");
    assert_eq!(Some(Bytes(result.ios() * job.bs.0)), job.amount, "a job of an amount ends on it");
    result
}

/// Completions that the model dropped before its window: what its log counts and its result does not.
fn warm_up(result: &JobResult, bs: Bytes) -> u64 {
    let all = result.health.as_ref().and_then(|log| log.host_read).expect("the log counts what was read");
    all.0 / bs.0 - result.ios()
}

/// Width of a histogram's bucket at `value`: 128 buckets a power of two, exact below 256.
fn step(value: u64) -> u64 {
    1 << (value.max(128).ilog2() - 7)
}

#[test]
fn one_job_on_256_and_1024_dies_at_1_to_4096_outstanding() {
    for dies in [256, 1024] {
        let bench = Bench::new(dies, Bytes::kib(256));
        bench.one_job(Bytes::kib(4), &[1, 4, 16, 64, 256, 1024, 4096], ios(200_000));
    }
}

/// 1.2 µs of each job's thread an I/O, as fio has it.
#[test]
fn several_jobs_at_16_to_4096_outstanding() {
    for dies in [256, 1024] {
        let bench = Bench::new(dies, Bytes::kib(256)).change(|_, host| host.submit_time.value = Nanos(1_200));
        bench.jobs(Bytes::kib(4), &[(1, 16), (16, 4), (32, 8), (64, 16), (64, 64)], ios(50_000));
    }
}

/// 1.024 µs a read: 977 thousand a second. What waits here is served in the order in which its data is
/// ready; a model that serves in the order of submission has shorter tails.
#[test]
fn the_link_saturated() {
    let bench = Bench::new(1024, Bytes::kib(256));
    let bench = bench.change(|profile, _| set_link(&mut profile.parameters.link, page_in(1_024_006)));
    bench.one_job(Bytes::kib(4), &[64, 128, 256, 1024, 4096], ios(200_000));
    bench.jobs(Bytes::kib(4), &[(32, 2), (32, 4), (64, 16)], ios(50_000));
}

/// Four channels: 1.22 million 4 KiB reads a second.
#[test]
fn the_channels_near_saturation() {
    let bench = Bench::new(1024, Bytes::kib(256));
    let bench = bench.change(|profile, _| profile.parameters.nand.channels.value = 4);
    bench.one_job(Bytes::kib(4), &[64, 96, 128, 256, 1024], ios(200_000));
    bench.jobs(Bytes::kib(4), &[(16, 4), (32, 4), (64, 4)], ios(50_000));
}

/// A million commands a second; and one thread that submits 0.83 million.
#[test]
fn the_controller_or_the_host_saturated() {
    let slow = Bench::new(1024, Bytes::kib(256)).change(|profile, host| {
        profile.parameters.controller.command_time.value = Nanos::micros(1);
        host.submit_time.value = Nanos(1_200);
    });
    slow.one_job(Bytes::kib(4), &[64, 256], ios(200_000));
    slow.jobs(Bytes::kib(4), &[(32, 2), (32, 8)], ios(50_000));
}

/// 64 KiB in 16 KiB units: with programs of 256 KiB one page type of one die, with 32 and 16 KiB two
/// and four dies and all four page types of each.
#[test]
fn large_reads_in_one_and_in_several_parts() {
    for (program_unit, dies) in [(256, 1024), (32, 1024), (16, 1024), (16, 256)] {
        let bench = Bench::new(dies, Bytes::kib(program_unit));
        bench.one_job(Bytes::kib(64), &[1, 4, 16, 64, 256], ios(20_000));
        bench.jobs(Bytes::kib(64), &[(4, 4), (16, 4)], ios(10_000));
    }
}

/// The comparison itself: a tR that is 2 % longer is seen, and half a percent more time on the link
/// where the link is the limit.
#[test]
fn what_differs_is_told() {
    let bench = Bench::new(1024, Bytes::kib(256));
    let bench = bench.change(|profile, _| set_link(&mut profile.parameters.link, page_in(1_024_006)));
    let mut drive = bench.filled();
    let mut told = |depth: u32, change: fn(&mut DriveProfile)| {
        let other = Bench { profile: bench.profile.clone(), host: bench.host.clone(), region: bench.region };
        let other = other.change(|profile, _| change(profile));
        other.pair(&mut drive, &other.job(Bytes::kib(4), (depth, 1), 20_000, 1)).judge(&Difference::default())
    };
    assert_eq!(told(16, |_| ()), Ok(()));
    assert!(told(16, |profile| profile.parameters.nand.read_time.value = Nanos(61_212)).is_err());
    assert!(told(256, |profile| set_link(&mut profile.parameters.link, page_in(1_029_126))).is_err());
}

/// A closed system of Q requests on N equal servers of fixed service time (interleaved memory):
/// X = (N + Q − 1/2 − √((N + Q − 1/2)² − 2NQ)) / tR. Everything but the dies is fast. 0.2 % is sampling at
/// the number of I/Os counted.
#[test]
fn random_reads_on_dies_follow_queueing_theory() {
    for dies in [256, 1024] {
        let bench = Bench::new(dies, Bytes::kib(256)).change(|profile, host| {
            let p = &mut profile.parameters;
            p.nand.read_time_spread.value = 0.0;
            p.nand.channel_rate.value = page_in(100);
            set_link(&mut p.link, page_in(100));
            (p.controller.command_time.value, p.controller.read_overhead.value) = (Nanos(1), Nanos(0));
            (host.submit_time.value, host.resubmit_gap.value) = (Nanos(0), Nanos(0));
        });
        let (n, t_read) = (f64::from(dies), bench.profile.parameters.nand.read_time.value.as_secs_f64());
        let mut drive = bench.filled();
        for depth in [1, 4, 16, 64, 256, 1024, 4096] {
            // With q a die, queues take some q² services to forget that they began balanced.
            let ios = ios(250_000 + 400 * u64::from(depth));
            let q = f64::from(depth);
            let a = n + q - 0.5;
            let theory = (a - (a * a - 2.0 * n * q).sqrt()) / t_read;
            let result = read(&mut drive, &bench.job(Bytes::kib(4), (depth, 1), ios, 3));
            let error = result.iops().expect("a rate").0 / theory - 1.0;
            println!("{dies} dies, {depth} outstanding: {theory:.0} IOPS by the formula, {:+.3} %", error * 100.0);
            assert!(error.abs() <= 0.002, "{dies} dies, {depth} outstanding: {error:+.5} from {theory:.0} IOPS");
        }
    }
}

/// Sets what the link of one port carries, whatever generation that would be.
fn set_link(link: &mut LinkModel, rate: BytesPerSecond) {
    link.payload_share.value *= rate.0 / link.port_rate().0;
}
