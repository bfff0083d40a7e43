//! A drive that was measured here: its figures, and a profile to begin its twin with.

use crate::StudyError;
use flashlab_analysis::{Comparable, PublishedPoint};
use flashlab_samples::{MetricName, PointResult};
use flashlab_units::Bytes;
use toml_edit::{DocumentMut, value};

/// What a user capacity must be a multiple of.
const GRAIN: u64 = 1 << 20;

/// The figure of each result that a fit looks at: seconds of a pass of checkpoints, bytes a second of
/// sequential transfers, operations a second of random ones. Single rounds and single checkpoints are left out:
/// they are in the figure of their window and their pass. `drive` is the name of the profile to be fitted.
pub fn figures_of<'a>(results: impl IntoIterator<Item = &'a PointResult>, drive: &str) -> Vec<PublishedPoint> {
    let figure = |r: &PointResult| {
        let metric = match (r.value(MetricName::Seconds), r.at.pass) {
            (Some(_), Some(_)) => MetricName::Seconds,
            (None, Some(_)) => return None,
            (_, None) if r.at.workload.contains("rand") => MetricName::Iops,
            (_, None) => MetricName::Bandwidth,
        };
        let value = r.value(metric).filter(|v| v.is_finite() && *v > 0.0)?;
        Some(PublishedPoint {
            drive_id: drive.to_owned(),
            suite: r.at.suite.clone(),
            workload: r.at.workload.clone(),
            iodepth: r.at.iodepth,
            numjobs: r.at.numjobs,
            threads: r.at.threads,
            pass: r.at.pass,
            metric,
            value,
            comparable: Comparable::Point,
            printed: String::new(),
            review: String::new(),
            note: String::new(),
        })
    };
    results.into_iter().filter_map(figure).collect()
}

/// The text of a profile with another name and size: the flash grows or shrinks with what the host sees.
///
/// # Errors
/// If the text is no profile.
pub fn twin(text: &str, id: &str, status: &str, capacity: Bytes) -> Result<String, StudyError> {
    let mut document: DocumentMut = text.parse().map_err(|e| StudyError::Profile(format!("{e}")))?;
    let space = |document: &DocumentMut, key: &str| {
        let text = document.get("parameters")?.get("capacity")?.get(key)?.get("value")?.as_str()?.to_owned();
        text.parse::<Bytes>().ok()
    };
    let none = || StudyError::Profile("the profile has no capacity.user and capacity.raw".into());
    let user = space(&document, "user").ok_or_else(none)?;
    let raw = space(&document, "raw").ok_or_else(none)?;
    document["id"] = value(id);
    document["status"] = value(status);
    let capacity = capacity.0 / GRAIN * GRAIN;
    if capacity != user.0 {
        let raw = (raw.0 as f64 * capacity as f64 / user.0 as f64) as u64 / GRAIN * GRAIN;
        for (key, bytes, note) in
            [("user", capacity, "as measured"), ("raw", raw, "in proportion to the profile it began with")]
        {
            document["parameters"]["capacity"][key]["value"] = value(Bytes(bytes).exact());
            document["parameters"]["capacity"][key]["source"] = value("assumed");
            document["parameters"]["capacity"][key]["note"] = value(note);
        }
    }
    Ok(document.to_string())
}
