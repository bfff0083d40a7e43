//! A trace as the load of `flashlab what-if` and `flashlab load`: the three formats, and what is refused.

mod common;

use common::Place;
use std::fmt::Write;

/// 600 requests a millisecond apart; every third one writes 128 KiB, the others read 8 KiB.
fn requests() -> impl Iterator<Item = (u64, bool, u64, u64)> {
    (0..600).map(|i| {
        let offset = i * 7_919 % 600 * 16_777_216;
        if i % 3 == 0 { (i, true, offset, 131_072) } else { (i, false, offset, 8192) }
    })
}

/// The same requests as a fio iolog, version 3 with times and version 2 without, as text of blkparse and as MSR CSV.
fn texts() -> [(&'static str, String); 4] {
    let mut texts = [
        ("iolog", "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned()),
        ("iolog", "fio version 2 iolog\n/dev/a add\n/dev/a open\n".to_owned()),
        ("blkparse", String::new()),
        ("msr", String::new()),
    ];
    for (ms, writes, offset, length) in requests() {
        let word = if writes { "write" } else { "read" };
        _ = writeln!(texts[0].1, "{} /dev/a {word} {offset} {length}", ms * 1_000);
        _ = writeln!(texts[1].1, "/dev/a {word} {offset} {length}");
        let (letter, sector, sectors) = (if writes { 'W' } else { 'R' }, offset / 512, length / 512);
        let (s, ns) = (ms / 1_000, ms % 1_000 * 1_000_000);
        _ = writeln!(texts[2].1, "  8,0 1 {} {s:5}.{ns:09} 42 D {letter} {sector} + {sectors} [app]", ms + 1);
        let (ticks, kind) = (128_166_372_003_061_629 + ms * 10_000, if writes { "Write" } else { "Read" });
        _ = writeln!(texts[3].1, "{ticks},host,0,{kind},{offset},{length},100");
    }
    texts
}

#[test]
fn each_format_gives_the_same_answer() {
    let place = Place::new();
    let mut answers = Vec::new();
    for (i, (format, text)) in texts().into_iter().enumerate() {
        place.write("trace", text);
        let option = if i == 3 { format!(" --format {format}") } else { String::new() };
        let done = place.flashlab(&format!("what-if p5430-30 --trace ./trace{option} --json -")).code(0);
        let words = if i == 1 { "without times" } else { "600 requests in 599 ms" };
        assert!(done.err.contains(&format!("./trace: {format}")), "{}", done.err);
        let json = done.json();
        assert!(json["load"].as_str().is_some_and(|load| load.contains(words)), "{}", json["load"]);
        assert_eq!(json["provenance"], "modelled");
        let base = &json["drives"][0]["variants"][0]["outcome"];
        assert_eq!(base["fresh"]["read_latency"]["samples"], 400, "{base}");
        assert!(base["cliff"]["seconds"].is_null() && base["steady"]["write_amplification"].is_number(), "{base}");
        answers.push(json["drives"].clone());
    }
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[0], answers[3]);
    assert_ne!(answers[0], answers[1], "it has no times");
    let text = place.flashlab("what-if p5430-30 --trace ./trace").code(0).out;
    for says in
        ["MODELLED", "fresh: the trace touches", "fdp: left out: a trace does not say", "pool as asked: not known"]
    {
        assert!(text.contains(says), "no {says} in\n{text}");
    }
}

#[test]
fn what_can_not_be_played_is_refused_with_its_place() {
    let place = Place::new();
    let msr = |lines: &[&str]| lines.join("\n") + "\n";
    let row = "128166372003061629,host,0,Read,4096,4096,100";
    place.write("broken.csv", msr(&[row, "128166372003061630,host,0,Read,40x6,4096,100"]));
    place.write("far.csv", msr(&[row, "128166372003061630,host,0,Read,31000000000000000,4096,100"]));
    place.write("two.csv", msr(&[row, "128166372003061630,host,1,Read,4096,4096,100"]));
    place.write("odd.csv", msr(&["128166372003061630,host,1,Read,1000,4096,100"]));
    let drive = "what-if p5430-30 --trace";
    for (arguments, says) in [
        (format!("{drive} ./broken.csv"), ["./broken.csv:2: expected", "correct the line"]),
        (format!("{drive} ./far.csv"), ["./far.csv (msr): p5430-30 is too small", "--fold"]),
        (format!("{drive} ./two.csv"), ["./two.csv: requests of several devices", "choose one"]),
        (format!("{drive} ./odd.csv"), ["round offsets and lengths", "logical block"]),
        (format!("{drive} ./none.csv"), ["./none.csv: no such file", "check the path"]),
        (format!("{drive} ./far.csv --format msrr"), ["unknown trace format `msrr`", "did you mean `msr`?"]),
        (format!("{drive} ./far.csv --bs 4KiB"), ["--trace", "--help"]),
        ("what-if p5430-30 --rw read --bs 4KiB --fold".to_owned(), ["--trace FILE", "leave them out"]),
    ] {
        let done = place.flashlab(&arguments).code(2);
        assert!(says.iter().all(|s| done.err.contains(s)) && done.out.is_empty(), "{arguments}: {done:?}");
    }
    let folded = place.flashlab(&format!("{drive} ./far.csv --fold")).code(0);
    assert!(folded.out.contains("folded into it"), "{}", folded.out);
    let chosen = place.flashlab(&format!("{drive} ./two.csv --device host,1 --json -"));
    assert_eq!(chosen.code, Some(0), "{}", chosen.err);
}

/// Requests of a thousandth of the size and the distance, for a file: 8 MiB, 512 B and 1 KiB.
fn small() -> String {
    let mut text = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned();
    for (ms, writes, offset, _) in requests().take(300) {
        let (word, length) = if writes { ("write", 8192) } else { ("read", 4096) };
        _ = writeln!(text, "{} /dev/a {word} {} {length}", ms * 1_000, offset / 2048);
    }
    text
}

fn point(done: &common::Done) -> serde_json::Value {
    done.json()["runs"][0]["steps"][0]["points"][0].clone()
}

#[test]
fn a_trace_is_not_written_over() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.write("t.log", small());
    place.write("t.fio", "[a]\nread_iolog=t.log\nioengine=io_uring\n");
    for (arguments, says) in [
        ("load --on ./t.img --fio t.fio --json t.log --replace", "--json t.log is also a trace of the fio file"),
        ("load --on ./t.img --trace t.log --json t.log --replace", "--json t.log is also the load"),
        ("load --on ./t.log --trace t.log --overwrite --fold", "./t.log is also the load"),
    ] {
        let done = place.flashlab(arguments);
        assert!(done.code == Some(4) && done.err.contains(says), "{arguments}: {done:?}");
    }
    assert_eq!((place.read("t.log"), place.path("flashlab.db").exists()), (small(), false));
}

