//! Intended start times of one job's requests, in an open loop.

use crate::draw::unit_above_zero;
use crate::named_seed;
use crate::replayed::Turn;
use flashlab_spec::{Arrival, Job, Rate};
use flashlab_units::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const PS_PER_NS: u64 = 1_000;

/// Picoseconds since the start of a job; up to 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Picos(pub u64);

impl Picos {
    /// Whole nanoseconds; what is left is dropped.
    pub const fn nanos(self) -> Nanos {
        Nanos(self.0 / PS_PER_NS)
    }
}

/// When the requests of one of a job's threads are to start; endless and never going back. The n-th
/// time is that of the n-th request of the thread's [`crate::RequestStream`].
#[derive(Debug, Clone)]
pub struct ArrivalStream {
    clock: Clock,
}

#[derive(Debug, Clone)]
enum Clock {
    Fixed(Fixed),
    Poisson(Poisson),
    Recorded(Recorded),
}

impl ArrivalStream {
    /// The times of thread `index` of a validated `job`; `None` for a closed loop, which has none.
    ///
    /// # Panics
    /// If the job was not validated: recorded arrivals without a list, or an index beyond its threads.
    pub fn new(job: &Job, index: u32) -> Option<Self> {
        assert!(index < job.numjobs, "thread {index} of {}", job.numjobs);
        let clock = match job.arrival {
            Arrival::Closed => return None,
            Arrival::Fixed(rate) => Clock::Fixed(Fixed::new(rate, index, job.numjobs)),
            Arrival::Poisson(rate) => {
                let seed = named_seed(job.seed, &job.workload, u64::from(index));
                Clock::Poisson(Poisson::new(rate, named_seed(seed, "arrivals", 0)))
            }
            Arrival::Recorded { time_percent } => Clock::Recorded(Recorded::new(job, index, time_percent)),
        };
        Some(ArrivalStream { clock })
    }

    /// The next intended start.
    #[inline]
    pub fn next_arrival(&mut self) -> Picos {
        Picos(match &mut self.clock {
            Clock::Fixed(clock) => clock.take(),
            Clock::Poisson(clock) => clock.take(),
            Clock::Recorded(clock) => clock.take(),
        })
    }
}

/// Evenly spaced without drift: the k-th request of thread i of n starts at (k + i/n) per / ios, rounded
/// down. The remainder of each step is carried on, so that a second holds exactly the rate.
#[derive(Debug, Clone)]
struct Fixed {
    at_ps: u64,
    /// In parts of 1/denominator of a picosecond.
    remainder: u64,
    step_ps: u64,
    step_remainder: u64,
    denominator: u64,
}

impl Fixed {
    fn new(rate: Rate, index: u32, numjobs: u32) -> Self {
        // Within u128, and the quotients within u64: validation bounds ios, per and numjobs.
        let step = u128::from(rate.per.0) * u128::from(PS_PER_NS) * u128::from(numjobs);
        let denominator = u128::from(rate.ios) * u128::from(numjobs);
        let start = u128::from(rate.per.0) * u128::from(PS_PER_NS) * u128::from(index);
        Fixed {
            at_ps: (start / denominator) as u64,
            remainder: (start % denominator) as u64,
            step_ps: (step / denominator) as u64,
            step_remainder: (step % denominator) as u64,
            denominator: denominator as u64,
        }
    }

    #[inline]
    fn take(&mut self) -> u64 {
        let at = self.at_ps;
        self.remainder += self.step_remainder;
        let carry = self.remainder >= self.denominator;
        self.remainder -= if carry { self.denominator } else { 0 };
        self.at_ps = at.saturating_add(self.step_ps + u64::from(carry));
        at
    }
}

/// Exponential gaps; what rounding to picoseconds leaves of one is carried on to the next. The
/// logarithm is that of the `libm` crate, so that the times don't depend on the system.
#[derive(Debug, Clone)]
struct Poisson {
    rng: Xoshiro256PlusPlus,
    at_ps: u64,
    mean_ps: f64,
    carry_ps: f64,
}

