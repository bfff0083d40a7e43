//! CPU time per I/O of the engine against fio and against the floor: a bare io_uring loop with the same
//! ring flags, registered file and buffers, and depth.
//!
//! Each measurement is a process of its own, and its CPU time is that of the whole process, the kernel's
//! workers for it included; what a process with next to no I/O takes is subtracted, so that start-up does
//! not count. The programs run the same load in turn, pair by pair, each time in the reverse order, on a
//! file where the build folder is (ext4, one hopes). Absolute times depend on the machine and on who else
//! uses it; the ratio of a pair does much less. Depth-1 latency is compared the same way.
//!
//! `cargo bench -p flashlab-io --bench engine [-- --smoke | --pairs N] [LOAD …]`
#![allow(clippy::print_stdout, unsafe_code, missing_docs, unreachable_pub)]

mod bare;
mod load;

use flashlab_guard::{Consent, create_file, inspect, permit};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions};
use flashlab_spec::{Job, Region, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};
use load::{Load, Program, fio_arguments};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

pub const DEPTH: u32 = 32;
/// I/Os of a run that only starts up and ends.
const FEW: u64 = 256;
/// Such runs before each measurement.
const START_UPS: usize = 3;
/// Pairs of the depth-1 comparison.
const LATENCY_PAIRS: usize = 31;
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// How much to do.
struct Plan {
    file: Bytes,
    pairs: usize,
    latency_pairs: usize,
    /// All I/O counts are divided by this.
    divisor: u64,
    loads: Vec<Load>,
    latency: bool,
}

impl Plan {
    fn from(arguments: &[String]) -> Outcome<Self> {
        let loads = Load::ALL.to_vec();
        let full =
            Plan { file: Bytes::mib(256), pairs: 5, latency_pairs: LATENCY_PAIRS, divisor: 1, loads, latency: true };
        let mut plan = full;
        let mut named = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--smoke" => {
                    plan = Plan { file: Bytes::mib(8), pairs: 1, latency_pairs: 1, divisor: 500, ..plan };
                }
                "--pairs" => plan.pairs = words.next().ok_or("--pairs needs a number")?.parse::<usize>()?.max(1),
                "latency" => named.push(None),
                other => {
                    let load = Load::parse(other);
                    named.push(Some(
                        load.ok_or_else(|| format!("unknown argument {other}; use --smoke, --pairs N or a load"))?,
                    ));
                }
            }
        }
        if !named.is_empty() {
            plan.latency = named.contains(&None);
            plan.loads = named.into_iter().flatten().collect();
        }
        Ok(plan)
    }
}

/// User and system time in µs.
#[derive(Debug, Clone, Copy)]
struct Cost {
    user: f64,
    system: f64,
}

impl Cost {
    fn total(self) -> f64 {
        self.user + self.system
    }
}

/// CPU time of all children that have ended, in µs.
fn children_cpu() -> Cost {
    // SAFETY: plain data on this stack, filled by getrusage.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    Cost { user: us(usage.ru_utime), system: us(usage.ru_stime) }
}

/// The process that runs `ios` of a load with a program.
fn command(program: Program, load: Load, path: &Path, size: Bytes, iodepth: u32, ios: u64) -> Outcome<Command> {
    if program.is_fio() {
        let mut fio = Command::new("fio");
        fio.args(fio_arguments(load, program == Program::FioTuned, path, size, iodepth, ios));
        return Ok(fio);
    }
    let mut child = Command::new(std::env::current_exe()?);
    child.arg("--child").arg(program.name()).arg(load.word()).arg(path);
    child.args([size.0, u64::from(iodepth), ios].map(|n| n.to_string()));
    Ok(child)
}

/// What a process prints, and its CPU time.
fn measured(mut command: Command) -> Outcome<(String, Cost)> {
    let before = children_cpu();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let after = children_cpu();
    if !output.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    let cost = Cost { user: after.user - before.user, system: after.system - before.system };
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), cost))
}

/// Cost of an I/O, without start-up.
fn cost(program: Program, load: Load, path: &Path, plan: &Plan) -> Outcome<Cost> {
    let ios = (load.ios() / plan.divisor).max(2 * FEW);
    let run = |ios| measured(command(program, load, path, load.part(plan.file), DEPTH, ios)?);
    // Start-up varies by more than some loads cost: the median of a few.
    let mut few = (0..START_UPS).map(|_| Ok(run(FEW)?.1)).collect::<Outcome<Vec<Cost>>>()?;
    few.sort_by(|a, b| a.total().total_cmp(&b.total()));
    let (few, many) = (few[START_UPS / 2], run(ios)?.1);
    let each = |few: f64, many: f64| (many - few).max(0.0) / (ios - FEW) as f64;
    Ok(Cost { user: each(few.user, many.user), system: each(few.system, many.system) })
}

