//! Rules about Rust source: unsafe code, printing, unfinished code, long files.

use super::rust::{UNSAFE_FUNCTION, Word};
use super::{Finding, Tree};

/// The crates that may hold unsafe code: they speak to the kernel or to a library in C.
const UNSAFE_CRATES: &[&str] = &["io", "nvme", "gds", "guard"];

/// The crates that may print.
const PRINTING_CRATES: &[&str] = &["flashlab", "xtask"];

/// The macros that print.
const PRINTING: &[&str] = &["print!", "println!", "eprint!", "eprintln!"];

/// The macros that stand for code that is still to be written, or for a look at it.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// A file of more lines than this probably holds more than one noun.
const MAX_FILE_LINES: usize = 700;

/// A statement's head may go over so many lines before its `unsafe`.
const MAX_HEAD_LINES: usize = 6;

/// Every Rust file must be readable as tokens: the rules below see nothing of another.
pub(super) fn check_readable(tree: &Tree) -> Vec<Finding> {
    tree.rust
        .iter()
        .filter_map(|rust| {
            let (line, reason) = rust.tokens.as_ref().err()?;
            Some(Finding::at(&tree.files[rust.file].path, *line, format!("not Rust: {reason}"), "mend it"))
        })
        .collect()
}

/// Lists files that are too long; a warning.
pub(super) fn check_file_length(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .map(|(file, _)| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_FILE_LINES)
        .map(|(file, lines)| {
            let what = format!("{lines} lines, over {MAX_FILE_LINES}");
            Finding::whole(&file.path, what, "one module, one noun: is there a second one in it?").into_warning()
        })
        .collect()
}

/// Unsafe code stands in a few crates, each block and impl with the reason why it is sound. What
/// an unsafe function asks of its caller is documentation, which clippy demands.
pub(super) fn check_unsafe(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, tokens) in tree.rust() {
        let lines: Vec<&str> = file.text.lines().collect();
        for word in &tokens.unsafes {
            if !crate_of(&file.path).is_some_and(|name| UNSAFE_CRATES.contains(&name)) {
                let remedy = format!("unsafe code stands in {} only", UNSAFE_CRATES.join(", "));
                findings.push(Finding::at(&file.path, word.line, "unsafe code", remedy));
            } else if word.text != UNSAFE_FUNCTION && !has_reason(&lines, word.line) {
                let remedy = "say in a `// SAFETY:` comment right above why it is sound";
                findings.push(Finding::at(&file.path, word.line, "unsafe without its reason", remedy));
            }
        }
    }
    findings
}

/// Whether a comment right above the statement that holds this line, or on the line itself, gives
/// a reason: `SAFETY:`, or the `# Safety` part of an unsafe trait's documentation.
fn has_reason(lines: &[&str], line: usize) -> bool {
    let gives = |text: &str| text.contains("SAFETY:") || text.contains("# Safety");
    let is_comment = |text: &str| text.trim_start().starts_with("//");
    let own = line - 1;
    if lines[own].split_once("//").is_some_and(|(_, comment)| gives(comment)) {
        return true;
    }
    let ends_before = |text: &str| text.trim_end().ends_with([';', '{', '}']) || text.trim().is_empty();
    let head = lines[..own].iter().rev().take(MAX_HEAD_LINES);
    let skipped = head.take_while(|text| !is_comment(text) && !ends_before(text)).count();
    lines[..own - skipped].iter().rev().take_while(|text| is_comment(text)).any(|text| gives(text))
}

/// Nothing below the program prints: progress goes out through an observer, results as values.
pub(super) fn check_printing(tree: &Tree) -> Vec<Finding> {
    let remedy = format!("only {} print; hand the value up", PRINTING_CRATES.join(" and "));
    macros(tree, PRINTING, &remedy, |path, word| {
        let may = crate_of(path).is_none_or(|name| PRINTING_CRATES.contains(&name));
        !may && !word.in_test && !is_aside(path)
    })
}

/// No code that is still to be written.
pub(super) fn check_unfinished(tree: &Tree) -> Vec<Finding> {
    macros(tree, UNFINISHED, "finish it, or leave it out until it is needed", |_, _| true)
}

