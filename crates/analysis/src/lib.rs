//! What was measured, judged: figures from a job's result, steady state, Little's law, a run as a
//! whole as the report and the store see it, two sets of results compared, and results held against
//! published figures.
//!
//! Pure: values in, values out. Formulas of statistics and physics have their one home here.

mod compare;
mod fidelity;
mod figures;
mod physics;
mod published;
mod reasons;
mod replayed;
mod run;
mod steady;

pub use compare::{Comparison, ComparisonRow, compare};
pub use fidelity::{ErrorSummary, Fidelity, FidelityRow, fidelity};
pub use figures::{figures, remarks};
pub use physics::in_flight_by_little;
pub use published::{Comparable, PublishedError, PublishedPoint, published};
pub use reasons::{Reason, reasons};
pub use replayed::replay_remarks;
pub use run::{RunRecord, RunStatus, StepRecord};
pub use steady::{SteadyVerdict, SteadyWindow, judge_steady};
