//! Link and command service: the servers that every command passes.

use crate::time::{PerByte, Ps, Server, ps};
use flashlab_spec::ModelParameters;

/// The drive's front end.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    service: Server,
    command_time: Ps,
    to_drive: Server,
    to_host: Server,
    link: PerByte,
}

impl Controller {
    pub(crate) fn new(p: &ModelParameters) -> Self {
        Controller {
            service: Server::default(),
            command_time: ps(p.controller.command_time.value),
            to_drive: Server::default(),
            to_host: Server::default(),
            link: PerByte::of(p.link.payload_rate.value),
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
        self.to_drive.serve(at, self.link.time(bytes))
    }

    /// Moves `bytes` to the host; returns when the last has left.
    #[inline]
    pub(crate) fn deliver(&mut self, at: Ps, bytes: u64) -> Ps {
        self.to_host.serve(at, self.link.time(bytes))
    }
}
