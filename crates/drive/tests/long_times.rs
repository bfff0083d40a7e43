//! Jobs of which little comes, over days of virtual time: they end, or are refused with what to change.

mod common;

use common::{CAPACITY, hosts, profile};
use flashlab_drive::{JOB_TIME_MAX, ModelledDrive};
use flashlab_samples::{Ended, JobResult};
use flashlab_spec::{Arrival, Beyond, Direction, Job, Rate, Region, Replay, ReplayEnd, ReplayRequest, Rw};
use flashlab_target::{Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};

const DAY: Nanos = Nanos::secs(86_400);
const TWO_A_DAY: Rate = Rate { ios: 2, per: DAY };

fn drive() -> ModelledDrive {
    ModelledDrive::with_units_max(profile(), hosts(), None, 0)
}

fn job(rw: Rw, arrival: Arrival) -> Job {
    let region = Region { offset: Bytes(0), length: CAPACITY };
    Job { iodepth: 4, arrival, seed: 1, ..Job::new("rare", rw, Bytes::kib(4), region) }
}

fn run(job: &Job) -> Result<JobResult, TargetError> {
    drive().run(job, &mut Unobserved)
}

fn ran(job: &Job) -> JobResult {
    run(job).unwrap_or_else(|refused| panic!("{refused}"))
}

/// 40,000 reads would take 54 years, and the warm-up of them alone four months.
#[test]
fn reads_that_are_rare_end_with_their_time() {
    for arrival in [Arrival::Fixed(TWO_A_DAY), Arrival::Poisson(TWO_A_DAY)] {
        let result = ran(&Job { runtime: Some(Nanos::secs(1)), ..job(Rw::RandRead, arrival) });
        assert_eq!(result.ended, Ended::Completed);
        assert!(result.elapsed > Nanos::secs(22 * 86_400) && result.elapsed < Nanos::secs(26 * 86_400), "{result:?}");
        assert!((25..80).contains(&result.read.ios), "{}", result.read.ios);
        assert!(
            result.read.lat.max().is_some_and(|max| max < Nanos::millis(2)),
            "an idle drive answers at once: {result:?}"
        );
    }
}

/// Three buffers of them would take years.
#[test]
fn writes_that_are_rare_end_with_their_time_and_none_is_lost() {
    let mut drive = drive();
    let job = Job { runtime: Some(DAY), ..job(Rw::RandWrite, Arrival::Fixed(TWO_A_DAY)) };
    let result = drive.run(&job, &mut Unobserved).expect("it ends");
    assert!((47..=49).contains(&result.write.ios), "{}", result.write.ios);
    assert!(result.elapsed >= JOB_TIME_MAX && result.elapsed < Nanos::secs(26 * 86_400), "{}", result.elapsed);
    drive.check().expect("the map agrees with itself");
}

#[test]
fn what_can_be_told_before_is_refused_before() {
    let fixed = Arrival::Fixed(TWO_A_DAY);
    let once = |ms: u64| {
        let at = |at| ReplayRequest { at, direction: Direction::Read, offset: Bytes(0), length: 4096 };
        let list = vec![at(Nanos(0)), at(Nanos(JOB_TIME_MAX.0 + ms * 1_000_000))];
        let replay = Some(Replay::new("a.csv", list, ReplayEnd::Once, Beyond::Refuse));
        Job { replay, ..job(Rw::RandRead, Arrival::Recorded { time_percent: 100 }) }
    };
    let scale = drive().scale();
    let amount = |requests: u64| Some(Bytes(requests * 4096 * scale));
    for (refused, says) in [
        (
            Job { runtime: Some(Nanos::secs(300 * 86_400)), ..job(Rw::RandRead, Arrival::Closed) },
            "the run time is 300 d",
        ),
        (
            Job { runtime: Some(JOB_TIME_MAX), ramp: DAY, ..job(Rw::Read, Arrival::Closed) },
            "run time and ramp are 25 d",
        ),
        (Job { amount: amount(61), ..job(Rw::RandRead, fixed) }, "come up to 30 d, and"),
        (Job { passes: Some(1), ..job(Rw::RandWrite, fixed) }, "give a higher rate"),
        (once(1), "a.csv takes up to 24 d, and a modelled drive runs one job for 24 d at most"),
    ] {
        let text = run(&refused).expect_err(says).to_string();
        assert!(text.contains(says), "{says}: {text}");
    }
    let fits = Job { amount: amount(41), ..job(Rw::RandRead, fixed) };
    assert_eq!(drive().time_of(&fits), Some(Nanos::secs(20 * 86_400)));
    assert!(drive().time_of(&once(0)) == Some(JOB_TIME_MAX) && ran(&once(0)).read.ios == 2);
}

/// The mean of their gaps would have fitted; what was moved until then is not given for the whole.
#[test]
fn an_amount_that_is_not_reached_is_no_result() {
    let scale = drive().scale();
    let late = (1..40).map(|seed| Job {
        seed,
        amount: Some(Bytes(47 * 4096 * scale)),
        ..job(Rw::RandWrite, Arrival::Poisson(TWO_A_DAY))
    });
    let refused: Vec<String> = late.filter_map(|job| run(&job).err().map(|e| e.to_string())).collect();
    assert!(!refused.is_empty() && refused.iter().all(|text| text.contains("not done after 26 d")), "{refused:?}");
}
