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
        // Empty where nothing came back.
        let longest = of.iter().filter_map(|row| row[17].parse::<u64>().ok()).max();
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

/// The sum is made of what the targets' own runs have, and says what was said there.
#[test]
fn a_sum_holds_no_more_than_the_runs_that_it_is_of() {
    let place = Place::new();
    for name in ["a.img", "b.img"] {
        place.flashlab(&format!("load --on ./{name} --size 16M --rw write --bs 1M --store fill.db")).code(0);
    }
    // Too short for a whole interval: it says so.
    let short = place.flashlab("load --on ./a.img,./b.img --rw read --bs 1M --json -").code(0);
    assert!(short.err.contains("no sum of") && short.err.contains("--interval"), "{}", short.err);
    let sum = &short.json()["runs"][2];
    assert_eq!(sum["steps"][0]["points"].as_array().map(Vec::len), Some(0));
    assert!(sum["steps"][0]["remarks"].to_string().contains("no sum of"), "{sum}");

    // A target that goes on in spite of errors: neither its run nor the sum is clean.
    let cut = std::fs::File::options().write(true).open(place.path("b.img")).expect("a file");
    let mut command = Command::new(FLASHLAB);
    let load = "load --on ./a.img,./b.img --rw randread --runtime 1500ms --interval 100ms --continue-on-error 9999999";
    command.args(load.split(' ')).args(["--json", "-"]).current_dir(place.path("")).stderr(Stdio::piped());
    let child = command.stdout(Stdio::piped()).spawn().expect("a process");
    std::thread::sleep(Duration::from_millis(700));
    cut.set_len(1 << 20).expect("cut");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let point = |run: usize| &json["runs"][run]["steps"][0]["points"][0];
    let errors = |run: usize| point(run)["job"]["errors"][0]["count"].as_u64();
    assert!(errors(1) > Some(0) && errors(2) == errors(1) && errors(0).is_none(), "{json}");
    let said = point(2)["remarks"].to_string();
    assert!(said.contains("went on in spite of errors") && said.contains("b.img: "), "{said}");
    cut.set_len(16 << 20).expect("a size");

    // A fill that is stopped is dropped, and so it has no sum.
    place.write(
        "fill.toml",
        SEVERAL.replace("64KiB", "4KiB").replace("iodepth = 4\npasses = 1", "iodepth = 1\npasses = 9"),
    );
    let mut command = Command::new(FLASHLAB);
    let run = "run fill.toml --on ./a.img,./b.img --size 16M --interval 10ms --store stop.db --overwrite";
    let child = command.args(run.split(' ')).current_dir(place.path("")).stdout(Stdio::piped()).spawn();
    let child = child.expect("a process");
    std::thread::sleep(Duration::from_millis(1_200));
    place.command("kill", &["-INT", &child.id().to_string()]).code(0);
    assert_eq!(child.wait_with_output().expect("an end").status.code(), Some(130));
    let json = place.flashlab("export 1 2 3 --json --store stop.db").code(0).json();
    let places = |run: usize| {
        let steps = json["runs"][run]["steps"].as_array().expect("steps");
        let with_points =
            steps.iter().filter(|step| step["points"].as_array().is_some_and(|points| !points.is_empty()));
        with_points.map(|step| (step["index"].as_u64(), step["round"].as_u64())).collect::<Vec<_>>()
    };
    assert!(places(2).iter().all(|at| places(0).contains(at) && places(1).contains(at)), "{json}");
}

#[test]
fn what_the_store_can_not_keep_is_shown() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.flashlab("load --on ./t.img --rw randread --runtime 100ms").code(0);
    // As if the disk were full when the step is to be kept.
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON points BEGIN SELECT RAISE(ABORT, 'no space'); END";
    rusqlite::Connection::open(place.path("flashlab.db")).and_then(|sql| sql.execute_batch(refuse)).expect("a trigger");
    let done = place.flashlab("load --on ./t.img --rw randread --runtime 200ms --json result.json").code(3);
    assert!(done.err.contains("could not keep what follows") && done.err.contains("no space"), "{}", done.err);
    assert!(done.out.contains("rand-read-4k") && done.out.contains("IOPS"), "{}", done.out);
    assert!(place.read("result.json").contains("\"histogram\""));
    // And as if it were full while the job runs, at its first 256 intervals: the job is stopped.
    let refuse =
        "DROP TRIGGER full; CREATE TRIGGER full BEFORE INSERT ON intervals BEGIN SELECT RAISE(ABORT, 'no space'); END";
    rusqlite::Connection::open(place.path("flashlab.db")).and_then(|sql| sql.execute_batch(refuse)).expect("a trigger");
    let load = "load --on ./t.img --rw randread --runtime 60s --interval 10ms --json part.json";
    let done = place.flashlab(load).code(3);
    assert!(done.err.contains("could not keep what follows") && done.err.contains("no space"), "{}", done.err);
    assert!(done.out.contains("rand-read-4k") && done.out.contains("interrupted: covers"), "{}", done.out);
    let part: serde_json::Value = serde_json::from_str(&place.read("part.json")).expect("JSON");
    let series = &part["runs"][0]["steps"][0]["points"][0]["job"]["series"];
    assert!(series.as_array().is_some_and(|all| all.len() >= 256), "none of it was kept: {series}");
}
