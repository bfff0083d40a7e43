//! Long functions: no new one over the limit, and no old one may grow.
//!
//! The ratchet file lists the long functions that there are, each with its length. It is only ever
//! shortened: an entry that became too high or that nothing matches fails too.

use super::{Finding, Tree};
use std::collections::BTreeMap;

/// A function of more lines than this needs a split.
const MAX_LINES: usize = 70;

/// The long functions that are tolerated.
const RATCHET: &str = "crates/xtask/tidy-ratchet.txt";

/// A function's file and its name.
type Place<'a> = (&'a str, &'a str);

/// Compares every function's length with the limit and with the ratchet.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let listed = match ratchet(tree.file(RATCHET).map_or("", |file| &file.text)) {
        Ok(listed) => listed,
        Err(line) => {
            let remedy = "write `LINES PATH NAME`, or `#` and a comment";
            return vec![Finding::at(RATCHET, line, "the line is no entry", remedy)];
        }
    };
    let mut findings = Vec::new();
    let mut longest: BTreeMap<Place<'_>, usize> = BTreeMap::new();
    for (file, tokens) in tree.rust() {
        for function in &tokens.functions {
            let place = (file.path.as_str(), function.name.as_str());
            let known = longest.entry(place).or_default();
            *known = (*known).max(function.lines);
            let Some(what) = too_long(&function.name, function.lines, listed.get(&place).map(|entry| entry.0)) else {
                continue;
            };
            findings.push(Finding::at(&file.path, function.line, what, "split it by what its parts are about"));
        }
    }
    for (place, (lines, line)) in listed {
        if let Some((what, remedy)) = slack(place, lines, longest.get(&place).copied()) {
            findings.push(Finding::at(RATCHET, line, what, remedy));
        }
    }
    findings
}

fn too_long(name: &str, lines: usize, listed: Option<usize>) -> Option<String> {
    match listed {
        None if lines > MAX_LINES => {
            Some(format!("function `{name}` has {lines} lines; {MAX_LINES} is the most for a new one"))
        }
        Some(listed) if lines > listed => Some(format!("function `{name}` grew from {listed} to {lines} lines")),
        _ => None,
    }
}

/// What is wrong with an entry that allows more than there is.
fn slack((path, name): Place<'_>, listed: usize, lines: Option<usize>) -> Option<(String, String)> {
    match lines {
        None => Some((format!("{path} has no function `{name}`"), "take the entry out".into())),
        Some(lines) if lines <= MAX_LINES => {
            Some((format!("`{name}` has only {lines} lines now"), "take the entry out".into()))
        }
        Some(lines) if lines < listed => {
            Some((format!("`{name}` has only {lines} lines now"), format!("lower the entry from {listed} to {lines}")))
        }
        Some(_) => None,
    }
}

/// The entries of the ratchet file: the place, its length and the entry's line. Fails with the
/// line that is no entry.
fn ratchet(text: &str) -> Result<BTreeMap<Place<'_>, (usize, usize)>, usize> {
    let mut entries = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut parts = line.splitn(3, ' ');
        let entry = (parts.next().and_then(|lines| lines.parse().ok()), parts.next(), parts.next());
        let (Some(lines), Some(path), Some(name)) = entry else { return Err(index + 1) };
        entries.insert((path, name), (lines, index + 1));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{shown, tree};
    use super::*;

    /// A source file with one method `Drive::read` of so many lines.
    fn source(lines: usize) -> String {
        format!("impl Drive {{\n    fn read() {{\n{}    }}\n}}\n", "        step();\n".repeat(lines - 2))
    }

    fn findings(lines: usize, ratchet: &str) -> Vec<String> {
        shown(&check(&tree(&[("crates/drive/src/lib.rs", &source(lines)), (RATCHET, ratchet)])))
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        assert_eq!(findings(MAX_LINES, ""), [""; 0]);
    }

    #[test]
    fn a_new_long_function_fails() {
        assert_eq!(
            findings(71, "# nothing yet\n"),
            ["crates/drive/src/lib.rs:2: function `Drive::read` has 71 lines; 70 is the most for a new one; split it \
             by what its parts are about"]
        );
    }

    #[test]
    fn a_listed_function_may_not_grow() {
        let ratchet = "80 crates/drive/src/lib.rs Drive::read\n";
        assert_eq!(findings(80, ratchet), [""; 0]);
        let grown = findings(81, ratchet);
        assert_eq!(grown.len(), 1);
        assert!(grown[0].contains("function `Drive::read` grew from 80 to 81 lines"), "{grown:?}");
    }

    #[test]
    fn an_entry_that_allows_too_much_fails() {
        let shrunk = findings(75, "\n80 crates/drive/src/lib.rs Drive::read\n");
        assert_eq!(shrunk.len(), 1);
        assert!(shrunk[0].starts_with("crates/xtask/tidy-ratchet.txt:2: "), "{shrunk:?}");
        assert!(shrunk[0].ends_with("lower the entry from 80 to 75"), "{shrunk:?}");
        for ratchet in ["80 crates/drive/src/lib.rs Drive::write\n", "80 crates/drive/src/lib.rs Drive::read\n"] {
            let gone = findings(10, ratchet);
            assert_eq!(gone.len(), 1);
            assert!(gone[0].ends_with("take the entry out"), "{gone:?}");
        }
    }

    #[test]
    fn a_line_that_is_no_entry_fails() {
        let wrong = findings(10, "eighty crates/drive/src/lib.rs Drive::read\n");
        assert_eq!(
            wrong,
            ["crates/xtask/tidy-ratchet.txt:1: the line is no entry; write `LINES PATH NAME`, or `#` and a comment"]
        );
    }
}
