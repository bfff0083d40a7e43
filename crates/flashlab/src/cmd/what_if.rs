//! `flashlab what-if`: what modelled drives would do under a load.

use super::load;
use super::threads;
use crate::args::WhatIf;
use crate::catalog::{self, Catalog};
use crate::exit::{CliError, Exit};
use crate::trace;
use crate::{output, stop};
use flashlab_report::{Column, Table, number};
use flashlab_samples::MetricName;
use flashlab_spec::{SpecError, SweepStep};
use flashlab_study::what_if::{self, Criterion, DriveAnswer, Figures, Load, Question, Watch};
use flashlab_units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub(crate) fn run(args: &WhatIf) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(&args.profile)?;
    let mut drives = Vec::new();
    for id in &args.drives {
        let profile = &catalog.drive(id)?.profile;
        if !drives.contains(&profile) {
            drives.push(profile);
        }
    }
    if let Some(path) = &args.json.json {
        output::check(path, args.json.replace)?;
        let mut inputs: Vec<(&str, &Path)> = args.profile.iter().map(|p| ("a drive profile", p.as_path())).collect();
        inputs.extend(args.from.files().map(|file| ("the load", file)));
        output::keep_apart(&[("--json", path)], &inputs)?;
    }
    let threads = threads(args.threads)?;
    let (load, traces) = asked(args)?;
    if let Some(path) = &args.json.json {
        let inputs: Vec<_> = traces.iter().map(|file| (load::A_TRACE, file.as_path())).collect();
        output::keep_apart(&[("--json", path)], &inputs)?;
    }
    let (hosts, stop) = (catalog::hosts()?, stop::listen()?);
    let question = Question { drives, hosts: &hosts, load: &load, daily: args.daily, seed: args.seed, threads };
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:24} {pos} of {len} modelled  {elapsed} gone, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let done = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let watch = Watch { stop: &|| stop.load(Ordering::Relaxed), done: &done };
    let answer = what_if::what_if(&question, &watch);
    bar.finish_and_clear();
    let answer = answer?;
    if let Some(path) = &args.json.json {
        output::write_or_print(path, &(serde_json::to_string_pretty(&answer)? + "\n"), args.json.replace)?;
    }
    if args.json.json.as_deref() != Some(Path::new("-")) {
        output::print(&text(&answer))?;
    }
    Ok(Exit::Done)
}

/// The load that was asked for, with the traces that a fio file names.
fn asked(args: &WhatIf) -> anyhow::Result<(Load, Vec<PathBuf>)> {
    if let Some(file) = &args.from.fio {
        args.from.trace.refuse_without_one()?;
        return fio(file, args.from.section.as_deref());
    }
    let load = load::one(&args.from, &args.any, &args.keys)?;
    let name = args.any.workload.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let title = name + &load::words(&load);
    let load = match (load.replay, load.iodepth.as_slice()) {
        (Some(replay), [iodepth]) => Load::replay(title, replay, load.time_percent, *iodepth),
        (replay, _) => Load::of(SweepStep { size: args.size.or(load.size), replay, ..load })?,
    };
    Ok((load, Vec::new()))
}

/// A section of a fio job file; what changes nothing here, and what may not be meant, goes to standard error.
fn fio(file: &Path, section: Option<&str>) -> anyhow::Result<(Load, Vec<PathBuf>)> {
    let name = file.display().to_string();
    let jobs = flashlab_interop::read_jobs(&catalog::read(file)?, &name, &|key| std::env::var(key).ok())?;
    let traces = trace::named(&jobs);
    let names = || jobs.iter().map(|j| j.name.as_str());
    let job = match (section, jobs.as_slice()) {
        (None, [only]) => only,
        (None, _) => {
            let what = format!("{name} has {} job sections: {}", jobs.len(), names().collect::<Vec<_>>().join(", "));
            return Err(CliError::usage(what, "choose one with --section NAME").into());
        }
        (Some(wanted), _) => {
            jobs.iter().find(|j| j.name == wanted).ok_or_else(|| SpecError::unknown("section", wanted, names()))?
        }
    };
    for ignored in &job.ignored {
        eprintln!("{name}:{}: {} changes nothing here: {}", ignored.line, ignored.option, ignored.reason);
    }
    for note in &job.notes {
        eprintln!("{name}:{}: {}", note.line, note.text);
    }
    let title = format!(
        "{} of {name}: {} {}, iodepth {}, numjobs {}",
        job.name,
        job.rw.word(),
        job.bs_max(),
        job.iodepth,
        job.numjobs
    );
    let mut job = [job.clone()];
    trace::attach(&mut job)?;
    let [job] = job;
    if let Some((replay, time_percent)) = job.list() {
        let title = format!("{title}, replaying {}", replay.source);
        return Ok((Load::replay(title, replay.clone(), time_percent, job.iodepth), traces));
    }
    Ok((Load::new(title, move |capacity| job.on(capacity)), traces))
}

