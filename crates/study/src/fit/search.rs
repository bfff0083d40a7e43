//! Bounded least squares on the logarithm of the error, with a loss that bounds what a single figure
//! can do.
//!
//! Levenberg and Marquardt's steps where the effect of the parameters is smooth; moves along one axis at a
//! time where it is not, because of whole numbers and of what a modelled point scatters.

use super::evaluate::Trials;
use crate::StudyError;

/// Error from which on a figure counts by its error and no longer by the square of it: what separates a slip,
/// or a mechanism that the model lacks, from the usual error of a few percent.
const SCALE: f64 = 0.05;
/// Least improvement worth another step.
const WORTH: f64 = 0.002;
/// Steps of least squares at most, before and after the moves along the axes.
const STEPS: [usize; 2] = [8, 5];
/// Rounds of moves along the axes at most.
const ROUNDS: usize = 10;
/// First and last length of these moves.
const MOVES: (f64, f64) = (0.3, 0.03);
/// Dampings that are tried at each step.
const DAMPINGS: [f64; 4] = [0.001, 0.03, 1.0, 30.0];

/// Evaluations of a search at most, for the time left.
pub(crate) fn evaluations_max(parameters: usize) -> usize {
    STEPS.iter().sum::<usize>() * (parameters + DAMPINGS.len()) + ROUNDS * (2 * parameters + 1) + 2 * parameters + 1
}

/// Where the search stands.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) at: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    pub(crate) cost: f64,
}

/// The least cost that is found from `start`; `weights` are those of the figures.
pub(crate) fn search(trials: &Trials<'_>, start: &[f64], weights: &[f64]) -> Result<Option<Found>, StudyError> {
    let Some(errors) = trials.errors(&[start.to_vec()])?.remove(0) else { return Ok(None) };
    let cost = cost(&errors, weights);
    let mut best = Found { at: start.to_vec(), errors, cost };
    least_squares(trials, &mut best, weights, STEPS[0])?;
    along_axes(trials, &mut best, weights)?;
    least_squares(trials, &mut best, weights, STEPS[1])?;
    Ok(Some(best))
}

/// What a figure counts at its error.
pub(crate) fn robust(error: f64, weight: f64) -> f64 {
    weight / (1.0 + (error / SCALE).powi(2)).sqrt()
}

fn cost(errors: &[f64], weights: &[f64]) -> f64 {
    errors.iter().zip(weights).map(|(e, w)| w * SCALE * SCALE * ((1.0 + (e / SCALE).powi(2)).sqrt() - 1.0)).sum()
}

/// Takes the best of `candidates` if it is better.
fn try_all(
    trials: &Trials<'_>,
    best: &mut Found,
    weights: &[f64],
    candidates: &[Vec<f64>],
) -> Result<bool, StudyError> {
    let before = best.cost;
    for (at, errors) in candidates.iter().zip(trials.errors(candidates)?) {
        let Some(errors) = errors else { continue };
        let cost = cost(&errors, weights);
        if cost < best.cost {
            *best = Found { at: at.clone(), errors, cost };
        }
    }
    Ok(best.cost < before * (1.0 - WORTH))
}

fn clamped(trials: &Trials<'_>, at: &[f64]) -> Vec<f64> {
    let free = trials.free.iter().zip(at);
    free.map(|(free, at)| at.clamp(free.on_axis(free.low), free.on_axis(free.high))).collect()
}

fn least_squares(trials: &Trials<'_>, best: &mut Found, weights: &[f64], steps: usize) -> Result<(), StudyError> {
    for _ in 0..steps {
        let slopes = slopes(trials, best, false)?;
        let w: Vec<f64> = best.errors.iter().zip(weights).map(|(e, w)| robust(*e, *w)).collect();
        let (normal, right) = normal_equations(&slopes, &best.errors, &w);
        let step = |damping: &f64| {
            let mut damped = normal.clone();
            for (i, row) in damped.iter_mut().enumerate() {
                row[i] += damping * row[i].max(1e-12);
            }
            let delta = solve(damped, right.clone())?;
            Some(clamped(trials, &best.at.iter().zip(delta).map(|(at, d)| at - d).collect::<Vec<_>>()))
        };
        let candidates: Vec<Vec<f64>> = DAMPINGS.iter().filter_map(step).collect();
        if !try_all(trials, best, weights, &candidates)? {
            break;
        }
    }
    Ok(())
}

