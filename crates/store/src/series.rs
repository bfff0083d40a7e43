//! The series of jobs: rows that are written while a job runs and read back in their order.

use crate::cells::{Cells, Whole, json};
use crate::error::Fault;
use crate::read::collect;
use crate::{Store, StoreError};
use flashlab_samples::{Interval, IntervalDirection, SparseHistogram};
use flashlab_target::{RunId, StepPlace};
use flashlab_units::{Bytes, Nanos};
use rusqlite::{Connection, Transaction, params};
use std::path::Path;

/// Intervals of a job that a run is read back with at most: more than any screen is wide, and an hour of
/// seconds is whole.
pub const SERIES_MAX: u64 = 4096;

const PUT: &str = "
INSERT INTO intervals VALUES (?1, ?2, (SELECT coalesce(max(position), -1) + 1 FROM intervals WHERE step_id = ?1 AND point = ?2),
                              ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const GET: &str =
    "SELECT * FROM intervals WHERE step_id = ?1 AND point = ?2 AND position >= ?3 ORDER BY position LIMIT ?4";

impl Store {
    /// Up to `limit` intervals of the job at the point with this position in a step, from the `first` on;
    /// also of a step that is still in progress. Empty beyond the last one, and where there are none.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read or holds a value that this program doesn't write.
    pub fn intervals(
        &self,
        run: RunId,
        place: StepPlace,
        point: u32,
        first: u64,
        limit: u32,
    ) -> Result<Vec<Interval>, StoreError> {
        self.read(|sql| {
            let select = "SELECT id FROM steps WHERE run_id = ?1 AND step = ?2 AND round = ?3";
            let steps = collect(sql, select, params![run.0, place.step, place.round], |row| Ok(row.get::<_, i64>(0)?))?;
            let Some(step) = steps.first() else { return Ok(Vec::new()) };
            let mut position = first;
            collect(sql, GET, params![step, point, Whole(first), limit], |row| {
                position += 1;
                interval(&Cells::new(row, &self.path, "intervals", "position")?, position - 1).map_err(Fault::from)
            })
        })
    }
}

/// Adds intervals to those that are there.
pub(crate) fn put(
    sql: &Transaction<'_>,
    path: &Path,
    step_id: i64,
    point: i64,
    intervals: &[Interval],
) -> Result<(), Fault> {
    let mut put = sql.prepare_cached(PUT)?;
    for interval in intervals {
        let lat = |direction: &IntervalDirection| {
            let is_empty = direction.lat == SparseHistogram::default();
            (!is_empty).then(|| json(path, "a histogram", &direction.lat)).transpose()
        };
        let Interval { start, length, read, write, trim } = interval;
        put.execute(params![
            step_id,
            point,
            Whole(start.0),
            Whole(length.0),
            Whole(read.ios),
            Whole(read.bytes.0),
            lat(read)?,
            Whole(write.ios),
            Whole(write.bytes.0),
            lat(write)?,
            Whole(trim.ios),
            Whole(trim.bytes.0),
            lat(trim)?,
        ])?;
    }
    Ok(())
}

/// The series of a job, as fine as [`SERIES_MAX`] allows.
pub(crate) fn drawn(sql: &Connection, path: &Path, step_id: i64, point: i64) -> Result<Vec<Interval>, Fault> {
    let count = "SELECT count(*) FROM intervals WHERE step_id = ?1 AND point = ?2";
    let count: i64 = sql.prepare_cached(count)?.query_row([step_id, point], |row| row.get(0))?;
    let chunk = count.unsigned_abs().div_ceil(SERIES_MAX).max(1);
    let mut statement = sql.prepare_cached(GET)?;
    let mut rows = statement.query(params![step_id, point, 0, count])?;
    let (mut all, mut place) = (Vec::<Interval>::new(), 0);
    while let Some(row) = rows.next()? {
        let next = interval(&Cells::new(row, path, "intervals", "position")?, place)?;
        match all.last_mut().filter(|_| place % chunk != 0) {
            Some(last) => {
                last.length = Nanos(last.length.0.saturating_add(next.length.0));
                last.merge(&next);
            }
            None => all.push(next),
        }
        place += 1;
    }
    Ok(all)
}

/// The interval of a row, which must be the one at `position`.
fn interval(cells: &Cells<'_>, position: u64) -> Result<Interval, StoreError> {
    if u64::try_from(cells.id()) != Ok(position) {
        return Err(
            cells.fault("position", format!("{position} was expected here: intervals of the series are missing"))
        );
    }
    let whole = |column| cells.get::<Whole>(column).map(|value| value.0);
    let direction = |ios, bytes, lat| -> Result<IntervalDirection, StoreError> {
        let (ios, bytes) = (whole(ios)?, Bytes(whole(bytes)?));
        Ok(IntervalDirection { ios, bytes, lat: cells.json_if_any(lat)?.unwrap_or_default() })
    };
    Ok(Interval {
        start: Nanos(whole("start_ns")?),
        length: Nanos(whole("length_ns")?),
        read: direction("read_ios", "read_bytes", "read_lat")?,
        write: direction("write_ios", "write_bytes", "write_lat")?,
        trim: direction("trim_ios", "trim_bytes", "trim_lat")?,
    })
}
