//! The short text forms of a load's values, in fio's words: what suites, load files and the command
//! line share, such as `zipf:1.2`, `4KiB/60:64KiB/40` or `2/3s`.

use crate::{Offsets, RandomShares, Rate, RateProcess, Rw, SizeRule, SizeShare, Sizes, Verify, WriteHint, Zone};
use flashlab_units::Nanos;
use serde::{Deserialize, Deserializer, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A text that is none of the forms of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}; write {forms}")]
pub struct TextError {
    /// Such as "distribution".
    what: &'static str,
    text: String,
    forms: &'static str,
}

fn refuse<T>(what: &'static str, text: &str, forms: &'static str) -> Result<T, TextError> {
    Err(TextError { what, text: text.to_owned(), forms })
}

const OFFSETS: &str = "random, once, zipf:THETA, pareto:H, normal:PERCENT, or zoned:ACCESS/SPACE:… in percent";

/// In fio's words: `random`, `once` (each block once a pass), `zipf:1.2`, `pareto:0.2`, `normal:10`,
/// `zoned:90/10:10/90`.
impl FromStr for Offsets {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let number = |rest: &str| rest.parse::<f64>().ok();
        let offsets = match (word, rest) {
            ("random", None) => Some(Offsets::Repeats),
            ("once", None) => Some(Offsets::Once),
            ("zipf", Some(rest)) => number(rest).map(|theta| Offsets::Zipf { theta }),
            ("pareto", Some(rest)) => number(rest).map(|h| Offsets::Pareto { h }),
            ("normal", Some(rest)) => number(rest).map(|deviation_percent| Offsets::Normal { deviation_percent }),
            ("zoned", Some(rest)) => rest.split(':').map(zone).collect::<Option<_>>().map(Offsets::Zones),
            _ => None,
        };
        offsets.map_or_else(|| refuse("distribution", text, OFFSETS), Ok)
    }
}

fn zone(text: &str) -> Option<Zone> {
    let (access, space) = text.split_once('/')?;
    Some(Zone { access_percent: access.parse().ok()?, space_percent: space.parse().ok()? })
}

impl fmt::Display for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offsets::Repeats => f.write_str("random"),
            Offsets::Once => f.write_str("once"),
            Offsets::Zipf { theta } => write!(f, "zipf:{theta}"),
            Offsets::Pareto { h } => write!(f, "pareto:{h}"),
            Offsets::Normal { deviation_percent } => write!(f, "normal:{deviation_percent}"),
            Offsets::Zones(zones) => {
                f.write_str("zoned")?;
                zones.iter().try_for_each(|z| write!(f, ":{}/{}", z.access_percent, z.space_percent))
            }
        }
    }
}

const SIZES: &str = "SIZE, MIN-MAX, MIN-MAX/STEP, or SIZE/PERCENT:…; one for all directions, or reads,writes,trims";

/// `4KiB`, a range `4KiB-64KiB` in steps of its smallest size (or `4KiB-64KiB/8KiB`), a split
/// `4KiB/60:64KiB/40`; one for all directions, or one each for reads, writes and trims with commas
/// between, where those left out are as the first.
impl FromStr for Sizes {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let rules: Option<Vec<SizeRule>> = text.split(',').map(size_rule).collect();
        match rules.as_deref() {
            Some([all]) => Ok(Sizes::all(all.clone())),
            Some([read, write]) => Ok(Sizes { read: read.clone(), write: write.clone(), trim: read.clone() }),
            Some([read, write, trim]) => Ok(Sizes { read: read.clone(), write: write.clone(), trim: trim.clone() }),
            _ => refuse("list of sizes", text, SIZES),
        }
    }
}

fn size_rule(text: &str) -> Option<SizeRule> {
    if let Some((min, rest)) = text.split_once('-') {
        let (max, step) = rest.split_once('/').map_or((rest, min), |(max, step)| (max, step));
        return Some(SizeRule::Range { min: min.parse().ok()?, max: max.parse().ok()?, step: step.parse().ok()? });
    }
    if !text.contains('/') {
        return text.parse().ok().map(SizeRule::Fixed);
    }
    let share = |part: &str| {
        let (bs, percent) = part.split_once('/')?;
        Some(SizeShare { bs: bs.parse().ok()?, percent: percent.parse().ok()? })
    };
    text.split(':').map(share).collect::<Option<_>>().map(SizeRule::Split)
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.read == self.write && self.read == self.trim {
            return write!(f, "{}", self.read);
        }
        write!(f, "{},{},{}", self.read, self.write, self.trim)
    }
}

