//! How sure a mean is.

/// Two-sided 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (standard tables).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Half width of the 95 % interval of the mean of `batches` (batch means of one run), as a share of
/// the mean. `None` below 5 batches or for a mean of zero.
pub fn mean_interval_share(batches: &[f64]) -> Option<f64> {
    let n = batches.len();
    if n < 5 {
        return None;
    }
    let mean = batches.iter().sum::<f64>() / n as f64;
    let variance = batches.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let t = T_975.get(n - 2).copied().unwrap_or(1.96);
    (mean > 0.0).then(|| t * (variance / n as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_batch_means() {
        // mean 10, s = 1.5811, n = 5, t = 2.776: half width 1.963.
        let share = mean_interval_share(&[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap_or_default();
        assert!((share - 0.1963).abs() < 1e-4, "{share}");
        assert_eq!(mean_interval_share(&[1.0; 4]), None);
        assert_eq!(mean_interval_share(&[0.0; 9]), None);
    }
}
