//! Space that runs out after it was looked for, and what remains then.

use super::*;

#[path = "../tests/common/mod.rs"]
mod common;

use common::{MIB, Mounted, scratch};

#[test]
fn space_that_runs_out_while_it_is_reserved_is_reported_as_it_was_before() {
    let folder = scratch();
    let place = folder.path().join("mnt");
    let Some(mounted) = Mounted::mount(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], &place) else { return };
    let path = mounted.place.join("a.img");
    let file = File::create(&path).expect("a file");
    let error = reserve(&file, &path, Bytes::mib(10), &mounted.place).expect_err("more than there is");
    let GuardError::NoSpace { needed, free, missing, .. } = error else { panic!("{error}") };
    assert_eq!((needed, free, missing), (Bytes::mib(10), Some(Bytes::mib(8)), Some(Bytes::mib(2))));
}

#[test]
fn what_was_begun_is_removed_unless_it_is_kept_or_replaced() {
    let folder = scratch();
    let path = folder.path().join("a.img");
    let begin = || {
        std::fs::write(&path, "begun").expect("a file");
        Remains { path: &path, id: Stat::at(&path).expect("it is there").id, keep: false }
    };
    drop(begin());
    assert!(!path.exists(), "removed");
    begin().keep();
    assert!(path.exists(), "kept");
    let remains = begin();
    // The old one stays under another name, so that the new one has another inode.
    std::fs::rename(&path, folder.path().join("moved")).expect("it is there");
    std::fs::write(&path, "someone else's").expect("a file in its place");
    drop(remains);
    assert_eq!(std::fs::read_to_string(&path).expect("not touched"), "someone else's");
}

#[test]
fn a_size_beyond_the_limit_of_the_process_is_refused_before_a_signal_ends_it() {
    let path = Path::new("a.img");
    let above = |limit| check_size_within(path, Bytes(MIB + 1), Some(limit));
    assert!(above(MIB).expect_err("one byte too many").to_string().contains("ulimit -f"));
    above(MIB + 1).expect("just as large");
    check_size_within(path, Bytes(MIB + 1), None).expect("no limit");
}
