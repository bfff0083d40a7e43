//! What the tests need of the machine: installed when it can be, named when it can't.
//!
//! Nothing here fails the whole: a test that misses something says so itself. This says it before
//! the tests run, and why.

use crate::run;
use anyhow::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// A program that tests call, and the Debian package that has it.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("mkfs.ext4", "e2fsprogs", "tests that make a file system"),
    ("losetup", "mount", "tests on a loop device"),
    ("mount", "mount", "tests on a mounted file system"),
    ("blkid", "util-linux", "tests of signatures on a device"),
];

/// Folders of system programs; a person's PATH may lack them.
const SYSTEM_FOLDERS: &[&str] = &["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Installs what is missing, as far as it can, and returns what stays missing and why.
pub(super) fn prepare(browser: bool) -> Result<Vec<String>> {
    let wanted = PROGRAMS.iter().chain(browser.then_some(&("chromium", "chromium", "tests in a browser")));
    let missing: Vec<_> = wanted.filter(|(program, ..)| !has_program(program)).collect();
    let mut packages: Vec<&str> = missing.iter().map(|(_, package, _)| *package).collect();
    packages.dedup();
    let mut skipped = Vec::new();
    if !packages.is_empty() {
        let why = install(&packages)?.err().unwrap_or_else(|| "the package is there and doesn't hold it".into());
        let still = missing.iter().filter(|(program, ..)| !has_program(program));
        skipped.extend(still.map(|(program, package, what)| format!("{what}: no `{program}` ({package}): {why}")));
    }
    skipped.extend(limits());
    Ok(skipped)
}

/// Why `program` of Debian's `package` can't be used, or nothing when it can; installs it if possible.
pub(crate) fn missing_program(program: &str, package: &str, what: &str) -> Result<Option<String>> {
    if has_program(program) {
        return Ok(None);
    }
    let why = install(&[package])?.err().unwrap_or_else(|| "the package is there and doesn't hold it".into());
    Ok((!has_program(program)).then(|| format!("{what}: no `{program}` ({package}): {why}")))
}

/// What the machine itself doesn't give, each with what can't be tested without it.
fn limits() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut limits = Vec::new();
    if !is_root() {
        limits.push("tests on loop devices and mounts: they need root".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        limits.push("tests on loop devices: there is no /dev/loop-control".to_owned());
    }
    if !has_io_limits(&read("/proc/cgroups"), &read("/sys/fs/cgroup/cgroup.controllers")) {
        limits.push("tests at a limited rate: the kernel has no blkio (or io) cgroup controller".to_owned());
    }
    let uring = read("/proc/sys/kernel/io_uring_disabled");
    if uring.trim() == "2" || uring.trim() == "1" && !is_root() {
        limits.push(format!("tests of the load engine: kernel.io_uring_disabled is {}", uring.trim()));
    }
    limits
}

/// Whether a device's rate can be limited: version 1's list of controllers, or version 2's.
fn has_io_limits(version_1: &str, version_2: &str) -> bool {
    let enabled = |line: &str| line.starts_with("blkio\t") && line.trim_end().ends_with('1');
    version_1.lines().any(enabled) || version_2.split_whitespace().any(|name| name == "io")
}

/// Why a cargo component can't be used, or nothing when it can; installs it if rustup is there.
pub(super) fn missing_component(component: &str) -> Result<Option<String>> {
    let works = || -> Result<bool> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args([component, "--version"]);
        Ok(run::collect(command)?.status.success())
    };
    if works()? {
        return Ok(None);
    }
    let package = if component == "fmt" { "rustfmt" } else { component };
    if !has_program("rustup") {
        return Ok(Some(format!("cargo {component}: {package} isn't installed and there is no rustup to install it")));
    }
    println!("installing {package}");
    let mut command = Command::new("rustup");
    command.args(["component", "add", package]);
    let output = run::collect(command)?;
    if output.status.success() && works()? {
        return Ok(None);
    }
    Ok(Some(format!("cargo {component}: rustup can't install {package}: {}", last_line(&output.stderr))))
}

/// Installs Debian packages; the inner error is why it can't be done here.
fn install(packages: &[&str]) -> Result<Result<(), String>> {
    if !has_program("apt-get") {
        return Ok(Err("there is no apt-get here".into()));
    }
    if !is_root() {
        return Ok(Err("that needs root".into()));
    }
    println!("installing: {}", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["-o", "DPkg::Lock::Timeout=60"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        run::collect(command)
    };
    // What is installed stays at its version: a check of the tree must not upgrade the machine.
    let install = [&["install", "--yes", "--no-install-recommends", "--no-upgrade"][..], packages].concat();
    // A fresh machine has no list of packages yet; an old list names files that are gone.
    if apt(&install)?.status.success() {
        return Ok(Ok(()));
    }
    let update = apt(&["update"])?;
    let output = apt(&install)?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let why = if update.status.success() { output.stderr } else { update.stderr };
    Ok(Err(format!("apt-get failed (is there a network?): {}", last_line(&why))))
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(Into::into));
    folders.into_iter().any(|folder| folder.join(name).is_file())
}

/// Whether this process is root: its own folder in /proc belongs to its effective user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|folder| folder.uid() == 0)
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().lines().next_back().unwrap_or("it gave no reason").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_version_of_cgroups_can_limit() {
        let list = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t1\t1\nblkio\t7\t1\t";
        assert!(has_io_limits(&format!("{list}1\n"), ""));
        assert!(!has_io_limits(&format!("{list}0\n"), "cpu memory\n"));
        assert!(has_io_limits("", "cpuset cpu io memory\n"));
        assert!(!has_io_limits("", ""));
    }

    #[test]
    fn programs_are_found_by_name() {
        assert!(has_program("sh"));
        assert!(!has_program("no-such-program-here"));
    }

    #[test]
    fn the_last_line_is_the_reason() {
        assert_eq!(last_line(b"Reading...\nE: no such package\n"), "E: no such package");
        assert_eq!(last_line(b""), "it gave no reason");
    }
}
