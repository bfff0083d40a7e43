//! Values as a run produces them, and what several tests do with them.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code, unreachable_pub)]

use flashlab_analysis::{RunRecord, RunStatus, StepRecord};
use flashlab_samples::*;
use flashlab_spec::{Job, Region, Rw, Suite};
use flashlab_store::Store;
use flashlab_target::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};
use flashlab_units::{Bytes, Nanos};

pub const SUITE: &str = r#"
id = "quick"
title = "A first answer"
purpose = "Sequential and random figures about a file in a minute."
limits = ["The drive was not preconditioned."]
region_max = "1GiB"
[[step]]
do = "purge"
[[step]]
do = "fill"
bs = "128K"
iodepth = 16
passes = 1
workload = "seq-write-128k"
[[step]]
do = "sweep"
workload = "rand-read-4k"
rw = "randread"
bs = "4K"
iodepth = [1, 32]
numjobs = [1, 4]
runtime = "2s"
interval_goal = 0.005
[[step]]
do = "steady"
workload = "rand-write-4k"
rw = "randwrite"
bs = "4K"
iodepth = 32
numjobs = 4
round = { capacity-share = 0.05 }
rule = { window = 5, range_max = 0.2, slope_max = 0.1, rounds_max = 25 }
"#;

pub fn suite() -> Suite {
    Suite::parse(SUITE, "quick.toml").expect("a suite")
}

pub fn identity() -> TargetIdentity {
    TargetIdentity {
        kind: TargetKind::File,
        id: "scratch.img".into(),
        path: Some("/data/scratch.img".into()),
        model: None,
        serial: Some("259:1:4711".into()),
        firmware: None,
        profile_sha256: None,
        capacity: Bytes::gib(1),
        logical_block: Bytes(512),
    }
}

pub fn header(steps: u32) -> RunHeader {
    let provenance = Provenance {
        origin: Origin::Measured,
        build: BuildInfo { tool: "flashlab".into(), version: "0.1.0".into(), commit: Some("0123abc-dirty".into()) },
        seed: u64::MAX - 1,
        started: Some("2025-01-02T03:04:05Z".into()),
        host: Some("lab-3".into()),
        kernel: Some("6.1.0".into()),
        target: identity(),
        state_before: DriveState::UNKNOWN,
    };
    RunHeader { suite: suite(), provenance, steps }
}

pub fn job(iodepth: u32, numjobs: u32) -> Job {
    Job {
        rwmixread: 100,
        iodepth,
        numjobs,
        runtime: Some(Nanos::secs(2)),
        ramp: Nanos::millis(250),
        interval_goal: Some(0.005),
        seed: u64::MAX,
        ..Job::new("rand-read-4k", Rw::RandRead, Bytes::kib(4), Region { offset: Bytes::ZERO, length: Bytes::gib(1) })
    }
}

pub fn step_header(index: u32, round: u32) -> StepHeader {
    let iodepth = index % 64 + 1;
    StepHeader {
        index,
        round,
        title: format!("rand-read-4k, iodepth {iodepth}, numjobs 4"),
        jobs: vec![job(iodepth, 4)],
    }
}

/// Latencies that fill a realistic number of buckets: 60 to 860 us with a tail.
fn latencies(ios: u64, seed: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    let mut state = seed | 1;
    for i in 0..ios {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let tail = if i % 100 == 99 { 8_000_000 } else { 0 };
        histogram.record(Nanos(60_000 + (state >> 33) % 800_000 + tail));
    }
    histogram
}

pub fn job_result(ios: u64, seed: u64) -> JobResult {
    let read = DirectionResult { ios, bytes: Bytes(ios * 4096), lat: latencies(ios, seed), slat: None, service: None };
    let intervals = (0..2)
        .map(|second| Interval {
            start: Nanos::secs(second),
            length: Nanos::secs(1),
            read: IntervalDirection {
                ios: ios / 2,
                bytes: Bytes(ios / 2 * 4096),
                lat: latencies(ios / 2, seed + second).to_sparse(),
            },
            write: IntervalDirection::default(),
            trim: IntervalDirection::default(),
        })
        .collect();
    JobResult {
        elapsed: Nanos(2_000_000_123),
        ramp: Nanos::millis(250),
        read,
        write: DirectionResult::default(),
        trim: DirectionResult::default(),
        in_flight_mean: Some(31.999_999_999_999_996),
        series: Series { intervals },
        classes: vec![ClassTimes {
            class: "mapped read".into(),
            ios: ios / 16,
            stages: vec![
                StageTime { stage: "controller".into(), mean_ns: 484.5 },
                StageTime { stage: "die read".into(), mean_ns: 70_000.0 + 1.0 / 3.0 },
            ],
        }],
        shares: vec![
            JobShare { ios: ios - ios / 3, lat_mean_ns: Some(460_123.1) },
            JobShare { ios: ios / 3, lat_mean_ns: None },
        ],
        granted: Granted {
            engine: "io_uring".into(),
            direct: Some(true),
            features: vec!["SINGLE_ISSUER".into(), "registered-buffers".into()],
            refused: vec!["IOPOLL: the device has no polled queues".into()],
        },
        errors: vec![ErrorCount { kind: "EIO".into(), count: 2, first_offset: Some(Bytes(4096)), addresses: vec![] }],
        cpu: Some(CpuTime { user: Nanos::millis(301), system: Nanos::millis(702) }),
        health: Some(HealthLog {
            host_written: Some(Bytes::gib(1)),
            media_written: Some(Bytes::gib(3)),
            wear: Some(Wear { erases_min: 1, erases_mean: 4.0 / 3.0, erases_max: u32::MAX }),
            percentage_used: Some(0.1),
            ..HealthLog::default()
        }),
        ended: Ended::Completed,
        scale: 1,
        interval_share: Some(1.0 / 3.0),
    }
}

