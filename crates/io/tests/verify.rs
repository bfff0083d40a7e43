//! Verification from end to end: clean runs, a fault of each kind, a killed process.
#![allow(clippy::print_stdout)]

mod common;

use common::{job, new_target, scratch, writable};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Job, Offsets, Pattern, Rw, Sharing, Verify};
use flashlab_target::{Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SIZE: Bytes = Bytes::mib(4);
const BLOCK: u64 = 8192;

/// A ledger on another file system than the scratch folder, removed when dropped.
struct Shm(PathBuf);

impl Shm {
    fn new(name: &str) -> Option<Self> {
        let folder = Path::new("/dev/shm");
        if !folder.is_dir() {
            println!("skipped: no /dev/shm");
            return None;
        }
        Some(Shm(folder.join(format!("flashlab-test-{}-{name}", std::process::id()))))
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(passes: u32) -> Job {
    Job { passes: Some(passes), verify: Verify::Stamp, numjobs: 2, ..job(Rw::Write, Bytes(BLOCK), SIZE) }
}

fn check() -> Job {
    Job { passes: Some(1), verify: Verify::Check, ..job(Rw::Read, Bytes(BLOCK), SIZE) }
}

fn clean(target: &mut FileTarget, job: &Job) -> JobResult {
    let result = target.run(job, &mut Unobserved).expect("result");
    assert!(result.is_clean(), "{:?} {:?}", result.errors, result.granted.features);
    result
}

#[test]
fn what_was_written_is_found_again_by_every_engine_and_pattern() {
    for (engine, rw, numjobs) in [
        (EngineChoice::IoUring, Rw::Write, 3),
        (EngineChoice::IoUring, Rw::RandWrite, 1),
        (EngineChoice::Psync, Rw::Write, 2),
        (EngineChoice::Psync, Rw::RandWrite, 1),
    ] {
        let folder = scratch();
        let path = folder.path().join("t.img");
        let (inspection, permit) = flashlab_guard::create_file(&path, SIZE).expect("file");
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = FileTarget::open(&inspection, Some(permit), &options).expect("open");
        let iodepth = if engine == EngineChoice::Psync { 1 } else { 16 };
        let pattern = Pattern { offsets: Offsets::Once, ..Pattern::default() };
        let write = Job {
            iodepth,
            numjobs,
            pattern: if rw == Rw::RandWrite { pattern } else { Pattern::default() },
            verify: Verify::ReadBack,
            ..Job { rw, ..write(3) }
        };
        let result = clean(&mut target, &write);
        assert_eq!(result.write.bytes.0, 3 * SIZE.0);
        // By amount: whole passes with a block that slices leave out, and a part of a pass.
        for amount in [2 * SIZE.0, 5 * SIZE.0 / 8] {
            clean(&mut target, &Job { passes: None, amount: Some(Bytes(amount)), ..write.clone() });
        }
        clean(&mut target, &Job { passes: None, runtime: Some(Nanos::millis(200)), ..write });
        // Without a ledger the seals alone are checked.
        clean(&mut target, &Job { iodepth, ..check() });
    }
}

/// Each direction goes its own way, so that a pass of the ledger writes some of the blocks, each once.
#[test]
fn what_a_sequential_mix_wrote_is_found_again() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = new_target(&path, SIZE);
    for rwmixread in [0, 30, 70] {
        for passes in [1, 3] {
            let mix = Job { rw: Rw::ReadWrite, rwmixread, verify: Verify::ReadBack, ..write(passes) };
            let result = clean(&mut target, &mix);
            assert_eq!(result.write.bytes.0 + result.read.bytes.0, u64::from(passes) * SIZE.0);
        }
    }
    // The first mix has written all of it.
    clean(&mut target, &check());
}

/// Puts a fault of the kind into block 9 of a file that was written twice; `old` is the file after the first time.
fn inject(kind: &str, file: &File, old: &[u8]) {
    let at = 9 * BLOCK;
    let read = |at: u64, length: u64| {
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, at).expect("read");
        bytes
    };
    let old = &old[at as usize..][..BLOCK as usize];
    match kind {
        "verify-corrupt" => {
            let byte = read(at + 5_000, 1)[0];
            file.write_all_at(&[byte ^ 0x10], at + 5_000)
        }
        "verify-torn" => file.write_all_at(&old[4096..], at + 4096),
        "verify-stale" => file.write_all_at(old, at),
        "verify-misdirected" => file.write_all_at(&read(20 * BLOCK, BLOCK), at),
        _ => file.write_all_at(&[0; BLOCK as usize], at),
    }
    .expect("injected");
}

#[test]
fn a_fault_of_each_kind_is_found_in_a_later_run() {
    let Some(ledger) = Shm::new("kinds") else { return };
    for kind in ["verify-corrupt", "verify-torn", "verify-stale", "verify-misdirected", "verify-never-written"] {
        let _ = std::fs::remove_file(&ledger.0);
        let folder = scratch();
        let path = folder.path().join("t.img");
        let mut target = new_target(&path, SIZE).with_ledger(ledger.0.clone());
        clean(&mut target, &write(1));
        let old = std::fs::read(&path).expect("file");
        clean(&mut target, &write(1));
        drop(target);
        let mut later = writable(&path, &OpenOptions::default()).with_ledger(ledger.0.clone());
        clean(&mut later, &check());
        let file = File::options().read(true).write(true).open(&path).expect("file");
        inject(kind, &file, &old);
        let result = later.run(&check(), &mut Unobserved).expect("result");
        let errors: Vec<_> = result.errors.iter().map(|e| (e.kind.as_str(), e.count, e.first_offset)).collect();
        assert_eq!(errors, [(kind, 1, Some(Bytes(9 * BLOCK)))]);
        assert_eq!((result.ended, result.read.bytes), (Ended::Failed, SIZE));
        let said = result.granted.features.iter().find(|f| f.starts_with(kind)).expect("both headers");
        println!("{said}");
        assert!(said.contains("block at 73728: found ") && said.ends_with("generation 2"), "{said}");
    }
}

/// What a complete run has acknowledged may not go back, also where the next one was cut short before it came there.
#[test]
fn a_block_is_stale_that_is_older_than_the_last_complete_run() {
    let Some(ledger) = Shm::new("cut") else { return };
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = new_target(&path, SIZE).with_ledger(ledger.0.clone());
    clean(&mut target, &write(1));
    let first = std::fs::read(&path).expect("file");
    clean(&mut target, &write(1));
    let begun = Job { passes: None, amount: Some(Bytes(8 * BLOCK)), ..write(1) };
    clean(&mut target, &begun);
    let result = clean(&mut target, &check());
    let said = result.granted.features.iter().find(|f| f.contains("blocks checked")).expect("a remark");
    assert!(said.contains("a generation of all of them, of 504 a range"), "{said}");
    let file = File::options().write(true).open(&path).expect("file");
    let (from, to) = (100 * BLOCK, 103 * BLOCK);
    file.write_all_at(&first[from as usize..to as usize], from).expect("put back");
    let result = target.run(&check(), &mut Unobserved).expect("result");
    let errors: Vec<_> = result.errors.iter().map(|e| (e.kind.as_str(), e.count, e.first_offset)).collect();
    assert_eq!(errors, [("verify-stale", 3, Some(Bytes(from)))]);
}

#[test]
fn a_check_without_anything_to_check_by_is_refused() {
    let Some(ledger) = Shm::new("nothing") else { return };
    let folder = scratch();
    let mut target = new_target(&folder.path().join("t.img"), SIZE).with_ledger(ledger.0.clone());
    clean(&mut target, &write(1));
    let says = |target: &mut FileTarget, job: &Job| {
        let early = target.check(&[std::slice::from_ref(job)]).expect_err("known before the run").to_string();
        let error = target.run(job, &mut Unobserved).expect_err("nothing to check by");
        assert!(matches!(error, TargetError::Spec(_)), "{error}");
        assert_eq!(error.to_string(), early);
        early
    };
    let other = says(&mut target, &Job { bs: Bytes(2 * BLOCK), ..check() });
    assert!(other.contains("another target, region or block size"), "{other}");
    std::fs::write(&ledger.0, "").expect("emptied");
    assert!(says(&mut target, &check()).contains("is empty"));
    std::fs::remove_file(&ledger.0).expect("removed");
    assert!(says(&mut target, &check()).contains("does not exist"));
    assert!(!ledger.0.exists(), "a check makes no ledger");
    let own = PathBuf::from(format!("{}.t.img", ledger.0.display()));
    std::fs::write(&own, "").expect("a ledger of several targets");
    let hint = says(&mut target, &check());
    std::fs::remove_file(&own).expect("removed");
    assert!(hint.contains(&format!("use --ledger {}", own.display())), "{hint}");
    // An earlier step of the same plan makes it.
    target.check(&[&[write(1)], &[check()]]).expect("a plan that stamps first");
    assert!(!ledger.0.exists(), "looking at a plan makes nothing");
}

#[test]
fn a_clean_check_says_what_it_rests_on() {
    let said = |result: &JobResult| {
        let mut found = result.granted.features.iter().filter(|f| f.contains("blocks checked"));
        (found.next().cloned().expect("a remark"), found.next().cloned())
    };
    let Some(ledger) = Shm::new("rests") else { return };
    let folder = scratch();
    let path = folder.path().join("t.img");
    let half = Job { passes: None, amount: Some(Bytes(SIZE.0 / 2)), numjobs: 1, ..write(1) };
    let mut target = new_target(&path, SIZE).with_ledger(ledger.0.clone());
    clean(&mut target, &half);
    let halves = (
        "512 blocks checked: the ledger expects a generation of 256, and no write of the other 256 was ever \
         acknowledged: they may hold anything"
            .to_owned(),
        None,
    );
    assert_eq!(said(&clean(&mut target, &Job { numjobs: 2, ..check() })), halves);
    let all = clean(&mut target, &Job { verify: Verify::ReadBack, ..write(1) });
    assert_eq!(said(&all).0, "512 blocks checked: the ledger expects a generation of all of them");
    drop(target);
    let alone = clean(&mut writable(&path, &OpenOptions::default()), &check());
    assert_eq!(said(&alone).0, "512 blocks checked: no ledger says which generation they should hold");
}

#[test]
fn a_plan_is_checked_before_its_first_job() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    let target = new_target(&path, SIZE);
    let fill = Job { verify: Verify::Off, iodepth: 1, ..write(1) };
    let random = Job { rw: Rw::RandWrite, ..write(1) };
    let refused = target.check(&[std::slice::from_ref(&fill), &[random]]).expect_err("the second").to_string();
    assert!(refused.contains("without repeats"), "{refused}");
    target.check(&[std::slice::from_ref(&fill), &[check()]]).expect("seals alone can be checked");
    drop(target);
    let psync = OpenOptions { engine: EngineChoice::Psync, ..OpenOptions::default() };
    let deep = Job { iodepth: 4, ..fill.clone() };
    let refused =
        writable(&path, &psync).check(&[std::slice::from_ref(&fill), &[deep]]).expect_err("psync").to_string();
    assert!(refused.contains("one I/O at a time"), "{refused}");
    let reader = FileTarget::open(&flashlab_guard::inspect(&path).expect("file"), None, &psync).expect("opens");
    let refused = reader.check(&[&[Job { verify: Verify::Off, iodepth: 1, ..check() }], &[fill]]);
    assert!(matches!(refused, Err(TargetError::NotPermitted { .. })), "{refused:?}");
}

