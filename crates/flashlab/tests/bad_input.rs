//! Bad input: each is refused with the place and a remedy, the exit code of the table, nothing on
//! standard output and nothing half written.

mod common;

use common::{Done, FLASHLAB, LOADS, Place, TINY, own_mounts_for, root_for, skipped, system};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Arguments, exit code, and what must stand on standard error.
type Case = (&'static str, i32, &'static [&'static str]);

/// Names that don't exist, and texts that don't parse.
const TEXTS: &[Case] = &[
    ("run quick --on r6060-121", 2, &["unknown drive `r6060-121`", "did you mean `r6060-122`?", "write ./r6060-121"]),
    ("review --drives r6060", 2, &["unknown drive `r6060`", "did you mean `r6060-"]),
    ("review --suite revew", 2, &["unknown suite `revew`", "did you mean `review`?"]),
    ("review --suite ./none.toml", 2, &["./none.toml: no such file", "check the path"]),
    ("review --threads 0", 2, &["--threads is 0", "at least 1"]),
    ("drives show r6061-122", 2, &["did you mean `r6060-122`?"]),
    ("run quik --on ./new.img --size 64M", 2, &["unknown suite `quik`", "did you mean `quick`?", "known: quick"]),
    ("suites show quik", 2, &["did you mean `quick`?"]),
    ("run ./none.toml --on ./new.img --size 64M", 2, &["./none.toml: no such file", "check the path"]),
    ("run ./key.toml --on ./new.img --size 64M", 2, &["./key.toml:16: ", "`io_depth`", "did you mean `iodepth`?"]),
    ("run ./unit.toml --on ./new.img --size 64M", 2, &["./unit.toml:18: ", "parsecs", "us, ms, s"]),
    ("run ./syntax.toml --on ./new.img --size 64M", 2, &["./syntax.toml:9: "]),
    ("run ./empty.toml --on ./new.img --size 64M", 2, &["./empty.toml: `step`", "does nothing", "add a [[step]]"]),
    ("run ./rates.toml --on ./new.img --size 64M", 2, &["./rates.toml:24: ", "`rates`", "did you mean `rate`?"]),
    (
        "run ./two-points.toml --on ./new.img --size 64M",
        2,
        &["step 2, load 2, numjobs", "one point", "give one number"],
    ),
    ("run ./loads.toml --on r6060-122", 2, &["r6060-122 is a modelled drive", "one load at a time", "mixed load"]),
    ("plan ./loads.toml --on r6060-122", 2, &["r6060-122 is a modelled drive", "one load at a time", "mixed load"]),
    (
        "review --suite ./loads.toml --drives r6060-122 --out new",
        2,
        &["suite loads has", "one load at a time", "mixed load"],
    ),
    ("load --on ./foreign.img --job ./no-load.toml", 2, &["./no-load.toml: `load` = 1", "give 2 to 64 loads"]),
    ("review --profile ./key-profile.toml --out new", 2, &["./key-profile.toml:3", "`usr`", "did you mean `user`?"]),
    ("review --profile ./spare.toml --out new", 2, &["./spare.toml: ", "capacity.user", "reserve of 4", "use at most"]),
    (
        "review --profile ./twin.toml --out new",
        2,
        &["./twin.toml: a drive named r6060-122 exists already", "another id"],
    ),
    ("run tiny --on ./new.img --size 64M --speed 9", 2, &["--speed", "--help"]),
    ("what-if r6060 --rw randread --bs 4KiB", 2, &["unknown drive `r6060`", "did you mean `r6060-"]),
    ("fit --drive r6060-121", 2, &["unknown drive `r6060-121`", "did you mean `r6060-122`?"]),
    ("fit --drive p5430-15", 2, &["unknown drive `p5430-15`", "p5430-30"]),
    ("fit --drive p5430-30 --threads 0", 2, &["--threads is 0", "at least 1"]),
    ("fit --drive p5430-30 --from latest --check", 2, &["cannot be used with"]),
    ("fit --drive p5430-30 --from 1 --store ./no.db", 2, &["no.db"]),
    ("what-if r6060-122", 2, &["no load was given", "give --rw, such as --rw randread --bs 4KiB"]),
    ("what-if r6060-122 --rw randwrit --bs 4KiB", 2, &["randwrit", "randwrite"]),
    (
        "what-if r6060-122 --rw randwrite --fsync 8",
        2,
        &["fsync, fdatasync or dsync is not supported by the modelled drive"],
    ),
    ("what-if r6060-122 --rw randwrite --verify stamp", 2, &["verification is not supported by the modelled drive"]),
    ("what-if r6060-122 --rw randwrite --data-pattern 0xff", 2, &["data other than unique", "the modelled drive"]),
    ("what-if r6060-122 --rw randwrite --write-hint long", 2, &["a write hint is not supported"]),
    ("what-if r6060-122 --rw randwrite --thinktime 1ms", 2, &["thinktime is not supported by the modelled drive"]),
    ("what-if r6060-122 --rw randwrite --amount 1G", 2, &["amount says when it ends", "flashlab load --on DRIVE"]),
    ("what-if r6060-122 --rw randwrite --iodepth 1,8", 2, &["iodepth has 2 values", "one load"]),
    ("what-if r6060-122 --rw randread --bs 1000B", 2, &["not a multiple of the logical block", "use "]),
    ("what-if r6060-122 --rw randread --bs 4KiB --numjobs 0", 2, &["numjobs is 0", "use 1 to"]),
    ("what-if r6060-122 --rw randread --bs 4KiB --size 200TB", 2, &["lies outside", "smaller"]),
    ("what-if r6060-122 --rw randread --bs 4KiB --threads 0", 2, &["--threads is 0", "at least 1"]),
    ("what-if r6060-122 --job ./none.toml", 2, &["./none.toml: no such file"]),
    ("what-if r6060-122 --job ./tiny.toml", 2, &["./tiny.toml:2: ", "unknown field `id`"]),
    ("what-if r6060-122 --job ./tiny.toml --rw read", 2, &["--job", "--help"]),
    ("what-if r6060-122 --fio ./tiny.toml", 2, &["./tiny.toml:2: "]),
    ("what-if r6060-122 --rw read --bs 4KiB --json ./notes.txt", 4, &["./notes.txt: exists already", "--replace"]),
    ("frobnicate", 2, &["frobnicate", "--help"]),
    ("run ./tiny.toml", 2, &["--on", "--help"]),
];

/// Jobs that no target can run, and sizes that don't fit.
const SIZES: &[Case] = &[
    ("run ./bs-zero.toml --on ./new.img --size 64M", 2, &["bs is 0", "give a block size"]),
    ("run ./bs-odd.toml --on ./new.img --size 64M", 2, &["not a multiple of the logical block", "use "]),
    ("run ./bs-odd.toml --on r6060-122", 2, &["not a multiple of the logical block", "use "]),
    ("run ./iodepth-zero.toml --on ./new.img --size 64M", 2, &["step 2, iodepth", "from 1", "such as"]),
    ("run ./numjobs-zero.toml --on ./new.img --size 64M", 2, &["step 2, numjobs", "from 1", "such as"]),
    ("run ./fill-zero.toml --on ./new.img --size 64M", 2, &["fill-64k", "iodepth is 0", "use 1 to"]),
    ("run quick --on ./new.img --size 1M", 2, &["suite quick needs at least 8 MiB", "1 MiB", "larger --size"]),
    ("run quick --on ./small.img --overwrite", 2, &["needs at least 8 MiB", "larger --size"]),
    ("run quick --on ./new.img --size 100", 2, &["'100'", "MiB", "--help"]),
    ("run quick --on ./new.img --size 64M --runtime 30", 2, &["'30'", "ms, s", "--help"]),
    ("run quick --on ./new.img --size 64M --runtime 0s", 2, &["runtime is 0", "at least 1 ms"]),
    ("run quick --on ./foreign.img --size 1G --overwrite", 2, &["--size", "64 MiB", "use at most --size 64MiB"]),
    ("run quick --on r6060-122 --size 200TB", 2, &["--size", "use at most --size"]),
    (
        "run ./tiny.toml --on ./new.img --size 64M --engine psync",
        2,
        &["fill-64k", "psync engine does one I/O at a time", "--engine io_uring"],
    ),
];

/// Targets that can't be one, or must not be overwritten.
const TARGETS: &[Case] = &[
    ("run quick --on ./new.img", 2, &["./new.img: does not exist", "add --size"]),
    ("run quick --on ./no/new.img --size 64M", 2, &["the folder ./no does not exist", "mkdir -p"]),
    ("run quick --on ./dangling --size 64M", 2, &["a symbolic link to nowhere", "correct the link"]),
    ("run quick --on . --size 64M", 4, &["is a directory", "scratch.img"]),
    ("run quick --on ./pipe", 4, &["is a FIFO", "name a regular file"]),
    ("plan quick --on ./pipe", 4, &["is a FIFO", "name a regular file"]),
    ("run quick --on /dev/null", 4, &["character device", "name a regular file"]),
    ("run quick --on /dev/no-such-device --size 64M", 4, &["there is no device /dev/no-such-device"]),
    ("run quick --on ./foreign.img", 4, &["foreign.img was not created by flashlab", "--overwrite"]),
    ("run quick --on ./twice.img --overwrite", 4, &["2 hard links", "one name only"]),
];

/// Files that are read and written by the same command.
const INPUTS: &[Case] = &[
    (
        "load --on ./foreign.img --fio ./replay.fio --json ./small.log --replace",
        4,
        &["--json ./small.log is also a trace of the fio file"],
    ),
    (
        "load --on ./foreign.img --fio ./replay.fio --section other --json ./again.log --replace --overwrite",
        4,
        &["--json ./again.log is also a trace of the fio file"],
    ),
    (
        "what-if r6060-122 --fio ./replay.fio --section replay --json ./small.log --replace",
        4,
        &["--json ./small.log is also a trace of the fio file"],
    ),
    ("load --on ./small.log --fio ./replay.fio --overwrite", 4, &["the target ./small.log is also a trace of the fio"]),
    ("load --on ./again.log --trace ./small.log --overwrite", 4, &["the target ./again.log is also the load"]),
    ("load --on ./replay.fio --fio ./replay.fio --overwrite", 4, &["the target ./replay.fio is also the load"]),
    ("run ./tiny.toml --on ./tiny.toml --overwrite", 4, &["the target ./tiny.toml is also the suite"]),
    ("plan ./tiny.toml --on ./tiny.toml", 4, &["the target ./tiny.toml is also the suite"]),
    (
        "load --on ./foreign.img --rw write --verify stamp --ledger ./foreign.img --overwrite",
        4,
        &["the target ./foreign.img is also the ledger"],
    ),
];

/// Options that mean nothing for what was named.
const OPTIONS: &[Case] = &[
    (
        "run ./tiny.toml --on ./new.img --size 64M --destroy-data sda-12345678",
        2,
        &["--destroy-data is for devices", "./new.img is a file", "leave it out", "--overwrite"],
    ),
    ("run ./tiny.toml --on ./foreign.img --destroy-data sda-12345678", 2, &["--destroy-data is for devices"]),
    ("run ./tiny.toml --on r6060-122 --destroy-data sda-12345678", 2, &["has no meaning", "leave it out"]),
];

/// Stores and files for results.
const RESULTS: &[Case] = &[
    ("list", 2, &["no store here", "--store FILE"]),
    ("list --store ./none.db", 2, &["./none.db: there is no such store", "the first run makes it"]),
    ("list --store ./notes.txt", 3, &["./notes.txt: this is no flashlab store", "the file was left as it is"]),
    ("run ./tiny.toml --on ./new.img --size 64M --store ./notes.txt", 3, &["./notes.txt: this is no flashlab store"]),
    ("run ./tiny.toml --on ./new.img --size 64M --store ./no/s.db", 2, &["./no"]),
    ("export 7 --csv --store ./kept.db", 2, &["no run `7` in ./kept.db", "runs: 1"]),
    ("report 7 --store ./kept.db", 2, &["no run `7` in ./kept.db", "runs: 1"]),
    ("compare 1 9 --store ./kept.db", 2, &["no run `9` in ./kept.db", "runs: 1", "--store"]),
    ("compare 1 nowhere --store ./kept.db", 2, &["nowhere", "./kept.db"]),
    ("fidelity 9 --store ./kept.db", 2, &["no run `9` in ./kept.db", "runs: 1"]),
    ("fidelity 1 --store ./kept.db", 2, &["nothing to compare in ./kept.db", "--store"]),
    ("fidelity 1 --csv ./notes.txt --store ./kept.db", 4, &["./notes.txt: exists already", "--replace"]),
    ("export --store ./kept.db", 2, &["<RUN>", "--help"]),
    ("export 1 --csv - --json - --store ./kept.db", 2, &["both go to standard output", "--csv results.csv"]),
    ("export 1 --csv x --json x --store ./kept.db", 2, &["both go to the same file", "--csv results.csv"]),
    ("export 1 --csv ./notes.txt --store ./kept.db", 4, &["./notes.txt: exists already", "--replace"]),
    ("export 1 --csv ./new.csv --json ./notes.txt --store ./kept.db", 4, &["./notes.txt: exists already"]),
    ("export 1 --csv ./no/new.csv --store ./kept.db", 3, &["./no/new.csv: could not write it", "check the path"]),
    ("export 1 --csv . --replace --store ./kept.db", 2, &["a folder", "path of a file"]),
    ("list --json ./notes.txt --store ./kept.db", 4, &["./notes.txt: exists already", "--replace"]),
    ("drives --json ./notes.txt", 4, &["./notes.txt: exists already", "--replace"]),
    ("doctor --json ./notes.txt", 4, &["./notes.txt: exists already", "--replace"]),
    ("plan ./tiny.toml --on ./new.img --size 64M --json ./notes.txt", 4, &["./notes.txt: exists already", "--replace"]),
    ("report 1 --store ./kept.db --out ./report", 4, &["index.html is there already", "--replace", "--out DIR"]),
    ("report 1 --store ./kept.db --out ./notes.txt", 2, &["./notes.txt: not a folder", "--out"]),
    ("review --out ./report", 4, &["index.html is there already", "--replace"]),
    ("run ./tiny.toml --on ./new.img --size 64M --out ./report", 4, &["index.html is there already", "--replace"]),
    ("run ./tiny.toml --on ./new.img --size 64M --json ./notes.txt", 4, &["./notes.txt: exists already", "--replace"]),
    ("run ./tiny.toml --on ./new.img --size 64M --json ./no/x", 3, &["./no/x: could not write it", "check the path"]),
];

/// A folder with everything that the cases name.
fn prepared() -> Place {
    let place = Place::new();
    let swap = |name: &str, from: &str, to: &str| {
        assert!(TINY.contains(from), "{from}");
        place.write(name, TINY.replacen(from, to, 1));
    };
    swap("tiny.toml", "tiny", "tiny");
    swap("key.toml", "iodepth = [1, 4]", "io_depth = [1, 4]");
    swap("unit.toml", "\"100ms\"", "\"3 parsecs\"");
    swap("syntax.toml", "iodepth = 4", "iodepth = = 4");
    swap("bs-zero.toml", "\"4KiB\"", "\"0\"");
    swap("bs-odd.toml", "\"4KiB\"", "\"1000B\"");
    swap("iodepth-zero.toml", "[1, 4]", "[0]");
    swap("numjobs-zero.toml", "[1]", "[1, 0]");
    swap("fill-zero.toml", "iodepth = 4", "iodepth = 0");
    place.write("loads.toml", LOADS);
    place.write("rates.toml", LOADS.replace("rate_iops", "rates"));
    place.write("two-points.toml", LOADS.replace("numjobs = 2", "numjobs = [2, 4]"));
    place.write("small.log", "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x write 0 4096\n/dev/x close\n");
    fs::hard_link(place.path("small.log"), place.path("again.log")).expect("a hard link");
    place.write("replay.fio", "[replay]\nread_iolog=small.log\n[other]\nstonewall\nrw=randread\nsize=64k\n");
    place.write("no-load.toml", "[[load]]\nrw = 'read'\nbs = '4KiB'\n");
    place.write("empty.toml", "id = 'e'\ntitle = 'e'\npurpose = 'e'\nstep = []\n");
    // One that does not move when a drive is fitted again.
    let profile = include_str!("../../drive/tests/drive.toml");
    place.write("twin.toml", profile);
    let other = profile.replacen("id = \"r6060-122\"", "id = \"other\"", 1);
    place.write("key-profile.toml", other.replacen("\nuser = ", "\nusr = ", 1));
    place.write("spare.toml", other.replacen("122.88TB", "139TB", 1).replacen("\"122.88TB\"", "\"139TB\"", 1));
    for (name, size) in [("small.img", 1 << 20), ("foreign.img", 64 << 20), ("twice.img", 64 << 20)] {
        place.write(name, "").to_str().expect("a Unicode path");
        fs::File::options().write(true).open(place.path(name)).and_then(|f| f.set_len(size)).expect("a file");
    }
    fs::hard_link(place.path("twice.img"), place.path("thrice.img")).expect("a hard link");
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).expect("a link");
    system("mkfifo", &[place.path("pipe").to_str().expect("a Unicode path")]).expect("a FIFO");
    place.write("notes.txt", "not to be lost\n");
    fs::create_dir(place.path("report")).expect("a folder");
    place.write("report/index.html", "an earlier report");
    place.flashlab("run ./tiny.toml --on r6060-122 --size 64M --store ./kept.db").code(0);
    place
}

/// What is not as clear as it must be.
fn faults(arguments: &str, done: &Done, code: i32, says: &[&str]) -> Vec<String> {
    let Done { code: got, out, err } = done;
    let mut faults = Vec::new();
    if *got != Some(code) {
        faults.push(format!("ended with {got:?}, not {code}"));
    }
    faults.extend(says.iter().filter(|words| !err.contains(**words)).map(|words| format!("doesn't say {words:?}")));
    if err.trim().lines().count() < 2 {
        faults.push("gives no remedy".to_owned());
    }
    if !out.is_empty() {
        faults.push(format!("prints {out}"));
    }
    if err.contains("panicked") {
        faults.push("panics".to_owned());
    }
    faults.iter().map(|fault| format!("flashlab {arguments}\n  {fault}; standard error:\n{err}")).collect()
}

#[track_caller]
fn judge(arguments: &str, done: &Done, code: i32, says: &[&str]) {
    let faults = faults(arguments, done, code, says);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs all cases, so that one failure doesn't hide the others.
#[track_caller]
fn check_all(cases: &[Case]) {
    let place = prepared();
    let before = place.listing();
    let mut all = Vec::new();
    for (arguments, code, says) in cases {
        all.extend(faults(arguments, &place.flashlab(arguments), *code, says));
        if place.listing() != before {
            all.push(format!("flashlab {arguments}\n  left something behind or changed it"));
            break;
        }
    }
    assert!(all.is_empty(), "{} faults\n{}", all.len(), all.join("\n"));
}

#[test]
fn unknown_names_and_malformed_texts() {
    check_all(TEXTS);
}

#[test]
fn impossible_jobs_and_sizes() {
    check_all(SIZES);
}

#[test]
fn things_that_are_no_target() {
    check_all(TARGETS);
}

/// What is read is no target and no output, however it was named, and whatever the user allowed.
#[test]
fn inputs_are_not_written() {
    check_all(INPUTS);
}

#[test]
fn options_without_meaning() {
    check_all(OPTIONS);
}

/// Two reviews in one folder would take turns in writing its files.
#[test]
fn a_folder_in_which_another_report_is_made() {
    let place = prepared();
    fs::create_dir(place.path("busy")).expect("a folder");
    let other = fs::File::open(place.path("busy")).expect("the folder");
    other.try_lock().expect("no other");
    let before = place.listing();
    for arguments in [
        "review --drives p5430-30 --suite steady --out busy",
        "run ./tiny.toml --on p5430-30 --store kept.db --out busy --replace",
        "report 1 --store kept.db --out busy",
    ] {
        judge(arguments, &place.flashlab(arguments), 4, &["busy: another flashlab is making a report", "--out DIR"]);
        assert_eq!(place.listing(), before, "{arguments}");
    }
    drop(other);
    place.flashlab("report 1 --store kept.db --out busy").code(0);
}

#[test]
fn stores_and_results() {
    check_all(RESULTS);
}

#[test]
fn block_devices_other_than_loops() {
    let all = fs::read_dir("/sys/block").expect("sysfs").flatten();
    let real = all.map(|entry| Path::new("/dev").join(entry.file_name()));
    let is_real = |node: &std::path::PathBuf| {
        let name = node.file_name().unwrap_or_default().to_string_lossy().into_owned();
        node.exists() && !["loop", "ram", "zram", "sr", "fd", "nbd"].iter().any(|kind| name.starts_with(kind))
    };
    let Some(node) = real.into_iter().find(is_real) else { return skipped("a real block device: there is none") };
    let place = prepared();
    let before = place.listing();
    for more in ["", "--overwrite", "--destroy-data vda-00000000"] {
        let arguments = format!("run ./tiny.toml --on {} {more}", node.display());
        judge(&arguments, &place.flashlab(&arguments), 4, &["refused, nothing was written", "not a loop device"]);
        assert_eq!(place.listing(), before, "{arguments}");
    }
}

/// Runs the program where something is mounted at `mnt`, seen by nobody else; then lists `mnt`.
fn with_mount(place: &Place, mount: &str, arguments: &str) -> (Done, String) {
    let script = format!("{mount} && {{ {FLASHLAB} {arguments}; code=$?; ls -A mnt > in-mnt; exit $code; }}");
    let done = place.command("unshare", &["--mount", "--propagation", "private", "sh", "-c", &script]);
    (done, place.read("in-mnt"))
}

const TMPFS: &str = "mount -t tmpfs -o size=16m none mnt";

#[test]
fn a_file_system_without_room_or_without_o_direct() {
    if !own_mounts_for("a full file system") {
        return;
    }
    let place = prepared();
    fs::create_dir(place.path("mnt")).expect("a folder");
    place.write("in-mnt", "");
    for (arguments, says) in [
        ("run ./tiny.toml --on mnt/new.img --size 64M --buffered", &["out of space", "missing", "smaller --size"]),
        ("run ./tiny.toml --on mnt/new.img --size 8M", &["O_DIRECT is not available", "mnt/new.img", "--buffered"]),
    ] {
        let (done, left) = with_mount(&place, TMPFS, arguments);
        judge(arguments, &done, 3, says);
        assert_eq!((left.as_str(), place.path("flashlab.db").exists()), ("", false), "{arguments}");
    }
    let arguments = "run ./tiny.toml --on mnt/new.img --size 8M --buffered --store mnt/s.db";
    let (done, left) = with_mount(&place, TMPFS, arguments);
    assert!(done.code(0).out.contains("not O_DIRECT"));
    assert_eq!(left, "new.img\ns.db\n");
}

#[test]
fn a_read_only_file_system() {
    if !own_mounts_for("a read-only file system") {
        return;
    }
    let place = prepared();
    fs::create_dir(place.path("mnt")).expect("a folder");
    place.write("mnt/there.img", vec![0; 8 << 20]);
    place.write("in-mnt", "");
    let mount = "mount --bind mnt mnt && mount -o remount,bind,ro mnt";
    for arguments in [
        "run ./tiny.toml --on mnt/there.img --overwrite",
        "run ./tiny.toml --on mnt/new.img --size 8M",
        "plan ./tiny.toml --on mnt/there.img --json mnt/plan.json",
    ] {
        let code = if arguments.starts_with("plan") { 3 } else { 4 };
        let (done, left) = with_mount(&place, mount, arguments);
        judge(arguments, &done, code, &["mnt", "ead-only"]);
        assert_eq!((left.as_str(), place.path("flashlab.db").exists()), ("there.img\n", false), "{arguments}");
    }
}

#[test]
fn a_user_without_permission() {
    if !root_for("a user without permission") {
        return;
    }
    // A folder that anybody may enter, with the program in it: the build may lie in a closed one.
    let place = Place::in_folder(&std::env::temp_dir());
    let open = |name: &str, mode: u32| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).expect("permissions");
    };
    fs::copy(FLASHLAB, place.path("flashlab")).expect("a copy of the program");
    place.write("tiny.toml", TINY);
    place.write("there.img", vec![0; 8 << 20]);
    fs::create_dir(place.path("closed")).expect("a folder");
    place.write("closed/there.img", vec![0; 8 << 20]);
    fs::create_dir(place.path("free")).expect("a folder");
    for (name, mode) in [(".", 0o755), ("there.img", 0o444), ("closed", 0o700), ("free", 0o777)] {
        open(name, mode);
    }
    let program = place.path("flashlab").display().to_string();
    let nobody = |arguments: &str| {
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", &program];
        place.command("setpriv", &user.into_iter().chain(arguments.split_whitespace()).collect::<Vec<_>>())
    };
    if nobody("--version").code != Some(0) {
        return skipped("a user without permission: setpriv can't run the program as nobody");
    }
    let before = place.listing();
    let cases: &[Case] = &[
        ("run ./tiny.toml --on ./there.img --overwrite --store free/s.db", 4, &["no permission to write it"]),
        ("run ./tiny.toml --on ./new.img --size 8M --store free/s.db", 4, &["no permission to write it"]),
        ("run ./tiny.toml --on closed/there.img --store free/s.db", 3, &["closed/there.img", "you may not enter"]),
        ("run ./tiny.toml --on free/new.img --size 8M", 3, &["flashlab.db"]),
        ("review --out ./new", 3, &["./new: could not create the folder", "permissions"]),
        ("list --store closed/s.db", 3, &["closed/s.db"]),
    ];
    for (arguments, code, says) in cases {
        judge(arguments, &nobody(arguments), *code, says);
        assert_eq!(place.listing(), before, "{arguments}");
    }
    nobody("run ./tiny.toml --on free/new.img --size 8M --store free/s.db").code(0);
}

