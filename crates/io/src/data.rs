//! What is written.
//!
//! By default data is incompressible (random bytes, filled once before the run) and unique: each write
//! puts a fresh 16-byte header at the start of every page (4 KiB, or bs where that is smaller), so that
//! nothing dedupes. Per I/O this costs one 16-byte store a page, 32 for a 128 KiB write; the random
//! bytes behind the header repeat from write to write of a slot. A share that compresses is zeros at the
//! end of each page. A share that dedupes is pages copied whole from a few that are the same for all
//! threads of a job. A fixed pattern is filled in once and begins anew with each block.

use crate::region::{PAGE, Region};
use flashlab_spec::Job;
use flashlab_units::Bytes;
use flashlab_workload::named_seed;

/// Pages that copies are made of. With so few, all but a negligible part of the copied pages dedupe.
const MASTERS: u64 = 8;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: one add and a mixer a word, far faster than the memory it fills.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Fills `bytes` with the random bytes of `seed`, the last `compress_percent` of each `grain` with zeros.
fn fill(bytes: &mut [u8], seed: u64, grain: usize, compress_percent: u8) {
    let mut state = seed;
    let random = grain - grain * usize::from(compress_percent) / 100;
    for page in bytes.chunks_mut(grain) {
        let random = random.min(page.len());
        for word in page[..random].chunks_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes()[..word.len()]);
        }
        page[random..].fill(0);
    }
}

/// The seed of a thread's data: the same job writes the same data, another workload or thread other data.
fn data_seed(job: &Job, name: &str, index: u64) -> u64 {
    named_seed(named_seed(job.seed, &job.workload, 0), name, index)
}

/// Puts the data of thread `index` into its buffers, all but what changes from write to write.
pub(crate) fn fill_buffers(region: &mut Region, job: &Job, index: u32) {
    let pattern = &job.data.pattern;
    if pattern.is_empty() {
        let seed = data_seed(job, "data", u64::from(index));
        fill(region.all_mut(), seed, job.bs.0.min(PAGE) as usize, job.data.compress_percent);
        return;
    }
    let stride = region.stride();
    for slot in region.all_mut().chunks_mut(stride) {
        slot.iter_mut().zip(pattern.iter().cycle()).for_each(|(to, from)| *to = *from);
    }
}

/// What changes from write to write.
#[derive(Debug)]
pub(crate) enum Content {
    /// A fresh header on each page.
    Unique(Stamper),
    /// Nothing: a fixed pattern, or blocks that verification seals.
    Fixed,
    /// Some pages are copies.
    Copies(Copies),
}

impl Content {
    pub(crate) fn new(job: &Job, index: u32) -> Self {
        let stamper = Stamper::new(job.bs, data_seed(job, "generation", u64::from(index)));
        if !job.data.pattern.is_empty() {
            Content::Fixed
        } else if job.data.dedupe_percent > 0 {
            Content::Copies(Copies::new(job, index, stamper))
        } else {
            Content::Unique(stamper)
        }
    }

    /// Makes the buffer of a write of `length` bytes to `offset` what it should be.
    ///
    /// # Safety
    /// `buffer` must be valid for writes of `length` bytes, a multiple of a logical block, and be
    /// aligned to 8.
    #[inline]
    pub(crate) unsafe fn prepare(&mut self, buffer: *mut u8, offset: u64, length: u32) {
        match self {
            // SAFETY: as the caller promises.
            Content::Unique(stamper) => unsafe { stamper.stamp(buffer, offset, length) },
            Content::Fixed => {}
            Content::Copies(copies) => {
                // SAFETY: as the caller promises; nothing else refers to the buffer during the call.
                let bytes = unsafe { std::slice::from_raw_parts_mut(buffer, length as usize) };
                copies.prepare(bytes, offset);
            }
        }
    }
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
    /// `buffer` must be valid for writes of `length` bytes, a multiple of a logical block, and be
    /// aligned to 8.
    #[inline]
    pub(crate) unsafe fn stamp(&mut self, buffer: *mut u8, offset: u64, length: u32) {
        if length as usize > self.grain {
            // The device has just read these lines into another cache, and stores fetch them back one
            // after the other; asked for ahead, they come at the same time.
            (0..length as usize).step_by(self.grain).for_each(|at| prefetch_to_write(buffer.wrapping_add(at)));
        }
        for at in (0..length as usize).step_by(self.grain) {
            // SAFETY: a page or what is left of the write begins at `at`, and either has 512 bytes or
            // more, because length and grain are multiples of a logical block.
            unsafe {
                let header = buffer.add(at).cast::<u64>();
                header.write((offset + at as u64).to_le());
                header.add(1).write(self.generation.to_le());
            }
            self.generation = self.generation.wrapping_add(GOLDEN);
        }
    }
}

