//! The io_uring engine: one ring, at most iodepth outstanding I/Os.
//!
//! Each turn of the loop is one `io_uring_enter` that submits what there is and waits for at least
//! one completion, then reaps all of them. Where a turn brings back many, those that follow them are
//! submitted in parts, so that the device is at work before the last one is made. Time is stamped once before the enter, for all I/Os it
//! submits, and once after it, for all it brought back; latency is the difference. In the loop there
//! is no allocation, lock or other system call. It is compiled once for each set of features
//! ([`Kind`]s, open or closed, registered or not) rather than branching on them per I/O; only the set
//! that can do everything looks at each request.

use crate::entry::{self, Op};
use crate::explain::errno_name;
use crate::pace::WAIT_MAX_NS;
use crate::region::Region;
use crate::ring::{PART_MAX, Ring};
use crate::think;
use crate::tick::{self, TICK};
use crate::worker::{Duty, End, Setup};
use flashlab_samples::Granted;
use flashlab_spec::Job;
use flashlab_target::TargetError;
use flashlab_units::Bytes;
use flashlab_workload::{Direction, Request};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What the requests of a loop may be; decided before it runs.
pub(crate) type Kind = u8;
/// Reads.
const READS: Kind = 0;
/// Reads, and writes of unique data.
const WRITES: Kind = 1;
/// Anything, but the kernel is asked to do nothing.
const NOP: Kind = 2;
/// Anything.
const ANY: Kind = 3;

/// More than these are not gathered before the device gets them, while it may have nothing to do.
const BATCH_MAX: usize = 16;
/// The same of requests up to [`SMALL`]: the kernel keeps all of a batch back until it has made the last one, at
/// about 1 us each, and a fast device would have done with as many in that time.
const BATCH_SMALL: usize = 4;
/// Requests that a device takes about as long for as the kernel.
const SMALL: Bytes = Bytes::kib(16);

/// One of the outstanding I/Os.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start_ns: u64,
    /// Intended start, in an open loop.
    due_ns: u64,
    offset: u64,
    buffer: *mut u8,
    length: u32,
    /// Time that its submission took; as long as 4 s fits.
    slat_ns: u32,
    buffer_index: u16,
    direction: Direction,
    is_flush: bool,
    busy: bool,
}

/// A ring with its buffers.
pub(crate) struct Uring {
    ring: ManuallyDrop<IoUring>,
    region: ManuallyDrop<Region>,
    setup: Arc<Setup>,
    registered: bool,
    is_nop: bool,
    is_split: bool,
    slots: Vec<Slot>,
    /// As many requests go to a device at a time.
    batch: usize,
    /// Slots submitted by the next enter, whose start is still to be stamped.
    fresh: Vec<u32>,
    /// Slots without an I/O, where they don't get the next one at once.
    free: Vec<u32>,
    busy: u32,
}

impl Uring {
    /// Everything the loop needs, allocated before the first I/O. Adds what was granted.
    ///
    /// # Errors
    /// [`TargetError::NotGranted`] without io_uring.
    pub(crate) fn prepare(
        job: &Job,
        setup: Arc<Setup>,
        is_nop: bool,
        region: Region,
        granted: &mut Granted,
    ) -> Result<Self, TargetError> {
        let mut ring = Ring::new(job.iodepth, &setup.modes)?;
        let registered = ring.register(&setup.file, &region);
        ring.try_registered_ring();
        ring.tell(granted);
        let per_part = region.slots_a_part(PART_MAX) as u32;
        let slots = (0..job.iodepth).map(|i| Slot {
            start_ns: 0,
            due_ns: 0,
            offset: 0,
            buffer: region.slot(i),
            length: 0,
            slat_ns: 0,
            buffer_index: (i / per_part) as u16,
            direction: Direction::Read,
            is_flush: false,
            busy: false,
        });
        Ok(Uring {
            slots: slots.collect(),
            ring: ManuallyDrop::new(ring.ring),
            region: ManuallyDrop::new(region),
            registered,
            is_nop,
            is_split: setup.tuning.split_submission,
            setup,
            batch: if job.bs <= SMALL { BATCH_SMALL } else { BATCH_MAX },
            fresh: Vec::with_capacity(job.iodepth as usize),
            free: (0..job.iodepth).rev().collect(),
            busy: 0,
        })
    }