/// The engine as anyone uses it, through its target; prints the mean latency.
fn ours(load: Load, path: &Path, size: Bytes, iodepth: u32, ios: u64) -> Outcome<()> {
    let inspection = inspect(path)?;
    let consent = Consent { destroy_token: None, overwrite: true };
    let permit = if load.writes() { Some(permit(&inspection, &consent)?) } else { None };
    let engine = if load == Load::Nop { EngineChoice::Nop } else { EngineChoice::IoUring };
    let options = OpenOptions { direct: load.is_direct(), engine };
    let mut target = FileTarget::open(&inspection, permit, &options)?;
    let rw = match load {
        Load::SeqRead => Rw::Read,
        Load::SeqWrite => Rw::Write,
        _ => Rw::RandRead,
    };
    let region = Region { offset: Bytes::ZERO, length: size };
    let job =
        Job { iodepth, amount: Some(Bytes(ios * load.bs().0)), seed: 1, ..Job::new("bench", rw, load.bs(), region) };
    let result = target.run(&job, &mut Unobserved)?;
    if !result.is_clean() || result.ios() != ios {
        return Err(format!("not clean: {:?} after {} I/Os", result.errors, result.ios()).into());
    }
    println!("{}", result.latency().mean_ns().unwrap_or(f64::NAN));
    Ok(())
}

/// Runs one load in this process.
fn child(arguments: &[String]) -> Outcome<()> {
    let [program, load, path, size, iodepth, ios] = arguments else { return Err("six arguments".into()) };
    let load = Load::parse(load).ok_or("a load")?;
    let (path, size) = (Path::new(path), Bytes(size.parse()?));
    let (iodepth, ios) = (iodepth.parse()?, ios.parse()?);
    match program.as_str() {
        "bare" => bare::run::<false>(load, path, size, ios),
        "bare-timed" => bare::run::<true>(load, path, size, ios),
        _ => ours(load, path, size, iodepth, ios),
    }
}

/// Median, smallest and largest.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[0], values[values.len() - 1])
}

/// One block of the table: all programs in turn, each round in the reverse order of the last.
fn compare(load: Load, path: &Path, plan: &Plan, programs: &[Program]) -> Outcome<()> {
    if !load.is_direct() {
        File::open(path)?.read_to_end(&mut Vec::new())?;
    }
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); programs.len()];
    for round in 0..plan.pairs {
        let forwards: Vec<usize> = (0..programs.len()).collect();
        let order: Vec<usize> = if round % 2 == 0 { forwards } else { forwards.into_iter().rev().collect() };
        for i in order {
            costs[i].push(cost(programs[i], load, path, plan)?);
        }
    }
    for (program, of) in programs.iter().zip(&costs) {
        let median = |value: &dyn Fn(&Cost) -> f64| spread(of.iter().map(value).collect()).0;
        let (total, user, system) = (median(&|c| c.total()), median(&|c| c.user), median(&|c| c.system));
        let ratios = costs[0].iter().zip(of).map(|(ours, other)| ours.total() / other.total()).collect();
        let (ratio, low, high) = spread(ratios);
        let name = program.name();
        println!(
            "{:<12} {name:<12} {total:>8.3} {user:>8.3} {system:>8.3}   {ratio:>6.3} [{low:.3} {high:.3}]",
            load.word()
        );
    }
    Ok(())
}

/// The mean read latency in fio's JSON, in ns.
fn fio_mean_ns(json: &str) -> Option<f64> {
    let read = &json[json.find("\"read\"")?..];
    let lat = &read[read.find("\"lat_ns\"")?..];
    let mean = &lat[lat.find("\"mean\"")? + 6..];
    mean.trim_start_matches([' ', ':']).split([',', '\n']).next()?.trim().parse().ok()
}

