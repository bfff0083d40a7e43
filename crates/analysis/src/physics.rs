//! Laws that hold for every drive.

/// Little's law: the mean number of I/Os in flight is the rate (I/Os a second) times the mean
/// latency (ns).
pub fn in_flight_by_little(iops: f64, lat_mean_ns: f64) -> f64 {
    iops * lat_mean_ns / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little() {
        assert_eq!(in_flight_by_little(100_000.0, 320_000.0), 32.0);
    }
}
