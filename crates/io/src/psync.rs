//! The psync engine: one blocking call at a time. Used only when it is asked for.

use crate::explain::errno_name;
use crate::region::Region;
use crate::think;
use crate::worker::{Duty, End, Setup};
use flashlab_workload::{Direction, Request};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `BLKDISCARD`, `_IO(0x12, 119)` in linux/fs.h: an array of start and length in bytes.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// A file with one buffer.
pub(crate) struct Psync {
    setup: Arc<Setup>,
    region: Region,
}

impl Psync {
    pub(crate) fn prepare(setup: Arc<Setup>, region: Region) -> Self {
        Psync { setup, region }
    }

    /// Runs the thread's requests to their end.
    pub(crate) fn run(&mut self, duty: &mut Duty) -> End {
        loop {
            if let Some(end) = await_due(duty) {
                return end;
            }
            if duty.flushes.is_due() {
                let start = duty.clock.now_ns();
                if let Err(e) = self.flush(duty.flushes.data_only) {
                    if !duty.survives(errno_name(e.raw_os_error()), None, duty.clock.now_ns()) {
                        return End::Error;
                    }
                } else {
                    duty.tally.flushed(duty.clock.now_ns() - start);
                }
            }
            let Some(request) = duty.source.next() else {
                // The window of an amount ends with its last completion.
                let now = duty.clock.now_ns();
                duty.tally.close(now);
                return End::Amount;
            };
            if duty.think.is_due()
                && let Some(end) = think::pause(duty)
            {
                return end;
            }
            if let Some(checker) = duty.checker.as_mut().filter(|checker| checker.is_at_turn()) {
                checker.turn();
            }
            if let Some(end) = self.perform(duty, request) {
                return end;
            }
        }
    }

    /// One request, counted; why the thread ends, if it does.
    fn perform(&mut self, duty: &mut Duty, request: Request) -> Option<End> {
        let due_ns = duty.pace.due_ns;
        let is_open = duty.pace.is_open();
        duty.pace.advance(duty.source.is_over());
        duty.think.took();
        if let Some(checker) = &mut duty.checker {
            checker.took();
        }
        let (offset, length, direction) = (request.offset.0, request.length, request.direction);
        let buffer = self.region.bytes_mut(0, length as usize).as_mut_ptr();
        if direction == Direction::Write {
            // SAFETY: the buffer is `length` bytes long and page-aligned, and no I/O is using it.
            unsafe { duty.prepare_write(buffer, offset, length) };
        }
        let start = duty.clock.now_ns();
        if is_open {
            duty.tally.waited(due_ns, start);
        }
        duty.tally.submitted(start, 1);
        let done = rustix::io::retry_on_intr(|| self.call(duty, &request));
        let now = duty.clock.now_ns();
        let over = duty.tally.reaped(now, 1);
        match done {
            Ok(moved) if moved == length as usize => {
                duty.tally.count(direction, now - if is_open { due_ns } else { start }, length);
                if is_open {
                    duty.tally.service(direction, now - start);
                }
                duty.moved += u64::from(length);
                // SAFETY: the buffer is `length` bytes long, and the call is over.
                unsafe { duty.settle(direction, buffer, offset, length, now) };
            }
            other => {
                let kind = match (other, direction) {
                    (Err(e), _) => errno_name(e.raw_os_error()),
                    (Ok(_), Direction::Write) => "short-write".to_owned(),
                    (Ok(_), _) => "short-read".to_owned(),
                };
                if !duty.survives(kind, Some(offset), now) {
                    return Some(End::Error);
                }
            }
        }
        duty.publish();
        if over {
            return Some(End::Time);
        }
        stopped(duty, now)
    }

    /// The system call of a request: bytes moved.
    fn call(&mut self, duty: &Duty, request: &Request) -> Result<usize, Errno> {
        let (offset, length) = (request.offset.0, request.length as usize);
        let file = &self.setup.file;
        match request.direction {
            Direction::Read => rustix::io::pread(file, self.region.bytes_mut(0, length), offset),
            Direction::Write => {
                let buffer = std::io::IoSlice::new(self.region.bytes_mut(0, length));
                let flags = if duty.write_flags == 0 { ReadWriteFlags::empty() } else { ReadWriteFlags::DSYNC };
                rustix::io::pwritev2(file, &[buffer], offset, flags)
            }
            Direction::Trim if self.setup.is_block_device => {
                let range = [offset, length as u64];
                // SAFETY: the ioctl reads two words, which live on this stack.
                let done = unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
                let failed = || Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
                if done == 0 { Ok(length) } else { Err(failed()) }
            }
            Direction::Trim => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(file, flags, offset, length as u64).map(|()| length)
            }
        }
    }

    fn flush(&self, data_only: bool) -> Result<(), Errno> {
        if data_only { rustix::fs::fdatasync(&self.setup.file) } else { rustix::fs::fsync(&self.setup.file) }
    }
}

/// Sleeps, and at last spins, until the next request of an open loop is due; why the thread ends, if it
/// does meanwhile.
fn await_due(duty: &mut Duty) -> Option<End> {
    if !duty.pace.is_open() {
        return None;
    }
    loop {
        let now = duty.clock.now_ns();
        if now >= duty.pace.due_ns {
            return None;
        }
        if duty.tally.reaped(now, 0) {
            return Some(End::Time);
        }
        if let Some(end) = stopped(duty, now) {
            return Some(end);
        }
        duty.publish();
        let sleep_ns = duty.pace.sleep_ns(now, duty.tally.end_ns());
        if sleep_ns > 0 {
            std::thread::sleep(Duration::from_nanos(sleep_ns));
        } else {
            std::hint::spin_loop();
        }
    }
}

fn stopped(duty: &mut Duty, now: u64) -> Option<End> {
    duty.stop.load(Ordering::Relaxed).then(|| {
        duty.tally.close(now);
        End::Stopped
    })
}
