//! The null engine: requests are made and counted, and nothing is asked of anyone. What it costs is
//! what the engine itself costs.

use crate::pace::WAIT_MAX_NS;
use crate::worker::{Duty, End};
use flashlab_workload::Request;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A batch of iodepth requests.
pub(crate) struct Null {
    batch: Vec<(Request, u64)>,
    iodepth: usize,
}

impl Null {
    pub(crate) fn prepare(iodepth: u32) -> Self {
        Null { batch: Vec::with_capacity(iodepth as usize), iodepth: iodepth as usize }
    }

    /// Runs the thread's requests to their end, iodepth at a time.
    pub(crate) fn run(&mut self, duty: &mut Duty) -> End {
        if duty.pace.is_open() { self.drive::<true>(duty) } else { self.drive::<false>(duty) }
    }

    fn drive<const OPEN: bool>(&mut self, duty: &mut Duty) -> End {
        loop {
            let start = duty.clock.now_ns();
            let mut end = None;
            self.batch.clear();
            while self.batch.len() < self.iodepth && (!OPEN || duty.pace.due_ns <= start) {
                let Some(request) = duty.source.next() else {
                    end = Some(End::Amount);
                    break;
                };
                let due_ns = if OPEN { duty.pace.due_ns } else { start };
                if OPEN {
                    duty.tally.waited(due_ns, start);
                    duty.pace.advance(duty.source.is_over());
                }
                self.batch.push((request, due_ns));
            }
            duty.tally.submitted(start, self.batch.len() as u64);
            if OPEN && self.batch.is_empty() && end.is_none() {
                std::thread::sleep(Duration::from_nanos(
                    duty.pace.sleep_ns(start, duty.tally.end_ns()).min(WAIT_MAX_NS),
                ));
            }
            let now = duty.clock.now_ns();
            let over = duty.tally.reaped(now, self.batch.len() as u64);
            for (request, due_ns) in &self.batch {
                duty.tally.count(request.direction, now - due_ns, request.length);
                if OPEN {
                    duty.tally.service(request.direction, now - start);
                }
                duty.moved += u64::from(request.length);
            }
            duty.publish();
            if over {
                return End::Time;
            }
            if end.is_some() || duty.stop.load(Ordering::Relaxed) {
                duty.tally.close(now);
                return end.unwrap_or(End::Stopped);
            }
        }
    }
}