#[test]
fn jobs_that_can_not_be_verified_are_refused() {
    let folder = scratch();
    let mut target = new_target(&folder.path().join("t.img"), SIZE);
    let shared = Pattern { offsets: Offsets::Once, sharing: Some(Sharing::Shared), ..Pattern::default() };
    for (bad, says) in [
        (Job { rw: Rw::RandWrite, ..write(1) }, "without repeats"),
        (Job { rw: Rw::RandWrite, pattern: shared, ..write(1) }, "its slice"),
        (Job { pattern: Pattern { stride: Some(Bytes(BLOCK * 2)), ..Pattern::default() }, ..write(1) }, "stride"),
        (Job { rw: Rw::ReadWrite, rwmixtrim: 10, ..write(1) }, "trims"),
    ] {
        let refused = target.run(&bad, &mut Unobserved).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(refused.contains(says), "{says}: {refused}");
    }
    let mut beside = target.with_ledger(folder.path().join("ledger"));
    let refused = beside.run(&write(1), &mut Unobserved);
    assert!(
        matches!(&refused, Err(TargetError::NotGranted { reason, .. }) if reason.contains("own file system")),
        "{refused:?}"
    );
}

/// Not a test of its own: the process that is killed.
#[test]
#[ignore = "run by the next test as a process of its own"]
fn child_that_is_killed() {
    let (Ok(path), Ok(ledger)) = (std::env::var("FLASHLAB_TEST_PATH"), std::env::var("FLASHLAB_TEST_LEDGER")) else {
        return;
    };
    let mut target = writable(Path::new(&path), &OpenOptions::default()).with_ledger(ledger.into());
    let endless = Job { passes: None, runtime: Some(Nanos::secs(600)), iodepth: 16, ..write(1) };
    let _ = target.run(&endless, &mut Unobserved);
}

