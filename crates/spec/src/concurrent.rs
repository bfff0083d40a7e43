//! Loads that run at the same time, such as reads under a load of writes.

use crate::suite::Wrong;
use crate::{SpecError, SweepStep, toml_text};
use serde::{Deserialize, Serialize};

/// More loads at the same time than this are a slip; their jobs are a matter of numjobs.
const LOADS_MAX: usize = 64;

/// Loads that begin together, each with the keys of a sweep and one point. Each ends as it says itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConcurrentStep {
    /// The loads, whose names differ.
    #[serde(rename = "load")]
    pub loads: Vec<SweepStep>,
}

/// What a load file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadFile {
    /// One load, or a sweep of it.
    One(Box<SweepStep>),
    /// Loads that run at the same time.
    AtOnce(ConcurrentStep),
}

impl LoadFile {
    /// Reads a load file: the keys of a load as [`SweepStep::parse_as_written`] takes them, or several `[[load]]`
    /// with these keys, which are [completed](SweepStep::complete). `file` is named in errors.
    ///
    /// # Errors
    /// [`SpecError`] with the line or the key.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let is_header = |line: &str| line.split_whitespace().collect::<String>() == "[[load]]";
        if !text.lines().any(is_header) {
            return SweepStep::parse_as_written(text, file).map(|load| LoadFile::One(Box::new(load)));
        }
        let mut step: ConcurrentStep = toml_text::parse(text, file)?;
        step.loads.iter_mut().for_each(SweepStep::complete);
        step.check().map_err(|(place, wrong)| wrong.in_file(file, place))?;
        Ok(LoadFile::AtOnce(step))
    }
}

impl ConcurrentStep {
    /// Refuses what can't work on any target; with the key and the load that it is of.
    pub(crate) fn check(&self) -> Result<(), (String, Wrong)> {
        if !(2..=LOADS_MAX).contains(&self.loads.len()) {
            let reason = "loads at the same time are several";
            let wrong = Wrong::new("load", self.loads.len().to_string(), reason, "give 2 to 64 loads, or a sweep");
            return Err((wrong.key.into(), wrong));
        }
        for (i, load) in self.loads.iter().enumerate() {
            let checked = load.check().and_then(|()| one_point(load)).and_then(|()| self.has_own_name(i));
            checked.map_err(|wrong| (format!("load {}, {}", i + 1, wrong.key), wrong))?;
        }
        Ok(())
    }

    /// Results are told apart by their names.
    fn has_own_name(&self, i: usize) -> Result<(), Wrong> {
        let name = self.loads[i].name();
        if !self.loads[..i].iter().any(|other| other.name() == name) {
            return Ok(());
        }
        let reason = "two loads at the same time have this name";
        Err(Wrong::new("workload", name, reason, "give each a workload name of its own"))
    }
}

fn one_point(load: &SweepStep) -> Result<(), Wrong> {
    let axes = [("iodepth", &load.iodepth), ("numjobs", &load.numjobs), ("threads", &load.threads)];
    match axes.iter().find(|(_, axis)| axis.len() > 1) {
        Some((key, axis)) => {
            let reason = "a load beside others has one point";
            Err(Wrong::new(key, format!("{axis:?}"), reason, "give one number; each combination is a step of its own"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_file_holds_one_load_or_several() {
        let one = LoadFile::parse("rw = 'read'\nbs = '4KiB'\niodepth = [1, 2]", "l.toml").expect("a load");
        assert!(matches!(one, LoadFile::One(load) if load.iodepth == [1, 2]));
        let text = "[[load]]\nrw = 'randread'\nbs = '4KiB'\nruntime = '1s'\n[[ load ]]\nrw = 'write'\nbs = '128KiB'";
        let LoadFile::AtOnce(step) = LoadFile::parse(text, "l.toml").expect("loads") else { panic!("several") };
        let seen: Vec<_> = step.loads.iter().map(|l| (l.name(), l.iodepth.clone(), l.passes)).collect();
        assert_eq!(seen, [("rand-read-4k".into(), vec![1], None), ("seq-write-128k".into(), vec![1], Some(1))]);
    }

    #[test]
    fn slips_are_refused() {
        let read = "[[load]]\nrw = 'randread'\nbs = '4k'\n";
        let many = read.repeat(LOADS_MAX + 1);
        for (text, says) in [
            (format!("{read}[[load]]\nrw = 'write'\nbs = '4k'\nio_depth = 3"), "l.toml:7: unknown field `io_depth`"),
            (format!("{read}[[load]]\nrw = 'write'\nbs = '4 parsecs'"), "l.toml:6: `load.bs`"),
            (format!("{read}{read}"), "`load 2, workload` = rand-read-4k: two loads"),
            (
                format!("{read}[[load]]\nrw = 'write'\nbs = '4k'\nnumjobs = [1, 8]"),
                "`load 2, numjobs` = [1, 8]: a load",
            ),
            (format!("{read}[[load]]\nrw = 'write'\nbs = '4k'\nthreads = [1, 8]"), "`load 2, threads` = [1, 8]"),
            (read.to_owned(), "`load` = 1: loads at the same time are several"),
            (many, "2 to 64 loads"),
            (format!("seed = 3\n{read}{read}"), "l.toml:1: unknown field `seed`"),
        ] {
            let error = LoadFile::parse(&text, "l.toml").expect_err(says).to_string();
            assert!(error.contains(says), "{says}: {error}");
        }
    }
}
