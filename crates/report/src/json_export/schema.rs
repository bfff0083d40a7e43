//! The types whose serialised form is the schema of the machine exports.

use flashlab_analysis::{RunRecord, StepRecord};
use flashlab_samples::{
    ClassTimes, Coordinates, DirectionResult, DriveState, Ended, ErrorCount, Granted, HealthLog, Interval,
    IntervalDirection, JobResult, JobShare, LatencyHistogram, Metric, MetricName, PointResult, SparseHistogram,
    TargetKind, Wear,
};
use serde::Serialize;

/// Percentiles written for every latency.
const PERCENTILES: [f64; 11] = [1.0, 5.0, 25.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// `results.json`.
#[derive(Debug, Serialize)]
pub struct ResultsFile {
    /// Always [`crate::RESULTS_SCHEMA`].
    pub schema: &'static str,
    /// [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// In the order given.
    pub runs: Vec<RunJson>,
}

/// `manifest.json`.
#[derive(Debug, Serialize)]
pub struct ManifestsFile {
    /// Always [`crate::MANIFEST_SCHEMA`].
    pub schema: &'static str,
    /// [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// In the order given.
    pub runs: Vec<ManifestJson>,
}

/// One run.
#[derive(Debug, Serialize)]
pub struct RunJson {
    /// Where its numbers come from and how it ended.
    pub manifest: ManifestJson,
    /// The finished steps in their order.
    pub steps: Vec<StepJson>,
}

/// The provenance of one run.
#[derive(Debug, Serialize)]
pub struct ManifestJson {
    /// Number in its store.
    pub run: i64,
    /// What was asked for.
    pub suite: SuiteJson,
    /// `unfinished`, `done`, `interrupted` or `failed`.
    pub status: &'static str,
    /// Why it failed; `null` otherwise.
    pub failure: Option<String>,
    /// Steps in the plan.
    pub steps_planned: u32,
    /// Steps finished.
    pub steps_done: u32,
    /// `measured`, `modelled`, `imported` or `published`.
    pub provenance: &'static str,
    /// The program.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// Commit it was built from; `null` outside a checkout.
    pub commit: Option<String>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Start, RFC 3339 in UTC.
    pub started: Option<String>,
    /// Host name; `null` for modelled runs.
    pub host: Option<String>,
    /// Kernel release; `null` for modelled runs.
    pub kernel: Option<String>,
    /// What was tested.
    pub target: TargetJson,
    /// State before the run.
    pub state_before: StateJson,
    /// Each different grant that a job of the run had, in the order of first appearance.
    pub granted: Vec<Granted>,
}

/// The suite of a run.
#[derive(Debug, Serialize)]
pub struct SuiteJson {
    /// Name on the command line.
    pub id: String,
    /// One line.
    pub title: String,
    /// What it is for.
    pub purpose: String,
    /// What its answer does not say.
    pub limits: Vec<String>,
}

/// What was tested.
#[derive(Debug, Serialize)]
pub struct TargetJson {
    /// `modelled-drive`, `file`, `loop-device` or `block-device`.
    pub kind: TargetKind,
    /// The `drive_id` of exports.
    pub id: String,
    /// Path of a real target.
    pub path: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number, or `device:inode` of the backing file.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// SHA-256 of the profile.
    pub profile_sha256: Option<String>,
    /// User capacity.
    pub capacity_bytes: u64,
    /// Smallest addressable unit.
    pub logical_block_bytes: u64,
}

/// A state of a target.
#[derive(Debug, Serialize)]
pub struct StateJson {
    /// The word of the `state` column in `results.csv`.
    pub condition: &'static str,
    /// Whole sequential fills since the purge or the start.
    pub fills: u32,
    /// Transfer size of the last fill.
    pub last_fill_block_bytes: Option<u64>,
}

/// A finished step.
#[derive(Debug, Serialize)]
pub struct StepJson {
    /// Position in the plan, from 0.
    pub index: u32,
    /// Round of a steady-state step, from 1; 0 otherwise.
    pub round: u32,
    /// For people.
    pub title: String,
    /// State after it.
    pub state_after: StateJson,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// Its results.
    pub points: Vec<PointJson>,
}

/// One point.
#[derive(Debug, Serialize)]
pub struct PointJson {
    /// Where; `null` where a coordinate does not apply.
    pub at: Coordinates,
    /// State it belongs to.
    pub state: StateJson,
    /// `measured`, `modelled`, `imported` or `published`.
    pub provenance: &'static str,
    /// The figures.
    pub metrics: Vec<MetricJson>,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// The job behind the figures; `null` where there was none.
    pub job: Option<JobJson>,
}

/// One figure.
#[derive(Debug, Serialize)]
pub struct MetricJson {
    /// As in the `metric` column of `results.csv`.
    pub name: MetricName,
    /// In `unit`.
    pub value: f64,
    /// `B/s`, `IOPS`, `ns`, `s`, `B` or `ratio`.
    pub unit: &'static str,
    /// 95 % interval in `unit`, low and high; `null` where none was computed.
    pub interval_95: Option<(f64, f64)>,
    /// I/Os, checkpoints or rounds behind it.
    pub samples: u64,
}

/// One job; all figures cover the measured window.
#[derive(Debug, Serialize)]
pub struct JobJson {
    /// Length of the measured window.
    pub elapsed_ns: u64,
    /// Time before it whose samples were dropped.
    pub ramp_ns: u64,
    /// `completed`, `interval-reached`, `interrupted` or `failed`.
    pub ended: Ended,
    /// Mean I/Os in flight, integrated over time independently of the latencies.
    pub in_flight_mean: Option<f64>,
    /// Half width of the 95 % interval of the mean latency as a share of it.
    pub interval_share: Option<f64>,
    /// How many times smaller than the drive the modelled one was; counts and times are as simulated.
    pub scale: u64,
    /// CPU time in user mode; `null` where it was not measured.
    pub cpu_user_ns: Option<u64>,
    /// CPU time in the kernel.
    pub cpu_system_ns: Option<u64>,
    /// What was in force.
    pub granted: Granted,
    /// Share of each job (thread), in their order.
    pub shares: Vec<JobShare>,
    /// I/O errors by kind.
    pub errors: Vec<ErrorJson>,
    /// What the drive's logs added during the job.
    pub health: Option<HealthJson>,
    /// Reads.
    pub read: DirectionJson,
    /// Writes.
    pub write: DirectionJson,
    /// Trims; their bytes are what was deallocated.
    pub trim: DirectionJson,
    /// Where the time of each class of request went, in the order of the path; empty where the target
    /// does not say.
    pub classes: Vec<ClassTimes>,
    /// Consecutive intervals; empty where there is no wall clock. Of more than 4,096 several come as one.
    pub series: Vec<IntervalJson>,
}

/// I/O errors of one kind.
#[derive(Debug, Serialize)]
pub struct ErrorJson {
    /// Such as `EIO`.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// Offset of the first.
    pub first_offset_bytes: Option<u64>,
    /// The first offsets where they came, each with how often.
    pub addresses: Vec<ErrorAddressJson>,
}

/// I/O errors of one kind at one offset.
#[derive(Debug, Serialize)]
pub struct ErrorAddressJson {
    /// Offset of the request.
    pub offset_bytes: u64,
    /// How often.
    pub count: u64,
}

/// Counters of a drive's logs; `null` is "the drive does not say".
#[derive(Debug, Serialize)]
pub struct HealthJson {
    /// Read by the host.
    pub host_read_bytes: Option<u64>,
    /// Written by the host.
    pub host_written_bytes: Option<u64>,
    /// Programmed into the media.
    pub media_written_bytes: Option<u64>,
    /// Superblock erases.
    pub erases: Option<u64>,
    /// Erased space at the end of the job.
    pub free_pool_bytes: Option<u64>,
    /// Erases of the superblocks since the drive was made, at the end of the job.
    pub wear: Option<Wear>,
    /// Share of the rated life used up at the end of the job, in percent; `null` without a rating.
    pub percentage_used: Option<f64>,
}

/// One direction of a job.
#[derive(Debug, Serialize)]
pub struct DirectionJson {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Submission to completion; `null` without an I/O.
    pub lat: Option<LatencyJson>,
    /// Time spent submitting; `null` unless it was timed apart.
    pub slat: Option<LatencyJson>,
    /// In an open loop, where `lat` counts from the intended start: from the actual submission.
    pub service: Option<LatencyJson>,
}

/// Latencies.
#[derive(Debug, Serialize)]
pub struct LatencyJson {
    /// Exact mean.
    pub mean_ns: f64,
    /// Standard deviation; `null` below two samples.
    pub stddev_ns: Option<f64>,
    /// Read from the histogram, at most 1/128 above the sample.
    pub percentiles: Vec<PercentileJson>,
    /// The non-empty buckets: pairs of the bucket's highest value in ns and its count, ascending;
    /// with the exact sum, smallest and largest sample in ns.
    pub histogram: SparseHistogram,
}

/// One percentile.
#[derive(Debug, Serialize)]
pub struct PercentileJson {
    /// 0 to 100.
    pub percent: f64,
    /// The latency.
    pub value_ns: u64,
    /// Samples beyond it; 0 means that the value is only the maximum.
    pub samples_beyond: u64,
}

/// An interval of a job.
#[derive(Debug, Serialize)]
pub struct IntervalJson {
    /// From the start of the measured window.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
    /// Reads.
    pub read: IntervalDirectionJson,
    /// Writes.
    pub write: IntervalDirectionJson,
    /// Trims; `bytes` are what was deallocated.
    pub trim: IntervalDirectionJson,
}

/// One direction of an interval; latencies are `null` without an I/O.
#[derive(Debug, Serialize)]
pub struct IntervalDirectionJson {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

impl RunJson {
    pub(super) fn of(run: &RunRecord) -> Self {
        RunJson { manifest: ManifestJson::of(run), steps: run.steps.iter().map(StepJson::of).collect() }
    }
}

impl ManifestJson {
    pub(super) fn of(run: &RunRecord) -> Self {
        let p = &run.provenance;
        let failure = match &run.status {
            flashlab_analysis::RunStatus::Failed(why) => Some(why.clone()),
            _ => None,
        };
        ManifestJson {
            run: run.id,
            suite: SuiteJson {
                id: run.suite.id.clone(),
                title: run.suite.title.clone(),
                purpose: run.suite.purpose.clone(),
                limits: run.suite.limits.clone(),
            },
            status: run.status.word(),
            failure,
            steps_planned: run.steps_planned,
            steps_done: run.steps_done(),
            provenance: p.origin.word(),
            tool: p.build.tool.clone(),
            version: p.build.version.clone(),
            commit: p.build.commit.clone(),
            seed: p.seed,
            started: p.started.clone(),
            host: p.host.clone(),
            kernel: p.kernel.clone(),
            target: TargetJson {
                kind: p.target.kind,
                id: p.target.id.clone(),
                path: p.target.path.clone(),
                model: p.target.model.clone(),
                serial: p.target.serial.clone(),
                firmware: p.target.firmware.clone(),
                profile_sha256: p.target.profile_sha256.clone(),
                capacity_bytes: p.target.capacity.0,
                logical_block_bytes: p.target.logical_block.0,
            },
            state_before: StateJson::of(&p.state_before),
            granted: crate::view::grants(run).into_iter().cloned().collect(),
        }
    }
}

impl StateJson {
    fn of(state: &DriveState) -> Self {
        StateJson {
            condition: state.condition.word(),
            fills: state.fills,
            last_fill_block_bytes: state.last_fill_bs.map(|bs| bs.0),
        }
    }
}

impl StepJson {
    fn of(step: &StepRecord) -> Self {
        StepJson {
            index: step.index,
            round: step.round,
            title: step.title.clone(),
            state_after: StateJson::of(&step.state_after),
            remarks: step.remarks.clone(),
            points: step.points.iter().map(PointJson::of).collect(),
        }
    }
}

impl PointJson {
    fn of(point: &PointResult) -> Self {
        PointJson {
            at: point.at.clone(),
            state: StateJson::of(&point.state),
            provenance: point.origin.word(),
            metrics: point.metrics.iter().map(MetricJson::of).collect(),
            remarks: point.remarks.clone(),
            job: point.job.as_ref().map(JobJson::of),
        }
    }
}

impl MetricJson {
    fn of(metric: &Metric) -> Self {
        MetricJson {
            name: metric.name,
            value: metric.value,
            unit: metric.name.unit(),
            interval_95: metric.interval,
            samples: metric.samples,
        }
    }
}

impl JobJson {
    fn of(job: &JobResult) -> Self {
        JobJson {
            elapsed_ns: job.elapsed.0,
            ramp_ns: job.ramp.0,
            ended: job.ended,
            in_flight_mean: job.in_flight_mean,
            interval_share: job.interval_share,
            scale: job.scale,
            cpu_user_ns: job.cpu.map(|cpu| cpu.user.0),
            cpu_system_ns: job.cpu.map(|cpu| cpu.system.0),
            granted: job.granted.clone(),
            shares: job.shares.clone(),
            errors: job.errors.iter().map(ErrorJson::of).collect(),
            health: job.health.as_ref().map(HealthJson::of),
            read: DirectionJson::of(&job.read),
            write: DirectionJson::of(&job.write),
            trim: DirectionJson::of(&job.trim),
            classes: job.classes.clone(),
            series: job.series.intervals.iter().map(IntervalJson::of).collect(),
        }
    }
}

impl ErrorJson {
    fn of(error: &ErrorCount) -> Self {
        ErrorJson {
            kind: error.kind.clone(),
            count: error.count,
            first_offset_bytes: error.first_offset.map(|offset| offset.0),
            addresses: error
                .addresses
                .iter()
                .map(|at| ErrorAddressJson { offset_bytes: at.offset.0, count: at.count })
                .collect(),
        }
    }
}

impl HealthJson {
    fn of(log: &HealthLog) -> Self {
        HealthJson {
            host_read_bytes: log.host_read.map(|b| b.0),
            host_written_bytes: log.host_written.map(|b| b.0),
            media_written_bytes: log.media_written.map(|b| b.0),
            erases: log.erases,
            free_pool_bytes: log.free_pool.map(|b| b.0),
            wear: log.wear,
            percentage_used: log.percentage_used,
        }
    }
}

impl DirectionJson {
    fn of(direction: &DirectionResult) -> Self {
        DirectionJson {
            ios: direction.ios,
            bytes: direction.bytes.0,
            lat: LatencyJson::of(&direction.lat),
            slat: direction.slat.as_ref().and_then(LatencyJson::of),
            service: direction.service.as_ref().and_then(LatencyJson::of),
        }
    }
}

impl LatencyJson {
    fn of(latency: &LatencyHistogram) -> Option<Self> {
        let percentile = |percent| {
            let p = latency.percentile(percent)?;
            Some(PercentileJson { percent, value_ns: p.value.0, samples_beyond: p.samples_beyond })
        };
        Some(LatencyJson {
            mean_ns: latency.mean_ns()?,
            stddev_ns: latency.stddev_ns(),
            percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
            histogram: latency.to_sparse(),
        })
    }
}

impl IntervalJson {
    fn of(interval: &Interval) -> Self {
        IntervalJson {
            start_ns: interval.start.0,
            length_ns: interval.length.0,
            read: IntervalDirectionJson::of(&interval.read),
            write: IntervalDirectionJson::of(&interval.write),
            trim: IntervalDirectionJson::of(&interval.trim),
        }
    }
}

impl IntervalDirectionJson {
    fn of(direction: &IntervalDirection) -> Self {
        let all = LatencyHistogram::from_sparse(&direction.lat);
        let at = |percent| all.percentile(percent).map(|p| p.value.0);
        IntervalDirectionJson {
            ios: direction.ios,
            bytes: direction.bytes.0,
            p50_ns: at(50.0),
            p99_ns: at(99.0),
            max_ns: all.max().map(|max| max.0),
        }
    }
}
