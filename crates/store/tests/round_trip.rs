//! What is read equals what was kept.

mod common;

use common::*;
use flashlab_analysis::{RunRecord, RunStatus, StepRecord};
use flashlab_samples::*;
use flashlab_spec::Job;
use flashlab_store::{SERIES_MAX, Store};
use flashlab_target::{Journal, RunEnd, StepHeader, StepOutcome, StepPlace};
use flashlab_units::{Bytes, Nanos};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;

fn number() -> impl Strategy<Value = f64> + Clone {
    // Any bits that are a number. -0.0 is the documented exception and has its own test.
    prop::num::f64::ANY.prop_filter_map("finite", |x| x.is_finite().then_some(if x == 0.0 { 0.0 } else { x }))
}

fn text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![Just(String::new()), Just("'; DROP TABLE runs; --\0\"".to_owned()), "\\PC{0,20}", ".{0,20}"]
}

fn bytes() -> impl Strategy<Value = Bytes> + Clone {
    any::<u64>().prop_map(Bytes)
}

fn state() -> impl Strategy<Value = DriveState> + Clone {
    let conditions = [
        Condition::Unknown,
        Condition::Purged,
        Condition::Written,
        Condition::AfterFill,
        Condition::GcSteady,
        Condition::NotSteady,
        Condition::CheckpointFill,
    ];
    (prop::sample::select(conditions.to_vec()), any::<u32>(), option::of(bytes()))
        .prop_map(|(condition, fills, last_fill_bs)| DriveState { condition, fills, last_fill_bs })
}

fn origin() -> impl Strategy<Value = Origin> + Clone {
    prop::sample::select(vec![Origin::Measured, Origin::Modelled, Origin::Imported, Origin::Published])
}

fn histogram() -> impl Strategy<Value = LatencyHistogram> {
    vec((0u64..1 << 44, 1u64..100_000), 0..12).prop_map(|samples| {
        let mut histogram = LatencyHistogram::new();
        samples.iter().for_each(|(latency, n)| histogram.record_n(Nanos(*latency), *n));
        histogram
    })
}

fn direction() -> impl Strategy<Value = DirectionResult> {
    let apart = || option::of(histogram());
    (any::<u64>(), bytes(), histogram(), apart(), apart())
        .prop_map(|(ios, bytes, lat, slat, service)| DirectionResult { ios, bytes, lat, slat, service })
}

fn interval() -> impl Strategy<Value = Interval> {
    let direction = || {
        (any::<u64>(), bytes(), histogram()).prop_map(|(ios, bytes, lat)| IntervalDirection {
            ios,
            bytes,
            lat: lat.to_sparse(),
        })
    };
    (any::<u64>(), any::<u64>(), direction(), direction(), direction()).prop_map(
        |(start, length, read, write, trim)| Interval { start: Nanos(start), length: Nanos(length), read, write, trim },
    )
}

fn job() -> impl Strategy<Value = JobResult> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    let floats = (option::of(number()), option::of(number()), vec((any::<u64>(), option::of(number())), 0..3));
    let kinds = (text(), option::of(any::<bool>()), vec(text(), 0..3), option::of(bytes()));
    let ended = prop::sample::select(vec![Ended::Completed, Ended::IntervalReached, Ended::Interrupted, Ended::Failed]);
    (direction(), direction(), vec(interval(), 0..3), numbers, floats, kinds, ended).prop_map(
        |(read, write, intervals, (a, b, c), (in_flight_mean, interval_share, shares), kinds, ended)| JobResult {
            elapsed: Nanos(a),
            ramp: Nanos(b),
            read,
            write,
            trim: DirectionResult::default(),
            in_flight_mean,
            series: Series { intervals },
            classes: vec![ClassTimes {
                class: kinds.0.clone(),
                ios: a,
                stages: in_flight_mean
                    .map(|mean_ns| StageTime { stage: kinds.0.clone(), mean_ns })
                    .into_iter()
                    .collect(),
            }],
            shares: shares.into_iter().map(|(ios, lat_mean_ns)| JobShare { ios, lat_mean_ns }).collect(),
            granted: Granted { engine: kinds.0.clone(), direct: kinds.1, features: kinds.2.clone(), refused: kinds.2 },
            errors: vec![ErrorCount { kind: kinds.0, count: c, first_offset: kinds.3, addresses: vec![] }],
            cpu: kinds.1.map(|_| CpuTime { user: Nanos(c), system: Nanos(a) }),
            health: kinds.3.map(|written| HealthLog {
                host_written: Some(written),
                erases: Some(b),
                wear: in_flight_mean.map(|erases_mean| Wear { erases_min: 0, erases_mean, erases_max: 1 }),
                percentage_used: in_flight_mean,
                ..HealthLog::default()
            }),
            ended,
            scale: c,
            interval_share,
        },
    )
}

