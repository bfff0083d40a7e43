//! A plain event-driven simulation of random reads: what the modelled drive is held against.
//!
//! Every resource (a job's submitting thread, the controller, each die, each channel, the link) is a
//! first-in first-out queue and a busy flag; all that happens is an event in one heap, ordered by time
//! and, at one time, by the order in which the events were made. Nothing is reserved ahead and nothing
//! is computed in closed form, so that whoever doubts the model can read this instead. A read in one part
//! takes seven events.
//!
//! The data lies as one sequential fill of a purged drive leaves it: logical order is physical order,
//! program `k` is on die `k mod dies`. Nothing is written, read ahead or collected, and no second hop
//! of a host is known here; [`Reference::new`] refuses such hosts.

use flashlab_samples::LatencyHistogram;
use flashlab_spec::{HostProfile, Job, ModelParameters};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};
use flashlab_workload::{Request, RequestStream};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Virtual time in picoseconds.
type Picos = u64;

/// Page types of a QLC word line.
const PAGE_TYPES: u64 = 4;

/// Where an item waits and is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The submitting thread of a job.
    Thread(u32),
    Controller,
    Die(u32),
    Channel(u32),
    Link,
}

/// A request, or the part of it that lies in one program; `slot` is one of the outstanding I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    slot: u32,
    die: u32,
    /// Time that the die needs for it.
    sense: Picos,
    bytes: u64,
}

/// What happens at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An outstanding I/O of a job may be submitted (again).
    Wanted(u32),
    /// A resource has served an item.
    Finished(Place, Item),
    /// The host sees the completion.
    Completed(u32),
}

/// A resource: one item in service, the others in the order in which they came.
#[derive(Debug, Clone, Default)]
struct Station {
    busy: bool,
    waiting: VecDeque<Item>,
}

/// An outstanding I/O.
#[derive(Debug, Clone, Copy)]
struct Slot {
    job: u32,
    /// When the host began to submit it.
    stamp: Picos,
    request: Request,
    parts_left: usize,
}

/// What was seen between the end of the warm-up and the last completion.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Reads completed.
    pub(crate) ios: u64,
    /// Length of the window.
    pub(crate) elapsed: Nanos,
    /// Submission to completion.
    pub(crate) latency: LatencyHistogram,
}

/// One run of one job.
#[derive(Debug)]
pub(crate) struct Reference {
    events: BinaryHeap<Reverse<(Picos, u64, Event)>>,
    made: u64,
    threads: Vec<Station>,
    controller: Station,
    dies: Vec<Station>,
    channels: Vec<Station>,
    link: Station,
    streams: Vec<RequestStream>,
    slots: Vec<Slot>,
    times: Times,
    program_bytes: u64,
}

/// How long everything takes, in picoseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    submit: Picos,
    gap: Picos,
    command: Picos,
    overhead: Picos,
    page: [Picos; PAGE_TYPES as usize],
    channel_byte: f64,
    link_byte: f64,
}

impl Times {
    fn new(p: &ModelParameters, host: &HostProfile) -> Self {
        let ps = |time: Nanos| time.0 * 1_000;
        let byte = |rate: BytesPerSecond| 1e12 / rate.0;
        let (read, spread) = (ps(p.nand.read_time.value), p.nand.read_time_spread.value);
        let page = |share: f64| (read as f64 * (1.0 + share * spread)).round() as Picos;
        Times {
            submit: ps(host.submit_time.value),
            gap: ps(host.resubmit_gap.value),
            command: ps(p.controller.command_time.value),
            overhead: ps(p.controller.read_overhead.value),
            page: [page(-1.0), page(-1.0 / 3.0), page(1.0 / 3.0), page(1.0)],
            channel_byte: byte(p.nand.channel_rate.value),
            link_byte: byte(p.link.port_rate()),
        }
    }

    fn of(&self, place: Place, item: Item) -> Picos {
        match place {
            Place::Thread(_) => self.submit,
            Place::Controller => self.command,
            Place::Die(_) => item.sense,
            Place::Channel(_) => (item.bytes as f64 * self.channel_byte).round() as Picos,
            Place::Link => (item.bytes as f64 * self.link_byte).round() as Picos,
        }
    }
}

impl Reference {
    /// A drive with parameters `p`, filled once in order, before the first request of `job`.
    pub(crate) fn new(p: &ModelParameters, host: &HostProfile, job: &Job) -> Self {
        assert!(host.job_rate.is_none() && host.shared_read_time.is_none() && host.hop_read_rate.is_none());
        assert!(p.read_ahead.streams.value == 0, "two random reads in a row must not look like a stream");
        let stations = |count: u32| vec![Station::default(); count as usize];
        let streams: Vec<RequestStream> = (0..job.numjobs).map(|i| RequestStream::new(job, i)).collect();
        let idle = Request { offset: Bytes(0), length: 0, direction: flashlab_workload::Direction::Read };
        let slots = (0..job.iodepth).flat_map(|_| 0..job.numjobs);
        Reference {
            events: BinaryHeap::new(),
            made: 0,
            threads: stations(job.numjobs),
            controller: Station::default(),
            dies: stations(p.nand.dies.value),
            channels: stations(p.nand.channels.value),
            link: Station::default(),
            streams,
            slots: slots.map(|job| Slot { job, stamp: 0, request: idle, parts_left: 0 }).collect(),
            times: Times::new(p, host),
            program_bytes: p.nand.program_unit.value.0,
        }
    }

