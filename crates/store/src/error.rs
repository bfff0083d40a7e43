//! What can go wrong between a store and its file.

use flashlab_target::JournalError;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// A store that could not be opened, read or written. The first line of the text names the file and
/// the fault, the second the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No file there.
    #[error("{}: there is no such store\n  the first run makes it; or give the path of one that exists", path.display())]
    Missing {
        /// The store.
        path: PathBuf,
    },
    /// The folder that should hold the store is not there.
    #[error("{}: the folder {} does not exist\n  make the folder, or give another path", path.display(), folder.display())]
    NoFolder {
        /// The store.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// The path can't be looked at.
    #[error("{}: {source}\n  check the path and the permissions of its folders", path.display())]
    Unreachable {
        /// The store.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path is a folder, a device or a pipe.
    #[error("{}: this is a {what}, a store is a file\n  give the path of a file, such as flashlab.db", path.display())]
    NotAFile {
        /// The store.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Nothing was ever kept in the file.
    #[error("{}: the file is empty, no run was kept in it\n  the first run fills it; or give another path", path.display())]
    Empty {
        /// The store.
        path: PathBuf,
    },
    /// The file is another program's.
    #[error("{}: this is no flashlab store: {reason}\n  give another path; the file was left as it is", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        reason: String,
    },
    /// The layout is from a later version of this program.
    #[error("{}: made by a newer flashlab (layout {found}, this one knows up to {known})\n  use that flashlab, or give another path", path.display())]
    Newer {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version this program knows.
        known: i64,
    },
    /// The layout must be brought up to date, and the file can't be written.
    #[error("{}: made by an older flashlab (layout {found}, this one needs {known}), and the file may not be written\n  copy it to where it may be written and open the copy", path.display())]
    Older {
        /// The store.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version this program needs.
        known: i64,
    },
    /// The file or its folder may not be written.
    #[error("{}: may not be written: {reason}\n  change the permissions, or give a path in a folder that may be written", path.display())]
    ReadOnly {
        /// The store.
        path: PathBuf,
        /// Which of the two, where it is known.
        reason: &'static str,
    },
    /// A process was killed while it wrote, and undoing its half a step needs to write.
    #[error("{}: a process was killed while writing it, and what it left can't be undone without writing\n  copy it together with {}-journal to where both may be written, and open the copy", path.display(), path.display())]
    NotRecovered {
        /// The store.
        path: PathBuf,
    },
    /// The file was moved, replaced or deleted under an open store.
    #[error("{}: the file was moved or deleted while it was in use\n  put it back and start again", path.display())]
    Moved {
        /// The store.
        path: PathBuf,
    },
    /// The file's own structure is broken.
    #[error("{}: the file is damaged: {reason}\n  restore it from a copy, or save what can be read: sqlite3 FILE .recover", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A stored value is not what this program writes.
    #[error("{}: table {table}, row {row}, column {column}: {reason}\n  the value was not written by flashlab; restore the file from a copy", path.display())]
    Value {
        /// The store.
        path: PathBuf,
        /// Table.
        table: &'static str,
        /// Its `id` in the table.
        row: i64,
        /// Column.
        column: &'static str,
        /// What is wrong with the value.
        reason: String,
    },
    /// Another process held the file for too long.
    #[error("{}: another process keeps the file locked\n  wait for it to finish; a copy or a query left open in another tool also holds it", path.display())]
    Busy {
        /// The store.
        path: PathBuf,
    },
    /// No space left.
    #[error("{}: no space is left for it; what was kept before is safe\n  free some space on its file system", path.display())]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// No run of this number.
    #[error("{}: there is no run {run}; {held}\n  flashlab list shows the runs", path.display())]
    NoRun {
        /// The store.
        path: PathBuf,
        /// The number asked for.
        run: i64,
        /// Which runs there are.
        held: String,
    },
    /// The run has ended; nothing is added to it.
    #[error("{}: run {run} has ended already\n  begin another run", path.display())]
    RunEnded {
        /// The store.
        path: PathBuf,
        /// The run.
        run: i64,
    },
    /// A finished step is never replaced.
    #[error("{}: run {run} has kept step {index}, round {round} already\n  a finished step is kept once; begin another run", path.display())]
    StepKept {
        /// The store.
        path: PathBuf,
        /// The run.
        run: i64,
        /// Position of the step in the plan, from 0.
        index: u32,
        /// Its round.
        round: u32,
    },
    /// A value that no measurement gives; JSON and SQL would keep it as "unknown".
    #[error("{}: {place} is {value}, which is no figure\n  this is a fault of flashlab; the step was not kept", path.display())]
    NotFinite {
        /// The store.
        path: PathBuf,
        /// Where in the result.
        place: String,
        /// NaN or an infinity.
        value: f64,
    },
    /// A value has no JSON text.
    #[error("{}: {what} has no text: {reason}\n  this is a fault of flashlab; nothing was kept", path.display())]
    NoText {
        /// The store.
        path: PathBuf,
        /// Which value.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Anything else that SQLite reports.
    #[error("{}: {source}\n  check the disk that holds it and the system's log", path.display())]
    Sqlite {
        /// The store.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// The fault behind an error of SQLite on the store at `path`.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let source = match source {
            // Without the statement, which is a whole file where a layout is brought up to date.
            rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
            source => source,
        };
        let rusqlite::Error::SqliteFailure(failure, text) = &source else {
            return StoreError::Sqlite { path, source };
        };
        let reason = || text.clone().unwrap_or_else(|| failure.to_string());
        match (failure.code, failure.extended_code) {
            (ErrorCode::NotADatabase, _) => StoreError::NotAStore { path, reason: reason() },
            (ErrorCode::DatabaseCorrupt, _) => StoreError::Damaged { path, reason: reason() },
            (ErrorCode::DiskFull, _) => StoreError::Full { path },
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy { path },
            (
                ErrorCode::ReadOnly,
                rusqlite::ffi::SQLITE_READONLY_ROLLBACK
                | rusqlite::ffi::SQLITE_READONLY_RECOVERY
                | rusqlite::ffi::SQLITE_READONLY_CANTINIT
                | rusqlite::ffi::SQLITE_READONLY_CANTLOCK,
            ) => StoreError::NotRecovered { path },
            (ErrorCode::ReadOnly, rusqlite::ffi::SQLITE_READONLY_DBMOVED) => StoreError::Moved { path },
            (ErrorCode::ReadOnly, _) => {
                StoreError::ReadOnly { path, reason: "the file or its file system is read-only" }
            }
            // Once the file is open, what can't be opened is the journal beside it.
            (ErrorCode::CannotOpen, _) => StoreError::ReadOnly { path, reason: "no file can be made in its folder" },
            _ => StoreError::Sqlite { path, source },
        }
    }

    /// As the journal's error, while doing `action`.
    pub(crate) fn into_journal(self, path: &Path, action: &'static str) -> JournalError {
        let path = path.display().to_string();
        let text = self.to_string();
        let text = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text);
        let (reason, remedy) = text.split_once("\n  ").unwrap_or((text, ""));
        JournalError { path, action, reason: reason.to_owned(), remedy: remedy.to_owned() }
    }
}

/// A fault on the way through SQL: SQLite's own, which does not know the file yet, or ours.
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl Fault {
    /// The error, now that the file is named.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        match self {
            Fault::Sqlite(error) => StoreError::from_sqlite(path, error),
            Fault::Store(error) => error,
        }
    }
}