fn metrics() -> impl Strategy<Value = Vec<Metric>> {
    let figure = (number(), option::of((number(), number())), any::<u64>());
    (prop::sample::subsequence(MetricName::ALL.to_vec(), 0..=11), vec(figure, 11)).prop_map(|(names, figures)| {
        names
            .into_iter()
            .zip(figures)
            .map(|(name, (value, interval, samples))| Metric { name, value, interval, samples })
            .collect()
    })
}

fn point() -> impl Strategy<Value = PointResult> {
    let axis = || option::of(any::<u32>());
    let coordinates = (text(), text(), text(), axis(), axis(), axis(), axis()).prop_map(
        |(drive_id, suite, workload, iodepth, numjobs, threads, pass)| Coordinates {
            drive_id,
            suite,
            workload,
            iodepth,
            numjobs,
            threads,
            pass,
        },
    );
    (coordinates, state(), origin(), metrics(), option::of(job()), vec(text(), 0..3))
        .prop_map(|(at, state, origin, metrics, job, remarks)| PointResult { at, state, origin, metrics, job, remarks })
}

fn run_record() -> impl Strategy<Value = RunRecord> {
    let step = (text(), vec(point(), 0..3), state(), vec(text(), 0..3));
    let places = prop::collection::btree_set((any::<u32>(), any::<u32>()), 4);
    let status = prop_oneof![
        Just(RunStatus::Unfinished),
        Just(RunStatus::Done),
        Just(RunStatus::Interrupted),
        text().prop_map(RunStatus::Failed)
    ];
    let provenance = (origin(), any::<u64>(), text(), option::of(text()), bytes(), state());
    (places, vec(step, 0..4), status, any::<u32>(), provenance).prop_map(
        |(places, steps, status, steps_planned, (origin, seed, id, some, capacity, state_before))| {
            let mut record = RunRecord { status, steps_planned, ..record() };
            let target = TargetIdentity { id, model: some.clone(), capacity, ..identity() };
            record.provenance = Provenance {
                origin,
                seed,
                host: some.clone(),
                started: some,
                target,
                state_before,
                ..record.provenance
            };
            record.steps = places
                .into_iter()
                .zip(steps)
                .map(|((index, round), (title, points, state_after, remarks))| StepRecord {
                    index,
                    round,
                    title,
                    points,
                    state_after,
                    remarks,
                })
                .collect();
            record
        },
    )
}

/// Every float of the figures as its bits: `==` alone would take 0.0 for -0.0.
fn bits(record: &RunRecord) -> Vec<u64> {
    let figures = record.points().flat_map(|point| &point.metrics);
    figures
        .flat_map(|m| [m.value, m.interval.unzip().0.unwrap_or(1.0), m.interval.unzip().1.unwrap_or(1.0)])
        .map(f64::to_bits)
        .collect()
}

#[test]
fn any_record_comes_back_equal() {
    let folder = tempfile::tempdir().expect("folder");
    let store = RefCell::new(Store::create_or_open(&folder.path().join("s.db")).expect("store"));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(64) });
    let result = runner.run(&run_record(), |record| {
        let run = keep(&mut store.borrow_mut(), &record).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let read = store.borrow().run(run.0).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(bits(&read), bits(&record));
        prop_assert_eq!(read, RunRecord { id: run.0, ..record });
        Ok(())
    });
    result.expect("equal");
    store.borrow().check().expect("intact");
}

