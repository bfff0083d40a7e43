//! The answer of a review in short: drives by headline figures.
//!
//! Random writes stand in two states side by side, because one drive can differ several times between
//! them, and each heading names the state that its figures belong to.

use super::published::value_as;
use super::{Kind, Procedure, Section, Series};
use crate::text;
use flashlab_samples::{Condition, MetricName, PointResult};
use flashlab_spec::Rw;
use flashlab_units::Bytes;

/// A figure further than this from the published one is marked.
const OFF: f64 = 0.1;
/// Passes of checkpoints that have a column.
const PASSES: usize = 3;

/// Drives by headline figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) columns: Vec<Headline>,
    pub(crate) rows: Vec<Row>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Headline {
    pub(crate) title: String,
    /// For a terminal.
    pub(crate) short: &'static str,
    /// The one unit of its cells; empty for ratios.
    pub(crate) unit: &'static str,
    /// The states that its figures belong to.
    pub(crate) state: String,
    /// The first to go where a terminal is narrow have the highest rank; 0 stays.
    pub(crate) drop_rank: u8,
}

/// A drive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) rank: usize,
    /// Measured, modelled, or both.
    pub(crate) origin: String,
    pub(crate) cells: Vec<Option<Cell>>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Workload, place, state and the exact value.
    pub(crate) hover: String,
    /// The word of its state; none for ratios.
    pub(crate) state: Option<&'static str>,
    /// What reviews printed for it, where there is such a figure.
    pub(crate) published: Option<Printed>,
}

/// A published figure beside one of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Printed {
    /// In the unit of the column.
    pub(crate) text: String,
    /// (ours − published) / published, at the place of the published figure.
    pub(crate) error: f64,
}

impl Cell {
    /// Whether ours lies so far from what was printed that it must not be read without it.
    pub(crate) fn is_off(&self) -> bool {
        self.published.as_ref().is_some_and(|p| p.error.abs() > OFF)
    }
}

/// Which figure a column shows.
#[derive(Clone, Copy)]
enum Pick {
    /// The highest value of a workload of this kind.
    Best(Procedure, Rw, Option<Bytes>, MetricName),
    /// The first of two columns over the second.
    Ratio(usize, usize),
    /// Mean seconds of a checkpoint of a pass, from 0.
    Pass(usize),
}

struct Wanted {
    title: &'static str,
    /// Where all figures belong to this state: what is added to the title, and the short name.
    named_after: Option<(Condition, &'static str, &'static str)>,
    short: &'static str,
    unit: &'static str,
    drop_rank: u8,
    pick: Pick,
}

const BLOCK: Bytes = Bytes::kib(64);

fn wanted() -> Vec<Wanted> {
    use MetricName::{Bandwidth, Iops};
    let column =
        |title, short, unit, drop_rank, pick| Wanted { title, named_after: None, short, unit, drop_rank, pick };
    let grid = |rw, bs, name| Pick::Best(Procedure::Grid, rw, bs, name);
    let steady = Pick::Best(Procedure::Rounds, Rw::RandWrite, Some(BLOCK), Bandwidth);
    let gds = Pick::Best(Procedure::Threads, Rw::Read, Some(Bytes::mib(1)), Bandwidth);
    let mut out = vec![
        column("Sequential write", "seq write", "MB/s", 1, grid(Rw::Write, None, Bandwidth)),
        column("Sequential read", "seq read", "MB/s", 3, grid(Rw::Read, None, Bandwidth)),
        Wanted {
            named_after: Some((Condition::AfterFill, "free pool", "64K free pool")),
            ..column("64K random write", "64K rand write", "MB/s", 0, grid(Rw::RandWrite, Some(BLOCK), Bandwidth))
        },
        Wanted {
            named_after: Some((Condition::GcSteady, "steady", "64K steady")),
            ..column("64K random write in rounds", "64K in rounds", "MB/s", 0, steady)
        },
        column("Ratio of the two", "ratio", "", 1, Pick::Ratio(2, 3)),
        column("4K random read, peak", "4K rand read", "IOPS", 2, grid(Rw::RandRead, Some(Bytes::kib(4)), Iops)),
    ];
    let names = [("Checkpoint, pass 1", "ckpt 1"), ("Checkpoint, pass 2", "ckpt 2"), ("Checkpoint, pass 3", "ckpt 3")];
    for (pass, (title, short)) in names.into_iter().enumerate().take(PASSES) {
        out.push(column(title, short, "s", if pass == 1 { 5 } else { 4 }, Pick::Pass(pass)));
    }
    out.push(column("GDS read, 1M", "GDS 1M read", "MB/s", 6, gds));
    out
}

