//! The io_uring engine: one ring, a closed loop at iodepth.
//!
//! Each turn of the loop is one `io_uring_enter` that submits what there is and waits for at least
//! one completion, then reaps all of them. Time is stamped once before the enter, for all I/Os it
//! submits, and once after it, for all it brought back; latency is the difference. In the loop there
//! is no allocation, lock or other system call. It is compiled once for each set of features
//! (registered or not, with writes or without) rather than branching on them per I/O.

use crate::explain::errno_name;
use crate::region::{Region, Stamper};
use crate::ring::{PART_MAX, Ring};
use crate::worker::{Duty, End};
use flashlab_samples::Granted;
use flashlab_spec::Job;
use flashlab_target::TargetError;
use flashlab_workload::{Direction, Request};
use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, SubmissionQueue, opcode};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Longest wait for a completion, after which a stop request and stuck I/Os are looked for.
const WAIT_MAX_NS: u32 = 100_000_000;

/// One of the outstanding I/Os.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start_ns: u64,
    offset: u64,
    buffer: *mut u8,
    length: u32,
    buffer_index: u16,
    is_write: bool,
    busy: bool,
}

/// A ring with its buffers.
pub(crate) struct Uring {
    ring: ManuallyDrop<IoUring>,
    region: ManuallyDrop<Region>,
    file: Arc<File>,
    registered: bool,
    slots: Vec<Slot>,
    /// Slots submitted by the next enter, whose start is still to be stamped.
    fresh: Vec<u32>,
    busy: u32,
}

impl Uring {
    /// Everything the loop needs, allocated before the first I/O. Adds what was granted.
    ///
    /// # Errors
    /// [`TargetError::NotGranted`] without io_uring.
    pub(crate) fn prepare(
        job: &Job,
        file: Arc<File>,
        region: Region,
        granted: &mut Granted,
    ) -> Result<Self, TargetError> {
        let mut ring = Ring::new(job.iodepth)?;
        let registered = ring.register(&file, &region);
        ring.try_registered_ring();
        ring.tell(granted);
        let per_part = region.slots_a_part(PART_MAX) as u32;
        let slots = (0..job.iodepth).map(|i| Slot {
            start_ns: 0,
            offset: 0,
            buffer: region.slot(i),
            length: 0,
            buffer_index: (i / per_part) as u16,
            is_write: false,
            busy: false,
        });
        Ok(Uring {
            slots: slots.collect(),
            ring: ManuallyDrop::new(ring.ring),
            region: ManuallyDrop::new(region),
            file,
            registered,
            fresh: Vec::with_capacity(job.iodepth as usize),
            busy: 0,
        })
    }

    /// Runs the thread's requests to their end.
    pub(crate) fn run(&mut self, duty: &mut Duty) -> End {
        match (self.registered, duty.writes) {
            (true, false) => self.drive::<true, false>(duty),
            (true, true) => self.drive::<true, true>(duty),
            (false, false) => self.drive::<false, false>(duty),
            (false, true) => self.drive::<false, true>(duty),
        }
    }

    fn drive<const REGISTERED: bool, const WRITES: bool>(&mut self, duty: &mut Duty) -> End {
        let (mut submitter, mut sq, mut cq) = self.ring.split();
        // Saves the kernel a look-up; where it is refused the loop is the same without it.
        let _ = submitter.register_ring_fd();
        let wait = Timespec::new().nsec(WAIT_MAX_NS);
        let args = SubmitArgs::new().timespec(&wait);
        let mut flight = Flight::<REGISTERED, WRITES> {
            slots: &mut self.slots,
            fresh: &mut self.fresh,
            busy: &mut self.busy,
            fd: Fd(self.file.as_raw_fd()),
            end: None,
        };
        for index in 0..flight.slots.len() as u32 {
            flight.refill(duty, index, &mut sq);
        }
        if flight.fresh.is_empty() {
            // No share of the amount: this thread's window is empty.
            duty.tally.close(0);
            return End::Amount;
        }
        loop {
            flight.depart(duty);
            sq.sync();
            let entered = submitter.submit_with_args(1, &args);
            sq.sync();
            cq.sync();
            let now = duty.clock.now_ns();
            let reaped = cq.len() as u32;
            flight.arrive(duty, reaped, now);
            if let Err(e) = entered
                && !is_passing(&e)
            {
                duty.fail(errno_name(e.raw_os_error().unwrap_or(0)), None, now);
                return End::Error;
            }
            for completion in &mut cq {
                let index = completion.user_data() as u32;
                flight.complete(duty, index, completion.result(), now);
                flight.refill(duty, index, &mut sq);
            }
            // Gives the entries back before the next enter, which would take them for new ones.
            cq.sync();
            duty.publish();
            if *flight.busy == 0 && flight.fresh.is_empty() {
                // The window of an amount ends with its last completion.
                duty.tally.close(now);
                return flight.end.unwrap_or(End::Amount);
            }
            if (reaped == 0 || duty.look_for_stuck(now)) && stuck(duty, flight.slots, now) {
                return End::Error;
            }
        }
    }
}

