//! Each mark at its place, and what must not be taken for one.

use super::*;
use std::collections::BTreeMap;

/// A device of any size with a few bytes in it and zeros elsewhere.
#[derive(Default)]
struct Disk {
    size: u64,
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Disk {
    fn new(size: u64) -> Self {
        Disk { size, parts: BTreeMap::new() }
    }

    fn with(mut self, at: u64, bytes: &[u8]) -> Self {
        self.parts.insert(at, bytes.to_vec());
        self
    }

    fn found(&self) -> Vec<String> {
        let found = scan(self, Bytes(self.size)).expect("reads inside the device only");
        found.iter().map(ToString::to_string).collect()
    }
}

impl ReadAt for Disk {
    fn read_at_exact(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let until = offset + buffer.len() as u64;
        if until > self.size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.fill(0);
        for (at, bytes) in &self.parts {
            for (place, byte) in (*at..).zip(bytes) {
                if (offset..until).contains(&place) {
                    buffer[(place - offset) as usize] = *byte;
                }
            }
        }
        Ok(())
    }
}

const MIB: u64 = 1 << 20;

/// A superblock of ext4 as far as it is looked at: inodes, block size 4 KiB, revision 1.
fn ext() -> Vec<u8> {
    let mut superblock = vec![0; 0x50];
    superblock[0..4].copy_from_slice(&1024u32.to_le_bytes());
    superblock[0x18..0x1c].copy_from_slice(&2u32.to_le_bytes());
    superblock[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
    superblock[0x4c..0x50].copy_from_slice(&1u32.to_le_bytes());
    superblock
}

/// The bytes that make a mark complete where it has a second condition.
fn companion(mark: &Mark) -> Option<(u64, Vec<u8>)> {
    let (from, _, _) = mark.and?;
    Some(match mark.what {
        "an ext file system" => (from, ext()),
        "an HFS+ file system" => (from, vec![0, 4]),
        "an HFSX file system" => (from, vec![0, 5]),
        "a NILFS2 file system" => (from, vec![2, 0, 0, 0]),
        "an LVM2 physical volume" => (from, b"LVM2 001".to_vec()),
        other => panic!("{other} has a condition that this test doesn't know"),
    })
}

#[test]
fn every_mark_of_the_table_is_found_at_its_place_and_names_itself() {
    let size = 64 * MIB;
    for mark in TABLE {
        let at = match mark.at {
            At::Start(at) => at,
            At::End(distance) => size - distance,
        };
        let mut disk = Disk::new(size);
        if let Some((from, bytes)) = companion(mark) {
            disk = disk.with(from, &bytes);
        }
        let disk = disk.with(at, mark.magic);
        assert_eq!(disk.found(), [format!("{} (mark at byte {at})", mark.what)]);
    }
}

#[test]
fn no_mark_counts_one_byte_off_its_place() {
    let size = 64 * MIB;
    for mark in TABLE {
        let at = match mark.at {
            At::Start(at) => at + 1,
            At::End(distance) => size - distance - 1,
        };
        assert_eq!(Disk::new(size).with(at, mark.magic).found(), Vec::<String>::new(), "{}", mark.what);
    }
}

#[test]
fn a_device_that_ends_inside_a_mark_carries_nothing_and_reads_nothing_beyond() {
    for mark in TABLE {
        let (At::Start(at), None) = (mark.at, mark.and) else { continue };
        let whole = at + mark.magic.len() as u64;
        let cut = Disk::new(whole - 1).with(at, &mark.magic[..mark.magic.len() - 1]);
        assert_eq!(cut.found(), Vec::<String>::new(), "{}", mark.what);
        let full = Disk::new(whole).with(at, mark.magic);
        assert_eq!(full.found().len(), 1, "{} on a device that ends with it", mark.what);
    }
}

#[test]
fn devices_of_any_small_size_are_read_without_error() {
    for size in (0..2048).chain([4095, 4096, 65_535, 65_536, 72 << 10, 131_072, 256 << 10, 512 << 10, MIB - 1]) {
        assert_eq!(Disk::new(size).found(), Vec::<String>::new(), "{size}");
    }
}

#[test]
fn md_superblocks_where_each_version_keeps_them() {
    let magic = MD_MAGIC;
    let v1 = [magic.as_slice(), &[1, 0, 0, 0]].concat();
    // A size that is not a multiple of 64 KiB shows the rounding.
    let size = 100 * MIB + 12 * 1024;
    assert_eq!(Disk::new(size).with(0, &v1).found(), ["an md RAID member (superblock 1.1) (mark at byte 0)"]);
    assert_eq!(Disk::new(size).with(4096, &v1).found(), ["an md RAID member (superblock 1.2) (mark at byte 4096)"]);
    let near_end = size - 8192;
    assert_eq!(
        Disk::new(size).with(near_end, &v1).found(),
        [format!("an md RAID member (superblock 1.0) (mark at byte {near_end})")]
    );
    let old = 100 * MIB - 65_536;
    let big_endian: Vec<u8> = magic.iter().rev().copied().collect();
    for order in [magic.to_vec(), big_endian] {
        assert_eq!(
            Disk::new(size).with(old, &order).found(),
            [format!("an md RAID member (superblock 0.90) (mark at byte {old})")]
        );
    }
}

#[test]
fn zfs_labels_at_both_ends_and_in_both_byte_orders() {
    let size = 64 * MIB + 100 * 1024;
    let aligned = 64 * MIB;
    for label in [0, ZFS_LABEL, aligned - 2 * ZFS_LABEL, aligned - ZFS_LABEL] {
        let expected = [format!("a ZFS pool member (mark at byte {label})")];
        let uberblock = label + ZFS_UBERBLOCKS as u64 + 5 * ZFS_STEP as u64;
        assert_eq!(Disk::new(size).with(uberblock, &0x00ba_b10c_u64.to_le_bytes()).found(), expected);
        assert_eq!(Disk::new(size).with(uberblock, &0x00ba_b10c_u64.to_be_bytes()).found(), expected);
        let list = label + ZFS_LIST as u64;
        let named = Disk::new(size).with(list, &[1, 1, 0, 0]).with(list + 200, b"pool_guid");
        assert_eq!(named.found(), expected);
        assert_eq!(Disk::new(size).with(list + 200, b"pool_guid").found(), Vec::<String>::new());
    }
}

fn boot_sector(entries: &[(usize, [u8; 16])]) -> Disk {
    let mut sector = vec![0; 512];
    for (index, entry) in entries {
        sector[446 + index * 16..462 + index * 16].copy_from_slice(entry);
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    Disk::new(64 * MIB).with(0, &sector)
}

/// A partition: flag, first cylinder, type, last cylinder, first sector, count of sectors.
fn entry(flag: u8, kind: u8, first: u32, count: u32) -> [u8; 16] {
    let mut entry = [0; 16];
    (entry[0], entry[4]) = (flag, kind);
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&count.to_le_bytes());
    entry
}

#[test]
fn a_partition_in_an_mbr_counts_and_a_bare_boot_sector_does_not() {
    assert_eq!(
        boot_sector(&[(2, entry(0x80, 0x83, 2048, 4096))]).found(),
        ["an MBR partition table (mark at byte 510)"]
    );
    assert_eq!(
        boot_sector(&[(0, entry(0, 0xee, 1, 0xffff_ffff))]).found(),
        ["the protective MBR of a GPT (mark at byte 510)"]
    );
    assert_eq!(boot_sector(&[]).found(), Vec::<String>::new());
    assert_eq!(boot_sector(&[(0, entry(0x17, 0x83, 2048, 4096))]).found(), Vec::<String>::new(), "no such flag");
    assert_eq!(boot_sector(&[(0, entry(0, 0x83, 2048, 0))]).found(), Vec::<String>::new(), "no sectors");
}

#[test]
fn short_marks_in_random_data_are_not_taken_for_a_file_system() {
    let noise = |at: u64, magic: &[u8]| {
        let around: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 | 0x41).collect();
        let mut disk = Disk::new(64 * MIB).with(0, &around);
        // A part of its own, so that it lies over the noise.
        disk.parts.insert(at, magic.to_vec());
        disk.found()
    };
    assert_eq!(noise(0x438, &[0x53, 0xef]), Vec::<String>::new());
    assert_eq!(noise(0x400, b"H+"), Vec::<String>::new());
    assert_eq!(noise(0x406, &[0x34, 0x34]), Vec::<String>::new());
    assert_eq!(noise(510, &[0x55, 0xaa]), Vec::<String>::new());
}

#[test]
fn udf_is_found_behind_any_number_of_other_descriptors() {
    for index in [1, 9] {
        let at = 0x8001 + index * 2048;
        assert_eq!(Disk::new(64 * MIB).with(at, b"NSR03").found(), [format!("a UDF file system (mark at byte {at})")]);
    }
}

#[test]
fn several_marks_are_all_named() {
    let disk = Disk::new(64 * MIB).with(512, b"EFI PART").with(64 * MIB - 512, b"EFI PART").with(0x400, &ext());
    let found = disk.found();
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_device_that_fails_to_read_is_an_error() {
    struct Broken;
    impl ReadAt for Broken {
        fn read_at_exact(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Err(io::Error::from_raw_os_error(5))
        }
    }
    assert_eq!(scan(&Broken, Bytes(MIB)).expect_err("EIO").raw_os_error(), Some(5));
}
