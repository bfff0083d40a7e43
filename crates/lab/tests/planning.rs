//! A suite resolved against a target: the region, the jobs with their seeds, and the estimates.

mod common;

use common::{AT_ONCE, PURGE, fill, suite, sweep};
use flashlab_lab::{LabError, Plan, PlanOptions, StepKind, TargetFacts, plan};
use flashlab_samples::{Origin, TargetKind};
use flashlab_spec::{Region, SpecError};
use flashlab_units::{Bytes, BytesPerSecond, Nanos};

fn file(capacity: Bytes) -> TargetFacts {
    TargetFacts {
        id: "f".into(),
        kind: TargetKind::File,
        origin: Origin::Measured,
        capacity,
        logical_block: Bytes(512),
        nominal_spare: None,
        write_rate: (BytesPerSecond(1e6), "for the test"),
        read_rate: (BytesPerSecond(2e6), "for the test"),
    }
}

fn model(capacity: Bytes) -> TargetFacts {
    TargetFacts {
        kind: TargetKind::ModelledDrive,
        origin: Origin::Modelled,
        nominal_spare: Some(Bytes(3_000_000)),
        ..file(capacity)
    }
}

fn of(steps: &str, target: &TargetFacts, options: &PlanOptions) -> Result<Plan, LabError> {
    plan(&suite(steps), target, options)
}

fn length(suite: &str, target: &TargetFacts, size: Option<Bytes>) -> Bytes {
    let options = PlanOptions { size, ..Default::default() };
    let region = of(suite, target, &options).expect("a suite that fits").region;
    assert_eq!(region.offset, Bytes(0));
    region.length
}

const LIMITED: &str = "region_max = '16MiB'\n";

#[test]
fn a_file_is_used_up_to_what_the_suite_allows() {
    let limited = [LIMITED, &fill("128KiB", 1)].concat();
    assert_eq!(length(&limited, &file(Bytes::gib(1)), None), Bytes::mib(16));
    assert_eq!(length(&limited, &file(Bytes::mib(12)), None), Bytes::mib(12));
    assert_eq!(length(&fill("128KiB", 1), &file(Bytes::gib(1)), None), Bytes::gib(1));
}

#[test]
fn size_goes_before_the_limit_of_the_suite() {
    let limited = [LIMITED, &fill("128KiB", 1)].concat();
    assert_eq!(length(&limited, &file(Bytes::gib(1)), Some(Bytes::mib(64))), Bytes::mib(64));
    assert_eq!(length(&limited, &file(Bytes::gib(1)), Some(Bytes::mib(8))), Bytes::mib(8));
}

#[test]
fn the_region_is_whole_blocks_of_the_largest_transfer() {
    let both = [fill("128KiB", 1), sweep("r", "randread", "4KiB", "[1]", "[1]")].concat();
    assert_eq!(length(&both, &file(Bytes(Bytes::mib(10).0 + 4096)), None), Bytes::mib(10));
}

#[test]
fn a_model_is_used_whole_unless_a_size_is_given() {
    let limited = [LIMITED, &fill("128KiB", 1)].concat();
    let odd = Bytes(100_000_000_001);
    assert_eq!(length(&limited, &model(odd), None), odd);
    assert_eq!(length(&limited, &model(odd), Some(Bytes::mib(64))), Bytes::mib(64));
}

#[test]
fn too_small_is_less_than_64_of_the_largest_blocks() {
    assert_eq!(length(&fill("128KiB", 1), &file(Bytes::mib(8)), None), Bytes::mib(8));
    let error = of(&fill("128KiB", 1), &file(Bytes(Bytes::mib(8).0 - 512)), &PlanOptions::default());
    let Err(LabError::Spec(SpecError::TooSmall { needed, have, .. })) = error else { panic!("{error:?}") };
    assert_eq!((needed, have), (Bytes::mib(8), Bytes(Bytes::mib(8).0 - 512)));
}

#[test]
fn a_block_larger_than_any_drive_is_an_error_and_no_overflow() {
    let error = of(&fill("16383PiB", 1), &file(Bytes::gib(1)), &PlanOptions::default());
    assert!(matches!(error, Err(LabError::Spec(_))), "{error:?}");
}

