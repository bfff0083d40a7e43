//! One workload: its charts, and beneath them every point with every figure.

use super::{Page, anchor};
use crate::text::{self, clean};
use crate::view::{self, Section, Series, curves, rounds_chart, time_charts};
use flashlab_analysis::in_flight_by_little;
use flashlab_samples::{Metric, MetricName, PointResult};
use maud::{Markup, html};

/// The section of a workload.
pub(super) fn workload(page: &mut Page, section: &Section<'_>, index: usize) -> Markup {
    page.anchor = anchor(index);
    let mut charts = Vec::new();
    if !section.prepares {
        charts.extend(time_charts(section));
        charts.extend(curves(section));
        charts.extend(rounds_chart(section));
    }
    html! {
        section id=(page.anchor) {
            h2 {
                (clean(section.workload)) " "
                small { "suite " (clean(section.suite)) @if section.prepares { ", preparation" } }
            }
            p {
                @for origin in view::origins(section.all_points()) { (super::head::badge(origin)) " " }
                (view::state_sentence(section.judged_points()))
                @for fills in view::fills(section.judged_points()) { ", " (fills) }
                "."
            }
            @for series in &section.series { (verdict(section, series)) }
            (page.charts(&charts))
            (table(page, section))
        }
    }
}

fn verdict(section: &Section<'_>, series: &Series<'_>) -> Markup {
    html! {
        @if let Some(rounds) = &series.rounds {
            p { @if section.series.len() > 1 { b { (clean(&series.label)) ": " } } (rounds.words(section.rate)) }
        }
    }
}

/// Which columns a table has: those that at least one of its points fills.
struct Columns {
    drive: bool,
    depth: bool,
    threads: bool,
    pass: Option<&'static str>,
    metrics: Vec<MetricName>,
    interval: bool,
    in_flight: bool,
    notes: bool,
}

impl Columns {
    fn of(section: &Section<'_>) -> Self {
        let any = |has: &dyn Fn(&PointResult) -> bool| section.all_points().any(has);
        let rounds = section.series.iter().any(|s| s.rounds.is_some());
        let interval = |p: &PointResult| text::metric(p, MetricName::LatMean).is_some_and(|m| m.interval.is_some());
        Columns {
            drive: section.series.len() > 1,
            depth: any(&|p| p.at.iodepth.is_some() || p.at.numjobs.is_some()),
            threads: any(&|p| p.at.threads.is_some()),
            pass: any(&|p| p.at.pass.is_some()).then_some(if rounds { "Round" } else { "Pass" }),
            metrics: MetricName::ALL.into_iter().filter(|name| any(&|p| p.value(*name).is_some())).collect(),
            interval: any(&interval),
            in_flight: any(&|p| p.job.as_ref().is_some_and(|job| job.in_flight_mean.is_some())),
            notes: any(&|p| !p.remarks.is_empty()),
        }
    }
}

fn table(page: &mut Page, section: &Section<'_>) -> Markup {
    let columns = Columns::of(section);
    let numbers = page.notes.numbers(section.all_points().flat_map(|p| &p.remarks));
    html! {
        div.scroll { table.points {
            thead { tr {
                @if columns.drive { th { "Drive" } }
                @if columns.depth { th.number { "iodepth" } th.number { "numjobs" } th.number { "outstanding" } }
                @if columns.threads { th.number { "threads" } }
                @if let Some(name) = columns.pass { th.number { (name) } }
                @for name in &columns.metrics { th.number { (heading(*name)) } }
                @if columns.interval { th.number title="half width of the 95 % interval of the mean latency" { "mean ±" } }
                @if columns.in_flight { th.number title="integrated over time, and by Little's law from rate and latency" { "In flight (Little)" } }
                th.number { "I/Os" }
                th { "State" }
                @if columns.notes { th { "Notes" } }
            } }
            tbody {
                @for series in &section.series {
                    @for point in series.all_points() { (row(page, &columns, series, point)) }
                }
            }
        } }
        @if !numbers.is_empty() {
            ol.notes {
                @for (number, note) in page.notes.all().filter(|(n, _)| numbers.contains(n)) {
                    li id={ (page.anchor) "-note-" (number) } value=(number) { (clean(note)) }
                }
            }
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

/// A figure for the column of [`heading`].
pub(crate) fn cell(metric: &Metric) -> String {
    match metric.name {
        MetricName::Bandwidth => text::plain(metric.value / text::rate_unit("MB/s")),
        MetricName::Iops => text::plain(metric.value),
        _ => text::figure(metric),
    }
}

fn row(page: &mut Page, columns: &Columns, series: &Series<'_>, point: &PointResult) -> Markup {
    let number = |value: Option<u64>| value.map_or_else(|| text::NONE.to_owned(), |v| v.to_string());
    let at = &point.at;
    let samples = point.metrics.iter().map(|m| m.samples).max().map_or_else(|| text::NONE.to_owned(), text::grouped);
    html! {
        tr {
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
                    Some(metric) => td.number title=(text::exact(metric)) { (cell(metric)) },
                    None => td.number title="not measured" { (text::NONE) },
                }
            }
            @if columns.interval { td.number { (interval(point)) } }
            @if columns.in_flight { td.number { (in_flight(point)) } }
            td.number { (samples) }
            td title=(text::state(&point.state)) { (point.state.condition.word()) }
            @if columns.notes { td { (marks(page, point)) } }
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
