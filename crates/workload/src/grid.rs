//! Where random requests can begin.

use flashlab_spec::{Direction, Job};

/// Places a grain apart; requests of a direction with a larger step begin at the last multiple of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Bytes from one place to the next.
    pub(crate) grain: u64,
    /// Of each direction, in the order of [`Direction::ALL`]; not all the same.
    steps: Option<[u64; 3]>,
}

impl Grid {
    /// Of a validated job.
    pub(crate) fn new(job: &Job) -> Self {
        let grain = job.grain().0;
        let of = |(direction, share)| if share > 0 { job.step(direction).0 } else { grain };
        let [read, write, trim] = Direction::ALL;
        let [reads, writes, trims] = job.mix();
        let steps = [of((read, reads)), of((write, writes)), of((trim, trims))];
        Grid { grain, steps: (steps != [grain; 3]).then_some(steps) }
    }

    /// First byte of a request at place `slot`, from the start of the slice.
    #[inline]
    pub(crate) fn at(self, slot: u64, direction: Direction) -> u64 {
        let at = slot * self.grain;
        match self.steps {
            None => at,
            Some(steps) => at - at % steps[direction as usize],
        }
    }
}
