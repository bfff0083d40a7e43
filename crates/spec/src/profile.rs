//! Drive profiles: what a drive is rated at, and the physical parameters of its model.
//!
//! A profile holds times, counts, sizes and rates, each with its source. It never holds a curve of
//! results.

use crate::{SpecError, toml_text};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use serde::{Deserialize, Serialize};

/// Where a parameter's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The vendor's data sheet.
    Spec,
    /// A figure printed in a review, used as a ceiling or a time.
    Published,
    /// Follows from published figures by an argument, which the note gives.
    Inferred,
    /// Fitted to results; the note gives the interval, or says that there is none.
    Fitted,
    /// Plausible for the class of drive, not supported by a figure of this drive.
    Assumed,
}

impl Source {
    /// The word in profiles and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Source::Spec => "spec",
            Source::Published => "published",
            Source::Inferred => "inferred",
            Source::Fitted => "fitted",
            Source::Assumed => "assumed",
        }
    }
}

/// A value with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Kind of source.
    pub source: Source,
    /// The argument or the place.
    pub note: String,
}

/// A parameter as a table row.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Table and key, such as `nand.read_time`.
    pub key: String,
    /// Value with its unit.
    pub value: String,
    /// Kind of source.
    pub source: Source,
    /// The argument or the place.
    pub note: String,
    /// Where in the model it acts.
    pub acts: String,
}

/// How a value is shown in a parameter table.
trait Shown {
    fn shown(&self) -> String;
}
impl Shown for Bytes {
    fn shown(&self) -> String {
        self.exact()
    }
}
impl Shown for Nanos {
    fn shown(&self) -> String {
        self.to_string()
    }
}
impl Shown for BytesPerSecond {
    fn shown(&self) -> String {
        self.to_string()
    }
}
impl Shown for u32 {
    fn shown(&self) -> String {
        self.to_string()
    }
}
impl Shown for f64 {
    fn shown(&self) -> String {
        format!("{self}")
    }
}
impl Shown for bool {
    fn shown(&self) -> String {
        if *self { "yes".into() } else { "no".into() }
    }
}

/// In which order the controller takes commands when several queue pairs wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// As they arrived, whatever their queue pair.
    Arrival,
    /// One command of each queue pair in turn, NVMe's default.
    RoundRobin,
}
impl Shown for Arbitration {
    fn shown(&self) -> String {
        match self {
            Arbitration::Arrival => "arrival".into(),
            Arbitration::RoundRobin => "round-robin".into(),
        }
    }
}

/// Which superblock garbage collection empties next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimChoice {
    /// The one with the fewest valid units.
    Greedy,
    /// The one that was closed first.
    Fifo,
    /// The one with the fewest valid units of `victim_choices` drawn at random.
    Choices,
    /// The one with the best benefit for its cost: invalid share × age / valid share.
    AgeAware,
}
impl Shown for VictimChoice {
    fn shown(&self) -> String {
        match self {
            VictimChoice::Greedy => "greedy".into(),
            VictimChoice::Fifo => "fifo".into(),
            VictimChoice::Choices => "choices".into(),
            VictimChoice::AgeAware => "age-aware".into(),
        }
    }
}

/// Where collected data of several reclaim unit handles goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Into one superblock for all: NVMe's initially isolated handles.
    Initial,
    /// Into a superblock for each: persistently isolated handles.
    Persistent,
}
impl Shown for Isolation {
    fn shown(&self) -> String {
        match self {
            Isolation::Initial => "initial".into(),
            Isolation::Persistent => "persistent".into(),
        }
    }
}

#[allow(private_bounds)]
impl<T: Shown> Sourced<T> {
    /// As a table row.
    pub fn row(&self, key: &str, acts: &str) -> Parameter {
        Parameter {
            key: key.to_owned(),
            value: self.value.shown(),
            source: self.source,
            note: self.note.clone(),
            acts: acts.to_owned(),
        }
    }
}

