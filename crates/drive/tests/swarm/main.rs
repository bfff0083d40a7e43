//! The modelled drive under what nobody thought of: from a seed a drive, a host and a sequence of jobs are
//! drawn, and after each job everything is checked that must hold for all of them.
//!
//! `cargo xtask swarm [SEEDS]` runs many seeds in release; `cargo xtask swarm --seed N` replays one and
//! prints what it does.

#![expect(clippy::print_stdout, reason = "the long run shows how far it is, a replay what it does")]

mod checks;
mod draw;
mod jobs;
mod oracle;

use checks::Ran;
use draw::Draw;
use flashlab_drive::ModelledDrive;
use flashlab_samples::JobResult;
use flashlab_spec::{HostProfile, Job};
use flashlab_target::{Observer, Progress, Target, TargetError};
use jobs::Step;
use oracle::Oracle;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// In every run of the tests.
const SMOKE_SEEDS: u64 = 40;
/// The observer looks every 65,536 events: a job that comes to the bound on its I/Os, 2^24, may have had a
/// dozen for each.
const LOOKS_MAX: u64 = 3_072;

/// Stops a job where it is told to, and one that does not end.
#[derive(Default)]
struct Watch {
    stop_at: Option<u64>,
    looks: u64,
    faults: Vec<String>,
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) {
        self.looks += 1;
        if !progress.share.is_none_or(|share| (0.0..=1.0).contains(&share)) {
            self.faults.push(format!("progress {:?}", progress.share));
        }
    }
    fn stop_requested(&self) -> bool {
        self.looks + 1 >= self.stop_at.unwrap_or(LOOKS_MAX)
    }
}

/// What a seed did.
#[derive(Debug, Default, PartialEq)]
struct Story {
    results: Vec<JobResult>,
    /// Jobs that the drive at its size can't run although the real one could.
    refused: u64,
}

/// Runs all that is drawn from `seed`.
fn live(seed: u64, tell: bool) -> Result<Story, String> {
    let mut draw = Draw::new(seed);
    let (profile, units_max) = draw::profile(&mut draw);
    let (host, hosts) = draw::hosts(&mut draw);
    if tell {
        println!("{}\n{host:#?}", toml::to_string(&profile.parameters).expect("a profile is text"));
    }
    let mut drive = ModelledDrive::with_units_max(profile, hosts, None, units_max);
    let mut oracle = Oracle::new(&drive);
    let mut story = Story::default();
    for (n, step) in jobs::steps(&mut draw, &drive).into_iter().enumerate() {
        match step {
            Step::Purge => {
                drive.purge().map_err(|e| e.to_string())?;
                oracle.purged();
            }
            Step::Impossible(job) => refuses(&mut drive, &job).map_err(|e| format!("step {n}: {e}"))?,
            Step::Job { job, stop_at_look } => {
                if tell {
                    println!("step {n}: {}", checks::describe(&job));
                }
                let result = run(&mut drive, &host, &job, stop_at_look, &mut oracle);
                match result.map_err(|e| format!("step {n}: {e}\n  {}", checks::describe(&job)))? {
                    Some(result) => {
                        if tell {
                            show(&result);
                        }
                        story.results.push(result);
                    }
                    None => story.refused += 1,
                }
            }
        }
    }
    Ok(story)
}

fn show(result: &JobResult) {
    let all = result.latency();
    println!("  {} I/Os in {}, mean {:?} ns, max {:?}", result.ios(), result.elapsed, all.mean_ns(), all.max());
    println!("  {:#?}", result.classes);
}

/// An impossible job is refused and changes nothing.
fn refuses(drive: &mut ModelledDrive, job: &Job) -> Result<(), String> {
    let before = drive.health().map_err(|e| e.to_string())?;
    match drive.run(job, &mut Watch::default()) {
        Err(TargetError::Spec(_)) => {}
        other => return Err(format!("an impossible job is not refused: {:?}", other.map(|r| r.ios()))),
    }
    let after = drive.health().map_err(|e| e.to_string())?;
    if after == before { Ok(()) } else { Err("a refused job changed the drive".into()) }
}

