//! The flash translation layer: logical to physical units, superblocks, streams, garbage collection.
//!
//! It stands between the flush of the write buffer and the dies, knows no time, and says of every
//! program what it cost besides itself. Physical unit numbers run through the superblocks one after
//! another; `program_units` of them make a program, and whoever owns the dies spreads programs over
//! them. A clone is a checkpoint of the drive.
//!
//! # Pace of collection
//!
//! Erased space is counted in units: free superblocks, what is left of the open ones, and what the
//! victim being emptied has already been scanned. Once it is below the reserve and half of each
//! superblock that can be open ([`Layout::held_units`]), every program of the host is followed by the
//! scan of `b / (b - valid)` units of the victim for each of its own, with `b` the units of a superblock
//! and `valid` those of the victim when it was chosen: as much is given back as was taken, in small
//! steps. So erased space stays level, and the rest of the spare is what the formulas for write
//! amplification call spare ([`Layout::effective_spare`]).
//!
//! # Why space can't run out
//!
//! Let `n` be the superblocks that can be open at once. [`Layout::check`] demands a reserve of at least
//! `n + 2` superblocks and a spare of at least one superblock more than `reserve + n / 2`.
//!
//! 1. *A started victim can be emptied.* It has at most `b - 1` valid units, all of which go to one
//!    frontier. Filling up the frontier and going on takes at most one free superblock, and the victim
//!    comes back as one. So if one superblock is free when a victim is chosen, emptying it succeeds and
//!    leaves at least one free.
//! 2. *The host leaves one.* It opens a superblock only while two are free, and has victims emptied
//!    until then ([`Ftl::write_program`]). So one is free whenever a victim is chosen.
//! 3. *Emptying victims until two are free ends.* Each gives back at least one unit of erased space.
//!    When no closed superblock has an invalid unit left, free superblocks hold all that is neither
//!    valid nor in an open superblock: at least the spare less `n - 1` superblocks, as the stream that
//!    opens has none. The spare exceeds `reserve + n / 2 >= n + 2` superblocks, so at least three are
//!    free.
//! 4. *While the pace is held, 2 never waits.* Erased space is then `reserve + n / 2` superblocks. At
//!    most `n - 1` of them lie in open superblocks when one is needed, and less than one in the victim,
//!    so with a reserve of `n + 2` more than `2 + n / 2` are free; up to `n / 2` of them are for data
//!    that lies unevenly in the victim.
//!
//! Trimming and writing only take valid units away from closed superblocks and victims, so that none of
//! this depends on what is written when.

mod bits;
mod collect;
mod fill;
mod layout;
mod superblocks;
mod table;
#[cfg(test)]
mod tests;

pub use collect::Collected;
pub use fill::Filled;
pub use layout::{Layout, LayoutError, PHYSICAL_UNITS_MAX, Policy, Victims};

use crate::time::Divisor;
use bits::Bits;
use collect::Victim;
use flashlab_samples::Wear;
use superblocks::Superblocks;
pub(crate) use superblocks::YOUNG_SHARE;
use table::Table;

/// No physical unit.
pub const UNMAPPED: u32 = u32::MAX;

/// Where the next unit of each stream goes: the host streams, then the streams of collected data. Two
/// tables, not one of pairs, for the reason given at [`Victim`].
#[derive(Debug, Clone, PartialEq)]
struct Frontiers {
    next: Vec<u32>,
    /// Units left of its open superblock; with 0 it has none.
    left: Vec<u32>,
}

impl Frontiers {
    fn new(policy: &Policy) -> Self {
        let n = policy.frontiers() as usize;
        Frontiers { next: vec![0; n], left: vec![0; n] }
    }
}

/// How many times the average of invalid units makes a superblock worth collecting before it must be.
/// Fresh random writes after a fill don't leave as much in any; a drive in its steady state has them.
const WORTH_INVALID: f64 = 1.5;

fn worth_valid(layout: &Layout, policy: &Policy) -> u32 {
    let invalid = (WORTH_INVALID * layout.effective_spare(policy)).min(1.0);
    (f64::from(layout.superblock_units) * (1.0 - invalid)) as u32
}

