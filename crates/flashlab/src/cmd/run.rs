//! `flashlab run`: a suite on a file or device, on several at once, or on a modelled drive.

use super::execute::{Means, Request};
use crate::args::{Run, What};
use crate::catalog;
use crate::exit::Exit;
use flashlab_lab::PlanOptions;

pub(crate) fn run(args: &Run) -> anyhow::Result<Exit> {
    let what = &args.what;
    let suite = catalog::suite(&what.suite)?;
    let mut inputs: Vec<_> = catalog::file_of_suite(&what.suite).map(|file| ("the suite", file)).into_iter().collect();
    inputs.extend(args.real.ledger.as_ref().map(|ledger| ("the ledger", ledger.as_path())));
    let request =
        Request { on: &what.on, profiles: &what.profile, suite: &|_| suite.clone(), options: options(what), inputs };
    request.execute(&Means { real: &args.real, keep: &args.keep, title: format!("{} of", suite.id) })
}

/// What the user changes in the suite.
pub(crate) fn options(what: &What) -> PlanOptions {
    PlanOptions { seed: what.seed, size: what.size, runtime: what.runtime, small: false }
}
