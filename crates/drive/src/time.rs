//! Virtual time: integer picoseconds, and servers that are busy until a point in time.

use flashlab_units::{BytesPerSecond, Nanos};

/// A point in virtual time or a length of it, in picoseconds; 2^64 ps are 213 days.
pub(crate) type Ps = u64;

/// Picoseconds of a time in nanoseconds.
pub(crate) const fn ps(time: Nanos) -> Ps {
    time.0.saturating_mul(1_000)
}

/// Nanoseconds, rounded to nearest.
pub(crate) const fn nanos(time: Ps) -> Nanos {
    Nanos((time + 500) / 1_000)
}

/// Time by size: picoseconds a byte in 16.16 fixed point, so that the model stays in integers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerByte(u64);

impl PerByte {
    /// No time at all.
    pub(crate) const NONE: PerByte = PerByte(0);

    /// Of a rate in bytes a second.
    pub(crate) fn of(rate: BytesPerSecond) -> Self {
        PerByte((1e12 / rate.0 * 65_536.0).round() as u64)
    }

    /// Time for `bytes`.
    #[inline]
    pub(crate) fn time(self, bytes: u64) -> Ps {
        ((u128::from(bytes) * u128::from(self.0)) >> 16) as u64
    }
}

/// Division of 32-bit numbers by one that is known beforehand: the number and one more is multiplied by
/// the inverse, rounded down, in 0.64 fixed point. That is exact for all of them: the product falls short
/// of `(n + 1) / by` by less than `1 / by`, and is less than it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Divisor {
    by: u32,
    inverse: u64,
}

impl Divisor {
    /// Of `by`, which is not 0.
    pub(crate) fn new(by: u32) -> Self {
        Divisor { by, inverse: u64::MAX / u64::from(by) }
    }

    /// The number that is divided by.
    pub(crate) fn divisor(self) -> u32 {
        self.by
    }

    /// The quotient of `n`.
    #[inline]
    pub(crate) fn quotient(self, n: u32) -> u32 {
        ((u128::from(self.inverse) * u128::from(u64::from(n) + 1)) >> 64) as u32
    }

    /// The quotient and the remainder of `n`.
    #[inline]
    pub(crate) fn divide(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }
}

/// How often `jobs` doubles `base`, in between by a straight line; 0 up to `base`.
pub(crate) fn doublings(jobs: u32, base: u32) -> f64 {
    let times = f64::from(jobs.max(base)) / f64::from(base);
    let whole = (times as u32).ilog2();
    f64::from(whole) + times / f64::from(1u32 << whole) - 1.0
}

/// Something that serves one request after another in the order of the calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Server {
    free_at: Ps,
}

impl Server {
    /// When it can take the next request.
    #[inline]
    pub(crate) fn free_at(&self) -> Ps {
        self.free_at
    }

    /// Serves a request that arrives at `at` and takes `time`; returns when it is done.
    #[inline]
    pub(crate) fn serve(&mut self, at: Ps, time: Ps) -> Ps {
        self.free_at = self.free_at.max(at) + time;
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_byte_is_exact_to_a_millionth() {
        let link = PerByte::of(BytesPerSecond(14.7e9));
        let expect = 131_072.0 / 14.7e9 * 1e12;
        assert!((link.time(131_072) as f64 - expect).abs() / expect < 1e-6);
    }

    #[test]
    fn a_divisor_divides() {
        for by in [1, 2, 3, 5, 8, 12, 64, 165, 720, 1_000_003, u32::MAX] {
            let d = Divisor::new(by);
            for n in [0, 1, by - 1, by, by.saturating_add(1), 999_999_937, u32::MAX - 1, u32::MAX] {
                assert_eq!(d.divide(n), (n / by, n % by), "{n} by {by}");
            }
        }
    }

    #[test]
    fn doublings_of_powers_are_whole() {
        assert_eq!([1, 2, 3, 4, 16].map(|jobs| doublings(jobs, 1)), [0.0, 1.0, 1.5, 2.0, 4.0]);
        assert_eq!([1, 8, 12, 128].map(|jobs| doublings(jobs, 8)), [0.0, 0.0, 0.5, 4.0]);
    }

    #[test]
    fn a_server_queues() {
        let mut s = Server::default();
        assert_eq!((s.serve(10, 5), s.serve(11, 5), s.serve(100, 5)), (15, 20, 105));
    }
}
