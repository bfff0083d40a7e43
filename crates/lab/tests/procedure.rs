//! Running a plan: the order of the calls, what is kept when it ends early, and the states that
//! results are labelled with.

mod common;

use common::{AT_ONCE, Lab, PURGE, clean, fill, gone, stopped, sweep, with_errors};
use flashlab_lab::LabError;
use flashlab_samples::{Condition, Ended, JobResult, MetricName};
use flashlab_target::{Purge, RunEnd, RunId};
use flashlab_units::{Bytes, Nanos};

fn reads(iodepth: &str, numjobs: &str) -> String {
    sweep("rand-read-4k", "randread", "4KiB", iodepth, numjobs)
}

#[test]
fn each_step_is_kept_before_the_next_begins() {
    let mut lab = Lab::new();
    let finished = lab.run(&[PURGE, &fill("128KiB", 2), &reads("[1, 8]", "[1]")].concat()).expect("a run");
    assert_eq!((finished.run, finished.end, finished.steady_reached), (RunId(41), RunEnd::Done, true));
    let expected = [
        "begin run of 5",
        "begin 0.0",
        "purge",
        "keep 0.0",
        "begin 1.0",
        "job fill-128k 16/1",
        "keep 1.0",
        "begin 2.0",
        "job fill-128k 16/1",
        "keep 2.0",
        "begin 3.0",
        "job rand-read-4k 1/1",
        "keep 3.0",
        "begin 4.0",
        "job rand-read-4k 8/1",
        "keep 4.0",
        "end run",
    ];
    assert_eq!(*lab.calls.borrow(), expected);
    assert_eq!(lab.begun.first().map(String::as_str), Some("0 of 5, round 0"));
}

#[test]
fn iodepth_is_the_outer_loop_and_numjobs_the_inner() {
    let mut lab = Lab::new();
    lab.run(&reads("[1, 32]", "[1, 4, 8]")).expect("a run");
    let points: Vec<(u32, u32)> = lab.target.jobs.iter().map(|job| (job.iodepth, job.numjobs)).collect();
    assert_eq!(points, [(1, 1), (1, 4), (1, 8), (32, 1), (32, 4), (32, 8)]);
}

#[test]
fn figures_come_from_the_result_of_the_job() {
    let mut lab = Lab::new().answering(|_, job| Ok(clean(job, 5_000)));
    lab.run(&reads("[4]", "[2]")).expect("a run");
    let point = &lab.journal.kept[0].1.points[0];
    assert_eq!(point.value(MetricName::Iops), Some(5_000.0));
    assert_eq!(point.value(MetricName::Bandwidth), Some(20_480_000.0));
    assert_eq!(point.value(MetricName::LatMean), Some(100_000.0));
    assert_eq!((point.at.iodepth, point.at.numjobs, point.at.threads, point.at.pass), (Some(4), Some(2), None, None));
    assert_eq!((point.at.drive_id.as_str(), point.at.suite.as_str()), ("mock", "t"));
}

#[test]
fn a_stop_between_steps_keeps_the_finished_ones() {
    let mut lab = Lab::new();
    lab.stop_after = Some(2);
    let finished = lab.run(&reads("[1, 2, 4, 8]", "[1]")).expect("a run");
    assert_eq!(finished.end, RunEnd::Interrupted);
    assert_eq!((lab.journal.kept.len(), lab.target.jobs.len()), (2, 2));
    assert_eq!(lab.journal.ends, [RunEnd::Interrupted]);
}

#[test]
fn a_stop_inside_a_point_keeps_what_it_measured_as_a_part() {
    let mut lab = Lab::new().answering(|n, job| Ok(if n == 2 { stopped(job) } else { clean(job, 100) }));
    let finished = lab.run(&reads("[1, 2, 4, 8]", "[1]")).expect("a run");
    assert_eq!(finished.end, RunEnd::Interrupted);
    assert_eq!((lab.journal.kept.len(), lab.target.jobs.len()), (3, 3));
    let part = &lab.journal.kept[2].1.points[0];
    assert!(part.remarks.iter().any(|said| said.starts_with("interrupted: covers")), "{:?}", part.remarks);
    assert!(!part.metrics.is_empty());
    assert_eq!(lab.calls.borrow().last().map(String::as_str), Some("end run"));
}

