//! `flashlab plan`: every step with the bytes it writes and the time it takes. Touches nothing.

use super::execute::{Request, show_plans};
use super::run::options;
use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::resolve::Named;
use crate::{catalog, output};
use flashlab_guard::{Inspection, Subject};
use flashlab_lab::{Estimate, Plan};
use flashlab_report::{Column, Table};
use flashlab_samples::Origin;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    let what = &args.what;
    let suite = catalog::suite(&what.suite)?;
    let inputs: Vec<_> = catalog::file_of_suite(&what.suite).map(|file| ("the suite", file)).into_iter().collect();
    let request =
        Request { on: &what.on, profiles: &what.profile, suite: &|_| suite.clone(), options: options(what), inputs };
    show(&request, args.json.json.as_deref(), args.json.replace, |plans| command(args, plans))
}

/// Shows the plans of a request, as JSON too where that was asked for; `command` runs them.
pub(super) fn show(
    request: &Request<'_>,
    path: Option<&Path>,
    replace: bool,
    command: impl Fn(&[(Named, Plan)]) -> String,
) -> anyhow::Result<Exit> {
    if let Some(path) = path {
        output::check(path, replace)?;
        output::keep_apart(&[("--json", path)], &request.inputs())?;
    }
    let plans = request.plans()?;
    if let Some(path) = path {
        let each: Vec<_> = plans.iter().map(|(named, plan)| json(plan, named.inspection())).collect();
        // One plan, or a list of several.
        let value = <[serde_json::Value; 1]>::try_from(each).map_or_else(serde_json::Value::Array, |[only]| only);
        output::write_or_print(path, &(serde_json::to_string_pretty(&value)? + "\n"), replace)?;
    }
    if path != Some(Path::new("-")) {
        show_plans(&plans, &command(&plans))?;
    }
    Ok(Exit::Done)
}

/// The plan for people; `command` is what runs it, `None` where it stands below another plan.
pub(crate) fn text(plan: &Plan, inspection: Option<&Inspection>, command: Option<&str>) -> String {
    let mut out = format!("{}: {}\n", plan.suite.id, plan.suite.title);
    match inspection {
        Some(Inspection { path, subject: Subject::Missing { .. }, .. }) => {
            _ = writeln!(out, "on {}, a file that would be created", path.display());
        }
        Some(i) => _ = writeln!(out, "on {}", i.identity_text()),
        None => _ = writeln!(out, "on {}, a MODELLED drive of {}", plan.target.id, plan.target.capacity.si()),
    }
    _ = writeln!(
        out,
        "uses {} from byte {}; seed {}\n",
        if plan.region.length == plan.target.capacity { "all of it".into() } else { plan.region.length.to_string() },
        plan.region.offset.0,
        plan.seed
    );
    let mut table = Table::new(vec![
        Column::number("step"),
        Column::text("what").wrap(),
        Column::number("writes"),
        Column::number("time"),
    ]);
    for (i, step) in plan.steps.iter().enumerate() {
        table.row([(i + 1).to_string(), step.title.clone(), writes(&step.estimate), time(&step.estimate)]);
    }
    let total = plan.total();
    let in_all = if total.writes_exact { "in all, at most" } else { "in all, about" };
    table.row(["".to_owned(), in_all.to_owned(), writes(&total), time(&total)]);
    out.push_str(&table.render(output::width(), output::color()));
    let ((write, why_write), (read, why_read)) = (plan.target.write_rate, plan.target.read_rate);
    let grounds = if why_write == why_read { format!("both {why_write}") } else { format!("{why_write}; {why_read}") };
    _ = writeln!(out, "\n~ estimated at {write} for writes and {read} for reads ({grounds}).");
    if plan.target.origin == Origin::Measured && !total.writes_exact {
        out.push_str("A faster drive writes more in the same time.\n");
    }
    if plan.target.origin == Origin::Modelled {
        out.push_str("Times are those of the drive; the model computes them in seconds.\n");
    }
    if let Some(inspection) = inspection {
        out.push_str(&consent(inspection, plan, command));
    }
    out.push_str("Nothing was touched.\n");
    out
}

/// The command that runs all of them.
fn command(args: &PlanArgs, plans: &[(Named, Plan)]) -> String {
    let name = |(on, (named, _)): (&String, &(Named, Plan))| {
        named.inspection().map_or_else(|| on.clone(), |i| i.path.display().to_string())
    };
    let on = args.what.on.iter().zip(plans).map(name).collect::<Vec<_>>().join(",");
    let mut command = format!("flashlab run {} --on {on}", args.what.suite);
    if let Some(size) = args.what.size {
        _ = write!(command, " --size {}", size.exact());
    }
    if let Some(runtime) = args.what.runtime {
        _ = write!(command, " --runtime {}", runtime.exact());
    }
    if args.what.seed != crate::args::SEED {
        _ = write!(command, " --seed {}", args.what.seed);
    }
    command
}

/// What stands between this plan and a run.
fn consent(inspection: &Inspection, plan: &Plan, command: Option<&str>) -> String {
    let mut out = String::new();
    let to_run = |gap: &str| command.map_or(String::new(), |command| format!(" To run it:{gap}{command}"));
    if !plan.writes() {
        return format!("It writes nothing.{}\n", to_run(" "));
    }
    let hard: Vec<_> = inspection.protections.iter().filter(|p| p.overridable_by.is_none()).collect();
    if !hard.is_empty() {
        out.push_str("A run would be REFUSED:\n");
        for p in hard {
            _ = writeln!(out, "  - {}\n    {}", p.detail, p.remedy());
        }
        return out;
    }
    for p in &inspection.protections {
        _ = writeln!(out, "Protected: {}", p.detail);
    }
    match (&inspection.subject, inspection.token()) {
        (Subject::Missing { .. }, _) => _ = writeln!(out, "It creates the file.{}", to_run(" ")),
        (_, Some(_)) => {
            _ = writeln!(out, "It DESTROYS all data on {}.{}", inspection.identity_text(), to_run("\n  "));
        }
        (_, None) => _ = writeln!(out, "It overwrites the file.{}", to_run(" ")),
    }
    out
}

fn writes(e: &Estimate) -> String {
    if e.writes.0 == 0 { "-".into() } else { format!("{}{}", if e.writes_exact { "" } else { "~" }, e.writes.si()) }
}

fn time(e: &Estimate) -> String {
    if e.time.0 == 0 { "-".into() } else { format!("{}{}", if e.time_exact { "" } else { "~" }, e.time) }
}

fn json(plan: &Plan, inspection: Option<&Inspection>) -> serde_json::Value {
    let estimate = |e: &Estimate| {
        serde_json::json!({
            "writes_bytes": e.writes.0, "writes_exact": e.writes_exact,
            "time_ns": e.time.0, "time_exact": e.time_exact,
        })
    };
    let steps: Vec<_> =
        plan.steps.iter().map(|s| serde_json::json!({ "title": s.title, "estimate": estimate(&s.estimate) })).collect();
    serde_json::json!({
        "schema": "flashlab-plan", "schema_version": 1,
        "suite": plan.suite.id, "target": plan.target.id, "origin": plan.target.origin, "seed": plan.seed,
        "region_offset_bytes": plan.region.offset.0, "region_length_bytes": plan.region.length.0,
        "steps": steps, "total": estimate(&plan.total()),
        "destroy_data_token": inspection.and_then(Inspection::token),
        "protections": inspection.map(|i| &i.protections),
    })
}
