//! Sequences of jobs, drawn from a seed: what works, and what must be refused.

use crate::draw::Draw;
use flashlab_drive::ModelledDrive;
use flashlab_spec::{
    Arrival, Durability, Generator, Job, Offsets, Pattern, Rate, Region, Rw, Sharing, SizeRule, SizeShare, Sizes,
    Verify, Zone,
};
use flashlab_target::Target;
use flashlab_units::{Bytes, Nanos};

/// I/Os that the amount of a job asks for at most.
const IOS_MAX: u64 = 30_000;
const BLOCK: u64 = 512;

/// What is done to a drive.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Purge,
    /// A job that may be stopped at the observer's n-th look.
    Job {
        job: Box<Job>,
        stop_at_look: Option<u64>,
    },
    /// A job that no such drive can run.
    Impossible(Box<Job>),
}

/// 3 to 12 jobs, most of them after fills, so that most reads meet data and most writes meet no free space.
pub(crate) fn steps(draw: &mut Draw, drive: &ModelledDrive) -> Vec<Step> {
    let mut steps = Vec::new();
    let jobs = draw.between(3, 12);
    let mut left = jobs;
    if draw.percent(80) {
        let fills = draw.between(1, 2);
        steps.extend((0..fills).map(|_| run(fill(draw, drive))));
        left -= fills;
    }
    for _ in 0..left {
        if draw.percent(8) {
            steps.push(Step::Purge);
        }
        if draw.percent(15) {
            steps.push(Step::Impossible(Box::new(impossible(draw, drive))));
        }
        let job = job(draw, drive);
        let stop_at_look = draw.percent(10).then(|| draw.between(1, 3));
        steps.push(Step::Job { job: Box::new(job), stop_at_look });
    }
    steps
}

fn run(job: Job) -> Step {
    Step::Job { job: Box::new(job), stop_at_look: None }
}

fn fill(draw: &mut Draw, drive: &ModelledDrive) -> Job {
    let capacity = drive.identity().capacity;
    let whole = Region { offset: Bytes(0), length: capacity };
    let unit = drive.profile().parameters.mapping.indirection_unit.value.0;
    let bs = draw.of(&[unit, 4 * unit, 128 << 10]).min(capacity.0 / drive.scale() / 16 / BLOCK * BLOCK);
    let iodepth = draw.of(&[1, 4, 16]);
    Job { amount: Some(capacity), iodepth, seed: draw.number(), ..Job::new("fill", Rw::Write, Bytes(bs), whole) }
}

fn job(draw: &mut Draw, drive: &ModelledDrive) -> Job {
    let rws = [
        Rw::Read,
        Rw::Write,
        Rw::RandRead,
        Rw::RandWrite,
        Rw::RandWrite,
        Rw::RandRw,
        Rw::ReadWrite,
        Rw::Trim,
        Rw::RandTrim,
    ];
    let rw = draw.of(&rws);
    let numjobs = draw.of(&[1, 1, 1, 2, 3, 8]);
    let region = region(draw, drive);
    let bs = block(draw, drive, region.length.0 / drive.scale() / u64::from(numjobs));
    let mut job = Job {
        iodepth: draw.of(&[1, 1, 2, 4, 16, 64]),
        numjobs,
        // A mix with few writes takes long to fill the buffer; the bound on the I/Os of a job is not the subject.
        rwmixread: draw.of(&[0, 30, 50, 70, 90, 100]),
        rwmixtrim: if draw.percent(60) { 0 } else { draw.of(&[1, 10, 50, 100]) },
        seed: draw.number(),
        interval_goal: Some(draw.of(&[0.5, 0.1, 0.01])),
        generator: draw.of(&[Generator::Fio, Generator::Gdsio, Generator::Checkpoint]),
        ..Job::new("drawn", rw, Bytes(bs), region)
    };
    // Shares of all requests: no more than what the reads leave.
    job.rwmixtrim = job.rwmixtrim.min(100 - job.rwmixread);
    job.pattern = pattern(draw, &job);
    if draw.percent(35) {
        job.arrival = arrival(draw);
    }
    let handles = drive.profile().parameters.mapping.handles.value;
    if draw.percent(50) {
        job.placement = (0..draw.between(1, 4)).map(|_| draw.count(0, handles - 1) as u16).collect();
    }
    end(draw, drive, &mut job);
    if !rw.is_random() && job.pattern.stride.is_none() && draw.percent(20) {
        job.extents = extents(draw, drive, &job);
    }
    job
}

fn region(draw: &mut Draw, drive: &ModelledDrive) -> Region {
    let capacity = drive.identity().capacity;
    if draw.percent(50) {
        return Region { offset: Bytes(0), length: capacity };
    }
    let grain = draw.of(&[BLOCK, 4_096, 1 << 20]).min(capacity.0 / 8 / BLOCK * BLOCK);
    let length = draw.between(capacity.0 / 20, capacity.0) / grain * grain;
    let length = length.max(grain);
    let offset = draw.between(0, capacity.0 - length) / grain * grain;
    Region { offset: Bytes(offset), length: Bytes(length) }
}

/// A transfer size, of which a thread's part of the region, if it is `room`, holds some.
fn block(draw: &mut Draw, drive: &ModelledDrive, room: u64) -> u64 {
    let p = &drive.profile().parameters;
    let (unit, program) = (p.mapping.indirection_unit.value.0, p.nand.program_unit.value.0);
    let drawn = BLOCK * draw.between(1, 300);
    let usual =
        [4_096, 4_096, unit / 2, unit, unit, 2 * unit, 3 * unit, program, 128 << 10, 1 << 20, 96 << 10, 4 << 20];
    let bs = if draw.percent(15) { drawn } else { draw.of(&usual) };
    if draw.percent(97) { bs.min((room / 8).max(BLOCK) / BLOCK * BLOCK) } else { bs }
}

