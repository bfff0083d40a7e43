//! Outputs never take the place of what they are made from, nor of a file that is in use as a disk.

mod common;

use common::{Loop, Place, TINY, root_for, system};
use std::fs;

#[test]
fn no_output_replaces_the_store_the_target_or_the_suite() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    place.flashlab("run ./tiny.toml --on p5430-30 --store st.db").code(0);
    place.flashlab("run ./tiny.toml --on ./t.img --size 64M --store st.db");
    let before = |name: &str| fs::read(place.path(name)).expect(name);
    let (store, suite, target) = (before("st.db"), before("tiny.toml"), before("t.img"));
    for arguments in [
        "export 1 --store st.db --csv st.db --replace",
        "list --store st.db --json ./st.db --replace",
        "fidelity --store st.db --csv st.db --replace",
        "run ./tiny.toml --on p5430-30 --store st.db --json ./tiny.toml --replace",
        "run ./tiny.toml --on p5430-30 --json st.db --replace",
        "run ./tiny.toml --on ./t.img --store st.db --json t.img --replace",
        "run ./tiny.toml --on ./t.img --store t.img",
        "run ./tiny.toml --on p5430-30 --store o/index.html --out o --replace",
        "run ./tiny.toml --on p5430-30 --store st.db --out o --json o/results.csv --replace",
        "plan ./tiny.toml --on ./t.img --json ./t.img --replace",
    ] {
        let done = place.flashlab(arguments).code(4);
        assert!(done.err.trim().lines().count() >= 2, "{arguments}: {}", done.err);
    }
    assert_eq!((before("st.db"), before("tiny.toml"), before("t.img")), (store, suite, target));
}

#[test]
fn the_image_of_a_disk_in_use_is_not_replaced() {
    if !root_for("a loop device") {
        return;
    }
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let image = place.write("d.img", vec![0; 4 << 20]);
    let Some(_attached) = Loop::attach(&image) else { return };
    place.flashlab("run ./tiny.toml --on p5430-30 --json d.img --replace").code(4);
    assert_eq!(fs::metadata(&image).expect("still there").len(), 4 << 20);
}

/// An overlay shows the file of the layer below it under another device number.
#[test]
fn a_disk_image_in_use_is_known_through_an_overlay() {
    if !root_for("an overlay mount") {
        return;
    }
    let place = Place::in_memory();
    for folder in ["lower", "upper", "work", "merged"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    place.write("tiny.toml", TINY);
    let at = |name: &str| place.path(name).display().to_string();
    let options = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    if let Err(why) = system("mount", &["-t", "overlay", "overlay", "-o", &options, &at("merged")]) {
        common::skipped(&format!("no overlay mount: {why}"));
        return;
    }
    let image = place.write("upper/f.img", vec![7; 64 << 20]);
    let attached = Loop::attach(&image);
    let done = place.flashlab("run ./tiny.toml --on merged/f.img --overwrite --buffered");
    drop(attached);
    let unmounted = system("umount", &[&at("merged")]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(done.err.contains("overlay"), "{}", done.err);
    assert!(fs::read(&image).expect("still there").iter().all(|byte| *byte == 7), "it was written");
    unmounted.expect("unmount");
}

#[test]
fn writes_are_known_by_kind_and_results_by_their_place() {
    let place = Place::new();
    place.write("tiny.toml", TINY);
    let plan = place.flashlab("plan ./tiny.toml --on ./new.img --size 64M --runtime 1ms").code(0).out;
    assert!(!plan.contains("writes nothing"), "{plan}");
    let short = place.flashlab("plan ./tiny.toml --on ./new.img --size 64M --runtime 1us").code(2).err;
    assert!(short.contains("use at least 1 ms"), "{short}");
}
