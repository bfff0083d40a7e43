//! The superblocks: how full each is, in which order they closed, which are free, and which is the
//! next victim.

use super::layout::{Layout, Policy, Victims};
use flashlab_workload::named_seed;
use std::collections::VecDeque;

/// Mark in the count of valid units of a superblock that is not closed: free, open or being collected.
/// It makes the count too large for any search of a victim.
const NOT_CLOSED: u32 = 1 << 31;

/// Superblocks whose lowest count is kept. A search looks at the lowest counts and then at one group:
/// quick for tens of superblocks and for 65,536, and a count that falls costs one comparison.
const GROUP: u32 = 128;

/// Superblocks whose age is compared for a victim; of more than these, so many are drawn at random.
const AGES_COMPARED: u32 = 512;

/// One superblock in so many is young: those that closed last.
pub(crate) const YOUNG_SHARE: u64 = 36;

/// Draws for each superblock wanted, before the emptiest is taken instead.
const DRAWS_MAX: u32 = 64;

/// No superblock.
const NONE: u32 = u32::MAX;

/// The state of all superblocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Superblocks {
    units: u32,
    /// Valid units of each, with [`NOT_CLOSED`].
    valid: Vec<u32>,
    /// The lowest of each group of [`GROUP`] in `valid`, at most [`NOT_CLOSED`].
    lowest: Vec<u32>,
    /// The closed ones in the order in which they closed: neighbours of each, and the ends at the last
    /// index.
    before: Vec<u32>,
    after: Vec<u32>,
    /// When each was closed, in closings of superblocks.
    closed_at: Vec<u64>,
    closings: u64,
    /// Erased ones, used in the order in which they were erased.
    free: VecDeque<u32>,
    /// Erases of each.
    pub(super) wear: Vec<u32>,
    /// Which host stream the data of each came from, where collected data is kept apart.
    pub(super) origin: Vec<u32>,
    random: u64,
}

impl Superblocks {
    pub(super) fn new(layout: &Layout, policy: &Policy) -> Self {
        let n = layout.superblocks as usize;
        let ends = n as u32;
        Superblocks {
            units: layout.superblock_units,
            valid: vec![NOT_CLOSED; n],
            lowest: vec![NOT_CLOSED; n.div_ceil(GROUP as usize)],
            before: [vec![NONE; n], vec![ends]].concat(),
            after: [vec![NONE; n], vec![ends]].concat(),
            closed_at: vec![0; n],
            closings: 0,
            free: (0..layout.superblocks).collect(),
            wear: vec![0; n],
            origin: vec![0; n],
            random: named_seed(policy.seed, "victims", 0),
        }
    }

    /// Superblocks in all.
    pub(super) fn count(&self) -> u32 {
        self.valid.len() as u32
    }

    /// Valid units of a superblock.
    #[inline]
    pub(super) fn valid(&self, superblock: u32) -> u32 {
        self.valid[superblock as usize] & !NOT_CLOSED
    }

    /// Whether it is closed: neither free nor open nor being collected.
    #[inline]
    pub(super) fn closed(&self, superblock: u32) -> bool {
        self.valid[superblock as usize] & NOT_CLOSED == 0
    }

    /// The erased ones.
    pub(super) fn free(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.free.iter().copied()
    }

    /// Adds valid units to an open superblock.
    #[inline]
    pub(super) fn add(&mut self, superblock: u32, units: u32) {
        self.valid[superblock as usize] += units;
    }

    /// Takes valid units away from a superblock in any state but free.
    #[inline]
    pub(super) fn remove(&mut self, superblock: u32, units: u32) {
        let valid = &mut self.valid[superblock as usize];
        *valid -= units;
        let lowest = &mut self.lowest[(superblock / GROUP) as usize];
        if *valid < *lowest {
            *lowest = *valid;
        }
    }

    /// Opens the superblock that was erased first, for data of `origin`.
    pub(super) fn open(&mut self, origin: u32) -> Option<u32> {
        let superblock = self.free.pop_front()?;
        self.origin[superblock as usize] = origin;
        Some(superblock)
    }

    /// Closes an open superblock: it may be collected from now on.
    pub(super) fn close(&mut self, superblock: u32) {
        let valid = self.valid(superblock);
        self.valid[superblock as usize] = valid;
        let lowest = &mut self.lowest[(superblock / GROUP) as usize];
        *lowest = valid.min(*lowest);
        self.closings += 1;
        self.closed_at[superblock as usize] = self.closings;
        self.append(superblock);
    }

    /// Takes a closed superblock out, to be collected.
    pub(super) fn take(&mut self, superblock: u32) {
        self.valid[superblock as usize] |= NOT_CLOSED;
        let group = superblock / GROUP;
        let first = (group * GROUP) as usize;
        let members = &self.valid[first..self.valid.len().min(first + GROUP as usize)];
        self.lowest[group as usize] = lowest_of(members);
        self.unlink(superblock);
    }

    /// Puts an emptied superblock among the free ones.
    pub(super) fn erase(&mut self, superblock: u32) {
        assert_eq!(self.valid[superblock as usize], NOT_CLOSED, "only an emptied superblock is erased");
        self.wear[superblock as usize] += 1;
        self.free.push_back(superblock);
    }

    /// The next victim by the policy, if there is one with an invalid unit.
    pub(super) fn choose(&mut self, victims: Victims) -> Option<u32> {
        match victims {
            Victims::Greedy => self.emptiest(),
            Victims::Fifo => self.first_closed(),
            Victims::DChoices(draws) => self.emptiest_of(draws).or_else(|| self.emptiest()),
            Victims::AgeAware => self.most_worth_it(),
        }
    }

