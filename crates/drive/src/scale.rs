//! Capacity scaling: the modelled drive is `factor` times smaller than the real one.
//!
//! Pages per block, tErase and the volume of a write point are divided; dies, the number of
//! superblocks, the spare share, the program unit and the buffer stay. So two fills of a drive of
//! any size take seconds, and rates, latencies and write amplification do not move.

use crate::ftl::Layout;
use flashlab_spec::DriveProfile;
use flashlab_units::Bytes;

/// Indirection units mapped at most: with 8.3 bytes each, 280 MB, for points that could not exceed the
/// write buffer otherwise. Most drives need a tenth of it.
pub const MAPPED_UNITS_MAX: u64 = 1 << 25;

/// Units of flash at most, in units mapped at most.
const FLASH_MAX: u64 = 2;

/// A superblock of fewer units biases write amplification (by −0.2 % at 2,048, −1.5 % at 256).
const SUPERBLOCK_UNITS_MIN: u64 = 2_048;

/// Fills are made of transfers of at most this.
const TRANSFER_BYTES: u64 = 1 << 20;
/// That many transfers and more: rounding takes less than 2 % of the space.
const TRANSFERS_MIN: u32 = 64;

/// The sizes of the scaled drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// How many times smaller than the real drive.
    pub(crate) factor: u64,
    /// Bytes of an indirection unit, and the power of two that they are.
    pub(crate) unit_bytes: u64,
    pub(crate) unit_shift: u32,
    /// Indirection units the host sees.
    pub(crate) user_units: u32,
    /// Indirection units of a superblock: whole rounds of programs over all dies, if it is not less than one.
    pub(crate) superblock_units: u32,
    /// Superblocks.
    pub(crate) superblocks: u32,
    /// Indirection units of a one-shot program.
    pub(crate) program_units: u32,
    /// Superblocks kept erased.
    pub(crate) reserve: u32,
}

impl Geometry {
    /// Of a checked profile, with at most `units_max` mapped units.
    pub(crate) fn new(profile: &DriveProfile, units_max: u64) -> Self {
        let p = &profile.parameters;
        let unit = p.mapping.indirection_unit.value.0;
        let superblocks = p.mapping.superblocks.value;
        let program_units = (p.nand.program_unit.value.0 / unit) as u32;
        let full_units = p.capacity.user.value.0 / unit;
        let floor = SUPERBLOCK_UNITS_MIN * u64::from(superblocks);
        let usable = p.capacity.raw.value.0 as f64 * (1.0 - p.capacity.unusable_share.value);
        let mapped = units_max.max(floor);
        // A drive that is mostly spare is no larger than others for it.
        let by_flash = ((usable / unit as f64) as u64).div_ceil(FLASH_MAX * mapped);
        let wanted = full_units.div_ceil(mapped).max(by_flash).max(1);
        let per_block = usable / unit as f64 / wanted as f64 / f64::from(superblocks);
        // A superblock is whole rounds of programs over all dies, so that the next one begins on the die
        // after the one where this ends; unless it is smaller than a round.
        let over_all_dies = program_units * p.nand.dies.value;
        let round = if per_block < f64::from(over_all_dies) { program_units } else { over_all_dies };
        let superblock_units = ((per_block / f64::from(round)).round() as u32).max(1) * round;
        // The spare share is kept exact, and the scale is that of what came out.
        let total = f64::from(superblock_units) * f64::from(superblocks);
        let exact = (total * (1.0 - profile.spare_share())).floor() as u32;
        // Whole transfers of up to 1 MiB, so that a fill leaves no rest unmapped; of a drive of few of them
        // smaller ones, so that it stays what it is.
        let few = 1 << (exact / TRANSFERS_MIN).max(1).ilog2();
        let transfer = ((TRANSFER_BYTES / unit) as u32).min(few);
        let user_units = exact / transfer * transfer;
        let factor = (full_units as f64 / f64::from(user_units)).round().max(1.0) as u64;
        Geometry {
            factor,
            unit_bytes: unit,
            unit_shift: unit.trailing_zeros(),
            user_units,
            superblock_units,
            superblocks,
            program_units,
            reserve: p.mapping.reserve_superblocks.value,
        }
    }

    /// For the mapping.
    pub(crate) fn layout(&self) -> Layout {
        Layout {
            user_units: self.user_units,
            superblock_units: self.superblock_units,
            superblocks: self.superblocks,
            program_units: self.program_units,
            reserve: self.reserve,
        }
    }

    /// Bytes of a one-shot program.
    pub(crate) fn program_bytes(&self) -> u64 {
        u64::from(self.program_units) * self.unit_bytes
    }

    /// Bytes the host sees of the scaled drive.
    pub(crate) fn user_bytes(&self) -> u64 {
        u64::from(self.user_units) * self.unit_bytes
    }

    /// A full-scale position or size, scaled down to whole multiples of `grain`.
    pub(crate) fn scaled(&self, full: Bytes, grain: u64) -> u64 {
        full.0 / self.factor / grain * grain
    }
}