/// Runs a job and checks what must hold then; `None` if the drive at its size can't run it.
fn run(
    drive: &mut ModelledDrive,
    host: &HostProfile,
    job: &Job,
    stop_at: Option<u64>,
    oracle: &mut Oracle,
) -> Result<Option<JobResult>, String> {
    let mut watch = Watch { stop_at, ..Watch::default() };
    let result = match drive.run(job, &mut watch) {
        Ok(result) => result,
        Err(TargetError::Spec(_)) => return Ok(None),
        Err(e) => return Err(e.to_string()),
    };
    Ran { drive, host, job, result: &result }.check()?;
    oracle.learn(drive, job, &result);
    oracle.check(drive)?;
    if stop_at.is_none() && watch.looks + 1 >= LOOKS_MAX {
        return Err(format!("no end after {LOOKS_MAX} looks"));
    }
    watch.faults.pop().map_or(Ok(Some(result)), Err)
}

/// The same; a panic is a failure as well.
fn survive(seed: u64, tell: bool) -> Result<Story, String> {
    catch_unwind(AssertUnwindSafe(|| live(seed, tell))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text.or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "a panic".into()))
    })
}

/// Runs seeds `[first, end)` on two threads, each of which takes every other one; returns what failed, and
/// how many jobs ran and were refused.
fn swarm(first: u64, end: u64, progress: bool) -> (Vec<(u64, String)>, u64, u64) {
    let work = |turn: u64| {
        let (mut failed, mut ran, mut refused) = (Vec::new(), 0, 0);
        for seed in (first + turn..end).step_by(2) {
            match survive(seed, false) {
                Ok(story) => (ran, refused) = (ran + story.results.len() as u64, refused + story.refused),
                Err(e) => {
                    if progress {
                        println!("seed {seed}: {e}\n  replay: cargo xtask swarm --seed {seed}");
                    }
                    failed.push((seed, e));
                }
            }
            if progress && (seed - first).is_multiple_of(50) {
                println!("{} of {} seeds, {} failed on this thread", seed - first, end - first, failed.len());
            }
        }
        (failed, ran, refused)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        let (mut failed, mut ran, mut refused) = work(0);
        let (more, also_ran, also_refused) = other.join().expect("panics are caught");
        failed.extend(more);
        ran += also_ran;
        refused += also_refused;
        (failed, ran, refused)
    })
}

#[test]
fn a_smoke_swarm_lives() {
    let (failed, ran, refused) = swarm(0, SMOKE_SEEDS, false);
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(ran > 4 * refused && ran > 4 * SMOKE_SEEDS, "{ran} jobs ran, {refused} were refused");
}

#[test]
fn one_seed_has_one_story_on_any_thread() {
    for seed in 0..4 {
        let here = survive(seed, false);
        let there = std::thread::spawn(move || survive(seed, false)).join().expect("panics are caught");
        assert_eq!(here, there, "seed {seed}");
    }
}

/// `FLASHLAB_SWARM=FIRST..END`, or one number to replay it.
#[test]
#[ignore = "as long as it is told to: cargo xtask swarm"]
fn a_long_swarm_lives() {
    let asked = std::env::var("FLASHLAB_SWARM").expect("FLASHLAB_SWARM says which seeds");
    let number = |text: &str| text.parse::<u64>().expect("a seed is a number");
    let Some((first, end)) = asked.split_once("..") else {
        let story = survive(number(&asked), true).expect("a seed that lives");
        println!("{} jobs ran, {} were refused", story.results.len(), story.refused);
        return;
    };
    let (failed, ran, refused) = swarm(number(first), number(end), true);
    println!("{ran} jobs ran, {refused} were refused as too large for the scaled drive, {} seeds failed", failed.len());
    assert!(failed.is_empty(), "{} seeds failed", failed.len());
}
