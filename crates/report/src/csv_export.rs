//! `results.csv`: every figure of every point, one a line.

use crate::ReportError;
use crate::error::check_finite;
use flashlab_analysis::RunRecord;
use flashlab_samples::{Coordinates, PointResult};

/// The columns, in the order in which other programs read them.
const HEADER: [&str; 12] = [
    "drive_id",
    "suite",
    "workload",
    "iodepth",
    "numjobs",
    "threads",
    "pass",
    "metric",
    "value",
    "unit",
    "state",
    "provenance",
];

/// All figures in long form: base units (bytes a second, operations a second, ns, seconds, bytes,
/// ratio), the shortest decimal text that reads back to the same number, an empty cell where a
/// coordinate does not apply. Rows stand in the order in which they were taken. Nothing in the file
/// depends on when or where it was made, so two equal runs export equal files; the rest of the
/// provenance stands in [`crate::manifest_json`].
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn results_csv(runs: &[RunRecord]) -> Result<String, ReportError> {
    check_finite(runs)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for run in runs {
        for point in run.points() {
            write_point(&mut writer, point)?;
        }
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write_point(writer: &mut csv::Writer<Vec<u8>>, point: &PointResult) -> Result<(), ReportError> {
    let Coordinates { drive_id, suite, workload, iodepth, numjobs, threads, pass } = &point.at;
    let cell = |value: &Option<u32>| value.map(|v| v.to_string()).unwrap_or_default();
    for metric in &point.metrics {
        writer.write_record([
            drive_id,
            suite,
            workload,
            &cell(iodepth),
            &cell(numjobs),
            &cell(threads),
            &cell(pass),
            metric.name.word(),
            &metric.value.to_string(),
            metric.name.unit(),
            point.state.condition.word(),
            point.origin.word(),
        ])?;
    }
    Ok(())
}
