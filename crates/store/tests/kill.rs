//! Processes that are killed, and several at once.

mod common;

use common::*;
use flashlab_analysis::RunStatus;
use flashlab_store::{Store, StoreError};
use flashlab_target::Journal;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Set for the process in which [`the_child`] does its work: the store to write to.
const STORE_OF_CHILD: &str = "FLASHLAB_TEST_STORE";
/// What the child prints before the number of a step that was kept.
const KEPT: &str = "kept step ";

/// No test of its own: started again as a process by the others, it keeps steps until it is killed.
#[test]
fn the_child() {
    let Some(path) = std::env::var_os(STORE_OF_CHILD) else { return };
    let mut store = Store::create_or_open(&PathBuf::from(path)).expect("store");
    let run = store.begin_run(&header(u32::MAX)).expect("run");
    for index in 0..u32::MAX {
        let step = step_header(index, 0);
        store.begin_step(run, &step).expect("begun");
        store.commit_step(run, &step, &outcome(index, 0, 500)).expect("kept");
        // Flushed, so that what was said before the kill is read after it.
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{KEPT}{index}").and_then(|()| out.flush()).expect("the parent reads");
    }
}

fn start_child(store: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_child", "--nocapture", "--test-threads", "1"])
        .env(STORE_OF_CHILD, store)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

/// The steps that the child has reported, one a call.
fn reports(child: &mut Child) -> impl Iterator<Item = u32> + use<> {
    BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix(KEPT)?.parse().ok())
}

#[test]
fn kill_9_loses_at_most_the_step_in_progress() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut hot_journals = 0;
    for round in 0..30u64 {
        let mut child = start_child(&path);
        let mut reports = reports(&mut child);
        // Killed at another moment each time: after a few steps and then some fraction of one.
        let before = reports.by_ref().take(1 + round as usize % 4).count();
        assert_eq!(before, 1 + round as usize % 4, "the child must get going");
        std::thread::sleep(Duration::from_micros(round * 137 % 2_900));
        child.kill().expect("killed");
        let reported = before + reports.count();
        child.wait().expect("gone");
        hot_journals += usize::from(folder.path().join("s.db-journal").exists());

        let store = Store::open(&path).expect("opens clean");
        store.check().expect("intact");
        let brief = store.runs().expect("runs");
        assert_eq!(brief.len() as u64, round + 1);
        let brief = &brief[round as usize];
        assert_eq!((&brief.status, brief.alive), (&RunStatus::Unfinished, Some(false)));
        let run = store.run(brief.id).expect("run");
        let kept = run.steps.len();
        // One more may have been kept than the child lived to report.
        assert!(kept == reported || kept == reported + 1, "{kept} kept, {reported} reported");
        for (index, step) in (0u32..).zip(&run.steps) {
            assert_eq!((step.index, &step.points), (index, &outcome(index, 0, 500).points));
        }
    }
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{hot_journals} of 30 kills left a journal behind");
}

#[test]
fn a_run_is_alive_until_its_process_is_gone() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut child = start_child(&path);
    let mut reports = reports(&mut child);
    assert_eq!(reports.next(), Some(0));
    // The list works while the run goes on.
    let store = Store::open(&path).expect("open");
    let alive = store.runs().expect("runs").remove(0);
    assert_eq!((alive.pid, alive.alive), (child.id(), Some(true)));
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_eq!(store.runs().expect("runs")[0].alive, Some(false));
}

/// Copies a store with the journal of a transaction that is half written to the file, as a kill or a
/// power cut leaves them.
fn half_written(folder: &Path, copy: &Path) {
    let path = folder.join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    keep(&mut store, &record()).expect("kept");
    let mut sql = rusqlite::Connection::open(&path).expect("open");
    // A cache of one page: changes go to the file long before the commit.
    sql.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1").expect("cache");
    let transaction = sql.transaction().expect("transaction");
    transaction.execute_batch("UPDATE job_results SET result = upper(result); DELETE FROM metrics").expect("changes");
    std::fs::copy(&path, copy).expect("copy");
    let journal = |of: &Path| PathBuf::from(format!("{}-journal", of.display()));
    std::fs::copy(journal(&path), journal(copy)).expect("copy of the journal");
}

