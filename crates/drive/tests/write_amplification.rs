//! Write amplification of the mapping against formulas and against figures of an independent model.
//!
//! Each test prints a table; `cargo test -p flashlab-drive --test write_amplification -- --nocapture`
//! shows them. `FLASHLAB_LONG=1` makes the drives four times as large and measures four times as long.
//!
//! The formulas are exact for drives of infinitely many superblocks that hold nothing back. What is held
//! back is taken off the spare ([`Layout::effective_spare`]); what is left is the scatter of a finite run
//! and the few superblocks of a small drive, and the tolerances are for those.

#![expect(clippy::print_stdout, reason = "the tables are for people, who ask for them")]

mod theory;

use flashlab_drive::ftl::{Collected, Ftl, Layout, Policy, Victims};
use flashlab_workload::named_seed;
use theory::Class;

const PROGRAM_UNITS: u32 = 16;

/// How many times longer and larger than in every run of the tests.
fn long() -> u32 {
    if std::env::var_os("FLASHLAB_LONG").is_some_and(|v| v == "1") { 4 } else { 1 }
}

/// Uniform numbers (xorshift64): the tests draw some hundred million.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(named_seed(seed, "write amplification", 0) | 1)
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u64::from((self.0 >> 32) as u32) * u64::from(limit)) >> 32) as u32
    }
}

/// A drive under test and the units that wait for a whole program of their stream.
struct Rig {
    drive: Ftl,
    waiting: Vec<Vec<u32>>,
    collected: Collected,
}

impl Rig {
    /// With the least reserve that works.
    fn new(policy: Policy, superblock_units: u32, superblocks: u32, spare: Spare) -> Self {
        let reserve = policy.frontiers() + 2;
        let program_units = PROGRAM_UNITS;
        let unfilled = Layout { user_units: 1, superblock_units, superblocks, program_units, reserve };
        let (share, of) = match spare {
            Spare::Raw(share) => (share, unfilled.physical_units()),
            Spare::Effective(share) => (share, unfilled.physical_units() - unfilled.held_units(&policy)),
        };
        let layout = Layout { user_units: (of as f64 * (1.0 - share)) as u32, ..unfilled };
        let drive = Ftl::new(layout, policy).expect("a layout that works");
        Rig { drive, waiting: vec![vec![]; policy.host_streams as usize], collected: Collected::default() }
    }

    fn user_units(&self) -> u32 {
        self.drive.layout().user_units
    }

    fn rho(&self) -> f64 {
        1.0 - self.drive.layout().effective_spare(self.drive.policy())
    }

    /// Writes `drives` times the user units, each to the stream and the unit that `next` gives, and
    /// returns the write amplification.
    fn write(&mut self, drives: f64, mut next: impl FnMut() -> (u32, u32)) -> f64 {
        self.drive.reset_counters();
        for _ in 0..(drives * f64::from(self.user_units())) as u64 {
            let (stream, lpn) = next();
            let lpns = &mut self.waiting[stream as usize];
            lpns.push(lpn);
            if lpns.len() == PROGRAM_UNITS as usize {
                self.collected.clear();
                self.drive.write_program(stream, lpns, &mut self.collected);
                lpns.clear();
            }
        }
        1.0 + self.drive.moved_units() as f64 / self.drive.host_units() as f64
    }
}

/// The spare of a drive under test.
#[derive(Clone, Copy)]
enum Spare {
    /// Of all units.
    Raw(f64),
    /// Of what is not held back.
    Effective(f64),
}

/// One line of a table, and whether it is within the tolerance (a share).
fn line(what: &str, expected: f64, got: f64, tolerance: f64) -> bool {
    let error = got / expected - 1.0;
    let verdict = if error.abs() <= tolerance { "" } else { "  <-- off" };
    println!("{what:<58} {expected:>8.3} {got:>8.3} {:>+7.2} %{verdict}", error * 100.0);
    verdict.is_empty()
}

fn title(text: &str, expected: &str) {
    println!("\n{text:<58} {expected:>8} {:>8} {:>9}", "model", "error");
}

/// Steady state under uniform random writes. From a sequential fill it takes the time to use up the
/// spare and to collect every superblock once: longer with more spare.
fn uniform(policy: Policy, superblock_units: u32, superblocks: u32, spare: f64) -> (f64, f64) {
    let mut rig = Rig::new(policy, superblock_units, superblocks * long(), Spare::Effective(spare));
    let user = rig.user_units();
    rig.drive.fill_sequential(0, user, 0);
    let mut random = Random::new(u64::from(superblock_units));
    rig.write(0.5 + 6.0 * spare, || (0, random.below(user)));
    (rig.rho(), rig.write(f64::from(long()), || (0, random.below(user))))
}

