//! `cargo xtask bench`: the benchmarks in full, as a person runs them.

use crate::workspace::{Bench, Workspace};
use crate::{Exit, instructions, run};
use anyhow::Result;
use std::process::Command;

/// Runs the named benchmark, or all; stops at none of them, fails if one did.
pub(crate) fn run(workspace: &Workspace, name: Option<&str>, arguments: &[String]) -> Result<Exit> {
    let all = workspace.benches();
    let chosen: Vec<&Bench> = all.iter().filter(|bench| name.is_none_or(|name| bench.name == name)).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
        match name {
            Some(name) if !known.is_empty() => {
                eprintln!("error: no benchmark `{name}`; there are: {}", known.join(", "));
            }
            _ => eprintln!("error: the workspace has no [[bench]]"),
        }
        return Ok(Exit::Usage);
    }
    let mut exit = Exit::Done;
    for bench in chosen {
        println!("== bench {} ({}) ==", bench.name, bench.package);
        if !run::inherit(command(workspace, bench, arguments))?.success() {
            eprintln!("error: benchmark `{}` of {} failed", bench.name, bench.package);
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// Counts the instructions of the one benchmark that has workloads for it.
pub(crate) fn instructions(workspace: &Workspace, name: Option<&str>) -> Result<Exit> {
    if name != Some(instructions::BENCH) {
        eprintln!("error: instructions are counted for benchmark `{}` only", instructions::BENCH);
        return Ok(Exit::Usage);
    }
    Ok(instructions::run(workspace, instructions::Mode::from_environment())?.exit())
}

/// The cargo command that runs one benchmark.
pub(crate) fn command(workspace: &Workspace, bench: &Bench, arguments: &[String]) -> Command {
    let mut command = run::cargo(workspace);
    command.args(["bench", "--package", &bench.package, "--bench", &bench.name]);
    command.arg("--").args(arguments);
    command
}
