//! How many I/Os of a point took longer than a latency.

use super::curves::{Scale, only};
use super::{Section, tag};
use crate::chart::{Axis, Chart, Line, Look, Mark};
use crate::text;
use flashlab_samples::PointResult;

/// Two marks of an exceedance line are at least this far apart in latency or share, which no screen
/// resolves; bounds the size of the page at some 100 marks a line.
const EXCEEDANCE_STEP: f64 = 1.1;
/// Fewer marks than this is a latency that hardly varies: the percentiles in the table say it all.
const EXCEEDANCE_MARKS_MIN: usize = 5;

/// Share of the I/Os that took longer than a latency, for the lightest, a middle and the heaviest
/// load of one run, or the heaviest load of each of several.
pub(super) fn exceedance(section: &Section<'_>) -> Option<Chart> {
    let chosen: Vec<(String, usize, &PointResult)> = match only(section) {
        Some(series) => {
            let frontier: Vec<_> =
                series.by_outstanding(section.rate).into_iter().filter(|(_, p)| p.job.is_some()).collect();
            let mut picks = vec![0, frontier.len() / 2, frontier.len().saturating_sub(1)];
            picks.dedup();
            let picked = picks.into_iter().filter_map(|i| frontier.get(i)).enumerate();
            picked.map(|(i, (_, p))| (text::place(&p.at), i, *p)).collect()
        }
        None => section
            .series
            .iter()
            .filter_map(|s| {
                let (_, heaviest) = s.by_outstanding(section.rate).into_iter().rfind(|(_, p)| p.job.is_some())?;
                Some((s.label.clone(), s.rank, heaviest))
            })
            .collect(),
    };
    let drawn: Vec<_> = chosen
        .into_iter()
        .map(|(name, colour, point)| (name, colour, point, exceedance_of(point)))
        .filter(|(_, _, _, marks)| marks.len() >= EXCEEDANCE_MARKS_MIN)
        .collect();
    let all = || drawn.iter().flat_map(|(_, _, _, marks)| marks);
    let scale = Scale::of_latency(all().map(|(x, _)| *x).fold(f64::INFINITY, f64::min));
    let several = only(section).is_none();
    if several && drawn.len() < section.series.len() {
        // Of the others the latency hardly varies, so there is nothing to compare.
        return None;
    }
    let lines = drawn.iter().map(|(name, colour, point, marks)| {
        let place = text::short_place(&point.at);
        let mark = |(ns, share): &(f64, f64)| Mark {
            x: ns / scale.factor,
            y: share * 100.0,
            hover: format!(
                "{name}, {place}\n{} of the I/Os took longer than {}",
                share_words(*share),
                text::latency(*ns)
            ),
        };
        let line = Line::new(name.clone(), *colour, marks.iter().map(mark).collect()).look(Look::Steps);
        if several { line.of_drive(*colour) } else { line }
    });
    let x = Axis::decades("Latency", scale.unit, all().map(|(x, _)| x / scale.factor));
    let y = Axis::decades("Took longer", "% of I/Os", all().map(|(_, y)| y * 100.0));
    let tag = tag(drawn.iter().map(|(_, _, point, _)| *point));
    let which = if several { "At each drive's heaviest load. " } else { "" };
    let caption = format!(
        "{which}At 1 % a line crosses the 99th percentile, at 0.1 % the 99.9th; it ends at the longest latency."
    );
    Some(Chart::new("Share of I/Os that took longer", tag, x, y, lines.collect()).caption(caption))
}

/// (latency in ns, share of the I/Os beyond it), exact at the buckets' ends, thinned; from the
/// shortest latency to the longest.
fn exceedance_of(point: &PointResult) -> Vec<(f64, f64)> {
    let Some(job) = &point.job else { return Vec::new() };
    let sparse = job.latency().to_sparse();
    let total = sparse.count();
    let mut beyond = total;
    let mut out: Vec<(f64, f64)> = vec![(sparse.min_ns as f64, 1.0)];
    for (value, count) in &sparse.buckets {
        beyond -= count;
        let (x, y) = (*value as f64, beyond as f64 / total as f64);
        let far = |(px, py): &(f64, f64)| x > px * EXCEEDANCE_STEP || y * EXCEEDANCE_STEP < *py;
        if beyond > 0 && out.last().is_none_or(far) {
            out.push((x, y));
        }
    }
    let last_share = out.last().map_or(1.0, |(_, share)| *share);
    out.push((sparse.max_ns as f64, last_share));
    out
}

/// A share as percent with as many decimals as a rare event needs.
fn share_words(share: f64) -> String {
    if share >= 0.01 { text::percent(share) } else { format!("{:.2e} %", share * 100.0) }
}
