//! The test runner's output, line by line: what to show, what was skipped, and the totals.
//!
//! Tests are run with `--show-output`, because a test prints what it had to skip and passes. The
//! output of passed tests is then taken out again, so that a person sees names and failures.

use std::time::Duration;

/// What to do with a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Show(String),
    Hide,
    /// Something was skipped, with the reason.
    Skipped(String),
}

/// Reads the output of any number of test binaries.
#[derive(Debug, Default)]
pub(super) struct TestOutput {
    /// Inside what the passed tests of a binary printed.
    in_successes: bool,
    /// How many binaries ended with their totals.
    binaries: u64,
    counts: Counts,
    took: Duration,
    /// Whether the runner as a whole ended well; a crashed binary has no totals of its own.
    pub(super) passed: bool,
}

/// How many tests ended which way.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
    filtered: u64,
}

impl TestOutput {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &str) -> Line {
        if let Some((counts, took)) = totals(line) {
            self.in_successes = false;
            self.binaries += 1;
            self.counts.add(counts);
            self.took += took;
            return if counts == Counts::default() { Line::Hide } else { Line::Show(format!("  {}", counts.short())) };
        }
        if let Some(reason) = skipped(line).or_else(|| ignored(line)) {
            return Line::Skipped(reason);
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ => {}
        }
        let noise = line.is_empty() || line.starts_with("running ") && line.ends_with(['t', 's']);
        if self.in_successes || noise { Line::Hide } else { Line::Show(line.to_owned()) }
    }

    /// The totals of all binaries, in the form in which the test runner closes.
    pub(super) fn totals(&self) -> String {
        let verdict = if self.passed && self.binaries > 0 { "ok" } else { "FAILED" };
        let Counts { passed, failed, ignored, measured, filtered } = self.counts;
        format!(
            "test result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored; {measured} measured; \
             {filtered} filtered out; finished in {:.2}s",
            self.took.as_secs_f64()
        )
    }
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.measured += other.measured;
        self.filtered += other.filtered;
    }

    fn short(self) -> String {
        let mut text = format!("{} passed", self.passed);
        for (count, name) in [(self.failed, "FAILED"), (self.ignored, "ignored"), (self.filtered, "filtered out")] {
            if count > 0 {
                text.push_str(&format!(", {count} {name}"));
            }
        }
        text
    }
}

/// The reason in a line such as `SKIPPED: no loop devices`.
pub(super) fn skipped(line: &str) -> Option<String> {
    line.trim_start().strip_prefix("SKIPPED:").map(|reason| reason.trim().to_owned())
}

/// The reason in a line such as `test name ... ignored, needs a drive`.
fn ignored(line: &str) -> Option<String> {
    let (name, how) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    let reason = how.strip_prefix(", ").unwrap_or("no reason given");
    Some(format!("ignored test {name}: {reason}"))
}

/// The counts and the time of a line `test result: ok. 3 passed; 0 failed; …; finished in 0.02s`.
fn totals(line: &str) -> Option<(Counts, Duration)> {
    let (_, rest) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = Counts::default();
    let mut took = Duration::ZERO;
    for part in rest.split("; ") {
        let (first, second) = part.split_once(' ')?;
        match second {
            "passed" => counts.passed = first.parse().ok()?,
            "failed" => counts.failed = first.parse().ok()?,
            "ignored" => counts.ignored = first.parse().ok()?,
            "measured" => counts.measured = first.parse().ok()?,
            "filtered out" => counts.filtered = first.parse().ok()?,
            _ => {
                let seconds: f64 = second.strip_prefix("in ")?.strip_suffix('s')?.parse().ok()?;
                took = Duration::try_from_secs_f64(seconds).ok()?;
            }
        }
    }
    Some((counts, took))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown and what was skipped of a whole output.
    fn read(text: &str) -> (TestOutput, Vec<String>, Vec<String>) {
        let (mut output, mut shown, mut reasons) = (TestOutput::default(), Vec::new(), Vec::new());
        for line in text.lines() {
            match output.line(line) {
                Line::Show(text) => shown.push(text),
                Line::Skipped(reason) => reasons.push(reason),
                Line::Hide => {}
            }
        }
        (output, shown, reasons)
    }

    const GOOD: &str = "\nrunning 3 tests\ntest a ... ok\ntest b ... ok\ntest c ... ignored, needs a drive\n\nsuccesses:\n\n\
        ---- a stdout ----\nSKIPPED: no loop devices\nsome talk\n\n\nsuccesses:\n    a\n    b\n\n\
        test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s\n\n";

    const BAD: &str = "running 1 test\ntest d ... FAILED\n\nsuccesses:\n\nsuccesses:\n\nfailures:\n\n---- d stdout ----\n\
        left is not right\n\n\nfailures:\n    d\n\n\
        test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.50s\n";

    #[test]
    fn passed_tests_are_names_and_their_skips_are_kept() {
        let (_, shown, reasons) = read(GOOD);
        assert_eq!(shown, ["test a ... ok", "test b ... ok", "  2 passed, 1 ignored"]);
        assert_eq!(reasons, ["ignored test c: needs a drive", "no loop devices"]);
    }

    #[test]
    fn what_a_failed_test_printed_is_shown() {
        let (_, shown, _) = read(BAD);
        assert!(shown.contains(&"left is not right".to_owned()), "{shown:?}");
        assert_eq!(shown.last().unwrap(), "  0 passed, 1 FAILED, 2 filtered out");
    }

    #[test]
    fn totals_of_all_binaries_have_the_runners_form() {
        let (mut output, ..) = read(&format!("{GOOD}{BAD}"));
        let line = output.totals();
        assert_eq!(
            line,
            "test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 1.75s"
        );
        output.passed = true;
        // Our own line is read back by the same reader as the runner's.
        assert_eq!(totals(&output.totals()), Some((output.counts, output.took)));
    }

    #[test]
    fn no_totals_at_all_are_no_success() {
        let output = TestOutput { passed: true, ..TestOutput::default() };
        assert!(output.totals().starts_with("test result: FAILED. 0 passed"), "{}", output.totals());
    }

    #[test]
    fn a_binary_without_tests_is_silent() {
        let text = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(read(text).1, [""; 0]);
    }
}
