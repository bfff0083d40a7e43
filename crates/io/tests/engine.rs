//! The engine on files: counts, data, ends and refusals.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, job, little, new_target, once, readable, scratch, timed, writable};
use flashlab_guard::{create_file, inspect};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions};
use flashlab_samples::{Ended, Origin};
use flashlab_spec::{Job, Region, Rw, SpecError};
use flashlab_target::{Purge, Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::collections::HashSet;

/// Fills `path` and hands out its pages, each with its offset.
fn filled_pages(numjobs: u32, bs: Bytes, size: Bytes, engine: EngineChoice) -> Vec<(u64, Vec<u8>)> {
    let folder = scratch();
    let path = folder.path().join("fill.img");
    let (inspection, permit) = create_file(&path, size).expect("file");
    let options = OpenOptions { engine, ..OpenOptions::default() };
    let mut target = FileTarget::open(&inspection, Some(permit), &options).expect("open");
    let iodepth = if engine == EngineChoice::Psync { 1 } else { 8 };
    let result = target.run(&Job { numjobs, iodepth, ..once(Rw::Write, bs, size) }, &mut Unobserved).expect("fill");
    assert!(result.is_clean(), "{:?}", result.errors);
    assert_eq!(result.write.bytes, size);
    assert_eq!(result.read.ios, 0);
    let data = std::fs::read(&path).expect("read back");
    assert_eq!(data.len() as u64, size.0);
    data.chunks(bs.0.min(4096) as usize).zip(0..).map(|(p, i)| (i * bs.0.min(4096), p.to_vec())).collect()
}

#[test]
fn a_fill_writes_every_page_once_and_no_two_alike() {
    for (numjobs, bs, size, engine) in [
        (1, Bytes::kib(128), Bytes::mib(4), EngineChoice::IoUring),
        // Equal slices leave out blocks, and the region a tail below bs.
        (3, Bytes::kib(128), Bytes(35 * 131_072 + 12_288), EngineChoice::IoUring),
        (4, Bytes::mib(1), Bytes::mib(18), EngineChoice::IoUring),
        (5, Bytes(4096), Bytes(4096 * 203), EngineChoice::IoUring),
        (2, Bytes::kib(64), Bytes::kib(640), EngineChoice::Psync),
    ] {
        let pages = filled_pages(numjobs, bs, size, engine);
        for (offset, page) in &pages {
            let header = u64::from_le_bytes(page[..8].try_into().expect("8 bytes"));
            assert_eq!(header, *offset, "bs {bs}, {numjobs} jobs: the page carries its own offset");
        }
        let unique: HashSet<&[u8]> = pages.iter().map(|(_, page)| &page[8..]).collect();
        assert_eq!(unique.len(), pages.len(), "bs {bs}, {numjobs} jobs");
    }
}

#[test]
fn figures_of_a_timed_job_agree_with_each_other() {
    let folder = scratch();
    let size = Bytes::mib(64);
    let mut target = new_target(&folder.path().join("t.img"), size);
    assert_eq!(target.expected_rate(true).1, "assumed");
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), size), &mut Unobserved).expect("fill").is_clean());
    assert_ne!(target.expected_rate(true).1, "assumed");
    let runtime = Nanos::millis(1_500);
    let mixed = Job { numjobs: 2, ..timed(Rw::RandRw, Bytes::kib(4), size, runtime) };
    let mut seen = After::stop(usize::MAX);
    let result = target.run(&mixed, &mut seen).expect("result");
    assert_eq!((result.ended, result.elapsed, result.scale), (Ended::Completed, runtime, 1));
    assert!(result.is_clean());
    for direction in [&result.read, &result.write] {
        assert!(direction.ios > 0);
        assert_eq!(direction.bytes.0, direction.ios * 4096);
        assert_eq!(direction.lat.count(), direction.ios);
        assert_eq!(direction.slat, None);
    }
    let lengths: Vec<_> = result.series.intervals.iter().map(|i| (i.start.0, i.length.0)).collect();
    assert_eq!(lengths, [(0, 1_000_000_000), (1_000_000_000, 500_000_000)]);
    let from_series: u64 = result.series.intervals.iter().map(|i| i.read.ios + i.write.ios).sum();
    assert_eq!(from_series, result.ios());
    let from_sparse: u64 = result.series.intervals.iter().map(|i| i.read.lat.count() + i.write.lat.count()).sum();
    assert_eq!(from_sparse, result.ios());
    assert_eq!(result.shares.iter().map(|s| s.ios).sum::<u64>(), result.ios());
    assert_eq!(result.shares.len(), 2);
    let (by_law, integrated, difference) = little(&result);
    assert!(difference.abs() <= 1.0, "in flight {by_law} by Little's law, {integrated} integrated");
    assert!(integrated <= 16.0, "{integrated} of 16");
    let cpu = result.cpu.expect("CPU time");
    assert!(cpu.user.0 + cpu.system.0 > 0);
    let last = seen.seen.last().expect("progress");
    assert!(last.share.is_some_and(|share| (0.0..=1.0).contains(&share)) && last.rate.is_some());
    assert_eq!(result.granted.engine, "io_uring");
    assert_eq!(result.granted.direct, Some(true));
    assert!(result.granted.features.iter().any(|f| f == "registered-buffers"), "{:?}", result.granted);
    assert!(result.granted.features.iter().any(|f| f == "no-fsync"));
}

