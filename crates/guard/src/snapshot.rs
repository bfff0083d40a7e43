//! Who uses what on the machine at one moment: mounts, swap areas and loop devices.

use crate::loops::{self, AttachedLoop};
use crate::machine::Machine;
use crate::stat::{Kind, Stat};
use crate::tables::{self, MountLine};
use crate::{DeviceNumber, FileId, GuardError};
use std::io;
use std::path::Path;

/// A mount with the block devices under it.
#[derive(Debug, Clone)]
pub(crate) struct Mount {
    pub(crate) line: MountLine,
    /// The device number of its files, that of its source, and those of a btrfs with many members.
    devices: Vec<DeviceNumber>,
}

/// A swap area.
#[derive(Debug, Clone)]
struct Swap {
    device: Option<DeviceNumber>,
    file: Option<FileId>,
}

/// The tables, read once.
#[derive(Debug)]
pub(crate) struct Snapshot<'a> {
    pub(crate) machine: &'a Machine,
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
    pub(crate) loops: Vec<AttachedLoop>,
}

impl<'a> Snapshot<'a> {
    /// Reads the tables. A table that can't be read is an error: what isn't known to be free is not
    /// free.
    pub(crate) fn take(machine: &'a Machine) -> Result<Self, GuardError> {
        let path = machine.proc("self/mountinfo");
        let text = std::fs::read(&path).map_err(|error| GuardError::io("read the mounts", &path, error))?;
        let lines = tables::mounts(&text).map_err(|line| {
            let error = io::Error::new(io::ErrorKind::InvalidData, format!("line not understood: {line}"));
            GuardError::io("read the mounts", &path, error)
        })?;
        let path = machine.proc("swaps");
        let swaps = match std::fs::read(&path) {
            Ok(text) => tables::swaps(&text),
            // A kernel without swap has no such file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(GuardError::io("read the swap areas", &path, error)),
        };
        let btrfs = machine.btrfs_members();
        Ok(Snapshot {
            machine,
            mounts: lines.into_iter().map(|line| mount(machine, &btrfs, line)).collect(),
            swaps: swaps.iter().map(|path| swap(machine, path)).collect(),
            loops: loops::attached(machine),
        })
    }

    /// Mounts that lie on this block device.
    pub(crate) fn mounts_on(&self, device: DeviceNumber) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().filter(move |mount| mount.devices.contains(&device))
    }

    /// The mount with this id.
    pub(crate) fn mount(&self, id: u64) -> Option<&MountLine> {
        self.mounts.iter().map(|mount| &mount.line).find(|line| line.id == id)
    }

    /// Whether this block device is a swap area.
    pub(crate) fn swap_on(&self, device: DeviceNumber) -> bool {
        self.swaps.iter().any(|swap| swap.device == Some(device))
    }

    /// Whether this file is a swap area.
    pub(crate) fn swap_in(&self, file: FileId) -> bool {
        self.swaps.iter().any(|swap| swap.file == Some(file))
    }

    /// Loop devices over this file; `by_inode` tells those whose device number may differ for the same
    /// file, because one of the two paths is on a stacked file system.
    pub(crate) fn loops_over(
        &self,
        file: FileId,
        by_inode: impl Fn(&AttachedLoop) -> bool,
    ) -> impl Iterator<Item = &AttachedLoop> {
        let same = move |entry: &&AttachedLoop| {
            entry.backing.is_some_and(|b| b.id == file || (b.id.inode == file.inode && by_inode(entry)))
        };
        self.loops.iter().filter(same)
    }

    /// Loop devices over this block device.
    pub(crate) fn loops_on(&self, device: DeviceNumber) -> impl Iterator<Item = &AttachedLoop> {
        self.loops.iter().filter(move |entry| entry.backing.is_some_and(|backing| backing.device == Some(device)))
    }
}

fn mount(machine: &Machine, btrfs: &[Vec<String>], line: MountLine) -> Mount {
    let mut devices = vec![line.device];
    // bcachefs names all its members in one source, with colons between.
    for part in line.source.to_string_lossy().split(':').filter(|part| part.starts_with('/')) {
        devices.extend(machine.number_at(Path::new(part)));
    }
    if line.fs_type == "btrfs" {
        let numbers =
            |members: &Vec<String>| members.iter().filter_map(|name| machine.number(name)).collect::<Vec<_>>();
        let own = btrfs.iter().map(numbers).find(|numbers| numbers.iter().any(|number| devices.contains(number)));
        devices.extend(own.unwrap_or_default());
    }
    Mount { line, devices }
}

fn swap(machine: &Machine, path: &Path) -> Swap {
    let file = Stat::at(&machine.locate(path)).ok().filter(|stat| stat.kind == Kind::Regular).map(|stat| stat.id);
    Swap { device: machine.number_at(path), file }
}
