//! The I/O buffers of one thread: one page-aligned mapping, cut into a slot for each outstanding I/O,
//! and the data in it.
//!
//! Data is incompressible (random bytes, filled once before the run) and unique: each write puts a
//! fresh 16-byte header at the start of every page (4 KiB, or bs where that is smaller), so that
//! nothing dedupes. Per I/O this costs one 16-byte store a page, 32 for a 128 KiB write; the random
//! bytes behind the header repeat from write to write of a slot.

use flashlab_units::Bytes;
use rustix::mm::{MapFlags, ProtFlags};
use std::ptr::NonNull;

/// Slots begin on a page, which satisfies every alignment that direct I/O asks for.
pub(crate) const PAGE: u64 = 4096;

/// Bytes of a slot for transfers of `bs`.
pub(crate) fn stride(bs: Bytes) -> u64 {
    bs.0.next_multiple_of(PAGE)
}

/// An anonymous mapping that is unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    length: usize,
    stride: usize,
}

// SAFETY: the mapping belongs to this value alone; it is plain memory that any thread may use.
unsafe impl Send for Region {}

impl Region {
    /// Maps `slots` buffers for transfers of `bs`, all pages present.
    ///
    /// # Errors
    /// The system's error when there is not enough memory.
    pub(crate) fn map(slots: u32, bs: Bytes) -> std::io::Result<Self> {
        let stride = stride(bs) as usize;
        let length = stride * slots as usize;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Region { base, length, stride })
    }

    /// Start of buffer `slot`.
    pub(crate) fn slot(&self, slot: u32) -> *mut u8 {
        let at = slot as usize * self.stride;
        assert!(at < self.length, "slot {slot} of {}", self.length / self.stride);
        // SAFETY: `at` lies inside the mapping.
        unsafe { self.base.as_ptr().add(at) }
    }

    /// The parts to register with a ring: no part is larger than `part_max` and none cuts a slot.
    pub(crate) fn parts(&self, part_max: usize) -> Vec<libc::iovec> {
        let step = self.slots_a_part(part_max) * self.stride;
        (0..self.length)
            .step_by(step)
            .map(|at| libc::iovec {
                // SAFETY: `at` lies inside the mapping.
                iov_base: unsafe { self.base.as_ptr().add(at) }.cast(),
                iov_len: step.min(self.length - at),
            })
            .collect()
    }

    /// How many slots one part holds.
    pub(crate) fn slots_a_part(&self, part_max: usize) -> usize {
        (part_max / self.stride).max(1)
    }

    /// The first `length` bytes of buffer `slot`.
    pub(crate) fn bytes_mut(&mut self, slot: u32, length: usize) -> &mut [u8] {
        assert!(length <= self.stride, "{length} bytes in a slot of {}", self.stride);
        // SAFETY: the slot is inside the mapping and borrowed with it; every byte is initialised,
        // since an anonymous mapping is zero-filled.
        unsafe { std::slice::from_raw_parts_mut(self.slot(slot), length) }
    }

    /// Fills the whole mapping with the random bytes of `seed`.
    pub(crate) fn fill_random(&mut self, seed: u64) {
        // SAFETY: the mapping is borrowed, page-aligned, and a whole number of pages long.
        let words = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast::<u64>(), self.length / 8) };
        let mut state = seed;
        words.iter_mut().for_each(|word| *word = split_mix(&mut state));
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nothing borrows it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// SplitMix64: one add and a mixer a word, far faster than the memory it fills.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Makes each written page unlike every other one.
#[derive(Debug)]
pub(crate) struct Stamper {
    generation: u64,
    grain: usize,
}

impl Stamper {
    /// A stamper for writes of `bs`; `seed` differs from thread to thread and from job to job.
    pub(crate) fn new(bs: Bytes, seed: u64) -> Self {
        Stamper { generation: seed, grain: bs.0.min(PAGE) as usize }
    }

    /// Puts a fresh header at the start of each page of a write of `length` bytes to `offset`: the
    /// page's own offset, then a generation that no other page of this thread has had.
    ///
    /// # Safety
    /// `buffer` must be valid for writes of `length` bytes, at least 16, and aligned to 8.
    #[inline]
    pub(crate) unsafe fn stamp(&mut self, buffer: *mut u8, offset: u64, length: u32) {
        for at in (0..length as usize).step_by(self.grain) {
            // SAFETY: `at + 16 <= length`, because length and grain are multiples of a logical block.
            unsafe {
                let header = buffer.add(at).cast::<u64>();
                header.write((offset + at as u64).to_le());
                header.add(1).write(self.generation.to_le());
            }
            self.generation = self.generation.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_and_parts_cut_none() {
        let region = Region::map(5, Bytes(6144)).expect("memory");
        assert_eq!(region.slot(1) as usize - region.slot(0) as usize, 8192);
        assert_eq!(region.slot(0) as usize % PAGE as usize, 0);
        let parts: Vec<usize> = region.parts(20_000).iter().map(|p| p.iov_len).collect();
        assert_eq!(parts, [16_384, 16_384, 8192]);
        assert_eq!(region.slots_a_part(20_000), 2);
    }

    #[test]
    fn written_pages_are_unique_and_do_not_compress() {
        let mut region = Region::map(1, Bytes::kib(64)).expect("memory");
        region.fill_random(1);
        let mut stamper = Stamper::new(Bytes::kib(64), 2);
        let mut pages = std::collections::HashSet::new();
        for write in 0..10 {
            // SAFETY: the slot is 64 KiB long.
            unsafe { stamper.stamp(region.slot(0), write * 65_536, 65_536) };
            pages.extend(region.bytes_mut(0, 65_536).chunks(4096).map(<[u8]>::to_vec));
        }
        assert_eq!(pages.len(), 160);
        // Byte values are uniform: chi-square with 255 degrees of freedom, 4.4 sigma is 355.
        let mut counts = [0f64; 256];
        region.bytes_mut(0, 65_536).iter().for_each(|b| counts[*b as usize] += 1.0);
        assert!(counts.iter().map(|c| (c - 256.0).powi(2) / 256.0).sum::<f64>() < 355.0);
    }

    #[test]
    fn blocks_below_a_page_are_stamped_each() {
        let mut region = Region::map(1, Bytes(512)).expect("memory");
        let mut stamper = Stamper::new(Bytes(512), 2);
        // SAFETY: the slot is a page long.
        unsafe { stamper.stamp(region.slot(0), 512, 512) };
        let first = region.bytes_mut(0, 512).to_vec();
        // SAFETY: as above.
        unsafe { stamper.stamp(region.slot(0), 512, 512) };
        assert_eq!(first[..8], 512u64.to_le_bytes());
        assert_ne!(first, region.bytes_mut(0, 512));
    }
}
