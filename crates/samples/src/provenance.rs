//! Where a number comes from.

use crate::DriveState;
use flashlab_units::Bytes;
use serde::{Deserialize, Serialize};

/// How a number came to be; the word in the `provenance` column of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Taken on a real target by this program.
    Measured,
    /// Computed by a modelled drive; no hardware was involved.
    Modelled,
    /// Taken by another program and read from its output.
    Imported,
    /// Printed in a review or a data sheet.
    Published,
}

impl Origin {
    /// The word as exported.
    pub const fn word(self) -> &'static str {
        match self {
            Origin::Measured => "measured",
            Origin::Modelled => "modelled",
            Origin::Imported => "imported",
            Origin::Published => "published",
        }
    }
}

/// What kind of thing was tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A drive that exists only as a profile.
    ModelledDrive,
    /// A regular file on some file system.
    File,
    /// A loop device over a file.
    LoopDevice,
    /// Another block device.
    BlockDevice,
    /// Several of them, loaded at once.
    Several,
}

/// Which thing was tested. Strings from devices are kept as they came and escaped where they are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetIdentity {
    /// File, loop device, drive or profile.
    pub kind: TargetKind,
    /// Short name used as `drive_id` in exports: the profile's id, or the file or device name.
    pub id: String,
    /// Path of a real target.
    pub path: Option<String>,
    /// Model of a device, or "vendor model" of a profile.
    pub model: Option<String>,
    /// Serial number of a device; for a file or loop device the `device:inode` that backs it.
    pub serial: Option<String>,
    /// Firmware revision of a device.
    pub firmware: Option<String>,
    /// SHA-256 of the profile text, in hex.
    pub profile_sha256: Option<String>,
    /// User capacity, or the size of the file.
    pub capacity: Bytes,
    /// Smallest addressable unit.
    pub logical_block: Bytes,
}

/// What the kernel (or the model) granted, as against what was asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Granted {
    /// Engine that did the I/O, such as `io_uring` or `model`.
    pub engine: String,
    /// O_DIRECT in force. `None` where the word has no meaning.
    pub direct: Option<bool>,
    /// Features in force, such as `SINGLE_ISSUER`, `registered-buffers`.
    pub features: Vec<String>,
    /// Features asked for and not granted, with the reason.
    pub refused: Vec<String>,
}

/// The program that made a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildInfo {
    /// Always `flashlab` for our own results.
    pub tool: String,
    /// Version of the program.
    pub version: String,
    /// Commit it was built from, with `-dirty` where the tree had changes; `None` outside a checkout.
    pub commit: Option<String>,
}

/// What goes with every stored number; unknown is `None`, never a guess.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Measured, modelled, imported or published.
    pub origin: Origin,
    /// The program.
    pub build: BuildInfo,
    /// Seed of the run.
    pub seed: u64,
    /// Start of the run, RFC 3339 in UTC.
    pub started: Option<String>,
    /// Host name; `None` for modelled runs, whose results do not depend on it.
    pub host: Option<String>,
    /// Kernel release; `None` for modelled runs.
    pub kernel: Option<String>,
    /// What was tested.
    pub target: TargetIdentity,
    /// State the target was in before the run.
    pub state_before: DriveState,
}
