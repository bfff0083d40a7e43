//! Real files: which are ours, what protects them, creating and growing them.

mod common;

use common::{Loop, MIB, Mounted, free_lock, image, must, run, scratch, skipped, text};
use flashlab_guard::{
    Consent, FileFacts, GuardError, Inspection, ProtectionKind, Subject, create_file, extend_file, inspect, permit,
};
use flashlab_units::Bytes;
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

const NONE: Consent = Consent { destroy_token: None, overwrite: false };
const OVERWRITE: Consent = Consent { destroy_token: None, overwrite: true };

fn look(path: &Path) -> Inspection {
    inspect(path).expect("a file can be looked at")
}

fn facts(inspection: &Inspection) -> &FileFacts {
    match &inspection.subject {
        Subject::File(facts) => facts,
        other => panic!("{other:?}"),
    }
}

fn kinds(inspection: &Inspection) -> Vec<ProtectionKind> {
    inspection.protections.iter().map(|protection| protection.kind).collect()
}

fn detail(inspection: &Inspection, kind: ProtectionKind) -> &str {
    let found = inspection.protections.iter().find(|protection| protection.kind == kind);
    &found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", inspection.protections)).detail
}

/// Whether the temporary folder keeps the mark; where it doesn't, files of ours can't be known.
fn keeps_marks(folder: &Path) -> bool {
    let (found, _permit) = create_file(&folder.join("probe"), Bytes::mib(1)).expect("space for 1 MiB");
    if !facts(&found).created_by_flashlab {
        skipped(&format!("{} keeps no marks", facts(&found).file_system));
    }
    facts(&found).created_by_flashlab
}

#[test]
fn a_created_file_is_whole_ours_and_may_be_written_again() {
    let folder = scratch();
    if !keeps_marks(folder.path()) {
        return;
    }
    let path = folder.path().join("a.img");
    let Subject::Missing { parent, free } = look(&path).subject else { panic!("nothing is there yet") };
    assert_eq!(parent, folder.path().canonicalize().expect("it is there"));
    assert!(free.is_some_and(|free| free > Bytes::ZERO));
    assert!(matches!(permit(&look(&path), &NONE), Err(GuardError::Missing { .. })));

    let (found, held) = create_file(&path, Bytes::mib(4)).expect("space for 4 MiB");
    assert_eq!(facts(&found).size, Bytes::mib(4));
    assert!(facts(&found).allocated >= Bytes::mib(4), "all of it is reserved");
    assert!(facts(&found).created_by_flashlab);
    assert!(facts(&found).logical_block >= Bytes(512) && facts(&found).logical_block.0.is_power_of_two());
    assert_ne!(facts(&found).file_system, "unknown");
    assert_eq!(found.protections, []);
    assert_eq!(found.token(), None, "files need no token");

    let opened = File::options().write(true).open(&path).expect("opens beside the permit");
    held.check(&opened).expect("the very file");
    opened.write_all_at(&[7; 4096], 8192).expect("it can be written");
    let second = permit(&look(&path), &NONE).expect_err("one run at a time");
    assert!(matches!(second, GuardError::InUse { .. }), "{second}");
    drop(held);
    permit(&look(&path), &NONE).expect("ours, whatever it holds");
}

#[test]
fn a_file_of_someone_else_needs_overwrite() {
    let folder = scratch();
    let path = folder.path().join("thesis.txt");
    std::fs::write(&path, "years of work").expect("a file");
    let found = look(&path);
    assert_eq!(kinds(&found), [ProtectionKind::NotAFlashlabFile]);
    let error = permit(&found, &NONE).expect_err("not ours");
    assert!(error.to_string().contains("was not created by flashlab") && error.to_string().contains("--overwrite"));
    let token = Consent { destroy_token: Some("thesis".to_owned()), overwrite: false };
    permit(&found, &token).expect_err("a token is for devices");
    permit(&found, &OVERWRITE).expect("the user said so");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "years of work", "a permit writes nothing");
    let error = create_file(&path, Bytes::mib(1)).expect_err("something is there");
    assert!(matches!(error, GuardError::Exists { .. }), "{error}");
}

