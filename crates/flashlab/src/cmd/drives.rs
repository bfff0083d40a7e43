//! `flashlab drives`: the drives that can be modelled.

use crate::args::{Drives, DrivesAction};
use crate::catalog::{Catalog, CatalogDrive};
use crate::exit::Exit;
use crate::output;
use flashlab_report::{Column, Table};
use flashlab_spec::{DriveProfile, Parameter, Rated};
use flashlab_units::Iops;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(args: &Drives) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(&args.profile)?;
    let chosen: Vec<&CatalogDrive> = match &args.action {
        Some(DrivesAction::Show { id }) => vec![catalog.drive(id)?],
        None => catalog.drives.iter().collect(),
    };
    if let Some(path) = &args.json.json {
        let profiles: Vec<&DriveProfile> = chosen.iter().map(|d| &d.profile).collect();
        output::write_or_print(path, &(serde_json::to_string_pretty(&profiles)? + "\n"), args.json.replace)?;
    }
    if args.json.json.as_deref() == Some(Path::new("-")) {
        return Ok(Exit::Done);
    }
    let text = match &args.action {
        Some(_) => chosen.iter().map(|d| show(d)).collect(),
        None => list(&chosen),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn list(drives: &[&CatalogDrive]) -> String {
    let mut table = Table::new(vec![
        Column::text("drive"),
        Column::text("vendor and model").wrap(),
        Column::text("flash"),
        Column::number("capacity"),
        Column::text("status").wrap().drop_rank(1),
    ]);
    for drive in drives {
        let p = &drive.profile;
        table.row([
            p.id.clone(),
            format!("{} {}", p.vendor, p.model),
            p.nand_type.clone(),
            p.parameters.capacity.user.value.si(),
            p.status.clone(),
        ]);
    }
    table.render(output::width(), output::color())
}

fn show(drive: &CatalogDrive) -> String {
    let p = &drive.profile;
    let mut out = format!("{}: {} {}, {}\n{}\n", p.id, p.vendor, p.model, p.nand_type, p.status);
    _ = writeln!(out, "profile sha256 {}\n\nData sheet ({})", drive.sha256, p.rated.source);
    let mut sheet = Table::new(vec![Column::text("rated"), Column::text("value").wrap()]);
    for (name, value) in rated_rows(&p.rated) {
        sheet.row([name.to_owned(), value]);
    }
    out.push_str(&sheet.render(output::width(), output::color()));
    _ = writeln!(out, "\nModel parameters: effective spare {:.2} % of the usable flash", p.spare_share() * 100.0);
    out.push_str(&parameters(p.parameter_rows()));
    out
}

/// Parameters with their source, where they act, and why they have their value.
pub(super) fn parameters(rows: Vec<Parameter>) -> String {
    let mut table = Table::new(vec![
        Column::text("parameter"),
        Column::number("value"),
        Column::text("source"),
        Column::text("acts on").wrap(),
        Column::text("why").wrap(),
    ]);
    for row in rows {
        table.row([row.key, row.value, row.source.word().to_owned(), row.acts, row.note]);
    }
    table.render(output::width(), output::color())
}

/// The lines of a data sheet; what the sheet does not say is left out.
fn rated_rows(r: &Rated) -> Vec<(&'static str, String)> {
    let at = |iops: Option<u64>, block: Option<flashlab_units::Bytes>| {
        iops.map(|i| format!("{}{}", Iops(i as f64), block.map(|b| format!(" at {b}")).unwrap_or_default()))
    };
    let watts = |w: Option<f64>| w.map(|w| format!("{w} W"));
    let rows = [
        ("sequential read", r.sequential_read.map(|x| x.to_string())),
        ("sequential write", r.sequential_write.map(|x| x.to_string())),
        ("random read", at(r.random_read_iops, r.random_read_block)),
        ("random write", at(r.random_write_iops, r.random_write_block)),
        ("random read latency", r.latency_random_read.map(|x| x.to_string())),
        ("random write latency", r.latency_random_write.map(|x| x.to_string())),
        ("sequential read latency", r.latency_sequential_read.map(|x| x.to_string())),
        ("sequential write latency", r.latency_sequential_write.map(|x| x.to_string())),
        ("power, highest", watts(r.power_max_w)),
        ("power, reading", watts(r.power_read_w)),
        ("power, writing", watts(r.power_write_w)),
        ("power, idle", watts(r.power_idle_w)),
        (
            "drive writes a day",
            r.dwpd.map(|d| format!("{d}{}", r.dwpd_years.map(|y| format!(" over {y} years")).unwrap_or_default())),
        ),
        ("petabytes written", r.pbw.map(|p| format!("{p} PB"))),
        ("program and erase cycles", r.pe_cycles.map(|n| n.to_string())),
        ("mean time between failures", r.mtbf_hours.map(|h| format!("{h} h"))),
        ("warranty", r.warranty_years.map(|y| format!("{y} years"))),
        (
            "interface",
            r.pcie_generation
                .map(|g| format!("PCIe gen {g}{}", r.pcie_lanes.map(|l| format!(" x{l}")).unwrap_or_default())),
        ),
        ("NVMe", r.nvme_version.clone()),
        ("controller", r.controller.clone()),
        ("form factors", (!r.form_factors.is_empty()).then(|| r.form_factors.join(", "))),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
