//! fio's iolog, versions 2 and 3.
//!
//! Version 2: `FILE ACTION [OFFSET LENGTH]`, times only by `wait`. Version 3: the same after a time in
//! microseconds since the start (found by writing one with fio 3.33 at a known rate).

use super::{Entry, Event, Expected, Raw};
use flashlab_spec::Direction;

/// What the number after `wait` means in version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waits {
    /// As fio's manual has it: microseconds since the last wait.
    #[default]
    Manual,
    /// As fio 3.33 acts: until so many milliseconds after the start.
    AsFioActs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Unknown,
    Two,
    Three,
}

/// Reads the lines of an iolog.
#[derive(Debug)]
pub(super) struct Iolog {
    version: Version,
    waits: Waits,
    waited: bool,
    /// Nanoseconds since the start, in version 2.
    clock: u64,
}

const HEADER: &str = "the first line `fio version 2 iolog` or `fio version 3 iolog`";
const TWO: &str = "FILE ACTION, or FILE ACTION OFFSET LENGTH with a read, write, trim, sync, datasync or wait";
const THREE: &str = "TIME FILE ACTION, or TIME FILE ACTION OFFSET LENGTH with a read, write, trim, sync or datasync";
const RANGE: &str = "a time that fits 584 years";

/// Whether this is an iolog's first line, of a version we know or not.
pub(super) fn is_header(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    [words.next(), words.next()] == [Some("fio"), Some("version")] && words.nth(1) == Some("iolog")
}

impl Iolog {
    pub(super) fn new(waits: Waits) -> Self {
        Iolog { version: Version::Unknown, waits, waited: false, clock: 0 }
    }

    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Entry<'a>, Expected> {
        let mut words = text.split_ascii_whitespace();
        let expected = match self.version {
            Version::Unknown => return self.header(text),
            Version::Two => TWO,
            Version::Three => THREE,
        };
        let Some(first) = words.next() else { return Ok(Entry::Nothing) };
        let (at, device) = if self.version == Version::Three {
            let micros: u64 = first.parse().map_err(|_| expected)?;
            (micros.checked_mul(1_000).ok_or(RANGE)?, words.next().ok_or(expected)?)
        } else {
            (self.clock, first)
        };
        let action = words.next().ok_or(expected)?;
        let numbers: [Option<&str>; 3] = [words.next(), words.next(), words.next()];
        let number = |text: &str| text.parse::<u64>().map_err(|_| expected);
        match (action, numbers) {
            ("add" | "open" | "close", [None, None, None]) => Ok(Entry::Skip("adds, opens and closes of files")),
            ("sync" | "datasync", [Some(offset), Some(length), None]) => {
                number(offset).and(number(length))?;
                Ok(Entry::Skip("flushes"))
            }
            ("wait", [Some(time), Some(_), None]) if self.version == Version::Two => self.wait(number(time)?),
            ("read" | "write" | "trim", [Some(offset), Some(length), None]) => {
                let direction = match action {
                    "read" => Direction::Read,
                    "write" => Direction::Write,
                    _ => Direction::Trim,
                };
                let (offset, length) = (number(offset)?, number(length)?);
                Ok(Entry::Request(Raw { at, direction, offset, length, device, event: Event::Issued }))
            }
            _ => Err(expected),
        }
    }

    fn header<'a>(&mut self, text: &str) -> Result<Entry<'a>, Expected> {
        let number = is_header(text).then(|| text.split_ascii_whitespace().nth(2)).flatten();
        self.version = match number {
            Some("2") => Version::Two,
            Some("3") => Version::Three,
            _ => return Err(HEADER),
        };
        Ok(Entry::Nothing)
    }

    fn wait<'a>(&mut self, time: u64) -> Result<Entry<'a>, Expected> {
        self.waited = true;
        self.clock = match self.waits {
            Waits::Manual => time.checked_mul(1_000).and_then(|t| self.clock.checked_add(t)),
            Waits::AsFioActs => time.checked_mul(1_000_000).map(|t| t.max(self.clock)),
        }
        .ok_or(RANGE)?;
        Ok(Entry::Nothing)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.waited && self.waits == Waits::Manual {
            let note = "waits are taken as fio's manual has them, microseconds since the last one; \
                        fio 3.33 itself waits until so many milliseconds after the start";
            notes.push(note.to_owned());
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_of(entry: Result<Entry<'_>, Expected>) -> u64 {
        match entry {
            Ok(Entry::Request(raw)) => raw.at,
            other => panic!("no request: {other:?}"),
        }
    }

    #[test]
    fn waits_have_two_readings() {
        for (waits, times, notes) in
            [(Waits::Manual, [0, 1_000_000, 3_000_000], 1), (Waits::AsFioActs, [0, 1_000_000_000, 2_000_000_000], 0)]
        {
            let mut log = Iolog::new(waits);
            assert_eq!(log.line("fio version 2 iolog"), Ok(Entry::Nothing));
            assert_eq!(at_of(log.line("/f read 0 4096")), times[0]);
            assert_eq!(log.line("/f wait 1000 0"), Ok(Entry::Nothing));
            assert_eq!(at_of(log.line("/f write 0 4096")), times[1]);
            assert_eq!(log.line("/f wait 2000 0"), Ok(Entry::Nothing));
            assert_eq!(at_of(log.line("/f trim 0 4096")), times[2]);
            // A wait for what has passed goes on at once.
            assert_eq!(log.line("/f wait 0 0"), Ok(Entry::Nothing));
            assert_eq!(at_of(log.line("/f read 0 4096")), times[2]);
            assert_eq!(log.notes().len(), notes);
        }
    }

    #[test]
    fn lines_that_fio_would_not_write_are_refused() {
        for (version, bad, says) in [
            ("1", "", HEADER),
            ("2", "/f", TWO),
            ("2", "/f read", TWO),
            ("2", "/f read 0", TWO),
            ("2", "/f read 0 4096 1", TWO),
            ("2", "/f read x 4096", TWO),
            ("2", "/f read -1 4096", TWO),
            ("2", "/f erase 0 4096", TWO),
            ("2", "/f wait 99999999999999999 0", RANGE),
            ("3", "/f read 0 4096", THREE),
            ("3", "7 /f wait 10 0", THREE),
            ("3", "99999999999999999 /f read 0 4096", RANGE),
        ] {
            let mut log = Iolog::new(Waits::Manual);
            let outcome = log.line(&format!("fio version {version} iolog")).and_then(|_| log.line(bad));
            assert_eq!(outcome, Err(says), "{version}: {bad}");
        }
    }
}