/// The map of a drive and the state of its superblocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Ftl {
    layout: Layout,
    policy: Policy,
    superblock_of: Divisor,
    /// Physical unit of each logical one, or [`UNMAPPED`].
    map: Table,
    /// Logical unit of each physical one; meaningful where `live` has a bit.
    reverse: Table,
    live: Bits,
    superblocks: Superblocks,
    frontiers: Frontiers,
    victim: Option<Victim>,
    /// Erased units: free superblocks, the rest of the open ones, the scanned part of the victim.
    erased: u64,
    /// What `erased` is kept at.
    level: u64,
    /// Erased space below which collection runs at a part of its pace, at least `level`.
    soft_level: u64,
    /// Valid units up to which a superblock is collected before it must be.
    worth_valid: u32,
    /// What collection owes the host, in units times units of a superblock.
    owed: i64,
    /// Valid units up to which a superblock is collected early.
    eager_valid: Option<u32>,
    /// The superblock in which each host stream last made a unit invalid.
    lately: Vec<u32>,
    /// Where the units of the program being written lay before.
    olds: Vec<u32>,
    host_units: u64,
    moved_units: u64,
    erases: u64,
}

impl Ftl {
    /// A new drive: nothing mapped, all superblocks erased.
    ///
    /// # Errors
    /// What [`Layout::check`] finds.
    pub fn new(layout: Layout, policy: Policy) -> Result<Self, LayoutError> {
        layout.check(&policy)?;
        let physical = layout.physical_units() as usize;
        let eager = policy.eager_valid_share;
        Ok(Ftl {
            layout,
            policy,
            superblock_of: Divisor::new(layout.superblock_units),
            map: Table::new(layout.user_units as usize, UNMAPPED),
            reverse: Table::new(physical, UNMAPPED),
            live: Bits::new(physical as u32),
            superblocks: Superblocks::new(&layout, &policy),
            frontiers: Frontiers::new(&policy),
            victim: None,
            erased: layout.physical_units(),
            level: layout.held_units(&policy),
            soft_level: layout.erased_units(&policy, policy.collect_from_share),
            worth_valid: worth_valid(&layout, &policy),
            owed: 0,
            eager_valid: (eager > 0.0)
                .then(|| ((eager * f64::from(layout.superblock_units)) as u32).min(layout.superblock_units - 1)),
            lately: vec![UNMAPPED; policy.host_streams as usize],
            olds: vec![UNMAPPED; layout.program_units as usize],
            host_units: 0,
            moved_units: 0,
            erases: 0,
        })
    }

    /// Its sizes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its rules.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Physical unit of a logical one, or [`UNMAPPED`].
    #[inline]
    pub fn lookup(&self, lpn: u32) -> u32 {
        self.map.get(lpn)
    }

    /// Whether every logical unit from `first` up to `end` is mapped. Looks at each of them only if not all
    /// of the drive is.
    pub fn all_mapped(&self, first: u32, end: u32) -> bool {
        let mapped: u64 = (0..self.superblocks.count()).map(|s| u64::from(self.superblocks.valid(s))).sum();
        mapped == u64::from(self.layout.user_units) || (first..end).all(|lpn| self.lookup(lpn) != UNMAPPED)
    }

    /// Brings the map entries of a batch into the cache at once, where looking them up one by one, with
    /// work in between, would wait for memory each time. Returns their wrapping sum; a caller must use
    /// it, or the compiler leaves the reads out.
    #[inline]
    #[must_use]
    pub fn touch(&self, lpns: impl Iterator<Item = u32>) -> u32 {
        lpns.fold(0, |sum, lpn| sum.wrapping_add(self.map.get(lpn)))
    }

