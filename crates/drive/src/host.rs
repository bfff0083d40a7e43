//! The host: jobs that keep `iodepth` I/Os outstanding each, or send them at times of their own.

use crate::duration::END;
use crate::replay;
use crate::time::{PerByte, Ps, doublings, ps};
use flashlab_spec::{HostProfile, Job};
use flashlab_units::Bytes;
use flashlab_workload::{ArrivalStream, Direction, Request, RequestStream};

/// Requests drawn ahead a job, so that their places in the map are fetched from memory together: several
/// times as many as the processor fetches at once, few enough for its nearest cache.
const DRAWN_AHEAD: usize = 64;

/// One outstanding I/O of a job.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Slot {
    /// When the host began to submit or, in an open loop, meant to; latency counts from here.
    pub(crate) stamp: Ps,
    /// When the host began to submit.
    pub(crate) started: Ps,
    /// When its command reached the drive, when the drive had decoded it, and when the last part of its
    /// data was out of the flash (of a write: in the drive).
    pub(crate) arrived: Ps,
    pub(crate) decoded: Ps,
    pub(crate) flash_done: Ps,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) job: u32,
    /// Time the flash itself took for the largest part, in nanoseconds: 32 bits of picoseconds are 4 ms.
    pub(crate) busy_ns: u32,
    /// Parts of a read that have not crossed the link yet.
    pub(crate) parts_left: u16,
    pub(crate) class: Class,
    pub(crate) direction: Direction,
}

/// What a request turned out to be for the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    MappedRead,
    ReadAhead,
    LostReadAhead,
    UnmappedRead,
    Write,
    MergedWrite,
    Trim,
}

/// A job's queue pair: submissions one after another.
#[derive(Debug, Clone)]
struct Queue {
    stream: RequestStream,
    arrivals: Option<ArrivalStream>,
    drawn: [Request; DRAWN_AHEAD],
    next_drawn: usize,
    submit_free_at: Ps,
    /// Bytes still to submit; a job with extents or a replayed list ends after them.
    left: u64,
    /// Slots that are used, at first all are about to be; in an open loop, where slots wait for the time of
    /// their next request, commands that the drive has.
    in_flight: u32,
    placement: u32,
}

/// All jobs of one run.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    job: Job,
    queues: Vec<Queue>,
    pub(crate) slots: Vec<Slot>,
    /// Whether a job had more requests, at times that no job reaches.
    pub(crate) has_later: bool,
    submit_time: Ps,
    resubmit_gap: Ps,
    /// Delay of each completion because several jobs run.
    pub(crate) jobs_delay: Ps,
}

impl Host {
    pub(crate) fn new(profile: &HostProfile, job: &Job) -> Self {
        let left = |i: u32| {
            let bytes = job.extents.get(i as usize).map(|list| list.iter().map(|e| e.length.0).sum::<u64>());
            let listed = || job.replay.as_ref().map(|list| replay::bytes_of_thread(job, list, i));
            bytes.or_else(listed).unwrap_or(u64::MAX)
        };
        let idle = Request { offset: Bytes(0), length: 0, direction: Direction::Read };
        let queues = (0..job.numjobs)
            .map(|i| Queue {
                stream: RequestStream::new(job, i),
                arrivals: ArrivalStream::new(job, i),
                drawn: [idle; DRAWN_AHEAD],
                next_drawn: DRAWN_AHEAD,
                submit_free_at: 0,
                left: left(i),
                in_flight: if job.arrival.is_closed() { job.iodepth } else { 0 },
                placement: u32::from(job.placement_of(i).unwrap_or(0)),
            })
            .collect::<Vec<_>>();
        let made = profile.job_rate.as_ref().map_or(0, |rate| PerByte::of(rate.value).time(job.bs.0));
        let slots = (0..job.iodepth).flat_map(|_| 0..job.numjobs).map(Slot::idle).collect();
        Host {
            job: job.clone(),
            queues,
            slots,
            has_later: false,
            submit_time: ps(profile.submit_time.value).max(made),
            resubmit_gap: ps(profile.resubmit_gap.value),
            jobs_delay: profile
                .jobs_delay
                .as_ref()
                .map_or(0, |delay| (ps(delay.value) as f64 * doublings(job.numjobs, 1)).round() as Ps),
        }
    }

