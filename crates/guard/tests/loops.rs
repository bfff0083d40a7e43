//! Real loop devices: what protects them, their tokens, and permits. Needs root; says so otherwise.

mod common;

use common::{Loop, MIB, Mounted, free_lock, image, must, run, scratch, skipped, text};
use flashlab_guard::{Consent, GuardError, Inspection, ProtectionKind, Subject, create_file, devices, inspect, permit};
use flashlab_units::Bytes;
use std::fs::File;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

fn look(path: &Path) -> Inspection {
    inspect(path).expect("an attached loop device can be looked at")
}

fn kinds(inspection: &Inspection) -> Vec<ProtectionKind> {
    inspection.protections.iter().map(|protection| protection.kind).collect()
}

fn detail(inspection: &Inspection, kind: ProtectionKind) -> String {
    let found = inspection.protections.iter().find(|protection| protection.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", inspection.protections)).detail.clone()
}

fn typed(token: Option<String>) -> Consent {
    Consent { destroy_token: token, overwrite: false }
}

#[test]
fn an_empty_loop_device_is_free_and_needs_its_token() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    let Some(device) = Loop::attach(&file, &["--sector-size", "4096"]) else { return };
    let found = look(&device.node);
    let Subject::LoopDevice(facts) = &found.subject else { panic!("{:?}", found.subject) };
    assert_eq!((facts.name.as_str(), facts.size), (device.name().as_str(), Bytes::mib(16)));
    assert_eq!(facts.logical_block, Bytes::kib(4));
    assert_eq!(facts.backing_file, file.canonicalize().expect("it is there"));
    assert_eq!(facts.unallocated, Some(Bytes::mib(16)), "the file is one hole");
    assert!(!facts.read_only);
    assert_eq!(found.protections, []);

    let missing = permit(&found, &typed(None)).expect_err("no token");
    let token = found.token().expect("a free loop device has a token");
    assert!(token.starts_with(&format!("{}-", device.name())) && token.len() == device.name().len() + 9, "{token}");
    assert!(matches!(missing, GuardError::TokenMissing { .. }), "{missing}");
    assert!(!missing.to_string().contains(&token), "a refusal doesn't give the token away");
    assert!(missing.to_string().contains(&format!("flashlab plan SUITE --on {}", device.node.display())));
    let wrong = permit(&found, &typed(Some(format!("{token}0")))).expect_err("another token");
    assert!(matches!(wrong, GuardError::TokenWrong { .. }) && !wrong.to_string().contains(&format!("{token}\n")));

    let held = permit(&found, &typed(Some(token.clone()))).expect("the right token");
    let opened = File::options().read(true).write(true).open(&device.node).expect("opens beside the permit");
    held.check(&opened).expect("the very device");
    opened.write_all_at(b"x", 0).and_then(|()| opened.sync_all()).expect("it can be written");
    // Space can be discarded while the permit holds the device, once nothing waits to be written.
    must("blkdiscard", &["--force", text(&device.node)]);
    held.check(&opened).expect("still the very device");

    let second = permit(&found, &typed(Some(token.clone()))).expect_err("one run at a time");
    assert!(matches!(second, GuardError::InUse { .. }), "{second}");
    run("mkfs.ext4", &["-q", text(&device.node)]).expect_err("nobody formats it while the permit lives");
    drop((held, opened));
    permit(&found, &typed(Some(token))).expect("free again");
}

#[test]
fn a_file_that_a_run_has_taken_is_not_written_through_a_loop_device() {
    let folder = scratch();
    let file = folder.path().join("a.img");
    let (_, taken) = create_file(&file, Bytes::mib(16)).expect("a new file");
    // Attached after the other run took its file, which can't see it before its next job.
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let found = look(&device.node);
    let refused = permit(&found, &typed(found.token())).expect_err("another run writes the same bytes");
    assert!(matches!(refused, GuardError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("locked the file behind it"), "{refused}");
    let by_name = File::options().write(true).open(&file).expect("the file");
    drop(taken);
    let held = permit(&found, &typed(found.token())).expect("free again");
    by_name.try_lock().expect_err("the permit for the device holds its file too");
    drop(held);
    free_lock(&by_name);
}

#[test]
fn a_mounted_device_is_refused_and_its_file_too() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let token = look(&device.node).token();
    must("mkfs.ext4", &["-q", text(&device.node)]);

    let formatted = look(&device.node);
    assert_eq!(kinds(&formatted), [ProtectionKind::Signature], "{:?}", formatted.protections);
    assert!(detail(&formatted, ProtectionKind::Signature).contains("carries an ext file system"));
    assert_eq!(formatted.token(), None, "no token opens it");
    let refused =
        permit(&formatted, &Consent { destroy_token: token.clone(), overwrite: true }).expect_err("signature");
    assert!(refused.to_string().contains("wipefs"), "{refused}");

    let place = folder.path().join("mnt point");
    let Some(mounted) = Mounted::mount(&[text(&device.node)], &place) else { return };
    let found = look(&device.node);
    let expected =
        format!("{} is mounted at {} (ext4)", device.name(), place.canonicalize().expect("it is there").display());
    assert_eq!(detail(&found, ProtectionKind::Mounted), expected);
    let refused = permit(&found, &Consent { destroy_token: token, overwrite: true }).expect_err("mounted");
    assert!(refused.to_string().contains(&expected), "{refused}");

    // By another name, and by its file.
    let link = folder.path().join("by-another-name");
    symlink(&device.node, &link).expect("a link");
    assert_eq!(kinds(&look(&link)), kinds(&found));
    let image = look(&file);
    assert!(detail(&image, ProtectionKind::BackingFile).contains(&format!("is attached as {}", device.name())));
    assert!(detail(&image, ProtectionKind::Mounted).ends_with(&expected));
    let refused = permit(&image, &Consent { destroy_token: None, overwrite: true }).expect_err("attached");
    assert!(
        matches!(&refused, GuardError::Refused { reasons, .. } if reasons.iter().all(|r| r.overridable_by.is_none()))
    );
    drop(mounted);

    must("wipefs", &["--all", "--quiet", text(&device.node)]);
    assert_eq!(look(&device.node).protections, [], "free once unmounted and wiped");
}

