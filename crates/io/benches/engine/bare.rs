//! The floor: a bare io_uring loop with the same ring flags, registered file and buffers, and depth.

use crate::load::Load;
use crate::{DEPTH, Outcome};
use flashlab_samples::LatencyHistogram;
use flashlab_units::{Bytes, Nanos};
use io_uring::squeue::Entry;
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

/// A ring with the flags that the engine asks for, or a plain one on an older kernel.
fn ring() -> std::io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun().setup_no_sqarray();
    builder.build(DEPTH).or_else(|_| IoUring::new(DEPTH))
}

/// Memory of `length` on pages as large as the engine's: huge ones from 2 MiB on.
fn memory(length: usize) -> (Vec<u8>, *mut u8) {
    let page = if length >= 2 << 20 { 2 << 20 } else { 4096 };
    let mut memory: Vec<u8> = Vec::with_capacity(length + page);
    let base = memory.as_mut_ptr().wrapping_add(memory.as_ptr().align_offset(page));
    // SAFETY: base and length lie inside the vector's memory; the advice changes none of its bytes.
    unsafe {
        libc::madvise(base.cast(), length, libc::MADV_HUGEPAGE);
        base.write_bytes(0x5a, length);
    }
    (memory, base)
}

/// Makes the entries of a load.
struct Entries {
    load: Load,
    base: *mut u8,
    bs: u32,
    blocks: u64,
    random: u64,
    next: u64,
}

impl Entries {
    #[inline]
    fn next(&mut self, slot: u64) -> Entry {
        let block = if self.load.is_sequential() {
            let block = self.next;
            self.next = if block + 1 == self.blocks { 0 } else { block + 1 };
            block
        } else {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            ((u128::from(self.random) * u128::from(self.blocks)) >> 64) as u64
        };
        let buffer = self.base.wrapping_add((slot * u64::from(self.bs)) as usize);
        let offset = block * u64::from(self.bs);
        if self.load == Load::SeqWrite {
            self.stamp(buffer);
        }
        let entry = match self.load {
            Load::Nop => opcode::Nop::new().build(),
            Load::SeqWrite => opcode::WriteFixed::new(Fixed(0), buffer, self.bs, 0).offset(offset).build(),
            _ => opcode::ReadFixed::new(Fixed(0), buffer, self.bs, 0).offset(offset).build(),
        };
        entry.user_data(slot)
    }
}

impl Entries {
    /// Makes each page of a write unlike every other one, as cheaply as it goes.
    fn stamp(&mut self, buffer: *mut u8) {
        let pages = || (0..self.bs as usize).step_by(4096).map(|at| buffer.wrapping_add(at));
        #[cfg(target_arch = "x86_64")]
        for page in pages() {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: a prefetch reads nothing and faults on no address.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(page.cast()) };
        }
        for page in pages() {
            self.random = self.random.wrapping_add(1);
            // SAFETY: inside the slot's buffer, which no I/O is using.
            unsafe { page.cast::<u64>().write(self.random) };
        }
    }
}

/// `ios` of a load at full depth, nothing else; with `TIMED`, two stamps a batch and a histogram.
pub fn run<const TIMED: bool>(load: Load, path: &Path, size: Bytes, ios: u64) -> Outcome<()> {
    let flags = libc::O_NOATIME | if load.is_direct() { libc::O_DIRECT } else { 0 };
    let file = File::options().read(true).write(load.writes()).custom_flags(flags).open(path)?;
    let mut ring = ring()?;
    let bs = load.bs().0 as u32;
    let (_memory, base) = memory((DEPTH * bs) as usize);
    let region = libc::iovec { iov_base: base.cast(), iov_len: (DEPTH * bs) as usize };
    // SAFETY: the memory outlives the ring's I/Os: the loop ends when all of them have come back.
    unsafe { ring.submitter().register_buffers(&[region])? };
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let (mut submitter, mut sq, mut cq) = ring.split();
    let _ = submitter.register_ring_fd();
    let blocks = size.0 / u64::from(bs);
    let mut entries = Entries { load, base, bs, blocks, random: 0x9e37_79b9_7f4a_7c15, next: 0 };
    let clock = Instant::now();
    let mut starts = [0u64; DEPTH as usize];
    let mut fresh: Vec<u64> = (0..u64::from(DEPTH)).collect();
    let mut histogram = LatencyHistogram::new();
    let (mut submitted, mut done) = (0u64, 0u64);
    let result = if load == Load::Nop { 0 } else { bs as i32 };
    while done < ios {
        let now = if TIMED { clock.elapsed().as_nanos() as u64 } else { 0 };
        for slot in fresh.drain(..) {
            // SAFETY: the slot's buffer is free: its last I/O has come back.
            unsafe { sq.push(&entries.next(slot))? };
            submitted += 1;
            if TIMED {
                starts[slot as usize] = now;
            }
        }
        sq.sync();
        submitter.submit_and_wait(1)?;
        sq.sync();
        cq.sync();
        let now = if TIMED { clock.elapsed().as_nanos() as u64 } else { 0 };
        for completion in &mut cq {
            if completion.result() != result {
                return Err(format!("an I/O returned {}", completion.result()).into());
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
