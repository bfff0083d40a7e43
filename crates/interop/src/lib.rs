//! Other tools' files: fio job files and block traces in, our own values out.
//!
//! Stands beside the flow and gives it work from elsewhere. fio's unit rules live here and nowhere
//! else. Nothing is opened here: text and readers are passed in, with the name that errors give. What
//! a file says and we can't do is refused with its line, or listed in the result; never dropped.

mod error;
mod job_file;
mod trace;

pub use error::InteropError;
pub use job_file::{Extent, FioJob, FioTrace, Ignored, Note, read_jobs};
pub use trace::{
    AtLimit, Broken, BrokenLine, DeviceChoice, DirectionSummary, Event, REQUESTS_MAX, SizeCount, TraceFormat,
    TraceOptions, TraceRead, TraceSummary, Waits, read_trace,
};
