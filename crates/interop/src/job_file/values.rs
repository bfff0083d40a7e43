//! fio's numbers, sizes and times, by fio's rules.
//!
//! A number is whole; what fio would read as another one than it looks like is refused, with what to
//! write instead.

use super::Extent;
use flashlab_units::{Bytes, Nanos};

/// What is wrong with a value, and what to write.
pub(super) type Fault = (String, String);

/// The base of fio's prefixes.
///
/// With 1024, the default, `k`, `kb` and even `ki` are 1024 and `kib` is 1000: fio keeps its old files
/// working, and turned IEC around. With 1000, `k`, `kb` and `ki` are 1000 and `kib` is 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum KbBase {
    /// `kb_base=1024`.
    #[default]
    Binary,
    /// `kb_base=1000`.
    Decimal,
}

const LETTERS: [char; 5] = ['k', 'm', 'g', 't', 'p'];

/// A size in bytes, and what its author may not have meant.
pub(super) fn bytes(text: &str, base: KbBase) -> Result<(Bytes, Option<String>), Fault> {
    let (number, unit) = number(text)?;
    let unit = unit.to_ascii_lowercase();
    let mut letters = unit.chars();
    let power = match letters.next() {
        None => return Ok((Bytes(number), None)),
        Some(letter) => LETTERS.iter().position(|l| *l == letter).map(|at| at as u32 + 1),
    };
    let rest = letters.as_str();
    let (Some(power), true) = (power, ["", "b", "i", "ib"].contains(&rest)) else {
        let remedy = "use k, m, g, t or p, which are powers of 1024 to fio unless kb_base says otherwise";
        return Err((format!("`{unit}` is no unit of size"), remedy.to_owned()));
    };
    // A full IEC suffix means the base that the other suffixes don't have.
    let factor: u64 = if (rest == "ib") == (base == KbBase::Decimal) { 1024 } else { 1000 };
    let value = factor.checked_pow(power).and_then(|f| f.checked_mul(number)).map(Bytes);
    let value = value.ok_or_else(|| (format!("`{text}` is too large"), "give less than 16 EiB".to_owned()))?;
    let odd = factor == 1000 && ["i", "ib"].contains(&rest);
    let note = odd.then(|| {
        let base = if base == KbBase::Binary { 1024 } else { 1000 };
        format!("`{text}` is {} bytes to fio, with kb_base={base}", value.0)
    });
    Ok((value, note))
}

/// A size, or a percentage of the target.
pub(super) fn extent(text: &str, base: KbBase) -> Result<(Extent, Option<String>), Fault> {
    let Some(percent) = text.strip_suffix('%') else {
        return bytes(text, base).map(|(value, note)| (Extent::Bytes(value), note));
    };
    match percent.parse::<u8>() {
        Ok(percent @ 1..=100) => Ok((Extent::Percent(percent), None)),
        _ => Err((format!("`{text}` is no share of the target"), "use 1% to 100%, in whole percent".into())),
    }
}

/// A time, in seconds where no unit is given.
pub(super) fn time(text: &str) -> Result<Nanos, Fault> {
    const UNITS: [(&str, u64); 9] = [
        ("", 1_000_000_000),
        ("us", 1_000),
        ("usec", 1_000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ];
    let (number, unit) = number(text)?;
    let unit = unit.to_ascii_lowercase();
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let remedy = if unit == "sec" || unit == "min" {
            // fio 3.33 ran 30sec as 30 us and 10min as 10 us.
            format!("fio takes it for microseconds: write {number}{}", &unit[..1])
        } else {
            "use us, ms, s, m, h or d; no unit is seconds".to_owned()
        };
        return Err((format!("`{unit}` is no unit of time"), remedy));
    };
    let value = number.checked_mul(*factor).map(Nanos);
    value.ok_or_else(|| (format!("`{text}` is too long"), "give less than 584 years".into()))
}

/// A whole number without a unit.
pub(super) fn count(text: &str) -> Result<u32, Fault> {
    let remedy = || "give a whole number without a unit, such as 32".to_owned();
    match number(text)? {
        (value, "") => u32::try_from(value).map_err(|_| (format!("`{text}` is too large"), remedy())),
        _ => Err((format!("`{text}` is no plain number"), remedy())),
    }
}