    /// Puts the next request into a slot that became free at `at`; returns when the host begins to submit it,
    /// when the command reaches the drive and whether it waited for its job to submit another, or `None` if
    /// the job has no more before [`END`]. `drawn` sees requests some time before they come. With `READS` the loop is closed.
    #[inline(always)]
    pub(crate) fn submit<const READS: bool>(
        &mut self,
        slot: u32,
        at: Ps,
        drawn: impl FnOnce(&[Request]),
    ) -> Option<(Ps, Ps, bool)> {
        let s = &mut self.slots[slot as usize];
        let queue = &mut self.queues[s.job as usize];
        if queue.left == 0 {
            if queue.arrivals.is_none() {
                queue.in_flight -= 1;
            }
            return None;
        }
        if queue.next_drawn == DRAWN_AHEAD {
            queue.next_drawn = 0;
            queue.stream.fill(&mut queue.drawn);
            drawn(&queue.drawn);
        }
        let request = queue.drawn[queue.next_drawn];
        queue.next_drawn += 1;
        queue.left = queue.left.saturating_sub(u64::from(request.length));
        let arrivals = if READS { None } else { queue.arrivals.as_mut() };
        let due = arrivals.map(|arrivals| arrivals.next_arrival().0);
        if due.is_some_and(|due| due >= END) {
            (queue.left, self.has_later) = (0, true);
            return None;
        }
        s.started = queue.submit_free_at.max(at).max(due.unwrap_or(at));
        s.stamp = due.unwrap_or(s.started);
        queue.submit_free_at = s.started + self.submit_time;
        (s.offset, s.length, s.direction) = (request.offset.0, request.length, request.direction);
        Some((s.started, queue.submit_free_at, s.started > at))
    }

    /// When the slot of an I/O that is complete at `at` can be used again.
    #[inline]
    pub(crate) fn free_at(&self, at: Ps) -> Ps {
        at + self.resubmit_gap
    }

    /// The command of a slot reaches the drive.
    #[inline]
    pub(crate) fn begun(&mut self, slot: u32) {
        let queue = &mut self.queues[self.slots[slot as usize].job as usize];
        queue.in_flight += u32::from(queue.arrivals.is_some());
    }

    /// It is complete.
    #[inline]
    pub(crate) fn done(&mut self, slot: u32) {
        let queue = &mut self.queues[self.slots[slot as usize].job as usize];
        queue.in_flight -= u32::from(queue.arrivals.is_some());
    }

    /// Stream (reclaim unit handle) that a job writes to.
    #[inline]
    pub(crate) fn placement(&self, job: u32) -> u32 {
        self.queues[job as usize].placement
    }

    /// Begins the requests of all jobs anew.
    pub(crate) fn begin_again(&mut self) {
        for (i, queue) in self.queues.iter_mut().enumerate() {
            queue.stream = RequestStream::new(&self.job, i as u32);
            queue.next_drawn = DRAWN_AHEAD;
        }
    }

    /// I/Os of a queue pair that are in flight.
    #[inline]
    pub(crate) fn in_flight(&self, queue: u32) -> u32 {
        self.queues[queue as usize].in_flight
    }
}

impl Slot {
    fn idle(job: u32) -> Self {
        Slot {
            stamp: 0,
            started: 0,
            arrived: 0,
            decoded: 0,
            flash_done: 0,
            offset: 0,
            length: 0,
            job,
            busy_ns: 0,
            parts_left: 0,
            class: Class::UnmappedRead,
            direction: Direction::Read,
        }
    }
}
