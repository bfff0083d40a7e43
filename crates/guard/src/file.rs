//! Regular files: facts and what protects them.

use crate::machine::Machine;
use crate::mark::{self, Mark};
use crate::protection::{Protection, ProtectionKind};
use crate::snapshot::Snapshot;
use crate::stat::{self, Stat};
use crate::tree::{self, Content};
use crate::{FileFacts, FileId, GuardError, Subject, signatures};
use flashlab_units::Bytes;
use rustix::fs::{Access, AtFlags, CWD, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// File systems whose files are no storage: writing to them changes the kernel, firmware or memory.
const NOT_STORAGE: &[&str] = &[
    "proc",
    "sysfs",
    "devtmpfs",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "cgroup",
    "cgroup2",
    "bpf",
    "efivarfs",
    "pstore",
    "binfmt_misc",
    "selinuxfs",
    "fusectl",
    "nsfs",
    "mqueue",
];

/// File systems that show files of others under device numbers of their own, so that a file in use can't
/// be known by its device and inode there.
fn is_stacked(file_system: &str) -> bool {
    matches!(file_system, "overlay" | "ecryptfs" | "aufs" | "unionfs" | "shiftfs") || file_system.starts_with("fuse")
}

/// What direct I/O is aligned to where neither the file nor its device says: the smallest block that
/// any device has.
const ALIGNMENT_DEFAULT: Bytes = Bytes(512);

/// Facts and protections of an opened file.
pub(crate) fn inspect(
    snapshot: &Snapshot<'_>,
    path: &Path,
    handle: &OwnedFd,
    stat: &Stat,
) -> Result<(Subject, Vec<Protection>), GuardError> {
    let file_system = file_system(snapshot, stat);
    let mut protections = uses(snapshot, path, stat.id);
    let mut mark = Mark::Absent;
    if NOT_STORAGE.contains(&file_system.as_str()) {
        // Opening such a file can have effects, so it isn't.
        let detail = format!("{} is on {file_system}, which is no storage", path.display());
        protections.push(Protection::new(ProtectionKind::NotSupported, detail));
    } else {
        mark = content(path, handle, stat, &mut protections)?;
        if mark != Mark::Ours {
            protections.push(not_ours(path, mark, &file_system));
        }
        if mark != Mark::Ours && is_stacked(&file_system) {
            let detail = format!(
                "{} is on {file_system}, where it can't be seen whether another path to the same file is in use",
                path.display()
            );
            protections.push(Protection::new(ProtectionKind::NotSupported, detail));
        }
    }
    if stat.links > 1 {
        let detail = format!("{} has {} hard links; the others would be overwritten too", path.display(), stat.links);
        protections.push(Protection::new(ProtectionKind::HardLinks, detail));
    }
    protections.extend(read_only(path, stat));
    protections.sort_by_key(|protection| protection.kind);
    let facts = FileFacts {
        id: stat.id,
        created: stat.created,
        size: stat.size,
        allocated: stat.allocated,
        logical_block: logical_block(snapshot, stat),
        direct_io: stat.direct_align.map(|align| align != 0),
        created_by_flashlab: mark == Mark::Ours,
        file_system,
        free: stat::free(path),
    };
    Ok((Subject::File(facts), protections))
}

/// Reads the mark and the signatures.
fn content(path: &Path, handle: &OwnedFd, stat: &Stat, protections: &mut Vec<Protection>) -> Result<Mark, GuardError> {
    let file = match stat::reopen(handle, OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) => {
            let detail = format!("{} can't be read: {error}", path.display());
            protections.push(Protection::new(ProtectionKind::Unreadable, detail));
            return Ok(Mark::Absent);
        }
    };
    match signatures::scan(&file, stat.size) {
        Ok(found) => protections.extend(found.into_iter().map(|signature| {
            let detail = format!("{} carries {signature}", path.display());
            Protection::unless_overwrite(ProtectionKind::Signature, detail)
        })),
        Err(error) => {
            let detail = format!("{} can't be searched for signatures: {error}", path.display());
            protections.push(Protection::new(ProtectionKind::Unreadable, detail));
        }
    }
    mark::read(&file, stat).map_err(|error| GuardError::io("read its mark", path, error))
}

