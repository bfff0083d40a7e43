//! Distributions of offsets other than uniform.

use crate::draw::{Shares, below, unit, unit_above_zero};
use crate::permutation::Permutation;
use crate::zipf::Zipf;
use flashlab_spec::{Offsets, Zone};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A draw falls outside the range with a chance below 0.62 (deviation 100 %), so that so many in a row
/// never happen.
const DRAWS_MAX: u32 = 128;
/// One for all jobs: jobs over the same range have the same hot blocks.
const SCATTER_SEED: u64 = 0;

/// Slots drawn by a distribution, in constant memory.
#[derive(Debug, Clone)]
pub(crate) struct Distribution {
    shape: Shape,
    slots: u64,
    scatter: Option<Permutation>,
}

#[derive(Debug, Clone)]
enum Shape {
    Zipf(Zipf),
    /// The exponent of the uniform number.
    Pareto(f64),
    /// The deviation as a share of the range.
    Normal(f64),
    /// First slot and slots of each zone.
    Zones(Shares<(u64, u64)>),
}

impl Distribution {
    /// Over `slots`; `None` for the uniform orders, which need none.
    pub(crate) fn new(offsets: &Offsets, slots: u64, scatter: bool) -> Option<Self> {
        let shape = match offsets {
            Offsets::Repeats | Offsets::Once => return None,
            Offsets::Zipf { theta } => Shape::Zipf(Zipf::new(slots, *theta)),
            // u^a <= h exactly where u <= 1 - h.
            Offsets::Pareto { h } => Shape::Pareto(libm::log(*h) / libm::log1p(-*h)),
            Offsets::Normal { deviation_percent } => Shape::Normal(deviation_percent / 100.0),
            Offsets::Zones(zones) => Shape::Zones(zone_shares(zones, slots)),
        };
        Some(Distribution { shape, slots, scatter: scatter.then(|| Permutation::new(slots, SCATTER_SEED)) })
    }

    /// A slot.
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let rank = match &self.shape {
            Shape::Zipf(zipf) => zipf.draw(rng) - 1,
            Shape::Pareto(exponent) => self.slot_at(libm::exp(exponent * libm::log(unit_above_zero(rng)))),
            Shape::Normal(deviation) => self.slot_at(normal_inside(rng, *deviation)),
            Shape::Zones(shares) => {
                let (first, count) = shares.draw(rng);
                first + below(rng, count)
            }
        };
        self.scatter.as_ref().map_or(rank, |order| order.at(rank))
    }

    /// The slot at a share of the range; the end itself belongs to the last one.
    fn slot_at(&self, share: f64) -> u64 {
        ((share * self.slots as f64) as u64).min(self.slots - 1)
    }
}

fn zone_shares(zones: &[Zone], slots: u64) -> Shares<(u64, u64)> {
    let mut start = 0;
    let edges = Zone::edges(zones, slots);
    Shares::new(zones.iter().zip(edges).map(|(zone, end)| {
        let part = (zone.access_percent, (start, end - start));
        start = end;
        part
    }))
}

