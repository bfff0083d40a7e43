//! Two runs as the store would hand them out: a modelled review and a measured quick run. Invented
//! figures of a plausible shape; everything is computed from a fixed seed without transcendental
//! functions, so that every machine makes the same bytes.

#![allow(dead_code, unreachable_pub)]

use flashlab_analysis::{Comparable, PublishedPoint, RunRecord, RunStatus, StepRecord, figures};
use flashlab_samples::*;
use flashlab_spec::{DriveProfile, Suite};
use flashlab_units::{Bytes, Nanos};

const REVIEW: &str = include_str!("review.toml");
const QUICK: &str = include_str!("quick.toml");
const CHECKPOINT: &str = include_str!("checkpoint.toml");
const DRIVE: &str = include_str!("drive.toml");

pub fn profile() -> DriveProfile {
    DriveProfile::parse(DRIVE, "drive.toml").expect("valid profile")
}

/// What a review printed about the drive of [`modelled_review`]: rates and a mean latency at places of
/// its grid, the top of a sweep, a steady state, and a place that the grid does not have.
pub fn published() -> Vec<PublishedPoint> {
    use MetricName::{Bandwidth, Iops, LatMean};
    let point = |suite: &str, workload: &str, at: Option<(u32, u32)>, metric, value, printed: &str| PublishedPoint {
        drive_id: "sample-122".into(),
        suite: suite.into(),
        workload: workload.into(),
        iodepth: at.map(|(depth, _)| depth),
        numjobs: at.map(|(_, jobs)| jobs),
        threads: None,
        pass: None,
        metric,
        value,
        comparable: if at.is_some() { Comparable::Point } else { Comparable::Peak },
        printed: printed.into(),
        review: "sample".into(),
        note: "exact".into(),
    };
    vec![
        point("review", "seq-write-128k", Some((16, 1)), Bandwidth, 3.5e9, "3,500 MB/s"),
        point("review", "rand-write-64k", Some((8, 4)), Iops, 56_000.0, "56K IOPS"),
        point("review", "rand-write-64k", None, Bandwidth, 3.7e9, "3,700 MB/s"),
        point("review", "rand-read-64k", Some((8, 1)), LatMean, 60_000.0, "60 us"),
        point("review", "rand-read-4k", Some((8, 4)), Iops, 1_000_000.0, "1.0M IOPS"),
        point("review", "rand-read-4k", Some((32, 8)), Iops, 1_300_000.0, "1.3M IOPS"),
    ]
}

/// A small generator (an LCG) for spread; quality does not matter here.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Latencies around `mean_ns` with a tail.
fn latencies(mean_ns: u64, count: u64, dice: &mut Dice) -> LatencyHistogram {
    let mut out = LatencyHistogram::new();
    for _ in 0..count {
        let mut ns = mean_ns * (80 + dice.next(30)) / 100;
        for (odds, times) in [(40, 2), (500, 3), (6_000, 4)] {
            if dice.next(odds) == 0 {
                ns *= times;
            }
        }
        out.record(Nanos(ns));
    }
    out
}

#[derive(Clone, Copy)]
pub struct Load {
    pub workload: &'static str,
    pub writes: bool,
    pub bs: u64,
    pub depth: u32,
    pub jobs: u32,
    /// Latency of one I/O on an idle drive.
    pub alone_ns: u64,
    /// Operations a second at most.
    pub ceiling: u64,
}

impl Load {
    /// Rate and mean latency of a closed loop over a server: the lower of load and ceiling, softened.
    fn point(&self) -> (u64, u64) {
        let outstanding = u64::from(self.depth) * u64::from(self.jobs);
        let free = outstanding * 1_000_000_000 / self.alone_ns;
        let iops = free * self.ceiling / (free + self.ceiling / 8) * 9 / 10;
        let iops = iops.min(self.ceiling);
        (iops, outstanding * 1_000_000_000 / iops)
    }
}

fn granted(modelled: bool) -> Granted {
    if modelled {
        return Granted { engine: "model".into(), direct: None, features: vec![], refused: vec![] };
    }
    Granted {
        engine: "io_uring".into(),
        direct: Some(true),
        features: vec!["SINGLE_ISSUER".into(), "registered-buffers".into(), "registered-files".into()],
        refused: vec!["IOPOLL: the file system has no polling".into()],
    }
}

