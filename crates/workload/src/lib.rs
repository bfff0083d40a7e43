//! Seeded streams of I/O requests, the same for real and modelled drives.
//!
//! Fourth in the flow. A stream is a pure function of the job, the index of the job's thread and the
//! seed; it holds no clock and touches nothing.

mod seed;
mod stream;

pub use seed::named_seed;
pub use stream::{Direction, Request, RequestStream};
