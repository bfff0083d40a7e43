//! `cargo xtask test`: everything that must hold before a change is good, in one command.
//!
//! The parts run in order, all of them even when one fails, except that nothing more is run once
//! the tests don't build. At the end stand a summary, what was skipped and why, and as the very
//! last line the tests' totals in the test runner's own form.

pub(crate) mod environment;
mod output;
mod session;

use crate::instructions::{self, Mode, Verdict};
use crate::workspace::Workspace;
use crate::{Exit, bench, golden, run, tidy};
use anyhow::Result;
use output::{Line, TestOutput};
use session::{Outcome, Session};
use std::process::Command;

/// Runs every part and judges.
pub(crate) fn run(workspace: &Workspace, browser: bool) -> Exit {
    let mut session = Session::new(|line| println!("{line}"));
    session.part("what this machine has", |session| {
        for reason in environment::prepare(browser)? {
            println!("SKIPPED: {reason}");
            session.skipped(reason);
        }
        Ok(Outcome::Good)
    });
    check_source(workspace, &mut session);
    let mut tests = TestOutput::default();
    if session.run("build the tests", cargo(workspace, &["test", "--workspace", "--no-run"])) {
        session.part("tests and golden files", |session| run_tests(workspace, session, &mut tests));
        // Before the benchmarks: they share its libraries, and its time is the one a user waits.
        session.run("release build", cargo(workspace, &["build", "--release"]));
        session.run("release: flashlab --version", release_version(workspace));
        for one in workspace.benches() {
            let smoke = bench::command(workspace, &one, &["--smoke".to_owned()]);
            session.run(&format!("smoke run of benchmark {}", one.name), smoke);
        }
        // Some 15 s: a count can be judged where a time could not.
        session.part("instructions of the model", |_| {
            // Only compared here, never written, whatever the developer's shell is set to.
            Ok(match instructions::run(workspace, Mode::Compare)? {
                Verdict::Good => Outcome::Good,
                Verdict::Failed(why) => Outcome::Failed(why),
                Verdict::Skipped(why) => Outcome::Skipped(why),
            })
        });
    } else {
        for name in ["tests and golden files", "release build", "benchmarks"] {
            session.part(name, |_| Ok(Outcome::Skipped("the tests don't build".into())));
        }
    }
    session.close(&tests.totals())
}

/// The parts that judge the source without running it.
fn check_source(workspace: &Workspace, session: &mut Session) {
    session.part("tidy", |_| {
        Ok(match tidy::run(workspace)? {
            Exit::Done => Outcome::Good,
            _ => Outcome::Failed("see the findings above".into()),
        })
    });
    for (component, arguments) in [
        ("fmt", &["fmt", "--all", "--check"][..]),
        ("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ] {
        match environment::missing_component(component) {
            Ok(Some(why)) => session.part(component, |_| Ok(Outcome::Skipped(why))),
            _ => session.run(component, cargo(workspace, arguments)),
        };
    }
    let mut documentation = cargo(workspace, &["doc", "--workspace", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    session.run("documentation", documentation);
}

/// All tests, with what they printed: a test says there what it had to skip.
fn run_tests(workspace: &Workspace, session: &mut Session, tests: &mut TestOutput) -> Result<Outcome> {
    let mut command = cargo(workspace, &["test", "--workspace", "--no-fail-fast", "--", "--show-output"]);
    // Golden files are compared here, never written, whatever the developer's shell is set to.
    command.env_remove(golden::VARIABLE).env("INSTA_UPDATE", "no").env_remove("INSTA_FORCE_PASS");
    let status = run::by_line(command, |line| match tests.line(line) {
        Line::Show(text) => println!("{text}"),
        Line::Hide => {}
        Line::Skipped(reason) => session.skipped(reason),
    })?;
    tests.passed = status.success();
    Ok(Outcome::of(status))
}

fn release_version(workspace: &Workspace) -> Command {
    let mut command = Command::new(workspace.metadata.target_directory.join("release/flashlab"));
    command.arg("--version").current_dir(&workspace.root);
    command
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = run::cargo(workspace);
    command.args(arguments);
    command
}
