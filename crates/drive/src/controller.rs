//! Command service: one server that every command passes, and the order in which it takes them.

use crate::time::{Ps, Server, ps};
use flashlab_spec::{Arbitration, ControllerModel};
use std::collections::VecDeque;

/// The drive's front end.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    service: Server,
    command_time: Ps,
    /// Fixed delay of a mapped read.
    pub(crate) read_overhead: Ps,
    /// With round-robin: the commands that wait, by queue pair.
    waiting: Option<Waiting>,
}

/// Queue pairs that are served in turn.
#[derive(Debug, Clone)]
struct Waiting {
    queues: Vec<VecDeque<u32>>,
    /// The queue pair whose turn it is.
    turn: usize,
    commands: u32,
}

impl Controller {
    pub(crate) fn new(p: &ControllerModel, queues: u32) -> Self {
        let waiting = Waiting { queues: vec![VecDeque::new(); queues as usize], turn: 0, commands: 0 };
        Controller {
            service: Server::default(),
            command_time: ps(p.command_time.value),
            read_overhead: ps(p.read_overhead.value),
            waiting: Self::takes_turns(p, queues).then_some(waiting),
        }
    }

    /// Whether `queues` queue pairs are served in turn, so that a command may be overtaken by a later one.
    pub(crate) fn takes_turns(p: &ControllerModel, queues: u32) -> bool {
        p.arbitration.value == Arbitration::RoundRobin && queues > 1
    }

    /// A command arrives at `at`. Returns when it is decoded; or, with round-robin, when the controller
    /// has to look for its next command, if that is not planned yet.
    #[inline]
    pub(crate) fn command(&mut self, at: Ps, queue: u32, slot: u32) -> Decode {
        let Some(waiting) = &mut self.waiting else {
            return Decode::Done(self.service.serve(at, self.command_time));
        };
        waiting.queues[queue as usize].push_back(slot);
        waiting.commands += 1;
        if waiting.commands > 1 { Decode::Waits } else { Decode::LookAt(self.service.free_at().max(at)) }
    }

    /// The next command in turn: its slot, when it is decoded, and whether another one waits then.
    pub(crate) fn arbitrate(&mut self, at: Ps) -> Option<(u32, Ps, bool)> {
        let waiting = self.waiting.as_mut()?;
        let queues = waiting.queues.len();
        for _ in 0..queues {
            let turn = waiting.turn;
            waiting.turn = (turn + 1) % queues;
            if let Some(slot) = waiting.queues[turn].pop_front() {
                waiting.commands -= 1;
                return Some((slot, self.service.serve(at, self.command_time), waiting.commands > 0));
            }
        }
        None
    }
}

/// What becomes of a command that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decode {
    /// It is decoded at this time.
    Done(Ps),
    /// It waits; the controller looks for the next command at this time.
    LookAt(Ps),
    /// It waits behind others.
    Waits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Source, Sourced};
    use flashlab_units::Nanos;

    fn controller(arbitration: Arbitration) -> Controller {
        fn assumed<T>(value: T) -> Sourced<T> {
            Sourced { value, source: Source::Assumed, note: String::new() }
        }
        let model = ControllerModel {
            command_time: assumed(Nanos(1)),
            read_overhead: assumed(Nanos(0)),
            arbitration: assumed(arbitration),
        };
        Controller::new(&model, 2)
    }

    #[test]
    fn in_order_of_arrival() {
        let mut c = controller(Arbitration::Arrival);
        assert_eq!((c.command(0, 0, 1), c.command(0, 0, 2)), (Decode::Done(1_000), Decode::Done(2_000)));
    }

    #[test]
    fn queue_pairs_in_turn() {
        let mut c = controller(Arbitration::RoundRobin);
        assert_eq!(c.command(5, 0, 1), Decode::LookAt(5));
        for (queue, slot) in [(0, 2), (0, 3), (1, 10), (1, 11)] {
            assert_eq!(c.command(6, queue, slot), Decode::Waits);
        }
        let mut order = Vec::new();
        while let Some((slot, at, more)) = c.arbitrate(5) {
            order.push(slot);
            assert_eq!((at, more), (5 + 1_000 * order.len() as u64, order.len() < 5));
        }
        assert_eq!(order, [1, 10, 2, 11, 3]);
    }
}
