//! `export --series`: the intervals of jobs, a direction of an interval a line.

use crate::ReportError;
use flashlab_samples::{Coordinates, Interval, IntervalDirection, LatencyHistogram, PointResult};

const HEADER: [&str; 20] = [
    "run",
    "drive_id",
    "suite",
    "workload",
    "iodepth",
    "numjobs",
    "threads",
    "pass",
    "start_ns",
    "length_ns",
    "direction",
    "ios",
    "bytes",
    "lat_mean_ns",
    "lat_p50_ns",
    "lat_p99_ns",
    "lat_p99.9_ns",
    "lat_max_ns",
    "state",
    "provenance",
];

/// Lines that are added a few intervals at a time, so that a run of days needs no more memory than its
/// text. A direction without an I/O in an interval has no line; the latencies of a line are those of its
/// interval alone.
pub struct SeriesCsv(csv::Writer<Vec<u8>>);

impl SeriesCsv {
    /// With the header.
    ///
    /// # Errors
    /// Never for memory, which this writes to.
    pub fn new() -> Result<Self, ReportError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(HEADER)?;
        Ok(SeriesCsv(writer))
    }

    /// Adds intervals of the job behind a point of a run.
    ///
    /// # Errors
    /// As [`SeriesCsv::new`].
    pub fn add(&mut self, run: i64, point: &PointResult, intervals: &[Interval]) -> Result<(), ReportError> {
        for interval in intervals {
            for (name, direction) in ["read", "write", "trim"].into_iter().zip(interval.directions()) {
                if !direction.is_empty() {
                    self.line(run, point, interval, (name, direction))?;
                }
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        run: i64,
        point: &PointResult,
        interval: &Interval,
        (name, direction): (&str, &IntervalDirection),
    ) -> Result<(), ReportError> {
        let Coordinates { drive_id, suite, workload, iodepth, numjobs, threads, pass } = &point.at;
        let cell = |value: &Option<u32>| value.map(|v| v.to_string()).unwrap_or_default();
        let lat = LatencyHistogram::from_sparse(&direction.lat);
        let at = |percent: f64| lat.percentile(percent).map(|p| p.value.0.to_string()).unwrap_or_default();
        self.0.write_record([
            &run.to_string(),
            drive_id,
            suite,
            workload,
            &cell(iodepth),
            &cell(numjobs),
            &cell(threads),
            &cell(pass),
            &interval.start.0.to_string(),
            &interval.length.0.to_string(),
            name,
            &direction.ios.to_string(),
            &direction.bytes.0.to_string(),
            &lat.mean_ns().map(|mean| mean.to_string()).unwrap_or_default(),
            &at(50.0),
            &at(99.0),
            &at(99.9),
            &lat.max().map(|max| max.0.to_string()).unwrap_or_default(),
            point.state.condition.word(),
            point.origin.word(),
        ])?;
        Ok(())
    }

    /// The whole text.
    ///
    /// # Errors
    /// As [`SeriesCsv::new`].
    pub fn finish(self) -> Result<String, ReportError> {
        let bytes = self.0.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
