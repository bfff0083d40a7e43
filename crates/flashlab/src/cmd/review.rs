//! `flashlab review`: modelled drives through the whole procedure, with report, CSV and store.

use super::run::{execute, exit_of, show};
use crate::args::Review;
use crate::catalog::{self, Catalog};
use crate::exit::Exit;
use crate::output::{self, ReportFolder};
use crate::stop;
use flashlab_drive::ModelledDrive;
use flashlab_lab::{PlanOptions, TargetFacts, plan};
use flashlab_store::Store;
use std::time::Instant;

const SUITE: &str = "review";

pub(crate) fn run(args: &Review) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(&args.profile)?;
    let drives = args.drives.iter().map(|id| catalog.drive(id)).collect::<Result<Vec<_>, _>>()?;
    let suite = catalog::suite(SUITE)?;
    let host = catalog::fio_host()?;
    let options = PlanOptions { seed: args.seed, ..PlanOptions::default() };
    if let Some(path) = &args.json {
        output::check(path, args.replace)?;
    }
    let folder = ReportFolder::prepare(&args.out, args.replace)?;
    let mut store = Store::create_or_open(&folder.join("flashlab.db"))?;
    let stop = stop::listen()?;
    let started = Instant::now();
    let (mut records, mut profiles, mut exit) = (Vec::new(), Vec::new(), Exit::Done);
    for drive in drives {
        let mut target = ModelledDrive::new(drive.profile.clone(), host.clone(), Some(drive.sha256.clone()));
        let plan = plan(&suite, &TargetFacts::of(&target), &options)?;
        let finished = execute(&plan, &mut target, &mut store, stop.clone())?;
        records.push(store.run(finished.run.0)?);
        profiles.push(drive.profile.clone());
        // The gravest end of all drives; the codes rise with gravity.
        exit = exit.max(exit_of(&finished));
        if exit == Exit::Interrupted {
            break;
        }
    }
    folder.write(&records, &profiles, "Review of modelled drives")?;
    show(&records, args.json.as_deref(), args.replace)?;
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{} modelled drive(s) reviewed in {seconds:.1} s; no hardware was measured", records.len());
    folder.announce();
    Ok(exit)
}
