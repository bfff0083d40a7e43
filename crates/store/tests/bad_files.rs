//! Paths and files that can't be a store, and stores that others have written to.

mod common;

use common::*;
use flashlab_store::{Store, StoreError};
use flashlab_target::{Journal, RunId, StepPlace};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

/// Both ways of opening, for faults that are the same for both.
fn both(path: &Path) -> [StoreError; 2] {
    [Store::create_or_open(path).expect_err("create"), Store::open(path).expect_err("open")]
}

/// Each message names the path first and a remedy on its own line.
fn assert_says(error: &StoreError, path: &Path, says: &str) {
    let text = error.to_string();
    assert!(text.starts_with(&format!("{}: ", path.display())), "{text}");
    assert!(text.contains(says), "{text}");
    let (_, remedy) = text.split_once("\n  ").unwrap_or_else(|| panic!("no remedy: {text}"));
    assert!(!remedy.is_empty() && !remedy.contains('\n'), "{text}");
}

/// A store with one whole run.
fn stored(folder: &Path) -> PathBuf {
    let path = folder.join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    keep(&mut store, &record()).expect("kept");
    path
}

#[test]
fn paths_that_lead_nowhere() {
    let folder = tempfile::tempdir().expect("folder");
    let missing = folder.path().join("none.db");
    assert_says(&Store::open(&missing).expect_err("missing"), &missing, "no such store");
    assert!(!missing.exists());

    let no_folder = folder.path().join("none/s.db");
    assert_says(&Store::create_or_open(&no_folder).expect_err("no folder"), &no_folder, "none does not exist");

    for error in both(folder.path()) {
        assert_says(&error, folder.path(), "this is a folder");
    }
    for error in both(Path::new("/dev/null")) {
        assert_says(&error, Path::new("/dev/null"), "this is a character device");
    }
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("write");
    let below_a_file = file.join("s.db");
    for error in both(&below_a_file) {
        assert_says(&error, &below_a_file, "Not a directory");
    }
    assert!(Store::create_or_open(Path::new("")).is_err() && Store::open(Path::new("")).is_err());
}

#[test]
fn names_that_mean_something_to_sqlite_are_names_of_files() {
    let folder = tempfile::tempdir().expect("folder");
    for name in [":memory:", "file:x?mode=memory", "with space %41.db"] {
        let path = folder.path().join(name);
        drop(Store::create_or_open(&path).expect(name));
        assert!(path.is_file(), "{name}");
        Store::open(&path).expect(name).check().expect(name);
    }
    // Relative to the present folder as well, where `:memory:` would be no file to SQLite.
    let relative = Path::new("./:memory:none/s.db");
    assert!(matches!(Store::create_or_open(relative), Err(StoreError::NoFolder { .. })));
}

#[test]
fn an_empty_file_becomes_a_store_only_when_a_run_is_kept() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    fs::write(&path, "").expect("write");
    assert_says(&Store::open(&path).expect_err("empty"), &path, "the file is empty");
    assert_eq!(fs::metadata(&path).expect("there").len(), 0);
    // As left by a process that was killed before its first commit.
    Store::create_or_open(&path).expect("filled").check().expect("intact");
    Store::open(&path).expect("a store now");
}

#[test]
fn files_of_others_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("other");
    let text = b"drive_id,suite,workload\n".repeat(400);
    for content in [&text[..], &text[..40], b"x", b"SQLite format 3\0 and then nonsense", &[0; 4096]] {
        fs::write(&path, content).expect("write");
        for error in both(&path) {
            assert_says(&error, &path, "this is no flashlab store");
        }
        assert_eq!(fs::read(&path).expect("read"), content);
    }
    fs::remove_file(&path).expect("remove");
    Connection::open(&path)
        .expect("open")
        .execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 1")
        .expect("table");
    let content = fs::read(&path).expect("read");
    for error in both(&path) {
        assert_says(&error, &path, "of another program");
    }
    assert_eq!(fs::read(&path).expect("read"), content);
}

#[test]
fn a_newer_store_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let path = stored(folder.path());
    Connection::open(&path).expect("open").execute_batch("PRAGMA user_version = 99").expect("version");
    let content = fs::read(&path).expect("read");
    for error in both(&path) {
        assert_says(&error, &path, "made by a newer flashlab (layout 99");
    }
    assert_eq!(fs::read(&path).expect("read"), content);
}

#[test]
fn truncated_at_every_page_and_in_between() {
    let folder = tempfile::tempdir().expect("folder");
    let whole = fs::read(stored(folder.path())).expect("read");
    let path = folder.path().join("cut.db");
    let cuts = (0..whole.len()).step_by(4096).flat_map(|at| [at, at + 1, at + 99, at + 2048]);
    for cut in cuts.filter(|cut| (1..whole.len()).contains(cut)) {
        fs::write(&path, &whole[..cut]).expect("write");
        for error in both(&path) {
            assert!(
                matches!(error, StoreError::Damaged { .. } | StoreError::NotAStore { .. }),
                "cut at {cut}: {error}"
            );
            assert!(error.to_string().contains('\n'), "{error}");
        }
    }
}

