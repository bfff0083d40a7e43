//! The modelled drive: what a drive would do under a load, computed in virtual time from the
//! physical parameters of a profile.
//!
//! It stands at the seam beside the real targets and implements the same [`Target`]. The path of a
//! request, one file a box:
//!
//! ```text
//! host ─► link ─► controller ─┬─► write buffer ─► flush ─► mapping ─► dies
//!                             ├─► read-ahead                (units,      (channels,
//!                             └─► mapped read ◄──────────── superblocks,  tR, tProg, tErase)
//!                                                           collection)
//! ```
//!
//! Time is an integer number of picoseconds; no wall clock is read, so that one seed gives one
//! result to the bit. No curve of results stands anywhere in here.
//!
//! [`Target`]: flashlab_target::Target

mod controller;
mod duration;
mod engine;
mod event;
mod flush;
pub mod ftl;
mod host;
mod link;
mod merge;
mod model;
mod nand;
mod outcome;
mod queue_pair;
mod read_ahead;
mod read_path;
mod replay;
mod scale;
mod streams;
mod time;
mod write_buffer;
mod write_path;

pub use duration::JOB_TIME_MAX;
pub use model::ModelledDrive;
pub use replay::Footprint;
pub use scale::MAPPED_UNITS_MAX;
