//! The text of blkparse in its default format.
//!
//! An event is `DEVICE CPU SEQUENCE SECONDS.NANOSECONDS PID ACTION RWBS`, then `SECTOR + SECTORS` where
//! it is about data. Sectors have 512 B whatever the drive's logical block. The totals at the end are
//! left out.

use super::{Entry, Event, Expected, Raw};
use flashlab_spec::Direction;

/// The kernel's unit in block traces.
const SECTOR: u64 = 512;
/// Actions that blkparse prints beside Q, D and C: of requests on their way, plugging and messages.
const OTHER_ACTIONS: [&str; 15] = ["A", "B", "F", "G", "I", "M", "P", "R", "S", "T", "U", "UT", "W", "X", "m"];
const EVENT: &str = "DEVICE CPU SEQUENCE SECONDS.NANOSECONDS PID ACTION RWBS and SECTOR + SECTORS, \
                     as blkparse writes them without -f";
const RANGE: &str = "a sector and a time that fit 64 bits in bytes and nanoseconds";

/// Reads the lines.
#[derive(Debug, Default)]
pub(super) struct Blkparse {
    /// Whether the totals at the end have begun.
    totals: bool,
}

/// The words that every event begins with.
struct Head<'a> {
    device: &'a str,
    time: &'a str,
    action: &'a str,
    rwbs: &'a str,
}

/// What kind of request RWBS names.
enum Kind {
    Data(Direction),
    Flush,
    Other,
}

/// Whether this is an event.
pub(super) fn is_event(text: &str) -> bool {
    head(&mut text.split_ascii_whitespace()).is_some()
}

fn head<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Head<'a>> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (device, cpu, sequence) = (words.next()?, words.next()?, words.next()?);
    let (time, pid, action, rwbs) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (major, minor) = device.split_once(',')?;
    let (seconds, nanos) = time.split_once('.')?;
    let numbers = [major, minor, cpu, sequence, seconds, nanos, pid];
    (numbers.into_iter().all(is_number) && nanos.len() == 9).then_some(Head { device, time, action, rwbs })
}

impl Blkparse {
    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Entry<'a>, Expected> {
        let mut words = text.split_ascii_whitespace();
        let Some(head) = head(&mut words) else { return self.between(text) };
        let event = match head.action {
            "C" => Event::Completed,
            "Q" => Event::Queued,
            "D" => Event::Issued,
            action if OTHER_ACTIONS.contains(&action) => return Ok(Entry::Skip("events other than Q, D and C")),
            _ => return Err(EVENT),
        };
        let direction = match kind(head.rwbs) {
            Kind::Data(direction) => direction,
            Kind::Flush => return Ok(Entry::Skip("flushes")),
            Kind::Other => return Ok(Entry::Skip("commands that are no read, write or discard")),
        };
        let number = |word: &str| word.parse::<u64>().map_err(|_| EVENT);
        let (sector, plus, sectors) = (words.next().ok_or(EVENT)?, words.next(), words.next());
        // Nothing but the command, or bytes in brackets: an empty write that carries a flush, or a command
        // of its own kind. A completion without sectors still has the place of one, and -t adds a time.
        let is_remark = |word: &str| word.starts_with(['[', '(']);
        if is_remark(sector) || plus.is_some_and(is_remark) {
            return Ok(Entry::Skip("requests that name no sectors"));
        }
        if plus != Some("+") {
            return Err(EVENT);
        }
        let bytes = |word: &str| number(word)?.checked_mul(SECTOR).ok_or(RANGE);
        let (offset, length) = (bytes(sector)?, bytes(sectors.ok_or(EVENT)?)?);
        let (seconds, nanos) = head.time.split_once('.').ok_or(EVENT)?;
        let at = number(seconds)?.checked_mul(1_000_000_000).and_then(|s| s.checked_add(number(nanos).ok()?));
        Ok(Entry::Request(Raw { at: at.ok_or(RANGE)?, direction, offset, length, device: head.device, event }))
    }

    /// A line that is no event: blank, about an input file, or of the totals.
    fn between<'a>(&mut self, text: &str) -> Result<Entry<'a>, Expected> {
        let text = text.trim();
        let cpu = text.strip_prefix("CPU").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        self.totals |= (cpu || text.starts_with("Total (")) && text.ends_with("):");
        if text.is_empty() {
            return Ok(Entry::Nothing);
        }
        if self.totals || (text.starts_with("Input file ") && text.ends_with(" added")) {
            return Ok(Entry::Skip("lines about files and totals"));
        }
        Err(EVENT)
    }
}

