//! What the kernel tells about block devices under `/sys`, and where devices are under `/dev`.
//!
//! Everything is read below one root folder, so that tests can lay out a machine with any tree of
//! devices as files.

use crate::DeviceNumber;
use crate::stat::{Kind, Stat};
use crate::tables::device_number;
use flashlab_units::Bytes;
use std::path::{Path, PathBuf};

/// A machine, by the folder that holds its `sys`, `proc` and `dev`.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    root: PathBuf,
}

/// Unit of sizes under `/sys`, whatever the block size of the device.
const SYSFS_SECTOR: u64 = 512;

impl Machine {
    /// The one this program runs on.
    pub(crate) fn real() -> Self {
        Machine { root: PathBuf::from("/") }
    }

    /// One laid out under a folder.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Machine { root: root.to_owned() }
    }

    pub(crate) fn proc(&self, name: &str) -> PathBuf {
        self.root.join("proc").join(name)
    }

    pub(crate) fn sys(&self, name: &str) -> PathBuf {
        self.root.join("sys").join(name)
    }

    /// The device file of a device. `/sys` writes `!` where the name has a slash.
    pub(crate) fn node(&self, name: &str) -> PathBuf {
        self.root.join("dev").join(name.replace('!', "/"))
    }

    /// Where a path that a table of the kernel names is to be found.
    pub(crate) fn locate(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.sys("class/block").join(name)
    }

    /// Names of all block devices, partitions included.
    pub(crate) fn names(&self) -> Vec<String> {
        entries(&self.sys("class/block"))
    }

    /// One attribute of a device, trimmed; `None` if there is none or it is empty.
    pub(crate) fn attribute(&self, name: &str, attribute: &str) -> Option<String> {
        let bytes = std::fs::read(self.folder(name).join(attribute)).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn number_attribute(&self, name: &str, attribute: &str) -> Option<u64> {
        self.attribute(name, attribute)?.parse().ok()
    }

    pub(crate) fn number(&self, name: &str) -> Option<DeviceNumber> {
        device_number(self.attribute(name, "dev")?.as_bytes())
    }

    /// Name of the device with this number.
    pub(crate) fn name_of(&self, number: DeviceNumber) -> Option<String> {
        let link = self.sys("dev/block").join(number.to_string());
        Some(link.canonicalize().ok()?.file_name()?.to_str()?.to_owned())
    }

    pub(crate) fn size(&self, name: &str) -> Option<Bytes> {
        self.number_attribute(name, "size")?.checked_mul(SYSFS_SECTOR).map(Bytes)
    }

    /// Logical block size; a partition has its disk's.
    pub(crate) fn logical_block(&self, name: &str) -> Option<Bytes> {
        let disk = self.disk_of(name).unwrap_or_else(|| name.to_owned());
        self.number_attribute(&disk, "queue/logical_block_size").map(Bytes)
    }

    pub(crate) fn read_only(&self, name: &str) -> bool {
        self.number_attribute(name, "ro").is_some_and(|ro| ro != 0)
    }

    pub(crate) fn disk_sequence(&self, name: &str) -> Option<u64> {
        self.number_attribute(name, "diskseq")
    }

    pub(crate) fn is_partition(&self, name: &str) -> bool {
        self.folder(name).join("partition").exists()
    }

    /// The disk that a partition is on; `None` for what is no partition.
    pub(crate) fn disk_of(&self, name: &str) -> Option<String> {
        if !self.is_partition(name) {
            return None;
        }
        let folder = self.folder(name).canonicalize().ok()?;
        Some(folder.parent()?.file_name()?.to_str()?.to_owned())
    }

    /// Partitions of a disk.
    pub(crate) fn partitions(&self, name: &str) -> Vec<String> {
        let folder = self.folder(name);
        entries(&folder).into_iter().filter(|entry| folder.join(entry).join("partition").exists()).collect()
    }

    /// Devices that lie on this one: md, device mapper, bcache and others that tell the kernel.
    pub(crate) fn holders(&self, name: &str) -> Vec<String> {
        entries(&self.folder(name).join("holders"))
    }

    /// Devices that this one lies on.
    pub(crate) fn slaves(&self, name: &str) -> Vec<String> {
        entries(&self.folder(name).join("slaves"))
    }

    /// The name that people know: `vg0-root (dm-1)`, `md0 (raid1)`, `sda`.
    pub(crate) fn label(&self, name: &str) -> String {
        if let Some(mapped) = self.attribute(name, "dm/name") {
            return format!("{mapped} ({name})");
        }
        match self.attribute(name, "md/level") {
            Some(level) => format!("{name} ({level})"),
            None => name.to_owned(),
        }
    }

    /// The device that a device file leads to. Falls back to the name under `/sys`, because a
    /// container may have a mount table that names devices and yet no such device files.
    pub(crate) fn number_at(&self, path: &Path) -> Option<DeviceNumber> {
        if let Ok(stat) = Stat::at(&self.locate(path))
            && stat.kind == Kind::Block
        {
            return Some(stat.device);
        }
        let name = path.strip_prefix("/dev").ok()?.to_str()?;
        if let Some(mapped) = name.strip_prefix("mapper/") {
            let named = |entry: &String| self.attribute(entry, "dm/name").as_deref() == Some(mapped);
            return self.number(&self.names().into_iter().find(named)?);
        }
        self.number(&name.replace('/', "!"))
    }

    /// Members of each mounted btrfs, a list of device names a file system. The mount table names
    /// only one of them, and its device number is made up.
    pub(crate) fn btrfs_members(&self) -> Vec<Vec<String>> {
        let root = self.sys("fs/btrfs");
        entries(&root).into_iter().map(|id| entries(&root.join(id).join("devices"))).filter(|m| !m.is_empty()).collect()
    }
}

/// Sorted names in a folder; none if it can't be read.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(found) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = found.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
