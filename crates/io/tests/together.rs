//! Several targets at once.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, new_target, once, scratch, timed};
use flashlab_io::{FileTarget, Step, Sum, Tuning, in_step};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Job, Rw};
use flashlab_target::{StepPlace, Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::path::Path;

const SIZE: Bytes = Bytes::mib(8);

fn filled(path: &Path) -> FileTarget {
    let mut target = new_target(path, SIZE);
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), SIZE), &mut Unobserved).expect("fill").is_clean());
    target.with_tuning(Tuning { interval: Nanos::millis(100), ..Tuning::default() })
}

type Each = Vec<Result<JobResult, TargetError>>;

/// Runs the jobs of each target in step, as long as they go well.
fn run(
    targets: Vec<FileTarget>,
    jobs: &[Vec<Job>],
    observe: impl Fn(usize) -> After<'static> + Sync,
) -> (Vec<Each>, Step) {
    let (members, step) = in_step(targets);
    let observe = &observe;
    let each = std::thread::scope(|scope| {
        let threads: Vec<_> = members
            .into_iter()
            .zip(jobs)
            .enumerate()
            .map(|(place, (mut member, jobs))| {
                scope.spawn(move || {
                    let mut results: Each = Vec::new();
                    for (step, job) in (0..).zip(jobs) {
                        member.begins(StepPlace { step, round: 0 });
                        results.push(member.run(job, &mut observe(place)));
                        if !results.last().is_some_and(|r| r.as_ref().is_ok_and(JobResult::is_clean)) {
                            break;
                        }
                    }
                    results
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    (each, step)
}

fn sum_at(step: &Step, n: u32) -> Option<Sum> {
    step.sum(StepPlace { step: n, round: 0 }, 0, &[0, 1, 2])
}

#[test]
fn targets_run_at_once_and_add_up_over_the_time_all_were_at_work() {
    let folder = scratch();
    let targets: Vec<FileTarget> = (0..3).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let long = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(1_050));
    let short = timed(Rw::RandRw, Bytes::kib(4), SIZE, Nanos::millis(650));
    let jobs = [vec![long.clone(), long.clone()], vec![short], vec![long.clone(), long]];
    let (each, step) = run(targets, &jobs, |_| After::stop(usize::MAX));
    let first: Vec<_> = each.iter().map(|r| r[0].as_ref().expect("a result")).collect();
    assert!(first.iter().all(|r| r.is_clean() && r.cpu.is_none()));
    let mut sum = sum_at(&step, 0).expect("a sum");
    for at in 0..sum.intervals as usize {
        let mut all = first[0].series.intervals[at].clone();
        first[1..].iter().for_each(|r| all.merge(&r.series.intervals[at]));
        sum.add(&all);
    }
    assert_eq!((sum.targets.as_slice(), sum.result.elapsed), (&[0, 1, 2][..], Nanos::millis(600)));
    let first_six = |r: &&JobResult| r.series.intervals[..6].iter().map(|i| i.read.ios).sum::<u64>();
    let (read, write) = (&sum.result.read, &sum.result.write);
    assert_eq!(read.ios, first.iter().map(first_six).sum::<u64>());
    assert_eq!((read.lat.count(), read.bytes.0), (read.ios, read.ios * 4096));
    assert!(write.ios > 0 && read.ios < first.iter().map(|r| r.read.ios).sum());
    assert_eq!(step.places().iter().map(|place| place.step).collect::<Vec<_>>(), [0, 1]);
    assert!(sum.result.cpu.is_some_and(|cpu| cpu.system > Nanos::ZERO));
    // The second jobs of those that have one.
    assert_eq!(sum_at(&step, 1).expect("a sum").targets, [0, 2]);
    assert_eq!(sum_at(&step, 2), None);
}

#[test]
fn a_target_that_fails_or_refuses_marks_itself_and_the_others_go_on() {
    let folder = scratch();
    let path = |i: usize| folder.path().join(format!("{i}.img"));
    let targets: Vec<FileTarget> = (0..3).map(|i| filled(&path(i))).collect();
    let good = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(900));
    let too_large = Job { bs: Bytes::mib(16), ..good.clone() };
    let jobs = [vec![good.clone(), good.clone()], vec![good.clone(), good.clone()], vec![too_large, good]];
    let cut = path(1);
    let (each, step) = run(targets, &jobs, |place| {
        let cut = cut.clone();
        match place {
            1 => After::act(3, move || {
                let file = std::fs::File::options().write(true).open(cut).expect("file");
                file.set_len(4096).expect("cut");
            }),
            _ => After::stop(usize::MAX),
        }
    });
    let [first, second, third] = each.as_slice() else { panic!("three results") };
    assert!(first.len() == 2 && first.iter().all(|r| r.as_ref().is_ok_and(JobResult::is_clean)));
    let second = second[0].as_ref().expect("a partial result");
    assert_eq!((second.ended, second.errors[0].kind.as_str()), (Ended::Failed, "short-read"));
    assert!(second.ios() > 0);
    assert!(matches!(third.as_slice(), [Err(TargetError::Spec(_))]), "{third:?}");
    for n in [0, 1] {
        assert!(sum_at(&step, n).is_some_and(|sum| sum.targets == [0] && sum.result.elapsed == Nanos::millis(900)));
    }
}

#[test]
fn a_stop_ends_all_and_their_sum_is_a_part() {
    let folder = scratch();
    let targets: Vec<FileTarget> = (0..2).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let endless = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::secs(3_600));
    let (each, step) = run(targets, &[vec![endless.clone()], vec![endless]], |_| After::stop(4));
    let ended: Vec<_> = each.iter().map(|r| r[0].as_ref().expect("a result").ended).collect();
    assert_eq!(ended, [Ended::Interrupted; 2]);
    assert_eq!(sum_at(&step, 0).map(|sum| sum.result.ended), Some(Ended::Interrupted));
}

/// Each of the loads that run at the same time has a sum of its own.
#[test]
fn loads_at_the_same_time_on_several_targets_have_a_sum_each() {
    let folder = scratch();
    let targets: Vec<FileTarget> = (0..2).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let reads = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(450));
    let writes = timed(Rw::RandWrite, Bytes::kib(16), SIZE, Nanos::millis(250));
    let jobs = [reads, writes];
    let (members, step) = in_step(targets);
    let each: Vec<Vec<JobResult>> = std::thread::scope(|scope| {
        let run = |mut member: flashlab_io::Member| {
            let jobs = &jobs;
            scope.spawn(move || member.run_at_once(jobs, &mut Unobserved).expect("results"))
        };
        let threads: Vec<_> = members.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (load, whole) in [(0, 4), (1, 2)] {
        let mut sum = step.sum(StepPlace::default(), load, &[0, 1, 2]).expect("a sum");
        assert_eq!((sum.targets.as_slice(), sum.intervals, sum.result.cpu), (&[0, 1][..], whole, None));
        for at in 0..whole as usize {
            each.iter().for_each(|results| sum.add(&results[load].series.intervals[at]));
        }
        let ios =
            |r: &JobResult| r.series.intervals[..whole as usize].iter().map(|i| [i.read.ios, i.write.ios]).collect();
        let all: Vec<[u64; 2]> = each.iter().flat_map(|results| -> Vec<_> { ios(&results[load]) }).collect();
        let expected = all.iter().fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
        assert_eq!([sum.result.read.ios, sum.result.write.ios], expected);
        assert_eq!((expected[0] > 0, expected[1] > 0), (load == 0, load == 1));
    }
    assert_eq!(step.sum(StepPlace::default(), 2, &[0, 1, 2]), None);
}

/// Targets that need fewer rounds wait for the others before the next step.
#[test]
fn who_is_further_waits_for_the_others() {
    let folder = scratch();
    let targets: Vec<FileTarget> = (0..3).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let job = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(150));
    let (members, step) = in_step(targets);
    let ends: Vec<Vec<(StepPlace, std::time::Instant, std::time::Instant)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = members
            .into_iter()
            .zip([1, 3, 2])
            .map(|(mut member, rounds)| {
                let job = &job;
                scope.spawn(move || {
                    let places = (1..=rounds).map(|round| StepPlace { step: 0, round });
                    let places = places.chain([StepPlace { step: 1, round: 0 }]);
                    let mut run = |place| {
                        member.begins(place);
                        let result = member.run(job, &mut Unobserved).expect("a result");
                        let end = std::time::Instant::now();
                        (place, end - std::time::Duration::from_nanos(result.elapsed.0), end)
                    };
                    places.map(&mut run).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let took_part = |step_number, round| {
        let place = StepPlace { step: step_number, round };
        step.sum(place, 0, &[0, 1, 2]).map(|sum| sum.targets)
    };
    assert_eq!(took_part(0, 1), Some(vec![0, 1, 2]));
    assert_eq!(took_part(0, 2), Some(vec![1, 2]));
    assert_eq!(took_part(0, 3), Some(vec![1]));
    assert_eq!(took_part(1, 0), Some(vec![0, 1, 2]));
    let of_two = step.sum(StepPlace { step: 1, round: 0 }, 0, &[0, 2]);
    assert_eq!(of_two.map(|sum| sum.targets), Some(vec![0, 2]));
    // Nobody is in the next step before the last is done with the one before.
    let last_round = ends[1][2].2;
    assert!(ends.iter().all(|of| of.last().is_some_and(|(place, begin, _)| place.step == 1 && *begin >= last_round)));
}