/// Swap and loop devices that use the file.
pub(crate) fn uses(snapshot: &Snapshot<'_>, path: &Path, id: FileId) -> Vec<Protection> {
    let mut found = Vec::new();
    if snapshot.swap_in(id) {
        found.push(Protection::new(ProtectionKind::Swap, format!("{} is in use as swap", path.display())));
    }
    let stacked_at = |path: &Path| Stat::at(path).is_ok_and(|stat| is_stacked(&file_system(snapshot, &stat)));
    let stacked = stacked_at(path);
    for entry in snapshot.loops_over(id, |entry| stacked || stacked_at(&entry.path)) {
        let detail = format!("{} is attached as {}", path.display(), entry.name);
        found.push(Protection::new(ProtectionKind::BackingFile, detail));
        for mut above in tree::protections(snapshot, &entry.name, Content::Leave) {
            if matches!(above.kind, ProtectionKind::Mounted | ProtectionKind::Swap | ProtectionKind::Holder) {
                above.detail = format!("{} > {}", path.display(), above.detail);
                found.push(above);
            }
        }
    }
    found
}

/// What stands against creating a file in this folder.
pub(crate) fn protections_of_folder(
    snapshot: &Snapshot<'_>,
    path: &Path,
    folder: &Path,
) -> Result<Vec<Protection>, GuardError> {
    let stat = Stat::at(folder).map_err(|error| GuardError::look(folder, error))?;
    let file_system = file_system(snapshot, &stat);
    let mut found = Vec::new();
    if file_system == "devtmpfs" {
        let detail = format!("there is no device {}, and a file must not be made among the devices", path.display());
        found.push(Protection::new(ProtectionKind::NotSupported, detail));
    } else if NOT_STORAGE.contains(&file_system.as_str()) {
        let detail = format!("{} is on {file_system}, which is no storage", folder.display());
        found.push(Protection::new(ProtectionKind::NotSupported, detail));
    }
    found.extend(read_only(folder, &stat));
    Ok(found)
}

fn not_ours(path: &Path, mark: Mark, file_system: &str) -> Protection {
    let path = path.display();
    let detail = match mark {
        Mark::Foreign => format!("{path} is a copy of a file that flashlab created, not that file"),
        Mark::Unsupported => {
            format!("{path} is on {file_system}, which can't keep the mark by which flashlab knows its own files")
        }
        Mark::Undated => {
            format!("{path} has no time of creation on this {file_system}, by which flashlab knows its own files")
        }
        Mark::Absent | Mark::Ours => format!("{path} was not created by flashlab"),
    };
    Protection::unless_overwrite(ProtectionKind::NotAFlashlabFile, detail)
}

/// Whether this user can't write it, and why.
fn read_only(path: &Path, stat: &Stat) -> Option<Protection> {
    if let Some(frozen) = stat.frozen {
        return Some(Protection::new(ProtectionKind::ReadOnly, format!("{} is {frozen}", path.display())));
    }
    match rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(error) => {
            let why = match error {
                rustix::io::Errno::ROFS => "its file system is mounted read-only".to_owned(),
                rustix::io::Errno::ACCESS => "this user has no permission to write it".to_owned(),
                other => std::io::Error::from(other).to_string(),
            };
            Some(Protection::new(ProtectionKind::ReadOnly, format!("{} can't be written: {why}", path.display())))
        }
    }
}

/// Name of the file system that `path` is on, for messages.
pub(crate) fn file_system_at(path: &Path) -> String {
    let machine = Machine::real();
    let name =
        Snapshot::take(&machine).ok().zip(Stat::at(path).ok()).map(|(snapshot, stat)| file_system(&snapshot, &stat));
    name.unwrap_or_else(|| "unknown".to_owned())
}

fn file_system(snapshot: &Snapshot<'_>, stat: &Stat) -> String {
    let mount = stat.mount_id.and_then(|id| snapshot.mount(id));
    mount.map_or_else(|| "unknown".to_owned(), |line| line.fs_type.clone())
}

/// What the file says, else what its device has, else the smallest there is.
fn logical_block(snapshot: &Snapshot<'_>, stat: &Stat) -> Bytes {
    if let Some(align) = stat.direct_align.filter(|align| *align > 0) {
        return Bytes(align.into());
    }
    let device = snapshot.machine.name_of(stat.id.device);
    device.and_then(|name| snapshot.machine.logical_block(&name)).unwrap_or(ALIGNMENT_DEFAULT)
}
