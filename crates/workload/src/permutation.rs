//! A permutation of 0..n in constant memory.

use crate::named_seed;

/// Each pair of rounds changes both halves once. Three suffice for a pseudo-random permutation by the
/// theorem of Luby and Rackoff; it speaks of large halves, so the tests look at small ones too.
const ROUND_PAIRS: usize = 3;

/// A pseudo-random order of the numbers below n, for any n: an unbalanced Feistel network over the
/// least power of two that holds n, walked on until the result is below n. The domain is less than
/// twice n, so a number costs two walks at most on average.
#[derive(Debug, Clone)]
pub(crate) struct Permutation {
    n: u64,
    right_bits: u32,
    left_mask: u64,
    right_mask: u64,
    keys: [[u64; 2]; ROUND_PAIRS],
}

impl Permutation {
    /// The permutation of 0..`n` with this seed; `n` from 1 to 2^63.
    pub(crate) fn new(n: u64, seed: u64) -> Self {
        assert!((1..=1 << 63).contains(&n), "no permutation of {n} numbers");
        let bits = u64::BITS - (n - 1).leading_zeros();
        let right_bits = bits / 2;
        let mask = |bits: u32| (1u64 << bits) - 1;
        let key = |i: usize| named_seed(seed, "permutation", i as u64);
        Permutation {
            n,
            right_bits,
            left_mask: mask(bits - right_bits),
            right_mask: mask(right_bits),
            keys: std::array::from_fn(|pair| [key(2 * pair), key(2 * pair + 1)]),
        }
    }

    /// Numbers in the permutation.
    pub(crate) fn len(&self) -> u64 {
        self.n
    }

    /// The number at `place`, which is below n.
    #[inline]
    pub(crate) fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.n);
        let mut x = place;
        // Ends: the network permutes its domain, so the walk comes back to `place` at the latest.
        loop {
            x = self.network(x);
            if x < self.n {
                return x;
            }
        }
    }

    /// One pass through the network. Each half is changed by what the other one gives, which can be
    /// undone, so that no two inputs meet.
    #[inline]
    fn network(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.right_bits, x & self.right_mask);
        for [a, b] in self.keys {
            left ^= mixed(right, a) & self.left_mask;
            right ^= mixed(left, b) & self.right_mask;
        }
        (left << self.right_bits) | right
    }
}

/// A function of a half and a key of which every low bit depends on all bits of both: two rounds of
/// multiply and shift, with odd constants of the golden ratio and of SplitMix64.
#[inline]
fn mixed(half: u64, key: u64) -> u64 {
    let z = (half ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hits_each_once(n: u64, seed: u64) {
        let permutation = Permutation::new(n, seed);
        let mut seen = vec![false; n as usize];
        for place in 0..n {
            let x = permutation.at(place);
            assert!(!std::mem::replace(&mut seen[x as usize], true), "{x} of {n} twice");
        }
    }

    #[test]
    fn each_number_is_hit_once() {
        (1..300).for_each(|n| hits_each_once(n, n));
        let powers = (9..18).map(|k| 1u64 << k).flat_map(|p| [p - 1, p, p + 1]);
        let primes = [65_521, 104_729, 524_287];
        powers.chain(primes).for_each(|n| hits_each_once(n, 7));
    }

    /// 245 TB at 512 B are 4.8e11 blocks: every result lies inside, and neighbours are far apart.
    #[test]
    fn a_drive_of_245_tb_takes_no_memory() {
        let n = 245_760_000_000_000 / 512;
        let permutation = Permutation::new(n, 1);
        let mut near = 0;
        for place in 0..100_000 {
            let (a, b) = (permutation.at(place), permutation.at(place + 1));
            assert!(a < n && b < n);
            near += u32::from(a.abs_diff(b) < n / 1_000);
        }
        // Two random numbers are within a thousandth of each other with a chance of 0.2 %.
        assert!((140..260).contains(&near), "{near} of 100,000 neighbours stay neighbours");
    }

    /// Each number comes to each place equally often over many seeds, also where the halves have a bit
    /// or two: chi-square below its mean plus five standard deviations.
    #[test]
    fn small_permutations_are_uniform() {
        for n in [2u64, 3, 5, 8, 13, 16, 31] {
            let mut counts = vec![0f64; (n * n) as usize];
            let seeds = 400 * n;
            for seed in 0..seeds {
                let permutation = Permutation::new(n, named_seed(seed, "test", n));
                (0..n).for_each(|place| counts[(place * n + permutation.at(place)) as usize] += 1.0);
            }
            let expected = seeds as f64 / n as f64;
            let chi2: f64 = counts.iter().map(|c| (c - expected).powi(2) / expected).sum();
            let freedom = ((n - 1) * (n - 1)) as f64;
            assert!(chi2 < freedom + 5.0 * (2.0 * freedom).sqrt() + 10.0, "n {n}: chi-square {chi2} of {freedom}");
        }
    }

    /// The order of a pass tells nothing of the next one: correlation of the places below 5 sigma.
    #[test]
    fn seeds_give_unrelated_orders() {
        let n = 10_007u64;
        for seed in 0..20 {
            let (a, b) = (Permutation::new(n, seed), Permutation::new(n, seed + 1));
            let half = (n - 1) as f64 / 2.0;
            let sum: f64 = (0..n).map(|i| (a.at(i) as f64 - half) * (b.at(i) as f64 - half)).sum();
            let correlation = sum / (n as f64 * ((n * n - 1) as f64 / 12.0));
            assert!(correlation.abs() < 5.0 / (n as f64).sqrt(), "seed {seed}: {correlation}");
        }
    }

    proptest! {
        #[test]
        fn any_size_is_permuted(n in 1u64..20_000, seed: u64) {
            hits_each_once(n, seed);
        }
    }
}
