//! `flashlab hosts`: the hosts that load modelled drives, a profile a load generator.

use crate::args::{Hosts, HostsAction};
use crate::exit::Exit;
use crate::{catalog, output};
use flashlab_report::{Column, Table};
use flashlab_spec::{HostProfile, SpecError};
use std::path::Path;

pub(crate) fn run(args: &Hosts) -> anyhow::Result<Exit> {
    let hosts = catalog::hosts()?;
    let all = hosts.all();
    let chosen: Vec<&HostProfile> = match &args.action {
        Some(HostsAction::Show { generator }) => {
            let found = all.iter().find(|host| host.generator.word() == generator);
            let unknown = || SpecError::unknown("host", generator, all.iter().map(|host| host.generator.word()));
            vec![found.ok_or_else(unknown)?]
        }
        None => all.iter().collect(),
    };
    if let Some(path) = &args.json.json {
        output::write_or_print(path, &(serde_json::to_string_pretty(&chosen)? + "\n"), args.json.replace)?;
    }
    if args.json.json.as_deref() == Some(Path::new("-")) {
        return Ok(Exit::Done);
    }
    let text = match &args.action {
        Some(_) => chosen.iter().map(|host| show(host)).collect(),
        None => list(&chosen),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn list(hosts: &[&HostProfile]) -> String {
    let mut table = Table::new(vec![Column::text("host"), Column::text("what it stands for").wrap()]);
    for host in hosts {
        table.row([host.generator.word(), &host.title]);
    }
    table.render(output::width(), output::color())
}

fn show(host: &HostProfile) -> String {
    let parameters = super::drives::parameters(host.parameters());
    format!("{}: {}\n\n{parameters}", host.generator.word(), host.title)
}