#[test]
fn partitions_of_a_loop_device_count_and_are_no_targets() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    // An MBR with one partition of Linux, 8 MiB from 1 MiB on.
    let mut sector = [0u8; 512];
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048u32.to_le_bytes());
    sector[458..462].copy_from_slice(&16_384u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    File::options().write(true).open(&file).and_then(|f| f.write_all_at(&sector, 0)).expect("a partition table");
    let Some(device) = Loop::attach(&file, &["--partscan"]) else { return };
    let found = look(&device.node);
    assert!(detail(&found, ProtectionKind::Signature).contains("carries an MBR partition table"));

    let partition = device.node.with_file_name(format!("{}p1", device.name()));
    // A kernel that can't read the table can still be told of a partition.
    if !partition.exists()
        && let Err(reason) = run("addpart", &[text(&device.node), "1", "2048", "16384"])
    {
        return skipped(&reason);
    }
    let found = look(&device.node);
    assert!(
        detail(&found, ProtectionKind::Partition).contains(&format!("has the partition {}p1 (8 MiB)", device.name()))
    );
    let part = look(&partition);
    assert!(matches!(part.subject, Subject::BlockDevice(_)));
    assert!(detail(&part, ProtectionKind::NotSupported).contains("name the whole loop device"));
    must("mkfs.ext4", &["-q", text(&partition)]);
    let place = folder.path().join("mnt");
    let Some(_mounted) = Mounted::mount(&[text(&partition)], &place) else { return };
    let chain = format!("{0} > {0}p1 is mounted at", device.name());
    assert!(detail(&look(&device.node), ProtectionKind::Mounted).starts_with(&chain));
}

#[test]
fn swap_on_a_loop_device_is_refused() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    must("mkswap", &[text(&device.node)]);
    assert!(detail(&look(&device.node), ProtectionKind::Signature).contains("carries a swap area"));
    if let Err(reason) = run("swapon", &[text(&device.node)]) {
        return skipped(&reason);
    }
    let found = look(&device.node);
    must("swapoff", &[text(&device.node)]);
    assert_eq!(detail(&found, ProtectionKind::Swap), format!("{} is in use as swap", device.name()));
}

#[test]
fn a_read_only_loop_device_is_refused() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", MIB);
    let Some(device) = Loop::attach(&file, &["--read-only"]) else { return };
    let found = look(&device.node);
    assert_eq!(detail(&found, ProtectionKind::ReadOnly), format!("{} is read-only", device.name()));
    assert_eq!(found.token(), None);
}

#[test]
fn two_loop_devices_over_one_file_protect_each_other() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    let (Some(one), Some(two)) = (Loop::attach(&file, &[]), Loop::attach(&file, &[])) else { return };
    assert!(detail(&look(&one.node), ProtectionKind::BackingFile).ends_with(&format!("with {}", two.name())));
    must("mkfs.ext4", &["-q", text(&two.node)]);
    let Some(_mounted) = Mounted::mount(&[text(&two.node)], &folder.path().join("mnt")) else { return };
    assert!(detail(&look(&one.node), ProtectionKind::Mounted).starts_with(&format!("{} is mounted", two.name())));
}

#[test]
fn a_loop_device_over_a_block_device_is_refused_and_so_is_the_one_below() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", 16 * MIB);
    let Some(below) = Loop::attach(&file, &[]) else { return };
    let Some(above) = Loop::attach(&below.node, &[]) else { return };
    let found = look(&above.node);
    assert!(
        detail(&found, ProtectionKind::NotSupported).contains("lies on the block device"),
        "{:?}",
        found.protections
    );
    assert_eq!(found.token(), None);
    let found = look(&below.node);
    assert_eq!(
        detail(&found, ProtectionKind::BackingFile),
        format!("{} is attached as {}", below.name(), above.name())
    );
}

