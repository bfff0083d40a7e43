//! Tables for the terminal: the results at the end of a run, and the list of runs.

use crate::table::{Column, Table, wrap};
use crate::text::{self, clean};
use crate::view::{Matrix, Notes, Section, Series, matrix, sections, sentences, state_sentence, wear_rows};
use flashlab_analysis::{PublishedPoint, RunRecord, RunStatus};
use flashlab_samples::{MetricName, PointResult};

/// A full grid with more points than this is folded into a matrix; fewer stay a line each.
const LINES_MAX: usize = 9;
/// More runs than this are a line a drive; the whole would be hundreds of lines.
const WHOLE_MAX: usize = 2;

/// Latency columns from the left; the rarer the event, the sooner its column goes.
const LATENCIES: [(MetricName, u8); 5] = [
    (MetricName::LatMean, 2),
    (MetricName::LatP50, 3),
    (MetricName::LatP99, 1),
    (MetricName::LatP999, 5),
    (MetricName::LatP9999, 6),
];

/// The results of `runs` for a terminal of `width` columns. One or two runs: a block a run, in it a
/// block a workload. More of them: a line a drive with its headline figures. Bandwidth is in MB/s
/// (powers of 1000) throughout.
pub fn terminal_table(runs: &[RunRecord], published: &[PublishedPoint], width: usize, color: bool) -> String {
    if runs.len() > WHOLE_MAX {
        let matrix = matrix(&sections(runs, published));
        if !matrix.columns.is_empty() {
            return compact(runs, &matrix, width, color);
        }
    }
    let mut out = String::new();
    for run in runs {
        if !out.is_empty() {
            out.push('\n');
        }
        heading(&mut out, run, width, color);
        let mut notes = Notes::default();
        let sections = sections(std::slice::from_ref(run), &[]);
        for section in sections.iter().filter(|section| !section.prepares) {
            for series in &section.series {
                block(&mut out, section, series, &mut notes, width, color);
            }
            sentences(section).iter().for_each(|text| line(&mut out, text, width));
        }
        for wear in wear_rows(std::slice::from_ref(run)) {
            out.push('\n');
            let [least, mean, most] = &wear.erases;
            let text = format!(
                "Wear ({}): a superblock was erased {least} to {most} times, {mean} on average; {}",
                wear.origin,
                if wear.used == text::NONE {
                    "no rating of its life is known".to_owned()
                } else {
                    format!("{} of the rated life is used", wear.used)
                }
            );
            line(&mut out, &text, width);
        }
        preparation(&mut out, &sections, width);
        let remarks = step_remarks(run, &notes);
        let numbered = notes.all().map(|(n, text)| format!("[{n}] {text}"));
        let texts: Vec<String> = remarks.into_iter().map(str::to_owned).chain(numbered).collect();
        if !texts.is_empty() {
            out.push('\n');
        }
        texts.iter().for_each(|text| line(&mut out, text, width));
    }
    out
}

/// What steps said and no point repeats, such as why there was no purge; each once.
fn step_remarks<'a>(run: &'a RunRecord, notes: &Notes) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for remark in run.steps.iter().flat_map(|step| &step.remarks) {
        let of_a_point = notes.all().any(|(_, text)| text == remark);
        if !of_a_point && !out.contains(&remark.as_str()) {
            out.push(remark);
        }
    }
    out
}

