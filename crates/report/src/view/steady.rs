//! Rounds on the way to steady state, and what the named rule says about them.

use super::{Rate, Section, Series, hover, published, tag};
use crate::chart::{Axis, Band, Chart, Line, Look, Mark};
use crate::text::{self, percent};
use crate::view::curves::Scale;
use flashlab_analysis::{SteadyVerdict, SteadyWindow, judge_steady};
use flashlab_samples::{MetricName, PointResult};
use flashlab_spec::SteadyRule;

const SHOWN: [MetricName; 6] = [
    MetricName::Bandwidth,
    MetricName::Iops,
    MetricName::LatMean,
    MetricName::LatP99,
    MetricName::WriteAmplification,
    MetricName::FreePool,
];

/// The rounds of one run and the rule they are judged by.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    pub(crate) points: Vec<&'a PointResult>,
    pub(crate) rule: SteadyRule,
}

impl Rounds<'_> {
    pub(crate) fn new(rule: SteadyRule) -> Self {
        Rounds { points: Vec::new(), rule }
    }

    fn values(&self, rate: Rate) -> Vec<f64> {
        self.points.iter().filter_map(|p| p.value(rate.metric())).collect()
    }

    pub(crate) fn verdict(&self, rate: Rate) -> SteadyVerdict {
        judge_steady(&self.values(rate), &self.rule)
    }

    /// The last window, where there were enough rounds for one.
    pub(crate) fn window(&self, rate: Rate) -> Option<SteadyWindow> {
        match self.verdict(rate) {
            SteadyVerdict::Steady(window) | SteadyVerdict::NotReached(window) => Some(window),
            SteadyVerdict::NotYet(window) => window,
        }
    }

    /// The verdict as a sentence, with the numbers it rests on.
    pub(crate) fn words(&self, rate: Rate) -> String {
        let numbers = |w: &SteadyWindow| {
            format!(
                "over rounds {} to {} the range is {} of the average (at most {}) and the fitted line moves by {} (at most {})",
                w.first_round,
                w.last_round,
                percent(w.range_share),
                percent(self.rule.range_max),
                percent(w.slope_share),
                percent(self.rule.slope_max),
            )
        };
        match self.verdict(rate) {
            SteadyVerdict::Steady(w) => {
                format!("The rule for steady state is met after {} rounds: {}.", self.points.len(), numbers(&w))
            }
            SteadyVerdict::NotReached(w) => {
                format!("The rule for steady state is NOT met in {} rounds: {}.", self.points.len(), numbers(&w))
            }
            SteadyVerdict::NotYet(Some(w)) => {
                format!(
                    "The rule for steady state is not met so far, after {} rounds: {}.",
                    self.points.len(),
                    numbers(&w)
                )
            }
            SteadyVerdict::NotYet(None) => format!(
                "No verdict on steady state: {} of the {} rounds that a window needs.",
                self.points.len(),
                self.rule.window
            ),
        }
    }
}