fn pattern(draw: &mut Draw, job: &Job) -> Pattern {
    let mut pattern = Pattern::default();
    if job.rw.is_random() {
        pattern.offsets = match draw.between(0, 9) {
            0 => Offsets::Once,
            1 => Offsets::Zipf { theta: draw.scale(0.1, 3.0) },
            2 => Offsets::Pareto { h: 0.01 + draw.share() * 0.98 },
            3 => Offsets::Normal { deviation_percent: draw.scale(1.0, 100.0) },
            4 => Offsets::Zones(zones(draw)),
            _ => Offsets::Repeats,
        };
        pattern.scatter = draw.percent(70);
        pattern.align = draw.percent(15).then(|| Bytes(draw.of(&[BLOCK, 4_096, 2 * job.bs.0])));
    } else if draw.percent(15) {
        pattern.stride = Some(Bytes(job.bs.0 * draw.between(1, 5)));
    }
    if draw.percent(15) {
        pattern.sharing = Some(draw.of(&[Sharing::Shared, Sharing::Slices]));
    }
    if draw.percent(25) {
        pattern.sizes = Some(sizes(draw, job.bs));
    }
    pattern
}

fn zones(draw: &mut Draw) -> Vec<Zone> {
    let (access, space) = (draw.between(1, 99) as f64, draw.between(1, 99) as f64);
    let zone = |access_percent, space_percent| Zone { access_percent, space_percent };
    vec![zone(access, space), zone(100.0 - access, 100.0 - space)]
}

fn sizes(draw: &mut Draw, bs: Bytes) -> Sizes {
    let half = Bytes((bs.0 / 2 / BLOCK * BLOCK).max(BLOCK));
    let split = |bs: Bytes, percent| SizeShare { bs, percent };
    if draw.percent(50) {
        Sizes::all(SizeRule::Range { min: Bytes(BLOCK), max: bs, step: Bytes(BLOCK) })
    } else {
        let share = draw.between(1, 99) as f64;
        Sizes::all(SizeRule::Split(vec![split(bs, share), split(half, 100.0 - share)]))
    }
}

/// From a rate that no drive notices to one that none keeps up with.
fn arrival(draw: &mut Draw) -> Arrival {
    let rate = Rate::iops(draw.scale(500.0, 5e6) as u64);
    if draw.percent(50) { Arrival::Fixed(rate) } else { Arrival::Poisson(rate) }
}

fn end(draw: &mut Draw, drive: &ModelledDrive, job: &mut Job) {
    let scaled = job.region.length.0 / drive.scale();
    let pass =
        Job { passes: Some(1), amount: None, ..job.clone() }.bytes_to_end().unwrap_or_default().0 / drive.scale();
    let whole_pass = pass / job.bs.0 <= IOS_MAX;
    match draw.between(0, 9) {
        0..=4 => job.runtime = Some(Nanos(draw.scale(1e6, 5e7) as u64 * drive.scale())),
        5 if whole_pass => job.passes = Some(1 + u32::from(2 * pass / job.bs.0 <= IOS_MAX)),
        _ => {
            // More than the region where that is little: what is written twice counts twice.
            let bytes = draw.between(job.bs.0, (IOS_MAX * job.bs.0).min(3 * scaled).max(job.bs.0));
            job.amount = Some(Bytes((bytes / BLOCK * BLOCK).saturating_mul(drive.scale())));
        }
    }
    if draw.percent(10) {
        job.runtime = Some(Nanos(draw.scale(1e6, 5e7) as u64 * drive.scale()));
    }
}

/// Whole blocks of the region in turn, some left out; as many for each thread.
fn extents(draw: &mut Draw, drive: &ModelledDrive, job: &Job) -> Vec<Vec<Region>> {
    let bs = job.bs.0 * drive.scale();
    let threads = u64::from(job.numjobs);
    let blocks = (job.region.length.0 / bs).min(IOS_MAX);
    let each = (blocks / threads / 4).max(1);
    let at = |block: u64| job.region.offset.0.next_multiple_of(job.bs.0) + block * bs;
    let mut lists = vec![Vec::new(); job.numjobs as usize];
    for piece in 0..draw.between(1, 3) {
        for (thread, list) in lists.iter_mut().enumerate() {
            let block = (piece * threads + thread as u64) * each;
            list.push(Region { offset: Bytes(at(block)), length: Bytes(each * bs) });
        }
    }
    lists
}

fn impossible(draw: &mut Draw, drive: &ModelledDrive) -> Job {
    let good = job(draw, drive);
    let handles = drive.profile().parameters.mapping.handles.value;
    let mut bad = good.clone();
    match draw.between(0, 12) {
        0 => bad.bs = Bytes(0),
        1 => bad.bs = Bytes(1_000),
        2 => bad.bs = Bytes(128 << 20),
        3 => bad.iodepth = draw.of(&[0, 4_097, u32::MAX]),
        4 => bad.numjobs = draw.of(&[0, 1_025, u32::MAX]),
        5 => bad.region.offset = Bytes(draw.of(&[u64::MAX, drive.identity().capacity.0, 100])),
        6 => bad.region.length = Bytes(draw.of(&[0, u64::MAX, drive.identity().capacity.0 + BLOCK])),
        7 => (bad.runtime, bad.amount, bad.passes) = (None, None, None),
        8 => bad.verify = Verify::Stamp,
        9 => bad.durability = Durability { fsync_every: 3, ..Durability::default() },
        10 => bad.placement = vec![0, handles as u16],
        11 => bad.arrival = Arrival::Recorded { time_percent: 100 },
        _ => bad.rwmixread = 101,
    }
    bad
}
