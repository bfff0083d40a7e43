//! The I/O buffers of one thread: one page-aligned mapping, cut into a slot for each outstanding I/O.

use flashlab_units::Bytes;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ptr::NonNull;

/// Slots begin on a page, which satisfies every alignment that direct I/O asks for.
pub(crate) const PAGE: u64 = 4096;

/// Bytes of a slot for transfers of `bs`.
pub(crate) fn stride(bs: Bytes) -> u64 {
    bs.0.next_multiple_of(PAGE)
}

/// Larger mappings begin on a huge page and are made of such where the kernel has some: fewer look-ups
/// of addresses, and longer segments for the device.
const HUGE_PAGE: usize = 2 << 20;

/// An anonymous mapping that is unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Region {
    /// First byte of the buffers, inside the mapping.
    base: NonNull<u8>,
    length: usize,
    stride: usize,
    mapping: NonNull<u8>,
    mapped: usize,
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
        let is_large = length >= HUGE_PAGE;
        let mapped = length + if is_large { HUGE_PAGE } else { 0 };
        let flags = if is_large { MapFlags::PRIVATE } else { MapFlags::PRIVATE | MapFlags::POPULATE };
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        let mapping = NonNull::new(start.cast::<u8>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let skip = if is_large { mapping.as_ptr().align_offset(HUGE_PAGE) } else { 0 };
        // SAFETY: the mapping has room for the buffers behind its first huge page.
        let base = unsafe { mapping.add(skip) };
        let region = Region { base, length, stride, mapping, mapped };
        if is_large {
            region.populate();
        }
        Ok(region)
    }

    /// Makes all pages of the buffers present, huge ones where there are some.
    fn populate(&self) {
        let (start, length) = (self.base.as_ptr().cast(), self.length);
        // Where the kernel has no huge pages it has small ones.
        // SAFETY: the pages are this value's own; the advice changes none of their bytes.
        let _ = unsafe { rustix::mm::madvise(start, length, Advice::LinuxHugepage) };
        for at in (0..length).step_by(PAGE as usize) {
            // SAFETY: inside the mapping, which nobody else knows yet.
            unsafe { self.base.as_ptr().add(at).write_volatile(0) };
        }
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

    /// All buffers, one after the other, each [`Region::stride`] long.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is borrowed with it and every byte is initialised, as above.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.length) }
    }

    /// From one buffer to the next, in bytes.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nothing borrows it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.mapping.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_mappings_begin_on_a_huge_page() {
        let mut region = Region::map(3, Bytes::mib(1)).expect("memory");
        assert_eq!(region.slot(0) as usize % HUGE_PAGE, 0);
        region.all_mut().fill(7);
        assert_eq!(region.bytes_mut(2, 1 << 20).iter().map(|b| u64::from(*b)).sum::<u64>(), 7 << 20);
    }

    #[test]
    fn slots_are_apart_and_parts_cut_none() {
        let region = Region::map(5, Bytes(6144)).expect("memory");
        assert_eq!(region.slot(1) as usize - region.slot(0) as usize, 8192);
        assert_eq!(region.slot(0) as usize % PAGE as usize, 0);
        let parts: Vec<usize> = region.parts(20_000).iter().map(|p| p.iov_len).collect();
        assert_eq!(parts, [16_384, 16_384, 8192]);
        assert_eq!(region.slots_a_part(20_000), 2);
    }
}
