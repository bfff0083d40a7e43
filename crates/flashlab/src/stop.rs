//! SIGINT, SIGTERM and SIGHUP (a lost terminal): the first asks for a clean end, the second ends at
//! once.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Set by the first signal.
pub(crate) type Stop = Arc<AtomicBool>;

/// Begins to listen.
pub(crate) fn listen() -> std::io::Result<Stop> {
    let stop = Stop::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Order matters: the shutdown looks at the flag that the second handler sets afterwards.
        flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
