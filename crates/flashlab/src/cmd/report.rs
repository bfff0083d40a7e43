//! `flashlab report`: stored runs as one HTML file, with CSV and manifest beside it.

use super::{run_numbers, store_to_read};
use crate::args::Report;
use crate::catalog::Catalog;
use crate::exit::Exit;
use crate::output::ReportFolder;
use crate::resolve::profile_of;

/// More runs than this are counted in the title rather than named.
const NAMES_MAX: usize = 3;

pub(crate) fn run(args: &Report) -> anyhow::Result<Exit> {
    let store = store_to_read(args.store.store.as_ref())?;
    let mut records = Vec::new();
    for id in run_numbers(&store, &args.runs)? {
        records.push(store.run(id)?);
    }
    let folder = ReportFolder::prepare(&args.out, args.replace)?;
    let catalog = Catalog::load(&args.profile)?;
    let mut profiles = Vec::new();
    for record in &records {
        let target = &record.provenance.target;
        // Only the very profile that was run is shown beside its results.
        let known = profile_of(&catalog, &target.id, target.profile_sha256.as_deref());
        profiles.extend(known.filter(|p| !profiles.contains(p)));
    }
    let names: Vec<String> = records.iter().map(|r| format!("{} of {}", r.suite.id, r.provenance.target.id)).collect();
    let title = if names.len() > NAMES_MAX { format!("{} runs", names.len()) } else { names.join(", ") };
    folder.write(&records, &profiles, &title)?;
    folder.announce();
    Ok(Exit::Done)
}
