//! The developer's commands: `cargo xtask test`, `tidy`, `bench`, `swarm`, `fidelity` and `golden`.
//!
//! It stands beside the flow, not in it: it runs cargo and the built binary and reads the tree as
//! text. It must not link any crate of ours, so that it still works when one of them doesn't
//! compile.

// A command line tool of the developer: its output is what it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod fidelity;
mod golden;
mod instructions;
mod run;
mod swarm;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use workspace::Workspace;

/// The developer's commands of flashlab.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

/// What a developer can ask for.
#[derive(Subcommand)]
enum Task {
    /// Check everything: tidy, fmt, clippy, docs, tests with golden files, benchmarks, release
    Test {
        /// Also install chromium, for tests that look at the report in a browser
        #[arg(long)]
        browser: bool,
    },
    /// Check what the compiler doesn't: edges between crates, long functions, unsafe, links, data
    Tidy,
    /// Run a benchmark in full, or all of them
    Bench {
        /// The benchmark's name, as in its `[[bench]]`
        name: Option<String>,
        /// Count the instructions of its workloads and compare with the committed counts (`drive`)
        #[arg(long, requires = "name", conflicts_with = "arguments")]
        instructions: bool,
        /// Arguments for the benchmark itself, after `--`
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run random jobs on random modelled drives and check what must hold for all of them
    Swarm {
        /// How many seeds, from 0 on
        #[arg(default_value_t = 1_000)]
        seeds: u64,
        /// Replay this seed alone and show what it does
        #[arg(long, conflicts_with = "seeds")]
        seed: Option<u64>,
    },
    /// Review the modelled drives and compare with published figures
    Fidelity,
    /// Write the golden files anew; read the difference before it is committed
    Golden,
}

/// The exit codes that clap doesn't already give (it ends with 2 on a usage error).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Everything asked for was done and found good.
    Done = 0,
    /// A check failed.
    Failed = 1,
    /// What was asked for doesn't exist.
    Usage = 2,
    /// A program that the task needs could not be run, or a file not read.
    World = 3,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let exit = perform(arguments.command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        Exit::World
    });
    ExitCode::from(exit as u8)
}

fn perform(task: Task) -> anyhow::Result<Exit> {
    let workspace = Workspace::load()?;
    match task {
        Task::Test { browser } => Ok(test::run(&workspace, browser)),
        Task::Tidy => tidy::run(&workspace),
        Task::Bench { name, instructions: true, .. } => bench::instructions(&workspace, name.as_deref()),
        Task::Bench { name, arguments, .. } => bench::run(&workspace, name.as_deref(), &arguments),
        Task::Swarm { seeds, seed } => swarm::run(&workspace, seeds, seed),
        Task::Fidelity => fidelity::run(&workspace),
        Task::Golden => golden::run(&workspace),
    }
}
