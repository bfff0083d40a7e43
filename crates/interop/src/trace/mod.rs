//! Block traces in: fio's iolog, the text of blkparse, and the CSV of the SNIA's MSR Cambridge set.
//!
//! A trace is read line by line and may be far larger than memory; only its requests are kept, up to
//! a bound. Times are made relative to the first request and put in order. What is left out is
//! counted by kind.

mod blkparse;
mod collect;
mod format;
mod iolog;
mod lines;
mod msr;
mod summary;

use crate::InteropError;
use crate::error::shown;
use collect::Collector;
use flashlab_spec::{Beyond, Direction, Replay, ReplayEnd};
use format::Parser;
use lines::Lines;
use std::fmt;
use std::io::BufRead;

pub use format::TraceFormat;
pub use iolog::Waits;
pub use summary::{DirectionSummary, SizeCount, TraceSummary};

/// Requests that are kept unless asked otherwise: 480 MB of memory, and about 1 GB while they are put
/// in order and counted. Five hours at a thousand requests a second.
pub const REQUESTS_MAX: usize = 20_000_000;
/// Broken lines that a result repeats; the others are counted.
const BROKEN_SHOWN: usize = 10;

/// The moment in a request's life at which blkparse reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// C: completed.
    Completed,
    /// Q: handed to the block layer, before it is merged or split.
    Queued,
    /// D: issued to the driver, as the drive sees it.
    Issued,
}

impl Event {
    /// All of them.
    pub const ALL: [Event; 3] = [Event::Completed, Event::Queued, Event::Issued];

    /// blkparse's letter.
    pub const fn letter(self) -> &'static str {
        match self {
            Event::Completed => "C",
            Event::Queued => "Q",
            Event::Issued => "D",
        }
    }
}

/// What happens to lines that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Broken {
    /// The first one is refused.
    #[default]
    Refuse,
    /// Up to so many are left out and counted; one more is refused.
    SkipUpTo(u64),
}

/// What happens when a trace has more requests than are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtLimit {
    /// It is refused.
    #[default]
    Refuse,
    /// Reading ends there; the result says so.
    Cut,
}

/// Whose requests are taken. A device is a file of an iolog, a device number of blkparse, and a host
/// with a disk number of the CSV.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The only one there is; a trace of several is refused, with their names.
    #[default]
    Only,
    /// This one, by the name in the trace.
    Named(String),
    /// All, laid over one another at the same addresses.
    All,
}

/// How a trace is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// The format; `None` to tell by content.
    pub format: Option<TraceFormat>,
    /// The event of blkparse that counts; `None` for D where there is one, else Q, else C.
    pub event: Option<Event>,
    /// Whose requests.
    pub device: DeviceChoice,
    /// What the waits of an iolog of version 2 mean.
    pub waits: Waits,
    /// Lines that can't be read.
    pub broken: Broken,
    /// Most requests that are kept, 24 B each and twice that at the end of the reading.
    pub requests_max: usize,
    /// When there are more.
    pub at_limit: AtLimit,
    /// Passed on to the list.
    pub end: ReplayEnd,
    /// Passed on to the list.
    pub beyond: Beyond,
}

impl Default for TraceOptions {
    /// Strict: nothing is left out that a drive would see, and nothing guessed.
    fn default() -> Self {
        TraceOptions {
            format: None,
            event: None,
            device: DeviceChoice::Only,
            waits: Waits::Manual,
            broken: Broken::Refuse,
            requests_max: REQUESTS_MAX,
            at_limit: AtLimit::Refuse,
            end: ReplayEnd::Once,
            beyond: Beyond::Refuse,
        }
    }
}

/// A line that was left out because it can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLine {
    /// Line, from 1.
    pub line: u64,
    /// What should stand there.
    pub expected: String,
    /// The line, escaped and cut.
    pub text: String,
}