#[test]
fn amounts_are_moved_exactly() {
    let folder = scratch();
    let size = Bytes::mib(8);
    let mut target = new_target(&folder.path().join("t.img"), size);
    for rw in [Rw::Write, Rw::RandWrite, Rw::RandRw, Rw::RandRead, Rw::Read] {
        for amount in [4096, 1 << 20, (1 << 20) + 4096] {
            let job = Job { amount: Some(Bytes(amount)), numjobs: 3, ..job(rw, Bytes::kib(16), size) };
            let result = target.run(&job, &mut Unobserved).expect("result");
            assert_eq!((result.bytes(), result.ended), (Bytes(amount), Ended::Completed), "{rw:?}");
        }
    }
}

#[test]
fn the_ramp_is_dropped_and_said_so() {
    let folder = scratch();
    let size = Bytes::mib(16);
    let mut target = new_target(&folder.path().join("t.img"), size);
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), size), &mut Unobserved).expect("fill").is_clean());
    let half = Nanos::millis(500);
    let mut seen = After::stop(usize::MAX);
    let job = Job { ramp: half, ..timed(Rw::RandRead, Bytes::kib(4), size, half) };
    let result = target.run(&job, &mut seen).expect("result");
    assert_eq!((result.ramp, result.elapsed), (half, half));
    assert_eq!(result.series.intervals.len(), 1);
    let (moved, counted) = (seen.seen.last().expect("progress").bytes, result.bytes());
    assert!(counted.0 > 0);
    // Progress counts the ramp; its last report comes before the end.
    assert!(counted < moved, "{counted} counted of {moved} moved");

    // All of the amount is moved in the ramp, so that nothing is left to measure.
    let job = Job { ramp: Nanos::secs(100), ..once(Rw::RandRead, Bytes::kib(4), Bytes::mib(1)) };
    let result = target.run(&job, &mut Unobserved).expect("result");
    assert_eq!((result.ios(), result.elapsed, result.ended), (0, Nanos::ZERO, Ended::Completed));
    assert_eq!((result.in_flight_mean, result.iops()), (None, None));
    assert!(result.ramp < Nanos::secs(100), "as long as it lasted: {}", result.ramp);
}

#[test]
fn a_stop_keeps_what_was_done() {
    let folder = scratch();
    let size = Bytes::mib(16);
    let mut target = new_target(&folder.path().join("t.img"), size);
    let job = Job { numjobs: 2, ..timed(Rw::RandWrite, Bytes::kib(4), size, Nanos::secs(3_600)) };
    let result = target.run(&job, &mut After::stop(3)).expect("result");
    assert_eq!(result.ended, Ended::Interrupted);
    assert!(result.ios() > 0 && !result.is_clean() && result.errors.is_empty());
    assert!(result.elapsed < Nanos::secs(3_600));
}

