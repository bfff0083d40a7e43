//! Suites: named procedures as data.

use crate::{ConcurrentStep, Rw, SpecError, SweepStep, toml_text};
use flashlab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A procedure: steps in order, and what its answer does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name on the command line.
    pub id: String,
    /// One line for lists and reports.
    pub title: String,
    /// What the suite is for, a few sentences.
    pub purpose: String,
    /// What its answer does not say, a sentence each; printed with every result.
    #[serde(default)]
    pub limits: Vec<String>,
    /// On a real target, use at most this much of it; absent means all. Modelled drives use all.
    #[serde(default)]
    pub region_max: Option<Bytes>,
    /// The steps.
    #[serde(rename = "step")]
    pub steps: Vec<SuiteStep>,
}

/// One kind of step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SuiteStep {
    /// Bring the drive to the state of no written block, where it can do so.
    Purge,
    /// Fill the whole region by sequential writes.
    Fill(FillStep),
    /// Run one job at each point of iodepth × numjobs; iodepth is the outer loop.
    Sweep(Box<SweepStep>),
    /// Run several loads at the same time.
    Concurrent(ConcurrentStep),
    /// Write at random, round after round, until the rule for steady state is met.
    Steady(SteadyStep),
    /// Fill the drive with checkpoints, pass after pass.
    Checkpoint(CheckpointStep),
}

impl SuiteStep {
    /// The name in results of a step that runs one load at a time.
    fn name_alone(&self) -> Option<String> {
        match self {
            SuiteStep::Purge | SuiteStep::Concurrent(_) => None,
            SuiteStep::Fill(step) => step.workload.clone(),
            SuiteStep::Sweep(step) => Some(step.name()),
            SuiteStep::Steady(step) => Some(step.workload.clone()),
            SuiteStep::Checkpoint(step) => Some(step.workload.clone()),
        }
    }
}

/// Sequential fills.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillStep {
    /// Transfer size.
    pub bs: Bytes,
    /// Outstanding I/Os of the one job.
    pub iodepth: u32,
    /// Whole fills, one after another.
    pub passes: u32,
    /// Report the fill's rate as a result of this workload; absent means that it only prepares.
    #[serde(default)]
    pub workload: Option<String>,
}

/// Rounds of random writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyStep {
    /// Name in results.
    pub workload: String,
    /// Pattern; must write.
    pub rw: Rw,
    /// Transfer size.
    pub bs: Bytes,
    /// Outstanding I/Os a job.
    pub iodepth: u32,
    /// Jobs.
    pub numjobs: u32,
    /// Length of a round.
    pub round: RoundLength,
    /// Write the nominal spare of the drive before the first round (raw less user capacity). A real
    /// target's spare is unknown: there the rounds begin at once.
    #[serde(default)]
    pub lead_in_spare: bool,
    /// When it is steady.
    pub rule: SteadyRule,
    /// Whether a rule that is not met is only reported and no failure of the run (exit code 1).
    #[serde(default)]
    pub only_report: bool,
}

/// How long a round is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RoundLength {
    /// This much time.
    Time(Nanos),
    /// This share of the capacity, `0 < share <= 1`.
    CapacityShare(f64),
}

/// Steady state as in SNIA's PTS: over a window of rounds, the range of the values and the movement
/// of their least-squares line both stay small.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteadyRule {
    /// Rounds in the window.
    pub window: u32,
    /// Largest (maximum − minimum) / average, as a share.
    pub range_max: f64,
    /// Largest |slope per round| × (window − 1) / average, as a share.
    pub slope_max: f64,
    /// Give up after this many rounds.
    pub rounds_max: u32,
}

