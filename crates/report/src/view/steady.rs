//! Rounds on the way to steady state, and what the named rule says about them.

use super::{Rate, Section, Series, hover, tag};
use crate::chart::{Axis, Band, Chart, Line, Mark};
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
    let mut lines = Vec::new();
    let mut bands = Vec::new();
    for (series, rounds) in &with_rounds {
        let mark = |p: &&PointResult| {
            let y = p.value(section.rate.metric())? / scale.factor;
            Some(Mark { x: f64::from(p.at.pass?), y, hover: hover(&series.label, p, &SHOWN) })
        };
        let name = if with_rounds.len() > 1 { series.label.clone() } else { "round".to_owned() };
        lines.push(Line::new(name, series.rank, rounds.points.iter().filter_map(mark).collect()));
        // Several drives' windows over each other could not be told apart: their lines are enough.
        if let ([_], Some(window)) = (with_rounds.as_slice(), rounds.window(section.rate)) {
            let (first, last) = (f64::from(window.first_round), f64::from(window.last_round));
            let y = window.average / scale.factor;
            let half = rounds.rule.range_max / 2.0;
            bands.push(Band { x: (first - 0.5, last + 0.5), y: (y * (1.0 - half), y * (1.0 + half)) });
            let hover = format!("average of rounds {first} to {last}\n{} {}", text::plain(y), scale.unit);
            let marks = [first - 0.5, last + 0.5].map(|x| Mark { x, y, hover: hover.clone() }).to_vec();
            lines.push(Line { dash: true, markers: false, ..Line::new("window average", 2, marks) });
        }
    }
    let half = with_rounds.first().map(|(_, rounds)| percent(rounds.rule.range_max / 2.0))?;
    let chart = Chart {
        title: format!("{} by round of random writes", section.rate.title()),
        caption: format!("Shaded: the last window of rounds, its average ± {half}."),
        tag: tag(section.judged_points()),
        x: Axis::linear("Round (count)"),
        y: Axis::linear(format!("{} ({})", section.rate.title(), scale.unit)),
        lines,
        bands,
    };
    chart.has_a_line().then_some(chart)
}
