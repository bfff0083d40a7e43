//! What is left when a run is killed, stopped, or met by a second one.

mod common;

use common::{FLASHLAB, Place, system};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A fill and far more points than a test waits for.
const LONG: &str = r#"
id = "long"
title = "many points"
purpose = "tests"
[[step]]
do = "fill"
bs = "64KiB"
iodepth = 4
passes = 1
[[step]]
do = "sweep"
workload = "rand-write-4k"
rw = "randwrite"
bs = "4KiB"
iodepth = [1, 2, 4, 8, 16, 32, 64, 128]
numjobs = [1, 2, 3, 4, 5, 6, 7, 8]
runtime = "1s"
"#;

/// A run in progress, with its first steps finished.
struct Running {
    place: Place,
    child: Child,
}

impl Running {
    fn begin() -> Running {
        let place = Place::new();
        place.write("long.toml", LONG);
        place.flashlab("plan ./long.toml --on ./t.img --size 8M").code(0);
        let mut command = Command::new(FLASHLAB);
        command.args([
            "run",
            "./long.toml",
            "--on",
            "./t.img",
            "--size",
            "8M",
            "--store",
            "s.db",
            "--runtime",
            "200ms",
        ]);
        command.current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running { child: command.spawn().expect("a child"), place };
        // The fill and at least one point. Until its first commit the store is no store yet.
        for _ in 0..600 {
            let list = running.place.flashlab("list --store s.db --json -");
            if list.code == Some(0) && list.json()[0]["steps_done"].as_u64() >= Some(2) {
                return running;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no step was finished in 30 s");
    }

    /// Sends signals, one right after the other.
    fn signal(&self, names: &[&str]) {
        let all: Vec<String> = names.iter().map(|name| format!("kill -{name} {}", self.child.id())).collect();
        system("sh", &["-c", &all.join(" && ")]).expect("a signal");
    }

    /// Waits for its end: the place, how it ended, and what it said.
    fn end(self) -> (Place, ExitStatus, String) {
        let output = self.child.wait_with_output().expect("an end");
        (self.place, output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The one run in the store, and the workloads of its kept points.
fn kept(place: &Place) -> (Value, usize) {
    let runs = place.runs("s.db");
    assert_eq!(runs.len(), 1);
    let csv = place.flashlab("export 1 --csv --store s.db").code(0).out;
    let points = csv.lines().filter(|row| row.contains(",rand-write-4k,") && row.contains(",iops,")).count();
    (runs[0].clone(), points)
}

/// The store is whole, the file is free, and both take another run.
fn goes_on(place: &Place) {
    place.write("tiny.toml", common::TINY);
    place.flashlab("run ./tiny.toml --on ./t.img --store s.db").code(0);
    assert_eq!(place.runs("s.db").len(), 2);
    place.flashlab("report 1 2 --store s.db").code(0);
}

#[test]
fn a_kill_loses_no_more_than_the_step_in_progress() {
    let running = Running::begin();
    running.signal(&["KILL"]);
    let (place, status, _) = running.end();
    assert_eq!(status.signal(), Some(9));
    let (run, points) = kept(&place);
    assert_eq!((&run["status"], &run["alive"]), (&Value::from("unfinished"), &Value::from(false)), "{run}");
    let done = run["steps_done"].as_u64().expect("a number");
    assert!(done >= 2 && done < run["steps_planned"].as_u64().expect("a number"), "{run}");
    assert_eq!(points as u64, done - 1, "the fill and the points that were finished");
    let list = place.flashlab("list --store s.db").code(0).out;
    assert!(list.contains("unfinished (its process is gone)") && list.contains("stopped at rand-write-4k"), "{list}");
    goes_on(&place);
}

#[test]
fn a_stop_ends_cleanly_and_keeps_what_is_done() {
    for signal in ["INT", "TERM"] {
        let running = Running::begin();
        running.signal(&[signal]);
        let (place, status, said) = running.end();
        assert_eq!(status.code(), Some(130), "{signal}: {said}");
        assert!(said.contains("interrupted; the finished steps are kept"), "{signal}: {said}");
        let (run, points) = kept(&place);
        assert_eq!(run["status"], "interrupted", "{signal}: {run}");
        assert_eq!(points as u64 + 1, run["steps_done"].as_u64().expect("a number"), "{signal}: {run}");
        goes_on(&place);
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let running = Running::begin();
    running.signal(&["INT", "TERM"]);
    let (place, status, said) = running.end();
    assert_eq!(status.code(), Some(130), "{said}");
    // Nothing was said or closed any more, and what was kept before is there.
    assert!(!said.contains("interrupted"), "{said}");
    let (run, points) = kept(&place);
    assert_eq!(run["status"], "unfinished", "{run}");
    assert!(points >= 1);
    goes_on(&place);
}

#[test]
fn a_second_run_on_the_same_file_is_refused_while_the_first_goes_on() {
    let running = Running::begin();
    running.place.write("tiny.toml", common::TINY);
    let refused = running.place.flashlab("run ./tiny.toml --on ./t.img --store other.db").code(4);
    assert!(refused.err.contains("another run has locked the file"), "{}", refused.err);
    assert!(!running.place.path("other.db").exists());
    let list = running.place.flashlab("list --store s.db").code(0).out;
    assert!(list.contains("running") && list.contains("now at rand-write-4k"), "{list}");
    running.signal(&["INT"]);
    assert_eq!(running.end().1.code(), Some(130));
}