/// A loop device that shows `b` and showed `a` before, with what was seen then. Another test may take
/// the device between the two, which is why this tries more than once.
fn attached_anew(a: &Path, b: &Path) -> Option<(Loop, Inspection)> {
    for _ in 0..50 {
        let device = Loop::attach(a, &[])?;
        let before = look(&device.node);
        must("losetup", &["--detach", text(&device.node)]);
        if run("losetup", &[text(&device.node), text(b)]).is_ok() {
            return Some((device, before));
        }
        // It is another's now, so the guard must not detach it.
        std::mem::forget(device);
    }
    skipped("other tests took the loop device each time");
    None
}

#[test]
fn the_token_changes_with_the_file_that_is_attached() {
    let folder = scratch();
    let (a, b) = (image(folder.path(), "a.img", MIB), image(folder.path(), "b.img", MIB));
    let Some((device, first)) = attached_anew(&a, &b) else { return };
    let second = look(&device.node);
    let (old, new) = (first.token().expect("free"), second.token().expect("free"));
    assert_ne!(old, new);
    let error = permit(&first, &typed(Some(old.clone()))).expect_err("another file is attached");
    assert!(matches!(error, GuardError::Changed { .. }), "{error}");
    let error = permit(&second, &typed(Some(old))).expect_err("the token of the other file");
    assert!(matches!(error, GuardError::TokenWrong { .. }), "{error}");
    permit(&second, &typed(Some(new))).expect("the token of this file");
}

#[test]
fn a_permit_is_for_one_device_whatever_the_path_leads_to() {
    let folder = scratch();
    let (a, b) = (image(folder.path(), "a.img", MIB), image(folder.path(), "b.img", MIB));
    let (Some(one), Some(two)) = (Loop::attach(&a, &[]), Loop::attach(&b, &[])) else { return };
    let link = folder.path().join("target");
    symlink(&one.node, &link).expect("a link");
    let found = look(&link);
    let held = permit(&found, &typed(found.token())).expect("free");
    std::fs::remove_file(&link).and_then(|()| symlink(&two.node, &link)).expect("the link is turned");
    let opened = File::open(&link).expect("the other device");
    let error = held.check(&opened).expect_err("another device was opened");
    assert!(matches!(error, GuardError::NotTheObject { .. }), "{error}");
    held.check(&File::open(&a).expect("the backing file")).expect_err("a file is not the device");
    drop(held);
    let error = permit(&found, &typed(found.token())).expect_err("the link was turned");
    assert!(matches!(error, GuardError::Changed { .. }), "{error}");
}

#[test]
fn a_permit_ends_when_something_else_takes_the_file() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let found = look(&device.node);
    let held = permit(&found, &typed(found.token())).expect("free");
    let opened = File::open(&device.node).expect("opens");
    held.check(&opened).expect("nothing has changed");
    let Some(second) = Loop::attach(&file, &[]) else { return };
    let error = held.check(&opened).expect_err("the file is shared now");
    assert!(error.to_string().contains("shares its backing file"), "{error}");
    drop(second);
}

#[test]
fn a_deleted_backing_file_is_still_the_same_file() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    std::fs::remove_file(&file).expect("it is there");
    // Another file under the old name is not the one that is attached.
    image(folder.path(), "a.img", MIB);
    let found = look(&device.node);
    let Subject::LoopDevice(facts) = &found.subject else { panic!("{:?}", found.subject) };
    assert!(text(&facts.backing_file).ends_with("(deleted)"));
    assert_eq!(facts.unallocated, None, "nothing is said of a file that can't be seen");
    assert_eq!(look(&file).protections.iter().filter(|p| p.kind == ProtectionKind::BackingFile).count(), 0);
    permit(&found, &typed(found.token())).expect("it is free");
}

#[test]
fn a_loop_device_without_a_file_says_how_to_attach_one() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let node = device.node.clone();
    drop(device);
    match inspect(&node) {
        Err(error @ GuardError::NoBackingFile { .. }) => assert!(error.to_string().contains("losetup"), "{error}"),
        // Another test may have taken the device in between.
        Ok(found) => skipped(&format!("{} was attached anew: {}", node.display(), found.identity_text())),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn all_devices_are_listed_with_what_protects_them() {
    let folder = scratch();
    let file = image(folder.path(), "a.img", MIB);
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let all = devices().expect("the tables can be read");
    let own = all.iter().find(|found| found.path == device.node).expect("our own device is among them");
    assert_eq!(own.protections, []);
    assert!(own.identity_text().contains(text(&file)), "{}", own.identity_text());
    for found in all.iter().filter(|found| !matches!(found.subject, Subject::LoopDevice(_))) {
        assert!(kinds(found).contains(&ProtectionKind::NotSupported), "{found:?}");
        assert_eq!(found.token(), None);
        let refused = permit(found, &Consent { destroy_token: Some("x".to_owned()), overwrite: true });
        assert!(matches!(refused, Err(GuardError::Refused { .. })), "{refused:?}");
    }
}
