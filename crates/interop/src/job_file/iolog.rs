//! `read_iolog`: a job that replays a trace.

use super::FioJob;
use super::build::Builder;
use super::options::Key;
use super::values;
use crate::{InteropError, TraceRead};
use flashlab_spec::{Replay, Rw};

/// fio's `replay_time_scale` is a speed: 50 takes twice as long. A list is stretched to a share of its time.
const PERCENT: u32 = 100;
const NOTE: &str = "the requests are due at their recorded times whatever the drive does, and latency counts from \
                    then; fio sends late what the drive delays, and counts from when it is sent";

/// The trace of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct FioTrace {
    /// As written: fio takes it from the folder in which it runs.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Whether it is as fast as it is served, whatever its times.
    pub no_stall: bool,
    /// Times are stretched to this; 100 for as recorded.
    pub time_percent: u32,
    /// Whether the requests of all its devices go to the target.
    pub redirect: bool,
    /// Its requests, once [`FioJob::attach`] was given them, and whether they have times.
    pub(super) list: Option<(Replay, bool)>,
}

impl FioTrace {
    /// The requests with how their times are stretched, `None` for as fast as they are served.
    pub(super) fn list(&self) -> Option<(&Replay, Option<u32>)> {
        let (replay, timed) = self.list.as_ref()?;
        Some((replay, (*timed && !self.no_stall).then_some(self.time_percent)))
    }
}

impl FioJob {
    /// Gives a job with a trace what was read of it; its source becomes the file and the format.
    pub fn attach(&mut self, read: TraceRead) {
        let Some(trace) = &mut self.trace else { return };
        let mut replay = read.replay;
        replay.source = format!("{} ({})", trace.file, read.format);
        let [_, writes, trims] = replay.summary().by_direction;
        self.rw = if writes + trims > 0 { Rw::RandRw } else { Rw::RandRead };
        trace.list = Some((replay, read.timed));
    }
}

/// The trace of a section, if it has one.
pub(super) fn trace(builder: &mut Builder<'_>) -> Result<Option<FioTrace>, InteropError> {
    let about = [Key::ReplayNoStall, Key::ReplayTimeScale, Key::ReplayRedirect];
    let Some(entry) = builder.section.get(Key::ReadIolog).cloned() else {
        for line in about.into_iter().filter_map(|key| builder.section.get(key)).map(|entry| entry.line) {
            builder.note(line, "it changes nothing without read_iolog");
        }
        return Ok(None);
    };
    // What shapes requests in another way, and in fio changes how often or how fast a trace is played.
    let others = [
        (Key::Numjobs, "each job replays all of it"),
        (Key::Loops, "the trace is replayed once"),
        (Key::TimeBased, "the trace is replayed once"),
        (Key::IoSize, "the trace is replayed as a whole"),
        (Key::Offset, "the addresses are those of the trace"),
        (Key::Rate, "the pace is that of the trace"),
        (Key::RateIops, "the pace is that of the trace"),
        (Key::Thinktime, "the pace is that of the trace"),
        (Key::Verify, "what a trace writes can't be verified"),
    ];
    for (key, why) in others {
        let given = builder.section.get(key).filter(|entry| !matches!(entry.value.as_deref(), Some("0" | "1")));
        if let Some(given) = given {
            let fault = (format!("read_iolog is given too: {why}"), "leave one of the two out".to_owned());
            return Err(builder.refuse(given, fault));
        }
    }
    let speed = builder.read(Key::ReplayTimeScale, |_, text| match values::count(text)? {
        // A share of the time in whole percent: 1 to 10,000 are exact or close to it.
        speed @ 1..=10_000 => Ok((PERCENT * PERCENT + speed / 2) / speed),
        speed => Err((format!("it is {speed}"), "use 1 to 10000; 100 is as recorded".to_owned())),
    })?;
    let trace = FioTrace {
        file: entry.value.clone().unwrap_or_default(),
        line: entry.line,
        no_stall: builder.read(Key::ReplayNoStall, |_, text| values::flag(Some(text)))?.unwrap_or(false),
        time_percent: speed.unwrap_or(PERCENT),
        redirect: builder.section.get(Key::ReplayRedirect).is_some(),
        list: None,
    };
    if !trace.no_stall {
        builder.note(entry.line, NOTE);
    }
    Ok(Some(trace))
}
