//! The steady-state step: when it ends, what it says, and which word its state gets.

mod common;

use common::{Lab, clean, fill, stopped, with_errors};
use flashlab_samples::{Condition, MetricName, Origin};
use flashlab_target::RunEnd;
use flashlab_units::Bytes;

const ROUNDS: &str = "[[step]]\ndo = 'steady'\nworkload = 'rand-write-4k'\nrw = 'randwrite'\nbs = '4KiB'\niodepth = 32\n\
    numjobs = 1\nround = { time = '3s' }\n\
    rule = { window = 5, range_max = 0.2, slope_max = 0.1, rounds_max = 8 }\n";

fn with_lead_in() -> String {
    ROUNDS.replace("round =", "lead_in_spare = true\nround =")
}

/// A lab whose rounds do these I/Os; the last one goes on.
fn rounds(ios: &'static [u64]) -> Lab {
    Lab::new().answering(move |n, job| Ok(clean(job, *ios.get(n).unwrap_or(&ios[ios.len() - 1]))))
}

#[test]
fn it_ends_once_a_window_of_rounds_agrees() {
    let mut lab = rounds(&[900, 500, 100]);
    let finished = lab.run(ROUNDS).expect("a run");
    // Rounds 3 to 7 are the first five that agree.
    assert!(finished.end == RunEnd::Done && finished.steady_reached);
    assert_eq!(lab.journal.kept.len(), 7);
    let numbers: Vec<u32> = lab.journal.kept.iter().map(|(header, _)| header.round).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    let last = &lab.journal.kept[6].1;
    assert_eq!(last.remarks, ["rule met after 7 rounds; rounds 3 to 7: range 0.0 % of the average, line moves 0.0 %"]);
    assert_eq!(last.points.len(), 2, "the last round, and all of the window");
    assert_eq!((last.points[0].at.pass, last.points[1].at.pass), (Some(7), None));
}

#[test]
fn the_figures_are_those_of_the_window() {
    let mut lab = rounds(&[1000, 100, 98, 100, 102, 100]);
    lab.run(ROUNDS).expect("a run");
    let window = &lab.journal.kept.last().expect("rounds").1.points[1];
    assert_eq!(window.value(MetricName::Iops), Some(100.0));
    assert_eq!(window.value(MetricName::LatMean), Some(100_000.0));
    let iops = window.metrics.iter().find(|m| m.name == MetricName::Iops).expect("a figure");
    // Five rounds about 100 with a standard deviation of sqrt(2): 2.776 × sqrt(2) / sqrt(5) = 1.7557.
    let (low, high) = iops.interval.expect("five rounds");
    assert!((low - 98.2443).abs() < 1e-3 && (high - 101.7557).abs() < 1e-3, "{low} to {high}");
    assert_eq!(iops.samples, 500);
}

#[test]
fn it_gives_up_after_the_last_round_and_says_so() {
    let mut lab = rounds(&[800, 700, 600, 500, 400, 300, 200, 100]);
    let finished = lab.run(&[ROUNDS, &fill("128KiB", 1)].concat()).expect("a run");
    assert!(finished.end == RunEnd::Done && !finished.steady_reached);
    assert_eq!(lab.journal.kept.len(), 9, "eight rounds, and the fill after them");
    let last = &lab.journal.kept[7].1;
    assert!(last.remarks[0].starts_with("rule not met in 8 rounds; rounds 4 to 8: "), "{:?}", last.remarks);
    assert_eq!(last.state_after.condition, Condition::NotSteady);
}

#[test]
fn one_that_was_not_reached_counts_although_a_later_one_was() {
    let mut lab = rounds(&[800, 700, 600, 500, 400, 300, 200, 100, 50]);
    let again = ROUNDS.replace("rand-write-4k", "again-4k");
    let finished = lab.run(&[ROUNDS, &again].concat()).expect("a run");
    assert!(!finished.steady_reached);
    assert_eq!(lab.journal.kept.last().expect("rounds").1.state_after.condition, Condition::Flat);
}

#[test]
fn a_target_that_does_nothing_is_never_steady() {
    let finished = rounds(&[0]).run(ROUNDS).expect("a run");
    assert!(!finished.steady_reached);
}

#[test]
fn a_measured_target_is_flat_and_not_more() {
    let mut lab = rounds(&[100]);
    lab.run(&with_lead_in()).expect("a run");
    let conditions: Vec<Condition> = lab.journal.kept.iter().map(|(_, o)| o.state_after.condition).collect();
    let not_yet = Condition::NotSteady;
    assert_eq!(conditions, [not_yet, not_yet, not_yet, not_yet, Condition::Flat]);
    assert_eq!(lab.journal.kept[4].1.points[1].state.condition, Condition::Flat);
}

#[test]
fn a_model_is_gc_steady_only_after_its_spare_was_written() {
    let mut lab = rounds(&[100]);
    (lab.target.origin, lab.target.spare) = (Origin::Modelled, Some(Bytes(1_000_000)));
    lab.run(&with_lead_in()).expect("a run");
    let (header, lead_in) = &lab.journal.kept[0];
    assert_eq!((header.round, lead_in.points.len()), (0, 0));
    // The spare in whole blocks: 1,000,000 / 4096 rounds up to 245.
    assert_eq!((lab.target.jobs[0].amount, lab.target.jobs[0].runtime), (Some(Bytes(245 * 4096)), None));
    assert_eq!(lab.journal.kept.last().expect("rounds").1.state_after.condition, Condition::GcSteady);

    let mut without = rounds(&[100]);
    (without.target.origin, without.target.spare) = (Origin::Modelled, Some(Bytes(1_000_000)));
    without.run(ROUNDS).expect("a run");
    assert_eq!(without.journal.kept.last().expect("rounds").1.state_after.condition, Condition::Flat);
}

#[test]
fn each_round_has_random_offsets_of_its_own() {
    let seeds = || {
        let mut lab = rounds(&[100]);
        lab.run(ROUNDS).expect("a run");
        lab.target.jobs.iter().map(|job| job.seed).collect::<Vec<u64>>()
    };
    let mut all = seeds();
    assert_eq!(all, seeds());
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 5);
}

#[test]
fn a_stop_between_rounds_keeps_the_rounds() {
    let mut lab = rounds(&[100]);
    lab.stop_after = Some(3);
    assert_eq!(lab.run(ROUNDS).expect("a run").end, RunEnd::Interrupted);
    assert_eq!((lab.journal.kept.len(), lab.target.jobs.len()), (3, 3));
}

#[test]
fn a_stop_in_the_last_round_is_no_verdict() {
    let mut lab = Lab::new().answering(|n, job| Ok(if n == 4 { stopped(job) } else { clean(job, 100) }));
    assert_eq!(lab.run(ROUNDS).expect("a run").end, RunEnd::Interrupted);
    assert_eq!(lab.journal.kept.len(), 4);
    assert_eq!(lab.journal.kept[3].1.state_after.condition, Condition::NotSteady);
}

#[test]
fn a_round_with_errors_ends_the_run() {
    let mut lab = Lab::new().answering(|n, job| Ok(if n == 2 { with_errors(job) } else { clean(job, 100) }));
    let end = lab.run(ROUNDS).expect("a run").end;
    assert!(matches!(&end, RunEnd::Failed(reason) if reason.contains("EIO")), "{end:?}");
    assert_eq!(lab.journal.kept.len(), 3);
    assert!(lab.journal.kept[2].1.points[0].metrics.is_empty());
}