#[test]
fn a_real_run_comes_back_after_the_file_was_closed_and_moved() {
    let folder = tempfile::tempdir().expect("folder");
    let (path, copy) = (folder.path().join("s.db"), folder.path().join("copy.db"));
    let mut store = Store::create_or_open(&path).expect("store");
    let run = keep(&mut store, &record()).expect("kept");
    // The store is still open: between two commits the one file is all there is.
    std::fs::copy(&path, &copy).expect("copy");
    let read = Store::open(&copy).expect("open").run(run.0).expect("run");
    assert_eq!(read, RunRecord { id: run.0, ..record() });
    assert!(read.points().count() == 4 && read.points().all(|p| p.metrics.len() > 5 && p.job.is_some()));
}

#[test]
fn minus_zero_is_kept_as_zero_and_nothing_else_changes() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let mut record = record();
    let metric = &mut record.steps[1].points[0].metrics[0];
    (metric.value, metric.interval) = (-0.0, Some((-f64::MIN_POSITIVE, 5e-324)));
    let run = keep(&mut store, &record).expect("kept");
    let read = store.run(run.0).expect("run");
    let metric = read.steps[1].points[0].metrics[0];
    assert_eq!(metric.value.to_bits(), 0.0f64.to_bits());
    assert_eq!(metric.interval, Some((-f64::MIN_POSITIVE, 5e-324)));
}

#[test]
fn what_is_no_figure_is_refused_and_nothing_is_kept() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(2)).expect("run");
    type Spoil = fn(&mut PointResult);
    let cases: [(Spoil, &str); 4] = [
        (|p| p.metrics[1].value = f64::NAN, "points[0].metrics[1].value is NaN"),
        (|p| p.metrics[2].interval = Some((0.0, f64::INFINITY)), "points[0].metrics[2].interval[1] is inf"),
        (|p| p.job.iter_mut().for_each(|j| j.in_flight_mean = Some(f64::NAN)), "points[0].job.in_flight_mean is NaN"),
        (
            |p| p.job.iter_mut().for_each(|j| j.shares[0].lat_mean_ns = Some(f64::NEG_INFINITY)),
            "points[0].job.shares[0].lat_mean_ns is -inf",
        ),
    ];
    for (spoil, says) in cases {
        let mut outcome = outcome(0, 0, 100);
        spoil(&mut outcome.points[0]);
        let error = store.commit_step(run, &step_header(0, 0), &outcome).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    }
    let mut step = step_header(0, 0);
    step.jobs.iter_mut().for_each(|job| job.interval_goal = Some(f64::NAN));
    assert!(store.begin_step(run, &step).is_err());
    assert_eq!(store.run(run.0).expect("run").steps, []);
    assert_eq!(store.runs().expect("runs")[0].current, None);
    // The step itself can still be kept.
    store.commit_step(run, &step_header(0, 0), &outcome(0, 0, 100)).expect("kept");
}

#[test]
fn a_step_that_fails_half_way_leaves_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(2)).expect("run");
    // One figure twice in the second point: the first point was inserted by then.
    let mut twice = outcome(0, 0, 100);
    twice.points.push(twice.points[0].clone());
    let again = twice.points[1].metrics[0];
    twice.points[1].metrics.push(again);
    store.begin_step(run, &step_header(0, 0)).expect("begun");
    store.commit_step(run, &step_header(0, 0), &twice).expect_err("one figure twice");
    assert_eq!(store.run(run.0).expect("run").steps, []);
    assert_eq!(store.runs().expect("runs")[0].current, Some(step_header(0, 0).title), "the step is still in progress");
    store.commit_step(run, &step_header(0, 0), &outcome(0, 0, 100)).expect("kept");
    assert_eq!(store.run(run.0).expect("run").points().count(), 1);
}

