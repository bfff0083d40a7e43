//! Garbage collection: which victim, how far, and what it cost.

use super::{Ftl, UNMAPPED};

/// What collection did, as the dies have to do it. Reused from call to call, so that none allocates
/// once it has grown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Page groups that were read: the first physical unit moved out of a group of `program_units`, and
    /// the units moved from it.
    pub reads: Vec<(u32, u32)>,
    /// First physical unit of each program that moved data filled.
    pub programs: Vec<u32>,
    /// Superblocks that were erased.
    pub erased: u32,
}

impl Collected {
    /// Forgets everything and keeps the room.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.programs.clear();
        self.erased = 0;
    }
}

/// A superblock that is being emptied. Not `Copy`: a copy in one piece right after a field was written
/// would wait for that write, and for all the writes to the map before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Victim {
    pub(super) superblock: u32,
    /// First unit not scanned yet.
    next: u32,
    end: u32,
    /// Invalid units when it was chosen, at least one.
    gain: u32,
}

impl Ftl {
    /// Scans as much of victims as it takes to give back `units` of erased space, if it is time to.
    #[inline]
    pub(super) fn collect_in_step(&mut self, units: u32, out: &mut Collected) {
        if !self.due() {
            self.owed = 0;
            return;
        }
        self.owed += self.paced(units) * i64::from(self.layout.superblock_units);
        while self.owed > 0 {
            let Some(gain) = self.victim_gain() else {
                self.owed = 0;
                return;
            };
            let per_group = i64::from(self.layout.program_units) * i64::from(gain);
            let groups = (self.owed + per_group - 1) / per_group;
            let scanned = self.scan(groups as u64, out);
            self.owed -= i64::from(scanned) * per_group;
            if self.victim.is_none() && !self.due() {
                self.owed = 0;
                return;
            }
        }
    }

    /// Collects until `units` are erased, or nothing is gained any more, as a drive does when it has time.
    pub fn collect_until_erased(&mut self, units: u64) {
        let mut out = Collected::default();
        while self.erased < units && self.victim_gain().is_some() {
            self.scan(1, &mut out);
            out.clear();
        }
    }

    /// Collects every superblock that is to be collected early, as a drive does when it has time.
    pub fn collect_early(&mut self) {
        let mut out = Collected::default();
        // Nothing is being written, so that nothing is about to be emptied that way.
        self.lately.fill(UNMAPPED);
        while self.eager_valid.is_some() && (self.victim.is_some() || self.early().is_some()) {
            if self.victim_gain().is_none() {
                return;
            }
            self.scan(1, &mut out);
            out.clear();
        }
    }

    /// Empties victims until the host may open a superblock: two are free.
    pub(super) fn collect_for_two(&mut self, out: &mut Collected) {
        while self.superblocks.free().len() < 2 {
            let gain = self.victim_gain();
            assert!(gain.is_some(), "there is an invalid unit: see the module's header");
            self.scan(u64::MAX, out);
        }
    }

    /// Units to give back for `units` written: as many where only the held space is left, fewer the more
    /// there is. A superblock that is collected early goes at full pace.
    #[inline]
    fn paced(&self, units: u32) -> i64 {
        if self.erased <= self.level || self.erased >= self.soft_level {
            return i64::from(units);
        }
        let missing = u64::from(units) * (self.soft_level - self.erased);
        missing.div_ceil(self.soft_level - self.level) as i64
    }

    /// Whether erased space is below the level at which collection begins or a superblock is to be collected early.
    #[inline]
    fn due(&self) -> bool {
        self.erased < self.level
            || (self.erased < self.soft_level && (self.victim.is_some() || self.worth_it()))
            || (self.eager_valid.is_some() && (self.victim.is_some() || self.early().is_some()))
    }

    /// Whether a superblock is so much emptier than the drive is on average that collecting it before it
    /// must be is no waste.
    #[inline]
    fn worth_it(&self) -> bool {
        self.superblocks.emptiest_valid() <= self.worth_valid
    }