#[test]
fn a_stop_inside_a_fill_drops_it() {
    let mut lab = Lab::new().answering(|_, job| Ok(stopped(job)));
    assert_eq!(lab.run(&fill("128KiB", 1)).expect("a run").end, RunEnd::Interrupted);
    assert!(lab.journal.kept.is_empty());
}

#[test]
fn a_target_that_goes_on_in_spite_of_errors_has_figures_and_no_clean_run() {
    let went_on = |job: &flashlab_spec::Job| JobResult { ended: Ended::Completed, ..with_errors(job) };
    let mut lab = Lab::new().answering(move |n, job| Ok(if n == 1 { went_on(job) } else { clean(job, 100) }));
    let finished = lab.run(&reads("[1, 2, 4]", "[1]")).expect("a run");
    let RunEnd::Failed(reason) = &finished.end else { panic!("{:?}", finished.end) };
    assert_eq!(reason, "step 2 (rand-read-4k iodepth 2, numjobs 1): 3 × EIO, first at byte 8192");
    assert_eq!(lab.target.jobs.len(), 3);
    let point = &lab.journal.kept[1].1.points[0];
    assert!(!point.metrics.is_empty());
    assert!(point.remarks.iter().any(|said| said.contains("not a clean result")), "{:?}", point.remarks);
}

#[test]
fn a_stop_before_the_first_step_runs_nothing() {
    let mut lab = Lab::new();
    lab.stop_after = Some(0);
    assert_eq!(lab.run(&reads("[1]", "[1]")).expect("a run").end, RunEnd::Interrupted);
    assert_eq!(*lab.calls.borrow(), ["begin run of 1", "end run"]);
}

#[test]
fn a_job_with_errors_has_no_figures_and_ends_the_run() {
    let mut lab = Lab::new().answering(|n, job| Ok(if n == 1 { with_errors(job) } else { clean(job, 100) }));
    let finished = lab.run(&reads("[1, 2, 4]", "[1]")).expect("a run");
    let RunEnd::Failed(reason) = &finished.end else { panic!("{:?}", finished.end) };
    assert!(reason.starts_with("step 2 (rand-read-4k iodepth 2, numjobs 1): "), "{reason}");
    assert!(reason.contains("3 × EIO, first at byte 8192"), "{reason}");
    assert_eq!(lab.target.jobs.len(), 2);
    let point = &lab.journal.kept[1].1.points[0];
    assert!(point.metrics.is_empty() && point.job.is_some());
    assert!(point.remarks.iter().any(|said| said.contains("not a clean result")), "{:?}", point.remarks);
}

#[test]
fn a_fill_with_errors_is_no_fill() {
    let mut lab = Lab::new().answering(|_, job| Ok(with_errors(job)));
    assert!(matches!(lab.run(&fill("128KiB", 1)).expect("a run").end, RunEnd::Failed(_)));
    assert_eq!(lab.journal.kept[0].1.state_after.condition, Condition::Unknown);
}

#[test]
fn a_target_without_a_result_closes_the_run_as_failed() {
    let mut lab = Lab::new().answering(|n, job| if n == 1 { Err(gone()) } else { Ok(clean(job, 100)) });
    let error = lab.run(&reads("[1, 2, 4]", "[1]")).expect_err("the target is gone");
    assert!(matches!(&error, LabError::Target { step: 2, .. }), "{error}");
    assert_eq!(lab.journal.kept.len(), 1);
    assert_eq!(lab.journal.ends, [RunEnd::Failed(error.to_string())]);
}

