//! Where a replayed list lies on the scaled drive: its requests, sizes and times stay as they are, and the
//! parts of the drive that it never touches are left out between them.
//!
//! Scaling addresses down would make one unit of several, so that neighbours overwrote each other and a
//! sequential run came back to where it had been. Here two units stay two, an overwrite stays one, and a
//! run stays a run. What is not kept is the share of the drive that the list touches: see
//! [`Footprint::is_small_beside`].

use crate::ftl::YOUNG_SHARE;
use crate::scale::Geometry;
use flashlab_spec::{Beyond, Direction, Job, Region, Replay, ReplayEnd, ReplayRequest, SpecError};
use flashlab_units::Bytes;

/// Of units that are overwritten at random, e^-4, or 2 %, are still valid after four times as many writes;
/// of a list that is repeated, none after one pass.
const TIMES_OVER: u64 = 4;
/// Half the free pool is left after the first pass.
const POOLS_OF_PASS: u64 = 2;

/// What a list touches on a drive, in indirection units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    unit: u64,
    /// In order, none touching the next.
    ranges: Vec<Range>,
    /// Units that are read, written or trimmed, each counted once.
    pub touched_units: u64,
    /// Units that are written, each counted once.
    pub written_units: u64,
    /// Units that the writes of one pass take up, one written twice counted twice.
    pub units_a_pass: u64,
    /// Unit after the last one.
    pub end_units: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u64,
    after: u64,
}

impl Footprint {
    /// Of the list of `job` on a drive whose units have `unit` bytes; `None` for a job without one.
    pub fn of(job: &Job, unit: Bytes) -> Option<Self> {
        let replay = job.replay.as_ref()?;
        let units = |request: &ReplayRequest| {
            let offset = placed_at(request, job.region);
            Range { first: offset / unit.0, after: (offset + u64::from(request.length)).div_ceil(unit.0) }
        };
        let requests = replay.requests();
        let is_write = |request: &&ReplayRequest| request.direction == Direction::Write;
        let ranges = merged(requests.iter().map(units).collect());
        let written = merged(requests.iter().filter(is_write).map(units).collect());
        let total = |ranges: &[Range]| ranges.iter().map(|r| r.after - r.first).sum();
        Some(Footprint {
            unit: unit.0,
            touched_units: total(&ranges),
            written_units: total(&written),
            units_a_pass: requests.iter().filter(is_write).map(units).map(|r| r.after - r.first).sum(),
            end_units: ranges.last().map_or(0, |r| r.after),
            ranges,
        })
    }

    /// Whether on a drive of `physical_units` of flash a superblock that the list wrote is all but empty before
    /// collection, even an early one, looks at it. Then so it is on any larger drive, and the write
    /// amplification of the repeated list does not depend on the scale.
    pub fn is_small_beside(&self, physical_units: u64) -> bool {
        self.units_to_empty().saturating_mul(YOUNG_SHARE) <= physical_units
    }

    /// Units written until those that were written before are overwritten.
    fn units_to_empty(&self) -> u64 {
        self.units_a_pass.min(self.written_units.saturating_mul(TIMES_OVER))
    }

    /// Units to map so that this holds, that the first pass ends before the free pool does, and that the list
    /// fits, with `spare_share` of the flash as spare.
    pub(crate) fn units_wanted(&self, spare_share: f64, program_units: u64) -> u64 {
        let young = self.units_to_empty().saturating_mul(YOUNG_SHARE);
        let pass = self.units_a_pass.saturating_mul(POOLS_OF_PASS) as f64 / spare_share;
        let mapped = (young as f64).max(pass * (1.0 - spare_share));
        let room = self.places(Some(program_units)).1.min(self.end_units);
        // A little more: the size that comes out is rounded to whole superblocks and transfers.
        (mapped as u64).max(room + room / 16)
    }

    /// The first unit of each range on a drive without what lies between them, and the unit after the last.
    /// With `program_units` a range begins at the same place in a program as before, and at least a unit
    /// is left before it, so that no run continues where there was none; else they touch.
    fn places(&self, program_units: Option<u64>) -> (Vec<u64>, u64) {
        let mut next = 0;
        let place = |range: &Range| {
            let start = match program_units {
                Some(grain) => next + (range.first % grain + grain - next % grain) % grain,
                None => next,
            };
            let end = start + range.after - range.first;
            next = end + u64::from(program_units.is_some());
            (start, end)
        };
        let (starts, ends): (Vec<u64>, Vec<u64>) = self.ranges.iter().map(place).unzip();
        (starts, ends.last().copied().unwrap_or(0))
    }

    /// Where byte `offset` goes if the ranges begin at `starts`.
    fn moved(&self, starts: &[u64], offset: u64) -> u64 {
        let unit = offset / self.unit;
        let index = self.ranges.partition_point(|range| range.first <= unit) - 1;
        (starts[index] + unit - self.ranges[index].first) * self.unit + offset % self.unit
    }
}

/// A request's first byte on the target.
fn placed_at(request: &ReplayRequest, region: Region) -> u64 {
    region.offset.0 + Replay::place(request, region.length).0
}

