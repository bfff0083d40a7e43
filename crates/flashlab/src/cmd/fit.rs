//! `flashlab fit`: the free parameters of a drive's model, from published or measured results.

use super::fidelity::place;
use super::{run_numbers, store_to_read, threads};
use crate::args::Fit as Args;
use crate::catalog::{self, Catalog};
use crate::exit::{CliError, Exit};
use crate::{output, stop};
use flashlab_analysis::PublishedPoint;
use flashlab_report::{Column, Table, number};
use flashlab_samples::MetricName;
use flashlab_spec::Suite;
use flashlab_study::fit::{Fit, FitQuestion, Residual, figures_of, fit, twin};
use flashlab_study::what_if::Watch;
use flashlab_units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A figure that is further off is named.
const OFF: f64 = 0.05;
/// How many of them at most.
const WORST: usize = 12;

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(&args.profile)?;
    let drive = catalog.drive(&args.drive)?;
    let outputs: Vec<(&str, &Path)> = [("--out", &args.out), ("--json", &args.json.json)]
        .into_iter()
        .filter_map(|(name, path)| Some((name, path.as_deref()?)))
        .collect();
    for (_, path) in &outputs {
        output::check(path, args.json.replace)?;
    }
    let begins = if args.from.is_empty() { published(drive)? } else { measured(args, drive)? };
    let (plan, hosts, stop) = (catalog::fit_plan()?, catalog::hosts()?, stop::listen()?);
    let threads = threads(args.threads)?;
    let question = FitQuestion {
        text: &begins.text,
        file: &drive.file,
        plan: &plan,
        like: &args.drive,
        hosts: &hosts,
        suites: begins.suites.iter().collect(),
        points: &begins.points,
        seed: args.seed,
        threads,
    };
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{bar:24} {pos} of at most {len} runs of the model  {elapsed} gone, at most {eta} left",
    );
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let done = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let fitted = fit(&question, &Watch { stop: &|| stop.load(Ordering::Relaxed), done: &done });
    bar.finish_and_clear();
    let fitted = fitted?;
    if let Some(path) = &args.json.json {
        output::write_or_print(path, &(serde_json::to_string_pretty(&fitted)? + "\n"), args.json.replace)?;
    }
    if let Some(path) = &args.out {
        output::write_or_print(path, &fitted.profile, args.json.replace)?;
    }
    if outputs.iter().all(|(_, path)| *path != Path::new("-")) {
        output::print(&text(&fitted, &begins.title))?;
    }
    if args.check && fitted.profile != drive.text {
        eprintln!("error: {}: the profile is not what the fit gives\n  write it anew with --out FILE", drive.file);
        return Ok(Exit::CriterionNotMet);
    }
    Ok(Exit::Done)
}

/// What a fit begins with.
struct Begin {
    text: String,
    points: Vec<PublishedPoint>,
    suites: Vec<Suite>,
    title: String,
}

fn published(drive: &catalog::CatalogDrive) -> anyhow::Result<Begin> {
    let (points, suites) = (catalog::published()?, catalog::suites()?);
    let title = format!("{}: fitted to what reviews published", drive.profile.id);
    Ok(Begin { text: drive.text.clone(), points, suites, title })
}

fn measured(args: &Args, drive: &catalog::CatalogDrive) -> anyhow::Result<Begin> {
    let store = store_to_read(args.store.store.as_ref())?;
    let ids = run_numbers(&store, &args.from)?;
    let records = ids.iter().map(|id| store.run(*id)).collect::<Result<Vec<_>, _>>()?;
    let target = &records[0].provenance.target;
    if let Some(other) = records.iter().find(|r| r.provenance.target.id != target.id) {
        let what = format!("runs of {} and {}", target.id, other.provenance.target.id);
        return Err(CliError::usage(what, "a twin is of one drive: name runs of one").into());
    }
    let id = args.id.clone().unwrap_or_else(|| format!("{}-twin", target.id));
    let of = records.iter().map(|r| r.id.to_string()).collect::<Vec<_>>().join(", ");
    let status = format!("twin of {}, fitted to run {of}, from the profile {}", target.id, drive.profile.id);
    let text = twin(&drive.text, &id, &status, Bytes(target.capacity.0))?;
    // A modelled drive runs one load at a time.
    let alone = records.iter().flat_map(|r| r.points().filter(|p| !r.suite.runs_beside_others(&p.at.workload)));
    let points = figures_of(alone, &id);
    let suites = records.iter().map(|r| r.suite.clone()).collect();
    Ok(Begin { text, points, suites, title: format!("{id}: {status}") })
}

