//! Why results lie where they do, as far as it is known.

use crate::published::{PublishedError, PublishedPoint};
use serde::Deserialize;

/// What is known of the error of one workload of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Drive.
    pub drive: String,
    /// Suite.
    pub suite: String,
    /// Workload.
    pub workload: String,
    /// The reason, or what is left unexplained.
    pub reason: String,
}

impl Reason {
    /// Whether it speaks of the place of `point`.
    pub fn is_of(&self, point: &PublishedPoint) -> bool {
        (&self.drive, &self.suite, &self.workload) == (&point.drive_id, &point.suite, &point.workload)
    }
}

/// Reads the reasons of `text`, which came from `file`.
pub fn reasons(text: &str, file: &str) -> Result<Vec<Reason>, PublishedError> {
    let mut out = Vec::new();
    for (i, row) in csv::Reader::from_reader(text.as_bytes()).deserialize().enumerate() {
        let row =
            row.map_err(|e| PublishedError { file: file.to_owned(), line: i as u64 + 2, reason: e.to_string() })?;
        out.push(row);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    #[test]
    fn every_reason_is_of_a_published_figure() {
        let points = include_str!("../../../data/published/points.csv");
        let points = published(points, "points.csv").expect("good");
        let all = reasons(include_str!("../../../data/published/reasons.csv"), "reasons.csv").expect("good");
        assert!(!all.is_empty());
        for reason in &all {
            assert!(points.iter().any(|p| reason.is_of(p)), "{reason:?} is of nothing");
        }
        let broken = reasons("drive,suite,workload,reason\na,b,c\n", "r.csv").expect_err("a cell is missing");
        assert!(broken.to_string().starts_with("r.csv:2:"), "{broken}");
    }
}