    /// Runs `warm_up` completions that are not counted and `ios` that are.
    pub(crate) fn run(mut self, warm_up: u64, ios: u64) -> Seen {
        for slot in 0..self.slots.len() as u32 {
            self.add(0, Event::Wanted(slot));
        }
        let (mut done, mut start, mut now) = (0, 0, 0);
        let mut latency = LatencyHistogram::new();
        while done < warm_up + ios {
            let Some(Reverse((at, _, event))) = self.events.pop() else { unreachable!("the loop is closed") };
            now = at;
            match event {
                Event::Wanted(slot) => self.arrive(Place::Thread(self.slots[slot as usize].job), item_of(slot), now),
                Event::Finished(place, item) => self.finish(place, item, now),
                Event::Completed(slot) => {
                    done += 1;
                    if done == warm_up {
                        start = now;
                    } else if done > warm_up {
                        latency.record(nanos(now - self.slots[slot as usize].stamp));
                    }
                    self.add(now + self.times.gap, Event::Wanted(slot));
                }
            }
        }
        Seen { ios, elapsed: nanos(now - start), latency }
    }

    fn add(&mut self, at: Picos, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, event)));
    }

    fn station(&mut self, place: Place) -> &mut Station {
        match place {
            Place::Thread(job) => &mut self.threads[job as usize],
            Place::Controller => &mut self.controller,
            Place::Die(die) => &mut self.dies[die as usize],
            Place::Channel(channel) => &mut self.channels[channel as usize],
            Place::Link => &mut self.link,
        }
    }

    /// An item comes to a resource: it is served at once or waits.
    fn arrive(&mut self, place: Place, item: Item, now: Picos) {
        let station = self.station(place);
        if station.busy {
            station.waiting.push_back(item);
        } else {
            station.busy = true;
            self.start(place, item, now);
        }
    }

    fn start(&mut self, place: Place, item: Item, now: Picos) {
        if let Place::Thread(job) = place {
            let slot = &mut self.slots[item.slot as usize];
            slot.stamp = now;
            slot.request = self.streams[job as usize].next_request();
        }
        self.add(now + self.times.of(place, item), Event::Finished(place, item));
    }

    /// A resource is done with an item: it takes the next one, and the item goes on.
    fn finish(&mut self, place: Place, item: Item, now: Picos) {
        match self.station(place).waiting.pop_front() {
            Some(next) => self.start(place, next, now),
            None => self.station(place).busy = false,
        }
        match place {
            Place::Thread(_) => self.arrive(Place::Controller, item, now),
            Place::Controller => self.read(item.slot, now),
            Place::Die(die) => self.arrive(Place::Channel(die % self.channels.len() as u32), item, now),
            Place::Channel(_) => self.arrive(Place::Link, item, now),
            Place::Link => {
                let slot = &mut self.slots[item.slot as usize];
                slot.parts_left -= 1;
                if slot.parts_left == 0 {
                    self.add(now + self.times.overhead, Event::Completed(item.slot));
                }
            }
        }
    }

    /// Sends the parts of a read to their dies, one for each program that it touches.
    fn read(&mut self, slot: u32, now: Picos) {
        let request = self.slots[slot as usize].request;
        let (mut at, end) = (request.offset.0, request.offset.0 + u64::from(request.length));
        self.slots[slot as usize].parts_left = (at / self.program_bytes..=(end - 1) / self.program_bytes).count();
        while at < end {
            let program = at / self.program_bytes;
            let bytes = end.min((program + 1) * self.program_bytes) - at;
            let die = (program % self.dies.len() as u64) as u32;
            let sense = self.sense(at % self.program_bytes, bytes);
            self.arrive(Place::Die(die), Item { slot, die, sense, bytes }, now);
            at += bytes;
        }
    }

    /// Bytes `[from, from + bytes)` of a program: each page type touched is read once.
    fn sense(&self, from: u64, bytes: u64) -> Picos {
        let page = self.program_bytes / PAGE_TYPES;
        (from / page..=(from + bytes - 1) / page).map(|p| self.times.page[p as usize]).sum()
    }
}

/// A whole request, before it is split.
fn item_of(slot: u32) -> Item {
    Item { slot, die: 0, sense: 0, bytes: 0 }
}

fn nanos(time: Picos) -> Nanos {
    Nanos((time + 500) / 1_000)
}
