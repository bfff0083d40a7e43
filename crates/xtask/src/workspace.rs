//! The workspace as cargo and git see it: packages, benchmarks, and the files that are ours.

use crate::run;
use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, TargetKind};
use std::path::PathBuf;
use std::process::Command;

/// The root of the tree and what `cargo metadata` says about it.
pub(crate) struct Workspace {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// Only our own packages: no dependency is resolved, so this needs no network.
    pub(crate) metadata: Metadata,
}

/// One `[[bench]]` of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bench {
    /// The package it belongs to.
    pub(crate) package: String,
    /// Its own name.
    pub(crate) name: String,
}

/// A text file of the tree.
pub(crate) struct File {
    /// From the root, with `/` between the parts.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

impl Workspace {
    /// Reads the workspace around the current folder.
    pub(crate) fn load() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata failed")?;
        Ok(Self { root: metadata.workspace_root.clone().into_std_path_buf(), metadata })
    }

    /// Every benchmark, sorted by package and name.
    pub(crate) fn benches(&self) -> Vec<Bench> {
        let mut benches: Vec<Bench> = self
            .metadata
            .packages
            .iter()
            .flat_map(|package| package.targets.iter().map(move |target| (package, target)))
            .filter(|(_, target)| target.is_kind(TargetKind::Bench))
            .map(|(package, target)| Bench { package: package.name.to_string(), name: target.name.clone() })
            .collect();
        benches.sort();
        benches
    }

    /// The files that are committed or would be (not ignored), and are text.
    pub(crate) fn files(&self) -> Result<Vec<File>> {
        let mut paths = self.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        paths.sort();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let full = self.root.join(&path);
            // A file that git knows and that was just removed is no file of ours any more, and a
            // link has no text of its own.
            let Ok(kind) = full.symlink_metadata() else { continue };
            if !kind.is_file() {
                continue;
            }
            let bytes = std::fs::read(&full).with_context(|| format!("can't read {path}"))?;
            // Not UTF-8 is a picture or an archive: nothing here reads those.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path, text });
            }
        }
        Ok(files)
    }

    /// What a git command prints, split at its NUL bytes.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let mut command = Command::new("git");
        // A checkout made by another user (a container's) is still the tree that was asked about.
        command.arg("-c").arg(format!("safe.directory={}", self.root.display()));
        command.args(arguments).current_dir(&self.root);
        let shown = run::shown(&command);
        let output = run::collect(command)?;
        if !output.status.success() {
            bail!(
                "`{shown}` failed in {}: {}; this task reads the list of files from git, so it needs a git checkout",
                self.root.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let text = String::from_utf8(output.stdout).context("a file name is not UTF-8; rename it")?;
        Ok(text.split('\0').filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_what_is_committed_or_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = crate::tidy::fixture::metadata(&[]);
        let workspace = Workspace { root: folder.path().to_owned(), metadata };
        workspace.git(&["init", "--quiet"]).unwrap();
        let files: [(&str, &[u8]); 5] = [
            (".gitignore", b"*.db\n"),
            ("kept.txt", b"kept\n"),
            ("removed.txt", b"removed\n"),
            ("results.db", b"ignored\n"),
            ("picture.png", b"\x89PNG\xff"),
        ];
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        workspace.git(&["add", "removed.txt"]).unwrap();
        std::fs::remove_file(folder.path().join("removed.txt")).unwrap();
        let found: Vec<String> = workspace.files().unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(found, [".gitignore", "kept.txt"]);
    }

    #[test]
    fn a_folder_without_git_says_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace { root: folder.path().to_owned(), metadata: crate::tidy::fixture::metadata(&[]) };
        let error = workspace.git(&["status"]).unwrap_err().to_string();
        assert!(error.contains("it needs a git checkout"), "{error}");
    }
}
