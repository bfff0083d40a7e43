//! The writing side: keeps runs and steps as the lab reports them.
//!
//! Every call is one transaction that takes the write lock at its start, so that two runs into one
//! store wait for each other instead of failing, and returns once SQLite has synced it to disk.

use crate::cells::{Whole, json};
use crate::error::Fault;
use crate::file::BUSY_WAIT;
use crate::process::ProcessStamp;
use crate::{Store, StoreError, finite, series};
use flashlab_samples::{Interval, JobResult, Metric, PointResult, Series};
use flashlab_target::{Journal, JournalError, RunEnd, RunHeader, RunId, StepHeader, StepOutcome};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, named_params, params};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// While a job runs nothing else is done for it meanwhile, such as stopping it.
const SHORT_WAIT: Duration = Duration::from_millis(20);

/// The clock of the store, UTC in RFC 3339 with milliseconds, as SQL.
macro_rules! now {
    () => {
        "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    };
}

impl Journal for Store {
    fn begin_run(&mut self, header: &RunHeader) -> Result<RunId, JournalError> {
        self.keep("begin a run", |sql, path| begin_run(sql, path, header))
    }

    fn begin_step(&mut self, run: RunId, step: &StepHeader) -> Result<(), JournalError> {
        self.keep("note that a step began", |sql, path| begin_step(sql, path, run, step))
    }

    fn keep_intervals(
        &mut self,
        run: RunId,
        step: &StepHeader,
        point: u32,
        intervals: &[Interval],
    ) -> Result<bool, JournalError> {
        const ACTION: &str = "keep the series of a job";
        self.wait_at_most(ACTION, SHORT_WAIT)?;
        let kept = self.transact(|sql, path| {
            must_be_open(sql, path, run)?;
            let id = put_step(sql, path, run, step)?;
            series::put(sql, path, id, i64::from(point), intervals)
        });
        self.wait_at_most(ACTION, BUSY_WAIT)?;
        match kept.map_err(|fault| fault.at(&self.path)) {
            Ok(()) => Ok(true),
            Err(StoreError::Busy { .. }) => Ok(false),
            Err(error) => Err(error.into_journal(&self.path, ACTION)),
        }
    }

    fn commit_step(&mut self, run: RunId, step: &StepHeader, outcome: &StepOutcome) -> Result<(), JournalError> {
        self.keep("keep a finished step", |sql, path| commit_step(sql, path, run, step, outcome))
    }

    fn end_run(&mut self, run: RunId, end: &RunEnd) -> Result<(), JournalError> {
        self.keep("note that the run ended", |sql, path| end_run(sql, path, run, end))
    }
}

impl Store {
    /// Does `work` whole or not at all.
    fn keep<T>(
        &mut self,
        action: &'static str,
        work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T, Fault>,
    ) -> Result<T, JournalError> {
        self.transact(work).map_err(|fault| fault.at(&self.path).into_journal(&self.path, action))
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T, Fault>) -> Result<T, Fault> {
        let transaction = self.sql.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction, &self.path)?;
        transaction.commit()?;
        Ok(value)
    }

    /// How long a call waits for another process to let go of the file.
    fn wait_at_most(&self, action: &'static str, wait: Duration) -> Result<(), JournalError> {
        let set = self.sql.busy_timeout(wait);
        set.map_err(|error| StoreError::from_sqlite(&self.path, error).into_journal(&self.path, action))
    }
}

fn begin_run(sql: &Transaction<'_>, path: &Path, header: &RunHeader) -> Result<RunId, Fault> {
    all_finite(path, header)?;
    let (suite, provenance, process) = (&header.suite, &header.provenance, ProcessStamp::current());
    sql.execute(
        concat!(
            "INSERT INTO runs (suite_id, drive_id, origin, seed, suite, provenance, steps_planned, started, begun_at, ",
            "pid, pid_started, pid_namespace, boot_id, host) VALUES (:suite_id, :drive_id, :origin, :seed, :suite, ",
            ":provenance, :steps_planned, :started, ",
            now!(),
            ", :pid, :pid_started, :pid_namespace, :boot_id, :host)"
        ),
        named_params! {
            ":suite_id": suite.id,
            ":drive_id": provenance.target.id,
            ":origin": provenance.origin.word(),
            ":seed": provenance.seed.to_string(),
            ":suite": json(path, "the suite", suite)?,
            ":provenance": json(path, "the provenance", provenance)?,
            ":steps_planned": header.steps,
            ":started": provenance.started,
            ":pid": process.pid,
            // Ticks of 10 ms since boot: below 2^63 for 3 billion years.
            ":pid_started": process.started_ticks.and_then(|ticks| i64::try_from(ticks).ok()),
            ":pid_namespace": process.namespace,
            ":boot_id": process.boot_id,
            ":host": process.host,
        },
    )?;
    Ok(RunId(sql.last_insert_rowid()))
}

fn begin_step(sql: &Transaction<'_>, path: &Path, run: RunId, step: &StepHeader) -> Result<(), Fault> {
    all_finite(path, step)?;
    must_be_open(sql, path, run)?;
    let id = put_step(sql, path, run, step)?;
    // Of an earlier try that was not finished.
    sql.prepare_cached("DELETE FROM intervals WHERE step_id = ?1")?.execute([id])?;
    Ok(())
}

