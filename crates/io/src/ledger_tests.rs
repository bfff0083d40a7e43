//! What a ledger expects of each block, through passes, runs that are cut short, and processes that end.

use super::*;
use proptest::prelude::*;

const GEOMETRY: Geometry = Geometry { target: 7, block: 4096, sector: 512, offset: 0, blocks: 200 };

fn expected(ledger: &Ledger, block: u64) -> Expected {
    ledger.expected(&ledger.ranges(), block)
}

#[test]
fn blocks_are_expected_in_the_generation_that_was_acknowledged() {
    let ledger = Ledger::open(None, GEOMETRY, 5).expect("memory");
    ledger.begin(&[(0, 70), (70, 130)]);
    assert_eq!(expected(&ledger, 3), Expected::Anything);
    (0..200).for_each(|b| ledger.acknowledge(b));
    assert_eq!(expected(&ledger, 69), Expected::Exactly(1));
    // The second range goes on; the first one, in the same word, stays.
    ledger.next_pass(1);
    ledger.acknowledge(71);
    let seen = [69, 70, 71, 199].map(|b| expected(&ledger, b));
    let old = Expected::Between(1, 2);
    assert_eq!(seen, [Expected::Exactly(1), old, Expected::Exactly(2), old]);
    // Over all of the range, then once more.
    (70..200).for_each(|b| ledger.acknowledge(b));
    ledger.next_pass(1);
    assert_eq!(expected(&ledger, 100), Expected::Between(2, 3));
    assert_eq!(expected(&ledger, 69), Expected::Exactly(1));
}

/// A complete run leaves no doubt about what it wrote, whatever came before it.
#[test]
fn what_the_last_run_acknowledged_is_expected_of_blocks_that_the_next_one_has_not_come_to() {
    let ledger = Ledger::open(None, GEOMETRY, 5).expect("memory");
    for _ in 0..2 {
        ledger.begin(&[(0, 70), (70, 130)]);
        (0..200).for_each(|b| ledger.acknowledge(b));
    }
    ledger.begin(&[(0, 200)]);
    ledger.acknowledge(3);
    assert_eq!(
        [3, 4, 199].map(|b| expected(&ledger, b)),
        [Expected::Exactly(3), Expected::Between(2, 3), Expected::Between(2, 3)]
    );
    // It ends early, and so each block has the floor of its own newest write.
    (4..50).for_each(|b| ledger.acknowledge(b));
    ledger.begin(&[(0, 100), (100, 100)]);
    let seen = [2, 3, 49, 50, 150].map(|b| expected(&ledger, b));
    let old = [2, 3, 3, 2, 2].map(|floor| Expected::Between(floor, 4));
    assert_eq!(seen, old);
    // A pass in which a write failed.
    (0..100).filter(|b| ![7, 60].contains(b)).for_each(|b| ledger.acknowledge(b));
    ledger.next_pass(0);
    let seen = [7, 8, 60, 61, 150].map(|b| expected(&ledger, b));
    let floors = [(2, 5), (4, 5), (2, 5), (4, 5), (2, 4)];
    assert_eq!(seen, floors.map(|(low, high)| Expected::Between(low, high)));
}

proptest! {
    /// Against one floor for each block: never more than is known, and exactly that while two will do.
    #[test]
    fn floors_are_never_above_what_was_acknowledged(
        runs in prop::collection::vec((1u64..5, prop::collection::vec((0u64..200, 0u64..200), 0..4), any::<bool>()), 1..8),
    ) {
        let ledger = Ledger::open(None, GEOMETRY, 5).expect("memory");
        let mut newest = [0; 200];
        for (slices, acknowledged, again) in runs {
            let each = 200 / slices;
            let ranges: Vec<_> = (0..slices).map(|i| (i * each, each)).collect();
            ledger.begin(&ranges);
            if again {
                (0..each).for_each(|b| (newest[b as usize], _) = (ledger.generation(0), ledger.acknowledge(b)));
                ledger.next_pass(0);
            }
            let written = |b: u64| (b / each < slices).then(|| ledger.generation((b / each) as usize));
            for (from, to) in acknowledged {
                for (block, generation) in (from..to).filter_map(|b| Some((b, written(b)?))) {
                    ledger.acknowledge(block);
                    newest[block as usize] = generation;
                }
            }
            for (block, newest) in (0..).zip(newest) {
                let floor = match expected(&ledger, block) {
                    Expected::Exactly(generation) => generation,
                    Expected::Between(low, high) => {
                        prop_assert!(newest < high);
                        low
                    }
                    other => {
                        prop_assert_eq!(other, Expected::Anything);
                        prop_assert_eq!(newest, 0);
                        0
                    }
                };
                let exact = matches!(expected(&ledger, block), Expected::Exactly(_));
                prop_assert!(floor <= newest && (floor == newest || !exact), "{}: {} of {}", block, floor, newest);
                prop_assert_eq!(floor == 0, newest == 0);
            }
        }
    }
}

