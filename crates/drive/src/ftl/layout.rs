//! The sizes and rules of a mapping, and whether they can work together.

/// The sizes of a mapped drive, in indirection units unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Units that the host sees.
    pub user_units: u32,
    /// Units of a superblock, a multiple of `program_units`.
    pub superblock_units: u32,
    /// Superblocks.
    pub superblocks: u32,
    /// Units of a one-shot program.
    pub program_units: u32,
    /// Superblocks kept erased beyond half of each open one.
    pub reserve: u32,
}

/// The rules by which space is given out and collected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Which superblock is collected next.
    pub victims: Victims,
    /// Streams of host data, each with an open superblock of its own: one for a plain drive, one a
    /// reclaim unit handle for Flexible Data Placement (FDP).
    pub host_streams: u32,
    /// Whether collected data stays apart by the stream that wrote it ("persistently isolated" reclaim
    /// unit handles in FDP) or goes together ("initially isolated").
    pub separate_collected: bool,
    /// A closed superblock with at most this share of valid units is collected although the free pool
    /// is not used up; 0 for never. Below 1.
    pub eager_valid_share: f64,
    /// Share of the effective spare from which on collection runs at a part of its full pace: none at this
    /// much erased space, all of it where only the reserve is left. 0 for full pace at the reserve and none
    /// before. At most 1.
    pub collect_from_share: f64,
    /// Seed of the victims that are drawn at random.
    pub seed: u64,
}

impl Policy {
    /// One host stream, one for collected data, nothing collected before the free pool is used up.
    pub fn new(victims: Victims) -> Self {
        Policy {
            victims,
            host_streams: 1,
            separate_collected: false,
            eager_valid_share: 0.0,
            collect_from_share: 0.0,
            seed: 0,
        }
    }

    /// Superblocks that can be open at once.
    pub fn frontiers(&self) -> u32 {
        self.host_streams.saturating_add(self.collected_streams())
    }

    /// Streams of collected data.
    pub(super) fn collected_streams(&self) -> u32 {
        if self.separate_collected { self.host_streams } else { 1 }
    }
}

/// Which closed superblock is collected next. One without an invalid unit never is: nothing would be
/// gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victims {
    /// The one with the fewest valid units.
    Greedy,
    /// The one that was closed first. A full one goes to the back of the queue as it is.
    Fifo,
    /// The one with the fewest valid units of so many drawn at random.
    DChoices(u32),
    /// The one with the greatest benefit for its cost: age × (1 − u) / (1 + u), with u the valid share
    /// and the age counted from when it was closed (the rule of log-structured file systems). Best for
    /// streams that are rewritten at different rates; bad for a log that is rewritten in order, as it
    /// takes superblocks shortly before they are empty by themselves.
    AgeAware,
}

/// Why a layout can't work with a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A size is zero.
    #[error("{what} is 0\n  use at least 1")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// A superblock is not made of whole programs, or too small to be one.
    #[error(
        "a superblock of {superblock_units} units is not two or more units in whole programs of {program_units}\n  use {nearest}"
    )]
    Superblock {
        /// Units of the superblock asked for.
        superblock_units: u32,
        /// Units of a program.
        program_units: u32,
        /// The nearest size that works.
        nearest: u32,
    },
    /// Physical unit numbers don't fit 31 bits.
    #[error(
        "{superblocks} superblocks of {superblock_units} units are more than {PHYSICAL_UNITS_MAX} units\n  use at most {superblocks_max} superblocks, or a larger scale"
    )]
    TooLarge {
        /// Units of a superblock.
        superblock_units: u32,
        /// Superblocks asked for.
        superblocks: u32,
        /// Superblocks that fit.
        superblocks_max: u32,
    },
    /// The reserve can't keep every stream going while a victim is emptied.
    #[error("a reserve of {reserve} superblocks is too small for {frontiers} open ones\n  use at least {least}")]
    Reserve {
        /// The reserve asked for.
        reserve: u32,
        /// Superblocks open at once.
        frontiers: u32,
        /// The smallest reserve that works.
        least: u32,
    },
    /// The spare is used up by the reserve and the open superblocks.
    #[error(
        "{user_units} user units leave a spare of {spare}, below the {needed} that the reserve and the open superblocks need\n  use at most {user_units_max} user units, a smaller reserve or more superblocks"
    )]
    Spare {
        /// User units asked for.
        user_units: u32,
        /// Units beyond those.
        spare: u64,
        /// Units needed.
        needed: u64,
        /// The most user units that work.
        user_units_max: u64,
    },
    /// Collection would begin with more erased space than there is.
    #[error("collection from {percent} % of the spare on\n  use 0 to 100 %")]
    CollectFrom {
        /// The share asked for.
        percent: i64,
    },
    /// The valid share below which superblocks are collected early would take full ones.
    #[error("an eager valid share of {percent} % would collect superblocks that gain nothing\n  use 0 to 99 %")]
    EagerShare {
        /// The share asked for.
        percent: i64,
    },
}