#[test]
fn nothing_is_written_without_a_permit() {
    let folder = scratch();
    let size = Bytes::mib(1);
    let path = folder.path().join("t.img");
    std::fs::write(&path, vec![7u8; size.0 as usize]).expect("file");
    let mut target = readable(&path);
    for rw in [Rw::Write, Rw::RandWrite, Rw::RandRw] {
        let refused = target.run(&once(rw, Bytes::kib(4), size), &mut Unobserved);
        assert!(matches!(&refused, Err(TargetError::NotPermitted { .. })), "{refused:?}");
    }
    assert!(target.run(&once(Rw::Read, Bytes::kib(4), size), &mut Unobserved).expect("reads").is_clean());
    assert!(std::fs::read(&path).expect("file").iter().all(|b| *b == 7));

    let (_, other) = create_file(&folder.path().join("other.img"), size).expect("file");
    let refused = FileTarget::open(&inspect(&path).expect("look"), Some(other), &OpenOptions::default());
    assert!(matches!(&refused, Err(TargetError::NotPermitted { .. })), "{:?}", refused.err());
}

#[test]
fn what_is_no_file_is_not_opened() {
    let folder = scratch();
    let open = |path: &std::path::Path| {
        let error = FileTarget::open(&inspect(path).expect("look"), None, &OpenOptions::default()).err();
        error.expect("refused").to_string()
    };
    assert!(open(folder.path()).contains("directory"));
    let missing = open(&folder.path().join("none.img"));
    assert!(missing.contains("--size"), "{missing}");
    assert!(open(std::path::Path::new("/dev/null")).contains("regular file"));
}

#[test]
fn o_direct_refused_is_said_and_buffered_only_if_asked() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    let path = folder.path().join("t.img");
    std::fs::write(&path, vec![1u8; 1 << 20]).expect("file");
    let refused = FileTarget::open(&inspect(&path).expect("look"), None, &OpenOptions::default());
    let text = refused.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(matches!(refused, Err(TargetError::NotGranted { what: "O_DIRECT", .. })), "{text}");
    assert!(text.contains("--buffered"), "{text}");
    let buffered = OpenOptions { direct: false, ..OpenOptions::default() };
    let mut target = writable(&path, &buffered);
    let result = target.run(&once(Rw::Write, Bytes::kib(4), Bytes::mib(1)), &mut Unobserved).expect("result");
    assert!(result.is_clean());
    assert_eq!(result.granted.direct, Some(false));
}

#[test]
fn psync_runs_one_io_at_a_time() {
    let folder = scratch();
    let size = Bytes::mib(4);
    let (inspection, permit) = create_file(&folder.path().join("t.img"), size).expect("file");
    let options = OpenOptions { engine: EngineChoice::Psync, ..OpenOptions::default() };
    let mut target = FileTarget::open(&inspection, Some(permit), &options).expect("open");
    let refused = target.run(&once(Rw::Write, Bytes::kib(4), size), &mut Unobserved);
    assert!(refused.is_err_and(|e| e.to_string().contains("use iodepth 1 with numjobs 8")));
    let job = Job { iodepth: 1, numjobs: 3, ..timed(Rw::RandRw, Bytes::kib(4), size, Nanos::millis(300)) };
    let result = target.run(&job, &mut Unobserved).expect("result");
    assert!(result.is_clean() && result.read.ios > 0 && result.write.ios > 0);
    assert_eq!(result.granted.engine, "psync");
    assert!(little(&result).2.abs() <= 1.0, "{:?}", little(&result));
    assert!(result.in_flight_mean.is_some_and(|n| n <= 3.0));
}

