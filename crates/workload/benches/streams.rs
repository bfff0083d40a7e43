//! Time a request of each kind of stream, median of five rounds.
//!
//! `cargo bench -p flashlab-workload --bench streams`
#![allow(clippy::print_stdout, missing_docs)]

use flashlab_spec::{
    Arrival, Beyond, Direction, Job, Offsets, Pattern, Rate, Region, Replay, ReplayEnd, ReplayRequest, Rw, SizeRule,
    Sizes, Zone,
};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::{ArrivalStream, RequestStream};
use std::hint::black_box;
use std::time::Instant;

/// Requests a round.
const REQUESTS: u64 = 4_000_000;
const ROUNDS: usize = 5;

fn time(name: &str, mut next: impl FnMut() -> u64) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box((0..REQUESTS).fold(0u64, |sum, _| sum.wrapping_add(next())));
            start.elapsed().as_nanos() as f64 / REQUESTS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<32} {:>7.2} ns", rounds[ROUNDS / 2]);
}

fn requests(name: &str, job: &Job) {
    job.validate(Bytes(512), job.region.length).expect("a job that can run");
    let mut stream = black_box(RequestStream::new(job, 0));
    time(name, || {
        let r = stream.next_request();
        r.offset.0 ^ u64::from(r.length) ^ r.direction as u64
    });
}

fn main() {
    let region = Region { offset: Bytes::ZERO, length: Bytes(122_880_000_000_000) };
    let job = |rw: Rw| Job { runtime: Some(Nanos::secs(1)), ..Job::new("bench", rw, Bytes::kib(4), region) };
    let pattern = |pattern: Pattern| Job { pattern, ..job(Rw::RandRead) };
    let offsets = |offsets: Offsets| pattern(Pattern { offsets, ..Pattern::default() });
    requests("sequential", &job(Rw::Read));
    requests("random", &job(Rw::RandRead));
    requests("random, reads and writes", &job(Rw::RandRw));
    requests("random, without repeats", &offsets(Offsets::Once));
    let zipf = Offsets::Zipf { theta: 1.1 };
    requests("zipf", &pattern(Pattern { offsets: zipf.clone(), scatter: false, ..Pattern::default() }));
    requests("zipf, scattered", &offsets(zipf));
    requests("pareto, scattered", &offsets(Offsets::Pareto { h: 0.2 }));
    requests("normal, scattered", &offsets(Offsets::Normal { deviation_percent: 10.0 }));
    let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
    requests("zones, scattered", &offsets(Offsets::Zones(vec![zone(80.0, 20.0), zone(20.0, 80.0)])));
    let range = SizeRule::Range { min: Bytes(512), max: Bytes::kib(4), step: Bytes(512) };
    requests("random sizes", &pattern(Pattern { sizes: Some(Sizes::all(range)), ..Pattern::default() }));
    let entry =
        |i: u64| ReplayRequest { at: Nanos(i), direction: Direction::Read, offset: Bytes(i * 7 * 4096), length: 4096 };
    let list = Replay::new("bench", (0..100_000).map(entry).collect(), ReplayEnd::Loop, Beyond::Refuse);
    requests("replayed list", &Job { replay: Some(list), ..job(Rw::RandRw) });
    for (name, arrival) in [
        ("arrivals, fixed", Arrival::Fixed(Rate::iops(700_000))),
        ("arrivals, Poisson", Arrival::Poisson(Rate::iops(700_000))),
    ] {
        let mut times = black_box(ArrivalStream::new(&Job { arrival, ..job(Rw::RandRead) }, 0).expect("an open loop"));
        time(name, || times.next_arrival().0);
    }
}
