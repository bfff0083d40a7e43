//! The host: jobs that keep `iodepth` I/Os outstanding each.

use crate::time::{PerByte, Ps, ps};
use flashlab_spec::{HostProfile, Job};
use flashlab_workload::{Direction, Request, RequestStream};

/// One outstanding I/O of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) job: u32,
    /// When the host began to submit; latency counts from here.
    pub(crate) stamp: Ps,
    pub(crate) request: Request,
    /// Parts of a read that have not crossed the link yet.
    pub(crate) parts_left: u32,
    /// Fixed delay after the last part has crossed the link.
    pub(crate) overhead: Ps,
}

/// A job's queue: submissions one after another.
#[derive(Debug, Clone)]
struct Queue {
    stream: RequestStream,
    submit_free_at: Ps,
    /// Requests still to submit; a job with extents ends after them.
    left: u64,
}

/// All jobs of one run.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    queues: Vec<Queue>,
    pub(crate) slots: Vec<Slot>,
    submit_time: Ps,
    resubmit_gap: Ps,
}

impl Host {
    pub(crate) fn new(profile: &HostProfile, job: &Job) -> Self {
        let left = |i: u32| {
            let bytes = job.extents.get(i as usize).map(|list| list.iter().map(|e| e.length.0).sum::<u64>());
            bytes.map_or(u64::MAX, |bytes| bytes / job.bs.0)
        };
        let queues = (0..job.numjobs)
            .map(|i| Queue { stream: RequestStream::new(job, i), submit_free_at: 0, left: left(i) })
            .collect::<Vec<_>>();
        let made = profile.job_rate.as_ref().map_or(0, |rate| PerByte::of(rate.value).time(job.bs.0));
        let idle = Request { offset: flashlab_units::Bytes(0), length: 0, direction: Direction::Read };
        let slots = (0..job.iodepth)
            .flat_map(|_| 0..job.numjobs)
            .map(|job| Slot { job, stamp: 0, request: idle, parts_left: 0, overhead: 0 })
            .collect();
        Host {
            queues,
            slots,
            submit_time: ps(profile.submit_time.value).max(made),
            resubmit_gap: ps(profile.resubmit_gap.value),
        }
    }

    /// Puts the next request into a slot that became free at `at`; returns when the command reaches
    /// the drive, or `None` if the job has no more.
    #[inline]
    pub(crate) fn submit(&mut self, slot: u32, at: Ps) -> Option<Ps> {
        let s = &mut self.slots[slot as usize];
        let queue = &mut self.queues[s.job as usize];
        queue.left = queue.left.checked_sub(1)?;
        s.stamp = queue.submit_free_at.max(at);
        queue.submit_free_at = s.stamp + self.submit_time;
        s.request = queue.stream.next_request();
        Some(queue.submit_free_at)
    }

    /// The same after a completion: the slot's next submission begins a gap later.
    #[inline]
    pub(crate) fn resubmit(&mut self, slot: u32, completed_at: Ps) -> Option<Ps> {
        self.submit(slot, completed_at + self.resubmit_gap)
    }
}
