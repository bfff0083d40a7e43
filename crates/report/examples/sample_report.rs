//! Writes a report of invented runs, to look at the page without a drive:
//! `cargo run -p flashlab-report --example sample_report -- FOLDER`.
#![allow(clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use flashlab_report::{html, results_csv, results_json, terminal_table};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or("give the folder to write to")?.into();
    std::fs::create_dir_all(&folder)?;
    let review = common::modelled_review(&[1, 2, 4, 8, 16, 32], &[1, 2, 4, 8]);
    let quick = common::measured_quick(30, 9);
    let profiles = [common::profile()];
    let published = common::published();
    std::fs::write(
        folder.join("review.html"),
        html(std::slice::from_ref(&review), &profiles, &published, "Review of one modelled drive")?,
    )?;
    std::fs::write(
        folder.join("quick.html"),
        html(std::slice::from_ref(&quick), &[], &[], "Quick look at scratch.img")?,
    )?;
    // Several runs on one page: the same drive three times under other names.
    let several: Vec<_> = ["sample-122", "sample-61", "another-245"]
        .into_iter()
        .map(|id| {
            let mut run = review.clone();
            run.provenance.target.id = id.into();
            run.steps.iter_mut().flat_map(|s| &mut s.points).for_each(|p| p.at.drive_id = id.into());
            run
        })
        .collect();
    std::fs::write(folder.join("several.html"), html(&several, &profiles, &published, "Three drives")?)?;
    let both = [review, quick];
    std::fs::write(folder.join("results.csv"), results_csv(&both)?)?;
    std::fs::write(folder.join("results.json"), results_json(&both)?)?;
    for width in [72, 100, 160] {
        println!("{}", terminal_table(&both, &[], width, false));
    }
    Ok(())
}