impl fmt::Display for SizeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeRule::Fixed(bs) => f.write_str(&bs.exact()),
            SizeRule::Range { min, max, step } if step == min => write!(f, "{}-{}", min.exact(), max.exact()),
            SizeRule::Range { min, max, step } => write!(f, "{}-{}/{}", min.exact(), max.exact(), step.exact()),
            SizeRule::Split(shares) => {
                let parts: Vec<String> = shares.iter().map(|s| format!("{}/{}", s.bs.exact(), s.percent)).collect();
                f.write_str(&parts.join(":"))
            }
        }
    }
}

/// Requests a second, `20000`, or in a time, `2/3s`.
impl FromStr for Rate {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (ios, per) = text.split_once('/').map_or((text, None), |(ios, per)| (ios, Some(per)));
        let per = per.map_or(Some(Nanos::secs(1)), |per| per.parse().ok());
        match (ios.replace('_', "").parse(), per) {
            (Ok(ios), Some(per)) => Ok(Rate { ios, per }),
            _ => refuse("rate of requests", text, "requests a second such as 20000, or in a time such as 2/3s"),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.per == Nanos::secs(1) {
            write!(f, "{}", self.ios)
        } else {
            write!(f, "{}/{}", self.ios, self.per.exact())
        }
    }
}

/// `50`, or one share each for reads, writes and trims with commas between, where the last one that is given
/// holds for the directions after it.
impl FromStr for RandomShares {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let shares: Option<Vec<u8>> = text.split(',').map(|part| part.parse().ok().filter(|p| *p <= 100)).collect();
        match shares.as_deref() {
            Some([all]) => Ok(RandomShares::all(*all)),
            Some([read, write]) => Ok(RandomShares { read: *read, write: *write, trim: *write }),
            Some([read, write, trim]) => Ok(RandomShares { read: *read, write: *write, trim: *trim }),
            _ => refuse("list of shares", text, "0 to 100; one for all directions, or reads,writes,trims"),
        }
    }
}

impl fmt::Display for RandomShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == RandomShares::all(self.read) {
            return write!(f, "{}", self.read);
        }
        write!(f, "{},{},{}", self.read, self.write, self.trim)
    }
}

/// Bytes as hexadecimal digits, such as `0xdeadbeef`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BytePattern(pub Vec<u8>);

impl FromStr for BytePattern {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let nibbles: Option<Vec<u8>> = digits.chars().map(|c| Some(c.to_digit(16)? as u8)).collect();
        match nibbles.filter(|n| !n.is_empty() && n.len() % 2 == 0) {
            Some(nibbles) => Ok(BytePattern(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())),
            None => refuse("pattern", text, "hexadecimal digits, two a byte, such as 0xdeadbeef"),
        }
    }
}

impl fmt::Display for BytePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A closed list of words, for texts.
macro_rules! words {
    ($type:ty, $what:literal, $forms:literal, [$($word:literal => $value:expr),+ $(,)?]) => {
        #[doc = concat!("One of: ", $forms, ".")]
        impl FromStr for $type {
            type Err = TextError;

            fn from_str(text: &str) -> Result<Self, TextError> {
                match text {
                    $($word => Ok($value),)+
                    _ => refuse($what, text, $forms),
                }
            }
        }
    };
}

