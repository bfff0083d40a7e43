//! The reading side: runs in brief for lists, and whole for reports and exports.

#[cfg(doc)]
use crate::SERIES_MAX;
use crate::cells::{Cells, Whole};
use crate::error::Fault;
use crate::process::ProcessStamp;
use crate::{Store, StoreError, series};
use flashlab_analysis::{RunRecord, RunStatus, StepRecord};
use flashlab_samples::{Coordinates, DriveState, JobResult, Metric, MetricName, Origin, PointResult};
use flashlab_units::Bytes;
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use std::path::Path;

/// A run in brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Number in the store.
    pub id: i64,
    /// Id of the suite.
    pub suite_id: String,
    /// What the suite is called; a load is called by what it does. `None` where the store does not tell.
    pub title: Option<String>,
    /// Profile id, file or device name.
    pub drive_id: String,
    /// Measured, modelled, imported or published.
    pub origin: Origin,
    /// How it stands.
    pub status: RunStatus,
    /// Steps of the plan that are finished; a step of several rounds counts from its first.
    pub steps_done: u32,
    /// Steps in the plan.
    pub steps_planned: u32,
    /// Start of the run as its provenance says, RFC 3339 in UTC.
    pub started: Option<String>,
    /// When the store heard of the run, RFC 3339 in UTC.
    pub begun_at: String,
    /// When the store heard of its end, RFC 3339 in UTC.
    pub ended_at: Option<String>,
    /// Title of the step that was begun and not finished: in progress while the run goes on, where
    /// it stopped otherwise.
    pub current: Option<String>,
    /// The process that began it.
    pub pid: u32,
    /// Whether that process still exists. `None` once the run has ended, and where it can't be known:
    /// the run was begun on another host or in another container.
    pub alive: Option<bool>,
}

const SUMMARY: &str = "
SELECT id, suite_id, drive_id, origin, status, error, steps_planned, started, begun_at, ended_at,
       CASE WHEN json_valid(suite) THEN json_extract(suite, '$.title') END AS title,
       pid, pid_started, pid_namespace, boot_id, host,
       (SELECT count(DISTINCT step) FROM steps WHERE run_id = runs.id AND progress = 'committed') AS steps_done,
       (SELECT title FROM steps WHERE run_id = runs.id AND progress = 'begun') AS current
FROM runs ORDER BY id";

const RUN: &str = "SELECT id, suite, provenance, status, error, steps_planned FROM runs WHERE id = ?1";

const STEPS: &str = "
SELECT id, step, round, title, state_after, remarks FROM steps
WHERE run_id = ?1 AND progress = 'committed' ORDER BY step, round";

const POINTS: &str = "
SELECT points.*, job_results.result FROM points LEFT JOIN job_results ON job_results.point_id = points.id
WHERE step_id = ?1 ORDER BY position";

const METRICS: &str =
    "SELECT id, name, value, unit, low, high, samples FROM metrics WHERE point_id = ?1 ORDER BY position";

impl Store {
    /// All runs in brief, oldest first. Reads no result.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read or holds a value that this program doesn't write.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let here = ProcessStamp::current();
        self.read(|sql| {
            collect(sql, SUMMARY, [], |row| Ok(summary(&Cells::new(row, &self.path, "runs", "id")?, &here)?))
        })
    }

    /// Number of the run that was begun last; `None` in a store without runs.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read.
    pub fn latest(&self) -> Result<Option<i64>, StoreError> {
        self.read(|sql| Ok(sql.query_row("SELECT max(id) FROM runs", [], |row| row.get(0))?))
    }

    /// A run with everything that was kept of it, as it stands now. Of a long series consecutive intervals
    /// come as one, so that each has [`SERIES_MAX`] at most; [`Store::intervals`] gives them all.
    ///
    /// # Errors
    /// [`StoreError::NoRun`] for an unknown number, [`StoreError::Value`] for a value that this
    /// program doesn't write, others when the file can't be read.
    pub fn run(&self, id: i64) -> Result<RunRecord, StoreError> {
        self.read(|sql| {
            let steps =
                collect(sql, STEPS, [id], |row| step(sql, &self.path, &Cells::new(row, &self.path, "steps", "id")?))?;
            let mut statement = sql.prepare_cached(RUN)?;
            let mut rows = statement.query([id])?;
            let Some(row) = rows.next()? else { return Err(no_run(sql, &self.path, id)?.into()) };
            let cells = Cells::new(row, &self.path, "runs", "id")?;
            Ok(RunRecord {
                id,
                suite: cells.json("suite")?,
                provenance: cells.json("provenance")?,
                status: status(&cells)?,
                steps_planned: cells.get("steps_planned")?,
                steps,
            })
        })
    }

    /// Checks the structure of the file and the links between its tables.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with what was found.
    pub fn check(&self) -> Result<(), StoreError> {
        let found = self.read(|sql| {
            // One finding is enough to act on.
            let structure: String = sql.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            let links = sql
                .query_row("PRAGMA foreign_key_check", [], |row| {
                    let (table, row_id): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
                    Ok(format!("row {} of {table} belongs to nothing", row_id.unwrap_or_default()))
                })
                .optional()?;
            Ok((structure != "ok").then_some(structure).or(links))
        })?;
        match found {
            None => Ok(()),
            Some(reason) => Err(StoreError::Damaged { path: self.path.clone(), reason }),
        }
    }

    /// Does `work` on one state of the file, whatever is committed meanwhile.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        let transact = || -> Result<T, Fault> {
            let transaction = self.sql.unchecked_transaction()?;
            work(&transaction)
        };
        transact().map_err(|fault| fault.at(&self.path))
    }
}

