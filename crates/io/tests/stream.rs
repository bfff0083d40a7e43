//! All of the stream on real files: trims, sizes, passes, replayed lists, open loops.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, Loop, Throttle, job, little, new_target, once, scratch, timed, writable};
use flashlab_guard::create_file;
use flashlab_io::{EngineChoice, FileTarget, OpenOptions};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{
    Arrival, Beyond, Direction, Job, Offsets, Pattern, Rate, Region, Replay, ReplayEnd, ReplayRequest, Rw, Sharing,
    SizeRule, Sizes, ThinkTime,
};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn filled(path: &Path, size: Bytes, engine: EngineChoice) -> FileTarget {
    let (inspection, permit) = create_file(path, size).expect("file");
    let options = OpenOptions { engine, ..OpenOptions::default() };
    let mut target = FileTarget::open(&inspection, Some(permit), &options).expect("open");
    let fill = Job { iodepth: depth(engine), ..once(Rw::Write, Bytes::mib(1), size) };
    assert!(target.run(&fill, &mut Unobserved).expect("fill").is_clean());
    target
}

fn depth(engine: EngineChoice) -> u32 {
    if engine == EngineChoice::Psync { 1 } else { 8 }
}

fn run(target: &mut FileTarget, job: &Job) -> JobResult {
    let result = target.run(job, &mut Unobserved).expect("result");
    assert!(result.is_clean(), "{:?}", result.errors);
    result
}

#[test]
fn trims_punch_holes_into_files() {
    for engine in [EngineChoice::IoUring, EngineChoice::Psync] {
        let folder = scratch();
        let path = folder.path().join("t.img");
        let size = Bytes::mib(4);
        let mut target = filled(&path, size, engine);
        let region = Region { offset: Bytes::mib(1), length: Bytes::mib(2) };
        let trim =
            Job { region, iodepth: depth(engine), amount: Some(region.length), ..job(Rw::Trim, Bytes::kib(64), size) };
        let result = run(&mut target, &trim);
        assert_eq!((result.trim.ios, result.trim.bytes, result.bytes()), (32, Bytes::mib(2), Bytes::ZERO));
        assert_eq!(result.trim.lat.count(), 32);
        assert!(std::fs::metadata(&path).expect("file").blocks() * 512 <= 3 << 20);
        let data = std::fs::read(&path).expect("file");
        for (page, at) in data.chunks(4096).zip((0u64..).step_by(4096)) {
            let is_trimmed = (1 << 20..3 << 20).contains(&at);
            assert_eq!(page.iter().all(|b| *b == 0), is_trimmed, "at {at}");
        }
    }
}

#[test]
fn trims_discard_blocks_of_devices() {
    let Some(device) = Loop::new(Bytes::mib(4), 4096) else { return };
    for (engine, rw) in [(EngineChoice::IoUring, Rw::Trim), (EngineChoice::Psync, Rw::RandTrim)] {
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = writable(&device.device, &options);
        let iodepth = depth(engine);
        run(&mut target, &Job { iodepth, ..once(Rw::Write, Bytes::mib(1), Bytes::mib(4)) });
        let pattern = Pattern { offsets: Offsets::Once, ..Pattern::default() };
        let trim = Job { iodepth, pattern, passes: Some(1), ..job(rw, Bytes::kib(16), Bytes::mib(4)) };
        let trim = if rw == Rw::Trim { Job { pattern: Pattern::default(), ..trim } } else { trim };
        assert_eq!(run(&mut target, &trim).trim.bytes, Bytes::mib(4));
        let backing = std::fs::read(&device.backing).expect("backing file");
        assert!(backing.iter().all(|b| *b == 0), "{engine:?}");
    }
}

#[test]
fn sizes_mixes_and_shared_regions_move_what_was_asked_for() {
    let folder = scratch();
    let size = Bytes::mib(8);
    let mut target = filled(&folder.path().join("t.img"), size, EngineChoice::IoUring);
    let sizes = Sizes::all(SizeRule::Range { min: Bytes::kib(4), max: Bytes::kib(64), step: Bytes::kib(4) });
    for (rw, sharing) in [(Rw::RandRw, None), (Rw::ReadWrite, Some(Sharing::Shared)), (Rw::ReadWrite, None)] {
        let pattern = Pattern { sizes: Some(sizes.clone()), sharing, ..Pattern::default() };
        let amount = Bytes(5 * 1024 * 1024 + 4096);
        let mixed = Job { pattern, amount: Some(amount), numjobs: 3, rwmixtrim: 20, ..job(rw, Bytes::kib(64), size) };
        let result = run(&mut target, &mixed);
        assert_eq!(result.bytes().0 + result.trim.bytes.0, amount.0);
        assert!([&result.read, &result.write, &result.trim].iter().all(|d| d.ios > 10), "{rw:?}");
        // Sizes are uniform over 16 values: the mean is 34 KiB; 160 requests have a standard error of 1.5.
        let mean = amount.0 as f64 / result.ios() as f64 / 1024.0;
        assert!((28.0..40.0).contains(&mean), "{mean} KiB");
    }
}

