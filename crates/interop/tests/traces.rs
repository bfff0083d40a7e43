//! Traces: good ones of every format, broken ones, generated ones, and soup.

use flashlab_interop::{
    AtLimit, Broken, DeviceChoice, Event, InteropError, TraceFormat, TraceOptions, TraceRead, read_trace,
};
use flashlab_spec::{Arrival, Direction, Job, Region, ReplayRequest, Rw};
use flashlab_units::{Bytes, Nanos};
use proptest::prelude::*;
use std::fmt::Write;
use std::io::{self, BufReader, Read};

use Direction::{Read as R, Trim as T, Write as W};

/// Time in nanoseconds, direction, offset, length.
type Row = (u64, Direction, u64, u32);

fn read(text: &str, options: &TraceOptions) -> Result<TraceRead, InteropError> {
    read_trace(text.as_bytes(), "t.log", options)
}

fn rows(read: &TraceRead) -> Vec<Row> {
    read.replay.requests().iter().map(|r| (r.at.0, r.direction, r.offset.0, r.length)).collect()
}

fn skipped(read: &TraceRead, kind: &str) -> u64 {
    read.skipped.iter().filter(|(name, _)| name.contains(kind)).map(|(_, count)| count).sum()
}

fn refusal(text: &str, options: &TraceOptions) -> String {
    read(text, options).map(|read| rows(&read)).expect_err(text).to_string()
}

const IOLOG_3: &str = "fio version 3 iolog\n100 /f add\n105 /f open\n110 /f read 0 4096\n130 /f write 8192 512\n\
                       120 /f trim 4096 4096\n140 /f sync 0 0\n150 /f read 512 0\n160 /f close\n";
const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\r\n\
                   128166372003061729,usr,0,Write,1317441536,8192,1963\r\n\
                   128166372003061639,usr,0,Read,1317441536,4096,1963\r\n";
const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
  8,0    3        2     0.000000100   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000000200   697  Q   W 223498 + 8 [kjournald]
  8,0    3        4     0.000000300   697  M   W 223498 + 8 [kjournald]
  8,0    3        5     0.000000400   697  D   W 223490 + 16 [kjournald]
  8,0    3        6     0.000000500   697  Q  DS 0 + 1024 [fstrim]
  8,0    3        7     0.000000600   697  D  DS 0 + 1024 [fstrim]
  8,0    3        8     0.000009600     0  C   W 223490 + 16 [0]
  8,0    3        9     0.000009700     0  D  FN [kworker/3:1H]
CPU3 (8,0):
 Reads Queued:           0,        0KiB	 Writes Queued:           2,        8KiB
Total (8,0):
Events (8,0): 9 entries
Skips: 0 forward (0 -   0.0%)
";

