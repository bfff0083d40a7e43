//! Rules about data and manifests: every data file parses, and packages come from one place.

use super::{Finding, Tree};
use toml::Table;

/// The only registry that Cargo.lock may name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Every TOML file under `data/` is TOML. What its keys mean is checked by `spec`'s own tests.
pub(super) fn check_toml(tree: &Tree) -> Vec<Finding> {
    let data = tree.files.iter().filter(|file| file.path.starts_with("data/") && file.path.ends_with(".toml"));
    data.filter_map(|file| {
        let error = file.text.parse::<Table>().err()?;
        let start = error.span().map_or(0, |span| span.start.min(file.text.len()));
        let line = file.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        Some(Finding::at(&file.path, line, format!("not TOML: {}", error.message()), "mend the line"))
    })
    .collect()
}

/// Packages come from the public registry, whatever this machine is set up with: a mirror's host
/// in a committed file would break every other machine.
pub(super) fn check_registries(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let wrong: fn(&str) -> bool = match name {
            "Cargo.lock" => |line| line.starts_with("source = ") && !line.contains(REGISTRY),
            "Cargo.toml" => |line| {
                let line = line.replace(' ', "");
                line.contains("registry=\"") || line.contains("registry-index=") || line.contains("git=\"")
            },
            "config.toml" if file.path.contains(".cargo/") => |line| {
                let line = line.trim_start();
                ["[source", "[registry", "[registries"].iter().any(|table| line.starts_with(table))
            },
            _ => continue,
        };
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| wrong(line)) {
            let what = format!("a package source other than crates.io: {}", line.trim());
            let remedy = "take it out; a mirror belongs into the machine's own cargo configuration";
            findings.push(Finding::at(&file.path, index + 1, what, remedy));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{shown, tree};
    use super::*;

    #[test]
    fn broken_data_is_found_with_its_line() {
        let findings = check_toml(&tree(&[
            ("data/drives/good.toml", "[drive]\nid = \"a\"\n"),
            ("data/drives/bad.toml", "[drive]\nid = \"a\"\ndies = = 4\n"),
            ("crates/spec/tests/inputs/bad.toml", "x = = 1\n"),
        ]));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].path.as_str(), findings[0].line), ("data/drives/bad.toml", Some(3)));
    }

    #[test]
    fn other_sources_than_the_public_registry_fail() {
        let lock = format!("source = \"{REGISTRY}\"\nsource = \"registry+https://mirror.invalid/index\"\n");
        let found = shown(&check_registries(&tree(&[
            ("Cargo.lock", &lock),
            ("Cargo.toml", "[dependencies]\na = \"1\"\nb = { version = \"1\", registry = \"ours\" }\n"),
            (".cargo/config.toml", "[alias]\nx = \"run\"\n[source.crates-io]\nreplace-with = \"m\"\n"),
        ])));
        let places: Vec<&str> = found.iter().filter_map(|text| text.split(": ").next()).collect();
        assert_eq!(places, ["Cargo.lock:2", "Cargo.toml:3", ".cargo/config.toml:3"]);
    }
}
