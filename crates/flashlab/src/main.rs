//! The command line: arguments, wiring, progress and exit codes. Everything that prints is here.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod catalog;
mod cmd;
mod exit;
mod made;
mod origin;
mod output;
mod progress;
mod real;
mod resolve;
mod session;
mod shared;
mod stop;
mod together;
mod trace;

use clap::Parser;
use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version go to standard output and are no error.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    match cmd::dispatch(args) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("flashlab: {}", exit::message(&error));
            exit::of(&error).into()
        }
    }
}
