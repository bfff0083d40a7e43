//! What a device or file carries, told by the marks that file systems, volume managers, RAID and
//! partition tables leave at fixed places.
//!
//! Most marks are a few bytes at an offset and stand in [`TABLE`]; each offset and value is that of
//! the format's own on-disk description. Marks shorter than four bytes have a second condition, so
//! that random test data is not taken for a file system. What needs more than a comparison has a
//! function of its own below.

use flashlab_units::Bytes;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Something that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What, with its article.
    what: &'static str,
    /// Offset of the mark in bytes.
    at: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (mark at byte {})", self.what, self.at)
    }
}

/// Something that can be read at an offset.
pub(crate) trait ReadAt {
    /// Fills the buffer from `offset` on.
    fn read_at_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_at_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

/// A place, which depends on the size where it is counted from the end.
#[derive(Debug, Clone, Copy)]
enum At {
    Start(u64),
    End(u64),
}

/// One mark.
struct Mark {
    what: &'static str,
    at: At,
    magic: &'static [u8],
    /// What must hold besides, given the bytes that begin at the offset.
    and: Option<Also>,
}

/// A second condition: bytes from an offset on, judged.
type Also = (u64, usize, fn(&[u8]) -> bool);

const fn mark(what: &'static str, at: u64, magic: &'static [u8]) -> Mark {
    Mark { what, at: At::Start(at), magic, and: None }
}

const fn tail(what: &'static str, from_end: u64, magic: &'static [u8]) -> Mark {
    Mark { what, at: At::End(from_end), magic, and: None }
}

const fn both(what: &'static str, at: u64, magic: &'static [u8], and: Also) -> Mark {
    Mark { what, at: At::Start(at), magic, and: Some(and) }
}

const SWAP: &str = "a swap area";
const HIBERNATED: &str = "a hibernation image";
const LUKS2_SECOND: &str = "a LUKS2 second header";

/// Marks at fixed places. Swap marks end at the end of the first page, whose size depends on the
/// machine; LUKS2 keeps a second header at one of these offsets.
#[rustfmt::skip]
const TABLE: &[Mark] = &[
    mark("an XFS file system", 0, b"XFSB"),
    mark("a btrfs file system", 0x10040, b"_BHRfS_M"),
    mark("an f2fs file system", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
    mark("a FAT file system", 0x52, b"FAT32   "),
    mark("a FAT file system", 0x36, b"FAT16   "),
    mark("a FAT file system", 0x36, b"FAT12   "),
    mark("a FAT file system", 0x36, b"FAT     "),
    mark("an exFAT file system", 3, b"EXFAT   "),
    mark("an NTFS file system", 3, b"NTFS    "),
    mark("a ReFS file system", 3, b"ReFS\0\0\0\0"),
    mark("a BitLocker volume", 3, b"-FVE-FS-"),
    mark("a bcache device", 0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81]),
    mark("a bcachefs file system", 0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef]),
    mark("an ISO 9660 file system", 0x8001, b"CD001"),
    mark("a squashfs file system", 0, b"hsqs"),
    mark("a squashfs file system", 0, b"sqsh"),
    mark("an erofs file system", 0x400, &[0xe2, 0xe1, 0xf5, 0xe0]),
    mark("a JFS file system", 0x8000, b"JFS1"),
    mark("a reiserfs file system", 0x10034, b"ReIsErFs"),
    mark("a reiserfs file system", 0x10034, b"ReIsEr2Fs"),
    mark("a reiserfs file system", 0x10034, b"ReIsEr3Fs"),
    mark("a GFS2 file system", 0x10000, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    mark("an APFS container", 0x20, b"NXSB"),
    mark("a zonefs file system", 0, b"SFOZ"),
    mark("a ceph bluestore OSD", 0, b"bluestore block device"),
    mark("an Oracle ASM disk", 0x20, b"ORCLDISK"),
    mark("a VDO volume", 0, b"dmvdo001"),
    mark("a dm-integrity device", 0, b"integrt\0"),
    mark("a dm-verity hash device", 0, b"verity\0\0"),
    mark("a Stratis pool member", 0x204, b"!Stra0tis\x86\xff\x02^\x41rh"),
    both("an ext file system", 0x438, &[0x53, 0xef], (0x400, 0x50, ext_is_sound)),
    both("an HFS+ file system", 0x400, b"H+", (0x402, 2, |version| version == [0, 4])),
    both("an HFSX file system", 0x400, b"HX", (0x402, 2, |version| version == [0, 5])),
    both("a NILFS2 file system", 0x406, &[0x34, 0x34], (0x400, 4, |revision| revision == [2, 0, 0, 0])),
    mark("a LUKS encrypted volume", 0, b"LUKS\xba\xbe"),
    mark(LUKS2_SECOND, 0x4000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x8000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x10000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x20000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x40000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x80000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x100000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x200000, b"SKUL\xba\xbe"),
    mark(LUKS2_SECOND, 0x400000, b"SKUL\xba\xbe"),
    mark(SWAP, 0x1000 - 10, b"SWAPSPACE2"), mark(SWAP, 0x1000 - 10, b"SWAP-SPACE"),
    mark(SWAP, 0x2000 - 10, b"SWAPSPACE2"), mark(SWAP, 0x2000 - 10, b"SWAP-SPACE"),
    mark(SWAP, 0x4000 - 10, b"SWAPSPACE2"), mark(SWAP, 0x4000 - 10, b"SWAP-SPACE"),
    mark(SWAP, 0x8000 - 10, b"SWAPSPACE2"), mark(SWAP, 0x8000 - 10, b"SWAP-SPACE"),
    mark(SWAP, 0x10000 - 10, b"SWAPSPACE2"), mark(SWAP, 0x10000 - 10, b"SWAP-SPACE"),
    mark(HIBERNATED, 0x1000 - 10, b"S1SUSPEND"), mark(HIBERNATED, 0x1000 - 10, b"S2SUSPEND"),
    mark(HIBERNATED, 0x1000 - 10, b"ULSUSPEND"), mark(HIBERNATED, 0x1000 - 10, b"LINHIB0001"),
    both("an LVM2 physical volume", 0, b"LABELONE", (0x18, 8, is_lvm2)),
    both("an LVM2 physical volume", 0x200, b"LABELONE", (0x218, 8, is_lvm2)),
    both("an LVM2 physical volume", 0x400, b"LABELONE", (0x418, 8, is_lvm2)),
    both("an LVM2 physical volume", 0x600, b"LABELONE", (0x618, 8, is_lvm2)),
    mark("a GPT partition table", 512, b"EFI PART"),
    mark("a GPT partition table", 4096, b"EFI PART"),
    tail("a GPT partition table (the copy at the end)", 512, b"EFI PART"),
    tail("a GPT partition table (the copy at the end)", 4096, b"EFI PART"),
    tail("an Intel firmware RAID member", 1024, b"Intel Raid ISM Cfg Sig. "),
    tail("a DDF firmware RAID member", 512, &[0xde, 0x11, 0xde, 0x11]),
    mark("a qcow2 disk image", 0, b"QFI\xfb"),
    mark("a VMDK disk image", 0, b"KDMV"),
    mark("a VDI disk image", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    mark("a VHDX disk image", 0, b"vhdxfile"),
    tail("a VHD disk image", 512, b"conectix"),
];

/// Magic of an md superblock, least significant byte first.
const MD_MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
/// Length of one of the four labels of a ZFS member.
const ZFS_LABEL: u64 = 256 << 10;
/// Where the list of names and values begins in a ZFS label, and where the uberblocks do.
const ZFS_LIST: usize = 16 << 10;
const ZFS_UBERBLOCKS: usize = 128 << 10;
/// Smallest distance of uberblocks in a label.
const ZFS_STEP: usize = 1 << 10;
/// Magic of a ZFS uberblock, least significant byte first.
const ZFS_MAGIC: [u8; 8] = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
/// Two reads serve nearly all marks: the start, up to the btrfs and GFS2 superblocks, and the end,
/// up to the oldest md superblock.
const START_LENGTH: u64 = 72 << 10;
const END_LENGTH: u64 = 132 << 10;

/// Everything recognised on a device or file of this size, in the order of the table. Places beyond
/// the end carry nothing.
pub(crate) fn scan(source: &dyn ReadAt, size: Bytes) -> io::Result<Vec<Found>> {
    let view = View::new(source, size.0)?;
    let mut found = Vec::new();
    for mark in TABLE {
        let Some(at) = view.place(mark.at) else { continue };
        if !view.is(at, mark.magic)? {
            continue;
        }
        let holds = match mark.and {
            None => true,
            Some((from, length, judge)) => view.get(from, length)?.is_some_and(|bytes| judge(&bytes)),
        };
        if holds {
            found.push(Found { what: mark.what, at });
        }
    }
    md(&view, &mut found)?;
    udf(&view, &mut found)?;
    zfs(&view, &mut found)?;
    mbr(&view, &mut found)?;
    Ok(found)
}

/// The device with its start and end read once.
struct View<'a> {
    source: &'a dyn ReadAt,
    size: u64,
    start: Vec<u8>,
    end: Vec<u8>,
}

impl<'a> View<'a> {
    fn new(source: &'a dyn ReadAt, size: u64) -> io::Result<Self> {
        let mut start = vec![0; size.min(START_LENGTH) as usize];
        source.read_at_exact(&mut start, 0)?;
        let end_length = size.min(END_LENGTH);
        let mut end = vec![0; end_length as usize];
        source.read_at_exact(&mut end, size - end_length)?;
        Ok(View { source, size, start, end })
    }

