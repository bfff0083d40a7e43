//! Values in and out of SQL cells. What is read was perhaps written by others: every value is checked
//! and an error names table, row and column.

use crate::StoreError;
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A whole number in a column of type ANY. SQL integers end at 2^63 - 1; a number above is kept as
/// its decimal text, so that it is exact and still read rightly by people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole(pub(crate) u64);

impl ToSql for Whole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(i64::try_from(self.0).map_or_else(|_| Value::Text(self.0.to_string()), Value::Integer)))
    }
}

impl FromSql for Whole {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Integer(i) => u64::try_from(i).map(Whole).map_err(|_| FromSqlError::OutOfRange(i)),
            ValueRef::Text(_) => value.as_str()?.parse().map(Whole).map_err(FromSqlError::other),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// A value as JSON text.
pub(crate) fn json<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::NoText {
        path: path.to_owned(),
        what,
        reason: error.to_string(),
    })
}

/// One row that is being read, with what errors must name.
pub(crate) struct Cells<'a> {
    row: &'a Row<'a>,
    path: &'a Path,
    table: &'static str,
    id: i64,
}

impl<'a> Cells<'a> {
    /// The row of `table` whose number is in the column `id_column`.
    pub(crate) fn new(
        row: &'a Row<'a>,
        path: &'a Path,
        table: &'static str,
        id_column: &str,
    ) -> rusqlite::Result<Self> {
        Ok(Cells { row, path, table, id: row.get(id_column)? })
    }

    /// The same row for the columns that were joined to it from `table`.
    pub(crate) fn table(&self, table: &'static str) -> Cells<'a> {
        Cells { table, ..*self }
    }

    /// The row's number.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// That `column` of this row is wrong.
    pub(crate) fn fault(&self, column: &'static str, reason: impl ToString) -> StoreError {
        StoreError::Value {
            path: self.path.to_owned(),
            table: self.table,
            row: self.id,
            column,
            reason: reason.to_string(),
        }
    }

    /// The value of a column by its SQL type.
    pub(crate) fn get<T: FromSql>(&self, column: &'static str) -> Result<T, StoreError> {
        self.row.get(column).map_err(|error| self.fault(column, reason(error)))
    }

    /// A number that is one.
    pub(crate) fn finite(&self, column: &'static str) -> Result<f64, StoreError> {
        let value: f64 = self.get(column)?;
        if value.is_finite() { Ok(value) } else { Err(self.fault(column, format!("{value} is no figure"))) }
    }

    /// The value whose JSON text is in a column.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, StoreError> {
        let text: String = self.get(column)?;
        serde_json::from_str(&text).map_err(|error| self.fault(column, error))
    }

    /// As [`Cells::json`], where the column holds one.
    pub(crate) fn json_if_any<T: DeserializeOwned>(&self, column: &'static str) -> Result<Option<T>, StoreError> {
        match self.get::<Option<String>>(column)? {
            Some(_) => self.json(column).map(Some),
            None => Ok(None),
        }
    }

    /// The value of an enum whose word is in a column.
    pub(crate) fn word<T: for<'de> Deserialize<'de>>(&self, column: &'static str) -> Result<T, StoreError> {
        let word: String = self.get(column)?;
        let text: StrDeserializer<'_, WordError> = word.as_str().into_deserializer();
        T::deserialize(text).map_err(|error| self.fault(column, error))
    }
}

/// What is wrong with a cell, without SQLite's name for the column, which the error names itself.
fn reason(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::InvalidColumnType(_, _, found) => format!("a value of type {found} is not expected here"),
        rusqlite::Error::IntegralValueOutOfRange(_, value) => format!("{value} is out of range"),
        rusqlite::Error::FromSqlConversionFailure(_, _, source) => source.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::{Condition, MetricName, Origin};

    #[test]
    fn whole_numbers_survive_to_the_last_bit() {
        let sql = rusqlite::Connection::open_in_memory().expect("memory");
        sql.execute_batch("CREATE TABLE t (x ANY) STRICT").expect("table");
        for value in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
            sql.execute("DELETE FROM t", []).expect("empty");
            sql.execute("INSERT INTO t VALUES (?)", [Whole(value)]).expect("insert");
            let (read, shown): (Whole, String) = sql
                .query_row("SELECT x, CAST(x AS TEXT) FROM t", [], |row| Ok((row.get(0)?, row.get(1)?)))
                .expect("read");
            assert_eq!((read.0, shown), (value, value.to_string()));
        }
        for hostile in ["-1", "'-1'", "1.5", "'12x'", "NULL", "'18446744073709551616'"] {
            let read = sql.query_row(&format!("SELECT {hostile}"), [], |row| row.get::<_, Whole>(0));
            assert!(read.is_err(), "{hostile}");
        }
    }

    /// Columns are written with the types' own words and read by serde; both must say the same.
    #[test]
    fn the_words_of_columns_are_those_of_serde() {
        fn same<T: Serialize>(value: T, word: &str) {
            assert_eq!(serde_json::to_value(value).expect("a word"), word);
        }
        MetricName::ALL.iter().for_each(|name| same(*name, name.word()));
        [Origin::Measured, Origin::Modelled, Origin::Imported, Origin::Published]
            .iter()
            .for_each(|origin| same(*origin, origin.word()));
        [
            Condition::Unknown,
            Condition::Purged,
            Condition::Written,
            Condition::AfterFill,
            Condition::GcSteady,
            Condition::NotSteady,
            Condition::CheckpointFill,
        ]
        .iter()
        .for_each(|condition| same(*condition, condition.word()));
    }
}
