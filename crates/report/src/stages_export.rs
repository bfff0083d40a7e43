//! `export --stages`: where the time of requests went, a stage of a class of requests a line.

use crate::ReportError;
use crate::error::check_finite;
use flashlab_analysis::RunRecord;
use flashlab_samples::Coordinates;

const HEADER: [&str; 13] = [
    "drive_id",
    "suite",
    "workload",
    "iodepth",
    "numjobs",
    "threads",
    "pass",
    "class",
    "ios",
    "stage",
    "mean_ns",
    "state",
    "provenance",
];

/// The stages of every point of `runs` whose target says them, in the order of the path: the mean time
/// that the followed requests of a class, `ios` of them, spent there. The means of a class add up to its
/// mean latency.
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn stages_csv(runs: &[RunRecord]) -> Result<String, ReportError> {
    check_finite(runs)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for point in runs.iter().flat_map(RunRecord::points) {
        let Coordinates { drive_id, suite, workload, iodepth, numjobs, threads, pass } = &point.at;
        let cell = |value: &Option<u32>| value.map(|v| v.to_string()).unwrap_or_default();
        let classes = point.job.iter().flat_map(|job| &job.classes);
        for (class, stage) in classes.flat_map(|class| class.stages.iter().map(move |stage| (class, stage))) {
            writer.write_record([
                drive_id,
                suite,
                workload,
                &cell(iodepth),
                &cell(numjobs),
                &cell(threads),
                &cell(pass),
                &class.class,
                &class.ios.to_string(),
                &stage.stage,
                &stage.mean_ns.to_string(),
                point.state.condition.word(),
                point.origin.word(),
            ])?;
        }
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