/// Overwrites each page in turn. Nothing may panic, and what reads without an error or passes the
/// check must be right.
#[test]
fn a_damaged_page_is_an_error_not_a_result() {
    let folder = tempfile::tempdir().expect("folder");
    let path = stored(folder.path());
    let whole = fs::read(&path).expect("read");
    let expected = Store::open(&path).expect("open").run(1).expect("run");
    let bad = folder.path().join("bad.db");
    let mut found = 0;
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xA5);
        fs::write(&bad, damaged).expect("write");
        let outcome = Store::open(&bad).and_then(|store| {
            let checked = store.check();
            Ok((store.run(1)?, checked))
        });
        match outcome {
            Err(error) => {
                found += 1;
                assert!(error.to_string().contains('\n'), "page {page}: {error}");
            }
            // A damaged index or view does not change the run, and the check finds it.
            Ok((run, checked)) => {
                assert_eq!(run, expected, "page {page}");
                let error = checked.expect_err("the check must find it");
                assert_says(&error, &bad, "the file is damaged");
            }
        }
    }
    assert!(found > 1);
}

#[test]
fn values_written_by_others_are_named_by_table_row_and_column() {
    let folder = tempfile::tempdir().expect("folder");
    let path = stored(folder.path());
    let whole = fs::read(&path).expect("read");
    let cases = [
        ("UPDATE runs SET suite = '{'", "table runs, row 1, column suite", "EOF"),
        ("UPDATE runs SET suite = '{\"id\": 1}'", "table runs, row 1, column suite", "invalid type"),
        ("UPDATE runs SET provenance = 'null'", "table runs, row 1, column provenance", "invalid type"),
        ("UPDATE runs SET steps_planned = -1", "table runs, row 1, column steps_planned", "-1 is out of range"),
        ("UPDATE runs SET origin = 'invented'", "table runs, row 1, column origin", "unknown variant `invented`"),
        ("UPDATE runs SET pid = 99999999999", "table runs, row 1, column pid", "out of range"),
        ("UPDATE steps SET state_after = '[]' WHERE id = 2", "table steps, row 2, column state_after", "invalid"),
        ("UPDATE steps SET remarks = '[1]' WHERE id = 2", "table steps, row 2, column remarks", "expected a string"),
        ("UPDATE steps SET round = 4294967296 WHERE id = 2", "table steps, row 2, column round", "out of range"),
        ("UPDATE points SET state = 'tired' WHERE id = 1", "table points, row 1, column state", "unknown variant"),
        ("UPDATE points SET iodepth = -3 WHERE id = 1", "table points, row 1, column iodepth", "-3 is out of range"),
        ("UPDATE points SET last_fill_bs = 'big' WHERE id = 1", "row 1, column last_fill_bs", "invalid digit"),
        ("UPDATE points SET last_fill_bs = x'00' WHERE id = 1", "row 1, column last_fill_bs", "not expected here"),
        ("UPDATE points SET drive_id = CAST(x'ff' AS TEXT) WHERE id = 1", "row 1, column drive_id", "utf-8"),
        ("UPDATE metrics SET value = 9e999 WHERE id = 3", "table metrics, row 3, column value", "inf is no figure"),
        ("UPDATE metrics SET low = -9e999, high = 0 WHERE id = 3", "row 3, column low", "-inf is no figure"),
        ("UPDATE metrics SET name = 'speed' WHERE id = 3", "table metrics, row 3, column name", "unknown variant"),
        (
            "UPDATE metrics SET unit = 'MB/s' WHERE id = 1",
            "table metrics, row 1, column unit",
            "bandwidth is kept in B/s",
        ),
        ("UPDATE metrics SET samples = -1 WHERE id = 3", "row 3, column samples", "out of range"),
        ("UPDATE job_results SET result = 'x' WHERE point_id = 2", "table job_results, row 2, column result", "line 1"),
        (
            "UPDATE job_results SET result = json_set(result, '$.elapsed', '3 parsecs') WHERE point_id = 2",
            "table job_results, row 2, column result",
            "parsecs",
        ),
    ];
    for (change, place, reason) in cases {
        fs::write(&path, &whole).expect("restore");
        let changed = Connection::open(&path).and_then(|sql| sql.execute(change, [])).expect(change);
        assert_eq!(changed, 1, "{change}");
        let store = Store::open(&path).expect(change);
        let error = store.runs().and_then(|_| store.run(1)).map(drop).expect_err(change);
        assert!(matches!(error, StoreError::Value { .. }), "{change}: {error}");
        assert_says(&error, &path, place);
        assert_says(&error, &path, reason);
    }
}

