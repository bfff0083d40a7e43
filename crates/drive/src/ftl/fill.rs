//! Writing logical units in order, in bulk.

use super::{Collected, Ftl, UNMAPPED};

/// What a fill cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filled {
    /// Programs of host data.
    pub host_programs: u64,
    /// Programs of moved data.
    pub moved_programs: u64,
    /// Superblocks that were erased.
    pub erased: u64,
}

impl Ftl {
    /// Writes the logical units `[first, end)` in order into stream `stream`: the same as
    /// [`write_program`](Self::write_program) for one program after another, the last one padded, but
    /// as fast as memory allows where nothing is collected.
    pub fn fill_sequential(&mut self, first: u32, end: u32, stream: u32) -> Filled {
        let mut filled = Filled::default();
        let mut out = Collected::default();
        let mut lpn = first;
        while lpn < end {
            let ppn = self.host_program(stream, &mut out);
            let programs = self.programs_uncollected(stream, end - lpn);
            let units = programs.saturating_mul(self.layout.program_units).min(end - lpn);
            self.place_run(stream, lpn, ppn, units);
            self.host_programmed(stream, programs, units);
            if programs > 1 {
                // As after every program that makes nothing due.
                self.owed = 0;
            }
            self.collect_in_step(self.layout.program_units, &mut out);
            lpn += units;
            filled.host_programs += u64::from(programs);
            filled.moved_programs += out.programs.len() as u64;
            filled.erased += u64::from(out.erased);
            out.clear();
        }
        filled
    }

    /// Programs that can be written at once: to the end of the superblock or of `units`, and only the
    /// last of them can make collection due.
    fn programs_uncollected(&self, stream: u32, units: u32) -> u32 {
        let program = self.layout.program_units;
        if self.eager_valid.is_some() || self.erased <= self.soft_level {
            return 1;
        }
        let programs = (self.frontiers.left[stream as usize] / program).min(units.div_ceil(program));
        let level_lasts = (self.erased - self.soft_level) / u64::from(program) + 1;
        level_lasts.min(u64::from(programs)) as u32
    }

    /// Maps the logical units from `lpn` on to the physical ones from `ppn` on.
    fn place_run(&mut self, stream: u32, lpn: u32, ppn: u32, units: u32) {
        self.live.set_run(ppn, ppn + units);
        self.superblocks.add(self.superblock_of.quotient(ppn), units);
        self.reverse.set_run(ppn, units, lpn..);
        let mut done = 0;
        while done < units {
            let from = lpn + done;
            let (old, run) = (self.map.get(from), run_length(self.map.run(from, units - done)));
            let run = if old == UNMAPPED { run } else { run.min(self.left_in_superblock(old)) };
            self.map.set_run(from, run, ppn + done..);
            if old != UNMAPPED {
                let superblock = self.superblock_of.quotient(old);
                self.live.clear_run(old, old + run);
                self.superblocks.remove(superblock, run);
                self.lately[stream as usize] = superblock;
            }
            done += run;
        }
    }

    fn left_in_superblock(&self, ppn: u32) -> u32 {
        let per = self.layout.superblock_units;
        (self.superblock_of.quotient(ppn) + 1) * per - ppn
    }
}

/// How many of `olds`, from the first, are unmapped or follow each other.
fn run_length(mut olds: impl Iterator<Item = u32>) -> u32 {
    let Some(first) = olds.next() else { return 0 };
    let step = u32::from(first != UNMAPPED);
    let expected = (1..).map(|i: u32| first + i * step);
    1 + olds.zip(expected).take_while(|(old, expected)| old == expected).count() as u32
}
