//! Replayed lists on the modelled drive: what is kept of them at its scale, and that all of it is played.

mod common;

use common::{CAPACITY, hosts, profile};
use flashlab_drive::{Footprint, ModelledDrive};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Arrival, Beyond, Direction, Job, Region, Replay, ReplayEnd, ReplayRequest, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const UNIT: u64 = 32_768;
const TIMED: Arrival = Arrival::Recorded { time_percent: 100 };

fn request(at: Nanos, direction: Direction, offset: u64, length: u32) -> ReplayRequest {
    ReplayRequest { at, direction, offset: Bytes(offset), length }
}

fn play(requests: Vec<ReplayRequest>, passes: u32, arrival: Arrival, beyond: Beyond) -> Job {
    let replay = Replay::new("list", requests, ReplayEnd::Loop, beyond);
    let bs = Bytes(u64::from(replay.summary().length_max));
    let region = Region { offset: Bytes(0), length: CAPACITY };
    let job = Job::new("list", Rw::RandRw, bs, region);
    Job { iodepth: 64, passes: Some(passes), arrival, replay: Some(replay), ..job }
}

/// A drive for `job` after a fill.
fn filled(job: &Job) -> ModelledDrive {
    let mut drive = ModelledDrive::for_replay(profile(), hosts(), None, job);
    let region = Region { offset: Bytes(0), length: CAPACITY };
    let fill = Job { iodepth: 16, amount: Some(CAPACITY), ..Job::new("fill", Rw::Write, Bytes::kib(128), region) };
    drive.run(&fill, &mut Unobserved).expect("a fill runs");
    drive
}

fn run(drive: &mut ModelledDrive, job: &Job) -> JobResult {
    drive.run(job, &mut Unobserved).expect("a valid job runs")
}

/// Requests of all kinds and sizes over the whole drive, a microsecond apart, some in runs.
fn mixed(count: u64) -> Vec<ReplayRequest> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut offset = 0;
    let mut next = |at: u64| {
        let length = 512 * (1 + rng.next_u64() % 256);
        // A third each continues, goes back to one of a few places, or goes anywhere.
        offset = match rng.next_u64() % 3 {
            0 => offset + length,
            1 => (rng.next_u64() % 64) << 36,
            _ => rng.next_u64() % (CAPACITY.0 / 512 - 1_000) * 512,
        };
        let direction = Direction::ALL[(rng.next_u64() % 8).min(2) as usize];
        offset = offset.min(CAPACITY.0 - length);
        request(Nanos::micros(at), direction, offset, length as u32)
    };
    (0..count).map(&mut next).collect()
}

/// The same unit stays the same, two stay two, runs stay runs and none begins; times, sizes, directions and
/// order are as they were.
#[test]
fn addresses_are_moved_together_and_nothing_else_changes() {
    let job = play(mixed(5_000), 1, TIMED, Beyond::Refuse);
    let drive = ModelledDrive::for_replay(profile(), hosts(), None, &job);
    let scaled = drive.scaled_job(&job);
    let (before, after) = (job.replay.expect("a list"), scaled.replay.expect("a list"));
    assert!(drive.scale() > 1 && after.summary().end <= scaled.region.length, "{:?}", after.summary());
    let mut units = std::collections::BTreeMap::new();
    for (was, is) in before.requests().iter().zip(after.requests().iter()) {
        assert_eq!((was.at, was.direction, was.length), (is.at, is.direction, is.length));
        assert_eq!(was.offset.0 % UNIT, is.offset.0 % UNIT);
        for unit in 0..=(was.offset.0 % UNIT + u64::from(was.length) - 1) / UNIT {
            let moved = units.entry(was.offset.0 / UNIT + unit).or_insert(is.offset.0 / UNIT + unit);
            assert_eq!(*moved, is.offset.0 / UNIT + unit);
        }
    }
    // In the order of the trace's units their places rise: no two are one.
    assert!(units.values().is_sorted_by(|a, b| a < b));
    let steps = units.iter().zip(units.iter().skip(1));
    steps.for_each(|(a, b)| assert_eq!(b.0 - a.0 == 1, b.1 - a.1 == 1, "{a:?} {b:?}"));
}

#[test]
fn all_requests_are_played_each_pass_and_the_drive_stays_whole() {
    let list = mixed(5_000);
    for (arrival, passes) in [(TIMED, 1), (TIMED, 3), (Arrival::Closed, 2)] {
        let job = play(list.clone(), passes, arrival, Beyond::Refuse);
        let mut drive = filled(&job);
        let result = run(&mut drive, &job);
        let times = u64::from(passes);
        for (direction, done) in Direction::ALL.into_iter().zip([&result.read, &result.write, &result.trim]) {
            let of = || list.iter().filter(|r| r.direction == direction);
            let bytes: u64 = of().map(|r| u64::from(r.length)).sum();
            assert_eq!((done.ios, done.bytes.0), (of().count() as u64 * times, bytes * times), "{direction:?}");
        }
        assert_eq!((result.ended, result.scale), (Ended::Completed, 1));
        let health = result.health.expect("a modelled drive has a log");
        assert_eq!(health.host_written, Some(result.write.bytes));
        assert_eq!(health.host_read, Some(result.read.bytes));
        drive.check().expect("the map agrees with itself");
        assert_eq!(run(&mut filled(&job), &job), result, "one list, one result");
    }
}

