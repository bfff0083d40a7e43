//! Sizes and offsets in bytes.

use crate::{BytesPerSecond, Kind, Nanos, UnitError, serde_as_text, short, split, whole};
use std::fmt;
use std::str::FromStr;

/// A number of bytes: a size, an offset or an amount moved.
///
/// Text: `4KiB`, `1.5GiB` (IEC), `122.88TB`, `512B` (SI). A bare letter is binary, as in fio and
/// in the names of workloads: `128K` is 131,072 bytes, `1G` is 2^30. A bare number is refused
/// except `0`, because it could mean bytes or sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const KIND: Kind = Kind {
    what: "size",
    example: "4K, 1GiB or 122.88TB",
    known: "B, K/KiB, M/MiB, G/GiB, T/TiB, P/PiB (powers of 1024), kB, MB, GB, TB, PB (powers of 1000)",
};

const IEC: [(&str, u64); 5] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("PiB", 1 << 50)];
const SI: [(&str, u64); 5] =
    [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("PB", 1_000_000_000_000_000)];

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` KiB (2^10 bytes each).
    pub const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }
    /// `n` MiB (2^20 bytes each).
    pub const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }
    /// `n` GiB (2^30 bytes each).
    pub const fn gib(n: u64) -> Self {
        Bytes(n << 30)
    }

    /// The average rate of moving these bytes in `time`; `None` for no time.
    pub fn over(self, time: Nanos) -> Option<BytesPerSecond> {
        (time.0 > 0).then(|| BytesPerSecond(self.0 as f64 * 1e9 / time.0 as f64))
    }

    /// Lossless text that parses back to the same value: the shortest of those in whole IEC units, whole
    /// SI units and bytes.
    pub fn exact(self) -> String {
        let whole = |(name, factor): &(&str, u64)| {
            (self.0 != 0 && self.0.is_multiple_of(*factor)).then(|| format!("{}{name}", self.0 / factor))
        };
        let all = IEC.iter().chain(&SI).filter_map(whole);
        all.chain([format!("{}B", self.0)]).min_by_key(String::len).unwrap_or_default()
    }

    /// Powers of 1000 for people, rounded: `122.88 TB`.
    pub fn si(self) -> String {
        Self::human(self.0, &SI)
    }

    /// Powers of 1024 for people, rounded: `1.5 GiB`.
    pub fn iec(self) -> String {
        Self::human(self.0, &IEC)
    }

    /// The block-size form used in workload names: `4k`, `128k`, `1m`; exact bytes otherwise.
    pub fn block_name(self) -> String {
        match self.0 {
            b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}m", b >> 20),
            b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}k", b >> 10),
            b => format!("{b}b"),
        }
    }

    fn human(value: u64, table: &[(&str, u64)]) -> String {
        for (name, factor) in table.iter().rev() {
            if value >= *factor {
                let scaled = value as f64 / *factor as f64;
                return if (100.0..1000.0).contains(&scaled) && !value.is_multiple_of(*factor) {
                    format!("{} {name}", format!("{scaled:.2}").trim_end_matches('0').trim_end_matches('.'))
                } else {
                    format!("{} {name}", short(scaled))
                };
            }
        }
        format!("{value} B")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.iec())
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (mantissa, scale, unit) = split(text, &KIND)?;
        let bare = |u: &str| {
            let letter = u.len() == 1;
            IEC.iter().find(|(name, _)| letter && name.get(..1).is_some_and(|n| n.eq_ignore_ascii_case(u)))
        };
        let factor = if unit == "B" || (unit.is_empty() && mantissa == 0) {
            1
        } else if let Some((_, factor)) = IEC.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            *factor
        } else if let Some((_, factor)) = SI.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            *factor
        } else if let Some((_, factor)) = bare(unit) {
            *factor
        } else {
            return Err(UnitError::Unit {
                text: text.to_owned(),
                unit: unit.to_owned(),
                what: KIND.what,
                known: KIND.known,
            });
        };
        whole(text, mantissa, scale, u128::from(factor), &KIND).map(Bytes)
    }
}

serde_as_text!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn si_and_iec_are_apart() {
        assert_eq!("1MB".parse(), Ok(Bytes(1_000_000)));
        assert_eq!("1MiB".parse(), Ok(Bytes(1_048_576)));
        assert_eq!("1M".parse(), Ok(Bytes(1_048_576)));
        assert_eq!("122.88TB".parse(), Ok(Bytes(122_880_000_000_000)));
        assert_eq!("128k".parse(), Ok(Bytes(131_072)));
        assert_eq!("1.5 GiB".parse(), Ok(Bytes(1_610_612_736)));
        assert_eq!("0".parse(), Ok(Bytes(0)));
    }

    #[test]
    fn what_fio_reads_as_one_byte_is_refused_or_right() {
        // fio 3.33 reads size=1.5G as 1 byte and size=10x as 16.
        assert_eq!("1.5G".parse(), Ok(Bytes(1_610_612_736)));
        assert!("10x".parse::<Bytes>().is_err());
        assert!("0x10".parse::<Bytes>().is_err());
    }

    #[test]
    fn bad_sizes_say_what_to_write() {
        for text in ["", "  ", "K", "12", "1.0001K", "-4K", "4 Kb/s", "999999999P", "1.2.3K", "1e3K"] {
            let error = text.parse::<Bytes>().expect_err(text).to_string();
            assert!(error.contains("size"), "{error}");
        }
    }

    #[test]
    fn exact_text_is_the_shortest() {
        assert_eq!(Bytes(122_880_000_000_000).exact(), "122880GB");
        assert_eq!((Bytes::kib(128).exact().as_str(), Bytes(1000).exact().as_str()), ("128KiB", "1kB"));
        assert_eq!((Bytes(0).exact().as_str(), Bytes(513).exact().as_str()), ("0B", "513B"));
    }

    #[test]
    fn for_people() {
        assert_eq!(Bytes(122_880_000_000_000).si(), "122.88 TB");
        assert_eq!(Bytes::gib(1).to_string(), "1 GiB");
        assert_eq!(Bytes(1_000_000).si(), "1 MB");
        assert_eq!(Bytes(17).to_string(), "17 B");
        assert_eq!(Bytes::kib(128).block_name(), "128k");
        assert_eq!(Bytes::mib(1).block_name(), "1m");
        assert_eq!(Bytes(512).block_name(), "512b");
    }

    proptest! {
        #[test]
        fn exact_text_is_lossless(value: u64) {
            prop_assert_eq!(Bytes(value).exact().parse::<Bytes>(), Ok(Bytes(value)));
        }

        #[test]
        fn never_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
        }
    }
}