/// Checkpoints written one after another by ranks, several passes over the drive.
///
/// The region is cut into pieces. In the first pass the ranks take the next free pieces in turn, as
/// they write. Before checkpoint `k` of a later pass, checkpoint `k` of the pass before is deleted,
/// without TRIM, and the new one takes its pieces in an order drawn from the seed: ranks, files and
/// the allocator of a file system do not replay the same order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointStep {
    /// Name in results; the single checkpoints are reported as `NAME-single`.
    pub workload: String,
    /// Bytes of one checkpoint, all ranks together.
    pub bytes: Bytes,
    /// A real target gets checkpoints in proportion: `bytes` × its size / this.
    pub reference_capacity: Bytes,
    /// Ranks, each writing its own files.
    pub ranks: u32,
    /// Transfer size.
    pub bs: Bytes,
    /// Outstanding I/Os a rank.
    pub iodepth: u32,
    /// Passes over the drive.
    pub passes: u32,
    /// Checkpoints a pass by drive, as published.
    #[serde(default)]
    pub count: BTreeMap<String, u32>,
    /// For all others: as many as fit into this share of the capacity.
    pub fill_share: f64,
    /// Size of the pieces in which files are placed; scaled like `bytes` on a real target.
    pub piece: Bytes,
}

impl Suite {
    /// Reads and checks a suite; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let suite: Suite = toml_text::parse(text, file).map_err(|whole| place_in_steps(text, file).unwrap_or(whole))?;
        suite.check(file)?;
        Ok(suite)
    }

    /// Whether results of this name are of a load that runs at the same time as others: another load than the
    /// same one alone.
    pub fn runs_beside_others(&self, workload: &str) -> bool {
        self.steps.iter().any(|step| match step {
            SuiteStep::Concurrent(step) => step.loads.iter().any(|load| load.name() == workload),
            _ => false,
        })
    }

    fn check(&self, file: &str) -> Result<(), SpecError> {
        if self.steps.is_empty() {
            let wrong = Wrong::new("step", "[]", "a suite without steps does nothing", "add a [[step]]");
            return Err(wrong.in_file(file, "step".into()));
        }
        for (i, step) in self.steps.iter().enumerate() {
            let at_the_key = |wrong: Wrong| (wrong.key.to_owned(), wrong);
            let checked = match step {
                SuiteStep::Purge => Ok(()),
                SuiteStep::Fill(step) => step.check().map_err(at_the_key),
                SuiteStep::Sweep(step) => step.check().map_err(at_the_key),
                SuiteStep::Concurrent(step) => step.check().and_then(|()| self.has_own_names(step)),
                SuiteStep::Steady(step) => step.check().map_err(at_the_key),
                SuiteStep::Checkpoint(step) => step.check().map_err(at_the_key),
            };
            checked.map_err(|(place, wrong)| wrong.in_file(file, format!("step {}, {place}", i + 1)))?;
        }
        Ok(())
    }

    /// A load beside others is another load than one alone, and its results don't stand among those.
    fn has_own_names(&self, step: &ConcurrentStep) -> Result<(), (String, Wrong)> {
        let names: Vec<String> = self.steps.iter().filter_map(SuiteStep::name_alone).collect();
        for (i, load) in step.loads.iter().enumerate() {
            let name = load.name();
            if names.contains(&name) {
                let (reason, remedy) = ("a step without other loads has this name", "such as read-under-write");
                return Err((format!("load {}, workload", i + 1), Wrong::new("workload", name, reason, remedy)));
            }
        }
        Ok(())
    }
}

/// A value that can't work.
pub(crate) struct Wrong {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) reason: &'static str,
    pub(crate) remedy: &'static str,
}

impl Wrong {
    pub(crate) fn new(key: &'static str, value: impl Into<String>, reason: &'static str, remedy: &'static str) -> Self {
        Wrong { key, value: value.into(), reason, remedy }
    }

    /// As the error of a file.
    pub(crate) fn in_file(&self, file: &str, key: String) -> SpecError {
        SpecError::Value {
            file: file.into(),
            key,
            value: self.value.clone(),
            reason: self.reason.into(),
            remedy: self.remedy.into(),
        }
    }
}

impl FillStep {
    fn check(&self) -> Result<(), Wrong> {
        match self.passes {
            1..=16 => Ok(()),
            n => Err(Wrong::new("passes", n.to_string(), "not a number of fills", "use 1 to 16")),
        }
    }
}

