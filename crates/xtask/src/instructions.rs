//! `cargo xtask bench drive --instructions`: instructions a host I/O of the modelled drive, counted by
//! callgrind and held against the committed counts.
//!
//! Unlike time, a count doesn't depend on who else uses the machine, so that a small rise can be judged.
//! Each workload runs twice with different numbers of I/Os; the difference is free of what both begin
//! with. The compiler's version and the processor's string functions move a count by a percent or so.

use crate::test::environment;
use crate::workspace::Workspace;
use crate::{Exit, run};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The only benchmark that has workloads for this.
pub(crate) const BENCH: &str = "drive";
/// Its package.
const PACKAGE: &str = "flashlab-drive";
/// Set to `write`, the counts are written instead of compared.
const VARIABLE: &str = "FLASHLAB_INSTRUCTIONS";
/// From the root: the committed counts.
const COMMITTED: &str = "crates/drive/benches/instructions.toml";
/// A rise by more than this share fails.
const RISE_MAX: f64 = 0.05;
/// What the benchmark can run, with the two numbers that it is run with: I/Os, or pairs of fills.
const WORKLOADS: [(&str, [u64; 2]); 4] =
    [("read", [20_000, 120_000]), ("write", [20_000, 80_000]), ("mix", [20_000, 80_000]), ("fill", [1, 3])];

/// Instructions an I/O by workload.
type Counts = BTreeMap<String, f64>;

/// What is to be done with the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Held against the committed ones.
    Compare,
    /// Committed anew by a person, after this has written them.
    Write,
}

impl Mode {
    /// As the developer's shell says.
    pub(crate) fn from_environment() -> Self {
        if std::env::var_os(VARIABLE).is_some_and(|value| value == "write") { Mode::Write } else { Mode::Compare }
    }
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No workload rose too far, or the counts were written.
    Good,
    /// Which did.
    Failed(String),
    /// Why nothing could be counted or compared.
    Skipped(String),
}

impl Verdict {
    /// Says what a person has to know, and gives the exit code.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Verdict::Good => Exit::Done,
            Verdict::Failed(why) => {
                eprintln!("error: {why}");
                Exit::Failed
            }
            Verdict::Skipped(why) => {
                println!("SKIPPED: {why}");
                Exit::Done
            }
        }
    }
}

/// Counts all workloads and compares or writes them.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<Verdict> {
    let path = workspace.root.join(COMMITTED);
    if mode == Mode::Compare && !path.exists() {
        return Ok(Verdict::Skipped(format!(
            "instructions of the model: no {COMMITTED}; {} writes it",
            how_to_write()
        )));
    }
    if let Some(why) = environment::missing_program("valgrind", "valgrind", "instructions of the model")? {
        return Ok(Verdict::Skipped(why));
    }
    let binary = build(workspace)?;
    let folder = workspace.metadata.target_directory.join("instructions").into_std_path_buf();
    std::fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    let mut counts = Counts::new();
    for (workload, numbers) in WORKLOADS {
        counts.insert(workload.to_owned(), count(&binary, &folder, workload, numbers)?);
    }
    if mode == Mode::Write {
        std::fs::write(&path, text(&counts)).with_context(|| format!("can't write {COMMITTED}"))?;
        counts.iter().for_each(|(workload, count)| println!("{workload:<8} {count:>9.1} instructions an I/O"));
        println!("written to {COMMITTED}; read the difference before it is committed");
        return Ok(Verdict::Good);
    }
    let committed = std::fs::read_to_string(&path).with_context(|| format!("can't read {COMMITTED}"))?;
    let committed = toml::from_str(&committed).with_context(|| format!("{COMMITTED} is not a table of counts"))?;
    let (lines, verdict) = judge(&counts, &committed);
    lines.iter().for_each(|line| println!("{line}"));
    Ok(verdict)
}

fn how_to_write() -> String {
    format!("{VARIABLE}=write cargo xtask bench {BENCH} --instructions")
}

/// Builds the benchmark and returns where it is.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = run::cargo(workspace);
    command.args(["bench", "--package", PACKAGE, "--bench", BENCH, "--no-run", "--message-format", "json"]);
    command.stderr(Stdio::inherit());
    std::io::stdout().flush().context("can't write to standard output")?;
    let output = run::collect(command)?;
    if !output.status.success() {
        bail!("benchmark {BENCH} of {PACKAGE} doesn't build");
    }
    for message in cargo_metadata::Message::parse_stream(output.stdout.as_slice()) {
        if let cargo_metadata::Message::CompilerArtifact(artifact) = message.context("cargo's messages")?
            && artifact.target.name == BENCH
            && let Some(binary) = artifact.executable
        {
            return Ok(binary.into_std_path_buf());
        }
    }
    bail!("cargo names no binary of benchmark {BENCH}")
}

