//! Tables for the terminal.

mod common;

use flashlab_report::{RunRow, runs_table, terminal_table};
use unicode_width::UnicodeWidthStr;

#[test]
fn no_line_is_wider_than_the_terminal() {
    let runs = [common::modelled_review(&[1, 2, 4, 8, 16, 32], &[1, 2, 4, 8]), common::measured_quick(2, 6)];
    for width in 48..240 {
        let text = terminal_table(&runs, width, false);
        let widest = text.lines().max_by_key(|l| l.width()).unwrap_or_default();
        assert!(widest.width() <= width, "{width}: {widest}");
    }
}

#[test]
fn says_how_the_numbers_came_to_be_and_in_which_state() {
    let text = terminal_table(&[common::modelled_review(&[1, 8], &[1, 4])], 100, false);
    assert!(text.starts_with("review of sample-122: MODELLED, seed 42, done (16 of 16 steps)\n"), "{text}");
    assert!(text.contains("rand-write-64k  after sequential fills"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour unless asked for");
}

#[test]
fn narrow_terminals_lose_rare_percentiles_first_and_rates_never() {
    let runs = [common::measured_quick(2, 6)];
    let at = |width| terminal_table(&runs, width, false);
    assert!(at(120).contains("p99.99"));
    let narrow = at(72);
    assert!(!narrow.contains("p99.99") && narrow.contains("p99 "), "{narrow}");
    let narrowest = at(48);
    assert!(narrowest.contains("MB/s") && narrowest.contains("IOPS"), "{narrowest}");
}

#[test]
fn remarks_are_marked_and_written_out_once() {
    let text = terminal_table(&[common::measured_quick(2, 6)], 140, false);
    assert!(text.contains("[1]\n"), "{text}");
    assert_eq!(text.matches("a small sample").count(), 1);
}

#[test]
fn the_list_of_runs() {
    let rows: Vec<RunRow> =
        [common::measured_quick(1, 2), common::modelled_review(&[1], &[1])].iter().map(RunRow::from).collect();
    let text = runs_table(&rows, 100, false);
    let expected = "\
run  suite   target       status  steps  started               provenance
 12  quick   scratch.img  done      9/9  2026-02-03T04:05:06Z  measured
  3  review  sample-122   done      7/7  –                     modelled
";
    assert_eq!(text, expected);
    let narrow = runs_table(&rows, 60, false);
    assert!(narrow.lines().all(|l| l.width() <= 60) && narrow.contains("measured"), "{narrow}");
}
