//! The link: payload crosses each port in order, one server a direction.
//!
//! A host's path may have a second hop (storage link, then GPU). Read data takes one hop after the
//! other; write data flows through both at once, so that the slower one sets the pace.

use crate::time::{PerByte, Ps, Server, doublings, ps};
use flashlab_spec::{HostProfile, LinkModel, Sourced};
use flashlab_units::{BytesPerSecond, Nanos};

/// All ports of a drive.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    to_drive: Way,
    to_host: Way,
    /// Time a byte takes longer over the second hop than over the link.
    slack: PerByte,
}

/// What becomes of a request that was carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    /// It goes on by itself.
    Alone,
    /// It is the first of a batch, which may be handed on at this time.
    First(Ps),
    /// It goes on with a batch.
    Waits,
}

/// A request that was carried, and when it was ready for the link.
pub(crate) type Carried = (u32, Ps);

/// One direction: a server a port.
#[derive(Debug, Clone)]
struct Way {
    /// Requests that were carried and are not handed on yet, if they are handed on together.
    batch: Option<Vec<Carried>>,
    ports: Vec<Server>,
    each: Ps,
    byte: PerByte,
}

impl Way {
    fn new(ports: u32, rate: f64, each: Option<&Sourced<Nanos>>, batches: bool) -> Self {
        let each = each.map_or(0, |time| ps(time.value));
        Way {
            batch: batches.then(Vec::new),
            ports: vec![Server::default(); ports as usize],
            each,
            byte: PerByte::of(BytesPerSecond(rate)),
        }
    }

    /// Whether there is one port, so that what was carried first is there first.
    fn in_order(&self) -> bool {
        self.ports.len() == 1
    }

    /// When the last of what was taken on is carried.
    fn free_at(&self) -> Ps {
        self.ports.iter().map(Server::free_at).max().unwrap_or(0)
    }

    fn join(&mut self, slot: u32, ready: Ps) -> Joined {
        let free_at = self.free_at();
        match &mut self.batch {
            None => Joined::Alone,
            Some(batch) => {
                batch.push((slot, ready));
                if batch.len() == 1 { Joined::First(free_at) } else { Joined::Waits }
            }
        }
    }

    fn hand_on(&mut self, at: Ps, slots: &mut Vec<Carried>) -> Option<Ps> {
        slots.clear();
        let free_at = self.free_at();
        if free_at > at {
            return Some(free_at);
        }
        if let Some(batch) = &mut self.batch {
            std::mem::swap(batch, slots);
        }
        None
    }

    #[inline]
    fn carry(&mut self, queue: u32, at: Ps, bytes: u32) -> Ps {
        let time = self.each + self.byte.time(u64::from(bytes));
        let port = if self.ports.len() == 1 { 0 } else { queue as usize % self.ports.len() };
        self.ports[port].serve(at, time)
    }
}

impl Link {
    pub(crate) fn new(p: &LinkModel, host: &HostProfile, jobs: u32) -> Self {
        let link = p.port_rate().0;
        let both = host.hop_read_rate.as_ref().map_or(link, |hop| 1.0 / (1.0 / link + 1.0 / hop.value.0));
        let slowdown =
            host.hop_write_slowdown.as_ref().map_or(1.0, |s| 1.0 + s.value * doublings(jobs, JOBS_AT_FULL_SPEED));
        let slower = host.hop_write_rate.as_ref().map_or(link, |hop| (hop.value.0 / slowdown).min(link));
        let batches = host.hop_batches.as_ref().is_some_and(|batches| batches.value);
        Link {
            to_drive: Way::new(p.ports.value, slower, host.shared_write_time.as_ref(), batches),
            to_host: Way::new(p.ports.value, both, host.shared_read_time.as_ref(), batches),
            slack: PerByte::of(BytesPerSecond(1.0 / (1.0 / slower - 1.0 / link).max(1e-18))),
        }
    }

    /// Whether reads reach the host in the order in which they reached the link.
    pub(crate) fn delivers_in_order(&self) -> bool {
        self.to_host.in_order()
    }

    /// Moves `bytes` from the host over the port of queue pair `queue`; returns when the last has
    /// arrived.
    #[inline]
    pub(crate) fn fetch(&mut self, queue: u32, at: Ps, bytes: u32) -> Ps {
        self.to_drive.carry(queue, at, bytes)
    }

    /// Whether a write that was fetched, decoded at `ready`, is handed on with others.
    pub(crate) fn join_to_drive(&mut self, slot: u32, ready: Ps) -> Joined {
        self.to_drive.join(slot, ready)
    }

    /// The same for a read that was delivered, in the controller at `ready`.
    pub(crate) fn join_to_host(&mut self, slot: u32, ready: Ps) -> Joined {
        self.to_host.join(slot, ready)
    }

    /// Puts the writes to hand on at `at` into `slots`; or says when to look again, if more came.
    pub(crate) fn hand_on_to_drive(&mut self, at: Ps, slots: &mut Vec<Carried>) -> Option<Ps> {
        self.to_drive.hand_on(at, slots)
    }

    /// The same for reads.
    pub(crate) fn hand_on_to_host(&mut self, at: Ps, slots: &mut Vec<Carried>) -> Option<Ps> {
        self.to_host.hand_on(at, slots)
    }

    /// How much longer the last byte of a write took than over the link alone: while data trickles in,
    /// the drive has time to put it away.
    #[inline]
    pub(crate) fn slack(&self, bytes: u32) -> Ps {
        self.slack.time(u64::from(bytes))
    }

    /// Moves `bytes` to the host over the port of queue pair `queue`; returns when the last has left.
    #[inline]
    pub(crate) fn deliver(&mut self, queue: u32, at: Ps, bytes: u32) -> Ps {
        self.to_host.carry(queue, at, bytes)
    }
}

/// Jobs up to which a host's write path keeps its speed, see [`HostProfile::hop_write_slowdown`].
const JOBS_AT_FULL_SPEED: u32 = 8;
