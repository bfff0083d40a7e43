//! Finds the free parameters of a profile from figures, published or measured.
//!
//! Blocks of parameters are fitted one after another, each from the starts of the plan, so that
//! a fit does not depend on what was fitted before. Equal inputs give equal profiles on any number of threads.

mod evaluate;
mod interval;
mod parameter;
mod plan;
mod reduced;
mod search;
mod twin;
mod write;

pub use plan::FitPlan;
pub use twin::{figures_of, twin};

use crate::StudyError;
use crate::what_if::Watch;
use evaluate::{Base, Judge, Trials};
use flashlab_analysis::{FidelityRow, PublishedPoint};
use flashlab_spec::{Hosts, Suite};
use interval::{Known, Pinned, intervals};
use parameter::Free;
use plan::Block;
use search::{evaluations_max, search};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use write::{Change, written};

/// Name and version of the JSON.
const SCHEMA: &str = "flashlab.fit/1";

/// What is to be fitted.
#[derive(Debug)]
pub struct FitQuestion<'a> {
    /// Text of the profile: everything but the free parameters stays.
    pub text: &'a str,
    /// Where it comes from; named in errors.
    pub file: &'a str,
    /// What may change.
    pub plan: &'a FitPlan,
    /// The drive of the plan whose free parameters these are.
    pub like: &'a str,
    /// The hosts that load it; not fitted.
    pub hosts: &'a Hosts,
    /// The suites that make the same figures.
    pub suites: Vec<&'a Suite>,
    /// The figures; those of other drives are left out.
    pub points: &'a [PublishedPoint],
    /// Seed of all streams.
    pub seed: u64,
    /// Threads, from 1.
    pub threads: usize,
}

/// A fitted profile and how well it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Name and version of this form.
    pub schema: &'static str,
    /// The drive.
    pub drive_id: String,
    /// Seed of all streams.
    pub seed: u64,
    /// Runs of the model.
    pub runs: usize,
    /// Each block that the figures tell of.
    pub blocks: Vec<BlockFit>,
    /// Text of the profile.
    pub profile: String,
}

/// Parameters that were fitted together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockFit {
    /// Name in the plan.
    pub block: String,
    /// Its parameters.
    pub parameters: Vec<Fitted>,
    /// What they were held against.
    pub residuals: Vec<Residual>,
    /// What the search said that a reader must know.
    pub remarks: Vec<String>,
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fitted {
    /// Table and key.
    pub key: String,
    /// Value with its unit.
    pub value: String,
    /// In the base unit: ns, B/s, a count or a share.
    pub value_base: f64,
    /// Low and high end of the 95 % interval, within the bounds of the plan.
    pub low: String,
    /// See `low`.
    pub high: String,
    /// Low end in the base unit.
    pub low_base: f64,
    /// High end in the base unit.
    pub high_base: f64,
    /// `alone`, `with KEY` if only a combination is known, or `no`.
    pub pinned: String,
    /// Whether the value is at a bound of the plan.
    pub at_bound: bool,
}

/// A figure and what the fitted profile makes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residual {
    /// Suite.
    pub suite: String,
    /// Workload.
    pub workload: String,
    /// Outstanding I/Os a job.
    pub iodepth: Option<u32>,
    /// Jobs.
    pub numjobs: Option<u32>,
    /// Threads.
    pub threads: Option<u32>,
    /// Pass.
    pub pass: Option<u32>,
    /// Which figure.
    pub metric: &'static str,
    /// The figure, in its base unit.
    pub figure: f64,
    /// The model's.
    pub modelled: f64,
    /// (modelled − figure) / figure.
    pub error: f64,
    /// Whether the figure is at the top of what the block's figures reach in its direction; those of one
    /// workload count as one together.
    pub at_ceiling: bool,
}

/// Fits the free parameters of a drive.
///
/// # Errors
/// If the profile, the plan and the figures don't go together, or the caller stops it.
pub fn fit(question: &FitQuestion<'_>, watch: &Watch<'_>) -> Result<Fit, StudyError> {
    let mut base = Base::new(question.text, question.file)?;
    let drive_id = base.profile()?.id;
    let blocks = question.plan.blocks_of(question.like)?;
    for free in blocks.iter().flat_map(|(_, free)| free) {
        base.set(free, free.start)?;
    }
    let figures: Vec<Vec<PublishedPoint>> = blocks.iter().map(|(b, _)| figures(question, &drive_id, b)).collect();
    let told = || blocks.iter().zip(&figures).filter(|(_, points)| !points.is_empty());
    if told().next().is_none() {
        return Err(StudyError::NoFigures { drive: drive_id });
    }
    let of: usize = told().map(|((_, free), _)| evaluations_max(free.len()) + 2).sum();
    let runs = AtomicUsize::new(0);
    let ran = || (watch.done)(runs.fetch_add(1, Ordering::Relaxed) + 1, of);
    let all = Judge {
        hosts: question.hosts,
        suites: vec![],
        seed: question.seed,
        threads: question.threads,
        stop: watch.stop,
        ran: &ran,
    };
    let (mut text, mut fitted) = (question.text.to_owned(), Vec::new());
    for ((block, free), points) in told() {
        let judge = Judge::new(&all, &question.suites, points);
        if judge.figures() < points.len() {
            let missing = points.iter().find(|p| question.suites.iter().all(|s| s.id != p.suite));
            let suite = missing.map_or_else(String::new, |p| p.suite.clone());
            return Err(StudyError::NoPlace { workload: block.name.clone(), suite });
        }
        let (block, changes) = one(block, free, &judge, &mut base)?;
        text = written(&text, &changes)?;
        fitted.push(block);
    }
    Ok(Fit { schema: SCHEMA, drive_id, seed: question.seed, runs: runs.into_inner(), blocks: fitted, profile: text })
}