fn along_axes(trials: &Trials<'_>, best: &mut Found, weights: &[f64]) -> Result<(), StudyError> {
    let mut length = MOVES.0;
    for _ in 0..ROUNDS {
        let from = best.at.clone();
        let values = trials.values(&from);
        let mut candidates = Vec::new();
        for (i, free) in trials.free.iter().enumerate() {
            let length = length.max(free.step(values[i]));
            for signed in [-length, length] {
                let mut at = from.clone();
                at[i] += signed;
                candidates.push(clamped(trials, &at));
            }
        }
        if !try_all(trials, best, weights, &candidates)? {
            if length <= MOVES.1 {
                break;
            }
            length = (length / 2.0).max(MOVES.1);
        }
    }
    Ok(())
}

/// d error / d parameter at `found`, a row a parameter: forward, or central with `both`. A parameter at a
/// bound is moved inwards; one that can't be moved has no effect.
pub(crate) fn slopes(trials: &Trials<'_>, found: &Found, both: bool) -> Result<Vec<Vec<f64>>, StudyError> {
    let values = trials.values(&found.at);
    let mut candidates = Vec::new();
    for (i, free) in trials.free.iter().enumerate() {
        let step = free.step(values[i]);
        let (low, high) = (free.on_axis(free.low), free.on_axis(free.high));
        let (mut down, mut up) = (found.at.clone(), found.at.clone());
        up[i] = (found.at[i] + step).min(high);
        down[i] = if both || up[i] <= found.at[i] { (found.at[i] - step).max(low) } else { found.at[i] };
        candidates.extend([down, up]);
    }
    let errors = trials.errors(&candidates)?;
    let slope = |i: usize| {
        // The value that was run, rounded as in a profile, is what moved the errors.
        let ran = |at: &[f64]| trials.free[i].on_axis(trials.values(at)[i]);
        let (down, up) = (ran(&candidates[2 * i]), ran(&candidates[2 * i + 1]));
        let (at_down, at_up) = (&errors[2 * i], &errors[2 * i + 1]);
        let at_down = at_down.as_ref().unwrap_or(&found.errors);
        let at_up = at_up.as_ref().unwrap_or(&found.errors);
        let apart = up - down;
        let each = |(d, u): (&f64, &f64)| if apart > 0.0 { (u - d) / apart } else { 0.0 };
        at_down.iter().zip(at_up).map(each).collect()
    };
    Ok((0..trials.free.len()).map(slope).collect())
}

/// Jᵀ W J and Jᵀ W e.
pub(crate) fn normal_equations(slopes: &[Vec<f64>], errors: &[f64], weights: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).zip(weights).map(|((a, b), w)| a * b * w).sum::<f64>();
    let normal = slopes.iter().map(|a| slopes.iter().map(|b| dot(a, b)).collect()).collect();
    (normal, slopes.iter().map(|a| dot(a, errors)).collect())
}

/// Solves a small system by elimination with the largest pivot; `None` if it has no single solution.
pub(crate) fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for col in 0..n {
        let pivot = (col..n).max_by(|i, j| a[*i][col].abs().total_cmp(&a[*j][col].abs()))?;
        if a[pivot][col].abs() < 1e-15 {
            return None;
        }
        a.swap(col, pivot);
        b.swap(col, pivot);
        for row in col + 1..n {
            let factor = a[row][col] / a[col][col];
            let (above, below) = a.split_at_mut(row);
            below[0][col..].iter_mut().zip(&above[col][col..]).for_each(|(x, y)| *x -= factor * y);
            b[row] -= factor * b[col];
        }
    }
    let mut x = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|col| a[row][col] * x[col]).sum();
        x[row] = (b[row] - known) / a[row][row];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_systems_are_solved() {
        let x = solve(vec![vec![0.0, 2.0], vec![4.0, 1.0]], vec![6.0, 11.0]).expect("regular");
        assert!((x[0] - 2.0).abs() < 1e-12 && (x[1] - 3.0).abs() < 1e-12);
        assert_eq!(solve(vec![vec![1.0, 1.0], vec![1.0, 1.0]], vec![1.0, 1.0]), None);
    }

    #[test]
    fn one_wild_figure_counts_little() {
        let (large, twice) = (cost(&[1.0], &[1.0]), cost(&[2.0], &[1.0]));
        assert!(twice < 2.1 * large && cost(&[0.002], &[1.0]) > 3.9 * cost(&[0.001], &[1.0]));
        assert!(robust(1.0, 1.0) < 0.06 && robust(0.0, 0.5) == 0.5);
    }
}
