//! Which blocks a job touches, in which order.
//!
//! Plain data and its validation; `flashlab-workload` turns it into requests.

use crate::job::is_default;
use crate::{Job, Region, Sizes};
use flashlab_units::Bytes;
use serde::{Deserialize, Serialize};

/// A reason and a remedy; the job's name is added by [`Job::validate`].
pub(crate) type Fault = (String, String);

/// Steeper than any published trace; from here on nearly all requests go to one block.
const THETA_MAX: f64 = 10.0;
/// More zones, or sizes in a split, than a person writes down; each is a step of a search a request.
pub(crate) const SHARES_MAX: usize = 64;
/// Sums of percentages as people write them, such as three times 33.3333.
const PERCENT_TOLERANCE: f64 = 1e-3;

/// Read, write or trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// Deallocate: the host no longer needs the data. Moves none.
    Trim,
}

impl Direction {
    /// All of them; `direction as usize` is the place in it.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// fio's word.
    pub const fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// Which block the next request of a random job goes to. Sequential jobs ignore it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// Each block with the same chance, again and again.
    #[default]
    Repeats,
    /// Each block once a pass, each pass in an order of its own.
    Once,
    /// The block of rank k with a chance in proportion to k^-theta.
    Zipf {
        /// Above 0, where all blocks are equal, to 10. 1 is allowed.
        theta: f64,
    },
    /// A share h of the blocks gets a share 1 - h of the requests, and so on inside that share: the
    /// self-similar distribution that fio calls pareto. 0.2 is the rule of 80 to 20.
    Pareto {
        /// Between 0 and 1; 0.5 is uniform.
        h: f64,
    },
    /// Around the middle of the range; what would fall outside is drawn again.
    Normal {
        /// Standard deviation in percent of the range, above 0 to 100.
        deviation_percent: f64,
    },
    /// Zones, hot ones and cold ones; inside a zone each block with the same chance.
    Zones(Vec<Zone>),
}

/// A part of the range that gets its own share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of the requests in percent.
    pub access_percent: f64,
    /// Share of the blocks in percent.
    pub space_percent: f64,
}

impl Zone {
    /// The slot after the last of each zone, of `slots` in all. An edge lies where the sum of the
    /// shares says, rounded to a slot.
    pub fn edges(zones: &[Zone], slots: u64) -> Vec<u64> {
        let mut share = 0.0;
        let mut edges: Vec<u64> = zones
            .iter()
            .map(|zone| {
                share += zone.space_percent / 100.0;
                ((share * slots as f64).round() as u64).min(slots)
            })
            .collect();
        if let Some(last) = edges.last_mut() {
            *last = slots;
        }
        edges
    }
}

/// Whether the threads of a job meet on the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Each thread goes over the whole region.
    Shared,
    /// Each thread has an equal slice of the region.
    Slices,
}

/// Order and place of a job's requests beyond `rw`, `bs` and the region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pattern {
    /// Which block comes next in a random job.
    #[serde(skip_serializing_if = "is_default")]
    pub offsets: Offsets,
    /// Ranks of zipf and pareto, and the blocks of normal and zones, are scattered over the range by a
    /// permutation, so that hot blocks are no neighbours. The permutation depends on the number of
    /// blocks alone: jobs over the same range have the same hot blocks, whatever their seeds. Off, the
    /// hottest block is the first of the range (normal: the middle one).
    #[serde(skip_serializing_if = "is_true")]
    pub scatter: bool,
    /// Offsets are multiples of this from the start of the thread's part of the region. `None`: the smallest
    /// size of the direction for random requests ([`Job::step`]), and each sequential request begins where the
    /// last one ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// From the start of one sequential request to the start of the next. `None`: no gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stride: Option<Bytes>,
    /// Whether threads share the region. `None`: random jobs do, sequential ones have slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Transfer sizes other than bs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Share of the requests of a random job that go to random places; the others begin where the last one
    /// of their direction ended. `None`: all of them are random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<RandomShares>,
}

/// Shares of requests in percent, by direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomShares {
    /// Of reads.
    pub read: u8,
    /// Of writes.
    pub write: u8,
    /// Of trims.
    pub trim: u8,
}

impl RandomShares {
    /// One share for all directions.
    pub const fn all(percent: u8) -> Self {
        RandomShares { read: percent, write: percent, trim: percent }
    }

    /// That of a direction.
    pub const fn of(self, direction: Direction) -> u8 {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
            Direction::Trim => self.trim,
        }
    }
}

impl Default for Pattern {
    fn default() -> Self {
        let offsets = Offsets::Repeats;
        Pattern { offsets, scatter: true, align: None, stride: None, sharing: None, sizes: None, random: None }
    }
}

