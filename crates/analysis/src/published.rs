//! Figures that reviews printed, from the text of `data/published/points.csv`.

use flashlab_samples::MetricName;
use serde::Deserialize;

/// How a published figure may be held against a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparable {
    /// At its own coordinates.
    Point,
    /// Against the top of the sweep.
    Peak,
}

/// A published figure that can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPoint {
    /// Drive, by the name of its profile.
    pub drive_id: String,
    /// Our suite that measures the same: `review`, `steady`, `gds` or `checkpoint`.
    pub suite: String,
    /// Workload.
    pub workload: String,
    /// Outstanding I/Os a job.
    pub iodepth: Option<u32>,
    /// Jobs.
    pub numjobs: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// Pass over the drive.
    pub pass: Option<u32>,
    /// Which figure.
    pub metric: MetricName,
    /// In the base unit of the figure.
    pub value: f64,
    /// How it may be compared.
    pub comparable: Comparable,
    /// As printed, with its unit.
    pub printed: String,
    /// Which review printed it.
    pub review: String,
    /// What is known about it.
    pub note: String,
}

/// A line of the file that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}\n  correct the line; the columns are those of the header")]
pub struct PublishedError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: String,
}

#[derive(Deserialize)]
struct Row {
    review: String,
    drive_resolved: String,
    suite: String,
    workload: String,
    iodepth: Option<u32>,
    numjobs: Option<u32>,
    threads: Option<u32>,
    pass: String,
    unit: String,
    note: String,
    published: String,
    metric_base: String,
    value_base: Option<f64>,
    state: String,
    compare: String,
}

/// Reads the comparable figures of `text`, which came from `file`.
pub fn published(text: &str, file: &str) -> Result<Vec<PublishedPoint>, PublishedError> {
    let mut out = Vec::new();
    for (i, row) in csv::Reader::from_reader(text.as_bytes()).deserialize::<Row>().enumerate() {
        let error = |line: u64, reason: String| PublishedError { file: file.to_owned(), line, reason };
        let line = i as u64 + 2;
        let row = row.map_err(|e| error(line, e.to_string()))?;
        let comparable = match row.compare.as_str() {
            "" => continue,
            "point" => Comparable::Point,
            "peak" => Comparable::Peak,
            other => return Err(error(line, format!("compare is `{other}`, not point, peak or empty"))),
        };
        let suite = match (row.suite.as_str(), row.state.as_str()) {
            ("fio", "gc-steady") => "steady",
            ("fio", "after-fill") => "review",
            ("gdsio", _) => "gds",
            ("dlio", _) => "checkpoint",
            (suite, state) => return Err(error(line, format!("suite `{suite}` in state `{state}` is unknown"))),
        };
        let metric = MetricName::ALL.into_iter().find(|m| m.word() == row.metric_base);
        let metric = metric.ok_or_else(|| error(line, format!("metric `{}` is unknown", row.metric_base)))?;
        // Some rows that can't be compared speak of several passes, such as 2-3.
        let pass = Some(row.pass.as_str()).filter(|p| !p.is_empty()).map(str::parse).transpose();
        let pass = pass.map_err(|_| error(line, format!("pass `{}` is not a number", row.pass)))?;
        let value = row.value_base.filter(|v| v.is_finite() && *v > 0.0);
        out.push(PublishedPoint {
            drive_id: row.drive_resolved,
            suite: suite.to_owned(),
            workload: row.workload,
            iodepth: row.iodepth,
            numjobs: row.numjobs,
            threads: row.threads,
            pass,
            metric,
            value: value.ok_or_else(|| error(line, "value_base is not a number above 0".into()))?,
            comparable,
            printed: format!("{} {}", row.published, row.unit),
            review: row.review,
            note: row.note,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../../data/published/points.csv");

    #[test]
    fn reads_all_comparable_points() {
        let points = published(TEXT, "points.csv").expect("a good file");
        let rows = TEXT.lines().skip(1).filter(|l| l.ends_with(",point") || l.ends_with(",peak")).count();
        assert_eq!(points.len(), rows);
        let r6060 = points.iter().find(|p| p.drive_id == "r6060-122" && p.workload == "seq-write-128k");
        assert!(r6060.is_some_and(|p| p.value == 4.11105e9 && p.iodepth == Some(16) && p.suite == "review"));
        assert!(points.iter().any(|p| p.suite == "steady") && points.iter().any(|p| p.suite == "checkpoint"));
    }

    #[test]
    fn bad_lines_are_named() {
        let broken = TEXT.replacen("after-fill,point", "after-fill,pint", 1);
        assert!(published(&broken, "p.csv").expect_err("bad").to_string().starts_with("p.csv:2: compare is `pint`"));
        let number = TEXT.replacen("4.11105e+09", "fast", 1);
        assert!(published(&number, "p.csv").expect_err("bad").to_string().starts_with("p.csv:2:"));
    }
}