/// Figures of the data sheet; absent means that the sheet does not say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rated {
    /// Sequential read.
    pub sequential_read: Option<BytesPerSecond>,
    /// Sequential write.
    pub sequential_write: Option<BytesPerSecond>,
    /// Random read IOPS at `random_read_block`.
    pub random_read_iops: Option<u64>,
    /// Block of the random read rating.
    pub random_read_block: Option<Bytes>,
    /// Random write IOPS at `random_write_block`.
    pub random_write_iops: Option<u64>,
    /// Block of the random write rating.
    pub random_write_block: Option<Bytes>,
    /// Random read latency.
    pub latency_random_read: Option<Nanos>,
    /// Random write latency.
    pub latency_random_write: Option<Nanos>,
    /// Sequential read latency.
    pub latency_sequential_read: Option<Nanos>,
    /// Sequential write latency.
    pub latency_sequential_write: Option<Nanos>,
    /// Highest power in watts.
    pub power_max_w: Option<f64>,
    /// Power when reading in watts.
    pub power_read_w: Option<f64>,
    /// Power when writing in watts.
    pub power_write_w: Option<f64>,
    /// Idle power in watts.
    pub power_idle_w: Option<f64>,
    /// Drive writes a day.
    pub dwpd: Option<f64>,
    /// Years the drive writes a day hold for.
    pub dwpd_years: Option<u32>,
    /// Petabytes written over the life.
    pub pbw: Option<f64>,
    /// Programs and erases that the flash is rated for.
    pub pe_cycles: Option<u32>,
    /// Mean time between failures in hours.
    pub mtbf_hours: Option<u64>,
    /// Warranty in years.
    pub warranty_years: Option<u32>,
    /// Form factors offered.
    pub form_factors: Vec<String>,
    /// PCIe generation.
    pub pcie_generation: Option<u32>,
    /// PCIe lanes.
    pub pcie_lanes: Option<u32>,
    /// NVMe version.
    pub nvme_version: Option<String>,
    /// Controller.
    pub controller: Option<String>,
    /// Where the sheet was read, and what is doubtful in it.
    pub source: String,
}

/// A drive that can be modelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveProfile {
    /// Name on the command line and `drive_id` in exports.
    pub id: String,
    /// Vendor.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Flash, such as `QLC`.
    pub nand_type: String,
    /// How good the parameters are: "by hand", "fitted", "predicted from a sibling".
    pub status: String,
    /// The data sheet.
    #[serde(default)]
    pub rated: Rated,
    /// The model.
    #[serde(rename = "parameters")]
    pub parameters: ModelParameters,
}

/// Physical parameters, one table a box of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelParameters {
    /// Space.
    pub capacity: CapacityModel,
    /// PCIe.
    pub link: LinkModel,
    /// Command service.
    pub controller: ControllerModel,
    /// What one queue pair costs besides; absent means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_pair: Option<QueuePairModel>,
    /// Write buffer and flush.
    pub write: WriteModel,
    /// Writes smaller than an indirection unit.
    pub merge: MergeModel,
    /// Sequential reads.
    pub read_ahead: ReadAheadModel,
    /// Logical to physical.
    pub mapping: MappingModel,
    /// Dies and channels.
    pub nand: NandModel,
    /// Flash written with one bit a cell first; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pslc: Option<PslcModel>,
}

/// Space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityModel {
    /// What the host sees.
    pub user: Sourced<Bytes>,
    /// What the flash holds.
    pub raw: Sourced<Bytes>,
    /// Share of the raw space that can't hold user data: parity, maps, bad blocks.
    pub unusable_share: Sourced<f64>,
}

/// PCIe, each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkModel {
    /// PCIe generation, 3 to 6.
    pub generation: Sourced<u32>,
    /// Lanes of all ports together.
    pub lanes: Sourced<u32>,
    /// Ports that share the lanes: 1, or 2 for a dual-port drive, whose queue pairs take the ports in
    /// turn.
    pub ports: Sourced<u32>,
    /// Share of the raw rate that carries payload: packet headers, acknowledgements, flow control.
    pub payload_share: Sourced<f64>,
}

impl LinkModel {
    /// Payload bytes a second of one port in each direction: transfer rate × lanes × line code ×
    /// payload share / 8. The line code is 128b/130b, from generation 6 on 242 of 256 bytes of a flit.
    pub fn port_rate(&self) -> BytesPerSecond {
        let (transfers, code) = match self.generation.value {
            3 => (8e9, 128.0 / 130.0),
            4 => (16e9, 128.0 / 130.0),
            5 => (32e9, 128.0 / 130.0),
            _ => (64e9, 242.0 / 256.0),
        };
        let lanes = f64::from(self.lanes.value) / f64::from(self.ports.value);
        BytesPerSecond(transfers * code * lanes / 8.0 * self.payload_share.value)
    }

    /// The same of all ports.
    pub fn payload_rate(&self) -> BytesPerSecond {
        BytesPerSecond(self.port_rate().0 * f64::from(self.ports.value))
    }
}

