//! The parts of a run with their headings, outcomes and times, and the summary at the end.

use super::output;
use crate::{Exit, run};
use anyhow::Result;
use std::collections::BTreeMap;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How a part ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Good,
    /// With what the program said at its end.
    Failed(String),
    /// Not run, with the reason.
    Skipped(String),
}

impl Outcome {
    /// What a program's exit status means.
    pub(super) fn of(status: ExitStatus) -> Self {
        if status.success() { Self::Good } else { Self::Failed(status.to_string()) }
    }
}

/// A part that was run or skipped.
struct Part {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// What has happened so far.
pub(super) struct Session {
    start: Instant,
    parts: Vec<Part>,
    /// Why something was left out, and how often that was said.
    skipped: BTreeMap<String, usize>,
    /// Where a line goes: to standard output, but not in our own tests, whose output is read by
    /// this very program.
    show: fn(&str),
}

impl Session {
    pub(super) fn new(show: fn(&str)) -> Self {
        Self { start: Instant::now(), parts: Vec::new(), skipped: BTreeMap::new(), show }
    }

    /// Keeps why something was left out.
    pub(super) fn skipped(&mut self, reason: String) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Does one part under its heading; true when it is good. Work that can't be done at all (a
    /// program that isn't there) has failed like any other: the parts after it still run.
    pub(super) fn part(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Result<Outcome>) -> bool {
        (self.show)(&format!("\n== {name} =="));
        let start = Instant::now();
        let outcome = work(self).unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        let part = Part { name: name.to_owned(), outcome, took: start.elapsed() };
        (self.show)(&format!("-- {}", part.line()));
        let good = part.outcome == Outcome::Good;
        self.parts.push(part);
        good
    }

    /// Runs a program as a part, shows its output, and keeps what it says it skipped.
    pub(super) fn run(&mut self, name: &str, command: Command) -> bool {
        self.part(name, |session| {
            let status = run::by_line(command, |line| {
                (session.show)(line);
                if let Some(reason) = output::skipped(line) {
                    session.skipped(reason);
                }
            })?;
            Ok(Outcome::of(status))
        })
    }

    /// Shows the summary and, as the last line, the tests' totals.
    pub(super) fn close(&self, totals: &str) -> Exit {
        let failed = self.failed();
        for line in self.summary(&failed) {
            (self.show)(&line);
        }
        (self.show)(totals);
        if failed.is_empty() { Exit::Done } else { Exit::Failed }
    }

    fn failed(&self) -> Vec<&str> {
        let failed = self.parts.iter().filter(|part| matches!(part.outcome, Outcome::Failed(_)));
        failed.map(|part| part.name.as_str()).collect()
    }

    fn summary(&self, failed: &[&str]) -> Vec<String> {
        let mut lines = vec!["\n== summary ==".to_owned()];
        lines.extend(self.parts.iter().map(Part::line));
        if !self.skipped.is_empty() {
            lines.push("skipped:".to_owned());
            lines.extend(self.skipped.iter().map(|(reason, count)| match count {
                1 => format!("  {reason}"),
                _ => format!("  {reason} ({count} times)"),
            }));
        }
        let took = seconds(self.start.elapsed());
        lines.push(match failed {
            [] => format!("no part failed; {took}"),
            _ => format!("FAILED: {}; {took}", failed.join(", ")),
        });
        lines
    }
}

impl Part {
    fn line(&self) -> String {
        let took = seconds(self.took);
        match &self.outcome {
            Outcome::Good => format!("ok       {took:>8}  {}", self.name),
            Outcome::Failed(why) => format!("FAILED   {took:>8}  {}: {why}", self.name),
            Outcome::Skipped(why) => format!("not run            {}: {why}", self.name),
        }
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(outcomes: &[Outcome]) -> Session {
        let mut session = Session::new(|_| ());
        for outcome in outcomes {
            session.part("part", |_| Ok(outcome.clone()));
        }
        session
    }

    #[test]
    fn one_failed_part_fails_the_whole_and_is_named() {
        let mut session = session(&[Outcome::Good]);
        assert!(!session.part("two", |_| Ok(Outcome::Failed("exit status: 1".into()))));
        assert!(session.part("three", |_| Ok(Outcome::Good)));
        assert_eq!(session.close("totals"), Exit::Failed);
        let summary = session.summary(&session.failed());
        assert!(summary.last().unwrap().starts_with("FAILED: two; "), "{summary:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failed_part() {
        let mut session = session(&[]);
        assert!(!session.run("part", Command::new("no-such-program-here")));
        assert!(matches!(&session.parts[0].outcome, Outcome::Failed(why) if why.contains("no-such-program-here")));
        assert_eq!(session.close("totals"), Exit::Failed);
    }

    #[test]
    fn a_skipped_part_fails_nothing_and_says_why() {
        let session = session(&[Outcome::Good, Outcome::Skipped("no rustfmt".into())]);
        assert_eq!(session.close("totals"), Exit::Done);
        assert!(session.summary(&[])[2].ends_with("part: no rustfmt"));
    }

    #[test]
    fn what_a_program_skips_is_kept_and_its_failure_told() {
        let mut session = session(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", "echo SKIPPED: no drive; echo SKIPPED: no drive; echo fine; exit 3"]);
        assert!(!session.run("part", command));
        assert_eq!(session.parts[0].outcome, Outcome::Failed("exit status: 3".into()));
        let summary = session.summary(&[]);
        assert!(summary.contains(&"  no drive (2 times)".to_owned()), "{summary:?}");
    }
}
