//! The ledger of verified writes: which block was acknowledged, in which generation.
//!
//! Two bits a block, in a memory-mapped file on another file system than the target, or in memory where
//! no file was asked for. What was set before the process was killed is in the file, since the kernel
//! holds its pages; a power loss may lose it. A job goes over its blocks in passes; each pass is a
//! generation. The bits of even and odd generations lie in two planes: a block with its bit in the plane
//! of the current generation holds that one; a block whose bit is only in the other plane holds an
//! earlier one, or one that was written but never acknowledged.

use crate::seal::Expected;
use flashlab_target::TargetError;
use rustix::fs::{FallocateFlags, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// First word of a ledger, and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"FLEDGER1");
/// Two a thread: its slice, and a block that equal slices leave out.
pub(crate) const RANGES_MAX: usize = 2 * 1024;
const PAGE_WORDS: usize = 512;
/// Words before the ranges: magic, geometry (5), seed, number of ranges.
const HEAD_WORDS: usize = 8;
const SEED: usize = 6;
const RANGES: usize = 7;
const RANGE_WORDS: usize = 4;
/// Where the planes begin: a whole page after head and ranges.
const PLANES: usize = (HEAD_WORDS + RANGES_MAX * RANGE_WORDS).next_multiple_of(PAGE_WORDS);

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

/// Consecutive blocks that one thread writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub first: u64,
    pub count: u64,
    /// Of the pass that is under way.
    generation: u64,
    /// Least generation of a block whose bit is only in the other plane.
    low: u64,
}