#[test]
fn a_copy_of_our_file_is_not_ours_and_a_renamed_one_is() {
    let folder = scratch();
    if !keeps_marks(folder.path()) {
        return;
    }
    let path = folder.path().join("a.img");
    drop(create_file(&path, Bytes::mib(1)).expect("space for 1 MiB"));
    let copy = folder.path().join("copy.img");
    must("cp", &["--preserve=all", text(&path), text(&copy)]);
    let found = look(&copy);
    assert!(!facts(&found).created_by_flashlab);
    assert!(detail(&found, ProtectionKind::NotAFlashlabFile).contains("is a copy of a file that flashlab created"));
    permit(&found, &NONE).expect_err("a copy may hold anything");

    let renamed = folder.path().join("renamed.img");
    std::fs::rename(&path, &renamed).expect("it is there");
    permit(&look(&renamed), &NONE).expect("the same file under another name");
}

#[test]
fn our_file_with_a_file_system_put_in_it_is_no_longer_scratch() {
    let folder = scratch();
    if !keeps_marks(folder.path()) {
        return;
    }
    let path = folder.path().join("a.img");
    drop(create_file(&path, Bytes::mib(4)).expect("space for 4 MiB"));
    if let Err(reason) = run("mkfs.ext4", &["-q", "-F", text(&path)]) {
        return skipped(&reason);
    }
    let found = look(&path);
    assert!(facts(&found).created_by_flashlab);
    assert!(detail(&found, ProtectionKind::Signature).contains("carries an ext file system"));
    permit(&found, &NONE).expect_err("someone keeps a file system in it");
    permit(&found, &OVERWRITE).expect("the user said so");
}

#[test]
fn a_permit_is_for_one_file_whatever_the_path_leads_to() {
    let folder = scratch();
    let path = folder.path().join("a.img");
    let (found, held) = create_file(&path, Bytes::mib(1)).expect("space for 1 MiB");
    // Kept under another name, so that its inode isn't used again.
    std::fs::rename(&path, folder.path().join("old.img")).expect("it is there");
    std::fs::write(&path, "someone else's").expect("another file under the name");
    let opened = File::options().write(true).open(&path).expect("opens");
    let error = held.check(&opened).expect_err("another file was opened");
    assert!(matches!(error, GuardError::NotTheObject { .. }), "{error}");
    held.check(&File::open(folder.path()).expect("the folder")).expect_err("a folder is not the file");
    let error = permit(&found, &OVERWRITE).expect_err("another file since the inspection");
    assert!(matches!(error, GuardError::Changed { .. }), "{error}");
}

#[test]
fn a_tampered_inspection_gives_no_permit() {
    let folder = scratch();
    let path = folder.path().join("thesis.txt");
    std::fs::write(&path, "years of work").expect("a file");
    let mut found = look(&path);
    found.protections.clear();
    permit(&found, &NONE).expect_err("it is looked at again");
}

#[test]
fn files_in_use_are_refused_whatever_the_user_allows() {
    let folder = scratch();
    let path = image(folder.path(), "a.img", MIB);
    std::fs::hard_link(&path, folder.path().join("b.img")).expect("a second name");
    let found = look(&path);
    assert!(detail(&found, ProtectionKind::HardLinks).contains("has 2 hard links"));
    permit(&found, &OVERWRITE).expect_err("the other name would lose its content");
    std::fs::remove_file(folder.path().join("b.img")).expect("it is there");

    let held = permit(&look(&path), &OVERWRITE).expect("one name");
    let opened = File::open(&path).expect("opens");
    let Some(device) = Loop::attach(&path, &[]) else { return };
    let found = look(&path);
    assert!(detail(&found, ProtectionKind::BackingFile).contains(&format!("is attached as {}", device.name())));
    let error = held.check(&opened).expect_err("attached since the permit was given");
    assert!(matches!(error, GuardError::Refused { .. }), "{error}");
    drop(held);
    permit(&found, &OVERWRITE).expect_err("a loop device lies on it");
}

