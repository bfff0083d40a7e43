//! `flashlab run` and `plan` on a file: from nothing to table, list, report and exports.

mod common;

use common::{LOADS, Place, TINY};
use serde_json::Value;
use std::fs;

#[test]
fn quick_on_a_new_file_and_everything_after_it() {
    let place = Place::new();
    let run = "run quick --on ./scratch.img --size 64M --runtime 100ms";
    let done = place.flashlab(run);
    // Whether so short a run is steady is up to the disk; 1 says that it was not.
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    assert_eq!(done.code == Some(1), done.err.contains("steady state was not reached"), "{}", done.err);
    for word in ["MEASURED", "seq-write-128k", "seq-read-128k", "rand-read-4k", "rand-write-4k", "p99", "does not say"]
    {
        assert!(done.out.contains(word), "no {word} in\n{}", done.out);
    }
    assert!(done.err.contains("flashlab report 1"), "{}", done.err);
    assert_eq!(fs::metadata(place.path("scratch.img")).expect("the file").len(), 64 << 20);

    let list = place.flashlab("list").code(0).out;
    assert!(list.contains("scratch.img") && list.contains("done") && list.contains("10/10"), "{list}");

    place.flashlab("report latest").code(0);
    assert!(place.read("report/index.html").contains("MEASURED"));
    let csv = place.flashlab("export 1 --csv").code(0).out;
    assert_eq!(csv, place.read("report/results.csv"));
    assert!(csv.lines().skip(1).all(|row| row.ends_with(",measured")), "{csv}");
    check_json(&place.flashlab("export latest --json").code(0).json());
    place.flashlab("export 1 --csv a.csv --json a.json").code(0);
    assert_eq!(csv, place.read("a.csv"));
}

/// Unknown is null and not zero, and the kernel's answer is kept.
fn check_json(json: &Value) {
    for key in ["schema", "schema_version", "runs"] {
        assert!(json.get(key).is_some(), "no {key} in {:?}", json.as_object().map(|o| o.keys().collect::<Vec<_>>()));
    }
    let text = json.to_string();
    for key in ["\"provenance\"", "\"kernel\"", "\"host\"", "\"seed\"", "\"granted\"", "\"state\"", "\"samples\""] {
        assert!(text.contains(key), "no {key}");
    }
    let mut slat = Vec::new();
    collect(json, "slat", &mut slat);
    assert!(!slat.is_empty() && slat.iter().all(|value| value.is_null()), "slat was not measured: {slat:?}");
    let mut serial = Vec::new();
    collect(json, "firmware", &mut serial);
    assert!(!serial.is_empty() && serial.iter().all(|value| value.is_null()), "a file has none: {serial:?}");
    let mut engines = Vec::new();
    collect(json, "engine", &mut engines);
    assert!(engines.iter().any(|engine| *engine == "io_uring"), "{engines:?}");
}

fn collect<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| {
            if name == key {
                found.push(value);
            }
            collect(value, key, found);
        }),
        Value::Array(all) => all.iter().for_each(|value| collect(value, key, found)),
        _ => {}
    }
}

#[test]
fn a_suite_can_have_loads_at_the_same_time() {
    let place = Place::new();
    place.write("loads.toml", LOADS);
    let plan = place.flashlab("plan ./loads.toml --on ./new.img --size 16M").code(0).out;
    // The table breaks the line.
    let title = "read-under-write iodepth 1, numjobs 1 and rand-write-16k iodepth 4,";
    assert!(plan.contains(title) && plan.contains("at the same time"), "{plan}");
    let done = place.flashlab("run ./loads.toml --on ./new.img --size 16M --out ./report").code(0);
    for words in ["read-under-write", "rand-write-16k", "ran at the same time as rand-write-16k"] {
        assert!(done.out.contains(words), "no {words} in\n{}", done.out);
    }
    let page = place.read("report/index.html");
    assert!(page.contains("ran at the same time as read-under-write"));
    let csv = place.flashlab("export 1 --csv").code(0).out;
    assert!(csv.contains(",read-under-write,") && csv.contains(",rand-write-16k,"), "{csv}");
}

