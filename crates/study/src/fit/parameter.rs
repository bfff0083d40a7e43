//! A free parameter: its key in a profile, its bounds, and the axis on which the search moves it.

use flashlab_spec::SpecError;
use flashlab_units::{BytesPerSecond, Nanos};
use toml::Value;

/// Least relative change of a time, rate or count whose effect is told from the noise of a modelled point.
const STEP: f64 = 0.03;
/// The same of a share, as a part of its range.
const STEP_OF_A_SHARE: f64 = 0.04;
/// Digits that a fitted value keeps: the next one is far inside any interval.
const DIGITS: i32 = 4;

/// What a parameter is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nanoseconds.
    Time,
    /// Bytes a second.
    Rate,
    /// A whole number.
    Count,
    /// A number without a unit, moved in proportion to its range.
    Share,
    /// The same where the bounds lie a factor of ten or more apart, moved by its logarithm.
    WideShare,
}

/// From this factor between its bounds on a share is moved by its logarithm.
const WIDE: f64 = 10.0;

/// A parameter that a fit may change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Free {
    /// Table and key, such as `nand.dies`.
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// Where the search begins, in the base unit.
    pub(crate) start: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Free {
    /// From the texts of a fit plan; `place` says where they stand.
    pub(crate) fn new(key: &str, [start, low, high]: [&Value; 3], place: &str) -> Result<Self, SpecError> {
        let refuse = |value: &Value, reason: &str| SpecError::Value {
            file: place.to_owned(),
            key: key.to_owned(),
            value: value.to_string(),
            reason: reason.to_owned(),
            remedy: "give start, low and high in one unit, with 0 < low <= start <= high".into(),
        };
        let read = |value: &Value| number(value).ok_or_else(|| refuse(value, "it is no time, rate, count or share"));
        let ((kind, start_value), low_value, high_value) = (read(start)?, read(low)?, read(high)?);
        if low_value.0 != kind || high_value.0 != kind {
            return Err(refuse(low, "the bounds have another unit than the start"));
        }
        let (low_value, high_value) = (low_value.1, high_value.1);
        let above_zero = low_value > 0.0 || (kind == Kind::Share && low_value >= 0.0);
        if !(above_zero && low_value <= start_value && start_value <= high_value && low_value < high_value) {
            return Err(refuse(start, "it does not lie between its bounds"));
        }
        let wide = kind == Kind::Share && low_value > 0.0 && high_value >= WIDE * low_value;
        let kind = if wide { Kind::WideShare } else { kind };
        Ok(Free { key: key.to_owned(), kind, start: start_value, low: low_value, high: high_value })
    }

    /// On the axis of the search: the logarithm, of a share the part of its range.
    pub(crate) fn on_axis(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Share => (value - self.low) / (self.high - self.low),
            Kind::Time | Kind::Rate | Kind::Count | Kind::WideShare => value.ln(),
        }
    }

    /// Back from the axis, within the bounds and with as many digits as a profile gets.
    pub(crate) fn value_at(&self, at: f64) -> f64 {
        let at = at.clamp(self.on_axis(self.low), self.on_axis(self.high));
        let value = match self.kind {
            Kind::Share => self.low + at * (self.high - self.low),
            Kind::Time | Kind::Rate | Kind::Count | Kind::WideShare => at.exp(),
        };
        self.rounded(value).clamp(self.low, self.high)
    }

    /// Step on the axis by which an effect is measured at `value`.
    pub(crate) fn step(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Share => STEP_OF_A_SHARE,
            Kind::Count => STEP.max(((value + 1.0) / value).ln()),
            Kind::Time | Kind::Rate => STEP,
            Kind::WideShare => 2.0 * STEP,
        }
    }

    /// How far apart two values are that stand for "known within a factor of two".
    pub(crate) fn wide(&self) -> f64 {
        match self.kind {
            Kind::Share => 0.25,
            Kind::Time | Kind::Rate | Kind::Count | Kind::WideShare => std::f64::consts::LN_2,
        }
    }

    fn rounded(&self, value: f64) -> f64 {
        if self.kind == Kind::Count {
            return value.round();
        }
        if value <= 0.0 {
            return 0.0;
        }
        let unit = 10f64.powi(value.log10().floor() as i32 + 1 - DIGITS);
        let rounded = (value / unit).round() * unit;
        // Times are whole nanoseconds; what is left of a product of powers of ten is cut off.
        if self.kind == Kind::Time { rounded.round() } else { format!("{rounded:.9}").parse().unwrap_or(rounded) }
    }

    /// As a profile says it.
    pub(crate) fn value(&self, value: f64) -> Value {
        match self.kind {
            Kind::Time => Value::String(Nanos(value as u64).exact()),
            Kind::Rate => Value::String(rate(value)),
            Kind::Count => Value::Integer(value as i64),
            Kind::Share | Kind::WideShare => Value::Float(value),
        }
    }

    /// For people and notes.
    pub(crate) fn text(&self, value: f64) -> String {
        match self.kind {
            Kind::Time => Nanos(value.round() as u64).to_string(),
            Kind::Rate => BytesPerSecond(value).to_string(),
            Kind::Count => format!("{value:.0}"),
            Kind::Share | Kind::WideShare => format!("{value:.3}"),
        }
    }
}

