//! Keeps runs in one SQLite file, and hands them out again.
//!
//! Behind the analysis in the flow: the lab reports what is done through [`flashlab_target::Journal`],
//! and the command line reads [`RunSummary`] for lists and [`flashlab_analysis::RunRecord`] for
//! reports and exports. This crate judges and computes nothing, and prints nothing.
//!
//! # The file
//!
//! Application id `FLSH`, layout version in `user_version`. Plain SQL works on it, for instance
//! `sqlite3 flashlab.db "SELECT * FROM results WHERE metric = 'iops'"`:
//!
//! | table | one row is | columns |
//! |---|---|---|
//! | `runs` | a run | `id`, `suite_id`, `drive_id`, `origin`, `seed`, `suite` and `provenance` (JSON), `steps_planned`, `started`, `begun_at`, `ended_at`, `status` (NULL until an end is recorded), `error`, and the process that began it |
//! | `steps` | a step or a round of one | `id`, `run_id`, `step`, `round`, `title`, `job` (JSON), `progress` (`begun` or `committed`), `begun_at`, `committed_at`, `state_after` and `remarks` (JSON), `wall_ns` |
//! | `points` | a point of a sweep | `id`, `step_id`, `position`, the coordinates of `results.csv`, `state`, `fills`, `last_fill_bs`, `origin`, `remarks` (JSON) |
//! | `metrics` | a figure of a point | `id`, `point_id`, `position`, `name`, `value`, `unit`, `low`, `high`, `samples` |
//! | `job_results` | all that stands behind a point | `point_id`, `result` (JSON: histograms, errors, what was granted) |
//! | `intervals` | an interval of a job | `step_id`, `point`, `position`, `start_ns`, `length_ns`, and of `read`, `write` and `trim` each `_ios`, `_bytes` and `_lat` (JSON: a histogram) |
//! | `results` (view) | a row of `results.csv` | `run`, the columns of the CSV, `low`, `high`, `samples` |
//! | `series` (view) | an interval at a point | `run`, the coordinates, `start_ns`, `length_ns`, and of each direction `_ios`, `_bytes` and `_max_ns`, `state`, `provenance` |
//! | `stages` (view) | a stage of a class of requests at a point | `run`, the coordinates, `class`, `ios`, `stage`, `mean_ns`, `state`, `provenance` |
//!
//! # What holds
//!
//! - A call of the journal returns only after its transaction was committed and synced. A process
//!   that is killed leaves the finished steps; the next one that opens the file undoes what was half
//!   written.
//! - What is read equals what was kept, every float to the bit. One exception: SQLite keeps the
//!   figure -0.0 as 0.0.
//! - NaN and infinities are refused, never kept as "not measured".
//! - What is read back is checked; an error names file, table, row and column.

mod cells;
mod error;
mod file;
mod finite;
mod journal;
mod migrate;
mod process;
mod read;
mod series;

pub use error::StoreError;
pub use file::Store;
pub use read::RunSummary;
pub use series::SERIES_MAX;