    /// Writes one program of host data into stream `stream`. `lpns` may be shorter than a program: the
    /// rest is padding. Collects garbage in step and adds to `out` what that cost. Returns the first
    /// physical unit of the program.
    pub fn write_program(&mut self, stream: u32, lpns: &[u32], out: &mut Collected) -> u32 {
        let (program, units) = (self.layout.program_units, lpns.len() as u32);
        assert!(0 < units && units <= program, "a program holds 1 to {program} units, not {units}");
        let first = self.host_program(stream, out);
        self.live.set_run(first, first + units);
        self.superblocks.add(self.superblock_of.quotient(first), units);
        self.reverse.set_run(first, units, lpns.iter().copied());
        // In two passes: the first, short one starts the misses of all map entries at once.
        for ((lpn, old), ppn) in lpns.iter().zip(&mut self.olds).zip(first..) {
            *old = self.map.replace(*lpn, ppn);
        }
        let mut last = UNMAPPED;
        for old in self.olds[..lpns.len()].iter().filter(|old| **old != UNMAPPED) {
            self.live.clear(*old);
            last = self.superblock_of.quotient(*old);
            self.superblocks.remove(last, 1);
        }
        if last != UNMAPPED {
            self.lately[stream as usize] = last;
        }
        self.host_programmed(stream, 1, units);
        self.collect_in_step(program, out);
        first
    }

    /// Deallocates a logical unit. `true` if it was mapped.
    pub fn trim(&mut self, lpn: u32) -> bool {
        let old = self.map.replace(lpn, UNMAPPED);
        if old != UNMAPPED {
            self.live.clear(old);
            self.superblocks.remove(self.superblock_of.quotient(old), 1);
        }
        old != UNMAPPED
    }

    /// Forgets all data, erases every superblock that is not erased, and sets the counters to zero:
    /// what a format or a sanitize leaves. Wear stays.
    pub fn purge(&mut self) {
        let mut wear = std::mem::take(&mut self.superblocks.wear);
        let mut erased = vec![false; wear.len()];
        self.superblocks.free().for_each(|superblock| erased[superblock as usize] = true);
        wear.iter_mut().zip(erased).for_each(|(erases, erased)| *erases += u32::from(!erased));
        self.superblocks = Superblocks::new(&self.layout, &self.policy);
        self.superblocks.wear = wear;
        self.map.fill(UNMAPPED);
        self.live = Bits::new(self.reverse.len() as u32);
        self.frontiers = Frontiers::new(&self.policy);
        self.lately.fill(UNMAPPED);
        (self.victim, self.owed, self.erased) = (None, 0, self.layout.physical_units());
        self.reset_counters();
    }

    /// Units that can be written without moving anything: free superblocks, those that hold nothing
    /// valid any more, and the rest of the open ones. Looks at every superblock.
    pub fn free_units(&self) -> u64 {
        let whole = |superblock: &u32| self.superblocks.closed(*superblock) && self.superblocks.valid(*superblock) == 0;
        let dead = (0..self.superblocks.count()).filter(whole).count() + self.superblocks.free().len();
        dead as u64 * u64::from(self.layout.superblock_units) + self.open_rest()
    }

    /// Erases every closed superblock that holds nothing valid, as a drive does when it has time. Returns
    /// how many.
    pub fn erase_dead(&mut self) -> u32 {
        let mut erased = 0;
        while let Some(dead) = self.superblocks.emptiest().filter(|s| self.superblocks.valid(*s) == 0) {
            self.superblocks.take(dead);
            self.superblocks.erase(dead);
            self.erased += u64::from(self.layout.superblock_units);
            self.erases += 1;
            erased += 1;
        }
        erased
    }

    /// What is left of the open superblocks.
    fn open_rest(&self) -> u64 {
        self.frontiers.left.iter().map(|left| u64::from(*left)).sum()
    }

    /// Erases of the superblocks since they were new. Looks at every superblock.
    pub fn wear(&self) -> Wear {
        let wear = &self.superblocks.wear;
        let sum = wear.iter().map(|erases| u64::from(*erases)).sum::<u64>();
        Wear {
            erases_min: wear.iter().copied().min().unwrap_or(0),
            erases_mean: sum as f64 / wear.len() as f64,
            erases_max: wear.iter().copied().max().unwrap_or(0),
        }
    }

    /// Host units written since the counters were reset.
    pub fn host_units(&self) -> u64 {
        self.host_units
    }

    /// Units moved by collection since the counters were reset.
    pub fn moved_units(&self) -> u64 {
        self.moved_units
    }

    /// Superblocks erased since the counters were reset.
    pub fn erases(&self) -> u64 {
        self.erases
    }

