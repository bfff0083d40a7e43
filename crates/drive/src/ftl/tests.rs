//! Tests of the mapping as a whole: nothing is lost, space never runs out, bulk equals one by one.

use super::*;
use flashlab_workload::named_seed;
use proptest::prelude::*;

const STREAMS_MAX: u32 = 3;

fn layout(superblock_units: u32, superblocks: u32, program_units: u32, spare_superblocks: u32) -> Layout {
    let user_units = superblock_units * (superblocks - spare_superblocks);
    Layout { user_units, superblock_units, superblocks, program_units, reserve: 4 }
}

fn ftl(layout: Layout, policy: Policy) -> Ftl {
    Ftl::new(layout, policy).expect("a layout that works")
}

/// Any layout and policy that work together, from the least spare on.
fn any_drive() -> impl Strategy<Value = (Layout, Policy)> {
    let victims = prop_oneof![
        Just(Victims::Greedy),
        Just(Victims::Fifo),
        (1u32..5).prop_map(Victims::DChoices),
        Just(Victims::AgeAware),
    ];
    let share = prop_oneof![3 => Just(0.0), 2 => 0.0..0.999];
    let from = prop_oneof![3 => Just(0.0), 2 => 0.0..=1.0];
    let policy = (victims, 1..=STREAMS_MAX, any::<bool>(), (share, from), any::<u64>());
    let sizes = (1u32..20, 1u32..30, 0u32..4, 1u32..150, 0u32..3);
    (policy, sizes).prop_map(|(p, (program_units, programs, more_reserve, data, more_spare))| {
        let (victims, host_streams, separate_collected, (eager_valid_share, collect_from_share), seed) = p;
        let policy = Policy { victims, host_streams, separate_collected, eager_valid_share, collect_from_share, seed };
        let superblock_units = (program_units * programs).max(2 * program_units);
        let reserve = policy.frontiers() + 2 + more_reserve;
        let unfilled = Layout { user_units: 1, superblock_units, superblocks: 1 << 10, program_units, reserve };
        let spare = unfilled.held_units(&policy) + u64::from(superblock_units * (1 + more_spare));
        let superblocks = spare.div_ceil(u64::from(superblock_units)) as u32 + data;
        let user_units = superblock_units * superblocks - spare as u32;
        (Layout { user_units, superblock_units, superblocks, program_units, reserve }, policy)
    })
}

/// What a host does to a drive.
#[derive(Debug, Clone)]
enum Step {
    /// Random programs, maybe short, in a part of the address range.
    Random {
        programs: u16,
        stream: u32,
        seed: u64,
        part: u8,
    },
    /// A run in order, in bulk or program by program.
    Fill {
        from: u32,
        units: u32,
        stream: u32,
        bulk: bool,
    },
    Trim {
        from: u32,
        units: u32,
    },
    Purge,
}

fn any_step() -> impl Strategy<Value = Step> {
    let stream = 0..STREAMS_MAX;
    prop_oneof![
        6 => (any::<u16>(), stream.clone(), any::<u64>(), any::<u8>())
            .prop_map(|(programs, stream, seed, part)| Step::Random { programs: programs % 800, stream, seed, part }),
        4 => (any::<u32>(), any::<u32>(), stream, any::<bool>())
            .prop_map(|(from, units, stream, bulk)| Step::Fill { from, units, stream, bulk }),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(from, units)| Step::Trim { from, units }),
        1 => Just(Step::Purge),
    ]
}

/// The units of a program: some full, some short, some with a unit twice.
fn random_lpns(layout: &Layout, seed: u64, program: u64, part: u8) -> Vec<u32> {
    let draw = |name, i| named_seed(seed, name, program * 64 + i);
    let range = u64::from(layout.user_units).div_ceil(u64::from(part) % 5 + 1);
    let short = draw("short", 0).is_multiple_of(8);
    let units =
        if short { draw("units", 0) % u64::from(layout.program_units) + 1 } else { layout.program_units.into() };
    (0..units).map(|i| (draw("lpn", i) % range) as u32).collect()
}

