//! `flashlab load`: what a fio user does, on files of a test's own.

mod common;

use common::{Done, FLASHLAB, Loop, Place, TINY, root_for, skipped, system};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A place with a filled file of 8 MiB, `t.img`.
fn filled() -> Place {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place
}

/// The points of a run's JSON.
fn points(done: &Done) -> Vec<Value> {
    let json = done.json();
    let runs = json["runs"].as_array().expect("runs").iter();
    let steps = runs.flat_map(|run| run["steps"].as_array().expect("steps").clone());
    steps.flat_map(|step| step["points"].as_array().expect("points").clone()).collect()
}

fn granted(point: &Value, what: &str) -> String {
    point["job"]["granted"][what].to_string()
}

#[test]
fn one_load_is_measured_kept_and_shown() {
    let place = filled();
    let done = place.flashlab("load --on ./t.img --rw randread --iodepth 4 --runtime 200ms").code(0);
    for words in ["load of t.img: MEASURED", "rand-read-4k", "IOPS", "p99.99", "does not say"] {
        assert!(done.out.contains(words), "no {words} in\n{}", done.out);
    }
    let runs = place.runs("flashlab.db");
    assert_eq!((&runs[0]["suite_id"], &runs[0]["status"]), (&"load".into(), &"done".into()), "{runs:?}");
    place.flashlab("report 1").code(0);
    assert!(place.read("report/index.html").contains("rand-read-4k"));
}

#[test]
fn several_depths_are_a_sweep_and_a_load_without_an_end_is_one_pass() {
    let place = filled();
    let done = place.flashlab("load --on ./t.img --rw read --bs 64K --iodepth 1,4 --numjobs 1,2 --json -").code(0);
    let points = points(&done);
    let place_of =
        |p: &Value| (p["at"]["iodepth"].as_u64(), p["at"]["numjobs"].as_u64(), p["job"]["read"]["bytes"].as_u64());
    let all = Some(8 << 20);
    let expected = [(1, 1), (1, 2), (4, 1), (4, 2)].map(|(d, j)| (Some(d), Some(j), all));
    assert_eq!(points.iter().map(place_of).collect::<Vec<_>>(), expected);
}

/// Each way to load reaches the engine, which says in the result what it did.
#[test]
fn engine_and_ways_reach_the_result() {
    let place = filled();
    let run = |more: &str| {
        points(&place.flashlab(&format!("load --on ./t.img --rw randread --runtime 150ms --json - {more}")).code(0))
            .remove(0)
    };
    for (engine, word) in
        [("io_uring", "\"io_uring\""), ("psync", "\"psync\""), ("null", "\"null\""), ("nop", "\"io_uring-nop\"")]
    {
        let point = run(&format!("--engine {engine}"));
        assert_eq!(granted(&point, "engine"), word);
        let nothing = point["remarks"].to_string().contains("no I/O reached the target");
        assert_eq!(nothing, ["null", "nop"].contains(&engine), "{point}");
    }
    let point = run("--iopoll --sqpoll --cpus 0 --slat --iodepth 4 --interval 50ms");
    assert!(granted(&point, "features").contains("pinned to CPUs 0"), "{point}");
    let polled = |name: &str| granted(&point, "features").contains(name) != granted(&point, "refused").contains(name);
    assert!(polled("IOPOLL") && polled("SQPOLL"), "granted or refused: {}", point["job"]["granted"]);
    assert!(point["job"]["read"]["slat"].is_object() && point["remarks"].to_string().contains("read slat"), "{point}");
    assert_eq!(point["job"]["series"].as_array().map(Vec::len), Some(3));
    let node = place.flashlab("load --on ./t.img --rw randread --runtime 150ms --numa 0 --json -");
    match Path::new("/sys/devices/system/node/node0/cpulist").exists() {
        true => assert!(granted(&points(&node.code(0))[0], "features").contains("pinned")),
        false => assert!(node.code(2).err.contains("no such node")),
    }
}

#[test]
fn an_open_loop_has_both_times_and_its_rate() {
    let place = filled();
    for process in ["linear", "poisson"] {
        let arguments = format!(
            "load --on ./t.img --rw randread --runtime 1s --rate-iops 400 --rate-process {process} --iodepth 16 --json -"
        );
        let point = points(&place.flashlab(&arguments).code(0)).remove(0);
        let read = &point["job"]["read"];
        let ios = read["ios"].as_u64().expect("a count");
        // Poisson: five standard deviations of 400.
        assert!((300..=500).contains(&ios), "{process}: {ios}");
        assert!(read["service"].is_object() && point["remarks"].to_string().contains("service time"), "{point}");
    }
}