/// The greatest common divisor; of 0 and another number it is the other.
const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Serde hands over a reference.
fn is_true(value: &bool) -> bool {
    *value
}

impl Job {
    /// Whether the threads share the region, as asked or as the pattern has it.
    pub fn sharing(&self) -> Sharing {
        let usual = if self.rw.is_random() { Sharing::Shared } else { Sharing::Slices };
        self.pattern.sharing.unwrap_or(usual)
    }

    /// The part of the region that thread `index` goes over. Slices are whole blocks and equal, so that
    /// what they leave over is not touched; with `passes`, the first threads take one block more until
    /// all are covered, and the last one takes the tail that is shorter than bs.
    pub fn slice(&self, index: u32) -> Region {
        let (jobs, index) = (u64::from(self.numjobs), u64::from(index));
        let blocks = self.region.length.0 / self.bs.0;
        if self.sharing() == Sharing::Shared {
            return self.region;
        }
        let each = blocks / jobs;
        let (first, count, tail) = if self.passes.is_some() {
            let longer = blocks % jobs;
            let tail = if index + 1 == jobs { self.region.length.0 % self.bs.0 } else { 0 };
            (each * index + index.min(longer), each + u64::from(index < longer), tail)
        } else {
            (each * index, each, 0)
        };
        Region { offset: Bytes(self.region.offset.0 + first * self.bs.0), length: Bytes(count * self.bs.0 + tail) }
    }

    /// A random request of this direction starts at a multiple of this: the alignment, or its smallest size. Without
    /// repeats it is bs, so that requests of several sizes don't overlap.
    pub fn step(&self, direction: Direction) -> Bytes {
        let smallest = || match &self.pattern.sizes {
            Some(sizes) if self.pattern.offsets != Offsets::Once => sizes.of(direction).smallest(),
            _ => self.bs,
        };
        self.pattern.align.unwrap_or_else(smallest)
    }

    /// From one place a random request of any direction can start at to the next: what all their steps are
    /// multiples of.
    pub fn grain(&self) -> Bytes {
        let used = Direction::ALL.into_iter().zip(self.mix()).filter(|(_, share)| *share > 0);
        Bytes(used.map(|(direction, _)| self.step(direction).0).reduce(gcd).unwrap_or(self.bs.0))
    }

    /// The places a random request of thread `index` can start at: multiples of [`Job::grain`] from
    /// which the largest request still fits.
    pub fn slots(&self, index: u32) -> u64 {
        match self.slice(index).length.0.checked_sub(self.bs.0) {
            Some(room) => room / self.grain().0 + 1,
            None => 0,
        }
    }

    /// Checks the pattern and the sizes.
    pub(crate) fn check_pattern(&self, logical_block: Bytes) -> Result<(), Fault> {
        let whole = |name: &str, value: Option<Bytes>| match value {
            Some(v) if v.0 == 0 || !v.0.is_multiple_of(logical_block.0) => Err((
                format!("{name} is {} and the logical block {logical_block}", v.exact()),
                format!("use a multiple, such as {}", next_multiple(v, logical_block)),
            )),
            _ => Ok(()),
        };
        whole("align", self.pattern.align)?;
        whole("stride", self.pattern.stride)?;
        if let Some(sizes) = &self.pattern.sizes {
            sizes.check(self.bs, logical_block)?;
        }
        self.check_random()?;
        if let Some(stride) = self.pattern.stride {
            if self.rw.is_random() || !self.extents.is_empty() {
                return Err(("stride is for sequential jobs without extents".into(), "leave stride out".into()));
            }
            if stride < self.bs {
                let reason = format!("stride {} is smaller than bs {}", stride.exact(), self.bs.exact());
                return Err((reason, format!("use at least {}", self.bs.exact())));
            }
        }
        self.pattern.offsets.check((0..self.numjobs).map(|index| self.slots(index)).min().unwrap_or(0))
    }
}

impl Job {
    fn check_random(&self) -> Result<(), Fault> {
        let Some(shares) = self.pattern.random else { return Ok(()) };
        if !self.rw.is_random() {
            let reason = format!("a share of random offsets of a {} job", self.rw.word());
            return Err((reason, "use rand and the same word: the share that is not random is sequential".into()));
        }
        if self.pattern.offsets == Offsets::Once {
            let reason = "each block once a pass, and some of them in order".to_owned();
            return Err((reason, "use a distribution with repeats, such as random".into()));
        }
        let shares = Direction::ALL.map(|direction| shares.of(direction));
        match shares.into_iter().find(|share| *share > 100) {
            Some(share) => Err((format!("the share of random offsets is {share} %"), "use 0 to 100".into())),
            None => Ok(()),
        }
    }
}

