//! Brings the layout of a file to the version this program knows.
//!
//! A version is one SQL text, run once, in a transaction of its own that also sets the version: a
//! process killed in the middle leaves the version before. Files that are not ours are left alone.

use crate::StoreError;
use crate::error::Fault;
use rusqlite::{Connection, MAIN_DB, Transaction, TransactionBehavior};
use std::path::Path;

/// "FLSH" in ASCII, in the header of every store.
pub(crate) const APPLICATION_ID: i64 = 0x464C_5348;

/// The texts that lead from no layout to the latest, in order. A new version is one more entry; an
/// entry is never changed once it was released.
pub(crate) const MIGRATIONS: &[&str] =
    &[include_str!("schema/version_1.sql"), include_str!("schema/version_2.sql"), include_str!("schema/version_3.sql")];

/// What a file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label {
    application_id: i64,
    version: i64,
    objects: i64,
}

impl Label {
    /// Read inside a transaction, so that the three belong together.
    fn read(transaction: &Transaction<'_>) -> rusqlite::Result<Self> {
        let objects = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get(0));
        Ok(Label { application_id: pragma("application_id")?, version: pragma("user_version")?, objects })
    }

    /// Nothing was ever written: a new file, or one whose maker was killed before the first commit.
    fn is_blank(self) -> bool {
        self == Label { application_id: 0, version: 0, objects: 0 }
    }
}

/// Whether a blank file is given a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    /// Yes: it becomes a store.
    Fill,
    /// No: it is an error.
    Refuse,
}

/// Makes sure that the file is a store of the latest of `migrations`.
pub(crate) fn bring_up_to_date(
    sql: &mut Connection,
    path: &Path,
    blank: Blank,
    migrations: &[&str],
) -> Result<(), StoreError> {
    migrate(sql, path, blank, migrations).map_err(|fault| fault.at(path))
}

fn migrate(sql: &mut Connection, path: &Path, blank: Blank, migrations: &[&str]) -> Result<(), Fault> {
    let known = migrations.len() as i64;
    let mut label = Label::read(&sql.transaction()?)?;
    // Each round gains a version at least, here or in another process: it ends after `known` rounds.
    while needs_migration(label, path, blank, known)? {
        if sql.is_readonly(MAIN_DB)? {
            return Err(StoreError::Older { path: path.to_owned(), found: label.version, known }.into());
        }
        let transaction = sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
        label = Label::read(&transaction)?;
        // Another process may have done it while this one waited for the lock.
        if needs_migration(label, path, blank, known)? {
            transaction.execute_batch(migrations[label.version as usize])?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", label.version + 1)?;
            label = Label::read(&transaction)?;
            transaction.commit()?;
        }
    }
    Ok(())
}

