//! The tables beneath the charts: every point with every figure, and drives beside each other.

use super::Page;
use crate::text::{self, clean};
use crate::view::{self, Procedure, Section, Series};
use flashlab_analysis::in_flight_by_little;
use flashlab_samples::{Coordinates, MetricName, PointResult};
use maud::{Markup, html};

/// Longer tables are folded away.
const ROWS_SHOWN_MAX: usize = 30;
/// So are longer tables of drives side by side: the charts say the same.
const PLACES_SHOWN_MAX: usize = 8;

/// The figures of single checkpoints; their latencies are those of the ranks' transfers, which the
/// table of the passes has.
const OF_A_CHECKPOINT: [MetricName; 4] =
    [MetricName::Bandwidth, MetricName::Seconds, MetricName::WriteAmplification, MetricName::FreePool];

/// Which columns a table has: those that at least one of its points fills.
struct Columns {
    drive: bool,
    depth: bool,
    threads: bool,
    pass: Option<&'static str>,
    metrics: Vec<MetricName>,
    /// The figure whose published value stands beside it.
    published: Option<MetricName>,
    interval: bool,
    in_flight: bool,
    notes: bool,
}

/// What a section is judged by.
fn judged_by(section: &Section<'_>) -> MetricName {
    if section.is_checkpoints() { MetricName::Seconds } else { section.rate.metric() }
}

impl Columns {
    fn of(section: &Section<'_>) -> Self {
        let any = |has: &dyn Fn(&PointResult) -> bool| section.all_points().any(has);
        let rounds = section.series.iter().any(|s| s.rounds.is_some());
        let interval = |p: &PointResult| text::metric(p, MetricName::LatMean).is_some_and(|m| m.interval.is_some());
        let singles = section.kind.is_some_and(|k| k.procedure == Procedure::Checkpoints);
        let shown =
            |name: &MetricName| any(&|p| p.value(*name).is_some()) && (!singles || OF_A_CHECKPOINT.contains(name));
        let judged = judged_by(section);
        let mut metrics: Vec<MetricName> = MetricName::ALL.into_iter().filter(shown).collect();
        // What a checkpoint is about comes first.
        metrics.sort_by_key(|name| !(section.is_checkpoints() && *name == judged));
        let printed = section.series.iter().any(|s| s.all_points().any(|p| s.published_for(p, judged).is_some()));
        Columns {
            drive: section.series.len() > 1,
            depth: any(&|p| p.at.iodepth.is_some() || p.at.numjobs.is_some()),
            threads: any(&|p| p.at.threads.is_some()),
            pass: any(&|p| p.at.pass.is_some()).then_some(match (rounds, singles) {
                (true, _) => "Round",
                (_, true) => "Checkpoint",
                _ => "Pass",
            }),
            metrics,
            published: printed.then_some(judged),
            interval: !singles && any(&interval),
            in_flight: !singles && any(&|p| p.job.as_ref().is_some_and(|job| job.in_flight_mean.is_some())),
            notes: any(&|p| !p.remarks.is_empty()),
        }
    }
}

/// The table of a section with its notes, folded away where it is long.
pub(super) fn table(page: &mut Page, section: &Section<'_>) -> Markup {
    let rows = section.all_points().count();
    let singles = section.kind.is_some_and(|k| k.procedure == Procedure::Checkpoints);
    if singles && section.series.len() > 1 {
        // A thousand checkpoints: side by side they are a table, with every figure a file.
        return html! { p.source { "Every figure of each checkpoint stands in results.csv." } };
    }
    let whole = whole_table(page, section);
    html! {
        @if rows > ROWS_SHOWN_MAX {
            details { summary { "Every figure, " (rows) " points" } (whole) }
        } @else { (whole) }
    }
}

