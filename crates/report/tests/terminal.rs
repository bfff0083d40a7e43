//! Tables for the terminal.

mod common;

use flashlab_report::{RunRow, runs_table, terminal_table};
use unicode_width::UnicodeWidthStr;

#[test]
fn no_line_is_wider_than_the_terminal() {
    let runs = [common::modelled_review(&[1, 2, 4, 8, 16, 32], &[1, 2, 4, 8]), common::measured_quick(2, 6)];
    for width in 48..240 {
        let text = terminal_table(&runs, &[], width, false);
        let widest = text.lines().max_by_key(|l| l.width()).unwrap_or_default();
        assert!(widest.width() <= width, "{width}: {widest}");
    }
}

#[test]
fn says_how_the_numbers_came_to_be_and_in_which_state() {
    let text = terminal_table(&[common::modelled_review(&[1, 8], &[1, 4])], &[], 100, false);
    assert!(text.starts_with("review of sample-122: MODELLED, seed 42, done (16 of 16 steps)\n"), "{text}");
    assert!(text.contains("rand-write-64k  after sequential fills"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour unless asked for");
}

#[test]
fn narrow_terminals_lose_rare_percentiles_first_and_rates_never() {
    let runs = [common::measured_quick(2, 6)];
    let at = |width| terminal_table(&runs, &[], width, false);
    assert!(at(120).contains("p99.99"));
    let narrow = at(72);
    assert!(!narrow.contains("p99.99") && narrow.contains("p99 "), "{narrow}");
    let narrowest = at(48);
    assert!(narrowest.contains("MB/s") && narrowest.contains("IOPS"), "{narrowest}");
}

#[test]
fn remarks_are_marked_and_written_out_once() {
    let text = terminal_table(&[common::measured_quick(2, 6)], &[], 140, false);
    assert!(text.contains("[1]\n"), "{text}");
    assert_eq!(text.matches("a small sample").count(), 1);
}

#[test]
fn what_steps_said_is_written_once() {
    let text = terminal_table(&[common::measured_quick(2, 6)], &[], 140, false);
    assert_eq!(text.matches("a file has no purge").count(), 1, "{text}");
}

#[test]
fn many_runs_are_a_line_a_drive_with_the_state_of_each_figure() {
    let mut runs = common::review_of(&["sample-122", "other-61"]);
    runs.push(common::checkpoints("sample-122", 3, 2));
    let text = terminal_table(&runs, &[], 160, false);
    assert!(text.starts_with("3 runs: MODELLED, seed 42, 3 done\n\n"), "{text}");
    let titles: Vec<&str> = text.lines().nth(3).unwrap_or_default().split("  ").filter(|t| !t.is_empty()).collect();
    assert_eq!(
        titles.iter().map(|t| t.trim()).collect::<Vec<_>>(),
        ["drive", "seq write", "64K free pool", "4K rand read", "ckpt 1", "ckpt 2"]
    );
    let row = text.lines().find(|l| l.starts_with("other-61")).unwrap_or_default();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["other-61", "3,639", "3,630", "1,116,971", "–", "–"]);
    assert!(
        text.contains("States: after-fill: seq write, 64K free pool, 4K rand read; checkpoint-fill: ckpt 1, ckpt 2"),
        "{text}"
    );
    assert!(text.contains("flashlab compare A B"), "{text}");
    assert!(text.lines().count() < 12, "{text}");
    for width in 40..160 {
        let text = terminal_table(&runs, &[], width, false);
        assert!(text.lines().all(|l| l.width() <= width), "{width}: {text}");
    }
}

#[test]
fn figures_of_a_column_in_unlike_states_do_not_look_alike() {
    let mut runs = common::review_of(&["sample-122", "other-61", "third-61"]);
    for point in runs[1].steps.iter_mut().flat_map(|s| &mut s.points) {
        point.state.condition = flashlab_samples::Condition::Written;
    }
    let text = terminal_table(&runs, &[], 160, false);
    assert!(text.contains("64K rand write") && !text.contains("free pool"), "no state names what is not all of it");
    assert!(text.contains("3,639*") && text.contains("* other-61, seq write: written"), "{text}");
    assert!(!text.contains("(modelled)"), "the heading says so of all");
    runs.push(common::measured_quick(1, 1));
    let mixed = terminal_table(&runs, &[], 160, false);
    assert!(mixed.contains("other-61 (modelled)") && mixed.contains("scratch.img (measured)"), "{mixed}");
    runs[2].status = flashlab_analysis::RunStatus::Interrupted;
    assert!(terminal_table(&runs, &[], 160, false).contains("review of third-61: interrupted (16 of 16 steps)"));
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
