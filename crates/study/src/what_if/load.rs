//! The load of a question: in the keys of a sweep, or a job made elsewhere.

use super::trace;
use flashlab_spec::{Job, Offsets, RateProcess, Region, Replay, Sharing, SpecError, SweepStep};
use flashlab_units::{Bytes, Nanos};
use std::fmt;
use std::sync::Arc;

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

    /// In the keys of a sweep: one load, whose end is set by the question.
    ///
    /// # Errors
    /// [`SpecError::Job`] for keys that a question can't follow, by name, and for a rate too low to count.
    pub fn of(mut load: SweepStep) -> Result<Self, SpecError> {
        let refuse =
            |reason: String, remedy: &str| SpecError::Job { workload: load.name(), reason, remedy: remedy.to_owned() };
        let ends = [
            ("runtime", load.runtime.is_some()),
            ("amount", load.amount.is_some()),
            ("passes", load.passes.is_some()),
            ("ramp", load.ramp != Nanos::ZERO),
            ("interval_goal", load.interval_goal.is_some()),
        ];
        if let Some((key, _)) = ends.iter().find(|(_, is_given)| *is_given) {
            let reason = format!("{key} says when it ends, and what-if goes on until it is steady");
            return Err(refuse(reason, "leave it out, or run the load as it is with flashlab load --on DRIVE"));
        }
        let axes = [("iodepth", &load.iodepth), ("numjobs", &load.numjobs), ("threads", &load.threads)];
        if let Some((key, axis)) = axes.iter().find(|(_, axis)| axis.len() > 1) {
            let reason = format!("{key} has {} values, and what-if asks about one load", axis.len());
            return Err(refuse(reason, "give one of them, or run the sweep with flashlab load --on DRIVE"));
        }
        load.complete();
        let (iodepth, numjobs) = match load.threads.first() {
            Some(threads) => (1, *threads),
            None => (load.iodepth[0], load.numjobs[0]),
        };
        let title = title(&load, iodepth, numjobs);
        let (offset, size) = (load.offset, load.size);
        // What lies outside a drive is refused by the drive.
        let anywhere = Region { offset: Bytes::ZERO, length: Bytes(u64::MAX) };
        let workload = title.clone();
        let job = SweepStep { workload, passes: None, ..load }.job(iodepth, numjobs, anywhere)?;
        Ok(Load::new(title, move |capacity| {
            let left = Bytes(capacity.0.saturating_sub(offset.0) / job.bs.0.max(1) * job.bs.0);
            Job { region: Region { offset, length: size.unwrap_or(left) }, ..job.clone() }
        }))
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

/// The load in words, such as `randwrite 16 KiB, iodepth 32, numjobs 4`: all that differs from the usual.
fn title(load: &SweepStep, iodepth: u32, numjobs: u32) -> String {
    let bs = load.sizes.as_ref().map_or_else(|| load.bs.to_string(), ToString::to_string);
    let mix = match (load.rw.is_mixed(), load.rwmixtrim) {
        (false, _) => String::new(),
        (true, 0) => format!(" {} % reads", load.rwmixread),
        (true, trims) => format!(" {} % reads, {trims} % trims", load.rwmixread),
    };
    let name = if load.workload.is_empty() { String::new() } else { format!("{}: ", load.workload) };
    let mut title = format!("{name}{}{mix} {bs}, iodepth {iodepth}, numjobs {numjobs}", load.rw.word());
    let mut add = |part: Option<String>| title.extend(part.map(|part| format!(", {part}")));
    add(load.rate.map(|rate| format!("{rate} a job")));
    add(load.rate_iops.map(|rate| format!("{rate} requests a second a job")));
    add((load.rate_process != RateProcess::Linear).then(|| "arriving at random".to_owned()));
    add((load.distribution != Offsets::default()).then(|| format!("distribution {}", load.distribution)));
    add(load.percentage_random.map(|shares| format!("{shares} % of the offsets random")));
    add(load.align.map(|align| format!("aligned to {align}")));
    add(load.stride.map(|stride| format!("stride {stride}")));
    add(load.sharing.map(|sharing| match sharing {
        Sharing::Shared => "jobs share the region".to_owned(),
        Sharing::Slices => "a slice each job".to_owned(),
    }));
    add((!load.placement.is_empty()).then(|| format!("placement {:?}", load.placement)));
    add(load.size.map(|size| format!("over {size}")));
    add((load.offset != Bytes::ZERO).then(|| format!("from {}", load.offset)));
    title
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Arrival, Rw, WriteHint};

    fn load(text: &str) -> Result<Load, SpecError> {
        SweepStep::parse_as_written(text, "x.toml").and_then(Load::of)
    }

    #[test]
    fn a_load_from_toml_fills_the_whole_capacity_in_whole_blocks() {
        let text = "rw = \"randwrite\"\nbs = \"16KiB\"\niodepth = 32\nnumjobs = 4\nrate = \"160MB/s\"\n";
        let load = load(text).expect("a load");
        assert_eq!(load.title(), "randwrite 16 KiB, iodepth 32, numjobs 4, 160 MB/s a job");
        let job = load.on(Bytes(1_000_000));
        assert_eq!((job.rw, job.iodepth, job.numjobs), (Rw::RandWrite, 32, 4));
        assert_eq!(job.region.length, Bytes(61 * 16_384));
        let Arrival::Fixed(rate) = job.arrival else { panic!("an open loop") };
        let bytes = rate.per_second().expect("a rate").0 * 16_384.0;
        assert!((bytes / 160e6 - 1.0).abs() < 1e-6, "{bytes}");
    }

    /// Every key of a load but those of its end reaches the job; what the model can't do of it is the
    /// drive's to refuse.
    #[test]
    fn each_key_of_a_load_reaches_the_job() {
        let text = "rw = 'randrw'\nrwmixread = 70\nrwmixtrim = 5\nsizes = '4KiB/60:64KiB/40'\niodepth = 8\nnumjobs = 2\n\
                    offset = '1MiB'\nsize = '32MiB'\ndistribution = 'zipf:1.1'\nalign = '4KiB'\nsharing = 'slices'\n\
                    rate_iops = 20000\nrate_process = 'poisson'\nplacement = [0, 1]\nwrite_hint = 'short'\n";
        let load = load(text).expect("a load");
        let job = load.on(Bytes::gib(1));
        assert_eq!((job.rwmixread, job.rwmixtrim, job.bs, job.passes), (70, 5, Bytes::kib(64), None));
        assert_eq!(job.region, Region { offset: Bytes::mib(1), length: Bytes::mib(32) });
        assert_eq!((job.pattern.align, job.pattern.sharing), (Some(Bytes::kib(4)), Some(Sharing::Slices)));
        assert_eq!((job.placement.len(), job.write_hint), (2, Some(WriteHint::Short)));
        assert!(matches!(job.arrival, Arrival::Poisson(_)) && job.pattern.sizes.is_some());
        for words in
            ["70 % reads, 5 % trims 4KiB/60:64KiB/40", "zipf:1.1", "aligned to 4 KiB", "from 1 MiB", "at random"]
        {
            assert!(load.title().contains(words), "no {words} in {}", load.title());
        }
        let named = Load::of(SweepStep { workload: "db".into(), ..SweepStep::new(Rw::Read, Bytes::kib(4)) });
        assert_eq!(named.expect("a load").title(), "db: read 4 KiB, iodepth 1, numjobs 1");
        let rest = Load::of(SweepStep { offset: Bytes::mib(1), ..SweepStep::new(Rw::RandRead, Bytes::kib(4)) });
        assert_eq!(rest.expect("a load").on(Bytes::mib(3)).region.length, Bytes::mib(2));
    }

    #[test]
    fn slips_are_refused_with_the_line_and_the_end_by_name() {
        for (more, says) in [
            ("io_depth = 3\n", "x.toml:3: "),
            ("rate = '1B/s'\n", "less than one request"),
            ("runtime = '30s'\n", "runtime says when it ends"),
            ("passes = 2\n", "passes says when it ends"),
            ("ramp = '1s'\n", "leave it out, or run the load as it is with flashlab load"),
            ("iodepth = [1, 8]\n", "iodepth has 2 values"),
        ] {
            let error = load(&format!("rw = 'randwrite'\nbs = '4KiB'\n{more}")).expect_err(says).to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
        let threads = load("rw = 'read'\nbs = '1MiB'\nthreads = [8]\n").expect("a load").on(Bytes::gib(1));
        assert_eq!((threads.iodepth, threads.numjobs), (1, 8));
    }
}