    /// Does `work` that is part of no log: counters and wear are afterwards as they were before.
    pub fn unlogged(&mut self, work: impl FnOnce(&mut Ftl)) {
        let counted = (self.host_units, self.moved_units, self.erases);
        let wear = self.superblocks.wear.clone();
        work(self);
        (self.host_units, self.moved_units, self.erases) = counted;
        self.superblocks.wear = wear;
    }

    /// Sets the counters of written units, moved units and erases to zero.
    pub fn reset_counters(&mut self) {
        (self.host_units, self.moved_units, self.erases) = (0, 0, 0);
    }

    /// The first unit of the next program of a host stream.
    fn host_program(&mut self, stream: u32, out: &mut Collected) -> u32 {
        assert!(stream < self.policy.host_streams, "stream {stream} of {}", self.policy.host_streams);
        if self.frontiers.left[stream as usize] == 0 {
            self.collect_for_two(out);
            self.open(stream as usize, stream);
        }
        self.frontiers.next[stream as usize]
    }

    /// Opens the next superblock at a frontier.
    fn open(&mut self, frontier: usize, origin: u32) {
        let superblock = self.superblocks.open(origin);
        let superblock = superblock.unwrap_or_else(|| unreachable!("a superblock is free: see the module's header"));
        self.frontiers.next[frontier] = superblock * self.layout.superblock_units;
        self.frontiers.left[frontier] = self.layout.superblock_units;
    }

    /// Moves a frontier on, and closes its superblock once that is full.
    #[inline]
    fn advance(&mut self, frontier: usize, units: u32) {
        self.frontiers.next[frontier] += units;
        self.frontiers.left[frontier] -= units;
        self.erased -= u64::from(units);
        if self.frontiers.left[frontier] == 0 {
            self.superblocks.close(self.superblock_of.quotient(self.frontiers.next[frontier] - 1));
        }
    }

    /// So many programs of the host, with `units` valid units, were put at their frontier.
    #[inline]
    fn host_programmed(&mut self, stream: u32, programs: u32, units: u32) {
        self.host_units += u64::from(units);
        self.advance(stream as usize, programs * self.layout.program_units);
    }

    /// Checks that the map, the reverse map, the validity bits, the counts and the erased space agree.
    /// Looks at every unit: for tests.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        let per = self.layout.superblock_units;
        let mut valid = vec![0; self.superblocks.count() as usize];
        let mapped = (0..).zip(self.map.run(0, self.layout.user_units)).filter(|(_, ppn)| *ppn != UNMAPPED);
        for (lpn, ppn) in mapped {
            if self.reverse.get(ppn) != lpn || !self.live.get(ppn) {
                return Err(format!("logical unit {lpn} maps to {ppn}, which does not hold it"));
            }
            valid[(ppn / per) as usize] += 1;
        }
        let live = (0..self.reverse.len() as u32).filter(|ppn| self.live.get(*ppn)).count();
        if live as u64 != valid.iter().map(|v| u64::from(*v)).sum::<u64>() {
            return Err(format!("{live} units have a validity bit without being mapped to"));
        }
        if let Some(s) = (0..self.superblocks.count()).find(|s| valid[*s as usize] != self.superblocks.valid(*s)) {
            return Err(format!(
                "superblock {s} counts {} valid units, not {}",
                self.superblocks.valid(s),
                valid[s as usize]
            ));
        }
        let frontiers = self.frontiers.next.iter().zip(&self.frontiers.left);
        let mut open: Vec<u32> = frontiers.filter(|(_, left)| **left > 0).map(|(next, _)| next / per).collect();
        open.extend(self.victim.as_ref().map(|victim| victim.superblock));
        self.superblocks.check(&open)?;
        let free = self.superblocks.free();
        if free.len() as u64 * u64::from(per) + self.open_rest() + self.scanned() != self.erased {
            return Err(format!("{} erased units are counted, not those that there are", self.erased));
        }
        if let Some(s) = self.superblocks.free().find(|s| valid[*s as usize] > 0) {
            return Err(format!("superblock {s} is free and holds valid units"));
        }
        Ok(())
    }
}
