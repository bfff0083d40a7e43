//! `cargo xtask swarm`: the swarm of the modelled drive, longer than in every run of the tests.
//!
//! The swarm itself stands with the drive (`crates/drive/tests/swarm`); this builds it in release and says
//! which seeds. It prints progress, each seed that fails, and how to replay it.

use crate::workspace::Workspace;
use crate::{Exit, run};
use anyhow::Result;

/// Tells the test which seeds: one number, or `FIRST..END`.
const VARIABLE: &str = "FLASHLAB_SWARM";

/// Runs `seeds` seeds from 0 on, or replays one.
pub(crate) fn run(workspace: &Workspace, seeds: u64, seed: Option<u64>) -> Result<Exit> {
    let mut command = run::cargo(workspace);
    command.args(["test", "--release", "--package", "flashlab-drive", "--test", "swarm", "--"]);
    command.args(["--ignored", "--exact", "a_long_swarm_lives", "--nocapture"]);
    command.env(VARIABLE, asked(seeds, seed));
    Ok(if run::inherit(command)?.success() { Exit::Done } else { Exit::Failed })
}

fn asked(seeds: u64, seed: Option<u64>) -> String {
    seed.map_or_else(|| format!("0..{seeds}"), |seed| seed.to_string())
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn a_range_or_one_seed() {
        assert_eq!((asked(1_000, None).as_str(), asked(1_000, Some(17)).as_str()), ("0..1000", "17"));
    }
}
