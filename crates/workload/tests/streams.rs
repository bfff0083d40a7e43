//! What holds for the requests of whole jobs: inside the region, aligned, each block in its turn, in the
//! shares asked for.

use flashlab_spec::{
    Beyond, Direction, Job, Offsets, Pattern, Region, Replay, ReplayEnd, ReplayRequest, Rw, Sharing, SizeRule,
    SizeShare, Sizes, Zone,
};
use flashlab_units::{Bytes, Nanos};
use flashlab_workload::{Request, RequestStream};
use proptest::prelude::*;
use std::collections::BTreeMap;

const BLOCK: u64 = 512;

fn job(rw: Rw, bs: u64, offset: u64, length: u64) -> Job {
    let region = Region { offset: Bytes(offset), length: Bytes(length) };
    Job { runtime: Some(Nanos::secs(1)), seed: 7, ..Job::new("w", rw, Bytes(bs), region) }
}

fn valid(job: Job) -> Job {
    let capacity = Bytes(job.region.offset.0 + job.region.length.0);
    job.validate(Bytes(BLOCK), capacity).unwrap_or_else(|e| panic!("{e}"));
    job
}

/// All requests of all threads, until each of them ends.
fn all(job: &Job) -> Vec<Request> {
    (0..job.numjobs).flat_map(|index| RequestStream::new(job, index)).collect()
}

/// How often each logical block of the region is touched.
fn touched(job: &Job, requests: &[Request]) -> Vec<u32> {
    let mut counts = vec![0; (job.region.length.0 / BLOCK) as usize];
    for r in requests {
        let first = (r.offset.0 - job.region.offset.0) / BLOCK;
        (first..first + u64::from(r.length) / BLOCK).for_each(|block| counts[block as usize] += 1);
    }
    counts
}

fn offsets() -> impl Strategy<Value = Offsets> {
    let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
    prop_oneof![
        Just(Offsets::Repeats),
        Just(Offsets::Once),
        (0.05f64..4.0).prop_map(|theta| Offsets::Zipf { theta }),
        (0.01f64..0.99).prop_map(|h| Offsets::Pareto { h }),
        (0.1f64..100.0).prop_map(|deviation_percent| Offsets::Normal { deviation_percent }),
        Just(Offsets::Zones(vec![zone(70.0, 20.0), zone(30.0, 80.0)])),
    ]
}

fn rule(bs: u64) -> impl Strategy<Value = SizeRule> {
    let blocks = bs / BLOCK;
    let share = move |percent| (1..=blocks).prop_map(move |n| SizeShare { bs: Bytes(n * BLOCK), percent });
    prop_oneof![
        (1..=blocks).prop_map(|n| SizeRule::Fixed(Bytes(n * BLOCK))),
        Just(SizeRule::Range { min: Bytes(BLOCK), max: Bytes(bs), step: Bytes(BLOCK) }),
        (share(60.0), share(30.0), share(10.0)).prop_map(|(a, b, c)| SizeRule::Split(vec![a, b, c])),
    ]
}

fn sizes(bs: u64) -> impl Strategy<Value = Option<Sizes>> {
    // The trims are as large as bs, so that bs is the largest.
    let trim = SizeRule::Fixed(Bytes(bs));
    prop::option::of((rule(bs), rule(bs)).prop_map(move |(read, write)| Sizes { read, write, trim: trim.clone() }))
}

fn any_job() -> impl Strategy<Value = Job> {
    let rws = vec![Rw::Read, Rw::Write, Rw::Trim, Rw::RandRead, Rw::RandWrite, Rw::RandTrim, Rw::RandRw, Rw::ReadWrite];
    let shape = (prop::sample::select(rws), 1u64..9, 1u32..6, 0u64..40, 0u64..400);
    shape.prop_flat_map(|(rw, blocks, numjobs, offset, more)| {
        let bs = blocks * BLOCK;
        let sharing = prop::option::of(prop::sample::select(vec![Sharing::Shared, Sharing::Slices]));
        let align = prop::option::of((1u64..12).prop_map(|n| Bytes(n * BLOCK)));
        let stride = prop::option::of((blocks..blocks + 9).prop_map(|n| Bytes(n * BLOCK)));
        let pattern = (offsets(), any::<bool>(), sharing, align, stride, sizes(bs));
        let mix = (0u8..=100).prop_flat_map(|reads| (Just(reads), 0..=100 - reads));
        (pattern, mix, any::<u64>())
            .prop_map(move |(p, (rwmixread, rwmixtrim), seed)| {
                let (offsets, scatter, sharing, align, stride, sizes) = p;
                let stride = stride.filter(|_| !rw.is_random());
                let length = bs * 10 * u64::from(numjobs) + more * BLOCK;
                let pattern = Pattern { offsets, scatter, align, stride, sharing, sizes, random: None };
                Job { numjobs, pattern, rwmixread, rwmixtrim, seed, ..job(rw, bs, offset * BLOCK, length) }
            })
            // Zones need more places than a large alignment may leave.
            .prop_filter("a valid job", |job| {
                job.validate(Bytes(BLOCK), Bytes(job.region.offset.0 + job.region.length.0)).is_ok()
            })
    })
}

