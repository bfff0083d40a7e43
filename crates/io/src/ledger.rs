//! The ledger of verified writes: which block was acknowledged, in which generation.
//!
//! Two bits a block, in a memory-mapped file on another file system than the target, or in memory where
//! no file was asked for. What was set before the process was killed is in the file, since the kernel
//! holds its pages; a power loss may lose it. A job goes over its blocks in passes; each pass is a
//! generation. The bits of a block say that no write of it was ever acknowledged, that of the current generation
//! was, or which floor it has: the newest generation that was acknowledged before. A range of blocks has two
//! floors, since a pass that was cut short leaves two: where it had come to, and where it had not. Where there
//! are more, after several such passes, the others are taken for the next lower one of the two.
//!
//! A change of many words is made so that after a kill between any two of them the ledger expects at most less.

use crate::seal::Expected;
use flashlab_target::TargetError;
use rustix::fs::{FallocateFlags, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// First word of a ledger, and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"FLEDGER2");
/// Of the first version, which had one floor a range.
const MAGIC_1: u64 = u64::from_le_bytes(*b"FLEDGER1");
const OF_VERSION_1: &str =
    "it has the form of an earlier version of flashlab: write the blocks again with a new ledger";
/// Two a thread: its slice, and a block that equal slices leave out.
pub(crate) const RANGES_MAX: usize = 2 * 1024;
/// With those between them, which nobody writes.
const TABLE_RANGES: usize = 2 * RANGES_MAX + 1;
const PAGE_WORDS: usize = 512;
/// Words before the tables of ranges: magic, geometry (5), seed, and which table is in force with its length.
const HEAD_WORDS: usize = 8;
const SEED: usize = 6;
const TABLE: usize = 7;
const RANGE_WORDS: usize = 5;
const TABLE_WORDS: usize = TABLE_RANGES * RANGE_WORDS;
/// Where the marks of blocks begin: a whole page after head and two tables.
const MARKS: usize = (HEAD_WORDS + 2 * TABLE_WORDS).next_multiple_of(PAGE_WORDS);
const BLOCKS_A_WORD: u64 = 32;
/// The lower bit of each block of a word.
const LOWS: u64 = 0x5555_5555_5555_5555;

/// What a ledger is about. Two jobs with the same geometry may share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// A hash of the target's identity.
    pub target: u64,
    /// Bytes of a block, the unit of writes.
    pub block: u64,
    /// Bytes of a logical block, the unit of seals.
    pub sector: u64,
    /// First byte of the region.
    pub offset: u64,
    /// Blocks of the region.
    pub blocks: u64,
}

impl Geometry {
    fn words(self) -> [u64; 5] {
        [self.target, self.block, self.sector, self.offset, self.blocks]
    }
}

/// Consecutive blocks that one thread writes, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub first: u64,
    pub count: u64,
    /// Of the pass that is under way.
    generation: u64,
    /// Floor of the blocks that are marked as low.
    low: u64,
    /// Floor of those that are marked as high; not below the other.
    high: u64,
}

impl Range {
    /// The part from `first` to `end` of it, if there is one.
    fn part(self, first: u64, end: u64) -> Option<Range> {
        let (first, end) = (first.max(self.first), end.min(self.first + self.count));
        (first < end).then(|| Range { first, count: end - first, ..self })
    }

    /// Words that hold its marks, each with the lower bits of its own blocks.
    fn words(self) -> impl Iterator<Item = (usize, u64)> {
        let (first, end) = (self.first, self.first + self.count);
        (first / BLOCKS_A_WORD..end.div_ceil(BLOCKS_A_WORD)).map(move |word| {
            let from = first.saturating_sub(word * BLOCKS_A_WORD);
            let to = (end - word * BLOCKS_A_WORD).min(BLOCKS_A_WORD);
            let below = |n: u64| if n == BLOCKS_A_WORD { u64::MAX } else { (1 << (2 * n)) - 1 };
            (word as usize, LOWS & below(to) & !below(from))
        })
    }

    /// How a block of this floor is marked.
    fn mark(self, floor: u64) -> u64 {
        if floor >= self.high { HIGH } else { LOW }
    }
}

/// No write was ever acknowledged: 0. Else one of these.
const LOW: u64 = 1;
const HIGH: u64 = 2;
const CURRENT: u64 = 3;

