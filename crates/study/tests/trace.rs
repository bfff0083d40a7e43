//! Traces on a built-in drive: what must hold whatever its parameters are.

use flashlab_spec::{Beyond, Direction, DriveProfile, HostProfile, Hosts, Replay, ReplayEnd, ReplayRequest};
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

/// `count` requests of 4 KiB a millisecond apart at odd addresses over 1 TB, every other one a read.
fn list(count: u64, read_only: bool, beyond: Beyond, far: u64) -> Replay {
    let requests = (0..count).map(|i| ReplayRequest {
        at: Nanos::millis(i),
        direction: if read_only || i % 2 == 1 { Direction::Read } else { Direction::Write },
        offset: Bytes(far + (i * 48_271 % 2_000) * 512_000_000 / 4096 * 4096),
        length: 4096,
    });
    Replay::new("a.csv", requests.collect(), ReplayEnd::Once, beyond)
}

fn ask(replay: Replay, timed: bool) -> Result<WhatIf, StudyError> {
    let (profile, hosts, load) = (profile(), hosts(), Load::replay("a trace", replay, timed.then_some(100), 64));
    let question = Question { drives: vec![&profile], hosts: &hosts, load: &load, daily: None, seed: 1, threads: 1 };
    what_if(&question, &Watch { stop: &|| false, done: &|_, _| {} })
}

fn outcome<'a>(answer: &'a WhatIf, variant: &str) -> &'a Outcome {
    let found = answer.drives[0].variants.iter().find(|v| v.variant == variant);
    found.and_then(|v| v.outcome.as_ref()).unwrap_or_else(|| panic!("no answer for {variant}"))
}

#[test]
fn a_trace_is_played_at_its_times_and_its_small_writes_are_amplified() {
    let answer = ask(list(2_000, false, Beyond::Refuse, 0), true).expect("an answer");
    let base = outcome(&answer, "as asked");
    let (fresh, steady) = (&base.fresh, base.steady.as_ref().expect("it writes"));
    assert_eq!(fresh.read_latency.map(|l| l.samples), Some(1_000));
    assert!((fresh.iops - 1_000.0).abs() < 5.0 && (steady.iops - 1_000.0).abs() < 5.0, "{fresh:?} {steady:?}");
    assert_eq!(base.steady_reached, Some(true), "{steady:?}");
    // 4 KiB in a unit of 8 KiB, and nothing to collect.
    let amplification = |o: &Outcome| o.steady.as_ref().and_then(|s| s.write_amplification).expect("holds");
    assert!((amplification(base) / 2.0 - 1.0).abs() < 0.05, "{}", amplification(base));
    let aligned = outcome(&answer, "aligned");
    assert!((amplification(aligned) - 1.0).abs() < 0.05, "{}", amplification(aligned));
    assert!(base.cliff.seconds.is_none() && base.cliff.why.contains("one pass"), "{:?}", base.cliff);
    assert!(fresh.remarks[0].contains("modelled at 1/"), "{:?}", fresh.remarks);
    let fdp = answer.drives[0].variants.iter().find(|v| v.variant == "fdp").expect("named");
    assert!(fdp.outcome.is_none() && fdp.what.contains("which of its writes belong together"), "{fdp:?}");
    assert!(outcome(&answer, "unused-28").steady.is_some());
}

#[test]
fn without_times_it_runs_as_fast_as_it_can_and_reads_stay_as_they_are() {
    let answer = ask(list(2_000, true, Beyond::Refuse, 0), false).expect("an answer");
    let base = outcome(&answer, "as asked");
    assert!(base.fresh.iops > 10_000.0 && base.steady.is_none() && base.steady_reached.is_none(), "{base:?}");
    assert!(base.fresh.remarks.iter().any(|r| r.contains("had no times")), "{:?}", base.fresh.remarks);
    assert!(answer.drives[0].variants[1..].iter().all(|v| v.outcome.is_none() && !v.what.is_empty()));
}

#[test]
fn addresses_beyond_the_drive_are_refused_or_folded() {
    let far = profile().parameters.capacity.user.value.0;
    let refused = ask(list(50, true, Beyond::Refuse, far), true).expect_err("beyond").to_string();
    assert!(refused.contains("a.csv: p5430-30 is too small") && refused.contains("--fold"), "{refused}");
    let answer = ask(list(50, true, Beyond::Fold, far), true).expect("folded");
    let base = outcome(&answer, "as asked");
    assert!(base.fresh.remarks.iter().any(|r| r.contains("folded")), "{:?}", base.fresh.remarks);
}

/// Three requests over `span`, as a week of a quiet volume.
fn sparse(span: Nanos) -> Replay {
    let request = |at, direction, offset| ReplayRequest { at, direction, offset: Bytes(offset), length: 8192 };
    let requests = vec![
        request(Nanos(0), Direction::Read, 7_014_609_920),
        request(Nanos(span.0 / 3), Direction::Write, 1_317_441_536),
        request(span, Direction::Read, 2_436_440_064),
    ];
    Replay::new("week.csv", requests, ReplayEnd::Once, Beyond::Refuse)
}

#[test]
fn a_trace_of_a_week_is_answered_and_one_of_a_month_is_refused() {
    let day = 86_400;
    for days in [1, 7, 23] {
        let answer = ask(sparse(Nanos::secs(days * day)), true).expect("an answer");
        let base = outcome(&answer, "as asked");
        assert_eq!(base.fresh.read_latency.map(|l| l.samples), Some(2), "{days} d");
        let steady = base.steady.as_ref().expect("it writes");
        assert_eq!(base.steady_reached, Some(false));
        assert!(steady.remarks.iter().any(|r| r.starts_with("not steady: ")), "{:?}", steady.remarks);
    }
    let refused = ask(sparse(Nanos::secs(31 * day)), true).expect_err("too long").to_string();
    let says =
        "week.csv: the trace lasts 31 d, and a modelled drive runs one job for 24 d at most\n  give a part of it";
    assert!(refused.contains(says), "{refused}");
}

/// A second apart: thousands of passes fit into the time of a job, and no more.
#[test]
fn a_short_trace_is_repeated_within_the_time_of_a_job() {
    let answer = ask(sparse(Nanos::secs(2)), true).expect("an answer");
    let base = outcome(&answer, "as asked");
    assert_eq!((base.fresh.read_latency.map(|l| l.samples), base.steady.is_some()), (Some(2), true));
}