/// Instructions an I/O of one workload.
fn count(binary: &Path, folder: &Path, workload: &str, numbers: [u64; 2]) -> Result<f64> {
    let [(ios, instructions), (more_ios, more_instructions)] =
        [one(binary, folder, workload, numbers[0])?, one(binary, folder, workload, numbers[1])?];
    if more_ios <= ios || more_instructions <= instructions {
        bail!(
            "{workload}: {more_ios} I/Os in {more_instructions} instructions are not more than {ios} in {instructions}"
        );
    }
    Ok((more_instructions - instructions) as f64 / (more_ios - ios) as f64)
}

/// I/Os and instructions of one run.
fn one(binary: &Path, folder: &Path, workload: &str, number: u64) -> Result<(u64, u64)> {
    let out = folder.join(format!("{workload}-{number}.callgrind"));
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(binary).args(["--count", workload, &number.to_string()]).current_dir(folder);
    let output = run::collect(command)?;
    if !output.status.success() {
        bail!("{workload} under valgrind: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let ios = number_after(&String::from_utf8_lossy(&output.stdout), "ios ");
    let profile = std::fs::read_to_string(&out).with_context(|| format!("can't read {}", out.display()))?;
    let instructions = number_after(&profile, "totals: ").or_else(|| number_after(&profile, "summary: "));
    ios.zip(instructions).with_context(|| format!("{workload}: no count of I/Os or of instructions"))
}

/// The number on the first line that begins with `key`.
fn number_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)).and_then(|number| number.trim().parse().ok())
}

/// The committed file.
fn text(counts: &Counts) -> String {
    let mut text = format!(
        "# Instructions a host I/O (fill: a unit) of the modelled drive, by callgrind. A rise of more than\n\
         # {:.0} % fails `cargo xtask bench {BENCH} --instructions`. Not by hand:\n\
         # {}\n",
        RISE_MAX * 100.0,
        how_to_write()
    );
    counts.iter().for_each(|(workload, count)| text.push_str(&format!("{workload} = {count:.1}\n")));
    text
}

/// What to show, and whether a workload rose too far or was never counted.
fn judge(counts: &Counts, committed: &Counts) -> (Vec<String>, Verdict) {
    let (mut lines, mut failed) = (Vec::new(), Vec::new());
    for (workload, count) in counts {
        let Some(before) = committed.get(workload) else {
            failed.push(format!("{workload} has no committed count"));
            continue;
        };
        let rise = count / before - 1.0;
        let mut line =
            format!("{workload:<8} {count:>9.1} instructions an I/O, {:+.1} % from {before:.1}", rise * 100.0);
        if rise > RISE_MAX {
            failed.push(format!("{workload} takes {:.1} % more instructions an I/O", rise * 100.0));
        } else if rise < -RISE_MAX {
            line.push_str("; write the better count, so that it is kept");
        }
        lines.push(line);
    }
    if failed.is_empty() {
        return (lines, Verdict::Good);
    }
    let remedy = format!("make it as fast as it was, or commit the new counts with the reason: {}", how_to_write());
    (lines, Verdict::Failed(format!("{}; {remedy}", failed.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, f64)]) -> Counts {
        of.iter().map(|(workload, count)| ((*workload).to_owned(), *count)).collect()
    }

    #[test]
    fn a_rise_above_the_limit_fails_and_is_named() {
        let committed = counts(&[("read", 100.0), ("write", 200.0)]);
        assert_eq!(judge(&counts(&[("read", 104.9), ("write", 150.0)]), &committed).1, Verdict::Good);
        let (lines, verdict) = judge(&counts(&[("read", 105.1), ("write", 200.0)]), &committed);
        assert_eq!(lines.len(), 2);
        assert!(matches!(&verdict, Verdict::Failed(why) if why.starts_with("read takes 5.1 %")), "{verdict:?}");
    }

    #[test]
    fn a_fall_asks_for_the_new_count() {
        let (lines, verdict) = judge(&counts(&[("read", 50.0)]), &counts(&[("read", 100.0)]));
        assert!(lines[0].ends_with("so that it is kept") && verdict == Verdict::Good, "{lines:?}");
    }

    #[test]
    fn a_workload_without_a_count_fails() {
        let (_, verdict) = judge(&counts(&[("mix", 1.0)]), &Counts::new());
        assert!(matches!(&verdict, Verdict::Failed(why) if why.contains("mix has no committed count")), "{verdict:?}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = counts(&[("fill", 20.5), ("read", 301.2)]);
        assert_eq!(toml::from_str::<Counts>(&text(&written)).expect("what was written can be read"), written);
    }

    #[test]
    fn numbers_are_found_in_what_programs_print() {
        assert_eq!(number_after("events: Ir\nsummary: 12\n\ntotals: 34\n", "totals: "), Some(34));
        assert_eq!(number_after("ios many\n", "ios "), None);
    }
}