impl Poisson {
    fn new(rate: Rate, seed: u64) -> Self {
        let mean_ps = rate.per.0 as f64 * PS_PER_NS as f64 / rate.ios as f64;
        Poisson { rng: Xoshiro256PlusPlus::seed_from_u64(seed), at_ps: 0, mean_ps, carry_ps: 0.0 }
    }

    #[inline]
    fn take(&mut self) -> u64 {
        let gap = self.carry_ps - self.mean_ps * libm::log(unit_above_zero(&mut self.rng));
        let whole = gap as u64;
        self.carry_ps = gap - whole as f64;
        self.at_ps = self.at_ps.saturating_add(whole);
        self.at_ps
    }
}

/// The times of a list, counted from its first request; a turn later, they go on a period later.
#[derive(Debug, Clone)]
struct Recorded {
    turn: Turn,
    start: Nanos,
    period: Nanos,
    time_percent: u32,
}

impl Recorded {
    fn new(job: &Job, index: u32, time_percent: u32) -> Self {
        let replay = job.replay.as_ref().expect("recorded arrivals were validated to have a list");
        let start = replay.requests().first().map_or(Nanos::ZERO, |r| r.at);
        Recorded { turn: Turn::new(replay, job, index), start, period: replay.period(), time_percent }
    }

    fn take(&mut self) -> u64 {
        let (request, pass) = self.turn.take();
        let at_ns = u128::from(request.at.0 - self.start.0) + u128::from(self.period.0) * u128::from(pass);
        u64::try_from(at_ns * u128::from(PS_PER_NS) * u128::from(self.time_percent) / 100).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Beyond, Direction, Region, Replay, ReplayEnd, ReplayRequest, Rw};
    use flashlab_units::Bytes;
    use proptest::prelude::*;

    const SECOND_PS: u64 = 1_000_000_000_000;