/// The outstanding I/Os of a running loop.
struct Flight<'a, const REGISTERED: bool, const WRITES: bool> {
    slots: &'a mut [Slot],
    fresh: &'a mut Vec<u32>,
    busy: &'a mut u32,
    fd: Fd,
    /// Why nothing new is submitted any more.
    end: Option<End>,
}

impl<const REGISTERED: bool, const WRITES: bool> Flight<'_, REGISTERED, WRITES> {
    /// Queues the next request in a free slot, unless the loop is ending.
    #[inline]
    fn refill(&mut self, duty: &mut Duty, index: u32, sq: &mut SubmissionQueue<'_>) {
        if self.end.is_some() {
            return;
        }
        let Some(request) = duty.source.next() else {
            self.end = Some(End::Amount);
            return;
        };
        let slot = &mut self.slots[index as usize];
        let entry = prepare::<REGISTERED, WRITES>(slot, request, self.fd, &mut duty.stamper);
        push(sq, &entry.user_data(u64::from(index)));
        self.fresh.push(index);
    }

    /// Stamps all I/Os that the next enter submits.
    #[inline]
    fn depart(&mut self, duty: &mut Duty) {
        let now = duty.clock.now_ns();
        for index in self.fresh.iter() {
            self.slots[*index as usize].start_ns = now;
        }
        duty.tally.submitted(now, self.fresh.len() as u64);
        *self.busy += self.fresh.len() as u32;
        self.fresh.clear();
    }

    /// `reaped` I/Os came back at `now`; decides whether they are followed by others.
    #[inline]
    fn arrive(&mut self, duty: &mut Duty, reaped: u32, now: u64) {
        let over = duty.tally.reaped(now, u64::from(reaped));
        *self.busy -= reaped;
        if over {
            self.end = self.end.or(Some(End::Time));
        } else if duty.stop.load(Ordering::Relaxed) && matches!(self.end, None | Some(End::Amount)) {
            duty.tally.close(now);
            self.end = Some(End::Stopped);
        }
    }

    /// Counts one completion and frees its slot.
    #[inline]
    fn complete(&mut self, duty: &mut Duty, index: u32, result: i32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.busy = false;
        if result == slot.length as i32 {
            duty.tally.count(WRITES && slot.is_write, now - slot.start_ns, slot.length);
            duty.moved += u64::from(slot.length);
        } else {
            fail(duty, slot, result, now);
            self.end = Some(End::Error);
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

/// Fills a slot and makes its submission entry.
#[inline]
fn prepare<const REGISTERED: bool, const WRITES: bool>(
    slot: &mut Slot,
    request: Request,
    fd: Fd,
    stamper: &mut Stamper,
) -> Entry {
    slot.offset = request.offset.0;
    slot.length = request.length;
    slot.busy = true;
    let (buffer, length, offset) = (slot.buffer, request.length, request.offset.0);
    if WRITES && request.direction == Direction::Write {
        slot.is_write = true;
        // SAFETY: the slot's buffer holds at least bs bytes, and no I/O is using it.
        unsafe { stamper.stamp(buffer, offset, length) };
        if REGISTERED {
            opcode::WriteFixed::new(Fixed(0), buffer, length, slot.buffer_index).offset(offset).build()
        } else {
            opcode::Write::new(fd, buffer, length).offset(offset).build()
        }
    } else {
        slot.is_write = false;
        if REGISTERED {
            opcode::ReadFixed::new(Fixed(0), buffer, length, slot.buffer_index).offset(offset).build()
        } else {
            opcode::Read::new(fd, buffer, length).offset(offset).build()
        }
    }
}

/// Queues an entry for the next enter.
#[inline]
fn push(sq: &mut SubmissionQueue<'_>, entry: &Entry) {
    // SAFETY: the entry's buffer belongs to a slot that is busy until its completion is reaped, and
    // the region is never unmapped while a slot is busy.
    let pushed = unsafe { sq.push(entry) };
    assert!(pushed.is_ok(), "the ring has an entry for each slot");
}

/// Counts an I/O that failed or moved less than asked.
#[cold]
fn fail(duty: &mut Duty, slot: &Slot, result: i32, now: u64) {
    let kind = match (result, slot.is_write) {
        (..0, _) => errno_name(-result),
        (_, true) => "short-write".to_owned(),
        (_, false) => "short-read".to_owned(),
    };
    duty.fail(kind, Some(slot.offset), now);
}

/// Whether an enter's error means only "look again": the wait's limit, a signal, a kernel short of
/// memory for the moment.
fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// Whether an I/O has been out longer than the deadline; then it is counted, with its age.
#[cold]
fn stuck(duty: &mut Duty, slots: &[Slot], now: u64) -> bool {
    let oldest = slots.iter().filter(|slot| slot.busy).min_by_key(|slot| slot.start_ns);
    let Some(oldest) = oldest else { return false };
    let age_ns = now.saturating_sub(oldest.start_ns);
    if age_ns < duty.stuck_after_ns {
        return false;
    }
    duty.stuck(oldest.offset, age_ns, now);
    true
}