fn figures(question: &FitQuestion<'_>, drive: &str, block: &Block) -> Vec<PublishedPoint> {
    let of_block = |p: &&PublishedPoint| {
        p.drive_id == drive && block.workloads.get(&p.suite).is_some_and(|list| list.contains(&p.workload))
    };
    question.points.iter().filter(of_block).cloned().collect()
}

/// Fits a block and leaves its values in `base`.
fn one<'a>(
    block: &Block,
    free: &[&'a Free],
    judge: &Judge<'_>,
    base: &mut Base,
) -> Result<(BlockFit, Vec<Change<'a>>), StudyError> {
    let start: Vec<f64> = free.iter().map(|f| f.on_axis(f.start)).collect();
    let rows = judge.rows(&base.profile()?)?;
    let weights = weights(&rows);
    let from = base.clone();
    let trials = Trials::new(judge, &from, free);
    let found = search(&trials, &start, &weights)?;
    let found = found.ok_or_else(|| StudyError::Profile(format!("{}: the starts make no profile", block.name)))?;
    let known = intervals(&trials, &found, &weights)?;
    let values = trials.values(&found.at);
    for (free, value) in free.iter().zip(&values) {
        base.set(free, *value)?;
    }
    let rows = judge.rows(&base.profile()?)?;
    let mut workloads: Vec<&str> = Vec::new();
    for row in &rows {
        if !workloads.contains(&row.published.workload.as_str()) {
            workloads.push(&row.published.workload);
        }
    }
    let pinned_by = workloads.join(", ");
    let change = |i: usize| Change { free: free[i], value: values[i], note: note(free, i, &known[i], &pinned_by) };
    let mut remarks = Vec::new();
    if weights.iter().sum::<f64>() < free.len() as f64 + 1.0 {
        remarks.push("no more figures than parameters: the intervals assume an error of 5 % a figure".to_owned());
    }
    let block = BlockFit {
        block: block.name.clone(),
        parameters: (0..free.len()).map(|i| fitted(free, i, values[i], &known[i])).collect(),
        residuals: rows.iter().map(residual).collect(),
        remarks,
    };
    Ok((block, (0..free.len()).map(change).collect()))
}

/// All figures of one workload at the top of what the block's figures reach count as one: they show one
/// constant again and again.
fn weights(rows: &[FidelityRow]) -> Vec<f64> {
    let place = |r: &FidelityRow| (r.published.suite.clone(), r.published.workload.clone());
    let same = |row: &&FidelityRow, of: &FidelityRow| row.at_ceiling && place(row) == place(of);
    let weight = |of: &FidelityRow| {
        if of.at_ceiling { 1.0 / rows.iter().filter(|row| same(row, of)).count() as f64 } else { 1.0 }
    };
    rows.iter().map(weight).collect()
}

fn note(free: &[&Free], i: usize, known: &Known, pinned_by: &str) -> String {
    let (low, high) = (free[i].text(known.low), free[i].text(known.high));
    match known.pinned {
        Pinned::Yes => format!("{low} to {high}; {pinned_by}"),
        Pinned::With(other) => format!("{low} to {high}, only together with {}; {pinned_by}", free[other].key),
        Pinned::No => format!("{low} to {high}, not pinned; {pinned_by}"),
    }
}

fn fitted(free: &[&Free], i: usize, value: f64, known: &Known) -> Fitted {
    let of = free[i];
    Fitted {
        key: of.key.clone(),
        value: of.text(value),
        value_base: value,
        low: of.text(known.low),
        high: of.text(known.high),
        low_base: known.low,
        high_base: known.high,
        pinned: match known.pinned {
            Pinned::Yes => "alone".into(),
            Pinned::With(other) => format!("with {}", free[other].key),
            Pinned::No => "no".into(),
        },
        at_bound: value <= of.low || value >= of.high,
    }
}

fn residual(row: &FidelityRow) -> Residual {
    let p = &row.published;
    Residual {
        suite: p.suite.clone(),
        workload: p.workload.clone(),
        iodepth: p.iodepth,
        numjobs: p.numjobs,
        threads: p.threads,
        pass: p.pass,
        metric: p.metric.word(),
        figure: p.value,
        modelled: row.result,
        error: row.error(),
        at_ceiling: row.at_ceiling,
    }
}
