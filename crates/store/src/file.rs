//! Opens the file: looks at the path before SQLite does, sets what must hold on every connection.

use crate::StoreError;
use crate::error::Fault;
use crate::migrate::{self, Blank, MIGRATIONS};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a call waits for another process to let go of the file. Far longer than any commit or
/// read takes: giving up would lose a step that may have run for hours.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(60);

/// Smallest page of an SQLite file. A file with fewer bytes is none; SQLite itself takes a file of one
/// byte for an empty one and would write over it.
const SQLITE_PAGE_MIN: u64 = 512;

/// Runs in one file.
#[derive(Debug)]
pub struct Store {
    pub(crate) sql: Connection,
    pub(crate) path: PathBuf,
}

impl Store {
    /// Opens the store at `path` to write it, and makes it where there is none. An older layout is
    /// brought up to date.
    ///
    /// # Errors
    /// [`StoreError`] with the path, the reason and the remedy. A file that is no store is left as it
    /// is, and no half a store is left behind.
    pub fn create_or_open(path: &Path) -> Result<Self, StoreError> {
        let there_before = look(path)?.is_some();
        if !there_before {
            look_at_folder(path)?;
        }
        let opened = connect(path, OpenFlags::SQLITE_OPEN_CREATE).and_then(|mut sql| {
            if sql.is_readonly(MAIN_DB).map_err(|error| StoreError::from_sqlite(path, error))? {
                let reason = "the file or its file system is read-only";
                return Err(StoreError::ReadOnly { path: path.to_owned(), reason });
            }
            must_be_whole(&sql, path)?;
            migrate::bring_up_to_date(&mut sql, path, Blank::Fill, MIGRATIONS)?;
            Ok(sql)
        });
        match opened {
            Ok(sql) => Ok(Store { sql, path: path.to_owned() }),
            Err(error) => {
                if !there_before {
                    remove_if_empty(path);
                }
                Err(error)
            }
        }
    }

    /// Opens a store that exists; it is written only to bring an older layout up to date, or to undo
    /// what a killed process left half written. A file that may not be written is opened for reading.
    ///
    /// # Errors
    /// [`StoreError`] with the path, the reason and the remedy.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match look(path)? {
            None => return Err(StoreError::Missing { path: path.to_owned() }),
            Some(0) => return Err(StoreError::Empty { path: path.to_owned() }),
            Some(_) => {}
        }
        let mut sql = connect(path, OpenFlags::empty())?;
        must_be_whole(&sql, path)?;
        migrate::bring_up_to_date(&mut sql, path, Blank::Refuse, MIGRATIONS)?;
        Ok(Store { sql, path: path.to_owned() })
    }

    /// From now on a commit does not wait for the disk. What is committed still survives a kill of this
    /// process; a power cut may lose or damage the store. For modelled runs, which can be computed
    /// again in seconds, and never for measured ones.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite refuses.
    pub fn without_sync(&mut self) -> Result<(), StoreError> {
        let set = self.sql.pragma_update(None, "synchronous", "OFF");
        set.map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Size of the file at `path`, `None` where there is none. An error for what can't be a store.
///
/// The file itself is not opened here: closing a second descriptor would drop the locks that SQLite
/// holds for this process.
fn look(path: &Path) -> Result<Option<u64>, StoreError> {
    use std::os::unix::fs::FileTypeExt;
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.as_os_str().is_empty() => return Ok(None),
        Err(source) => return Err(StoreError::Unreachable { path: path.to_owned(), source }),
    };
    let kind = found.file_type();
    let what = if kind.is_file() {
        return match found.len() {
            length @ 1..SQLITE_PAGE_MIN => {
                let reason = format!("it holds {length} bytes, too few for an SQLite file");
                Err(StoreError::NotAStore { path: path.to_owned(), reason })
            }
            length => Ok(Some(length)),
        };
    } else if kind.is_dir() {
        "folder"
    } else if kind.is_block_device() {
        "block device"
    } else if kind.is_char_device() {
        "character device"
    } else if kind.is_fifo() {
        "pipe"
    } else {
        "socket"
    };
    Err(StoreError::NotAFile { path: path.to_owned(), what })
}

/// Fails where the folder that would hold `path` is missing, which SQLite would only call "unable to
/// open".
fn look_at_folder(path: &Path) -> Result<(), StoreError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => return Ok(()),
    };
    match fs::metadata(folder) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::NoFolder { path: path.to_owned(), folder: folder.to_owned() })
        }
        Err(source) => Err(StoreError::Unreachable { path: path.to_owned(), source }),
    }
}

/// Opens a connection and sets what must hold on each.
fn connect(path: &Path, more: OpenFlags) -> Result<Connection, StoreError> {
    // An absolute path, so that `:memory:` and `file:...` are names of files like all others.
    let absolute =
        std::path::absolute(path).map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let set_up = || -> Result<Connection, Fault> {
        let sql = Connection::open_with_flags(&absolute, flags).map_err(|error| not_opened(path, error))?;
        sql.busy_timeout(BUSY_WAIT)?;
        // The file may come from anywhere: its views and triggers get no dangerous functions.
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        sql.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        sql.pragma_update(None, "cell_size_check", true)?;
        sql.pragma_update(None, "foreign_keys", true)?;
        // A rollback journal, not a write-ahead log: between two commits the store is one file that a
        // person can copy, read-only media work, and a step is committed every few seconds at most,
        // so that readers and writers rarely wait. EXTRA is FULL and also syncs the folder once the
        // journal is deleted; without it a power cut could bring the journal back and undo a commit
        // that was reported.
        if !sql.is_readonly(MAIN_DB)? {
            sql.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        }
        sql.pragma_update(None, "synchronous", "EXTRA")?;
        Ok(sql)
    };
    set_up().map_err(|fault| fault.at(path))
}

/// Fails for a file that ends before its last page does. SQLite notices whole pages that are missing
/// and reads the missing part of a page as zeros.
fn must_be_whole(sql: &Connection, path: &Path) -> Result<(), StoreError> {
    let compare = || -> Result<Option<(u64, u64)>, Fault> {
        // Inside a read transaction nobody changes the length, and what a killed process left half
        // written has been undone.
        let transaction = sql.unchecked_transaction()?;
        let pages: u32 = transaction.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let page: u32 = transaction.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let mode: String = transaction.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if mode == "wal" {
            // Converted by another tool and in use there: the last pages may be in the log.
            return Ok(None);
        }
        let found = fs::metadata(path).map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })?;
        Ok(Some((found.len(), u64::from(pages) * u64::from(page))))
    };
    match compare().map_err(|fault| fault.at(path))? {
        Some((length, needed)) if length < needed => {
            let reason = format!("it ends after {length} of {needed} bytes");
            Err(StoreError::Damaged { path: path.to_owned(), reason })
        }
        _ => Ok(()),
    }
}

/// Why SQLite could not open a path that is a file or lies in a folder that exists.
fn not_opened(path: &Path, error: rusqlite::Error) -> StoreError {
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return StoreError::from_sqlite(path, error);
    }
    let path = path.to_owned();
    if path.exists() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        StoreError::Unreachable { path, source }
    } else {
        StoreError::ReadOnly { path, reason: "no file can be made in its folder" }
    }
}

/// Takes away the empty file that a failed creation left, such as on a full disk.
fn remove_if_empty(path: &Path) {
    if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0) {
        // It is only an attempt at tidiness: an empty file does no harm, and is filled next time.
        let _ = fs::remove_file(path);
    }
}
