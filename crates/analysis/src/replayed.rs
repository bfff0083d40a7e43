//! What a replayed list did, beside the figures of its result.

use flashlab_samples::JobResult;
use flashlab_spec::{Arrival, Job};
use flashlab_units::Nanos;

/// Requests that start later than they were due by more than this on average were not kept up with: a
/// host's own delays are far below.
const LATE: Nanos = Nanos::millis(1);

/// What was replayed, and whether it was kept up with; nothing for a job without a list.
pub fn replay_remarks(job: &Job, result: &JobResult) -> Vec<String> {
    let Some(list) = &job.replay else { return Vec::new() };
    let is_timed = matches!(job.arrival, Arrival::Recorded { .. });
    let late = mean_delay(result).filter(|late| is_timed && *late > LATE);
    let late = late.map(|late| format!("open loop not kept up with: requests started {late} late on average"));
    let mut said = list.sentence(job.arrival, job.region.length);
    if result.ios() < list.summary().count {
        said += &format!("; {} of them came back in the measured window", result.ios());
    }
    [said].into_iter().chain(late).collect()
}

/// From the intended start of a request to its actual submission, on average; `None` without requests, or
/// where the two are one.
fn mean_delay(result: &JobResult) -> Option<Nanos> {
    let (mut waited_ns, mut ios) = (0.0, 0u64);
    for direction in [&result.read, &result.write, &result.trim] {
        let Some(service) = &direction.service else { continue };
        if let (Some(whole), Some(served)) = (direction.lat.mean_ns(), service.mean_ns()) {
            waited_ns += (whole - served) * direction.lat.count() as f64;
            ios += direction.lat.count();
        }
    }
    (ios > 0).then(|| Nanos((waited_ns / ios as f64).max(0.0).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_samples::{DirectionResult, Ended, Granted, LatencyHistogram, Series};
    use flashlab_spec::{Beyond, Direction, Region, Replay, ReplayEnd, ReplayRequest, Rw};
    use flashlab_units::Bytes;

    fn direction(waited: Nanos) -> DirectionResult {
        let (mut lat, mut service) = (LatencyHistogram::new(), LatencyHistogram::new());
        (0..10).for_each(|_| lat.record(Nanos::micros(100) + waited));
        (0..10).for_each(|_| service.record(Nanos::micros(100)));
        DirectionResult { ios: 10, bytes: Bytes(40_960), lat, slat: None, service: Some(service) }
    }

    fn result(read: DirectionResult, write: DirectionResult) -> JobResult {
        JobResult {
            elapsed: Nanos::secs(1),
            ramp: Nanos::ZERO,
            read,
            write,
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
            interval_share: None,
        }
    }

    fn job(arrival: Arrival) -> Job {
        let request = ReplayRequest { at: Nanos(0), direction: Direction::Read, offset: Bytes(0), length: 4096 };
        let replay = Some(Replay::new("a.csv", vec![request], ReplayEnd::Once, Beyond::Refuse));
        let region = Region { offset: Bytes(0), length: Bytes::mib(1) };
        Job { replay, arrival, ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) }
    }

    #[test]
    fn a_list_that_is_served_late_says_so() {
        let recorded = Arrival::Recorded { time_percent: 100 };
        let on_time = result(direction(Nanos::micros(20)), direction(Nanos::micros(20)));
        assert_eq!(replay_remarks(&job(recorded), &on_time).len(), 1);
        let late = result(direction(Nanos::millis(5)), direction(Nanos::millis(1)));
        let said = replay_remarks(&job(recorded), &late);
        assert!(said[0].starts_with("replayed: a.csv, 1 requests (1 read)"), "{said:?}");
        // The mean of both directions, ten requests each.
        assert!(said[1].contains("started 3 ms late"), "{said:?}");
        assert_eq!(replay_remarks(&job(Arrival::Closed), &late).len(), 1, "without times nothing is late");
        let none = result(DirectionResult::default(), DirectionResult::default());
        assert!(replay_remarks(&job(recorded), &none)[0].ends_with("; 0 of them came back in the measured window"));
        assert!(replay_remarks(&Job { replay: None, ..job(Arrival::Closed) }, &late).is_empty());
    }
}
