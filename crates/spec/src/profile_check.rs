//! Whether the values of a profile can work, alone and together; refused with the reason and the nearest
//! that can.

use crate::{DriveProfile, Sourced, SpecError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use std::ops::RangeInclusive;

type Checked = Result<(), SpecError>;

/// Longest name of a drive.
const ID_MAX: usize = 64;
/// A buffer that is protected from power loss.
const BUFFER_MAX: Bytes = Bytes::gib(64);
/// The largest one-shot program: some hundred KiB over the planes of a die, with room for what may come.
const PROGRAM_MAX: Bytes = Bytes::mib(4);
/// Indirection units of the smallest drive.
const UNITS_MIN: u64 = 2;
/// The largest drive.
const CAPACITY_MAX: Bytes = Bytes(10_000_000_000_000_000);
/// Times the user capacity: more flash than that is no spare that a drive has.
const RAW_MAX: u64 = 64;
/// More superblocks than that are no reserve.
const RESERVE_MAX: u32 = 4096;
/// A write buffer of fewer programs can't keep a drive busy.
const PROGRAMS_BUFFERED: u64 = 4;
/// Superblocks beyond those that the model keeps erased, so that some spare lowers write amplification.
const SPARE_MIN: f64 = 1.0;

/// A value with the range in which it works.
struct Bounds<'a> {
    file: &'a str,
}

impl Bounds<'_> {
    fn refuse(&self, key: &str, value: String, reason: impl Into<String>, remedy: impl Into<String>) -> SpecError {
        let (reason, remedy) = (reason.into(), remedy.into());
        SpecError::Value { file: self.file.into(), key: key.into(), value, reason, remedy }
    }

    /// Refuses what is no number as well: it lies in no range.
    fn within<T: PartialOrd>(
        &self,
        key: &str,
        value: &T,
        range: RangeInclusive<T>,
        what: &str,
        shown: impl Fn(&T) -> String,
    ) -> Checked {
        if range.contains(value) {
            return Ok(());
        }
        let nearest = if value > range.end() { range.end() } else { range.start() };
        let (low, high) = (shown(range.start()), shown(range.end()));
        let remedy = format!("use {low} to {high}, nearest {}", shown(nearest));
        Err(self.refuse(key, shown(value), format!("it is {what}"), remedy))
    }

    fn time(&self, key: &str, time: Nanos, range: RangeInclusive<Nanos>, what: &str) -> Checked {
        self.within(key, &time, range, what, |time| time.exact())
    }

    fn rate(&self, key: &str, rate: BytesPerSecond) -> Checked {
        let range = BytesPerSecond(1e6)..=BytesPerSecond(1e12);
        self.within(key, &rate, range, "a rate, of MB or GB a second", |rate| rate.exact())
    }

    fn count(&self, key: &str, count: u32, range: RangeInclusive<u32>) -> Checked {
        self.within(key, &count, range, "a count", u32::to_string)
    }

    fn share(&self, key: &str, share: f64, range: RangeInclusive<f64>, what: &str) -> Checked {
        self.within(key, &share, range, what, f64::to_string)
    }

    fn size(&self, key: &str, size: Bytes, range: RangeInclusive<Bytes>, what: &str) -> Checked {
        self.within(key, &size, range, what, |size| size.exact())
    }
}

impl DriveProfile {
    pub(crate) fn check(&self, file: &str) -> Checked {
        let bounds = Bounds { file };
        self.check_id(&bounds)?;
        self.check_rated(&bounds)?;
        self.check_times(&bounds)?;
        self.check_counts(&bounds)?;
        self.check_shares(&bounds)?;
        self.check_rates(&bounds)?;
        self.check_sizes(&bounds)?;
        self.check_together(&bounds)?;
        self.check_spare(&bounds)
    }