#[test]
fn passes_read_every_block_as_often() {
    let folder = scratch();
    let size = Bytes::mib(2);
    let mut target = filled(&folder.path().join("t.img"), size, EngineChoice::IoUring);
    let pattern = Pattern { offsets: Offsets::Once, ..Pattern::default() };
    let passes = Job { passes: Some(3), pattern, ..job(Rw::RandRead, Bytes::kib(4), size) };
    assert_eq!(run(&mut target, &passes).read.ios, 3 * 512);
    let sequential = Job { passes: Some(2), numjobs: 3, ..job(Rw::Read, Bytes::kib(12), size) };
    assert_eq!(run(&mut target, &sequential).read.bytes, Bytes::mib(4));
}

#[test]
fn a_list_is_replayed_request_by_request() {
    for engine in [EngineChoice::IoUring, EngineChoice::Psync] {
        let folder = scratch();
        let path = folder.path().join("t.img");
        let size = Bytes::mib(1);
        let mut target = filled(&path, size, engine);
        let before = std::fs::read(&path).expect("file");
        let request = |at, direction, block: u64, length| ReplayRequest {
            at: Nanos::millis(at),
            direction,
            offset: Bytes(block * 4096),
            length,
        };
        let list = vec![
            request(0, Direction::Write, 3, 8192),
            request(10, Direction::Trim, 10, 4096),
            request(25, Direction::Read, 0, 4096),
            request(150, Direction::Write, 300, 4096),
        ];
        let replay = Some(Replay::new("list", list, ReplayEnd::Once, Beyond::Fold));
        let arrival = Arrival::Recorded { time_percent: 100 };
        let played = Job { replay, arrival, iodepth: depth(engine), ..job(Rw::RandRw, Bytes::kib(8), size) };
        let result = run(&mut target, &played);
        assert_eq!((result.read.ios, result.write.ios, result.trim.ios), (1, 2, 1));
        assert!(result.elapsed >= Nanos::millis(150), "{}", result.elapsed);
        let after = std::fs::read(&path).expect("file");
        // Block 300 of 256 is folded to 44.
        let changed: Vec<usize> =
            (0..256).filter(|b| before[b * 4096..][..4096] != after[b * 4096..][..4096]).collect();
        assert_eq!(changed, [3, 4, 10, 44]);
    }
}

/// After each pair of requests nothing is asked for 20 ms, once both are back; no latency has that in it.
#[test]
fn pauses_come_after_so_many_requests_and_are_in_no_latency() {
    let folder = scratch();
    let size = Bytes::mib(1);
    for engine in [EngineChoice::IoUring, EngineChoice::Psync] {
        let mut target = filled(&folder.path().join(engine.word()), size, engine);
        let pause = Nanos::millis(20);
        let think = Some(ThinkTime { time: pause, blocks: 2 });
        let amount = Some(Bytes::kib(4 * 11));
        let paused = Job { think, amount, iodepth: depth(engine), ..job(Rw::RandRead, Bytes::kib(4), size) };
        let result = run(&mut target, &paused);
        // Of eleven requests in pairs, the pauses are five; none follows the last.
        assert_eq!(result.read.ios, 11);
        assert!(result.elapsed >= Nanos(5 * pause.0), "{engine:?}: {}", result.elapsed);
        assert!(result.read.lat.percentile(50.0).is_some_and(|p| p.value < pause), "{engine:?}");
        let in_flight = result.in_flight_mean.expect("a mean");
        assert!(in_flight <= 2.0, "{engine:?}: {in_flight} in flight");
        // The window ends in a pause, and is as long as it was asked to be.
        let timed =
            Job { think, iodepth: depth(engine), ..timed(Rw::RandRead, Bytes::kib(4), size, Nanos::millis(130)) };
        let result = run(&mut target, &timed);
        assert_eq!(result.elapsed, Nanos::millis(130), "{engine:?}");
        assert!(result.read.ios <= 14 && result.read.ios >= 2, "{engine:?}: {} in 130 ms", result.read.ios);
    }
}