#[test]
fn a_suite_that_expands_without_end_is_refused_before_it_fills_memory() {
    let axis = |to: u32| format!("[{}]", (1..=to).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let steps = sweep("r", "randread", "4KiB", &axis(4_096), &axis(1_024));
    let error = of(&steps, &file(Bytes::gib(64)), &PlanOptions::default());
    let text = error.expect_err("four million steps").to_string();
    assert!(text.contains("more than 10000 steps"), "{text}");
}

#[test]
fn estimates_say_which_part_of_them_is_exact() {
    let steps = [
        PURGE,
        &fill("128KiB", 1),
        &sweep("r", "randread", "4KiB", "[1]", "[1]"),
        &sweep("w", "randwrite", "4KiB", "[1]", "[1]"),
    ]
    .concat();
    let plan = of(&steps, &file(Bytes(64_000_000)), &PlanOptions::default()).expect("a suite that fits");
    let e: Vec<_> = plan.steps.iter().map(|s| s.estimate).collect();
    let region = plan.region.length;
    assert_eq!(region, Bytes(64_000_000 / 131_072 * 131_072));
    assert_eq!((e[1].writes, e[1].writes_exact, e[1].time_exact), (region, true, false));
    assert_eq!(e[1].time, Nanos(region.0 * 1000));
    assert_eq!((e[2].writes, e[2].writes_exact, e[2].time, e[2].time_exact), (Bytes(0), true, Nanos::secs(30), true));
    // 30 s at 1 MB/s.
    assert_eq!((e[3].writes, e[3].writes_exact), (Bytes(30_000_000), false));
    assert_eq!((e[3].time, e[3].time_exact), (Nanos::secs(30), true));
    let total = plan.total();
    assert_eq!((total.writes, total.writes_exact, total.time_exact), (Bytes(region.0 + 30_000_000), false, false));
    assert_eq!(total.time, Nanos(region.0 * 1000) + Nanos::secs(60));
    assert!(plan.writes());
}

const STEADY: &str = "[[step]]\ndo = 'steady'\nworkload = 's'\nrw = 'randwrite'\nbs = '4KiB'\niodepth = 1\nnumjobs = 1\n\
    round = { capacity-share = 0.05 }\nlead_in_spare = true\n\
    rule = { window = 5, range_max = 0.2, slope_max = 0.1, rounds_max = 10 }\n";

#[test]
fn a_steady_step_counts_all_its_rounds_and_its_lead_in() {
    // 5 % of 40,960,000 bytes are 500 blocks of 4096.
    let capacity = Bytes(40_960_000);
    let plan = of(STEADY, &model(capacity), &PlanOptions::default()).expect("a suite that fits");
    assert_eq!(plan.steps[0].kind.jobs()[0].amount, Some(Bytes(500 * 4096)));
    assert_eq!(plan.steps[0].estimate.writes, Bytes(10 * 500 * 4096 + 3_000_000));
    // The spare of a file is not known: no lead-in.
    let on_file = of(STEADY, &file(capacity), &PlanOptions::default()).expect("a suite that fits");
    assert!(matches!(on_file.steps[0].kind, StepKind::Steady { lead_in: None, .. }));
}

/// What a sweep says of where, when and how much reaches its jobs, and a part of the target is enough.
#[test]
fn a_sweep_says_where_when_and_how_much() {
    let base = sweep("w", "randwrite", "4KiB", "[1, 2]", "1").replace("runtime", "# runtime");
    let keys = "offset = '1MiB'\nsize = '2MiB'\npasses = 2\ndistribution = 'zipf:1.2'\nrate_iops = 500\nfsync = 8\n";
    let plan = of(&(base.clone() + keys), &file(Bytes::mib(64)), &PlanOptions::default()).expect("a plan");
    let jobs: Vec<_> = plan.steps.iter().flat_map(|step| step.kind.jobs()).collect();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| (job.region.offset, job.region.length) == (Bytes::mib(1), Bytes::mib(2))));
    assert!(
        jobs.iter().all(|job| job.passes == Some(2) && !job.arrival.is_closed() && job.durability.fsync_every == 8)
    );
    assert_ne!(jobs[0].seed, jobs[1].seed);
    // Two passes of 2 MiB, exactly.
    assert_eq!((plan.steps[0].estimate.writes, plan.steps[0].estimate.writes_exact), (Bytes::mib(4), true));
    let few = PlanOptions { size: Some(Bytes::kib(128)), small: true, ..PlanOptions::default() };
    let few = of(&(base + "passes = 1\n"), &file(Bytes::mib(64)), &few).expect("a plan");
    assert_eq!(few.region.length, Bytes::kib(128));
}

