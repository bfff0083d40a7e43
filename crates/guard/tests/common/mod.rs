//! Loop devices and mounts for tests, undone when they go out of scope, also after a failure.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::print_stderr, reason = "a test that can't run says why")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// 1 MiB.
pub(crate) const MIB: u64 = 1 << 20;

/// A folder of this test alone, on the file system of the system's temporary folder.
pub(crate) fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("flashlab-guard-").tempdir().expect("a temporary folder")
}

/// Runs a command; `Err` holds what it said.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let Output { status, stdout, stderr } = Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).trim().to_owned());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr).trim()))
}

/// As [`run`], for steps that must work once loop devices do.
pub(crate) fn must(program: &str, arguments: &[&str]) -> String {
    run(program, arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// Locks a file that was let go of. A process that another test starts holds each open file for a moment, until its
/// program takes over.
pub(crate) fn free_lock(file: &File) {
    let free = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        file.try_lock().is_ok()
    });
    assert!(free, "not let go of");
}

/// Says on standard error that a test did not run.
pub(crate) fn skipped(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

/// A file of this size without content.
pub(crate) fn image(folder: &Path, name: &str, size: u64) -> PathBuf {
    let path = folder.join(name);
    File::create(&path).and_then(|file| file.set_len(size)).expect("a file in a temporary folder");
    path
}

/// An attached loop device.
pub(crate) struct Loop {
    pub(crate) node: PathBuf,
}

impl Loop {
    /// Attaches a file; `None`, with the reason printed, where that can't be done.
    pub(crate) fn attach(image: &Path, options: &[&str]) -> Option<Loop> {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(text(image));
        match run("losetup", &arguments) {
            Ok(node) => Some(Loop { node: PathBuf::from(node) }),
            Err(reason) => {
                skipped(&reason);
                None
            }
        }
    }

    pub(crate) fn name(&self) -> String {
        self.node.file_name().expect("a device file has a name").to_string_lossy().into_owned()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(error) = run("losetup", &["--detach", text(&self.node)]) {
            eprintln!("{error}");
        }
    }
}

/// A mounted file system.
pub(crate) struct Mounted {
    pub(crate) place: PathBuf,
}

impl Mounted {
    /// Mounts; `None`, with the reason printed, where that can't be done.
    pub(crate) fn mount(arguments: &[&str], place: &Path) -> Option<Mounted> {
        std::fs::create_dir_all(place).expect("a folder to mount at");
        let mut all = arguments.to_vec();
        all.push(text(place));
        match run("mount", &all) {
            Ok(_) => Some(Mounted { place: place.to_owned() }),
            Err(reason) => {
                skipped(&reason);
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = run("umount", &[text(&self.place)]) {
            eprintln!("{error}");
        }
    }
}

/// A path as text; the paths of these tests are.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are Unicode")
}
