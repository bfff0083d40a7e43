//! Where the files of checkpoints lie: pieces of the region, taken and given back.
//!
//! A file system hands out extents; which ones, in which order, decides what garbage collection meets
//! when the files are overwritten. The rule here is the one that the suite describes, and no more.

use flashlab_spec::{CheckpointStep, Region, SpecError};
use flashlab_units::Bytes;
use flashlab_workload::named_seed;

/// The placement of all checkpoints on one target.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    piece: u64,
    bs: u64,
    ranks: u64,
    /// Bytes of one rank's part of a checkpoint, whole blocks.
    rank_bytes: u64,
    /// Pieces that one rank's part takes.
    pieces_a_rank: u64,
    region_offset: u64,
    /// Checkpoints of a pass.
    pub(crate) count: u32,
}

impl Placement {
    /// For a target of `capacity` bytes named `id`; `in_proportion` scales checkpoints and pieces to it.
    pub(crate) fn new(step: &CheckpointStep, id: &str, region: Region, in_proportion: bool) -> Result<Self, SpecError> {
        let (bs, ranks) = (step.bs.0.max(1), u64::from(step.ranks));
        let share = if in_proportion { region.length.0 as f64 / step.reference_capacity.0 as f64 } else { 1.0 };
        let rank_bytes = ((step.bytes.0 as f64 * share) as u64 / ranks).div_ceil(bs).max(1) * bs;
        let piece = ((step.piece.0 as f64 * share) as u64 / bs).max(1) * bs;
        let pieces_a_rank = rank_bytes.div_ceil(piece);
        let fits = region.length.0 / piece / (pieces_a_rank * ranks);
        let wanted = (step.fill_share * region.length.0 as f64 / (rank_bytes * ranks) as f64) as u64;
        let count = step.count.get(id).map_or(wanted, |n| u64::from(*n));
        if count == 0 || count > fits {
            return Err(SpecError::TooSmall {
                workload: step.workload.clone(),
                needed: Bytes(count.max(1).saturating_mul(pieces_a_rank * ranks).saturating_mul(piece)),
                have: region.length,
            });
        }
        let region_offset = region.offset.0;
        Ok(Placement { piece, bs, ranks, rank_bytes, pieces_a_rank, region_offset, count: count as u32 })
    }

    /// Bytes of one checkpoint.
    pub(crate) fn checkpoint_bytes(&self) -> Bytes {
        Bytes(self.rank_bytes * self.ranks)
    }

    /// The extents of checkpoint `number` (from 0) of pass `pass` (from 0), a list a rank.
    ///
    /// The pieces of checkpoint `number` are the same in every pass; in the first, the ranks take them
    /// in turn, later in an order drawn from the seed.
    pub(crate) fn extents(&self, pass: u32, number: u32, seed: u64) -> Vec<Vec<Region>> {
        let pieces = self.pieces_a_rank * self.ranks;
        let mut order: Vec<u64> = (0..pieces).collect();
        if pass > 0 {
            shuffle(&mut order, named_seed(seed, "placement", (u64::from(pass) << 32) | u64::from(number)));
        }
        let first = u64::from(number) * pieces;
        let mut lists = vec![Vec::new(); self.ranks as usize];
        for (turn, piece) in order.into_iter().enumerate() {
            let list = &mut lists[turn % self.ranks as usize];
            let left = self.rank_bytes - list.iter().map(|r: &Region| r.length.0).sum::<u64>();
            let offset = Bytes(self.region_offset + (first + piece) * self.piece);
            if left > 0 {
                list.push(Region { offset, length: Bytes(left.min(self.piece)) });
            }
        }
        debug_assert!(lists.iter().flatten().all(|r| r.length.0.is_multiple_of(self.bs)));
        lists
    }
}

/// Fisher and Yates, with a stream of its own.
fn shuffle(order: &mut [u64], seed: u64) {
    for i in (1..order.len()).rev() {
        let j = ((u128::from(named_seed(seed, "shuffle", i as u64)) * (i as u128 + 1)) >> 64) as usize;
        order.swap(i, j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn step() -> CheckpointStep {
        CheckpointStep {
            workload: "checkpoint".into(),
            bytes: Bytes(1_636_000_000_000),
            reference_capacity: Bytes(61_440_000_000_000),
            ranks: 8,
            bs: Bytes::mib(1),
            iodepth: 4,
            passes: 3,
            count: BTreeMap::from([("r6060-122".into(), 68)]),
            fill_share: 0.88,
            piece: Bytes(12_000_000_000),
        }
    }

    fn region(length: u64) -> Region {
        Region { offset: Bytes(0), length: Bytes(length) }
    }

    #[test]
    fn counts_are_the_published_ones() {
        let count =
            |id: &str, tb: f64| Placement::new(&step(), id, region((tb * 1e12) as u64), false).expect("fits").count;
        assert_eq!(count("r6060-122", 122.88), 68);
        assert_eq!((count("p5336-61", 61.44), count("p5336-122", 122.88)), (33, 66));
    }

    #[test]
    fn extents_of_a_pass_are_disjoint_and_complete_and_come_back_in_the_next() {
        let p = Placement::new(&step(), "p", region(61_440_000_000_000), false).expect("fits");
        let mut seen: Vec<(u64, u64)> = Vec::new();
        for number in 0..p.count {
            let lists = p.extents(0, number, 1);
            assert!(lists.iter().all(|l| l.iter().map(|r| r.length.0).sum::<u64>() == p.rank_bytes));
            seen.extend(lists.iter().flatten().map(|r| (r.offset.0, r.offset.0 + r.length.0)));
        }
        seen.sort_unstable();
        assert!(seen.windows(2).all(|w| w[0].1 <= w[1].0), "extents overlap");
        assert!(seen.last().is_some_and(|e| e.1 <= 61_440_000_000_000));
        let set = |pass| {
            let mut all: Vec<u64> = p.extents(pass, 5, 1).iter().flatten().map(|r| r.offset.0).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(set(0), set(2), "the same pieces");
        assert_ne!(p.extents(0, 5, 1), p.extents(1, 5, 1), "in another order");
        assert_eq!(p.extents(1, 5, 1), p.extents(1, 5, 1));
    }

    #[test]
    fn a_real_target_gets_checkpoints_in_proportion() {
        let p = Placement::new(&step(), "scratch.img", region(4 << 30), true).expect("fits");
        assert_eq!(p.checkpoint_bytes().0 % (8 << 20), 0);
        assert!((20..=33).contains(&p.count), "{}", p.count);
        assert!(Placement::new(&step(), "tiny", region(4 << 20), true).is_err());
    }
}
