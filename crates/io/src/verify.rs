//! Verification in a running thread: sealing what is written, acknowledging what came back, checking
//! what is read, and reading all of it back at the end.

use crate::explain::errno_name;
use crate::ledger::{Geometry, Ledger, RANGES_MAX, Range};
use crate::region::Region;
use crate::seal::{Expected, Finding, HEADER_BYTES, Header, check, seal};
use crate::source::left_over_block;
use crate::tally::Tally;
use flashlab_spec::{Job, Offsets, Sharing, SpecError, Verify};
use flashlab_units::Bytes;
use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Findings a thread describes; it counts them all.
const DESCRIBED_MAX: usize = 16;
/// Read back in pieces of about this, one at a time.
const PIECE: u64 = 1 << 20;

/// Refuses what verification can't follow: it must know the one write that each block should hold.
///
/// # Errors
/// [`SpecError::Job`] with what to change.
pub(crate) fn check_verifiable(job: &Job, logical_block: Bytes) -> Result<(), SpecError> {
    if job.verify == Verify::Off {
        return Ok(());
    }
    let pattern = &job.pattern;
    let threads_meet = job.rw.writes() && job.numjobs > 1 && job.sharing() == Sharing::Shared;
    let remedy = match () {
        () if pattern.sizes.is_some() || job.replay.is_some() => "use one transfer size, bs",
        () if pattern.align.is_some() || pattern.stride.is_some() => "leave align and stride out",
        () if !job.extents.is_empty() => "use a job without extents",
        () if job.trims() => "leave the trims out",
        () if job.rw.writes() && job.rw.is_random() && pattern.offsets != Offsets::Once => {
            "use sequential writes, or random ones without repeats (distribution once)"
        }
        () if threads_meet => "use numjobs 1, or give each thread its slice",
        () if job.data.dedupe_percent > 0 => "leave dedupe out: sealed blocks are all different",
        () if !job.region.length.0.is_multiple_of(job.bs.0) => "use a region of whole blocks of bs",
        () if job.amount.is_some_and(|a| !a.0.is_multiple_of(job.bs.0)) => "use an amount of whole blocks of bs",
        () if logical_block.0 < 2 * HEADER_BYTES as u64 => "use a target with logical blocks of 512 bytes or more",
        () => return Ok(()),
    };
    Err(SpecError::Job {
        workload: job.workload.clone(),
        reason: "verification needs to know the one write that each block should hold".into(),
        remedy: remedy.into(),
    })
}

/// The ledger's view of a job that passed [`check_verifiable`].
pub(crate) fn geometry(job: &Job, logical_block: Bytes, target: u64) -> Geometry {
    Geometry {
        target,
        block: job.bs.0,
        sector: logical_block.0,
        offset: job.region.offset.0,
        blocks: job.region.length.0 / job.bs.0,
    }
}

/// First block and count of what thread `index` writes: its slice, and a block that slices leave out.
fn own_ranges(job: &Job, index: u32) -> Vec<(u64, u64)> {
    let slice = job.slice(index);
    let first = (slice.offset.0 - job.region.offset.0) / job.bs.0;
    let mut ranges = vec![(first, slice.length.0 / job.bs.0)];
    ranges.extend(left_over_block(job, index).map(|block| (block, 1)));
    ranges
}

/// Announces the writes of all threads to the ledger.
pub(crate) fn begin(ledger: &Ledger, job: &Job) {
    let ranges: Vec<_> = (0..job.numjobs).flat_map(|index| own_ranges(job, index)).collect();
    assert!(ranges.len() <= RANGES_MAX, "numjobs was validated");
    ledger.begin(&ranges);
}

/// How much all threads of a job checked.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    blocks: AtomicU64,
    /// Those of which the ledger expects a generation.
    expected: AtomicU64,
    /// Those among them of which it expects one of several.
    ranged: AtomicU64,
}

