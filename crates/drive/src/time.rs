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

/// Something that serves one request after another in the order of the calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Server {
    free_at: Ps,
}

impl Server {
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
    fn a_server_queues() {
        let mut s = Server::default();
        assert_eq!((s.serve(10, 5), s.serve(11, 5), s.serve(100, 5)), (15, 20, 105));
    }
}