fn series(load: &Load, iops: u64, mean_ns: u64, seconds: u64, dice: &mut Dice) -> Series {
    let interval = |i: u64, dice: &mut Dice| {
        let ios = iops * (94 + dice.next(12)) / 100;
        let done = IntervalDirection {
            ios,
            bytes: Bytes(ios * load.bs),
            lat: latencies(mean_ns * (90 + dice.next(20)) / 100, 400, dice).to_sparse(),
        };
        let (read, write) = if load.writes { (Default::default(), done) } else { (done, Default::default()) };
        Interval { start: Nanos::secs(i), length: Nanos::secs(1), read, write, trim: Default::default() }
    };
    Series { intervals: (0..seconds).map(|i| interval(i, dice)).collect() }
}

/// Stages that add up to the mean.
fn classes(load: &Load, ios: u64, mean_ns: u64) -> Vec<ClassTimes> {
    let (class, last) = if load.writes { ("write", "buffer wait") } else { ("mapped read", "die wait") };
    let stage = |stage: &str, mean_ns: u64| StageTime { stage: stage.into(), mean_ns: mean_ns as f64 };
    let stages = vec![
        stage("host", 1_200),
        stage("controller", 500),
        stage(last, mean_ns - 11_700),
        stage("hold-off", 0),
        stage("link", 10_000),
    ];
    vec![ClassTimes { class: class.into(), ios, stages }]
}

fn job(load: &Load, modelled: bool, samples: u64, seconds: u64, dice: &mut Dice) -> JobResult {
    let (iops, mean_ns) = load.point();
    let done = DirectionResult {
        ios: iops * seconds,
        bytes: Bytes(iops * seconds * load.bs),
        lat: latencies(mean_ns, samples, dice),
        slat: None,
        service: None,
    };
    let (read, write) =
        if load.writes { (DirectionResult::default(), done) } else { (done, DirectionResult::default()) };
    let seconds_shown = if modelled { 0 } else { seconds };
    JobResult {
        elapsed: Nanos::secs(seconds),
        ramp: Nanos::secs(if modelled { 0 } else { 1 }),
        read,
        write,
        trim: DirectionResult::default(),
        in_flight_mean: Some(f64::from(load.depth * load.jobs)),
        series: series(load, iops, mean_ns, seconds_shown, dice),
        classes: if modelled { classes(load, iops * seconds / 16, mean_ns) } else { vec![] },
        shares: vec![JobShare { ios: iops * seconds / u64::from(load.jobs), lat_mean_ns: Some(mean_ns as f64) }],
        granted: granted(modelled),
        errors: vec![],
        cpu: (!modelled).then_some(CpuTime { user: Nanos::millis(700), system: Nanos::millis(2_100) }),
        health: None,
        ended: if modelled && !load.writes { Ended::IntervalReached } else { Ended::Completed },
        scale: if modelled { 2048 } else { 1 },
        interval_share: Some(0.004),
    }
}

fn point(run: &RunRecord, load: &Load, condition: Condition, pass: Option<u32>, job: JobResult) -> PointResult {
    let fills = if condition == Condition::AfterFill { 2 } else { 0 };
    PointResult {
        at: Coordinates {
            drive_id: run.provenance.target.id.clone(),
            suite: run.suite.id.clone(),
            workload: load.workload.into(),
            iodepth: Some(load.depth),
            numjobs: Some(load.jobs),
            threads: None,
            pass,
        },
        state: DriveState { condition, fills, last_fill_bs: (fills > 0).then(|| Bytes::kib(128)) },
        origin: run.provenance.origin,
        metrics: figures(&job),
        // Not the remarks of `analysis`: their wording is its own affair.
        remarks: if job.latency().count() < 10_000 { vec!["a small sample".into()] } else { vec![] },
        job: Some(job),
    }
}

fn push(run: &mut RunRecord, title: String, round: u32, points: Vec<PointResult>, said: &[&str]) {
    let index = match run.steps.last() {
        Some(last) if round > 1 => last.index,
        Some(last) => last.index + 1,
        None => 0,
    };
    let state_after = points.last().map_or(DriveState::UNKNOWN, |p| p.state);
    run.steps.push(StepRecord {
        index,
        round,
        title,
        points,
        state_after,
        remarks: said.iter().map(|s| s.to_string()).collect(),
    });
}

