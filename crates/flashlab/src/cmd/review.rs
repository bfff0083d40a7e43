//! `flashlab review`: modelled drives through the suites, on all cores, with report, CSV and store.

use super::threads;
use crate::args::Review;
use crate::catalog::{self, Catalog, CatalogDrive};
use crate::exit::{CliError, Exit};
use crate::output::{self, ReportFolder};
use crate::progress::{Bar, Bars};
use crate::session::{exit_of, show};
use crate::shared::SharedJournal;
use crate::stop::Stop;
use crate::{origin, resolve, stop};
use flashlab_lab::{Finished, PlanOptions, TargetFacts, plan, run_plan};
use flashlab_spec::{Suite, SuiteStep};
use flashlab_store::Store;
use flashlab_target::Target;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub(crate) fn run(args: &Review) -> anyhow::Result<Exit> {
    let catalog = Catalog::load(&args.profile)?;
    let drives = unique(&args.drives).into_iter().map(|id| catalog.drive(id)).collect::<Result<Vec<_>, _>>()?;
    let suites = unique(&args.suite).into_iter().map(catalog::suite).collect::<Result<Vec<_>, _>>()?;
    suites.iter().try_for_each(one_load_at_a_time)?;
    if let Some(path) = &args.json {
        output::check(path, args.replace)?;
    }
    let outputs = ReportFolder::outputs(&args.out);
    let mut outputs: Vec<(&str, &std::path::Path)> =
        outputs.iter().map(|file| ("the report's", file.as_path())).collect();
    outputs.extend(args.json.as_ref().map(|json| ("--json", json.as_path())));
    let store_path = args.out.join("flashlab.db");
    let mut inputs: Vec<(&str, &std::path::Path)> = vec![("the store", &store_path)];
    inputs.extend(args.profile.iter().map(|profile| ("a drive profile", profile.as_path())));
    inputs.extend(args.suite.iter().map(|suite| ("a suite", std::path::Path::new(suite))));
    output::keep_apart(&outputs, &inputs)?;
    let threads = threads(args.threads)?;
    let folder = ReportFolder::prepare(&args.out, args.replace)?;
    let mut store = Store::create_or_open(&folder.join("flashlab.db"))?;
    store.without_sync()?;
    let started = Instant::now();
    let tasks: Vec<(&CatalogDrive, &Suite)> =
        drives.iter().flat_map(|drive| suites.iter().map(move |suite| (*drive, suite))).collect();
    let review = Tasks { tasks: &tasks, seed: args.seed, store: Mutex::new(store), stop: stop::listen()? };
    let finished = review.run(threads.min(tasks.len()))?;
    let store = review.store.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let finished: Vec<Finished> = finished.into_iter().flatten().collect();
    let records = finished.iter().map(|finished| store.run(finished.run.0)).collect::<Result<Vec<_>, _>>()?;
    let exit = exit_of(&finished);
    let profiles: Vec<_> = drives.iter().map(|d| d.profile.clone()).collect();
    folder.write(&records, &profiles, "Review of modelled drives")?;
    show(&records, args.json.as_deref(), args.replace)?;
    eprintln!(
        "{} run(s) of {} modelled drive(s) in {:.1} s on {threads} thread(s); no hardware was measured",
        records.len(),
        drives.len(),
        started.elapsed().as_secs_f64()
    );
    folder.announce();
    Ok(exit)
}

/// Refuses before anything is made what the plan of each modelled drive would refuse.
fn one_load_at_a_time(suite: &Suite) -> Result<(), CliError> {
    if !suite.steps.iter().any(|step| matches!(step, SuiteStep::Concurrent(_))) {
        return Ok(());
    }
    let what = format!("suite {} has loads at the same time, and a modelled drive runs one load at a time", suite.id);
    Err(CliError::usage(what, "use one mixed load (randrw with rwmixread), or flashlab run on a file or loop device"))
}

fn unique(names: &[String]) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for name in names {
        if !out.contains(&name.as_str()) {
            out.push(name);
        }
    }
    out
}

/// A run each; every one begins with a purge, so that the order in which they are done is of no
/// consequence to their results.
struct Tasks<'a> {
    tasks: &'a [(&'a CatalogDrive, &'a Suite)],
    seed: u64,
    store: Mutex<Store>,
    stop: Stop,
}

impl Tasks<'_> {
    /// Does all of them on `threads` threads; what was done, in the order of the tasks.
    fn run(&self, threads: usize) -> anyhow::Result<Vec<Option<Finished>>> {
        let (next, bars) = (AtomicUsize::new(0), Bars::new(self.tasks.len()));
        let worker = || -> anyhow::Result<Vec<(usize, Finished)>> {
            let mut done = Vec::new();
            while !self.stop.load(Ordering::Relaxed) {
                // From the last on: the long suites stand there, and a long one begun late would hold
                // up the end.
                let taken = next.fetch_add(1, Ordering::Relaxed);
                let Some(index) = self.tasks.len().checked_sub(taken + 1) else { break };
                done.push((index, self.one(self.tasks[index], &bars)?));
                bars.one_done();
            }
            Ok(done)
        };
        let done = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let join =
                |w: std::thread::ScopedJoinHandle<'_, _>| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
            workers.into_iter().map(join).collect::<anyhow::Result<Vec<_>>>()
        });
        bars.clear();
        let mut out: Vec<Option<Finished>> = vec![None; self.tasks.len()];
        for (index, finished) in done?.into_iter().flatten() {
            out[index] = Some(finished);
        }
        Ok(out)
    }

    fn one(&self, (drive, suite): (&CatalogDrive, &Suite), bars: &Bars) -> anyhow::Result<Finished> {
        let mut target = resolve::model(drive, suite)?;
        let options = PlanOptions { seed: self.seed, ..PlanOptions::default() };
        let plan = plan(suite, &TargetFacts::of(&target), &options)?;
        let provenance = origin::provenance(target.origin(), self.seed, target.identity());
        let mut bar = Bar::new(&plan, self.stop.clone(), Some(bars));
        let finished = run_plan(&plan, &mut target, &mut SharedJournal::new(&self.store), &provenance, &mut bar);
        bar.clear();
        Ok(finished?)
    }
}
