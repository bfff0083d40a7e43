//! `cargo xtask test`: everything that must hold before a change is good, in one command.
//!
//! The parts run in order, all of them even when one fails, except that nothing more is run once
//! the tests don't build. At the end stand a summary, what was skipped and why, and as the very
//! last line the tests' totals in the test runner's own form.

mod environment;
mod output;

use crate::workspace::Workspace;
use crate::{Exit, bench, golden, run, tidy};
use anyhow::Result;
use output::{Line, TestOutput};
use std::process::Command;
use std::time::{Duration, Instant};

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Good,
    Failed(String),
    /// Not run, with the reason.
    Skipped(String),
}

/// A part that was run or skipped.
#[derive(Debug)]
struct Part {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Session {
    parts: Vec<Part>,
    /// What was left out and why: by the machine, by a test, by a part.
    skipped: Vec<String>,
    tests: TestOutput,
}

/// Runs every part and judges.
pub(crate) fn run(workspace: &Workspace, browser: bool) -> Result<Exit> {
    let start = Instant::now();
    let mut session = Session::default();
    heading("what this machine has");
    session.skipped = environment::prepare(browser)?;
    for reason in &session.skipped {
        println!("SKIPPED: {reason}");
    }
    check_source(workspace, &mut session)?;
    let builds = session.part("build the tests", |_| judge(run::inherit(build_tests(workspace))?))?;
    if builds {
        session.part("tests and golden files", |session| run_tests(workspace, session))?;
        smoke_benches(workspace, &mut session)?;
        session.part("release build", |_| judge(run::inherit(build_release(workspace))?))?;
        session.part("release: flashlab --version", |session| session.passed_through(release_version(workspace)))?;
    } else {
        let reason = "the tests don't build";
        for name in ["tests and golden files", "benchmarks", "release"] {
            session.parts.push(Part {
                name: name.into(),
                outcome: Outcome::Skipped(reason.into()),
                took: Duration::ZERO,
            });
        }
    }
    Ok(session.close(start.elapsed()))
}

/// The parts that judge the source without running it.
fn check_source(workspace: &Workspace, session: &mut Session) -> Result<()> {
    session.part("tidy", |_| {
        Ok(match tidy::run(workspace)? {
            Exit::Done => Outcome::Good,
            _ => Outcome::Failed("see the findings above".into()),
        })
    })?;
    for (component, arguments) in [
        ("fmt", &["fmt", "--all", "--check"][..]),
        ("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ] {
        session.part(component, |session| {
            if let Some(reason) = environment::missing_component(component)? {
                session.skipped.push(reason.clone());
                return Ok(Outcome::Skipped(reason));
            }
            judge(run::inherit(cargo(workspace, arguments))?)
        })?;
    }
    session.part("documentation", |_| {
        let mut command = cargo(workspace, &["doc", "--workspace", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        judge(run::inherit(command)?)
    })?;
    Ok(())
}

fn build_tests(workspace: &Workspace) -> Command {
    cargo(workspace, &["test", "--workspace", "--no-run"])
}

fn build_release(workspace: &Workspace) -> Command {
    cargo(workspace, &["build", "--release"])
}

fn release_version(workspace: &Workspace) -> Command {
    let mut command = Command::new(workspace.metadata.target_directory.join("release/flashlab"));
    command.arg("--version").current_dir(&workspace.root);
    command
}

/// All tests, with what they printed: a test says there what it had to skip.
fn run_tests(workspace: &Workspace, session: &mut Session) -> Result<Outcome> {
    let mut command = cargo(workspace, &["test", "--workspace", "--no-fail-fast", "--", "--show-output"]);
    // Golden files are compared here, never written, whatever the developer's shell is set to.
    command.env_remove(golden::VARIABLE).env("INSTA_UPDATE", "no").env_remove("INSTA_FORCE_PASS");
    let status = run::by_line(command, |line| match session.tests.line(line) {
        Line::Show(text) => println!("{text}"),
        Line::Hide => {}
        Line::Skipped(reason) => session.skipped.push(reason),
    })?;
    session.tests.passed = status.success();
    judge(status)
}

/// Each benchmark once, in its short form: it must still build and run.
fn smoke_benches(workspace: &Workspace, session: &mut Session) -> Result<()> {
    for one in workspace.benches() {
        let name = format!("smoke run of benchmark {}", one.name);
        session
            .part(&name, |session| session.passed_through(bench::command(workspace, &one, &["--smoke".to_owned()])))?;
    }
    Ok(())
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = run::cargo(workspace);
    command.args(arguments);
    command
}

fn judge(status: std::process::ExitStatus) -> Result<Outcome> {
    Ok(if status.success() { Outcome::Good } else { Outcome::Failed(status.to_string()) })
}

fn heading(name: &str) {
    println!("\n== {name} ==");
}

impl Session {
    /// Runs one part under its heading; true when it is good.
    fn part(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Result<Outcome>) -> Result<bool> {
        heading(name);
        let start = Instant::now();
        let outcome = work(self)?;
        let took = start.elapsed();
        match &outcome {
            Outcome::Good => println!("-- {name}: ok, {}", seconds(took)),
            Outcome::Failed(why) => println!("-- {name}: FAILED ({why}), {}", seconds(took)),
            Outcome::Skipped(why) => println!("-- {name}: not run: {why}"),
        }
        let good = outcome == Outcome::Good;
        self.parts.push(Part { name: name.to_owned(), outcome, took });
        Ok(good)
    }

    /// Runs a command, shows its output, and keeps what it says it skipped.
    fn passed_through(&mut self, command: Command) -> Result<Outcome> {
        let status = run::by_line(command, |line| {
            println!("{line}");
            self.skipped.extend(output::skipped(line));
        })?;
        judge(status)
    }

    /// Prints the summary and, as the last line, the tests' totals.
    fn close(mut self, took: Duration) -> Exit {
        heading("summary");
        for part in &self.parts {
            println!("{}", part.summary());
        }
        self.skipped.sort();
        self.skipped.dedup();
        if !self.skipped.is_empty() {
            println!("skipped:");
            self.skipped.iter().for_each(|reason| println!("  {reason}"));
        }
        let failed: Vec<&str> = self.parts.iter().filter(|part| part.failed()).map(|part| part.name.as_str()).collect();
        match failed.as_slice() {
            [] => println!("everything asked for is good, in {}", seconds(took)),
            failed => println!("FAILED: {}; in {}", failed.join(", "), seconds(took)),
        }
        println!("{}", self.tests.totals());
        if failed.is_empty() { Exit::Done } else { Exit::Failed }
    }
}

impl Part {
    fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    fn summary(&self) -> String {
        let (word, why) = match &self.outcome {
            Outcome::Good => ("ok", ""),
            Outcome::Failed(why) => ("FAILED", why.as_str()),
            Outcome::Skipped(why) => ("not run", why.as_str()),
        };
        format!("{word:<7}  {:>8}  {}{}{why}", seconds(self.took), self.name, if why.is_empty() { "" } else { ": " })
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(session: &mut Session, name: &str, outcome: Outcome) -> bool {
        session.part(name, |_| Ok(outcome)).unwrap()
    }

    #[test]
    fn one_failed_part_fails_the_whole() {
        let mut session = Session::default();
        assert!(good(&mut session, "one", Outcome::Good));
        assert!(!good(&mut session, "two", Outcome::Failed("exit status: 1".into())));
        assert!(good(&mut session, "three", Outcome::Good));
        assert_eq!(session.parts.len(), 3);
        assert_eq!(session.close(Duration::ZERO), Exit::Failed);
    }

    #[test]
    fn a_skipped_part_fails_nothing() {
        let mut session = Session::default();
        good(&mut session, "fmt", Outcome::Skipped("no rustfmt".into()));
        assert!(session.parts[0].summary().ends_with("fmt: no rustfmt"));
        assert_eq!(session.close(Duration::ZERO), Exit::Done);
    }

    #[test]
    fn what_a_command_skips_is_kept_and_its_failure_told() {
        let mut session = Session::default();
        let mut command = Command::new("sh");
        command.args(["-c", "echo SKIPPED: no io_uring; echo fine; exit 3"]);
        let outcome = session.passed_through(command).unwrap();
        assert!(matches!(outcome, Outcome::Failed(why) if why.contains('3')));
        assert_eq!(session.skipped, ["no io_uring"]);
    }
}
