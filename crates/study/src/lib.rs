//! Questions put to modelled drives: what would this drive do under that load, and which parameters
//! explain what a drive did?
//!
//! Stands above the flow: it runs modelled drives itself and hands back plain values. Nothing here
//! prints, and no result is ever a measurement.

mod error;
pub mod fit;
pub mod what_if;

pub use error::StudyError;
