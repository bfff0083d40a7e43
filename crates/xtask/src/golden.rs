//! `cargo xtask golden`: writes the golden files anew by running the tests that have them.
//!
//! It never judges: what changed is printed, for a person to read before it is committed.

use crate::workspace::{File, Workspace};
use crate::{Exit, run};
use anyhow::Result;

/// Set to `write`, it makes tests write their golden files instead of comparing with them.
pub(crate) const VARIABLE: &str = "FLASHLAB_GOLDEN";

/// Runs the tests of every package that has golden files, in writing mode.
pub(crate) fn run(workspace: &Workspace) -> Result<Exit> {
    let packages = packages(workspace, &workspace.files()?);
    if packages.is_empty() {
        println!("no test reads {VARIABLE} or uses insta: there is nothing to renew");
        return Ok(Exit::Done);
    }
    println!("renewing the golden files of: {}", packages.join(", "));
    let mut command = run::cargo(workspace);
    command.args(["test", "--quiet", "--no-fail-fast"]);
    for package in &packages {
        command.args(["--package", package]);
    }
    command.env(VARIABLE, "write").env("INSTA_UPDATE", "always");
    let passed = run::inherit(command)?.success();
    show_changes(workspace)?;
    Ok(if passed { Exit::Done } else { Exit::Failed })
}

/// The packages whose source mentions golden files: the variable, or insta's assertions.
fn packages(workspace: &Workspace, files: &[File]) -> Vec<String> {
    let mentions = |file: &&File| file.text.contains(VARIABLE) || file.text.contains("insta::assert");
    let golden: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".rs")).filter(mentions).collect();
    let mut names: Vec<String> = Vec::new();
    for package in &workspace.metadata.packages {
        // This crate names the variable itself, and has no golden files.
        if package.name == env!("CARGO_PKG_NAME") {
            continue;
        }
        let folder = package.manifest_path.parent().and_then(|folder| folder.strip_prefix(&workspace.root).ok());
        if folder.is_some_and(|folder| golden.iter().any(|file| file.path.starts_with(&format!("{folder}/")))) {
            names.push(package.name.to_string());
        }
    }
    names
}

fn show_changes(workspace: &Workspace) -> Result<()> {
    let changed = workspace.git(&["status", "--porcelain", "-z"])?;
    if changed.is_empty() {
        println!("nothing changed");
        return Ok(());
    }
    println!("changed in the tree; read it with `git diff` before you commit:");
    for line in &changed {
        println!("  {line}");
    }
    if changed.iter().any(|line| line.ends_with(".pending-snap")) {
        println!("an inline snapshot changed: `cargo insta review` (cargo-insta) writes it into the source");
    }
    Ok(())
}
