//! How much writing a drive is rated for, and how much of that is used up.

use crate::{DriveProfile, Rated};
use flashlab_units::Bytes;

/// Days in a year of a rating: drive writes a day are counted over 365.
const DAYS_A_RATED_YEAR: f64 = 365.0;
/// Bytes in a petabyte.
const PETABYTE: f64 = 1e15;

impl DriveProfile {
    /// Bytes that the host may write over the life: petabytes written, else drive writes a day over so
    /// many years. `None` where the data sheet states neither.
    ///
    /// The rating holds for the write amplification of the vendor's endurance workload, which data sheets
    /// don't state.
    pub fn rated_written(&self) -> Option<f64> {
        let Rated { pbw, dwpd, dwpd_years, .. } = self.rated;
        let capacity = self.parameters.capacity.user.value.0 as f64;
        let by_day = || Some(dwpd? * capacity * DAYS_A_RATED_YEAR * f64::from(dwpd_years?));
        pbw.map(|pbw| pbw * PETABYTE).or_else(by_day)
    }

    /// Share of the life that is used up, in percent: mean erases over rated cycles; where those are not
    /// stated, what the host has `written` over what it may write. `None` without a rating.
    pub fn percentage_used(&self, erases_mean: f64, written: Bytes) -> Option<f64> {
        let by_cycles = self.rated.pe_cycles.map(|cycles| erases_mean / f64::from(cycles));
        by_cycles.or_else(|| Some(written.0 as f64 / self.rated_written()?)).map(|share| share * 100.0)
    }
}
