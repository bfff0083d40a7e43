//! What may be overwritten: looks at a path, says what it is and what protects it, and makes the
//! only value that lets anything write to it, a [`WritePermit`].
//!
//! Stands beside the flow: the plan shows an [`Inspection`], a run turns it into a permit with the
//! user's [`Consent`], and the engine calls [`WritePermit::check`] on the very file it opened.
//!
//! What it decides:
//!
//! * A device that is mounted, swap, held by another device, partitioned or read-only is refused,
//!   and so is one that carries a signature of a file system, a RAID or volume member or a
//!   partition table. No flag overrides this; the remedy is to take it out of use, or to wipe the
//!   signature, by hand.
//! * A whole loop device over a regular file is written once its token has been typed. Every other
//!   block device is refused: a later version opens real drives.
//! * A regular file is written if flashlab created it and it still carries nothing recognisable, or
//!   if the user allows overwriting it. In-use files (swap, behind a loop device, more than one
//!   hard link) are refused whatever the user allows.
//!
//! It must not write to anything it did not create: [`inspect`] and [`devices`] only look,
//! [`create_file`] only makes new files and [`extend_file`] only reserves space.

mod create;
mod device;
mod error;
mod file;
mod inspection;
mod loops;
mod machine;
mod mark;
mod permit;
mod protection;
mod signatures;
mod snapshot;
mod stat;
mod tables;
#[cfg(test)]
mod testing;
mod tree;

pub use create::{Growth, create_file, extend_file};
pub use error::GuardError;
pub use inspection::{BlockFacts, DeviceNumber, FileFacts, FileId, Inspection, LoopFacts, Subject};
pub use permit::{Consent, WritePermit, permit};
pub use protection::{Protection, ProtectionKind};

use machine::Machine;
use snapshot::Snapshot;
use stat::{Kind, Stat};
use std::io;
use std::path::{Path, PathBuf};

/// Looks at `path` and says what it is, who it is and what protects it. Follows symbolic links,
/// writes nothing and never blocks, not even on a FIFO.
///
/// # Errors
/// [`GuardError`] when the path can't be looked at: its folder does not exist, a link leads
/// nowhere, permission is denied, or the kernel's tables of mounts and swap can't be read.
pub fn inspect(path: &Path) -> Result<Inspection, GuardError> {
    let machine = Machine::real();
    let handle = match stat::handle(path) {
        Ok(handle) => handle,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return missing(&machine, path),
        Err(error) => return Err(GuardError::look(path, error)),
    };
    let stat = Stat::of(&handle).map_err(|error| GuardError::look(path, error))?;
    let resolved = path.canonicalize().map_err(|error| GuardError::look(path, error))?;
    let snapshot = Snapshot::take(&machine)?;
    let (subject, protections) = match stat.kind {
        Kind::Regular => file::inspect(&snapshot, &resolved, &handle, &stat)?,
        Kind::Block => device::inspect(&snapshot, &resolved, stat.device)?,
        Kind::Directory => (Subject::Directory, vec![protection::directory(path)]),
        Kind::Other(what) => (Subject::Other(what.to_owned()), vec![protection::other(path, what)]),
    };
    Ok(Inspection { path: path.to_owned(), resolved, subject, protections })
}

/// Every block device of this machine with what protects it. Leaves out RAM disks, devices without
/// a medium, hidden paths of multipath drives, and loop devices with no file attached.
///
/// # Errors
/// [`GuardError`] when the kernel's tables of mounts and swap can't be read.
pub fn devices() -> Result<Vec<Inspection>, GuardError> {
    device::all(&Snapshot::take(&Machine::real())?)
}

/// What is known about a path at which there is nothing yet.
fn missing(machine: &Machine, path: &Path) -> Result<Inspection, GuardError> {
    if let Ok(target) = std::fs::read_link(path) {
        return Err(GuardError::DanglingLink { path: path.to_owned(), target });
    }
    let Some(name) = path.file_name() else {
        return Err(GuardError::look(path, io::ErrorKind::NotFound.into()));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(GuardError::NoParent { path: path.to_owned(), parent });
        }
        Err(error) => return Err(GuardError::look(&parent, error)),
    };
    let snapshot = Snapshot::take(machine)?;
    let protections = file::protections_of_folder(&snapshot, path, &parent)?;
    Ok(Inspection {
        path: path.to_owned(),
        resolved: parent.join(name),
        subject: Subject::Missing { free: stat::free(&parent), parent },
        protections,
    })
}
