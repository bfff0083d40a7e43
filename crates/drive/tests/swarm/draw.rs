//! Random numbers of one seed, and the profile and the hosts drawn from them.
//!
//! Drives are small, so that collection sets in within some ten thousand I/Os, and odd: every box of the
//! model is drawn from its slowest to its fastest, and the space down to the least that is allowed.

use flashlab_spec::{
    Arbitration, DriveProfile, Generator, HostProfile, Hosts, Isolation, PslcModel, QueuePairModel, Source, Sourced,
    VictimChoice,
};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use flashlab_workload::named_seed;

/// Numbers of one seed, by a counter: nothing else depends on how they are made.
pub(crate) struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw { seed, drawn: 0 }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.drawn += 1;
        named_seed(self.seed, "swarm", self.drawn)
    }

    /// From `min` to `max`, both included.
    pub(crate) fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.number() % (max - min + 1)
    }

    pub(crate) fn count(&mut self, min: u32, max: u32) -> u32 {
        self.between(u64::from(min), u64::from(max)) as u32
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From `min` to `max`, each doubling with the same chance.
    pub(crate) fn scale(&mut self, min: f64, max: f64) -> f64 {
        let doublings = (max / min).log2();
        min * (self.share() * doublings).exp2()
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.between(1, 100) <= chance
    }

    pub(crate) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.between(0, list.len() as u64 - 1) as usize].clone()
    }

    fn rate(&mut self, min: f64, max: f64) -> BytesPerSecond {
        BytesPerSecond(self.scale(min, max).round())
    }

    /// Nothing in one of four cases: the edge of most models.
    fn time(&mut self, max_ns: u64) -> Nanos {
        if self.percent(25) { Nanos(0) } else { Nanos(self.between(1, max_ns)) }
    }
}

fn assumed<T>(value: T) -> Sourced<T> {
    Sourced { value, source: Source::Assumed, note: "drawn".into() }
}

/// A profile that [`DriveProfile::parse`] takes, and how many units of it are to be mapped at most.
pub(crate) fn profile(draw: &mut Draw) -> (DriveProfile, u64) {
    let text = include_str!("../drive.toml");
    let mut profile = DriveProfile::parse(text, "drive.toml").expect("a good profile");
    nand(draw, &mut profile);
    front(draw, &mut profile);
    let units_max = space(draw, &mut profile);
    let text = toml::to_string(&profile).expect("a profile is text");
    (
        DriveProfile::parse(&text, "drawn.toml").unwrap_or_else(|e| panic!("a profile that works is refused: {e}")),
        units_max,
    )
}

fn nand(draw: &mut Draw, profile: &mut DriveProfile) {
    let p = &mut profile.parameters;
    let n = &mut p.nand;
    let unit = draw.of(&[4, 8, 16, 32, 64]) << 10;
    p.mapping.indirection_unit.value = Bytes(unit);
    n.program_unit.value = Bytes(unit * draw.of(&[1, 2, 3, 4, 4, 8, 8, 16]));
    n.dies.value = draw.of(&[1, 2, 3, 4, 8, 16, 48, 64, 256, 720]);
    let stripes: Vec<u32> = (1..=n.dies.value.min(16)).filter(|s| n.dies.value.is_multiple_of(*s)).collect();
    n.stripe_dies.value = if draw.percent(60) { 1 } else { draw.of(&stripes) };
    n.planes.value = draw.of(&[1, 1, 2, 3, 4, 6]);
    n.channels.value = draw.of(&[1, 2, 5, 8, 16, 64]);
    n.channel_rate.value = draw.rate(2e8, 4e9);
    n.read_time.value = Nanos(draw.between(3_000, 120_000));
    n.read_time_spread.value = if draw.percent(30) { 0.0 } else { draw.share() * 0.9 };
    n.program_time.value = Nanos(draw.scale(2e4, 1e7) as u64);
    n.erase_time.value = Nanos(draw.scale(1e4, 2e7) as u64);
    n.suspend_time.value = draw.time(100_000);
    p.write.programs_in_flight.value = draw.count(1, 2 * n.dies.value.min(64));
    p.write.buffer.value = Bytes(n.program_unit.value.0 * draw.of(&[4, 4, 5, 8, 20, 60]) + draw.of(&[0, 1, 12_345]));
}

