//! What was measured, judged: figures from a job's result, steady state, Little's law, and a run as
//! a whole as the report and the store see it.
//!
//! Pure: values in, values out. Formulas of statistics and physics have their one home here.

mod figures;
mod physics;
mod run;
mod steady;

pub use figures::{figures, remarks};
pub use physics::in_flight_by_little;
pub use run::{RunRecord, RunStatus, StepRecord};
pub use steady::{SteadyVerdict, SteadyWindow, judge_steady};