proptest! {
    #[test]
    fn every_request_is_inside_its_slice_and_aligned(job in any_job()) {
        for index in 0..job.numjobs {
            let slice = job.slice(index);
            prop_assert!(slice.offset >= job.region.offset);
            prop_assert!(slice.offset.0 + slice.length.0 <= job.region.offset.0 + job.region.length.0);
            let mut stream = RequestStream::new(&job, index);
            for _ in 0..300 {
                let r = stream.next_request();
                prop_assert!(r.length > 0 && r.offset >= slice.offset);
                prop_assert!(r.offset.0 + u64::from(r.length) <= slice.offset.0 + slice.length.0);
                prop_assert!(u64::from(r.length) <= job.bs.0 && u64::from(r.length).is_multiple_of(BLOCK));
                prop_assert_eq!(r.offset.0 % BLOCK, 0);
                if let (Some(align), None) = (job.pattern.align, job.pattern.stride) {
                    prop_assert_eq!((r.offset.0 - slice.offset.0) % align.0, 0);
                }
                if job.rw.is_random() {
                    prop_assert_eq!((r.offset.0 - slice.offset.0) % job.step(r.direction).0, 0);
                }
            }
        }
    }

    #[test]
    fn slices_with_passes_cover_the_region_once(
        rw in prop::sample::select(vec![Rw::Read, Rw::Write, Rw::RandWrite]),
        blocks in 1u64..9, numjobs in 1u32..8, more in 0u64..200, passes in 1u32..4, wanted in any::<bool>(),
    ) {
        let bs = blocks * BLOCK;
        let sizes = (wanted && !rw.is_random())
            .then(|| Sizes::all(SizeRule::Range { min: Bytes(BLOCK), max: Bytes(bs), step: Bytes(BLOCK) }));
        let (offsets, sharing) = (Offsets::Once, Some(Sharing::Slices));
        let pattern = Pattern { offsets, sharing, sizes, ..Pattern::default() };
        let length = bs * u64::from(numjobs) + more * BLOCK;
        let job = valid(Job { numjobs, passes: Some(passes), pattern, ..job(rw, bs, 8 * BLOCK, length) });
        let counts = touched(&job, &all(&job));
        // A random request never takes a tail that is shorter than bs.
        let whole = if rw.is_random() { (length / bs * blocks) as usize } else { counts.len() };
        prop_assert!(counts[..whole].iter().all(|c| *c == passes), "{:?}", counts);
        prop_assert!(counts[whole..].iter().all(|c| *c == 0));
    }

    #[test]
    fn sequential_sizes_leave_no_gap_and_no_overlap(seed: u64, blocks in 2u64..9, length in 20u64..300) {
        let bs = blocks * BLOCK;
        let range = SizeRule::Range { min: Bytes(BLOCK), max: Bytes(bs), step: Bytes(BLOCK) };
        let pattern = Pattern { sizes: Some(Sizes::all(range)), ..Pattern::default() };
        let job = valid(Job { seed, pattern, passes: Some(1), ..job(Rw::Read, bs, 0, length * BLOCK) });
        let mut at = 0;
        for r in RequestStream::new(&job, 0) {
            prop_assert_eq!(r.offset.0, at);
            at += u64::from(r.length);
        }
        prop_assert_eq!(at, length * BLOCK);
    }
}

