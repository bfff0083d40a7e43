//! The host that drives a modelled drive: what the load generator, the kernel and the path cost.

use crate::{Generator, Parameter, Sourced, SpecError, toml_text};
use flashlab_units::{BytesPerSecond, Nanos};
use serde::{Deserialize, Serialize};

/// Times of a load generator on its host; the same for all drives, never fitted to one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// Which generator.
    pub generator: Generator,
    /// What it stands for.
    pub title: String,
    /// Time a job needs to submit one I/O; a job submits one at a time. Inside the latency.
    pub submit_time: Sourced<Nanos>,
    /// Time between a completion and the submission of the next I/O of that slot; outside the latency.
    pub resubmit_gap: Sourced<Nanos>,
    /// Delay of each read for each doubling of the number of jobs: empirical, from published reads
    /// at equal depth. Takes no capacity; inside the latency; absent means none.
    #[serde(default)]
    pub jobs_delay: Option<Sourced<Nanos>>,
    /// How fast one job can make data, apart from the drive; absent means that it is no limit.
    #[serde(default)]
    pub job_rate: Option<Sourced<BytesPerSecond>>,
    /// Time of a whole job besides its I/Os, such as what a checkpoint takes to serialize, to open, sync
    /// and close its files; absent means none.
    #[serde(default)]
    pub job_time: Option<Sourced<Nanos>>,
    /// Time of the path shared by all jobs that each read takes; absent means none.
    #[serde(default)]
    pub shared_read_time: Option<Sourced<Nanos>>,
    /// The same for each write.
    #[serde(default)]
    pub shared_write_time: Option<Sourced<Nanos>>,
    /// Rate of a second hop of read data (storage link, then GPU) that does not overlap with the
    /// first; absent means that there is none.
    #[serde(default)]
    pub hop_read_rate: Option<Sourced<BytesPerSecond>>,
    /// Whether the shared path hands on what it carried only when it has nothing more to carry: threads
    /// that wait for each other go round together, so that n of them take a time of their own plus n
    /// times that of the path. Absent means no.
    #[serde(default)]
    pub hop_batches: Option<Sourced<bool>>,
    /// Share by which the second hop slows down for each doubling of jobs beyond
    /// eight: empirical, from published writes of many threads; absent means that they don't.
    #[serde(default)]
    pub hop_write_slowdown: Option<Sourced<f64>>,
    /// Rate of a second hop of write data, which flows through both at once; absent means that there is
    /// none.
    #[serde(default)]
    pub hop_write_rate: Option<Sourced<BytesPerSecond>>,
}

/// The host of each generator.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts(Vec<HostProfile>);

impl Hosts {
    /// One profile for each generator.
    ///
    /// # Panics
    /// If one is missing: the set is built in.
    pub fn new(profiles: Vec<HostProfile>) -> Self {
        for generator in [Generator::Fio, Generator::Gdsio, Generator::Checkpoint] {
            assert!(profiles.iter().any(|p| p.generator == generator), "no host profile for {generator:?}");
        }
        Hosts(profiles)
    }

    /// The host that `generator` runs on.
    pub fn of(&self, generator: Generator) -> &HostProfile {
        let found = self.0.iter().find(|p| p.generator == generator);
        found.unwrap_or_else(|| unreachable!("checked when the set was made"))
    }

    /// All of them.
    pub fn all(&self) -> &[HostProfile] {
        &self.0
    }
}

impl HostProfile {
    /// Reads a profile; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let host: HostProfile = toml_text::parse(text, file)?;
        for (key, rate) in [
            ("job_rate", &host.job_rate),
            ("hop_read_rate", &host.hop_read_rate),
            ("hop_write_rate", &host.hop_write_rate),
        ] {
            if let Some(rate) = rate.as_ref().filter(|r| !(1e6..1e12).contains(&r.value.0)) {
                return Err(SpecError::Value {
                    file: file.into(),
                    key: key.into(),
                    value: rate.value.exact(),
                    reason: "a rate must lie between 1 MB/s and 1 TB/s".into(),
                    remedy: "check its unit".into(),
                });
            }
        }
        if let Some(time) = host.job_time.as_ref().filter(|t| t.value > Nanos::secs(86_400)) {
            return Err(SpecError::Value {
                file: file.into(),
                key: "job_time".into(),
                value: time.value.exact(),
                reason: "a checkpoint takes no longer than a day besides its bytes".into(),
                remedy: "check its unit".into(),
            });
        }
        Ok(host)
    }

    /// Every parameter with its source and where it acts.
    pub fn parameters(&self) -> Vec<Parameter> {
        let name = |key: &str| format!("{}.{key}", self.generator.word());
        let mut rows = vec![
            self.submit_time.row(&name("submit_time"), "serial per job, before the queue pair"),
            self.resubmit_gap.row(&name("resubmit_gap"), "between completion and next submission of a slot"),
        ];
        let jobs = "delay of each read, by doublings of the jobs; empirical";
        rows.extend(self.jobs_delay.as_ref().map(|p| p.row(&name("jobs_delay"), jobs)));
        rows.extend(self.job_rate.as_ref().map(|p| p.row(&name("job_rate"), "ceiling of each job")));
        let whole = "added to the time of a whole checkpoint";
        rows.extend(self.job_time.as_ref().map(|p| p.row(&name("job_time"), whole)));
        let shared = "server shared by all jobs, each I/O";
        rows.extend(self.shared_read_time.as_ref().map(|p| p.row(&name("shared_read_time"), shared)));
        rows.extend(self.shared_write_time.as_ref().map(|p| p.row(&name("shared_write_time"), shared)));
        let read = "added to the link time of each byte";
        rows.extend(self.hop_read_rate.as_ref().map(|p| p.row(&name("hop_read_rate"), read)));
        let batches = "completions of all jobs together";
        rows.extend(self.hop_batches.as_ref().map(|p| p.row(&name("hop_batches"), batches)));
        let slower = "write times, by doublings of jobs beyond eight; empirical";
        rows.extend(self.hop_write_slowdown.as_ref().map(|p| p.row(&name("hop_write_slowdown"), slower)));
        let write = "ceiling of all jobs together, beside the link";
        rows.extend(self.hop_write_rate.as_ref().map(|p| p.row(&name("hop_write_rate"), write)));
        rows
    }
}
