//! What a path is, as plain data.

use crate::Protection;
use flashlab_units::{Bytes, Nanos};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};

/// The kernel's number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Which driver.
    pub major: u32,
    /// Which device of that driver.
    pub minor: u32,
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl Serialize for DeviceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Names a file for as long as it exists: the device of its file system and its inode there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileId {
    /// Device number of the file system.
    pub device: DeviceNumber,
    /// Number of the inode.
    pub inode: u64,
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileFacts {
    /// Which file.
    pub id: FileId,
    /// When it was created, since 1970; `None` where the file system doesn't say.
    pub created: Option<Nanos>,
    /// Length.
    pub size: Bytes,
    /// Space that is reserved for it; less than `size` if it has holes.
    pub allocated: Bytes,
    /// What offsets and lengths of direct I/O must be multiples of.
    pub logical_block: Bytes,
    /// Whether the file system takes direct I/O on it; `None` where the kernel doesn't say.
    pub direct_io: Option<bool>,
    /// Whether flashlab created this very file, so that a copy of it does not count.
    pub created_by_flashlab: bool,
    /// Name of the file system, such as `ext4`.
    pub file_system: String,
    /// Bytes that this user can still write to the file system; `None` if unknown.
    pub free: Option<Bytes>,
}

/// A whole loop device with a file attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LoopFacts {
    /// Name, such as `loop0`.
    pub name: String,
    /// Its device number.
    pub number: DeviceNumber,
    /// Size of the device.
    pub size: Bytes,
    /// What offsets and lengths must be multiples of.
    pub logical_block: Bytes,
    /// The backing file as the kernel names it.
    #[serde(serialize_with = "lossy")]
    pub backing_file: PathBuf,
    /// Which file that is.
    pub backing_id: FileId,
    /// When the backing file was created, since 1970; `None` if unknown.
    pub backing_created: Option<Nanos>,
    /// Where in the backing file the device begins.
    pub offset: Bytes,
    /// Where the device was told to end; zero for the end of the backing file.
    pub size_limit: Bytes,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Rises with every file that is attached; `None` before Linux 5.15.
    pub disk_sequence: Option<u64>,
    /// Bytes of the backing file that have no space reserved yet; `None` if unknown.
    pub unallocated: Option<Bytes>,
    /// Bytes free on the file system of the backing file; `None` if unknown. Less than
    /// `unallocated` means that filling the device would fill that file system.
    pub backing_free: Option<Bytes>,
}

/// Any other block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BlockFacts {
    /// Name, such as `nvme0n1`.
    pub name: String,
    /// Its device number.
    pub number: DeviceNumber,
    /// Size of the device.
    pub size: Bytes,
    /// What offsets and lengths must be multiples of.
    pub logical_block: Bytes,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Model as the device reports it.
    pub model: Option<String>,
    /// Serial number as the device reports it.
    pub serial: Option<String>,
    /// World-wide identifier as the kernel prints it.
    pub wwid: Option<String>,
    /// Namespace identifier (NGUID) of an NVMe namespace.
    pub nguid: Option<String>,
    /// Its names under `/dev/disk/by-id`.
    pub by_id: Vec<String>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Nothing yet.
    Missing {
        /// The folder it would be in, resolved.
        #[serde(serialize_with = "lossy")]
        parent: PathBuf,
        /// Bytes this user can write there; `None` if unknown.
        free: Option<Bytes>,
    },
    /// A regular file.
    File(FileFacts),
    /// A whole loop device with a file attached.
    LoopDevice(LoopFacts),
    /// Any other block device, and partitions of loop devices.
    BlockDevice(BlockFacts),
    /// A directory.
    Directory,
    /// Something else; which, in words.
    Other(String),
}

/// What a path is and what protects it, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The path as given.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The path without symbolic links.
    #[serde(serialize_with = "lossy")]
    pub resolved: PathBuf,
    /// What it is.
    pub subject: Subject,
    /// What protects it, the gravest first; empty if nothing does.
    pub protections: Vec<Protection>,
}

/// A path as text; what is not Unicode is replaced.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl Inspection {
    /// What must be typed after `--destroy-data` to overwrite this device, such as
    /// `loop0-3f9c21ab`. Follows from identity and size, so that it changes when another file is
    /// attached. `None` for what needs no token (files) and for what no token would open.
    pub fn token(&self) -> Option<String> {
        match &self.subject {
            Subject::LoopDevice(facts) if self.protections.is_empty() => {
                let digest = Sha256::digest(self.identity().as_bytes());
                let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                Some(format!("{}-{hex}", facts.name))
            }
            _ => None,
        }
    }

    /// Who it is, for people and for the record of a run.
    pub fn identity_text(&self) -> String {
        match &self.subject {
            Subject::Missing { parent, .. } => format!("nothing yet, in {}", parent.display()),
            Subject::File(facts) => {
                format!(
                    "file {} ({} inode {}), {}",
                    self.resolved.display(),
                    facts.id.device,
                    facts.id.inode,
                    facts.size
                )
            }
            Subject::LoopDevice(facts) => loop_text(facts),
            Subject::BlockDevice(facts) => block_text(facts),
            Subject::Directory => format!("directory {}", self.resolved.display()),
            Subject::Other(what) => format!("{what} {}", self.resolved.display()),
        }
    }

    /// Exact identity, for comparing. Holds what must not change between an inspection and the
    /// first write. A file's size is not part of it, since growing it does not make it another.
    pub(crate) fn identity(&self) -> String {
        match &self.subject {
            Subject::Missing { .. } => format!("missing {}", self.resolved.display()),
            Subject::File(facts) => format!("file {} {}", facts.id, stamp(facts.created)),
            Subject::LoopDevice(facts) => format!(
                "loop {} {} {} {} {} {}",
                facts.number,
                facts.backing_id,
                stamp(facts.backing_created),
                facts.offset.exact(),
                facts.size_limit.exact(),
                facts.size.exact()
            ),
            Subject::BlockDevice(facts) => format!("block {}", block_text(facts)),
            Subject::Directory => format!("directory {}", self.resolved.display()),
            Subject::Other(what) => format!("{what} {}", self.resolved.display()),
        }
    }
}

/// A time of creation as exact text.
pub(crate) fn stamp(created: Option<Nanos>) -> String {
    created.map_or("unknown".to_owned(), |time| format!("{}.{:09}", time.0 / 1_000_000_000, time.0 % 1_000_000_000))
}

fn loop_text(facts: &LoopFacts) -> String {
    let from = if facts.offset == Bytes::ZERO { String::new() } else { format!(" from {}", facts.offset.exact()) };
    format!(
        "{} over {} ({} inode {}){from}, {}",
        facts.name,
        facts.backing_file.display(),
        facts.backing_id.device,
        facts.backing_id.inode,
        facts.size
    )
}

/// Serial and NGUID for NVMe; by-id names or the world-wide identifier otherwise.
fn block_text(facts: &BlockFacts) -> String {
    let mut parts = vec![facts.name.clone()];
    parts.extend(facts.model.clone());
    parts.extend(facts.serial.as_ref().map(|serial| format!("serial {serial}")));
    match (&facts.nguid, facts.by_id.first(), &facts.wwid) {
        (Some(nguid), _, _) => parts.push(format!("NGUID {nguid}")),
        (None, Some(id), _) => parts.push(id.clone()),
        (None, None, Some(wwid)) => parts.push(wwid.clone()),
        (None, None, None) => parts.push(format!("device {}", facts.number)),
    }
    parts.push(facts.size.si());
    parts.join(", ")
}