/// The least multiple of `of` that is not below `value`, as text.
pub(crate) fn next_multiple(value: Bytes, of: Bytes) -> String {
    Bytes(value.0.max(1).div_ceil(of.0).saturating_mul(of.0)).exact()
}

impl Offsets {
    fn check(&self, slots: u64) -> Result<(), Fault> {
        // Written so that NaN is refused.
        let within = |value: f64, above: f64, max: f64| value > above && value <= max;
        match self {
            Offsets::Repeats | Offsets::Once => Ok(()),
            Offsets::Zipf { theta } if within(*theta, 0.0, THETA_MAX) => Ok(()),
            Offsets::Zipf { theta } => {
                Err((format!("zipf theta is {theta}"), format!("use above 0 to {THETA_MAX}, such as 1.1")))
            }
            Offsets::Pareto { h } if *h > 0.0 && *h < 1.0 => Ok(()),
            Offsets::Pareto { h } => {
                Err((format!("pareto h is {h}"), "use a share between 0 and 1, such as 0.2 for 80 to 20".into()))
            }
            Offsets::Normal { deviation_percent: d } if within(*d, 0.0, 100.0) => Ok(()),
            Offsets::Normal { deviation_percent } => Err((
                format!("the deviation of normal is {deviation_percent} %"),
                "use above 0 to 100 % of the range, such as 10".into(),
            )),
            Offsets::Zones(zones) => check_zones(zones, slots),
        }
    }
}

fn check_zones(zones: &[Zone], slots: u64) -> Result<(), Fault> {
    if zones.is_empty() || zones.len() > SHARES_MAX {
        return Err((format!("{} zones", zones.len()), format!("give 1 to {SHARES_MAX}")));
    }
    check_shares("the zones' access", zones.iter().map(|z| z.access_percent))?;
    check_shares("the zones' space", zones.iter().map(|z| z.space_percent))?;
    let mut start = 0;
    for (i, (zone, end)) in zones.iter().zip(Zone::edges(zones, slots)).enumerate() {
        if end <= start && zone.access_percent > 0.0 {
            let reason = format!("zone {} has {} % of {slots} blocks, which is none", i + 1, zone.space_percent);
            return Err((reason, "give the zone more space, or the job a larger region".into()));
        }
        start = end;
    }
    Ok(())
}

