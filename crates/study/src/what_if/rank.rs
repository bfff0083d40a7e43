//! Several drives in order.

use super::DriveAnswer;
use flashlab_spec::DriveProfile;
use serde::Serialize;

/// Drives by one criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// What they are ranked by.
    pub by: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Best first.
    pub places: Vec<Place>,
    /// Drives of which the value is not known.
    pub unknown: Vec<String>,
}

/// A drive and its value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    /// Name of the profile.
    pub drive_id: String,
    /// In the criterion's unit.
    pub value: f64,
}

/// By throughput and tail of the load as asked once the drive is steady, life, and the sheet's watts.
pub(super) fn rank(profiles: &[&DriveProfile], drives: &[DriveAnswer], writes: bool) -> Vec<Criterion> {
    let lasting = |d: &DriveAnswer| d.base().map(|o| o.lasting().clone());
    let tail = |d: &DriveAnswer| {
        let f = lasting(d)?;
        let worst = [f.read_latency, f.write_latency].into_iter().flatten().filter_map(|l| l.p99_ns).max();
        worst.map(|ns| ns as f64)
    };
    let watts = |d: &DriveAnswer| {
        let rated = &profiles.iter().find(|p| p.id == d.drive_id)?.rated;
        let active = if writes { rated.power_write_w } else { rated.power_read_w };
        active.or(rated.power_max_w)
    };
    vec![
        criterion("throughput", "B/s", true, drives, |d| lasting(d).map(|f| f.bytes_per_s)),
        criterion("p99 of the slower direction", "ns", false, drives, tail),
        criterion("life at the daily volume", "years", true, drives, |d| d.life.years),
        criterion("rated power, of the direction or the highest", "W", false, drives, watts),
        // Profiles have no prices.
        criterion("dollars per TB", "USD", false, drives, |_| None),
    ]
}

fn criterion(
    by: &str,
    unit: &'static str,
    more_is_better: bool,
    drives: &[DriveAnswer],
    value: impl Fn(&DriveAnswer) -> Option<f64>,
) -> Criterion {
    let (mut places, mut unknown) = (Vec::new(), Vec::new());
    for drive in drives {
        match value(drive) {
            Some(value) => places.push(Place { drive_id: drive.drive_id.clone(), value }),
            None => unknown.push(drive.drive_id.clone()),
        }
    }
    let sign = if more_is_better { -1.0 } else { 1.0 };
    places.sort_by(|a, b| (sign * a.value).total_cmp(&(sign * b.value)));
    Criterion { by: by.to_owned(), unit, places, unknown }
}
