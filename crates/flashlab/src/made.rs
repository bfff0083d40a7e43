//! What a command made before its run began, removed again if the run never begins.

use flashlab_guard::Growth;
use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders that this process made, and files that it made larger. Dropped, it removes them, the last
/// first, a folder only while it is empty; what grew gets its old size again.
#[derive(Debug, Default)]
pub(crate) struct Made {
    paths: Vec<PathBuf>,
    grown: Vec<Growth>,
}

impl Made {
    /// Notes a path that was just made, and that was free before.
    pub(crate) fn add(&mut self, path: &Path) {
        self.paths.push(path.to_owned());
    }

    /// Notes that a file was made larger.
    pub(crate) fn grew(&mut self, growth: Growth) {
        self.grown.push(growth);
    }

    /// Runs `make`, which makes `path` if it is free, and notes it if that is what happened.
    pub(crate) fn make<T, E>(&mut self, path: &Path, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let was_free = fs::symlink_metadata(path).is_err();
        let made = make()?;
        if was_free {
            self.add(path);
        }
        Ok(made)
    }

    /// The run begins: from here on everything stays.
    pub(crate) fn keep(mut self) {
        self.paths.clear();
        std::mem::take(&mut self.grown).into_iter().for_each(Growth::keep);
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in self.paths.iter().rev() {
            // The error that led here is the one to report.
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_what_it_made_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (old, new, full) = (folder.path().join("old"), folder.path().join("new"), folder.path().join("full"));
        fs::write(&old, "old").expect("a file");
        let mut made = Made::default();
        made.make(&old, || fs::write(&old, "older")).expect("a file");
        made.make(&new, || fs::write(&new, "new")).expect("a file");
        made.make(&full, || fs::create_dir(&full)).expect("a folder");
        fs::write(full.join("foreign"), "").expect("a file");
        drop(made);
        assert!(old.exists() && !new.exists() && full.join("foreign").exists());
    }

    #[test]
    fn keeps_all_of_it_once_the_run_begins() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let new = folder.path().join("new");
        let mut made = Made::default();
        made.make(&new, || fs::write(&new, "new")).expect("a file");
        made.keep();
        assert!(new.exists());
    }
}
