//! Folders, commands and machine parts for tests of the whole program.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::print_stderr, reason = "a test that can't run says why")]

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The program under test.
pub(crate) const FLASHLAB: &str = env!("CARGO_BIN_EXE_flashlab");

/// Longer than any command here takes, so that one that hangs fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A suite of a fill and two short points.
pub(crate) const TINY: &str = r#"
id = "tiny"
title = "two short points"
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
runtime = "100ms"
"#;

/// Reads beside writes that are limited, after a fill.
pub(crate) const LOADS: &str = r#"
id = "loads"
title = "reads under writes"
purpose = "tests"
[[step]]
do = "fill"
bs = "64KiB"
iodepth = 4
passes = 1
[[step]]
do = "concurrent"
[[step.load]]
workload = "read-under-write"
rw = "randread"
bs = "4KiB"
iodepth = 1
numjobs = 1
runtime = "400ms"
[[step.load]]
rw = "randwrite"
bs = "16KiB"
iodepth = 4
numjobs = 2
rate_iops = 50
runtime = "400ms"
"#;

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Fails unless it ended with `code`.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Done {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}", self.out))
    }
}

/// A folder of one test alone, in which its commands run.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Beside the build, where files lie on a disk.
    pub(crate) fn new() -> Place {
        Place::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// In memory where there is such a place: for tests that commit many steps and need no disk.
    pub(crate) fn in_memory() -> Place {
        let memory = Path::new("/dev/shm");
        let usable = tempfile::tempfile_in(memory).is_ok();
        Place::in_folder(if usable { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) })
    }

    pub(crate) fn in_folder(folder: &Path) -> Place {
        let folder = tempfile::Builder::new().prefix("flashlab-cli-").tempdir_in(folder).expect("a temporary folder");
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("a file in a temporary folder");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs the program with the words of `arguments`.
    pub(crate) fn flashlab(&self, arguments: &str) -> Done {
        self.command(FLASHLAB, &arguments.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command in this folder.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Done {
        let mut command = assert_cmd::Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).timeout(PATIENCE);
        let output = command.env_remove("FLASHLAB_STORE").env_remove("NO_COLOR").output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Every file and folder below with its size and time of change, to see that nothing was touched.
    pub(crate) fn listing(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(self.folder.path(), &mut found);
        found.sort();
        found
    }

    /// The runs in a store, as `list` has them.
    pub(crate) fn runs(&self, store: &str) -> Vec<Value> {
        let list = self.flashlab(&format!("list --store {store} --json -")).code(0).json();
        list.as_array().expect("a list").clone()
    }
}

fn list(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let about = fs::symlink_metadata(&path).expect("an entry");
        if about.is_dir() {
            found.push(path.display().to_string());
            list(&path, found);
        } else {
            found.push(format!("{} {} {:?}", path.display(), about.len(), about.modified().expect("a time")));
        }
    }
}

/// Says that a test, or a part of it, did not run, and why.
pub(crate) fn skipped(reason: &str) {
    eprintln!("SKIPPED: {reason}");
    if let Some(path) = std::env::var_os("FLASHLAB_SKIPPED_FILE") {
        let file = fs::File::options().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{reason}")).expect("the file of skipped tests");
    }
}

/// Whether this is root; says so where it isn't.
pub(crate) fn root_for(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped(&format!("{what}: needs root"));
    }
    root
}

/// Runs a system program; `Err` holds what it said.
pub(crate) fn system(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Whether mounts of a process's own can be made here; says so where they can't.
pub(crate) fn own_mounts_for(what: &str) -> bool {
    if !root_for(what) {
        return false;
    }
    let works = system("unshare", &["--mount", "mount", "-t", "tmpfs", "none", "/tmp"]);
    if let Err(reason) = &works {
        skipped(&format!("{what}: {reason}"));
    }
    works.is_ok()
}

/// An attached loop device, detached when it goes out of scope.
pub(crate) struct Loop {
    pub(crate) node: String,
}

impl Loop {
    /// Attaches a file; `None`, with the reason said, where that can't be done.
    pub(crate) fn attach(image: &Path) -> Option<Loop> {
        match system("losetup", &["--find", "--show", image.to_str().expect("a Unicode path")]) {
            Ok(node) => Some(Loop { node }),
            Err(reason) => {
                skipped(&format!("loop devices: {reason}"));
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(reason) = system("losetup", &["--detach", &self.node]) {
            eprintln!("{reason}");
        }
    }
}
