//! The load of a question: from options or a TOML, or a job made elsewhere.

use super::trace;
use flashlab_spec::{Arrival, Job, Rate, Region, Replay, Rw, SpecError};
use flashlab_units::{Bytes, BytesPerSecond};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A load in a few words, as options or as TOML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Access pattern.
    pub rw: Rw,
    /// Transfer size.
    pub bs: Bytes,
    /// Outstanding I/Os a job.
    #[serde(default = "one")]
    pub iodepth: u32,
    /// Jobs.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// Share of reads in percent, of a mixed load.
    #[serde(default = "half")]
    pub rwmixread: u8,
    /// Bytes a second that each job asks for, evenly spaced; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BytesPerSecond>,
    /// Part of the drive that is used, from its start; absent for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

const fn one() -> u32 {
    1
}

const fn half() -> u8 {
    50
}

impl LoadSpec {
    /// Reads TOML; `file` is named in errors.
    ///
    /// # Errors
    /// [`SpecError::Text`] with the line.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        toml::from_str(text).map_err(|error| SpecError::Text {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| text.get(..span.start).map_or(1, |t| t.matches('\n').count() + 1)),
            message: error.message().trim().replace('\n', " "),
            hint: Some("the keys are rw, bs, iodepth, numjobs, rwmixread, rate and size".into()),
        })
    }

    /// The load as a question asks it.
    ///
    /// # Errors
    /// [`SpecError::Job`] if the rate is below one request in a day.
    pub fn load(&self) -> Result<Load, SpecError> {
        let spec = self.clone();
        let arrival = self.arrival()?;
        Ok(Load::new(self.title(), move |capacity| {
            let whole = capacity.0 / spec.bs.0.max(1) * spec.bs.0;
            Job {
                rwmixread: spec.rwmixread,
                iodepth: spec.iodepth,
                numjobs: spec.numjobs,
                arrival,
                ..Job::new(
                    spec.title(),
                    spec.rw,
                    spec.bs,
                    Region { offset: Bytes(0), length: spec.size.unwrap_or(Bytes(whole)) },
                )
            }
        }))
    }

    fn arrival(&self) -> Result<Arrival, SpecError> {
        let Some(rate) = self.rate else { return Ok(Arrival::Closed) };
        match Rate::of_bytes(rate, self.bs) {
            Some(rate) => Ok(Arrival::Fixed(rate)),
            None => Err(SpecError::Job {
                workload: self.title(),
                reason: format!("the rate of {rate} is less than one request in a thousand seconds"),
                remedy: "give a higher rate, or none for a closed loop".into(),
            }),
        }
    }

    /// The load in words, such as `randwrite 16 KiB, iodepth 32, numjobs 4`.
    fn title(&self) -> String {
        let mix = if self.rw.is_mixed() { format!(" {} % reads", self.rwmixread) } else { String::new() };
        let rate = self.rate.map(|r| format!(", {r} a job")).unwrap_or_default();
        let size = self.size.map(|s| format!(", over {s}")).unwrap_or_default();
        format!("{}{mix} {}, iodepth {}, numjobs {}{rate}{size}", self.rw.word(), self.bs, self.iodepth, self.numjobs)
    }
}

/// A load that can be put on a drive of any capacity.
#[derive(Clone)]
pub struct Load {
    title: String,
    place: Arc<dyn Fn(Bytes) -> Job + Send + Sync>,
}

impl Load {
    /// `place` makes the job for a capacity in bytes; its end is set by the question.
    pub fn new(title: impl Into<String>, place: impl Fn(Bytes) -> Job + Send + Sync + 'static) -> Self {
        Load { title: title.into(), place: Arc::new(place) }
    }

    /// Of a list of requests: at its times stretched to `time_percent`, else as fast as `iodepth` in flight allow.
    pub fn replay(title: impl Into<String>, replay: Replay, time_percent: Option<u32>, iodepth: u32) -> Self {
        let title = title.into();
        let name = title.clone();
        Load::new(title, move |capacity| trace::job(&name, &replay, time_percent, iodepth, capacity))
    }

    /// For people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The job on a drive of `capacity`.
    pub fn on(&self, capacity: Bytes) -> Job {
        (self.place)(capacity)
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load").field("title", &self.title).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_from_toml_fills_the_whole_capacity_in_whole_blocks() {
        let text = "rw = \"randwrite\"\nbs = \"16KiB\"\niodepth = 32\nnumjobs = 4\nrate = \"160MB/s\"\n";
        let load = LoadSpec::parse(text, "x.toml").and_then(|s| s.load()).expect("a load");
        let job = load.on(Bytes(1_000_000));
        assert_eq!((job.rw, job.iodepth, job.numjobs), (Rw::RandWrite, 32, 4));
        assert_eq!(job.region.length, Bytes(61 * 16_384));
        let Arrival::Fixed(rate) = job.arrival else { panic!("an open loop") };
        let bytes = rate.per_second().expect("a rate").0 * 16_384.0;
        assert!((bytes / 160e6 - 1.0).abs() < 1e-6, "{bytes}");
    }

    #[test]
    fn slips_are_refused_with_the_line() {
        let error = LoadSpec::parse("rw = \"randwrite\"\nbs = \"4KiB\"\nio_depth = 3\n", "x.toml").expect_err("a slip");
        assert!(error.to_string().starts_with("x.toml:3: "), "{error}");
        let slow = LoadSpec::parse("rw = \"read\"\nbs = \"1MiB\"\nrate = \"1B/s\"\n", "x.toml").expect("a spec");
        assert!(slow.load().expect_err("too slow").to_string().contains("less than one request"));
    }
}
