//! When a job's requests arrive.
//!
//! Plain data and its validation; `flashlab-workload` turns it into times.

use crate::pattern::Fault;
use flashlab_units::{Bytes, BytesPerSecond, Iops, Nanos};
use serde::{Deserialize, Serialize};

/// A mean gap of 1 ns a thread; times are kept in picoseconds and stay distinct far beyond it.
const IOPS_MAX: u64 = 1_000_000_000;
/// Longer than a gap in any load; a unit was mistaken.
const PER_MAX: Nanos = Nanos::secs(86_400);
/// Longer than a pause in any load; a unit was mistaken.
const THINK_MAX: Nanos = Nanos::secs(3_600);
/// A trace a thousand times slower than it was recorded.
const TIME_PERCENT_MAX: u32 = 100_000;

/// Requests in a time, exact: 2 in 3 s is no floating-point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// Requests.
    pub ios: u64,
    /// In this time.
    pub per: Nanos,
}

impl Rate {
    /// `ios` requests a second.
    pub const fn iops(ios: u64) -> Self {
        Rate { ios, per: Nanos::secs(1) }
    }

    /// `rate` in requests of `bs`, exact to a thousandth of a request a second; `None` for less than that.
    pub fn of_bytes(rate: BytesPerSecond, bs: Bytes) -> Option<Self> {
        let per = Nanos::secs(1000);
        let ios = (rate.0 * per.as_secs_f64() / bs.0.max(1) as f64).round();
        (ios >= 1.0).then_some(Rate { ios: ios as u64, per })
    }

    /// The rate for people and formulas; `None` for no time.
    pub fn per_second(self) -> Option<Iops> {
        Iops::over(self.ios, self.per)
    }
}

/// When requests arrive. All rates are those of one thread of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Closed loop: iodepth requests are outstanding, and one that ends starts the next.
    #[default]
    Closed,
    /// Open loop: evenly spaced, whatever the drive does. Latency counts from the intended start;
    /// iodepth bounds what is outstanding. The threads of a job start evenly apart.
    Fixed(Rate),
    /// Open loop with exponentially distributed gaps: independent users.
    Poisson(Rate),
    /// At the times of the replayed list.
    Recorded {
        /// Times are stretched to this: 100 as recorded, 50 at twice the speed.
        time_percent: u32,
    },
}

/// Pauses of a thread in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkTime {
    /// How long nothing is asked, from the moment at which all earlier requests are back.
    pub time: Nanos,
    /// Requests between two pauses, from 1.
    pub blocks: u32,
}

impl ThinkTime {
    pub(crate) fn check(self, arrival: &Arrival) -> Result<(), Fault> {
        if self.blocks == 0 || self.time == Nanos::ZERO || self.time > THINK_MAX {
            let reason = format!("pauses of {} after {} requests", self.time, self.blocks);
            return Err((reason, format!("use up to {THINK_MAX}, after at least 1 request, or leave them out")));
        }
        if !arrival.is_closed() {
            let reason = "pauses in an open loop, where requests are due at their times".to_owned();
            return Err((reason, "leave out the pauses, or the rate".into()));
        }
        Ok(())
    }
}

impl Arrival {
    /// Whether requests wait for earlier ones only.
    pub fn is_closed(&self) -> bool {
        *self == Arrival::Closed
    }

    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self {
            Arrival::Closed => Ok(()),
            Arrival::Fixed(rate) | Arrival::Poisson(rate) => rate.check(),
            Arrival::Recorded { time_percent } if (1..=TIME_PERCENT_MAX).contains(time_percent) => Ok(()),
            Arrival::Recorded { time_percent } => {
                Err((format!("the recorded times are stretched to {time_percent} %"), "use 100, as recorded".into()))
            }
        }
    }
}

impl Rate {
    fn check(self) -> Result<(), Fault> {
        if self.ios == 0 || self.per == Nanos::ZERO || self.per > PER_MAX {
            let reason = format!("the rate is {} requests in {}", self.ios, self.per);
            return Err((reason, format!("use at least one request in at most {PER_MAX}, or a closed loop")));
        }
        let fastest = u128::from(IOPS_MAX) * u128::from(self.per.0);
        if u128::from(self.ios) * 1_000_000_000 > fastest {
            let reason = format!("the rate is {} requests in {}", self.ios, self.per);
            return Err((reason, format!("use at most {IOPS_MAX} a second and thread")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_can_not_be_made_are_refused() {
        let refused = |time, blocks, arrival: Arrival| ThinkTime { time, blocks }.check(&arrival).is_err();
        assert!(!refused(Nanos::micros(1), 1, Arrival::Closed) && !refused(THINK_MAX, u32::MAX, Arrival::Closed));
        assert!(refused(Nanos::ZERO, 1, Arrival::Closed) && refused(Nanos(1), 0, Arrival::Closed));
        assert!(refused(Nanos(THINK_MAX.0 + 1), 1, Arrival::Closed));
        assert!(refused(Nanos(1), 1, Arrival::Fixed(Rate::iops(1))));
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        let refused = |ios, per| Arrival::Poisson(Rate { ios, per }).check().err().map(|fault| fault.0);
        for (ios, per) in [(0, Nanos::secs(1)), (1, Nanos::ZERO), (1, Nanos::secs(86_401)), (2, Nanos(1))] {
            assert!(refused(ios, per).is_some_and(|text| text.contains("the rate is")), "{ios} in {per}");
        }
        assert!(Arrival::Fixed(Rate::iops(IOPS_MAX + 1)).check().is_err());
        assert!(Arrival::Fixed(Rate { ios: u64::MAX, per: PER_MAX }).check().is_err());
        for rate in [Rate::iops(1), Rate::iops(IOPS_MAX), Rate { ios: 1, per: PER_MAX }, Rate { ios: 1, per: Nanos(1) }]
        {
            assert_eq!(Arrival::Fixed(rate).check(), Ok(()), "{rate:?}");
        }
        for (time_percent, works) in [(0, false), (1, true), (100, true), (100_001, false)] {
            assert_eq!(Arrival::Recorded { time_percent }.check().is_ok(), works, "{time_percent} %");
        }
        assert_eq!(Rate { ios: 2, per: Nanos::secs(4) }.per_second(), Some(Iops(0.5)));
    }
}
