//! Block devices: which one it is and what protects it.

use crate::loops::AttachedLoop;
use crate::protection::{Protection, ProtectionKind};
use crate::snapshot::Snapshot;
use crate::stat::{self, Stat};
use crate::tree::{self, Content};
use crate::{BlockFacts, DeviceNumber, GuardError, Inspection, LoopFacts, Subject};
use flashlab_units::Bytes;
use std::path::Path;

/// Facts and protections of the block device with this number.
pub(crate) fn inspect(
    snapshot: &Snapshot<'_>,
    path: &Path,
    number: DeviceNumber,
) -> Result<(Subject, Vec<Protection>), GuardError> {
    let Some(name) = snapshot.machine.name_of(number) else {
        let error = std::io::Error::other(format!("the kernel knows no block device {number}"));
        return Err(GuardError::look(path, error));
    };
    if is_whole_loop(snapshot, &name) && !snapshot.loops.iter().any(|entry| entry.name == name) {
        return Err(GuardError::NoBackingFile { path: path.to_owned() });
    }
    Ok(by_name(snapshot, &name, number))
}

/// Every block device worth showing.
pub(crate) fn all(snapshot: &Snapshot<'_>) -> Result<Vec<Inspection>, GuardError> {
    let machine = snapshot.machine;
    let mut found = Vec::new();
    for name in machine.names() {
        let hidden = machine.attribute(&name, "hidden").is_some_and(|hidden| hidden != "0");
        let empty = machine.size(&name).unwrap_or_default() == Bytes::ZERO;
        if machine.is_partition(&name) || name.starts_with("ram") || hidden || empty {
            continue;
        }
        let unattached = is_whole_loop(snapshot, &name) && !snapshot.loops.iter().any(|entry| entry.name == name);
        let Some(number) = machine.number(&name).filter(|_| !unattached) else { continue };
        let (subject, protections) = by_name(snapshot, &name, number);
        let node = machine.node(&name);
        found.push(Inspection { path: node.clone(), resolved: node, subject, protections });
    }
    Ok(found)
}

fn is_whole_loop(snapshot: &Snapshot<'_>, name: &str) -> bool {
    name.starts_with("loop") && !snapshot.machine.is_partition(name)
}

fn by_name(snapshot: &Snapshot<'_>, name: &str, number: DeviceNumber) -> (Subject, Vec<Protection>) {
    let mut protections = tree::protections(snapshot, name, Content::Read);
    let attached = snapshot.loops.iter().find(|entry| entry.name == name);
    let subject = match attached {
        Some(entry) => match loop_facts(snapshot, entry) {
            Some(facts) => {
                protections.extend(of_loop(snapshot, entry));
                Subject::LoopDevice(facts)
            }
            None => {
                let detail = format!("{name}: the file behind it, {}, can't be found", entry.path.display());
                protections.push(Protection::new(ProtectionKind::Unreadable, detail));
                Subject::BlockDevice(block_facts(snapshot, name, number))
            }
        },
        None => {
            protections.push(unsupported(snapshot, name));
            Subject::BlockDevice(block_facts(snapshot, name, number))
        }
    };
    protections.sort_by_key(|protection| protection.kind);
    (subject, protections)
}

/// Who uses a whole loop device or the file behind it, without reading what it carries.
pub(crate) fn uses_of_loop(snapshot: &Snapshot<'_>, name: &str) -> Vec<Protection> {
    let mut protections = tree::protections(snapshot, name, Content::Leave);
    for entry in snapshot.loops.iter().filter(|entry| entry.name == name) {
        protections.extend(of_loop(snapshot, entry));
    }
    protections
}

