//! The requests of a trace as they come, and all that is decided about them.

use super::{AtLimit, DeviceChoice, Event, Raw, TraceFormat, TraceOptions, TraceRead, TraceSummary};
use crate::InteropError;
use flashlab_spec::{Direction, Replay, ReplayRequest};
use flashlab_units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Largest request of a job, which a list of requests may not exceed.
pub(super) const PIECE: Bytes = Bytes::mib(64);
/// First address beyond any drive: 2^60. What lies there is a slip, and nothing overflows below.
const ADDRESS_MAX: u64 = 1 << 60;
/// Devices that are told apart by name: more than a host has drives.
const DEVICES_MAX: usize = 1024;
/// Devices that an error names.
const DEVICES_SHOWN: usize = 8;
const OTHERS: &str = "all other devices";

const ADDRESS: &str = "an offset and a length that end below 1 EiB";
const LENGTH: &str = "a read or write below 4 GiB";
const EMPTY: &str = "requests of no bytes";
const OTHER_EVENTS: &str = "events Q, D or C beside the one that counts";
const OTHER_DEVICES: &str = "requests of devices that were not chosen";

/// Why a request is not taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The line is broken; this should stand there.
    Line(&'static str),
    /// The whole trace is refused.
    Trace(Box<InteropError>),
}

/// A device of the trace.
#[derive(Debug)]
struct Device {
    name: String,
    /// Requests by event.
    counts: [u64; 3],
}