/// The matrix of all drives; columns that no drive fills are left out.
pub(crate) fn matrix(sections: &[Section<'_>]) -> Matrix {
    let mut drives: Vec<(usize, &str)> =
        sections.iter().flat_map(|s| &s.series).map(|s| (s.rank, s.label.as_str())).collect();
    drives.sort_unstable();
    drives.dedup();
    let wanted = wanted();
    let mut rows: Vec<Row> = drives
        .into_iter()
        .map(|(rank, label)| Row {
            label: label.to_owned(),
            rank,
            origin: origin(sections, rank),
            cells: cells(sections, rank, &wanted),
        })
        .collect();
    let filled: Vec<bool> = (0..wanted.len()).map(|c| rows.iter().any(|row| row.cells[c].is_some())).collect();
    let columns = wanted.iter().enumerate().filter(|(c, _)| filled[*c]);
    let columns = columns.map(|(c, w)| {
        let (title, short) = names(w, &rows, c);
        Headline { title, short, unit: w.unit, state: states(&rows, c), drop_rank: w.drop_rank }
    });
    let columns = columns.collect();
    for row in &mut rows {
        let mut column = 0;
        row.cells.retain(|_| {
            column += 1;
            filled[column - 1]
        });
    }
    Matrix { columns, rows }
}

/// How the figures of a drive came to be.
fn origin(sections: &[Section<'_>], rank: usize) -> String {
    let series = sections.iter().flat_map(|s| &s.series).filter(|s| s.rank == rank);
    let words = super::distinct(series.flat_map(Series::all_points).map(|p| p.origin.word()));
    words.join(" + ")
}

/// Title and short name. A column is not named after a state that not all of its figures belong to.
fn names(wanted: &Wanted, rows: &[Row], column: usize) -> (String, &'static str) {
    match wanted.named_after {
        Some((state, named, short)) if states(rows, column) == state.word() => {
            (format!("{}, {named}", wanted.title.trim_end_matches(" in rounds")), short)
        }
        _ => (wanted.title.to_owned(), wanted.short),
    }
}

/// The states of a column, each once.
fn states(rows: &[Row], column: usize) -> String {
    let all = rows.iter().filter_map(|row| row.cells[column].as_ref()?.state);
    super::distinct(all).join(", ")
}

fn cells(sections: &[Section<'_>], rank: usize, wanted: &[Wanted]) -> Vec<Option<Cell>> {
    let mut out: Vec<Option<(Cell, f64)>> = Vec::new();
    for column in wanted {
        let cell = match column.pick {
            Pick::Best(procedure, rw, bs, name) => {
                let fits = |k: Kind| k.procedure == procedure && k.rw == rw && bs.is_none_or(|bs| bs == k.bs);
                let all = series(sections, rank, &fits).filter_map(|(section, s)| Some((section, s, judged(s, name)?)));
                let best = all.max_by(|a, b| a.2.value(name).unwrap_or(0.0).total_cmp(&b.2.value(name).unwrap_or(0.0)));
                best.and_then(|(section, series, point)| figure(section, series, point, name))
            }
            Pick::Ratio(above, below) => ratio(&out, above, below),
            Pick::Pass(pass) => pass_cell(sections, rank, pass),
        };
        out.push(cell);
    }
    out.into_iter().map(|cell| cell.map(|(cell, _)| cell)).collect()
}

/// The series of a drive whose kind fits.
fn series<'b, 'a>(
    sections: &'b [Section<'a>],
    rank: usize,
    fits: &'b dyn Fn(Kind) -> bool,
) -> impl Iterator<Item = (&'b Section<'a>, &'b Series<'a>)> {
    let all = sections.iter().flat_map(|section| section.series.iter().map(move |s| (section, s)));
    all.filter(move |(_, s)| s.rank == rank && s.kind.is_some_and(fits))
}

/// The highest point; of rounds the one that sums them up, or the last one.
fn judged<'a>(series: &Series<'a>, name: MetricName) -> Option<&'a PointResult> {
    series.best(name).or_else(|| series.rounds.as_ref()?.points.last().copied())
}

/// A value in the unit of its column.
fn in_unit(name: MetricName, value: f64) -> String {
    match name {
        MetricName::Bandwidth => text::plain(value / text::rate_unit("MB/s")),
        MetricName::Seconds => format!("{value:.1}"),
        _ => text::plain(value),
    }
}

/// What was printed for the place of `point`; else the highest figure that was printed for the workload,
/// against ours at its place.
fn printed(series: &Series<'_>, point: &PointResult, name: MetricName) -> Option<Printed> {
    let here = series.published_for(point, name).map(|(_, theirs)| (theirs, point.value(name)));
    let highest = || {
        let all = series.published.iter().filter_map(|p| Some((value_as(p, name, series.kind)?, series.ours(p, name))));
        all.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let (theirs, ours) = here.or_else(highest)?;
    Some(Printed { text: in_unit(name, theirs), error: ours? / theirs - 1.0 })
}

fn figure(section: &Section<'_>, series: &Series<'_>, point: &PointResult, name: MetricName) -> Option<(Cell, f64)> {
    let metric = text::metric(point, name)?;
    let shown = in_unit(name, metric.value);
    let state = point.state.condition.word();
    let place = text::place(&point.at);
    let hover = format!("{} {}, {place}, {state}: {}", section.suite, section.workload, text::exact(metric));
    let published = printed(series, point, name);
    Some((Cell { text: shown, hover, state: Some(state), published }, metric.value))
}

fn ratio(cells: &[Option<(Cell, f64)>], above: usize, below: usize) -> Option<(Cell, f64)> {
    let value = |at: usize| cells.get(at)?.as_ref().map(|(_, value)| *value).filter(|v| *v > 0.0);
    let ratio = value(above)? / value(below)?;
    let hover = "random writes of a sweep over those in rounds to steady state".to_owned();
    Some((Cell { text: format!("{ratio:.1} ×"), hover, state: None, published: None }, ratio))
}

fn pass_cell(sections: &[Section<'_>], rank: usize, pass: usize) -> Option<(Cell, f64)> {
    let fits = |kind: Kind| kind.procedure == Procedure::Passes;
    let (section, series) = series(sections, rank, &fits).next()?;
    figure(section, series, series.points.get(pass)?, MetricName::Seconds)
}
