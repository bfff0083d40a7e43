//! Offsets, sizes and directions of one job's requests.

use crate::distribution::Distribution;
use crate::draw::below;
use crate::grid::Grid;
use crate::lengths::Lengths;
use crate::named_seed;
use crate::order::{OncePerPass, Sequence};
use crate::partly::Partly;
use crate::replayed::Replayed;
use flashlab_spec::{Direction, Job, Offsets, ReplayEnd, Rw};
use flashlab_units::Bytes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// First byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: u32,
    /// Read, write or trim.
    pub direction: Direction,
}

/// The requests of one of a job's `numjobs` threads.
///
/// [`RequestStream::next_request`] is endless: what has an end begins again. As an iterator the stream
/// ends after the job's `passes` (of requests that may repeat, and of a sequential mix: as many bytes as the thread's
/// slice has), or after a list that is replayed once; a job without either is
/// endless here too, and run time and amount are the engine's to watch.
///
/// Sequential threads go through their slice of the region or their extents; the last request of a part
/// is cut to what is left of it. In a sequential mix each direction has a position of its own, as in fio, and begins
/// anew where the next request would not fit; with a stride or extents all directions share one. Random requests start at one of [`Job::slots`] places, from each of
/// which the largest size fits.
#[derive(Debug, Clone)]
pub struct RequestStream {
    rng: Xoshiro256PlusPlus,
    base: u64,
    slots: u64,
    grid: Grid,
    /// Bytes of a pass where requests may repeat, or where directions have positions of their own.
    pass: u64,
    mix: Mix,
    lengths: Lengths,
    place: Place,
    /// The iterator's end.
    passes_max: Option<u32>,
    /// Bytes the iterator has given.
    given: u64,
}

/// Where the next request goes.
#[derive(Debug, Clone)]
enum Place {
    Uniform,
    Sequence(Sequence),
    Once(Box<OncePerPass>),
    Drawn(Box<Distribution>),
    Partly(Box<Partly>),
    Replayed(Replayed),
}

#[derive(Debug, Clone, Copy)]
enum Mix {
    Only(Direction),
    /// Of the upper 32 bits of a random number: trims below the first limit, reads below the second.
    Mixed {
        trims_below: u64,
        reads_below: u64,
    },
}

impl Mix {
    fn new(job: &Job) -> Self {
        match job.rw {
            Rw::Read | Rw::RandRead => Mix::Only(Direction::Read),
            Rw::Write | Rw::RandWrite => Mix::Only(Direction::Write),
            Rw::Trim | Rw::RandTrim => Mix::Only(Direction::Trim),
            Rw::RandRw | Rw::ReadWrite => {
                let [reads, _, trims] = job.mix();
                let below = |percent: u64| (percent << 32) / 100;
                let (trims, reads) = (u64::from(trims), u64::from(reads));
                Mix::Mixed { trims_below: below(trims), reads_below: below(trims + reads) }
            }
        }
    }

    #[inline]
    fn draw(self, rng: &mut Xoshiro256PlusPlus) -> Direction {
        match self {
            Mix::Only(direction) => direction,
            Mix::Mixed { trims_below, reads_below } => match rng.next_u64() >> 32 {
                at if at < trims_below => Direction::Trim,
                at if at < reads_below => Direction::Read,
                _ => Direction::Write,
            },
        }
    }
}

impl RequestStream {
    /// The stream of thread `index` of `job`.
    ///
    /// # Panics
    /// If the job was not validated: no whole block a thread, or a block above 4 GiB.
    pub fn new(job: &Job, index: u32) -> Self {
        assert!(index < job.numjobs, "thread {index} of {}", job.numjobs);
        let (slice, slots) = (job.slice(index), job.slots(index));
        let has_place = slots > 0 || job.replay.is_some() || !job.extents.is_empty();
        assert!(has_place && job.bs.0 <= u64::from(u32::MAX), "job {} was not validated", job.workload);
        let seed = named_seed(job.seed, &job.workload, u64::from(index));
        let place = if let Some(replay) = &job.replay {
            Place::Replayed(Replayed::new(replay, job, index))
        } else if job.rw == Rw::ReadWrite && job.pattern.stride.is_none() && job.extents.is_empty() {
            Place::Partly(Box::new(Partly::new(job, index, None)))
        } else if !job.rw.is_random() {
            Place::Sequence(Sequence::new(job, index))
        } else if let Some(shares) = job.pattern.random {
            Place::Partly(Box::new(Partly::new(job, index, Some(shares))))
        } else if job.pattern.offsets == Offsets::Once {
            Place::Once(Box::new(OncePerPass::new(slots, seed)))
        } else {
            let drawn = Distribution::new(&job.pattern.offsets, slots, job.pattern.scatter);
            drawn.map_or(Place::Uniform, |d| Place::Drawn(Box::new(d)))
        };
        let plays_once = job.replay.as_ref().is_some_and(|replay| replay.end == ReplayEnd::Once);
        RequestStream {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            base: slice.offset.0,
            slots,
            grid: Grid::new(job),
            pass: (slice.length.0 / job.bs.0 * job.bs.0).max(1),
            mix: Mix::new(job),
            lengths: Lengths::new(job),
            place,
            passes_max: if plays_once { Some(1) } else { job.passes },
            given: 0,
        }
    }

