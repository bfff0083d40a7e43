//! The answer in short: what each workload reached at best, and where.

use super::{Procedure, Rate, Section, Series, pass_seconds};
use crate::text;
use flashlab_analysis::SteadyWindow;
use flashlab_samples::{MetricName, Origin, PointResult};
use flashlab_units::{BytesPerSecond, Iops};

/// One line of the answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyFigure {
    pub(crate) suite: String,
    pub(crate) workload: String,
    /// The drive.
    pub(crate) label: String,
    pub(crate) rank: usize,
    pub(crate) origin: Option<Origin>,
    /// Highest rate, the average over the window of steady state, or the seconds of checkpoints.
    pub(crate) best: String,
    /// Where it was reached.
    pub(crate) at: String,
    /// 99th percentile there.
    pub(crate) p99: String,
    /// Lowest mean latency, with its place.
    pub(crate) lightest: String,
    /// State that these figures belong to.
    pub(crate) state: String,
    /// Verdict on steady state, where the workload has rounds.
    pub(crate) verdict: Option<String>,
}

/// One line a workload and run; fills that only prepare answer nothing.
pub(crate) fn key_figures(sections: &[Section<'_>]) -> Vec<KeyFigure> {
    // The single checkpoints are summed up by their passes.
    let sums_up = |s: &&Section<'_>| !s.kind.is_some_and(|kind| kind.procedure == Procedure::Checkpoints);
    let answers = sections.iter().filter(|section| !section.prepares).filter(sums_up);
    answers.flat_map(|section| section.series.iter().map(move |series| key_figure(section, series))).collect()
}

fn key_figure(section: &Section<'_>, series: &Series<'_>) -> KeyFigure {
    let rate = section.rate;
    let shown = |point: Option<&PointResult>, name| {
        point.and_then(|p| text::metric(p, name)).map_or_else(|| text::NONE.to_owned(), text::figure)
    };
    let best = series.best(rate.metric());
    let lightest = series.lowest(MetricName::LatMean);
    let mut out = KeyFigure {
        suite: section.suite.to_owned(),
        workload: section.workload.to_owned(),
        label: series.label.clone(),
        rank: series.rank,
        origin: series.all_points().next().map(|p| p.origin),
        best: shown(best, rate.metric()),
        at: best.map_or_else(|| text::NONE.to_owned(), |p| text::short_place(&p.at)),
        p99: shown(best, MetricName::LatP99),
        lightest: match lightest {
            Some(p) => format!("{} at {}", shown(lightest, MetricName::LatMean), text::short_place(&p.at)),
            None => text::NONE.to_owned(),
        },
        state: best.map_or_else(|| text::NONE.to_owned(), |p| p.state.condition.word().to_owned()),
        verdict: None,
    };
    let passes = pass_seconds(series);
    if section.is_checkpoints() && !passes.is_empty() {
        out.best = passes.iter().map(|s| text::number(MetricName::Seconds, *s)).collect::<Vec<_>>().join(", ");
        out.at = format!("mean of a checkpoint, passes 1 to {}", passes.len());
    }
    if let Some(rounds) = &series.rounds {
        out.verdict = Some(rounds.words(rate));
        let last = rounds.points.last().copied();
        if best.is_some() {
            // The point that sums up the window.
            if let Some(window) = rounds.window(rate) {
                out.at = format!("{}, {}", out.at, window_words(&window));
            }
        } else {
            if let Some(window) = rounds.window(rate) {
                out.best = match rate {
                    Rate::Bandwidth => BytesPerSecond(window.average).si(),
                    Rate::Iops => Iops(window.average).to_string(),
                };
                out.at = window_words(&window);
            } else {
                out.best = shown(last, rate.metric());
                out.at = "last round".to_owned();
            }
            out.p99 = shown(last, MetricName::LatP99);
            out.state = last.map_or_else(|| text::NONE.to_owned(), |p| p.state.condition.word().to_owned());
        }
    }
    out
}

fn window_words(window: &SteadyWindow) -> String {
    format!("average of rounds {} to {}", window.first_round, window.last_round)
}
