//! From what each thread counted to one result.

use crate::tally::{DirectionCounts, ErrorRecord, add_address};
use flashlab_samples::{ClassTimes, DirectionResult, ErrorAddress, ErrorCount, JobShare, LatencyHistogram, StageTime};
use flashlab_spec::Job;
use flashlab_units::Bytes;

/// Adds one thread's counts of a direction.
pub(crate) fn add(into: &mut DirectionResult, counts: &DirectionCounts) {
    into.ios += counts.lat.count();
    into.bytes = Bytes(into.bytes.0 + counts.bytes);
    into.lat.merge(&counts.lat);
    for (into, from) in [(&mut into.service, &counts.service), (&mut into.slat, &counts.slat)] {
        if let Some(from) = from {
            into.get_or_insert_default().merge(from);
        }
    }
}

/// One thread's part of the whole.
pub(crate) fn share(directions: &[DirectionCounts; 3]) -> JobShare {
    let ios: u64 = directions.iter().map(|d| d.lat.count()).sum();
    let sum: f64 = directions.iter().map(|d| d.lat.mean_ns().unwrap_or(0.0) * d.lat.count() as f64).sum();
    JobShare { ios, lat_mean_ns: (ios > 0).then(|| sum / ios as f64) }
}

/// fsync or fdatasync as a class of requests of its own, with their mean time.
pub(crate) fn flush_class(job: &Job, flushes: &LatencyHistogram) -> Vec<ClassTimes> {
    let class = if job.durability.fdatasync_every > 0 { "fdatasync" } else { "fsync" };
    let whole = |mean_ns| ClassTimes {
        class: class.into(),
        ios: flushes.count(),
        stages: vec![StageTime { stage: "whole".into(), mean_ns }],
    };
    flushes.mean_ns().map(whole).into_iter().collect()
}

/// How the job's writes are made durable, in a word.
pub(crate) fn durability(job: &Job) -> String {
    let d = &job.durability;
    match (d.fsync_every, d.fdatasync_every, d.dsync) {
        (0, 0, false) => "no-fsync".into(),
        (0, 0, true) => "dsync".into(),
        (0, every, dsync) => format!("fdatasync after {every} writes{}", if dsync { ", dsync" } else { "" }),
        (every, _, dsync) => format!("fsync after {every} writes{}", if dsync { ", dsync" } else { "" }),
    }
}

/// Sums by kind; the offset is that of the error that came first in time.
pub(crate) fn merge_errors(mut records: Vec<ErrorRecord>) -> Vec<ErrorCount> {
    records.sort_by_key(|record| record.first_ns);
    let mut errors: Vec<ErrorCount> = Vec::new();
    for record in records {
        match errors.iter_mut().find(|e| e.kind == record.kind) {
            Some(known) => {
                known.count += record.count;
                let mut all: Vec<(u64, u64)> = known.addresses.iter().map(|a| (a.offset.0, a.count)).collect();
                record.addresses.into_iter().for_each(|(offset, count)| add_address(&mut all, offset, count));
                known.addresses = addresses(&all);
            }
            None => errors.push(ErrorCount {
                kind: record.kind,
                count: record.count,
                first_offset: record.first_offset.map(Bytes),
                addresses: addresses(&record.addresses),
            }),
        }
    }
    errors
}

fn addresses(all: &[(u64, u64)]) -> Vec<ErrorAddress> {
    all.iter().map(|(offset, count)| ErrorAddress { offset: Bytes(*offset), count: *count }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_threads_keep_the_first_offset() {
        let record = |kind: &str, at, first_ns| {
            let addresses = vec![(at, 2)];
            ErrorRecord { kind: kind.into(), count: 2, first_offset: Some(at), addresses, first_ns }
        };
        let merged = merge_errors(vec![record("EIO", 8192, 9), record("ENOSPC", 0, 5), record("EIO", 4096, 7)]);
        let seen: Vec<_> = merged.iter().map(|e| (e.kind.as_str(), e.count, e.first_offset)).collect();
        assert_eq!(seen, [("ENOSPC", 2, Some(Bytes(0))), ("EIO", 4, Some(Bytes(4096)))]);
        let at: Vec<_> = merged[1].addresses.iter().map(|a| (a.offset.0, a.count)).collect();
        assert_eq!(at, [(4096, 2), (8192, 2)]);
    }
}
