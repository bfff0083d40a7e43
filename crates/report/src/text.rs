//! Text of numbers and of foreign strings, for terminal and page alike.
//!
//! Everything a person reads passes through here: strings that came from devices, files or the
//! command line are cleaned by [`clean`], numbers are printed by the types of `units` or, where a
//! column has one fixed unit, divided by a factor that `units` gives.

use flashlab_samples::{Coordinates, DriveState, Metric, MetricName, PointResult};
use flashlab_units::{Bytes, BytesPerSecond, Iops, Nanos};

/// Durations from here on are shown in hours and minutes.
const SECONDS_SHOWN_BELOW: f64 = 7200.0;

/// What stands for "not measured"; never zero.
pub(crate) const NONE: &str = "–";

/// Replaces what could move the cursor, colour the terminal or reverse the reading order: control
/// characters and the bidirectional controls of Unicode. Markup is escaped where it is written.
pub(crate) fn clean(text: &str) -> String {
    let hostile = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if hostile(c) { '\u{fffd}' } else { c }).collect()
}

/// A whole number with separators: `1,234,567`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number for a column of one fixed unit: separators, and as many decimals as give three digits.
pub(crate) fn plain(value: f64) -> String {
    if value >= 1000.0 {
        grouped(value.round() as u64)
    } else if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A share as percent: `4.1 %`, `20 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// An error as percent with its sign: `+4.1 %`, `−20 %`.
pub(crate) fn signed_percent(share: f64) -> String {
    let text = percent(share.abs());
    let sign = match share {
        _ if text == percent(0.0) => "",
        s if s < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{text}")
}

/// A latency in ns for people; fractions of a ns are not shown.
pub(crate) fn latency(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}

/// Bytes a second in one unit of `units`, such as `MB/s`.
pub(crate) fn rate_unit(unit: &str) -> f64 {
    format!("1{unit}").parse::<BytesPerSecond>().map_or(1.0, |one| one.0)
}

/// Bytes in one unit of `units`, such as `TB`.
pub(crate) fn byte_unit(unit: &str) -> f64 {
    format!("1{unit}").parse::<Bytes>().map_or(1.0, |one| one.0 as f64)
}

/// A figure for people, with its unit.
pub(crate) fn figure(metric: &Metric) -> String {
    number(metric.name, metric.value)
}

/// The value `v`, in the base unit of `name`, for people and with its unit.
pub fn number(name: MetricName, v: f64) -> String {
    match name {
        MetricName::Bandwidth => BytesPerSecond(v).si(),
        MetricName::Iops => Iops(v).to_string(),
        MetricName::Seconds => seconds(v),
        MetricName::WriteAmplification => format!("{v:.2}"),
        MetricName::FreePool => Bytes(v.round().max(0.0) as u64).si(),
        _ => latency(v),
    }
}

/// A duration for people. Checkpoints are compared in seconds and reviews print them so; only what
/// takes hours is shown in hours.
fn seconds(v: f64) -> String {
    if (1.0..SECONDS_SHOWN_BELOW).contains(&v) { format!("{v:.1} s") } else { Nanos::from_secs_f64(v).to_string() }
}

/// A value for a column whose heading names the unit: MB/s and IOPS; others carry their unit.
pub(crate) fn in_column(name: MetricName, value: f64) -> String {
    match name {
        MetricName::Bandwidth => plain(value / rate_unit("MB/s")),
        MetricName::Iops => plain(value),
        _ => number(name, value),
    }
}

/// A figure in its base unit, as exported.
pub(crate) fn exact(metric: &Metric) -> String {
    format!("{} {}", metric.value, metric.name.unit())
}

/// What a figure is called in headings and hover texts.
pub(crate) const fn label(name: MetricName) -> &'static str {
    match name {
        MetricName::Bandwidth => "bandwidth",
        MetricName::Iops => "IOPS",
        MetricName::LatMean => "mean",
        MetricName::LatP50 => "p50",
        MetricName::LatP99 => "p99",
        MetricName::LatP999 => "p99.9",
        MetricName::LatP9999 => "p99.99",
        MetricName::LatMax => "max",
        MetricName::Seconds => "duration",
        MetricName::WriteAmplification => "write amplification",
        MetricName::FreePool => "free pool",
    }
}

/// A metric of a point, where it was taken.
pub(crate) fn metric(point: &PointResult, name: MetricName) -> Option<&Metric> {
    point.metrics.iter().find(|m| m.name == name)
}

/// Where a point lies, in words: `iodepth 32, numjobs 4`.
pub(crate) fn place(at: &Coordinates) -> String {
    let part = |name: &str, value: Option<u32>| value.map(|v| format!("{name} {v}"));
    let parts: Vec<String> =
        [part("iodepth", at.iodepth), part("numjobs", at.numjobs), part("threads", at.threads), part("pass", at.pass)]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() { NONE.into() } else { parts.join(", ") }
}

/// The field's short form of a place: `32/4` is iodepth 32, numjobs 4.
pub(crate) fn short_place(at: &Coordinates) -> String {
    match (at.iodepth, at.numjobs) {
        (Some(depth), Some(jobs)) => format!("{depth}/{jobs}"),
        _ => place(at),
    }
}

/// The fills that made a state: `2 fills, last at 128 KiB`; `None` without a fill.
pub(crate) fn fills(state: &DriveState) -> Option<String> {
    let last = state.last_fill_bs.map(|bs| format!(", last at {bs}")).unwrap_or_default();
    let plural = if state.fills == 1 { "" } else { "s" };
    (state.fills > 0).then(|| format!("{} fill{plural}{last}", state.fills))
}

/// A state in words and numbers: `after-fill, 2 fills, last at 128 KiB`.
pub(crate) fn state(state: &DriveState) -> String {
    let word = state.condition.word();
    fills(state).map_or_else(|| word.to_owned(), |fills| format!("{word}, {fills}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::Condition;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([4111.05, 534.2, 12.34, 1.234, 0.0].map(plain), ["4,111", "534", "12.3", "1.23", "0.00"]);
        assert_eq!([0.0412, 0.2].map(percent), ["4.1 %", "20 %"]);
        assert_eq!(latency(86_210.4), "86.2 us");
    }

    #[test]
    fn every_figure_has_its_unit() {
        let shown = MetricName::ALL.map(|name| number(name, 464.906));
        let rates = ["465 B/s", "465 IOPS"];
        assert_eq!(shown[..2], rates);
        assert!(shown[2..8].iter().all(|latency| latency == "465 ns"), "{shown:?}");
        assert_eq!(shown[8..], ["464.9 s", "464.91", "465 B"]);
        assert_eq!(number(MetricName::Bandwidth, 4.11105e9), "4.11 GB/s");
        assert_eq!(number(MetricName::Seconds, 30_000.0), "8 h 20 min");
        assert_eq!(number(MetricName::Seconds, 0.25), "250 ms");
        assert_eq!(number(MetricName::FreePool, -1.0), "0 B", "a rounding error below zero is no space");
    }

    #[test]
    fn errors_keep_their_sign() {
        assert_eq!([0.0412, -0.2, -0.0004].map(signed_percent), ["+4.1 %", "−20 %", "0 %"]);
    }

    #[test]
    fn unit_factors_come_from_units() {
        assert_eq!((rate_unit("MB/s"), rate_unit("GB/s")), (1e6, 1e9));
        assert_eq!((byte_unit("TB"), byte_unit("GiB")), (1e12, 1_073_741_824.0));
    }

    #[test]
    fn foreign_text_cannot_steer_a_terminal_or_the_reading_order() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d\u{85}é漢"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}é漢");
    }

    #[test]
    fn states() {
        let s = DriveState { condition: Condition::AfterFill, fills: 2, last_fill_bs: Some(Bytes::kib(128)) };
        assert_eq!(state(&s), "after-fill, 2 fills, last at 128 KiB");
        assert_eq!(state(&DriveState::UNKNOWN), "unknown");
    }
}