#[test]
fn a_run_in_brief_says_how_it_stands() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    assert_eq!((store.latest().expect("latest"), store.runs().expect("runs")), (None, vec![]));
    let run = store.begin_run(&header(3)).expect("run");
    let brief = |store: &Store| store.runs().expect("runs").pop().expect("a run");
    let at_first = brief(&store);
    assert_eq!((at_first.suite_id.as_str(), at_first.drive_id.as_str()), ("quick", "scratch.img"));
    assert_eq!(
        (at_first.status, at_first.origin, at_first.alive),
        (RunStatus::Unfinished, Origin::Measured, Some(true))
    );
    assert_eq!((at_first.steps_done, at_first.steps_planned, at_first.pid), (0, 3, std::process::id()));
    assert_eq!((at_first.started.as_deref(), at_first.ended_at), (Some("2025-01-02T03:04:05Z"), None));

    for (index, round) in [(0, 0), (1, 1), (1, 2)] {
        store.begin_step(run, &step_header(index, round)).expect("begun");
        assert_eq!(brief(&store).current, Some(step_header(index, round).title));
        store.commit_step(run, &step_header(index, round), &outcome(index, round, 10)).expect("kept");
        assert_eq!(brief(&store).current, None);
        assert_eq!(brief(&store).steps_done, store.run(run.0).expect("run").steps_done());
    }
    // A step that another process began and never finished gives way to the next.
    store.begin_step(run, &step_header(2, 1)).expect("begun");
    store.begin_step(run, &step_header(2, 0)).expect("begun instead");
    store.begin_step(run, &step_header(2, 0)).expect("begun again");
    store.end_run(run, &RunEnd::Failed("EIO at byte 4096".into())).expect("ended");
    let at_last = brief(&store);
    assert_eq!(at_last.status, RunStatus::Failed("EIO at byte 4096".into()));
    assert_eq!((at_last.steps_done, at_last.alive), (2, None));
    assert_eq!(at_last.current, Some(step_header(2, 0).title), "where it stopped");
    assert!(at_last.ended_at.is_some());
    assert_eq!(store.latest().expect("latest"), Some(run.0));
    store.check().expect("intact");
}

#[test]
fn what_is_kept_is_kept_once_and_only_in_a_run_that_is_open() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(2)).expect("run");
    let step = step_header(3, 2);
    store.commit_step(run, &step, &outcome(3, 2, 10)).expect("kept");
    for error in [
        store.commit_step(run, &step, &outcome(3, 2, 11)).expect_err("twice"),
        store.begin_step(run, &step).expect_err("begun after it was kept"),
    ] {
        assert!(error.to_string().contains("step 3, round 2"), "{error}");
        assert!(error.reason.contains("kept") && error.remedy.contains("begin another run"), "{error:?}");
    }
    assert_eq!(store.run(run.0).expect("run").steps[0].points, outcome(3, 2, 10).points, "the first stays");

    let nowhere = flashlab_target::RunId(7);
    let error = store.commit_step(nowhere, &step, &prepared()).expect_err("no such run");
    assert!(error.to_string().contains("no run 7; it holds run 1 only"), "{error}");
    assert!(store.run(7).expect_err("no such run").to_string().contains("no run 7; it holds run 1 only"));

    store.end_run(run, &RunEnd::Done).expect("ended");
    for error in [
        store.end_run(run, &RunEnd::Interrupted).expect_err("ended twice"),
        store.begin_step(run, &step_header(4, 0)).expect_err("ended"),
        store.commit_step(run, &step_header(4, 0), &prepared()).expect_err("ended"),
    ] {
        assert!(error.to_string().contains("run 1 has ended already"), "{error}");
    }
    assert_eq!(store.run(run.0).expect("run").status, RunStatus::Done);
}