#[test]
fn a_file_of_ours_runs_again_and_grows_and_a_copy_of_it_does_not() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    place.flashlab("run ./tiny.toml --on ./ours.img --size 8M").code(0);
    place.flashlab("run ./tiny.toml --on ./ours.img").code(0);
    place.flashlab("run ./tiny.toml --on ./ours.img --size 16M").code(0);
    assert_eq!(fs::metadata(place.path("ours.img")).expect("the file").len(), 16 << 20);
    assert_eq!(place.runs("flashlab.db").len(), 3);

    // With its attributes: the mark is copied as well.
    place.command("cp", &["--preserve=all", "ours.img", "copy.img"]).code(0);
    let before = fs::read(place.path("copy.img")).expect("the copy");
    let refused = place.flashlab("run ./tiny.toml --on ./copy.img").code(4);
    assert!(refused.err.contains("copy.img") && refused.err.contains("--overwrite"), "{}", refused.err);
    assert!(fs::read(place.path("copy.img")).expect("the copy") == before, "nothing was written");
    place.flashlab("run ./tiny.toml --on ./copy.img --overwrite").code(0);
}

#[test]
fn reading_needs_no_consent_and_changes_nothing() {
    let place = Place::new();
    let fill = TINY.find("[[step]]").expect("a step")..TINY.rfind("[[step]]").expect("a step");
    let mut reads = TINY.to_owned();
    reads.replace_range(fill, "");
    place.write("reads.toml", reads);
    place.write("foreign.img", vec![7; 8 << 20]);
    let before = place.listing();
    place.flashlab("run ./reads.toml --on ./foreign.img --store s.db").code(0);
    fs::remove_file(place.path("s.db")).expect("a store");
    fs::remove_file(place.path("reads.toml")).expect("a suite");
    let after = place.listing();
    assert_eq!(after, before.into_iter().filter(|line| !line.contains("reads.toml")).collect::<Vec<_>>());
}

#[test]
fn a_plan_touches_nothing() {
    let place = Place::new();
    place.write("foreign.img", vec![7; 64 << 20]);
    let before = place.listing();
    let text = place.flashlab("plan quick --on ./foreign.img --runtime 2s --seed 9").code(0).out;
    for words in ["Nothing was touched", "not created by flashlab", "--overwrite", "--runtime 2s", "--seed 9", "writes"]
    {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    let new = place.flashlab("plan quick --on ./new.img --size 1G").code(0).out;
    assert!(new.contains("It creates the file") && new.contains("--size 1GiB"), "{new}");
    place.flashlab("plan review --on r6060-122").code(0);

    let plan = place.flashlab("plan quick --on ./new.img --size 64M --json -").code(0).json();
    assert_eq!(plan["schema"], "flashlab-plan");
    assert_eq!(plan["region_length_bytes"], 64 << 20);
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(10));
    assert_eq!(plan["steps"][0]["estimate"]["writes_bytes"], 64 << 20);
    assert_eq!(plan["steps"][0]["estimate"]["writes_exact"], true);
    assert_eq!(plan["destroy_data_token"], Value::Null);
    assert_eq!(place.listing(), before);
}

#[test]
fn json_on_standard_output_stands_there_alone() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let done = place.flashlab("run ./tiny.toml --on ./new.img --size 8M --json -").code(0);
    assert!(done.json()["runs"].is_array());
    let done = place.flashlab("run ./tiny.toml --on r6060-122 --size 64M --json - --out ./report").code(0);
    assert!(done.json()["runs"].is_array() && place.path("report/index.html").exists());
}

#[test]
fn through_the_page_cache_only_if_asked_and_said_so() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let done = place.flashlab("run ./tiny.toml --on ./new.img --size 8M --buffered").code(0);
    assert!(done.out.contains("not O_DIRECT: the page cache takes part"), "{}", done.out);
}

#[test]
fn a_run_on_a_modelled_drive_is_labelled_as_modelled() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let done = place.flashlab("run ./tiny.toml --on r6060-122 --size 64M").code(0);
    assert!(done.out.contains("MODELLED") && !done.out.contains("MEASURED"), "{}", done.out);
    let json = place.flashlab("export 1 --json").code(0).json();
    let mut hosts = Vec::new();
    collect(&json, "kernel", &mut hosts);
    assert!(!hosts.is_empty() && hosts.iter().all(|kernel| kernel.is_null()), "{hosts:?}");
}