/// Interval of the median of `n` sorted values that covers it with at least 95 % (order statistics of
/// the binomial distribution with one half).
fn median_interval(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let mut term = 0.5f64.powi(n as i32);
    let (mut below, mut rank) = (term, 0);
    // The largest rank whose tail on each side stays within 2.5 %.
    while below <= 0.025 && rank + 1 < n {
        rank += 1;
        term *= (n - rank + 1) as f64 / rank as f64;
        below += term;
    }
    let rank = rank.saturating_sub(1).min(n / 2);
    (values[rank], values[n - 1 - rank])
}

/// Mean latency at depth 1, against fio's.
fn latency(path: &Path, plan: &Plan) -> Outcome<()> {
    let ios = 8_000 / plan.divisor.min(20);
    let mut ratios = Vec::new();
    let mut means = [Vec::new(), Vec::new()];
    for pair in 0..plan.latency_pairs {
        let run = |program| measured(command(program, Load::Direct, path, plan.file, 1, ios)?);
        let (ours, fio) = if pair % 2 == 0 {
            let ours = run(Program::Ours)?.0;
            (ours, run(Program::Fio)?.0)
        } else {
            let fio = run(Program::Fio)?.0;
            (run(Program::Ours)?.0, fio)
        };
        let (ours, fio): (f64, f64) = (ours.trim().parse()?, fio_mean_ns(&fio).ok_or("no latency in fio's output")?);
        ratios.push(ours / fio);
        means[0].push(ours);
        means[1].push(fio);
    }
    let (ratio, ..) = spread(ratios.clone());
    let (low, high) = median_interval(&mut ratios);
    let [ours, fio] = means.map(|values| Nanos(spread(values).0 as u64));
    println!("\nmean latency at depth 1, O_DIRECT, {} pairs: ours {ours}, fio {fio}", plan.latency_pairs);
    println!("ours / fio: median {ratio:.4}, 95 % interval of the median [{low:.4} {high:.4}]");
    Ok(())
}

/// One CPU for all of it: the completions of a queue of the device come to the CPU that submitted, and
/// are then charged to the program that asked for them and not to whoever runs elsewhere.
fn pin_to_last_cpu() {
    // SAFETY: the sets live on this stack and are plain data; only numbers inside them are asked for.
    unsafe {
        let mut allowed = std::mem::zeroed::<libc::cpu_set_t>();
        libc::sched_getaffinity(0, std::mem::size_of_val(&allowed), &raw mut allowed);
        let last = (0..libc::CPU_SETSIZE as usize).rev().find(|cpu| libc::CPU_ISSET(*cpu, &allowed));
        let mut one = std::mem::zeroed::<libc::cpu_set_t>();
        libc::CPU_SET(last.unwrap_or(0), &mut one);
        if libc::sched_setaffinity(0, std::mem::size_of_val(&one), &raw const one) != 0 {
            println!("not pinned to one CPU");
        }
    }
}

/// A filled file of its own.
fn fill(path: &Path, size: Bytes) -> Outcome<()> {
    let (inspection, permit) = create_file(path, size)?;
    let mut target = FileTarget::open(&inspection, Some(permit), &OpenOptions::default())?;
    let region = Region { offset: Bytes::ZERO, length: size };
    let fill = Job { iodepth: 4, amount: Some(size), seed: 1, ..Job::new("fill", Rw::Write, Bytes::mib(1), region) };
    if !target.run(&fill, &mut Unobserved)?.is_clean() {
        return Err("the file could not be filled".into());
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if arguments.first().is_some_and(|a| a == "--child") {
        return child(&arguments[1..]);
    }
    let plan = Plan::from(&arguments)?;
    pin_to_last_cpu();
    let fio = Command::new("fio").arg("--version").output().ok().filter(|o| o.status.success());
    let programs: Vec<Program> = Program::ALL.into_iter().filter(|p| fio.is_some() || !p.is_fio()).collect();
    match &fio {
        Some(output) => println!("against {}", String::from_utf8_lossy(&output.stdout).trim()),
        None => println!("fio is not installed: compared with the bare loop only (apt-get install fio)"),
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("bench.img");
    fill(&path, plan.file)?;
    println!("iodepth {DEPTH}, one job, {} rounds; medians of CPU us an I/O, and of ours / this", plan.pairs);
    println!("{:<12} {:<12} {:>8} {:>8} {:>8}   {:>6}", "load", "program", "total", "user", "system", "ratio");
    for load in &plan.loads {
        compare(*load, &path, &plan, &programs)?;
    }
    if plan.latency && fio.is_some() {
        latency(&path, &plan)?;
    }
    Ok(())
}