#[test]
fn a_suite_that_only_reads_writes_nothing() {
    let reads = sweep("r", "randread", "4KiB", "[1]", "[1]");
    assert!(!of(&reads, &file(Bytes::mib(64)), &PlanOptions::default()).expect("a suite that fits").writes());
    assert!(of(PURGE, &file(Bytes::mib(64)), &PlanOptions::default()).expect("a suite that fits").writes());
}

#[test]
fn a_run_time_of_the_users_goes_before_that_of_the_suite() {
    let options = PlanOptions { runtime: Some(Nanos::secs(2)), ..Default::default() };
    let plan = of(&sweep("r", "randread", "4KiB", "[1]", "[1]"), &file(Bytes::mib(64)), &options);
    let plan = plan.expect("a suite that fits");
    assert_eq!(plan.steps[0].kind.jobs()[0].runtime, Some(Nanos::secs(2)));
}

#[test]
fn a_run_time_of_a_load_stands_beside_what_else_ends_it() {
    let of = |small, keys: &str, runtime| {
        let steps = sweep("w", "randwrite", "4KiB", "[1]", "[2]").replace("runtime", "# runtime") + keys;
        let options = PlanOptions { small, runtime: Some(runtime), ..Default::default() };
        let plan = of(&steps, &file(Bytes::mib(64)), &options).expect("a plan");
        let job = plan.steps[0].kind.jobs()[0].clone();
        (job.runtime, job.amount, job.passes, plan.steps[0].estimate)
    };
    let (long, short) = (Nanos::secs(1_000), Nanos::secs(2));
    let (runtime, amount, passes, _) = of(false, "amount = '8MB'\npasses = 1\n", short);
    assert_eq!((runtime, amount, passes), (Some(short), None, None));
    let (runtime, amount, passes, estimate) = of(true, "amount = '8MB'\npasses = 1\n", long);
    assert_eq!((runtime, amount, passes), (Some(long), Some(Bytes(8_000_000)), Some(1)));
    // 8 MB at 1 MB/s come long before the time; a part of them before the amount.
    assert_eq!((estimate.writes, estimate.time), (Bytes(8_000_000), Nanos::secs(8)));
    assert!(!estimate.time_exact && !estimate.writes_exact);
    let (.., estimate) = of(true, "amount = '8MB'\n", short);
    assert_eq!((estimate.writes, estimate.time), (Bytes(2_000_000), short));
    // A pass of each of two jobs over all of it.
    let (.., estimate) = of(true, "passes = 1\n", long);
    assert_eq!(estimate.writes, Bytes::mib(128));
}

#[test]
fn writes_are_those_of_the_mix_and_of_the_rate() {
    let of = |rw, keys: &str| {
        let steps = sweep("w", rw, "4KiB", "[1]", "[2]").replace("runtime", "# runtime") + keys;
        let plan = of(&steps, &file(Bytes::mib(64)), &PlanOptions::default()).expect("a plan");
        plan.steps[0].estimate
    };
    let mix = of("randrw", "rwmixread = 70\nrwmixtrim = 5\namount = '8MB'\n");
    assert_eq!((mix.writes, mix.writes_exact), (Bytes(2_000_000), false));
    let trims = of("randtrim", "amount = '8MB'\n");
    assert_eq!((trims.writes, trims.writes_exact), (Bytes(0), true));
    // Two jobs of 10 IOPS each are 81,920 B/s, where the target gives 1 MB/s.
    let slow = of("randwrite", "rate_iops = 10\nruntime = '100s'\n");
    assert_eq!((slow.writes, slow.time, slow.time_exact), (Bytes(8_192_000), Nanos::secs(100), true));
    let slow = of("randwrite", "rate_iops = 10\nrate_process = 'poisson'\namount = '8192000B'\n");
    assert_eq!((slow.writes, slow.time, slow.writes_exact), (Bytes(8_192_000), Nanos::secs(100), true));
    // More than the target gives is not kept up with.
    assert_eq!(of("randwrite", "rate_iops = 10000\nruntime = '100s'\n").writes, Bytes(100_000_000));
}

