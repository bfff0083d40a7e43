//! The psync engine: one blocking pread or pwrite at a time. Used only when it is asked for.

use crate::explain::errno_name;
use crate::region::Region;
use crate::worker::{Duty, End};
use flashlab_workload::Direction;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A file with one buffer.
pub(crate) struct Psync {
    file: Arc<File>,
    region: Region,
}

impl Psync {
    pub(crate) fn prepare(file: Arc<File>, region: Region) -> Self {
        Psync { file, region }
    }

    /// Runs the thread's requests to their end.
    pub(crate) fn run(&mut self, duty: &mut Duty) -> End {
        let mut last_ns = 0;
        while let Some(request) = duty.source.next() {
            let (offset, length) = (request.offset.0, request.length);
            let is_write = request.direction == Direction::Write;
            let buffer = self.region.bytes_mut(0, length as usize);
            if is_write {
                // SAFETY: the buffer is `length` bytes long and page-aligned.
                unsafe { duty.stamper.stamp(buffer.as_mut_ptr(), offset, length) };
            }
            let start = duty.clock.now_ns();
            duty.tally.submitted(start, 1);
            let done = rustix::io::retry_on_intr(|| {
                if is_write {
                    rustix::io::pwrite(&self.file, &*buffer, offset)
                } else {
                    rustix::io::pread(&self.file, &mut *buffer, offset)
                }
            });
            let now = duty.clock.now_ns();
            last_ns = now;
            let over = duty.tally.reaped(now, 1);
            match done {
                Ok(moved) if moved == length as usize => {
                    duty.tally.count(is_write, now - start, length);
                    duty.moved += u64::from(length);
                }
                other => {
                    let kind = match (other, is_write) {
                        (Err(e), _) => errno_name(e.raw_os_error()),
                        (Ok(_), true) => "short-write".to_owned(),
                        (Ok(_), false) => "short-read".to_owned(),
                    };
                    duty.fail(kind, Some(offset), now);
                    return End::Error;
                }
            }
            duty.publish();
            if over {
                return End::Time;
            }
            if duty.stop.load(Ordering::Relaxed) {
                duty.tally.close(now);
                return End::Stopped;
            }
        }
        // The window of an amount ends with its last completion.
        duty.tally.close(last_ns);
        End::Amount
    }
}
