//! Running other programs: with their output passed through, line by line, or collected.
//!
//! Every command of this crate starts programs only from here, so that a program that can't be
//! started always gives the same message.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitStatus, Output};

/// Cargo as the developer called it (`cargo run` sets `CARGO`), in the workspace's root.
pub(crate) fn cargo(workspace: &crate::Workspace) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&workspace.root);
    command
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with this program's own output.
pub(crate) fn inherit(mut command: Command) -> Result<ExitStatus> {
    // Ours first: the child writes past our buffer.
    std::io::stdout().flush().context("can't write to standard output")?;
    command.status().with_context(|| cant_start(&command))
}

/// Runs a command and keeps what it printed.
pub(crate) fn collect(mut command: Command) -> Result<Output> {
    command.output().with_context(|| cant_start(&command))
}

/// Runs a command and hands over each line of its standard output and error in the order they
/// were written: both share one pipe.
pub(crate) fn by_line(mut command: Command, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
    let (reader, writer) = std::io::pipe().context("can't make a pipe")?;
    command.stdout(writer.try_clone().context("can't share a pipe")?).stderr(writer);
    let mut child = command.spawn().with_context(|| cant_start(&command))?;
    // The command holds our copies of the writing end; with them open, the reader never ends.
    drop(command);
    for line in BufReader::new(reader).split(b'\n') {
        each(&String::from_utf8_lossy(&line.context("can't read a program's output")?));
    }
    child.wait().context("can't wait for a program")
}

fn cant_start(command: &Command) -> String {
    format!("can't start `{}`: is it installed and on PATH?", shown(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_streams_come_in_order() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; echo three; exit 4"]);
        let mut lines = Vec::new();
        let status = by_line(command, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["one", "two", "three"]);
        assert_eq!(status.code(), Some(4));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = by_line(Command::new("no-such-program-here"), |_| ()).unwrap_err();
        assert!(format!("{error:#}").contains("can't start `no-such-program-here`"), "{error:#}");
    }
}
