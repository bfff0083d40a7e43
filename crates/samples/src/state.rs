//! The state a drive is in, and what its health log says.

use flashlab_units::Bytes;
use serde::{Deserialize, Serialize};

/// What the flash went through before a figure was taken; a figure without it means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing is known: it was neither purged nor filled by this run.
    Unknown,
    /// Purged and not written since: reads touch no flash.
    Purged,
    /// Some of the region was written once, sequentially; not preconditioned.
    Written,
    /// The whole region was filled sequentially; writes still go to the free pool the fill left.
    AfterFill,
    /// The region was filled, and random writes have used up the free pool that the fills left:
    /// garbage collection is under way, a steady state is not shown.
    PoolExhausted,
    /// Random writes agree over the last rounds, but too little was written, or too little is known
    /// of the target, to say that garbage collection is under way.
    Flat,
    /// Random writes have reached garbage-collection steady state by the named rule.
    GcSteady,
    /// Random writes went on, the rule for steady state was not met.
    NotSteady,
    /// Being filled by checkpoints, pass after pass.
    CheckpointFill,
}

impl Condition {
    /// The word used in the `state` column of exports.
    pub const fn word(self) -> &'static str {
        match self {
            Condition::Unknown => "unknown",
            Condition::Purged => "purged",
            Condition::Written => "written",
            Condition::AfterFill => "after-fill",
            Condition::PoolExhausted => "pool-exhausted",
            Condition::Flat => "flat",
            Condition::GcSteady => "gc-steady",
            Condition::NotSteady => "not-steady",
            Condition::CheckpointFill => "checkpoint-fill",
        }
    }

    /// A sentence for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Condition::Unknown => "state unknown: neither purged nor filled in this run",
            Condition::Purged => "purged, nothing written: reads touch no flash",
            Condition::Written => "written once, sequentially; not preconditioned",
            Condition::AfterFill => {
                "after sequential fills: random writes go to the free pool that fills leave, as long as it lasts"
            }
            Condition::PoolExhausted => {
                "after sequential fills, their free pool used up: garbage collection is under way, a steady state is not shown"
            }
            Condition::Flat => "flat over the last rounds; whether garbage collection is under way is not known",
            Condition::GcSteady => "garbage-collection steady state",
            Condition::NotSteady => "written at random, steady state not reached",
            Condition::CheckpointFill => "filled by checkpoints",
        }
    }
}

/// The state of a target between steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriveState {
    /// The condition by name.
    pub condition: Condition,
    /// How many whole sequential fills this run has done since the purge (or its start).
    pub fills: u32,
    /// Transfer size of the last fill.
    pub last_fill_bs: Option<Bytes>,
}

impl DriveState {
    /// Before a run has done anything.
    pub const UNKNOWN: DriveState = DriveState { condition: Condition::Unknown, fills: 0, last_fill_bs: None };
}

/// Erases of the blocks (of a modelled drive: superblocks) since the drive was made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Of the one erased least.
    pub erases_min: u32,
    /// Of all on average.
    pub erases_mean: f64,
    /// Of the one erased most.
    pub erases_max: u32,
}

/// What the drive's own logs say. Volumes and erases are counted since the drive was made (or the
/// profile was purged); wear and the percentage used since it was made: no purge undoes them. `None` is
/// "the drive does not say".
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct HealthLog {
    /// Bytes the host read.
    pub host_read: Option<Bytes>,
    /// Bytes the host wrote.
    pub host_written: Option<Bytes>,
    /// Bytes programmed into the media, host data and garbage collection together.
    pub media_written: Option<Bytes>,
    /// Block (superblock) erases.
    pub erases: Option<u64>,
    /// Erased space ready to be written.
    pub free_pool: Option<Bytes>,
    /// Erase counts.
    #[serde(default)]
    pub wear: Option<Wear>,
    /// Share of the rated life that is used up, in percent; more than 100 past the rating.
    #[serde(default)]
    pub percentage_used: Option<f64>,
}

impl HealthLog {
    /// What was added between `earlier` and this log; free pool, wear and the percentage used are taken as
    /// they are now.
    pub fn since(&self, earlier: &HealthLog) -> HealthLog {
        let bytes = |now: Option<Bytes>, then: Option<Bytes>| Some(Bytes(now?.0.checked_sub(then?.0)?));
        HealthLog {
            host_read: bytes(self.host_read, earlier.host_read),
            host_written: bytes(self.host_written, earlier.host_written),
            media_written: bytes(self.media_written, earlier.media_written),
            erases: self.erases.zip(earlier.erases).and_then(|(now, then)| now.checked_sub(then)),
            free_pool: self.free_pool,
            wear: self.wear,
            percentage_used: self.percentage_used,
        }
    }
}