/// What the file behind a loop device adds: it may be a drive, be attached twice, or be swap.
fn of_loop(snapshot: &Snapshot<'_>, entry: &AttachedLoop) -> Vec<Protection> {
    let Some(backing) = entry.backing else { return Vec::new() };
    let name = &entry.name;
    let file = entry.path.display();
    let mut found = Vec::new();
    if let Some(device) = backing.device {
        let detail = format!("{name} lies on the block device {file} ({device}), and real drives are not opened yet");
        found.push(Protection::new(ProtectionKind::NotSupported, detail));
        if let Some(below) = snapshot.machine.name_of(device) {
            let on = tree::protections(snapshot, &below, Content::Leave).into_iter();
            found.extend(on.filter(|p| p.kind == ProtectionKind::Mounted || p.kind == ProtectionKind::Swap));
        }
    }
    let twin = |other: &&AttachedLoop| {
        other.name != *name
            && other
                .backing
                .is_some_and(|b| b.id == backing.id || backing.device.is_some() && b.device == backing.device)
    };
    for other in snapshot.loops.iter().filter(twin) {
        let detail = format!("{name} shares its backing file {file} with {}", other.name);
        found.push(Protection::new(ProtectionKind::BackingFile, detail));
        let on = tree::protections(snapshot, &other.name, Content::Leave).into_iter();
        found.extend(on.filter(|p| p.kind == ProtectionKind::Mounted || p.kind == ProtectionKind::Swap));
    }
    if snapshot.swap_in(backing.id) {
        found.push(Protection::new(ProtectionKind::Swap, format!("{name}: its backing file {file} is in use as swap")));
    }
    found
}

fn unsupported(snapshot: &Snapshot<'_>, name: &str) -> Protection {
    let detail = match snapshot.machine.disk_of(name) {
        Some(disk) if disk.starts_with("loop") => {
            format!("{name} is a partition; name the whole loop device {}", snapshot.machine.node(&disk).display())
        }
        _ => format!("{name} is not a loop device; a later version opens real drives"),
    };
    Protection::new(ProtectionKind::NotSupported, detail)
}

fn loop_facts(snapshot: &Snapshot<'_>, entry: &AttachedLoop) -> Option<LoopFacts> {
    let machine = snapshot.machine;
    let backing = entry.backing?;
    // The name may have been given to another file since; its facts count only if it is the one.
    let named = Stat::at(&entry.path).ok().filter(|stat| stat.id == backing.id && backing.device.is_none());
    Some(LoopFacts {
        name: entry.name.clone(),
        number: entry.number,
        size: machine.size(&entry.name)?,
        logical_block: machine.logical_block(&entry.name)?,
        backing_id: backing.id,
        backing_created: named.as_ref().and_then(|stat| stat.created),
        offset: backing.offset,
        size_limit: backing.size_limit,
        read_only: machine.read_only(&entry.name),
        disk_sequence: machine.disk_sequence(&entry.name),
        unallocated: named.as_ref().map(|stat| Bytes(stat.size.0.saturating_sub(stat.allocated.0))),
        backing_free: named.as_ref().and_then(|_| stat::free(&entry.path)),
        backing_file: entry.path.clone(),
    })
}

fn block_facts(snapshot: &Snapshot<'_>, name: &str, number: DeviceNumber) -> BlockFacts {
    let machine = snapshot.machine;
    let first = |names: &[&str]| names.iter().find_map(|attribute| machine.attribute(name, attribute));
    BlockFacts {
        name: name.to_owned(),
        number,
        size: machine.size(name).unwrap_or_default(),
        logical_block: machine.logical_block(name).unwrap_or_default(),
        read_only: machine.read_only(name),
        model: first(&["device/model"]),
        // NVMe and SCSI keep it with the device, virtio with the disk.
        serial: first(&["device/serial", "serial"]),
        wwid: first(&["wwid", "device/wwid"]),
        nguid: first(&["nguid"]),
        by_id: by_id(snapshot, number),
    }
}

/// Links under `/dev/disk/by-id` that lead to the device.
fn by_id(snapshot: &Snapshot<'_>, number: DeviceNumber) -> Vec<String> {
    let Ok(links) = std::fs::read_dir(snapshot.machine.node("disk/by-id")) else { return Vec::new() };
    let leads_here = |path: &Path| snapshot.machine.number_at(path) == Some(number);
    let mut names: Vec<String> = links
        .flatten()
        .filter(|link| leads_here(&link.path()))
        .filter_map(|link| link.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