#[test]
fn every_format_is_told_by_content_and_read() {
    let options = TraceOptions::default();
    let log = read(IOLOG_3, &options).expect("iolog");
    assert_eq!(rows(&log), [(0, R, 0, 4096), (10_000, T, 4096, 4096), (20_000, W, 8192, 512)]);
    assert_eq!((log.format, log.event, log.back_in_time, log.timed), (TraceFormat::Iolog, None, 1, true));
    assert_eq!((skipped(&log, "opens"), skipped(&log, "flushes"), skipped(&log, "no bytes")), (3, 1, 1));
    assert_eq!((log.lines, log.devices.as_slice()), (9, &[("/f".to_owned(), 3)][..]));

    let csv = read(MSR, &options).expect("csv");
    assert_eq!(
        rows(&csv),
        [(0, R, 7_014_609_920, 24_576), (1_000, R, 1_317_441_536, 4096), (10_000, W, 1_317_441_536, 8192)]
    );
    assert_eq!((csv.format, csv.back_in_time), (TraceFormat::Msr, 1));
    let named = format!("\u{feff}Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    assert_eq!(rows(&read(&named, &options).expect("csv")), rows(&csv));

    let blk = read(BLKPARSE, &options).expect("blkparse");
    assert_eq!(rows(&blk), [(0, W, 223_490 * 512, 8192), (200, T, 0, 512 << 10)]);
    assert_eq!((blk.format, blk.event), (TraceFormat::Blkparse, Some(Event::Issued)));
    assert_eq!((skipped(&blk, "beside"), skipped(&blk, "other than"), skipped(&blk, "flushes")), (4, 2, 1));
    assert_eq!(skipped(&blk, "totals"), 5);
    let text = blk.to_string();
    assert!(text.contains("t.log: blkparse, event D") && text.contains("left out: 1 flushes"), "{text}");
}

#[test]
fn the_event_is_d_then_q_then_c_or_as_asked() {
    let with = |event| TraceOptions { event: Some(event), ..TraceOptions::default() };
    let queued = read(BLKPARSE, &with(Event::Queued)).expect("Q");
    assert_eq!(rows(&queued), [(0, W, 223_490 * 512, 4096), (100, W, 223_498 * 512, 4096), (400, T, 0, 512 << 10)]);
    let done = read(BLKPARSE, &with(Event::Completed)).expect("C");
    assert_eq!((rows(&done).len(), done.event), (1, Some(Event::Completed)));
    for (without, event) in [("D", Event::Queued), ("DQ", Event::Completed)] {
        let is_kept = |line: &&str| !line.split_whitespace().nth(5).is_some_and(|action| without.contains(action));
        let text: String = BLKPARSE.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
        assert_eq!(read(&text, &TraceOptions::default()).expect(without).event, Some(event), "{without}");
    }
    let text = BLKPARSE.lines().find(|line| line.contains(" Q ")).expect("a Q line");
    assert!(refusal(text, &with(Event::Issued)).contains("without the event D"));
}

#[test]
fn several_devices_are_refused_until_one_is_chosen() {
    let text = "fio version 2 iolog\n/a read 0 512\n/b write 512 512\n/a read 1024 512\n";
    let with = |device| TraceOptions { device, ..TraceOptions::default() };
    let message = refusal(text, &with(DeviceChoice::Only));
    assert!(message.contains("`/a` (2 requests), `/b` (1 requests)"), "{message}");
    let named = read(text, &with(DeviceChoice::Named("/b".into()))).expect("one");
    assert_eq!((rows(&named), skipped(&named, "not chosen")), (vec![(0, W, 512, 512)], 2));
    assert_eq!((named.devices.as_slice(), named.timed), (&[("/b".to_owned(), 1)][..], false));
    let all = read(text, &with(DeviceChoice::All)).expect("all");
    assert_eq!((rows(&all).len(), all.devices.len()), (3, 2));
    assert!(refusal(text, &with(DeviceChoice::Named("/c".into()))).contains("choose one of `/a`"));
    // A stacked device has Q only; the drive below it is the one that D is about.
    let stacked = "253,0 1 1 0.000000000 9 Q R 8 + 8 [x]\n8,0 1 2 0.000000001 9 Q R 16 + 8 [x]\n\
                   8,0 1 3 0.000000002 9 D R 16 + 8 [x]\n";
    let drive = read(stacked, &TraceOptions::default()).expect("the drive");
    assert_eq!((rows(&drive), drive.devices[0].0.as_str()), (vec![(0, R, 8192, 4096)], "8,0"));
    let names: String = (0..1100).map(|i| format!("/f{i} read 0 512\n")).collect();
    let many = refusal(&format!("fio version 2 iolog\n{names}"), &TraceOptions::default());
    assert!(many.contains("`all other devices` (76 requests)") && many.contains("and 1017 more"), "{many}");
}

#[test]
fn broken_lines_are_named_or_counted() {
    let text = format!("{MSR}128166372003061999,usr,0,Read,12,\u{7}\n{MSR}");
    let refused = refusal(&text, &TraceOptions::default());
    for says in ["t.log:4: expected Timestamp,Hostname", "found `128166372003061999,usr,0,Read,12,\\u{7}`", "correct"] {
        assert!(refused.contains(says), "{says}: {refused}");
    }
    let skip = |most| TraceOptions { broken: Broken::SkipUpTo(most), ..TraceOptions::default() };
    let read_on = read(&text, &skip(1)).expect("skips");
    assert_eq!((rows(&read_on).len(), read_on.broken_count, read_on.broken[0].line), (6, 1, 4));
    let twice = format!("{text}soup\n");
    assert!(refusal(&twice, &skip(1)).contains("t.log:8") && refusal(&twice, &skip(1)).contains("1 broken lines"));
    let soup = "soup\n".repeat(40);
    let many = read(&format!("{MSR}{soup}"), &skip(100)).expect("skips");
    assert_eq!((many.broken_count, many.broken.len()), (40, 10));
}

#[test]
fn what_no_drive_has_is_refused_and_what_hosts_send_is_cut_up() {
    let log = |line: &str| format!("fio version 2 iolog\n{line}\n");
    let exbi = 1_u64 << 60;
    for (line, says) in [
        (format!("/f read {exbi} 4096"), "below 1 EiB"),
        (format!("/f read {} 4096", u64::MAX), "below 1 EiB"),
        (format!("/f write 0 {}", 1_u64 << 32), "below 4 GiB"),
        (format!("/f read 0 {}0", u64::MAX), "FILE ACTION"),
        (format!("/f read 0 4096{}", " ".repeat(10_000)), "at most 8 KiB"),
    ] {
        let message = refusal(&log(&line), &TraceOptions::default());
        assert!(message.contains(says) && message.contains("t.log:2"), "{message}");
    }
    let trim = read(&log(&format!("/f trim 4096 {}", (128 << 20) + 512)), &TraceOptions::default()).expect("a trim");
    let piece = 64 << 20;
    assert_eq!(
        rows(&trim),
        [(0, T, 4096, piece), (0, T, 4096 + u64::from(piece), piece), (0, T, 4096 + (128 << 20), 512)]
    );
    assert_eq!(trim.cut_up, 1);
    // The largest piece is one that a job takes.
    let capacity = Bytes::gib(1);
    let region = Region { offset: Bytes::ZERO, length: capacity };
    let job = Job { replay: Some(trim.replay), ..Job::new("t", Rw::RandRw, Bytes(u64::from(piece)), region) };
    assert_eq!(job.validate(Bytes(512), capacity), Ok(()));
}

#[test]
fn the_bound_on_requests_refuses_or_cuts() {
    let bound = |requests_max, at_limit| TraceOptions { requests_max, at_limit, ..TraceOptions::default() };
    assert!(refusal(MSR, &bound(2, AtLimit::Refuse)).contains("t.log:3: there are more than 2 requests"));
    assert_eq!(read(MSR, &bound(3, AtLimit::Refuse)).expect("fits").cut_at_line, None);
    let cut = read(MSR, &bound(2, AtLimit::Cut)).expect("is cut");
    assert_eq!((rows(&cut).len(), cut.cut_at_line), (2, Some(3)));
    assert!(cut.to_string().contains("only the requests before line 3"));
    // One trim of nearly the whole range would be billions of pieces.
    let trim = format!("fio version 2 iolog\n/f trim 0 {}\n", 1_u64 << 60);
    assert!(refusal(&trim, &bound(1_000, AtLimit::Refuse)).contains("more than 1000"));
}

#[test]
fn what_is_no_trace_is_refused() {
    let forced = |format| TraceOptions { format: Some(format), ..TraceOptions::default() };
    for (text, options, says) in [
        ("", TraceOptions::default(), "none of iolog, blkparse, msr"),
        ("Timestamp,Response,IOType,LUN,Offset,Size\n1,2,R,0,0,512\n", TraceOptions::default(), "IOType"),
        ("fio version 1 iolog\n0, 0, 4096\n", TraceOptions::default(), "fio version 2 iolog"),
        ("fio version 2 iolog\n", TraceOptions::default(), "no request in 1 lines"),
        ("fio version 2 iolog\n/f sync 0 0\n", TraceOptions::default(), "left out: 1 flushes"),
        (MSR, forced(TraceFormat::Iolog), "t.log:1: expected the first line"),
        (MSR, forced(TraceFormat::Blkparse), "t.log:1: expected DEVICE CPU"),
        (BLKPARSE, forced(TraceFormat::Msr), "t.log:1: expected Timestamp"),
    ] {
        let message = refusal(text, &options);
        assert!(message.contains(says), "{says}: {message}");
    }
    assert_eq!(rows(&read(MSR, &forced(TraceFormat::Msr)).expect("csv")).len(), 3);
}

#[test]
fn a_reader_that_fails_is_named_with_its_line() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the cable is out"))
        }
    }
    let reader = BufReader::new(MSR.as_bytes().chain(Fails));
    let message = read_trace(reader, "t.log", &TraceOptions::default()).expect_err("fails").to_string();
    assert!(message.contains("t.log: after line 3: the cable is out"), "{message}");
}