/// Ranges in order; those that touch or overlap are one.
fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|range| range.first);
    ranges.dedup_by(|next, kept| {
        let joins = next.first <= kept.after;
        if joins {
            kept.after = kept.after.max(next.after);
        }
        joins
    });
    ranges
}

/// The list of `job` at the addresses of the scaled drive. Those that fit it stay as they are. More units
/// than it has are folded where the list allows it, and lie beyond its end else.
pub(crate) fn scaled(job: &Job, geometry: &Geometry) -> Option<Replay> {
    let (replay, user) = (job.replay.as_ref()?, u64::from(geometry.user_units));
    let footprint = Footprint::of(job, Bytes(geometry.unit_bytes))?;
    let starts = if footprint.end_units <= user {
        None
    } else {
        let (roomy, end) = footprint.places(Some(u64::from(geometry.program_units)));
        Some(if end <= user { roomy } else { footprint.places(None).0 })
    };
    let move_it = |request: &ReplayRequest| {
        let at = placed_at(request, job.region);
        let offset = starts.as_ref().map_or(at, |starts| footprint.moved(starts, at));
        ReplayRequest { offset: Bytes(offset), ..*request }
    };
    let requests = replay.requests().iter().map(move_it).collect();
    Some(Replay::new(replay.source.clone(), requests, replay.end, replay.beyond))
}

/// Bytes that thread `index` moves.
pub(crate) fn bytes_of_thread(job: &Job, replay: &Replay, index: u32) -> u64 {
    let turn = replay.requests().iter().skip(index as usize).step_by(job.numjobs as usize);
    turn.map(|request| u64::from(request.length)).sum::<u64>().saturating_mul(passes(job))
}

fn passes(job: &Job) -> u64 {
    u64::from(job.passes.unwrap_or(1))
}

/// Checks that a list can be played on the scaled drive: `scaled` is that of `job`.
pub(crate) fn check(job: &Job, scaled: &Job, user: Bytes) -> Result<(), SpecError> {
    let (Some(replay), Some(placed)) = (&job.replay, &scaled.replay) else { return Ok(()) };
    let refuse =
        |reason: String, remedy: String| Err(SpecError::Job { workload: job.workload.clone(), reason, remedy });
    let ends = replay.end == ReplayEnd::Once || job.passes.is_some();
    if job.runtime.is_some() || job.amount.is_some() || !ends {
        let reason = format!("a modelled drive plays {} in whole passes", replay.source);
        return refuse(reason, "play it once, or give passes; leave runtime and amount out".into());
    }
    let bytes: u128 = replay.requests().iter().map(|r| u128::from(r.length)).sum::<u128>() * u128::from(passes(job));
    if bytes > u128::from(u64::MAX) {
        let reason = format!("{} passes of {} move more than 16 EiB", passes(job), replay.source);
        return refuse(reason, "play fewer passes, or only a part of the list".into());
    }
    let touched = placed.summary().end;
    if touched > user && replay.beyond == Beyond::Refuse {
        let reason = format!("{} touches {touched}, and the drive is modelled with {user}", replay.source);
        return refuse(reason, "play only a part of the list, or fold its addresses".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::Rw;
    use flashlab_units::Nanos;

    const UNIT: u64 = 4096;

    fn job(requests: &[(u64, u64)]) -> Job {
        let requests = requests.iter().enumerate().map(|(at, (offset, length))| ReplayRequest {
            at: Nanos(at as u64),
            direction: if at % 2 == 0 { Direction::Write } else { Direction::Read },
            offset: Bytes(*offset),
            length: *length as u32,
        });
        let replay = Replay::new("list", requests.collect(), ReplayEnd::Once, Beyond::Refuse);
        let region = Region { offset: Bytes(0), length: Bytes(1 << 50) };
        Job { replay: Some(replay), ..Job::new("w", Rw::RandRw, Bytes::mib(1), region) }
    }

    #[test]
    fn what_is_touched_is_counted_in_units() {
        // A unit written twice, one read in part, and a run of three over two requests.
        let list = [(512, 512), (9 * UNIT + 512, 512), (0, UNIT), (1 << 40, 2 * UNIT), ((1 << 40) + 2 * UNIT, UNIT)];
        let f = Footprint::of(&job(&list), Bytes(UNIT)).expect("a list");
        assert_eq!((f.touched_units, f.written_units, f.units_a_pass), (5, 2, 3));
        assert_eq!((f.ranges.len(), f.end_units), (3, (1 << 40) / UNIT + 3));
        assert!(f.is_small_beside(3 * YOUNG_SHARE) && !f.is_small_beside(3 * YOUNG_SHARE - 1));
    }

    #[test]
    fn places_keep_order_and_the_place_in_a_program() {
        let list = [(3 * UNIT, UNIT), (1 << 30, 2 * UNIT), ((1 << 30) + 2 * UNIT, UNIT), ((1 << 40) + 5 * UNIT, UNIT)];
        let f = Footprint::of(&job(&list), Bytes(UNIT)).expect("a list");
        let (roomy, end) = f.places(Some(8));
        assert_eq!((roomy, end), (vec![3, 8, 13], 14));
        assert_eq!(f.places(None), (vec![0, 1, 4], 5));
        assert_eq!(f.moved(&[0, 1, 4], (1 << 30) + 2 * UNIT + 512), 3 * UNIT + 512);
    }
}