    /// Runs the thread's requests to their end.
    pub(crate) fn run(&mut self, duty: &mut Duty) -> End {
        let kind = match () {
            () if self.is_split || duty.needs_everything() => ANY,
            () if self.is_nop => NOP,
            () if !self.registered => ANY,
            () if duty.writes => WRITES,
            () => READS,
        };
        match (kind, self.registered, duty.pace.is_open()) {
            (READS, _, false) => self.drive::<true, READS, false>(duty),
            (READS, _, true) => self.drive::<true, READS, true>(duty),
            (WRITES, _, false) => self.drive::<true, WRITES, false>(duty),
            (WRITES, _, true) => self.drive::<true, WRITES, true>(duty),
            (NOP, _, false) => self.drive::<false, NOP, false>(duty),
            (NOP, _, true) => self.drive::<false, NOP, true>(duty),
            (_, true, false) => self.drive::<true, ANY, false>(duty),
            (_, true, true) => self.drive::<true, ANY, true>(duty),
            (_, false, false) => self.drive::<false, ANY, false>(duty),
            (_, false, true) => self.drive::<false, ANY, true>(duty),
        }
    }

    fn drive<const REGISTERED: bool, const KIND: Kind, const OPEN: bool>(&mut self, duty: &mut Duty) -> End {
        let modes = self.setup.modes;
        let (mut submitter, mut sq, mut cq) = self.ring.split();
        // Saves the kernel a look-up; where it is refused the loop is the same without it.
        let _ = submitter.register_ring_fd();
        let mut flight = Flight::<REGISTERED, KIND, OPEN> {
            slots: &mut self.slots,
            fresh: &mut self.fresh,
            free: &mut self.free,
            busy: &mut self.busy,
            fd: Fd(self.setup.file.as_raw_fd()),
            is_nop: self.is_nop,
            is_split: self.is_split,
            is_ticking: !OPEN && !modes.iopoll && !modes.sqpoll && tick::start(&submitter, &mut sq),
            unseen_ticks: 0,
            batch: self.batch,
            batch_device: self.batch,
            parts: 0,
            held: None,
            end: None,
            ended_ns: 0,
        };
        flight.fill(duty, &mut sq);
        if flight.end.is_some() && flight.fresh.is_empty() {
            // No share of the amount: this thread's window is empty.
            duty.tally.close(0);
            return End::Amount;
        }
        loop {
            flight.depart(duty);
            sq.sync();
            let entered = flight.enter(duty, &submitter);
            cq.sync();
            // After the completions: what is complete was taken from the submission queue before.
            sq.sync();
            let now = duty.clock.now_ns();
            let mut reaped = cq.len() as u32;
            flight.arrive(duty, reaped, now);
            if let Err(e) = entered
                && !is_passing(&e)
            {
                duty.fail(errno_name(e.raw_os_error().unwrap_or(0)), None, now);
                return End::Error;
            }
            reaped -= flight.reap(duty, &mut cq, &mut sq, &submitter, now);
            // Gives the entries back before the next enter, which would take them for new ones.
            cq.sync();
            flight.judge(!cq.is_empty());
            if OPEN || KIND == ANY {
                flight.fill(duty, &mut sq);
            }
            duty.publish();
            if *flight.busy == 0 && flight.fresh.is_empty() && flight.end.is_some() {
                // The window of an amount ends with its last completion.
                duty.tally.close(now.max(flight.ended_ns));
                return flight.end.unwrap_or(End::Amount);
            }
            if ((reaped == 0 && !OPEN) || duty.look_for_stuck(now)) && stuck(duty, flight.slots, flight.fresh, now) {
                return End::Error;
            }
        }
    }
}

