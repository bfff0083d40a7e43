//! `cargo xtask tidy`: the rules of the house that the compiler can't check.
//!
//! Each rule is one function from the tree to its findings; this module reads the tree once, runs
//! them in order and prints what they found, each with its place and its remedy. It changes
//! nothing.

mod data;
mod edges;
mod functions;
mod links;
mod rust;
mod source;
mod text;

use crate::Exit;
use crate::workspace::{File, Workspace};
use anyhow::Result;
use cargo_metadata::Metadata;
use rust::Tokens;
use std::fmt;

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// The file, or `crates/NAME`; from the root.
    path: String,
    /// The line, from 1; none when the finding is about the whole.
    line: Option<usize>,
    /// What is wrong.
    what: String,
    /// What to do about it.
    remedy: String,
    /// A warning is printed and fails nothing.
    warning: bool,
}

impl Finding {
    fn at(path: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::whole(path, what, remedy) }
    }

    fn whole(path: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into(), remedy: remedy.into(), warning: false }
    }

    fn into_warning(self) -> Self {
        Self { warning: true, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let kind = if self.warning { "warning: " } else { "" };
        write!(out, "{}{line}: {kind}{}; {}", self.path, self.what, self.remedy)
    }
}

/// A Rust source file with its tokens.
struct RustFile {
    /// Which of the tree's files.
    file: usize,
    /// What its tokens say, or why they could not be read (line and message).
    tokens: Result<Tokens, (usize, String)>,
}

/// All that the rules look at.
struct Tree {
    metadata: Metadata,
    files: Vec<File>,
    rust: Vec<RustFile>,
    /// Paths of this machine that must not be committed.
    local_paths: Vec<String>,
}

impl Tree {
    fn new(metadata: Metadata, files: Vec<File>, local_paths: Vec<String>) -> Self {
        let rust = files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.path.ends_with(".rs"))
            .map(|(index, file)| RustFile { file: index, tokens: Tokens::read(&file.text) })
            .collect();
        Self { metadata, files, rust, local_paths }
    }

    /// The Rust files whose tokens could be read.
    fn rust(&self) -> impl Iterator<Item = (&File, &Tokens)> {
        self.rust.iter().filter_map(|rust| Some((&self.files[rust.file], rust.tokens.as_ref().ok()?)))
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// A rule: all of the tree in, its findings out.
type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule, in the order in which its findings are printed.
const RULES: &[(&str, Rule)] = &[
    ("edges between crates", edges::check),
    ("anyhow only in programs", edges::check_anyhow),
    ("packages from the public registry", data::check_registries),
    ("source that can be read", source::check_readable),
    ("functions", functions::check),
    ("long files", source::check_file_length),
    ("unsafe", source::check_unsafe),
    ("printing", source::check_printing),
    ("unfinished code", source::check_unfinished),
    ("white space", text::check_white_space),
    ("paths of this machine", text::check_local_paths),
    ("data files", data::check_toml),
    ("links in documents", links::check),
];

/// Runs every rule and prints what they found.
pub(crate) fn run(workspace: &Workspace) -> Result<Exit> {
    let local =
        text::local_paths(&workspace.root, std::env::var_os("CARGO_TARGET_DIR").map(Into::into), std::env::home_dir());
    let tree = Tree::new(workspace.metadata.clone(), workspace.files()?, local);
    let mut failed = 0_usize;
    for (name, rule) in RULES {
        for finding in rule(&tree) {
            println!("{finding} [{name}]");
            failed += usize::from(!finding.warning);
        }
    }
    println!("tidy: {} rules, {} files, {failed} findings", RULES.len(), tree.files.len());
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// What the rules' tests are made with: a tree from texts.
#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use serde_json::{Value, json};

    /// A tree with these files, whose packages depend on nothing.
    pub(super) fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect();
        Tree::new(metadata(&[]), files, vec!["/checkouts/".into()])
    }

    /// The metadata of a workspace: each package with its dependencies, `(name, kind)`.
    pub(crate) fn metadata(packages: &[(&str, &[(&str, &str)])]) -> Metadata {
        let packages: Vec<Value> = packages.iter().map(|(name, uses)| package(name, uses)).collect();
        let members: Vec<Value> = packages.iter().map(|package| package["id"].clone()).collect();
        let whole = json!({
            "packages": packages, "workspace_members": members, "resolve": null, "version": 1,
            "target_directory": "/tree/target", "workspace_root": "/tree",
        });
        cargo_metadata::MetadataCommand::parse(whole.to_string()).expect("the fixture is metadata")
    }

    fn package(name: &str, uses: &[(&str, &str)]) -> Value {
        let dependencies: Vec<Value> = uses
            .iter()
            .map(|(used, kind)| {
                let kind = if *kind == "normal" { Value::Null } else { json!(kind) };
                json!({
                    "name": used, "source": null, "req": "*", "kind": kind, "rename": null, "optional": false,
                    "uses_default_features": true, "features": [], "target": null, "registry": null,
                })
            })
            .collect();
        json!({
            "name": name, "version": "0.1.0", "id": format!("path+file:///tree/{name}#0.1.0"), "source": null,
            "dependencies": dependencies, "targets": [], "features": {}, "edition": "2024",
            "manifest_path": format!("/tree/crates/{name}/Cargo.toml"),
        })
    }

    /// Findings as they are printed.
    pub(super) fn shown(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }
}
