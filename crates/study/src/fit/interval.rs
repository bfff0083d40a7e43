//! How well the figures pin each parameter.

use super::evaluate::Trials;
use super::search::{Found, normal_equations, robust, slopes, solve};
use crate::StudyError;

/// Least scatter of a figure, as a share: three printed digits, and a run that is not repeated.
const SCATTER_MIN: f64 = 0.01;
/// Scatter where there are no more figures than parameters: the usual error of the model.
const SCATTER_ASSUMED: f64 = 0.05;
/// Effect below which a parameter has none, as d ln(figure) / d axis, squared and summed.
const EFFECT_MIN: f64 = 1e-6;
/// Two parameters that correlate more than this are known only together.
const CORRELATION_MAX: f64 = 0.95;
/// Student's t at 95 %, two-sided, for 1 to 9 degrees of freedom.
const T95: [f64; 9] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26];

/// What is known of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    /// 95 % interval in the base unit, within the bounds.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) pinned: Pinned,
}

/// Whether figures tell a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pinned {
    /// Within a factor of two, of a share within a quarter of its range.
    Yes,
    /// Not by itself: only together with the parameter of this number.
    With(usize),
    No,
}

/// 95 % intervals from the curvature of the cost at `found` and the scatter of the errors there.
pub(crate) fn intervals(trials: &Trials<'_>, found: &Found, weights: &[f64]) -> Result<Vec<Known>, StudyError> {
    let slopes = slopes(trials, found, true)?;
    let w: Vec<f64> = found.errors.iter().zip(weights).map(|(e, w)| robust(*e, *w)).collect();
    let (normal, _) = normal_equations(&slopes, &found.errors, &w);
    let felt: Vec<usize> = (0..normal.len()).filter(|i| normal[*i][*i] > EFFECT_MIN).collect();
    let covariance = inverse(&felt, &normal);
    let freedom = weights.iter().sum::<f64>() - felt.len() as f64;
    let squares: f64 = found.errors.iter().zip(&w).map(|(e, w)| w * e * e).sum();
    let (scatter, t) = if freedom < 1.0 {
        (SCATTER_ASSUMED, 2.0)
    } else {
        ((squares / freedom).sqrt().max(SCATTER_MIN), T95.get(freedom as usize - 1).copied().unwrap_or(2.0))
    };
    let values = trials.values(&found.at);
    let known = |i: usize| {
        let free = trials.free[i];
        let Some(at) = felt.iter().position(|f| *f == i) else {
            return Known { low: free.low, high: free.high, pinned: Pinned::No };
        };
        let half = t * scatter * covariance[at][at].max(0.0).sqrt();
        let centre = free.on_axis(values[i]);
        let (low, high) = (free.value_at(centre - half), free.value_at(centre + half));
        let correlation =
            |other: usize| (covariance[at][other] / (covariance[at][at] * covariance[other][other]).sqrt()).abs();
        let partner = (0..felt.len()).filter(|o| *o != at).max_by(|a, b| correlation(*a).total_cmp(&correlation(*b)));
        let pinned = match partner.filter(|o| correlation(*o) > CORRELATION_MAX) {
            _ if 2.0 * half <= free.wide() => Pinned::Yes,
            Some(other) => Pinned::With(felt[other]),
            None => Pinned::No,
        };
        Known { low, high, pinned }
    };
    Ok((0..normal.len()).map(known).collect())
}

/// Inverse of the rows and columns `of` of a matrix; nearly equal rows are kept apart by a trace on
/// the diagonal, and then have large variances.
fn inverse(of: &[usize], matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let part = |trace: f64| -> Vec<Vec<f64>> {
        let cell = |i: usize, j: usize| matrix[i][j] * if i == j { 1.0 + trace } else { 1.0 };
        of.iter().map(|i| of.iter().map(|j| cell(*i, *j)).collect()).collect()
    };
    let unit = |i: usize| (0..of.len()).map(|j| if i == j { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    let with = |trace: f64| (0..of.len()).map(|i| solve(part(trace), unit(i))).collect::<Option<Vec<_>>>();
    with(1e-9).or_else(|| with(1e-4)).unwrap_or_else(|| (0..of.len()).map(|_| vec![f64::MAX; of.len()]).collect())
}