#[test]
fn an_open_loop_keeps_its_rate_whatever_the_engine() {
    let folder = scratch();
    let size = Bytes::mib(4);
    for (engine, numjobs) in [(EngineChoice::IoUring, 2), (EngineChoice::Psync, 1), (EngineChoice::Null, 1)] {
        let path = folder.path().join(engine.word());
        let mut target = filled(&path, size, EngineChoice::IoUring);
        if engine != EngineChoice::IoUring {
            drop(target);
            let inspection = flashlab_guard::inspect(&path).expect("look");
            let options = OpenOptions { engine, direct: false };
            target = FileTarget::open(&inspection, None, &options).expect("open");
        }
        for (arrival, spread) in [
            // Edges of the window, and what was due when it ended.
            (Arrival::Fixed(Rate::iops(500)), 20),
            // Five standard deviations of a Poisson count of at most 1,500.
            (Arrival::Poisson(Rate { ios: 1, per: Nanos::millis(2) }), 194),
        ] {
            let iodepth = depth(engine);
            let open =
                Job { arrival, numjobs, iodepth, ..timed(Rw::RandRead, Bytes::kib(4), size, Nanos::millis(1_500)) };
            let result = run(&mut target, &open);
            let due = 750 * u64::from(numjobs);
            assert!(result.ios().abs_diff(due) <= spread, "{engine:?} {arrival:?}: {} of {due}", result.ios());
            let service = result.read.service.as_ref().expect("service time");
            assert_eq!(service.count(), result.ios());
            assert!(service.mean_ns() <= result.read.lat.mean_ns(), "{engine:?}");
            assert_eq!(result.elapsed, Nanos::millis(1_500));
            // Few are in flight, so that one that waits at the end of the window counts.
            let (by_law, integrated, _) = little(&result);
            let longest = result.read.lat.max().expect("a latency");
            let edges = 2.0 * f64::from(numjobs) * longest.as_secs_f64() / result.elapsed.as_secs_f64();
            let agree = (by_law - integrated).abs() <= 0.01 * integrated + edges;
            assert!(engine == EngineChoice::Null || agree, "{:?}, edges {edges}", little(&result));
        }
    }
}

/// Where integer microseconds between requests turn 700,000 a second into more than twice as many.
#[test]
fn high_rates_are_offered_as_asked_for() {
    let folder = scratch();
    let path = folder.path().join("t.img");
    drop(filled(&path, Bytes::mib(4), EngineChoice::IoUring));
    for (engine, arrival, due) in [
        (EngineChoice::Null, Arrival::Fixed(Rate::iops(1_000_000)), 1e6),
        (EngineChoice::Null, Arrival::Poisson(Rate::iops(700_000)), 7e5),
        (EngineChoice::Nop, Arrival::Poisson(Rate::iops(300_000)), 3e5),
    ] {
        let options = OpenOptions { engine, direct: false };
        let inspection = flashlab_guard::inspect(&path).expect("look");
        let mut target = FileTarget::open(&inspection, None, &options).expect("open");
        let open = Job { arrival, iodepth: 256, ..timed(Rw::RandRead, Bytes::kib(4), Bytes::mib(4), Nanos::secs(1)) };
        let share = run(&mut target, &open).ios() as f64 / due;
        println!("{engine:?} {arrival:?}: {share:.4} of what is due");
        // Some tens of milliseconds may be lost at the end, where the machine has other work; nothing is gained.
        assert!((0.9..1.01).contains(&share), "{engine:?} {arrival:?}: {share}");
    }
}

/// Coordinated omission: with half of the offered load served, waiting grows through the run. Service
/// time does not show it; latency from the intended start does.
#[test]
fn an_open_loop_that_is_not_served_shows_its_waiting() {
    let Some(device) = Loop::cached(Bytes::mib(16), 4096) else { return };
    let Some(throttle) = Throttle::new("open") else { return };
    let mut target = writable(&device.device, &OpenOptions::default());
    run(&mut target, &once(Rw::Write, Bytes::mib(1), Bytes::mib(16)));
    throttle.limit("read_iops_device", &device.number(), 500);
    let arrival = Arrival::Fixed(Rate::iops(1_000));
    let open = Job { arrival, ..timed(Rw::RandRead, Bytes::kib(4), Bytes::mib(16), Nanos::secs(3)) };
    let result = run(&mut target, &open);
    throttle.limit("read_iops_device", &device.number(), 0);
    let service = result.read.service.as_ref().expect("service time");
    let p99 = |h: &flashlab_samples::LatencyHistogram| h.percentile(99.0).expect("samples").value;
    println!(
        "offered 1,000, served {} in 3 s: p99 {} from the intended start, {} of service",
        result.ios(),
        p99(&result.read.lat),
        p99(service)
    );
    // Of 3,000 requests 1,500 are served; the last one was due 1.5 s before it came back.
    assert!(p99(&result.read.lat) > Nanos::secs(1), "{}", p99(&result.read.lat));
    assert!(p99(service).0 * 4 < p99(&result.read.lat).0, "{}", p99(service));
    assert!(result.granted.features.iter().any(|f| f.contains("not kept up with")), "{:?}", result.granted.features);
    let (by_law, integrated, difference) = little(&result);
    // At the end about 1,500 requests wait that will never be counted.
    assert!(by_law > 100.0 && integrated > 100.0, "{by_law} {integrated} {difference}");
}

#[test]
fn a_stop_ends_an_open_loop_that_waits() {
    let folder = scratch();
    let mut target = new_target(&folder.path().join("t.img"), Bytes::mib(1));
    let arrival = Arrival::Fixed(Rate { ios: 1, per: Nanos::secs(3_600) });
    let open = Job { arrival, ..timed(Rw::RandWrite, Bytes::kib(4), Bytes::mib(1), Nanos::secs(3_600)) };
    let result = target.run(&open, &mut After::stop(3)).expect("result");
    assert_eq!((result.ended, result.write.ios), (Ended::Interrupted, 1));
}
