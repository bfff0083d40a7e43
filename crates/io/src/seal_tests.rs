//! Every kind of injected fault is found and named, and nothing else is.

use super::*;
use crate::ledger::{Geometry, Ledger};
use flashlab_workload::named_seed;
use proptest::prelude::*;

const SEED: u64 = 0xfeed;

/// A target in memory, written in passes with a ledger.
struct Disk {
    ledger: Ledger,
    block: usize,
    sector: usize,
    data: Vec<u8>,
    /// As it was a pass earlier.
    before: Vec<u8>,
}

impl Disk {
    /// `passes` whole passes, and `part` blocks of one more.
    fn written(blocks: u64, block: usize, sector: usize, passes: u32, part: u64) -> Self {
        let geometry = Geometry { target: 1, block: block as u64, sector: sector as u64, offset: 0, blocks };
        let ledger = Ledger::open(None, geometry, SEED).expect("memory");
        ledger.begin(&[(0, blocks)]);
        let empty = vec![0; blocks as usize * block];
        let mut disk = Disk { ledger, block, sector, data: empty.clone(), before: empty };
        for pass in 0..passes {
            if pass > 0 {
                disk.ledger.next_pass(0);
            }
            disk.before = disk.data.clone();
            (0..blocks).for_each(|b| disk.write(b));
        }
        if part > 0 {
            disk.ledger.next_pass(0);
            disk.before = disk.data.clone();
            (0..part).for_each(|b| disk.write(b));
        }
        disk
    }

    fn write(&mut self, number: u64) {
        let generation = self.ledger.generation(0);
        let address = number * self.block as u64;
        let bytes = &mut self.data[address as usize..][..self.block];
        let seed = named_seed(generation, "body", number);
        bytes.iter_mut().zip(0u64..).for_each(|(b, i)| *b = (seed.rotate_left(i as u32) as u8) ^ i as u8);
        seal(bytes, self.sector, Header { address, generation, seed: SEED });
        self.ledger.acknowledge(number);
    }

    fn block_mut(&mut self, number: u64) -> &mut [u8] {
        let at = number as usize * self.block;
        &mut self.data[at..at + self.block]
    }

    fn findings(&self) -> Vec<(u64, Wrong)> {
        let ranges = self.ledger.ranges();
        let blocks = self.data.chunks(self.block).zip(0u64..);
        let found = blocks.filter_map(|(bytes, number)| {
            let expected = self.ledger.expected(&ranges, number);
            let finding = check(bytes, self.sector, number * self.block as u64, Some(self.ledger.seed()), expected)?;
            Some((number, finding.wrong))
        });
        found.collect()
    }

    /// Puts a fault into `block`; `None` where this fault can't be on this block.
    fn inject(&mut self, wrong: Wrong, block: u64, random: u64) -> Option<()> {
        let (size, sector) = (self.block, self.sector);
        let at = block as usize * size;
        match wrong {
            Wrong::Corrupt => {
                // One to 64 bits in a row of bytes, anywhere in the block.
                let first = (random % (size as u64 * 8)) as usize;
                let bits = 1 + (random >> 32) as usize % 64;
                let bytes = self.block_mut(block);
                (first..(first + bits).min(size * 8)).for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
            }
            Wrong::Torn => {
                let sectors = size / sector;
                let cut = sector * (1 + random as usize % (sectors - 1).max(1));
                let old = self.before[at..at + size].to_vec();
                let zeros = vec![0; size];
                let source = if random >> 63 == 0 { &old } else { &zeros };
                if sectors == 1 {
                    return None;
                }
                // The front or the back of the write is missing.
                let missing = if random >> 62 & 1 == 0 { 0..cut } else { cut..size };
                let bytes = self.block_mut(block);
                bytes[missing.clone()].copy_from_slice(&source[missing]);
            }
            Wrong::Stale => {
                let old = self.before[at..at + size].to_vec();
                self.block_mut(block).copy_from_slice(&old);
            }
            Wrong::Misdirected => {
                let blocks = (self.data.len() / size) as u64;
                let other = (block + 1 + random % (blocks - 1)) % blocks;
                let bytes = self.block_mut(other).to_vec();
                self.block_mut(block).copy_from_slice(&bytes);
            }
            Wrong::NeverWritten => self.block_mut(block).fill(0),
        }
        Some(())
    }
}

