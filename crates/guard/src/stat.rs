//! Facts about one opened file, from `statx`.

use crate::{DeviceNumber, FileId};
use flashlab_units::{Bytes, Nanos};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// What kind of file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Block,
    Directory,
    /// Which, in words.
    Other(&'static str),
}

/// What the kernel says about a file.
#[derive(Debug, Clone)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) id: FileId,
    /// Device number of a device file.
    pub(crate) device: DeviceNumber,
    pub(crate) size: Bytes,
    pub(crate) allocated: Bytes,
    pub(crate) links: u32,
    pub(crate) created: Option<Nanos>,
    /// An attribute that forbids writing, in words.
    pub(crate) frozen: Option<&'static str>,
    /// Alignment of direct I/O; zero where it is not possible, `None` where the kernel doesn't say.
    pub(crate) direct_align: Option<u32>,
    pub(crate) mount_id: Option<u64>,
}

impl Stat {
    /// Of an opened file.
    pub(crate) fn of(fd: impl AsFd) -> io::Result<Stat> {
        Ok(Stat::from_statx(&rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, wanted())?))
    }

    /// Of what a path leads to, following symbolic links, without opening it.
    pub(crate) fn at(path: &Path) -> io::Result<Stat> {
        Ok(Stat::from_statx(&rustix::fs::statx(CWD, path, AtFlags::NO_AUTOMOUNT, wanted())?))
    }

    fn from_statx(raw: &Statx) -> Stat {
        let got = StatxFlags::from_bits_retain(raw.stx_mask);
        Stat {
            kind: match FileType::from_raw_mode(raw.stx_mode.into()) {
                FileType::RegularFile => Kind::Regular,
                FileType::BlockDevice => Kind::Block,
                FileType::Directory => Kind::Directory,
                FileType::CharacterDevice => Kind::Other("character device"),
                FileType::Fifo => Kind::Other("FIFO"),
                FileType::Socket => Kind::Other("socket"),
                _ => Kind::Other("file of an unknown kind"),
            },
            id: FileId {
                device: DeviceNumber { major: raw.stx_dev_major, minor: raw.stx_dev_minor },
                inode: raw.stx_ino,
            },
            device: DeviceNumber { major: raw.stx_rdev_major, minor: raw.stx_rdev_minor },
            size: Bytes(raw.stx_size),
            // The unit of stx_blocks is 512 bytes whatever the file system uses.
            allocated: Bytes(raw.stx_blocks.saturating_mul(512)),
            links: raw.stx_nlink,
            created: got.contains(StatxFlags::BTIME).then(|| since_1970(raw)).flatten(),
            frozen: frozen(raw.stx_attributes),
            direct_align: got.contains(StatxFlags::DIOALIGN).then_some(raw.stx_dio_offset_align),
            mount_id: got.contains(StatxFlags::MNT_ID).then_some(raw.stx_mnt_id),
        }
    }
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID | StatxFlags::DIOALIGN
}

/// Creation time; `None` before 1970, after 2554, and where a file system leaves it at zero.
fn since_1970(raw: &Statx) -> Option<Nanos> {
    let seconds = u64::try_from(raw.stx_btime.tv_sec).ok().filter(|s| *s > 0)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(raw.stx_btime.tv_nsec.into()).map(Nanos)
}

fn frozen(attributes: StatxAttributes) -> Option<&'static str> {
    [
        (StatxAttributes::IMMUTABLE, "immutable (chattr +i)"),
        (StatxAttributes::APPEND, "append-only (chattr +a)"),
        (StatxAttributes::VERITY, "sealed by fs-verity"),
    ]
    .into_iter()
    .find_map(|(flag, words)| attributes.contains(flag).then_some(words))
}

/// A handle on what `path` leads to that neither reads nor writes and has no side effect: opening
/// it does not block on a FIFO and does not wake a device.
pub(crate) fn handle(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens the very object of a handle, so that nothing can be put in its place in between.
pub(crate) fn reopen(handle: &OwnedFd, flags: OFlags) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Bytes that this user can still write to the file system of `path`; `None` where it has no size to
/// tell, as some network file systems and file systems in memory.
pub(crate) fn free(path: &Path) -> Option<Bytes> {
    let stat = rustix::fs::statvfs(path).ok()?;
    if stat.f_blocks == 0 {
        return None;
    }
    stat.f_bavail.checked_mul(stat.f_frsize).map(Bytes)
}
