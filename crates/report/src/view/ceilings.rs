//! The data sheet beside what was reached.

use super::{Kind, Section, Series, outstanding};
use crate::text;
use flashlab_samples::{Condition, MetricName, PointResult};
use flashlab_spec::{DriveProfile, Rated, Rw};
use flashlab_units::{Bytes, Iops, Nanos};

/// A line of the spec sheet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rating {
    pub(crate) what: &'static str,
    /// As the sheet says; `None` where it does not say.
    pub(crate) rated: Option<String>,
    /// `None` where no workload of the report answers it.
    pub(crate) ours: Option<Reached>,
}

/// The highest (or for latency the lowest) figure of this report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reached {
    pub(crate) figure: String,
    /// Measured or modelled.
    pub(crate) origin: &'static str,
    /// The word of its state.
    pub(crate) state: &'static str,
    /// Workload, place and state.
    pub(crate) place: String,
}

/// Every line of a sheet, what the sheet of `profile` says there, and beside it what its runs in
/// `sections` reached. All profiles have the same lines.
pub(crate) fn ratings(profile: &DriveProfile, sections: &[Section<'_>]) -> Vec<Rating> {
    let mut out = performance(&profile.rated, &Runs { id: &profile.id, sections });
    out.extend(facts(&profile.rated));
    out
}

/// The runs of one drive.
struct Runs<'a> {
    id: &'a str,
    sections: &'a [Section<'a>],
}

impl<'a> Runs<'a> {
    /// Every series of the drive whose workload has this pattern and, if given, block size.
    fn series(&self, rw: Rw, bs: Option<Bytes>) -> impl Iterator<Item = (&'a Section<'a>, &'a Series<'a>)> {
        let id = self.id;
        let fits = move |section: &Section<'_>, series: &Series<'_>| {
            let answers = |k: Kind| k.rw == rw && bs.is_none_or(|b| b == k.bs) && !section.is_checkpoints();
            series.run.provenance.target.id == id && series.kind.is_some_and(answers)
        };
        self.sections.iter().flat_map(move |section| {
            section.series.iter().filter(move |series| fits(section, series)).map(move |series| (section, series))
        })
    }

    fn highest(&self, rw: Rw, bs: Option<Bytes>, name: MetricName) -> Option<Reached> {
        let all = self.series(rw, bs).filter_map(|(section, series)| Some((section, series.best(name)?)));
        let (section, point) = all.max_by(|a, b| compare(a.1, b.1, name))?;
        words(section, point, name)
    }

    /// Data sheets rate random writes in steady state; the free pool after a fill is no answer to them.
    fn steady(&self, rw: Rw, bs: Option<Bytes>, name: MetricName) -> Option<Reached> {
        let last = |s: &'a Series<'a>| s.points.iter().copied().find(|p| p.state.condition == Condition::GcSteady);
        let all = self.series(rw, bs).filter_map(|(section, series)| Some((section, last(series)?)));
        let (section, point) = all.max_by(|a, b| compare(a.1, b.1, name))?;
        words(section, point, name)
    }

    /// At one outstanding I/O, as data sheets rate latency.
    fn lowest_latency(&self, rw: Rw) -> Option<Reached> {
        let alone = |p: &&&PointResult| outstanding(&p.at) == Some(1);
        let all = self
            .series(rw, None)
            .flat_map(|(section, series)| series.points.iter().filter(alone).map(move |point| (section, *point)));
        let valued = all.filter(|(_, p)| p.value(MetricName::LatMean).is_some());
        let (section, point) = valued.min_by(|a, b| compare(a.1, b.1, MetricName::LatMean))?;
        words(section, point, MetricName::LatMean)
    }
}

fn compare(a: &PointResult, b: &PointResult, name: MetricName) -> std::cmp::Ordering {
    let value = |p: &PointResult| p.value(name).unwrap_or(f64::NAN);
    value(a).total_cmp(&value(b))
}

