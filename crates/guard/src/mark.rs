//! How a file that flashlab created is known again.
//!
//! An extended attribute holds the file's own device, inode and time of creation. A copy carries
//! the same attribute on another inode, or one born later, and so does not count. What the file
//! holds is no part of it: the file is there to be overwritten.

use crate::inspection::stamp;
use crate::stat::Stat;
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

/// Name of the attribute. The `user.` class needs no privilege.
const NAME: &str = "user.flashlab";

/// Longest text that is read back; ours has at most about 80 bytes.
const LENGTH_MAX: usize = 256;

/// What the attribute says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// flashlab created this very file.
    Ours,
    /// No mark.
    Absent,
    /// The mark of another file: this is a copy, or was restored from one.
    Foreign,
    /// The file system keeps no such attribute.
    Unsupported,
    /// The file has no time of creation to compare with.
    Undated,
}

/// The text that belongs to a file; `None` where it has no time of creation, without which an inode
/// number that is used again could not be told from the first use.
fn text(stat: &Stat) -> Option<String> {
    stat.created.map(|created| format!("v1 {} {}", stat.id, stamp(Some(created))))
}

/// Reads the mark of an opened file.
pub(crate) fn read(fd: impl AsFd, stat: &Stat) -> io::Result<Mark> {
    let mut buffer = [0u8; LENGTH_MAX];
    let found = match rustix::fs::fgetxattr(fd, NAME, &mut buffer[..]) {
        Ok(length) => &buffer[..length],
        Err(Errno::NODATA) if stat.created.is_none() => return Ok(Mark::Undated),
        Err(Errno::NODATA) => return Ok(Mark::Absent),
        Err(Errno::RANGE) => return Ok(Mark::Foreign),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Mark::Unsupported),
        Err(error) => return Err(error.into()),
    };
    Ok(match text(stat) {
        Some(own) if own.as_bytes() == found => Mark::Ours,
        Some(_) => Mark::Foreign,
        None => Mark::Undated,
    })
}

/// Marks a file as created by flashlab. `Ok(false)` where the file system can't keep the mark.
pub(crate) fn write(fd: impl AsFd, stat: &Stat) -> io::Result<bool> {
    let Some(text) = text(stat) else { return Ok(false) };
    match rustix::fs::fsetxattr(fd, NAME, text.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOSPC) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