/// Requests 10 ms apart meet an idle drive, however many might be in flight.
#[test]
fn an_open_loop_keeps_the_times_of_the_list() {
    let list: Vec<_> =
        (0..200).map(|i| request(Nanos::millis(10 * i), Direction::Read, (i * 7_919 % 20_000) << 32, 4096)).collect();
    let open = play(list.clone(), 1, TIMED, Beyond::Refuse);
    let alone = Job { iodepth: 1, ..play(list, 1, Arrival::Closed, Beyond::Refuse) };
    let (open, alone) = (run(&mut filled(&open), &open), run(&mut filled(&alone), &alone));
    let mean = |r: &JobResult| r.read.lat.mean_ns().expect("reads");
    assert!((mean(&open) / mean(&alone) - 1.0).abs() < 0.01, "{} and {}", mean(&open), mean(&alone));
    let span = Nanos::millis(1_990);
    assert!(open.elapsed > span && open.elapsed < span + Nanos::millis(1), "{}", open.elapsed);
    assert!(alone.elapsed < Nanos::millis(100), "{}", alone.elapsed);
}

/// All at once, one in flight: each waits for those before it, and latency counts from when it was due.
#[test]
fn latency_counts_from_the_time_in_the_list() {
    let list: Vec<_> = (0..1_000).map(|i| request(Nanos(i), Direction::Read, i << 30, 4096)).collect();
    let job = Job { iodepth: 1, ..play(list, 1, TIMED, Beyond::Refuse) };
    let result = run(&mut filled(&job), &job);
    let mean = result.read.lat.mean_ns().expect("reads");
    let service = result.read.service.as_ref().and_then(|s| s.mean_ns()).expect("an open loop has both");
    assert!((mean / (service * 500.5) - 1.0).abs() < 0.05, "{mean} and {service}");
}

/// Overwrites of a few units: what is collected is empty, at any scale that leaves room for it.
#[test]
fn a_small_footprint_is_not_amplified() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let list: Vec<_> = (0..20_000)
        .map(|i| request(Nanos(i), Direction::Write, (rng.next_u64() % 8_000) * 7 * UNIT, UNIT as u32))
        .collect();
    let job = play(list, 60, Arrival::Closed, Beyond::Refuse);
    let footprint = Footprint::of(&job, Bytes(UNIT)).expect("a list");
    let mut drive = filled(&job);
    let spare = drive.nominal_spare().expect("a modelled drive").0 / drive.scale() / UNIT;
    let physical = spare + CAPACITY.0 / drive.scale() / UNIT;
    assert!(footprint.is_small_beside(physical) && 2 * footprint.units_a_pass <= spare, "{spare}");
    assert!(footprint.units_a_pass * 60 > 3 * spare, "the list goes through the spare");
    run(&mut drive, &job);
    let health = run(&mut drive, &job).health.expect("a log");
    let bytes = |b: Option<Bytes>| b.expect("counted").0 as f64;
    let amplification = bytes(health.media_written) / bytes(health.host_written);
    assert!((0.99..1.02).contains(&amplification), "{amplification}");
}

#[test]
fn more_than_the_modelled_drive_has_is_refused_or_folded() {
    let list = mixed(2_000);
    let small = || ModelledDrive::with_units_max(profile(), hosts(), None, 0);
    let units = small().scaled_job(&play(list.clone(), 1, TIMED, Beyond::Refuse)).region.length.0 / UNIT;
    // One unit in two: more of them than the drive has.
    let sparse: Vec<_> =
        (0..units + 10).map(|i| request(Nanos(i), Direction::Write, 2 * i * UNIT, UNIT as u32)).collect();
    let refused = small().run(&play(sparse.clone(), 1, Arrival::Closed, Beyond::Refuse), &mut Unobserved);
    let text = refused.expect_err("it does not fit").to_string();
    assert!(text.contains("list touches") && text.contains("fold its addresses"), "{text}");
    let folded = run(&mut small(), &play(sparse, 1, Arrival::Closed, Beyond::Fold));
    assert_eq!(folded.write.ios, units + 10);

    let long = vec![request(Nanos(0), Direction::Read, 0, 512), request(Nanos::secs(86_400), Direction::Read, 0, 512)];
    let refused = small().run(&play(long, 30, TIMED, Beyond::Refuse), &mut Unobserved).expect_err("60 days");
    let text = refused.to_string();
    assert!(text.contains("30 passes of list take up to 59 d") && text.contains("play fewer passes"), "{text}");
    let timed = Job { runtime: Some(Nanos::secs(1)), ..play(list, 1, TIMED, Beyond::Refuse) };
    let refused = small().run(&timed, &mut Unobserved).expect_err("an end of its own");
    assert!(refused.to_string().contains("whole passes"), "{refused}");
}