fn words(section: &Section<'_>, point: &PointResult, name: MetricName) -> Option<Reached> {
    let figure = text::figure(text::metric(point, name)?);
    let place = format!("{} {}, {}", section.workload, text::short_place(&point.at), point.state.condition.word());
    Some(Reached { figure, origin: point.origin.word(), state: point.state.condition.word(), place })
}

fn performance(rated: &Rated, runs: &Runs<'_>) -> Vec<Rating> {
    let (read_bs, write_bs) = (rated.random_read_block, rated.random_write_block);
    let at = |bs: Option<Bytes>| bs.map(|bs| format!(" at {bs}")).unwrap_or_default();
    let iops = |n: Option<u64>, bs: Option<Bytes>| n.map(|n| format!("{}{}", Iops(n as f64), at(bs)));
    let time = |t: Option<Nanos>| t.map(|t| t.to_string());
    let line = |what, rated: Option<String>, ours| Rating { what, rated, ours };
    vec![
        line(
            "Sequential read",
            rated.sequential_read.map(|r| r.si()),
            runs.highest(Rw::Read, None, MetricName::Bandwidth),
        ),
        line(
            "Sequential write",
            rated.sequential_write.map(|r| r.si()),
            runs.highest(Rw::Write, None, MetricName::Bandwidth),
        ),
        line(
            "Random read",
            iops(rated.random_read_iops, read_bs),
            runs.highest(Rw::RandRead, read_bs, MetricName::Iops).filter(|_| rated.random_read_iops.is_some()),
        ),
        line(
            "Random write",
            iops(rated.random_write_iops, write_bs),
            runs.steady(Rw::RandWrite, write_bs, MetricName::Iops).filter(|_| rated.random_write_iops.is_some()),
        ),
        line("Random read latency", time(rated.latency_random_read), runs.lowest_latency(Rw::RandRead)),
        line("Random write latency", time(rated.latency_random_write), runs.lowest_latency(Rw::RandWrite)),
        line("Sequential read latency", time(rated.latency_sequential_read), runs.lowest_latency(Rw::Read)),
        line("Sequential write latency", time(rated.latency_sequential_write), runs.lowest_latency(Rw::Write)),
    ]
}

/// Figures that no workload answers.
fn facts(rated: &Rated) -> Vec<Rating> {
    let watts = |w: Option<f64>| w.map(|w| format!("{w} W"));
    let years = |y: Option<u32>| y.map(|y| format!("{y} years"));
    let pcie = rated.pcie_generation.map(|generation| {
        format!("PCIe {generation}{}", rated.pcie_lanes.map(|lanes| format!(" x{lanes}")).unwrap_or_default())
    });
    let dwpd = rated
        .dwpd
        .map(|dwpd| format!("{dwpd}{}", rated.dwpd_years.map(|y| format!(" for {y} years")).unwrap_or_default()));
    let forms = (!rated.form_factors.is_empty()).then(|| rated.form_factors.join(", "));
    [
        ("Power, highest", watts(rated.power_max_w)),
        ("Power, reading", watts(rated.power_read_w)),
        ("Power, writing", watts(rated.power_write_w)),
        ("Power, idle", watts(rated.power_idle_w)),
        ("Drive writes a day", dwpd),
        ("Written over the life", rated.pbw.map(|pb| format!("{pb} PB"))),
        ("Program and erase cycles", rated.pe_cycles.map(|n| text::grouped(n.into()))),
        ("Mean time between failures", rated.mtbf_hours.map(|h| format!("{} hours", text::grouped(h)))),
        ("Warranty", years(rated.warranty_years)),
        ("Interface", pcie),
        ("NVMe version", rated.nvme_version.clone()),
        ("Controller", rated.controller.clone()),
        ("Form factors", forms),
    ]
    .into_iter()
    .map(|(what, rated)| Rating { what, rated, ours: None })
    .collect()
}