/// Does a step, keeps what must be mapped in `mapped`, and checks what each program reports.
fn act(ftl: &mut Ftl, step: &Step, mapped: &mut [bool]) {
    let layout = *ftl.layout();
    let span = |from: u32, units: u32| {
        let first = from % layout.user_units;
        (first, first + units % (layout.user_units - first) + 1)
    };
    let mut out = Collected::default();
    match *step {
        Step::Random { programs, stream, seed, part } => {
            for program in 0..u64::from(programs) {
                let lpns = random_lpns(&layout, seed, program, part);
                let before = ftl.moved_units();
                out.clear();
                let first = ftl.write_program(stream % ftl.policy().host_streams, &lpns, &mut out);
                assert_eq!(first % layout.program_units, 0, "programs are aligned");
                let moved = out.reads.iter().map(|(_, units)| u64::from(*units)).sum::<u64>();
                assert_eq!(moved, ftl.moved_units() - before, "every moved unit was read once");
                assert!(out.programs.iter().all(|first| first % layout.program_units == 0));
                lpns.iter().for_each(|lpn| mapped[*lpn as usize] = true);
            }
        }
        Step::Fill { from, units, stream, bulk } => {
            let ((first, end), stream) = (span(from, units), stream % ftl.policy().host_streams);
            if bulk {
                ftl.fill_sequential(first, end, stream);
            } else {
                for lpn in (first..end).step_by(layout.program_units as usize) {
                    let lpns: Vec<u32> = (lpn..end.min(lpn + layout.program_units)).collect();
                    ftl.write_program(stream, &lpns, &mut out);
                }
            }
            mapped[first as usize..end as usize].fill(true);
        }
        Step::Trim { from, units } => {
            let (first, end) = span(from, units);
            (first..end).for_each(|lpn| assert_eq!(ftl.trim(lpn), mapped[lpn as usize]));
            mapped[first as usize..end as usize].fill(false);
        }
        Step::Purge => {
            ftl.purge();
            mapped.fill(false);
        }
    }
}

fn assert_sound(ftl: &Ftl, mapped: &[bool]) {
    ftl.check().expect("the mapping is consistent");
    let lost = (0..).zip(mapped).find(|(lpn, mapped)| (ftl.lookup(*lpn) != UNMAPPED) != **mapped);
    assert!(lost.is_none(), "a unit is lost or appeared: {lost:?}");
    assert!(ftl.free_units() <= ftl.layout().physical_units());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_lost_and_space_never_runs_out(
        (layout, policy) in any_drive(), steps in prop::collection::vec(any_step(), 1..12),
    ) {
        let mut drive = ftl(layout, policy);
        let mut mapped = vec![false; layout.user_units as usize];
        for step in &steps {
            act(&mut drive, step, &mut mapped);
            assert_sound(&drive, &mapped);
        }
    }

    /// In everything, counters and the order of free superblocks included.
    #[test]
    fn a_fill_in_bulk_is_one_program_after_another(
        (layout, policy) in any_drive(), steps in prop::collection::vec(any_step(), 1..8),
    ) {
        let (mut bulk, mut single) = (ftl(layout, policy), ftl(layout, policy));
        let mut mapped = vec![false; layout.user_units as usize];
        for step in &steps {
            let one_by_one = match step.clone() {
                Step::Fill { from, units, stream, .. } => Step::Fill { from, units, stream, bulk: false },
                other => other,
            };
            act(&mut bulk, step, &mut mapped.clone());
            act(&mut single, &one_by_one, &mut mapped);
            bulk.olds.clone_from(&single.olds);
            prop_assert!(bulk == single, "they differ");
        }
    }
}

#[test]
fn sequential_overwrites_move_nothing() {
    for eager_valid_share in [0.0, 0.7] {
        for victims in [Victims::Greedy, Victims::Fifo, Victims::AgeAware] {
            let l = layout(512, 128, 8, 16);
            let mut drive = ftl(l, Policy { eager_valid_share, ..Policy::new(victims) });
            let fills: Vec<Filled> = (0..4).map(|_| drive.fill_sequential(0, l.user_units, 0)).collect();
            assert!(fills.iter().all(|f| f.moved_programs == 0), "{victims:?} {eager_valid_share}: {fills:?}");
            assert_eq!(drive.moved_units(), 0);
            assert_eq!(drive.host_units(), u64::from(l.user_units) * 4);
            drive.check().expect("consistent");
        }
    }
}

/// With eager collection every superblock at or below the share goes, at the pace of the host, and
/// then nothing more.
#[test]
fn eager_collection_ends_when_nothing_qualifies() {
    let l = layout(512, 128, 8, 32);
    let collected = |eager_valid_share| {
        let mut drive = ftl(l, Policy { eager_valid_share, ..Policy::new(Victims::Greedy) });
        drive.fill_sequential(0, l.user_units / 2, 0);
        // Every second unit of a quarter is deallocated: its superblocks are half valid.
        (0..l.user_units / 4).step_by(2).for_each(|lpn| assert!(drive.trim(lpn)));
        let filled = drive.fill_sequential(l.user_units / 2, l.user_units, 0);
        drive.check().expect("consistent");
        (filled.erased, drive.moved_units())
    };
    let half = u64::from(l.user_units / 4 / 2);
    assert_eq!(collected(0.0), (0, 0));
    assert_eq!(collected(0.49), (0, 0));
    assert_eq!(collected(0.5), (u64::from(l.user_units / 4 / 512), half));
}