#[test]
fn a_swap_file_is_refused() {
    let folder = scratch();
    let path = folder.path().join("swap");
    drop(create_file(&path, Bytes::mib(4)).expect("space for 4 MiB"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    if let Err(reason) = run("mkswap", &[text(&path)]).and_then(|_| run("swapon", &[text(&path)])) {
        return skipped(&reason);
    }
    let found = look(&path);
    let refused = permit(&found, &OVERWRITE);
    must("swapoff", &[text(&path)]);
    assert!(detail(&found, ProtectionKind::Swap).ends_with("is in use as swap"));
    refused.expect_err("swap");
}

#[test]
fn what_is_no_file_is_refused_with_a_reason_and_never_blocks() {
    let folder = scratch();
    let fifo = folder.path().join("fifo");
    must("mkfifo", &[text(&fifo)]);
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    for (path, words) in [
        (fifo.as_path(), "FIFO"),
        (socket.as_path(), "socket"),
        (Path::new("/dev/null"), "character device"),
        (folder.path(), "is a directory; name a file in it"),
    ] {
        let found = look(path);
        assert!(detail(&found, ProtectionKind::NotSupported).contains(words), "{found:?}");
        permit(&found, &OVERWRITE).expect_err(words);
        assert!(matches!(create_file(path, Bytes::mib(1)), Err(GuardError::Exists { .. })));
    }
}

#[test]
fn files_of_the_kernel_and_names_among_the_devices_are_no_storage() {
    let found = look(Path::new("/proc/sys/kernel/hostname"));
    assert!(detail(&found, ProtectionKind::NotSupported).contains("is no storage"), "{found:?}");
    assert_eq!(kinds(&found), [ProtectionKind::NotSupported]);
    permit(&found, &OVERWRITE).expect_err("proc");
    let absent = Path::new("/dev/flashlab-absent-drive");
    let found = look(absent);
    if found.protections.is_empty() {
        return skipped("/dev is no devtmpfs here");
    }
    let error = create_file(absent, Bytes::mib(1)).expect_err("a file in memory instead of a drive");
    assert!(error.to_string().contains("there is no device"), "{error}");
    assert!(!absent.exists());
}

#[test]
fn paths_that_lead_nowhere_say_so_with_a_remedy() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    symlink(at("nothing"), at("dangling")).expect("a link");
    symlink(at("round"), at("round")).expect("a link");
    std::fs::write(at("file"), "x").expect("a file");
    let error = |name: &str| inspect(&at(name)).expect_err(name);
    assert!(matches!(error("dangling"), GuardError::DanglingLink { target, .. } if target == at("nothing")));
    assert!(error("round").to_string().contains("in a circle"), "{}", error("round"));
    assert!(matches!(error("no/such/file"), GuardError::NoParent { parent, .. } if parent == at("no/such")));
    assert!(error("file/below").to_string().contains("is a file, not a folder"), "{}", error("file/below"));
    assert!(error(&"n".repeat(300)).to_string().contains("shorter path"));
    for name in ["dangling", "round", "no/such/file", "file/below"] {
        create_file(&at(name), Bytes::mib(1)).expect_err(name);
    }
    assert!(!at("nothing").exists());
}

#[test]
fn a_relative_name_is_looked_for_here() {
    let found = look(Path::new("flashlab-guard-no-such-file"));
    let here = std::env::current_dir().expect("a current folder");
    assert!(matches!(found.subject, Subject::Missing { parent, .. } if parent == here));
    assert_eq!(found.resolved, here.join("flashlab-guard-no-such-file"));
}

#[test]
fn sizes_that_no_file_can_have_leave_nothing() {
    let folder = scratch();
    let path = folder.path().join("a.img");
    for size in [Bytes::ZERO, Bytes(u64::MAX)] {
        let error = create_file(&path, size).expect_err("no such size");
        assert!(matches!(error, GuardError::Size { .. }), "{error}");
        assert!(!path.exists());
    }
    let error = create_file(&path, Bytes(1 << 62)).expect_err("nobody has this much");
    assert!(matches!(&error, GuardError::NoSpace { missing: Some(missing), .. } if missing.0 > 1 << 61), "{error}");
    assert!(!path.exists());
}

/// A small ext4 of its own. With inodes of 128 bytes it keeps no time of creation.
fn small(folder: &Path, inode_size: &str, size: u64) -> Option<(Loop, Mounted)> {
    let device = Loop::attach(&image(folder, "fs.img", size), &[])?;
    if let Err(reason) = run("mkfs.ext4", &["-q", "-I", inode_size, text(&device.node)]) {
        skipped(&reason);
        return None;
    }
    let mounted = Mounted::mount(&[text(&device.node)], &folder.join("mnt"))?;
    Some((device, mounted))
}

#[test]
fn a_full_file_system_says_what_is_missing_and_keeps_nothing() {
    let folder = scratch();
    let Some((_device, mounted)) = small(folder.path(), "256", 32 * MIB) else { return };
    let path = mounted.place.join("a.img");
    let before = std::fs::read_dir(&mounted.place).expect("it is there").count();
    let error = create_file(&path, Bytes::mib(64)).expect_err("twice the file system");
    let GuardError::NoSpace { file_system, needed, free: Some(free), missing: Some(missing), .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((file_system.as_str(), *needed), ("ext4", Bytes::mib(64)));
    assert_eq!(missing.0, needed.0 - free.0);
    assert_eq!(std::fs::read_dir(&mounted.place).expect("it is there").count(), before);

    // As much as is said to be free: the tables of the file itself take some of it.
    let Subject::Missing { free: Some(free), .. } = look(&path).subject else { panic!("nothing is there") };
    let half = Bytes(free.0 / 2);
    drop(create_file(&path, half).expect("half of the space"));
    let size = facts(&look(&path)).size;
    let error = extend_file(&path, Bytes::mib(64), &NONE).expect_err("no room to grow");
    assert!(matches!(error, GuardError::NoSpace { missing: Some(_), .. }), "{error}");
    assert_eq!(facts(&look(&path)).size, size, "as large as before");
    let larger = Bytes(half.0 + MIB);
    let (grown, _permit, growth) = extend_file(&path, larger, &NONE).expect("room for 1 MiB more");
    assert_eq!(facts(&grown).size, larger);
    assert!(facts(&grown).allocated >= larger && facts(&grown).created_by_flashlab);
    growth.keep();
    assert_eq!(facts(&look(&path)).size, larger);
}

#[test]
fn a_file_system_in_memory_says_what_is_missing_and_keeps_nothing() {
    let folder = scratch();
    let place = folder.path().join("mnt");
    let Some(mounted) = Mounted::mount(&["-t", "tmpfs", "-o", "size=8m,nr_inodes=4", "tmpfs"], &place) else { return };
    let path = mounted.place.join("a.img");
    let error = create_file(&path, Bytes::mib(9)).expect_err("more than the file system");
    assert!(matches!(&error, GuardError::NoSpace { missing: Some(m), .. } if *m == Bytes::mib(1)), "{error}");
    assert!(!path.exists());
    // Inodes for the root and three files: a fourth file can't be made.
    for name in ["1", "2", "3"] {
        std::fs::write(mounted.place.join(name), "").expect("an inode");
    }
    let error = create_file(&path, Bytes::mib(1)).expect_err("no inode left");
    assert!(error.to_string().contains("could not create it"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_file_system_that_cannot_reserve_space_is_refused_and_keeps_nothing() {
    let folder = scratch();
    let Some(mounted) = Mounted::mount(&["-t", "ramfs", "ramfs"], &folder.path().join("mnt")) else { return };
    let path = mounted.place.join("a.img");
    assert!(matches!(look(&path).subject, Subject::Missing { free: None, .. }), "ramfs has no size");
    let error = create_file(&path, Bytes::mib(1)).expect_err("ramfs reserves nothing");
    assert!(error.to_string().contains("can't reserve space"), "{error}");
    assert!(!path.exists(), "the file that was begun is gone");
    image(&mounted.place, "b.img", MIB);
    let foreign = look(&mounted.place.join("b.img"));
    assert!(detail(&foreign, ProtectionKind::NotAFlashlabFile).contains("ramfs, which can't keep the mark"));
    let error =
        extend_file(&mounted.place.join("b.img"), Bytes::mib(2), &OVERWRITE).expect_err("nor for a larger file");
    assert!(error.to_string().contains("can't reserve space"), "{error}");
    assert_eq!(facts(&look(&mounted.place.join("b.img"))).size, Bytes::mib(1));
}

#[test]
fn a_file_system_without_marks_asks_for_overwrite_and_says_why() {
    let folder = scratch();
    let Some((_device, mounted)) = small(folder.path(), "128", 16 * MIB) else { return };
    let path = mounted.place.join("a.img");
    let (found, held) = create_file(&path, Bytes::mib(1)).expect("a file made this moment needs no mark");
    assert!(!facts(&found).created_by_flashlab);
    drop(held);
    let later = look(&path);
    assert!(
        detail(&later, ProtectionKind::NotAFlashlabFile).contains("has no time of creation on this ext4"),
        "{later:?}"
    );
    permit(&later, &NONE).expect_err("it can't be known again");
    permit(&later, &OVERWRITE).expect("the user said so");
}

#[test]
fn a_read_only_file_system_is_refused() {
    let folder = scratch();
    let Some((device, mounted)) = small(folder.path(), "256", 16 * MIB) else { return };
    let path = mounted.place.join("a.img");
    drop(create_file(&path, Bytes::mib(1)).expect("space for 1 MiB"));
    must("mount", &["-o", "remount,ro", text(&device.node), text(&mounted.place)]);
    assert!(detail(&look(&path), ProtectionKind::ReadOnly).contains("mounted read-only"));
    permit(&look(&path), &OVERWRITE).expect_err("read-only");
    let other = mounted.place.join("b.img");
    create_file(&other, Bytes::mib(1)).expect_err("read-only");
}

#[test]
fn extending_takes_what_a_permit_takes_and_fills_holes() {
    let folder = scratch();
    let foreign = image(folder.path(), "foreign.img", MIB);
    extend_file(&foreign, Bytes::mib(2), &NONE).expect_err("not ours");
    assert_eq!(facts(&look(&foreign)).size, Bytes::mib(1));
    let (found, held, growth) = extend_file(&foreign, Bytes::mib(2), &OVERWRITE).expect("the user said so");
    assert_eq!(facts(&found).size, Bytes::mib(2));
    assert!(facts(&found).allocated >= Bytes::mib(2), "the hole is filled");
    held.check(&File::open(&foreign).expect("opens")).expect("the permit is for the larger file");
    drop(held);
    let other = File::open(&foreign).expect("opens");
    other.try_lock().expect_err("what grew is held until it is decided that it stays");
    drop(growth);
    assert_eq!(facts(&look(&foreign)).size, Bytes::mib(1), "not kept, it has its old size again");
    free_lock(&other);
    drop(other);
    File::options().write(true).open(&foreign).and_then(|f| f.set_len(2 * MIB)).expect("2 MiB");
    let (same, _permit, growth) = extend_file(&foreign, Bytes::mib(1), &OVERWRITE).expect("it is large enough");
    assert_eq!(facts(&same).size, Bytes::mib(2), "never made smaller");
    drop(growth);
    assert_eq!(facts(&look(&foreign)).size, Bytes::mib(2), "nor by giving back what did not grow");
    let absent = folder.path().join("absent");
    assert!(matches!(extend_file(&absent, Bytes::mib(1), &NONE), Err(GuardError::Missing { .. })));
}