    fn place(&self, at: At) -> Option<u64> {
        match at {
            At::Start(offset) => Some(offset),
            At::End(distance) => self.size.checked_sub(distance),
        }
    }

    /// Bytes at a place; `None` if they are not all there.
    fn get(&self, at: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(until) = at.checked_add(length as u64).filter(|until| *until <= self.size) else { return Ok(None) };
        let end_from = self.size - self.end.len() as u64;
        if until <= self.start.len() as u64 {
            return Ok(Some(self.start[at as usize..until as usize].to_vec()));
        }
        if at >= end_from {
            return Ok(Some(self.end[(at - end_from) as usize..(until - end_from) as usize].to_vec()));
        }
        let mut bytes = vec![0; length];
        self.source.read_at_exact(&mut bytes, at)?;
        Ok(Some(bytes))
    }

    fn is(&self, at: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.get(at, magic.len())?.is_some_and(|bytes| bytes == magic))
    }
}

fn is_lvm2(label: &[u8]) -> bool {
    label == b"LVM2 001"
}

/// Two bytes of magic are met by chance once in 65,536 blocks of random data; a superblock also has
/// inodes, a block size up to 64 KiB and a known revision.
fn ext_is_sound(superblock: &[u8]) -> bool {
    let word =
        |at: usize| u32::from_le_bytes([superblock[at], superblock[at + 1], superblock[at + 2], superblock[at + 3]]);
    word(0x00) != 0 && word(0x18) <= 6 && word(0x4c) <= 1
}