/// A trace that was read, with all that was decided on the way.
#[derive(Debug, Clone)]
pub struct TraceRead {
    /// The requests.
    pub replay: Replay,
    /// What is in them.
    pub summary: TraceSummary,
    /// The format, as asked or found.
    pub format: TraceFormat,
    /// The event that counts, for blkparse.
    pub event: Option<Event>,
    /// Whose requests they are, with all that each has in the trace; the most first.
    pub devices: Vec<(String, u64)>,
    /// Lines that were read.
    pub lines: u64,
    /// Lines that can't be read, the first few of them.
    pub broken: Vec<BrokenLine>,
    /// How many of those there were.
    pub broken_count: u64,
    /// What was left out, by kind, in the order of the names.
    pub skipped: Vec<(&'static str, u64)>,
    /// Requests earlier than one before them; they were put in order.
    pub back_in_time: u64,
    /// Requests above 64 MiB, which no job has, that were cut into pieces of one time.
    pub cut_up: u64,
    /// Whether the trace has times. Without them all requests stand at 0: play them in a closed loop.
    pub timed: bool,
    /// The line at which the limit on requests ended the reading.
    pub cut_at_line: Option<u64>,
    /// What a reader should know of how the trace was understood.
    pub notes: Vec<String>,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry<'a> {
    /// A request.
    Request(Raw<'a>),
    /// Something that is no request for data, of this kind.
    Skip(&'static str),
    /// Nothing: a header, a blank line.
    Nothing,
}

/// A request as it stands in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Raw<'a> {
    /// Nanoseconds since any moment.
    at: u64,
    direction: Direction,
    /// First byte.
    offset: u64,
    /// Bytes.
    length: u64,
    device: &'a str,
    event: Event,
}

/// What should stand in a line.
type Expected = &'static str;

/// Reads a trace. `file` is the name that errors and the list carry.
///
/// # Errors
/// Every [`InteropError`] that is not about job files, with file, line and remedy.
pub fn read_trace(reader: impl BufRead, file: &str, options: &TraceOptions) -> Result<TraceRead, InteropError> {
    let mut lines = Lines::new(reader, file);
    let format = match options.format {
        Some(format) => format,
        None => format::detect(&mut lines)?,
    };
    let mut parser = Parser::new(format, options);
    let mut collector = Collector::new(file, options);
    let mut faults = Faults { file, allowed: options.broken, shown: Vec::new(), count: 0 };
    while let Some(line) = lines.next()? {
        let text = String::from_utf8_lossy(line.bytes);
        let entry = if line.is_cut { Err(lines::TOO_LONG) } else { parser.line(&text) };
        match entry {
            Ok(Entry::Request(raw)) => {
                if !collector.take(&raw, line.number).or_else(|fault| faults.take(line.number, fault, &text))? {
                    break;
                }
            }
            Ok(Entry::Skip(kind)) => collector.skip(kind),
            Ok(Entry::Nothing) => {}
            Err(expected) => {
                faults.take(line.number, collect::Refusal::Line(expected), &text)?;
            }
        }
    }
    let (count, broken) = (faults.count, faults.shown);
    let mut read = collector.finish(format, lines.number(), parser.notes())?;
    (read.broken_count, read.broken) = (count, broken);
    Ok(read)
}

/// The lines that can't be read.
struct Faults<'a> {
    file: &'a str,
    allowed: Broken,
    shown: Vec<BrokenLine>,
    count: u64,
}

impl Faults<'_> {
    /// Notes a broken line, or refuses it; true to read on.
    fn take(&mut self, line: u64, refusal: collect::Refusal, text: &str) -> Result<bool, InteropError> {
        let expected = match refusal {
            collect::Refusal::Line(expected) => expected.to_owned(),
            collect::Refusal::Trace(error) => return Err(*error),
        };
        let remedy = match self.allowed {
            Broken::SkipUpTo(most) if self.count < most => {
                self.count += 1;
                if self.shown.len() < BROKEN_SHOWN {
                    self.shown.push(BrokenLine { line, expected, text: shown(text) });
                }
                return Ok(true);
            }
            Broken::SkipUpTo(most) => {
                format!("{most} broken lines were left out before it: mend the trace, or allow more")
            }
            Broken::Refuse => "correct the line, or take it out".to_owned(),
        };
        Err(InteropError::Line { file: self.file.to_owned(), line, expected, text: shown(text), remedy })
    }
}

/// What was understood, for people, a fact a line.
impl fmt::Display for TraceRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.replay.source, self.format)?;
        if let Some(event) = self.event {
            write!(f, ", event {}", event.letter())?;
        }
        writeln!(f, ", {} lines", self.lines)?;
        for (kind, count) in &self.skipped {
            writeln!(f, "left out: {count} {kind}")?;
        }
        if self.broken_count > 0 {
            writeln!(f, "left out: {} lines that can't be read", self.broken_count)?;
        }
        if self.back_in_time > 0 {
            writeln!(f, "put in order: {} requests earlier than one before them", self.back_in_time)?;
        }
        if self.cut_up > 0 {
            writeln!(f, "cut into pieces: {} requests above {}", self.cut_up, collect::PIECE)?;
        }
        if let Some(line) = self.cut_at_line {
            writeln!(f, "cut: only the requests before line {line}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        write!(f, "{}", self.summary)
    }
}
