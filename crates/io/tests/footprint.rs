//! What a job costs in memory and allocations. One test, since both are counted for the whole process.
#![allow(clippy::print_stdout)]

mod common;

use common::{Taker, new_target, once, scratch};
use flashlab_io::Tuning;
use flashlab_samples::Interval;
use flashlab_spec::{Arrival, Data, Durability, Job, Rate, Rw, Verify};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands everything to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes of a line of /proc/self/status, such as `VmHWM`.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).expect("line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("number") << 10
}

#[test]
fn jobs_are_small_and_allocate_nothing_per_io() {
    let folder = scratch();
    let size = Bytes::mib(32);
    let mut target = new_target(&folder.path().join("t.img"), size);
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), size), &mut Unobserved).expect("fill").is_clean());

    let mut allocations = |job: Job, ios: u64| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let job = Job { iodepth: 32, amount: Some(Bytes(ios * 4096)), ..job };
        let result = target.run(&job, &mut Unobserved).expect("result");
        assert_eq!(result.ios(), ios);
        // A second of a thread may take a dozen: two sparse histograms that grow, and a message.
        (ALLOCATIONS.load(Ordering::Relaxed) - before).saturating_sub(64 * result.series.intervals.len() as u64)
    };
    let plain = once(Rw::RandRw, Bytes::kib(4), size);
    // All that a request may need beyond that: trims, copies, flushes; and requests that are due at a time.
    let everything = Job {
        rwmixtrim: 10,
        data: Data { dedupe_percent: 20, ..Data::default() },
        durability: Durability { fdatasync_every: 1_000, ..Durability::default() },
        ..plain.clone()
    };
    let open = Job { arrival: Arrival::Poisson(Rate::iops(200_000)), ..plain.clone() };
    let sealed = Job { verify: Verify::Stamp, ..once(Rw::Write, Bytes::kib(4), size) };
    for (name, job) in [("plain", plain), ("everything", everything), ("open", open), ("sealed", sealed)] {
        let (few, many) = (allocations(job.clone(), 1_000), allocations(job, 40_000));
        println!("{name}: allocations: {few} for 1,000 I/Os, {many} for 40,000");
        assert!(many < few + 400, "{name}: {few} for 1,000 I/Os, {many} for 40,000");
    }

    let before = status("VmHWM");
    let jobs = 128;
    let job = Job { iodepth: 32, numjobs: jobs, ..once(Rw::RandRead, Bytes::kib(4), size) };
    assert!(target.run(&job, &mut Unobserved).expect("result").is_clean());
    let buffers = u64::from(jobs) * 32 * 4096;
    let each = (status("VmHWM") - before).saturating_sub(buffers) / u64::from(jobs);
    println!("{jobs} jobs: {each} bytes each besides buffers");
    assert!(each < 1 << 20, "{each} bytes a job");

    // As many intervals as a run of hours has, handed out while it runs.
    let before = status("VmHWM");
    let tuning = Tuning { interval: Nanos::millis(10), ..Tuning::default() };
    let intervals = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&intervals);
    let mut taker = Taker(|interval: Interval| {
        counted.fetch_add(u64::from(interval.read.ios > 0), Ordering::Relaxed);
    });
    let mut target = target.with_tuning(tuning);
    let long = Job { amount: None, runtime: Some(Nanos::secs(3)), ..job };
    assert!(target.run(&long, &mut taker).expect("result").is_clean());
    let each = (status("VmHWM") - before) / u64::from(jobs);
    println!("{} intervals handed out: {each} bytes more a job", intervals.load(Ordering::Relaxed));
    assert!(intervals.load(Ordering::Relaxed) > 100 && each < 1 << 20, "{each} bytes a job");
}
