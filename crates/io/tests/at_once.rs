//! Several loads at the same time on one target.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, once, scratch, timed, writable};
use flashlab_guard::create_file;
use flashlab_io::{EngineChoice, FileTarget, OpenOptions, Tuning};
use flashlab_samples::{Ended, Interval, JobResult};
use flashlab_spec::{Arrival, Job, Rate, Region, Rw, Verify};
use flashlab_target::{Observer, Progress, Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::path::Path;

const SIZE: Bytes = Bytes::mib(8);

/// A file that is filled, with intervals of 100 ms.
fn filled(path: &Path, engine: EngineChoice) -> FileTarget {
    drop(create_file(path, SIZE).expect("a new file"));
    let mut target = writable(path, &OpenOptions { engine, ..OpenOptions::default() });
    let fill = Job { iodepth: 1, ..once(Rw::Write, Bytes::mib(1), SIZE) };
    assert!(target.run(&fill, &mut Unobserved).expect("fill").is_clean());
    target.with_tuning(Tuning { interval: Nanos::millis(100), ..Tuning::default() })
}

/// The same job in another place of the target.
fn at(offset: Bytes, length: Bytes, job: Job) -> Job {
    Job { region: Region { offset, length }, ..job }
}

/// A reader of one I/O at a time, and a writer with a rate.
fn reader_and_writer(runtime: Nanos) -> [Job; 2] {
    let reader = Job { iodepth: 1, ..timed(Rw::RandRead, Bytes::kib(4), SIZE, runtime) };
    let writer = timed(Rw::Write, Bytes::kib(64), SIZE, runtime);
    [reader, Job { iodepth: 1, arrival: Arrival::Fixed(Rate::iops(50)), ..writer }]
}

/// Takes the series of each job.
#[derive(Default)]
struct Takers {
    taken: Vec<Vec<Interval>>,
    shares: Vec<Option<f64>>,
}

impl Observer for Takers {
    fn progress(&mut self, progress: &Progress) {
        self.shares.push(progress.share);
    }
    fn stop_requested(&self) -> bool {
        false
    }
    fn interval(&mut self, job: usize, interval: Interval) -> Option<Interval> {
        self.taken[job].push(interval);
        None
    }
}

/// As many as the kernel has no mappings for would end the process, and are known before the first one starts.
#[test]
fn more_threads_than_the_kernel_has_mappings_for_are_refused() {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    let loads = most.map_or(usize::MAX, |most: usize| most / 5 / 1024);
    if loads > 64 {
        println!("skipped: room for more mappings than 64 loads can have");
        return;
    }
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"), EngineChoice::IoUring);
    let one = Job { numjobs: 1024, iodepth: 1, ..timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(1)) };
    let jobs: Vec<Job> = (0..loads).map(|i| Job { workload: format!("w{i}"), ..one.clone() }).collect();
    let early = target.check(&[&jobs]).expect_err("known before the run").to_string();
    let error = target.run_at_once(&jobs, &mut Unobserved).expect_err("too many").to_string();
    // Those of other tests may be running beside them.
    for says in [format!("not for {}", loads * 1024), "sysctl vm.max_map_count=".to_owned()] {
        assert!(early.contains(&says) && error.contains(&says), "{early}; {error}");
    }
}

#[test]
fn a_reader_and_a_writer_have_a_result_and_a_series_each() {
    for engine in [EngineChoice::IoUring, EngineChoice::Psync] {
        let folder = scratch();
        let mut target = filled(&folder.path().join("t.img"), engine);
        let jobs = reader_and_writer(Nanos::millis(650));
        let mut takers = Takers { taken: vec![vec![], vec![]], ..Takers::default() };
        let results = target.run_at_once(&jobs, &mut takers).expect("results");
        let [reader, writer] = results.as_slice() else { panic!("{} results", results.len()) };
        for (result, taken) in results.iter().zip(&takers.taken) {
            assert!(result.is_clean() && result.cpu.is_none(), "{:?}", result.errors);
            // The same window, cut in the same way.
            assert_eq!((result.elapsed, taken.len()), (Nanos::millis(650), 7));
            assert!(taken.iter().zip(0..).all(|(i, n)| i.start == Nanos::millis(100 * n)));
            let sum =
                |of: fn(&Interval) -> (u64, u64)| taken.iter().map(of).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            assert_eq!(sum(|i| (i.read.ios, i.read.bytes.0)), (result.read.ios, result.read.bytes.0));
            assert_eq!(sum(|i| (i.write.ios, i.write.bytes.0)), (result.write.ios, result.write.bytes.0));
        }
        assert!(reader.read.ios > 0 && reader.write.ios == 0 && reader.read.bytes.0 == reader.read.ios * 4096);
        // A rate of 50 a second, 32 in the window; a disk that is busy may be behind.
        assert!((1..=34).contains(&writer.write.ios) && writer.read.ios == 0, "{}", writer.write.ios);
        assert_eq!(writer.write.bytes.0, writer.write.ios * 65_536);
        assert!(takers.shares.iter().all(|share| share.is_some_and(|share| (0.0..=1.0).contains(&share))));
    }
}