#[test]
fn plain_sql_gives_the_rows_of_the_csv() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    let run = keep(&mut store, &record()).expect("kept");
    let sql = rusqlite::Connection::open(&path).expect("any SQLite");
    let mut statement = sql.prepare("SELECT * FROM results").expect("the view");
    assert_eq!(
        statement.column_names().take(13).collect::<Vec<_>>(),
        [
            "run",
            "drive_id",
            "suite",
            "workload",
            "iodepth",
            "numjobs",
            "threads",
            "pass",
            "metric",
            "value",
            "unit",
            "state",
            "provenance"
        ]
    );
    let rows: Vec<(i64, String, Option<u32>, f64, String, String)> = statement
        .query_map([], |row| {
            Ok((
                row.get("run")?,
                row.get("metric")?,
                row.get("pass")?,
                row.get("value")?,
                row.get("unit")?,
                row.get("state")?,
            ))
        })
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows");
    let record = record();
    let expected: Vec<_> = record
        .points()
        .flat_map(|p| p.metrics.iter().map(move |m| (p, m)))
        .map(|(p, m)| {
            (run.0, m.name.word().to_owned(), p.at.pass, m.value, m.name.unit().to_owned(), "after-fill".to_owned())
        })
        .collect();
    assert_eq!(rows, expected);
    let mut statement = sql.prepare("SELECT run, workload, class, ios, stage, mean_ns FROM stages").expect("the view");
    type Stage = (i64, String, String, i64, String, f64);
    let row =
        |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?));
    let stages: Vec<Stage> = statement.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("rows");
    let of_point = |p: &PointResult| -> Vec<Stage> {
        let classes = p.job.iter().flat_map(|job| job.classes.clone());
        let stages = classes.flat_map(|c| c.stages.clone().into_iter().map(move |s| (c.clone(), s)));
        stages.map(|(c, s)| (run.0, p.at.workload.clone(), c.class, c.ios as i64, s.stage, s.mean_ns)).collect()
    };
    assert_eq!(stages, record.points().flat_map(of_point).collect::<Vec<_>>());
    assert_eq!(stages.len(), 8);
    let seed: String = sql.query_row("SELECT seed FROM runs", [], |row| row.get(0)).expect("seed");
    assert_eq!(seed, (u64::MAX - 1).to_string());
}

#[test]
fn a_series_is_kept_while_its_job_runs_and_read_back_in_order() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(2)).expect("run");
    let (step, place) = (step_header(0, 0), StepPlace { step: 0, round: 0 });
    let mut done = outcome(0, 0, 1_000);
    let with_job = done.points.iter_mut().find_map(|p| p.job.as_mut()).expect("a job");
    let last = std::mem::take(&mut with_job.series.intervals);
    let second = |i: u64| Interval { start: Nanos::secs(i), ..last[i as usize % 2].clone() };
    let all: Vec<Interval> = (0..150).map(second).collect();
    // Of a try that was given up.
    store.begin_step(run, &step).expect("begun");
    assert!(store.keep_intervals(run, &step, 0, &all[..7]).expect("kept"));
    store.begin_step(run, &step).expect("begun again");
    for part in all[..120].chunks(60) {
        assert!(store.keep_intervals(run, &step, 0, part).expect("kept"));
    }
    // What a killed process had kept is there to be looked at; the run has no such step.
    assert_eq!(store.intervals(run, place, 0, 50, 20).expect("read"), all[50..70]);
    assert_eq!(store.run(run.0).expect("run").steps, []);
    with_series(&mut done, all[120..].to_vec());
    store.commit_step(run, &step, &done).expect("kept");
    with_series(&mut done, all.clone());
    assert_eq!(store.run(run.0).expect("run").steps[0].points, done.points);
    assert_eq!(store.intervals(run, place, 0, 149, 20).expect("read"), all[149..]);
    assert_eq!(store.intervals(run, place, 0, 150, 20).expect("read"), []);
    assert!(store.keep_intervals(run, &step, 0, &all[..1]).is_err(), "the step is kept");
    store.check().expect("intact");
}

fn with_series(outcome: &mut StepOutcome, intervals: Vec<Interval>) {
    let job = outcome.points.iter_mut().find_map(|p| p.job.as_mut()).expect("a job");
    job.series.intervals = intervals;
}

