//! The series of jobs, kept while they run; and suites on several targets, whose sums are made from them.

mod common;

use common::{FLASHLAB, Place};
use flashlab_store::Store;
use flashlab_target::{RunId, StepPlace};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The lines of a CSV as cells, without the header.
fn lines(csv: &str) -> Vec<Vec<String>> {
    csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn every_interval_of_a_long_job_is_exported() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let load = "load --on ./t.img --rw randrw --rwmixtrim 10 --iodepth 4 --runtime 3s --interval 10ms --json -";
    let json = place.flashlab(&format!("{load} --overwrite")).code(0).json();
    let job = &json["runs"][0]["steps"][0]["points"][0]["job"];
    let csv = place.flashlab("export latest --series").code(0).out;
    assert!(csv.starts_with("run,drive_id,suite,workload,iodepth,numjobs,threads,pass,start_ns,length_ns,direction,"));
    let rows = lines(&csv);
    for direction in ["read", "write", "trim"] {
        let of: Vec<&Vec<String>> = rows.iter().filter(|row| row[10] == direction).collect();
        assert!(of.len() > 60, "{} intervals with a {direction}", of.len());
        assert!(of.is_sorted_by_key(|row| row[8].parse::<u64>().expect("a start")));
        let sum = |at: usize| of.iter().map(|row| row[at].parse::<u64>().expect("a number")).sum::<u64>();
        assert_eq!((Some(sum(11)), Some(sum(12))), (job[direction]["ios"].as_u64(), job[direction]["bytes"].as_u64()));
        let longest = of.iter().map(|row| row[17].parse::<u64>().expect("a number")).max();
        assert_eq!(longest, job[direction]["lat"]["histogram"]["max_ns"].as_u64());
    }
    assert_eq!(job["series"].as_array().map(Vec::len), Some(300));
    let twice = place.flashlab("export latest --series --csv").code(2);
    assert!(twice.err.contains("can't both go to standard output"), "{}", twice.err);
}

#[test]
fn a_killed_job_leaves_the_series_that_it_had() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let mut command = Command::new(FLASHLAB);
    command.args("load --on ./t.img --rw randread --runtime 600s --interval 10ms".split(' '));
    let child = command.current_dir(place.path("")).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("a process");
    let at = StepPlace { step: 0, round: 0 };
    let series =
        || Store::open(&place.path("flashlab.db")).and_then(|store| store.intervals(RunId(1), at, 0, 0, 1_000));
    let begun = Instant::now();
    while series().map_or(0, |series| series.len()) < 300 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no intervals in the store");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    let kept = series().expect("a store");
    assert!(kept.iter().zip(0..).all(|(interval, i)| interval.start.0 == i * 10_000_000), "in order, none missing");
    assert!(kept.iter().map(|interval| interval.read.ios).sum::<u64>() > 0);
    assert_eq!(place.runs("flashlab.db")[0]["status"], "unfinished");
    // They are of no result.
    assert_eq!(lines(&place.flashlab("export 1 --series").code(0).out), Vec::<Vec<String>>::new());
}

/// Fill, a point, and rounds that one target may need more of than another.
const SEVERAL: &str = r#"
id = "several"
title = "on several targets"
purpose = "tests"
limits = ["It says nothing."]
[[step]]
do = "fill"
bs = "64KiB"
iodepth = 4
passes = 1
[[step]]
do = "sweep"
workload = "rand-read-4k"
rw = "randread"
bs = "4KiB"
iodepth = [1, 4]
numjobs = [1]
runtime = "300ms"
[[step]]
do = "steady"
workload = "rand-write-4k"
rw = "randwrite"
bs = "4KiB"
iodepth = 4
numjobs = 1
only_report = true
round = { time = "200ms" }
rule = { window = 3, range_max = 0.2, slope_max = 0.1, rounds_max = 5 }
"#;

#[test]
fn a_suite_runs_on_several_targets_in_step() {
    let place = Place::new();
    place.write("several.toml", SEVERAL);
    let suite = "several.toml --on ./a.img --on ./b.img --size 16M";
    let plan = place.flashlab(&format!("plan {suite}")).code(0).out;
    assert!(plan.contains("on ./a.img") && plan.contains("on ./b.img"), "{plan}");
    assert!(plan.contains("flashlab run several.toml --on ./a.img,./b.img --size 16MiB"), "{plan}");
    let json = place.flashlab(&format!("plan {suite} --json -")).code(0).json();
    assert_eq!(json.as_array().map(Vec::len), Some(2));

    let json = place.flashlab(&format!("run {suite} --interval 50ms --json -")).code(0).json();
    let runs = json["runs"].as_array().expect("runs");
    let drives: Vec<&str> = runs.iter().filter_map(|run| run["manifest"]["target"]["id"].as_str()).collect();
    assert_eq!(drives, ["a.img", "b.img", "a.img+b.img"]);
    let ios = |run: &Value, workload: &str, iodepth: u64, pass: Option<u64>| {
        let steps = run["steps"].as_array().expect("steps");
        let mut points = steps.iter().flat_map(|step| step["points"].as_array().expect("points"));
        let is_it = |p: &&Value| {
            let at = &p["at"];
            at["workload"] == workload && at["iodepth"] == iodepth && at["pass"].as_u64() == pass
        };
        let job = &points.find(is_it)?["job"];
        Some(job["read"]["ios"].as_u64()? + job["write"]["ios"].as_u64()?)
    };
    let [a, b, sum] = runs.as_slice() else { panic!("{} runs", runs.len()) };
    for (workload, iodepth, pass) in [
        ("rand-read-4k", 1, None),
        ("rand-read-4k", 4, None),
        ("rand-write-4k", 4, Some(1)),
        ("rand-write-4k", 4, Some(3)),
    ] {
        let of = |run| ios(run, workload, iodepth, pass).unwrap_or_else(|| panic!("{workload} {iodepth} {pass:?}"));
        let (each, all) = (of(a) + of(b), of(sum));
        assert!(all > 0 && all <= each, "{workload}: {all} of {each}");
    }
    place.flashlab("report 1 2 3").code(0);

    // Sizes that lead to other steps, and a model among them.
    place.flashlab("load --on ./c.img --size 32M --rw write --bs 1M --store fill.db").code(0);
    let model = place.flashlab("run quick --on ./a.img,p5430-30").code(2);
    assert!(model.err.contains("several targets at once are real ones"), "{}", model.err);
}
