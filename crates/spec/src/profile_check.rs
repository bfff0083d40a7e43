//! Whether the values of a profile can work together; refused with the reason and the nearest that can.

use crate::{DriveProfile, SpecError};
use flashlab_units::{Bytes, Nanos};

impl DriveProfile {
    pub(crate) fn check(&self, file: &str) -> Result<(), SpecError> {
        let p = &self.parameters;
        let refuse = &|key: &str, value: String, reason: String, remedy: String| {
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
        let q = p.queue_pair.as_ref();
        for (key, time) in [
            ("controller.read_overhead", p.controller.read_overhead.value),
            ("queue_pair.holdoff_time", q.map_or(Nanos::ZERO, |q| q.holdoff_time.value)),
            ("merge.overhead", p.merge.overhead.value),
            ("merge.acknowledge_extra", p.merge.acknowledge_extra.value),
            ("read_ahead.miss_time", p.read_ahead.miss_time.value),
            ("read_ahead.hit_time", p.read_ahead.hit_time.value),
        ] {
            if time > Nanos::secs(1) {
                let reason = "no part of a request takes longer than 1 s".to_string();
                return refuse(key, time.exact(), reason, "use some us, or 0 for none".into());
            }
        }
        for (key, rate) in [
            ("link", p.link.port_rate()),
            ("write.acknowledge_rate", p.write.acknowledge_rate.value),
            ("read_ahead.hit_rate", p.read_ahead.hit_rate.value),
            ("read_ahead.window_rate", p.read_ahead.window_rate.value),
            (
                "queue_pair.holdoff_rate",
                q.and_then(|q| q.holdoff_rate.as_ref()).map_or(p.link.port_rate(), |r| r.value),
            ),
            ("read_ahead.rate", p.read_ahead.rate.value),
            ("read_ahead.miss_rate", p.read_ahead.miss_rate.as_ref().unwrap_or(&p.read_ahead.rate).value),
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
            ("mapping.victim_choices", p.mapping.victim_choices.value, 65_536),
            ("mapping.handles", p.mapping.handles.value, 128),
            ("nand.planes", p.nand.planes.value, 16),
            ("link.lanes", p.link.lanes.value, 16),
            ("link.ports", p.link.ports.value, 2),
        ] {
            if count == 0 || count > max {
                return refuse(key, count.to_string(), "out of range".into(), format!("use 1 to {max}"));
            }
        }
        self.check_shares(refuse)?;
        self.check_space(refuse)
    }

    fn check_shares(
        &self,
        refuse: impl Fn(&str, String, String, String) -> Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        let p = &self.parameters;
        let q = p.queue_pair.as_ref();
        let half = q.map_or(1.0, |q| q.holdoff_half.value);
        for (key, value, range, reason) in [
            ("nand.read_time_spread", p.nand.read_time_spread.value, 0.0..=0.9, "a share of the read time"),
            ("capacity.unusable_share", p.capacity.unusable_share.value, 0.0..=0.5, "a share of the raw space"),
            ("link.payload_share", p.link.payload_share.value, 0.5..=1.0, "a share of the raw rate"),
            ("mapping.eager_valid_share", p.mapping.eager_valid_share.value, 0.0..=0.9, "a share of a superblock"),
            ("mapping.collect_from_share", p.mapping.collect_from_share.value, 0.0..=1.0, "a share of the spare"),
            ("mapping.initial_free_share", p.mapping.initial_free_share.value, 0.0..=1.0, "a share of the spare"),
            ("mapping.sub_unit_free_share", p.mapping.sub_unit_free_share.value, 0.0..=1.0, "a share of the spare"),
            ("queue_pair.holdoff_next", q.map_or(0.0, |q| q.holdoff_next.value), 0.0..=1.0, "a share of the hold"),
            ("queue_pair.holdoff_half", half, 0.1..=4096.0, "a number of commands"),
        ] {
            if !range.contains(&value) {
                let nearest = value.clamp(*range.start(), *range.end());
                let remedy = format!("use {} to {}, nearest {nearest}", range.start(), range.end());
                return refuse(key, value.to_string(), format!("it is {reason}"), remedy);
            }
        }
        if !(3..=6).contains(&p.link.generation.value) {
            let known = "PCIe generations 3 to 6 are known".to_string();
            return refuse("link.generation", p.link.generation.value.to_string(), known, "use 4 or 5".into());
        }
        if !p.link.lanes.value.is_multiple_of(p.link.ports.value) {
            let reason = format!("{} lanes can't be shared by {} ports", p.link.lanes.value, p.link.ports.value);
            return refuse("link.ports", p.link.ports.value.to_string(), reason, "use 4 lanes and 2 ports".into());
        }
        let (dies, stripe) = (p.nand.dies.value, p.nand.stripe_dies.value);
        if stripe == 0 || !dies.is_multiple_of(stripe) {
            let reason = format!("{dies} dies are not whole stripes of {stripe}");
            let nearest = (1..=stripe.clamp(1, dies)).rev().find(|n| dies.is_multiple_of(*n)).unwrap_or(1);
            return refuse("nand.stripe_dies", stripe.to_string(), reason, format!("use {nearest}"));
        }
        if p.nand.suspend_time.value > Nanos::millis(1) {
            let reason = "suspending a program takes tens of us".to_string();
            return refuse("nand.suspend_time", p.nand.suspend_time.value.exact(), reason, "use at most 1ms".into());
        }
        if let Some(pslc) = &p.pslc
            && (pslc.program_time.value == Nanos::ZERO || pslc.program_time.value > p.nand.program_time.value)
        {
            let reason = "a program of one bit a cell is faster than one of all bits".to_string();
            let remedy = format!("use less than {}", p.nand.program_time.value);
            return refuse("pslc.program_time", pslc.program_time.value.exact(), reason, remedy);
        }
        Ok(())
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
        if p.nand.program_unit.value > Bytes::mib(4) {
            let reason = "a one-shot program is at most some hundred KiB".to_string();
            return refuse("nand.program_unit", p.nand.program_unit.value.exact(), reason, "use at most 4MiB".into());
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
        let share = p.capacity.unusable_share.value;
        let (count, reserve) = (p.mapping.superblocks.value, p.mapping.reserve_superblocks.value);
        if !(16..=65_536).contains(&count) {
            return refuse("mapping.superblocks", count.to_string(), "out of range".into(), "use 16 to 65536".into());
        }
        // Garbage collection always finds space when the reserve exceeds the open superblocks (one of
        // each handle, those of collected data) by two, and the spare the reserve and half of the open
        // ones by one; the mapping of the model proves it.
        let open = self.open_superblocks();
        if reserve < open + 2 {
            let reason = format!("too few for {open} open superblocks");
            let remedy = format!("use at least {}", open + 2);
            return refuse("mapping.reserve_superblocks", reserve.to_string(), reason, remedy);
        }
        let spare = self.spare_share() * f64::from(count);
        let needed = f64::from(reserve) + f64::from(open) / 2.0 + 1.0;
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