fn commit_step(
    sql: &Transaction<'_>,
    path: &Path,
    run: RunId,
    step: &StepHeader,
    outcome: &StepOutcome,
) -> Result<(), Fault> {
    all_finite(path, step)?;
    all_finite(path, outcome)?;
    must_be_open(sql, path, run)?;
    let id = put_step(sql, path, run, step)?;
    sql.execute(
        concat!(
            "UPDATE steps SET progress = 'committed', committed_at = ",
            now!(),
            ", state_after = ?2, remarks = ?3, wall_ns = ?4 WHERE id = ?1"
        ),
        params![
            id,
            json(path, "the state", &outcome.state_after)?,
            json(path, "the remarks", &outcome.remarks)?,
            Whole(outcome.wall.0)
        ],
    )?;
    for (position, point) in outcome.points.iter().enumerate() {
        put_point(sql, path, id, position, point)?;
    }
    Ok(())
}

fn end_run(sql: &Transaction<'_>, path: &Path, run: RunId, end: &RunEnd) -> Result<(), Fault> {
    must_be_open(sql, path, run)?;
    let (status, error) = match end {
        RunEnd::Done => ("done", None),
        RunEnd::Interrupted => ("interrupted", None),
        RunEnd::Failed(error) => ("failed", Some(error)),
    };
    sql.execute(
        concat!("UPDATE runs SET status = ?2, error = ?3, ended_at = ", now!(), " WHERE id = ?1"),
        params![run.0, status, error],
    )?;
    Ok(())
}

/// Fails for a run that isn't there or has ended.
fn must_be_open(sql: &Transaction<'_>, path: &Path, run: RunId) -> Result<(), Fault> {
    let ended = sql
        .prepare_cached("SELECT status IS NOT NULL FROM runs WHERE id = ?1")?
        .query_row([run.0], |row| row.get::<_, bool>(0))
        .optional()?;
    match ended {
        Some(false) => Ok(()),
        Some(true) => Err(StoreError::RunEnded { path: path.to_owned(), run: run.0 }.into()),
        None => Err(crate::read::no_run(sql, path, run.0)?.into()),
    }
}

/// Makes the step the one in progress and returns its id in the table. What an earlier process had
/// begun and not finished gives way.
fn put_step(sql: &Transaction<'_>, path: &Path, run: RunId, step: &StepHeader) -> Result<i64, Fault> {
    let kept = sql
        .prepare_cached("SELECT progress = 'committed' FROM steps WHERE run_id = ?1 AND step = ?2 AND round = ?3")?
        .query_row(params![run.0, step.index, step.round], |row| row.get::<_, bool>(0))
        .optional()?;
    if kept == Some(true) {
        let (index, round) = (step.index, step.round);
        return Err(StoreError::StepKept { path: path.to_owned(), run: run.0, index, round }.into());
    }
    sql.prepare_cached(
        "DELETE FROM steps WHERE run_id = ?1 AND progress = 'begun' AND NOT (step = ?2 AND round = ?3)",
    )?
    .execute(params![run.0, step.index, step.round])?;
    let job = match step.jobs.as_slice() {
        [] => None,
        [job] => Some(json(path, "the job", job)?),
        _ => Some(json(path, "the jobs", &step.jobs)?),
    };
    // A step that was begun keeps the time at which it was.
    let id = sql
        .prepare_cached(concat!(
            "INSERT INTO steps (run_id, step, round, title, job, progress, begun_at) VALUES (?1, ?2, ?3, ?4, ?5, 'begun', ",
            now!(),
            ") ON CONFLICT (run_id, step, round) DO UPDATE SET title = excluded.title, job = excluded.job RETURNING id"
        ))?
        .query_row(params![run.0, step.index, step.round, step.title, job], |row| row.get(0))?;
    Ok(id)
}

fn put_point(
    sql: &Transaction<'_>,
    path: &Path,
    step_id: i64,
    position: usize,
    point: &PointResult,
) -> Result<(), Fault> {
    let (at, state) = (&point.at, &point.state);
    let id: i64 = sql
        .prepare_cached(
            "INSERT INTO points (step_id, position, drive_id, suite, workload, iodepth, numjobs, threads, pass, state, \
             fills, last_fill_bs, origin, remarks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
             RETURNING id",
        )?
        .query_row(
            params![
                step_id,
                position as i64,
                at.drive_id,
                at.suite,
                at.workload,
                at.iodepth,
                at.numjobs,
                at.threads,
                at.pass,
                state.condition.word(),
                state.fills,
                state.last_fill_bs.map(|bs| Whole(bs.0)),
                point.origin.word(),
                json(path, "the remarks", &point.remarks)?,
            ],
            |row| row.get(0),
        )?;
    for (position, metric) in point.metrics.iter().enumerate() {
        put_metric(sql, id, position, metric)?;
    }
    if let Some(job) = &point.job {
        series::put(sql, path, step_id, position as i64, &job.series.intervals)?;
        let bare = JobResult { series: Series::default(), ..job.clone() };
        sql.prepare_cached("INSERT INTO job_results (point_id, result) VALUES (?1, ?2)")?
            .execute(params![id, json(path, "the result", &bare)?])?;
    }
    Ok(())
}

fn put_metric(sql: &Transaction<'_>, point_id: i64, position: usize, metric: &Metric) -> Result<(), Fault> {
    let (low, high) = metric.interval.unzip();
    sql.prepare_cached(
        "INSERT INTO metrics (point_id, position, name, value, unit, low, high, samples) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        point_id,
        position as i64,
        metric.name.word(),
        metric.value,
        metric.name.unit(),
        low,
        high,
        Whole(metric.samples)
    ])?;
    Ok(())
}

/// Refuses NaN and infinities anywhere in `value`.
fn all_finite<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    finite::check(value).map_err(|found| StoreError::NotFinite {
        path: path.to_owned(),
        place: found.place,
        value: found.value,
    })
}
