//! Transfer sizes other than one.
//!
//! Plain data and its validation; `flashlab-workload` draws from it.

use crate::Direction;
use crate::pattern::{Fault, SHARES_MAX, check_shares, next_multiple};
use flashlab_units::Bytes;
use serde::{Deserialize, Serialize};

/// Transfer sizes of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeRule {
    /// Always the same.
    Fixed(Bytes),
    /// Each of `min`, `min + step`, … up to `max` with the same chance.
    Range {
        /// Smallest.
        min: Bytes,
        /// Largest.
        max: Bytes,
        /// Difference between neighbours.
        step: Bytes,
    },
    /// A list of sizes, each with its share of the requests.
    Split(Vec<SizeShare>),
}

/// One size of a split.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Transfer size.
    pub bs: Bytes,
    /// Share of the requests (not of the bytes) in percent.
    pub percent: f64,
}

/// Transfer sizes by direction, where they are not all [`crate::Job::bs`], which is then the largest of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Of reads.
    pub read: SizeRule,
    /// Of writes.
    pub write: SizeRule,
    /// Of trims.
    pub trim: SizeRule,
}

impl Sizes {
    pub(crate) fn check(&self, bs: Bytes, logical_block: Bytes) -> Result<(), Fault> {
        let mut largest = Bytes::ZERO;
        for direction in Direction::ALL {
            largest = largest.max(self.of(direction).check(direction, logical_block)?);
        }
        if largest != bs {
            let (bs, largest) = (bs.exact(), largest.exact());
            let reason = format!("bs is {bs} and the largest of the sizes {largest}");
            return Err((reason, format!("set bs to {largest}, for which buffers are made")));
        }
        Ok(())
    }

    /// The same rule for all directions.
    pub fn all(rule: SizeRule) -> Self {
        Sizes { read: rule.clone(), write: rule.clone(), trim: rule }
    }

    /// The largest size of any direction, for which buffers are made.
    pub fn largest(&self) -> Bytes {
        self.read.largest().max(self.write.largest()).max(self.trim.largest())
    }

    /// The smallest size of any direction.
    pub fn smallest(&self) -> Bytes {
        self.read.smallest().min(self.write.smallest()).min(self.trim.smallest())
    }

    /// The rule of one direction.
    pub const fn of(&self, direction: Direction) -> &SizeRule {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl SizeRule {
    /// The smallest size; 0 for a split of none, which no job has.
    pub fn smallest(&self) -> Bytes {
        match self {
            SizeRule::Fixed(bs) => *bs,
            SizeRule::Range { min, .. } => *min,
            SizeRule::Split(shares) => shares.iter().map(|share| share.bs).min().unwrap_or_default(),
        }
    }

    /// The largest size; 0 for a split of none.
    pub fn largest(&self) -> Bytes {
        match self {
            SizeRule::Fixed(bs) => *bs,
            SizeRule::Range { max, .. } => *max,
            SizeRule::Split(shares) => shares.iter().map(|share| share.bs).max().unwrap_or_default(),
        }
    }

    /// The largest size; an error says of which direction it is.
    fn check(&self, direction: Direction, logical_block: Bytes) -> Result<Bytes, Fault> {
        let word = direction.word();
        let size = |value: Bytes| {
            if value.0 == 0 || !value.0.is_multiple_of(logical_block.0) {
                let reason = format!("the {word} size {} is no multiple of {logical_block}", value.exact());
                return Err((reason, format!("use {}", next_multiple(value, logical_block))));
            }
            Ok(value)
        };
        match self {
            SizeRule::Fixed(bs) => size(*bs),
            SizeRule::Range { min, max, step } => {
                [*min, *max, *step].into_iter().try_for_each(|v| size(v).map(drop))?;
                if min > max {
                    let reason = format!("the {word} sizes go from {} down to {}", min.exact(), max.exact());
                    return Err((reason, "give the smaller one first".into()));
                }
                if !(max.0 - min.0).is_multiple_of(step.0) {
                    let last = Bytes(max.0 - (max.0 - min.0) % step.0);
                    let reason = format!("steps of {} from {} miss {}", step.exact(), min.exact(), max.exact());
                    return Err((reason, format!("let the {word} sizes end at {}", last.exact())));
                }
                Ok(*max)
            }
            SizeRule::Split(shares) => {
                if shares.is_empty() || shares.len() > SHARES_MAX {
                    return Err((format!("{} {word} sizes", shares.len()), format!("give 1 to {SHARES_MAX}")));
                }
                check_shares(&format!("the split of {word} sizes"), shares.iter().map(|s| s.percent))?;
                let sizes = shares.iter().map(|s| size(s.bs)).collect::<Result<Vec<_>, _>>()?;
                Ok(sizes.into_iter().max().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Pattern, Region, Rw};

    fn refusal(rule: SizeRule) -> String {
        let pattern = Pattern { sizes: Some(Sizes::all(rule)), ..Pattern::default() };
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        let job = Job { pattern, passes: Some(1), ..Job::new("w", Rw::RandRead, Bytes::kib(4), region) };
        job.validate(Bytes(512), Bytes::mib(1)).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let range = |min, max, step| SizeRule::Range { min: Bytes(min), max: Bytes(max), step: Bytes(step) };
        let split = |list: &[(u64, f64)]| {
            SizeRule::Split(list.iter().map(|(bs, percent)| SizeShare { bs: Bytes(*bs), percent: *percent }).collect())
        };
        for (rule, says) in [
            (SizeRule::Fixed(Bytes(0)), "the read size 0B is no multiple"),
            (SizeRule::Fixed(Bytes(1000)), "use 1KiB"),
            (SizeRule::Fixed(Bytes::kib(8)), "set bs to 8KiB"),
            (range(8192, 4096, 512), "from 8KiB down to 4KiB"),
            (range(512, 4096, 1024), "end at 3584B"),
            (range(512, 4096, 0), "the read size 0B"),
            (split(&[]), "0 read sizes"),
            (split(&[(4096, 60.0), (512, 60.0)]), "the split of read sizes adds up to 120 %"),
            (split(&[(4096, 99.5), (100, 0.5)]), "100B is no multiple"),
        ] {
            let text = refusal(rule);
            assert!(text.contains(says), "{says}: {text}");
        }
        assert_eq!(refusal(range(1024, 4096, 1024)) + &refusal(split(&[(4096, 99.5), (512, 0.5)])), "");
    }
}