/// Physical units at most: their numbers and two marks fit 32 bits.
pub const PHYSICAL_UNITS_MAX: u32 = 1 << 31;

impl Layout {
    /// All physical units.
    pub fn physical_units(&self) -> u64 {
        u64::from(self.superblock_units) * u64::from(self.superblocks)
    }

    /// Erased units that collection holds ready: the reserve and half of each superblock that can be
    /// open.
    pub fn held_units(&self, policy: &Policy) -> u64 {
        let halves = u64::from(self.reserve) * 2 + u64::from(policy.frontiers());
        halves * u64::from(self.superblock_units) / 2
    }

    /// Erased units when `share` of the spare that is not held is erased.
    pub fn erased_units(&self, policy: &Policy, share: f64) -> u64 {
        let held = self.held_units(policy);
        let spare = self.physical_units() - held - u64::from(self.user_units);
        held + (spare as f64 * share) as u64
    }

    /// Spare that lowers write amplification, as a share of the units that hold it: what is left
    /// without [`held_units`](Self::held_units). It is Sf in the formulas for write amplification.
    pub fn effective_spare(&self, policy: &Policy) -> f64 {
        let units = self.physical_units() - self.held_units(policy);
        1.0 - f64::from(self.user_units) / units as f64
    }

    /// Whether the sizes and the policy work together; the module's header proves that space can't
    /// run out then.
    ///
    /// # Errors
    /// [`LayoutError`], with the nearest value that works.
    pub fn check(&self, policy: &Policy) -> Result<(), LayoutError> {
        let Layout { user_units, superblock_units, superblocks, program_units, .. } = *self;
        let draws = if let Victims::DChoices(draws) = policy.victims { draws } else { 1 };
        let sizes = [
            ("the number of user units", user_units),
            ("the number of superblocks", superblocks),
            ("the size of a program", program_units),
            ("the number of host streams", policy.host_streams),
            ("the number of victims drawn", draws),
        ];
        if let Some((what, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(LayoutError::Zero { what });
        }
        if superblock_units < 2 || !superblock_units.is_multiple_of(program_units) {
            let programs = (f64::from(superblock_units) / f64::from(program_units)).round();
            let nearest = (programs as u32).max(2_u32.div_ceil(program_units)).saturating_mul(program_units);
            return Err(LayoutError::Superblock { superblock_units, program_units, nearest });
        }
        if self.physical_units() > u64::from(PHYSICAL_UNITS_MAX) {
            let superblocks_max = PHYSICAL_UNITS_MAX / superblock_units;
            return Err(LayoutError::TooLarge { superblock_units, superblocks, superblocks_max });
        }
        let share = policy.eager_valid_share;
        if !(0.0..1.0).contains(&share) {
            return Err(LayoutError::EagerShare { percent: (share * 100.0) as i64 });
        }
        let from = policy.collect_from_share;
        if !(0.0..=1.0).contains(&from) {
            return Err(LayoutError::CollectFrom { percent: (from * 100.0) as i64 });
        }
        self.check_space(policy)
    }

    fn check_space(&self, policy: &Policy) -> Result<(), LayoutError> {
        let (frontiers, reserve, user_units) = (policy.frontiers(), self.reserve, self.user_units);
        let least = frontiers.saturating_add(2);
        if reserve < least {
            return Err(LayoutError::Reserve { reserve, frontiers, least });
        }
        // One superblock beyond what is held, so that some spare is effective.
        let needed = self.held_units(policy) + u64::from(self.superblock_units);
        let user_units_max = self.physical_units().saturating_sub(needed);
        if u64::from(user_units) > user_units_max {
            let spare = self.physical_units().saturating_sub(u64::from(user_units));
            return Err(LayoutError::Spare { user_units, spare, needed, user_units_max });
        }
        Ok(())
    }
}