fn whole_table(page: &mut Page, section: &Section<'_>) -> Markup {
    let columns = Columns::of(section);
    let numbers = page.notes.numbers(section.all_points().flat_map(|p| &p.remarks));
    html! {
        div.scroll { table.points {
            thead { (headings(&columns)) }
            tbody {
                @for series in &section.series {
                    @for point in series.all_points() { (row(page, &columns, series, point)) }
                }
            }
        } }
        @if columns.in_flight {
            p.source {
                "In flight: mean number of I/Os under way, integrated over time; in brackets what Little's law makes of "
                "rate × mean latency. The two agree where nothing was lost between the clocks."
            }
        }
        @if !numbers.is_empty() {
            ol.notes {
                @for (number, note) in page.notes.all().filter(|(n, _)| numbers.contains(n)) {
                    li id={ (page.anchor) "-note-" (number) } value=(number) { (clean(note)) }
                }
            }
        }
    }
}

fn headings(columns: &Columns) -> Markup {
    html! {
        tr {
            @if columns.drive { th { "Drive" } }
            @if columns.depth { th.number { "iodepth" } th.number { "numjobs" } th.number { "outstanding" } }
            @if columns.threads { th.number { "threads" } }
            @if let Some(name) = columns.pass { th.number { (name) } }
            @for name in &columns.metrics {
                th.number { (heading(*name)) }
                @if columns.published == Some(*name) { th.number { "published" } }
            }
            @if columns.interval { th.number title="half width of the 95 % interval of the mean latency" { "mean ±" } }
            @if columns.in_flight { th.number { "In flight (by law)" } }
            th.number { "I/Os" }
            th { "State" }
            @if columns.notes { th { "Notes" } }
        }
    }
}

/// Heading with the one unit of its column; latencies carry their unit in the cell.
fn heading(name: MetricName) -> String {
    match name {
        MetricName::Bandwidth => "MB/s".into(),
        MetricName::Iops => "IOPS".into(),
        MetricName::WriteAmplification => "WA".into(),
        other => text::label(other).into(),
    }
}

fn row(page: &mut Page, columns: &Columns, series: &Series<'_>, point: &PointResult) -> Markup {
    let number = |value: Option<u64>| value.map_or_else(|| text::NONE.to_owned(), |v| v.to_string());
    let at = &point.at;
    let samples = point.metrics.iter().map(|m| m.samples).max().map_or_else(|| text::NONE.to_owned(), text::grouped);
    html! {
        tr data-drive=(series.rank) {
            @if columns.drive { th scope="row" { (clean(&series.label)) } }
            @if columns.depth {
                td.number { (number(at.iodepth.map(u64::from))) }
                td.number { (number(at.numjobs.map(u64::from))) }
                td.number { (number(view::outstanding(at))) }
            }
            @if columns.threads { td.number { (number(at.threads.map(u64::from))) } }
            @if columns.pass.is_some() {
                td.number {
                    @if series.rounds.is_some() && at.pass.is_none() { "window" }
                    @else { (number(at.pass.map(u64::from))) }
                }
            }
            @for name in &columns.metrics {
                @match text::metric(point, *name) {
                    Some(metric) => td.number title=(text::exact(metric)) { (text::in_column(*name, metric.value)) },
                    None => td.number title="not measured" { (text::NONE) },
                }
                @if columns.published == Some(*name) { td.number { (published(series, point, *name)) } }
            }
            @if columns.interval { td.number { (interval(point)) } }
            @if columns.in_flight { td.number { (in_flight(point)) } }
            td.number { (samples) }
            td title=(text::state(&point.state)) { (point.state.condition.word()) }
            @if columns.notes { td { (marks(page, point)) } }
        }
    }
}

/// What a review printed for the same place, and how far ours lies from it.
fn published(series: &Series<'_>, point: &PointResult, name: MetricName) -> Markup {
    let printed = series.published_for(point, name).zip(point.value(name));
    html! {
        @if let Some(((p, theirs), ours)) = printed {
            span title={ (clean(&p.printed)) ", " (clean(&p.review)) " review" } {
                (text::in_column(name, theirs)) " (" (text::signed_percent(ours / theirs - 1.0)) ")"
            }
        }
    }
}

fn marks(page: &mut Page, point: &PointResult) -> Markup {
    let numbers = page.notes.numbers(&point.remarks);
    html! { @for n in numbers { sup { a href={ "#" (page.anchor) "-note-" (n) } { (n) } } " " } }
}

/// Half width of the interval of the mean as a share of it.
fn interval(point: &PointResult) -> String {
    let share = text::metric(point, MetricName::LatMean)
        .and_then(|m| m.interval.filter(|_| m.value > 0.0).map(|(low, high)| (high - low) / 2.0 / m.value));
    share.map_or_else(|| text::NONE.to_owned(), text::percent)
}