/// The outstanding I/Os of a running loop.
struct Flight<'a, const REGISTERED: bool, const KIND: Kind, const OPEN: bool> {
    slots: &'a mut [Slot],
    fresh: &'a mut Vec<u32>,
    free: &'a mut Vec<u32>,
    busy: &'a mut u32,
    fd: Fd,
    is_nop: bool,
    is_split: bool,
    /// Whether the ring has ticks, so that waits need no limit.
    is_ticking: bool,
    /// Ticks among those that came back which are not taken for I/Os.
    unseen_ticks: u32,
    /// As many are gathered before they are submitted: as for a device, or more where none waits for them.
    batch: usize,
    batch_device: usize,
    /// Batches submitted since the last enter that waited.
    parts: u32,
    /// The first request of a pass that can't begin yet.
    held: Option<Request>,
    /// Why nothing new is submitted any more.
    end: Option<End>,
    /// When that was, if it was in a pause.
    ended_ns: u64,
}

impl<const REGISTERED: bool, const KIND: Kind, const OPEN: bool> Flight<'_, REGISTERED, KIND, OPEN> {
    /// Takes all completions at hand, and submits what follows them; returns how many of them were ticks.
    #[inline]
    fn reap(
        &mut self,
        duty: &mut Duty,
        cq: &mut CompletionQueue<'_>,
        sq: &mut SubmissionQueue<'_>,
        to: &Submitter<'_>,
        now: u64,
    ) -> u32 {
        let (mut left, mut ticks) = (cq.len() as u32, 0);
        for completion in cq {
            left -= 1;
            if completion.user_data() == TICK {
                self.tick(duty, completion.flags());
                ticks += 1;
                continue;
            }
            let index = completion.user_data() as u32;
            self.complete(duty, index, completion.result(), now);
            self.follow(duty, index, left, sq, to);
        }
        ticks
    }

    /// Queues requests in all free slots, as far as there are some.
    fn fill(&mut self, duty: &mut Duty, sq: &mut SubmissionQueue<'_>) {
        let now = if OPEN { duty.clock.now_ns() } else { 0 };
        while let Some(index) = self.free.last().copied() {
            if self.end.is_some()
                || (OPEN && now < duty.pace.due_ns)
                || (KIND == ANY && (self.must_drain(duty) || self.must_pause(duty)))
            {
                return;
            }
            self.free.pop();
            self.refill(duty, index, sq);
        }
    }

    /// Whether the next request must wait until nothing is in flight.
    fn must_drain(&mut self, duty: &mut Duty) -> bool {
        let Some(checker) = duty.checker.as_mut().filter(|checker| checker.is_at_turn()) else { return false };
        // A new pass begins only if there is a request of it.
        self.held = self.held.or_else(|| duty.source.next());
        if self.held.is_none() {
            self.end = Some(End::Amount);
            return true;
        }
        let is_idle = *self.busy == 0 && self.fresh.is_empty();
        if is_idle {
            checker.turn();
        }
        !is_idle
    }

    /// Whether the next request must wait for a pause, which begins once nothing is in flight; it is made here.
    fn must_pause(&mut self, duty: &mut Duty) -> bool {
        if !duty.think.is_due() {
            return false;
        }
        if *self.busy > 0 || !self.fresh.is_empty() {
            return true;
        }
        // No pause after the last request.
        self.held = self.held.or_else(|| duty.source.next());
        self.end = if self.held.is_none() { Some(End::Amount) } else { think::pause(duty) };
        if self.end.is_some() && self.held.is_some() {
            self.ended_ns = duty.clock.now_ns();
        }
        self.end.is_some()
    }

    /// What comes after a completed I/O, with `left` more completions at hand: the next request in its
    /// slot, and the device gets a batch before the last of them is made. Where requests may have to
    /// wait, the slot is free for now.
    #[inline]
    fn follow(&mut self, duty: &mut Duty, index: u32, left: u32, sq: &mut SubmissionQueue<'_>, to: &Submitter<'_>) {
        if OPEN || KIND == ANY {
            self.free.push(index);
            return;
        }
        self.refill(duty, index, sq);
        // The last ones go with the next enter, which is near.
        if self.fresh.len() >= self.batch && left > 0 {
            self.parts += 1;
            self.depart(duty);
            sq.sync();
            // What it could not take yet goes with the next enter.
            let _ = to.submit();
            sq.sync();
        }
    }

    /// Chooses the batch by whether those submitted in parts were `complete` at once, as from the page cache.
    /// Completions of a device are seen only by an enter that waits.
    #[inline]
    fn judge(&mut self, complete: bool) {
        if self.parts > 0 {
            self.batch = if complete { BATCH_MAX } else { self.batch_device };
            self.parts = 0;
        }
    }

    /// Queues the next request in a free slot, unless the loop is ending.
    #[inline]
    fn refill(&mut self, duty: &mut Duty, index: u32, sq: &mut SubmissionQueue<'_>) {
        if self.end.is_some() {
            return;
        }
        let slot = &mut self.slots[index as usize];
        if KIND == ANY && duty.flushes.is_due() {
            slot.busy = true;
            slot.is_flush = true;
            let op = Op::Flush { data_only: duty.flushes.data_only };
            self.submit(index, &op, sq);
            return;
        }
        let held = if KIND == ANY { self.held.take() } else { None };
        let Some(request) = held.or_else(|| duty.source.next()) else {
            self.end = Some(End::Amount);
            return;
        };
        if OPEN {
            slot.due_ns = duty.pace.due_ns;
            duty.pace.advance(duty.source.is_over());
        }
        if KIND == ANY {
            duty.think.took();
            if let Some(checker) = &mut duty.checker {
                checker.took();
            }
        }
        let op = prepare::<KIND>(slot, request, duty);
        self.submit(index, &op, sq);
    }

    #[inline]
    fn submit(&mut self, index: u32, op: &Op, sq: &mut SubmissionQueue<'_>) {
        let entry = match KIND {
            NOP => entry::nop(),
            ANY if self.is_nop => entry::nop(),
            _ if REGISTERED => op.registered(self.slots[index as usize].buffer_index),
            _ => op.plain(self.fd),
        };
        push(sq, &entry.user_data(u64::from(index)));
        self.fresh.push(index);
    }

    /// Stamps all I/Os that the next enter submits.
    #[inline]
    fn depart(&mut self, duty: &mut Duty) {
        let now = duty.clock.now_ns();
        let mut flushes = 0;
        for index in self.fresh.iter() {
            let slot = &mut self.slots[*index as usize];
            slot.start_ns = now;
            if KIND == ANY && slot.is_flush {
                flushes += 1;
            } else if OPEN {
                duty.tally.waited(slot.due_ns, now);
            }
        }
        duty.tally.submitted(now, self.fresh.len() as u64 - flushes);
        *self.busy += self.fresh.len() as u32;
        if KIND != ANY || !self.is_split {
            self.fresh.clear();
        }
    }

    /// One enter, or two where submission is timed apart.
    #[inline]
    fn enter(&mut self, duty: &Duty, submitter: &Submitter<'_>) -> std::io::Result<usize> {
        if KIND == ANY && self.is_split {
            self.submit_apart(duty, submitter)?;
        }
        if self.is_ticking {
            return submitter.submit_and_wait(1);
        }
        let wait_ns = if OPEN { self.patience_ns(duty) } else { WAIT_MAX_NS };
        if OPEN && wait_ns == 0 {
            return poll(submitter, *self.busy > 0);
        }
        let wait = Timespec::new().nsec(wait_ns as u32);
        submitter.submit_with_args(1, &SubmitArgs::new().timespec(&wait))
    }

    /// How long the loop may sleep before a request is due; 0 to look again at once.
    fn patience_ns(&self, duty: &Duty) -> u64 {
        if self.free.is_empty() || self.end.is_some() {
            return WAIT_MAX_NS;
        }
        duty.pace.sleep_ns(duty.clock.now_ns(), duty.tally.end_ns())
    }

    fn submit_apart(&mut self, duty: &Duty, submitter: &Submitter<'_>) -> std::io::Result<()> {
        while !self.fresh.is_empty() {
            match submitter.submit() {
                Ok(_) => break,
                Err(e) if is_passing(&e) => {}
                Err(e) => return Err(e),
            }
        }
        let now = duty.clock.now_ns();
        for index in self.fresh.drain(..) {
            let slot = &mut self.slots[index as usize];
            slot.slat_ns = u32::try_from(now - slot.start_ns).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// `reaped` I/Os came back at `now`; decides whether they are followed by others.
    #[inline]
    fn arrive(&mut self, duty: &mut Duty, reaped: u32, now: u64) {
        // Ticks and flushes are among them, and are told apart later, one by one.
        let ios = reaped.min(*self.busy);
        self.unseen_ticks = reaped - ios;
        let over = duty.tally.reaped(now, u64::from(ios));
        *self.busy -= ios;
        if over {
            self.end = self.end.or(Some(End::Time));
        } else if duty.stop.load(Ordering::Relaxed) && matches!(self.end, None | Some(End::Amount)) {
            duty.tally.close(now);
            self.end = Some(End::Stopped);
        }
    }

    /// One of those that came back was a tick.
    #[cold]
    fn tick(&mut self, duty: &mut Duty, flags: u32) {
        self.is_ticking = tick::goes_on(flags);
        if self.unseen_ticks > 0 {
            self.unseen_ticks -= 1;
        } else {
            duty.tally.not_reaped();
            *self.busy += 1;
        }
    }

    /// Counts one completion and frees its slot.
    #[inline]
    fn complete(&mut self, duty: &mut Duty, index: u32, result: i32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.busy = false;
        if KIND == ANY && slot.is_flush {
            // It is no I/O of the job's, and was not counted when it left.
            duty.tally.not_reaped();
        }
        let moves_data = match KIND {
            READS | WRITES => true,
            NOP => false,
            _ => !self.is_nop && !slot.is_flush && slot.direction != Direction::Trim,
        };
        if result != if moves_data { slot.length as i32 } else { 0 } {
            if !survives(duty, slot, result, now) {
                self.end = Some(End::Error);
            }
            slot.is_flush = false;
            return;
        }
        if KIND == ANY && slot.is_flush {
            slot.is_flush = false;
            duty.tally.flushed(now - slot.start_ns);
            return;
        }
        let direction = if KIND == READS { Direction::Read } else { slot.direction };
        let from_ns = if OPEN { slot.due_ns } else { slot.start_ns };
        duty.tally.count(direction, now - from_ns, slot.length);
        if OPEN {
            duty.tally.service(direction, now - slot.start_ns);
        }
        duty.moved += u64::from(slot.length);
        if KIND == ANY {
            settle(duty, slot, now);
        }
    }
}

impl Drop for Uring {
    /// With I/Os still in the kernel's hands the buffers must stay mapped, since the kernel may yet
    /// write to them: they are left behind, and the ring is closed without waiting.
    fn drop(&mut self) {
        if self.busy == 0 && self.registered {
            // Closing a ring lets go of its file some time later; whoever detaches the device next
            // would find it in use. Where this fails, that is all that happens.
            let submitter = self.ring.submitter();
            let _ = submitter.unregister_files().and_then(|()| submitter.unregister_buffers());
        }
        // SAFETY: dropped here once and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
        if self.busy == 0 {
            // SAFETY: as above; nothing in the kernel refers to the region.
            unsafe { ManuallyDrop::drop(&mut self.region) };
        }
    }
}

/// Fills a slot and makes what is asked of the kernel.
#[inline]
fn prepare<const KIND: Kind>(slot: &mut Slot, request: Request, duty: &mut Duty) -> Op {
    slot.offset = request.offset.0;
    slot.length = request.length;
    slot.busy = true;
    let (buffer, length, offset) = (slot.buffer, request.length, request.offset.0);
    if KIND == READS {
        return Op::Read { buffer, length, offset };
    }
    slot.direction = request.direction;
    match (KIND, request.direction) {
        (NOP, _) => Op::Read { buffer, length, offset },
        (WRITES, Direction::Write) => {
            // SAFETY: the slot's buffer holds at least bs bytes, and no I/O is using it.
            unsafe { duty.stamper.stamp(buffer, offset, length) };
            Op::Write { buffer, length, offset, flags: 0, stream: 0 }
        }
        (ANY, Direction::Write) => {
            // SAFETY: as above.
            unsafe { duty.prepare_write(buffer, offset, length) };
            Op::Write { buffer, length, offset, flags: duty.write_flags, stream: duty.write_stream }
        }
        (ANY, Direction::Trim) => Op::Trim { length, offset, is_block_device: duty.is_block_device },
        _ => Op::Read { buffer, length, offset },
    }
}

/// What follows a completed request in the loop that can do everything.
fn settle(duty: &mut Duty, slot: &Slot, now: u64) {
    duty.tally.slat(slot.direction, u64::from(slot.slat_ns));
    // SAFETY: the slot's buffer holds at least bs bytes, and its I/O has come back.
    unsafe { duty.settle(slot.direction, slot.buffer, slot.offset, slot.length, now) };
}

/// Queues an entry for the next enter.
#[inline]
fn push(sq: &mut SubmissionQueue<'_>, entry: &io_uring::squeue::Entry) {
    // SAFETY: the entry's buffer belongs to a slot that is busy until its completion is reaped, and
    // the region is never unmapped while a slot is busy.
    let pushed = unsafe { sq.push(entry) };
    assert!(pushed.is_ok(), "the ring has an entry for each slot");
}

/// Submits what there is and takes what is complete, without waiting.
fn poll(submitter: &Submitter<'_>, is_busy: bool) -> std::io::Result<usize> {
    if !is_busy {
        std::hint::spin_loop();
        return Ok(0);
    }
    let queued = submitter.submit()?;
    // SAFETY: no argument is passed, and nothing is submitted.
    unsafe { submitter.enter::<libc::sigset_t>(0, 0, EnterFlags::GETEVENTS.bits(), None)? };
    Ok(queued)
}

/// Counts an I/O that failed or moved less than asked; whether the thread goes on.
#[cold]
fn survives(duty: &mut Duty, slot: &Slot, result: i32, now: u64) -> bool {
    let kind = match (result, slot.direction) {
        (..0, _) => errno_name(-result),
        (_, Direction::Write) => "short-write".to_owned(),
        (_, Direction::Read) => "short-read".to_owned(),
        (_, Direction::Trim) => "short-trim".to_owned(),
    };
    duty.survives(kind, (!slot.is_flush).then_some(slot.offset), now)
}

/// Whether an enter's error means only "look again": the wait's limit, a signal, a kernel short of
/// memory for the moment.
fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// Whether I/Os have been out longer than the deadline; then all of them are counted, the oldest first. Those
/// that are still `fresh` have not left yet.
#[cold]
fn stuck(duty: &mut Duty, slots: &[Slot], fresh: &[u32], now: u64) -> bool {
    let is_late = |slot: &Slot| slot.busy && now.saturating_sub(slot.start_ns) >= duty.stuck_after_ns;
    let mut late: Vec<&Slot> =
        (0..).zip(slots).filter(|(i, slot)| is_late(slot) && !fresh.contains(i)).map(|(_, slot)| slot).collect();
    late.sort_by_key(|slot| slot.start_ns);
    let Some(oldest) = late.first() else { return false };
    let age_ns = now.saturating_sub(oldest.start_ns);
    duty.stuck(late.iter().map(|slot| (!slot.is_flush).then_some(slot.offset)), age_ns, now);
    true
}
