//! Link and command service: the servers that every command passes.
//!
//! A second hop of the host's path (storage link, then GPU) that does not overlap with the first, and
//! a time of the path that each I/O takes, lengthen the use of the link.

use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::{HostProfile, ModelParameters, Sourced};
use flashlab_units::{BytesPerSecond, Nanos};

/// The drive's front end.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    service: Server,
    command_time: Ps,
    to_drive: Path,
    to_host: Path,
}

/// One direction of the path between host memory and drive.
#[derive(Debug, Clone)]
struct Path {
    server: Server,
    each: Ps,
    byte: PerByte,
}

impl Path {
    fn new(link: BytesPerSecond, hop: Option<&Sourced<BytesPerSecond>>, each: Option<&Sourced<Nanos>>) -> Self {
        let rate = hop.map_or(link.0, |hop| 1.0 / (1.0 / link.0 + 1.0 / hop.value.0));
        let each = each.map_or(0, |time| ps(time.value));
        Path { server: Server::default(), each, byte: PerByte::of(BytesPerSecond(rate)) }
    }

    #[inline]
    fn carry(&mut self, at: Ps, bytes: u64) -> Ps {
        self.server.serve(at, self.each + self.byte.time(bytes))
    }
}

impl Controller {
    pub(crate) fn new(p: &ModelParameters, host: &HostProfile) -> Self {
        let link = p.link.payload_rate.value;
        Controller {
            service: Server::default(),
            command_time: ps(p.controller.command_time.value),
            to_drive: Path::new(link, host.hop_write_rate.as_ref(), host.shared_write_time.as_ref()),
            to_host: Path::new(link, host.hop_read_rate.as_ref(), host.shared_read_time.as_ref()),
        }
    }

    /// Serves a command that reached the drive at `at`; returns when it is decoded.
    #[inline]
    pub(crate) fn command(&mut self, at: Ps) -> Ps {
        self.service.serve(at, self.command_time)
    }

    /// Moves `bytes` from the host; returns when the last has arrived.
    #[inline]
    pub(crate) fn fetch(&mut self, at: Ps, bytes: u64) -> Ps {
        self.to_drive.carry(at, bytes)
    }

    /// Moves `bytes` to the host; returns when the last has left.
    #[inline]
    pub(crate) fn deliver(&mut self, at: Ps, bytes: u64) -> Ps {
        self.to_host.carry(at, bytes)
    }
}
