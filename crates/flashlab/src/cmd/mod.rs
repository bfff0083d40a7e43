//! The commands, a file each.

mod compare;
mod doctor;
mod drives;
mod execute;
mod export;
mod fidelity;
mod fit;
mod hosts;
mod list;
mod load;
mod plan;
mod report;
mod review;
mod run;
mod suites;
mod what_if;

use crate::args::{Args, Command};
use crate::exit::{CliError, Exit};
use crate::output;
use clap::CommandFactory;
use flashlab_store::Store;
use std::path::{Path, PathBuf};

/// Runs a command.
pub(crate) fn dispatch(args: Args) -> anyhow::Result<Exit> {
    let Some(command) = args.command else {
        output::print(&format!("{}\n", Args::command().render_long_help()))?;
        return Ok(Exit::Done);
    };
    match command {
        Command::Review(args) => review::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::List(args) => list::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::WhatIf(args) => what_if::run(&args),
        Command::Drives(args) => drives::run(&args),
        Command::Hosts(args) => hosts::run(&args),
        Command::Suites(args) => suites::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "flashlab", &mut text);
            output::print(&String::from_utf8_lossy(&text))?;
            Ok(Exit::Done)
        }
        Command::Man => {
            let mut text = Vec::new();
            let mut all = Args::command();
            all.build();
            clap_mangen::Man::new(all.clone()).render(&mut text)?;
            for command in all.get_subcommands().filter(|c| c.get_name() != "help") {
                clap_mangen::Man::new(command.clone()).render(&mut text)?;
            }
            output::print(&String::from_utf8_lossy(&text))?;
            Ok(Exit::Done)
        }
    }
}

/// The stores that commands look for when none is named, in this order.
const STORES: [&str; 2] = ["flashlab.db", "review/flashlab.db"];

/// As many threads as were asked for, or one for each core.
fn threads(asked: Option<u32>) -> Result<usize, CliError> {
    match asked {
        Some(0) => Err(CliError::usage("--threads is 0", "use at least 1")),
        Some(n) => Ok(n as usize),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// The store to read: the one named, or the first that exists here.
fn store_to_read(named: Option<&PathBuf>) -> anyhow::Result<Store> {
    let path = match named {
        Some(path) => path.as_path(),
        None => STORES.iter().map(Path::new).find(|p| p.exists()).ok_or_else(|| {
            CliError::usage(
                "no store here: neither ./flashlab.db nor ./review/flashlab.db exists",
                "run something first (flashlab review), or name a store with --store FILE",
            )
        })?,
    };
    Ok(Store::open(path)?)
}

/// Numbers of the runs that were named.
fn run_numbers(store: &Store, names: &[String]) -> anyhow::Result<Vec<i64>> {
    let known: Vec<i64> = store.runs()?.iter().map(|r| r.id).collect();
    let mut out = Vec::new();
    for name in names {
        let id = match name.as_str() {
            "latest" => store.latest()?,
            number => number.parse().ok().filter(|id| known.contains(id)),
        };
        let Some(id) = id else {
            let list = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("no run `{name}` in {}", store.path().display());
            let known =
                if list.is_empty() { "the store has no runs".to_owned() } else { format!("runs: {list}; or latest") };
            let other = STORES.iter().find(|other| Path::new(other).exists() && Path::new(other) != store.path());
            let other = other.map(|other| format!(", such as --store {other}")).unwrap_or_default();
            let remedy = format!("{known}; another store is named with --store{other}");
            return Err(CliError::usage(what, remedy).into());
        };
        if !out.contains(&id) {
            out.push(id);
        }
    }
    Ok(out)
}
