//! The same load on the same drive with one thing changed.

use super::trace;
use flashlab_spec::{DriveProfile, Isolation, Job, Region};
use flashlab_units::Bytes;

/// Handles of the FDP variant: what drives with FDP of this class offer.
const HANDLES: u32 = 8;
/// Shares of the capacity left unused, in percent: the usual steps of over-provisioning.
const UNUSED_PERCENT: [u64; 3] = [7, 15, 28];
/// Space that is used is whole blocks of this size, the largest the fills and loads of sweeps have.
const GRAIN: u64 = 1 << 20;

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    /// Nothing.
    Base,
    /// Transfers are whole indirection units.
    Aligned,
    /// FDP with a handle for each job.
    Placement,
    /// This many percent of the capacity are never written.
    Unused(u64),
}

impl Variant {
    /// In the order of the answer.
    pub(super) fn all() -> Vec<Variant> {
        let unused = UNUSED_PERCENT.into_iter().map(Variant::Unused);
        [Variant::Base, Variant::Aligned, Variant::Placement].into_iter().chain(unused).collect()
    }

    /// Name in tables and JSON.
    pub(super) fn name(self) -> String {
        match self {
            Variant::Base => "as asked".into(),
            Variant::Aligned => "aligned".into(),
            Variant::Placement => "fdp".into(),
            Variant::Unused(percent) => format!("unused-{percent}"),
        }
    }

    /// The part of a capacity that is written at all.
    pub(super) fn used(self, capacity: Bytes) -> Bytes {
        match self {
            Variant::Unused(percent) => Bytes(capacity.0 / 100 * (100 - percent) / GRAIN * GRAIN),
            _ => capacity,
        }
    }

    /// The profile and the job with the change, and what it is; or why it changes nothing.
    pub(super) fn apply(self, profile: &DriveProfile, job: Job) -> Result<(DriveProfile, Job, String), String> {
        let writes = job.rw.writes();
        match self {
            Variant::Base => Ok((profile.clone(), job, "the load as asked, on the drive as it is".into())),
            _ if !writes => Err("the load writes nothing".into()),
            Variant::Aligned => aligned(profile, job),
            Variant::Placement => placement(profile, job),
            Variant::Unused(percent) => {
                let what = format!("{percent} % of the capacity are never written");
                Ok((profile.clone(), job, what))
            }
        }
    }
}

fn aligned(profile: &DriveProfile, mut job: Job) -> Result<(DriveProfile, Job, String), String> {
    let iu = profile.parameters.mapping.indirection_unit.value;
    if let Some(replay) = &job.replay {
        let Some(replay) = trace::aligned(replay, iu, job.region.length) else {
            return Err(format!("its writes are aligned to the indirection unit of {iu} already"));
        };
        let bs = Bytes(u64::from(replay.summary().length_max));
        let what = format!("each write is widened to whole indirection units of {iu}");
        return Ok((profile.clone(), Job { bs, replay: Some(replay), ..job }, what));
    }
    if job.pattern.sizes.is_some() {
        return Err("the load has several transfer sizes".into());
    }
    if job.pattern.align.is_some() || job.pattern.stride.is_some() {
        return Err("the load has an alignment or stride of its own".into());
    }
    if job.bs.0.is_multiple_of(iu.0) && job.region.offset.0.is_multiple_of(iu.0) {
        return Err(format!("it is aligned to the indirection unit of {iu} already"));
    }
    let end = job.region.offset.0 + job.region.length.0;
    let bs = Bytes(job.bs.0.div_ceil(iu.0) * iu.0);
    let offset = Bytes(job.region.offset.0 / iu.0 * iu.0);
    job.region = Region { offset, length: Bytes((end - offset.0) / bs.0 * bs.0) };
    let what = format!("transfers of {bs} instead of {}: whole indirection units of {iu}", job.bs);
    Ok((profile.clone(), Job { bs, ..job }, what))
}

fn placement(profile: &DriveProfile, job: Job) -> Result<(DriveProfile, Job, String), String> {
    if job.replay.is_some() {
        return Err("a trace does not say which of its writes belong together".into());
    }
    if !job.placement.is_empty() {
        return Err("the load has placement of its own".into());
    }
    if job.numjobs < 2 {
        return Err("one job is one stream, and placement keeps several apart; give --numjobs".into());
    }
    let mut with = profile.clone();
    let m = &mut with.parameters.mapping;
    let mut what = String::new();
    if m.handles.value < 2 {
        m.handles.value = HANDLES;
        let collected = if m.isolation.value == Isolation::Persistent { HANDLES } else { 1 };
        // Two more than the superblocks that are open at once: what garbage collection needs.
        m.reserve_superblocks.value = m.reserve_superblocks.value.max(HANDLES + collected + 2);
        what = format!(
            ", of {HANDLES} in a copy of the profile (no handles are stated for it), with {} superblocks in reserve",
            m.reserve_superblocks.value
        );
    }
    let handles = m.handles.value;
    let placement = (0..job.numjobs).map(|j| (j % handles) as u16).collect();
    let what = format!("the writes of each job to a reclaim unit handle of their own{what}");
    Ok((checked(with)?, Job { placement, ..job }, what))
}

/// A changed profile, checked as one that is read.
fn checked(profile: DriveProfile) -> Result<DriveProfile, String> {
    let text = toml::to_string(&profile).map_err(|e| e.to_string())?;
    DriveProfile::parse(&text, "the changed profile").map_err(|e| e.to_string())
}