/// Integrated and by Little's law.
fn in_flight(point: &PointResult) -> String {
    let Some(integrated) = point.job.as_ref().and_then(|job| job.in_flight_mean) else { return text::NONE.to_owned() };
    let law = point.value(MetricName::Iops).zip(point.value(MetricName::LatMean));
    let law = law.map(|(iops, mean)| format!(" ({})", text::plain(in_flight_by_little(iops, mean))));
    format!("{}{}", text::plain(integrated), law.unwrap_or_default())
}

/// Several drives beside each other, a row a place; published figures small beneath.
pub(super) fn side_by_side(section: &Section<'_>) -> Markup {
    let shown = section.kind.is_some_and(|k| !matches!(k.procedure, Procedure::Rounds | Procedure::Fill));
    let places = places(section);
    if !shown || section.series.len() < 2 || places.len() < 2 {
        return html! {};
    }
    let name = judged_by(section);
    let unit = match name {
        MetricName::Bandwidth => "MB/s",
        other => other.unit(),
    };
    let what = match section.kind.map(|k| k.procedure) {
        Some(Procedure::Passes) => "Mean time of a checkpoint",
        Some(Procedure::Checkpoints) => "Time of each checkpoint",
        _ => section.rate.title(),
    };
    let printed = section.series.iter().any(|s| !s.published.is_empty());
    html! {
        details open[places.len() <= PLACES_SHOWN_MAX] {
            summary { (what) @if what != unit { " (" (unit) ")" } " of the drives side by side" @if printed { "; small: published" } }
            div.scroll { table {
                thead { tr {
                    th { (place_heading(section)) }
                    @for s in &section.series { th.number data-drive=(s.rank) { (clean(&s.label)) } }
                } }
                tbody { @for at in &places { tr {
                    th scope="row" { (clean(&place_words(at))) }
                    @for s in &section.series { td.number data-drive=(s.rank) { (at_place(s, at, name)) } }
                } } }
            } }
        }
    }
}

/// The places of a section, each once, in the order of the first drive that has them.
fn places<'a>(section: &Section<'a>) -> Vec<&'a Coordinates> {
    let mut out: Vec<&Coordinates> = Vec::new();
    for point in section.series.iter().flat_map(|s| s.points.iter()) {
        if !out.iter().any(|at| same_place(at, &point.at)) {
            out.push(&point.at);
        }
    }
    out
}

fn same_place(a: &Coordinates, b: &Coordinates) -> bool {
    (a.iodepth, a.numjobs, a.threads, a.pass) == (b.iodepth, b.numjobs, b.threads, b.pass)
}

fn place_heading(section: &Section<'_>) -> &'static str {
    match section.kind.map(|k| k.procedure) {
        Some(Procedure::Threads) => "Threads",
        Some(Procedure::Passes) => "Pass",
        Some(Procedure::Checkpoints) => "Checkpoint",
        _ => "iodepth/numjobs",
    }
}

fn place_words(at: &Coordinates) -> String {
    match (at.threads, at.pass) {
        (Some(threads), _) => threads.to_string(),
        (None, Some(pass)) => pass.to_string(),
        _ => text::short_place(at),
    }
}

fn at_place(series: &Series<'_>, at: &Coordinates, name: MetricName) -> Markup {
    let point = series.points.iter().find(|p| same_place(&p.at, at)).copied();
    let metric = point.and_then(|p| text::metric(p, name));
    let published = point.and_then(|p| series.published_for(p, name));
    let shown =
        |value: f64| if name == MetricName::Seconds { format!("{value:.1}") } else { text::in_column(name, value) };
    html! {
        @match metric {
            Some(metric) => span title=(text::exact(metric)) { (shown(metric.value)) },
            None => (text::NONE),
        }
        @if let (Some((p, theirs)), Some(metric)) = (published, metric) {
            br; small title={ (clean(&p.printed)) ", " (clean(&p.review)) " review: " (text::signed_percent(metric.value / theirs - 1.0)) } {
                (shown(theirs))
            }
        }
    }
}