#[test]
fn nothing_is_measured_after_a_step_that_could_not_be_kept() {
    let mut lab = Lab::new();
    lab.journal.room = 1;
    let error = lab.run(&reads("[1, 2, 4]", "[1]")).expect_err("the store is full");
    assert!(matches!(&error, LabError::Journal(_)), "{error}");
    assert_eq!((lab.journal.kept.len(), lab.target.jobs.len()), (1, 2));
    assert!(matches!(&lab.journal.ends[..], [RunEnd::Failed(_)]));
}

#[test]
fn states_go_from_purged_through_written_to_after_fill() {
    let mut lab = Lab::new();
    let reads = reads("[1]", "[1]");
    lab.run(&[PURGE, &reads, &fill("128KiB", 1), &reads, &fill("64KiB", 1), &reads].concat()).expect("a run");
    let of = |step: usize| {
        let (point, after) = (lab.journal.kept[step].1.points.first(), lab.journal.kept[step].1.state_after);
        (point.map(|p| p.state.condition), after.condition, after.fills, after.last_fill_bs)
    };
    use Condition::{AfterFill, Purged, Written};
    assert_eq!(of(0), (None, Purged, 0, None));
    assert_eq!(of(1), (Some(Purged), Purged, 0, None));
    // A fill is labelled with what it found, its pass with its number.
    assert_eq!(of(2), (Some(Purged), Written, 1, Some(Bytes::kib(128))));
    assert_eq!(of(3), (Some(Written), Written, 1, Some(Bytes::kib(128))));
    assert_eq!(of(4), (Some(Written), AfterFill, 2, Some(Bytes::kib(64))));
    assert_eq!(of(5), (Some(AfterFill), AfterFill, 2, Some(Bytes::kib(64))));
    let passes: Vec<_> = [2, 4].iter().map(|i| lab.journal.kept[*i].1.points[0].at.pass).collect();
    assert_eq!(passes, [Some(1), Some(2)]);
    let purged_read = &lab.journal.kept[1].1.points[0].remarks;
    assert!(purged_read.iter().any(|said| said.contains("flash was not touched")), "{purged_read:?}");
}

#[test]
fn a_purge_begins_the_count_of_fills_again() {
    let mut lab = Lab::new();
    lab.run(&[&fill("128KiB", 2), PURGE, &fill("128KiB", 1)].concat()).expect("a run");
    let last = lab.journal.kept[3].1.state_after;
    assert_eq!((last.condition, last.fills), (Condition::Written, 1));
}

#[test]
fn a_purge_that_is_not_available_changes_nothing_and_says_why() {
    let mut lab = Lab::new();
    lab.target.purge = Purge::NotAvailable("a file has no purge".into());
    lab.run(PURGE).expect("a run");
    let outcome = &lab.journal.kept[0].1;
    assert_eq!(outcome.state_after.condition, Condition::Unknown);
    assert_eq!(outcome.remarks, ["not purged: a file has no purge"]);
}

#[test]
fn a_fill_reports_its_seconds_at_full_scale() {
    let mut lab = Lab::new().answering(|_, job| {
        let mut result = clean(job, 100);
        result.scale = 50;
        Ok(result)
    });
    lab.run(&fill("128KiB", 1)).expect("a run");
    let point = &lab.journal.kept[0].1.points[0];
    assert_eq!((point.at.workload.as_str(), point.value(MetricName::Seconds)), ("fill-128k", Some(50.0)));
}

/// A target whose jobs take so many seconds, and hand each over.
fn with_series(seconds: u64) -> Lab {
    let mut lab = Lab::new();
    lab.target.seconds = seconds;
    lab
}

#[test]
fn a_long_series_goes_to_the_journal_while_the_job_runs() {
    let mut lab = with_series(130);
    lab.run(&reads("[4]", "[1]")).expect("a run");
    let expected = [
        "begin run of 1",
        "begin 0.0",
        "job rand-read-4k 4/1",
        "60 intervals 0.0, point 0",
        "60 intervals 0.0, point 0",
        "keep 0.0",
        "end run",
    ];
    assert_eq!(*lab.calls.borrow(), expected);
    let rest = &lab.journal.kept[0].1.points[0].job.as_ref().expect("a job").series.intervals;
    let starts: Vec<u64> =
        lab.journal.series.iter().map(|(_, i)| i).chain(rest).map(|i| i.start.0 / 1_000_000_000).collect();
    assert_eq!(starts, (0..130).collect::<Vec<_>>());
    assert_eq!(rest.len(), 10);
}