impl SteadyStep {
    fn check(&self) -> Result<(), Wrong> {
        if !self.rw.writes() {
            return Err(Wrong::new("rw", self.rw.word(), "a steady state needs writes", "use randwrite"));
        }
        if matches!(self.round, RoundLength::CapacityShare(x) if !(x > 0.0 && x <= 1.0)) {
            let shown = format!("{:?}", self.round);
            return Err(Wrong::new("round", shown, "not a share of the capacity", "use 0.05"));
        }
        let r = &self.rule;
        if r.window < 3 || r.rounds_max < r.window || r.rounds_max > 1000 {
            let shown = format!("window {}, rounds_max {}", r.window, r.rounds_max);
            return Err(Wrong::new("rule", shown, "the window does not fit", "use window 5, rounds_max 25"));
        }
        if !(r.range_max > 0.0 && r.slope_max > 0.0 && r.range_max.is_finite() && r.slope_max.is_finite()) {
            let shown = format!("range_max {}, slope_max {}", r.range_max, r.slope_max);
            return Err(Wrong::new("rule", shown, "limits must be above 0 and finite", "use 0.2 and 0.1"));
        }
        Ok(())
    }
}

impl CheckpointStep {
    fn check(&self) -> Result<(), Wrong> {
        if self.ranks == 0 || self.passes == 0 || self.passes > 100 {
            let shown = format!("{} ranks, {} passes", self.ranks, self.passes);
            return Err(Wrong::new("ranks", shown, "nothing to write", "use at least 1 rank and 1 to 100 passes"));
        }
        if !(self.fill_share > 0.0 && self.fill_share <= 1.0) {
            return Err(Wrong::new("fill_share", self.fill_share.to_string(), "not a share", "use 0.88"));
        }
        if self.bytes.0 == 0 || self.piece.0 == 0 || self.reference_capacity <= self.bytes {
            let reason = "a checkpoint has bytes and pieces and is smaller than the capacity";
            return Err(Wrong::new("bytes", self.bytes.exact(), reason, "use 1636GB of 61.44TB in pieces of 12GB"));
        }
        Ok(())
    }
}

/// serde reads a `[[step]]` whole before it knows its kind, so that an error inside one is placed at
/// its header. This reads the steps one by one, as the kind that each says it is, and gives the first
/// error with its own line.
fn place_in_steps(text: &str, file: &str) -> Option<SpecError> {
    let lines: Vec<&str> = text.lines().collect();
    let is_step = |line: &&str| line.split_whitespace().collect::<String>() == "[[step]]";
    let starts: Vec<usize> = (0..lines.len()).filter(|i| is_step(&lines[*i])).collect();
    for (i, start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(lines.len());
        let kind_at = (start + 1..end).find(|at| lines[*at].split('=').next().is_some_and(|key| key.trim() == "do"))?;
        let kind = lines[kind_at].split('"').nth(1)?;
        // Empty lines in the place of what comes before keep the numbers of the lines.
        let body: String = (0..end)
            .map(|at| if at <= *start || at == kind_at { "\n".to_owned() } else { format!("{}\n", lines[at]) })
            .collect();
        let error = match kind {
            "fill" => toml_text::parse::<FillStep>(&body, file).err(),
            "sweep" => toml_text::parse::<SweepStep>(&body, file).err(),
            "concurrent" => toml_text::parse::<ConcurrentStep>(&loads(&body), file).err(),
            "steady" => toml_text::parse::<SteadyStep>(&body, file).err(),
            "checkpoint" => toml_text::parse::<CheckpointStep>(&body, file).err(),
            _ => None,
        };
        if error.is_some() {
            return error;
        }
    }
    None
}

