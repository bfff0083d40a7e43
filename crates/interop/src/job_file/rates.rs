//! `rate` and `rate_iops` as an open loop.
//!
//! fio caps each direction of each job. In a mixed job with both directions capped the caps decide the
//! mix, whatever rwmixread says, and a direction without a cap takes all the rest; found by running
//! fio 3.33.

use super::FioJob;
use super::build::Builder;
use super::options::Key;
use super::sections::Entry;
use super::values::{self, Fault};
use crate::InteropError;
use crate::error::shown;
use flashlab_spec::{Arrival, Rate, Rw};
use flashlab_units::{Bytes, Nanos};

/// Longest time that a rate is given in; beyond it the exact fraction is rounded to nanoseconds.
const PER_S_MAX: u64 = 86_400;
const NOTE: &str = "requests arrive evenly at this rate whatever the drive does, and latency counts from \
                    then; fio sends late what the drive delays, and counts from when it is sent";

/// Requests in a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fraction {
    ios: u64,
    seconds: u64,
}

/// Sets a job's arrival, and the mix where rates decide it.
pub(super) fn apply(builder: &mut Builder<'_>, job: &mut FioJob) -> Result<(), InteropError> {
    let process = builder.read(Key::RateProcess, |_, text| match text {
        "linear" => Ok(false),
        "poisson" => Ok(true),
        _ => Err((format!("`{}` is no process", shown(text)), "use linear or poisson".into())),
    })?;
    let (rate, iops) = (builder.section.get(Key::Rate), builder.section.get(Key::RateIops));
    let (entry, caps) = match (rate, iops) {
        (None, None) => return Ok(()),
        (Some(entry), Some(_)) => {
            let fault = ("rate_iops is given too, and fio takes only one".into(), "leave one of them out".into());
            return Err(builder.refuse(entry, fault));
        }
        (Some(entry), None) => (entry, caps(entry, |text| bytes_a_second(text, entry))),
        (None, Some(entry)) => (entry, caps(entry, |text| values::count(text).map(u64::from))),
    };
    let caps = caps.map_err(|fault| builder.refuse(entry, fault))?;
    let of = |direction: usize| {
        let cap = caps[direction].filter(|cap| *cap > 0)?;
        let bytes = if entry.key == Key::Rate { job.bs[direction].0 } else { 1 };
        Some(Fraction { ios: cap, seconds: bytes }.reduced())
    };
    let total = match job.rw {
        Rw::Read | Rw::RandRead => of(0),
        Rw::Write | Rw::RandWrite => of(1),
        Rw::Trim | Rw::RandTrim => of(2),
        Rw::ReadWrite | Rw::RandRw => match (of(0), of(1)) {
            (None, None) => None,
            (Some(read), Some(write)) => Some(mixed(builder, job, entry, read, write)?),
            _ => {
                let reason = "it caps one direction of a mixed job, and the other one takes all the rest";
                return Err(builder.refuse(entry, (reason.into(), "cap both, or use two jobs".into())));
            }
        },
    };
    let Some(total) = total else { return Ok(()) };
    let rate = total.rate();
    job.arrival = if process == Some(true) { Arrival::Poisson(rate) } else { Arrival::Fixed(rate) };
    builder.note(entry.line, NOTE);
    Ok(())
}

/// Caps of reads, writes and trims; the last one that is given holds for the directions after it.
fn caps(entry: &Entry, read: impl Fn(&str) -> Result<u64, Fault>) -> Result<[Option<u64>; 3], Fault> {
    let slots: Vec<&str> = entry.value.as_deref().unwrap_or("").split(',').collect();
    let mut caps = [None; 3];
    if slots.len() > caps.len() {
        return Err((format!("it has {} rates", slots.len()), "give those of reads, writes and trims".into()));
    }
    for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.is_empty()) {
        let end = if index + 1 == slots.len() { caps.len() } else { index + 1 };
        caps[index..end].fill(Some(read(slot)?));
    }
    Ok(caps)
}

fn bytes_a_second(text: &str, entry: &Entry) -> Result<u64, Fault> {
    values::bytes(text, entry.base).map(|(Bytes(value), _)| value)
}

/// Both directions together, and the share of reads that their caps make.
fn mixed(
    builder: &mut Builder<'_>,
    job: &mut FioJob,
    entry: &Entry,
    read: Fraction,
    write: Fraction,
) -> Result<Fraction, InteropError> {
    let too_fine = || (format!("{} and {} requests don't add up", read.ios, write.ios), "use rounder rates".to_owned());
    let total = read.plus(write).ok_or_else(|| builder.refuse(entry, too_fine()))?;
    let share = read.ios as f64 / read.seconds as f64 / (total.ios as f64 / total.seconds as f64);
    let percent = (share * 100.0).round() as u8;
    if percent != job.rwmixread {
        let text = format!("the rates make {percent} % reads, whatever rwmixread says ({})", job.rwmixread);
        builder.note(entry.line, text);
    }
    job.rwmixread = percent;
    Ok(total)
}

impl Fraction {
    fn reduced(self) -> Self {
        let divisor = gcd(self.ios, self.seconds).max(1);
        Fraction { ios: self.ios / divisor, seconds: self.seconds / divisor }
    }

    fn plus(self, other: Self) -> Option<Self> {
        let seconds = self.seconds.checked_mul(other.seconds)?;
        let ios = self.ios.checked_mul(other.seconds)?.checked_add(other.ios.checked_mul(self.seconds)?)?;
        Some(Fraction { ios, seconds }.reduced())
    }

    /// Exact where the time is not too long, else to a nanosecond in a thousand gaps.
    fn rate(self) -> Rate {
        if self.seconds <= PER_S_MAX {
            return Rate { ios: self.ios, per: Nanos::secs(self.seconds) };
        }
        const MANY: u128 = 1_000;
        let nanos = MANY * u128::from(self.seconds) * 1_000_000_000 / u128::from(self.ios.max(1));
        Rate { ios: MANY as u64, per: Nanos(u64::try_from(nanos).unwrap_or(u64::MAX)) }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_where_they_can_be() {
        let rate = |ios, seconds| Fraction { ios, seconds }.reduced().rate();
        // 12500k bytes a second in blocks of 8k.
        assert_eq!(rate(12_800_000, 8_192), Rate { ios: 3_125, per: Nanos::secs(2) });
        assert_eq!(rate(1_000_003, 1 << 20), Rate { ios: 1_000, per: Nanos(1_048_572_854_281) });
        let sum = Fraction { ios: 1, seconds: 2 }.plus(Fraction { ios: 1, seconds: 3 });
        assert_eq!(sum, Some(Fraction { ios: 5, seconds: 6 }));
        assert_eq!(Fraction { ios: 1, seconds: u64::MAX }.plus(Fraction { ios: 1, seconds: 2 }), None);
    }
}
