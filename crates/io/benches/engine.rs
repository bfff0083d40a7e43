//! CPU time per I/O of the engine against the floor: a bare io_uring loop with the same ring flags,
//! registered file and buffers, and depth.
//!
//! Both do the same number of 4 KiB random reads in turn in this process, pair by pair, on an ext4 (or
//! whatever the build folder is on) file in the page cache and with O_DIRECT. CPU time is that of the
//! whole process, so that the kernel's workers are in it. Absolute times depend on the machine and on
//! who else uses it; the ratio of a pair does much less. The floor comes twice: with nothing but the
//! I/Os, and with two time stamps a batch and a full histogram, which every load generator needs.
//!
//! `cargo bench -p flashlab-io --bench engine [-- --smoke | --pairs N]`
#![allow(clippy::print_stdout, unsafe_code, missing_docs)]

use flashlab_guard::{Inspection, create_file};
use flashlab_io::{FileTarget, OpenOptions};
use flashlab_samples::LatencyHistogram;
use flashlab_spec::{Job, Region, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

const BS: u32 = 4096;
const DEPTH: u32 = 32;
type Outcome<T> = Result<T, Box<dyn Error>>;

/// How much to do.
struct Size {
    file: Bytes,
    cached_ios: u64,
    direct_ios: u64,
    pairs: usize,
}

impl Size {
    fn from_arguments() -> Outcome<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
        let full = Size { file: Bytes::mib(256), cached_ios: 1_000_000, direct_ios: 150_000, pairs: 7 };
        match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Ok(full),
            ["--smoke"] => Ok(Size { file: Bytes::mib(8), cached_ios: 2_000, direct_ios: 500, pairs: 1 }),
            ["--pairs", n] => Ok(Size { pairs: n.parse::<usize>()?.max(1), ..full }),
            other => Err(format!("unknown arguments {other:?}; use --smoke or --pairs N").into()),
        }
    }
}

/// CPU time of this process in ns, user and system.
fn cpu_ns() -> (u64, u64) {
    // SAFETY: plain data on this stack, filled by getrusage.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

/// User and system time of an I/O in µs.
#[derive(Clone, Copy)]
struct Cost {
    user: f64,
    system: f64,
}

impl Cost {
    fn of(ios: u64, work: impl FnOnce() -> Outcome<()>) -> Outcome<Self> {
        let before = cpu_ns();
        work()?;
        let after = cpu_ns();
        let each = |ns: u64| ns as f64 / 1e3 / ios as f64;
        Ok(Cost { user: each(after.0 - before.0), system: each(after.1 - before.1) })
    }

    fn total(self) -> f64 {
        self.user + self.system
    }
}

/// A ring with the flags that the engine asks for, or a plain one on an older kernel.
fn bare_ring() -> std::io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    builder.build(DEPTH).or_else(|_| IoUring::new(DEPTH))
}

/// The floor: `ios` reads at depth 32, nothing else; with `TIMED`, two stamps a batch and a histogram.
fn bare<const TIMED: bool>(file: &File, size: Bytes, ios: u64) -> Outcome<()> {
    let mut ring = bare_ring()?;
    let mut memory = vec![0u8; ((DEPTH + 1) * BS) as usize];
    let start = memory.as_ptr().align_offset(BS as usize);
    let base = memory[start..].as_mut_ptr();
    let region = libc::iovec { iov_base: base.cast(), iov_len: (DEPTH * BS) as usize };
    // SAFETY: the memory outlives the ring's I/Os: the loop ends when all of them have come back.
    unsafe { ring.submitter().register_buffers(&[region])? };
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let (mut submitter, mut sq, mut cq) = ring.split();
    let _ = submitter.register_ring_fd();
    let blocks = size.0 / u64::from(BS);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut entry = |slot: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let offset = ((u128::from(random) * u128::from(blocks)) >> 64) as u64 * u64::from(BS);
        let buffer = base.wrapping_add((slot * u64::from(BS)) as usize);
        opcode::ReadFixed::new(Fixed(0), buffer, BS, 0).offset(offset).build().user_data(slot)
    };
    let clock = Instant::now();
    let mut starts = [0u64; DEPTH as usize];
    let mut fresh: Vec<u64> = (0..u64::from(DEPTH)).collect();
    let mut histogram = LatencyHistogram::new();
    let (mut submitted, mut done) = (0u64, 0u64);
    while done < ios {
        for slot in fresh.drain(..) {
            // SAFETY: the slot's buffer is free: its last I/O has come back.
            unsafe { sq.push(&entry(slot))? };
            submitted += 1;
            if TIMED {
                starts[slot as usize] = u64::MAX;
            }
        }
        if TIMED {
            let now = clock.elapsed().as_nanos() as u64;
            starts.iter_mut().filter(|s| **s == u64::MAX).for_each(|s| *s = now);
        }
        sq.sync();
        submitter.submit_and_wait(1)?;
        sq.sync();
        cq.sync();
        let now = if TIMED { clock.elapsed().as_nanos() as u64 } else { 0 };
        for completion in &mut cq {
            if completion.result() != BS as i32 {
                return Err(format!("a read returned {}", completion.result()).into());
            }
            let slot = completion.user_data();
            done += 1;
            if TIMED {
                histogram.record(Nanos(now - starts[slot as usize]));
            }
            if submitted + (fresh.len() as u64) < ios {
                fresh.push(slot);
            }
        }
        cq.sync();
    }
    if TIMED && histogram.count() != ios {
        return Err("the floor lost I/Os".into());
    }
    Ok(())
}