#[test]
fn each_step_has_a_seed_of_its_own_and_the_same_in_each_plan() {
    let steps = [fill("128KiB", 2), sweep("r", "randread", "4KiB", "[1, 2]", "[1, 2]")].concat();
    let seeds = |seed| {
        let options = PlanOptions { seed, ..Default::default() };
        let plan = of(&steps, &file(Bytes::mib(64)), &options).expect("a suite that fits");
        plan.steps.iter().flat_map(|s| s.kind.jobs()).map(|job| job.seed).collect::<Vec<u64>>()
    };
    assert_eq!(seeds(7), seeds(7));
    let mut all = [seeds(7), seeds(8)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12);
}

#[test]
fn a_job_that_no_drive_can_run_is_refused_with_its_name() {
    let says = |steps: &str, words: &str| {
        let error = of(steps, &file(Bytes::mib(64)), &PlanOptions::default()).expect_err(words).to_string();
        assert!(error.contains(words) && error.lines().count() >= 2, "{error}");
    };
    says(&sweep("odd", "randread", "1000B", "[1]", "[1]"), "odd: bs 1000 B is not a multiple of the logical block");
    says(&sweep("none", "randread", "0B", "[1]", "[1]"), "none: bs is 0");
    says(&sweep("deep", "randread", "4KiB", "[9999]", "[1]"), "deep: iodepth is 9999");
    says(&fill("128KiB", 1).replace("iodepth = 16", "iodepth = 0"), "fill-128k: iodepth is 0");
}

#[test]
fn the_jobs_of_a_plan_stay_inside_its_region() {
    let plan = of(&[PURGE, &fill("64KiB", 1)].concat(), &file(Bytes::mib(64)), &PlanOptions::default());
    let plan = plan.expect("a suite that fits");
    let regions: Vec<Option<Region>> = plan.steps.iter().map(|s| s.kind.jobs().first().map(|job| job.region)).collect();
    assert_eq!(regions, [None, Some(plan.region)]);
}

#[test]
fn loads_at_the_same_time_are_one_step() {
    let plan = of(AT_ONCE, &file(Bytes::mib(64)), &PlanOptions::default()).expect("a suite that fits");
    let [step] = plan.steps.as_slice() else { panic!("{} steps", plan.steps.len()) };
    assert_eq!(step.title, "reader iodepth 1, numjobs 1 and writer iodepth 4, numjobs 2, at the same time");
    let jobs: Vec<_> =
        step.kind.jobs().iter().map(|j| (j.workload.as_str(), j.iodepth, j.numjobs, j.runtime)).collect();
    assert_eq!(jobs, [("reader", 1, 1, Some(Nanos::secs(30))), ("writer", 4, 2, Some(Nanos::secs(20)))]);
    assert_ne!(step.kind.jobs()[0].seed, step.kind.jobs()[1].seed);
    // The writer's 20 s at 1 MB/s, and the longest time.
    let estimate = step.estimate;
    assert_eq!((estimate.writes, estimate.writes_exact), (Bytes(20_000_000), false));
    assert_eq!((estimate.time, estimate.time_exact), (Nanos::secs(30), true));
    assert!(plan.writes());
    let two = PlanOptions { runtime: Some(Nanos::secs(2)), ..Default::default() };
    let plan = of(AT_ONCE, &file(Bytes::mib(64)), &two).expect("a suite that fits");
    assert!(plan.steps[0].kind.jobs().iter().all(|job| job.runtime == Some(Nanos::secs(2))));
}

#[test]
fn loads_at_the_same_time_that_can_not_run_are_refused() {
    let says = |steps: &str, target: &TargetFacts, words: &str| {
        let error = of(steps, target, &PlanOptions::default()).expect_err(words).to_string();
        assert!(error.contains(words) && error.lines().count() >= 2, "{error}");
    };
    says(AT_ONCE, &model(Bytes::mib(64)), "f is a modelled drive, which runs one load at a time");
    says(&AT_ONCE.replace("128KiB", "1000B"), &file(Bytes::mib(64)), "writer: bs 1000 B is not a multiple");
    says(&AT_ONCE.repeat(2), &file(Bytes::mib(64)), "reader: iodepth 1, numjobs 1 stands in the suite twice");
}