    /// A name is a word on the command line, in lists separated by commas, and a cell of a table.
    fn check_id(&self, bounds: &Bounds<'_>) -> Checked {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if (1..=ID_MAX).contains(&self.id.len()) && self.id.chars().all(fits) && !self.id.starts_with(['-', '.']) {
            return Ok(());
        }
        let nearest: String = self.id.chars().map(|c| if fits(c) { c } else { '-' }).take(ID_MAX).collect();
        let nearest = nearest.trim_matches(['-', '.']);
        let nearest = if nearest.is_empty() { "my-drive" } else { nearest };
        let reason = "a name is up to 64 letters, digits, `-`, `_` and `.`, and begins with a letter or digit";
        Err(bounds.refuse("id", format!("{:?}", self.id), reason, format!("use {nearest}")))
    }

    /// Figures of the data sheet act on nothing but years of life, and are printed.
    fn check_rated(&self, bounds: &Bounds<'_>) -> Checked {
        let r = &self.rated;
        for (key, rate) in
            [("rated.sequential_read", r.sequential_read), ("rated.sequential_write", r.sequential_write)]
        {
            rate.map_or(Ok(()), |rate| bounds.rate(key, rate))?;
        }
        for (key, time) in [
            ("rated.latency_random_read", r.latency_random_read),
            ("rated.latency_random_write", r.latency_random_write),
            ("rated.latency_sequential_read", r.latency_sequential_read),
            ("rated.latency_sequential_write", r.latency_sequential_write),
        ] {
            time.map_or(Ok(()), |time| bounds.time(key, time, Nanos(1)..=Nanos::secs(1), "a latency"))?;
        }
        for (key, size) in
            [("rated.random_read_block", r.random_read_block), ("rated.random_write_block", r.random_write_block)]
        {
            size.map_or(Ok(()), |size| bounds.size(key, size, Bytes(512)..=Bytes::mib(64), "a transfer size"))?;
        }
        for (key, value, range, what) in [
            ("rated.power_max_w", r.power_max_w, 0.1..=1000.0, "a power in watts"),
            ("rated.power_read_w", r.power_read_w, 0.1..=1000.0, "a power in watts"),
            ("rated.power_write_w", r.power_write_w, 0.1..=1000.0, "a power in watts"),
            ("rated.power_idle_w", r.power_idle_w, 0.01..=1000.0, "a power in watts"),
            ("rated.dwpd", r.dwpd, 0.001..=1000.0, "a number of drive writes a day"),
            ("rated.pbw", r.pbw, 0.001..=100_000.0, "a number of petabytes"),
        ] {
            value.map_or(Ok(()), |value| bounds.share(key, value, range, what))?;
        }
        for (key, count, most) in [
            ("rated.random_read_iops", r.random_read_iops, 1_000_000_000),
            ("rated.random_write_iops", r.random_write_iops, 1_000_000_000),
            ("rated.mtbf_hours", r.mtbf_hours, 1_000_000_000),
            ("rated.dwpd_years", r.dwpd_years.map(u64::from), 100),
            ("rated.warranty_years", r.warranty_years.map(u64::from), 100),
            ("rated.pe_cycles", r.pe_cycles.map(u64::from), 1_000_000),
            ("rated.pcie_generation", r.pcie_generation.map(u64::from), 9),
            ("rated.pcie_lanes", r.pcie_lanes.map(u64::from), 32),
        ] {
            count.map_or(Ok(()), |count| bounds.within(key, &count, 1..=most, "a count", u64::to_string))?;
        }
        Ok(())
    }

    fn check_times(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let second = Nanos::secs(1);
        for (key, time, least) in [
            ("controller.command_time", &p.controller.command_time, Nanos(1)),
            ("write.acknowledge_time", &p.write.acknowledge_time, Nanos(1)),
            ("nand.read_time", &p.nand.read_time, Nanos::micros(1)),
            ("nand.program_time", &p.nand.program_time, Nanos::micros(1)),
            ("nand.erase_time", &p.nand.erase_time, Nanos::micros(1)),
        ] {
            bounds.time(&of(key), time.value, least..=second, "a time that nothing does without")?;
        }
        let q = p.queue_pair.as_ref();
        for (key, time, most) in [
            ("controller.read_overhead", Some(&p.controller.read_overhead), second),
            ("queue_pair.holdoff_time", q.map(|q| &q.holdoff_time), second),
            ("merge.overhead", Some(&p.merge.overhead), second),
            ("merge.acknowledge_extra", Some(&p.merge.acknowledge_extra), second),
            ("read_ahead.miss_time", Some(&p.read_ahead.miss_time), second),
            ("read_ahead.hit_time", Some(&p.read_ahead.hit_time), second),
            ("nand.suspend_time", Some(&p.nand.suspend_time), Nanos::millis(1)),
        ] {
            let what = "a part of the time of a request; 0 for none";
            time.map_or(Ok(()), |time| bounds.time(&of(key), time.value, Nanos::ZERO..=most, what))?;
        }
        if let Some(pslc) = &p.pslc {
            let range = Nanos::micros(1)..=p.nand.program_time.value;
            let what = "the time of a program of one bit a cell, which is faster than one of all bits";
            bounds.time(&of("pslc.program_time"), pslc.program_time.value, range, what)?;
        }
        Ok(())
    }

    fn check_counts(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        for (key, count, range) in [
            ("nand.dies", &p.nand.dies, 1..=16_384),
            ("nand.planes", &p.nand.planes, 1..=16),
            ("nand.channels", &p.nand.channels, 1..=64),
            ("write.programs_in_flight", &p.write.programs_in_flight, 1..=16_384),
            ("merge.contexts", &p.merge.contexts, 1..=1024),
            ("read_ahead.streams", &p.read_ahead.streams, 0..=1024),
            ("mapping.superblocks", &p.mapping.superblocks, 16..=65_536),
            ("mapping.victim_choices", &p.mapping.victim_choices, 1..=65_536),
            ("mapping.handles", &p.mapping.handles, 1..=128),
            ("link.generation", &p.link.generation, 3..=6),
            ("link.lanes", &p.link.lanes, 1..=16),
            ("link.ports", &p.link.ports, 1..=2),
        ] {
            bounds.count(&of(key), count.value, range)?;
        }
        Ok(())
    }

    fn check_shares(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let q = p.queue_pair.as_ref();
        for (key, share, range, what) in [
            ("nand.read_time_spread", Some(&p.nand.read_time_spread), 0.0..=0.9, "a share of the read time"),
            ("capacity.unusable_share", Some(&p.capacity.unusable_share), 0.0..=0.5, "a share of the raw space"),
            ("link.payload_share", Some(&p.link.payload_share), 0.5..=1.0, "a share of the raw rate"),
            ("mapping.eager_valid_share", Some(&p.mapping.eager_valid_share), 0.0..=0.9, "a share of a superblock"),
            ("mapping.collect_from_share", Some(&p.mapping.collect_from_share), 0.0..=1.0, "a share of the spare"),
            ("mapping.initial_free_share", Some(&p.mapping.initial_free_share), 0.0..=1.0, "a share of the spare"),
            ("mapping.sub_unit_free_share", Some(&p.mapping.sub_unit_free_share), 0.0..=1.0, "a share of the spare"),
            ("queue_pair.holdoff_next", q.map(|q| &q.holdoff_next), 0.0..=1.0, "a share of the hold"),
            ("queue_pair.holdoff_half", q.map(|q| &q.holdoff_half), 0.1..=4096.0, "a number of commands"),
        ] {
            share.map_or(Ok(()), |share| bounds.share(&of(key), share.value, range, what))?;
        }
        Ok(())
    }

    fn check_rates(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let holdoff = p.queue_pair.as_ref().and_then(|q| q.holdoff_rate.as_ref());
        for (key, rate) in [
            ("write.acknowledge_rate", Some(&p.write.acknowledge_rate)),
            ("read_ahead.hit_rate", Some(&p.read_ahead.hit_rate)),
            ("read_ahead.miss_rate", p.read_ahead.miss_rate.as_ref()),
            ("read_ahead.window_rate", Some(&p.read_ahead.window_rate)),
            ("read_ahead.rate", Some(&p.read_ahead.rate)),
            ("queue_pair.holdoff_rate", holdoff),
            ("nand.channel_rate", Some(&p.nand.channel_rate)),
        ] {
            rate.map_or(Ok(()), |rate| bounds.rate(&of(key), rate.value))?;
        }
        Ok(())
    }

    fn check_sizes(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let (unit, program) = (p.mapping.indirection_unit.value, p.nand.program_unit.value);
        let units = Bytes::kib(4)..=Bytes::kib(64);
        bounds.size(&of("mapping.indirection_unit"), unit, units, "a power of two")?;
        if !unit.0.is_power_of_two() {
            let remedy = format!("use {}", Bytes(nearest_power_of_two(unit.0)).exact());
            return Err(bounds.refuse(&of("mapping.indirection_unit"), unit.exact(), "it is a power of two", remedy));
        }
        let whole = format!("a number of whole indirection units of {unit}");
        bounds.size(&of("nand.program_unit"), program, unit..=PROGRAM_MAX, &whole)?;
        if !program.0.is_multiple_of(unit.0) {
            let remedy = format!("use {}", Bytes(nearest_multiple(program.0, unit.0)).exact());
            return Err(bounds.refuse(&of("nand.program_unit"), program.exact(), format!("it is {whole}"), remedy));
        }
        let capacity = Bytes(UNITS_MIN * unit.0)..=CAPACITY_MAX;
        bounds.size(&of("capacity.user"), p.capacity.user.value, capacity, "what the host sees of a drive")?;
        let user = p.capacity.user.value;
        let raw = user..=Bytes(RAW_MAX * user.0);
        bounds.size(&of("capacity.raw"), p.capacity.raw.value, raw, "what the flash holds, user data and spare")?;
        let least = Bytes(PROGRAMS_BUFFERED * program.0);
        let what = format!("protected memory that holds at least {PROGRAMS_BUFFERED} program units");
        bounds.size(&of("write.buffer"), p.write.buffer.value, least..=BUFFER_MAX, &what)?;
        let window = Bytes(512)..=Bytes::gib(1);
        bounds.size(&of("read_ahead.window"), p.read_ahead.window.value, window, "what is read ahead of one stream")?;
        if let Some(pslc) = &p.pslc {
            let range = program..=p.capacity.raw.value;
            bounds.size(&of("pslc.size"), pslc.size.value, range, "a part of the flash, of a program at least")?;
        }
        Ok(())
    }

    fn check_together(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let (lanes, ports) = (&p.link.lanes, &p.link.ports);
        if !lanes.value.is_multiple_of(ports.value) {
            let reason = format!("{} lanes can't be shared by {} ports", lanes.value, ports.value);
            return Err(bounds.refuse(&of("link.ports"), shown(ports), reason, "use 1, or an even number of lanes"));
        }
        let (dies, stripe) = (p.nand.dies.value, &p.nand.stripe_dies);
        if stripe.value == 0 || !dies.is_multiple_of(stripe.value) {
            let reason = format!("{dies} dies are not whole stripes of {}", stripe.value);
            let nearest = (1..=stripe.value.clamp(1, dies)).rev().find(|n| dies.is_multiple_of(*n)).unwrap_or(1);
            return Err(bounds.refuse(&of("nand.stripe_dies"), shown(stripe), reason, format!("use {nearest}")));
        }
        self.check_superblocks(bounds)
    }

    /// A superblock is two indirection units or more, in whole programs.
    fn check_superblocks(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let (count, unit) = (&p.mapping.superblocks, p.mapping.indirection_unit.value.0);
        let usable = p.capacity.raw.value.0 as f64 * (1.0 - p.capacity.unusable_share.value);
        let least = p.nand.program_unit.value.0.max(2 * unit);
        if usable / f64::from(count.value) >= least as f64 {
            return Ok(());
        }
        let each = Bytes((usable / f64::from(count.value)) as u64);
        let reason = format!(
            "a superblock of {each} is smaller than {}, a program or two indirection units of {}",
            Bytes(least),
            Bytes(unit)
        );
        let remedy = format!("use at most {:.0}, or a smaller nand.program_unit", (usable / least as f64).floor());
        Err(bounds.refuse(&of("mapping.superblocks"), shown(count), reason, remedy))
    }

    /// Garbage collection always finds space when the reserve exceeds the open superblocks (one of each
    /// handle, those of collected data) by two, and the spare the reserve and half of the open ones by one;
    /// the mapping of the model proves it.
    fn check_spare(&self, bounds: &Bounds<'_>) -> Checked {
        let p = &self.parameters;
        let (count, reserve) = (f64::from(p.mapping.superblocks.value), p.mapping.reserve_superblocks.value);
        let open = self.open_superblocks();
        let (least, beside) = (open + 2, f64::from(open) / 2.0 + SPARE_MIN);
        let spare = self.spare_share() * count;
        // What the spare has room for; below 0 it becomes 0.
        let most = (spare - beside).floor() as u32;
        if most >= least {
            let what = format!("enough for {open} open superblocks, and within the spare of {spare:.1}");
            let key = of("mapping.reserve_superblocks");
            return bounds.within(&key, &reserve, least..=most.min(RESERVE_MAX), &what, u32::to_string);
        }
        let needed = f64::from(least) + beside;
        if needed >= count {
            let reason = format!("{open} open superblocks and a reserve of {least} leave none for data");
            let remedy = format!("use at least {}, or fewer mapping.handles", (2.0 * needed).ceil().max(16.0));
            return Err(bounds.refuse(&of("mapping.superblocks"), count.to_string(), reason, remedy));
        }
        let usable = p.capacity.raw.value.0 as f64 * (1.0 - p.capacity.unusable_share.value);
        let user_max = Bytes((usable * (1.0 - needed / count)) as u64);
        let reason = format!(
            "the spare is {spare:.1} of {count} superblocks ({:.2} %), below the {needed} that the reserve of {least} and the open superblocks need",
            self.spare_share() * 100.0,
        );
        let remedy = format!("use at most {} user capacity", rounded_down(user_max).si());
        Err(bounds.refuse(&of("capacity.user"), p.capacity.user.value.exact(), reason, remedy))
    }
}

/// To two decimals of the unit in which it is printed, so that what is proposed works.
fn rounded_down(size: Bytes) -> Bytes {
    let unit = if size.0 >= 1_000_000_000_000 { 10_000_000_000 } else { 10_000_000 };
    Bytes(size.0 / unit * unit)
}

/// The whole key of a parameter.
fn of(key: &str) -> String {
    format!("parameters.{key}")
}

fn shown(count: &Sourced<u32>) -> String {
    count.value.to_string()
}

fn nearest_multiple(value: u64, of: u64) -> u64 {
    ((value + of / 2) / of).max(1) * of
}

/// Of a value within the range of indirection units.
fn nearest_power_of_two(value: u64) -> u64 {
    let above = value.next_power_of_two();
    if above - value <= value - above / 2 { above } else { above / 2 }
}