#[test]
fn intervals_that_others_keep_from_being_kept_come_later() {
    let mut lab = with_series(130);
    lab.journal.busy = 1;
    lab.run(&reads("[4]", "[1]")).expect("a run");
    assert!(lab.calls.borrow().iter().any(|call| call.starts_with("120 intervals")), "{:?}", lab.calls.borrow());
    let rest = &lab.journal.kept[0].1.points[0].job.as_ref().expect("a job").series.intervals;
    let all = lab.journal.series.iter().map(|(_, interval)| interval).chain(rest);
    assert_eq!(all.map(|i| i.start.0 / 1_000_000_000).collect::<Vec<_>>(), (0..130).collect::<Vec<_>>());
}

#[test]
fn what_can_not_be_kept_is_shown_to_who_watches() {
    let mut lab = Lab::new();
    lab.journal.room = 1;
    lab.run(&reads("[4, 8]", "[1]")).expect_err("no space");
    let lost: Vec<_> = lab.lost.iter().flat_map(|outcome| &outcome.points).map(|p| p.at.iodepth).collect();
    assert_eq!(lost, [Some(8)]);
}

#[test]
fn a_short_series_is_kept_with_its_result() {
    let mut lab = with_series(3);
    lab.run(&reads("[4]", "[1]")).expect("a run");
    assert_eq!(lab.journal.series, []);
    assert_eq!(lab.journal.kept[0].1.points[0].job.as_ref().expect("a job").series.intervals.len(), 3);
}

#[test]
fn a_journal_that_can_not_keep_a_series_ends_the_run() {
    let mut lab = with_series(130);
    lab.journal.interval_room = 60;
    let error = lab.run(&reads("[4]", "[1, 8]")).expect_err("no space");
    assert!(matches!(&error, LabError::Journal(e) if e.reason == "no space"), "{error}");
    assert!(lab.target.stopped, "the job is asked to stop");
    assert_eq!((lab.target.jobs.len(), lab.journal.kept.len()), (1, 0));
}