/// A line a drive, and what its columns mean.
fn compact(runs: &[RunRecord], matrix: &Matrix, width: usize, color: bool) -> String {
    let mut out = String::new();
    overview(&mut out, runs, width, color);
    let mut columns = vec![Column::text("drive").wrap()];
    columns.extend(matrix.columns.iter().map(|c| {
        let column = Column::number(c.short).drop_rank(c.drop_rank);
        if c.unit.is_empty() { column } else { column.group(c.unit) }
    }));
    let mut table = Table::new(columns);
    let (mut others, mut off): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mixed = matrix.rows.iter().any(|row| row.origin != matrix.rows[0].origin);
    for row in &matrix.rows {
        let mut cells = vec![if mixed { format!("{} ({})", row.label, row.origin) } else { row.label.clone() }];
        for (headline, cell) in matrix.columns.iter().zip(&row.cells) {
            let Some(cell) = cell else {
                cells.push(text::NONE.to_owned());
                continue;
            };
            if let Some(printed) = cell.published.as_ref().filter(|_| cell.is_off()) {
                let error = text::signed_percent(printed.error);
                off.push(format!("! {}, {}: published {} ({error})", row.label, headline.short, printed.text));
                cells.push(format!("{}!", cell.text));
                continue;
            }
            // Figures of one column in unlike states must not look alike.
            match cell.state.filter(|state| headline.state.split(", ").next() != Some(*state)) {
                Some(state) => {
                    others.push(format!("* {}, {}: {state}", row.label, headline.short));
                    cells.push(format!("{}*", cell.text));
                }
                None => cells.push(cell.text.clone()),
            }
        }
        table.row(cells);
    }
    out.push('\n');
    out.push_str(&table.render(width, color));
    out.push('\n');
    others.iter().for_each(|text| line(&mut out, text, width));
    if !off.is_empty() {
        line(&mut out, "Model more than 10 % off what reviews printed; go by the published figure:", width);
        off.iter().for_each(|text| line(&mut out, text, width));
    }
    line(&mut out, &states_of(matrix), width);
    line(&mut out, "All points: results.csv and index.html of the report; side by side: flashlab compare A B", width);
    out
}

/// How many runs, of what, and those that did not end well.
fn overview(out: &mut String, runs: &[RunRecord], width: usize, color: bool) {
    let mut origins: Vec<String> = runs.iter().map(|r| r.provenance.origin.word().to_uppercase()).collect();
    origins.dedup();
    let mut seeds: Vec<String> = runs.iter().map(|r| r.provenance.seed.to_string()).collect();
    seeds.dedup();
    let done = runs.iter().filter(|r| r.status == RunStatus::Done).count();
    let text = format!("{} runs: {}, seed {}, {done} done", runs.len(), origins.join(" + "), seeds.join(", "));
    bold(out, &text, width, color);
    for run in runs.iter().filter(|r| r.status != RunStatus::Done) {
        let (id, suite, word) = (&run.provenance.target.id, &run.suite.id, run.status.word());
        line(out, &format!("{suite} of {id}: {word} ({} of {} steps)", run.steps_done(), run.steps_planned), width);
    }
}

/// The state that the figures of each column belong to.
fn states_of(matrix: &Matrix) -> String {
    let mut by_state: Vec<(&str, Vec<&str>)> = Vec::new();
    for column in &matrix.columns {
        let Some(state) = column.state.split(", ").next().filter(|state| !state.is_empty()) else { continue };
        match by_state.iter_mut().find(|(known, _)| *known == state) {
            Some((_, columns)) => columns.push(column.short),
            None => by_state.push((state, vec![column.short])),
        }
    }
    let all: Vec<String> = by_state.iter().map(|(state, columns)| format!("{state}: {}", columns.join(", "))).collect();
    format!("States: {}", all.join("; "))
}

fn bold(out: &mut String, text: &str, width: usize, color: bool) {
    if color {
        out.push_str("\u{1b}[1m");
    }
    line(out, text, width);
    if color {
        out.push_str("\u{1b}[0m");
    }
}

fn line(out: &mut String, text: &str, width: usize) {
    for part in wrap(&clean(text), width.max(1)) {
        out.push_str(&part);
        out.push('\n');
    }
}

fn heading(out: &mut String, run: &RunRecord, width: usize, color: bool) {
    let p = &run.provenance;
    let (done, planned) = (run.steps_done(), run.steps_planned);
    let text = format!(
        "{} of {}: {}, seed {}, {} ({done} of {planned} steps)",
        run.suite.id,
        p.target.id,
        p.origin.word().to_uppercase(),
        p.seed,
        run.status.word(),
    );
    bold(out, &text, width, color);
}

/// One workload of one run.
fn block(out: &mut String, section: &Section<'_>, series: &Series<'_>, notes: &mut Notes, width: usize, color: bool) {
    out.push('\n');
    line(out, &format!("{}  {}", section.workload, state_sentence(series.judged_points())), width);
    if let Some(rounds) = &series.rounds {
        line(out, &rounds.words(section.rate), width);
    }
    // The checkpoints one by one: the passes below are their means.
    if section.workload.ends_with("-single") && series.points.len() > LINES_MAX {
        let text = format!("{} checkpoints; each is in results.csv and in the report", series.points.len());
        line(out, &text, width);
        return;
    }
    match Grid::of(&series.points).filter(|_| series.points.len() > LINES_MAX) {
        Some(grid) => out.push_str(&grid.render(section, notes, width, color)),
        None => out.push_str(&lines(series, notes).render(width, color)),
    }
}

