//! Which process began a run, and whether it still exists.
//!
//! A pid alone is used again by another process, so it is kept with the time at which its process
//! started, the boot, the pid namespace and the host. Where one of them leaves doubt the answer is
//! `None`, never a guess.

use std::fs;

/// A process, for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStamp {
    /// Its number.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot.
    pub(crate) started_ticks: Option<u64>,
    /// The namespace in which the number counts.
    pub(crate) namespace: Option<String>,
    /// The boot it lives in.
    pub(crate) boot_id: Option<String>,
    /// Name of its host.
    pub(crate) host: Option<String>,
}

impl ProcessStamp {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        ProcessStamp {
            pid,
            started_ticks: started_ticks("/proc/self/stat"),
            namespace: fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned()),
            boot_id: line("/proc/sys/kernel/random/boot_id"),
            host: line("/proc/sys/kernel/hostname"),
        }
    }

    /// Whether the process still exists, as seen from `here`, which is [`ProcessStamp::current`].
    /// `None` where that can't be known: it ran on another host or in another container, or this
    /// system does not show its processes.
    pub(crate) fn is_alive(&self, here: &ProcessStamp) -> Option<bool> {
        let boot = self.boot_id.as_ref()?;
        if boot != here.boot_id.as_ref()? {
            // Another boot of this host has taken all its processes with it.
            return (self.host.as_ref()? == here.host.as_ref()?).then_some(false);
        }
        if self.namespace.as_ref()? != here.namespace.as_ref()? {
            return None;
        }
        let then = self.started_ticks?;
        match started_ticks(&format!("/proc/{}/stat", self.pid)) {
            Some(now) => Some(now == then),
            // A /proc mounted with hidepid shows only one's own processes; then nothing is known.
            None => fs::metadata("/proc/1/stat").is_ok().then_some(false),
        }
    }
}

/// First line of a small file, where it can be read.
fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn started_ticks(path: &str) -> Option<u64> {
    parse_started_ticks(&fs::read_to_string(path).ok()?)
}

/// Start time out of the text of `/proc/PID/stat`, field 22 of proc_pid_stat(5). `None` for a process
/// that has ended and is only waited for (state Z or X).
fn parse_started_ticks(stat: &str) -> Option<u64> {
    // Field 2 is the name in parentheses and may hold blanks and parentheses itself; field 3 is the state.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "4242 (a) b (c) S 1 4242 4242 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11 12";

    #[test]
    fn start_time_is_field_22_whatever_the_name_holds() {
        assert_eq!(parse_started_ticks(STAT), Some(987_654));
        assert_eq!(parse_started_ticks(&STAT.replace(" S ", " Z ")), None);
        for text in ["", "1", "1 (x)", "1 (x) S 2 3", "1 (x S 1 2 3"] {
            assert_eq!(parse_started_ticks(text), None, "{text}");
        }
    }

    #[test]
    fn this_process_lives_and_a_reused_pid_does_not() {
        let here = ProcessStamp::current();
        assert_eq!(here.is_alive(&here), Some(true));
        let earlier = ProcessStamp { started_ticks: here.started_ticks.map(|t| t + 1), ..here.clone() };
        assert_eq!(earlier.is_alive(&here), Some(false));
    }

    #[test]
    fn other_boots_hosts_and_containers() {
        let here = ProcessStamp::current();
        let rebooted = ProcessStamp { boot_id: Some("another".into()), ..here.clone() };
        assert_eq!(rebooted.is_alive(&here), Some(false));
        let elsewhere = ProcessStamp { host: Some("another host".into()), ..rebooted };
        assert_eq!(elsewhere.is_alive(&here), None);
        let contained = ProcessStamp { namespace: Some("pid:[1]".into()), ..here.clone() };
        assert_eq!(contained.is_alive(&here), None);
        let unknown = ProcessStamp { started_ticks: None, ..here.clone() };
        assert_eq!(unknown.is_alive(&here), None);
    }
}