impl Checked {
    /// In words, so that a clean check shows what it rests on; `None` if nothing was checked.
    pub(crate) fn remark(&self, has_ledger: bool) -> Option<String> {
        let [blocks, expected, ranged] =
            [&self.blocks, &self.expected, &self.ranged].map(|count| count.load(Ordering::Relaxed));
        let says = match blocks - expected {
            _ if !has_ledger => "no ledger says which generation they should hold".to_owned(),
            0 => format!("the ledger expects a generation of all of them{}", one_of_several(ranged, expected)),
            rest => format!(
                "the ledger expects a generation of {expected}{}, and no write of the other {rest} was ever acknowledged: \
                 they may hold anything",
                one_of_several(ranged, expected)
            ),
        };
        (blocks > 0).then(|| format!("{blocks} blocks checked: {says}"))
    }
}

/// What is less certain about blocks of which the ledger expects a generation, after a pass that was cut short.
fn one_of_several(ranged: u64, expected: u64) -> String {
    let of = if ranged == expected { "each".to_owned() } else { ranged.to_string() };
    match ranged {
        0 => String::new(),
        _ => format!(", of {of} a range: the last one acknowledged, or a later one of a pass that was not finished"),
    }
}

/// One thread's part in it.
pub(crate) struct Checker {
    /// `None` where reads are checked without a ledger.
    ledger: Option<Arc<Ledger>>,
    ranges: Vec<Range>,
    geometry: Geometry,
    /// The thread's ranges in the ledger, if it writes.
    own: std::ops::Range<usize>,
    /// Requests of one pass over them.
    pass: u64,
    left_of_pass: u64,
    generation: u64,
    reads_back: bool,
    described: Vec<String>,
    checked: Arc<Checked>,
    /// Its own part of that, which is added at the end.
    blocks: u64,
    expected: u64,
    ranged: u64,
}