/// The whole file.
fn region(length: Bytes) -> Region {
    Region { offset: Bytes::ZERO, length }
}

/// The engine as anyone uses it, through its target.
fn engine(inspection: &Inspection, direct: bool, size: Bytes, ios: u64) -> Outcome<()> {
    let mut target = FileTarget::open(inspection, None, &OpenOptions { direct, ..OpenOptions::default() })?;
    let job = Job {
        iodepth: DEPTH,
        amount: Some(Bytes(ios * u64::from(BS))),
        seed: 1,
        ..Job::new("rand-read-4k", Rw::RandRead, Bytes(u64::from(BS)), region(size))
    };
    let result = target.run(&job, &mut Unobserved)?;
    if !result.is_clean() || result.ios() != ios {
        return Err(format!("not clean: {:?} after {} I/Os", result.errors, result.ios()).into());
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

/// One line of the table: pairs in turn, each with the order reversed from the last.
fn compare(name: &str, inspection: &Inspection, direct: bool, ios: u64, size: &Size) -> Outcome<()> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut file = File::options().read(true).custom_flags(flags).open(&inspection.resolved)?;
    if !direct {
        // Into the page cache.
        file.read_to_end(&mut Vec::new())?;
    }
    let mut rows: Vec<[Cost; 3]> = Vec::new();
    for pair in 0..size.pairs {
        let ours = || Cost::of(ios, || engine(inspection, direct, size.file, ios));
        let timed = || Cost::of(ios, || bare::<true>(&file, size.file, ios));
        let floor = || Cost::of(ios, || bare::<false>(&file, size.file, ios));
        rows.push(if pair % 2 == 0 {
            let (a, b, c) = (ours()?, timed()?, floor()?);
            [a, b, c]
        } else {
            let (c, b, a) = (floor()?, timed()?, ours()?);
            [a, b, c]
        });
    }
    let column = |of: &dyn Fn(&[Cost; 3]) -> f64| median(rows.iter().map(of).collect());
    let cost = |i: usize| {
        let (user, system) = (column(&|r| r[i].user).0, column(&|r| r[i].system).0);
        format!("{:.3} ({user:.3} + {system:.3})", column(&|r| r[i].total()).0)
    };
    let ratio = |i: usize| {
        let (middle, low, high) = column(&|r| r[0].total() / r[i].total());
        format!("{middle:.3} [{low:.3} {high:.3}]")
    };
    println!("{name:<9} {:>23} {:>23} {:>23} {:>21} {:>21}", cost(0), cost(1), cost(2), ratio(1), ratio(2));
    Ok(())
}

fn main() -> Outcome<()> {
    let size = Size::from_arguments()?;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("bench.img");
    let (inspection, permit) = create_file(Path::new(&path), size.file)?;
    let mut target = FileTarget::open(&inspection, Some(permit), &OpenOptions::default())?;
    let fill = Job {
        iodepth: 4,
        amount: Some(size.file),
        seed: 1,
        ..Job::new("fill", Rw::Write, Bytes::mib(1), region(size.file))
    };
    if !target.run(&fill, &mut Unobserved)?.is_clean() {
        return Err("the file could not be filled".into());
    }
    drop(target);
    println!("4K random read, iodepth {DEPTH}, one job, {} pairs; CPU us an I/O: total (user + system)", size.pairs);
    println!(
        "{:<9} {:>23} {:>23} {:>23} {:>21} {:>21}",
        "file", "engine", "floor with histogram", "floor", "engine / with hist.", "engine / floor"
    );
    compare("cached", &inspection, false, size.cached_ios, &size)?;
    compare("O_DIRECT", &inspection, true, size.direct_ios, &size)
}