#[test]
fn loads_at_the_same_time_have_a_point_each() {
    let mut lab = Lab::new().answering(|n, job| Ok(clean(job, if n == 0 { 100 } else { 7 })));
    let finished = lab.run(AT_ONCE).expect("a run");
    assert_eq!(finished.end, RunEnd::Done);
    let expected = ["begin run of 1", "begin 0.0", "job reader 1/1", "job writer 4/2", "keep 0.0", "end run"];
    assert_eq!(*lab.calls.borrow(), expected);
    let (header, outcome) = &lab.journal.kept[0];
    assert_eq!(header.jobs, lab.target.jobs);
    let seen: Vec<_> = outcome
        .points
        .iter()
        .map(|p| (p.at.workload.as_str(), p.at.iodepth, p.at.numjobs, p.value(MetricName::Iops), p.remarks[0].as_str()))
        .collect();
    let expected = [
        ("reader", Some(1), Some(1), Some(100.0), "ran at the same time as writer"),
        ("writer", Some(4), Some(2), Some(7.0), "ran at the same time as reader"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_load_that_ended_earlier_is_named_as_such() {
    let elapsed = |n| if n == 0 { Nanos::secs(10) } else { Nanos::millis(2_500) };
    let mut lab = Lab::new().answering(move |n, job| Ok(JobResult { elapsed: elapsed(n), ..clean(job, 100) }));
    lab.run(AT_ONCE).expect("a run");
    let said: Vec<&str> = lab.journal.kept[0].1.points.iter().map(|p| p.remarks[0].as_str()).collect();
    let expected = ["ran at the same time as writer, which ended 7.5 s earlier", "ran at the same time as reader"];
    assert_eq!(said, expected);
}

#[test]
fn a_load_that_reads_back_is_named_as_such() {
    let mut lab = Lab::new().answering(move |_, job| Ok(clean(job, 100)));
    lab.run(&(AT_ONCE.to_owned() + "verify = 'read-back'\ndistribution = 'once'\n")).expect("a run");
    let said: Vec<&str> = lab.journal.kept[0].1.points.iter().map(|p| p.remarks[0].as_str()).collect();
    assert_eq!(said[0], "ran at the same time as writer, which then read back what it wrote");
}

#[test]
fn a_load_that_fails_has_no_figures_and_the_others_keep_theirs() {
    let mut lab = Lab::new().answering(|n, job| Ok(if n == 1 { with_errors(job) } else { clean(job, 100) }));
    let finished = lab.run(&[AT_ONCE, &reads("[1]", "[1]")].concat()).expect("a run");
    let RunEnd::Failed(reason) = &finished.end else { panic!("{:?}", finished.end) };
    assert!(reason.starts_with("step 1 (reader iodepth 1, numjobs 1 and writer "), "{reason}");
    assert!(reason.contains("writer: failed after 1 s: not a clean result; 3 × EIO, first at byte 8192"), "{reason}");
    let figures: Vec<bool> = lab.journal.kept[0].1.points.iter().map(|p| !p.metrics.is_empty()).collect();
    assert_eq!((figures, lab.target.jobs.len()), (vec![true, false], 2));
}

#[test]
fn loads_that_go_on_in_spite_of_errors_make_no_clean_run() {
    let went_on = |job: &flashlab_spec::Job| JobResult { ended: Ended::Completed, ..with_errors(job) };
    let mut lab = Lab::new().answering(move |n, job| Ok(if n == 1 { went_on(job) } else { clean(job, 100) }));
    let finished = lab.run(&[AT_ONCE, &reads("[1]", "[1]")].concat()).expect("a run");
    assert!(matches!(&finished.end, RunEnd::Failed(reason) if reason.contains("3 × EIO")), "{:?}", finished.end);
    assert_eq!(lab.target.jobs.len(), 3);
    assert!(lab.journal.kept[0].1.points.iter().all(|point| !point.metrics.is_empty()));
}

#[test]
fn a_stop_keeps_what_all_loads_have_measured_as_parts() {
    let mut lab = Lab::new().answering(|_, job| Ok(stopped(job)));
    assert_eq!(lab.run(AT_ONCE).expect("a run").end, RunEnd::Interrupted);
    for point in &lab.journal.kept[0].1.points {
        assert!(point.remarks.iter().any(|said| said.starts_with("interrupted: covers")), "{:?}", point.remarks);
        assert!(!point.metrics.is_empty());
    }
    let mut lab = Lab::new().answering(|_, job| Ok(JobResult { ended: Ended::Interrupted, ..clean(job, 0) }));
    assert_eq!(lab.run(AT_ONCE).expect("a run").end, RunEnd::Interrupted);
    assert!(lab.journal.kept.is_empty());
}

#[test]
fn series_of_loads_at_the_same_time_go_to_the_point_of_each() {
    let mut lab = with_series(70);
    lab.run(AT_ONCE).expect("a run");
    let calls = lab.calls.borrow();
    let series: Vec<&str> = calls.iter().filter(|c| c.contains("intervals")).map(String::as_str).collect();
    assert_eq!(series, ["60 intervals 0.0, point 0", "60 intervals 0.0, point 1"]);
    for point in 0..2 {
        let kept = lab.journal.series.iter().filter(|(at, _)| *at == point).map(|(_, interval)| interval);
        let rest = &lab.journal.kept[0].1.points[point as usize].job.as_ref().expect("a job").series.intervals;
        let starts: Vec<u64> = kept.chain(rest).map(|i| i.start.0 / 1_000_000_000).collect();
        assert_eq!(starts, (0..70).collect::<Vec<_>>());
    }
}
