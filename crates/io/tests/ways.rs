//! The same job run in other ways: engines, ring modes, pinning, submission apart, intervals handed over.
#![allow(clippy::print_stdout)]

mod common;

use common::{Taker, job, new_target, once, scratch, timed};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions, Tuning};
use flashlab_samples::JobResult;
use flashlab_spec::{Data, Durability, Job, Rw, WriteHint};
use flashlab_target::{Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::path::Path;

const SIZE: Bytes = Bytes::mib(4);

fn filled(path: &Path) -> FileTarget {
    let mut target = new_target(path, SIZE);
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), SIZE), &mut Unobserved).expect("fill").is_clean());
    target
}

/// A filled file, opened to read.
fn opened(path: &Path, engine: EngineChoice) -> FileTarget {
    drop(filled(path));
    let options = OpenOptions { engine, ..OpenOptions::default() };
    FileTarget::open(&flashlab_guard::inspect(path).expect("look"), None, &options).expect("open")
}

fn run(target: &mut FileTarget, job: &Job) -> JobResult {
    let result = target.run(job, &mut Unobserved).expect("result");
    assert!(result.is_clean(), "{:?}", result.errors);
    result
}

#[test]
fn engines_without_a_device_count_the_same_requests() {
    let folder = scratch();
    for engine in [EngineChoice::Nop, EngineChoice::Null] {
        let mut target = opened(&folder.path().join(engine.word()), engine);
        let amount = Bytes(100_000 * 4096);
        let result =
            run(&mut target, &Job { amount: Some(amount), numjobs: 2, ..job(Rw::RandRead, Bytes::kib(4), SIZE) });
        assert_eq!((result.ios(), result.bytes()), (100_000, amount));
        assert_eq!(result.granted.engine, engine.word());
        let verify = Job { verify: flashlab_spec::Verify::Check, ..once(Rw::Read, Bytes::kib(4), SIZE) };
        let refused = target.run(&verify, &mut Unobserved);
        assert!(refused.is_err_and(|e| e.to_string().contains("moves no data")));
    }
}

#[test]
fn polling_is_granted_or_refused_with_the_reason() {
    let folder = scratch();
    let tuning = Tuning { iopoll: true, sqpoll: true, ..Tuning::default() };
    let mut target = filled(&folder.path().join("t.img")).with_tuning(tuning);
    let result = run(&mut target, &once(Rw::RandRead, Bytes::kib(4), SIZE));
    let granted = &result.granted;
    for word in ["IOPOLL", "SQPOLL"] {
        let is_in_force = granted.features.iter().any(|f| f == word);
        let refused = granted.refused.iter().find(|r| r.starts_with(word));
        println!("{word}: {is_in_force}, {refused:?}");
        assert_ne!(is_in_force, refused.is_some(), "{granted:?}");
    }
    // A kernel thread that submits asks nothing of the driver.
    assert!(granted.features.iter().any(|f| f == "SQPOLL"), "{granted:?}");
    assert!(!granted.features.iter().any(|f| f == "DEFER_TASKRUN"), "{granted:?}");
    let written = run(&mut target, &once(Rw::Write, Bytes::kib(64), SIZE));
    assert_eq!(written.write.bytes, SIZE);
}

#[test]
fn threads_are_pinned_or_the_job_is_refused() {
    let folder = scratch();
    let pinned = |cpus| Tuning { cpus, ..Tuning::default() };
    let mut target = filled(&folder.path().join("t.img")).with_tuning(pinned(vec![0]));
    let result = run(&mut target, &Job { numjobs: 2, ..once(Rw::RandRead, Bytes::kib(4), SIZE) });
    assert!(result.granted.features.iter().any(|f| f == "pinned to CPUs 0"), "{:?}", result.granted);
    let mut target = target.with_tuning(pinned(vec![1 << 20]));
    let refused = target.run(&once(Rw::RandRead, Bytes::kib(4), SIZE), &mut Unobserved);
    assert!(matches!(&refused, Err(TargetError::NotGranted { what: "CPU pinning", .. })), "{refused:?}");
}

#[test]
fn submission_is_timed_apart_only_if_asked_for() {
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"));
    assert_eq!(run(&mut target, &once(Rw::RandRead, Bytes::kib(4), SIZE)).read.slat, None);
    let mut target = target.with_tuning(Tuning { split_submission: true, ..Tuning::default() });
    for rw in [Rw::RandRead, Rw::RandWrite] {
        let result = run(&mut target, &once(rw, Bytes::kib(4), SIZE));
        let direction = if rw == Rw::RandRead { &result.read } else { &result.write };
        let slat = direction.slat.as_ref().expect("slat");
        assert_eq!(slat.count(), direction.ios);
        assert!(slat.mean_ns() > Some(0.0) && slat.mean_ns() < direction.lat.mean_ns());
    }
    let mut psync = opened(&folder.path().join("p.img"), EngineChoice::Psync)
        .with_tuning(Tuning { split_submission: true, ..Tuning::default() });
    let one = Job { iodepth: 1, ..once(Rw::RandRead, Bytes::kib(4), SIZE) };
    assert!(psync.run(&one, &mut Unobserved).is_err_and(|e| e.to_string().contains("slat")));
}