fn text(fit: &Fit, title: &str) -> String {
    let mut out = format!("{title}: MODELLED, seed {}, {} runs of the model\n", fit.seed, fit.runs);
    for block in &fit.blocks {
        _ = writeln!(out, "\n{}: {} figures", block.block, block.residuals.len());
        let mut table = Table::new(vec![
            Column::text("parameter"),
            Column::number("value"),
            Column::number("from"),
            Column::number("to"),
            Column::text("pinned").wrap(),
        ]);
        for p in &block.parameters {
            let pinned = if p.at_bound { format!("{}; at a bound of the plan", p.pinned) } else { p.pinned.clone() };
            table.row([p.key.clone(), p.value.clone(), p.low.clone(), p.high.clone(), pinned]);
        }
        out.push_str(&table.render(output::width(), output::color()));
        out.push_str(&residuals(&block.residuals));
        block.remarks.iter().for_each(|remark| _ = writeln!(out, "  {remark}"));
    }
    out.push_str(&worst(fit));
    out
}

/// Errors by workload.
fn residuals(residuals: &[Residual]) -> String {
    let mut table = Table::new(vec![
        Column::text("workload"),
        Column::text("suite"),
        Column::number("figures"),
        Column::number("median"),
        Column::number("worst"),
    ]);
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for r in residuals {
        let key = (r.workload.as_str(), r.suite.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let of = residuals.iter().filter(|o| (o.workload.as_str(), o.suite.as_str()) == key);
        let mut errors: Vec<f64> = of.map(|o| o.error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let percent = |x: f64| format!("{:.1} %", x * 100.0);
        let median = (errors[(errors.len() - 1) / 2] + errors[errors.len() / 2]) / 2.0;
        let count = errors.len().to_string();
        table.row([r.workload.clone(), r.suite.clone(), count, percent(median), percent(errors[errors.len() - 1])]);
    }
    table.render(output::width(), output::color())
}

/// Figures on which the model is off.
fn worst(fit: &Fit) -> String {
    let mut off: Vec<&Residual> =
        fit.blocks.iter().flat_map(|b| &b.residuals).filter(|r| r.error.abs() > OFF).collect();
    off.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
    if off.is_empty() {
        return format!("\nNo figure is more than {:.0} % off.\n", OFF * 100.0);
    }
    let more = off.len().saturating_sub(WORST);
    let mut out = format!("\n{} figures are more than {:.0} % off:\n", off.len(), OFF * 100.0);
    let mut table = Table::new(vec![
        Column::text("workload"),
        Column::text("at"),
        Column::text("figure"),
        Column::number("given"),
        Column::number("modelled"),
        Column::number("error"),
    ]);
    for r in off.into_iter().take(WORST) {
        let shown = |value: f64| {
            let metric = MetricName::ALL.into_iter().find(|m| m.word() == r.metric);
            metric.map_or_else(String::new, |m| number(m, value))
        };
        table.row([
            r.workload.clone(),
            place(r.iodepth, r.numjobs, r.threads, r.pass),
            r.metric.to_owned(),
            shown(r.figure),
            shown(r.modelled),
            format!("{:+.1} %", r.error * 100.0),
        ]);
    }
    out.push_str(&table.render(output::width(), output::color()));
    if more > 0 {
        _ = writeln!(out, "and {more} more; --json has all");
    }
    out
}
