//! The CSV of the MSR Cambridge traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Timestamp and response time are in ticks of 100 ns, as Windows counts them; offset and size in
//! bytes.

use super::{Entry, Event, Expected, Raw};
use flashlab_spec::Direction;

/// Nanoseconds a tick.
const TICK_NS: u64 = 100;
const ROW: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime with a type of Read or Write";
const RANGE: &str = "a timestamp in ticks of 100 ns that fits 584 years";
const COLUMNS: [&str; 7] = ["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"];

/// Reads the rows.
#[derive(Debug, Default)]
pub(super) struct Msr {
    /// Whether the first row is over, before which the names of the columns may stand.
    begun: bool,
}

/// Whether this is a row, or the names of the columns.
pub(super) fn is_row(text: &str) -> bool {
    is_names(text) || matches!(row(text), Ok(Entry::Request(_)))
}

fn is_names(text: &str) -> bool {
    text.split(',').map(str::trim).eq_ignore_case(COLUMNS)
}

/// Compares without regard to case.
trait EqIgnoreCase<'a>: Iterator<Item = &'a str> + Sized {
    fn eq_ignore_case(mut self, names: [&str; 7]) -> bool {
        names.into_iter().all(|name| self.next().is_some_and(|word| word.eq_ignore_ascii_case(name)))
            && self.next().is_none()
    }
}

impl<'a, I: Iterator<Item = &'a str>> EqIgnoreCase<'a> for I {}

impl Msr {
    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Entry<'a>, Expected> {
        if text.trim().is_empty() {
            return Ok(Entry::Nothing);
        }
        if !std::mem::replace(&mut self.begun, true) && is_names(text) {
            return Ok(Entry::Nothing);
        }
        row(text)
    }
}

fn row(text: &str) -> Result<Entry<'_>, Expected> {
    let (time, rest) = text.split_once(',').ok_or(ROW)?;
    let mut fields = rest.split(',');
    let (host, disk) = (fields.next().ok_or(ROW)?, fields.next().ok_or(ROW)?);
    // The host, the comma and the disk, as they stand in the row.
    let device = rest.get(..host.len() + 1 + disk.len()).ok_or(ROW)?.trim();
    let kind = fields.next().ok_or(ROW)?.trim();
    let mut number = || fields.next().and_then(|field| field.trim().parse::<u64>().ok()).ok_or(ROW);
    let (offset, length, _response) = (number()?, number()?, number()?);
    if fields.next().is_some() {
        return Err(ROW);
    }
    let direction = if kind.eq_ignore_ascii_case("read") {
        Direction::Read
    } else if kind.eq_ignore_ascii_case("write") {
        Direction::Write
    } else {
        return Err(ROW);
    };
    let ticks: u64 = time.trim().parse().map_err(|_| ROW)?;
    let at = ticks.checked_mul(TICK_NS).ok_or(RANGE)?;
    Ok(Entry::Request(Raw { at, direction, offset, length, device, event: Event::Issued }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let raw = |text| match row(text) {
            Ok(Entry::Request(raw)) => (raw.at, raw.direction, raw.offset, raw.length, raw.device.to_owned()),
            other => panic!("{text}: {other:?}"),
        };
        // A time stamp of the year 2007 and one of 2026 in nanoseconds fit 64 bits.
        assert_eq!(
            raw("128166372003061629,host0,3,Read,7014609920,24576,41286"),
            (12_816_637_200_306_162_900, Direction::Read, 7_014_609_920, 24_576, "host0,3".into())
        );
        assert_eq!(raw("134000000000000000, h , 0 , write , 512 , 512 , 0").4, "h , 0");
        for (bad, says) in [
            ("", ROW),
            ("1,h,0,Read,0,512", ROW),
            ("1,h,0,Read,0,512,1,1", ROW),
            ("x,h,0,Read,0,512,1", ROW),
            ("1,h,0,Erase,0,512,1", ROW),
            ("1,h,0,Read,-1,512,1", ROW),
            ("1,h,0,Read,0,5.5,1", ROW),
            ("1,h,0,Read,0,512,", ROW),
            ("999999999999999999,h,0,Read,0,512,1", RANGE),
        ] {
            assert_eq!(row(bad), Err(says), "{bad}");
        }
    }

    #[test]
    fn the_names_of_the_columns_stand_only_first() {
        let names = COLUMNS.join(",");
        let mut msr = Msr::default();
        assert_eq!(msr.line(&names), Ok(Entry::Nothing));
        assert_eq!(msr.line(&names), Err(ROW));
        assert!(is_row(&names.to_lowercase()) && !is_row("Timestamp,Response,IOType,LUN,Offset,Size"));
    }
}