#[test]
fn a_list_can_be_played_at_its_times() {
    let read = read(IOLOG_3, &TraceOptions::default()).expect("iolog");
    let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
    let arrival = Arrival::Recorded { time_percent: 100 };
    let job = Job { arrival, replay: Some(read.replay), ..Job::new("t", Rw::RandRw, Bytes::kib(4), region) };
    assert_eq!(job.validate(Bytes(512), Bytes::mib(1)), Ok(()));
}

/// A list in the order of its times, in units of 100 ns, sectors.
fn lists() -> impl Strategy<Value = Vec<ReplayRequest>> {
    let request = (0_u64..1_000_000, 0_usize..3, 0_u64..1 << 40, 1_u32..2048);
    prop::collection::vec(request, 1..60).prop_map(|list| {
        let mut requests: Vec<ReplayRequest> = list
            .into_iter()
            .map(|(at, direction, sector, sectors)| ReplayRequest {
                at: Nanos(at * 1_000),
                direction: Direction::ALL[direction],
                offset: Bytes(sector * 512),
                length: sectors * 512,
            })
            .collect();
        requests.sort_by_key(|r| r.at);
        let first = requests[0].at;
        requests.iter_mut().for_each(|r| r.at = r.at.saturating_sub(first));
        requests
    })
}

