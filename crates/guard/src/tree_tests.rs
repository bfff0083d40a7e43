//! Trees of devices as people had them when data was lost.

use super::*;
use crate::testing::Bench;

const LVM_LABEL: &[u8] = b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001";

fn details(bench: &Bench, name: &str) -> Vec<(ProtectionKind, String)> {
    let machine = bench.machine();
    let snapshot = Snapshot::take(&machine).expect("tables of the bench are well formed");
    protections(&snapshot, name, Content::Read).into_iter().map(|p| (p.kind, p.detail)).collect()
}

fn has(found: &[(ProtectionKind, String)], kind: ProtectionKind, detail: &str) -> bool {
    found.iter().any(|(k, d)| *k == kind && d.starts_with(detail))
}

/// Root, swap and the boot partition of one drive, reached through LUKS and LVM.
fn root_drive() -> Bench {
    let mut bench = Bench::new();
    bench.disk("nvme0n1");
    bench.partition("nvme0n1", "nvme0n1p1");
    bench.partition("nvme0n1", "nvme0n1p2");
    bench.over("dm-0", &["nvme0n1p2"], "dm/name", "luks-root");
    bench.over("dm-1", &["dm-0"], "dm/name", "vg0-root");
    bench.over("dm-2", &["dm-0"], "dm/name", "vg0-swap");
    bench.mount(&bench.number("dm-1"), "/dev/mapper/vg0-root", "/", "ext4");
    bench.mount(&bench.number("nvme0n1p1"), "/dev/nvme0n1p1", "/boot/efi", "vfat");
    bench.swap("/dev/dm-2");
    bench
}

#[test]
fn case_36_the_parent_of_mounted_partitions_is_refused_with_the_whole_chain() {
    let found = details(&root_drive(), "nvme0n1");
    let chain = "nvme0n1 > nvme0n1p2 > luks-root (dm-0)";
    assert!(has(&found, ProtectionKind::Mounted, "nvme0n1 > nvme0n1p1 is mounted at /boot/efi (vfat)"), "{found:?}");
    assert!(has(&found, ProtectionKind::Mounted, &format!("{chain} > vg0-root (dm-1) is mounted at / (ext4)")));
    assert!(has(&found, ProtectionKind::Swap, &format!("{chain} > vg0-swap (dm-2) is in use as swap")));
    assert!(has(&found, ProtectionKind::Holder, "nvme0n1 > nvme0n1p2 is held by luks-root (dm-0)"));
    assert!(has(&found, ProtectionKind::Partition, "nvme0n1 has the partition nvme0n1p2 (4 MiB)"));
    assert_eq!(found[0].0, ProtectionKind::Mounted, "the gravest is first");
}

#[test]
fn case_37_a_raid_member_is_held() {
    let mut bench = Bench::new();
    bench.disk("nvme2n1");
    bench.disk("nvme3n1");
    bench.over("md127", &["nvme2n1", "nvme3n1"], "md/level", "raid1");
    // The mount table may name the array by another of its names.
    bench.mount(&bench.number("md127"), "/dev/disk/by-id/md-name-srv", "/srv", "xfs");
    let found = details(&bench, "nvme3n1");
    assert!(has(&found, ProtectionKind::Holder, "nvme3n1 is held by md127 (raid1)"), "{found:?}");
    assert!(has(&found, ProtectionKind::Mounted, "nvme3n1 > md127 (raid1) is mounted at /srv (xfs)"));
}

#[test]
fn case_37_members_that_nothing_holds_are_told_by_what_they_carry() {
    let mut bench = Bench::new();
    for disk in ["nvme4n1", "nvme5n1", "nvme6n1", "nvme7n1"] {
        bench.disk(disk);
    }
    bench.partition("nvme4n1", "nvme4n1p1");
    bench.write("nvme4n1p1", 512, LVM_LABEL);
    bench.write("nvme5n1", 512, LVM_LABEL);
    bench.over("dm-3", &["nvme5n1"], "dm/name", "ceph--0-osd--block--0");
    bench.write("dm-3", 0, b"bluestore block device\n");
    bench.partition("nvme6n1", "nvme6n1p1");
    bench.write("nvme6n1p1", (128 << 10) + 4096, &0x00ba_b10c_u64.to_le_bytes());
    bench.mount("0:60", "tank", "/tank", "zfs");

    let pv = details(&bench, "nvme4n1");
    assert!(has(&pv, ProtectionKind::Signature, "nvme4n1 > nvme4n1p1 carries an LVM2 physical volume"), "{pv:?}");
    let osd = details(&bench, "nvme5n1");
    let osd_chain = "nvme5n1 > ceph--0-osd--block--0 (dm-3) carries a ceph bluestore OSD";
    assert!(has(&osd, ProtectionKind::Signature, osd_chain), "{osd:?}");
    assert!(has(&osd, ProtectionKind::Holder, "nvme5n1 is held by ceph--0-osd--block--0 (dm-3)"));
    let zfs = details(&bench, "nvme6n1");
    assert!(has(&zfs, ProtectionKind::Signature, "nvme6n1 > nvme6n1p1 carries a ZFS pool member"), "{zfs:?}");
    assert_eq!(details(&bench, "nvme7n1"), [], "the one drive that is free");
}