/// What the fills did, in one sentence; they are there for the state they leave.
fn preparation(out: &mut String, sections: &[Section<'_>], width: usize) {
    let rates = |section: &Section<'_>| -> String {
        let each: Vec<String> = section.all_points().map(|p| figure(p, MetricName::Bandwidth)).collect();
        format!("{} {} MB/s", section.workload, each.join(", then "))
    };
    let all: Vec<String> = sections.iter().filter(|section| section.prepares).map(rates).collect();
    if !all.is_empty() {
        out.push('\n');
        line(out, &format!("Preparation: {}", all.join("; ")), width);
    }
}

/// A line a point; for a workload in rounds without a point that sums them up, its last round.
fn lines(series: &Series<'_>, notes: &mut Notes) -> Table {
    let last_round = || series.rounds.as_ref().and_then(|r| r.points.last().copied());
    let points: Vec<&PointResult> =
        if series.points.is_empty() { last_round().into_iter().collect() } else { series.points.clone() };
    let depth = points.iter().any(|p| p.at.iodepth.is_some() || p.at.numjobs.is_some());
    let seconds = points.iter().any(|p| p.value(MetricName::Seconds).is_some());
    let mut columns: Vec<Column> = Vec::new();
    columns.extend(depth.then(|| [Column::number("iodepth"), Column::number("numjobs")]).into_iter().flatten());
    let threads = points.iter().any(|p| p.at.threads.is_some());
    let pass = points.iter().any(|p| p.at.pass.is_some());
    columns.extend(threads.then(|| Column::number("threads")));
    columns.extend(pass.then(|| Column::number(if series.rounds.is_some() { "round" } else { "pass" })));
    columns.extend(seconds.then(|| Column::number("seconds")));
    columns.extend([Column::number("MB/s"), Column::number("IOPS")]);
    columns.extend(LATENCIES.map(|(name, rank)| Column::number(text::label(name)).drop_rank(rank)));
    columns.push(Column::text("state").drop_rank(4));
    let any_notes = points.iter().any(|p| !p.remarks.is_empty());
    columns.extend(any_notes.then(|| Column::text("notes")));
    let mut table = Table::new(columns);
    for point in points {
        let at = &point.at;
        let number = |value: Option<u32>| value.map_or_else(|| text::NONE.to_owned(), |v| v.to_string());
        let mut cells: Vec<String> = Vec::new();
        cells.extend(depth.then(|| [number(at.iodepth), number(at.numjobs)]).into_iter().flatten());
        cells.extend(threads.then(|| number(at.threads)));
        cells.extend(pass.then(|| number(at.pass)));
        cells.extend(seconds.then(|| figure(point, MetricName::Seconds)));
        cells.extend([figure(point, MetricName::Bandwidth), figure(point, MetricName::Iops)]);
        cells.extend(LATENCIES.map(|(name, _)| figure(point, name)));
        cells.push(point.state.condition.word().to_owned());
        cells.extend(any_notes.then(|| marks(point, notes)));
        table.row(cells);
    }
    table
}

fn figure(point: &PointResult, name: MetricName) -> String {
    point.value(name).map_or_else(|| text::NONE.to_owned(), |value| text::in_column(name, value))
}

fn marks(point: &PointResult, notes: &mut Notes) -> String {
    notes.numbers(&point.remarks).into_iter().map(|n| format!("[{n}]")).collect()
}

/// A sweep that has each pair of its iodepths and numjobs once.
struct Grid<'a> {
    iodepth: Vec<u32>,
    numjobs: Vec<u32>,
    points: &'a [&'a PointResult],
}

