//! What a job asks of an engine beyond reads and writes of one size in a closed loop, so that an engine
//! refuses what it can't do instead of leaving it out in silence.

use crate::writes::{Data, Durability, Verify};
use crate::{Job, Offsets, Rw, SpecError};

/// Something that an engine may not be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Trims.
    Trim,
    /// Sequential reads and writes mixed.
    SequentialMix,
    /// Random offsets other than uniform with repeats.
    Distribution,
    /// Alignment apart from the size, strides, and a sharing of the region other than the usual one.
    Layout,
    /// Transfer sizes other than one.
    Sizes,
    /// Offsets of which a share is random.
    PartlyRandom,
    /// An end after a number of passes.
    Passes,
    /// Arrivals that don't wait for earlier requests.
    OpenLoop,
    /// Pauses between requests.
    ThinkTime,
    /// A list of requests.
    Replay,
    /// FDP placement identifiers.
    Placement,
    /// Write hints.
    WriteHint,
    /// fsync, fdatasync, O_DSYNC.
    Durability,
    /// Data other than incompressible and unique.
    Data,
    /// Verification.
    Verify,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 15] = [
        Feature::Trim,
        Feature::SequentialMix,
        Feature::Distribution,
        Feature::Layout,
        Feature::Sizes,
        Feature::PartlyRandom,
        Feature::Passes,
        Feature::OpenLoop,
        Feature::ThinkTime,
        Feature::Replay,
        Feature::Placement,
        Feature::WriteHint,
        Feature::Durability,
        Feature::Data,
        Feature::Verify,
    ];

    /// For a message: `trim`, `an open loop`.
    pub const fn word(self) -> &'static str {
        match self {
            Feature::Trim => "trim",
            Feature::SequentialMix => "a sequential mix of reads and writes",
            Feature::Distribution => "a distribution of offsets",
            Feature::Layout => "an alignment, stride or sharing of its own",
            Feature::Sizes => "mixed transfer sizes",
            Feature::PartlyRandom => "a share of random offsets",
            Feature::Passes => "an end after passes",
            Feature::OpenLoop => "an open loop",
            Feature::ThinkTime => "thinktime",
            Feature::Replay => "a replayed list",
            Feature::Placement => "FDP placement",
            Feature::WriteHint => "a write hint",
            Feature::Durability => "fsync, fdatasync or dsync",
            Feature::Data => "data other than unique and incompressible",
            Feature::Verify => "verification",
        }
    }
}

impl Job {
    /// Whether the job asks for `feature`.
    pub fn asks_for(&self, feature: Feature) -> bool {
        let p = &self.pattern;
        match feature {
            Feature::Trim => self.trims(),
            Feature::SequentialMix => self.rw == Rw::ReadWrite,
            Feature::Distribution => self.rw.is_random() && p.offsets != Offsets::Repeats,
            Feature::Layout => p.align.is_some() || p.stride.is_some() || p.sharing.is_some(),
            Feature::Sizes => p.sizes.is_some(),
            Feature::PartlyRandom => p.random.is_some(),
            Feature::Passes => self.passes.is_some(),
            Feature::OpenLoop => !self.arrival.is_closed(),
            Feature::ThinkTime => self.think.is_some(),
            Feature::Replay => self.replay.is_some(),
            Feature::Placement => !self.placement.is_empty(),
            Feature::WriteHint => self.write_hint.is_some(),
            Feature::Durability => self.durability != Durability::default(),
            Feature::Data => self.data != Data::default(),
            Feature::Verify => self.verify != Verify::Off,
        }
    }

    /// Refuses a job that asks for anything but `supported`.
    ///
    /// # Errors
    /// [`SpecError::Job`] that names the first thing `engine` can't do.
    pub fn check_supported(&self, engine: &str, supported: &[Feature]) -> Result<(), SpecError> {
        match Feature::ALL.into_iter().find(|f| self.asks_for(*f) && !supported.contains(f)) {
            Some(f) => Err(self.refuse((
                format!("{} is not supported by {engine} yet", f.word()),
                "leave it out, or run the job on another engine".into(),
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Arrival, Beyond, Direction, Pattern, RandomShares, Rate, Region, Replay, ReplayEnd, ReplayRequest, SizeRule,
        Sizes, ThinkTime, WriteHint,
    };
    use flashlab_units::{Bytes, Nanos};

    /// Each feature is found in a job that asks for it, alone, and refused by name.
    #[test]
    fn each_feature_is_asked_for_alone() {
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        let plain = || Job::new("w", Rw::RandRw, Bytes::kib(4), region);
        let pattern = |pattern| Job { pattern, ..plain() };
        let read = ReplayRequest { at: Nanos(0), direction: Direction::Read, offset: Bytes(0), length: 512 };
        let list = Replay::new("list", vec![read], ReplayEnd::Once, Beyond::Fold);
        let jobs = [
            Job { rwmixtrim: 1, ..plain() },
            Job { rw: Rw::ReadWrite, ..plain() },
            pattern(Pattern { offsets: Offsets::Once, ..Pattern::default() }),
            pattern(Pattern { align: Some(Bytes(512)), ..Pattern::default() }),
            pattern(Pattern { sizes: Some(Sizes::all(SizeRule::Fixed(Bytes(512)))), ..Pattern::default() }),
            pattern(Pattern { random: Some(RandomShares::all(50)), ..Pattern::default() }),
            Job { passes: Some(1), ..plain() },
            Job { arrival: Arrival::Fixed(Rate::iops(1)), ..plain() },
            Job { think: Some(ThinkTime { time: Nanos(1), blocks: 1 }), ..plain() },
            Job { replay: Some(list), ..plain() },
            Job { placement: vec![0], ..plain() },
            Job { write_hint: Some(WriteHint::Long), ..plain() },
            Job { durability: Durability { dsync: true, ..Durability::default() }, ..plain() },
            Job { data: Data { dedupe_percent: 1, ..Data::default() }, ..plain() },
            Job { verify: Verify::Stamp, ..plain() },
        ];
        assert_eq!(plain().check_supported("e", &[]), Ok(()));
        for (job, feature) in jobs.iter().zip(Feature::ALL) {
            let asked: Vec<Feature> = Feature::ALL.into_iter().filter(|f| job.asks_for(*f)).collect();
            assert_eq!(asked, [feature]);
            assert_eq!(job.check_supported("e", &[feature]), Ok(()));
            let error = job.check_supported("the engine", &[]).expect_err("refused").to_string();
            assert!(error.contains(&format!("{} is not supported by the engine", feature.word())), "{error}");
        }
    }
}
