//! `cargo xtask fidelity`: reviews the modelled drives with the tree as it is and holds the results
//! against published figures.
//!
//! It judges nothing itself: the table and the CSV are those of `flashlab fidelity`.

use crate::workspace::Workspace;
use crate::{Exit, run};
use anyhow::Result;

/// Below the target folder: where the review and the comparison are left.
const FOLDER: &str = "fidelity";

/// Runs `flashlab review` and `flashlab fidelity` in release mode.
pub(crate) fn run(workspace: &Workspace) -> Result<Exit> {
    let folder = workspace.metadata.target_directory.join(FOLDER);
    let folder = folder.as_str();
    if std::fs::exists(folder)? {
        // Ours, from the last time.
        std::fs::remove_dir_all(folder)?;
    }
    let (store, table) = (format!("{folder}/flashlab.db"), format!("{folder}/fidelity.csv"));
    let steps: [&[&str]; 2] = [&["review", "--out", folder], &["fidelity", "--store", &store, "--csv", &table]];
    for (i, arguments) in steps.into_iter().enumerate() {
        let mut command = run::cargo(workspace);
        command.args(["run", "--quiet", "--release", "--package", "flashlab", "--"]).args(arguments);
        if i == 0 {
            // Its table is that of the whole review; here only the comparison is wanted.
            command.stdout(std::process::Stdio::null());
        }
        if !run::inherit(command)?.success() {
            return Ok(Exit::Failed);
        }
    }
    println!("every comparison: {table}");
    Ok(Exit::Done)
}