/// On or off: nothing, 1 or 0.
pub(super) fn flag(text: Option<&str>) -> Result<bool, Fault> {
    match text {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err((format!("`{other}` is neither 0 nor 1"), "leave the value out, or give 0 or 1".into())),
    }
}

/// The number at the start of a text and the letters after it.
fn number(text: &str) -> Result<(u64, &str), Fault> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hex {
        let value = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
        let fault = || (format!("`{text}` is no number"), "write it in decimal".to_owned());
        return value.map(|v| (v, "")).ok_or_else(fault);
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    if unit.starts_with('.') {
        let remedy =
            format!("fio reads it as {}: write it in a smaller unit", if digits.is_empty() { "0" } else { digits });
        return Err((format!("`{text}` is no whole number"), remedy));
    }
    if unit.starts_with(char::is_whitespace) || unit.starts_with(['(', '*']) || digits.is_empty() {
        return Err((format!("`{text}` is no number"), "write the number itself, without blanks or sums".into()));
    }
    let value = digits.parse().map_err(|_| (format!("`{text}` is too large"), "give less than 2^64".to_owned()))?;
    Ok((value, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_fio_reads_them() {
        use KbBase::{Binary, Decimal};
        for (text, base, value, has_note) in [
            ("4096", Binary, 4096, false),
            ("4k", Binary, 4096, false),
            ("4K", Binary, 4096, false),
            ("4kb", Binary, 4096, false),
            ("4ki", Binary, 4096, false),
            ("4KiB", Binary, 4000, true),
            ("1gib", Binary, 1_000_000_000, true),
            ("1m", Binary, 1 << 20, false),
            ("2T", Binary, 2 << 40, false),
            ("1p", Binary, 1 << 50, false),
            ("4k", Decimal, 4000, false),
            ("4kib", Decimal, 4096, false),
            ("4Ki", Decimal, 4000, true),
            ("0x1000", Binary, 4096, false),
            ("0", Binary, 0, false),
        ] {
            let (bytes, note) = bytes(text, base).expect(text);
            assert_eq!((bytes, note.is_some()), (Bytes(value), has_note), "{text}");
        }
    }

    #[test]
    fn what_fio_misreads_is_refused() {
        let size = |text: &str| bytes(text, KbBase::Binary).map(drop);
        let span = |text: &str| time(text).map(drop);
        let part = |text: &str| extent(text, KbBase::Binary).map(drop);
        for (outcome, says) in [
            (size("1.5G"), "fio reads it as 1"),
            (size(".5G"), "fio reads it as 0"),
            (size("10x"), "`x` is no unit"),
            (size("0x"), "no number"),
            (size("0x+1"), "no number"),
            (size(""), "no number"),
            (size("-1"), "no number"),
            (size(" 8k"), "no number"),
            (size("8 k"), "without blanks"),
            (size("(2*4)"), "without blanks or sums"),
            (size("8*$pagesize"), "without blanks or sums"),
            (size("4kilo"), "no unit of size"),
            (size("16384p"), "too large"),
            (size("99999999999999999999"), "too large"),
            (span("1.5m"), "fio reads it as 1"),
            (span("30sec"), "write 30s"),
            (span("10min"), "write 10m"),
            (span("1w"), "no unit of time"),
            (span("99999999d"), "too long"),
            (part("0%"), "1% to 100%"),
            (part("101%"), "1% to 100%"),
            (part("12.5%"), "1% to 100%"),
            (count("4k").map(drop), "no plain number"),
            (count("9999999999").map(drop), "too large"),
            (flag(Some("yes")).map(drop), "neither 0 nor 1"),
        ] {
            let (reason, remedy) = outcome.expect_err(says);
            assert!(format!("{reason}; {remedy}").contains(says), "{says}: {reason}; {remedy}");
        }
    }

    #[test]
    fn times_and_counts() {
        for (text, nanos) in [("10", 10_000_000_000), ("2m", 120_000_000_000), ("15ms", 15_000_000), ("7usec", 7_000)] {
            assert_eq!(time(text), Ok(Nanos(nanos)), "{text}");
        }
        assert_eq!((count("0x20"), flag(None), flag(Some("0"))), (Ok(32), Ok(true), Ok(false)));
        assert_eq!(extent("80%", KbBase::Binary), Ok((Extent::Percent(80), None)));
        assert_eq!(Extent::Percent(80).of(Bytes(u64::MAX)), Bytes((u128::from(u64::MAX) * 80 / 100) as u64));
    }
}
