//! Rates: bytes per second and operations per second.

use crate::{Bytes, Kind, Nanos, UnitError, short, split};
use std::fmt;
use std::str::FromStr;

/// Bytes per second. Text: `14.7GB/s`, `500MiB/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct BytesPerSecond(pub f64);

/// I/O operations per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Iops(pub f64);

const KIND: Kind = Kind {
    what: "rate",
    example: "14.7GB/s or 500MiB/s",
    known: "B/s, kB/s, MB/s, GB/s (powers of 1000), KiB/s, MiB/s, GiB/s (powers of 1024)",
};

const UNITS: [(&str, f64); 7] = [
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];

impl BytesPerSecond {
    /// Powers of 1000 for people: `4.11 GB/s`.
    pub fn si(self) -> String {
        format!("{}/s", Bytes(self.0.round().max(0.0) as u64).si())
    }

    /// Powers of 1024 for people: `3,920 MiB/s` is printed as `3.83 GiB/s`.
    pub fn iec(self) -> String {
        format!("{}/s", Bytes(self.0.round().max(0.0) as u64).iec())
    }

    /// How long `bytes` take at this rate; the longest time for a rate of zero.
    pub fn time_for(self, bytes: Bytes) -> Nanos {
        Nanos::from_secs_f64(bytes.0 as f64 / self.0)
    }

    /// Lossless text.
    pub fn exact(self) -> String {
        for (name, factor) in [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)] {
            let text = format!("{}{name}", self.0 / factor);
            if self.0 >= factor && text.parse::<BytesPerSecond>() == Ok(self) {
                return text;
            }
        }
        format!("{}B/s", self.0)
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.si())
    }
}

impl FromStr for BytesPerSecond {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (mantissa, scale, unit) = split(text, &KIND)?;
        let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(UnitError::Unit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                what: KIND.what,
                known: KIND.known,
            });
        };
        // One rounding: the decimal text as written is parsed by the standard library.
        let number: f64 = text.trim().trim_end_matches(unit).trim().replace('_', "").parse().unwrap_or_default();
        debug_assert!((number - mantissa as f64 / 10f64.powi(scale as i32)).abs() <= number.abs() * 1e-9);
        Ok(BytesPerSecond(number * factor))
    }
}

crate::serde_as_text!(BytesPerSecond);

impl Iops {
    /// `ios` operations in `time`; `None` for no time.
    pub fn over(ios: u64, time: Nanos) -> Option<Iops> {
        (time.0 > 0).then(|| Iops(ios as f64 * 1e9 / time.0 as f64))
    }
}

/// For people: `11.5K IOPS`, `2.06M IOPS`.
impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        f.pad(&if v >= 1e6 {
            format!("{}M IOPS", short(v / 1e6))
        } else if v >= 1e3 {
            format!("{}K IOPS", short(v / 1e3))
        } else {
            format!("{} IOPS", short(v))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_and_print() {
        assert_eq!("14.7GB/s".parse(), Ok(BytesPerSecond(14.7e9)));
        assert_eq!("2MiB/s".parse(), Ok(BytesPerSecond(2_097_152.0)));
        assert!("14.7 GB".parse::<BytesPerSecond>().is_err());
        assert_eq!(BytesPerSecond(14.7e9).exact(), "14.7GB/s");
        assert_eq!(BytesPerSecond(4.11105e9).to_string(), "4.11 GB/s");
        assert_eq!(BytesPerSecond(3.83 * 1_073_741_824.0).iec(), "3.83 GiB/s");
        assert_eq!(Iops(2_060_877.0).to_string(), "2.06M IOPS");
        assert_eq!(Iops(950.0).to_string(), "950 IOPS");
    }

    #[test]
    fn time_for_a_fill() {
        assert_eq!(BytesPerSecond(4e9).time_for(Bytes(8_000_000_000)), Nanos::secs(2));
        assert_eq!(BytesPerSecond(0.0).time_for(Bytes(1)), Nanos(u64::MAX));
    }
}
