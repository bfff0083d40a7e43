//! The load engine on the wall clock: runs jobs on regular files and loop devices with io_uring.
//!
//! Implements [`flashlab_target::Target`]. Takes what `guard` looked at and permitted, opens it, and
//! for each job starts one thread a job, each with its own ring, buffers and histograms; the calling
//! thread coordinates, reports progress and merges. It must not decide what may be written (it only
//! checks the permit on the very file it opened), judge results or print.
//!
//! What its figures mean:
//!
//! * An I/O counts if it completes inside the measured window: after the ramp, before the end. What
//!   is in flight at the end is awaited and not counted.
//! * The amount of a job counts every byte, those of the ramp included, so that it moves exactly the
//!   bytes that a plan announced.
//! * Latency runs from just before the enter that submits an I/O to just after the enter that brings
//!   it back, with one stamp for all I/Os of an enter. Submission isn't timed apart: slat is `None`.
//! * CPU time is that of the whole process during the measured window, so that the kernel's worker
//!   threads for this process are in it, and so is anything else the process does meanwhile.
//! * Nothing is flushed: writes are complete when the kernel says so ("no-fsync" in what was
//!   granted).

// The engine hands buffers to the kernel; each block says why it may.
#![allow(unsafe_code)]

mod admit;
mod data;
mod entry;
mod explain;
mod job;
mod ledger;
mod null;
mod pace;
mod probe;
mod psync;
mod region;
mod ring;
mod seal;
mod series;
mod source;
mod tally;
mod target;
mod together;
mod tuning;
mod uring;
mod verify;
mod worker;

pub use probe::{DirectProbe, Probe, RingProbe, Unavailable, probe};
pub use target::{ASSUMED_RATE, EngineChoice, FileTarget, IntervalSink, OpenOptions};
pub use together::{DirectionSum, Sum, Together, run_together};
pub use tuning::Tuning;
