//! Rules about any text file: white space at the ends, and paths of the machine at hand.

use super::{Finding, Tree};
use std::path::{Path, PathBuf};

/// Folders whose files are what a program wrote or what a test needs as it is.
const AS_THEY_ARE: &[&str] = &["golden", "goldens", "snapshots", "fixtures", "inputs"];

/// Folders of home folders: a path below them is one person's.
const HOMES: &[&str] = &["/root/", "/home/", "/Users/"];

/// Folders that every machine has: they say nothing about this one.
const SHARED_FOLDERS: &[&str] = &[
    "/", "/tmp", "/root", "/home", "/opt", "/srv", "/mnt", "/media", "/var", "/var/tmp", "/usr", "/usr/src", "/dev",
    "/run",
];

/// No white space at the end of a line, one newline at the end of the file.
pub(super) fn check_white_space(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !is_as_it_is(&file.path)) {
        // In a table of commas the standard line end is CRLF, and a blank is part of a value.
        if !file.path.ends_with(".csv") {
            findings.extend(line_ends(&file.path, &file.text));
        }
        let last = file.text.lines().count();
        if file.text.ends_with("\n\n") || file.text == "\n" {
            findings.push(Finding::at(&file.path, last, "empty lines at the end", "end with one newline"));
        } else if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::at(&file.path, last, "no newline at the end", "end with one newline"));
        }
    }
    findings
}

/// One finding for a file, at the first of its lines with white space at the end.
fn line_ends(path: &str, text: &str) -> Option<Finding> {
    let lines = text.split('\n').enumerate();
    let mut bad = lines.filter(|(_, line)| line.ends_with([' ', '\t', '\r'])).map(|(index, _)| index + 1);
    let first = bad.next()?;
    let more = match bad.count() {
        0 => String::new(),
        more => format!(" (and of {more} more)"),
    };
    Some(Finding::at(path, first, format!("white space at the end of the line{more}"), "take it out"))
}

/// No path that only this machine has.
pub(super) fn check_local_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // This file names the folders that it looks for.
    for file in tree.files.iter().filter(|file| file.path != "crates/xtask/src/tidy/text.rs") {
        for (index, line) in file.text.lines().enumerate() {
            let homes = HOMES.iter().copied();
            if let Some(path) = homes.chain(tree.local_paths.iter().map(String::as_str)).find(|path| holds(line, path))
            {
                let remedy = "write it relative to the tree, or as a path that any machine could have";
                findings.push(Finding::at(&file.path, index + 1, format!("a path of this machine ({path}…)"), remedy));
            }
        }
    }
    findings
}

/// The paths that say where this checkout is: its root, the folder around it unless every machine
/// has that, the target folder, and the person's home.
pub(super) fn local_paths(root: &Path, target: Option<PathBuf>, home: Option<PathBuf>) -> Vec<String> {
    let around = root.parent().map(Path::to_owned);
    let folders = [Some(root.to_owned()), around, target, home];
    let named = folders.into_iter().flatten().filter(|path| path.is_absolute());
    let own = named.filter(|path| !SHARED_FOLDERS.iter().any(|shared| path == Path::new(shared)));
    own.map(|path| path.display().to_string()).collect()
}

/// Whether the line holds this absolute path, or one below it.
fn holds(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + path.len()..].chars().next();
        // `a/root` and `{x}/root` are other paths, and so are `/rootless` and `/root-file`.
        let starts = !before.is_some_and(|mark| mark.is_alphanumeric() || "/._-~*}>)]$".contains(mark));
        let ends = path.ends_with('/') || !after.is_some_and(|mark| mark.is_alphanumeric() || "._-".contains(mark));
        starts && ends
    })
}

fn is_as_it_is(path: &str) -> bool {
    path.ends_with(".snap") || path.split('/').any(|part| AS_THEY_ARE.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{shown, tree};
    use super::*;

    fn white_space(path: &str, text: &str) -> Vec<String> {
        shown(&check_white_space(&tree(&[(path, text)])))
    }

    #[test]
    fn white_space_at_the_end_of_a_line_fails() {
        assert_eq!(
            white_space("a.md", "one\ntwo \nthree\n"),
            ["a.md:2: white space at the end of the line; take it out"]
        );
        assert_eq!(
            white_space("a.md", "one\r\ntwo\t\n"),
            ["a.md:1: white space at the end of the line (and of 1 more); take it out"]
        );
    }

    #[test]
    fn a_table_of_commas_keeps_its_line_ends() {
        assert_eq!(white_space("data/points.csv", "one,\r\ntwo, \r\n"), [""; 0]);
        assert_eq!(white_space("data/points.csv", "one,\r\ntwo").len(), 1);
    }

    #[test]
    fn a_file_ends_in_one_newline() {
        assert_eq!(white_space("a.md", "one\n"), [""; 0]);
        assert_eq!(white_space("a.md", ""), [""; 0]);
        assert_eq!(white_space("a.md", "one\ntwo"), ["a.md:2: no newline at the end; end with one newline"]);
        assert_eq!(white_space("a.md", "one\n\n"), ["a.md:2: empty lines at the end; end with one newline"]);
    }

    #[test]
    fn what_a_program_wrote_stays_as_it_is() {
        assert_eq!(white_space("crates/report/tests/golden/table.txt", "one \ntwo"), [""; 0]);
    }

    #[test]
    fn paths_of_this_machine_fail() {
        let text = "fine\nopen(\"/checkouts/flashlab/a\")\ncd /root/x\nls /home/someone/x\n";
        let lines: Vec<usize> =
            check_local_paths(&tree(&[("a.sh", text)])).into_iter().filter_map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn paths_of_any_machine_do_not() {
        let text =
            "crates/root/src\n{base}/root/x\n/rootless\n/proc/self/root\n$DIR/home/x\nhttps://a.org/checkouts/\n";
        assert_eq!(shown(&check_local_paths(&tree(&[("a.sh", text)]))), [""; 0]);
    }

    #[test]
    fn local_paths_leave_out_what_every_machine_has() {
        let in_tmp = local_paths(Path::new("/tmp/flashlab"), Some("target".into()), None);
        assert_eq!(in_tmp, ["/tmp/flashlab"]);
        let own = local_paths(Path::new("/disk/code/flashlab"), Some("/disk/out".into()), Some("/people/a".into()));
        assert_eq!(own, ["/disk/code/flashlab", "/disk/code", "/disk/out", "/people/a"]);
    }
}
