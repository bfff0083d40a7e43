//! A file that fails, stops short, stalls or goes away in mid-run.
#![allow(clippy::print_stdout, unsafe_code, unreachable_pub)]

mod common;
#[path = "common/fuse.rs"]
mod fuse;

use common::{After, once, shell, timed, writable};
use flashlab_guard::inspect;
use flashlab_io::{EngineChoice, FileTarget, OpenOptions, Tuning};
use flashlab_samples::{Ended, ErrorAddress, ErrorCount, JobResult};
use flashlab_spec::{Job, Region, Rw, Verify};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use fuse::FaultyFile;
use std::path::Path;
use std::sync::atomic::Ordering;

const SIZE: Bytes = Bytes::mib(4);
const BAD: u64 = 17 * 65_536 + 512;

/// To read: guard permits no writes to FUSE.
fn open(file: &FaultyFile, engine: EngineChoice) -> FileTarget {
    let inspection = inspect(&file.path).expect("inspect");
    FileTarget::open(&inspection, None, &OpenOptions { engine, ..OpenOptions::default() }).expect("open")
}

fn kinds(result: &JobResult) -> Vec<(&str, Option<Bytes>)> {
    result.errors.iter().map(|e| (e.kind.as_str(), e.first_offset)).collect()
}

#[test]
fn one_bad_block_is_an_error_with_its_kind_and_address() {
    for (engine, iodepth) in [(EngineChoice::IoUring, 4), (EngineChoice::Psync, 1)] {
        let Some(file) = FaultyFile::new(SIZE) else { return };
        let mut target = open(&file, engine);
        let at = |rw| Job { iodepth, ..once(rw, Bytes::kib(64), SIZE) };
        assert!(target.run(&at(Rw::Read), &mut Unobserved).expect("result").is_clean());
        file.faults.at.store(BAD, Ordering::Relaxed);
        for (rw, errno, kind) in [
            (Rw::Read, libc::EIO, "EIO"),
            (Rw::Read, libc::ENODATA, "ENODATA"),
            (Rw::Read, libc::EREMOTEIO, "EREMOTEIO"),
        ] {
            file.faults.errno.store(errno as u64, Ordering::Relaxed);
            let result = target.run(&at(rw), &mut Unobserved).expect("a partial result");
            println!("{engine:?} {rw:?}: {:?}", kinds(&result));
            assert_eq!(kinds(&result), [(kind, Some(Bytes(17 * 65_536)))]);
            assert_eq!((result.ended, result.errors[0].count), (Ended::Failed, 1));
            assert!(result.ios() >= 17 && !result.is_clean());
        }
    }
}

#[test]
fn a_job_that_may_go_on_counts_its_errors_by_address() {
    for (engine, iodepth) in [(EngineChoice::IoUring, 4), (EngineChoice::Psync, 1)] {
        let Some(file) = FaultyFile::new(SIZE) else { return };
        let with = |errors_max| open(&file, engine).with_tuning(Tuning { errors_max, ..Tuning::default() });
        file.faults.at.store(BAD, Ordering::Relaxed);
        file.faults.errno.store(libc::EIO as u64, Ordering::Relaxed);
        let thrice = Job { iodepth, passes: Some(3), amount: None, ..once(Rw::Read, Bytes::kib(64), SIZE) };
        let result = with(3).run(&thrice, &mut Unobserved).expect("a result");
        println!("{engine:?}: {:?}", result.errors);
        let place = ErrorAddress { offset: Bytes(17 * 65_536), count: 3 };
        let count =
            ErrorCount { kind: "EIO".into(), count: 3, first_offset: Some(place.offset), addresses: vec![place] };
        assert_eq!(result.errors, [count]);
        assert_eq!((result.ended, result.ios()), (Ended::Completed, 3 * 63));
        assert!(!result.is_clean());
        // One error more than allowed ends it.
        let result = with(2).run(&thrice, &mut Unobserved).expect("a partial result");
        assert_eq!((result.ended, result.errors[0].count), (Ended::Failed, 3));
    }
}

/// Under io_uring the kernel itself asks for the rest of a short read, so that only psync sees it.
#[test]
fn less_than_was_asked_for_is_an_error() {
    let Some(file) = FaultyFile::new(SIZE) else { return };
    let mut target = open(&file, EngineChoice::Psync);
    file.faults.at.store(BAD, Ordering::Relaxed);
    file.faults.short.store(4096, Ordering::Relaxed);
    let read = Job { iodepth: 1, ..once(Rw::Read, Bytes::kib(64), SIZE) };
    let result = target.run(&read, &mut Unobserved).expect("result");
    assert_eq!(kinds(&result), [("short-read", Some(Bytes(17 * 65_536)))]);
}