/// Runs what it is given without io_uring_setup, as in many containers: a filter of four
/// instructions, set by prctl (157 on x86-64): no new privileges (38), seccomp (22) with a filter (2).
const NO_IO_URING: &str = r#"
my @code = ([0x20, 0, 0, 0], [0x15, 0, 1, 425], [0x06, 0, 0, 0x00050001], [0x06, 0, 0, 0x7fff0000]);
my $code = join "", map { pack "SCCL", @$_ } @code;
syscall(157, 38, 1, 0, 0, 0) == 0 or die "no new privileges: $!";
syscall(157, 22, 2, pack "Sx6P", scalar @code, $code) == 0 or die "seccomp: $!";
exec @ARGV or die "exec: $!";
"#;

#[test]
fn a_container_without_io_uring() {
    let place = prepared();
    let filtered = |arguments: &str| {
        let words = ["-e", NO_IO_URING, FLASHLAB].into_iter().chain(arguments.split_whitespace());
        place.command("perl", &words.collect::<Vec<_>>())
    };
    if !cfg!(target_arch = "x86_64") || system("perl", &["-e", NO_IO_URING, "true"]).is_err() {
        return skipped("a container without io_uring: needs perl and seccomp on x86-64");
    }
    let before = place.listing();
    let arguments = "run ./tiny.toml --on ./new.img --size 64M";
    judge(arguments, &filtered(arguments), 3, &["io_uring is not available", "seccomp", "--engine psync"]);
    assert_eq!(place.listing(), before);
    let doctor = filtered("doctor --json -").code(1).json();
    let ring = doctor["checks"].as_array().expect("checks").iter().find(|c| c["check"] == "io_uring");
    assert_eq!(ring.expect("a check of io_uring")["state"], "MISSING");
    // The way out that the message names works.
    place.write("one.toml", TINY.replace("iodepth = 4", "iodepth = 1").replace("[1, 4]", "[1]"));
    filtered("run ./one.toml --on ./new.img --size 8M --engine psync").code(0);
    // The other one as well, which is only taken where it is asked for, and says so.
    let fallen = filtered("run ./one.toml --on ./new.img --fallback psync --json -").code(0);
    assert!(fallen.err.contains("psync takes its place, as --fallback says"), "{}", fallen.err);
    assert!(fallen.out.contains("asked for and not granted: io_uring: "), "{}", fallen.out);
    let deep = filtered("load --on ./new.img --rw randread --runtime 1s --iodepth 4 --fallback psync").code(2);
    assert!(deep.err.contains("iodepth 1"), "{}", deep.err);
}

