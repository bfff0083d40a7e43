//! Several targets at once.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, new_target, once, scratch, timed};
use flashlab_io::{FileTarget, Tuning, run_together};
use flashlab_samples::Ended;
use flashlab_spec::{Job, Rw};
use flashlab_target::{Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::path::Path;

const SIZE: Bytes = Bytes::mib(8);

fn filled(path: &Path) -> FileTarget {
    let mut target = new_target(path, SIZE);
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), SIZE), &mut Unobserved).expect("fill").is_clean());
    target.with_tuning(Tuning { interval: Nanos::millis(100), ..Tuning::default() })
}

#[test]
fn targets_run_at_once_and_add_up_over_the_time_all_were_at_work() {
    let folder = scratch();
    let mut targets: Vec<FileTarget> = (0..3).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let long = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(1_050));
    let short = timed(Rw::RandRw, Bytes::kib(4), SIZE, Nanos::millis(650));
    let jobs = [&long, &short, &long];
    let mut seen = After::stop(usize::MAX);
    let together = run_together(targets.iter_mut().zip(jobs).collect(), &mut seen);
    let each: Vec<_> = together.each.iter().map(|r| r.as_ref().expect("a result")).collect();
    assert!(each.iter().all(|r| r.is_clean() && r.cpu.is_none()));
    let sum = together.sum.expect("a sum");
    assert_eq!((sum.targets.as_slice(), sum.window), (&[0, 1, 2][..], Nanos::millis(600)));
    let first_six = |r: &&flashlab_samples::JobResult| r.series.intervals[..6].iter().map(|i| i.read.ios).sum::<u64>();
    assert_eq!(sum.read.ios, each.iter().map(first_six).sum::<u64>());
    assert_eq!((sum.read.lat.count(), sum.read.bytes.0), (sum.read.ios, sum.read.ios * 4096));
    assert!(sum.write.ios > 0 && sum.read.ios < each.iter().map(|r| r.read.ios).sum());
    assert!(together.cpu.is_some_and(|cpu| cpu.system > Nanos::ZERO));
    assert!(seen.seen.last().is_some_and(|last| last.bytes > sum.read.bytes));
}

#[test]
fn a_target_that_fails_or_refuses_marks_itself_and_the_others_go_on() {
    let folder = scratch();
    let path = |i: usize| folder.path().join(format!("{i}.img"));
    let mut targets: Vec<FileTarget> = (0..3).map(|i| filled(&path(i))).collect();
    let good = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(900));
    let too_large = Job { bs: Bytes::mib(16), ..good.clone() };
    let jobs = [&good, &good, &too_large];
    let cut = || {
        let file = std::fs::File::options().write(true).open(path(1)).expect("file");
        file.set_len(4096).expect("cut");
    };
    let together = run_together(targets.iter_mut().zip(jobs).collect(), &mut After::act(3, cut));
    let [first, second, third] = together.each.as_slice() else { panic!("three results") };
    assert!(first.as_ref().is_ok_and(flashlab_samples::JobResult::is_clean));
    let second = second.as_ref().expect("a partial result");
    assert_eq!((second.ended, second.errors[0].kind.as_str()), (Ended::Failed, "short-read"));
    assert!(second.ios() > 0);
    assert!(matches!(third, Err(TargetError::Spec(_))), "{third:?}");
    assert!(together.sum.is_some_and(|sum| sum.targets == [0] && sum.window == Nanos::millis(900)));
}

#[test]
fn a_stop_ends_all() {
    let folder = scratch();
    let mut targets: Vec<FileTarget> = (0..2).map(|i| filled(&folder.path().join(format!("{i}.img")))).collect();
    let endless = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::secs(3_600));
    let together = run_together(targets.iter_mut().map(|t| (t, &endless)).collect(), &mut After::stop(3));
    let ended: Vec<_> = together.each.iter().map(|r| r.as_ref().expect("a result").ended).collect();
    assert_eq!(ended, [Ended::Interrupted; 2]);
}