/// Command service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerModel {
    /// Time the front end is busy with each command; its inverse is the IOPS ceiling.
    pub command_time: Sourced<Nanos>,
    /// Fixed time of a mapped read besides flash, channel, link and command service; pure delay.
    pub read_overhead: Sourced<Nanos>,
    /// Which waiting command is served next.
    pub arbitration: Sourced<Arbitration>,
}

/// Delay of reads by the load of their own queue pair: empirical, no cause is known.
///
/// A read that has `n - 1` others of its queue pair in flight is held for
/// `(holdoff_time + holdoff_rate⁻¹ × size) × (n - 1) / (n - 1 + holdoff_half) × holdoff_next^j` for queue pair
/// `j`. It is a delay and takes no capacity; nothing is held at depth 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePairModel {
    /// Longest hold besides that by size.
    pub holdoff_time: Sourced<Nanos>,
    /// Size by which the longest hold grows a second; absent means that it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdoff_rate: Option<Sourced<BytesPerSecond>>,
    /// Other commands in flight at which half of the longest hold is reached.
    pub holdoff_half: Sourced<f64>,
    /// Share of the hold of a queue pair that the next one has.
    pub holdoff_next: Sourced<f64>,
}

/// Write buffer and flush.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteModel {
    /// Protected DRAM that holds acknowledged writes.
    pub buffer: Sourced<Bytes>,
    /// Time from data arrival to acknowledgement while the buffer has room; pure delay.
    pub acknowledge_time: Sourced<Nanos>,
    /// Rate at which one command's data goes into the buffer, besides the link; pure delay.
    pub acknowledge_rate: Sourced<BytesPerSecond>,
    /// Programs in flight at most, by power or controller; with `nand.program_unit` and
    /// `nand.program_time` this is the sequential write ceiling.
    pub programs_in_flight: Sourced<u32>,
}

/// Writes smaller than an indirection unit: read, merge, write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeModel {
    /// Read-modify-writes in progress at most.
    pub contexts: Sourced<u32>,
    /// Time of one besides the flash read; the context is busy for it. The read of the old content takes
    /// its time without waiting for the die: units that are neighbours for the host lie together on
    /// one die here, which those drives avoid.
    pub overhead: Sourced<Nanos>,
    /// Added to the acknowledge time of such a write, unless it continues a sequential stream that the
    /// drive coalesces; pure delay.
    pub acknowledge_extra: Sourced<Nanos>,
    /// Whether neighbouring writes that wait in the buffer are joined into one merge.
    pub coalesce: Sourced<bool>,
}

/// Sequential reads served from DRAM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadAheadModel {
    /// Sequential streams that are read ahead of at once, each a window; 0 means no read-ahead.
    pub streams: Sourced<u32>,
    /// What is read ahead of one stream. There is room for one: a window that another stream's replaces
    /// before its own stream comes back was read for nothing.
    pub window: Sourced<Bytes>,
    /// Rate at which a window comes out of flash.
    pub window_rate: Sourced<BytesPerSecond>,
    /// Time that the engine is busy with each request whose window was lost, besides that of the data.
    pub miss_time: Sourced<Nanos>,
    /// Rate at which the data of such a request comes out of flash; absent means that of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_rate: Option<Sourced<BytesPerSecond>>,
    /// Fixed time of a hit besides command service and link; pure delay.
    pub hit_time: Sourced<Nanos>,
    /// Rate at which one command's data is handed over from DRAM, besides the link; pure delay.
    pub hit_rate: Sourced<BytesPerSecond>,
    /// Rate at which sequential data comes out of flash through the read-ahead buffer.
    pub rate: Sourced<BytesPerSecond>,
}

/// Logical to physical.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingModel {
    /// Unit of the map.
    pub indirection_unit: Sourced<Bytes>,
    /// Erase units (superblocks) over all dies.
    pub superblocks: Sourced<u32>,
    /// Superblocks kept erased; garbage collection begins when no more than these are free.
    pub reserve_superblocks: Sourced<u32>,
    /// Which superblock is collected next.
    pub victims: Sourced<VictimChoice>,
    /// Superblocks drawn for [`VictimChoice::Choices`]; ignored otherwise.
    pub victim_choices: Sourced<u32>,
    /// A superblock whose valid share is at most this is collected although free ones are left; 0 means
    /// that collection waits until the free pool is used up.
    pub eager_valid_share: Sourced<f64>,
    /// Share of the spare from which on collection runs at a part of its pace: none at this much erased
    /// space, all of it at the reserve; 0 means that it waits for the reserve.
    pub collect_from_share: Sourced<f64>,
    /// Share of the spare that is free and erased after a sequential fill of whole indirection units; the
    /// rest holds stale units, spread as random writes leave them. 1 is what a whole fill leaves behind.
    pub initial_free_share: Sourced<f64>,
    /// The same after a fill with transfers below the indirection unit.
    pub sub_unit_free_share: Sourced<f64>,
    /// Reclaim unit handles of flexible data placement; 1 means that the drive has none.
    pub handles: Sourced<u32>,
    /// Where their collected data goes.
    pub isolation: Sourced<Isolation>,
}