/// Takes requests.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    file: &'a str,
    options: &'a TraceOptions,
    requests: Vec<ReplayRequest>,
    /// The event of the requests that are kept.
    event: Option<Event>,
    /// The device of the requests that are kept, unless all are.
    kept: Option<usize>,
    devices: Vec<Device>,
    /// The device of the last request, which is mostly that of the next.
    last: usize,
    latest: u64,
    back_in_time: u64,
    cut_up: u64,
    skipped: BTreeMap<&'static str, u64>,
    cut_at_line: Option<u64>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str, options: &'a TraceOptions) -> Self {
        Collector {
            file,
            options,
            requests: Vec::new(),
            event: options.event,
            kept: None,
            devices: Vec::new(),
            last: 0,
            latest: 0,
            back_in_time: 0,
            cut_up: 0,
            skipped: BTreeMap::new(),
            cut_at_line: None,
        }
    }

    /// Counts what is left out.
    pub(super) fn skip(&mut self, kind: &'static str) {
        self.skip_many(kind, 1);
    }

    fn skip_many(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.skipped.entry(kind).or_default() += count;
        }
    }

    /// Takes a request that stands in `line`; false when reading ends here.
    pub(super) fn take(&mut self, raw: &Raw<'_>, line: u64) -> Result<bool, Refusal> {
        if raw.offset.checked_add(raw.length).is_none_or(|end| end > ADDRESS_MAX) {
            return Err(Refusal::Line(ADDRESS));
        }
        if raw.length == 0 {
            self.skip(EMPTY);
            return Ok(true);
        }
        // The kernel splits trims, and hosts send them by the terabyte; a read or write has a buffer.
        if raw.direction != Direction::Trim && raw.length > u64::from(u32::MAX) {
            return Err(Refusal::Line(LENGTH));
        }
        let device = self.device(raw.device);
        self.devices[device].counts[raw.event as usize] += 1;
        if matches!(&self.options.device, DeviceChoice::Named(name) if name != raw.device) || !self.counts(raw.event) {
            return Ok(true);
        }
        if self.options.device == DeviceChoice::Only && *self.kept.get_or_insert(device) != device {
            return Ok(true);
        }
        self.keep(raw, line)
    }

    /// Whether an event counts. The first of a better kind drops all that was kept of a worse one:
    /// D comes soon after the first Q, where there is any.
    fn counts(&mut self, event: Event) -> bool {
        if self.options.event.is_none() && self.event < Some(event) {
            self.event = Some(event);
            self.requests.clear();
            (self.kept, self.latest, self.back_in_time, self.cut_up) = (None, 0, 0, 0);
        }
        self.event == Some(event)
    }

    fn keep(&mut self, raw: &Raw<'_>, line: u64) -> Result<bool, Refusal> {
        if !self.requests.is_empty() && raw.at < self.latest {
            self.back_in_time += 1;
        }
        self.latest = self.latest.max(raw.at);
        self.cut_up += u64::from(raw.length > PIECE.0);
        let (mut offset, mut left) = (raw.offset, raw.length);
        while left > 0 {
            if self.requests.len() >= self.options.requests_max {
                return self.at_limit(line);
            }
            let length = left.min(PIECE.0);
            self.requests.push(ReplayRequest {
                at: Nanos(raw.at),
                direction: raw.direction,
                offset: Bytes(offset),
                length: length as u32,
            });
            (offset, left) = (offset + length, left - length);
        }
        Ok(true)
    }

    fn at_limit(&mut self, line: u64) -> Result<bool, Refusal> {
        match self.options.at_limit {
            AtLimit::Cut => {
                self.cut_at_line = Some(line);
                Ok(false)
            }
            AtLimit::Refuse => {
                let (file, requests_max) = (self.file.to_owned(), self.options.requests_max);
                Err(Refusal::Trace(Box::new(InteropError::TooMany { file, line, requests_max })))
            }
        }
    }

    /// The place of a device in the table.
    fn device(&mut self, name: &str) -> usize {
        if self.devices.get(self.last).is_some_and(|device| device.name == name) {
            return self.last;
        }
        let known = self.devices.iter().position(|device| device.name == name);
        self.last = known.unwrap_or_else(|| {
            if self.devices.len() <= DEVICES_MAX {
                let name = if self.devices.len() < DEVICES_MAX { name } else { OTHERS };
                self.devices.push(Device { name: name.to_owned(), counts: [0; 3] });
            }
            self.devices.len() - 1
        });
        self.last
    }

    /// The trace as a whole, after the last line.
    pub(super) fn finish(
        mut self,
        format: TraceFormat,
        lines: u64,
        notes: Vec<String>,
    ) -> Result<TraceRead, InteropError> {
        let devices = self.devices_by_count();
        self.skip_unused(&devices);
        if self.options.device == DeviceChoice::Only && devices.len() > 1 {
            return Err(InteropError::Devices { file: self.file.to_owned(), devices: named(&devices) });
        }
        if self.requests.is_empty() {
            return Err(self.nothing(lines, &devices));
        }
        let first = self.requests.iter().map(|r| r.at).min().unwrap_or_default();
        self.requests.iter_mut().for_each(|r| r.at = r.at.saturating_sub(first));
        let TraceOptions { end, beyond, .. } = *self.options;
        let replay = Replay::new(self.file, std::mem::take(&mut self.requests), end, beyond);
        let summary = TraceSummary::of(replay.requests());
        let timed = summary.span > Nanos::ZERO;
        let chosen = |name: &str| !matches!(&self.options.device, DeviceChoice::Named(named) if named != name);
        Ok(TraceRead {
            summary,
            format,
            event: self.event.filter(|_| format == TraceFormat::Blkparse),
            devices: devices.into_iter().filter(|(name, _)| chosen(name)).collect(),
            lines,
            broken: Vec::new(),
            broken_count: 0,
            skipped: self.skipped.into_iter().collect(),
            back_in_time: self.back_in_time,
            cut_up: self.cut_up,
            timed,
            cut_at_line: self.cut_at_line,
            notes,
            replay,
        })
    }

    /// The devices that have requests of the event that counts; of any where none was chosen.
    fn devices_by_count(&self) -> Vec<(String, u64)> {
        let count = |device: &Device| match self.event {
            Some(event) => device.counts[event as usize],
            None => device.counts.iter().sum(),
        };
        let mut devices: Vec<(String, u64)> =
            self.devices.iter().filter(|d| count(d) > 0).map(|d| (d.name.clone(), count(d))).collect();
        devices.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        devices
    }

    /// Counts as left out what was read and doesn't count.
    fn skip_unused(&mut self, devices: &[(String, u64)]) {
        let all: u64 = self.devices.iter().flat_map(|device| device.counts).sum();
        let of_event: u64 = devices.iter().map(|(_, count)| count).sum();
        self.skip_many(OTHER_EVENTS, all - of_event);
        if let DeviceChoice::Named(named) = &self.options.device {
            let others = devices.iter().filter(|(name, _)| name != named).map(|(_, count)| count).sum();
            self.skip_many(OTHER_DEVICES, others);
        }
    }

    fn nothing(&self, lines: u64, devices: &[(String, u64)]) -> InteropError {
        let remedy = match (&self.options.device, self.options.event) {
            (DeviceChoice::Named(name), _) if !devices.is_empty() => {
                format!("`{name}` is not among the devices: choose one of {}", named(devices))
            }
            (_, Some(event)) if !self.devices.is_empty() => {
                format!("there are requests without the event {}: leave the choice of it out", event.letter())
            }
            _ => "give a trace of reads, writes or trims".to_owned(),
        };
        let skipped: Vec<String> = self.skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        InteropError::Empty { file: self.file.to_owned(), lines, skipped: skipped.join(", "), remedy }
    }
}

/// Devices for an error.
fn named(devices: &[(String, u64)]) -> String {
    let shown: Vec<String> = devices
        .iter()
        .take(DEVICES_SHOWN)
        .map(|(name, count)| format!("`{}` ({count} requests)", crate::error::shown(name)))
        .collect();
    match devices.len().checked_sub(DEVICES_SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}
