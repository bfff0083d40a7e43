//! The help texts in `docs/reference/cli.md` are those of the program. `FLASHLAB_GOLDEN=write cargo test -p
//! flashlab --test reference` writes them anew.

mod common;

use common::Place;
use std::fs;
use std::path::Path;

const HEADING: &str = "## `flashlab";

/// Everything between two sections, with the words after `flashlab` in the heading.
fn sections(text: &str) -> (String, Vec<String>) {
    let mut parts = text.split(HEADING);
    let head = parts.next().expect("a beginning").to_owned();
    let words = |part: &str| part.split('`').next().expect("words").trim().to_owned();
    (head, parts.map(words).collect())
}

/// The help of a command, without blanks at the ends of lines.
fn help(place: &Place, words: &str) -> String {
    let done = place.flashlab(&format!("{words} --help")).code(0);
    done.out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let Some((_, rest)) = help.split_once("Commands:\n") else { return Vec::new() };
    let block = rest.split("\n\n").next().expect("a block");
    let named = block.lines().filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    let named = named.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    named.filter(|name| name != "help").collect()
}

#[test]
fn the_reference_has_the_help_of_every_command() {
    let place = Place::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let text = fs::read_to_string(&path).expect("the reference");
    let (head, listed) = sections(&text);
    let mut all = vec![String::new()];
    for command in commands(&help(&place, "")) {
        let inner = commands(&help(&place, &command));
        all.extend(std::iter::once(command.clone()).chain(inner.iter().map(|inner| format!("{command} {inner}"))));
    }
    let section = |words: &String| {
        let space = if words.is_empty() { "" } else { " " };
        format!("{HEADING}{space}{words}`\n\n```text\n{}\n```\n", help(&place, words))
    };
    let expected = format!("{head}{}", all.iter().map(section).collect::<Vec<_>>().join("\n"));
    if std::env::var("FLASHLAB_GOLDEN").is_ok_and(|v| v == "write") {
        fs::write(&path, expected).expect("written");
        return;
    }
    assert_eq!(listed, all, "the commands, in their order");
    let differs = text.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| text.lines().count().min(expected.lines().count())) + 1;
    assert!(
        text == expected,
        "docs/reference/cli.md differs from line {line}; if that is meant, run with FLASHLAB_GOLDEN=write and read the difference"
    );
}
