//! What lies on a block device and under it: partitions, holders and loop devices, with everything
//! that is in use among them.
//!
//! Devices are compared by number, never by path, because one device has many names. Names are for
//! people only.

use crate::protection::{Protection, ProtectionKind};
use crate::signatures;
use crate::snapshot::Snapshot;
use crate::stat::{Kind, Stat};
use rustix::fs::{Mode, OFlags};
use std::collections::HashSet;
use std::fs::File;
use std::io;

/// How deep a stack of devices may be. Real stacks (partition, md, LUKS, LVM, loop) stay below 10;
/// the bound ends a walk through a tree that has a circle.
const DEPTH_MAX: usize = 32;

/// How many mount points of one device are named; a host of containers has hundreds.
const MOUNTS_SHOWN_MAX: usize = 4;

/// Whether the content of devices is read for signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Read it.
    Read,
    /// Leave it; only who uses the device counts.
    Leave,
}

/// All that protects the device of this name, the gravest first.
pub(crate) fn protections(snapshot: &Snapshot<'_>, name: &str, content: Content) -> Vec<Protection> {
    let mut walk = Walk { snapshot, content, seen: HashSet::new(), found: Vec::new() };
    walk.up(name, 0);
    walk.seen.clear();
    walk.down(name, "", 0);
    walk.found.sort_by_key(|protection| protection.kind);
    walk.found.dedup();
    walk.found
}

struct Walk<'a> {
    snapshot: &'a Snapshot<'a>,
    content: Content,
    /// Devices that were visited, so that a device on many legs (RAID) is told once.
    seen: HashSet<String>,
    found: Vec<Protection>,
}

impl Walk<'_> {
    /// This device and all that lies on it. `chain` is how it was reached, ending in ` > `.
    fn down(&mut self, name: &str, chain: &str, depth: usize) {
        if depth > DEPTH_MAX || !self.seen.insert(name.to_owned()) {
            return;
        }
        let machine = self.snapshot.machine;
        let path = format!("{chain}{}", machine.label(name));
        self.uses(name, &path);
        self.signatures(name, &path, depth);
        if machine.read_only(name) && depth == 0 {
            self.add(ProtectionKind::ReadOnly, format!("{path} is read-only"));
        }
        let deeper = format!("{path} > ");
        for partition in machine.partitions(name) {
            let size = machine.size(&partition).unwrap_or_default();
            self.add(ProtectionKind::Partition, format!("{path} has the partition {partition} ({size})"));
            self.down(&partition, &deeper, depth + 1);
        }
        for holder in machine.holders(name) {
            self.add(ProtectionKind::Holder, format!("{path} is held by {}", machine.label(&holder)));
            self.down(&holder, &deeper, depth + 1);
        }
        if let Some(number) = machine.number(name) {
            for entry in self.snapshot.loops_on(number) {
                self.add(ProtectionKind::BackingFile, format!("{path} is attached as {}", entry.name));
                self.down(&entry.name, &deeper, depth + 1);
            }
        }
    }

    /// What this device lies on: the disk of a partition, the members of an array. Only uses of
    /// those as a whole count; their other partitions are no concern of this device.
    fn up(&mut self, name: &str, depth: usize) {
        if depth > DEPTH_MAX || !self.seen.insert(name.to_owned()) {
            return;
        }
        let machine = self.snapshot.machine;
        let disk = machine.disk_of(name);
        let on = disk.iter().cloned().chain(machine.slaves(name));
        for below in on.collect::<Vec<_>>() {
            let path = format!("{}, which {} lies on,", machine.label(&below), machine.label(name));
            self.uses(&below, &path);
            for holder in machine.holders(&below).into_iter().filter(|holder| holder != name) {
                self.add(ProtectionKind::Holder, format!("{path} is held by {}", machine.label(&holder)));
            }
            self.up(&below, depth + 1);
        }
    }

    /// Mounts and swap on this device itself.
    fn uses(&mut self, name: &str, path: &str) {
        let Some(number) = self.snapshot.machine.number(name) else { return };
        let mounts: Vec<_> = self.snapshot.mounts_on(number).map(|mount| &mount.line).collect();
        if let Some(first) = mounts.first() {
            let shown = mounts.iter().take(MOUNTS_SHOWN_MAX);
            let places: Vec<String> = shown.map(|line| line.mount_point.display().to_string()).collect();
            let more = match mounts.len().saturating_sub(MOUNTS_SHOWN_MAX) {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            let places = places.join(", ");
            self.add(ProtectionKind::Mounted, format!("{path} is mounted at {places}{more} ({})", first.fs_type));
        }
        let in_btrfs = self.snapshot.machine.btrfs_members().iter().any(|members| members.iter().any(|m| m == name));
        if in_btrfs && self.snapshot.mounts_on(number).next().is_none() {
            self.add(ProtectionKind::Mounted, format!("{path} is a member of a mounted btrfs file system"));
        }
        if self.snapshot.swap_on(number) {
            self.add(ProtectionKind::Swap, format!("{path} is in use as swap"));
        }
    }

    /// What the device carries. Only the device that was asked for must be readable: those on top of
    /// it protect it already.
    fn signatures(&mut self, name: &str, path: &str, depth: usize) {
        if self.content == Content::Leave {
            return;
        }
        match self.scan(name) {
            Ok(found) => {
                for signature in found {
                    self.add(ProtectionKind::Signature, format!("{path} carries {signature}"));
                }
            }
            Err(error) if depth == 0 => {
                self.add(ProtectionKind::Unreadable, format!("{path} can't be searched for signatures: {error}"));
            }
            Err(_) => {}
        }
    }

    fn scan(&self, name: &str) -> io::Result<Vec<signatures::Found>> {
        let machine = self.snapshot.machine;
        // Not blocking: a drive for removable media would wait for one.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(machine.node(name), flags, Mode::empty())?);
        let stat = Stat::of(&file)?;
        if stat.kind == Kind::Block && machine.number(name) != Some(stat.device) {
            return Err(io::Error::other(format!("{} is another device", machine.node(name).display())));
        }
        signatures::scan(&file, machine.size(name).unwrap_or_default())
    }

    fn add(&mut self, kind: ProtectionKind, detail: String) {
        self.found.push(Protection::new(kind, detail));
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
