//! Numbers from a random stream, the same on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// A whole number below `n`, by Lemire's multiply-shift; the bias is below 2^-20 for any drive.
#[inline]
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A number from 0 (included) to 1, a multiple of 2^-53.
#[inline]
pub(crate) fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number from 0 to 1 (included), a multiple of 2^-53: its logarithm is finite.
#[inline]
pub(crate) fn unit_above_zero(rng: &mut Xoshiro256PlusPlus) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Shares of a whole as upper limits for the upper 32 bits of a random number.
///
/// Shares of 0 are never drawn; the last of the others takes what rounding leaves over.
#[derive(Debug, Clone)]
pub(crate) struct Shares<T> {
    limits: Box<[(u64, T)]>,
}

impl<T: Copy> Shares<T> {
    /// Things with their shares in percent, which add up to 100.
    pub(crate) fn new(shares: impl IntoIterator<Item = (f64, T)>) -> Self {
        let mut sum = 0.0;
        let mut limits: Vec<(u64, T)> = Vec::new();
        for (percent, thing) in shares.into_iter().filter(|(percent, _)| *percent > 0.0) {
            sum += percent;
            limits.push(((sum / 100.0 * (1u64 << 32) as f64) as u64, thing));
        }
        limits.last_mut().expect("shares were validated").0 = u64::MAX;
        Shares { limits: limits.into() }
    }

    /// One of the things.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> T {
        let at = rng.next_u64() >> 32;
        let index = self.limits.partition_point(|(limit, _)| *limit <= at);
        self.limits[index].1
    }
}