/// Shares of a whole: none negative, 100 % together.
pub(crate) fn check_shares(what: &str, shares: impl Iterator<Item = f64> + Clone) -> Result<(), Fault> {
    if let Some(bad) = shares.clone().find(|s| !(0.0..=100.0).contains(s)) {
        return Err((format!("{what} has a share of {bad} %"), "use 0 to 100".into()));
    }
    let sum: f64 = shares.sum();
    if (sum - 100.0).abs() > PERCENT_TOLERANCE {
        return Err((format!("{what} adds up to {sum} %"), "let the shares add up to 100".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generator, Rw, SizeRule};
    use flashlab_units::Nanos;

    fn job(rw: Rw) -> Job {
        let region = Region { offset: Bytes::ZERO, length: Bytes::mib(1) };
        Job { runtime: Some(Nanos::secs(1)), ..Job::new("w", rw, Bytes::kib(4), region) }
    }

    fn refusal(job: &Job) -> String {
        job.validate(Bytes(512), Bytes::mib(1)).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn distributions_out_of_range_are_refused() {
        let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
        let zones = |list: &[(f64, f64)]| Offsets::Zones(list.iter().map(|z| zone(z.0, z.1)).collect());
        for (offsets, says) in [
            (Offsets::Zipf { theta: 0.0 }, "zipf theta is 0"),
            (Offsets::Zipf { theta: f64::NAN }, "zipf theta is NaN"),
            (Offsets::Zipf { theta: 11.0 }, "above 0 to 10"),
            (Offsets::Pareto { h: 0.0 }, "pareto h is 0"),
            (Offsets::Pareto { h: 1.0 }, "such as 0.2"),
            (Offsets::Normal { deviation_percent: 0.0 }, "deviation of normal is 0 %"),
            (Offsets::Normal { deviation_percent: 101.0 }, "above 0 to 100"),
            (zones(&[]), "0 zones"),
            (zones(&[(1.0, 1.0); 65]), "65 zones"),
            (zones(&[(50.0, 50.0), (40.0, 50.0)]), "access adds up to 90 %"),
            (zones(&[(50.0, 50.0), (50.0, 60.0)]), "space adds up to 110 %"),
            (zones(&[(150.0, 50.0), (-50.0, 50.0)]), "a share of 150 %"),
            (zones(&[(f64::NAN, 100.0)]), "a share of NaN %"),
            // 256 blocks: a thousandth of them is none.
            (zones(&[(50.0, 0.1), (50.0, 99.9)]), "of 256 blocks, which is none"),
        ] {
            let pattern = Pattern { offsets, ..Pattern::default() };
            let text = refusal(&Job { pattern, ..job(Rw::RandRead) });
            assert!(text.contains(says), "{says}: {text}");
        }
        for offsets in [
            Offsets::Zipf { theta: 1.0 },
            Offsets::Once,
            zones(&[(33.3333, 33.3333); 3][..]),
            zones(&[(0.0, 0.0), (100.0, 100.0)]),
        ] {
            let pattern = Pattern { offsets, ..Pattern::default() };
            let text = refusal(&Job { pattern: pattern.clone(), ..job(Rw::RandRead) });
            assert_eq!(text, "", "{pattern:?}");
        }
    }

    #[test]
    fn places_out_of_range_are_refused() {
        let bytes = |n| Some(Bytes(n));
        for (rw, align, stride, says) in [
            (Rw::RandRead, bytes(0), None, "align is 0B"),
            (Rw::RandRead, bytes(700), None, "such as 1KiB"),
            (Rw::Read, None, bytes(4100), "stride is 4100B"),
            (Rw::Read, None, bytes(2048), "smaller than bs"),
            (Rw::RandRead, None, bytes(8192), "for sequential jobs"),
        ] {
            let pattern = Pattern { align, stride, ..Pattern::default() };
            let text = refusal(&Job { pattern, ..job(rw) });
            assert!(text.contains(says), "{says}: {text}");
        }
    }

    #[test]
    fn slices_are_equal_and_cover_all_where_passes_ask_for_it() {
        let region = Region { offset: Bytes::kib(4), length: Bytes::kib(46) };
        let job = Job { numjobs: 3, region, ..job(Rw::Write) };
        let slices = |job: &Job| [0, 1, 2].map(|i| (job.slice(i).offset.0 >> 10, job.slice(i).length.0 >> 10));
        assert_eq!(slices(&job), [(4, 12), (16, 12), (28, 12)]);
        assert_eq!(slices(&Job { passes: Some(1), ..job.clone() }), [(4, 16), (20, 16), (36, 14)]);
        assert_eq!(slices(&Job { rw: Rw::RandWrite, ..job }), [(4, 46); 3]);
    }

    #[test]
    fn zones_end_with_the_range() {
        let zone = |space_percent| Zone { access_percent: 50.0, space_percent };
        assert_eq!(
            Zone::edges(&[zone(33.3333), zone(33.3333), zone(33.3333)], 1_000_000_000),
            [333333000, 666666000, 1_000_000_000]
        );
        assert_eq!(Zone::edges(&[zone(50.0), zone(50.0)], 1), [1, 1]);
    }

    /// What is stored of a plain job has no new key, and everything comes back as it was.
    #[test]
    fn only_what_was_asked_for_is_stored() {
        let plain = toml::to_string(&job(Rw::RandRead)).expect("text");
        let keys: Vec<&str> = plain.lines().filter_map(|line| line.split(" =").next()).collect();
        let expected =
            ["workload", "rw", "rwmixread", "bs", "iodepth", "numjobs", "runtime", "ramp", "seed", "generator"];
        assert_eq!(keys[..expected.len()], expected, "{plain}");
        assert!(!plain.contains("pattern") && !plain.contains("arrival"), "{plain}");
        let pattern = Pattern {
            offsets: Offsets::Zones(vec![Zone { access_percent: 100.0, space_percent: 100.0 }]),
            scatter: false,
            align: Some(Bytes::kib(8)),
            sharing: Some(Sharing::Slices),
            random: Some(RandomShares::all(40)),
            sizes: Some(Sizes::all(SizeRule::Range { min: Bytes(512), max: Bytes::kib(4), step: Bytes(512) })),
            stride: None,
        };
        let full = Job {
            pattern,
            rwmixtrim: 5,
            passes: Some(3),
            arrival: crate::Arrival::Poisson(crate::Rate::iops(700_000)),
            placement: vec![1, 2],
            write_hint: Some(crate::WriteHint::Short),
            durability: crate::Durability { fsync_every: 8, ..Default::default() },
            data: crate::Data { compress_percent: 50, ..Default::default() },
            verify: crate::Verify::ReadBack,
            generator: Generator::Gdsio,
            ..job(Rw::ReadWrite)
        };
        for job in [job(Rw::RandRead), full] {
            let text = toml::to_string(&job).expect("text");
            assert_eq!(toml::from_str::<Job>(&text).expect("a job"), job, "{text}");
        }
    }
}