fn macros(tree: &Tree, names: &[&str], remedy: &str, wrong: impl Fn(&str, &Word) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, tokens) in tree.rust() {
        let named = tokens.macros.iter().filter(|word| names.contains(&word.text.as_str()));
        for word in named.filter(|word| wrong(&file.path, word)) {
            findings.push(Finding::at(&file.path, word.line, format!("`{}`", word.text), remedy));
        }
    }
    findings
}

/// The crate that a file belongs to: the folder below `crates/`.
fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Tests, benchmarks and examples; a build script speaks to cargo by printing.
fn is_aside(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| matches!(part, "tests" | "benches" | "examples" | "tests.rs" | "build.rs"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{shown, tree};
    use super::*;

    #[test]
    fn unsafe_outside_its_crates_fails_even_with_a_reason() {
        let text = "// SAFETY: none\nunsafe fn f() {}\n";
        assert_eq!(
            shown(&check_unsafe(&tree(&[("crates/lab/src/lib.rs", text)]))),
            ["crates/lab/src/lib.rs:2: unsafe code; unsafe code stands in io, nvme, gds, guard only"]
        );
    }

    /// The lines at which `unsafe` misses its reason, in a crate that may have it.
    fn without_reason(text: &str) -> Vec<usize> {
        let findings = check_unsafe(&tree(&[("crates/io/src/lib.rs", text)]));
        findings.into_iter().map(|finding| finding.line.unwrap()).collect()
    }

    #[test]
    fn unsafe_has_its_reason_right_above() {
        assert!(
            without_reason("fn f() {\n    // SAFETY: g has no\n    // conditions.\n    unsafe { g() }\n}\n").is_empty()
        );
        assert!(without_reason("fn f() {\n    unsafe { g() } // SAFETY: g has no conditions.\n}\n").is_empty());
        assert!(without_reason("// SAFETY: g is const.\nlet a =\n    h(unsafe { g() });\n").is_empty());
        assert!(
            without_reason(
                "// SAFETY: it has no state.\n#[allow(x)]\nunsafe impl Sync for A {\n    unsafe fn f() {}\n}\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_reason_further_off_is_none() {
        assert_eq!(without_reason("unsafe { g() }\n"), [1]);
        assert_eq!(without_reason("// SAFETY: of f\nf();\nunsafe { g() }\n"), [3]);
        assert_eq!(without_reason("// SAFETY: of f\n\nunsafe { g() }\n"), [3]);
        assert_eq!(without_reason("// Fast.\nunsafe { g(\"SAFETY:\") }\n"), [2]);
    }

    #[test]
    fn only_programs_and_tests_print() {
        let text = "fn f() {\n    println!();\n}\n#[test]\nfn t() {\n    eprintln!();\n}\n";
        let places = ["flashlab/src/main.rs", "lab/src/lib.rs", "lab/benches/b.rs", "lab/tests/t.rs", "lab/build.rs"];
        let files: Vec<(String, &str)> = places.iter().map(|place| (format!("crates/{place}"), text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert_eq!(
            shown(&check_printing(&tree(&files))),
            ["crates/lab/src/lib.rs:2: `println!`; only flashlab and xtask print; hand the value up"]
        );
    }

    #[test]
    fn unfinished_code_fails_in_tests_too() {
        let text = "#[test]\nfn t() {\n    todo!()\n}\n";
        assert_eq!(
            shown(&check_unfinished(&tree(&[("crates/lab/tests/t.rs", text)]))),
            ["crates/lab/tests/t.rs:3: `todo!`; finish it, or leave it out until it is needed"]
        );
    }

    #[test]
    fn a_long_file_is_a_warning() {
        let findings = check_file_length(&tree(&[
            ("crates/lab/src/long.rs", &"\n".repeat(MAX_FILE_LINES + 1)),
            ("crates/lab/src/right.rs", &"\n".repeat(MAX_FILE_LINES)),
        ]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].warning && findings[0].path.ends_with("long.rs"));
    }

    #[test]
    fn what_is_not_rust_is_named() {
        let findings = check_readable(&tree(&[("crates/lab/src/lib.rs", "fn f() {}\n}\n")]));
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("crates/lab/src/lib.rs", Some(2)));
    }
}