#[test]
fn a_file_cut_short_in_mid_run_is_an_error_and_the_result_is_kept() {
    for engine in [EngineChoice::IoUring, EngineChoice::Psync] {
        let folder = scratch();
        let size = Bytes::mib(16);
        let path = folder.path().join("t.img");
        std::fs::write(&path, vec![1u8; size.0 as usize]).expect("file");
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = FileTarget::open(&inspect(&path).expect("look"), None, &options).expect("open");
        let cut = || std::fs::File::options().write(true).open(&path).and_then(|f| f.set_len(4096)).expect("cut");
        let job = Job { iodepth: 1, numjobs: 2, ..timed(Rw::RandRead, Bytes::kib(8), size, Nanos::secs(3_600)) };
        let result = target.run(&job, &mut After::act(2, cut)).expect("result");
        assert_eq!(result.ended, Ended::Failed);
        assert!(!result.is_clean() && result.ios() > 0);
        assert_eq!(result.errors[0].kind, "short-read", "{:?}", result.errors);
        assert!(result.errors[0].first_offset.is_some_and(|at| at.0.is_multiple_of(8192)));
        // And a file that is already short is not read past its end.
        let refused = target.run(&job, &mut Unobserved);
        assert!(matches!(refused, Err(TargetError::Spec(SpecError::Job { .. }))), "{refused:?}");
    }
}

#[test]
fn impossible_jobs_are_refused() {
    let folder = scratch();
    let size = Bytes::mib(64);
    let mut target = new_target(&folder.path().join("t.img"), size);
    let good = once(Rw::Read, Bytes::kib(4), size);
    let region = Region { offset: Bytes::ZERO, length: Bytes(u64::MAX) };
    for (bad, says) in [
        (Job { bs: Bytes(100), ..good.clone() }, "not a multiple"),
        (Job { region, ..good.clone() }, "outside"),
        (Job { amount: Some(Bytes(100)), ..good.clone() }, "amount of 100B"),
        // 256 GiB of buffers.
        (Job { bs: Bytes::mib(64), iodepth: 4096, ..good.clone() }, "memory"),
    ] {
        let refused = target.run(&bad, &mut Unobserved).err().map(|e| e.to_string());
        assert!(refused.as_ref().is_some_and(|text| text.contains(says)), "{says}: {refused:?}");
    }
}

#[test]
fn a_file_says_who_it_is_and_has_no_purge() {
    use std::os::unix::fs::MetadataExt;
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = new_target(&path, Bytes::mib(1));
    let metadata = std::fs::metadata(&path).expect("metadata");
    let identity = target.identity();
    assert_eq!((identity.id.as_str(), identity.capacity), ("t.img", Bytes::mib(1)));
    assert!(identity.serial.as_ref().is_some_and(|s| s.ends_with(&format!(":{}", metadata.ino()))), "{identity:?}");
    assert_eq!(target.origin(), Origin::Measured);
    assert!(matches!(target.purge(), Ok(Purge::NotAvailable(why)) if why.contains("no purge")));
    assert_eq!(target.health().ok(), Some(None));
    assert_eq!(target.nominal_spare(), None);
}

#[test]
fn reads_of_what_was_never_written_are_marked() {
    let folder = scratch();
    let size = Bytes::mib(16);
    // What guard has looked at lies in the page cache, and was not written for that.
    let mut target = new_target(&folder.path().join("t.img"), size);
    let marked = |target: &mut FileTarget| {
        let result = target.run(&once(Rw::Read, Bytes::mib(1), size), &mut Unobserved).expect("result");
        let said = result.granted.features.iter().find(|f| f.contains("unwritten before it began: reads"));
        said.and_then(|said| said.split_whitespace().next()).map(str::to_owned)
    };
    assert_eq!(marked(&mut target).as_deref(), Some("entirely"));
    let write = |length| once(Rw::Write, Bytes::mib(1), length);
    assert!(target.run(&write(Bytes::mib(4)), &mut Unobserved).expect("a part").is_clean());
    assert_eq!(marked(&mut target).as_deref(), Some("partly"));
    assert!(target.run(&write(size), &mut Unobserved).expect("fill").is_clean());
    assert_eq!(marked(&mut target), None);
    // What a job trims itself is read back from nowhere.
    let trims = Job { rwmixread: 50, rwmixtrim: 50, ..once(Rw::RandRw, Bytes::mib(1), size) };
    let result = target.run(&trims, &mut Unobserved).expect("result");
    assert!(result.granted.features.iter().any(|f| f.starts_with("what is trimmed meanwhile is unwritten too")));
}