words!(Rw, "access pattern", "read, write, randread, randwrite, randrw, rw, trim or randtrim", [
    "read" => Rw::Read, "write" => Rw::Write, "randread" => Rw::RandRead, "randwrite" => Rw::RandWrite,
    "randrw" => Rw::RandRw, "rw" => Rw::ReadWrite, "readwrite" => Rw::ReadWrite, "trim" => Rw::Trim,
    "randtrim" => Rw::RandTrim,
]);
words!(RateProcess, "process of arrivals", "linear or poisson", [
    "linear" => RateProcess::Linear, "poisson" => RateProcess::Poisson,
]);
words!(Verify, "way to verify", "off, stamp, read-back or check", [
    "off" => Verify::Off, "stamp" => Verify::Stamp, "read-back" => Verify::ReadBack, "check" => Verify::Check,
]);
words!(WriteHint, "write hint", "none, short, medium, long or extreme", [
    "none" => WriteHint::None, "short" => WriteHint::Short, "medium" => WriteHint::Medium,
    "long" => WriteHint::Long, "extreme" => WriteHint::Extreme,
]);

/// For serde: a value as its text.
pub(crate) fn write<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// For serde: a value, or none, as its text.
pub(crate) fn write_some<T: fmt::Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// For serde: a value from its text, or from a whole number.
pub(crate) fn read<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    struct Text<T>(std::marker::PhantomData<T>);
    impl<T: FromStr<Err: fmt::Display>> de::Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
    }
    deserializer.deserialize_any(Text(std::marker::PhantomData))
}

/// For serde: as [`read`], for a key that may be left out.
pub(crate) fn read_some<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    read(deserializer).map(Some)
}

/// For serde: a list of numbers, or one number.
pub(crate) fn read_axis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    struct Axis;
    impl<'de> de::Visitor<'de> for Axis {
        type Value = Vec<u32>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number or a list of numbers")
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Vec<u32>, E> {
            u32::try_from(number).map(|n| vec![n]).map_err(E::custom)
        }
        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Vec<u32>, E> {
            u32::try_from(number).map(|n| vec![n]).map_err(E::custom)
        }
        fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Vec<u32>, A::Error> {
            Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(Axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_units::Bytes;

    #[test]
    fn texts_come_back_as_they_were() {
        for text in ["random", "once", "zipf:1.2", "pareto:0.2", "normal:10", "zoned:90/10:10/90"] {
            assert_eq!(text.parse::<Offsets>().map(|o| o.to_string()).as_deref(), Ok(text));
        }
        for text in ["4KiB", "4KiB-64KiB", "4KiB-64KiB/12KiB", "4KiB/60:64KiB/40", "4KiB,8KiB,512B"] {
            assert_eq!(text.parse::<Sizes>().map(|o| o.to_string()).as_deref(), Ok(text));
        }
        for text in ["20000", "2/3s"] {
            assert_eq!(text.parse::<Rate>().map(|o| o.to_string()).as_deref(), Ok(text));
        }
        for text in ["50", "0,100,30"] {
            assert_eq!(text.parse::<RandomShares>().map(|o| o.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("10,20".parse(), Ok(RandomShares { read: 10, write: 20, trim: 20 }));
        assert_eq!("0xDEad".parse::<BytePattern>().map(|p| p.to_string()).as_deref(), Ok("0xdead"));
        let two: Sizes = "4k,8k".parse().expect("two rules");
        assert_eq!((two.trim.clone(), two.largest()), (two.read, Bytes::kib(8)));
    }

    #[test]
    fn other_texts_are_refused_with_the_forms() {
        let says = |error: String, forms: &str| assert!(error.contains(forms), "{error}");
        for text in ["zipf", "zipf:x", "random:1", "zoned:1", "Zipf:1"] {
            says(text.parse::<Offsets>().expect_err(text).to_string(), "zipf:THETA");
        }
        for text in ["", "4", "4k-", "4k/x", "4k,4k,4k,4k"] {
            says(text.parse::<Sizes>().expect_err(text).to_string(), "MIN-MAX");
        }
        for text in ["", "1.5", "1/2", "-1"] {
            says(text.parse::<Rate>().expect_err(text).to_string(), "2/3s");
        }
        for text in ["", "101", "1,2,3,4", "5%"] {
            says(text.parse::<RandomShares>().expect_err(text).to_string(), "reads,writes,trims");
        }
        for text in ["", "0x", "0x1", "0xgg"] {
            says(text.parse::<BytePattern>().expect_err(text).to_string(), "two a byte");
        }
        says("randraed".parse::<Rw>().expect_err("a slip").to_string(), "randread");
    }
}