/// A list ends with its last request, and not a gap later.
#[test]
fn a_short_trace_lasts_as_long_as_its_span() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.write(
        "t.log",
        "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n0 /dev/a read 0 4096\n1500000 /dev/a read 8192 4096\n",
    );
    for engine in ["io_uring", "psync --iodepth 1", "null"] {
        let done = place.flashlab(&format!("load --on ./t.img --trace ./t.log --json - --engine {engine}")).code(0);
        let elapsed = point(&done)["job"]["elapsed_ns"].as_u64();
        assert!(elapsed >= Some(1_500_000_000) && elapsed < Some(2_900_000_000), "{engine}: {elapsed:?}");
    }
    let cut = place.flashlab("load --on ./t.img --trace ./t.log --json - --runtime 100ms").code(0);
    let said = point(&cut)["remarks"].to_string();
    assert!(said.contains("2 requests (2 read)") && said.contains("; 1 of them came back in the measured"), "{said}");
}

#[test]
fn a_trace_is_replayed_on_a_file_at_its_times() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let before = std::fs::read(place.path("t.img")).expect("the file");
    place.write("t.log", small());
    let plan = place.flashlab("load --on ./t.img --trace ./t.log --plan").code(0).out;
    assert!(plan.contains("./t.log (iolog), 300 requests in 299 ms as recorded, iodepth 256"), "{plan}");
    assert!(plan.contains("It overwrites the file") && plan.contains("819.2 kB"), "{plan}");
    let done = place.flashlab("load --on ./t.img --trace ./t.log --json -").code(0);
    assert!(done.err.contains("./t.log: iolog, 303 lines"), "{}", done.err);
    let point = point(&done);
    let ios = |direction: &str| point["job"][direction]["ios"].as_u64();
    assert_eq!((ios("read"), ios("write")), (Some(200), Some(100)), "{point}");
    assert_eq!((&point["at"]["workload"], &point["at"]["iodepth"]), (&"trace-t".into(), &256.into()));
    assert!(point["job"]["elapsed_ns"].as_u64() >= Some(299_000_000), "{point}");
    assert!(point["job"]["read"]["service"].is_object(), "{point}");
    let said = point["remarks"].to_string();
    let replayed = "replayed: ./t.log (iolog), 300 requests (200 read, 100 write) at their times over 299 ms";
    assert!(said.contains(replayed), "{said}");
    // What it writes, and nothing else, has changed.
    let after = std::fs::read(place.path("t.img")).expect("the file");
    let is_written = |block: usize| {
        requests().take(300).any(|(_, writes, offset, _)| {
            let first = offset as usize / 2048 / 4096;
            writes && (first..first + 2).contains(&block)
        })
    };
    let blocks = before.chunks(4096).zip(after.chunks(4096)).enumerate();
    for (block, (before, after)) in blocks {
        assert_eq!(before != after, is_written(block), "block {block}");
    }
    place.flashlab("report 1").code(0);
    assert!(place.read("report/index.html").contains(replayed));
}

