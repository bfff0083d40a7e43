//! Today's jobs keep their sequence of requests for ever: results kept in a store, and runs that are
//! resumed, count on it.

use flashlab_spec::{Job, Offsets, Pattern, Region, Rw, SizeRule, Sizes, Zone};
use flashlab_units::Bytes;
use flashlab_workload::RequestStream;

/// FNV-1a over the first 1,000 requests of each thread.
fn digest(job: &Job) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for index in 0..job.numjobs {
        let mut stream = RequestStream::new(job, index);
        for _ in 0..1_000 {
            let r = stream.next_request();
            for word in [r.offset.0, u64::from(r.length), r.direction as u64] {
                for byte in word.to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
                }
            }
        }
    }
    hash
}

fn job(rw: Rw, bs: u64, numjobs: u32, seed: u64) -> Job {
    let region = Region { offset: Bytes(8 * bs), length: Bytes(301 * bs + 512) };
    Job { rwmixread: 70, numjobs, seed, ..Job::new("golden", rw, Bytes(bs), region) }
}

#[test]
fn plain_jobs_keep_their_requests() {
    let seen = [
        digest(&job(Rw::RandRead, 4096, 1, 1)),
        digest(&job(Rw::RandRead, 512, 5, 2)),
        digest(&job(Rw::RandWrite, 65_536, 3, u64::MAX)),
        digest(&job(Rw::RandRw, 4096, 2, 11)),
        digest(&job(Rw::Read, 131_072, 1, 1)),
        digest(&job(Rw::Write, 4096, 4, 1)),
        digest(&job(Rw::ReadWrite, 4096, 2, 11)),
    ];
    assert_eq!(
        seen.map(|d| format!("{d:016x}")),
        [
            "c46e512a20379ddf",
            "ebaf55699ca89897",
            "417c38cd1c428a20",
            "30715db0dd1c94c5",
            "a0700a5c4d0c1a87",
            "95448a3175a6fce7",
            "32d1cc137e7b3645"
        ]
    );
}

#[test]
fn extents_keep_their_requests() {
    let extent = |block: u64, blocks: u64| Region { offset: Bytes(block * 4096), length: Bytes(blocks * 4096) };
    let extents = vec![vec![extent(9, 2), extent(30, 7)], vec![extent(20, 3), extent(50, 6)]];
    let digest = digest(&Job { extents, ..job(Rw::Write, 4096, 2, 3) });
    assert_eq!(format!("{digest:016x}"), "565a811737e4dad7");
}

/// No draw depends on the machine's mathematics library.
#[test]
fn drawn_offsets_and_sizes_are_the_same_everywhere() {
    let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
    let range = SizeRule::Range { min: Bytes(512), max: Bytes(4096), step: Bytes(512) };
    let region = Region { offset: Bytes(0), length: Bytes(122_880_000_000_000) };
    let digest = |offsets: Offsets, sizes: Option<Sizes>| {
        let pattern = Pattern { offsets, sizes, ..Pattern::default() };
        digest(&Job { pattern, rwmixread: 63, rwmixtrim: 10, region, ..job(Rw::RandRw, 4096, 2, 5) })
    };
    let seen = [
        digest(Offsets::Once, None),
        digest(Offsets::Zipf { theta: 1.1 }, None),
        digest(Offsets::Pareto { h: 0.2 }, None),
        digest(Offsets::Normal { deviation_percent: 10.0 }, None),
        digest(Offsets::Zones(vec![zone(80.0, 20.0), zone(20.0, 80.0)]), None),
        digest(Offsets::Repeats, Some(Sizes::all(range))),
    ];
    assert_eq!(
        seen.map(|d| format!("{d:016x}")),
        [
            "26d09430536b8c87",
            "a1c8b92d1a193635",
            "894fe20404f99b2d",
            "195fca262105a5fc",
            "71d4ff21b8dff609",
            "3f1ffaa598681fb9"
        ]
    );
}