fn run(suite: &str, origin: Origin, target: TargetIdentity) -> RunRecord {
    let measured = origin == Origin::Measured;
    RunRecord {
        id: if measured { 12 } else { 3 },
        suite: Suite::parse(suite, "suite.toml").expect("valid suite"),
        provenance: Provenance {
            origin,
            build: BuildInfo { tool: "flashlab".into(), version: "0.1.0".into(), commit: Some("0123abcd4567".into()) },
            seed: 42,
            started: measured.then(|| "2026-02-03T04:05:06Z".into()),
            host: measured.then(|| "bench-7".into()),
            kernel: measured.then(|| "6.18.0".into()),
            target,
            state_before: DriveState::UNKNOWN,
        },
        status: RunStatus::Done,
        steps_planned: 0,
        steps: vec![],
    }
}

fn modelled_target() -> TargetIdentity {
    let profile = profile();
    TargetIdentity {
        kind: TargetKind::ModelledDrive,
        id: profile.id.clone(),
        path: None,
        model: Some(format!("{} {}", profile.vendor, profile.model)),
        serial: None,
        firmware: None,
        profile_sha256: Some("9f".repeat(32)),
        capacity: profile.parameters.capacity.user.value,
        logical_block: Bytes(4096),
    }
}

const FILL: Load =
    Load { workload: "fill-128k", writes: true, bs: 131_072, depth: 16, jobs: 1, alone_ns: 20_000, ceiling: 30_000 };
const SEQUENTIAL: Load = Load { workload: "seq-write-128k", ceiling: 31_000, ..FILL };
const GRIDS: [Load; 3] = [
    Load { workload: "rand-write-64k", bs: 65_536, alone_ns: 30_000, ceiling: 62_000, ..FILL },
    Load { workload: "rand-read-64k", writes: false, bs: 65_536, alone_ns: 110_000, ceiling: 212_000, ..FILL },
    Load { workload: "rand-read-4k", writes: false, bs: 4_096, alone_ns: 82_000, ceiling: 2_060_000, ..FILL },
];

/// A review of a modelled drive, each grid over `depths` × `jobs`.
pub fn modelled_review(depths: &[u32], jobs: &[u32]) -> RunRecord {
    let mut dice = Dice(1);
    let mut out = run(REVIEW, Origin::Modelled, modelled_target());
    push(&mut out, "purge".into(), 0, vec![], &[]);
    for (pass, condition) in [(1, Condition::Purged), (2, Condition::Written)] {
        let result = job(&FILL, true, 5_000, 1, &mut dice);
        let one = point(&out, &FILL, condition, Some(pass), result);
        let said = ["scaled by 2048; rates do not depend on it"];
        push(&mut out, "fill-128k: sequential fill, 128 KiB, iodepth 16".into(), 0, vec![one], &said);
    }
    let result = job(&SEQUENTIAL, true, 20_000, 1, &mut dice);
    let only = point(&out, &SEQUENTIAL, Condition::AfterFill, None, result);
    push(&mut out, "seq-write-128k, iodepth 16, numjobs 1".into(), 0, vec![only], &[]);
    let mut free = 17_857_000_000_000_u64;
    for (load, depth, jobs) in
        GRIDS.iter().flat_map(|l| depths.iter().flat_map(move |d| jobs.iter().map(move |j| (l, *d, *j))))
    {
        let load = Load { depth, jobs, ..*load };
        let mut result = job(&load, true, 20_000, 1, &mut dice);
        if load.writes {
            free -= 123_000_000_000;
            let host = result.write.bytes;
            result.health = Some(HealthLog {
                host_written: Some(host),
                media_written: Some(Bytes(host.0 + host.0 / 50)),
                free_pool: Some(Bytes(free)),
                wear: Some(Wear { erases_min: 2, erases_mean: 2.5, erases_max: 4 }),
                ..HealthLog::default()
            });
        }
        let one = point(&out, &load, Condition::AfterFill, None, result);
        push(&mut out, format!("{}, iodepth {depth}, numjobs {jobs}", load.workload), 0, vec![one], &[]);
    }
    out.steps_planned = out.steps_done();
    out
}

/// The rounds of [`measured_quick`] agree from here on.
const FLAT_FROM: u32 = 9;