#[test]
fn a_trace_without_times_is_as_fast_as_it_goes_and_one_beyond_the_end_is_refused_or_folded() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 4M --rw write --bs 1M --store fill.db").code(0);
    place.write("t.log", "fio version 2 iolog\na add\na open\na read 0 4096\na read 6291456 4096\na read 4096 8192\n");
    place.write("t.csv", "128166372003061629,host,0,Read,4096,4096,100\n128166372003061630,host,1,Read,0,512,100\n");
    for (arguments, code, says) in [
        ("--trace t.log", 2, "t.log (iolog) reaches to 6 MiB and the region has 4 MiB"),
        ("--trace t.log", 2, "fold the addresses into it (--fold)"),
        ("--trace t.csv", 2, "requests of several devices"),
        ("--trace t.log --rw read", 2, "--trace"),
        ("--trace t.log --bs 4k", 2, "--trace"),
        ("--trace t.log --fio t.log", 2, "--trace"),
        ("--rw read --fold", 2, "--trace"),
        ("--job t.log --fold", 2, "--trace"),
        ("--trace t.log --fold --store t.log", 4, "is also the load"),
    ] {
        let done = place.flashlab(&format!("load --on ./t.img {arguments}")).code(code);
        assert!(done.err.contains(says), "{arguments}: no {says} in {}", done.err);
    }
    let done = place.flashlab("load --on ./t.img --trace t.log --fold --iodepth 2 --workload w --json -").code(0);
    let point = point(&done);
    assert_eq!((&point["at"]["workload"], &point["at"]["iodepth"]), (&"w".into(), &2.into()));
    assert_eq!(point["job"]["read"]["bytes"], 16_384);
    let said = point["remarks"].to_string();
    assert!(said.contains("as fast as they are served") && said.contains("beyond 4 MiB were folded"), "{said}");
    place.flashlab("load --on ./t.img --trace t.csv --device host,0").code(0);
}