fn front(draw: &mut Draw, profile: &mut DriveProfile) {
    let p = &mut profile.parameters;
    p.link.generation.value = draw.count(3, 6);
    (p.link.lanes.value, p.link.ports.value) = draw.of(&[(1, 1), (2, 2), (4, 1), (4, 2), (8, 1), (16, 2)]);
    p.link.payload_share.value = 0.5 + draw.share() / 2.0;
    p.controller.command_time.value = Nanos(draw.between(1, 5_000));
    p.controller.read_overhead.value = draw.time(20_000);
    p.controller.arbitration.value = draw.of(&[Arbitration::Arrival, Arbitration::RoundRobin]);
    p.write.acknowledge_time.value = Nanos(draw.between(1, 20_000));
    p.write.acknowledge_rate.value = draw.rate(5e8, 3e10);
    p.merge.contexts.value = draw.of(&[1, 2, 6, 16, 1024]);
    p.merge.overhead.value = draw.time(50_000);
    p.merge.acknowledge_extra.value = draw.time(20_000);
    p.merge.coalesce.value = draw.percent(50);
    p.read_ahead.streams.value = draw.of(&[0, 1, 2, 8, 40]);
    p.read_ahead.hit_time.value = draw.time(10_000);
    p.read_ahead.hit_rate.value = draw.rate(5e8, 3e10);
    p.read_ahead.rate.value = draw.rate(1e8, 2e10);
    p.queue_pair = draw.percent(30).then(|| QueuePairModel {
        holdoff_time: assumed(draw.time(200_000)),
        holdoff_rate: draw.percent(50).then(|| assumed(draw.rate(1e8, 1e10))),
        holdoff_half: assumed(draw.scale(0.1, 100.0)),
        holdoff_next: assumed(draw.share()),
    });
}

/// Space, from the least spare that is allowed on; and the scale.
fn space(draw: &mut Draw, profile: &mut DriveProfile) -> u64 {
    let p = &mut profile.parameters;
    let m = &mut p.mapping;
    m.handles.value = draw.of(&[1, 1, 1, 2, 3, 4, 8]);
    m.isolation.value = draw.of(&[Isolation::Initial, Isolation::Persistent]);
    m.victims.value =
        draw.of(&[VictimChoice::Greedy, VictimChoice::Fifo, VictimChoice::Choices, VictimChoice::AgeAware]);
    m.victim_choices.value = draw.count(1, 20);
    m.eager_valid_share.value = if draw.percent(60) { 0.0 } else { draw.share() * 0.9 };
    m.initial_free_share.value = if draw.percent(60) { 1.0 } else { draw.share() };
    let open = m.handles.value * if m.isolation.value == Isolation::Persistent { 2 } else { 1 }
        + u32::from(m.isolation.value == Isolation::Initial);
    m.reserve_superblocks.value = open + 2 + draw.of(&[0, 0, 1, 5]);
    let least = f64::from(m.reserve_superblocks.value) + f64::from(open) / 2.0 + 1.0;
    let superblocks = 16.max((least * (1.05 + 3.0 * draw.share())) as u32 + 1);
    m.superblocks.value = superblocks;
    let room = f64::from(superblocks) - least;
    let spare = least + if draw.percent(40) { 0.0 } else { draw.share() * 0.6 * room };
    // Some drives are mapped as they are, with superblocks of few programs; some are scaled down.
    let factor = if draw.percent(50) { 1 } else { draw.between(2, 5_000) };
    let (unit, program) = (m.indirection_unit.value.0, p.nand.program_unit.value.0);
    let program_units = program / unit;
    let superblock =
        if factor > 1 { 2_048_u64.next_multiple_of(program_units) } else { program_units * draw.between(2, 96) };
    let usable = u64::from(superblocks) * superblock * unit * factor;
    let share = draw.of(&[0.0, 0.031, 0.2]);
    p.capacity.unusable_share.value = share;
    p.capacity.raw.value = Bytes((usable as f64 / (1.0 - share)).ceil() as u64);
    let user = (usable as f64 * (1.0 - spare / f64::from(superblocks))) as u64 / unit * unit - unit;
    p.capacity.user.value = Bytes(user);
    p.pslc = draw.percent(25).then(|| PslcModel {
        size: assumed(Bytes(((draw.share() * 0.3 * usable as f64) as u64).max(program))),
        program_time: assumed(Nanos(draw.between(1_000, p.nand.program_time.value.0))),
    });
    u64::from(superblocks) * superblock
}

/// One host, for all generators.
pub(crate) fn hosts(draw: &mut Draw) -> (HostProfile, Hosts) {
    let host = HostProfile {
        generator: Generator::Fio,
        title: "drawn".into(),
        submit_time: assumed(draw.time(6_000)),
        resubmit_gap: assumed(draw.time(2_000)),
        jobs_delay: draw.percent(20).then(|| assumed(draw.time(5_000))),
        job_time: draw.percent(20).then(|| assumed(draw.time(100_000_000_000))),
        job_rate: draw.percent(20).then(|| assumed(draw.rate(2e8, 1e10))),
        shared_read_time: draw.percent(20).then(|| assumed(draw.time(3_000))),
        shared_write_time: draw.percent(20).then(|| assumed(draw.time(3_000))),
        hop_read_rate: draw.percent(20).then(|| assumed(draw.rate(1e9, 2e10))),
        hop_write_rate: draw.percent(20).then(|| assumed(draw.rate(1e9, 2e10))),
        hop_batches: draw.percent(20).then(|| assumed(true)),
        hop_write_slowdown: draw.percent(20).then(|| assumed(0.05)),
    };
    let all = [Generator::Fio, Generator::Gdsio, Generator::Checkpoint];
    let hosts = Hosts::new(all.map(|generator| HostProfile { generator, ..host.clone() }).to_vec());
    (host, hosts)
}
