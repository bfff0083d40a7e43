//! The machine forms: `results.json` with everything that was kept, and `manifest.json` with the
//! provenance that stands beside `results.csv`.
//!
//! The schema is documented on the types of [`schema`]: base units, with the unit at the end of each
//! name; `null` for unknown, never zero or a guess.

mod schema;

pub use schema::*;

use crate::ReportError;
use crate::error::check_finite;
use flashlab_analysis::RunRecord;

/// Name of the schema of [`results_json`].
pub const RESULTS_SCHEMA: &str = "flashlab-results";
/// Name of the schema of [`manifest_json`].
pub const MANIFEST_SCHEMA: &str = "flashlab-manifest";
/// Version of both; a field that changes its meaning or goes raises it, a new field does not.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that was kept of `runs`, as a [`ResultsFile`].
///
/// # Errors
/// [`ReportError::NotFinite`] for a figure that is not a number.
pub fn results_json(runs: &[RunRecord]) -> Result<String, ReportError> {
    check_finite(runs)?;
    let file = ResultsFile {
        schema: RESULTS_SCHEMA,
        schema_version: SCHEMA_VERSION,
        runs: runs.iter().map(RunJson::of).collect(),
    };
    // On one line: the histograms are long, and this form is for machines.
    write("results.json", serde_json::to_string(&file))
}

/// The provenance of `runs`, as a [`ManifestsFile`].
///
/// # Errors
/// [`ReportError::Json`] for a value without a JSON form.
pub fn manifest_json(runs: &[RunRecord]) -> Result<String, ReportError> {
    let file = ManifestsFile {
        schema: MANIFEST_SCHEMA,
        schema_version: SCHEMA_VERSION,
        runs: runs.iter().map(ManifestJson::of).collect(),
    };
    write("manifest.json", serde_json::to_string_pretty(&file))
}

fn write(what: &'static str, text: serde_json::Result<String>) -> Result<String, ReportError> {
    let mut text = text.map_err(|source| ReportError::Json { what, source })?;
    text.push('\n');
    Ok(text)
}
