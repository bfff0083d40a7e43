//! Steady state by the rule of SNIA's Performance Test Specification.

use flashlab_spec::SteadyRule;
use serde::{Deserialize, Serialize};

/// The window on which a verdict rests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyWindow {
    /// First round of the window, from 1.
    pub first_round: u32,
    /// Last round of the window.
    pub last_round: u32,
    /// Average over the window, in the unit of the values.
    pub average: f64,
    /// (maximum − minimum) / average.
    pub range_share: f64,
    /// Movement of the least-squares line over the window, |slope| × (rounds − 1) / average.
    pub slope_share: f64,
}

/// Whether the rounds so far are steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyVerdict {
    /// The last rounds meet the rule.
    Steady(SteadyWindow),
    /// Not yet; go on. The window is absent while there are too few rounds.
    NotYet(Option<SteadyWindow>),
    /// The most rounds allowed were done and the rule was not met; the last window is given.
    NotReached(SteadyWindow),
}

/// Judges the values of the rounds so far, oldest first, by `rule`: over the last `window` rounds
/// the range stays within `range_max` of the average, and the least-squares line moves by at most
/// `slope_max` of the average.
pub fn judge_steady(rounds: &[f64], rule: &SteadyRule) -> SteadyVerdict {
    let size = rule.window as usize;
    let Some(window) = rounds.len().checked_sub(size).map(|start| &rounds[start..]) else {
        return SteadyVerdict::NotYet(None);
    };
    let average = window.iter().sum::<f64>() / size as f64;
    let (low, high) = window.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    let middle = (size - 1) as f64 / 2.0;
    let (mut xy, mut xx) = (0.0, 0.0);
    for (i, y) in window.iter().enumerate() {
        let x = i as f64 - middle;
        xy += x * (y - average);
        xx += x * x;
    }
    let last_round = rounds.len() as u32;
    let judged = SteadyWindow {
        first_round: last_round + 1 - rule.window,
        last_round,
        average,
        range_share: (high - low) / average,
        slope_share: (xy / xx).abs() * (size - 1) as f64 / average,
    };
    // A NaN (average 0) meets nothing.
    if judged.range_share <= rule.range_max && judged.slope_share <= rule.slope_max {
        SteadyVerdict::Steady(judged)
    } else if last_round >= rule.rounds_max {
        SteadyVerdict::NotReached(judged)
    } else {
        SteadyVerdict::NotYet(Some(judged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SteadyRule = SteadyRule { window: 5, range_max: 0.2, slope_max: 0.1, rounds_max: 25 };

    #[test]
    fn needs_a_window() {
        assert_eq!(judge_steady(&[100.0; 4], &RULE), SteadyVerdict::NotYet(None));
        assert!(matches!(judge_steady(&[100.0; 5], &RULE), SteadyVerdict::Steady(w) if w.average == 100.0));
    }

    #[test]
    fn a_slow_decline_is_not_steady_although_the_range_is_small() {
        // Range 12 %, but the line moves 12 % over the window: fio's "deviation or slope" would pass it.
        let v = judge_steady(&[106.0, 103.0, 100.0, 97.0, 94.0], &RULE);
        let SteadyVerdict::NotYet(Some(w)) = v else { panic!("{v:?}") };
        assert!((w.range_share - 0.12).abs() < 1e-9 && (w.slope_share - 0.12).abs() < 1e-9, "{w:?}");
    }

    #[test]
    fn a_zigzag_is_not_steady_although_the_line_is_flat() {
        assert!(matches!(judge_steady(&[80.0, 110.0, 80.0, 110.0, 80.0], &RULE), SteadyVerdict::NotYet(Some(_))));
    }

    #[test]
    fn gives_up_after_the_last_round_and_dead_drives_are_never_steady() {
        let falling: Vec<f64> = (0..25).map(|i| 1000.0 - 40.0 * f64::from(i)).collect();
        assert!(matches!(judge_steady(&falling, &RULE), SteadyVerdict::NotReached(w) if w.first_round == 21));
        assert!(matches!(judge_steady(&[0.0; 25], &RULE), SteadyVerdict::NotReached(_)));
    }

    #[test]
    fn only_the_last_window_counts() {
        let mut rounds = vec![900.0, 500.0, 300.0];
        rounds.extend([100.0, 101.0, 99.0, 100.0, 100.0]);
        assert!(matches!(judge_steady(&rounds, &RULE), SteadyVerdict::Steady(w) if w.first_round == 4));
    }
}