#[test]
fn each_key_of_the_load_is_accepted() {
    let place = filled();
    for keys in [
        "--rw randread --distribution zipf:1.2",
        "--rw randread --distribution pareto:0.2",
        "--rw randread --random-distribution normal:10",
        "--rw randread --distribution zoned:90/10:10/90",
        "--rw randrw --percentage-random 30,80 --rwmixread 60",
        "--rw randread --percentage-random 0 --thinktime 5ms --thinktime-blocks 4 --iodepth 4",
        "--rw randwrite --thinktime 1ms",
        "--rw randrw --rwmixread 70 --bssplit 4KiB/60:64KiB/40 --iodepth 8",
        "--rw randwrite --bsrange 4KiB-16KiB --align 4KiB",
        "--rw randwrite --fsync 4 --write-hint short",
        "--rw randwrite --fdatasync 4 --dsync",
        "--rw randwrite --compress-percent 50 --dedupe-percent 25",
        "--rw write --data-pattern 0xdeadbeef --offset 1M --amount 2M",
        "--rw read --stride 8KiB --sharing shared --numjobs 2 --ramp 50ms --rate 10MB/s",
    ] {
        place.flashlab(&format!("load --on ./t.img {keys} --runtime 150ms")).code(0);
    }
    let written = fs::read(place.path("t.img")).expect("the file");
    assert_eq!(written[1 << 20..(1 << 20) + 8], [0xde, 0xad, 0xbe, 0xef, 0xde, 0xad, 0xbe, 0xef]);
    let said = place.flashlab("load --on ./t.img --rw randwrite --fsync 4 --amount 1M").code(0).out;
    assert!(said.contains(" × fsync, mean"), "{said}");
}

/// What one command takes of a load the other takes too, in the same words.
#[test]
fn what_if_takes_the_same_load() {
    let place = Place::new();
    place.write("load.toml", "rw = 'randread'\nsizes = '4KiB/60:64KiB/40'\niodepth = 8\ndistribution = 'zipf:1.2'\n");
    let keys = "--rw randread --bssplit 4KiB/60:64KiB/40 --iodepth 8 --distribution zipf:1.2";
    let [by_options, by_file] = [keys, "--job load.toml"].map(|load| {
        place.flashlab(&format!("load --on p5430-30 {load} --runtime 20ms")).code(0);
        place.flashlab(&format!("what-if p5430-30 {load} --json -")).code(0).json()
    });
    assert_eq!(by_options, by_file);
    assert_eq!(by_file["load"], "randread 4KiB/60:64KiB/40, iodepth 8, numjobs 1, distribution zipf:1.2");
    assert!(by_file["drives"][0]["variants"][0]["outcome"]["fresh"]["iops"].as_f64() > Some(0.0));
}