/// The tables of a step's loads as those of a text of their own.
fn loads(body: &str) -> String {
    let own = |line: &str| {
        let is_load = line.split_whitespace().collect::<String>() == "[[step.load]]";
        if is_load { "[[load]]\n".to_owned() } else { format!("{line}\n") }
    };
    body.lines().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
id = "t"
title = "t"
purpose = "t"
[[step]]
do = "purge"
[[step]]
do = "fill"
bs = "128K"
iodepth = 16
passes = 2
[[step]]
do = "sweep"
workload = "rand-read-4k"
rw = "randread"
bs = "4K"
iodepth = [1, 2]
numjobs = [1, 4]
runtime = "30s"
[[step]]
do = "steady"
workload = "rand-write-4k"
rw = "randwrite"
bs = "4K"
iodepth = 32
numjobs = 8
round = { capacity-share = 0.05 }
rule = { window = 5, range_max = 0.2, slope_max = 0.1, rounds_max = 25 }
"#;

    const AT_ONCE: &str = r#"
id = "t"
title = "t"
purpose = "t"
[[step]]
do = "concurrent"
[[step.load]]
workload = "read-under-write"
rw = "randread"
bs = "4KiB"
iodepth = 1
numjobs = 1
runtime = "30s"
[[step.load]]
rw = "write"
bs = "128KiB"
iodepth = 4
numjobs = 1
rate = "100MB/s"
runtime = "30s"
[[step]]
do = "sweep"
rw = "randread"
bs = "4KiB"
iodepth = 1
numjobs = [1, 4]
runtime = "30s"
"#;

    #[test]
    fn loads_at_the_same_time_are_a_step() {
        let suite = Suite::parse(AT_ONCE, "t.toml").expect("good text");
        let SuiteStep::Concurrent(step) = &suite.steps[0] else { panic!("{:?}", suite.steps[0]) };
        let names: Vec<String> = step.loads.iter().map(SweepStep::name).collect();
        assert_eq!(names, ["read-under-write", "seq-write-128k"]);
        assert!(suite.runs_beside_others("seq-write-128k") && !suite.runs_beside_others("rand-read-4k"));
        let again: Suite = toml::from_str(&toml::to_string(&suite).expect("text")).expect("a suite");
        assert_eq!(again, suite);
        for (from, to, says) in [
            ("rate =", "rates =", "t.toml:19: unknown field `rates`"),
            ("100MB/s", "100 parsecs", "t.toml:19: `load.rate`"),
            ("iodepth = 4", "iodepth = [4, 8]", "`step 1, load 2, iodepth` = [4, 8]: a load beside others has one"),
            ("iodepth = 4\n", "", "`step 1, load 2, iodepth` = []: an axis needs"),
            ("workload = \"read-under-write\"\n", "", "load 1, workload` = rand-read-4k: a step without other loads"),
            ("rw = \"write\"", "rw = \"write\"\nworkload = \"read-under-write\"", "two loads at the same time have"),
            ("\"concurrent\"", "\"concurent\"", "did you mean `concurrent`?"),
        ] {
            let error = Suite::parse(&AT_ONCE.replace(from, to), "t.toml").expect_err(says).to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn reads() {
        let suite = Suite::parse(GOOD, "t.toml").expect("good text");
        assert_eq!(suite.steps.len(), 4);
        assert!(matches!(&suite.steps[1], SuiteStep::Fill(f) if f.bs == Bytes::kib(128)));
    }

    #[test]
    fn errors_name_file_line_key_and_the_nearest_name() {
        let error = |from: &str, to: &str| Suite::parse(&GOOD.replace(from, to), "t.toml").expect_err(to).to_string();
        let typo = error("iodepth = [1, 2]", "io_depth = [1, 2]");
        assert!(typo.contains("io_depth") && typo.contains("did you mean `iodepth`?"), "{typo}");
        assert!(typo.starts_with("t.toml:17:"), "{typo}");
        let syntax = error("passes = 2", "passes = = 2");
        assert!(syntax.starts_with("t.toml:11:"), "{syntax}");
        let unit = error("\"30s\"", "\"30 parsecs\"");
        assert!(unit.starts_with("t.toml:19:"), "{unit}");
        assert!(unit.contains("parsecs") && unit.contains("us, ms, s"), "{unit}");
        assert!(error("[1, 4]", "[0]").contains("values from 1"));
        assert!(error("passes = 2", "passes = 0").contains("use 1 to 16"));
        assert!(error("window = 5", "window = 50").contains("window"));
        assert!(error("capacity-share = 0.05", "capacity-share = 5.0").contains("share of the capacity"));
        assert!(error("do = \"purge\"", "do = \"purgee\"").contains("did you mean `purge`?"));
    }
}