#[test]
fn what_was_acknowledged_survives_a_killed_process() {
    let Some(ledger) = Shm::new("killed") else { return };
    let folder = scratch();
    let path = folder.path().join("t.img");
    drop(new_target(&path, SIZE));
    for round in 0u64..4 {
        let mut child = Command::new(std::env::current_exe().expect("program"))
            .args(["--exact", "child_that_is_killed", "--ignored"])
            .env("FLASHLAB_TEST_PATH", &path)
            .env("FLASHLAB_TEST_LEDGER", &ledger.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("child");
        // Until it writes, and a little on: somewhere in a pass.
        for _ in 0..1_000 {
            std::thread::sleep(Duration::from_millis(5));
            if ledger.0.exists() {
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(150 + 37 * round));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let mut target = writable(&path, &OpenOptions::default()).with_ledger(ledger.0.clone());
        clean(&mut target, &check());
        // And the ledger does say something: most blocks are known.
        let file = File::options().write(true).open(&path).expect("file");
        let before = std::fs::read(&path).expect("file");
        file.write_all_at(&vec![0; SIZE.0 as usize], 0).expect("zeroed");
        let result = target.run(&check(), &mut Unobserved).expect("result");
        let missing = result.errors.iter().find(|e| e.kind == "verify-never-written").map_or(0, |e| e.count);
        println!("round {round}: {missing} of {} blocks were acknowledged", SIZE.0 / BLOCK);
        assert!(missing > SIZE.0 / BLOCK / 2, "{missing}");
        file.write_all_at(&before, 0).expect("as it was");
    }
}