#[test]
fn writes_of_a_trace_need_the_permit_of_any_write() {
    let place = Place::new();
    place.write("foreign.img", vec![7; 8 << 20]);
    place.write("t.log", small());
    let refused = place.flashlab("load --on ./foreign.img --trace t.log").code(4);
    assert!(refused.err.contains("--overwrite"), "{}", refused.err);
    assert!(std::fs::read(place.path("foreign.img")).expect("the file").iter().all(|byte| *byte == 7));
    place.flashlab("load --on ./foreign.img --trace t.log --overwrite").code(0);
    let missing = place.flashlab("load --on ./new.img --trace t.log --size 8M").code(0);
    assert!(missing.out.contains("MEASURED") && missing.out.contains("replayed: t.log (iolog)"), "{}", missing.out);
}

/// A drive that takes 300 times as long as the list has: two readings of 1 MiB a millisecond.
#[test]
fn a_trace_that_is_not_kept_up_with_says_so() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    let mut text = "fio version 3 iolog\n0 a add\n0 a open\n".to_owned();
    (0..4_000).for_each(|i| _ = writeln!(text, "{} a write {} 1048576", i, (i % 8) << 20));
    place.write("t.log", text);
    let done = place.flashlab("load --on ./t.img --trace t.log --iodepth 1 --json -").code(0);
    let said = point(&done)["remarks"].to_string();
    assert!(said.contains("open loop not kept up with: requests started"), "{said}");
}

#[test]
fn a_modelled_drive_replays_a_trace() {
    let place = Place::new();
    place.write("t.csv", &texts()[3].1);
    let done = place.flashlab("load --on p5430-30 --trace t.csv --json -").code(0);
    let point = point(&done);
    assert_eq!((&point["job"]["granted"]["engine"], &point["job"]["read"]["ios"]), (&"model".into(), &400.into()));
    assert!(point["remarks"].to_string().contains("replayed: t.csv (msr), 600 requests"), "{point}");
    let far = "128166372003061629,host,0,Read,31000000000000000,4096,100\n";
    place.write("far.csv", far);
    let refused = place.flashlab("load --on p5430-30 --trace far.csv").code(2);
    assert!(refused.err.contains("--fold"), "{}", refused.err);
    let folded = place.flashlab("load --on p5430-30 --trace far.csv --fold").code(0);
    assert!(folded.out.contains("were folded into it"), "{}", folded.out);
}

#[test]
fn a_fio_file_with_read_iolog_replays_it() {
    let place = Place::new();
    place.flashlab("load --on ./t.img --size 8M --rw write --bs 1M --store fill.db").code(0);
    place.write("t.log", small());
    let job =
        "[old]\nread_iolog=t.log\nioengine=libaio\niodepth=8\n[fast]\nstonewall\nread_iolog=t.log\nreplay_no_stall=1\n";
    place.write("t.fio", job);
    let done = place.flashlab("load --on ./t.img --fio t.fio --json -").code(0);
    assert!(done.err.contains("t.fio:2: the requests are due at their recorded times"), "{}", done.err);
    let json = done.json();
    let steps = json["runs"][0]["steps"].as_array().expect("steps");
    for (step, (says, at_least)) in
        steps.iter().zip([("at their times over 299 ms", 299_000_000), ("without times", 0)])
    {
        let point = &step["points"][0];
        assert!(point["remarks"].to_string().contains(says), "{}", point["remarks"]);
        assert!(point["job"]["elapsed_ns"].as_u64() >= Some(at_least));
        assert_eq!((&point["job"]["read"]["ios"], &point["job"]["write"]["ios"]), (&200.into(), &100.into()));
    }
    assert_eq!(steps.len(), 2);
    let answer = place.flashlab("what-if p5430-30 --fio t.fio --section old --json -").code(0).json();
    assert_eq!(answer["drives"][0]["variants"][0]["outcome"]["fresh"]["read_latency"]["samples"], 200);
    place.write("none.fio", "[a]\nread_iolog=none.log\n");
    assert!(place.flashlab("load --on ./t.img --fio none.fio").code(2).err.contains("none.log: no such file"));
}