/// An F before the direction asks for a flush first, and the letters after it don't matter here.
fn kind(rwbs: &str) -> Kind {
    let flush = rwbs.starts_with('F');
    match rwbs.as_bytes().get(usize::from(flush)) {
        Some(b'R') => Kind::Data(Direction::Read),
        Some(b'W') => Kind::Data(Direction::Write),
        Some(b'D') => Kind::Data(Direction::Trim),
        _ if flush => Kind::Flush,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events() {
        let mut parser = Blkparse::default();
        for (line, expected) in [
            ("259,0  12  345  7.000000250  99  D  RA 8 + 16 [a b]", Some((Direction::Read, 4096, 8192))),
            (
                "  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]",
                Some((Direction::Write, 114_426_880, 4096)),
            ),
            ("  8,0    3        1     0.000000000   697  Q FWFS 16 + 8 [x]", Some((Direction::Write, 8192, 4096))),
            ("  8,0    3        1     0.000000000   697  C  DS 0 + 2048 [0]", Some((Direction::Trim, 0, 1 << 20))),
            ("  8,0    3        1     0.000000000     0  D  DE 0 + 8 (  231) [x]", Some((Direction::Trim, 0, 4096))),
        ] {
            match parser.line(line) {
                Ok(Entry::Request(raw)) => {
                    assert_eq!(Some((raw.direction, raw.offset, raw.length)), expected, "{line}")
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        let at = match parser.line("259,0 12 345 7.000000250 99 D R 8 + 16 [a]") {
            Ok(Entry::Request(raw)) => raw.at,
            other => panic!("{other:?}"),
        };
        assert_eq!(at, 7_000_000_250);
    }

    #[test]
    fn lines_without_data_are_left_out_by_kind() {
        let mut parser = Blkparse::default();
        for (line, kind) in [
            ("Input file sda.blktrace.0 added", "lines about files and totals"),
            ("8,0 3 1 0.000000000 697 P N [kjournald]", "events other than Q, D and C"),
            ("8,0 3 1 0.000000000 697 A WS 1 + 8 <- (8,1) 1", "events other than Q, D and C"),
            ("8,0 3 0 0.000000000 0 m N cfq1A / alloced", "events other than Q, D and C"),
            ("8,0 3 1 0.000000000 697 D FN [kworker]", "flushes"),
            ("8,0 3 1 0.000000000 697 Q FF [kworker]", "flushes"),
            ("8,0 3 1 0.000000000 697 Q FWS [kworker]", "requests that name no sectors"),
            ("8,0 3 1 0.000000000 697 C FWS 0 [0]", "requests that name no sectors"),
            ("8,0 3 1 0.000000000 697 D FWS (     100) [kworker/0:1 H]", "requests that name no sectors"),
            ("8,0 3 1 0.000000000 697 C FWS 0 (   89800) [0]", "requests that name no sectors"),
            ("8,0 3 1 0.000000000 697 C R (12 01 ..) [0]", "requests that name no sectors"),
            ("8,0 3 1 0.000000000 697 D N 36 (12 01 00 00) [udevd]", "commands that are no read, write or discard"),
            ("8,0 3 1 0.000000000 697 D R 36 (12 01 00 00) [udevd]", "requests that name no sectors"),
            ("CPU0 (sda):", "lines about files and totals"),
            (" Reads Queued:  1, 4KiB  Writes Queued:  2,  8KiB", "lines about files and totals"),
        ] {
            assert_eq!(parser.line(line), Ok(Entry::Skip(kind)), "{line}");
        }
    }

    #[test]
    fn broken_lines() {
        for (line, says) in [
            ("8,0 3 1 0.000000000 697 D R 8 + ", EVENT),
            ("8,0 3 1 0.000000000 697 D R 8", EVENT),
            ("8,0 3 1 0.000000000 697 D R 8 - 8", EVENT),
            ("8,0 3 1 0.000000000 697 D R x + 8", EVENT),
            ("8,0 3 1 0.000000000 697 ? R 8 + 8", EVENT),
            ("8,0 3 1 0.0000 697 D R 8 + 8", EVENT),
            ("8 3 1 0.000000000 697 D R 8 + 8", EVENT),
            (" Reads Queued:  1, 4KiB", EVENT),
            ("8,0 3 1 0.000000000 697 D R 99999999999999999 + 8", RANGE),
            ("8,0 3 1 99999999999.000000000 697 D R 8 + 8", RANGE),
        ] {
            assert_eq!(Blkparse::default().line(line), Err(says), "{line}");
        }
    }
}