fn text(answer: &what_if::WhatIf) -> String {
    let mut out = format!("{}: MODELLED, seed {}; no hardware was measured\n", answer.load, answer.seed);
    answer.drives.iter().for_each(|drive| out.push_str(&one(drive)));
    if !answer.ranking.is_empty() {
        out.push_str("\nThe drives in order, under the load as asked once it is steady:\n");
        let mut table = Table::new(vec![Column::text("by"), Column::text("best first").wrap()]);
        answer.ranking.iter().for_each(|c| table.row([c.by.clone(), places(c)]));
        out.push_str(&table.render(output::width(), output::color()));
    }
    out
}

fn one(drive: &DriveAnswer) -> String {
    let capacity = Bytes(drive.capacity_bytes);
    let unit = Bytes(drive.indirection_unit_bytes);
    let mut out =
        format!("\n{}: {}, indirection unit {unit}; {}\n", drive.drive_id, capacity.si(), drive.profile_status);
    let mut table = Table::new(vec![
        Column::text("variant"),
        Column::text("state"),
        Column::number("throughput"),
        Column::number("IOPS"),
        Column::number("mean"),
        Column::number("p50"),
        Column::number("p99"),
        Column::number("p99.9"),
        Column::number("write amp."),
        Column::number("pool lasts"),
    ]);
    for variant in &drive.variants {
        let Some(outcome) = &variant.outcome else { continue };
        let pool = outcome.cliff.seconds.map_or("–".to_owned(), |s| number(MetricName::Seconds, s));
        rows(&mut table, &variant.variant, "fresh", &outcome.fresh, &pool);
        if let Some(steady) = &outcome.steady {
            let state = if outcome.steady_reached == Some(true) { "steady" } else { "not steady" };
            rows(&mut table, "", state, steady, "");
        }
    }
    out.push_str(&table.render(output::width(), output::color()));
    for variant in &drive.variants {
        let left = if variant.outcome.is_none() { "left out: " } else { "" };
        _ = writeln!(out, "  {}: {left}{}", variant.variant, variant.what);
    }
    if let Some(base) = drive.base() {
        _ = writeln!(out, "  pool as asked: {}", base.cliff.why);
        let remarks = base.fresh.remarks.iter().map(|r| ("fresh", r));
        let steady = base.steady.iter().flat_map(|f| &f.remarks).map(|r| ("steady", r));
        remarks.chain(steady).for_each(|(state, remark)| _ = writeln!(out, "  {state}: {remark}"));
    }
    let years = drive.life.years.map_or("not known".to_owned(), |y| format!("{y:.1} years"));
    _ = writeln!(out, "  life: {years}; {}", drive.life.source);
    out
}

/// A row a direction, the first with what holds for both.
fn rows(table: &mut Table, variant: &str, state: &str, f: &Figures, pool: &str) {
    let directions = [("read", f.read_latency), ("write", f.write_latency)];
    let both = directions.iter().all(|(_, l)| l.is_some());
    let mut first = true;
    for (name, latency) in directions.into_iter().filter_map(|(n, l)| Some((n, l?))) {
        let state = if both { format!("{state}, {name}s") } else { state.to_owned() };
        let at = |ns: Option<u64>| ns.map_or("–".to_owned(), |ns| number(MetricName::LatMean, ns as f64));
        let once = |text: String| if first { text } else { String::new() };
        table.row([
            once(variant.to_owned()),
            state,
            once(number(MetricName::Bandwidth, f.bytes_per_s)),
            once(number(MetricName::Iops, f.iops)),
            number(MetricName::LatMean, latency.mean_ns),
            at(latency.p50_ns),
            at(latency.p99_ns),
            at(latency.p999_ns),
            once(f.write_amplification.map_or("–".to_owned(), |w| number(MetricName::WriteAmplification, w))),
            once(pool.to_owned()),
        ]);
        first = false;
    }
}

fn places(criterion: &Criterion) -> String {
    let shown = |value: f64| match criterion.unit {
        "B/s" => number(MetricName::Bandwidth, value),
        "ns" => number(MetricName::LatMean, value),
        unit => format!("{value:.1} {unit}"),
    };
    let mut parts: Vec<String> =
        criterion.places.iter().map(|p| format!("{} {}", p.drive_id, shown(p.value))).collect();
    if !criterion.unknown.is_empty() {
        parts.push(format!("not known: {}", criterion.unknown.join(", ")));
    }
    parts.join("; ")
}
