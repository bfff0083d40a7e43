//! A loop device is written only with the token of what is attached to it, and not at all while
//! something is on it.

mod common;

use common::{Done, FLASHLAB, Loop, Place, TINY, own_mounts_for, root_for, system};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: a device that one detaches for a moment would be found free by another.
static LOOPS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    LOOPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder with a suite and an image of zeros, attached.
fn attached() -> Option<(Place, Loop)> {
    if !root_for("a run on a loop device") {
        return None;
    }
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let image = place.write("image", vec![0; 32 << 20]);
    let attached = Loop::attach(&image)?;
    Some((place, attached))
}

fn token(place: &Place, node: &str) -> Option<String> {
    let plan = place.flashlab(&format!("plan ./tiny.toml --on {node} --json -")).code(0).json();
    plan["destroy_data_token"].as_str().map(str::to_owned)
}

fn run(place: &Place, node: &str, more: &str) -> Done {
    place.flashlab(&format!("run ./tiny.toml --on {node} {more}"))
}

fn is_untouched(image: &Path) -> bool {
    fs::read(image).expect("the image").iter().all(|byte| *byte == 0)
}

#[test]
fn only_the_token_of_the_plan_opens_it() {
    let _alone = alone();
    let Some((place, device)) = attached() else { return };
    let node = &device.node;
    let without = run(&place, node, "").code(4);
    assert!(without.err.contains("--destroy-data TOKEN") && without.err.contains("flashlab plan"), "{}", without.err);
    run(&place, node, "--overwrite").code(4);
    let wrong = run(&place, node, "--destroy-data loop0-00000000").code(4);
    assert!(wrong.err.contains("`loop0-00000000` is not the token of this device"), "{}", wrong.err);
    let larger = run(&place, node, "--size 1G").code(2);
    assert!(larger.err.contains("--size 32MiB"), "{}", larger.err);
    assert!(is_untouched(&place.path("image")) && !place.path("flashlab.db").exists());

    let token = token(&place, node).expect("a token");
    let text = place.flashlab(&format!("plan ./tiny.toml --on {node}")).code(0).out;
    assert!(text.contains("DESTROYS all data on") && text.contains(&format!("--destroy-data {token}")), "{text}");
    let done = run(&place, node, &format!("--destroy-data {token}")).code(0);
    assert!(done.out.contains("MEASURED") && done.out.contains(node.trim_start_matches("/dev/")), "{}", done.out);
    system("sync", &[]).expect("sync");
    assert!(!is_untouched(&place.path("image")));
}

#[test]
fn a_file_system_on_it_is_a_reason_that_no_flag_removes() {
    let _alone = alone();
    let Some((place, device)) = attached() else { return };
    let node = &device.node;
    let before = token(&place, node).expect("a token");
    system("mkfs.ext4", &["-q", node]).expect("a file system");
    assert_eq!(token(&place, node), None, "no token opens it");
    let all = format!("--overwrite --destroy-data {before}");
    let refused = run(&place, node, &all).code(4);
    assert!(refused.err.contains("carries an ext file system") && refused.err.contains("wipefs"), "{}", refused.err);

    if !own_mounts_for("a mounted loop device") {
        return;
    }
    fs::create_dir(place.path("mnt")).expect("a folder");
    let script = format!("mount {node} mnt && exec {FLASHLAB} run ./tiny.toml --on {node} {all}");
    let refused = place.command("unshare", &["--mount", "--propagation", "private", "sh", "-c", &script]).code(4);
    assert!(refused.err.contains("is mounted at") && refused.err.contains("unmount it first"), "{}", refused.err);
    let check = system("e2fsck", &["-fn", node]);
    assert!(check.is_ok(), "the file system is whole: {check:?}");

    system("wipefs", &["--all", node]).expect("no signature");
    let again = token(&place, node).expect("a token again");
    run(&place, node, &format!("--destroy-data {again}")).code(0);
}

#[test]
fn the_image_of_a_loop_device_is_no_target() {
    let _alone = alone();
    let Some((place, device)) = attached() else { return };
    let refused = place.flashlab("run ./tiny.toml --on ./image --overwrite").code(4);
    let name = device.node.trim_start_matches("/dev/");
    assert!(refused.err.contains(&format!("attached as {name}")) && refused.err.contains("losetup -d"), "{refused:?}");
}

#[test]
fn the_token_is_that_of_the_attached_file() {
    let _alone = alone();
    let Some((place, device)) = attached() else { return };
    let first = token(&place, &device.node).expect("a token");
    assert_eq!(token(&place, &device.node).as_ref(), Some(&first), "the same file, the same token");
    let other = place.write("other", vec![0; 32 << 20]);
    system("losetup", &["--detach", &device.node]).expect("detached");
    system("losetup", &[&device.node, other.to_str().expect("a Unicode path")]).expect("attached");
    let second = token(&place, &device.node).expect("a token");
    assert_ne!(first, second);
    run(&place, &device.node, &format!("--destroy-data {first}")).code(4);
    assert!(is_untouched(&other));
    run(&place, &device.node, &format!("--destroy-data {second}")).code(0);
}
