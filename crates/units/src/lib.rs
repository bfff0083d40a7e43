//! Bytes, rates, IOPS and nanoseconds as types, with parsing and printing.
//!
//! First in the flow: every other crate speaks in these types, so that a raw number never crosses
//! a crate boundary. SI (`MB`, powers of 1000) and IEC (`MiB`, powers of 1024) are kept apart in
//! text: what is printed always says which one it is. This crate must not know about drives,
//! files or results.

mod bytes;
mod nanos;
mod rate;

pub use bytes::Bytes;
pub use nanos::Nanos;
pub use rate::{BytesPerSecond, Iops};

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is empty.
    #[error("empty {what}; write a number with a unit, such as {example}")]
    Empty {
        /// What was expected, such as "size".
        what: &'static str,
        /// A text that would have worked.
        example: &'static str,
    },
    /// The digits do not form a number.
    #[error("`{text}` is not a {what}: `{number}` is no number; write it as {example}")]
    Number {
        /// The whole text.
        text: String,
        /// The part that should have been a number.
        number: String,
        /// What was expected.
        what: &'static str,
        /// A text that would have worked.
        example: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("`{text}` is not a {what}: {}; use one of {known}", if unit.is_empty() { "the unit is missing".to_owned() } else { format!("unit `{unit}` is unknown") })]
    Unit {
        /// The whole text.
        text: String,
        /// The unit as written, empty when missing.
        unit: String,
        /// What was expected.
        what: &'static str,
        /// The units that exist.
        known: &'static str,
    },
    /// The value does not fit, is negative, or is not a whole number of the smallest unit.
    #[error("`{text}` is out of range for a {what}: {reason}")]
    Range {
        /// The whole text.
        text: String,
        /// What was expected.
        what: &'static str,
        /// What is wrong with the value.
        reason: &'static str,
    },
}

/// What kind of text is being read, for messages.
struct Kind {
    what: &'static str,
    example: &'static str,
    known: &'static str,
}

/// Splits `12.5 MiB` into an exact decimal fraction (numerator, power of ten) and the unit.
fn split<'a>(text: &'a str, kind: &Kind) -> Result<(u128, u32, &'a str), UnitError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(UnitError::Empty { what: kind.what, example: kind.example });
    }
    let end =
        trimmed.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+'))).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let bad = || UnitError::Number {
        text: text.to_owned(),
        number: number.to_owned(),
        what: kind.what,
        example: kind.example,
    };
    if number.starts_with('-') {
        return Err(UnitError::Range { text: text.to_owned(), what: kind.what, reason: "it is negative" });
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    if whole.is_empty() || digits.is_empty() || digits.len() > 30 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let scale = fraction.chars().filter(|c| *c != '_').count() as u32;
    Ok((digits.parse().map_err(|_| bad())?, scale, unit.trim()))
}

/// `mantissa × 10^-scale × factor`, exact, as a whole number.
fn whole(text: &str, mantissa: u128, scale: u32, factor: u128, kind: &Kind) -> Result<u64, UnitError> {
    let range = |reason| UnitError::Range { text: text.to_owned(), what: kind.what, reason };
    let product = mantissa.checked_mul(factor).ok_or_else(|| range("it is too large"))?;
    let divisor = 10u128.pow(scale);
    if product % divisor != 0 {
        return Err(range("it is not a whole number of the smallest unit"));
    }
    u64::try_from(product / divisor).map_err(|_| range("it is too large"))
}

/// Three significant digits or more, without trailing zeros after the point.
fn short(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.exact())
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
