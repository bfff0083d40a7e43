//! Which format a trace has, and its lines by format.

use super::lines::Lines;
use super::{Entry, Expected, TraceOptions, blkparse, iolog, msr};
use crate::InteropError;
use crate::error::shown;
use std::fmt;
use std::io::BufRead;

/// Lines at the start of a trace that are looked at to tell its format: blkparse may put a line
/// for each of its input files, one a CPU, before the first event.
const LOOK_MAX: usize = 1024;

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// fio's iolog, version 2 or 3 by its first line.
    Iolog,
    /// The text of blkparse in its default format.
    Blkparse,
    /// The CSV of the MSR Cambridge traces at the SNIA.
    Msr,
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [TraceFormat; 3] = [TraceFormat::Iolog, TraceFormat::Blkparse, TraceFormat::Msr];

    /// The word for an option.
    pub const fn word(self) -> &'static str {
        match self {
            TraceFormat::Iolog => "iolog",
            TraceFormat::Blkparse => "blkparse",
            TraceFormat::Msr => "msr",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Tells the format by the first lines that look like any.
pub(super) fn detect<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<TraceFormat, InteropError> {
    let mut first = String::new();
    for _ in 0..LOOK_MAX {
        let Some(bytes) = lines.look()? else { break };
        let text = String::from_utf8_lossy(bytes);
        if iolog::is_header(&text) {
            return Ok(TraceFormat::Iolog);
        }
        if blkparse::is_event(&text) {
            return Ok(TraceFormat::Blkparse);
        }
        if msr::is_row(&text) {
            return Ok(TraceFormat::Msr);
        }
        if first.is_empty() {
            first = shown(&text);
        }
    }
    let text = if first.is_empty() { "nothing but blank lines".to_owned() } else { format!("`{first}`") };
    let known = TraceFormat::ALL.map(TraceFormat::word).join(", ");
    Err(InteropError::Format { file: lines.file().to_owned(), known, text })
}

/// Reads the lines of one trace.
#[derive(Debug)]
pub(super) enum Parser {
    Iolog(iolog::Iolog),
    Blkparse(blkparse::Blkparse),
    Msr(msr::Msr),
}

impl Parser {
    pub(super) fn new(format: TraceFormat, options: &TraceOptions) -> Self {
        match format {
            TraceFormat::Iolog => Parser::Iolog(iolog::Iolog::new(options.waits)),
            TraceFormat::Blkparse => Parser::Blkparse(blkparse::Blkparse::default()),
            TraceFormat::Msr => Parser::Msr(msr::Msr::default()),
        }
    }

    /// What a line says, or what should stand there.
    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Entry<'a>, Expected> {
        match self {
            Parser::Iolog(parser) => parser.line(text),
            Parser::Blkparse(parser) => parser.line(text),
            Parser::Msr(parser) => parser.line(text),
        }
    }

    /// What a reader should know of how the lines were understood.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Parser::Iolog(parser) => parser.notes(),
            Parser::Blkparse(_) | Parser::Msr(_) => Vec::new(),
        }
    }
}
