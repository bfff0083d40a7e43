//! The figures of a job's result.

use flashlab_samples::{
    Condition, DirectionResult, ERROR_ADDRESSES_MAX, Ended, Granted, JobResult, LatencyHistogram, Metric, MetricName,
};
use flashlab_units::{Iops, Nanos};

/// In a feature that was in force: reads of what was never written.
const UNWRITTEN: &str = "unwritten";

/// In what says how much a check rests on.
const CHECKED: &str = "blocks checked";

/// Engines that ask nothing of the target.
const NOTHING_DONE: [&str; 2] = ["null", "io_uring-nop"];

/// Findings of an engine that are shown beside figures; the result has all.
const FOUND_MAX: usize = 4;

/// All figures that `result` supports, in the order of [`MetricName::ALL`]. Nothing measured gives
/// no figure, never zero.
pub fn figures(result: &JobResult) -> Vec<Metric> {
    let samples = result.ios();
    let latency = result.latency();
    let plain = |name, value| Metric { name, value, interval: None, samples };
    let mut out = Vec::new();
    if samples > 0 {
        out.extend(result.bandwidth().map(|rate| plain(MetricName::Bandwidth, rate.0)));
        out.extend(result.iops().map(|rate| plain(MetricName::Iops, rate.0)));
    }
    if let Some(mean) = latency.mean_ns() {
        let interval = result.interval_share.map(|share| (mean * (1.0 - share), mean * (1.0 + share)));
        out.push(Metric { name: MetricName::LatMean, value: mean, interval, samples });
    }
    for (name, percent) in MetricName::PERCENTILES {
        out.extend(latency.percentile(percent).map(|p| plain(name, p.value.0 as f64)));
    }
    out.extend(latency.max().map(|max| plain(MetricName::LatMax, max.0 as f64)));
    if let Some(health) = &result.health {
        if let (Some(media), Some(host)) = (health.media_written, health.host_written)
            && host.0 > 0
        {
            out.push(plain(MetricName::WriteAmplification, media.0 as f64 / host.0 as f64));
        }
        out.extend(health.free_pool.map(|free| plain(MetricName::FreePool, free.0 as f64)));
    }
    out
}

/// What a reader must know beside the figures of `result`, taken in `condition`.
pub fn remarks(result: &JobResult, condition: Condition) -> Vec<String> {
    let mut out = Vec::new();
    match result.ended {
        Ended::Completed if !result.errors.is_empty() => {
            out.push("went on in spite of errors: not a clean result".into());
        }
        Ended::Completed | Ended::IntervalReached => {}
        Ended::Interrupted => out.push(format!("interrupted: covers {} only", result.elapsed)),
        Ended::Failed => out.push(format!("failed after {}: not a clean result", result.elapsed)),
    }
    for error in &result.errors {
        let place = match error.addresses.as_slice() {
            [] | [_] => error.first_offset.map(|o| format!(", first at byte {}", o.0)).unwrap_or_default(),
            all => {
                let offsets: Vec<String> = all.iter().map(|a| a.offset.0.to_string()).collect();
                let more = if all.len() == ERROR_ADDRESSES_MAX { " and perhaps more" } else { "" };
                format!(", at bytes {}{more}", offsets.join(", "))
            }
        };
        out.push(format!("{} × {}{place}", error.count, error.kind));
    }
    if NOTHING_DONE.contains(&result.granted.engine.as_str()) {
        out.push(format!("engine {}: no I/O reached the target; what the program itself costs", result.granted.engine));
    }
    if result.ios() == 0 {
        let ramp = if result.ramp > Nanos::ZERO { format!("; the ramp took {}", result.ramp) } else { String::new() };
        out.push(format!("no I/O was completed in the measured window: there is no figure{ramp}"));
    } else if out.is_empty() {
        out.extend(thin_percentiles(&result.latency()));
    }
    if result.read.ios > 0 {
        out.extend(result.granted.features.iter().filter(|f| f.contains(UNWRITTEN)).cloned());
    }
    if result.read.ios > 0 && matches!(condition, Condition::Purged) {
        out.push("reads of blocks that hold no data: the flash was not touched".into());
    }
    if result.granted.direct == Some(false) {
        let below = result.granted.refused.iter().find(|r| r.starts_with("O_DIRECT below"));
        out.push(below.cloned().unwrap_or_else(|| "not O_DIRECT: the page cache takes part".into()));
    }
    out.extend(granted(&result.granted));
    out.extend(by_direction(result));
    out.extend(other_times(result));
    out
}

