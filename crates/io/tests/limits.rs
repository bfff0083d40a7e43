//! Limits of the whole process, on file sizes and locked memory, so alone in their program.
#![allow(clippy::print_stdout, unsafe_code)]

mod common;

use common::{new_target, once, scratch};
use flashlab_samples::Ended;
use flashlab_spec::{Job, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::Bytes;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::sync::{Mutex, PoisonError};

/// One test at a time: each changes what holds for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn writes_beyond_the_file_size_limit_are_counted_and_do_not_end_the_program() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = scratch();
    let size = Bytes::mib(8);
    let mut target = new_target(&folder.path().join("t.img"), size);
    let before = getrlimit(Resource::Fsize);
    let mut lower = before;
    // In the middle of a 64 KiB block: one write is cut short, the following ones are refused.
    lower.current = Some((4 << 20) + 4096);
    setrlimit(Resource::Fsize, lower).expect("a lower limit");
    let result = target.run(&once(Rw::Write, Bytes::kib(64), size), &mut Unobserved);
    setrlimit(Resource::Fsize, before).expect("the limit as it was");
    let result = result.expect("result");
    assert_eq!(result.ended, Ended::Failed);
    let of = |kind: &str| result.errors.iter().find(|e| e.kind == kind);
    assert_eq!(of("short-write").and_then(|e| e.first_offset), Some(Bytes::mib(4)), "{:?}", result.errors);
    assert!(of("EFBIG").is_some_and(|e| e.first_offset > Some(Bytes::mib(4))), "{:?}", result.errors);
    assert!(result.write.bytes <= Bytes::mib(4) && !result.is_clean());
}

/// Takes CAP_IPC_LOCK from this thread and those it starts.
fn drop_ipc_lock() -> bool {
    const VERSION_3: u32 = 0x2008_0522;
    const CAP_IPC_LOCK: u32 = 14;
    let mut header = [VERSION_3, 0];
    let mut sets = [0u32; 6];
    // SAFETY: header and sets have the layout of the third version: two words, and twice three words.
    unsafe {
        if libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) != 0 {
            return false;
        }
        sets[0] &= !(1 << CAP_IPC_LOCK);
        libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_mut_ptr()) == 0
    }
}

#[test]
fn without_locked_memory_buffers_are_not_registered_and_it_is_said_so() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = scratch();
    let size = Bytes::mib(8);
    let mut target = new_target(&folder.path().join("t.img"), size);
    let before = getrlimit(Resource::Memlock);
    let mut lower = before;
    lower.current = Some(64 << 10);
    setrlimit(Resource::Memlock, lower).expect("a lower limit");
    assert!(drop_ipc_lock());
    let job = Job { iodepth: 64, numjobs: 2, ..once(Rw::Write, Bytes::kib(16), size) };
    let written = target.run(&job, &mut Unobserved);
    let read = target.run(&Job { rw: Rw::RandRead, ..job }, &mut Unobserved);
    setrlimit(Resource::Memlock, before).expect("the limit as it was");
    for result in [written.expect("result"), read.expect("result")] {
        assert!(result.is_clean() && result.bytes() == size);
        let refused = &result.granted.refused;
        assert!(refused.iter().any(|r| r.starts_with("registered-buffers: ENOMEM")), "{refused:?}");
        assert!(!result.granted.features.iter().any(|f| f.starts_with("registered-buffers")));
    }
    let data = std::fs::read(folder.path().join("t.img")).expect("read back");
    assert!(data.chunks(4096).zip(0u64..).all(|(page, i)| page[..8] == (i * 4096).to_le_bytes()));
}