#[test]
fn each_ends_by_itself() {
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"), EngineChoice::IoUring);
    let jobs = [
        once(Rw::Write, Bytes::kib(64), Bytes::mib(2)),
        Job { numjobs: 2, ..timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(800)) },
        Job { ramp: Nanos::millis(200), ..timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(300)) },
    ];
    let results = target.run_at_once(&jobs, &mut Unobserved).expect("results");
    assert!(results.iter().all(JobResult::is_clean));
    assert_eq!(results[0].write.bytes, Bytes::mib(2));
    let windows: Vec<_> = results[1..].iter().map(|r| (r.ramp, r.elapsed, r.shares.len())).collect();
    assert_eq!(windows, [(Nanos::ZERO, Nanos::millis(800), 2), (Nanos::millis(200), Nanos::millis(300), 1)]);
    // One job alone has the time of the process again.
    assert!(target.run_at_once(&jobs[1..2], &mut Unobserved).expect("a result")[0].cpu.is_some());
}

#[test]
fn one_fails_and_the_other_goes_on() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = filled(&path, EngineChoice::IoUring);
    let half = Bytes::mib(4);
    let read = timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(900));
    let jobs = [at(half, half, read.clone()), at(Bytes::ZERO, half, read)];
    let mut cut = After::act(3, || {
        let file = std::fs::File::options().write(true).open(&path).expect("file");
        file.set_len(half.0).expect("cut");
    });
    let results = target.run_at_once(&jobs, &mut cut).expect("results");
    assert_eq!((results[0].ended, results[0].errors[0].kind.as_str()), (Ended::Failed, "short-read"));
    assert!(results[0].ios() > 0 && results[0].elapsed < Nanos::millis(900));
    assert!(results[1].is_clean(), "{:?}", results[1].errors);
    assert_eq!(results[1].elapsed, Nanos::millis(900));
    // What it did after the other had failed is in its series.
    assert!(results[1].series.intervals.last().is_some_and(|last| last.read.ios > 0));
}

#[test]
fn a_stop_ends_all() {
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"), EngineChoice::IoUring);
    let results = target.run_at_once(&reader_and_writer(Nanos::secs(3_600)), &mut After::stop(4)).expect("results");
    assert!(results.iter().all(|r| r.ended == Ended::Interrupted && r.elapsed < Nanos::secs(60)));
    assert!(results[0].ios() > 0);
}

#[test]
fn what_is_refused_is_refused_before_any_begins() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    let mut target = filled(&path, EngineChoice::IoUring);
    let before = std::fs::read(&path).expect("the file");
    let write = once(Rw::Write, Bytes::kib(64), SIZE);
    let too_large = Job { bs: Bytes::mib(16), ..once(Rw::RandRead, Bytes::kib(4), SIZE) };
    let check = Job { verify: Verify::Check, ..once(Rw::Read, Bytes::kib(64), SIZE) };
    for (other, says) in
        [(too_large, "needs at least 16 MiB"), (check, "write-64k writes to the same part at the same time")]
    {
        let refused = target.run_at_once(&[write.clone(), other], &mut Unobserved).expect_err("refused");
        assert!(matches!(&refused, TargetError::Spec(_)), "{refused}");
        assert!(refused.to_string().contains(says), "{refused}");
    }
    assert!(std::fs::read(&path).expect("the file") == before);
}

#[test]
fn blocks_are_verified_while_others_read_or_write_elsewhere() {
    let folder = scratch();
    let mut target = filled(&folder.path().join("t.img"), EngineChoice::IoUring);
    let half = Bytes::mib(4);
    let stamp = |offset| Job { verify: Verify::ReadBack, ..at(offset, half, once(Rw::Write, Bytes::kib(64), half)) };
    let jobs = [stamp(Bytes::ZERO), stamp(half), timed(Rw::RandRead, Bytes::kib(4), SIZE, Nanos::millis(300))];
    let results = target.run_at_once(&jobs, &mut Unobserved).expect("results");
    assert!(results.iter().all(JobResult::is_clean), "{results:?}");
    assert_eq!(results.iter().map(|r| r.write.bytes).collect::<Vec<_>>(), [half, half, Bytes::ZERO]);
}