/// The sizes and places of JESD219's enterprise load: most requests are 4 KiB, and none need a larger alignment than
/// its own size.
#[test]
fn requests_of_several_sizes_begin_at_multiples_of_the_smallest() {
    let pattern = Pattern { sizes: Some("4KiB/70:8KiB/20:64KiB/10".parse().expect("sizes")), ..Pattern::default() };
    let job = valid(Job { pattern, ..job(Rw::RandWrite, 65_536, 0, 1024 * 4096) });
    let mut counts = [0f64; 1024];
    RequestStream::new(&job, 0).take(100_900).for_each(|r| counts[(r.offset.0 / 4096) as usize] += 1.0);
    // From 1,009 places the largest fits; chi-square with 1,008 degrees of freedom, 4.5 sigma is 1,210.
    let chi2: f64 = counts[..1009].iter().map(|c| (c - 100.0).powi(2) / 100.0).sum();
    assert!(chi2 < 1210.0 && counts[1009..].iter().all(|c| *c == 0.0), "chi-square {chi2}");
}

/// As fio does with bs=4k,64k.
#[test]
fn each_direction_has_its_own_alignment() {
    let pattern = Pattern { sizes: Some("4KiB,64KiB".parse().expect("sizes")), ..Pattern::default() };
    let job = valid(Job { pattern, ..job(Rw::RandRw, 65_536, 8192, 256 * 4096) });
    let (mut odd_reads, mut cells) = (0, [0f64; 16]);
    for r in RequestStream::new(&job, 0).take(20_000) {
        let at = r.offset.0 - 8192;
        if r.length == 4096 {
            assert_eq!(at % 4096, 0);
            odd_reads += u32::from(!at.is_multiple_of(65_536));
        } else {
            assert_eq!(at % 65_536, 0);
            cells[(at / 65_536) as usize] += 1.0;
        }
    }
    assert!(odd_reads > 9_000, "{odd_reads}");
    // The last place is hit from one place of the grid, the others from 16.
    assert!(cells[..15].iter().all(|c| (560.0..760.0).contains(c)), "{cells:?}");
}

#[test]
fn a_pass_with_repeats_has_the_bytes_of_its_slice() {
    for (sizes, align) in
        [(None, None), (None, Some(512)), (Some("4KiB-64KiB"), None), (Some("4KiB/90:64KiB/10"), None)]
    {
        let pattern =
            Pattern { sizes: sizes.map(|s| s.parse().expect("sizes")), align: align.map(Bytes), ..Pattern::default() };
        let job = valid(Job { pattern, passes: Some(3), ..job(Rw::RandWrite, 65_536, 0, 100 << 20) });
        let bytes: u64 = RequestStream::new(&job, 0).map(|r| u64::from(r.length)).sum();
        assert!((300 << 20..(300 << 20) + 65_536).contains(&bytes), "{sizes:?}: {bytes}");
    }
}

#[test]
fn each_pass_without_repeats_has_an_order_of_its_own() {
    let pattern = Pattern { offsets: Offsets::Once, ..Pattern::default() };
    let job = valid(Job { pattern, passes: Some(2), ..job(Rw::RandRead, 4096, 0, 1009 * 4096) });
    let blocks: Vec<u64> = all(&job).iter().map(|r| r.offset.0 / 4096).collect();
    let (first, second) = blocks.split_at(1009);
    assert_ne!(first, second);
    for pass in [first, second] {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1009).collect::<Vec<_>>());
    }
}

/// The largest drive, in its smallest blocks: no memory, no overflow.
#[test]
fn a_drive_of_245_tb_has_every_order() {
    let length = 245_760_000_000_000 / BLOCK * BLOCK;
    let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
    for offsets in [
        Offsets::Once,
        Offsets::Zipf { theta: 0.9 },
        Offsets::Pareto { h: 0.2 },
        Offsets::Normal { deviation_percent: 20.0 },
        Offsets::Zones(vec![zone(90.0, 10.0), zone(10.0, 90.0)]),
    ] {
        let pattern = Pattern { offsets, ..Pattern::default() };
        let job = valid(Job { pattern, ..job(Rw::RandRead, BLOCK, 0, length) });
        let far = RequestStream::new(&job, 0).take(1_000).filter(|r| r.offset.0 > length / 2).count();
        assert!((400..600).contains(&far), "{far} of 1,000 in the upper half: {:?}", job.pattern.offsets);
    }
}