/// A normal number of mean one half that lies between 0 and 1, by Marsaglia's polar method.
fn normal_inside(rng: &mut Xoshiro256PlusPlus, deviation: f64) -> f64 {
    for _ in 0..DRAWS_MAX {
        let (x, y) = (2.0 * unit(rng) - 1.0, 2.0 * unit(rng) - 1.0);
        let square = x * x + y * y;
        if square >= 1.0 || square == 0.0 {
            continue;
        }
        let share = 0.5 + deviation * x * libm::sqrt(-2.0 * libm::log(square) / square);
        if (0.0..1.0).contains(&share) {
            return share;
        }
    }
    0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    const DRAWS: u32 = 200_000;

    /// The share of the draws for which `test` holds lies within 5 sigma of `expected`.
    fn share_is(offsets: &Offsets, slots: u64, expected: f64, test: impl Fn(u64) -> bool) {
        let distribution = Distribution::new(offsets, slots, false).expect("not uniform");
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let hits = (0..DRAWS).filter(|_| test(distribution.draw(&mut rng))).count() as f64;
        let n = f64::from(DRAWS);
        let sigma = (n * expected * (1.0 - expected)).sqrt();
        assert!((hits - n * expected).abs() <= 5.0 * sigma, "{offsets:?}: {hits} hits, expected {}", n * expected);
    }

    #[test]
    fn pareto_gives_h_of_the_blocks_the_rest_of_the_requests() {
        for h in [0.05, 0.2, 0.5, 0.9] {
            let slots = 1_000_000;
            let edge = (h * slots as f64) as u64;
            share_is(&Offsets::Pareto { h }, slots, 1.0 - h, |slot| slot < edge);
        }
        // Inside the hot 20 % it is the same again.
        share_is(&Offsets::Pareto { h: 0.2 }, 1_000_000, 0.64, |slot| slot < 40_000);
    }

    #[test]
    fn normal_has_its_deviation() {
        // Within one deviation 68.27 %, within two 95.45 %; at 10 % of the range nothing is cut off.
        let around = |width: i64| move |slot: u64| (slot as i64 - 500_000).abs() < width;
        let normal = Offsets::Normal { deviation_percent: 10.0 };
        share_is(&normal, 1_000_000, 0.682_69, around(100_000));
        share_is(&normal, 1_000_000, 0.954_50, around(200_000));
        // At 100 % the range holds 38.29 % of the curve, its inner half 19.74 %.
        share_is(&Offsets::Normal { deviation_percent: 100.0 }, 1_000_000, 0.515_54, around(250_000));
    }

    #[test]
    fn zones_have_their_shares() {
        let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
        let zones = vec![zone(60.0, 10.0), zone(30.0, 20.0), zone(8.0, 30.0), zone(2.0, 40.0), zone(0.0, 0.0)];
        let offsets = Offsets::Zones(zones);
        for (from, to, share) in [(0, 100, 0.6), (100, 300, 0.3), (300, 600, 0.08), (600, 1_000, 0.02)] {
            share_is(&offsets, 1_000, share, |slot| (from..to).contains(&slot));
        }
        // Uniform inside: half of the first zone has half of its requests.
        share_is(&offsets, 1_000, 0.3, |slot| slot < 50);
        share_is(&offsets, 1_000, 0.0, |slot| slot >= 1_000);
    }

    /// The ten hottest blocks are the ten lowest ranks, elsewhere: none is another's neighbour.
    #[test]
    fn scattered_ranks_keep_their_shares() {
        let slots = 1_000_000;
        let draw = |scatter| {
            let distribution = Distribution::new(&Offsets::Zipf { theta: 1.2 }, slots, scatter).expect("not uniform");
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut counts = std::collections::BTreeMap::<u64, u32>::new();
            (0..DRAWS).for_each(|_| *counts.entry(distribution.draw(&mut rng)).or_default() += 1);
            let mut hottest: Vec<(u32, u64)> = counts.into_iter().map(|(slot, count)| (count, slot)).collect();
            hottest.sort_unstable_by(|a, b| b.cmp(a));
            hottest
        };
        let (plain, scattered) = (draw(false), draw(true));
        let counts = |v: &[(u32, u64)]| v.iter().map(|c| c.0).collect::<Vec<_>>();
        assert_eq!(counts(&plain), counts(&scattered));
        let mut hot: Vec<u64> = scattered[..10].iter().map(|c| c.1).collect();
        hot.sort_unstable();
        assert!(plain[..10].iter().all(|c| c.1 < 12), "{:?}", &plain[..10]);
        assert!(hot.windows(2).all(|pair| pair[1] - pair[0] > 100), "{hot:?}");
        assert!(hot.iter().any(|slot| *slot > slots / 2) && hot.iter().any(|slot| *slot < slots / 2), "{hot:?}");
    }

    #[test]
    fn one_slot_is_always_hit() {
        let zone = vec![Zone { access_percent: 100.0, space_percent: 100.0 }];
        let normal = Offsets::Normal { deviation_percent: 100.0 };
        for offsets in [Offsets::Zipf { theta: 1.0 }, Offsets::Pareto { h: 0.999 }, normal, Offsets::Zones(zone)] {
            share_is(&offsets, 1, 1.0, |slot| slot == 0);
        }
    }
}
