//! `flashlab doctor`: what this machine grants, and what it protects.

use crate::args::Doctor;
use crate::exit::Exit;
use crate::output;
use flashlab_guard::{Inspection, Subject};
use flashlab_io::{Probe, probe};
use flashlab_report::{Column, Table};
use flashlab_units::Bytes;
use std::path::Path;

pub(crate) fn run(args: &Doctor) -> anyhow::Result<Exit> {
    let here = std::env::current_dir()?;
    let probed = probe(Some(args.on.as_deref().unwrap_or(&here)));
    let devices = flashlab_guard::devices()?;
    let asked = args.on.as_deref().map(flashlab_guard::inspect).transpose()?;
    let checks = checks(&probed, args.on.as_deref().unwrap_or(&here));
    if let Some(path) = &args.json.json {
        let checks: Vec<_> = checks
            .iter()
            .map(|c| serde_json::json!({ "check": c.what, "state": c.state.word(), "detail": c.detail }))
            .collect();
        let value = serde_json::json!({ "schema": "flashlab-doctor", "schema_version": 1, "checks": checks, "devices": devices, "on": asked });
        output::write_or_print(path, &(serde_json::to_string_pretty(&value)? + "\n"), args.json.replace)?;
    }
    if args.json.json.as_deref() != Some(Path::new("-")) {
        output::print(&text(&checks, &devices, asked.as_ref()))?;
    }
    let broken = checks.iter().any(|c| c.state == State::Broken);
    Ok(if broken { Exit::CriterionNotMet } else { Exit::Done })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Note,
    Broken,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Good => "ok",
            State::Note => "note",
            State::Broken => "MISSING",
        }
    }
}

struct Check {
    what: &'static str,
    state: State,
    detail: String,
}

fn checks(probed: &Probe, path: &Path) -> Vec<Check> {
    let mut out = vec![Check { what: "kernel", state: State::Good, detail: probed.kernel.clone() }];
    match &probed.io_uring {
        Ok(ring) => {
            out.push(Check { what: "io_uring", state: State::Good, detail: ring.features.join(", ") });
            if !ring.refused.is_empty() {
                out.push(Check { what: "io_uring, not granted", state: State::Note, detail: ring.refused.join(", ") });
            }
            if !ring.missing.is_empty() {
                out.push(Check { what: "io_uring, missing", state: State::Note, detail: ring.missing.join(", ") });
            }
        }
        Err(gone) => {
            let detail = format!("{}; {}", gone.reason, gone.remedy);
            out.push(Check { what: "io_uring", state: State::Broken, detail });
        }
    }
    match &probed.direct {
        Some(Ok(direct)) => {
            let align = direct.offset_align.map(|b| format!(", alignment {b}")).unwrap_or_default();
            out.push(Check {
                what: "O_DIRECT",
                state: State::Good,
                detail: format!("{}{align}", direct.path.display()),
            });
        }
        Some(Err(gone)) => {
            let detail = format!("{}: {}; {}", path.display(), gone.reason, gone.remedy);
            out.push(Check { what: "O_DIRECT", state: State::Note, detail });
        }
        None => {}
    }
    out.push(memlock(probed.memlock));
    let root = rustix::process::geteuid().is_root();
    let detail = if root {
        "root: devices can be opened"
    } else {
        "not root: files only, unless a device's permissions allow more"
    };
    out.push(Check { what: "permissions", state: if root { State::Good } else { State::Note }, detail: detail.into() });
    out.push(governor());
    out
}

/// Registered buffers of a job count against the limit on locked memory where the kernel still
/// accounts them so.
fn memlock(limit: Option<Bytes>) -> Check {
    match limit {
        None => Check { what: "locked memory", state: State::Good, detail: "unlimited".into() },
        Some(limit) => Check {
            what: "locked memory",
            state: State::Note,
            detail: format!("limit {limit}; raise it with ulimit -l if buffers are refused"),
        },
    }
}

/// A CPU that changes its clock makes latencies wander.
fn governor() -> Check {
    let read = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let (state, detail) = match read.as_deref().map(str::trim) {
        Ok("performance") => (State::Good, "performance".to_owned()),
        Ok(other) => {
            (State::Note, format!("{other}; latencies wander less with cpupower frequency-set -g performance"))
        }
        Err(_) => (State::Note, "no frequency scaling to be seen (a virtual machine, or fixed)".to_owned()),
    };
    Check { what: "CPU governor", state, detail }
}

fn text(checks: &[Check], devices: &[Inspection], asked: Option<&Inspection>) -> String {
    let mut table = Table::new(vec![Column::text("check"), Column::text("state"), Column::text("detail").wrap()]);
    for c in checks {
        table.row([c.what, c.state.word(), &c.detail]);
    }
    let mut out = table.render(output::width(), output::color());
    out.push_str("\nBlock devices, and why each is protected:\n");
    let mut table =
        Table::new(vec![Column::text("device"), Column::number("size"), Column::text("protected because").wrap()]);
    for device in asked
        .iter()
        .copied()
        .filter(|i| !matches!(i.subject, Subject::BlockDevice(_) | Subject::LoopDevice(_)))
        .chain(devices)
    {
        let size = match &device.subject {
            Subject::File(f) => f.size.si(),
            Subject::LoopDevice(f) => f.size.si(),
            Subject::BlockDevice(f) => f.size.si(),
            _ => "-".to_owned(),
        };
        let reasons: Vec<&str> = device.protections.iter().map(|p| p.detail.as_str()).collect();
        let reasons = if reasons.is_empty() {
            match device.subject {
                Subject::File(_) => "nothing: flashlab created it".to_owned(),
                _ => "nothing: a run can overwrite it with its token".to_owned(),
            }
        } else {
            reasons.join("; ")
        };
        table.row([device.path.display().to_string(), size, reasons]);
    }
    out.push_str(&table.render(output::width(), output::color()));
    out
}
