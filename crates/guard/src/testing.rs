//! A machine laid out as files, with any tree of devices, for tests.

use crate::machine::Machine;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

/// Builds `sys`, `proc` and `dev` under a temporary folder.
pub(crate) struct Bench {
    root: TempDir,
    mounts: String,
    swaps: String,
    numbers: u32,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["sys/class/block", "sys/dev/block", "sys/block", "proc/self", "dev"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder in it");
        }
        let mut bench = Bench { root, mounts: String::new(), swaps: "Filename Type\n".to_owned(), numbers: 0 };
        bench.mount("0:2", "tmpfs", "/run", "tmpfs");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn device(&mut self, name: &str, folder: &str) {
        self.numbers += 1;
        let number = format!("259:{}", self.numbers);
        fs::create_dir_all(self.path(folder).join("holders")).expect("holders");
        fs::create_dir_all(self.path(folder).join("slaves")).expect("slaves");
        symlink(self.path(folder), self.path("sys/class/block").join(name)).expect("class link");
        symlink(self.path(folder), self.path("sys/dev/block").join(&number)).expect("number link");
        self.set(name, "dev", &number);
        self.set(name, "ro", "0");
        self.set(name, "size", &(Self::SIZE / 512).to_string());
        File::create(self.path("dev").join(name)).and_then(|file| file.set_len(Self::SIZE)).expect("a device file");
    }

    /// Size of every device.
    pub(crate) const SIZE: u64 = 4 << 20;

    pub(crate) fn disk(&mut self, name: &str) {
        self.device(name, &format!("sys/block/{name}"));
    }

    pub(crate) fn partition(&mut self, disk: &str, name: &str) {
        self.device(name, &format!("sys/block/{disk}/{name}"));
        self.set(name, "partition", "1");
    }

    /// A device mapper device or array over others.
    pub(crate) fn over(&mut self, name: &str, members: &[&str], attribute: &str, value: &str) {
        self.disk(name);
        self.set(name, attribute, value);
        for member in members {
            let target = self.path("sys/class/block").join(name);
            symlink(target, self.path("sys/class/block").join(member).join("holders").join(name)).expect("holder");
            let target = self.path("sys/class/block").join(member);
            symlink(target, self.path("sys/class/block").join(name).join("slaves").join(member)).expect("slave");
        }
    }

    pub(crate) fn set(&self, name: &str, attribute: &str, value: &str) {
        let path = self.path("sys/class/block").join(name).join(attribute);
        fs::create_dir_all(path.parent().expect("an attribute is in a folder")).expect("its folder");
        fs::write(path, format!("{value}\n")).expect("an attribute");
    }

    pub(crate) fn write(&self, name: &str, at: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(self.path("dev").join(name)).expect("a device file");
        file.write_all_at(bytes, at).expect("its content");
    }

    pub(crate) fn mount(&mut self, number: &str, source: &str, place: &str, fs_type: &str) {
        let id = self.mounts.lines().count() + 20;
        self.mounts += &format!("{id} 1 {number} / {place} rw - {fs_type} {source} rw\n");
        fs::write(self.path("proc/self/mountinfo"), &self.mounts).expect("mountinfo");
        fs::write(self.path("proc/swaps"), &self.swaps).expect("swaps");
    }

    pub(crate) fn swap(&mut self, source: &str) {
        self.swaps += &format!("{source} partition 1 0 -2\n");
        fs::write(self.path("proc/swaps"), &self.swaps).expect("swaps");
    }

    pub(crate) fn btrfs(&self, members: &[&str]) {
        for member in members {
            fs::create_dir_all(self.path("sys/fs/btrfs/0-1/devices").join(member)).expect("a member");
        }
    }

    pub(crate) fn number(&self, name: &str) -> String {
        let path = self.path("sys/class/block").join(name).join("dev");
        fs::read_to_string(path).expect("its number").trim().to_owned()
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::at(self.root.path())
    }
}
