//! Where results come from: this build, this host, now.

use flashlab_samples::{BuildInfo, Condition, DriveState, Origin, Provenance, TargetIdentity};

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The build.
pub(crate) fn build() -> BuildInfo {
    BuildInfo {
        tool: "flashlab".into(),
        version: VERSION.into(),
        commit: option_env!("FLASHLAB_COMMIT").map(str::to_owned),
    }
}

/// The provenance of a run that begins now. Host and kernel are left out of modelled runs, whose
/// results do not depend on them.
pub(crate) fn provenance(origin: Origin, seed: u64, target: &TargetIdentity) -> Provenance {
    // A modelled drive is made purged; of anything real nothing is known.
    let condition = if origin == Origin::Modelled { Condition::Purged } else { Condition::Unknown };
    let uname = rustix::system::uname();
    let measured = |text: &std::ffi::CStr| (origin == Origin::Measured).then(|| text.to_string_lossy().into_owned());
    Provenance {
        origin,
        build: build(),
        seed,
        started: Some(jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        host: measured(uname.nodename()),
        kernel: measured(uname.release()),
        target: target.clone(),
        state_before: DriveState { condition, ..DriveState::UNKNOWN },
    }
}
