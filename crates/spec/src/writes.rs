//! What a job's writes carry and how they are made to last.
//!
//! Plain data and its validation; engines act on it.

use crate::pattern::Fault;
use serde::{Deserialize, Serialize};

/// Longer patterns than a page repeat nothing that a drive could see.
const PATTERN_MAX: usize = 4096;

/// How often a thread asks the target to make its writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Durability {
    /// fsync after this many writes; 0 for never.
    pub fsync_every: u32,
    /// fdatasync after this many writes; 0 for never.
    pub fdatasync_every: u32,
    /// Each write returns once its data is durable (O_DSYNC, or forced unit access).
    pub dsync: bool,
}

impl Durability {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.fsync_every > 0 && self.fdatasync_every > 0 {
            let reason = format!("fsync every {} and fdatasync every {}", self.fsync_every, self.fdatasync_every);
            return Err((reason, "give one of the two: fsync does all that fdatasync does".into()));
        }
        Ok(())
    }
}

/// How long data is expected to live, as Linux passes it on (`RWH_WRITE_LIFE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteHint {
    /// Says that nothing is known.
    None,
    /// Overwritten soon.
    Short,
    /// Longer than short.
    Medium,
    /// Longer than medium.
    Long,
    /// Hardly ever overwritten.
    Extreme,
}

/// What is written. By default incompressible and unique to each 4 KiB, so that nothing dedupes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// Share of each block that compresses away, in percent.
    pub compress_percent: u8,
    /// Share of the blocks that are copies of others, in percent.
    pub dedupe_percent: u8,
    /// Bytes that are repeated over each block instead; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<u8>,
}

impl Data {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        for (name, share) in [("compress", self.compress_percent), ("dedupe", self.dedupe_percent)] {
            if share > 100 {
                return Err((format!("{name}_percent is {share}"), "use 0 to 100".into()));
            }
        }
        if self.pattern.len() > PATTERN_MAX {
            return Err((
                format!("the pattern has {} bytes", self.pattern.len()),
                format!("use at most {PATTERN_MAX}"),
            ));
        }
        if !self.pattern.is_empty() && (self.compress_percent, self.dedupe_percent) != (0, 0) {
            let reason = "a fixed pattern has no share that compresses or dedupes".into();
            return Err((reason, "give either the pattern or the shares".into()));
        }
        Ok(())
    }
}

/// Whether blocks carry what is needed to tell corrupt, torn, stale and misdirected ones apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// No.
    #[default]
    Off,
    /// Written blocks carry address, generation, seed and checksum; a later run can check them.
    Stamp,
    /// As `Stamp`, and what was written is read back and checked at the end of the job.
    ReadBack,
    /// Blocks that are read were stamped by an earlier run and are checked.
    Check,
}

impl Verify {
    pub(crate) fn check(self, writes: bool, data: &Data) -> Result<(), Fault> {
        match self {
            Verify::Off => Ok(()),
            Verify::Stamp | Verify::ReadBack if !writes => {
                Err(("verify stamps what is written and the job writes nothing".into(), "use verify = check".into()))
            }
            Verify::Check if writes => Err((
                "verify = check reads what an earlier run stamped, and the job writes over it".into(),
                "use verify = read-back, or a job that reads".into(),
            )),
            _ if !data.pattern.is_empty() => {
                Err(("a fixed pattern leaves no place for stamps".into(), "leave the pattern or verify out".into()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_refused() {
        let both = Durability { fsync_every: 1, fdatasync_every: 2, dsync: false };
        assert!(both.check().is_err_and(|fault| fault.0.contains("fsync every 1")));
        assert_eq!(Durability { fsync_every: 1, dsync: true, ..Durability::default() }.check(), Ok(()));
        let shares = |compress_percent, dedupe_percent, pattern: &[u8]| Data {
            compress_percent,
            dedupe_percent,
            pattern: pattern.to_vec(),
        };
        let long = vec![0; PATTERN_MAX + 1];
        for (data, says) in [
            (shares(101, 0, &[]), "compress_percent is 101"),
            (shares(0, 200, &[]), "dedupe_percent is 200"),
            (shares(1, 0, &[7]), "a fixed pattern"),
            (shares(0, 0, &long), "4097 bytes"),
        ] {
            assert!(data.check().is_err_and(|fault| fault.0.contains(says)), "{says}");
        }
        assert_eq!(shares(100, 100, &[]).check(), Ok(()));
        let (any, zeros) = (Data::default(), shares(0, 0, &[0]));
        for (verify, writes, data, works) in [
            (Verify::Off, false, &zeros, true),
            (Verify::Stamp, false, &any, false),
            (Verify::ReadBack, true, &any, true),
            (Verify::ReadBack, true, &zeros, false),
            (Verify::Check, true, &any, false),
            (Verify::Check, false, &any, true),
        ] {
            assert_eq!(verify.check(writes, data).is_ok(), works, "{verify:?}, writes {writes}");
        }
    }
}