#[test]
fn without_scatter_hot_blocks_are_neighbours() {
    for (scatter, expected) in [(false, 1.0), (true, 0.2)] {
        let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
        let offsets = Offsets::Zones(vec![zone(100.0, 20.0), zone(0.0, 80.0)]);
        let pattern = Pattern { offsets, scatter, ..Pattern::default() };
        let job = valid(Job { pattern, ..job(Rw::RandRead, 4096, 0, 100_000 * 4096) });
        let low = RequestStream::new(&job, 0).take(20_000).filter(|r| r.offset.0 < 20_000 * 4096).count();
        assert!((low as f64 / 20_000.0 - expected).abs() < 0.02, "{low} of 20,000 with scatter {scatter}");
    }
    // The same hot blocks in another job, whatever its seed.
    let hot = |seed| {
        let pattern = Pattern { offsets: Offsets::Zipf { theta: 3.0 }, ..Pattern::default() };
        let job = valid(Job { pattern, seed, ..job(Rw::RandRead, 4096, 0, 100_000 * 4096) });
        let mut counts = BTreeMap::<u64, u32>::new();
        RequestStream::new(&job, 0).take(1_000).for_each(|r| *counts.entry(r.offset.0).or_default() += 1);
        counts.into_iter().max_by_key(|c| c.1).map(|c| c.0)
    };
    assert_eq!(hot(1), hot(2));
}

#[test]
fn strides_and_alignment() {
    let starts = |job: Job| RequestStream::new(&valid(job), 0).take(6).map(|r| r.offset.0 / BLOCK).collect::<Vec<_>>();
    let plain = job(Rw::Read, 4 * BLOCK, 0, 32 * BLOCK);
    let stride = Pattern { stride: Some(Bytes(10 * BLOCK)), ..Pattern::default() };
    // From 30 on a request of 4 would be cut.
    assert_eq!(starts(Job { pattern: stride.clone(), ..plain.clone() }), [0, 10, 20, 0, 10, 20]);
    let longer = Job { region: Region { offset: Bytes(0), length: Bytes(36 * BLOCK) }, ..plain.clone() };
    assert_eq!(starts(Job { pattern: stride, ..longer }), [0, 10, 20, 30, 0, 10]);
    let align = Pattern { align: Some(Bytes(6 * BLOCK)), ..Pattern::default() };
    assert_eq!(starts(Job { pattern: align.clone(), ..plain.clone() }), [0, 6, 12, 18, 24, 30]);
    // Random at an alignment below the size: all starts from which it fits, and no other.
    let align = Pattern { align: Some(Bytes(BLOCK)), offsets: Offsets::Once, ..Pattern::default() };
    let random = valid(Job { pattern: align, passes: Some(1), rw: Rw::RandRead, ..plain });
    let mut seen: Vec<u64> = all(&random).iter().map(|r| r.offset.0 / BLOCK).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..29).collect::<Vec<_>>());
}

#[test]
fn threads_share_or_not_as_asked() {
    let with = |rw, sharing| {
        let pattern = Pattern { sharing: Some(sharing), ..Pattern::default() };
        valid(Job { numjobs: 4, pattern, ..job(rw, 4096, 0, 64 * 4096) })
    };
    let first = |job: &Job, index| RequestStream::new(job, index).next_request().offset.0 / 4096;
    let shared = with(Rw::Write, Sharing::Shared);
    assert_eq!([0, 1, 2, 3].map(|i| first(&shared, i)), [0; 4]);
    let sliced = with(Rw::RandWrite, Sharing::Slices);
    for index in 0..4u32 {
        let range = u64::from(index) * 16..u64::from(index + 1) * 16;
        let blocks = RequestStream::new(&sliced, index).take(500).map(|r| r.offset.0 / 4096);
        assert!(blocks.into_iter().all(|b| range.contains(&b)), "thread {index}");
    }
}