/// The blocks of a word by their mark, as their lower bits.
#[derive(Debug, Clone, Copy)]
struct Marked {
    low: u64,
    high: u64,
    current: u64,
}

impl Marked {
    fn of(word: u64) -> Self {
        let (one, two) = (word & LOWS, word >> 1 & LOWS);
        Marked { low: one & !two, high: two & !one, current: one & two }
    }
}

/// The two of these floors, each with its number of blocks, that say most: the least, which holds for all blocks,
/// and the one that raises the sum over all blocks most.
fn two_floors(floors: &BTreeMap<u64, u64>) -> Option<(u64, u64)> {
    let low = *floors.first_key_value()?.0;
    let gain = |from: u64| u128::from(from - low) * floors.range(from..).map(|(_, n)| u128::from(*n)).sum::<u128>();
    let high = floors.keys().copied().max_by_key(|floor| gain(*floor))?;
    Some((low, high))
}

/// Ranges of `blocks` blocks with those between them that nobody writes: each block is in one.
fn with_gaps(ranges: &[(u64, u64)], blocks: u64) -> Vec<(u64, u64)> {
    let (mut all, mut sorted, mut at) = (ranges.to_vec(), ranges.to_vec(), 0);
    sorted.sort_unstable();
    for (first, count) in sorted.into_iter().chain([(blocks, 0)]) {
        if first > at {
            all.push((at, first - at));
        }
        at = first + count;
    }
    all
}

/// A mapped ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    base: NonNull<AtomicU64>,
    words: usize,
    blocks: u64,
}

// SAFETY: the mapping belongs to this value alone, and is used only through atomics.
unsafe impl Send for Ledger {}
// SAFETY: as above.
unsafe impl Sync for Ledger {}

impl Ledger {
    /// Opens the ledger at `path`, or makes it; in memory without a path. A new one gets `seed`.
    ///
    /// # Errors
    /// [`TargetError`] if it can't be made or mapped, or is about something else.
    pub(crate) fn open(path: Option<&Path>, geometry: Geometry, seed: u64) -> Result<Self, TargetError> {
        let named = path.unwrap_or(Path::new("memory"));
        let failed = |source: io::Error| TargetError::Io {
            action: "opening the verification ledger",
            path: named.display().to_string(),
            source,
            remedy: "name a file on a file system with 2 bits of space for each block".into(),
        };
        let (words, blocks) = (MARKS + mark_words(geometry), geometry.blocks);
        let base = match path {
            Some(path) => map_new_or_old(path, words * 8).map_err(failed)?,
            None => map_memory(words * 8).map_err(failed)?,
        };
        let ledger = Ledger { base, words, blocks };
        if ledger.is_blank() {
            ledger.word(SEED).store(seed, Ordering::Relaxed);
            geometry.words().iter().zip(1..).for_each(|(w, i)| ledger.word(i).store(*w, Ordering::Relaxed));
            ledger.word(0).store(MAGIC, Ordering::Release);
        } else {
            ledger.is_about(geometry).map_err(|what| failed(io::Error::new(io::ErrorKind::InvalidData, what)))?;
        }
        Ok(ledger)
    }