/// A quick run on a file: sequential points with seconds, a small grid, rounds to steady state.
pub fn measured_quick(seconds: u64, rounds: u32) -> RunRecord {
    let mut dice = Dice(2);
    let mut out = run(
        QUICK,
        Origin::Measured,
        TargetIdentity {
            kind: TargetKind::File,
            id: "scratch.img".into(),
            path: Some("/srv/scratch.img".into()),
            model: None,
            serial: Some("254:1:131077".into()),
            firmware: None,
            profile_sha256: None,
            capacity: Bytes::gib(1),
            logical_block: Bytes(4096),
        },
    );
    for (workload, writes, ceiling) in [("seq-write-128k", true, 9_000), ("seq-read-128k", false, 21_000)] {
        let load = Load { workload, writes, bs: 131_072, depth: 16, jobs: 1, alone_ns: 400_000, ceiling };
        let result = job(&load, false, 6_000, seconds, &mut dice);
        let only = point(&out, &load, Condition::Written, None, result);
        push(&mut out, format!("{workload}, iodepth 16, numjobs 1"), 0, vec![only], &["a file has no purge"]);
    }
    for depth in [1, 8, 32] {
        for jobs in [1, 2] {
            let load = Load {
                workload: "rand-read-4k",
                writes: false,
                bs: 4_096,
                depth,
                jobs,
                alone_ns: 90_000,
                ceiling: 180_000,
            };
            let result = job(&load, false, 5_000, 2, &mut dice);
            let one = point(&out, &load, Condition::Written, None, result);
            push(&mut out, format!("rand-read-4k, iodepth {depth}, numjobs {jobs}"), 0, vec![one], &[]);
        }
    }
    for round in 1..=rounds {
        let ceiling = 40_000 + 60_000 / u64::from(round * round);
        let load =
            Load { workload: "rand-write-4k", writes: true, bs: 4_096, depth: 16, jobs: 2, alone_ns: 60_000, ceiling };
        let condition = if round == FLAT_FROM { Condition::Flat } else { Condition::NotSteady };
        let result = job(&load, false, 5_000, 2, &mut dice);
        let mut points = vec![point(&out, &load, condition, Some(round), result.clone())];
        if round == FLAT_FROM {
            let mut window = point(&out, &load, condition, None, result);
            (window.job, window.remarks) = (None, vec!["figures over the window".into()]);
            points.push(window);
        }
        push(&mut out, format!("rand-write-4k, round {round}"), round, points, &[]);
    }
    out.steps_planned = out.steps_done();
    out
}

/// The review of [`modelled_review`] under several names.
pub fn review_of(names: &[&str]) -> Vec<RunRecord> {
    let rename = |name: &&str| {
        let mut run = modelled_review(&[1, 8], &[1, 4]);
        run.provenance.target.id = (*name).into();
        run.steps.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.at.drive_id = (*name).into());
        run
    };
    names.iter().map(rename).collect()
}

/// Passes of `count` checkpoints each on a modelled drive, later passes slower.
pub fn checkpoints(id: &str, count: u32, passes: u32) -> RunRecord {
    let mut dice = Dice(3);
    let mut out = run(CHECKPOINT, Origin::Modelled, TargetIdentity { id: id.into(), ..modelled_target() });
    let load = Load {
        workload: "checkpoint",
        writes: true,
        bs: 1 << 20,
        depth: 4,
        jobs: 8,
        alone_ns: 900_000,
        ceiling: 3_500,
    };
    let at = |point: &mut PointResult, workload: &str| {
        point.at = Coordinates { workload: workload.into(), iodepth: None, numjobs: None, ..point.at.clone() };
    };
    for number in 1..=count * passes {
        let pass = (number - 1) / count + 1;
        let seconds = |n: u32| 460.0 + 40.0 * f64::from((n - 1) / count) + f64::from(n % 3);
        let figure = |value, samples| Metric { name: MetricName::Seconds, value, interval: None, samples };
        let result = job(&load, true, 200, 1, &mut dice);
        let mut single = point(&out, &load, Condition::CheckpointFill, Some(number), result);
        at(&mut single, "checkpoint-single");
        single.metrics.push(figure(seconds(number), 1));
        let mut points = vec![single];
        if number % count == 0 {
            let mut mean = PointResult { job: None, ..points[0].clone() };
            at(&mut mean, "checkpoint");
            mean.at.pass = Some(pass);
            let all = (number - count + 1..=number).map(seconds).sum::<f64>() / f64::from(count);
            mean.metrics = vec![figure(all, count.into())];
            points.push(mean);
        }
        push(&mut out, format!("checkpoint {number}"), 0, points, &[]);
    }
    out.steps_planned = out.steps_done();
    out
}