/// Dies and channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NandModel {
    /// Units that program independently of each other.
    pub dies: Sourced<u32>,
    /// Planes of a die that read independently of each other.
    pub planes: Sourced<u32>,
    /// Dies over which neighbouring indirection units are spread; 1 means that a request larger than a
    /// page is served by one die.
    pub stripe_dies: Sourced<u32>,
    /// Channels; die `i` hangs on channel `i mod channels`.
    pub channels: Sourced<u32>,
    /// Bytes a second of one channel.
    pub channel_rate: Sourced<BytesPerSecond>,
    /// Page read.
    pub read_time: Sourced<Nanos>,
    /// How far the fastest and slowest of the four page types lie from `read_time`, as a share.
    pub read_time_spread: Sourced<f64>,
    /// One-shot program of a program unit.
    pub program_time: Sourced<Nanos>,
    /// Bytes of a one-shot program over the planes of a die.
    pub program_unit: Sourced<Bytes>,
    /// Erase of one die's share of a superblock.
    pub erase_time: Sourced<Nanos>,
    /// Time that suspending a program or an erase takes before a read of that die can begin, and again
    /// before it goes on.
    pub suspend_time: Sourced<Nanos>,
}

/// A part of the flash written with one bit a cell, folded into the rest later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PslcModel {
    /// Bytes it holds.
    pub size: Sourced<Bytes>,
    /// Time of a program of one `nand.program_unit` into it.
    pub program_time: Sourced<Nanos>,
}

impl ModelParameters {
    /// Sequential writes in bytes a second while programs are the limit: as many program units as are
    /// in flight, each time a program takes.
    pub fn program_rate(&self) -> BytesPerSecond {
        let in_flight = f64::from(self.write.programs_in_flight.value.min(self.nand.dies.value));
        BytesPerSecond(in_flight * self.nand.program_unit.value.0 as f64 / self.nand.program_time.value.as_secs_f64())
    }
}