/// Whether a file with this label is older than `known`; an error if it is none of ours.
fn needs_migration(label: Label, path: &Path, blank: Blank, known: i64) -> Result<bool, StoreError> {
    let path = path.to_owned();
    if label.is_blank() {
        return if blank == Blank::Fill { Ok(true) } else { Err(StoreError::Empty { path }) };
    }
    if label.application_id != APPLICATION_ID || label.version < 1 {
        let reason = format!(
            "it is an SQLite file of another program (application id {}, version {})",
            label.application_id, label.version
        );
        return Err(StoreError::NotAStore { path, reason });
    }
    if label.version > known {
        return Err(StoreError::Newer { path, found: label.version, known });
    }
    Ok(label.version < known)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if a later version had added a column.
    const NEXT: &str = "ALTER TABLE runs ADD COLUMN note TEXT;";

    fn version(sql: &Connection) -> i64 {
        sql.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version")
    }

    fn at_this_version(path: &Path) -> Connection {
        let mut sql = Connection::open(path).expect("open");
        bring_up_to_date(&mut sql, path, Blank::Fill, MIGRATIONS).expect("a new store");
        sql
    }

    #[test]
    fn a_later_layout_is_one_more_entry() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("s.db");
        let mut sql = at_this_version(&path);
        assert_eq!(version(&sql), MIGRATIONS.len() as i64);
        let later: Vec<&str> = MIGRATIONS.iter().copied().chain([NEXT]).collect();
        bring_up_to_date(&mut sql, &path, Blank::Refuse, &later).expect("migrated");
        assert_eq!(version(&sql), later.len() as i64);
        sql.execute("UPDATE runs SET note = 'x'", []).expect("the new column");
        // And again: nothing to do. The program before it refuses the file.
        bring_up_to_date(&mut sql, &path, Blank::Refuse, &later).expect("up to date");
        let error = bring_up_to_date(&mut sql, &path, Blank::Fill, MIGRATIONS).expect_err("newer");
        let known_now = MIGRATIONS.len() as i64;
        assert!(
            matches!(error, StoreError::Newer { found, known, .. } if found == known_now + 1 && known == known_now),
            "{error}"
        );
        assert!(error.to_string().contains("made by a newer flashlab"), "{error}");
    }

    /// A file of the first layout, with a run in it, gets the rows of the second.
    #[test]
    fn the_stages_of_an_older_file_are_found() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("s.db");
        let mut sql = Connection::open(&path).expect("open");
        bring_up_to_date(&mut sql, &path, Blank::Fill, &MIGRATIONS[..1]).expect("the first layout");
        sql.execute_batch(
            r#"INSERT INTO runs (suite_id, drive_id, origin, seed, suite, provenance, steps_planned, begun_at, pid)
                 VALUES ('s', 'd', 'modelled', '1', '{}', '{}', 1, 'now', 1);
               INSERT INTO steps (run_id, step, round, title, progress, begun_at) VALUES (1, 0, 0, 't', 'begun', 'now');
               INSERT INTO points (step_id, position, drive_id, suite, workload, iodepth, state, fills, origin, remarks)
                 VALUES (1, 0, 'd', 's', 'w', 8, 'purged', 0, 'modelled', '[]'),
                        (1, 1, 'd', 's', 'w', 9, 'purged', 0, 'measured', '[]');
               INSERT INTO job_results VALUES (1, '{"classes":[{"class":"trim","ios":7,"stages":[
                 {"stage":"host","mean_ns":1.5},{"stage":"controller","mean_ns":0.25}]}]}'), (2, '{"elapsed":"1s"}');"#,
        )
        .expect("a run of an earlier program");
        bring_up_to_date(&mut sql, &path, Blank::Refuse, MIGRATIONS).expect("migrated");
        let mut statement =
            sql.prepare("SELECT run, iodepth, class, ios, stage, mean_ns FROM stages").expect("the view");
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        };
        type Stage = (i64, i64, String, i64, String, f64);
        let rows: Vec<Stage> = statement.query_map([], row).expect("rows").collect::<Result<_, _>>().expect("rows");
        let stage = |name: &str, mean_ns| (1, 8, "trim".to_owned(), 7, name.to_owned(), mean_ns);
        assert_eq!(rows, [stage("host", 1.5), stage("controller", 0.25)]);
    }

    #[test]
    fn a_migration_that_fails_half_way_changes_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("s.db");
        let mut sql = at_this_version(&path);
        let broken = format!("{NEXT} SELECT nonsense FROM nowhere;");
        let later: Vec<&str> = MIGRATIONS.iter().copied().chain([broken.as_str()]).collect();
        assert!(bring_up_to_date(&mut sql, &path, Blank::Refuse, &later).is_err());
        assert_eq!(version(&sql), MIGRATIONS.len() as i64);
        assert!(sql.execute("UPDATE runs SET note = 'x'", []).is_err(), "the column must not be there");
    }

    #[test]
    fn an_older_file_that_may_not_be_written_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("s.db");
        drop(at_this_version(&path));
        let mut sql =
            Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).expect("read-only");
        let later: Vec<&str> = MIGRATIONS.iter().copied().chain([NEXT]).collect();
        let error = bring_up_to_date(&mut sql, &path, Blank::Refuse, &later).expect_err("older");
        assert!(matches!(error, StoreError::Older { .. }), "{error}");
    }

    #[test]
    fn another_programs_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("other.db");
        let mut sql = Connection::open(&path).expect("open");
        sql.execute_batch("CREATE TABLE mine (x)").expect("table");
        for pragma in ["PRAGMA user_version = 1", "PRAGMA application_id = 7"] {
            sql.execute_batch(pragma).expect("pragma");
            let error = bring_up_to_date(&mut sql, &path, Blank::Fill, MIGRATIONS).expect_err("not ours");
            assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        }
        let tables: i64 = sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).expect("count");
        assert_eq!(tables, 1);
    }
}
