//! The procedures: a suite is resolved against a target into a plan, and the plan is run step by
//! step, each finished step kept before the next begins.
//!
//! The lab doesn't know whether it holds a file, a drive or a model.

mod checkpoint;
mod error;
mod plan;
mod run;
mod steady;

pub use error::LabError;
pub use plan::{Estimate, Plan, PlanOptions, PlannedStep, StepKind, TargetFacts, plan};
pub use run::{Finished, RunObserver, coordinates, run_plan};