impl DriveProfile {
    /// Reads and checks a profile; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let profile: DriveProfile = toml_text::parse(text, file)?;
        profile.check(file)?;
        Ok(profile)
    }

    /// Spare as a share of the space that can hold user data: (T − U) / T.
    pub fn spare_share(&self) -> f64 {
        let usable =
            self.parameters.capacity.raw.value.0 as f64 * (1.0 - self.parameters.capacity.unusable_share.value);
        (usable - self.parameters.capacity.user.value.0 as f64) / usable
    }

    /// Every parameter of the model with its source and where it acts, in the order of the path.
    pub fn parameter_rows(&self) -> Vec<Parameter> {
        let p = &self.parameters;
        let mut rows = vec![
            p.capacity.user.row("capacity.user", "size of the logical space"),
            p.capacity.raw.row("capacity.raw", "size of the flash"),
            p.capacity.unusable_share.row("capacity.unusable_share", "effective spare, so write amplification"),
            p.link.generation.row("link.generation", "server, each direction: large transfers"),
            p.link.lanes.row("link.lanes", "server, each direction: large transfers"),
            p.link.ports.row("link.ports", "how many servers share the lanes"),
            p.link.payload_share.row("link.payload_share", "server, each direction: large transfers"),
            p.controller.command_time.row("controller.command_time", "server: IOPS ceiling"),
            p.controller.read_overhead.row("controller.read_overhead", "delay of every mapped read"),
            p.controller.arbitration.row("controller.arbitration", "order of commands that wait; fairness of jobs"),
            p.write.buffer.row("write.buffer", "back-pressure: writes wait once it is full"),
            p.write.acknowledge_time.row("write.acknowledge_time", "delay of every write"),
            p.write.acknowledge_rate.row("write.acknowledge_rate", "delay of a write, by size"),
            p.write.programs_in_flight.row("write.programs_in_flight", "sequential write ceiling"),
            p.merge.contexts.row("merge.contexts", "writes below the indirection unit: operations a second"),
            p.merge.overhead.row("merge.overhead", "writes below the indirection unit: operations a second"),
            p.merge.acknowledge_extra.row("merge.acknowledge_extra", "latency of a write below the indirection unit"),
            p.merge.coalesce.row("merge.coalesce", "sequential writes below the indirection unit"),
            p.read_ahead.streams.row("read_ahead.streams", "how many sequential streams are served from DRAM"),
            p.read_ahead.window.row("read_ahead.window", "interleaved streams: windows read for nothing"),
            p.read_ahead.window_rate.row("read_ahead.window_rate", "server: interleaved streams"),
            p.read_ahead.miss_time.row("read_ahead.miss_time", "server: interleaved streams"),
            p.read_ahead.hit_time.row("read_ahead.hit_time", "latency of a sequential read"),
            p.read_ahead.hit_rate.row("read_ahead.hit_rate", "latency of a sequential read, by size"),
            p.read_ahead.rate.row("read_ahead.rate", "server: sequential read ceiling"),
            p.mapping.indirection_unit.row("mapping.indirection_unit", "which writes need a merge; map size"),
            p.mapping.superblocks.row("mapping.superblocks", "grain of garbage collection"),
            p.mapping.reserve_superblocks.row("mapping.reserve_superblocks", "when garbage collection begins"),
            p.mapping.victims.row("mapping.victims", "write amplification under uneven writes"),
            p.mapping.victim_choices.row("mapping.victim_choices", "write amplification, with victims by choices"),
            p.mapping.eager_valid_share.row("mapping.eager_valid_share", "collection while free space is left"),
            p.mapping.collect_from_share.row("mapping.collect_from_share", "collection while free space is left"),
            p.mapping.initial_free_share.row("mapping.initial_free_share", "free pool after a fill"),
            p.mapping.sub_unit_free_share.row("mapping.sub_unit_free_share", "free pool after a fill below the unit"),
            p.mapping.handles.row("mapping.handles", "streams that FDP placement keeps apart"),
            p.mapping.isolation.row("mapping.isolation", "streams of collected data"),
            p.nand.dies.row("nand.dies", "parallel reads and programs"),
            p.nand.planes.row("nand.planes", "parallel reads of a die"),
            p.nand.stripe_dies.row("nand.stripe_dies", "reads larger than an indirection unit"),
            p.nand.channels.row("nand.channels", "parallel transfers"),
            p.nand.channel_rate.row("nand.channel_rate", "transfer time of a read; channel ceiling"),
            p.nand.read_time.row("nand.read_time", "latency of a mapped read; die busy"),
            p.nand.read_time_spread.row("nand.read_time_spread", "tail of mapped reads"),
            p.nand.program_time.row("nand.program_time", "sequential write ceiling; die busy"),
            p.nand.program_unit.row("nand.program_unit", "sequential write ceiling; placement on dies"),
            p.nand.erase_time.row("nand.erase_time", "die busy at each collected superblock"),
            p.nand.suspend_time.row("nand.suspend_time", "reads that meet a program or an erase"),
        ];
        let missed = "the same, by size";
        rows.extend(p.read_ahead.miss_rate.as_ref().map(|r| r.row("read_ahead.miss_rate", missed)));
        if let Some(q) = &p.queue_pair {
            rows.push(q.holdoff_time.row("queue_pair.holdoff_time", "reads of a deep queue pair; empirical"));
            rows.extend(q.holdoff_rate.as_ref().map(|r| r.row("queue_pair.holdoff_rate", "the same, by size")));
            rows.push(q.holdoff_half.row("queue_pair.holdoff_half", "the same, by depth"));
            rows.push(q.holdoff_next.row("queue_pair.holdoff_next", "the same, by queue pair"));
        }
        if let Some(s) = &p.pslc {
            rows.push(s.size.row("pslc.size", "writes at the speed of one bit a cell"));
            rows.push(s.program_time.row("pslc.program_time", "the same: rate of programs"));
        }
        rows
    }

    /// Superblocks that are being written at once: one of each handle, and those of collected data.
    pub fn open_superblocks(&self) -> u32 {
        let m = &self.parameters.mapping;
        let collected = match m.isolation.value {
            Isolation::Initial => 1,
            Isolation::Persistent => m.handles.value,
        };
        m.handles.value + collected
    }
}
