//! Answers about a built-in drive: what must hold whatever its parameters are.

use flashlab_spec::{DriveProfile, HostProfile, Hosts, Rate, Rw, SweepStep};
use flashlab_study::StudyError;
use flashlab_study::what_if::{Load, Outcome, Question, Watch, WhatIf, what_if};
use flashlab_units::{Bytes, Nanos};

fn profile() -> DriveProfile {
    DriveProfile::parse(include_str!("../../../data/drives/p5430-30.toml"), "p5430-30").expect("a profile")
}

fn hosts() -> Hosts {
    let texts = [
        include_str!("../../../data/hosts/fio.toml"),
        include_str!("../../../data/hosts/gdsio.toml"),
        include_str!("../../../data/hosts/checkpoint.toml"),
    ];
    Hosts::new(texts.iter().map(|t| HostProfile::parse(t, "a host").expect("a host")).collect())
}

fn ask(spec: &SweepStep, stopped: bool, threads: usize) -> Result<WhatIf, StudyError> {
    let (profile, hosts, load) = (profile(), hosts(), Load::of(spec.clone())?);
    let daily = Some(Bytes(10_000_000_000_000));
    let question = Question { drives: vec![&profile], hosts: &hosts, load: &load, daily, seed: 1, threads };
    what_if(&question, &Watch { stop: &|| stopped, done: &|_, _| {} })
}

fn spec(rw: Rw, bs: Bytes) -> SweepStep {
    SweepStep { iodepth: vec![32], numjobs: vec![2], ..SweepStep::new(rw, bs) }
}

fn outcome<'a>(answer: &'a WhatIf, variant: &str) -> &'a Outcome {
    let found = answer.drives[0].variants.iter().find(|v| v.variant == variant);
    found.and_then(|v| v.outcome.as_ref()).unwrap_or_else(|| panic!("no answer for {variant}"))
}

#[test]
fn random_writes_get_slower_and_spare_gives_it_back() {
    let answer = ask(&spec(Rw::RandWrite, Bytes::kib(4)), false, 2).expect("an answer");
    let base = outcome(&answer, "as asked");
    let amplification = |o: &Outcome| o.lasting().write_amplification.expect("writes");
    let steady = base.steady.as_ref().expect("a steady state");
    assert!(steady.iops < base.fresh.iops, "{} {}", steady.iops, base.fresh.iops);
    // A 4 KiB write takes up a unit of 8 KiB.
    assert!((base.fresh.write_amplification.expect("writes") / 2.0 - 1.0).abs() < 0.1);
    assert!(base.cliff.seconds.is_some_and(|s| s > 0.0), "{:?}", base.cliff);
    let unused = ["unused-7", "unused-15", "unused-28"].map(|v| amplification(outcome(&answer, v)));
    assert!(amplification(base) > unused[0] && unused.is_sorted_by(|a, b| a > b), "{unused:?}");
    assert!(amplification(outcome(&answer, "aligned")) < amplification(base));
    let years = answer.drives[0].life.years.expect("a rating");
    assert!((years - 31.92e15 / 10e12 / 365.25).abs() < 1e-9, "{years}");
}

#[test]
fn reads_have_no_steady_state_and_no_variants_on_any_number_of_threads() {
    let spec = spec(Rw::RandRead, Bytes::kib(16));
    let (one, two) = (ask(&spec, false, 1).expect("an answer"), ask(&spec, false, 2).expect("an answer"));
    assert_eq!(one, two);
    let base = outcome(&one, "as asked");
    assert!(base.steady.is_none() && base.cliff.seconds.is_none() && base.fresh.iops > 0.0);
    assert!(one.drives[0].variants[1..].iter().all(|v| v.outcome.is_none() && !v.what.is_empty()));
}

#[test]
fn a_stopped_question_has_no_answer() {
    let answer = ask(&spec(Rw::RandWrite, Bytes::kib(16)), true, 1);
    assert!(matches!(answer, Err(StudyError::Stopped)), "{answer:?}");
}

#[test]
fn what_no_model_can_do_is_refused_by_name_before_anything_runs() {
    for (load, says) in [
        (SweepStep { fsync: 4, ..spec(Rw::RandWrite, Bytes::kib(4)) }, "fsync, fdatasync or dsync is not supported"),
        (SweepStep { dedupe_percent: 9, ..spec(Rw::RandWrite, Bytes::kib(4)) }, "data other than unique"),
        (SweepStep { passes: Some(2), ..spec(Rw::RandWrite, Bytes::kib(4)) }, "passes says when it ends"),
    ] {
        let error = ask(&load, true, 1).expect_err(says).to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn hot_blocks_and_sizes_of_a_mix_are_modelled() {
    let load = SweepStep {
        rwmixread: 50,
        rwmixtrim: 10,
        sizes: "4KiB/60:64KiB/40".parse().ok(),
        bs: Bytes::ZERO,
        distribution: "zipf:1.2".parse().expect("a distribution"),
        size: Some(Bytes::gib(64)),
        ..spec(Rw::RandRw, Bytes::kib(4))
    };
    let answer = ask(&load, false, 2).expect("an answer");
    let base = outcome(&answer, "as asked");
    assert!(base.fresh.read_latency.is_some() && base.fresh.write_latency.is_some(), "{base:?}");
    assert!(answer.load.contains("zipf:1.2"), "{}", answer.load);
}

#[test]
fn a_low_rate_is_answered_and_not_steady_where_the_time_came_first() {
    let rare = |rw, per: Nanos| {
        let spec = SweepStep {
            rate_iops: Some(Rate { ios: 1, per }),
            iodepth: vec![1],
            numjobs: vec![1],
            ..spec(rw, Bytes::kib(4))
        };
        ask(&spec, false, 2).expect("an answer")
    };
    let writes = rare(Rw::RandWrite, Nanos::secs(600));
    let base = outcome(&writes, "as asked");
    let steady = base.steady.as_ref().expect("it writes");
    assert_eq!(base.steady_reached, Some(false));
    assert!(steady.remarks.iter().any(|r| r.contains("not steady: at its rate the load writes 0.0")), "{steady:?}");
    assert!((steady.iops * 600.0 - 1.0).abs() < 0.05 && (base.fresh.iops * 600.0 - 1.0).abs() < 0.05, "{base:?}");
    let reads = rare(Rw::RandRead, Nanos::secs(86_400));
    let base = outcome(&reads, "as asked");
    assert!(base.steady.is_none() && base.fresh.read_latency.is_some_and(|l| l.samples >= 20), "{base:?}");
}
