//! The bulk of a sequential fill: the mapping is written unit by unit, time follows from the rate
//! that a simulated part of the same fill had and from what collection adds.

use crate::engine::Counters;
use crate::mapping::{Collected, Mapping};
use crate::scale::Geometry;

/// What a bulk write cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bulk {
    /// Programs of host data.
    pub(crate) host_programs: u64,
    /// Programs of moved data.
    pub(crate) moved_programs: u64,
}

/// Writes logical units `[first, end)` in order.
pub(crate) fn write_in_order(
    mapping: &mut Mapping,
    counters: &mut Counters,
    geometry: &Geometry,
    first: u32,
    end: u32,
) -> Bulk {
    let mut bulk = Bulk::default();
    let mut lpns = Vec::with_capacity(geometry.program_units as usize);
    let mut collected = Collected::default();
    let mut next = first;
    while next < end {
        lpns.clear();
        lpns.extend(next..end.min(next + geometry.program_units));
        next += lpns.len() as u32;
        collected.read.clear();
        collected.programs.clear();
        mapping.write_program(&lpns, &mut collected);
        bulk.host_programs += 1;
        bulk.moved_programs += collected.programs.len() as u64;
        counters.host_written += lpns.len() as u64 * geometry.unit_bytes;
    }
    let programs = bulk.host_programs + bulk.moved_programs;
    counters.media_written += programs * u64::from(geometry.program_units) * geometry.unit_bytes;
    bulk
}
