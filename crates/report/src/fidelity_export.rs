//! The comparison with published figures as CSV.

use crate::ReportError;
use flashlab_analysis::Fidelity;

/// The columns, in the order in which other programs read them.
const HEADER: [&str; 15] = [
    "drive_id",
    "suite",
    "workload",
    "iodepth",
    "numjobs",
    "threads",
    "pass",
    "metric",
    "unit",
    "published",
    "result",
    "error",
    "at_ceiling",
    "review",
    "printed",
];

/// One comparison a row: the published figure and ours at the same place, in base units (as in
/// `results.csv`), the relative error as a share with its sign, and whether the published figure is at
/// a ceiling of the drive (`yes` or `no`). Rows stand in the order of the published file; published
/// figures without a result have none.
///
/// # Errors
/// [`ReportError::Csv`] if the text can't be built.
pub fn fidelity_csv(fidelity: &Fidelity) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    let cell = |value: Option<u32>| value.map(|v| v.to_string()).unwrap_or_default();
    for row in &fidelity.rows {
        let p = &row.published;
        writer.write_record([
            p.drive_id.as_str(),
            &p.suite,
            p.workload.as_str(),
            &cell(p.iodepth),
            &cell(p.numjobs),
            &cell(p.threads),
            &cell(p.pass),
            p.metric.word(),
            p.metric.unit(),
            &p.value.to_string(),
            &row.result.to_string(),
            &row.error().to_string(),
            if row.at_ceiling { "yes" } else { "no" },
            &p.review,
            &p.printed,
        ])?;
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