    fn stream(arrival: Arrival, numjobs: u32, index: u32) -> ArrivalStream {
        let region = Region { offset: Bytes(0), length: Bytes::gib(1) };
        let job = Job { arrival, numjobs, seed: 4, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) };
        ArrivalStream::new(&job, index).expect("an open loop")
    }

    fn until(stream: &mut ArrivalStream, end_ps: u64) -> Vec<u64> {
        std::iter::from_fn(|| Some(stream.next_arrival().0)).take_while(|at| *at < end_ps).collect()
    }

    #[test]
    fn a_closed_loop_has_no_times() {
        let region = Region { offset: Bytes(0), length: Bytes::gib(1) };
        assert!(ArrivalStream::new(&Job::new("w", Rw::RandRead, Bytes::kib(4), region), 0).is_none());
    }

    #[test]
    fn a_second_holds_exactly_the_rate() {
        for iops in [1, 3, 7, 100_000, 300_000, 700_000, 1_000_000, 3_000_000] {
            for (numjobs, index) in [(1, 0), (3, 1), (7, 6)] {
                let mut s = stream(Arrival::Fixed(Rate::iops(iops)), numjobs, index);
                let times = until(&mut s, SECOND_PS);
                assert_eq!(times.len() as u64, iops, "thread {index} of {numjobs} in the first second");
                // take_while has taken the first of the second second.
                assert_eq!(until(&mut s, 2 * SECOND_PS).len() as u64 + 1, iops, "in the next");
                let mean = SECOND_PS / iops;
                assert!(times.windows(2).all(|w| w[1] - w[0] == mean || w[1] - w[0] == mean + 1));
            }
        }
    }

    #[test]
    fn threads_start_evenly_apart() {
        let firsts = (0..4).map(|i| stream(Arrival::Fixed(Rate::iops(1_000)), 4, i).next_arrival().0);
        assert_eq!(firsts.collect::<Vec<_>>(), [0, 250_000_000, 500_000_000, 750_000_000]);
        assert_eq!(stream(Arrival::Fixed(Rate::iops(1_000)), 4, 1).next_arrival().nanos(), Nanos(250_000));
    }

    /// Count, mean, variance and tail of 500,000 gaps at 700,000 a second.
    #[test]
    fn poisson_gaps_are_exponential() {
        let n = 500_000;
        let mut s = stream(Arrival::Poisson(Rate::iops(700_000)), 1, 0);
        let mut last = 0;
        let gaps: Vec<f64> = (0..n)
            .map(|_| {
                let at = s.next_arrival().0;
                let gap = at - last;
                last = at;
                gap as f64 * 700_000.0 / SECOND_PS as f64
            })
            .collect();
        let root = f64::from(n).sqrt();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 5.0 / root, "mean {mean}");
        // The fourth central moment of the exponential distribution is 9, so the variance of a square is 8.
        let variance = gaps.iter().map(|g| (g - 1.0).powi(2)).sum::<f64>() / f64::from(n);
        assert!((variance - 1.0).abs() < 5.0 * 8f64.sqrt() / root, "variance {variance}");
        for limit in [0.1f64, 1.0, 5.0] {
            let expected = (-limit).exp();
            let above = gaps.iter().filter(|g| **g > limit).count() as f64 / f64::from(n);
            let sigma = (expected * (1.0 - expected)).sqrt() / root;
            assert!((above - expected).abs() < 5.0 * sigma, "{above} above {limit}, expected {expected}");
        }
        // Neighbouring gaps are unrelated.
        let pairs = gaps.windows(2).map(|w| (w[0] - 1.0) * (w[1] - 1.0)).sum::<f64>() / f64::from(n);
        assert!(pairs.abs() < 5.0 / root, "correlation {pairs}");
    }

    /// The same on every machine: written down once.
    #[test]
    fn poisson_times_are_repeatable() {
        let mut s = stream(Arrival::Poisson(Rate::iops(1_000_000)), 2, 1);
        let times: Vec<u64> = (0..4).map(|_| s.next_arrival().0).collect();
        assert_eq!(times, [32_887, 333_493, 1_990_701, 2_058_465]);
        let mut other = stream(Arrival::Poisson(Rate::iops(1_000_000)), 2, 0);
        assert_ne!(other.next_arrival().0, times[0]);
    }

    #[test]
    fn recorded_times_are_stretched_and_go_on() {
        let at = |ns: u64| ReplayRequest { at: Nanos(ns), direction: Direction::Read, offset: Bytes(0), length: 4096 };
        let list = vec![at(50), at(70), at(60), at(80)];
        let replay = Some(Replay::new("list", list, ReplayEnd::Loop, Beyond::Refuse));
        let region = Region { offset: Bytes(0), length: Bytes::mib(1) };
        let arrival = Arrival::Recorded { time_percent: 50 };
        let job = Job { arrival, replay, numjobs: 2, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) };
        let times = |index: u32| {
            let mut s = ArrivalStream::new(&job, index).expect("an open loop");
            (0..5).map(|_| s.next_arrival().0).collect::<Vec<_>>()
        };
        // From the first request, at half: 0, 5, 10, 15 ns; a turn takes 20 ns.
        assert_eq!(times(0), [0, 10_000, 20_000, 30_000, 40_000]);
        assert_eq!(times(1), [5_000, 15_000, 25_000, 35_000, 45_000]);
    }

    proptest! {
        /// The k-th time is what exact arithmetic says, for odd rates and periods too.
        #[test]
        fn fixed_times_never_drift(ios in 1u64..2_000_000, per in 1_000_000u64..5_000_000_000, numjobs in 1u32..9, k in 0u64..3_000) {
            let index = numjobs - 1;
            let mut s = stream(Arrival::Fixed(Rate { ios, per: Nanos(per) }), numjobs, index);
            let at = (0..=k).map(|_| s.next_arrival().0).last().expect("one at least");
            let parts = u128::from(k) * u128::from(numjobs) + u128::from(index);
            let exact = parts * u128::from(per) * 1_000 / (u128::from(ios) * u128::from(numjobs));
            prop_assert_eq!(u128::from(at), exact);
        }
    }
}