impl<'a> Grid<'a> {
    fn of(points: &'a [&'a PointResult]) -> Option<Self> {
        let axis = |value: fn(&PointResult) -> Option<u32>| -> Option<Vec<u32>> {
            let mut out: Vec<u32> = points.iter().map(|p| value(p)).collect::<Option<_>>()?;
            out.sort_unstable();
            out.dedup();
            Some(out)
        };
        let (iodepth, numjobs) = (axis(|p| p.at.iodepth)?, axis(|p| p.at.numjobs)?);
        let grid = Grid { iodepth, numjobs, points };
        let full = grid.iodepth.len() * grid.numjobs.len() == points.len();
        let each = grid.iodepth.iter().all(|d| grid.numjobs.iter().all(|j| grid.at(*d, *j).is_some()));
        (full && each).then_some(grid)
    }

    fn at(&self, iodepth: u32, numjobs: u32) -> Option<&'a PointResult> {
        self.points.iter().find(|p| p.at.iodepth == Some(iodepth) && p.at.numjobs == Some(numjobs)).copied()
    }

    /// Rate, mean and 99th percentile as matrices, beside each other where they fit.
    fn render(&self, section: &Section<'_>, notes: &mut Notes, width: usize, color: bool) -> String {
        let rate = section.rate.metric();
        let rate_name = if rate == MetricName::Bandwidth { "MB/s" } else { "IOPS" };
        let parts = [(rate_name, rate), ("mean", MetricName::LatMean), ("p99", MetricName::LatP99)];
        let mut out = String::new();
        let together = self.table(&parts, notes);
        if together.natural_width() <= width {
            return together.render(width, color);
        }
        for part in parts {
            out.push_str(&self.table(&[part], notes).render(width, color));
        }
        out
    }

    fn table(&self, parts: &[(&str, MetricName)], notes: &mut Notes) -> Table {
        let mut columns = vec![Column::number("iodepth")];
        for (name, _) in parts {
            let titles = self.numjobs.iter().enumerate();
            columns.extend(titles.map(|(i, jobs)| {
                let rank = u8::try_from(i).unwrap_or(u8::MAX);
                Column::number(jobs.to_string()).group(format!("{name} by numjobs")).drop_rank(rank)
            }));
        }
        let any_notes = self.points.iter().any(|p| !p.remarks.is_empty());
        columns.extend(any_notes.then(|| Column::text("notes")));
        let mut table = Table::new(columns);
        for depth in &self.iodepth {
            let row: Vec<&PointResult> = self.numjobs.iter().filter_map(|jobs| self.at(*depth, *jobs)).collect();
            let mut cells = vec![depth.to_string()];
            for (_, name) in parts {
                cells.extend(row.iter().map(|p| figure(p, *name)));
            }
            let said = notes.numbers(row.iter().flat_map(|p| &p.remarks));
            cells.extend(any_notes.then(|| said.into_iter().map(|n| format!("[{n}]")).collect()));
            table.row(cells);
        }
        table
    }
}

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Number in the store.
    pub id: i64,
    /// Suite.
    pub suite: String,
    /// The `drive_id` of the target.
    pub target: String,
    /// `done`, `interrupted`, `failed` or `unfinished`.
    pub status: String,
    /// Steps finished.
    pub steps_done: u32,
    /// Steps in the plan.
    pub steps_planned: u32,
    /// Start, RFC 3339 in UTC, where it was recorded.
    pub started: Option<String>,
    /// `measured`, `modelled`, `imported` or `published`.
    pub provenance: String,
}

impl From<&RunRecord> for RunRow {
    fn from(run: &RunRecord) -> Self {
        RunRow {
            id: run.id,
            suite: run.suite.id.clone(),
            target: run.provenance.target.id.clone(),
            status: run.status.word().to_owned(),
            steps_done: run.steps_done(),
            steps_planned: run.steps_planned,
            started: run.provenance.started.clone(),
            provenance: run.provenance.origin.word().to_owned(),
        }
    }
}

/// The list of runs for a terminal of `width` columns.
pub fn runs_table(rows: &[RunRow], width: usize, color: bool) -> String {
    let mut table = Table::new(vec![
        Column::number("run"),
        Column::text("suite").wrap(),
        Column::text("target").wrap(),
        Column::text("status"),
        Column::number("steps"),
        Column::text("started").drop_rank(2),
        Column::text("provenance").drop_rank(1),
    ]);
    for row in rows {
        table.row([
            &row.id.to_string(),
            &row.suite,
            &row.target,
            &row.status,
            &format!("{}/{}", row.steps_done, row.steps_planned),
            row.started.as_deref().unwrap_or(text::NONE),
            &row.provenance,
        ]);
    }
    table.render(width, color)
}
