//! Which file is behind a loop device, asked of the device itself.

use crate::machine::Machine;
use crate::stat::{Kind, Stat};
use crate::{DeviceNumber, FileId};
use flashlab_units::Bytes;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// What a loop device shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backing {
    pub(crate) id: FileId,
    /// Set when the backing "file" is itself a block device.
    pub(crate) device: Option<DeviceNumber>,
    pub(crate) offset: Bytes,
    pub(crate) size_limit: Bytes,
}

/// A loop device that has a file attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachedLoop {
    pub(crate) name: String,
    pub(crate) number: DeviceNumber,
    /// As the kernel names the file now; ends in ` (deleted)` if it has no name any more.
    pub(crate) path: PathBuf,
    /// `None` if it can't be found out.
    pub(crate) backing: Option<Backing>,
}

/// All loop devices of the machine that have a file attached.
pub(crate) fn attached(machine: &Machine) -> Vec<AttachedLoop> {
    let describe = |name: String| {
        let path = PathBuf::from(machine.attribute(&name, "loop/backing_file")?);
        Some(AttachedLoop { number: machine.number(&name)?, backing: backing(machine, &name, &path), path, name })
    };
    let is_loop = |name: &String| name.starts_with("loop");
    machine.names().into_iter().filter(is_loop).filter_map(describe).collect()
}

/// Asks the device, or, where this user may not open it, goes by the name of its file.
fn backing(machine: &Machine, name: &str, path: &std::path::Path) -> Option<Backing> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(fd) = rustix::fs::open(machine.node(name), flags, Mode::empty())
        && let Ok(status) = status(fd)
    {
        return Some(status);
    }
    let stat = Stat::at(path).ok()?;
    let bytes = |attribute| machine.attribute(name, attribute).and_then(|text| text.parse().ok()).map(Bytes);
    Some(Backing {
        id: stat.id,
        device: (stat.kind == Kind::Block).then_some(stat.device),
        offset: bytes("loop/offset")?,
        size_limit: bytes("loop/sizelimit")?,
    })
}

/// `struct loop_info64` of `linux/loop.h`.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Size of the structure in the kernel's interface: 5 × 8 + 4 × 4 + 64 + 64 + 32 + 2 × 8.
const _: () = assert!(size_of::<LoopInfo64>() == 232);

/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: rustix::ioctl::Opcode = 0x4C05;

/// What the opened loop device shows at this moment. Fails with ENXIO when nothing is attached and
/// with ENOTTY when the file is no loop device.
#[allow(unsafe_code)]
pub(crate) fn status(device: impl AsFd) -> io::Result<Backing> {
    // SAFETY: the opcode is LOOP_GET_STATUS64, which writes one `struct loop_info64`, and
    // `LoopInfo64` is that structure, field by field. Every bit pattern is valid for its fields.
    // The descriptor is open for the whole call. Devices other than loop do not know this opcode:
    // callers pass only files whose device number is that of a loop device.
    let info = unsafe { rustix::ioctl::ioctl(device, rustix::ioctl::Getter::<LOOP_GET_STATUS64, LoopInfo64>::new()) }?;
    let number = kernel_device_number(info.device);
    let special = kernel_device_number(info.rdevice);
    Ok(Backing {
        id: FileId { device: number, inode: info.inode },
        device: (info.rdevice != 0).then_some(special),
        offset: Bytes(info.offset),
        size_limit: Bytes(info.size_limit),
    })
}

/// Undoes the kernel's `huge_encode_dev`: the low 8 bits of the minor, 12 bits of major, then the
/// rest of the minor.
fn kernel_device_number(encoded: u64) -> DeviceNumber {
    DeviceNumber {
        major: ((encoded >> 8) & 0xfff) as u32,
        minor: ((encoded & 0xff) | ((encoded >> 12) & 0xfff00)) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_of_the_loop_interface() {
        assert_eq!(kernel_device_number(0xfe00), DeviceNumber { major: 254, minor: 0 });
        assert_eq!(kernel_device_number(0x0010_0703), DeviceNumber { major: 7, minor: 0x103 });
        assert_eq!(kernel_device_number(0), DeviceNumber { major: 0, minor: 0 });
    }
}