/// All rows of a query, each made into a value.
pub(crate) fn collect<T>(
    sql: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
    mut make: impl FnMut(&rusqlite::Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = sql.prepare_cached(query)?;
    let mut rows = statement.query(parameters)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(make(row)?);
    }
    Ok(all)
}

fn summary(cells: &Cells<'_>, here: &ProcessStamp) -> Result<RunSummary, StoreError> {
    let status = status(cells)?;
    let process = ProcessStamp {
        pid: cells.get("pid")?,
        started_ticks: cells.get::<Option<Whole>>("pid_started")?.map(|ticks| ticks.0),
        namespace: cells.get("pid_namespace")?,
        boot_id: cells.get("boot_id")?,
        host: cells.get("host")?,
    };
    Ok(RunSummary {
        id: cells.id(),
        suite_id: cells.get("suite_id")?,
        title: cells.get("title")?,
        drive_id: cells.get("drive_id")?,
        origin: cells.word("origin")?,
        steps_done: cells.get("steps_done")?,
        steps_planned: cells.get("steps_planned")?,
        started: cells.get("started")?,
        begun_at: cells.get("begun_at")?,
        ended_at: cells.get("ended_at")?,
        current: cells.get("current")?,
        pid: process.pid,
        alive: if status == RunStatus::Unfinished { process.is_alive(here) } else { None },
        status,
    })
}

fn status(cells: &Cells<'_>) -> Result<RunStatus, StoreError> {
    let word: Option<String> = cells.get("status")?;
    match word.as_deref() {
        None => Ok(RunStatus::Unfinished),
        Some("done") => Ok(RunStatus::Done),
        Some("interrupted") => Ok(RunStatus::Interrupted),
        Some("failed") => Ok(RunStatus::Failed(cells.get::<Option<String>>("error")?.unwrap_or_default())),
        Some(other) => Err(cells.fault("status", format!("unknown status `{other}`"))),
    }
}

fn step(sql: &Connection, path: &Path, cells: &Cells<'_>) -> Result<StepRecord, Fault> {
    Ok(StepRecord {
        index: cells.get("step")?,
        round: cells.get("round")?,
        title: cells.get("title")?,
        points: collect(sql, POINTS, [cells.id()], |row| point(sql, path, &Cells::new(row, path, "points", "id")?))?,
        state_after: cells.json("state_after")?,
        remarks: cells.json("remarks")?,
    })
}

fn point(sql: &Connection, path: &Path, cells: &Cells<'_>) -> Result<PointResult, Fault> {
    let mut job: Option<JobResult> = cells.table("job_results").json_if_any("result")?;
    if let Some(job) = &mut job {
        job.series.intervals.extend(series::drawn(sql, path, cells.get("step_id")?, cells.get("position")?)?);
    }
    Ok(PointResult {
        at: Coordinates {
            drive_id: cells.get("drive_id")?,
            suite: cells.get("suite")?,
            workload: cells.get("workload")?,
            iodepth: cells.get("iodepth")?,
            numjobs: cells.get("numjobs")?,
            threads: cells.get("threads")?,
            pass: cells.get("pass")?,
        },
        state: DriveState {
            condition: cells.word("state")?,
            fills: cells.get("fills")?,
            last_fill_bs: cells.get::<Option<Whole>>("last_fill_bs")?.map(|bs| Bytes(bs.0)),
        },
        origin: cells.word("origin")?,
        metrics: collect(sql, METRICS, [cells.id()], |row| Ok(metric(&Cells::new(row, path, "metrics", "id")?)?))?,
        job,
        remarks: cells.json("remarks")?,
    })
}

fn metric(cells: &Cells<'_>) -> Result<Metric, StoreError> {
    let name: MetricName = cells.word("name")?;
    let unit: String = cells.get("unit")?;
    if unit != name.unit() {
        return Err(cells.fault("unit", format!("`{unit}`; {name} is kept in {}", name.unit())));
    }
    let interval = match (cells.get::<Option<f64>>("low")?, cells.get::<Option<f64>>("high")?) {
        (None, None) => None,
        (None, Some(_)) => return Err(cells.fault("low", "missing, and `high` is there")),
        (Some(_), None) => return Err(cells.fault("high", "missing, and `low` is there")),
        (Some(_), Some(_)) => Some((cells.finite("low")?, cells.finite("high")?)),
    };
    Ok(Metric { name, value: cells.finite("value")?, interval, samples: cells.get::<Whole>("samples")?.0 })
}

/// That there is no run of this number, and which there are.
pub(crate) fn no_run(sql: &Connection, path: &Path, run: i64) -> Result<StoreError, Fault> {
    let span: Option<(i64, i64)> = sql
        .query_row("SELECT min(id), max(id) FROM runs HAVING count(*) > 0", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let held = match span {
        None => "it holds no run".to_owned(),
        Some((first, last)) if first == last => format!("it holds run {first} only"),
        Some((first, last)) => format!("its runs are {first} to {last}"),
    };
    Ok(StoreError::NoRun { path: path.to_owned(), run, held })
}