    /// The closed superblock with the fewest valid units, if it has an invalid one.
    pub(super) fn emptiest(&self) -> Option<u32> {
        let valid = lowest_of(&self.lowest);
        if valid >= self.units {
            return None;
        }
        let group = self.lowest.iter().position(|lowest| *lowest == valid)? as u32;
        let first = (group * GROUP) as usize;
        let within = self.valid[first..].iter().position(|v| *v == valid)?;
        Some(first as u32 + within as u32)
    }

    /// Valid units of the closed superblock with the fewest; more than any has if none is closed.
    #[inline]
    pub(super) fn emptiest_valid(&self) -> u32 {
        lowest_of(&self.lowest)
    }

    /// The same among those with at most `valid_max` valid units that are neither young nor `spared`; of
    /// those only the empty ones. What was written lately is what is written again soonest.
    pub(super) fn emptiest_but(&self, spared: &[u32], valid_max: u32) -> Option<u32> {
        let emptiest = self.emptiest().filter(|s| self.valid(*s) <= valid_max)?;
        let settled = |superblock: u32| !spared.contains(&superblock) && !self.young(superblock);
        if self.valid(emptiest) == 0 || settled(emptiest) {
            return Some(emptiest);
        }
        let groups = self.lowest.iter().zip(self.valid.chunks(GROUP as usize)).enumerate();
        let members = groups.filter(|(_, (lowest, _))| **lowest <= valid_max).flat_map(|(group, (_, members))| {
            members.iter().enumerate().map(move |(i, valid)| (*valid, group as u32 * GROUP + i as u32))
        });
        let low = members.filter(|(valid, _)| *valid <= valid_max);
        low.filter(|(_, superblock)| settled(*superblock)).min().map(|(_, superblock)| superblock)
    }

    /// Whether a superblock is among the share of them that closed last.
    fn young(&self, superblock: u32) -> bool {
        (self.closings - self.closed_at[superblock as usize]) * YOUNG_SHARE < u64::from(self.count())
    }

    fn first_closed(&mut self) -> Option<u32> {
        let ends = self.count();
        for _ in 0..self.count() {
            let first = self.after[ends as usize];
            if first == ends {
                return None;
            }
            if self.valid(first) < self.units {
                return Some(first);
            }
            self.unlink(first);
            self.append(first);
        }
        None
    }

    fn emptiest_of(&mut self, draws: u32) -> Option<u32> {
        let mut best = (self.units, NONE);
        let (mut wanted, mut tries) = (draws, draws.saturating_mul(DRAWS_MAX));
        while wanted > 0 && tries > 0 {
            tries -= 1;
            let superblock = self.draw();
            if self.closed(superblock) {
                wanted -= 1;
                if self.valid(superblock) < best.0 {
                    best = (self.valid(superblock), superblock);
                }
            }
            if wanted == 0 && best.1 == NONE {
                wanted = draws;
            }
        }
        (best.1 != NONE).then_some(best.1)
    }

    fn most_worth_it(&mut self) -> Option<u32> {
        let all = self.count() <= AGES_COMPARED;
        let mut best = (0.0, NONE);
        for i in 0..self.count().min(AGES_COMPARED) {
            let superblock = if all { i } else { self.draw() };
            // Those that are not closed look fuller than full.
            let valid = self.valid[superblock as usize];
            if valid < self.units {
                let age = (self.closings - self.closed_at[superblock as usize]) as f64 + 1.0;
                let worth = age * f64::from(self.units - valid) / f64::from(self.units + valid);
                if worth > best.0 {
                    best = (worth, superblock);
                }
            }
        }
        if best.1 == NONE && !all { self.emptiest() } else { (best.1 != NONE).then_some(best.1) }
    }

    /// A superblock in any state, each as likely (splitmix64, scaled by multiplication).
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(self.count())) >> 64) as u32
    }

    fn append(&mut self, superblock: u32) {
        let ends = self.count();
        let last = std::mem::replace(&mut self.before[ends as usize], superblock);
        self.before[superblock as usize] = last;
        self.after[superblock as usize] = ends;
        self.after[last as usize] = superblock;
    }

    fn unlink(&mut self, superblock: u32) {
        let (before, after) = (self.before[superblock as usize], self.after[superblock as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
    }

    /// Checks what is kept twice; for tests. Errors say what does not agree.
    pub(super) fn check(&self, open: &[u32]) -> Result<(), String> {
        for (group, members) in self.valid.chunks(GROUP as usize).enumerate() {
            let (kept, counted) = (self.lowest[group], lowest_of(members));
            if kept != counted {
                return Err(format!("group {group} has a lowest count of {counted}, not {kept}"));
            }
        }
        let ends = self.count();
        let mut queued = vec![false; ends as usize];
        let mut next = self.after[ends as usize];
        while next != ends {
            if std::mem::replace(&mut queued[next as usize], true) {
                return Err(format!("superblock {next} is queued twice"));
            }
            next = self.after[next as usize];
        }
        let mut held = vec![0; ends as usize];
        self.free.iter().chain(open).for_each(|superblock| held[*superblock as usize] += 1);
        for superblock in 0..ends {
            let (queued, closed) = (queued[superblock as usize], self.closed(superblock));
            if queued != closed || held[superblock as usize] + u32::from(closed) != 1 {
                return Err(format!("superblock {superblock} is in two states or in none"));
            }
        }
        Ok(())
    }
}

/// The lowest of some counts, or [`NOT_CLOSED`] if none is of a closed superblock.
fn lowest_of(counts: &[u32]) -> u32 {
    counts.iter().copied().fold(NOT_CLOSED, u32::min)
}