#[test]
fn a_ledger_on_a_file_outlives_its_process_and_knows_its_target() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("ledger");
    let ledger = Ledger::open(Some(&path), GEOMETRY, 5).expect("made");
    ledger.begin(&[(0, 100)]);
    ledger.acknowledge(9);
    std::mem::forget(ledger);
    let again = Ledger::open(Some(&path), GEOMETRY, 6).expect("opened");
    assert_eq!((again.seed(), expected(&again, 9), expected(&again, 8)), (5, Expected::Exactly(1), Expected::Anything));
    // The next job has other ranges.
    again.begin(&[(100, 100)]);
    assert_eq!((again.generation(0), expected(&again, 9)), (2, Expected::Between(1, 2)));
    let other = Ledger::open(Some(&path), Geometry { target: 8, ..GEOMETRY }, 5);
    assert!(other.is_err_and(|e| e.to_string().contains("another target")));
    std::fs::write(&path, vec![1; std::fs::metadata(&path).expect("file").len() as usize]).expect("overwritten");
    assert!(Ledger::open(Some(&path), GEOMETRY, 5).is_err_and(|e| e.to_string().contains("no ledger")));
    std::fs::write(&path, "FLEDGER1, and what follows").expect("overwritten");
    assert!(Ledger::open(Some(&path), GEOMETRY, 5).is_err_and(|e| e.to_string().contains(OF_VERSION_1)));
    assert!(Ledger::of_earlier(&path, GEOMETRY).is_err_and(|what| what.contains(OF_VERSION_1)));
    std::fs::write(&path, "short").expect("overwritten");
    assert!(Ledger::open(Some(&path), GEOMETRY, 5).is_err_and(|e| e.to_string().contains("5 bytes")));
}

#[test]
fn a_check_needs_a_ledger_that_knows_of_a_write() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("ledger");
    let says = || Ledger::of_earlier(&path, GEOMETRY).map(drop).expect_err("nothing to check by");
    assert_eq!(says(), "does not exist");
    assert!(!path.exists(), "a check makes nothing");
    std::fs::write(&path, "").expect("made");
    assert_eq!(says(), "is empty");
    let ledger = Ledger::open(Some(&path), GEOMETRY, 5).expect("made");
    assert_eq!(says(), "knows of no write that was acknowledged");
    ledger.begin(&[(0, 200)]);
    assert_eq!(says(), "knows of no write that was acknowledged");
    ledger.acknowledge(199);
    let again = Ledger::of_earlier(&path, GEOMETRY).expect("it knows of one");
    assert_eq!((again.seed(), expected(&again, 199)), (5, Expected::Exactly(1)));
    let other = Ledger::of_earlier(&path, Geometry { block: 8192, blocks: 100, ..GEOMETRY });
    assert_eq!(other.map(drop), Err("can't be used: it is about another target, region or block size".into()));
    let whole = std::fs::read(&path).expect("read");
    std::fs::write(&path, &whole[..whole.len() - 8]).expect("cut short");
    assert!(says().contains("it is cut short"), "{}", says());
    std::fs::write(&path, vec![0; whole.len()]).expect("zeroed");
    assert_eq!(says(), "can't be used: it is no ledger");
}