/// Rate by round, with the window of the verdict shaded to the range that the rule allows.
pub(crate) fn rounds_chart(section: &Section<'_>) -> Option<Chart> {
    let with_rounds: Vec<(&Series<'_>, &Rounds<'_>)> =
        section.series.iter().filter_map(|s| Some((s, s.rounds.as_ref()?))).collect();
    let all = || with_rounds.iter().flat_map(|(_, rounds)| rounds.points.iter().copied());
    let most = all().filter_map(|p| p.value(section.rate.metric())).fold(0.0, f64::max);
    let scale = Scale::of_rate(section.rate, most);
    let several = with_rounds.len() > 1;
    let mut lines = Vec::new();
    let mut bands = Vec::new();
    for (series, rounds) in &with_rounds {
        let mark = |p: &&PointResult| {
            let y = p.value(section.rate.metric())? / scale.factor;
            Some(Mark { x: f64::from(p.at.pass?), y, hover: hover(&series.label, p, &SHOWN) })
        };
        let name = if several { series.label.clone() } else { "round".to_owned() };
        let line = Line::new(name.clone(), series.rank, rounds.points.iter().filter_map(mark).collect());
        lines.push(if several { line.of_drive(series.rank) } else { line });
        let rounds_max = all().filter_map(|p| p.at.pass).max().unwrap_or(1);
        let printed = level(series, section.rate, scale.factor, rounds_max);
        let printed = printed.map(|line| Line { name, ..line });
        lines.extend(printed.map(|line| if several { line.of_drive(series.rank) } else { line }));
        // Several drives' windows over each other could not be told apart: a table has them.
        if let ([_], Some(window)) = (with_rounds.as_slice(), rounds.window(section.rate)) {
            let (first, last) = (f64::from(window.first_round), f64::from(window.last_round));
            let y = window.average / scale.factor;
            let half = rounds.rule.range_max / 2.0;
            bands.push(Band { x: (first - 0.5, last + 0.5), y: (y * (1.0 - half), y * (1.0 + half)) });
            let hover = format!("average of rounds {first} to {last}\n{} {}", text::plain(y), scale.unit);
            let marks = [first - 0.5, last + 0.5].map(|x| Mark { x, y, hover: hover.clone() }).to_vec();
            lines.push(Line::new("window average", 2, marks).look(Look::Dashed));
        }
    }
    let half = with_rounds.first().map(|(_, rounds)| percent(rounds.rule.range_max / 2.0))?;
    let mut caption = String::new();
    if !bands.is_empty() {
        caption = format!("Shaded: the last window of rounds, its average ± {half}. ");
    }
    if with_rounds.iter().any(|(s, _)| !s.published.is_empty()) {
        caption.push_str("Dotted: published by a review, which names no round.");
    }
    let title = format!("{} by round of random writes", section.rate.title());
    let y = Axis::linear(format!("{} ({})", section.rate.title(), scale.unit));
    let chart = Chart::new(title, tag(section.judged_points()), Axis::linear("Round (count)"), y, lines);
    let chart = Chart { bands, ..chart.caption(caption) };
    chart.has_a_line().then_some(chart)
}

/// A published steady state across the whole chart.
fn level(series: &Series<'_>, rate: Rate, factor: f64, rounds: u32) -> Option<Line> {
    let mut values =
        series.published.iter().filter_map(|p| Some((p, published::value_as(p, rate.metric(), series.kind)?)));
    let (p, value) = values.next()?;
    let hover = published::hover(series, p, rate.metric());
    let marks = [1, rounds].map(|x| Mark { x: f64::from(x), y: value / factor, hover: hover.clone() }).to_vec();
    Some(Line::new(series.label.clone(), series.rank, marks).look(Look::PublishedLevel))
}

/// The verdict on one drive as a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowRow {
    pub(crate) label: String,
    pub(crate) rank: usize,
    pub(crate) rounds: usize,
    /// The word of the state it ended in.
    pub(crate) state: &'static str,
    /// Rate over the window with its interval where one was computed, and what was published.
    pub(crate) rate: String,
    pub(crate) interval: String,
    pub(crate) published: String,
    pub(crate) window: String,
    pub(crate) range: String,
    pub(crate) movement: String,
    pub(crate) verdict: &'static str,
}

/// Every drive's window, for sections with rounds.
pub(crate) fn window_rows(section: &Section<'_>) -> Vec<WindowRow> {
    let name = section.rate.metric();
    let row = |series: &Series<'_>| {
        let rounds = series.rounds.as_ref()?;
        let window = rounds.window(section.rate);
        let none = || text::NONE.to_owned();
        let summed_up = series.points.last().copied();
        let judged = summed_up.or(rounds.points.last().copied())?;
        let metric = text::metric(judged, name);
        let interval = metric.and_then(|m| m.interval);
        let published = series.published_for(judged, name);
        Some(WindowRow {
            label: series.label.clone(),
            rank: series.rank,
            rounds: rounds.points.len(),
            state: judged.state.condition.word(),
            rate: metric.map_or_else(none, |m| text::in_column(name, m.value)),
            interval: interval.map_or_else(none, |(low, high)| {
                format!("{} to {}", text::in_column(name, low), text::in_column(name, high))
            }),
            published: published.map_or_else(none, |(_, value)| text::in_column(name, value)),
            window: window.map_or_else(none, |w| format!("{} to {}", w.first_round, w.last_round)),
            range: window.map_or_else(none, |w| percent(w.range_share)),
            movement: window.map_or_else(none, |w| percent(w.slope_share)),
            verdict: match rounds.verdict(section.rate) {
                SteadyVerdict::Steady(_) => "rule met",
                SteadyVerdict::NotReached(_) => "rule NOT met",
                SteadyVerdict::NotYet(_) => "no verdict",
            },
        })
    };
    section.series.iter().filter_map(row).collect()
}