#[test]
fn a_load_file_and_a_fio_file_do_the_same() {
    let place = filled();
    place.write("load.toml", "rw = 'randwrite'\nbs = '16KiB'\niodepth = 8\nruntime = '200ms'\nworkload = 'w'\n");
    place.write(
        "load.fio",
        "[w]\nrw=randwrite\nbs=16k\niodepth=8\nioengine=libaio\nruntime=200ms\ntime_based\nnorandommap\n",
    );
    let [by_toml, by_fio] = ["--job load.toml", "--fio load.fio"].map(|how| {
        let done = place.flashlab(&format!("load --on ./t.img {how} --plan")).code(0);
        let plan = done.out.lines().filter(|line| line.contains("numjobs 1")).map(str::to_owned);
        plan.collect::<Vec<_>>()
    });
    assert_eq!(by_toml, by_fio);
    let both = "[first]\nrw=write\nbs=64k\nsize=1m\n[second]\nstonewall\nrw=randread\nsize=1m\nloops=2\n";
    place.write("both.fio", both);
    let done = place.flashlab("load --on ./new.img --fio both.fio --json -").code(0);
    let bytes: Vec<u64> = points(&done)
        .iter()
        .map(|p| p["job"]["read"]["bytes"].as_u64().unwrap_or(0) + p["job"]["write"]["bytes"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(bytes, [1 << 20, 2 << 20]);
    assert_eq!(fs::metadata(place.path("new.img")).expect("the file").len(), 1 << 20);
    // A size of no whole number of the largest blocks.
    place.write("odd.fio", "[a]\nrw=write\nbs=128k\nsize=1000k\n[b]\nstonewall\nrw=read\nbs=4k\nsize=1000k\n");
    let bytes: Vec<u64> = points(&place.flashlab("load --on ./odd.img --fio odd.fio --json -").code(0))
        .iter()
        .map(|p| p["job"]["read"]["bytes"].as_u64().unwrap_or(0) + p["job"]["write"]["bytes"].as_u64().unwrap_or(0))
        .collect();
    assert_eq!(bytes, [1_024_000; 2]);
}

/// Sections of a fio file: reads beside limited writes, then reads alone.
const AT_ONCE: &str = "[global]\nfilename=./t.img\ntime_based\nruntime=600ms\n[reader]\nrw=randread\n\
                       [writer]\nrw=write\nbs=64k\niodepth=4\nioengine=libaio\nrate_iops=100\n[alone]\nstonewall\nrw=randread\n";

#[test]
fn sections_without_a_stonewall_run_at_the_same_time() {
    let place = filled();
    place.write("at-once.fio", AT_ONCE);
    let load = "load --on ./t.img --fio at-once.fio";
    let plan = place.flashlab(&format!("{load} --plan")).code(0).out;
    assert!(plan.contains("reader iodepth 1, numjobs 1 and writer iodepth 4, numjobs 1,"), "{plan}");
    let done = place.flashlab(&format!("{load} --interval 100ms --json -")).code(0);
    let all = points(&done);
    let seen: Vec<_> = all
        .iter()
        .map(|p| (p["at"]["workload"].as_str(), p["job"]["elapsed_ns"].as_u64(), p["job"]["cpu_user_ns"].is_null()))
        .collect();
    let each = |name, is_one_of_several| (Some(name), Some(600_000_000), is_one_of_several);
    assert_eq!(seen, [each("reader", true), each("writer", true), each("alone", false)]);
    let said = |i: usize| all[i]["remarks"].to_string();
    assert!(said(0).contains("ran at the same time as writer") && said(1).contains("at the same time as reader"));
    assert!(!said(2).contains("at the same time"), "{}", said(2));
    for point in &all {
        let series = point["job"]["series"].as_array().expect("a series");
        let sum = |way: &str| series.iter().map(|i| i[way]["ios"].as_u64().unwrap_or(0)).sum::<u64>();
        let ios = |way: &str| point["job"][way]["ios"].as_u64().expect("a count");
        assert_eq!((series.len(), sum("read"), sum("write")), (6, ios("read"), ios("write")), "{point}");
    }
    place.flashlab("report 1").code(0);
    let page = place.read("report/index.html");
    assert!(["reader", "writer", "ran at the same time as writer"].iter().all(|words| page.contains(words)));
    // One of them, and one run time for all.
    place.flashlab(&format!("{load} --section writer")).code(0);
    let done = place.flashlab(&format!("{load} --runtime 200ms --json -")).code(0);
    assert!(points(&done).iter().all(|p| p["job"]["elapsed_ns"] == 200_000_000));
}

#[test]
fn what_fio_would_run_otherwise_is_refused() {
    let place = filled();
    let two = |from: &str, to: &str| AT_ONCE.replace(from, to);
    for (text, on, says) in [
        (two("[writer]", "[reader]"), "./t.img", "at-once.fio:5: another section is named reader too"),
        (two("[alone]", "[writer]"), "./t.img", "at-once.fio:7: another section is named writer too"),
        (
            two("[writer]", "[writer]\nfilename=./u.img"),
            "./t.img",
            "reader and writer run at the same time on different",
        ),
        (AT_ONCE.to_owned(), "r6060-122", "r6060-122 is a modelled drive, which runs one load at a time"),
        (two("rw=write", "rw=write\nstartdelay=5"), "./t.img", "startdelay"),
        (
            two("rw=write", "rw=write\nverify=crc32c").replace("rw=randread", "rw=randwrite"),
            "./t.img",
            "needs to know the one",
        ),
    ] {
        place.write("at-once.fio", text);
        let refused = place.flashlab(&format!("load --on {on} --fio at-once.fio --store refused.db")).code(2);
        assert!(refused.err.contains(says), "no {says} in {}", refused.err);
    }
    place.write("at-once.fio", two("filename=./t.img\n", ""));
    let done = place.flashlab("load --on ./t.img --fio at-once.fio --runtime 100ms").code(0);
    assert!(done.err.contains("at-once.fio: reader, writer have a file each in fio"), "{}", done.err);
}

#[test]
fn a_load_file_can_have_several_loads_on_several_targets() {
    let place = filled();
    place.flashlab("load --on ./u.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.write(
        "loads.toml",
        "[[load]]\nrw = 'randread'\nbs = '4KiB'\nruntime = '450ms'\n[[load]]\nworkload = 'w'\nrw = 'randwrite'\n\
         bs = '16KiB'\nruntime = '250ms'\n",
    );
    let done = place.flashlab("load --on ./t.img,./u.img --job loads.toml --interval 100ms --json -").code(0);
    let all = points(&done);
    let [t_read, t_write, u_read, u_write, read, write] = all.as_slice() else { panic!("{} points", all.len()) };
    for (sum, way, parts, elapsed) in
        [(read, "read", [t_read, u_read], 400_000_000), (write, "write", [t_write, u_write], 200_000_000)]
    {
        // The whole intervals of both targets.
        let counted = |part: &Value| -> u64 {
            let series = part["job"]["series"].as_array().expect("a series");
            let whole = series.iter().take(elapsed as usize / 100_000_000);
            whole.map(|i| i[way]["ios"].as_u64().unwrap_or(0)).sum()
        };
        assert_eq!(sum["job"]["elapsed_ns"], elapsed);
        assert_eq!(sum["job"][way]["ios"].as_u64(), Some(parts.map(counted).iter().sum()));
        let said = sum["remarks"].to_string();
        assert!(said.contains("sum of 2 targets") && said.contains("ran at the same time as"), "{said}");
    }
    assert!(t_read["remarks"].to_string().contains("ran at the same time as w, which ended 200 ms earlier"));
}

#[test]
fn a_signal_keeps_what_all_loads_have_measured() {
    let place = filled();
    place.write("at-once.fio", AT_ONCE);
    let mut command = Command::new(FLASHLAB);
    command.args("load --on ./t.img --fio at-once.fio --runtime 600s".split(' '));
    let child = command.current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("a child");
    std::thread::sleep(Duration::from_millis(1_500));
    system("kill", &["-INT", &child.id().to_string()]).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{out}{}", String::from_utf8_lossy(&output.stderr));
    let kept = points(&place.flashlab("export 1 --json -").code(0));
    let names: Vec<_> = kept.iter().filter_map(|p| p["at"]["workload"].as_str()).collect();
    assert_eq!(names, ["reader", "writer"]);
    assert!(kept.iter().all(|p| p["remarks"].to_string().contains("interrupted: covers")), "{kept:?}");
}

#[test]
fn a_later_run_verifies_what_an_earlier_one_wrote() {
    let place = filled();
    let ledgers = Place::in_memory();
    let ledger = ledgers.path("ledger").display().to_string();
    let check = format!("load --on ./t.img --rw read --bs 64K --verify check --ledger {ledger}");
    place.flashlab(&format!("load --on ./t.img --rw write --bs 64K --verify read-back --ledger {ledger}")).code(0);
    place.flashlab(&check).code(0);
    let mut image = fs::read(place.path("t.img")).expect("the file");
    image[400_000] ^= 1;
    let parts: (Vec<u8>, Vec<u8>) = (image[0..65_536].to_vec(), image[65_536..131_072].to_vec());
    image[0..65_536].copy_from_slice(&parts.1);
    fs::write(place.path("t.img"), &image).expect("written");
    let failed = place.flashlab(&format!("{check} --continue-on-error")).code(3);
    for words in
        ["1 × verify-misdirected, first at byte 0", "1 × verify-corrupt, first at byte 393216", "found address 65536"]
    {
        assert!(failed.out.contains(words), "no {words} in\n{}", failed.out);
    }
    let same = place.flashlab("load --on ./t.img --rw write --bs 64K --verify stamp --ledger ./ledger").code(3);
    assert!(same.err.contains("own file system"), "{}", same.err);
    let nothing = place.flashlab(&format!("load --on ./t.img --rw read --ledger {ledger}")).code(2);
    assert!(nothing.err.contains("nothing is verified"), "{}", nothing.err);
}

#[test]
fn a_check_needs_the_ledger_of_the_run_that_wrote() {
    let place = filled();
    place.flashlab("load --on ./u.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let ledgers = Place::in_memory();
    let ledger = ledgers.path("ledger").display().to_string();
    let check = format!("load --on ./t.img --rw read --bs 64K --verify check --ledger {ledger} --store check.db");
    let missing = place.flashlab(&check).code(2);
    assert!(missing.err.contains("does not exist"), "{}", missing.err);
    assert!(!ledgers.path("ledger").exists() && !place.path("check.db").exists(), "a refused check leaves nothing");
    // Of two targets at once each has its own.
    let write = "load --on ./t.img,./u.img --rw write --bs 64K --verify stamp --ledger";
    place.flashlab(&format!("{write} {ledger}")).code(0);
    let hint = place.flashlab(&check).code(2);
    assert!(hint.err.contains(&format!("use --ledger {ledger}.t.img")), "{}", hint.err);
    let done = place.flashlab(&check.replace(" --store", ".t.img --store")).code(0);
    assert!(done.out.contains("128 blocks checked: the ledger expects a generation of all of them"), "{}", done.out);
    fs::create_dir(place.path("other")).expect("a folder");
    fs::rename(place.path("u.img"), place.path("other/t.img")).expect("renamed");
    let twins = place.flashlab(&format!("{} {ledger}.two", write.replace("./u.img", "./other/t.img"))).code(2);
    assert!(twins.err.contains("two targets are named t.img"), "{}", twins.err);
}

#[test]
fn whichever_end_comes_first_ends_a_load() {
    let place = filled();
    place.write("load.toml", "rw = 'randread'\nbs = '4KiB'\namount = '1MiB'\n");
    for (load, bytes) in [
        ("--on ./t.img --rw randread --amount 1M", 1 << 20),
        ("--on ./t.img --rw read --bs 64K --passes 2", 16 << 20),
        ("--on ./t.img --rw randread --passes 3 --amount 2M", 2 << 20),
        ("--on ./t.img --job load.toml", 1 << 20),
        ("--on p5430-30 --size 1G --rw randread --amount 1M --passes 1", 1 << 20),
    ] {
        let done = place.flashlab(&format!("load {load} --runtime 100s --json -")).code(0);
        let point = points(&done).remove(0);
        let (moved, elapsed) = (&point["job"]["read"]["bytes"], &point["job"]["elapsed_ns"]);
        let scale = point["job"]["scale"].as_u64().unwrap_or(1);
        assert!(elapsed.as_u64().is_some_and(|ns| ns < 100_000_000_000), "{load}: {elapsed}");
        if scale == 1 {
            assert_eq!(moved.as_u64(), Some(bytes), "{load}");
        }
    }
    let none = place.flashlab("load --on ./t.img --rw randread --amount 0B --runtime 1s").code(2);
    assert!(none.err.contains("the amount is 0"), "{}", none.err);
}

#[test]
fn what_would_be_refused_in_mid_run_is_refused_before_anything_is_lost() {
    let place = Place::new();
    let once = "load --on ./new.img --size 8M --rw randwrite --distribution once --numjobs 3 --verify stamp";
    let refused = place.flashlab(once).code(2);
    assert!(refused.err.contains("its slice"), "{}", refused.err);
    place.flashlab("load --on ./new.img --size 8M --rw write --json ./none/x").code(3);
    assert_eq!(place.listing(), Vec::<String>::new());
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let before = fs::read(place.path("t.img")).expect("the file");
    let bad = "\n[[step]]\ndo = 'sweep'\nworkload = 'w'\nrw = 'randwrite'\nbs = '4KiB'\niodepth = 1\nnumjobs = 1\n\
               runtime = '100ms'\nverify = 'stamp'\n";
    place.write("late.toml", [TINY, bad].concat());
    let late = place.flashlab("run ./late.toml --on ./t.img").code(2);
    assert!(late.err.contains("without repeats"), "{}", late.err);
    assert!(fs::read(place.path("t.img")).expect("the file") == before && !place.path("flashlab.db").exists());
    // The second target is in use by another run: the first one does not stay larger.
    place.flashlab("load --on ./u.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let taken = fs::File::open(place.path("u.img")).expect("the file");
    taken.lock().expect("as another run has it");
    let refused = place.flashlab("load --on ./t.img,./u.img --size 16M --rw randwrite --runtime 1s").code(4);
    assert!(refused.err.contains("another run has locked the file"), "{}", refused.err);
    assert_eq!(fs::metadata(place.path("t.img")).expect("the file").len(), 8 << 20);
}

#[test]
fn a_kill_is_no_false_alarm_and_hides_nothing() {
    let place = filled();
    let ledgers = Place::in_memory();
    let ledger = ledgers.path("ledger").display().to_string();
    let write = format!(
        "load --on ./t.img --rw randwrite --distribution once --bs 4K --iodepth 8 --verify stamp --ledger {ledger}"
    );
    let mut command = Command::new(FLASHLAB);
    command.args(write.split(' ')).args(["--runtime", "600s"]).current_dir(place.path(""));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
    std::thread::sleep(Duration::from_millis(1_500));
    child.kill().expect("killed");
    child.wait().expect("an end");
    assert_eq!(place.runs("flashlab.db")[0]["status"], "unfinished");
    let check = format!("load --on ./t.img --rw read --bs 4K --iodepth 8 --verify check --ledger {ledger}");
    place.flashlab(&check).code(0);
    // A block that was acknowledged many passes ago is lost.
    let mut image = fs::read(place.path("t.img")).expect("the file");
    image[40_960..45_056].fill(0);
    fs::write(place.path("t.img"), &image).expect("written");
    let failed = place.flashlab(&check).code(3);
    assert!(failed.out.contains("1 × verify-never-written, first at byte 40960"), "{}", failed.out);
}

#[test]
fn several_targets_run_at_once_with_a_sum() {
    let place = filled();
    place.flashlab("load --on ./u.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let done = place
        .flashlab("load --on ./t.img,./u.img --rw randread --iodepth 2 --runtime 1100ms --interval 100ms --json -")
        .code(0);
    let points = points(&done);
    let ios = |p: &Value| p["job"]["read"]["ios"].as_u64().expect("a count");
    let [t, u, sum] = points.as_slice() else { panic!("{} points", points.len()) };
    assert!(ios(sum) > 0 && ios(sum) <= ios(t) + ios(u), "{} of {} and {}", ios(sum), ios(t), ios(u));
    assert!(sum["remarks"].to_string().contains("sum of 2 targets"), "{}", sum["remarks"]);
    let runs = place.runs("flashlab.db");
    let names: Vec<&str> = runs.iter().filter_map(|run| run["drive_id"].as_str()).collect();
    assert_eq!(names, ["t.img", "u.img", "t.img+u.img"]);
    place.flashlab("report 1 2 3").code(0);
    // Of the same name in another folder.
    fs::create_dir(place.path("more")).expect("a folder");
    place.flashlab("load --on ./more/t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.flashlab("load --on ./t.img,./more/t.img --rw randread --runtime 300ms --interval 100ms").code(0);
    let runs = place.runs("flashlab.db");
    let names: Vec<&str> = runs[3..].iter().filter_map(|run| run["drive_id"].as_str()).collect();
    assert_eq!(names, ["t.img", "more/t.img", "t.img+more/t.img"]);
    let twice = place.flashlab("load --on ./t.img --on ./t.img --rw randread --runtime 1s").code(2);
    assert!(twice.err.contains("named twice"), "{}", twice.err);
}

#[test]
fn one_failing_target_marks_itself_and_the_others_go_on() {
    let place = filled();
    // Holes need no disk; what lies behind the cut is gone in mid-run.
    place.write("u.img", "");
    let cut = |length| fs::File::options().write(true).open(place.path("u.img")).and_then(|f| f.set_len(length));
    cut(8 << 20).expect("a file");
    let mut command = Command::new(FLASHLAB);
    command.args("load --on ./t.img,./u.img --rw randread --iodepth 2 --runtime 3s".split(' '));
    let child = command.current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    std::thread::sleep(Duration::from_millis(1_200));
    cut(4096).expect("cut");
    let output = child.and_then(std::process::Child::wait_with_output).expect("an end");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    assert!(out.contains("× short-read"), "{out}");
    assert!(out.contains("of one target alone: t.img") && out.contains("left out"), "{out}");
    let runs = place.runs("flashlab.db");
    let ends: Vec<&str> = runs
        .iter()
        .filter_map(|run| run["status"]["failed"].as_str().map(|_| "failed").or(run["status"].as_str()))
        .collect();
    assert_eq!(ends, ["done", "failed", "failed"], "{runs:?}");
}

#[test]
fn a_signal_keeps_what_was_measured_as_a_part() {
    for signal in ["INT", "TERM"] {
        let place = filled();
        let mut command = Command::new(FLASHLAB);
        command.args("load --on ./t.img --rw randread --iodepth 2 --runtime 600s".split(' '));
        let child = command.current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("a child");
        std::thread::sleep(Duration::from_millis(1_500));
        system("kill", &[&format!("-{signal}"), &child.id().to_string()]).expect("a signal");
        let output = child.wait_with_output().expect("an end");
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "{out}{}", String::from_utf8_lossy(&output.stderr));
        assert!(out.contains("interrupted: covers") && out.contains("rand-read-4k"), "{out}");
        let list = place.flashlab("list").code(0).out;
        assert!(list.contains("interrupted") && list.contains("is a part: it was stopped in it"), "{list}");
        place.flashlab("report latest").code(0);
        assert!(place.read("report/index.html").contains("interrupted: covers"));
    }
}

#[test]
fn a_signal_stops_several_targets_and_their_sum_is_a_part() {
    let place = filled();
    place.flashlab("load --on ./u.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let mut command = Command::new(FLASHLAB);
    command.args("load --on ./t.img,./u.img --rw randread --iodepth 2 --runtime 600s --interval 100ms".split(' '));
    let child = command.current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("a child");
    std::thread::sleep(Duration::from_millis(1_500));
    system("kill", &["-INT", &child.id().to_string()]).expect("a signal");
    let output = child.wait_with_output().expect("an end");
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{out}{}", String::from_utf8_lossy(&output.stderr));
    let statuses: Vec<Value> = place.runs("flashlab.db").iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["interrupted"; 3]);
    assert!(out.contains("sum of 2 targets") && out.matches("interrupted: covers").count() >= 3, "{out}");
}

/// A clock on the wall that jumps by a day at each look, forward and back.
const JUMPING_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *now) {
    static long looks;
    int failed = syscall(SYS_clock_gettime, which, now);
    if (which == CLOCK_REALTIME) now->tv_sec += (++looks % 2 ? 86400 : -86400);
    return failed;
}
"#;

#[test]
fn a_clock_that_jumps_changes_no_figure() {
    let place = filled();
    place.write("clock.c", JUMPING_CLOCK);
    let built = place.command("sh", &["-c", "cc -shared -fPIC -o clock.so clock.c"]);
    if built.code != Some(0) {
        return skipped(&format!("a clock that jumps: no C compiler: {}", built.err));
    }
    let run = |more: &str| {
        let load = "load --on ./t.img --rw randread --iodepth 2 --runtime 1500ms --ramp 200ms --json -";
        let command = format!("{more} {FLASHLAB} {load}");
        let done = place.command("sh", &["-c", &command]).code(0);
        let started = done.json()["runs"][0]["manifest"]["started"].as_str().expect("a time").to_owned();
        (points(&done).remove(0), started)
    };
    let ((point, jumped), (_, now)) = (run("LD_PRELOAD=./clock.so"), run(""));
    // The day of the jump is in the manifest and nowhere else.
    assert_ne!(jumped[..10], now[..10]);
    assert_eq!(point["job"]["elapsed_ns"], 1_500_000_000);
    let lengths: Vec<_> =
        point["job"]["series"].as_array().expect("a series").iter().map(|i| i["length_ns"].as_u64()).collect();
    assert_eq!(lengths, [Some(1_000_000_000), Some(500_000_000)]);
    let longest = point["job"]["read"]["lat"]["histogram"]["max_ns"].as_u64().expect("a latency");
    assert!(longest < 1_700_000_000 && point["job"]["errors"] == Value::Array(vec![]), "{longest}");
}

#[test]
fn a_load_is_bound_by_the_same_permits_as_a_run() {
    let place = Place::new();
    place.write("foreign.img", vec![7; 1 << 20]);
    let before = fs::read(place.path("foreign.img")).expect("the file");
    for (arguments, code, says) in [
        ("load --on ./foreign.img --rw randwrite --runtime 1s", 4, "--overwrite"),
        ("load --on ./new.img --rw randread --runtime 1s", 2, "a load that only reads creates no file"),
        ("load --on ./new.img --rw randwrite --runtime 1s", 2, "add --size"),
        ("load --on /dev/no-such-device --rw randwrite --runtime 1s", 4, "there is no device"),
        ("load --on ./foreign.img --bs 4k", 2, "no load was given"),
        ("load --on ./foreign.img --rw randraed", 2, "randread"),
        ("load --on ./foreign.img --rw read --workload=", 2, "--workload"),
        ("load --on ./foreign.img --rw read --rwmixread 70", 2, "rwmixread of a load that is no mix"),
        ("load --on ./new.img --rw read --size 1M", 2, "./new.img: does not exist"),
        ("load --on ./foreign.img --rw read --fsync 1", 2, "fsync of a load that writes nothing"),
        ("load --on ./foreign.img --rw read --write-hint short", 2, "leave write_hint out"),
        (
            "load --on ./foreign.img --rw randrw --rwmixtrim 60 --overwrite",
            2,
            "rwmixread 50 and rwmixtrim 60 are 110 %",
        ),
        ("load --on ./foreign.img --rw read --deadline 999us", 2, "use at least 1 ms"),
        ("load --on ./foreign.img --job x.toml --rw read", 2, "--job"),
        ("load --on ./foreign.img --rw read --offset 2M", 2, "lies outside"),
        ("load --on ./foreign.img --rw read --size 2M", 2, "--size"),
        ("load --on ./foreign.img --rw read --engine psync --iodepth 4", 2, "iodepth 1"),
        ("load --on ./foreign.img --rw randwrite --destroy-data x", 2, "is for devices"),
        ("load --on ./foreign.img --rw read --cpus 5-1", 2, "0-3,8"),
        ("load --on r6060-122,./foreign.img --rw read --runtime 1s", 2, "is a modelled drive"),
        ("load --on r6060-122 --rw randread --runtime 100ms --slat", 2, "no meaning"),
        (
            "load --on r6060-122 --rw randread --runtime 100ms --thinktime 1ms",
            2,
            "thinktime is not supported by the modelled",
        ),
        ("load --on ./foreign.img --rw read --percentage-random 50", 2, "use rand and the same word"),
        ("load --on ./foreign.img --rw read --thinktime-blocks 50", 2, "--thinktime"),
        ("load --on ./foreign.img --rw read --thinktime 1ms --rate 1MB/s", 2, "--thinktime"),
        ("load --on ./foreign.img --rw read --thinktime 1ms --engine null", 2, "use the engine nop"),
        ("load --on ./foreign.img --rw randread --runtime 1s --store foreign.img", 4, "is also a target"),
    ] {
        let done = place.flashlab(arguments).code(code);
        assert!(done.err.contains(says), "{arguments}: no {says} in {}", done.err);
    }
    assert!(!place.path("flashlab.db").exists() && !place.path("new.img").exists());
    place.flashlab("load --on ./own.img --rw write --bs 64KiB --size 1M --passes 1 --store own.db").code(0);
    let refused = place.flashlab("load --on ./own.img --rw read --size 2M --runtime 1s").code(2);
    assert!(refused.err.contains("the target has 1 MiB") && refused.err.contains("by a load that writes"));
    assert!(fs::read(place.path("foreign.img")).expect("the file") == before);
    place.flashlab("load --on ./foreign.img --rw randread --runtime 100ms").code(0);
}

#[test]
fn a_device_needs_the_token_that_the_plan_prints() {
    if !root_for("a loop device") {
        return;
    }
    let place = Place::new();
    let image = place.write("d.img", vec![0; 4 << 20]);
    let Some(device) = Loop::attach(&image) else { return };
    let load = format!("load --on {} --rw randwrite --iodepth 4 --runtime 200ms --buffered", device.node);
    place.flashlab(&load).code(4);
    let plan = place.flashlab(&format!("{load} --plan")).code(0).out;
    let command = plan.lines().find(|line| line.contains("--destroy-data")).expect("the command").trim();
    let done = place.flashlab(command.strip_prefix("flashlab ").expect("the program")).code(0);
    assert!(done.out.contains("MEASURED"), "{}", done.out);
}

#[test]
fn the_plan_of_two_devices_has_both_tokens() {
    if !root_for("two loop devices") {
        return;
    }
    let place = Place::new();
    let (a, b) = (place.write("a.img", vec![0; 4 << 20]), place.write("b.img", vec![0; 4 << 20]));
    let (Some(a), Some(b)) = (Loop::attach(&a), Loop::attach(&b)) else { return };
    let load = format!("load --on {},{} --rw randwrite --runtime 200ms --buffered", a.node, b.node);
    let plan = place.flashlab(&format!("{load} --plan")).code(0).out;
    let commands: Vec<&str> = plan.lines().filter(|line| line.contains("--destroy-data")).collect();
    let [command] = commands.as_slice() else { panic!("not one command in {plan}") };
    let command = command.trim().strip_prefix("flashlab ").expect("the program");
    let (without, _) = command.rsplit_once(',').expect("two tokens");
    let refused = place.flashlab(without).code(4);
    assert!(refused.err.contains(&format!("{}: all data on this device", b.node)), "{}", refused.err);
    assert!(refused.err.contains("--destroy-data A,B") && refused.err.contains("--plan"), "{}", refused.err);
    place.flashlab(command).code(0);
}

#[test]
fn the_plan_of_a_load_is_json_too() {
    let plan = Place::new().flashlab("load --on ./new.img --size 1M --rw write --plan --json -").code(0).json();
    assert_eq!(
        (plan["schema"].as_str(), plan["total"]["writes_bytes"].as_u64()),
        (Some("flashlab-plan"), Some(1 << 20))
    );
}

#[test]
fn a_modelled_drive_takes_the_same_load() {
    let place = Place::new();
    let iops = |share: u8| {
        let load = format!("load --on r6060-122 --rw randread --percentage-random {share} --runtime 50ms --json -");
        let point = points(&place.flashlab(&load).code(0)).remove(0);
        point["metrics"]
            .as_array()
            .expect("metrics")
            .iter()
            .find(|m| m["name"] == "iops")
            .and_then(|m| m["value"].as_f64())
    };
    assert!(iops(50).is_some() && iops(50) != iops(100));
    let done =
        place.flashlab("load --on r6060-122 --rw randwrite --bs 16K --iodepth 32 --numjobs 4 --runtime 50ms").code(0);
    assert!(done.out.contains("MODELLED") && done.out.contains("rand-write-16k"), "{}", done.out);
}