    /// The next request, for ever.
    #[inline]
    pub fn next_request(&mut self) -> Request {
        let slot = match &mut self.place {
            Place::Uniform => below(&mut self.rng, self.slots),
            Place::Sequence(_) | Place::Partly(_) => 0,
            Place::Once(order) => order.take(),
            Place::Drawn(distribution) => distribution.draw(&mut self.rng),
            Place::Replayed(list) => {
                let request = list.take();
                return Request { offset: request.offset, length: request.length, direction: request.direction };
            }
        };
        let direction = self.mix.draw(&mut self.rng);
        let length = self.lengths.draw(&mut self.rng, direction);
        let (offset, length) = match &mut self.place {
            Place::Sequence(sequence) => sequence.take(length),
            Place::Partly(partly) => (self.base + partly.take(&mut self.rng, direction, length), length),
            _ => (self.base + self.grid.at(slot, direction), length),
        };
        Request { offset: Bytes(offset), length, direction }
    }

    /// The next requests, as many as there is room for: faster than one by one.
    pub fn fill(&mut self, requests: &mut [Request]) {
        match (&self.place, &self.lengths) {
            (Place::Uniform, Lengths::Fixed(length)) => {
                let (length, mix, slots, base, grain) = (*length, self.mix, self.slots, self.base, self.grid.grain);
                let mut rng = self.rng.clone();
                requests.fill_with(|| {
                    let offset = Bytes(base + below(&mut rng, slots) * grain);
                    Request { offset, length, direction: mix.draw(&mut rng) }
                });
                self.rng = rng;
            }
            _ => requests.fill_with(|| self.next_request()),
        }
    }

    /// Whether the iterator has given its last request.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.passes_max.is_some_and(|max| self.passes() >= max)
    }

    /// Passes that are done.
    fn passes(&self) -> u32 {
        match &self.place {
            Place::Sequence(sequence) => sequence.passes,
            Place::Once(order) => order.passes,
            Place::Replayed(list) => list.turn.passes,
            Place::Uniform | Place::Drawn(_) | Place::Partly(_) => {
                u32::try_from(self.given / self.pass).unwrap_or(u32::MAX)
            }
        }
    }
}

impl Iterator for RequestStream {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.is_over() {
            return None;
        }
        let request = self.next_request();
        self.given += u64::from(request.length);
        Some(request)
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
    fn many_at_once_are_the_same_as_one_by_one() {
        for rw in [Rw::RandRead, Rw::RandRw, Rw::ReadWrite, Rw::Write] {
            let mut one = RequestStream::new(&job(rw, 4096, 2, 8192, 1 << 30), 1);
            let mut many = one.clone();
            let mut requests = [one.clone().next_request(); 37];
            for _ in 0..5 {
                many.fill(&mut requests);
                requests.iter().for_each(|request| assert_eq!(*request, one.next_request(), "{rw:?}"));
            }
        }
    }

    #[test]
    fn mix_has_the_shares_asked_for() {
        for (rwmixread, rwmixtrim) in [(70, 0), (80, 10), (50, 50), (0, 30), (100, 0), (60, 40)] {
            for rw in [Rw::RandRw, Rw::ReadWrite] {
                let job = Job { rwmixread, rwmixtrim, ..job(rw, 4096, 1, 0, 1 << 30) };
                let mut s = RequestStream::new(&job, 0);
                let mut seen = [0f64; 3];
                (0..100_000).for_each(|_| seen[s.next_request().direction as usize] += 1.0);
                for (seen, share) in seen.into_iter().zip(job.mix()) {
                    let p = f64::from(share) / 100.0;
                    let off = (seen - 100_000.0 * p).abs();
                    assert!(
                        off <= 5.0 * (100_000.0 * p * (1.0 - p)).sqrt(),
                        "{rwmixread}/{rwmixtrim}: {seen} at {share} %"
                    );
                }
            }
        }
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