    /// A superblock that is to be collected early: the emptiest, but none that was written lately, and none
    /// that a stream is emptying right now by writing anew what it holds. That would be empty soon without
    /// moving anything.
    fn early(&self) -> Option<u32> {
        self.superblocks.emptiest_but(&self.lately, self.eager_valid?)
    }

    /// What emptying the victim gains; one is chosen if there is none.
    #[inline]
    fn victim_gain(&mut self) -> Option<u32> {
        if self.victim.is_none() {
            self.choose_victim();
        }
        self.victim.as_ref().map(|victim| victim.gain)
    }

    fn choose_victim(&mut self) {
        let superblock = if self.erased < self.soft_level {
            self.superblocks.choose(self.policy.victims)
        } else {
            self.early().or_else(|| self.superblocks.choose(self.policy.victims))
        };
        let per = self.layout.superblock_units;
        self.victim = superblock.map(|superblock| {
            self.superblocks.take(superblock);
            let next = superblock * per;
            Victim { superblock, next, end: next + per, gain: per - self.superblocks.valid(superblock) }
        });
    }

    /// Scans up to `groups` page groups of the victim, moves what is valid, and erases it once it is
    /// empty. Returns the groups scanned.
    fn scan(&mut self, groups: u64, out: &mut Collected) -> u32 {
        let Some(victim) = &mut self.victim else { return 0 };
        let (superblock, start, end) = (victim.superblock, victim.next, victim.end);
        let (group, valid) = (self.layout.program_units, self.superblocks.valid(superblock));
        let groups = groups.min(u64::from((end - start) / group)) as u32;
        let (mut next, mut scanned, mut units) = (start, 0, 0);
        while scanned < groups && units < valid {
            let (first, count) = self.live.survey(next, next + group);
            if count > 0 {
                out.reads.push((first, count));
                units += count;
            }
            next += group;
            scanned += 1;
        }
        self.move_units(superblock, (start, next), units, out);
        self.erased += u64::from(scanned * group);
        if units == valid {
            self.erased += u64::from(end - next);
            self.victim = None;
            self.superblocks.erase(superblock);
            self.erases += 1;
            out.erased += 1;
        } else if let Some(victim) = &mut self.victim {
            assert!(next < end, "a scanned superblock holds nothing valid");
            victim.next = next;
        }
        scanned
    }

    /// Moves all `units` valid units in the part `run` of a victim.
    fn move_units(&mut self, superblock: u32, run: (u32, u32), units: u32, out: &mut Collected) {
        let source = self.superblocks.origin[superblock as usize];
        let frontier = (self.policy.host_streams + if self.policy.separate_collected { source } else { 0 }) as usize;
        let mut left = units;
        while left > 0 {
            if self.frontiers.left[frontier] == 0 {
                self.open(frontier, source);
            }
            let to = self.frontiers.next[frontier];
            let moved = left.min(self.frontiers.left[frontier]);
            let (reverse, map, mut next) = (&mut self.reverse, &mut self.map, to);
            self.live.drain_run(run.0, run.1, moved, |ppn| {
                let lpn = reverse.get(ppn);
                reverse.set(next, lpn);
                // Only written: to read the entry first costs a third of the speed.
                map.set(lpn, next);
                next += 1;
            });
            self.filled(frontier, to, moved, out);
            left -= moved;
        }
        self.superblocks.remove(superblock, units);
        self.moved_units += u64::from(units);
    }

    /// Moved units were put at a frontier, from `first` on.
    #[inline]
    fn filled(&mut self, frontier: usize, first: u32, units: u32, out: &mut Collected) {
        self.live.set_run(first, first + units);
        self.superblocks.add(self.superblock_of.quotient(first), units);
        let program = self.layout.program_units;
        let mut begun = first - first % program;
        while begun + program <= first + units {
            out.programs.push(begun);
            begun += program;
        }
        self.advance(frontier, units);
    }

    /// Units of the victim that were scanned.
    pub(super) fn scanned(&self) -> u64 {
        self.victim.as_ref().map_or(0, |v| u64::from(self.layout.superblock_units - (v.end - v.next)))
    }
}