/// Units of a superblock and superblocks: enough that 5 % of spare is nearly three of them.
const SIZES: [(u32, u32); 5] = [(64, 4096), (256, 1024), (1024, 256), (4096, 128), (16_384, 64)];
const SPARES: [f64; 8] = [0.05, 0.07, 0.09, 0.11, 0.127, 0.15, 0.20, 0.28];

fn sweep(victims: Victims, formula: impl Fn(f64, u32) -> f64) {
    title(&format!("{victims:?}, uniform random writes"), "formula");
    let mut good = true;
    for (superblock_units, superblocks) in SIZES {
        for spare in SPARES {
            let (rho, got) = uniform(Policy::new(victims), superblock_units, superblocks, spare);
            let what = format!("{superblock_units} units, {:.1} % effective spare", (1.0 - rho) * 100.0);
            good &= line(&what, formula(rho, superblock_units), got, UNIFORM_TOLERANCE);
        }
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// Over 80 points the error scatters by 0.1 % (a standard deviation) about a mean of 0.
const UNIFORM_TOLERANCE: f64 = 0.005;

#[test]
fn greedy_collection_follows_the_formula_of_finite_superblocks() {
    sweep(Victims::Greedy, theory::greedy);
}

#[test]
fn collection_in_order_follows_the_formula() {
    sweep(Victims::Fifo, |rho, _| theory::fifo(rho));
}

/// A victim drawn at random gains anything from nothing to all, so that a window of 30,000 victims
/// scatters by 0.6 % (a standard deviation); with more draws it is 0.2 %.
#[test]
fn the_emptiest_of_some_drawn_follows_van_houdt() {
    title("Emptiest of d drawn, uniform random writes", "formula");
    let mut good = true;
    for (superblock_units, superblocks) in [(16, 8192), (64, 4096), (256, 4096)] {
        for draws in [1, 2, 3, 5, 10, 30] {
            let policy = Policy::new(Victims::DChoices(draws));
            let (rho, got) = uniform(policy, superblock_units, superblocks, 0.127);
            let expected = theory::d_choices(rho, superblock_units, draws);
            let what = format!("d = {draws}, {superblock_units} units, 12.7 % effective spare");
            good &= line(&what, expected, got, if draws == 1 { 0.015 } else { 0.0075 });
        }
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// The figures of an independent prototype and of published tables, so that a formula can't be wrong
/// together with the model.
#[test]
fn formulas_give_the_known_numbers() {
    title("Formulas", "known");
    let mut good = true;
    let spares = [0.05, 0.07, 0.09, 0.11, 0.127, 0.15, 0.20, 0.28];
    for (spare, known) in spares.into_iter().zip([10.172, 7.318, 5.733, 4.725, 4.119, 3.519, 2.693, 1.992]) {
        good &= line(&format!("large superblocks, {:.1} %", spare * 100.0), known, theory::fifo(1.0 - spare), 2e-4);
    }
    let sizes = [(16, 3.366), (32, 3.698), (64, 3.894), (128, 4.001), (256, 4.060), (1024, 4.104), (16_384, 4.118)];
    for (units, known) in sizes {
        good &= line(&format!("greedy, {units} units, 12.7 %"), known, theory::greedy(0.873, units), 3e-4);
    }
    for (hot, known) in [(hot_cold(0.2, 0.8), 2.90), (hot_cold(0.1, 0.9), 1.97)] {
        good &= line("hot and cold apart at best, 12.7 %", known, theory::best_apart(0.873, hot.0, hot.1), 3e-3);
    }
    // One at random gains its share of invalid units: 1 / (1 - rho), with many units, so that few
    // superblocks are full and drawn anew.
    good &= line("d = 1, many units, 12.7 %", 1.0 / 0.127, theory::d_choices(0.873, 16_384, 1), 1e-3);
    good &= line("OP 0.3 (Xiang and Kurkoski)", 2.36, theory::fifo(1.0 / 1.3), 2e-3);
    assert!(good, "a formula is off; run with --nocapture for the table");
}

fn hot_cold(units: f64, writes: f64) -> (Class, Class) {
    (Class { units, writes }, Class { units: 1.0 - units, writes: 1.0 - writes })
}

/// Two classes, each written uniformly at random, at 12.7 % of raw spare. With two streams the hot class
/// goes to the first.
fn two_classes(policy: Policy, superblocks: u32, classes: (Class, Class)) -> (f64, f64) {
    let mut rig = Rig::new(policy, 1024 * long(), superblocks, Spare::Raw(0.127));
    let user = rig.user_units();
    let hot = (f64::from(user) * classes.0.units) as u32;
    let cold_stream = policy.host_streams - 1;
    rig.drive.fill_sequential(0, hot, 0);
    rig.drive.fill_sequential(hot, user, cold_stream);
    let (mut random, limit) = (Random::new(2), (classes.0.writes * f64::from(1 << 30)) as u32);
    let mut next = || {
        let is_hot = random.below(1 << 30) < limit;
        if is_hot { (0, random.below(hot)) } else { (cold_stream, hot + random.below(user - hot)) }
    };
    rig.write(3.0, &mut next);
    (rig.rho(), rig.write(f64::from(2 * long()), &mut next))
}

/// Hot and cold data in one stream are worse than uniform data. Collection in order has a formula.
/// Greedy collection sorts a little, as what it moves lies in superblocks of its own: the prototype has
/// 4.56 and 4.80, with 0.65 % of its superblocks held back; as many are here with 768.
#[test]
fn hot_and_cold_data_mixed_are_worse_than_uniform() {
    title("Hot and cold in one stream, 12.7 % spare", "expected");
    let mut good = true;
    for (classes, prototype) in [(hot_cold(0.2, 0.8), 4.56), (hot_cold(0.1, 0.9), 4.80)] {
        let name = format!("{:.0}/{:.0}", classes.0.units * 100.0, classes.0.writes * 100.0);
        let (rho, in_order) = two_classes(Policy::new(Victims::Fifo), 768, classes);
        let formula = theory::fifo_mixed(rho, &[classes.0, classes.1]);
        good &= line(&format!("{name} in order, by formula"), formula, in_order, 0.01);
        let (rho, greedy) = two_classes(Policy::new(Victims::Greedy), 768, classes);
        good &= line(&format!("{name} greedy, by the prototype"), prototype, greedy, 0.015);
        assert!(greedy > 1.04 * theory::fifo(rho), "{name}: worse than uniform data, {greedy}");
        assert!(greedy < formula, "{name}: better than in order, {greedy}");
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// Kept apart, but with one greedy choice for all, they hardly gain: both classes are collected at the
/// same fill, so that the spare is split by size, and that is the uniform formula. The fill at which
/// superblocks are collected swings; hot ones are taken at its mean, cold ones, which empty slowly, at
/// its peaks. So a hot class of few superblocks comes out below the formula: at 10/90 by 3.7 % with 512
/// superblocks in all, 1.3 % with 2,048 and 0.7 % with 8,192. The prototype had 512.
#[test]
fn one_greedy_choice_for_separate_streams_hardly_helps() {
    title("Hot and cold in two streams, 12.7 % spare, greedy", "expected");
    let apart = Policy { host_streams: 2, separate_collected: true, ..Policy::new(Victims::Greedy) };
    let mut good = true;
    for (classes, prototype) in [(hot_cold(0.2, 0.8), 4.52), (hot_cold(0.1, 0.9), 4.43)] {
        let name = format!("{:.0}/{:.0}", classes.0.units * 100.0, classes.0.writes * 100.0);
        let (_, got) = two_classes(apart, 512, classes);
        good &= line(&format!("{name}, 512 superblocks, by the prototype"), prototype, got, 0.02);
        let (rho, got) = two_classes(apart, 2048, classes);
        good &= line(&format!("{name}, 2,048 superblocks, by formula"), theory::greedy(rho, 1024 * long()), got, 0.02);
        let best = theory::best_apart(rho, classes.0, classes.1);
        assert!(got > 1.3 * best, "{name}: far from the best split, {got} against {best}");
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// With victims chosen by age the hot class gets about half of the spare. A prototype that gave it half
/// has 3.17 and 2.12, holding back about as much.
#[test]
fn victims_by_age_give_the_hot_stream_its_spare() {
    title("Hot and cold in two streams, 12.7 % spare, by age", "expected");
    let apart = Policy { host_streams: 2, separate_collected: true, ..Policy::new(Victims::AgeAware) };
    let mut good = true;
    for (classes, prototype) in [(hot_cold(0.2, 0.8), 3.17), (hot_cold(0.1, 0.9), 2.12)] {
        let name = format!("{:.0}/{:.0}", classes.0.units * 100.0, classes.0.writes * 100.0);
        let (rho, got) = two_classes(apart, 512, classes);
        let formula = theory::age_aware_apart(rho, classes.0, classes.1);
        good &= line(&format!("{name}, by formula"), formula, got, 0.01);
        good &= line(&format!("{name}, by the prototype"), prototype, got, 0.02);
        assert!(got > 0.99 * theory::best_apart(rho, classes.0, classes.1), "{name}: not better than the best split");
        let together = Policy { separate_collected: false, ..apart };
        let (_, mixed_again) = two_classes(together, 512, classes);
        assert!(mixed_again > 1.1 * got, "{name}: what is collected must stay apart too, {mixed_again}");
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// A cache: a region of small objects written at random and a log written in order, round and round.
fn cache(policy: Policy, superblocks: u32, spare: f64, region: Class, settle: f64) -> (f64, f64) {
    let mut rig = Rig::new(policy, 512 * long(), superblocks, Spare::Raw(spare));
    let user = rig.user_units();
    let small = (f64::from(user) * region.units) as u32;
    let log_stream = policy.host_streams - 1;
    rig.drive.fill_sequential(0, small, 0);
    rig.drive.fill_sequential(small, user, log_stream);
    let (mut random, limit) = (Random::new(3), (region.writes * f64::from(1 << 30)) as u32);
    let mut log = small;
    let mut next = || {
        if random.below(1 << 30) < limit {
            return (0, random.below(small));
        }
        log = if log + 1 == user { small } else { log + 1 };
        (log_stream, log)
    };
    rig.write(settle, &mut next);
    (rig.rho(), rig.write(2.0, &mut next))
}

/// Flexible Data Placement for such a cache. With one handle the log's superblocks stay full of holes
/// that the region left. That is steady once the log has gone round, and still swings by 2 %; it is held
/// to the prototype's figures, at the same share held back. (Its 6.23 for nine writes in ten was taken
/// after eight drive writes, before the log had gone round; the steady state is worse.) With two handles
/// the log dies superblock by superblock and the region has all the spare for itself: a formula.
#[test]
fn a_cache_with_two_handles_hardly_amplifies() {
    title("Cache, 4 % at random and a log", "expected");
    let mut good = true;
    let cases = [(0.07, 0.5, Some(6.37), 6.0), (0.127, 0.5, Some(3.64), 8.0), (0.07, 0.9, None, 14.0)];
    for (spare, writes, prototype, settle) in cases {
        let region = Class { units: 0.04, writes };
        let name = format!("{:.0} % at random, {:.1} % spare", writes * 100.0, spare * 100.0);
        let (_, one) = cache(Policy::new(Victims::Greedy), 768, spare, region, settle);
        good &= line(&format!("{name}, one handle"), prototype.unwrap_or(one), one, 0.04);
        for separate_collected in [false, true] {
            let policy = Policy { host_streams: 2, separate_collected, ..Policy::new(Victims::Greedy) };
            let (rho, two) = cache(policy, 512, spare, region, 2.0);
            let random = theory::greedy(region.units / (region.units + 1.0 / rho - 1.0), 512 * long());
            let isolated = if separate_collected { "kept apart" } else { "together" };
            good &= line(&format!("{name}, two, {isolated}"), writes * random + 1.0 - writes, two, 0.01);
            assert!(one > 3.0 * two, "{name}: one handle {one}, two {two}");
        }
    }
    assert!(good, "a write amplification is off; run with --nocapture for the table");
}

/// The same drive at other scales: only the units of a superblock change.
#[test]
fn results_do_not_move_with_the_scale() {
    title("Uniform random writes, 192 superblocks, 11 % spare", "2,048");
    let sizes: &[u32] = if long() > 1 { &[2048, 16_384, 131_072] } else { &[2048, 16_384] };
    let at = |victims, units| uniform(Policy::new(victims), units, 192, 0.11).1;
    for victims in [Victims::Greedy, Victims::Fifo, Victims::DChoices(10), Victims::AgeAware] {
        let results: Vec<f64> = sizes.iter().map(|units| at(victims, *units)).collect();
        let good = sizes
            .iter()
            .zip(&results)
            .all(|(units, got)| line(&format!("{victims:?}, {units} units"), results[0], *got, 0.01));
        assert!(good, "a write amplification moves; run with --nocapture for the table");
    }
}