#[test]
fn a_partition_of_a_disk_that_is_used_whole_is_in_use() {
    let mut bench = Bench::new();
    bench.disk("sda");
    bench.partition("sda", "sda1");
    bench.over("dm-9", &["sda"], "dm/name", "mpatha");
    bench.mount(&bench.number("sda"), "/dev/sda", "/data", "ext4");
    let found = details(&bench, "sda1");
    assert!(has(&found, ProtectionKind::Mounted, "sda, which sda1 lies on, is mounted at /data (ext4)"), "{found:?}");
    assert!(has(&found, ProtectionKind::Holder, "sda, which sda1 lies on, is held by mpatha (dm-9)"));
}

#[test]
fn an_array_over_a_mounted_member_is_in_use() {
    let mut bench = Bench::new();
    bench.disk("sda");
    bench.over("dm-0", &["sda"], "dm/name", "linear");
    bench.mount(&bench.number("sda"), "/dev/sda", "/data", "ext4");
    let found = details(&bench, "dm-0");
    assert!(has(&found, ProtectionKind::Mounted, "sda, which linear (dm-0) lies on, is mounted at /data"), "{found:?}");
}

#[test]
fn a_neighbour_partition_is_no_concern_of_a_partition() {
    let found = details(&root_drive(), "nvme0n1p1");
    assert!(has(&found, ProtectionKind::Mounted, "nvme0n1p1 is mounted at /boot/efi (vfat)"));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn btrfs_members_count_as_mounted_although_its_device_number_is_made_up() {
    let mut bench = Bench::new();
    for disk in ["sdb", "sdc", "sdd"] {
        bench.disk(disk);
    }
    bench.btrfs(&["sdb", "sdc"]);
    bench.mount("0:45", "/dev/sdb", "/pool", "btrfs");
    for member in ["sdb", "sdc"] {
        let expected = format!("{member} is mounted at /pool (btrfs)");
        assert!(has(&details(&bench, member), ProtectionKind::Mounted, &expected), "{member}");
    }
    assert_eq!(details(&bench, "sdd"), []);
}

#[test]
fn a_btrfs_member_counts_also_when_the_mount_is_elsewhere() {
    let mut bench = Bench::new();
    bench.disk("sdb");
    bench.btrfs(&["sdb"]);
    let expected = "sdb is a member of a mounted btrfs file system";
    assert!(has(&details(&bench, "sdb"), ProtectionKind::Mounted, expected));
}

#[test]
fn every_member_of_a_bcachefs_is_mounted() {
    let mut bench = Bench::new();
    bench.disk("sdb");
    bench.disk("sdc");
    bench.mount("0:46", "/dev/sdb:/dev/sdc", "/pool", "bcachefs");
    for member in ["sdb", "sdc"] {
        assert!(has(&details(&bench, member), ProtectionKind::Mounted, &format!("{member} is mounted at /pool")));
    }
}

#[test]
fn a_mount_is_found_by_name_when_its_device_number_says_nothing() {
    let mut bench = Bench::new();
    bench.disk("dm-4");
    bench.set("dm-4", "dm/name", "vg-data");
    bench.mount("0:47", "/dev/mapper/vg-data", "/data", "f2fs");
    assert!(has(&details(&bench, "dm-4"), ProtectionKind::Mounted, "vg-data (dm-4) is mounted at /data (f2fs)"));
}

#[test]
fn many_mounts_of_one_device_are_one_reason() {
    let mut bench = Bench::new();
    bench.disk("sda");
    for index in 0..7 {
        bench.mount(&bench.number("sda"), "/dev/sda", &format!("/m{index}"), "ext4");
    }
    let expected = (ProtectionKind::Mounted, "sda is mounted at /m0, /m1, /m2, /m3 and 3 more (ext4)".to_owned());
    assert_eq!(details(&bench, "sda"), [expected]);
}

#[test]
fn a_read_only_device_is_refused() {
    let mut bench = Bench::new();
    bench.disk("sr0");
    bench.set("sr0", "ro", "1");
    assert_eq!(details(&bench, "sr0"), [(ProtectionKind::ReadOnly, "sr0 is read-only".to_owned())]);
}

#[test]
fn a_device_that_cannot_be_read_is_not_taken_for_empty() {
    let mut bench = Bench::new();
    bench.disk("sda");
    std::fs::remove_file(bench.machine().node("sda")).expect("its device file");
    let found = details(&bench, "sda");
    assert!(has(&found, ProtectionKind::Unreadable, "sda can't be searched for signatures"), "{found:?}");
}

#[test]
fn a_tree_that_goes_round_in_a_circle_ends() {
    let mut bench = Bench::new();
    bench.disk("dm-0");
    bench.over("dm-1", &["dm-0"], "dm/name", "b");
    let held = bench.machine().sys("class/block/dm-1/holders/dm-0");
    std::os::unix::fs::symlink(bench.machine().sys("class/block/dm-0"), held).expect("a holder");
    let found = details(&bench, "dm-0");
    assert!(has(&found, ProtectionKind::Holder, "dm-0 is held by b (dm-1)"), "{found:?}");
}

#[test]
fn mounts_that_cannot_be_understood_stop_everything() {
    let bench = Bench::new();
    std::fs::write(bench.machine().proc("self/mountinfo"), "nonsense\n").expect("a mount table");
    let machine = bench.machine();
    let error = Snapshot::take(&machine).expect_err("an unknown mount could be the one that matters");
    assert!(error.to_string().contains("line not understood: nonsense"), "{error}");
}
