//! One reason why something must not be overwritten.

use serde::Serialize;
use std::path::Path;

/// What kind of reason, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProtectionKind {
    /// It, a part of it or something on top of it is mounted.
    Mounted,
    /// It, a part of it or something on top of it is swap.
    Swap,
    /// Another device (md, device mapper, multipath) lies on it.
    Holder,
    /// A loop device lies on it, or on the file behind it.
    BackingFile,
    /// It has partitions.
    Partition,
    /// It carries what a file system, a volume manager or a partition table left.
    Signature,
    /// It can't be written.
    ReadOnly,
    /// The same file has more names than this one.
    HardLinks,
    /// A regular file that flashlab did not create.
    NotAFlashlabFile,
    /// It can't be read, so nobody can say what it carries.
    Unreadable,
    /// This version never writes to such a thing.
    NotSupported,
}

impl ProtectionKind {
    /// What a person can do about it.
    fn remedy(self) -> &'static str {
        match self {
            ProtectionKind::Mounted => "unmount it first, if its data may be lost; no flag overrides this",
            ProtectionKind::Swap => "take it out of swap with swapoff first; no flag overrides this",
            ProtectionKind::Holder => "stop the device on top of it first (mdadm --stop, dmsetup remove, vgchange -an)",
            ProtectionKind::BackingFile => "detach that loop device first with losetup -d",
            ProtectionKind::Partition => {
                "detach and attach it without partition scanning, and wipe the table if it may be lost"
            }
            ProtectionKind::Signature => {
                "if it may be lost, remove it yourself with wipefs --all; flashlab never does that"
            }
            ProtectionKind::ReadOnly => "name something that can be written, or make this writable",
            ProtectionKind::HardLinks => "name a file that has one name only",
            ProtectionKind::NotAFlashlabFile => {
                "name a path that is free and give --size, or pass --overwrite if its content may be lost"
            }
            ProtectionKind::Unreadable => "run as a user who may read it",
            ProtectionKind::NotSupported => "name a regular file, a free path, or a whole loop device over a file",
        }
    }
}

/// A reason with its facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Protection {
    /// What kind.
    pub kind: ProtectionKind,
    /// The facts for people, with the whole chain, such as
    /// `loop0 > loop0p1 is mounted at /mnt (ext4)`.
    pub detail: String,
    /// The flag with which a user can allow it all the same; `None` where none can.
    pub overridable_by: Option<&'static str>,
}

/// The flag that allows overwriting a file.
const OVERWRITE: &str = "--overwrite";

impl Protection {
    /// A reason that no flag overrides.
    pub(crate) fn new(kind: ProtectionKind, detail: impl Into<String>) -> Self {
        Protection { kind, detail: detail.into(), overridable_by: None }
    }

    /// A reason that goes away when the user allows overwriting.
    pub(crate) fn unless_overwrite(kind: ProtectionKind, detail: impl Into<String>) -> Self {
        Protection { kind, detail: detail.into(), overridable_by: Some(OVERWRITE) }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            ProtectionKind::Signature if self.overridable_by.is_some() => {
                "pass --overwrite if its content may be lost, or name another file"
            }
            kind => kind.remedy(),
        }
    }
}

/// A directory was named where a file is meant.
pub(crate) fn directory(path: &Path) -> Protection {
    let example = path.join("scratch.img");
    Protection::new(
        ProtectionKind::NotSupported,
        format!("{} is a directory; name a file in it, such as {}", path.display(), example.display()),
    )
}

/// A character device, FIFO or socket was named.
pub(crate) fn other(path: &Path, what: &str) -> Protection {
    Protection::new(ProtectionKind::NotSupported, format!("{} is a {what}, which can't be a target", path.display()))
}
