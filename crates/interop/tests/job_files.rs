//! fio job files: what is read as what, what is refused, and soup.

use flashlab_interop::{Extent, FioJob, InteropError, read_jobs};
use flashlab_spec::{
    Arrival, Data, Direction, Durability, Offsets, RandomShares, Rate, Rw, Sharing, SizeRule, ThinkTime, Verify,
};
use flashlab_units::{Bytes, Nanos};
use proptest::prelude::*;

/// The variables that these job files may use.
fn variable(name: &str) -> Option<String> {
    match name {
        "DEPTH" => Some("32".into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Vec<FioJob>, InteropError> {
    read_jobs(text, "a.fio", &variable)
}

/// The only job of a file.
fn one(text: &str) -> FioJob {
    let mut jobs = read(text).expect(text);
    assert_eq!(jobs.len(), 1, "{text}");
    jobs.remove(0)
}

fn notes(job: &FioJob) -> String {
    job.notes.iter().map(|note| format!("{}: {}\n", note.line, note.text)).collect()
}

fn ignored(job: &FioJob) -> Vec<&str> {
    job.ignored.iter().map(|option| option.option.as_str()).collect()
}

#[test]
fn globals_add_to_the_sections_below_them() {
    let text = "; a comment\n[global]\nioengine=io_uring ; the engine\ndirect=1\nbs=16k\niodepth=8\n\n[one]\nrw=randread\n\
                [global more]\nnumjobs=4\nbs=64k\n[two]\nrw=write\niodepth=${DEPTH}\n[one]\nstonewall\nreadwrite=rw\n";
    let jobs = read(text).expect("three jobs");
    let shape: Vec<_> =
        jobs.iter().map(|j| (j.name.as_str(), j.line, j.wave, j.rw, j.bs_max(), j.iodepth, j.numjobs)).collect();
    let (k16, k64) = (Bytes::kib(16), Bytes::kib(64));
    assert_eq!(
        shape,
        [
            ("one", 8, 0, Rw::RandRead, k16, 8, 1),
            ("two", 13, 0, Rw::Write, k64, 32, 4),
            ("one", 16, 1, Rw::ReadWrite, k64, 8, 4)
        ]
    );
    assert!(jobs.iter().all(|job| job.notes.is_empty() && ignored(job) == ["direct=1"]), "{jobs:?}");
}

#[test]
fn names_come_from_name_or_the_section() {
    let jobs = read("[global]\nname=all\nrw=read\n[a]\n[b]\nname=own\n").expect("two jobs");
    assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["all", "own"]);
}

#[test]
fn every_option_of_the_core_is_mapped() {
    let text = "[a]\nrw=randrw\nbs=4k,8k,16k\niodepth=16\nnumjobs=2\nsize=80%\nio_size=1g\noffset=10%\nloops=1\n\
                rwmixwrite=30\nruntime=2m\ntime_based\nramp_time=15\nnorandommap\nioengine=libaio\nfsync=32\nsync=1\n";
    let job = one(text);
    let expected = FioJob {
        name: "a".into(),
        line: 1,
        wave: 0,
        rw: Rw::RandRw,
        bs: [Bytes::kib(4), Bytes::kib(8), Bytes::kib(16)],
        iodepth: 16,
        numjobs: 2,
        size: Some(Extent::Percent(80)),
        own_parts: false,
        io_size: Some(Bytes::gib(1)),
        offset: Extent::Percent(10),
        loops: 1,
        rwmixread: 70,
        arrival: Arrival::Closed,
        runtime: Some(Nanos::secs(120)),
        time_based: true,
        ramp: Nanos::secs(15),
        once: false,
        durability: Durability { fsync_every: 32, fdatasync_every: 0, dsync: true },
        sizes: None,
        align: None,
        distribution: None,
        random: None,
        think: None,
        data: Data::default(),
        verify: Verify::Off,
        trace: None,
        ignored: vec![],
        notes: job.notes.clone(),
    };
    assert_eq!(job, expected);
    assert!(notes(&job).starts_with("1: neither direct nor buffered is given") && job.notes.len() == 1);
    let run = job.on(Bytes::gib(10));
    assert_eq!((run.runtime, run.amount, run.ramp), (Some(Nanos::secs(120)), None, Nanos::secs(15)));
    assert_eq!((run.rwmixread, run.bs, run.pattern.sharing), (70, Bytes::kib(8), None));
    let sizes = run.pattern.sizes.clone().expect("sizes");
    assert_eq!(sizes.of(Direction::Write), &SizeRule::Fixed(Bytes::kib(8)));
    assert_eq!((run.region.offset, run.region.length), (Bytes::gib(1), Bytes::gib(8)));
    assert_eq!(run.validate(Bytes(512), Bytes::gib(10)), Ok(()));
}

#[test]
fn sizes_are_bytes_shares_or_all() {
    let capacity = Bytes(1_000_000_000);
    let region = |options: &str| {
        let job = one(&format!("[a]\nrw=write\nbs=1m\n{options}")).on(capacity);
        (job.region.offset.0, job.region.length.0, job.amount.map(|amount| amount.0))
    };
    let mib = 1 << 20;
    for (options, expected) in [
        ("", (0, 1_000_000_000, Some(1_000_000_000))),
        ("size=0\n", (0, 1_000_000_000, Some(1_000_000_000))),
        ("size=100%\n", (0, 953 * mib, Some(953 * mib))),
        ("size=100%\noffset=10m\n", (10 * mib, 1_000_000_000 - 10 * mib, Some(1_000_000_000 - 10 * mib))),
        ("size=64m\nloops=2\nnumjobs=3\n", (0, 64 * mib, Some(384 * mib))),
        ("size=64m\nio_size=1m\n", (0, 64 * mib, Some(mib))),
        ("size=64m\nruntime=9\n", (0, 64 * mib, Some(64 * mib))),
        ("size=64m\nruntime=9\ntime_based\n", (0, 64 * mib, None)),
        // Beyond the target: the caller's to refuse.
        ("size=2g\n", (0, 2 << 30, Some(2 << 30))),
    ] {
        assert_eq!(region(options), expected, "{options}");
    }
    let beyond = one("[a]\nrw=write\nsize=2g\n").on(capacity);
    assert!(beyond.validate(Bytes(512), capacity).is_err_and(|error| error.to_string().contains("outside")));
}

#[test]
fn the_order_of_offsets_is_fios() {
    let pattern = |text: &str| one(&format!("[a]\n{text}")).on(Bytes::gib(1)).pattern;
    assert_eq!(pattern("rw=randread\n").offsets, Offsets::Once);
    assert_eq!(pattern("rw=randread\nnorandommap\n").offsets, Offsets::Repeats);
    assert_eq!(pattern("rw=randread\nnorandommap=0\n").offsets, Offsets::Once);
    assert_eq!(pattern("rw=write\nnumjobs=4\n").sharing, Some(Sharing::Shared));
    assert_eq!(pattern("rw=randrw\nbs=4k\n").sizes, None);
}

#[test]
fn block_sizes_by_direction() {
    for (bs, kib) in [
        ("8k", [8, 8, 8]),
        ("4k,8k", [4, 8, 8]),
        (",8k", [4, 8, 8]),
        ("8k,", [8, 4, 4]),
        ("4k,,16k", [4, 4, 16]),
        (",8k,", [4, 8, 4]),
    ] {
        assert_eq!(one(&format!("[a]\nrw=rw\nbs={bs}\n")).bs, kib.map(Bytes::kib), "{bs}");
    }
    let slip = one("[a]\nrw=rw\nbs=4k-64k\n");
    assert_eq!(slip.bs, [4, 64, 64].map(Bytes::kib));
    assert!(notes(&slip).contains("3: `4k-64k` is a size of reads and one of writes"), "{}", notes(&slip));
}

#[test]
fn the_base_of_prefixes_holds_for_its_section() {
    let text = "[global]\nrw=randread\nsize=1GiB\n[reversed]\nbs=4KiB\n[true]\nbs=4KiB\nkb_base=1000\n[short]\n\
                kb_base=1000\nbs=4Ki\n";
    let jobs = read(text).expect("three jobs");
    let values: Vec<_> = jobs.iter().map(|job| (job.bs_max().0, job.size)).collect();
    let size = Some(Extent::Bytes(Bytes(1_000_000_000)));
    assert_eq!(values, [(4000, size), (4096, size), (4000, size)]);
    let says = jobs.iter().map(notes).collect::<Vec<_>>();
    assert!(says[0].contains("5: `4KiB` is 4000 bytes to fio, with kb_base=1024"), "{says:?}");
    assert!(!says[1].contains("4KiB") && says[2].contains("`4Ki` is 4000 bytes"), "{says:?}");
}

#[test]
fn rates_are_those_of_one_job_and_direction() {
    let arrival = |options: &str| one(&format!("[a]\nbs=8k\n{options}")).arrival;
    let fixed = |ios, s| Arrival::Fixed(Rate { ios, per: Nanos::secs(s) });
    for (options, expected) in [
        ("rw=randwrite\nrate=,12500k\n", fixed(3125, 2)),
        ("rw=randread\nrate=,12500k\n", Arrival::Closed),
        ("rw=randread\nrate=1m\n", fixed(128, 1)),
        ("rw=trim\nrate=1m\n", fixed(128, 1)),
        ("rw=randread\nrate=0\n", Arrival::Closed),
        ("rw=randread\nrate_iops=700\n", fixed(700, 1)),
        ("rw=randread\nrate_iops=700,\n", fixed(700, 1)),
        ("rw=randwrite\nrate_iops=700,\n", Arrival::Closed),
        ("rw=randread\nrate_iops=700\nrate_process=poisson\n", Arrival::Poisson(Rate::iops(700))),
        ("rw=randread\nrate_process=poisson\n", Arrival::Closed),
        ("rw=randrw\nrate_iops=700,300\n", fixed(1000, 1)),
        ("rw=randrw\nrate=1m\nkb_base=1000\nbs=1000\n", fixed(2000, 1)),
    ] {
        assert_eq!(arrival(options), expected, "{options}");
    }
    // As fio 3.33 did: 256 reads and 256 writes a second.
    let mixed = one("[a]\nrw=randrw\nrwmixread=70\nrate=1m\n");
    assert_eq!((mixed.rwmixread, mixed.arrival), (50, fixed(512, 1)));
    assert!(notes(&mixed).contains("the rates make 50 % reads, whatever rwmixread says (70)"), "{}", notes(&mixed));
}

#[test]
fn what_changes_nothing_is_listed_with_the_reason() {
    let text = "[global]\ndirect=1\ngroup_reporting\nfilename=/dev/nvme9n1\nthread\nrandrepeat=0\ninvalidate=1\n\
                [a]\nrw=randread\npercentile_list=99:99.9\nwrite_bw_log=x\nverify=0\nthinktime=0\nrandom_distribution=random\n";
    let job = one(text);
    let expected = [
        "direct=1",
        "group_reporting",
        "filename=/dev/nvme9n1",
        "thread",
        "randrepeat=0",
        "invalidate=1",
        "percentile_list=99:99.9",
        "write_bw_log=x",
        "verify=0",
        "thinktime=0",
        "random_distribution=random",
    ];
    assert_eq!(ignored(&job), expected);
    assert_eq!((job.ignored[0].line, job.ignored[10].line), (2, 14));
    assert!(job.ignored.iter().all(|option| !option.reason.is_empty()));
}

#[test]
fn an_increment_of_the_size_gives_each_job_a_part_of_its_own() {
    for (rw, size) in [("read", "256M"), ("randwrite", "256M"), ("read", "25%")] {
        let text = format!("[a]\nrw={rw}\nbs=1M\nnumjobs=3\nsize={size}\noffset_increment={size}\n");
        let job = one(&text).on(Bytes::gib(1));
        assert_eq!(job.validate(Bytes(512), Bytes::gib(1)), Ok(()), "{text}");
        let starts = [0, 1, 2].map(|index| (job.slice(index).offset, job.slice(index).length));
        assert_eq!(starts, [0, 1, 2].map(|index| (Bytes::mib(256 * index), Bytes::mib(256))), "{text}");
        assert_eq!(job.amount, Some(Bytes::mib(768)));
        assert_eq!(one(&text).end(), (size != "25%").then_some(Bytes::mib(768)));
    }
}

/// JESD219's enterprise load: requests of 512 B and more begin anywhere on 4 KiB.
#[test]
fn sizes_are_aligned_to_the_smallest_or_as_asked() {
    let job = |text: &str| {
        let job = one(text).on(Bytes::gib(1));
        assert_eq!(job.validate(Bytes(512), Bytes::gib(1)), Ok(()), "{text}");
        (job.pattern.align, job.step(Direction::Read), job.step(Direction::Write), job.pattern.offsets)
    };
    let split = "[a]\nrw=randrw\nruntime=1\nbssplit=512/4:4k/67:64k/29\n";
    let (own, zones) = (Bytes(512), "zoned:50/5:30/15:20/80");
    assert_eq!(job(&split.replace("[a]", "[a]\nnorandommap")), (None, own, own, Offsets::Repeats));
    let aligned = job(&(split.to_owned() + "ba=4k\nrandom_distribution=" + zones + "\n"));
    assert_eq!(aligned, (Some(Bytes::kib(4)), Bytes::kib(4), Bytes::kib(4), zones.parse().expect("zones")));
    // Each direction has its own, and one size keeps the map.
    let two = job("[a]\nrw=randrw\nruntime=1\nbs=4k,64k\n");
    assert_eq!(two, (None, Bytes::kib(4), Bytes::kib(64), Offsets::Repeats));
    assert_eq!(job("[a]\nrw=randrw\nruntime=1\nbs=4k,4k\n").3, Offsets::Once);
    assert!(notes(&one(split)).contains("4: with several sizes a block may come again"), "{}", notes(&one(split)));
    let sequential = one("[a]\nrw=read\nba=8k\n");
    assert!(notes(&sequential).contains("3: blockalign changes nothing here") && sequential.align.is_none());
    let refused = read_jobs("[a]\nrw=randread\nba=4k,8k\n", "f.fio", &|_| None).expect_err("two").to_string();
    assert!(refused.contains("one for all directions"), "{refused}");
}

#[test]
fn what_the_author_may_not_have_meant_is_noted() {
    for (text, says) in [
        ("[a]\nbs=1m\n", "1: rw is not given: fio reads in order"),
        ("[a]\nrw=trim\nsize=0\n", "3: a size of 0 is the whole target"),
        ("[a]\nrw=read\niodepth=32\nioengine=psync\n", "3: psync keeps one request outstanding"),
        ("[a]\nrw=read\niodepth=32\n", "3: no ioengine is given"),
        (
            "[a]\nrw=rw\nrwmixread=30\nrwmixwrite=30\n",
            "4: rwmixread 30 and rwmixwrite 30 don't add up: the later one counts, 70 % reads",
        ),
        ("[a]\nrw=randread\nrwmixread=30\n", "3: rwmixread changes nothing here: a is no mix"),
        ("[a]\nrw=rw\nrwmixwrite=30\nrwmixread=30\n", "the later one counts, 30 % reads"),
        (
            "[a]\nrw=read\ndirectory=/mnt/bench#3\n",
            "3: `#` begins a comment here too; what is left is `directory=/mnt/bench`",
        ),
        ("[a]\nrw=write\nruntime=45\nramp_time=60\n", "4: ramp_time 60 s is longer than runtime 45 s"),
        ("[a]\nrw=write\nrate=1m\n", "3: requests arrive evenly"),
        ("[global]\nfsync=8\n[a]\nrw=read\n", "2: fsync changes nothing here: a writes nothing"),
    ] {
        let said = notes(&one(text));
        assert!(said.contains(says), "{says}: {said}");
    }
    assert_eq!(one("[a]\nrw=read\niodepth=32\nioengine=psync\n").iodepth, 1);
    assert_eq!(one("[a]\nrw=read\niodepth=32\n").iodepth, 32);
    assert_eq!(one("[global]\nfsync=8\n[a]\nrw=read\n").durability, Durability::default());
}

#[test]
fn what_cannot_be_taken_over_is_refused_by_name() {
    for (text, says) in [
        ("", "a.fio: there is no job section"),
        ("[global]\nrw=read\n", "there is no job section"),
        ("rw=read\n[a]\n", "a.fio:1: `rw=read`: it stands before the first section"),
        ("[a\nrw=read\n", "a.fio:1: `[a`: it is no section"),
        ("[]\n", "it is no section"),
        (
            "[a]\nrw=read\nblocksiez=4k\n",
            "a.fio:3: `blocksiez`: it is no option that is known here\n  did you mean `blocksize`?",
        ),
        ("[a]\nconf=objectstore.conf\nrw=read\n", "a.fio:2: `conf`"),
        ("[a]\nqqqq=1\n", "options that are taken over: bs, blocksize"),
        ("[a]\nBS=4k\n", "did you mean `bs`?"),
        ("[a]\nbs = 8k\n", "write bs=8k"),
        ("[a]\nrw= randread\n", "write rw=randread"),
        ("[a]\nrw\n", "a.fio:2: `rw`: it has no value"),
        ("[a]\nbs=${EMPTY}\n", "it has no value"),
        (
            "[a]\nrw=read\nruntime=${RUNTIME}\n",
            "a.fio:3: `runtime=${RUNTIME}`: the environment variable `RUNTIME` is not set",
        ),
        ("[a]\nsize=${RUN\n", "`${` has no end"),
        ("[a]\nbs=8*$pagesize\n", "`$pagesize` depends on the machine"),
        ("[a]\ninclude other.fio\n", "other files are not read in"),
        ("[a]\nrw=randreed\n", "did you mean `randread`?"),
        ("[a]\nrw=randread:8\n", "write rw=randread"),
        ("[a]\nrw=trimwrite\n", "pairs of a trim and a write"),
        ("[a]\nsize=1.5G\n", "fio reads it as 1"),
        ("[a]\nruntime=30sec\n", "write 30s"),
        ("[a]\nruntime=10min\n", "write 10m"),
        ("[a]\nsize=10x\n", "`x` is no unit of size"),
        ("[a]\nsize=110%\n", "1% to 100%"),
        ("[a]\nio_size=50%\n", "`%` is no unit of size"),
        ("[a]\nio_size=1m\nloops=2\n", "a.fio:3: `loops`: io_size is given too"),
        ("[a]\nbs=0\n", "a size is 0"),
        ("[a]\nbs=4k,4k,4k,4k\n", "it has 4 sizes"),
        ("[a]\niodepth=0\n", "it is 0"),
        ("[a]\niodepth=(2*4)\n", "without blanks or sums"),
        ("[a]\nnumjobs=4k\n", "no plain number"),
        ("[a]\nrwmixread=120\n", "use 0 to 100"),
        ("[a]\ntime_based=yes\n", "neither 0 nor 1"),
        ("[a]\nrw=read\ntime_based\n", "there is no runtime"),
        ("[a]\nkb_base=1023\n", "neither 1000 nor 1024"),
        ("[a]\nioengine=libexample_objectstore.so\n", "no engine for blocks of a drive"),
        ("[a]\nrate=1m\nrate_iops=10\n", "rate_iops is given too"),
        ("[a]\nrw=randrw\nrate=,1m\n", "caps one direction of a mixed job"),
        ("[a]\nrate=1,2,3,4\n", "it has 4 rates"),
        ("[a]\nrate_process=bursty\n", "use linear or poisson"),
        ("[a]\nsync=sometimes\n", "no kind of sync"),
        ("[a]\nfsync=1\nfdatasync=1\n", "a.fio:3: `fdatasync`: fsync is given too"),
        ("[a]\nbssplit=4k/60:8k/50\n", "a.fio:2: `bssplit`: the percentages add up to 110"),
        ("[a]\nbssplit=4k/99.5:8k/0.5\n", "fio reads 99.5 as a whole number"),
        ("[a]\nbssplit=4k:8k\nbsrange=4k-8k\n", "bssplit is given too"),
        ("[a]\nbsrange=4k\n", "`4k` is no range"),
        ("[a]\nverify=pattern\n", "a.fio:2: `verify`: `pattern` checks no header"),
        ("[a]\nbuffer_pattern=7\n", "two digits a byte"),
        ("[a]\nthinktime=10\nthinktime_iotime=1\n", "pauses are taken over by thinktime"),
        ("[a]\nthinktime=10\nrate_iops=5\n", "a.fio:3: `rate_iops`: thinktime is given too"),
        ("[a]\nthinktime=10\nthinktime_blocks_type=issue\n", "pauses are taken over"),
        ("[a]\nrandom_distribution=sequence:1\n", "no distribution that is taken over"),
        ("[a]\nrw=randread\npercentage_random=0,25,0,1\n", "reads,writes,trims"),
        ("[a]\noffset_increment=500M\n", "a.fio:2: `offset_increment`: parts of the jobs overlap"),
        ("[a]\nnumjobs=4\nsize=2G\noffset_increment=500M\n", "make it the size of a job"),
    ] {
        let message = read(text).expect_err(text).to_string();
        assert!(message.contains(says), "{says}: {message}");
    }
}

#[test]
fn a_trace_is_a_load_once_it_was_read() {
    let log = "fio version 3 iolog\n0 a add\n0 a open\n0 a read 4096 8192\n50 a write 0 4096\n90 a trim 8192 4096\n";
    let list = |text: &str| {
        let mut job = one(&format!("[a]\nread_iolog=t.log\niodepth=4\nioengine=libaio\n{text}"));
        let read = flashlab_interop::read_trace(log.as_bytes(), "t.log", &flashlab_interop::TraceOptions::default());
        job.attach(read.expect("a trace"));
        job
    };
    let job = list("runtime=9\nramp_time=1\nrw=read\n");
    let load = job.load(Bytes::mib(1));
    assert_eq!((load.rw, load.bs, load.iodepth.as_slice()), (Rw::RandRw, Bytes::kib(8), [4].as_slice()));
    assert_eq!((load.runtime, load.ramp, load.passes), (Some(Nanos::secs(9)), Nanos::secs(1), None));
    assert_eq!((load.time_percent, load.name().as_str()), (Some(100), "a"));
    assert_eq!(load.replay.expect("a list").source, "t.log (iolog)");
    assert!(notes(&job).contains("2: the requests are due at their recorded times"), "{}", notes(&job));
    for (text, time_percent) in [
        ("replay_no_stall=1\n", None),
        ("replay_time_scale=50\n", Some(200)),
        ("replay_time_scale=300\n", Some(33)),
        ("replay_scale=1\nreplay_align=0\nreplay_redirect=/dev/sdx\nread_iolog_chunked=1\n", Some(100)),
    ] {
        assert_eq!(list(text).load(Bytes::mib(1)).time_percent, time_percent, "{text}");
    }
    let trace = one("[a]\nread_iolog=t.log\nreplay_redirect=x\n").trace.expect("a trace");
    assert_eq!((trace.file.as_str(), trace.line, trace.redirect), ("t.log", 2, true));
    for (text, says) in [
        ("[a]\nread_iolog=t.log\nnumjobs=2\n", "a.fio:3: `numjobs`: read_iolog is given too"),
        ("[a]\nread_iolog=t.log\nrate_iops=100\n", "the pace is that of the trace"),
        ("[a]\nread_iolog=t.log\nruntime=9\ntime_based\n", "replayed once"),
        ("[a]\nread_iolog=t.log\nreplay_time_scale=0\n", "100 is as recorded"),
        ("[a]\nread_iolog=t.log\nreplay_scale=4\n", "a.fio:3: `replay_scale`: addresses, sizes and requests"),
        ("[a]\nread_iolog=t.log\nreplay_skip=trim\n", "those of the trace"),
    ] {
        let message = read(text).expect_err(text).to_string();
        assert!(message.contains(says), "{says}: {message}");
    }
    let without = one("[a]\nrw=read\nreplay_no_stall=1\n");
    assert!(without.trace.is_none() && notes(&without).contains("3: it changes nothing without read_iolog"));
}

/// What becomes of options for the content and place of requests.
#[test]
fn splits_distributions_data_and_verification_are_taken_over() {
    let load = |text: &str| one(text).load(Bytes::gib(1));
    let sizes = |text: &str| load(text).sizes.map(|sizes| sizes.to_string()).unwrap_or_default();
    assert_eq!(sizes("[a]\nrw=randread\nbssplit=4k/60:64k/40,8k/100\n"), "4KiB/60:64KiB/40");
    assert_eq!(sizes("[a]\nrw=randrw\nbssplit=4k/60:64k/,8k\n"), "4KiB/60:64KiB/40,8KiB/100,4KiB/60:64KiB/40");
    assert_eq!(sizes("[a]\nrw=write\nbsrange=4k-64k\n"), "4KiB-64KiB");
    assert_eq!(one("[a]\nrw=write\nbsrange=4k-64k\n").bs_max(), Bytes::kib(64));
    let distribution = |text: &str| load(&format!("[a]\nrw=randread\n{text}\n")).distribution.to_string();
    for (text, expected) in [
        ("norandommap", "random"),
        ("bs=4k", "once"),
        ("random_distribution=zipf", "zipf:1.1"),
        ("random_distribution=zoned:90/10:10/90", "zoned:90/10:10/90"),
    ] {
        assert_eq!(distribution(text), expected);
    }
    let load = load("[a]\nrw=write\nverify=md5\nbuffer_compress_percentage=40\ndedupe_percentage=20\nsync=dsync\n");
    assert_eq!((load.verify, load.compress_percent, load.dedupe_percent, load.dsync), (Verify::ReadBack, 40, 20, true));
    let verify = |text: &str| one(text).verify;
    assert_eq!(verify("[a]\nrw=write\nverify=crc32c\ndo_verify=0\n"), Verify::Stamp);
    assert_eq!(verify("[a]\nrw=randread\nverify=crc32c\n"), Verify::Check);
    assert_eq!(one("[a]\nrw=write\nzero_buffers\n").data.pattern, [0]);
    assert_eq!(one("[a]\nrw=write\nbuffer_pattern=0xdead\n").data.pattern, [0xde, 0xad]);
    assert_eq!(one("[a]\nrw=write\nbuffer_pattern=\"ab\"\n").data.pattern, *b"ab");
}

#[test]
fn shares_of_random_offsets_and_pauses_are_taken_over() {
    let job = one("[a]\nrw=randrw\npercentage_random=20,80\nthinktime=500\nthinktime_blocks=4\nthinktime_spin=10\n");
    assert_eq!(job.random, Some(RandomShares { read: 20, write: 80, trim: 80 }));
    assert_eq!(job.think, Some(ThinkTime { time: Nanos::micros(500), blocks: 4 }));
    assert!(notes(&job).contains("3: with percentage_random a block may come again"), "{}", notes(&job));
    assert_eq!(ignored(&job), ["thinktime_spin=10"]);
    let load = job.load(Bytes::gib(1));
    assert_eq!((load.percentage_random, load.distribution), (job.random, Offsets::Repeats));
    assert_eq!((load.thinktime, load.thinktime_blocks), (Nanos::micros(500), Some(4)));
    assert_eq!(job.on(Bytes::gib(1)).validate(Bytes(512), Bytes::gib(1)), Ok(()));
    let sequential = one("[a]\nrw=read\npercentage_random=50\nthinktime=2ms\nthinktime_blocks_type=complete\n");
    assert!(sequential.random.is_none() && notes(&sequential).contains("changes nothing for a sequential rw"));
    assert_eq!(sequential.think, Some(ThinkTime { time: Nanos::millis(2), blocks: 1 }));
    assert!(notes(&one("[a]\nrw=read\nthinktime_blocks=3\n")).contains("without thinktime"));
    assert!(one("[a]\nrw=randread\npercentage_random=100\nthinktime=0\n").think.is_none());
}

/// A load says the same as a job, but that passes end it where no bytes are given.
#[test]
fn a_load_is_the_job_in_other_words() {
    let text = "[a]\nrw=randrw\nrwmixread=70\nbs=4k,8k\niodepth=8\nioengine=libaio\nnumjobs=2\nsize=50%\noffset=1m\n\
                runtime=10\ntime_based\nramp_time=2\nrate_iops=100\nfsync=4\n";
    let (job, load) = (one(text).on(Bytes::gib(1)), one(text).load(Bytes::gib(1)));
    let whole = flashlab_spec::Region { offset: Bytes::ZERO, length: Bytes::gib(1) };
    assert_eq!(load.job(8, 2, whole).expect("a job"), job);
    let once = one("[a]\nrw=write\nbs=64k\nloops=3\n").load(Bytes::gib(1));
    assert_eq!((once.passes, once.amount, once.runtime), (Some(3), None, None));
    let amount = one("[a]\nrw=write\nbs=64k\nio_size=1m\n").load(Bytes::gib(1));
    assert_eq!((amount.passes, amount.amount), (None, Some(Bytes::mib(1))));
}

/// The shapes of job files that reviewers and vendors publish.
#[test]
fn job_files_as_people_write_them() {
    let reader = "[global]\nbs=4K\niodepth=256\ndirect=1\nioengine=libaio\ngroup_reporting\ntime_based\nruntime=120\n\
                  numjobs=4\nname=raw-randread\nrw=randread\n\n[job1]\nfilename=/dev/nvme9n1\n";
    let job = one(reader).on(Bytes(61_440_000_000_000));
    assert_eq!((job.workload.as_str(), job.outstanding(), job.amount), ("raw-randread", 1024, None));
    assert_eq!(job.validate(Bytes::kib(4), Bytes(61_440_000_000_000)), Ok(()));

    let phases = "[global]\nthread=1\nverify=0\nnorandommap=1\ncpumask=1\ndisable_slat=1\nlat_percentiles=1\n\
                  [fill]\nstonewall\nrw=write\nbs=128k\niodepth=128\n[w-qd1]\nstonewall\nrw=randwrite\nbs=4k\n\
                  time_based=1\nramp_time=10\nruntime=240\n[r-qd1]\nstonewall\nrw=randread\nbs=4k\ntime_based=1\nruntime=240\n";
    let jobs = read(phases).expect("three phases");
    assert_eq!(jobs.iter().map(|job| job.wave).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(jobs.iter().all(|job| job.ignored.len() == 5), "{jobs:?}");

    let twins = "[global]\nioengine=libaio\nrw=randwrite\nsize=100%\nloops=2\n[job1]\nfilename=/dev/nvme8n1\n\
                 [job1]\nfilename=/dev/nvme9n1\n";
    let jobs = read(twins).expect("two jobs of one name");
    assert_eq!(jobs.iter().map(|job| (job.name.as_str(), job.wave)).collect::<Vec<_>>(), [("job1", 0), ("job1", 0)]);
}

/// Words of job files, good and bad, from which files are put together.
const WORDS: [&str; 32] = [
    "[",
    "]",
    "global",
    "a",
    "\n",
    "\r\n",
    "=",
    "rw",
    "randrw",
    "bs",
    "4k",
    ",",
    "size",
    "%",
    "100",
    "rate",
    "0",
    "#",
    ";",
    "${DEPTH}",
    "${",
    "rwmixread",
    "runtime",
    "kb_base",
    "1000",
    "stonewall",
    "99999999999999999999",
    "1.5G",
    " ",
    "iodepth",
    "µ",
    "\u{0}",
];

proptest! {
    /// Soup is read or refused with a place, and never panics.
    #[test]
    fn no_soup_panics(text in "\\PC{0,200}", words in prop::collection::vec(0..WORDS.len(), 0..80)) {
        let built: String = words.into_iter().map(|word| WORDS[word]).collect();
        for text in [text.as_str(), &built, &format!("[a]\n{built}"), &format!("[a]\nbs={text}\n[b]\nrw={built}")] {
            match read(text) {
                Ok(jobs) => jobs.iter().for_each(|job| drop(job.on(Bytes(u64::MAX)))),
                Err(error) => prop_assert!(error.to_string().starts_with("a.fio:"), "{error}"),
            }
        }
    }

    /// What a job file says comes back, whatever the order of its lines and wherever they stand.
    #[test]
    fn what_was_written_is_read(
        depth in 1_u32..4096,
        jobs in 1_u32..1024,
        kib in 1_u64..65_536,
        mix in 0_u8..=100,
        size in 1_u64..1 << 40,
        seconds in 1_u64..1_000_000,
        order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
        split in 0_usize..8,
    ) {
        let lines = [
            "rw=randrw".to_owned(),
            format!("bs={kib}k"),
            format!("iodepth={depth}"),
            format!("numjobs={jobs}"),
            format!("rwmixread={mix}"),
            format!("size={size}m"),
            format!("runtime={seconds}"),
            "ioengine=io_uring".to_owned(),
        ];
        let mut text = "[global]\ndirect=1\n".to_owned();
        for (place, line) in order.iter().enumerate() {
            if place == split {
                text += "[job]\n";
            }
            text += &format!("{}\n", lines[*line]);
        }
        let job = one(&text);
        prop_assert_eq!((job.rw, job.bs, job.iodepth, job.numjobs), (Rw::RandRw, [Bytes::kib(kib); 3], depth, jobs));
        prop_assert_eq!((job.rwmixread, job.size), (mix, Some(Extent::Bytes(Bytes::mib(size)))));
        prop_assert_eq!((job.runtime, job.notes.len()), (Some(Nanos::secs(seconds)), 0));
    }
}