#[test]
fn what_was_half_written_is_undone() {
    let folder = tempfile::tempdir().expect("folder");
    let copy = folder.path().join("copy.db");
    half_written(folder.path(), &copy);
    let half = std::fs::read(&copy).expect("read");
    let store = Store::open(&copy).expect("recovered");
    store.check().expect("intact");
    assert_eq!(store.run(1).expect("run").steps, record().steps);
    assert_ne!(std::fs::read(&copy).expect("read"), half, "the copy must have been half written");
    assert!(!folder.path().join("copy.db-journal").exists());
}

#[test]
fn what_was_half_written_on_a_read_only_place_is_said_so() {
    let test = "what_was_half_written_on_a_read_only_place_is_said_so";
    let Some(disk) = SmallDisk::mount(test, "8m") else { return };
    let folder = tempfile::tempdir().expect("folder");
    let copy = disk.path().join("copy.db");
    half_written(folder.path(), &copy);
    disk.make_read_only();
    let error = Store::open(&copy).expect_err("can't be undone");
    assert!(matches!(error, StoreError::NotRecovered { .. }), "{error}");
    assert!(error.to_string().contains("copy.db-journal"), "{error}");
}

#[test]
fn two_runs_and_a_reader_share_one_store() {
    const STEPS: u32 = 25;
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    // Both make the store at once, too.
                    let mut store = Store::create_or_open(&path).expect("store");
                    let run = store.begin_run(&header(STEPS)).expect("run");
                    for index in 0..STEPS {
                        store.begin_step(run, &step_header(index, 0)).expect("begun");
                        store.commit_step(run, &step_header(index, 0), &outcome(index, 0, 200)).expect("kept");
                    }
                    store.end_run(run, &flashlab_target::RunEnd::Done).expect("ended");
                    run
                })
            })
            .collect();
        let mut looks = 0;
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            // Before the first commit there is nothing to open.
            let store = match Store::open(&path) {
                Ok(store) => store,
                Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            for brief in store.runs().expect("runs") {
                let run = store.run(brief.id).expect("run");
                assert!(run.steps_done() >= brief.steps_done);
                assert!(run.steps.iter().all(|step| step.points.len() == 1), "a step is there whole or not at all");
            }
            looks += 1;
        }
        let mut runs: Vec<_> = writers.into_iter().map(|writer| writer.join().expect("a writer").0).collect();
        runs.sort_unstable();
        assert_eq!(runs, [1, 2]);
        assert!(looks > 0);
    });
    let store = Store::open(&path).expect("open");
    store.check().expect("intact");
    for brief in store.runs().expect("runs") {
        assert_eq!((brief.status, brief.steps_done, brief.current), (RunStatus::Done, STEPS, None));
    }
}

/// A transaction that read first and then asked to write would fail here at once, without waiting.
#[test]
fn a_step_waits_for_another_writer_instead_of_being_lost() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).expect("store");
    let run = store.begin_run(&header(1)).expect("run");
    let other = rusqlite::Connection::open(&path).expect("open");
    other.execute_batch("BEGIN IMMEDIATE; UPDATE runs SET seed = '1'").expect("the write lock");
    let (about_to, started) = std::sync::mpsc::channel();
    let keeper = std::thread::spawn(move || {
        about_to.send(()).expect("heard");
        store.commit_step(run, &step_header(0, 0), &outcome(0, 0, 100)).map(|()| store)
    });
    started.recv().expect("started");
    std::thread::sleep(Duration::from_millis(100));
    assert!(!keeper.is_finished(), "the step can't be kept while another writes");
    other.execute_batch("COMMIT").expect("released");
    let store = keeper.join().expect("no panic").expect("kept once the lock was free");
    assert_eq!(store.run(run.0).expect("run").steps.len(), 1);
}