#[test]
fn broken_links_are_found_by_the_check() {
    let folder = tempfile::tempdir().expect("folder");
    let path = stored(folder.path());
    let sql = Connection::open(&path).expect("open");
    sql.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM points WHERE id = 2").expect("delete");
    drop(sql);
    let error = Store::open(&path).expect("open").check().expect_err("broken");
    assert_says(&error, &path, "belongs to nothing");
}

#[test]
fn a_missing_table_is_an_error() {
    let folder = tempfile::tempdir().expect("folder");
    let path = stored(folder.path());
    Connection::open(&path).expect("open").execute_batch("DROP VIEW results; DROP TABLE metrics").expect("drop");
    let store = Store::open(&path).expect("open");
    assert_eq!(store.runs().expect("runs").len(), 1);
    assert!(store.run(1).expect_err("no metrics").to_string().contains("no such table: metrics"));
}

#[test]
fn a_file_deleted_in_use_is_noticed_before_a_step_is_lost() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    let run = store.begin_run(&header(1)).expect("run");
    fs::rename(&path, folder.path().join("elsewhere.db")).expect("rename");
    let error = store.commit_step(run, &step_header(0, 0), &prepared()).expect_err("moved");
    assert!(error.to_string().contains("moved or deleted"), "{error}");
    fs::rename(folder.path().join("elsewhere.db"), &path).expect("rename back");
    store.commit_step(run, &step_header(0, 0), &prepared()).expect("kept");
}

#[test]
fn a_read_only_place_is_read_and_not_written() {
    let Some(disk) = SmallDisk::mount("a_read_only_place_is_read_and_not_written", "8m") else { return };
    let path = stored(disk.path());
    disk.make_read_only();
    let error = Store::create_or_open(&path).expect_err("read-only");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert_says(&error, &path, "may not be written");
    let new = disk.path().join("new.db");
    let error = Store::create_or_open(&new).expect_err("read-only");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(!new.exists());

    let mut store = Store::open(&path).expect("readable");
    assert_eq!(store.run(1).expect("run").steps, record().steps);
    store.check().expect("intact");
    let error = store.begin_run(&header(1)).expect_err("read-only");
    assert!(error.to_string().contains("may not be written"), "{error}");
}

#[test]
fn a_full_disk_loses_only_the_step_that_did_not_fit() {
    let Some(disk) = SmallDisk::mount("a_full_disk_loses_only_the_step_that_did_not_fit", "2m") else { return };
    let path = disk.path().join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    let run = store.begin_run(&header(1000)).expect("run");
    // Far more steps than 2 MiB hold.
    let (kept, error) = (0..1000)
        .find_map(|i| {
            let error = store.commit_step(run, &step_header(i, 0), &outcome(i, 0, 2_000)).err()?;
            Some((i, error))
        })
        .expect("the disk must become full");
    assert!(kept > 10, "{kept}");
    assert!(error.to_string().contains("no space is left"), "{error}");
    store.check().expect("intact");
    assert_eq!(store.run(run.0).expect("run").steps.len(), kept as usize);
    drop(store);

    // A store that can't even begin leaves nothing behind.
    fs::write(disk.path().join("filler"), vec![0; 4 << 20]).expect_err("full");
    let new = disk.path().join("new.db");
    let error = Store::create_or_open(&new).expect_err("full");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(!new.exists());
    let left: Vec<_> = fs::read_dir(disk.path()).expect("list").filter_map(|e| Some(e.ok()?.file_name())).collect();
    assert!(left.iter().all(|name| name == "s.db" || name == "filler"), "{left:?}");

    fs::remove_file(disk.path().join("filler")).expect("remove");
    let store = Store::open(&path).expect("open");
    assert_eq!(store.run(run.0).expect("run").steps.len(), kept as usize);
    assert!(store.runs().expect("runs")[0].alive.is_some());
}

#[test]
fn a_series_with_a_gap_or_a_histogram_that_is_none_is_an_error() {
    for (spoil, says) in [
        ("UPDATE intervals SET position = 100000 WHERE position = 1", "position"),
        ("DELETE FROM intervals WHERE position = 0", "position"),
        ("UPDATE intervals SET read_lat = json_set(read_lat, '$.min_ns', 9999999999999)", "read_lat"),
        ("UPDATE intervals SET read_lat = '[]'", "read_lat"),
        ("UPDATE intervals SET read_ios = -1", "read_ios"),
    ] {
        let folder = tempfile::tempdir().expect("folder");
        let path = stored(folder.path());
        let sql = Connection::open(&path).expect("open");
        assert!(sql.execute(spoil, []).expect(spoil) > 0, "{spoil}");
        let store = Store::open(&path).expect("a store");
        assert_says(&store.run(1).expect_err(spoil), &path, says);
        let steps =
            sql.query_row("SELECT step, round FROM intervals JOIN steps ON steps.id = step_id LIMIT 1", [], |row| {
                Ok(StepPlace { step: row.get(0)?, round: row.get(1)? })
            });
        let read = store.intervals(RunId(1), steps.expect("a step"), 0, 0, 10);
        assert_says(&read.expect_err(spoil), &path, says);
    }
}