/// Shares of directions, and of sizes by direction, within 5 sigma.
#[test]
fn mixes_and_splits_have_their_shares() {
    const N: usize = 100_000;
    let split = |list: &[(u64, f64)]| {
        SizeRule::Split(list.iter().map(|(n, percent)| SizeShare { bs: Bytes(n * BLOCK), percent: *percent }).collect())
    };
    let sizes = Sizes {
        read: split(&[(1, 25.0), (2, 0.0), (8, 75.0)]),
        write: split(&[(4, 99.5), (8, 0.5)]),
        trim: SizeRule::Range { min: Bytes(2 * BLOCK), max: Bytes(8 * BLOCK), step: Bytes(3 * BLOCK) },
    };
    for rw in [Rw::RandRw, Rw::ReadWrite] {
        let pattern = Pattern { sizes: Some(sizes.clone()), ..Pattern::default() };
        // The rest, 27 %, are writes.
        let job = valid(Job { pattern, rwmixtrim: 10, rwmixread: 63, ..job(rw, 8 * BLOCK, 0, 1 << 30) });
        let mut counts = BTreeMap::<(Direction, u64), usize>::new();
        for r in RequestStream::new(&job, 0).take(N) {
            *counts.entry((r.direction, u64::from(r.length) / BLOCK)).or_default() += 1;
        }
        let expected = [
            ((Direction::Read, 1), 0.63 * 0.25),
            ((Direction::Read, 8), 0.63 * 0.75),
            ((Direction::Write, 4), 0.27 * 0.995),
            ((Direction::Write, 8), 0.27 * 0.005),
            ((Direction::Trim, 2), 0.1 / 3.0),
            ((Direction::Trim, 5), 0.1 / 3.0),
            ((Direction::Trim, 8), 0.1 / 3.0),
        ];
        for (key, share) in expected {
            let (seen, mean) = (counts.remove(&key).unwrap_or(0) as f64, share * N as f64);
            assert!((seen - mean).abs() < 5.0 * (mean * (1.0 - share)).sqrt(), "{rw:?} {key:?}: {seen} of {mean}");
        }
        assert!(counts.keys().all(|k| rw == Rw::ReadWrite && k.1 < 8), "{counts:?}");
    }
}

#[test]
fn trim_jobs_only_trim() {
    for rw in [Rw::Trim, Rw::RandTrim] {
        let job = valid(job(rw, 4096, 0, 1 << 20));
        assert!(RequestStream::new(&job, 0).take(300).all(|r| r.direction == Direction::Trim));
    }
}

fn entry(at: u64, direction: Direction, offset: u64, blocks: u64) -> ReplayRequest {
    ReplayRequest { at: Nanos(at), direction, offset: Bytes(offset * BLOCK), length: (blocks * BLOCK) as u32 }
}

#[test]
fn lists_are_replayed_in_order_by_all_threads() {
    let list = vec![
        entry(0, Direction::Read, 8, 1),
        entry(20, Direction::Trim, 3, 8),
        entry(10, Direction::Write, 0, 2),
        entry(30, Direction::Read, 5, 1),
        entry(40, Direction::Read, 6, 1),
    ];
    let with = |end, numjobs| {
        let replay = Some(Replay::new("list", list.clone(), end, Beyond::Refuse));
        valid(Job { numjobs, replay, ..job(Rw::RandRw, 4096, 100 * BLOCK, 64 * BLOCK) })
    };
    let starts =
        |job: &Job, index| RequestStream::new(job, index).take(7).map(|r| r.offset.0 / BLOCK - 100).collect::<Vec<_>>();
    let once = with(ReplayEnd::Once, 2);
    assert_eq!((starts(&once, 0), starts(&once, 1)), (vec![8, 3, 6], vec![0, 5]));
    let looped = with(ReplayEnd::Loop, 2);
    assert_eq!(starts(&looped, 1), [0, 5, 0, 5, 0, 5, 0]);
    let whole = RequestStream::new(&with(ReplayEnd::Once, 1), 0).nth(2).expect("five requests");
    assert_eq!((whole.direction, whole.length), (Direction::Trim, 8 * BLOCK as u32));
}

#[test]
fn addresses_beyond_the_region_are_folded_if_asked() {
    let list =
        vec![entry(0, Direction::Read, 70, 1), entry(1, Direction::Read, 63, 4), entry(2, Direction::Read, 1, 1)];
    let replay = |beyond| Some(Replay::new("list", list.clone(), ReplayEnd::Once, beyond));
    let plain = job(Rw::RandRead, 4096, 64 * BLOCK, 64 * BLOCK);
    let folded = valid(Job { replay: replay(Beyond::Fold), ..plain.clone() });
    // 70 becomes 6; what crosses the end at 64 is moved back to it.
    assert_eq!(all(&folded).iter().map(|r| r.offset.0 / BLOCK - 64).collect::<Vec<_>>(), [6, 60, 1]);
    let refused = Job { replay: replay(Beyond::Refuse), ..plain };
    let error = refused.validate(Bytes(BLOCK), Bytes(128 * BLOCK)).expect_err("beyond").to_string();
    assert!(error.contains("fold the addresses"), "{error}");
}
