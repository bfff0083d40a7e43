//! Links in Markdown documents: every relative one points to a file that exists.

use super::{Finding, Tree};
use std::collections::BTreeSet;

/// Checks README.md, CHANGELOG.md and everything under `docs/`.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // A picture is no text file, so the tree may lack it: a target is looked for on the disk too.
    let root = tree.metadata.workspace_root.as_std_path();
    let known: BTreeSet<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    let documents = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    for file in documents.filter(|file| !file.path.contains('/') || file.path.starts_with("docs/")) {
        for (line, target) in targets(&file.text) {
            let Some(path) = resolve(&file.path, &target) else {
                let remedy = "write it relative to the document, inside the tree";
                findings.push(Finding::at(&file.path, line, format!("the link `{target}` leaves the tree"), remedy));
                continue;
            };
            if !known.contains(path.as_str()) && !root.join(&path).exists() {
                let what = format!("the link `{target}` points to no file");
                findings.push(Finding::at(&file.path, line, what, format!("{path} doesn't exist")));
            }
        }
    }
    findings
}

/// The relative targets in a document, each with its line; addresses and anchors are left out.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut targets = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced {
            let line = without_code(line);
            let found = inline_targets(&line).chain(attribute_targets(&line)).chain(definition_target(&line));
            let relative = found.filter(|target| !is_address(target));
            targets.extend(relative.map(|target| (index + 1, target.to_owned())));
        }
    }
    targets
}

/// `[text](target)`, `![text](target "title")`.
fn inline_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| first_word(rest.split(')').next()?))
}

/// `src="target"` and `href="target"` of HTML in the document.
fn attribute_targets(line: &str) -> impl Iterator<Item = &str> {
    ["src=\"", "href=\""]
        .into_iter()
        .flat_map(move |name| line.split(name).skip(1))
        .filter_map(|rest| rest.split('"').next())
}

/// `[name]: target` at the start of a line.
fn definition_target(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('[')?.split_once("]:")?;
    if name.contains(']') { None } else { first_word(rest) }
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next().map(|word| word.trim_matches(['<', '>']))
}

/// Whether the target is somewhere else: an address with a scheme, or a place in the same document.
fn is_address(target: &str) -> bool {
    let scheme = target.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    target.is_empty() || target.starts_with('#') || scheme
}

/// The line without what stands between backquotes.
fn without_code(line: &str) -> String {
    // An odd number of parts means that every backquote has its partner.
    let parts: Vec<&str> = line.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return line.to_owned();
    }
    parts.into_iter().step_by(2).collect()
}

/// The target's path from the root, or nothing when it goes above it.
fn resolve(document: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{shown, tree};
    use super::*;

    #[test]
    fn a_link_to_nothing_fails() {
        let guide = "# Guide\n\nSee [the start](../README.md#one) and [more](more.md).\n![plot](plots/a.svg \"A\")\n";
        assert_eq!(
            shown(&check(&tree(&[("README.md", "x\n"), ("docs/guide.md", guide)]))),
            [
                "docs/guide.md:3: the link `more.md` points to no file; docs/more.md doesn't exist",
                "docs/guide.md:4: the link `plots/a.svg` points to no file; docs/plots/a.svg doesn't exist",
            ]
        );
    }

    #[test]
    fn definitions_and_html_are_links_too() {
        let lines: Vec<usize> = check(&tree(&[("README.md", "[a]: gone.md\n<img src=\"gone.png\" width=\"1\">\n")]))
            .into_iter()
            .filter_map(|finding| finding.line)
            .collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn addresses_anchors_and_code_are_none() {
        let text = "[a](https://example.org/x) [b](#here) [c](mailto:a@example.org) `[d](gone.md)`\n\
                    ```\n[e](gone.md)\n```\n";
        assert_eq!(shown(&check(&tree(&[("README.md", text)]))), [""; 0]);
    }

    #[test]
    fn a_link_out_of_the_tree_fails() {
        let findings = check(&tree(&[("README.md", "[up](../other/README.md) [abs](/etc/passwd)\n")]));
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| finding.what.ends_with("leaves the tree")), "{findings:?}");
    }
}