/// The filter refuses as the sysctl does; what the sysctl says is a file bound over it.
#[test]
fn io_uring_switched_off_by_the_sysctl() {
    const SYSCTL: &str = "/proc/sys/kernel/io_uring_disabled";
    if !own_mounts_for("io_uring switched off by the sysctl") {
        return;
    }
    if !Path::new(SYSCTL).exists() || system("perl", &["-e", NO_IO_URING, "true"]).is_err() {
        return skipped("io_uring switched off by the sysctl: needs Linux 6.6, perl and seccomp on x86-64");
    }
    let place = prepared();
    place.write("two", "2\n");
    let script = format!("mount --bind two {SYSCTL} && exec perl -e '{NO_IO_URING}' \"$@\"");
    let arguments = "run ./tiny.toml --on ./new.img --size 64M";
    let words = ["--mount", "sh", "-c", &script, "sh", FLASHLAB].into_iter().chain(arguments.split(' '));
    let done = place.command("unshare", &words.collect::<Vec<_>>());
    let says = ["kernel.io_uring_disabled = 2", "sysctl -w kernel.io_uring_disabled=0", "--engine psync"];
    judge(arguments, &done, 3, &says);
}

#[test]
fn what_is_no_file_is_never_replaced_by_one() {
    if !root_for("a device as a file of results") {
        return;
    }
    let place = prepared();
    let node = place.path("null");
    if let Err(reason) = system("mknod", &[node.to_str().expect("a Unicode path"), "c", "1", "3"]) {
        return skipped(&reason);
    }
    place.flashlab("export 1 --csv ./null --store ./kept.db --replace").code(0);
    place.flashlab("drives --json ./null --replace").code(0);
    let kind = fs::symlink_metadata(&node).expect("still there").file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&kind));
}
