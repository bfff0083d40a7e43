//! `results.csv`: every figure of every point, one a line.

use crate::ReportError;
use crate::error::check_finite;
use flashlab_analysis::RunRecord;
use flashlab_samples::{Coordinates, PointResult};

/// The columns that say where a result stands, first in every CSV of results.
pub(crate) const COORDINATES: [&str; 7] = ["drive_id", "suite", "workload", "iodepth", "numjobs", "threads", "pass"];

/// Their cells; empty where a coordinate does not apply.
pub(crate) fn coordinates(at: &Coordinates) -> [String; 7] {
    let Coordinates { drive_id, suite, workload, iodepth, numjobs, threads, pass } = at;
    let cell = |value: &Option<u32>| value.map(|v| v.to_string()).unwrap_or_default();
    [drive_id.clone(), suite.clone(), workload.clone(), cell(iodepth), cell(numjobs), cell(threads), cell(pass)]
}

/// A line of cells in a row.
pub(crate) fn line<const A: usize, const B: usize>(
    writer: &mut csv::Writer<Vec<u8>>,
    first: [String; A],
    rest: [&str; B],
) -> Result<(), ReportError> {
    Ok(writer.write_record(first.iter().map(String::as_str).chain(rest))?)
}

/// What was written, as text.
pub(crate) fn text(writer: csv::Writer<Vec<u8>>) -> Result<String, ReportError> {
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

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
    line(&mut writer, COORDINATES.map(str::to_owned), ["metric", "value", "unit", "state", "provenance"])?;
    for run in runs {
        for point in run.points() {
            write_point(&mut writer, point)?;
        }
    }
    text(writer)
}

fn write_point(writer: &mut csv::Writer<Vec<u8>>, point: &PointResult) -> Result<(), ReportError> {
    for metric in &point.metrics {
        let (value, state) = (metric.value.to_string(), point.state.condition.word());
        let figure = [metric.name.word(), &value, metric.name.unit(), state, point.origin.word()];
        line(writer, coordinates(&point.at), figure)?;
    }
    Ok(())
}
