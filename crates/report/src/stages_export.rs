//! `export --stages`: where the time of requests went, a stage of a class of requests a line.

use crate::ReportError;
use crate::csv_export::{COORDINATES, coordinates, line, text};
use crate::error::check_finite;
use flashlab_analysis::RunRecord;

/// The stages of every point of `runs` whose target says them, in the order of the path: the mean time
/// that the followed requests of a class, `ios` of them, spent there. The means of a class add up to its
/// mean latency.
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn stages_csv(runs: &[RunRecord]) -> Result<String, ReportError> {
    check_finite(runs)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = ["class", "ios", "stage", "mean_ns", "state", "provenance"];
    line(&mut writer, COORDINATES.map(str::to_owned), columns)?;
    for point in runs.iter().flat_map(RunRecord::points) {
        let classes = point.job.iter().flat_map(|job| &job.classes);
        for (class, stage) in classes.flat_map(|class| class.stages.iter().map(move |stage| (class, stage))) {
            let (ios, mean, state) = (class.ios.to_string(), stage.mean_ns.to_string(), point.state.condition.word());
            let cells = [&class.class, &ios, &stage.stage, &mean, state, point.origin.word()];
            line(&mut writer, coordinates(&point.at), cells)?;
        }
    }
    text(writer)
}
