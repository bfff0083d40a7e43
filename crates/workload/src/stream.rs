//! Offsets, sizes and directions of one job's requests.

use crate::named_seed;
use flashlab_spec::{Job, Rw};
use flashlab_units::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;

/// Read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// First byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: u32,
    /// Read or write.
    pub direction: Direction,
}

/// The requests of one of a job's `numjobs` threads; endless.
///
/// Random offsets are uniform over the aligned blocks of the region, with repeats. Sequential
/// threads share the region in equal slices, each from the start of its slice, and wrap around; with
/// extents, each goes through its list of them.
#[derive(Debug, Clone)]
pub struct RequestStream {
    rng: Xoshiro256PlusPlus,
    base: u64,
    blocks: u64,
    next_block: u64,
    bs: u64,
    random: bool,
    mix: Mix,
    /// (first byte, blocks) of each extent; the one that is being gone through is last.
    extents: VecDeque<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
enum Mix {
    Only(Direction),
    /// Reads if the upper 32 bits are below this.
    ReadsBelow(u64),
}

impl RequestStream {
    /// The stream of thread `index` of `job`.
    ///
    /// # Panics
    /// If the job was not validated: no whole block a thread, or a block above 4 GiB.
    pub fn new(job: &Job, index: u32) -> Self {
        assert!(index < job.numjobs, "thread {index} of {}", job.numjobs);
        let all_blocks = job.region.length.0 / job.bs.0;
        let list = job.extents.get(index as usize).into_iter().flatten();
        let mut extents: VecDeque<_> = list.map(|e| (e.offset.0, e.length.0 / job.bs.0)).collect();
        extents.rotate_left(usize::from(!extents.is_empty()));
        let (first, blocks) = if job.rw.is_random() {
            (0, all_blocks)
        } else {
            let slice = all_blocks / u64::from(job.numjobs);
            (slice * u64::from(index), slice)
        };
        assert!(blocks > 0 && job.bs.0 <= u64::from(u32::MAX), "job {} was not validated", job.workload);
        let mix = match job.rw {
            Rw::Read | Rw::RandRead => Mix::Only(Direction::Read),
            Rw::Write | Rw::RandWrite => Mix::Only(Direction::Write),
            Rw::RandRw => Mix::ReadsBelow((u64::from(job.rwmixread) << 32) / 100),
        };
        let (base, blocks) = extents.back().copied().unwrap_or((job.region.offset.0 + first * job.bs.0, blocks));
        RequestStream {
            rng: Xoshiro256PlusPlus::seed_from_u64(named_seed(job.seed, &job.workload, u64::from(index))),
            base,
            blocks,
            next_block: 0,
            bs: job.bs.0,
            random: job.rw.is_random(),
            mix,
            extents,
        }
    }

    /// At the end of a slice or extent: back to its start, or on to the next extent.
    #[cold]
    fn wrap(&mut self) {
        self.next_block = 0;
        self.extents.rotate_left(usize::from(!self.extents.is_empty()));
        if let Some((base, blocks)) = self.extents.back() {
            (self.base, self.blocks) = (*base, *blocks);
        }
    }

    /// The next request.
    #[inline]
    pub fn next_request(&mut self) -> Request {
        let block = if self.random {
            // Lemire's multiply-shift; the bias is below 2^-20 for any drive.
            ((u128::from(self.rng.next_u64()) * u128::from(self.blocks)) >> 64) as u64
        } else {
            if self.next_block == self.blocks {
                self.wrap();
            }
            self.next_block += 1;
            self.next_block - 1
        };
        let direction = match self.mix {
            Mix::Only(direction) => direction,
            Mix::ReadsBelow(limit) if (self.rng.next_u64() >> 32) < limit => Direction::Read,
            Mix::ReadsBelow(_) => Direction::Write,
        };
        Request { offset: Bytes(self.base + block * self.bs), length: self.bs as u32, direction }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::Region;
    use flashlab_units::Nanos;
    use proptest::prelude::*;

    fn job(rw: Rw, bs: u64, numjobs: u32, offset: u64, length: u64) -> Job {
        Job {
            rwmixread: 70,
            numjobs,
            runtime: Some(Nanos::secs(1)),
            seed: 7,
            ..Job::new("w", rw, Bytes(bs), Region { offset: Bytes(offset), length: Bytes(length) })
        }
    }

    #[test]
    fn sequential_jobs_cover_every_block_once() {
        let job = job(Rw::Write, 4096, 4, 8192, 64 * 4096);
        let mut seen: Vec<u64> = (0..4)
            .flat_map(|i| {
                let mut s = RequestStream::new(&job, i);
                (0..16).map(move |_| s.next_request().offset.0).collect::<Vec<_>>()
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..64).map(|b| 8192 + b * 4096).collect::<Vec<_>>());
    }

    #[test]
    fn extents_are_gone_through_in_order() {
        let mut job = job(Rw::Write, 4096, 2, 0, 1 << 20);
        let extent = |block: u64, blocks: u64| Region { offset: Bytes(block * 4096), length: Bytes(blocks * 4096) };
        job.extents = vec![vec![extent(9, 2), extent(3, 1)], vec![extent(20, 3)]];
        let blocks = |index: u32| {
            let mut s = RequestStream::new(&job, index);
            (0..7).map(|_| s.next_request().offset.0 / 4096).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0), [9, 10, 3, 9, 10, 3, 9]);
        assert_eq!(blocks(1), [20, 21, 22, 20, 21, 22, 20]);
    }

    #[test]
    fn random_offsets_are_uniform() {
        // 256 blocks, 256,000 draws: chi-square with 255 degrees of freedom; 4.4 sigma is 355.
        let mut s = RequestStream::new(&job(Rw::RandRead, 4096, 1, 0, 256 * 4096), 0);
        let mut counts = [0f64; 256];
        (0..256_000).for_each(|_| counts[(s.next_request().offset.0 / 4096) as usize] += 1.0);
        let chi2: f64 = counts.iter().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi2 < 355.0, "chi-square {chi2}");
    }

    #[test]
    fn mix_has_the_share_asked_for() {
        let mut s = RequestStream::new(&job(Rw::RandRw, 4096, 1, 0, 1 << 30), 0);
        let reads = (0..100_000).filter(|_| s.next_request().direction == Direction::Read).count();
        assert!((69_300..70_700).contains(&reads), "{reads} reads of 100,000 at 70 %");
    }

    proptest! {
        #[test]
        fn requests_stay_inside_and_aligned(
            bs in (9u32..20).prop_map(|s| 1u64 << s), blocks in 8u64..1000, offset in 0u64..100, numjobs in 1u32..8,
            rw in prop::sample::select(vec![Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::RandRw]),
        ) {
            let job = job(rw, bs, numjobs, offset * bs, blocks * bs);
            for index in 0..numjobs {
                let mut s = RequestStream::new(&job, index);
                for _ in 0..200 {
                    let r = s.next_request();
                    prop_assert!(r.offset.0 >= offset * bs && r.offset.0 + u64::from(r.length) <= (offset + blocks) * bs);
                    prop_assert_eq!(r.offset.0 % bs, 0);
                }
            }
        }
    }
}
