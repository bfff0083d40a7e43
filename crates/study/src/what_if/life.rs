//! Years of life at a daily volume, from what the data sheet rates.

use flashlab_spec::DriveProfile;
use flashlab_units::Bytes;
use serde::Serialize;

/// Days in a year of the calendar.
const DAYS_A_YEAR: f64 = 365.25;

/// How long the rated writes last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Life {
    /// Years; `None` without a rating or a daily volume.
    pub years: Option<f64>,
    /// Bytes that the host may write over the life; `None` without a rating.
    pub rated_bytes: Option<f64>,
    /// Where the rating stands, or why there is no answer.
    pub source: String,
}

impl Life {
    /// Of a drive whose host writes `daily` bytes a day. The rating ([`DriveProfile::rated_written`]) is not
    /// corrected for the write amplification of the load.
    pub(super) fn of(profile: &DriveProfile, daily: Option<Bytes>) -> Self {
        let r = &profile.rated;
        let rated_bytes = profile.rated_written();
        let ground = match (r.pbw, r.dwpd.zip(r.dwpd_years)) {
            (Some(pbw), _) => format!("rated for {pbw} PB written"),
            (None, Some((dwpd, years))) => format!("rated for {dwpd} drive writes a day over {years} years"),
            (None, None) => "neither petabytes written nor drive writes a day are stated".to_owned(),
        };
        let daily = daily.filter(|d| d.0 > 0).map(|d| d.0 as f64);
        let years = rated_bytes.zip(daily).map(|(bytes, daily)| bytes / daily / DAYS_A_YEAR);
        let source = match (rated_bytes, daily) {
            (Some(_), None) => format!("{ground}; no daily volume was given"),
            (Some(_), Some(_)) => format!("{ground} ({})", r.source),
            (None, _) => ground,
        };
        Life { years, rated_bytes, source }
    }
}