impl Checker {
    /// For thread `index` of a job whose ledger was begun; `None` for a job that verifies nothing.
    pub(crate) fn new(
        job: &Job,
        index: u32,
        geometry: Geometry,
        ledger: Option<Arc<Ledger>>,
        checked: Arc<Checked>,
    ) -> Option<Self> {
        if job.verify == Verify::Off {
            return None;
        }
        let mine = own_ranges(job, index);
        let before = (0..index).map(|i| own_ranges(job, i).len()).sum();
        let pass = mine.iter().map(|(_, count)| count).sum();
        let writes = job.rw.writes();
        let own = if writes { before..before + mine.len() } else { 0..0 };
        let generation = ledger.as_ref().filter(|_| writes).map_or(0, |ledger| ledger.generation(before));
        Some(Checker {
            ranges: ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.ranges()),
            ledger,
            geometry,
            own,
            pass,
            left_of_pass: pass,
            generation,
            reads_back: job.verify == Verify::ReadBack,
            described: Vec::new(),
            checked,
            blocks: 0,
            expected: 0,
            ranged: 0,
        })
    }

    /// Whether the next write would begin a new pass, for which all writes of the last one must be back.
    #[inline]
    pub(crate) fn is_at_turn(&self) -> bool {
        self.left_of_pass == 0 && !self.own.is_empty()
    }

    /// Begins a new pass. Nothing may be in flight.
    #[cold]
    pub(crate) fn turn(&mut self) {
        if let Some(ledger) = &self.ledger {
            self.own.clone().for_each(|range| ledger.next_pass(range));
        }
        self.generation += 1;
        self.left_of_pass = self.pass;
    }

    /// A request of the pass was handed out.
    #[inline]
    pub(crate) fn took(&mut self) {
        self.left_of_pass = self.left_of_pass.saturating_sub(1);
    }

    /// Seals a block that is about to be written.
    #[inline]
    pub(crate) fn seal(&mut self, block: &mut [u8], address: u64) {
        let seed = self.ledger.as_ref().map_or(0, |ledger| ledger.seed());
        let header = Header { address, generation: self.generation, seed };
        seal(block, self.geometry.sector as usize, header);
    }

    /// A write came back.
    #[inline]
    pub(crate) fn acknowledge(&self, address: u64) {
        if let Some(ledger) = &self.ledger {
            ledger.acknowledge((address - self.geometry.offset) / self.geometry.block);
        }
    }

    /// Checks the whole blocks of what was read from `address`, and counts what is wrong.
    pub(crate) fn check(&mut self, bytes: &[u8], address: u64, tally: &mut Tally, now: u64) {
        let Geometry { block, sector, offset, .. } = self.geometry;
        for (bytes, address) in bytes.chunks_exact(block as usize).zip((address..).step_by(block as usize)) {
            let expected = match &self.ledger {
                Some(ledger) => ledger.expected(&self.ranges, (address - offset) / block),
                None => Expected::Sealed,
            };
            self.blocks += 1;
            self.expected += u64::from(matches!(expected, Expected::Exactly(_) | Expected::Between(..)));
            self.ranged += u64::from(matches!(expected, Expected::Between(..)));
            let seed = self.ledger.as_ref().map(|ledger| ledger.seed());
            if let Some(finding) = check(bytes, sector as usize, address, seed, expected) {
                tally.error(finding.wrong.kind().to_owned(), Some(address), now);
                self.describe(finding, address, expected);
            }
        }
    }

    #[cold]
    fn describe(&mut self, finding: Finding, block: u64, expected: Expected) {
        if self.described.len() < DESCRIBED_MAX {
            let found = finding.found.map_or_else(|| "no header".to_owned(), |header| header.to_string());
            let (kind, at) = (finding.wrong.kind(), finding.address);
            self.described
                .push(format!("{kind}: block at {block}: found {found} at {at}, expected address {at}, {expected}"));
        }
    }

    /// Reads back what this thread wrote, if the job asks for it. `go_on` is asked between pieces.
    pub(crate) fn read_back(&mut self, file: &File, tally: &mut Tally, now: u64, mut go_on: impl FnMut() -> bool) {
        if !self.reads_back {
            return;
        }
        self.ranges = self.ledger.as_ref().map_or_else(Vec::new, |ledger| ledger.ranges());
        let block = self.geometry.block;
        let piece = block * (PIECE / block).max(1);
        let Ok(mut region) = Region::map(1, Bytes(piece)) else {
            self.described.push("not read back: no memory for it".into());
            return tally.error("verify-not-done".into(), None, now);
        };
        for index in self.own.clone() {
            let range = self.ranges[index];
            let (mut at, end) = (range.first * block, (range.first + range.count) * block);
            while at < end {
                if !go_on() {
                    self.described.push(format!("read-back stopped at {}", self.geometry.offset + at));
                    return;
                }
                let length = piece.min(end - at);
                let bytes = region.bytes_mut(0, length as usize);
                if self.read_piece(file, bytes, self.geometry.offset + at, tally, now).is_break() {
                    return;
                }
                at += length;
            }
        }
    }

    fn read_piece(
        &mut self,
        file: &File,
        bytes: &mut [u8],
        address: u64,
        tally: &mut Tally,
        now: u64,
    ) -> ControlFlow<()> {
        match rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *bytes, address)) {
            Ok(read) if read == bytes.len() => {
                self.check(bytes, address, tally, now);
                ControlFlow::Continue(())
            }
            Ok(_) => {
                tally.error("short-read".into(), Some(address), now);
                ControlFlow::Break(())
            }
            Err(e) => {
                tally.error(errno_name(e.raw_os_error()), Some(address), now);
                ControlFlow::Break(())
            }
        }
    }

    /// What was found, in words; how much was checked is added to that of the job.
    pub(crate) fn into_remarks(self) -> Vec<String> {
        self.checked.blocks.fetch_add(self.blocks, Ordering::Relaxed);
        self.checked.expected.fetch_add(self.expected, Ordering::Relaxed);
        self.checked.ranged.fetch_add(self.ranged, Ordering::Relaxed);
        self.described
    }
}
