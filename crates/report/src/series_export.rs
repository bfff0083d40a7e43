//! `export --series`: the intervals of jobs, a direction of an interval a line.

use crate::ReportError;
use crate::csv_export::{COORDINATES, coordinates, line, text};
use flashlab_samples::{Interval, IntervalDirection, LatencyHistogram, PointResult};

const COLUMNS: [&str; 12] = [
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
/// text. A direction in which the job did nothing at all has no lines; the latencies of a line are those of
/// its interval alone, and empty where nothing came back in it.
pub struct SeriesCsv(csv::Writer<Vec<u8>>);

impl SeriesCsv {
    /// With the header.
    ///
    /// # Errors
    /// Never for memory, which this writes to.
    pub fn new() -> Result<Self, ReportError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        line(&mut writer, with_run("run".to_owned(), COORDINATES.map(str::to_owned)), COLUMNS)?;
        Ok(SeriesCsv(writer))
    }

    /// Adds intervals of the job behind a point of a run.
    ///
    /// # Errors
    /// As [`SeriesCsv::new`].
    pub fn add(&mut self, run: i64, point: &PointResult, intervals: &[Interval]) -> Result<(), ReportError> {
        let Some(job) = &point.job else { return Ok(()) };
        for interval in intervals {
            let directions = interval.directions().into_iter().zip([&job.read, &job.write, &job.trim]);
            for (name, (direction, whole)) in ["read", "write", "trim"].into_iter().zip(directions) {
                // An interval in which nothing came back is what one looks for.
                if !whole.is_empty() || !direction.is_empty() {
                    self.direction(run, point, interval, (name, direction))?;
                }
            }
        }
        Ok(())
    }

    fn direction(
        &mut self,
        run: i64,
        point: &PointResult,
        interval: &Interval,
        (name, direction): (&str, &IntervalDirection),
    ) -> Result<(), ReportError> {
        let lat = LatencyHistogram::from_sparse(&direction.lat);
        let at = |percent: f64| lat.percentile(percent).map(|p| p.value.0.to_string()).unwrap_or_default();
        let max = lat.max().map(|max| max.0.to_string()).unwrap_or_default();
        let mean = lat.mean_ns().map(|mean| mean.to_string()).unwrap_or_default();
        let (start, length) = (interval.start.0.to_string(), interval.length.0.to_string());
        let (ios, bytes) = (direction.ios.to_string(), direction.bytes.0.to_string());
        let (p50, p99, p999) = (at(50.0), at(99.0), at(99.9));
        let (state, origin) = (point.state.condition.word(), point.origin.word());
        let cells = [&start, &length, name, &ios, &bytes, &mean, &p50, &p99, &p999, &max, state, origin];
        line(&mut self.0, with_run(run.to_string(), coordinates(&point.at)), cells)
    }

    /// The whole text.
    ///
    /// # Errors
    /// As [`SeriesCsv::new`].
    pub fn finish(self) -> Result<String, ReportError> {
        text(self.0)
    }
}

/// The run before the coordinates.
fn with_run(run: String, [drive, suite, workload, iodepth, numjobs, threads, pass]: [String; 7]) -> [String; 8] {
    [run, drive, suite, workload, iodepth, numjobs, threads, pass]
}
