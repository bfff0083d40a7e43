//! What can be wrong with a file from elsewhere.

/// Longest piece of a file that an error repeats, in characters.
const SHOWN_MAX: usize = 120;

/// A file from elsewhere that can't be used, with the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InteropError {
    /// The file can't be read on.
    #[error("{file}: after line {line}: {reason}\n  check the file and read it again")]
    Read {
        /// The file.
        file: String,
        /// The last line that was read.
        line: u64,
        /// What the system said.
        reason: String,
    },
    /// An option, or its value, in a job file.
    #[error("{file}:{line}: `{option}`: {reason}\n  {remedy}")]
    Option {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The option, or the line's text where there is no option.
        option: String,
        /// Why it can't be used.
        reason: String,
        /// What to write instead.
        remedy: String,
    },
    /// A job file without a job.
    #[error("{file}: there is no job section\n  add one, such as [job1]")]
    NoJob {
        /// The file.
        file: String,
    },
    /// A line of a trace.
    #[error("{file}:{line}: expected {expected}, found `{text}`\n  {remedy}")]
    Line {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What should stand there.
        expected: String,
        /// The line, escaped and cut.
        text: String,
        /// What to do.
        remedy: String,
    },
    /// No known trace format.
    #[error("{file}: the format is none of {known}; it begins with {text}\n  name the format, or convert the file")]
    Format {
        /// The file.
        file: String,
        /// The formats there are.
        known: String,
        /// Where the file begins, escaped, cut and in quotes, or that there is nothing.
        text: String,
    },
    /// A trace has more requests than are kept.
    #[error(
        "{file}:{line}: there are more than {requests_max} requests\n  cut the trace, read only its first part, or raise the limit (about 50 B of memory a request)"
    )]
    TooMany {
        /// The file.
        file: String,
        /// The line at which the limit was met.
        line: u64,
        /// The limit.
        requests_max: usize,
    },
    /// A trace without a request that can be replayed.
    #[error("{file}: no request in {lines} lines{}\n  {remedy}", if skipped.is_empty() { String::new() } else { format!(" (left out: {skipped})") })]
    Empty {
        /// The file.
        file: String,
        /// Lines that were read.
        lines: u64,
        /// What was left out, by kind.
        skipped: String,
        /// What to do.
        remedy: String,
    },
    /// A trace of several devices, of which none was chosen.
    #[error("{file}: requests of several devices: {devices}\n  choose one of them (--device)")]
    Devices {
        /// The file.
        file: String,
        /// The devices with their requests, the most first.
        devices: String,
    },
}

/// A piece of a file as an error shows it: control characters escaped, cut at a bound.
pub(crate) fn shown(text: &str) -> String {
    let mut all = text.trim_end().chars();
    let mut shown: String = all.by_ref().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if all.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_escaped_and_cut() {
        assert_eq!(shown("a\tb\u{7}\r\n"), "a\\tb\\u{7}");
        let long = shown(&"x".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (SHOWN_MAX + 1, true));
    }
}
