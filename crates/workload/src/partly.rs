//! Offsets with a position for each direction: of requests that are random for a share only, and of a sequential mix.

use crate::distribution::Distribution;
use crate::draw::below;
use crate::grid::Grid;
use flashlab_spec::{Direction, Job, RandomShares};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A share of each direction's requests goes to random places, or none does; the others begin where the last request of
/// their direction ended, or at the start where that is too near the end.
#[derive(Debug, Clone)]
pub(crate) struct Partly {
    /// `None` for a sequential mix.
    shares: Option<RandomShares>,
    drawn: Option<Distribution>,
    /// Where the next sequential request of each direction begins, from the start of the slice.
    next: [u64; 3],
    /// What sequential requests begin at multiples of.
    align: u64,
    slots: u64,
    grid: Grid,
    /// Of the slice.
    length: u64,
}

impl Partly {
    /// For thread `index` of a validated job.
    pub(crate) fn new(job: &Job, index: u32, shares: Option<RandomShares>) -> Self {
        let slots = job.slots(index);
        Partly {
            shares,
            drawn: shares.and_then(|_| Distribution::new(&job.pattern.offsets, slots, job.pattern.scatter)),
            next: [0; 3],
            align: job.pattern.align.map_or(1, |align| align.0),
            slots,
            grid: Grid::new(job),
            length: job.slice(index).length.0,
        }
    }

    /// Where a request of this direction and length begins, from the start of the slice.
    pub(crate) fn take(&mut self, rng: &mut Xoshiro256PlusPlus, direction: Direction, length: u32) -> u64 {
        let length = u64::from(length);
        let is_random = self.shares.is_some_and(|shares| below(rng, 100) < u64::from(shares.of(direction)));
        let next = &mut self.next[direction as usize];
        let offset = match (&self.drawn, is_random) {
            (Some(drawn), true) => self.grid.at(drawn.draw(rng), direction),
            (None, true) => self.grid.at(below(rng, self.slots), direction),
            (_, false) if *next + length <= self.length => *next,
            (_, false) => 0,
        };
        *next = (offset + length).next_multiple_of(self.align);
        offset
    }
}

#[cfg(test)]
mod tests {
    use crate::RequestStream;
    use flashlab_spec::{Direction, Job, Offsets, Pattern, RandomShares, Region, Rw};
    use flashlab_units::{Bytes, Nanos};
    use proptest::prelude::*;

    const BLOCK: u64 = 4096;

    fn job(rw: Rw, shares: RandomShares, blocks: u64, offsets: Offsets) -> Job {
        let region = Region { offset: Bytes::mib(1), length: Bytes(blocks * BLOCK) };
        let pattern = Pattern { random: Some(shares), offsets, ..Pattern::default() };
        let job = Job::new("w", rw, Bytes(BLOCK), region);
        let job = Job { pattern, runtime: Some(Nanos::secs(1)), seed: 3, ..job };
        assert_eq!(job.validate(Bytes(512), Bytes::gib(8)), Ok(()));
        job
    }

    /// The share of requests of each direction that don't begin where the last one of it ended.
    fn jumps(job: &Job, count: u32) -> [f64; 3] {
        let mut stream = RequestStream::new(job, 0);
        let (mut ends, mut jumped, mut all) = ([job.region.offset.0; 3], [0.0; 3], [0.0; 3]);
        let last = job.region.offset.0 + job.region.length.0;
        for _ in 0..count {
            let r = stream.next_request();
            let at = r.direction as usize;
            let expected = if ends[at] == last { job.region.offset.0 } else { ends[at] };
            all[at] += 1.0;
            jumped[at] += f64::from(u8::from(r.offset.0 != expected));
            ends[at] = r.offset.0 + u64::from(r.length);
        }
        [0, 1, 2].map(|i| if all[i] > 0.0 { jumped[i] / all[i] } else { 0.0 })
    }

