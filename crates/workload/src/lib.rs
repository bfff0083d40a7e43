//! Seeded streams of I/O requests, the same for real and modelled drives.
//!
//! Fourth in the flow. A stream is a pure function of the job, the index of the job's thread and the
//! seed; it holds no clock and touches nothing. [`RequestStream`] says what is asked for,
//! [`ArrivalStream`] when.

mod arrivals;
mod distribution;
mod draw;
mod grid;
mod lengths;
mod order;
mod partly;
mod permutation;
mod replayed;
mod seed;
mod stream;
mod zipf;

pub use arrivals::{ArrivalStream, Picos};
pub use flashlab_spec::Direction;
pub use seed::named_seed;
pub use stream::{Request, RequestStream};