/// Jobs that run at the same time stand behind the points in their order.
#[test]
fn series_of_jobs_at_the_same_time_are_kept_apart() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(1)).expect("run");
    let one = step_header(0, 0);
    let step = StepHeader { jobs: vec![one.jobs[0].clone(); 2], ..one };
    let mut done = outcome(0, 0, 1_000);
    let point = done.points.iter().find(|p| p.job.is_some()).expect("a job").clone();
    let template = point.job.as_ref().expect("a job").series.intervals[0].clone();
    // The second one's intervals are half as long.
    let series = |count: u64, length: Nanos| -> Vec<Interval> {
        let at = |i| Interval { start: Nanos(i * length.0), length, ..template.clone() };
        (0..count).map(at).collect()
    };
    let (first, second) = (series(70, Nanos::secs(1)), series(140, Nanos::millis(500)));
    store.begin_step(run, &step).expect("begun");
    assert!(store.keep_intervals(run, &step, 1, &second[..60]).expect("kept"));
    assert!(store.keep_intervals(run, &step, 0, &first[..60]).expect("kept"));
    assert!(store.keep_intervals(run, &step, 1, &second[60..120]).expect("kept"));
    let with = |series: &[Interval]| {
        let mut point = point.clone();
        point.job.as_mut().expect("a job").series.intervals = series.to_vec();
        point
    };
    done.points = vec![with(&first[60..]), with(&second[120..])];
    store.commit_step(run, &step, &done).expect("kept");
    assert_eq!(store.run(run.0).expect("run").steps[0].points, [with(&first), with(&second)]);
    let place = StepPlace { step: 0, round: 0 };
    assert_eq!(store.intervals(run, place, 1, 118, 4).expect("read"), second[118..122]);
    let sql = rusqlite::Connection::open(folder.path().join("s.db")).expect("open");
    let jobs: String = sql.query_row("SELECT job FROM steps", [], |row| row.get(0)).expect("the jobs");
    let jobs: Vec<Job> = serde_json::from_str(&jobs).expect("a list");
    assert_eq!(jobs, step.jobs);
}

/// A day of seconds is read back as fewer intervals that hold all of it.
#[test]
fn a_long_series_is_read_back_in_larger_pieces() {
    let folder = tempfile::tempdir().expect("folder");
    let mut store = Store::create_or_open(&folder.path().join("s.db")).expect("store");
    let run = store.begin_run(&header(1)).expect("run");
    let step = step_header(0, 0);
    let mut done = outcome(0, 0, 20);
    let one = done.points.iter().find_map(|p| p.job.as_ref()).expect("a job").series.intervals[0].clone();
    let count = 2 * SERIES_MAX + 5;
    store.begin_step(run, &step).expect("begun");
    let all: Vec<Interval> = (0..count).map(|i| Interval { start: Nanos::secs(i), ..one.clone() }).collect();
    assert!(store.keep_intervals(run, &step, 0, &all).expect("kept"));
    with_series(&mut done, vec![]);
    store.commit_step(run, &step, &done).expect("kept");
    let read = store.run(run.0).expect("run");
    let series = &read.points().find_map(|p| p.job.as_ref()).expect("a job").series.intervals;
    assert!(series.len() as u64 <= SERIES_MAX, "{}", series.len());
    assert_eq!(
        (series[1].start, series[1].length, series[1].read.ios),
        (Nanos::secs(3), Nanos::secs(3), 3 * one.read.ios)
    );
    assert_eq!(series.iter().map(|i| i.length.0).sum::<u64>(), count * 1_000_000_000);
    assert_eq!(series.iter().map(|i| i.read.lat.count()).sum::<u64>(), count * one.read.lat.count());
}

/// Nobody is kept waiting while a job runs: what can't be kept now is kept later.
#[test]
fn a_series_does_not_wait_for_others() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    let run = store.begin_run(&header(1)).expect("run");
    let (step, place) = (step_header(0, 0), StepPlace { step: 0, round: 0 });
    let intervals = job_result(20, 1).series.intervals;
    store.begin_step(run, &step).expect("begun");
    let other = rusqlite::Connection::open(&path).expect("another program");
    for lock in ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM runs"] {
        other.execute_batch(lock).expect(lock);
        assert!(!store.keep_intervals(run, &step, 0, &intervals).expect("no error"), "{lock}");
        other.execute_batch("COMMIT").expect("released");
        assert_eq!(store.intervals(run, place, 0, 0, 9).expect("read"), []);
    }
    assert!(store.keep_intervals(run, &step, 0, &intervals).expect("kept"));
    assert_eq!(store.intervals(run, place, 0, 0, 9).expect("read"), intervals);
}