/// A mapped ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    base: NonNull<AtomicU64>,
    words: usize,
    plane_words: usize,
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
        let plane_words = plane_words(geometry);
        let words = PLANES + 2 * plane_words;
        let base = match path {
            Some(path) => map_new_or_old(path, words * 8).map_err(failed)?,
            None => map_memory(words * 8).map_err(failed)?,
        };
        let ledger = Ledger { base, words, plane_words };
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
        let plane_words = plane_words(geometry);
        let words = PLANES + 2 * plane_words;
        let found = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            _ => format!("can't be opened: {error}"),
        };
        let file = File::options().read(true).write(true).open(path).map_err(found)?;
        match file.metadata().map_err(found)?.len() {
            0 => return Err("is empty".into()),
            size if size != words as u64 * 8 => {
                let needed = words * 8;
                return Err(format!(
                    "has {size} bytes, not {needed}: it is cut short, or about another target, region or block size"
                ));
            }
            _ => {}
        }
        let ledger = Ledger { base: map(&file, words * 8).map_err(found)?, words, plane_words };
        ledger.is_about(geometry).map_err(|what| format!("can't be used: {what}"))?;
        let knows = (PLANES..words).any(|i| ledger.word(i).load(Ordering::Relaxed) != 0);
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
    /// acknowledged before becomes earlier, and each range starts a new generation.
    pub(crate) fn begin(&self, ranges: &[(u64, u64)]) {
        assert!(ranges.len() <= RANGES_MAX, "{} ranges", ranges.len());
        let old = self.ranges();
        let generation = old.iter().map(|r| r.generation).max().unwrap_or(0) + 1;
        let low = old.iter().map(|r| r.low).min().unwrap_or(generation);
        for i in 0..self.plane_words {
            let (current, other) = (self.plane_word(generation, i), self.plane_word(generation + 1, i));
            // Set before it is cleared, so that a kill between the two loses nothing.
            other.fetch_or(current.load(Ordering::Relaxed), Ordering::Relaxed);
            current.store(0, Ordering::Relaxed);
        }
        for (i, (first, count)) in ranges.iter().enumerate() {
            self.store_range(i, Range { first: *first, count: *count, generation, low });
        }
        self.word(RANGES).store(ranges.len() as u64, Ordering::Release);
    }

    /// All ranges, as they were begun.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let count = (self.word(RANGES).load(Ordering::Acquire) as usize).min(RANGES_MAX);
        (0..count).map(|i| self.range(i)).collect()
    }

    /// The generation that range `index` is writing.
    pub(crate) fn generation(&self, index: usize) -> u64 {
        self.range(index).generation
    }

    /// Range `index` is done once more and begins anew. Nothing of it may be in flight.
    pub(crate) fn next_pass(&self, index: usize) {
        let range = self.range(index);
        let next = range.generation + 1;
        let (first, end) = (range.first, range.first + range.count);
        for i in first / 64..end.div_ceil(64) {
            let low_bits = if i == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high_bits = if i == end / 64 { !(u64::MAX << (end % 64)) } else { u64::MAX };
            self.plane_word(next, i as usize).fetch_and(!(low_bits & high_bits), Ordering::Relaxed);
        }
        self.store_range(index, Range { generation: next, low: range.generation, ..range });
    }

    /// The write of `generation` to `block` came back.
    #[inline]
    pub(crate) fn acknowledge(&self, block: u64, generation: u64) {
        self.plane_word(generation, (block / 64) as usize).fetch_or(1 << (block % 64), Ordering::Relaxed);
    }

    /// What `block` should hold.
    pub(crate) fn expected(&self, ranges: &[Range], block: u64) -> Expected {
        let Some(range) = ranges.iter().find(|r| block.wrapping_sub(r.first) < r.count) else {
            // Written by an earlier job only.
            let (low, high) = ranges.iter().fold((u64::MAX, 0), |(l, h), r| (l.min(r.low), h.max(r.generation)));
            let any = high > 0 && (self.bit(0, block) || self.bit(1, block));
            return if any { Expected::Between(low, high) } else { Expected::Anything };
        };
        if self.bit(range.generation, block) {
            Expected::Exactly(range.generation)
        } else if self.bit(range.generation + 1, block) {
            Expected::Between(range.low, range.generation)
        } else {
            Expected::Anything
        }
    }

    fn bit(&self, generation: u64, block: u64) -> bool {
        let word = self.plane_word(generation, (block / 64) as usize).load(Ordering::Relaxed);
        word >> (block % 64) & 1 == 1
    }

    fn range(&self, index: usize) -> Range {
        let at = |i: usize| self.word(HEAD_WORDS + index * RANGE_WORDS + i).load(Ordering::Acquire);
        Range { first: at(0), count: at(1), generation: at(2), low: at(3) }
    }

    fn store_range(&self, index: usize, range: Range) {
        let words = [range.first, range.count, range.generation, range.low];
        for (i, word) in words.into_iter().enumerate() {
            self.word(HEAD_WORDS + index * RANGE_WORDS + i).store(word, Ordering::Release);
        }
    }

    fn plane_word(&self, generation: u64, index: usize) -> &AtomicU64 {
        debug_assert!(index < self.plane_words, "word {index} of a plane of {}", self.plane_words);
        self.word(PLANES + (generation & 1) as usize * self.plane_words + index)
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

/// Words of a plane.
fn plane_words(geometry: Geometry) -> usize {
    (geometry.blocks.div_ceil(64) as usize).next_multiple_of(PAGE_WORDS)
}

/// Maps a file, made `length` bytes long with space for all of them: a full file system shows here
/// and not as a fault in mid-run.
fn map_new_or_old(path: &Path, length: usize) -> io::Result<NonNull<AtomicU64>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o600))?);
    let size = file.metadata()?.len();
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
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { target: 7, block: 4096, sector: 512, offset: 0, blocks: 200 };

    fn expected(ledger: &Ledger, block: u64) -> Expected {
        ledger.expected(&ledger.ranges(), block)
    }

    #[test]
    fn blocks_are_expected_in_the_generation_that_was_acknowledged() {
        let ledger = Ledger::open(None, GEOMETRY, 5).expect("memory");
        ledger.begin(&[(0, 70), (70, 130)]);
        assert_eq!(expected(&ledger, 3), Expected::Anything);
        (0..200).for_each(|b| ledger.acknowledge(b, 1));
        assert_eq!(expected(&ledger, 69), Expected::Exactly(1));
        // The second range goes on; the first one, in the same word, stays.
        ledger.next_pass(1);
        ledger.acknowledge(71, 2);
        let seen = [69, 70, 71, 199].map(|b| expected(&ledger, b));
        let old = Expected::Between(1, 2);
        assert_eq!(seen, [Expected::Exactly(1), old, Expected::Exactly(2), old]);
        // Over all of the range, then once more.
        (70..200).for_each(|b| ledger.acknowledge(b, 2));
        ledger.next_pass(1);
        assert_eq!(expected(&ledger, 100), Expected::Between(2, 3));
        assert_eq!(expected(&ledger, 69), Expected::Exactly(1));
    }

    #[test]
    fn a_ledger_on_a_file_outlives_its_process_and_knows_its_target() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("ledger");
        let ledger = Ledger::open(Some(&path), GEOMETRY, 5).expect("made");
        ledger.begin(&[(0, 100)]);
        ledger.acknowledge(9, 1);
        std::mem::forget(ledger);
        let again = Ledger::open(Some(&path), GEOMETRY, 6).expect("opened");
        assert_eq!(
            (again.seed(), expected(&again, 9), expected(&again, 8)),
            (5, Expected::Exactly(1), Expected::Anything)
        );
        // The next job has other ranges.
        again.begin(&[(100, 100)]);
        assert_eq!((again.generation(0), expected(&again, 9)), (2, Expected::Between(1, 2)));
        let other = Ledger::open(Some(&path), Geometry { target: 8, ..GEOMETRY }, 5);
        assert!(other.is_err_and(|e| e.to_string().contains("another target")));
        std::fs::write(&path, vec![1; std::fs::metadata(&path).expect("file").len() as usize]).expect("overwritten");
        assert!(Ledger::open(Some(&path), GEOMETRY, 5).is_err_and(|e| e.to_string().contains("no ledger")));
        std::fs::write(&path, "short").expect("overwritten");
        assert!(Ledger::open(Some(&path), GEOMETRY, 5).is_err_and(|e| e.to_string().contains("5 bytes")));
    }

    #[test]
    fn a_check_needs_a_ledger_that_knows_of_a_write() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("ledger");
        let says = || Ledger::of_earlier(&path, GEOMETRY).map(drop).expect_err("nothing to check by");
        assert_eq!(says(), "does not exist");
        assert!(!path.exists(), "a check makes nothing");
        std::fs::write(&path, "").expect("made");
        assert_eq!(says(), "is empty");
        let ledger = Ledger::open(Some(&path), GEOMETRY, 5).expect("made");
        assert_eq!(says(), "knows of no write that was acknowledged");
        ledger.begin(&[(0, 200)]);
        assert_eq!(says(), "knows of no write that was acknowledged");
        ledger.acknowledge(199, 1);
        let again = Ledger::of_earlier(&path, GEOMETRY).expect("it knows of one");
        assert_eq!((again.seed(), expected(&again, 199)), (5, Expected::Exactly(1)));
        let other = Ledger::of_earlier(&path, Geometry { block: 8192, blocks: 100, ..GEOMETRY });
        assert_eq!(other.map(drop), Err("can't be used: it is about another target, region or block size".into()));
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..whole.len() - 8]).expect("cut short");
        assert!(says().contains("it is cut short"), "{}", says());
        std::fs::write(&path, vec![0; whole.len()]).expect("zeroed");
        assert_eq!(says(), "can't be used: it is no ledger");
    }
}
