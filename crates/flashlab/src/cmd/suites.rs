//! `flashlab suites`: the procedures that are built in.

use crate::args::{Suites, SuitesAction};
use crate::exit::Exit;
use crate::{catalog, output};
use flashlab_report::{Column, Table};

pub(crate) fn run(args: &Suites) -> anyhow::Result<Exit> {
    if let Some(SuitesAction::Show { id }) = &args.action {
        output::print(catalog::suite_text(id)?)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(vec![Column::text("suite"), Column::text("what it is").wrap(), Column::number("steps")]);
    for suite in catalog::suites()? {
        table.row([suite.id, suite.title, suite.steps.len().to_string()]);
    }
    output::print(&table.render(output::width(), output::color()))?;
    Ok(Exit::Done)
}