pub fn point(index: u32, round: u32, ios: u64) -> PointResult {
    let job = job_result(ios, u64::from(index) * 31 + u64::from(round));
    let state = DriveState { condition: Condition::AfterFill, fills: 2, last_fill_bs: Some(Bytes::kib(128)) };
    PointResult {
        at: Coordinates {
            drive_id: "scratch.img".into(),
            suite: "quick".into(),
            workload: "rand-read-4k".into(),
            iodepth: Some(index % 64 + 1),
            numjobs: Some(4),
            threads: None,
            pass: (round > 0).then_some(round),
        },
        state,
        origin: Origin::Measured,
        metrics: flashlab_analysis::figures(&job),
        remarks: flashlab_analysis::remarks(&job, state.condition),
        job: Some(job),
    }
}

pub fn outcome(index: u32, round: u32, ios: u64) -> StepOutcome {
    StepOutcome {
        points: vec![point(index, round, ios)],
        state_after: DriveState { condition: Condition::AfterFill, fills: 2, last_fill_bs: Some(Bytes::kib(128)) },
        remarks: vec!["the target's spare is unknown".into()],
        wall: Nanos(2_250_123_456),
    }
}

/// What a step that only prepares hands over.
pub fn prepared() -> StepOutcome {
    StepOutcome { points: vec![], state_after: DriveState::UNKNOWN, remarks: vec![], wall: Nanos::ZERO }
}

/// Keeps a whole record as the lab would, and returns the number of the new run.
pub fn keep(store: &mut Store, record: &RunRecord) -> Result<RunId, JournalError> {
    let header =
        RunHeader { suite: record.suite.clone(), provenance: record.provenance.clone(), steps: record.steps_planned };
    let run = store.begin_run(&header)?;
    for step in &record.steps {
        let header = StepHeader { index: step.index, round: step.round, title: step.title.clone(), jobs: vec![] };
        let outcome = StepOutcome {
            points: step.points.clone(),
            state_after: step.state_after,
            remarks: step.remarks.clone(),
            wall: Nanos(u64::MAX),
        };
        store.begin_step(run, &header)?;
        store.commit_step(run, &header, &outcome)?;
    }
    match &record.status {
        RunStatus::Unfinished => {}
        RunStatus::Done => store.end_run(run, &RunEnd::Done)?,
        RunStatus::Interrupted => store.end_run(run, &RunEnd::Interrupted)?,
        RunStatus::Failed(error) => store.end_run(run, &RunEnd::Failed(error.clone()))?,
    }
    Ok(run)
}

/// A record with the steps of the suite above: prepared, one piece, rounds.
pub fn record() -> RunRecord {
    let step = |index, round, outcome: StepOutcome| StepRecord {
        index,
        round,
        title: step_header(index, round).title,
        points: outcome.points,
        state_after: outcome.state_after,
        remarks: outcome.remarks,
    };
    let RunHeader { suite, provenance, .. } = header(4);
    RunRecord {
        id: 0,
        suite,
        provenance,
        status: RunStatus::Done,
        steps_planned: 4,
        steps: vec![
            step(0, 0, prepared()),
            step(1, 0, outcome(1, 0, 3_000)),
            step(2, 1, outcome(2, 1, 3_000)),
            step(2, 2, outcome(2, 2, 3_000)),
            step(3, 0, outcome(3, 0, 1)),
        ],
    }
}

/// What the tests that need a mount or another process can't do here, said once where a person sees it.
pub fn skipped(test: &str, reason: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped {test}: {reason}");
}

/// A small file system in memory; `None`, with the reason printed, where it can't be mounted.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    pub fn mount(test: &str, size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("folder");
        let disk = SmallDisk { folder };
        match disk.run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]) {
            Ok(()) => Some(disk),
            Err(reason) => {
                skipped(test, &format!("no tmpfs can be mounted ({reason}); run it as root"));
                None
            }
        }
    }

    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn make_read_only(&self) {
        self.run("mount", &["-o", "remount,ro"]).expect("remount");
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let output = std::process::Command::new(program)
            .args(arguments)
            .arg(self.folder.path())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.run("umount", &[]);
    }
}
