//! Seals: what a verified block carries, and what a block that was read back turns out to be.
//!
//! Each logical block of a write carries a header of its own: its address, the generation of the write,
//! the seed of the ledger, and a CRC32C over all of the logical block but magic and CRC. So a write that
//! reached the target only in part shows which parts did. This says what a block *is*; what it *should*
//! be comes from the ledger.

use std::fmt;

/// Bytes of a header: magic and CRC (4 each), address, generation, seed (8 each), little-endian.
pub(crate) const HEADER_BYTES: usize = 32;
/// Marks a sealed logical block.
const MAGIC: u32 = 0x5ea1_ab1e;
/// The CRC covers everything after itself.
const COVERED_FROM: usize = 8;

/// Which write a logical block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// First byte of the logical block on the target.
    pub address: u64,
    /// Grows with each pass over the block.
    pub generation: u64,
    /// Tells the blocks of one ledger from those of others.
    pub seed: u64,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {}, generation {}, seed {:#x}", self.address, self.generation, self.seed)
    }
}

/// What a block should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The acknowledged write of this generation.
    Exactly(u64),
    /// An acknowledged write of the first generation, or one up to the last that was never acknowledged.
    Between(u64, u64),
    /// Some whole write; nothing else is known.
    Sealed,
    /// No write of it was acknowledged: whatever it holds is right.
    Anything,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Exactly(generation) => write!(f, "generation {generation}"),
            Expected::Between(low, high) => write!(f, "a generation from {low} to {high}"),
            Expected::Sealed => f.write_str("any generation"),
            Expected::Anything => f.write_str("anything"),
        }
    }
}

/// How a block is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Bytes that nobody wrote.
    Corrupt,
    /// Whole logical blocks that belong to another address.
    Misdirected,
    /// Parts of more than one write, or of a write and of nothing.
    Torn,
    /// An older write.
    Stale,
    /// All zero.
    NeverWritten,
}

impl Wrong {
    /// The kind of error in results.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Wrong::Corrupt => "verify-corrupt",
            Wrong::Misdirected => "verify-misdirected",
            Wrong::Torn => "verify-torn",
            Wrong::Stale => "verify-stale",
            Wrong::NeverWritten => "verify-never-written",
        }
    }
}

/// A wrong block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finding {
    pub wrong: Wrong,
    /// First byte of the logical block that shows it.
    pub address: u64,
    /// Its header, where it has one.
    pub found: Option<Header>,
}

/// One logical block by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sector {
    Zero,
    Sealed(Header),
    /// A header whose CRC does not fit, or none.
    Broken(Option<Header>),
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Seals a block of whole `sector`s that will be written to `address`.
pub(crate) fn seal(block: &mut [u8], sector: usize, header: Header) {
    for (part, address) in block.chunks_exact_mut(sector).zip((header.address..).step_by(sector)) {
        part[8..16].copy_from_slice(&address.to_le_bytes());
        part[16..24].copy_from_slice(&header.generation.to_le_bytes());
        part[24..32].copy_from_slice(&header.seed.to_le_bytes());
        part[..4].copy_from_slice(&MAGIC.to_le_bytes());
        let crc = crc32c::crc32c(&part[COVERED_FROM..]);
        part[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

fn look(part: &[u8]) -> Sector {
    let start = word(part, 0);
    let header = Header { address: word(part, 8), generation: word(part, 16), seed: word(part, 24) };
    let has_magic = start as u32 == MAGIC;
    if has_magic && (start >> 32) as u32 == crc32c::crc32c(&part[COVERED_FROM..]) {
        Sector::Sealed(header)
    } else if !has_magic && part.iter().all(|byte| *byte == 0) {
        Sector::Zero
    } else {
        Sector::Broken(has_magic.then_some(header))
    }
}

/// What is wrong with a block of whole `sector`s that was read from `address`; `seed` where it is known.
pub(crate) fn check(
    block: &[u8],
    sector: usize,
    address: u64,
    seed: Option<u64>,
    expected: Expected,
) -> Option<Finding> {
    if expected == Expected::Anything {
        return None;
    }
    let (mut zeros, mut foreign) = (None, None);
    let mut own: Option<(u64, u64)> = None;
    // The first logical block of the oldest write shows what is wrong.
    let mut oldest: Option<(u64, Finding)> = None;
    for (part, address) in block.chunks_exact(sector).zip((address..).step_by(sector)) {
        match look(part) {
            Sector::Broken(found) => return Some(Finding { wrong: Wrong::Corrupt, address, found }),
            Sector::Zero => zeros = zeros.or(Some(address)),
            Sector::Sealed(found) if found.address != address => foreign = foreign.or(Some((address, found))),
            Sector::Sealed(found) => {
                // A block of another ledger is older than all of this one.
                let age = if seed.is_none_or(|seed| seed == found.seed) { found.generation } else { 0 };
                own = Some(own.map_or((age, age), |(low, high)| (low.min(age), high.max(age))));
                if oldest.is_none_or(|(known, _)| age < known) {
                    oldest = Some((age, Finding { wrong: Wrong::Torn, address, found: Some(found) }));
                }
            }
        }
    }
    if let Some((address, found)) = foreign {
        return Some(Finding { wrong: Wrong::Misdirected, address, found: Some(found) });
    }
    let oldest = oldest.map(|(_, finding)| finding);
    let torn = |address| oldest.map(|finding| Finding { address, ..finding });
    match (own, zeros) {
        (None, _) => Some(Finding { wrong: Wrong::NeverWritten, address, found: None }),
        (Some(_), Some(zero)) => torn(zero),
        (Some((low, high)), None) => {
            let wrong = judge(low, high, expected)?;
            oldest.map(|finding| Finding { wrong, ..finding })
        }
    }
}

/// What is wrong with a block of whole logical blocks of its own, from generation `low` to `high`.
fn judge(low: u64, high: u64, expected: Expected) -> Option<Wrong> {
    let (least, most) = match expected {
        Expected::Exactly(generation) => (generation, generation),
        Expected::Between(least, most) => (least, most),
        Expected::Sealed | Expected::Anything => return (low != high).then_some(Wrong::Torn),
    };
    if low >= least && high <= most {
        // A write that was never acknowledged may have reached the target in part.
        None
    } else if low != high {
        Some(Wrong::Torn)
    } else if high < least {
        Some(Wrong::Stale)
    } else {
        // A generation that was not handed out yet.
        Some(Wrong::Corrupt)
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
