//! Times in nanoseconds.

use crate::{Kind, UnitError, serde_as_text, short, split, whole};
use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;
use std::time::Duration;

/// A length of time in nanoseconds: a latency, a run time, a time stamp within a run.
///
/// Text: `70us`, `1.5ms`, `30s`, `2m`, `1h`, `1d`. The unit is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

const KIND: Kind = Kind { what: "time", example: "30s, 70us or 2m", known: "ns, us, ms, s, m, h, d" };

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl Nanos {
    /// No time.
    pub const ZERO: Nanos = Nanos(0);

    /// `n` microseconds.
    pub const fn micros(n: u64) -> Self {
        Nanos(n * 1_000)
    }
    /// `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Nanos(n * 1_000_000)
    }
    /// `n` seconds.
    pub const fn secs(n: u64) -> Self {
        Nanos(n * 1_000_000_000)
    }
    /// From seconds as a fraction; negative and NaN become zero, too large becomes the maximum.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Nanos((seconds * 1e9).round() as u64)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// As the standard library's duration.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
    /// From the standard library's duration, saturating after 584 years.
    pub fn from_duration(duration: Duration) -> Self {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
    /// The difference, zero when `other` is later.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Lossless text in the largest unit that divides the value.
    pub fn exact(self) -> String {
        for (name, factor) in UNITS.iter().rev() {
            if self.0 != 0 && self.0.is_multiple_of(*factor) {
                return format!("{}{name}", self.0 / factor);
            }
        }
        "0ns".to_owned()
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

/// Rounded for people: `86.2 us`, `1.5 ms`, `30 s`, `2 min 5 s`, `3 h 20 min`, `5 d 2 h`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0 as f64;
        let seconds = self.0 / 1_000_000_000;
        let two = |big: u64, big_name: &str, small: u64, small_name: &str| {
            if small == 0 { format!("{big} {big_name}") } else { format!("{big} {big_name} {small} {small_name}") }
        };
        f.pad(&match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{} us", short(v / 1e3)),
            1_000_000..1_000_000_000 => format!("{} ms", short(v / 1e6)),
            1_000_000_000..120_000_000_000 => format!("{} s", short(v / 1e9)),
            _ if seconds < 7_200 => two(seconds / 60, "min", seconds % 60, "s"),
            _ if seconds < 172_800 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
            _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
        })
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (mantissa, scale, unit) = split(text, &KIND)?;
        let alias = match unit {
            "sec" | "secs" => "s",
            "min" => "m",
            "usec" | "µs" | "μs" => "us",
            "msec" => "ms",
            other => other,
        };
        let factor = UNITS.iter().find(|(name, _)| *name == alias).map(|(_, factor)| *factor);
        let Some(factor) = factor.or((unit.is_empty() && mantissa == 0).then_some(1)) else {
            return Err(UnitError::Unit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                what: KIND.what,
                known: KIND.known,
            });
        };
        whole(text, mantissa, scale, u128::from(factor), &KIND).map(Nanos)
    }
}

serde_as_text!(Nanos);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        assert_eq!("70us".parse(), Ok(Nanos(70_000)));
        assert_eq!("1.5m".parse(), Ok(Nanos::secs(90)));
        // fio 3.33 reads 30sec as 30 microseconds and 10min as 10 microseconds.
        assert_eq!("30sec".parse(), Ok(Nanos::secs(30)));
        assert_eq!("10min".parse(), Ok(Nanos::secs(600)));
        for text in ["30", "", "s", "-1s", "0.5ns", "1 week", "99999999999999d"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn for_people() {
        let shown: Vec<String> =
            [0, 999, 86_200, 1_500_000, 30_000_000_000, 125_000_000_000, 12_000_000_000_000, 439_200_000_000_000]
                .iter()
                .map(|n| Nanos(*n).to_string())
                .collect();
        assert_eq!(shown, ["0 ns", "999 ns", "86.2 us", "1.5 ms", "30 s", "2 min 5 s", "3 h 20 min", "5 d 2 h"]);
    }

    proptest! {
        #[test]
        fn exact_text_is_lossless(value: u64) {
            prop_assert_eq!(Nanos(value).exact().parse::<Nanos>(), Ok(Nanos(value)));
        }
    }
}