/// Of a mix, each direction by itself: the figures are of all of them together.
fn by_direction(result: &JobResult) -> Vec<String> {
    let all = [("reads", &result.read), ("writes", &result.write), ("trims", &result.trim)];
    let done: Vec<_> = all.into_iter().filter(|(_, direction)| direction.ios > 0).collect();
    if done.len() < 2 {
        return Vec::new();
    }
    let one = |(word, direction): (&str, &DirectionResult)| {
        let iops = Iops::over(direction.ios, result.elapsed)?;
        let (mean, p99) = (direction.lat.mean_ns()?, direction.lat.percentile(99.0)?);
        // Trims move no data.
        let rate = direction.bytes.over(result.elapsed).filter(|_| word != "trims");
        let rate = rate.map(|rate| format!(", {}", rate.si())).unwrap_or_default();
        Some(format!("{word}: {iops}{rate}, mean {}, p99 {}", Nanos(mean.round() as u64), p99.value))
    };
    done.into_iter().filter_map(one).collect()
}

/// What an engine found beside the figures, and what a person asked for in vain.
fn granted(granted: &Granted) -> impl Iterator<Item = String> {
    let found = |text: &&String| ["open loop", "verify-", "replay: "].iter().any(|what| text.starts_with(what));
    let asked = |text: &&String| ["IOPOLL:", "SQPOLL:", "io_uring:"].iter().any(|what| text.starts_with(what));
    let found = granted.features.iter().filter(found).take(FOUND_MAX).cloned();
    let checked = granted.features.iter().filter(|text| text.contains(CHECKED)).cloned();
    checked
        .chain(found)
        .chain(granted.refused.iter().filter(asked).map(|text| format!("asked for and not granted: {text}")))
}

/// Latencies beside the usual one: of the way in, from the actual submission of an open loop, of flushes.
fn other_times(result: &JobResult) -> Vec<String> {
    let mut out = Vec::new();
    for (word, direction) in [("read", &result.read), ("write", &result.write), ("trim", &result.trim)] {
        let times = [
            ("service time, from the actual submission", &direction.service),
            ("slat, the time that submission takes", &direction.slat),
        ];
        for (what, latency) in times.into_iter().filter_map(|(what, latency)| Some((what, latency.as_ref()?))) {
            if let (Some(mean), Some(p99)) = (latency.mean_ns(), latency.percentile(99.0)) {
                out.push(format!("{word} {what}: mean {}, p99 {}", Nanos(mean.round() as u64), p99.value));
            }
        }
    }
    let flushes = result.classes.iter().filter(|class| ["fsync", "fdatasync"].contains(&class.class.as_str()));
    for (class, whole) in flushes.filter_map(|class| Some((class, class.stages.first()?))) {
        out.push(format!("{} × {}, mean {}", class.ios, class.class, Nanos(whole.mean_ns.round() as u64)));
    }
    out
}