    #[test]
    fn each_direction_has_its_share() {
        let shares = RandomShares { read: 30, write: 75, trim: 0 };
        let [read, write, trim] = jumps(&job(Rw::RandRw, shares, 100_000, Offsets::Repeats), 100_000);
        // Five standard deviations of 50,000 draws.
        assert!((read - 0.3).abs() < 0.0103 && (write - 0.75).abs() < 0.0097, "{read} {write}");
        assert_eq!(trim, 0.0);
        for offsets in [Offsets::Repeats, Offsets::Zipf { theta: 1.1 }] {
            let half = jumps(&job(Rw::RandRead, RandomShares::all(50), 1 << 20, offsets), 100_000)[0];
            assert!((half - 0.5).abs() < 0.008, "{half}");
        }
    }

    /// As in fio: each direction goes on where its own last request ended, whatever comes in between.
    #[test]
    fn both_directions_of_a_sequential_mix_are_sequential() {
        let region = Region { offset: Bytes::mib(1), length: Bytes(100 * BLOCK) };
        let plain = Job { numjobs: 2, passes: Some(3), seed: 3, ..Job::new("w", Rw::ReadWrite, Bytes(BLOCK), region) };
        for align in [None, Some(Bytes(2 * BLOCK))] {
            let pattern = Pattern { align, ..Pattern::default() };
            let job = Job { pattern, ..plain.clone() };
            assert_eq!(job.validate(Bytes(512), Bytes::gib(8)), Ok(()));
            for index in 0..2 {
                let (mut next, mut seen) = ([0; 3], [0; 3]);
                for request in RequestStream::new(&job, index) {
                    let at = request.direction as usize;
                    assert_eq!(request.offset.0 - job.slice(index).offset.0, next[at], "{request:?}");
                    next[at] = (next[at] + align.map_or(BLOCK, |align| align.0)) % (50 * BLOCK);
                    seen[at] += 1;
                }
                // Three passes are as many bytes as three times the slice.
                assert_eq!(seen.iter().sum::<i32>(), 150);
                assert!(seen[0] > 40 && seen[1] > 40, "{seen:?}");
            }
        }
    }

    #[test]
    fn none_is_sequential_and_all_is_random() {
        assert_eq!(jumps(&job(Rw::RandRead, RandomShares::all(0), 1_000, Offsets::Repeats), 5_000)[0], 0.0);
        assert!(jumps(&job(Rw::RandRead, RandomShares::all(100), 1 << 20, Offsets::Repeats), 5_000)[0] > 0.999);
    }

    proptest! {
        #[test]
        fn requests_stay_inside_and_are_aligned(
            read in 0u8..=100, write in 0u8..=100, blocks in 8u64..500, align in prop::option::of(1u64..5), seed in any::<u64>(),
            rw in prop::sample::select(vec![Rw::RandRead, Rw::RandWrite, Rw::RandRw, Rw::RandTrim]),
            sizes in prop::sample::select(vec![None, Some("512B-4KiB"), Some("4KiB,1KiB,512B")]),
        ) {
            let mut job = job(rw, RandomShares { read, write, trim: 50 }, blocks, Offsets::Repeats);
            job.pattern.align = align.map(|n| Bytes(n * 512));
            job.pattern.sizes = sizes.and_then(|text| text.parse().ok());
            (job.seed, job.rwmixtrim) = (seed, 20);
            prop_assert_eq!(job.validate(Bytes(512), Bytes::gib(1)), Ok(()));
            let mut stream = RequestStream::new(&job, 0);
            for _ in 0..300 {
                let r = stream.next_request();
                let from = r.offset.0 - job.region.offset.0;
                prop_assert!(r.offset >= job.region.offset && from + u64::from(r.length) <= job.region.length.0);
                prop_assert!(from.is_multiple_of(align.map_or(512, |n| n * 512)));
                let known = Direction::ALL.contains(&r.direction);
                prop_assert!(known && r.length > 0);
            }
        }
    }
}