/// The pace follows each victim's gain, so that no program of the host waits for much more than its
/// share, and space stays within a victim's unevenness of its level.
#[test]
fn collection_goes_in_even_steps() {
    let l = layout(1024, 200, 8, 24);
    for victims in [Victims::Greedy, Victims::Fifo, Victims::AgeAware] {
        let mut drive = ftl(l, Policy::new(victims));
        drive.fill_sequential(0, l.user_units, 0);
        let write = |drive: &mut Ftl, seed, programs: u32| {
            let mut out = Collected::default();
            let (mut groups_max, mut away_max) = (0, 0);
            for program in 0..u64::from(programs) {
                let lpn = |i| (named_seed(seed, "even", program * 8 + i) % u64::from(l.user_units)) as u32;
                out.clear();
                drive.write_program(0, &(0..8).map(lpn).collect::<Vec<_>>(), &mut out);
                groups_max = groups_max.max(out.reads.len());
                away_max = away_max.max(drive.erased.abs_diff(drive.level));
            }
            (groups_max, away_max)
        };
        write(&mut drive, 1, l.user_units / 4);
        drive.reset_counters();
        let (groups_max, away_max) = write(&mut drive, 2, l.user_units / 8);
        let scanned_mean = 1.0 + drive.moved_units() as f64 / drive.host_units() as f64;
        assert!(groups_max as f64 <= 1.25 * scanned_mean + 1.0, "{victims:?}: {groups_max} of {scanned_mean}");
        assert!(away_max < u64::from(l.superblock_units) / 4, "{victims:?}: {away_max} units off the level");
    }
}

#[test]
fn layouts_that_cannot_work_are_refused_with_one_that_can() {
    let good = layout(512, 128, 8, 16);
    let policy = Policy::new(Victims::Greedy);
    assert_eq!(good.check(&policy), Ok(()));
    let LayoutError::Reserve { least, .. } = Layout { reserve: 2, ..good }.check(&policy).expect_err("reserve") else {
        panic!("another error")
    };
    assert_eq!(Layout { reserve: least, ..good }.check(&policy), Ok(()));
    let full = Layout { user_units: 512 * 127, ..good };
    let error = full.check(&policy).expect_err("no spare");
    let LayoutError::Spare { user_units_max, .. } = error else { panic!("another error") };
    assert!(error.to_string().contains(&user_units_max.to_string()));
    assert_eq!(Layout { user_units: user_units_max as u32, ..good }.check(&policy), Ok(()));
    assert!(Layout { user_units: user_units_max as u32 + 1, ..good }.check(&policy).is_err());
    let odd = Layout { superblock_units: 515, ..good }.check(&policy).expect_err("not whole programs");
    let LayoutError::Superblock { nearest, .. } = odd else { panic!("another error") };
    assert_eq!(nearest, 512);
    let huge = Layout { superblock_units: 1 << 20, superblocks: 1 << 20, ..good };
    let LayoutError::TooLarge { superblocks_max, .. } = huge.check(&policy).expect_err("too large") else {
        panic!("another error")
    };
    assert_eq!(Layout { superblocks: superblocks_max, ..huge }.check(&policy), Ok(()));
    assert!(matches!(Layout { superblocks: 0, ..good }.check(&policy), Err(LayoutError::Zero { .. })));
    for share in [1.0, -0.1, f64::NAN] {
        assert!(good.check(&Policy { eager_valid_share: share, ..policy }).is_err());
    }
    let many = Policy { host_streams: u32::MAX, separate_collected: true, ..policy };
    assert!(matches!(good.check(&many), Err(LayoutError::Reserve { .. })));
}

#[test]
fn a_clone_is_a_checkpoint() {
    let l = layout(256, 100, 8, 12);
    let mut drive = ftl(l, Policy::new(Victims::DChoices(3)));
    let mut mapped = vec![false; l.user_units as usize];
    let step = Step::Random { programs: 5_000, stream: 0, seed: 1, part: 0 };
    act(&mut drive, &step, &mut mapped);
    let mut again = drive.clone();
    act(&mut drive, &step, &mut mapped);
    act(&mut again, &step, &mut mapped);
    assert!(drive == again, "the same steps from a checkpoint differ");
}

#[test]
fn purging_keeps_wear_alone() {
    let l = layout(256, 100, 8, 12);
    let mut drive = ftl(l, Policy::new(Victims::Greedy));
    drive.fill_sequential(0, l.user_units, 0);
    drive.purge();
    assert_eq!((drive.host_units(), drive.free_units()), (0, l.physical_units()));
    assert!((0..l.user_units).all(|lpn| drive.lookup(lpn) == UNMAPPED));
    let wear = drive.wear();
    assert_eq!((wear.erases_min, wear.erases_max), (0, 1));
    assert!((wear.erases_mean - 0.88).abs() < 1e-9, "88 of 100 superblocks were written: {wear:?}");
    drive.check().expect("consistent");
}