/// A list as a trace; the CSV has no trims, so that they become writes.
fn written(format: TraceFormat, list: &[ReplayRequest], start: u64) -> (String, Vec<ReplayRequest>) {
    let mut text = if format == TraceFormat::Iolog { "fio version 3 iolog\n".to_owned() } else { String::new() };
    let mut expected = list.to_vec();
    for (index, r) in expected.iter_mut().enumerate() {
        let (at, offset, length) = (r.at.0 + start * 1_000, r.offset.0, r.length);
        let outcome = match format {
            TraceFormat::Iolog => writeln!(text, "{} /dev/x {} {offset} {length}", at / 1_000, r.direction.word()),
            TraceFormat::Msr => {
                let word = if r.direction == R { "Read" } else { "Write" };
                r.direction = if r.direction == R { R } else { W };
                writeln!(text, "{},host,1,{word},{offset},{length},99", at / 100)
            }
            TraceFormat::Blkparse => {
                let (rwbs, sector) = (["R", "WS", "D"][r.direction as usize], offset / 512);
                let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
                writeln!(
                    text,
                    "259,0 {} {index} {s:5}.{ns:09} 77 D {rwbs:>3} {sector} + {} [a]",
                    index % 7,
                    length / 512
                )
            }
        };
        outcome.expect("a string takes it");
    }
    (text, expected)
}

proptest! {
    #[test]
    fn what_was_written_is_read(list in lists(), start in 0_u64..1 << 40) {
        for format in TraceFormat::ALL {
            let (text, expected) = written(format, &list, start);
            let back = read(&text, &TraceOptions::default()).expect("a trace");
            prop_assert_eq!(back.format, format);
            prop_assert_eq!(back.replay.requests().to_vec(), expected);
            prop_assert_eq!((back.back_in_time, back.broken_count), (0, 0));
            prop_assert_eq!(back.summary.requests(), list.len() as u64);
        }
    }

    #[test]
    fn what_was_shuffled_is_put_in_order(list in lists()) {
        let (text, _) = written(TraceFormat::Msr, &list, 7);
        let reversed: String = text.lines().rev().map(|line| format!("{line}\n")).collect();
        let back = read(&reversed, &TraceOptions::default()).expect("a trace");
        let times = |requests: &[ReplayRequest]| requests.iter().map(|r| r.at).collect::<Vec<_>>();
        prop_assert_eq!(times(back.replay.requests()), times(&list));
        let earlier = list.iter().filter(|r| Some(r.at) < list.last().map(|l| l.at)).count();
        prop_assert_eq!(back.back_in_time, earlier as u64);
    }

    /// No bytes make it panic, and none get through unseen: each line is a request, left out, or broken.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), head in 0_usize..4) {
        let head = ["", "fio version 3 iolog\n", "128166372003061629,usr,0,Read,0,512,1\n", "8,0 3 1 0.000000000 6 D R 0 + 8 [a]\n"][head];
        let text = [head.as_bytes(), &bytes].concat();
        for broken in [Broken::Refuse, Broken::SkipUpTo(u64::MAX)] {
            let options = TraceOptions { broken, ..TraceOptions::default() };
            let _ = read_trace(text.as_slice(), "soup", &options).map(|read| read.to_string());
        }
    }

    /// Good lines with a byte changed, taken out or put in.
    #[test]
    fn no_slip_panics(list in lists(), at in 0_usize..10_000, byte: u8, kind in 0_u8..3) {
        for format in TraceFormat::ALL {
            let mut text = written(format, &list, 5).0.into_bytes();
            let at = at % text.len();
            match kind {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
            let all = TraceOptions { broken: Broken::SkipUpTo(u64::MAX), device: DeviceChoice::All, format: Some(format), ..TraceOptions::default() };
            if let Ok(read) = read_trace(text.as_slice(), "soup", &all) {
                let left_out: u64 = read.skipped.iter().map(|(_, count)| count).sum();
                let kept = read.summary.requests();
                // A slip breaks a line, or splits it in two, or joins two.
                prop_assert!(kept + left_out + read.broken_count + 2 >= list.len() as u64);
                prop_assert!(kept <= list.len() as u64 + 1 || read.cut_up > 0);
            }
        }
    }
}
