//! Zipf's distribution in constant memory.

use crate::draw::unit;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A draw is rejected with a chance below a half, so that so many in a row never happen.
const DRAWS_MAX: u32 = 128;

/// Ranks 1 to n with chances in proportion to rank^-theta, without a table: rejection-inversion
/// (Hörmann and Derflinger, ACM TOMACS 6(3), 1996). A point is drawn under the curve x^-theta from its
/// integral and rounded; it is rejected where the curve lies above the step of the rounded rank. The
/// chances are exact, whatever n, and theta may be 1. Transcendental functions are those of the `libm`
/// crate, so that results don't depend on the system.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    n: f64,
    theta: f64,
    /// The integral's value at the lower end, less the step of rank 1, and at the upper end.
    low: f64,
    high: f64,
    /// A point that was rounded up by no more than this is never rejected.
    sure: f64,
}

impl Zipf {
    /// Over ranks 1 to `n`, `n` up to 2^53, `theta` above 0.
    pub(crate) fn new(n: u64, theta: f64) -> Self {
        let n = n as f64;
        let mut zipf = Zipf { n, theta, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.step(2.0));
        zipf
    }

    /// A rank, from 1.
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        for _ in 0..DRAWS_MAX {
            let area = self.high + unit(rng) * (self.low - self.high);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.step(rank) {
                return rank as u64;
            }
        }
        1
    }

    /// x^-theta.
    fn step(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// The integral of x^-theta from 1: (x^(1 - theta) - 1) / (1 - theta), and ln x where theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let exponent = (1.0 - self.theta) * log;
        log * if exponent == 0.0 { 1.0 } else { libm::expm1(exponent) / exponent }
    }

    /// The x at which the integral has this value.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding could take it below the pole.
        let t = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(area * if t == 0.0 { 1.0 } else { libm::log1p(t) / t })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    const THETAS: [f64; 6] = [0.1, 0.5, 0.99, 1.0, 1.2, 3.0];

    fn chance(n: u64, theta: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=n).map(|k| libm::pow(k as f64, -theta)).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }

    /// Chi-square over cells that expect at least 20, the rest in one, against the exact chances.
    #[test]
    fn chances_are_exact_for_few_ranks() {
        const DRAWS: u32 = 200_000;
        for n in [1, 2, 3, 10, 1_000] {
            for theta in THETAS {
                let (zipf, mut rng) = (Zipf::new(n, theta), Xoshiro256PlusPlus::seed_from_u64(n));
                let mut counts = vec![0f64; n as usize];
                (0..DRAWS).for_each(|_| counts[zipf.draw(&mut rng) as usize - 1] += 1.0);
                let (mut chi2, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
                for (count, p) in counts.iter().zip(chance(n, theta)) {
                    let expected = p * f64::from(DRAWS);
                    if expected < 20.0 {
                        rest = (rest.0 + count, rest.1 + expected);
                    } else {
                        chi2 += (count - expected) * (count - expected) / expected;
                        cells += 1.0;
                    }
                }
                if rest.1 > 0.0 {
                    chi2 += (rest.0 - rest.1) * (rest.0 - rest.1) / rest.1;
                    cells += 1.0;
                }
                let freedom: f64 = cells - 1.0;
                let limit = freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0;
                assert!(chi2 <= limit, "n {n}, theta {theta}: chi-square {chi2} of {freedom}");
            }
        }
    }

    /// The slope of log count over log rank of the 50 hottest of a million ranks is -theta.
    #[test]
    fn the_slope_is_theta() {
        for theta in [0.8, 1.0, 1.2] {
            let (zipf, mut rng) = (Zipf::new(1_000_000, theta), Xoshiro256PlusPlus::seed_from_u64(3));
            let mut counts = [0f64; 50];
            for _ in 0..2_000_000 {
                let rank = zipf.draw(&mut rng) as usize;
                if let Some(count) = counts.get_mut(rank - 1) {
                    *count += 1.0;
                }
            }
            let points = counts.iter().enumerate().map(|(i, c)| (((i + 1) as f64).ln(), c.ln(), *c));
            // Weighted by count: the variance of log count is one over the count.
            let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for (lx, ly, c) in points {
                (w, x, y) = (w + c, x + c * lx, y + c * ly);
                (xx, xy) = (xx + c * lx * lx, xy + c * lx * ly);
            }
            let spread = w * xx - x * x;
            let (slope, sigma) = ((w * xy - x * y) / spread, (w / spread).sqrt());
            assert!((slope + theta).abs() < 5.0 * sigma, "theta {theta}: slope {slope}, sigma {sigma}");
            assert!(sigma < 0.01, "too few draws to tell: sigma {sigma}");
        }
    }

    /// 4.8e11 ranks: the share of the upper half, and of rank 1, against sums by the Euler-Maclaurin
    /// formula.
    #[test]
    fn chances_are_exact_for_a_large_drive() {
        const DRAWS: u32 = 200_000;
        let n = 480_000_000_000u64;
        for theta in [0.5, 0.99, 1.0, 1.2] {
            let integral = |x: f64| {
                if theta == 1.0 { x.ln() } else { (x.powf(1.0 - theta) - 1.0) / (1.0 - theta) }
            };
            let head: f64 = (1..1_000).map(|k| f64::from(k).powf(-theta)).sum();
            // From 1,000 on, steps and curve differ by less than 1e-9 of the sum.
            let sum = |to: f64| head + integral(to + 0.5) - integral(999.5);
            let (all, half) = (sum(n as f64), sum((n / 2) as f64));
            let (zipf, mut rng) = (Zipf::new(n, theta), Xoshiro256PlusPlus::seed_from_u64(5));
            let (mut first, mut upper) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut rng);
                assert!((1..=n).contains(&rank));
                first += f64::from(u8::from(rank == 1));
                upper += f64::from(u8::from(rank > n / 2));
            }
            for (what, seen, p) in [("rank 1", first, 1.0 / all), ("upper half", upper, 1.0 - half / all)] {
                let expected = p * f64::from(DRAWS);
                let sigma = (expected * (1.0 - p)).sqrt().max(0.5);
                assert!((seen - expected).abs() < 5.0 * sigma, "theta {theta}, {what}: {seen} of {expected}");
            }
        }
    }
}