#[test]
fn an_observer_gets_every_interval_once_in_order_and_the_result_none() {
    let folder = scratch();
    let tuning = Tuning { interval: Nanos::millis(100), ..Tuning::default() };
    let mut target = filled(&folder.path().join("t.img")).with_tuning(tuning);
    let timed = Job { numjobs: 3, ..timed(Rw::RandRw, Bytes::kib(4), SIZE, Nanos::millis(1_250)) };
    let kept = run(&mut target, &timed);
    assert_eq!(kept.series.intervals.len(), 13);
    assert_eq!(kept.series.intervals[12].length, Nanos::millis(50));
    let mut intervals = Vec::new();
    let result = target.run(&timed, &mut Taker(|interval| intervals.push(interval))).expect("result");
    assert_eq!(result.series.intervals, []);
    let starts: Vec<_> = intervals.iter().map(|i| i.start.0).collect();
    assert_eq!(starts, (0..13).map(|i| i * 100_000_000).collect::<Vec<_>>());
    assert_eq!(intervals.iter().map(|i| i.read.ios + i.write.ios).sum::<u64>(), result.ios());
    assert_eq!(intervals.iter().map(|i| i.read.lat.count()).sum::<u64>(), result.read.lat.count());
}

#[test]
fn flushes_come_after_so_many_writes_and_are_counted_apart() {
    let folder = scratch();
    for (engine, numjobs) in [(EngineChoice::IoUring, 2), (EngineChoice::Psync, 1)] {
        let path = folder.path().join(engine.word());
        let (inspection, permit) = flashlab_guard::create_file(&path, SIZE).expect("file");
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = FileTarget::open(&inspection, Some(permit), &options).expect("open");
        for (durability, class) in [
            (Durability { fsync_every: 8, ..Durability::default() }, "fsync"),
            (Durability { fdatasync_every: 8, dsync: true, ..Durability::default() }, "fdatasync"),
        ] {
            let write = Job { durability, numjobs, iodepth: 1, ..once(Rw::Write, Bytes::kib(64), SIZE) };
            let result = run(&mut target, &write);
            assert_eq!((result.write.ios, result.write.lat.count()), (64, 64));
            let flushes = &result.classes[0];
            // The last writes of a thread may be followed by one or by the end.
            assert_eq!(flushes.class, class);
            assert!((6..=8).contains(&flushes.ios), "{flushes:?}");
            assert!(flushes.stages[0].mean_ns > 0.0);
            // All that is in flight is in a latency: a flush is in neither.
            let (by_law, integrated, off) = common::little(&result);
            assert!(off.abs() < 2.0, "{engine:?} {class}: {by_law} by the law, {integrated} integrated");
            assert!(result.granted.features.iter().any(|f| f.starts_with(&format!("{class} after 8 writes"))));
        }
        let dsync = Job {
            durability: Durability { dsync: true, ..Durability::default() },
            iodepth: 1,
            ..once(Rw::Write, Bytes::kib(64), SIZE)
        };
        assert!(run(&mut target, &dsync).granted.features.iter().any(|f| f == "dsync"));
    }
}

#[test]
fn hints_are_passed_on_and_placement_needs_a_device_that_has_it() {
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"));
    let write = once(Rw::Write, Bytes::kib(64), SIZE);
    let hinted = run(&mut target, &Job { write_hint: Some(WriteHint::Short), ..write.clone() });
    assert!(hinted.granted.features.iter().any(|f| f == "write hint short"), "{:?}", hinted.granted);
    let refused = target.run(&Job { placement: vec![0, 1], ..write }, &mut Unobserved);
    assert!(matches!(&refused, Err(TargetError::NotGranted { what: "FDP placement", .. })), "{refused:?}");
}

#[test]
fn patterns_copies_and_shares_that_compress_reach_the_file() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = filled(&path);
    let write = |data| Job { data, numjobs: 2, ..once(Rw::Write, Bytes::kib(64), SIZE) };
    run(&mut target, &write(Data { pattern: b"ab".to_vec(), ..Data::default() }));
    assert!(std::fs::read(&path).expect("file").chunks(2).all(|pair| pair == b"ab"));
    run(&mut target, &write(Data { compress_percent: 50, ..Data::default() }));
    let data = std::fs::read(&path).expect("file");
    assert!(data.chunks(4096).all(|page| page[2048..].iter().all(|b| *b == 0) && page[..2048].iter().any(|b| *b != 0)));
    run(&mut target, &write(Data { dedupe_percent: 100, ..Data::default() }));
    let data = std::fs::read(&path).expect("file");
    let distinct: std::collections::HashSet<_> = data.chunks(4096).collect();
    assert!(distinct.len() <= 8, "{} pages of 1,024", distinct.len());
}
