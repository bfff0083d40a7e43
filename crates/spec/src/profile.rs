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
    /// Fitted to results; the note gives the interval.
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
    /// Payload bytes a second after protocol overhead.
    pub payload_rate: Sourced<BytesPerSecond>,
}

/// Command service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerModel {
    /// Time the front end is busy with each command; its inverse is the IOPS ceiling.
    pub command_time: Sourced<Nanos>,
    /// Fixed time of a mapped read besides flash, channel, link and command service; pure delay.
    pub read_overhead: Sourced<Nanos>,
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
    /// Sequential streams the detector can follow; 0 means no read-ahead.
    pub streams: Sourced<u32>,
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
}

/// Dies and channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NandModel {
    /// Units that read and program independently of each other.
    pub dies: Sourced<u32>,
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
        vec![
            p.capacity.user.row("capacity.user", "size of the logical space"),
            p.capacity.raw.row("capacity.raw", "size of the flash"),
            p.capacity.unusable_share.row("capacity.unusable_share", "effective spare, so write amplification"),
            p.link.payload_rate.row("link.payload_rate", "server, each direction: large transfers"),
            p.controller.command_time.row("controller.command_time", "server: IOPS ceiling"),
            p.controller.read_overhead.row("controller.read_overhead", "delay of every mapped read"),
            p.write.buffer.row("write.buffer", "back-pressure: writes wait once it is full"),
            p.write.acknowledge_time.row("write.acknowledge_time", "delay of every write"),
            p.write.acknowledge_rate.row("write.acknowledge_rate", "delay of a write, by size"),
            p.write.programs_in_flight.row("write.programs_in_flight", "sequential write ceiling"),
            p.merge.contexts.row("merge.contexts", "writes below the indirection unit: operations a second"),
            p.merge.overhead.row("merge.overhead", "writes below the indirection unit: operations a second"),
            p.merge.acknowledge_extra.row("merge.acknowledge_extra", "latency of a write below the indirection unit"),
            p.merge.coalesce.row("merge.coalesce", "sequential writes below the indirection unit"),
            p.read_ahead.streams.row("read_ahead.streams", "how many sequential streams are served from DRAM"),
            p.read_ahead.hit_time.row("read_ahead.hit_time", "latency of a sequential read"),
            p.read_ahead.hit_rate.row("read_ahead.hit_rate", "latency of a sequential read, by size"),
            p.read_ahead.rate.row("read_ahead.rate", "server: sequential read ceiling"),
            p.mapping.indirection_unit.row("mapping.indirection_unit", "which writes need a merge; map size"),
            p.mapping.superblocks.row("mapping.superblocks", "grain of garbage collection"),
            p.mapping.reserve_superblocks.row("mapping.reserve_superblocks", "when garbage collection begins"),
            p.nand.dies.row("nand.dies", "parallel reads and programs"),
            p.nand.channels.row("nand.channels", "parallel transfers"),
            p.nand.channel_rate.row("nand.channel_rate", "transfer time of a read; channel ceiling"),
            p.nand.read_time.row("nand.read_time", "latency of a mapped read; die busy"),
            p.nand.read_time_spread.row("nand.read_time_spread", "tail of mapped reads"),
            p.nand.program_time.row("nand.program_time", "sequential write ceiling; die busy"),
            p.nand.program_unit.row("nand.program_unit", "sequential write ceiling; placement on dies"),
            p.nand.erase_time.row("nand.erase_time", "die busy at each collected superblock"),
        ]
    }

    fn check(&self, file: &str) -> Result<(), SpecError> {
        let p = &self.parameters;
        let refuse = |key: &str, value: String, reason: String, remedy: String| {
            Err(SpecError::Value { file: file.into(), key: format!("parameters.{key}"), value, reason, remedy })
        };
        for (key, time) in [
            ("controller.command_time", p.controller.command_time.value),
            ("nand.read_time", p.nand.read_time.value),
            ("nand.program_time", p.nand.program_time.value),
            ("nand.erase_time", p.nand.erase_time.value),
            ("write.acknowledge_time", p.write.acknowledge_time.value),
        ] {
            if time == Nanos::ZERO || time > Nanos::secs(1) {
                return refuse(
                    key,
                    time.exact(),
                    "a time of the flash must be above 0 and below 1 s".into(),
                    "see physics: tens of us to ms".into(),
                );
            }
        }
        for (key, rate) in [
            ("link.payload_rate", p.link.payload_rate.value),
            ("write.acknowledge_rate", p.write.acknowledge_rate.value),
            ("read_ahead.hit_rate", p.read_ahead.hit_rate.value),
            ("read_ahead.rate", p.read_ahead.rate.value),
            ("nand.channel_rate", p.nand.channel_rate.value),
        ] {
            if !(1e6..1e12).contains(&rate.0) {
                return refuse(
                    key,
                    rate.exact(),
                    "a rate must lie between 1 MB/s and 1 TB/s".into(),
                    "check its unit".into(),
                );
            }
        }
        for (key, count, max) in [
            ("nand.dies", p.nand.dies.value, 16_384),
            ("nand.channels", p.nand.channels.value, 64),
            ("write.programs_in_flight", p.write.programs_in_flight.value, 16_384),
            ("merge.contexts", p.merge.contexts.value, 1024),
            ("mapping.reserve_superblocks", p.mapping.reserve_superblocks.value, 4096),
        ] {
            if count == 0 || count > max {
                return refuse(key, count.to_string(), "out of range".into(), format!("use 1 to {max}"));
            }
        }
        self.check_space(refuse)
    }

    fn check_space(
        &self,
        refuse: impl Fn(&str, String, String, String) -> Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        let p = &self.parameters;
        let iu = p.mapping.indirection_unit.value;
        if !iu.0.is_power_of_two() || !(Bytes::kib(4)..=Bytes::kib(64)).contains(&iu) {
            let reason = "an indirection unit is a power of two from 4 to 64 KiB".to_string();
            return refuse(
                "mapping.indirection_unit",
                iu.exact(),
                reason,
                "use 4KiB, 8KiB, 16KiB, 32KiB or 64KiB".into(),
            );
        }
        if p.nand.program_unit.value.0 == 0 || !p.nand.program_unit.value.0.is_multiple_of(iu.0) {
            let reason = format!("a program unit holds whole indirection units of {iu}");
            return refuse("nand.program_unit", p.nand.program_unit.value.exact(), reason, "use 256KiB".into());
        }
        if p.write.buffer.value.0 < 4 * p.nand.program_unit.value.0 {
            let needed = Bytes(4 * p.nand.program_unit.value.0);
            return refuse(
                "write.buffer",
                p.write.buffer.value.exact(),
                "smaller than four program units".into(),
                format!("use at least {needed}"),
            );
        }
        if !(0.0..1.0).contains(&p.nand.read_time_spread.value) {
            let reason = "the spread of read times is a share below 1".to_string();
            return refuse(
                "nand.read_time_spread",
                p.nand.read_time_spread.value.to_string(),
                reason,
                "use 0 to 0.5".into(),
            );
        }
        let share = p.capacity.unusable_share.value;
        if !(0.0..0.5).contains(&share) {
            return refuse(
                "capacity.unusable_share",
                share.to_string(),
                "not a share of the raw space".into(),
                "use 0 to 0.5".into(),
            );
        }
        let (count, reserve) = (p.mapping.superblocks.value, p.mapping.reserve_superblocks.value);
        if !(16..=65_536).contains(&count) {
            return refuse("mapping.superblocks", count.to_string(), "out of range".into(), "use 16 to 65536".into());
        }
        // Two open superblocks (host, garbage collection) and the reserve must fit into the spare,
        // with at least one more to collect from; otherwise collection can't gain space.
        let spare = self.spare_share() * f64::from(count);
        let needed = f64::from(reserve) + 3.0;
        if spare < needed {
            let user_max =
                Bytes((p.capacity.raw.value.0 as f64 * (1.0 - share) * (1.0 - needed / f64::from(count))) as u64);
            return refuse(
                "capacity.user",
                p.capacity.user.value.exact(),
                format!(
                    "the spare is {spare:.1} of {count} superblocks ({:.2} %), below the {needed} that the reserve of {reserve} and the open superblocks need",
                    self.spare_share() * 100.0
                ),
                format!("use at most {} user capacity, or a smaller reserve", user_max.si()),
            );
        }
        Ok(())
    }
}