/// Superblocks of md: version 0.90 in the last aligned 64 KiB, 1.0 near the end, 1.1 at the start,
/// 1.2 at 4 KiB.
fn md(view: &View<'_>, found: &mut Vec<Found>) -> io::Result<()> {
    const BLOCK: u64 = 64 << 10;
    if let Some(at) = (view.size & !(BLOCK - 1)).checked_sub(BLOCK)
        && let Some(bytes) = view.get(at, 8)?
    {
        let mut swapped = MD_MAGIC;
        swapped.reverse();
        // Version 0.90 is in the order of the machine that wrote it.
        if (bytes[..4] == MD_MAGIC || bytes[..4] == swapped) && bytes[4..] == [0; 4] {
            found.push(Found { what: "an md RAID member (superblock 0.90)", at });
        }
    }
    let near_end = (view.size >> 9).checked_sub(16).map(|sector| (sector & !7) << 9);
    let places = [
        (near_end, "an md RAID member (superblock 1.0)"),
        (Some(0), "an md RAID member (superblock 1.1)"),
        (Some(4096), "an md RAID member (superblock 1.2)"),
    ];
    for (at, what) in places {
        if let Some(at) = at
            && let Some(bytes) = view.get(at, 8)?
            && bytes[..4] == MD_MAGIC
            && bytes[4..] == [1, 0, 0, 0]
        {
            found.push(Found { what, at });
        }
    }
    Ok(())
}

