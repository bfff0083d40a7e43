//! Transfer sizes.

use crate::draw::{Shares, below};
use flashlab_spec::{Direction, Job, SizeRule};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The sizes of a job's requests.
#[derive(Debug, Clone)]
pub(crate) enum Lengths {
    /// One for all.
    Fixed(u32),
    /// By direction, in the order of [`Direction::ALL`].
    Drawn(Box<[Rule; 3]>),
}

/// The sizes of one direction.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    Fixed(u32),
    Range { min: u32, step: u32, count: u64 },
    Split(Shares<u32>),
}

impl Lengths {
    pub(crate) fn new(job: &Job) -> Self {
        match &job.pattern.sizes {
            None => Lengths::Fixed(job.bs.0 as u32),
            Some(sizes) => Lengths::Drawn(Box::new(Direction::ALL.map(|d| Rule::new(sizes.of(d))))),
        }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus, direction: Direction) -> u32 {
        match self {
            Lengths::Fixed(length) => *length,
            Lengths::Drawn(rules) => rules[direction as usize].draw(rng),
        }
    }
}

impl Rule {
    fn new(rule: &SizeRule) -> Self {
        match rule {
            SizeRule::Fixed(bs) => Rule::Fixed(bs.0 as u32),
            SizeRule::Range { min, max, step } => {
                let count = (max.0 - min.0) / step.0 + 1;
                Rule::Range { min: min.0 as u32, step: step.0 as u32, count }
            }
            SizeRule::Split(shares) => Rule::Split(Shares::new(shares.iter().map(|s| (s.percent, s.bs.0 as u32)))),
        }
    }

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u32 {
        match self {
            Rule::Fixed(length) => *length,
            Rule::Range { min, step, count } => min + step * below(rng, *count) as u32,
            Rule::Split(shares) => shares.draw(rng),
        }
    }
}
