//! The drive of these tests, which does not follow the fits, and the built-in hosts.

#![allow(dead_code, reason = "each test program uses a part of it")]

use flashlab_spec::{DriveProfile, HostProfile, Hosts};
use flashlab_units::Bytes;

/// Of `drive.toml`.
pub(crate) const CAPACITY: Bytes = Bytes(122_880_000_000_000);

pub(crate) fn profile() -> DriveProfile {
    DriveProfile::parse(include_str!("../drive.toml"), "drive.toml").expect("a good profile")
}

/// The host of fio.
pub(crate) fn host() -> HostProfile {
    HostProfile::parse(include_str!("../../../../data/hosts/fio.toml"), "fio.toml").expect("a good host")
}

pub(crate) fn hosts() -> Hosts {
    hosts_with(host())
}

/// The hosts, with another one for fio.
pub(crate) fn hosts_with(fio: HostProfile) -> Hosts {
    let parse = |text, file| HostProfile::parse(text, file).expect("a good host");
    Hosts::new(vec![
        fio,
        parse(include_str!("../../../../data/hosts/gdsio.toml"), "gdsio.toml"),
        parse(include_str!("../../../../data/hosts/checkpoint.toml"), "checkpoint.toml"),
    ])
}
