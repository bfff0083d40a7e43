//! Garbage collection: which victim, how far, and what it cost.

use super::Ftl;

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

/// A superblock that is being emptied.
#[derive(Debug, Clone, Copy, PartialEq)]
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
        self.owed += i64::from(units) * i64::from(self.layout.superblock_units);
        while self.owed > 0 {
            let Some(victim) = self.victim.or_else(|| self.choose_victim()) else {
                self.owed = 0;
                return;
            };
            let per_group = i64::from(self.layout.program_units) * i64::from(victim.gain);
            let groups = (self.owed + per_group - 1) / per_group;
            let scanned = self.scan(victim, groups as u64, out);
            self.owed -= i64::from(scanned) * per_group;
            if self.victim.is_none() && !self.due() {
                self.owed = 0;
                return;
            }
        }
    }

    /// Empties victims until the host may open a superblock: two are free.
    pub(super) fn collect_for_two(&mut self, out: &mut Collected) {
        while self.superblocks.free().len() < 2 {
            let victim = self.victim.or_else(|| self.choose_victim());
            let victim = victim.unwrap_or_else(|| unreachable!("there is an invalid unit: see the module's header"));
            self.scan(victim, u64::MAX, out);
        }
    }

    /// Whether erased space is below its level or a superblock is to be collected early.
    #[inline]
    fn due(&self) -> bool {
        self.erased < self.level || (self.eager_valid.is_some() && (self.victim.is_some() || self.early().is_some()))
    }

    /// A superblock that is to be collected early: the emptiest, but none that a stream is emptying right
    /// now by writing anew what it holds. That would be empty soon without moving anything.
    fn early(&self) -> Option<u32> {
        self.superblocks.emptiest_but(&self.lately, self.eager_valid?)
    }

    fn choose_victim(&mut self) -> Option<Victim> {
        let superblock = if self.erased < self.level {
            self.superblocks.choose(self.policy.victims)
        } else {
            self.early().or_else(|| self.superblocks.choose(self.policy.victims))
        }?;
        let per = self.layout.superblock_units;
        self.superblocks.take(superblock);
        let next = superblock * per;
        let victim = Victim { superblock, next, end: next + per, gain: per - self.superblocks.valid(superblock) };
        self.victim = Some(victim);
        Some(victim)
    }

    /// Scans up to `groups` page groups of a victim, moves what is valid, and erases it once it is empty.
    /// Returns the groups scanned.
    fn scan(&mut self, mut victim: Victim, groups: u64, out: &mut Collected) -> u32 {
        let group = self.layout.program_units;
        let left = (victim.end - victim.next) / group;
        let groups = groups.min(u64::from(left)) as u32;
        for scanned in 0..groups {
            if self.superblocks.valid(victim.superblock) == 0 {
                self.erase(victim, out);
                return scanned;
            }
            self.move_group(victim, out);
            victim.next += group;
            self.erased += u64::from(group);
        }
        if self.superblocks.valid(victim.superblock) == 0 {
            self.erase(victim, out);
        } else {
            assert!(victim.next < victim.end, "a scanned superblock holds nothing valid");
            self.victim = Some(victim);
        }
        groups
    }

    fn erase(&mut self, victim: Victim, out: &mut Collected) {
        self.erased += u64::from(victim.end - victim.next);
        self.superblocks.erase(victim.superblock);
        self.victim = None;
        self.erases += 1;
        out.erased += 1;
    }

    /// Moves the valid units of the victim's next page group.
    #[inline]
    fn move_group(&mut self, victim: Victim, out: &mut Collected) {
        let mut first = None;
        let mut units = 0;
        let (moving, reverse) = (&mut self.moving, &self.reverse);
        self.live.drain_run(victim.next, victim.next + self.layout.program_units, |ppn| {
            first = first.or(Some(ppn));
            moving[units] = reverse[ppn as usize];
            units += 1;
        });
        let Some(first) = first else { return };
        out.reads.push((first, units as u32));
        self.superblocks.remove(victim.superblock, units as u32);
        self.moved_units += units as u64;
        let source = self.superblocks.origin[victim.superblock as usize];
        let frontier = self.policy.host_streams + if self.policy.separate_collected { source } else { 0 };
        let mut done = 0;
        while done < units {
            done += self.place_moved(frontier as usize, source, done, units, out);
        }
    }

    /// Puts as many of `moving[from..to]` at a frontier as its superblock takes, and returns how many.
    #[inline]
    fn place_moved(&mut self, frontier: usize, origin: u32, from: usize, to: usize, out: &mut Collected) -> usize {
        let mut f = self.frontiers[frontier];
        if f.next == f.end {
            self.open(frontier, origin);
            f = self.frontiers[frontier];
        }
        let units = (to - from).min((f.end - f.next) as usize);
        let lpns = &self.moving[from..from + units];
        self.reverse[f.next as usize..][..units].copy_from_slice(lpns);
        for (lpn, ppn) in lpns.iter().zip(f.next..) {
            self.map[*lpn as usize] = ppn;
        }
        self.live.set_run(f.next, f.next + units as u32);
        self.superblocks.add(self.superblock_of.quotient(f.next), units as u32);
        let program = self.layout.program_units;
        let into = (f.next - (f.end - self.layout.superblock_units)) % program;
        if into + units as u32 >= program {
            out.programs.push(f.next - into);
        }
        self.advance(frontier, units as u32);
        units
    }

    /// Units of the victim that were scanned.
    pub(super) fn scanned(&self) -> u64 {
        self.victim.map_or(0, |v| u64::from(self.layout.superblock_units - (v.end - v.next)))
    }
}
