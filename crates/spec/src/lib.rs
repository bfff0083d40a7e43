//! What the user asks for: drive profiles, host profiles, jobs and suites. TOML text in, validated
//! values out.
//!
//! Third in the flow. Nothing is touched here: no file is opened, no device looked at. The text and
//! the name it came from are passed in; every error names file, line, key and remedy.

mod arrival;
mod concurrent;
mod endurance;
mod error;
mod feature;
mod host;
mod job;
mod pattern;
mod profile;
mod profile_check;
mod replay;
mod sibling;
mod sizes;
mod suite;
mod sweep;
mod toml_text;
mod words;
mod writes;

pub use arrival::{Arrival, Rate};
pub use concurrent::{ConcurrentStep, LoadFile};
pub use error::SpecError;
pub use feature::Feature;
pub use host::{HostProfile, Hosts};
pub use job::{Generator, Job, Region, Rw};
pub use pattern::{Direction, Offsets, Pattern, Sharing, Zone};
pub use profile::{
    Arbitration, CapacityModel, ControllerModel, DriveProfile, Isolation, LinkModel, MappingModel, MergeModel,
    ModelParameters, NandModel, Parameter, PslcModel, QueuePairModel, Rated, ReadAheadModel, Source, Sourced,
    VictimChoice, WriteModel,
};
pub use replay::{Beyond, Replay, ReplayEnd, ReplayRequest, ReplaySummary};
pub use sibling::Sibling;
pub use sizes::{SizeRule, SizeShare, Sizes};
pub use suite::{CheckpointStep, FillStep, RoundLength, SteadyRule, SteadyStep, Suite, SuiteStep};
pub use sweep::{RateProcess, SweepStep};
pub use toml_text::nearest;
pub use words::{BytePattern, TextError};
pub use writes::{Data, Durability, Verify, WriteHint};