fn kinds() -> impl Strategy<Value = Wrong> {
    let all = [Wrong::Corrupt, Wrong::Torn, Wrong::Stale, Wrong::Misdirected, Wrong::NeverWritten];
    prop::sample::select(all.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn each_fault_is_found_and_named_and_nothing_else(
        (sector, sectors) in prop::sample::select(vec![(512usize, 2usize), (512, 8), (4096, 1), (512, 1), (4096, 4)]),
        blocks in 3u64..9, passes in 2u32..4, part in 0u64..4, wrong in kinds(), victim in any::<u64>(),
        random in any::<u64>(),
    ) {
        let part = part.min(blocks - 1);
        let mut disk = Disk::written(blocks, sector * sectors, sector, passes, part);
        prop_assert_eq!(disk.findings(), vec![], "a false alarm");
        // A block whose acknowledged generation is known: one written in the last, whole or begun, pass.
        let victim = victim % if part > 0 { part } else { blocks };
        if disk.inject(wrong, victim, random).is_some() {
            prop_assert_eq!(disk.findings(), vec![(victim, wrong)]);
        }
    }
}

#[test]
fn what_was_in_flight_when_the_process_died_is_no_fault() {
    let mut disk = Disk::written(6, 4096, 512, 2, 2);
    // Block 4 was being overwritten: half of the new write reached it.
    let generation = disk.ledger.generation(0);
    let mut new = disk.block_mut(4).to_vec();
    seal(&mut new, 512, Header { address: 4 * 4096, generation, seed: SEED });
    disk.block_mut(4)[..2048].copy_from_slice(&new[..2048]);
    assert_eq!(disk.findings(), []);
    // But an acknowledged generation may not go back by two.
    let mut old = disk.block_mut(5).to_vec();
    seal(&mut old, 512, Header { address: 5 * 4096, generation: generation - 2, seed: SEED });
    disk.block_mut(5).copy_from_slice(&old);
    assert_eq!(disk.findings(), [(5, Wrong::Stale)]);
}

#[test]
fn another_ledgers_block_is_stale_and_without_a_ledger_only_the_seal_counts() {
    let mut disk = Disk::written(3, 1024, 512, 1, 0);
    let bytes = disk.block_mut(1);
    seal(bytes, 512, Header { address: 1024, generation: 1, seed: SEED + 1 });
    let bytes = bytes.to_vec();
    assert_eq!(disk.findings(), [(1, Wrong::Stale)]);
    assert_eq!(check(&bytes, 512, 1024, None, Expected::Sealed), None);
    let found = Header { address: 1024, generation: 1, seed: SEED + 1 };
    let misdirected = Finding { wrong: Wrong::Misdirected, address: 4096, found: Some(found) };
    assert_eq!(check(&bytes, 512, 4096, None, Expected::Sealed), Some(misdirected));
    assert_eq!(found.to_string(), "address 1024, generation 1, seed 0xfeee");
}

/// What is shown is the part that is wrong, not one that is as it should be.
#[test]
fn a_torn_or_stale_block_shows_its_oldest_part() {
    let header = |address, generation| Header { address, generation, seed: SEED };
    let mut block = vec![0; 2048];
    seal(&mut block, 512, header(0, 7));
    seal(&mut block[1024..1536], 512, header(1024, 6));
    let shown = |wrong, address, generation| Finding { wrong, address, found: Some(header(address, generation)) };
    let found = |block: &[u8], generation| check(block, 512, 0, Some(SEED), Expected::Exactly(generation));
    assert_eq!(found(&block, 7), Some(shown(Wrong::Torn, 1024, 6)));
    seal(&mut block, 512, header(0, 6));
    assert_eq!(found(&block, 7), Some(shown(Wrong::Stale, 0, 6)));
}