    /// Opens the ledger that an earlier run left at `path`, to check by it. Nothing is made.
    ///
    /// # Errors
    /// What is wrong with it, in words that go after its name: whoever checks by a ledger that knows of no
    /// write would find everything right.
    pub(crate) fn of_earlier(path: &Path, geometry: Geometry) -> Result<Self, String> {
        let (words, blocks) = (MARKS + mark_words(geometry), geometry.blocks);
        let found = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            _ => format!("can't be opened: {error}"),
        };
        let file = File::options().read(true).write(true).open(path).map_err(found)?;
        match file.metadata().map_err(found)?.len() {
            0 => return Err("is empty".into()),
            _ if is_of_version_1(&file) => return Err(format!("can't be used: {OF_VERSION_1}")),
            size if size != words as u64 * 8 => {
                let needed = words * 8;
                return Err(format!(
                    "has {size} bytes, not {needed}: it is cut short, or about another target, region or block size"
                ));
            }
            _ => {}
        }
        let ledger = Ledger { base: map(&file, words * 8).map_err(found)?, words, blocks };
        ledger.is_about(geometry).map_err(|what| format!("can't be used: {what}"))?;
        let knows = (MARKS..words).any(|i| ledger.word(i).load(Ordering::Relaxed) != 0);
        if ledger.ranges().is_empty() || !knows {
            return Err("knows of no write that was acknowledged".into());
        }
        Ok(ledger)
    }

    /// Whether nothing was ever stored in it.
    fn is_blank(&self) -> bool {
        (0..HEAD_WORDS).all(|i| self.word(i).load(Ordering::Relaxed) == 0)
    }

    /// Whether it is a ledger, and about this; else what it is.
    fn is_about(&self, geometry: Geometry) -> Result<(), &'static str> {
        let stored: Vec<u64> = (0..6).map(|i| self.word(i).load(Ordering::Relaxed)).collect();
        match () {
            () if stored[0] != MAGIC => Err("it is no ledger"),
            () if stored[1..] != geometry.words() => Err("it is about another target, region or block size"),
            () => Ok(()),
        }
    }

    /// The seed in all of its headers.
    pub(crate) fn seed(&self) -> u64 {
        self.word(SEED).load(Ordering::Relaxed)
    }

    /// Begins a job that writes these ranges (first block and count, apart from each other): what was
    /// acknowledged before becomes earlier, and each range starts a new generation. Nothing may be in flight.
    pub(crate) fn begin(&self, ranges: &[(u64, u64)]) {
        assert!(ranges.len() <= RANGES_MAX, "{} ranges", ranges.len());
        let old = self.ranges();
        let generation = old.iter().map(|r| r.generation).max().unwrap_or(0) + 1;
        let plan = |(first, count): (u64, u64)| {
            let parts: Vec<Range> = old.iter().filter_map(|r| r.part(first, first + count)).collect();
            let (low, high) = two_floors(&self.floors(&parts)).unwrap_or((generation, generation));
            (Range { first, count, generation, low, high }, parts)
        };
        let new: Vec<(Range, Vec<Range>)> = with_gaps(ranges, self.blocks).into_iter().map(plan).collect();
        // While the marks change their meaning, the old ranges expect no more than what both say.
        if let Some(least) = old.iter().map(|r| r.low).min() {
            let weak = |r: &Range| Range { low: least, high: least, ..*r };
            (0..).zip(&old).for_each(|(i, r)| self.store_range(self.table(), i, weak(r)));
        }
        for (range, parts) in &new {
            parts.iter().for_each(|part| self.mark_anew(*part, *range));
        }
        let next = 1 - self.table();
        new.iter().enumerate().for_each(|(i, (range, _))| self.store_range(next, i, *range));
        self.word(TABLE).store((next as u64) << 32 | new.len() as u64, Ordering::Release);
    }

    /// All ranges: first those that were begun, in their order, then those between them that nobody writes.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let count = (self.word(TABLE).load(Ordering::Acquire) as u32 as usize).min(TABLE_RANGES);
        (0..count).map(|i| self.range(i)).collect()
    }

    /// The generation that range `index` is writing.
    pub(crate) fn generation(&self, index: usize) -> u64 {
        self.range(index).generation
    }

    /// Range `index` is done once more and begins anew. Nothing of it may be in flight.
    pub(crate) fn next_pass(&self, index: usize) {
        let (old, table) = (self.range(index), self.table());
        let generation = old.generation + 1;
        let (low, high) = two_floors(&self.floors(&[old])).unwrap_or((generation, generation));
        // As in `begin`.
        self.store_range(table, index, Range { high: old.low, ..old });
        let new = Range { generation, low, high, ..old };
        self.mark_anew(old, new);
        self.store_range(table, index, new);
    }

    /// The write of `generation` to `block` came back, while that was the one of its range.
    #[inline]
    pub(crate) fn acknowledge(&self, block: u64) {
        let (word, shift) = place(block);
        self.mark_word(word).fetch_or(CURRENT << shift, Ordering::Relaxed);
    }

    /// What `block` should hold.
    pub(crate) fn expected(&self, ranges: &[Range], block: u64) -> Expected {
        let Some(range) = ranges.iter().find(|r| block.wrapping_sub(r.first) < r.count) else {
            return Expected::Anything;
        };
        let (word, shift) = place(block);
        match self.mark_word(word).load(Ordering::Relaxed) >> shift & CURRENT {
            CURRENT => Expected::Exactly(range.generation),
            HIGH => Expected::Between(range.high, range.generation),
            LOW => Expected::Between(range.low, range.generation),
            _ => Expected::Anything,
        }
    }

    /// The newest acknowledged generations of the blocks of these ranges, each with the number of its blocks.
    fn floors(&self, ranges: &[Range]) -> BTreeMap<u64, u64> {
        let mut floors = BTreeMap::new();
        for range in ranges {
            let mut counts = [0; 3];
            for (word, own) in range.words() {
                let Marked { low, high, current } = Marked::of(self.mark_word(word).load(Ordering::Relaxed));
                let found = [low, high, current].map(|blocks| u64::from((blocks & own).count_ones()));
                counts.iter_mut().zip(found).for_each(|(count, n)| *count += n);
            }
            for (floor, count) in [range.low, range.high, range.generation].into_iter().zip(counts) {
                if count > 0 {
                    *floors.entry(floor).or_default() += count;
                }
            }
        }
        floors
    }

    /// Marks the blocks of `old` by the floors of `new`; none of them holds a write of the new generation.
    fn mark_anew(&self, old: Range, new: Range) {
        let [low, high, current] = [old.low, old.high, old.generation].map(|floor| new.mark(floor));
        for (word, own) in old.words() {
            let change = |word: u64| {
                let marked = Marked::of(word);
                let anew = (marked.low * low) | (marked.high * high) | (marked.current * current);
                Some((word & !(own * CURRENT)) | (anew & (own * CURRENT)))
            };
            // Others may be acknowledging blocks of the same word.
            let changed = self.mark_word(word).fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
            debug_assert!(changed.is_ok(), "always a new word");
        }
    }

    /// Which of the two tables of ranges is in force.
    fn table(&self) -> usize {
        (self.word(TABLE).load(Ordering::Acquire) >> 32) as usize & 1
    }

    fn range(&self, index: usize) -> Range {
        let first = range_word(self.table(), index);
        let at = |i: usize| self.word(first + i).load(Ordering::Acquire);
        Range { first: at(0), count: at(1), generation: at(2), low: at(3), high: at(4) }
    }

    fn store_range(&self, table: usize, index: usize, range: Range) {
        let words = [range.first, range.count, range.generation, range.low, range.high];
        for (i, word) in words.into_iter().enumerate() {
            self.word(range_word(table, index) + i).store(word, Ordering::Release);
        }
    }

    fn mark_word(&self, index: usize) -> &AtomicU64 {
        self.word(MARKS + index)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words, "word {index} of {}", self.words);
        // SAFETY: inside the mapping, which is aligned to a page and lives as long as this value.
        unsafe { self.base.add(index).as_ref() }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open`, and nothing borrows it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.words * 8) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Words of all marks.
fn mark_words(geometry: Geometry) -> usize {
    (geometry.blocks.div_ceil(BLOCKS_A_WORD) as usize).next_multiple_of(PAGE_WORDS)
}

/// The word of a block's mark, and how far it is shifted there.
fn place(block: u64) -> (usize, u64) {
    ((block / BLOCKS_A_WORD) as usize, 2 * (block % BLOCKS_A_WORD))
}

fn range_word(table: usize, index: usize) -> usize {
    HEAD_WORDS + table * TABLE_WORDS + index * RANGE_WORDS
}

fn is_of_version_1(file: &File) -> bool {
    let mut word = [0; 8];
    file.read_exact_at(&mut word, 0).is_ok() && u64::from_ne_bytes(word) == MAGIC_1
}

/// Maps a file, made `length` bytes long with space for all of them: a full file system shows here
/// and not as a fault in mid-run.
fn map_new_or_old(path: &Path, length: usize) -> io::Result<NonNull<AtomicU64>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o600))?);
    let size = file.metadata()?.len();
    if is_of_version_1(&file) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, OF_VERSION_1));
    }
    if size != 0 && size != length as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has {size} bytes, not {length}")));
    }
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64)?;
    map(&file, length)
}

fn map(file: &File, length: usize) -> io::Result<NonNull<AtomicU64>> {
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours; the file is
    // used through atomics only.
    let base = unsafe {
        rustix::mm::mmap(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, 0)?
    };
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

fn map_memory(length: usize) -> io::Result<NonNull<AtomicU64>> {
    // SAFETY: as above.
    let base = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
    };
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
