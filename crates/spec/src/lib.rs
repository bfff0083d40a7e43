//! What the user asks for: drive profiles, host profiles, jobs and suites. TOML text in, validated
//! values out.
//!
//! Third in the flow. Nothing is touched here: no file is opened, no device looked at. The text and
//! the name it came from are passed in; every error names file, line, key and remedy.

mod error;
mod host;
mod job;
mod profile;
mod suite;
mod toml_text;

pub use error::SpecError;
pub use host::{HostProfile, Hosts};
pub use job::{Generator, Job, Region, Rw};
pub use profile::{
    Arbitration, CapacityModel, ControllerModel, DriveProfile, Isolation, LinkModel, MappingModel, MergeModel,
    ModelParameters, NandModel, Parameter, PslcModel, QueuePairModel, Rated, ReadAheadModel, Source, Sourced,
    VictimChoice, WriteModel,
};
pub use suite::{CheckpointStep, FillStep, RoundLength, SteadyRule, SteadyStep, Suite, SuiteStep, SweepStep};
pub use toml_text::nearest;