/// Four digits in powers of 1000.
fn rate(value: f64) -> String {
    let (scale, unit) = if value >= 1e9 { (1e9, "GB/s") } else { (1e6, "MB/s") };
    let number = value / scale;
    let decimals = (DIGITS - 1 - number.log10().floor() as i32).max(0) as usize;
    format!("{number:.decimals$}{unit}")
}

/// Kind and base value of a TOML value.
fn number(value: &Value) -> Option<(Kind, f64)> {
    match value {
        Value::Integer(n) => Some((Kind::Count, *n as f64)),
        Value::Float(x) => Some((Kind::Share, *x)),
        Value::String(text) if text.ends_with("/s") => Some((Kind::Rate, text.parse::<BytesPerSecond>().ok()?.0)),
        Value::String(text) => Some((Kind::Time, text.parse::<Nanos>().ok()?.0 as f64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(start: Value, low: Value, high: Value) -> Result<Free, SpecError> {
        Free::new("nand.read_time", [&start, &low, &high], "fit.toml")
    }

    #[test]
    fn values_keep_their_unit_and_four_digits() {
        let text = |s: &str| Value::String(s.into());
        let time = free(text("70us"), text("20us"), text("200us")).expect("good");
        assert_eq!(time.value_at(time.on_axis(81_234.6)), 81_230.0);
        assert_eq!(time.value(81_230.0), text("81230ns"));
        assert_eq!(time.value_at(f64::MAX), 200_000.0, "within the bounds");
        let rate = free(text("1GB/s"), text("0.1GB/s"), text("10GB/s")).expect("good");
        assert_eq!(rate.value(rate.value_at(rate.on_axis(886_049_123.0))), text("886.0MB/s"));
        assert_eq!(rate.value(4.111e9), text("4.111GB/s"));
        let count = free(Value::Integer(200), Value::Integer(1), Value::Integer(1000)).expect("good");
        assert_eq!(count.value(count.value_at(count.on_axis(248.4))), Value::Integer(248));
        let share = free(Value::Float(0.5), Value::Float(0.0), Value::Float(1.0)).expect("good");
        assert_eq!((share.on_axis(0.25), share.value_at(0.123_456)), (0.25, 0.1235));
    }

    #[test]
    fn bounds_must_hold_the_start() {
        let text = |s: &str| Value::String(s.into());
        assert!(free(text("10us"), text("20us"), text("200us")).is_err());
        assert!(free(text("30us"), text("20MB/s"), text("200us")).is_err());
        assert!(free(Value::Boolean(true), text("1us"), text("2us")).is_err());
        assert!(free(text("30us"), text("0us"), text("200us")).is_err());
    }
}
