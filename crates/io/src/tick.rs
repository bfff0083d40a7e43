//! A completion each 100 ms that belongs to no I/O: a ring's own clock, so that a thread that waits for
//! completions looks up now and then. A limit on each wait does the same, and costs a timer set up and
//! taken down in the kernel each time.

use crate::pace::WAIT_MAX_NS;
use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{SubmissionQueue, Submitter, cqueue, opcode};

/// What a tick carries in the place of a slot's number.
pub(crate) const TICK: u64 = u64::MAX;

/// Asks for ticks until the ring is closed; whether they were asked for. A kernel that has none (before
/// Linux 6.4) says so by the first one, which is the last. Not for a ring whose entries are taken by a
/// kernel thread, nor for one that is polled.
pub(crate) fn start(submitter: &Submitter<'_>, sq: &mut SubmissionQueue<'_>) -> bool {
    let every = Timespec::new().nsec(WAIT_MAX_NS as u32);
    let entry = opcode::Timeout::new(&every).flags(TimeoutFlags::MULTISHOT).build().user_data(TICK);
    // SAFETY: the kernel reads the time as it takes the entry, which is before `submit` returns.
    let pushed = unsafe { sq.push(&entry) };
    sq.sync();
    let taken = submitter.submit();
    sq.sync();
    pushed.is_ok() && taken.is_ok_and(|n| n == 1)
}

/// Whether more follow this one.
pub(crate) fn goes_on(flags: u32) -> bool {
    cqueue::more(flags)
}