/// Which percentiles have no sample beyond them.
fn thin_percentiles(latency: &LatencyHistogram) -> Option<String> {
    let thin = MetricName::PERCENTILES
        .iter()
        .find(|(_, percent)| latency.percentile(*percent).is_some_and(|p| p.samples_beyond == 0))?;
    let needed = (100.0 / (100.0 - thin.1)).round();
    Some(format!("fewer than {needed} samples: p{} and beyond are only the maximum", thin.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::{ErrorAddress, ErrorCount, Series};
    use flashlab_units::Bytes;

    fn result(ios: u64) -> JobResult {
        let mut read = DirectionResult { ios, bytes: Bytes(ios * 4096), ..Default::default() };
        (0..ios).for_each(|_| read.lat.record(Nanos::micros(100)));
        JobResult {
            elapsed: Nanos::secs(1),
            ramp: Nanos::ZERO,
            read,
            write: DirectionResult::default(),
            trim: DirectionResult::default(),
            in_flight_mean: None,
            series: Series::default(),
            classes: vec![],
            shares: vec![],
            granted: Granted::default(),
            errors: vec![],
            cpu: None,
            health: None,
            ended: Ended::Completed,
            scale: 1,
            interval_share: Some(0.01),
        }
    }

    #[test]
    fn figures_of_a_read_job() {
        let all = figures(&result(10_000));
        let value = |name| all.iter().find(|m| m.name == name).map(|m| m.value);
        assert_eq!(value(MetricName::Iops), Some(10_000.0));
        assert_eq!(value(MetricName::Bandwidth), Some(40_960_000.0));
        assert_eq!(value(MetricName::LatMean), Some(100_000.0));
        assert_eq!(value(MetricName::LatP99), Some(100_000.0));
        assert_eq!(all[2].interval, Some((99_000.0, 101_000.0)));
        assert_eq!(value(MetricName::WriteAmplification), None);
    }

    /// Trims move no data: their bandwidth is not zero, there is none.
    #[test]
    fn trims_have_a_rate_and_no_bandwidth() {
        let mut job = result(1000);
        job.trim = std::mem::take(&mut job.read);
        let all = figures(&job);
        assert!(all.iter().all(|m| m.name != MetricName::Bandwidth), "{all:?}");
        assert_eq!(all[0].name, MetricName::Iops);
        job.write.ios = 1;
        assert_eq!(figures(&job)[0].name, MetricName::Bandwidth, "beside writes there is one");
    }

    #[test]
    fn a_mix_has_each_direction_apart() {
        let mut job = result(30_000);
        assert!(remarks(&job, Condition::AfterFill).is_empty());
        job.write = DirectionResult { ios: 10_000, bytes: Bytes(40_960_000), ..Default::default() };
        (0..10_000).for_each(|_| job.write.lat.record(Nanos::millis(1)));
        let said = remarks(&job, Condition::AfterFill);
        assert!(said.iter().any(|s| s.starts_with("reads: 30K IOPS, 122.88 MB/s, mean 100 us")), "{said:?}");
        assert!(said.iter().any(|s| s.starts_with("writes: 10K IOPS, 41 MB/s") && s.contains("mean 1 ms")), "{said:?}");
    }

    #[test]
    fn what_else_was_timed_and_what_was_not_granted_is_said() {
        let mut result = result(20_000);
        let mut service = LatencyHistogram::new();
        (0..100).for_each(|_| service.record(Nanos::micros(40)));
        result.read.service = Some(service);
        result.granted.refused = vec!["NO_SQARRAY: EINVAL".into(), "IOPOLL: no poll queues".into()];
        result.granted.features = vec!["SINGLE_ISSUER".into(), "open loop not kept up with: late".into()];
        result.granted.features.push("7 blocks checked: of all a generation".into());
        result.errors = vec![];
        let mut said = remarks(&result, Condition::AfterFill);
        assert_eq!(said.remove(0), "7 blocks checked: of all a generation");
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("open loop") && said[1] == "asked for and not granted: IOPOLL: no poll queues");
        assert!(said[2].starts_with("read service time") && said[2].contains("40"), "{said:?}");
    }

    #[test]
    fn errors_are_said_by_kind_and_address() {
        let addresses = [8192, 4096].map(|at| ErrorAddress { offset: Bytes(at), count: 2 }).to_vec();
        let error = ErrorCount { kind: "EIO".into(), count: 4, first_offset: Some(Bytes(8192)), addresses };
        let said = remarks(&JobResult { errors: vec![error], ..result(9) }, Condition::AfterFill);
        assert_eq!(said, ["went on in spite of errors: not a clean result", "4 × EIO, at bytes 8192, 4096"]);
    }

    #[test]
    fn nothing_measured_is_no_figure() {
        assert!(figures(&result(0)).is_empty());
    }

    #[test]
    fn small_samples_and_purged_reads_are_remarked() {
        let said = remarks(&result(500), Condition::Purged).join("; ");
        assert!(
            said.contains("p99.9 and beyond are only the maximum") && said.contains("flash was not touched"),
            "{said}"
        );
        assert!(remarks(&result(100_000), Condition::AfterFill).is_empty());
    }
}
