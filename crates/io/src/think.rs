//! Pauses of a thread: after so many requests, and once all of them are back, nothing is asked for a time.

use crate::pace::{SPIN_NS, WAIT_MAX_NS};
use crate::worker::{Duty, End};
use flashlab_spec::Job;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// When the next pause comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Think {
    /// Requests between two pauses; 0 for none at all.
    every: u32,
    left: u32,
    pause_ns: u64,
}

impl Think {
    pub(crate) fn new(job: &Job) -> Self {
        let (every, pause_ns) = job.think.map_or((0, 0), |think| (think.blocks, think.time.0));
        Think { every, left: every, pause_ns }
    }

    /// One request more was taken.
    #[inline]
    pub(crate) fn took(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether a pause comes before the next request.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.every > 0 && self.left == 0
    }
}

/// Pauses with nothing in flight; why the thread ends, if it does meanwhile. The last part of a pause is
/// spun through, so that its length is not that of the system's timers.
pub(crate) fn pause(duty: &mut Duty) -> Option<End> {
    duty.think.left = duty.think.every;
    let until = duty.clock.now_ns().saturating_add(duty.think.pause_ns);
    loop {
        let now = duty.clock.now_ns();
        if duty.tally.reaped(now, 0) {
            return Some(End::Time);
        }
        if duty.stop.load(Ordering::Relaxed) {
            duty.tally.close(now);
            return Some(End::Stopped);
        }
        if now >= until {
            return None;
        }
        duty.publish();
        let left_ns = until.min(duty.tally.end_ns()).saturating_sub(now);
        if left_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(WAIT_MAX_NS)));
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw, ThinkTime};
    use flashlab_units::{Bytes, Nanos};

    #[test]
    fn a_pause_is_due_after_so_many_requests() {
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        let plain = Job::new("w", Rw::RandRead, Bytes::kib(4), region);
        let mut never = Think::new(&plain);
        never.took();
        assert!(!never.is_due());
        let mut think = Think::new(&Job { think: Some(ThinkTime { time: Nanos(5), blocks: 2 }), ..plain });
        assert!(!think.is_due());
        think.took();
        assert!(!think.is_due());
        think.took();
        assert!(think.is_due());
    }
}
