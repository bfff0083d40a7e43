//! Why values could not be turned into a file.

use flashlab_analysis::RunRecord;

/// A report or an export that could not be made. No file is touched by this crate, so nothing is
/// left half written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure is infinite or not a number, which no export can hold.
    #[error(
        "run {run}, {workload}, step {step}: {metric} is {value}, which is no figure\n  this is a fault of flashlab; please report it with the store file"
    )]
    NotFinite {
        /// Number of the run in its store.
        run: i64,
        /// Workload of the point.
        workload: String,
        /// Position of the step in the plan, from 0.
        step: u32,
        /// Name of the figure.
        metric: &'static str,
        /// The value as Rust prints it.
        value: f64,
    },
    /// The CSV writer refused a record.
    #[error("CSV: {0}\n  this is a fault of flashlab; please report it with the store file")]
    Csv(#[from] csv::Error),
    /// A value has no JSON form.
    #[error("{what}: {source}\n  this is a fault of flashlab; please report it with the store file")]
    Json {
        /// The document that was being written.
        what: &'static str,
        /// What the writer said.
        source: serde_json::Error,
    },
}

/// Refuses figures that are infinite or not a number before anything is written, so that such a
/// fault is found where it first shows and no export hides it as a gap.
pub(crate) fn check_finite(runs: &[RunRecord]) -> Result<(), ReportError> {
    for run in runs {
        for step in &run.steps {
            for point in &step.points {
                if let Some(metric) = point.metrics.iter().find(|m| !m.value.is_finite()) {
                    return Err(ReportError::NotFinite {
                        run: run.id,
                        workload: point.at.workload.clone(),
                        step: step.index,
                        metric: metric.name.word(),
                        value: metric.value,
                    });
                }
            }
        }
    }
    Ok(())
}
