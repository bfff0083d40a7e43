//! The load engine on the wall clock: runs jobs on regular files and loop devices with io_uring, with
//! blocking calls, or with nothing behind it.
//!
//! Implements [`flashlab_target::Target`]. Takes what `guard` looked at and permitted, opens it, and
//! for each job, or for several at the same time, starts one thread a job, each with its own ring, buffers
//! and histograms; the calling thread coordinates, reports progress and merges. It must not decide what may be written (it only
//! checks the permit on the very file it opened), judge results or print.
//!
//! What its figures mean:
//!
//! * An I/O counts if it completes inside the measured window: after the ramp, before the end. What
//!   is in flight at the end is awaited and not counted.
//! * The amount of a job counts every byte, those of the ramp included, so that it moves exactly the
//!   bytes that a plan announced.
//! * Latency runs from just before the enter that submits an I/O to just after the enter that brings
//!   it back, with one stamp for all I/Os of an enter. Submission is timed apart (slat) only where
//!   [`Tuning::split_submission`] asks for it; otherwise slat is `None`.
//! * In an open loop latency runs from the intended start, and `service` has the time from the actual
//!   submission. What waits for a free slot counts as in flight, as for Little's law it must.
//! * CPU time is that of the whole process during the measured window, so that the kernel's worker
//!   threads for this process are in it, and so is anything else the process does meanwhile. Where several
//!   jobs run at the same time it is not known of each.
//! * Nothing is flushed unless the job says so ("no-fsync" in what was granted). An fsync or fdatasync
//!   takes a slot like any I/O, follows so many completed writes, and is counted as a class of its own.
//! * Trims are discards of a block device, or holes punched into a file.
//! * Verification seals each logical block of a write and keeps a [ledger](FileTarget::with_ledger) of
//!   what was acknowledged. It tells what the death of the process leaves behind, not a loss of power.

// The engine hands buffers to the kernel; each block says why it may.
#![allow(unsafe_code)]

mod admit;
mod beside;
mod data;
mod entry;
mod explain;
mod job;
mod ledger;
mod machine;
mod merge;
mod null;
mod pace;
mod probe;
mod psync;
mod region;
mod ring;
mod runs;
mod seal;
mod series;
mod source;
mod speed;
mod tally;
mod target;
mod tick;
mod together;
mod tuning;
mod uring;
mod verify;
mod worker;

pub use probe::{DirectProbe, Probe, RingProbe, Unavailable, probe};
pub use target::{ASSUMED_RATE, EngineChoice, FileTarget, OpenOptions};
pub use together::{Member, Step, Sum, in_step};
pub use tuning::Tuning;
