//! Lines of a stream, each in bounded memory.

use crate::InteropError;
use std::collections::VecDeque;
use std::io::BufRead;

/// Longest line that is kept, in bytes: a path of 4096 and the numbers beside it. Of a longer one
/// the rest is read past.
const LINE_MAX: usize = 8 << 10;
/// What a longer line is refused with.
pub(super) const TOO_LONG: &str = "a line of at most 8 KiB";

/// One line.
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: u64,
    /// Without the end of line.
    pub(super) bytes: &'a [u8],
    /// Whether the line goes on beyond what is kept.
    pub(super) is_cut: bool,
}

/// The lines of a reader.
pub(super) struct Lines<'f, R> {
    reader: R,
    file: &'f str,
    read: u64,
    given: u64,
    buffer: Vec<u8>,
    /// Lines that were looked at ahead of their turn.
    ahead: VecDeque<(Vec<u8>, bool)>,
}

impl<'f, R: BufRead> Lines<'f, R> {
    pub(super) fn new(reader: R, file: &'f str) -> Self {
        Lines { reader, file, read: 0, given: 0, buffer: Vec::new(), ahead: VecDeque::new() }
    }

    pub(super) fn file(&self) -> &'f str {
        self.file
    }

    /// Lines given out so far.
    pub(super) fn number(&self) -> u64 {
        self.given
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, InteropError> {
        let is_cut = match self.ahead.pop_front() {
            Some((bytes, is_cut)) => {
                self.buffer = bytes;
                is_cut
            }
            None => match self.fill()? {
                Some(is_cut) => is_cut,
                None => return Ok(None),
            },
        };
        self.given += 1;
        Ok(Some(Line { number: self.given, bytes: &self.buffer, is_cut }))
    }

    /// The line after those that were looked at already, which still gets its turn; `None` at the end.
    pub(super) fn look(&mut self) -> Result<Option<&[u8]>, InteropError> {
        let Some(is_cut) = self.fill()? else { return Ok(None) };
        self.ahead.push_back((std::mem::take(&mut self.buffer), is_cut));
        Ok(self.ahead.back().map(|(bytes, _)| bytes.as_slice()))
    }

    /// Reads a line into the buffer; whether it was cut, `None` at the end.
    fn fill(&mut self) -> Result<Option<bool>, InteropError> {
        self.buffer.clear();
        let (mut is_cut, mut any) = (false, false);
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let (file, reason) = (self.file.to_owned(), error.to_string());
                    return Err(InteropError::Read { file, line: self.read, reason });
                }
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let newline = chunk.iter().position(|b| *b == b'\n');
            let part = &chunk[..newline.unwrap_or(chunk.len())];
            let kept = part.len().min(LINE_MAX - self.buffer.len());
            self.buffer.extend_from_slice(&part[..kept]);
            is_cut |= kept < part.len();
            let used = newline.map_or(chunk.len(), |at| at + 1);
            self.reader.consume(used);
            if newline.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        if self.read == 0 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.buffer.drain(..3);
        }
        self.read += 1;
        Ok(Some(is_cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_those_looked_at_come_again() {
        let text = format!("\u{feff}one\r\n\n{}\nlast", "x".repeat(3 * LINE_MAX));
        let mut lines = Lines::new(text.as_bytes(), "t");
        assert_eq!(lines.look().expect("reads"), Some(&b"one"[..]));
        assert_eq!(lines.look().expect("reads"), Some(&b""[..]));
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("reads") {
            all.push((line.number, line.bytes.len(), line.is_cut));
        }
        assert_eq!(all, [(1, 3, false), (2, 0, false), (3, LINE_MAX, true), (4, 4, false)]);
    }
}