/// UDF: a descriptor of 2 KiB among the first sixteen from 32 KiB on.
fn udf(view: &View<'_>, found: &mut Vec<Found>) -> io::Result<()> {
    for at in (0..16).map(|index| 0x8001 + index * 2048) {
        if view.is(at, b"NSR02")? || view.is(at, b"NSR03")? {
            found.push(Found { what: "a UDF file system", at });
            break;
        }
    }
    Ok(())
}

/// ZFS: four labels, two at each end. A label counts when its list of names holds the pool, or when
/// any of its uberblocks has the magic, in either byte order.
fn zfs(view: &View<'_>, found: &mut Vec<Found>) -> io::Result<()> {
    let aligned = view.size & !(ZFS_LABEL - 1);
    let ends = [aligned.checked_sub(2 * ZFS_LABEL), aligned.checked_sub(ZFS_LABEL)];
    let mut places: Vec<u64> = [Some(0), Some(ZFS_LABEL)].into_iter().chain(ends).flatten().collect();
    places.sort_unstable();
    places.dedup();
    for at in places {
        if let Some(label) = view.get(at, ZFS_LABEL as usize)?
            && is_zfs_label(&label)
        {
            found.push(Found { what: "a ZFS pool member", at });
        }
    }
    Ok(())
}

fn is_zfs_label(label: &[u8]) -> bool {
    let list = &label[ZFS_LIST..ZFS_UBERBLOCKS];
    // The list begins with its encoding (1, XDR), its byte order (0 or 1) and two bytes of zero.
    let is_list = list[0] == 1 && list[1] <= 1 && list[2..4] == [0, 0];
    let mut swapped = ZFS_MAGIC;
    swapped.reverse();
    is_list && list.windows(9).any(|window| window == b"pool_guid")
        || label[ZFS_UBERBLOCKS..]
            .chunks(ZFS_STEP)
            .any(|block| block.starts_with(&ZFS_MAGIC) || block.starts_with(&swapped))
}

/// An MBR with at least one partition. The boot sector of a FAT or NTFS file system ends in the same
/// two bytes, and so does a bare boot loader: the four entries must make sense.
fn mbr(view: &View<'_>, found: &mut Vec<Found>) -> io::Result<()> {
    let Some(sector) = view.get(0, 512)? else { return Ok(()) };
    if sector[510..] != [0x55, 0xaa] {
        return Ok(());
    }
    let entries: Vec<&[u8]> = sector[446..510].chunks(16).collect();
    let is_used = |entry: &&&[u8]| entry[4] != 0 && entry[8..12] != [0; 4] && entry[12..16] != [0; 4];
    let used: Vec<_> = entries.iter().filter(is_used).collect();
    if used.is_empty() || !entries.iter().all(|entry| matches!(entry[0], 0x00 | 0x80)) {
        return Ok(());
    }
    let protective = used.iter().all(|entry| entry[4] == 0xee);
    let what = if protective { "the protective MBR of a GPT" } else { "an MBR partition table" };
    found.push(Found { what, at: 510 });
    Ok(())
}

#[cfg(test)]
#[path = "signatures_tests.rs"]
mod tests;
