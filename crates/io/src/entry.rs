//! Submission entries: one operation of the engine as io_uring takes it.

use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed, FsyncFlags};

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` in linux/blkdev.h, since Linux 6.12.
const BLOCK_DISCARD: u32 = 0x12 << 8;

/// What is asked of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Read {
        buffer: *mut u8,
        length: u32,
        offset: u64,
    },
    /// `flags` are those of pwritev2; `stream` is a write stream, 0 for none.
    Write {
        buffer: *mut u8,
        length: u32,
        offset: u64,
        flags: i32,
        stream: u8,
    },
    /// Discard of a block device, or a hole punched into a file.
    Trim {
        length: u32,
        offset: u64,
        is_block_device: bool,
    },
    /// fsync, or fdatasync.
    Flush {
        data_only: bool,
    },
}

/// An entry that does nothing.
#[inline]
pub(crate) fn nop() -> Entry {
    opcode::Nop::new().build()
}

impl Op {
    /// With the registered file and buffers.
    #[inline]
    pub(crate) fn registered(&self, buffer_index: u16) -> Entry {
        match *self {
            Op::Read { buffer, length, offset } => {
                opcode::ReadFixed::new(Fixed(0), buffer, length, buffer_index).offset(offset).build()
            }
            Op::Write { buffer, length, offset, flags, stream } => {
                let write = opcode::WriteFixed::new(Fixed(0), buffer, length, buffer_index).offset(offset);
                write.rw_flags(flags).write_stream(stream).build()
            }
            Op::Trim { length, offset, is_block_device: false } => {
                punch(opcode::Fallocate::new(Fixed(0), length.into()), offset)
            }
            Op::Trim { length, offset, is_block_device: true } => {
                discard(opcode::UringCmd16::new(Fixed(0), BLOCK_DISCARD), length, offset)
            }
            Op::Flush { data_only } => opcode::Fsync::new(Fixed(0)).flags(flush_flags(data_only)).build(),
        }
    }

    /// With plain descriptor and buffers.
    #[inline]
    pub(crate) fn plain(&self, fd: Fd) -> Entry {
        match *self {
            Op::Read { buffer, length, offset } => opcode::Read::new(fd, buffer, length).offset(offset).build(),
            Op::Write { buffer, length, offset, flags, stream } => {
                let write = opcode::Write::new(fd, buffer, length).offset(offset);
                write.rw_flags(flags).write_stream(stream).build()
            }
            Op::Trim { length, offset, is_block_device: false } => {
                punch(opcode::Fallocate::new(fd, length.into()), offset)
            }
            Op::Trim { length, offset, is_block_device: true } => {
                discard(opcode::UringCmd16::new(fd, BLOCK_DISCARD), length, offset)
            }
            Op::Flush { data_only } => opcode::Fsync::new(fd).flags(flush_flags(data_only)).build(),
        }
    }
}

fn flush_flags(data_only: bool) -> FsyncFlags {
    if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() }
}

fn punch(fallocate: opcode::Fallocate, offset: u64) -> Entry {
    fallocate.offset(offset).mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE).build()
}

/// The kernel takes the start from `addr` and the length from `addr3`, the first 8 bytes of the command.
fn discard(command: opcode::UringCmd16, length: u32, offset: u64) -> Entry {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&u64::from(length).to_ne_bytes());
    command.addr(Some(offset)).cmd(bytes).build()
}