/// Asks for a cache line that will be written; any address will do.
#[inline]
fn prefetch_to_write(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Pages of which a share are copies of others.
#[derive(Debug)]
pub(crate) struct Copies {
    masters: Vec<u8>,
    grain: usize,
    /// Of the upper 32 bits of a random number: copies below this.
    below: u64,
    random: u64,
    stamper: Stamper,
}

impl Copies {
    fn new(job: &Job, index: u32, stamper: Stamper) -> Self {
        let grain = job.bs.0.min(PAGE) as usize;
        let mut masters = vec![0; grain * MASTERS as usize];
        fill(&mut masters, data_seed(job, "copies", 0), grain, job.data.compress_percent);
        Copies {
            masters,
            grain,
            below: (u64::from(job.data.dedupe_percent) << 32) / 100,
            random: data_seed(job, "copied", u64::from(index)),
            stamper,
        }
    }

    fn prepare(&mut self, bytes: &mut [u8], offset: u64) {
        for (page, at) in bytes.chunks_mut(self.grain).zip((offset..).step_by(self.grain)) {
            let random = split_mix(&mut self.random);
            if random >> 32 < self.below {
                let master = (random % MASTERS) as usize * self.grain;
                page.copy_from_slice(&self.masters[master..master + page.len()]);
            } else {
                // SAFETY: the page is a part of a write of whole logical blocks, at least 512 bytes.
                unsafe { self.stamper.stamp(page.as_mut_ptr(), at, page.len() as u32) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Data, Rw};
    use std::collections::HashMap;

    fn job(bs: u64, data: Data) -> Job {
        let region = flashlab_spec::Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        Job { data, ..Job::new("w", Rw::Write, Bytes(bs), region) }
    }

    /// The pages of `writes` writes of one slot.
    fn pages(job: &Job, index: u32, writes: u64) -> Vec<Vec<u8>> {
        let bs = job.bs.0;
        let mut region = Region::map(1, job.bs).expect("memory");
        fill_buffers(&mut region, job, index);
        let mut content = Content::new(job, index);
        let mut pages = Vec::new();
        for write in 0..writes {
            // SAFETY: the slot is bs bytes long.
            unsafe { content.prepare(region.slot(0), write * bs, bs as u32) };
            pages.extend(region.bytes_mut(0, bs as usize).chunks(bs.min(4096) as usize).map(<[u8]>::to_vec));
        }
        pages
    }

    fn distinct(pages: &[Vec<u8>]) -> HashMap<&[u8], u64> {
        let mut seen = HashMap::new();
        pages.iter().for_each(|p| *seen.entry(p.as_slice()).or_default() += 1);
        seen
    }

    #[test]
    fn written_pages_are_unique_and_do_not_compress() {
        let pages = pages(&job(65_536, Data::default()), 0, 10);
        assert_eq!(distinct(&pages).len(), 160);
        // Byte values are uniform: chi-square with 255 degrees of freedom, 4.4 sigma is 355.
        let mut counts = [0f64; 256];
        pages[..16].iter().flatten().for_each(|b| counts[*b as usize] += 1.0);
        assert!(counts.iter().map(|c| (c - 256.0).powi(2) / 256.0).sum::<f64>() < 355.0);
    }

    #[test]
    fn blocks_below_a_page_are_stamped_each() {
        let pages = pages(&job(512, Data::default()), 0, 2);
        assert_eq!(pages[1][..8], 512u64.to_le_bytes());
        assert_ne!(pages[0][8..], pages[1][8..]);
    }

    #[test]
    fn the_share_that_compresses_is_zeros_at_the_end_of_each_page() {
        for percent in [0, 25, 50, 100] {
            for page in pages(&job(16_384, Data { compress_percent: percent, ..Data::default() }), 0, 3) {
                let zeros = page.iter().rev().take_while(|b| **b == 0).count();
                let expected = (4096 * usize::from(percent) / 100).min(4096 - 16);
                // A random byte or the header's last ones may be zero too.
                assert!((expected..expected + 12).contains(&zeros), "{zeros} zeros at {percent} %");
            }
        }
    }

    #[test]
    fn the_share_that_dedupes_is_copies_across_threads() {
        for percent in [20u8, 50, 100] {
            let job = job(16_384, Data { dedupe_percent: percent, ..Data::default() });
            let all = [pages(&job, 0, 1_000), pages(&job, 1, 1_000)].concat();
            let copies: u64 = distinct(&all).into_values().filter(|n| *n > 1).sum();
            let share = 100.0 * copies as f64 / all.len() as f64;
            // 8,000 pages: four standard deviations are at most 2.3 %.
            assert!((share - f64::from(percent)).abs() < 2.3, "{share} % copies at {percent} %");
            assert!(distinct(&all).into_values().filter(|n| *n > 1).count() as u64 <= MASTERS);
        }
    }

    #[test]
    fn a_pattern_begins_anew_with_each_block() {
        let pattern = b"flashlab!".to_vec();
        let job = job(8192, Data { pattern: pattern.clone(), ..Data::default() });
        let block: Vec<u8> = pages(&job, 0, 1).concat();
        assert!(block.iter().zip(pattern.iter().cycle()).all(|(a, b)| a == b));
        assert_eq!(pages(&job, 0, 2).concat(), [block.clone(), block].concat());
    }
}
