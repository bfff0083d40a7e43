//! `flashlab what-if --trace`: the three formats, and what is refused.

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
        (format!("{drive} ./far.csv"), ["./far.csv: p5430-30 is too small", "--fold"]),
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
