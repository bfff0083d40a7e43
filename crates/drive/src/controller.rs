//! Link and command service: the servers that every command passes.
//!
//! A host's path may have a second hop (storage link, then GPU). Read data takes one hop after the
//! other; write data flows through both at once, so that the slower one sets the pace.

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
    /// Time a byte takes longer over the second hop than over the link.
    slack: PerByte,
}

/// One direction of the path between host memory and drive.
#[derive(Debug, Clone)]
struct Path {
    server: Server,
    each: Ps,
    byte: PerByte,
}

impl Path {
    fn new(rate: f64, each: Option<&Sourced<Nanos>>) -> Self {
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
        let link = p.link.payload_rate.value.0;
        let both = host.hop_read_rate.as_ref().map_or(link, |hop| 1.0 / (1.0 / link + 1.0 / hop.value.0));
        let slower = host.hop_write_rate.as_ref().map_or(link, |hop| hop.value.0.min(link));
        Controller {
            service: Server::default(),
            command_time: ps(p.controller.command_time.value),
            to_drive: Path::new(slower, host.shared_write_time.as_ref()),
            to_host: Path::new(both, host.shared_read_time.as_ref()),
            slack: PerByte::of(BytesPerSecond(1.0 / (1.0 / slower - 1.0 / link).max(1e-18))),
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

    /// How much longer the last byte of a write took than over the link alone: while data trickles in,
    /// the drive has time to put it away.
    #[inline]
    pub(crate) fn slack(&self, bytes: u64) -> Ps {
        self.slack.time(bytes)
    }

    /// Moves `bytes` to the host; returns when the last has left.
    #[inline]
    pub(crate) fn deliver(&mut self, at: Ps, bytes: u64) -> Ps {
        self.to_host.carry(at, bytes)
    }
}
