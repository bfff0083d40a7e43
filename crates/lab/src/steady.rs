//! What the rounds of a steady-state step together say.

use flashlab_analysis::{SteadyVerdict, SteadyWindow, figures};
use flashlab_samples::{Condition, JobResult, Metric, MetricName, Origin, mean_interval_share};
use flashlab_units::Nanos;

/// The condition that a verdict proves. The rule alone shows that the rounds agree; garbage
/// collection is known to be under way only where more than the known spare was written first.
pub(crate) fn condition(verdict: &SteadyVerdict, spare_was_written: bool, origin: Origin) -> Condition {
    match verdict {
        SteadyVerdict::Steady(_) if spare_was_written && origin == Origin::Modelled => Condition::GcSteady,
        SteadyVerdict::Steady(_) => Condition::Flat,
        SteadyVerdict::NotYet(_) | SteadyVerdict::NotReached(_) => Condition::NotSteady,
    }
}

/// The sentence for people.
pub(crate) fn sentence(window: &SteadyWindow, steady: bool, rounds: usize) -> String {
    let judged = format!(
        "rounds {} to {}: range {:.1} % of the average, line moves {:.1} %",
        window.first_round,
        window.last_round,
        window.range_share * 100.0,
        window.slope_share * 100.0
    );
    if steady {
        format!("rule met after {rounds} rounds; {judged}")
    } else {
        format!("rule not met in {rounds} rounds; {judged}")
    }
}

/// The figures over the rounds of a window: rates as averages over the window's time with the 95 %
/// interval of the mean over the rounds, latencies from the merged histograms.
pub(crate) fn window_figures(rounds: &[JobResult]) -> Vec<Metric> {
    let Some((first, rest)) = rounds.split_first() else { return Vec::new() };
    let mut merged = first.clone();
    merged.interval_share = None;
    for round in rest {
        merged.elapsed = Nanos(merged.elapsed.0 + round.elapsed.0);
        let directions =
            [(&mut merged.read, &round.read), (&mut merged.write, &round.write), (&mut merged.trim, &round.trim)];
        for (sum, one) in directions {
            sum.ios += one.ios;
            sum.bytes.0 += one.bytes.0;
            sum.lat.merge(&one.lat);
        }
        if let (Some(sum), Some(one)) = (&mut merged.health, &round.health) {
            for (sum, one) in [
                (&mut sum.host_read, one.host_read),
                (&mut sum.host_written, one.host_written),
                (&mut sum.media_written, one.media_written),
            ] {
                *sum = sum.zip(one).map(|(a, b)| flashlab_units::Bytes(a.0 + b.0));
            }
            sum.free_pool = one.free_pool;
        }
    }
    let mut out = figures(&merged);
    for metric in &mut out {
        let each = |r: &JobResult| match metric.name {
            MetricName::Bandwidth => r.bandwidth().map(|b| b.0),
            MetricName::Iops => r.iops().map(|i| i.0),
            _ => None,
        };
        let values: Vec<f64> = rounds.iter().filter_map(each).collect();
        metric.interval =
            mean_interval_share(&values).map(|share| (metric.value * (1.0 - share), metric.value * (1.0 + share)));
    }
    out
}