#[test]
fn an_io_that_stalls_is_reported_with_its_age_and_place() {
    let Some(file) = FaultyFile::new(SIZE) else { return };
    let deadline = Nanos::millis(300);
    let mut target = open(&file, EngineChoice::IoUring).with_deadline(deadline);
    file.faults.at.store(BAD, Ordering::Relaxed);
    file.faults.stalls.store(true, Ordering::Relaxed);
    let stalled = timed(Rw::Read, Bytes::kib(64), SIZE, Nanos::secs(600));
    let result = target.run(&stalled, &mut Unobserved).expect("a partial result");
    println!("{:?}", kinds(&result));
    assert_eq!(result.errors.len(), 1, "{:?}", result.errors);
    let (kind, at) = kinds(&result)[0];
    let age = kind.strip_prefix("stuck-").and_then(|age| age.parse::<Nanos>().ok());
    assert!(age.is_some_and(|age| age >= deadline && age < Nanos::secs(30)), "{kind}");
    assert_eq!(at, Some(Bytes(17 * 65_536)));
    assert!(result.ios() >= 10 && result.ended == Ended::Failed);
}

#[test]
fn all_ios_that_stall_are_counted() {
    let Some(file) = FaultyFile::new(SIZE) else { return };
    let mut target = open(&file, EngineChoice::IoUring).with_deadline(Nanos::millis(20));
    file.faults.at.store(BAD, Ordering::Relaxed);
    file.faults.stalls.store(true, Ordering::Relaxed);
    let region = Region { offset: Bytes(17 * 65_536), length: Bytes::kib(64) };
    let stalled = Job { region, iodepth: 4, ..timed(Rw::RandRead, Bytes::kib(64), SIZE, Nanos::secs(600)) };
    let result = target.run(&stalled, &mut Unobserved).expect("a partial result");
    println!("{:?}", result.errors);
    let [errors] = result.errors.as_slice() else { panic!("{:?}", result.errors) };
    assert_eq!((errors.count, errors.first_offset), (4, Some(region.offset)));
    let age = errors.kind.strip_prefix("stuck-").and_then(|age| age.parse::<Nanos>().ok());
    assert!(age.is_some_and(|age| age >= Nanos::millis(20)), "{}", errors.kind);
    let mut hasty = target.with_deadline(Nanos(999_999));
    let refused = hasty.run(&stalled, &mut Unobserved).expect_err("too short").to_string();
    assert!(refused.contains("use at least 1 ms"), "{refused}");
}

#[test]
fn a_device_that_goes_away_ends_the_job_and_keeps_the_result() {
    if !FaultyFile::can_abort() {
        println!("skipped: no /sys/fs/fuse/connections");
        return;
    }
    for (engine, iodepth) in [(EngineChoice::IoUring, 4), (EngineChoice::Psync, 1)] {
        let Some(file) = FaultyFile::new(SIZE) else { return };
        let mut target = open(&file, engine);
        let endless = Job { iodepth, ..timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::secs(600)) };
        let result = target.run(&endless, &mut After::act(3, || file.abort())).expect("a partial result");
        println!("{engine:?}: {:?}", kinds(&result));
        assert_eq!(result.ended, Ended::Failed);
        assert!(result.ios() > 0 && result.elapsed < Nanos::secs(60));
        let gone = ["ECONNABORTED", "ENOTCONN", "EIO", "ENODEV"];
        assert!(result.errors.iter().all(|e| gone.contains(&e.kind.as_str())), "{:?}", result.errors);
    }
}

/// A block device with one bad block: a loop device over the file.
#[test]
fn a_bad_block_under_a_device_fails_the_write_that_meets_it() {
    let Some(file) = FaultyFile::new(SIZE) else { return };
    let backing = file.path.to_string_lossy().into_owned();
    let attach = ["--find", "--show", "--direct-io=on", "-b", "4096", &backing];
    let device = match shell("losetup", &attach) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: no loop device: {reason}"),
    };
    // Merged requests fail together; apart, only the one with the bad block does.
    let name = Path::new(&device).file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    std::fs::write(format!("/sys/block/{name}/queue/nomerges"), "2").expect("no merges");
    let outcome = std::panic::catch_unwind(|| {
        let mut target = writable(Path::new(&device), &OpenOptions::default());
        let verified = Job { verify: Verify::ReadBack, ..once(Rw::Write, Bytes::kib(16), SIZE) };
        assert!(target.run(&verified, &mut Unobserved).expect("result").is_clean());
        file.faults.at.store(BAD, Ordering::Relaxed);
        file.faults.errno.store(libc::EIO as u64, Ordering::Relaxed);
        let failed = target.run(&verified, &mut Unobserved).expect("a partial result");
        println!("write: {:?}", kinds(&failed));
        assert_eq!(kinds(&failed), [("EIO", Some(Bytes(17 * 65_536)))]);
        assert!(failed.write.ios >= 60 && failed.ended == Ended::Failed);
    });
    file.faults.errno.store(0, Ordering::Relaxed);
    let detached = shell("losetup", &["-d", &device]);
    outcome.expect("see above");
    assert_eq!(detached.err(), None);
}
