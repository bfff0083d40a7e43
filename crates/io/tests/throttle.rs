//! Known answers for the whole measuring chain: a loop device that the kernel limits to so many I/Os
//! a second.
#![allow(clippy::print_stdout)]

mod common;

use common::{Loop, Throttle, little, timed};
use flashlab_samples::Ended;
use flashlab_spec::{Job, Rw};
use flashlab_target::{Target, Unobserved};
use flashlab_units::{Bytes, Nanos};

/// The controller is exact over a whole number of its slices; 10 s hold a hundred of them.
const WINDOW: Nanos = Nanos::secs(10);
const RAMP: Nanos = Nanos::secs(2);
const TOLERANCE_PERCENT: f64 = 1.0;

/// A limit means nothing to a device that is not clearly faster.
const HEADROOM: f64 = 1.5;

#[test]
fn throttled_devices_are_measured_within_one_percent() {
    let Some(device) = Loop::cached(Bytes::mib(256), 4096) else { return };
    let Some(throttle) = Throttle::new("iops") else { return };
    let mut target = common::writable(&device.device, &Default::default());
    let fill = common::once(Rw::Write, Bytes::mib(1), Bytes::mib(256));
    assert!(target.run(&fill, &mut Unobserved).expect("fill").is_clean());
    let read = Job { iodepth: 32, ..timed(Rw::RandRead, Bytes::kib(4), Bytes::mib(256), Nanos::secs(1)) };
    let free = target.run(&read, &mut Unobserved).expect("a result").iops().expect("rate").0;
    println!("without a limit: {free:.0} IOPS");
    println!("{:>8} {:>10} {:>8} {:>12} {:>12} {:>8}", "limit", "IOPS", "error %", "by Little", "integrated", "diff %");
    for limit in [500, 2_000, 20_000] {
        if free < HEADROOM * limit as f64 {
            println!("{limit:>8} skipped: this machine is too slow or too busy for it");
            continue;
        }
        throttle.limit("read_iops_device", &device.number(), limit);
        let job = Job { ramp: RAMP, runtime: Some(WINDOW), ..read.clone() };
        let result = target.run(&job, &mut Unobserved).expect("a result");
        let iops = result.iops().expect("rate").0;
        let error = 100.0 * (iops - limit as f64) / limit as f64;
        let (by_law, integrated, difference) = little(&result);
        println!("{limit:>8} {iops:>10.1} {error:>8.3} {by_law:>12.3} {integrated:>12.3} {difference:>8.3}");
        assert_eq!((result.ended, result.elapsed, result.series.intervals.len()), (Ended::Completed, WINDOW, 10));
        assert!(error.abs() <= TOLERANCE_PERCENT, "{iops} IOPS at a limit of {limit}");
        assert!(difference.abs() <= TOLERANCE_PERCENT, "in flight {by_law} by Little's law, {integrated} integrated");
    }
    throttle.limit("read_iops_device", &device.number(), 0);
}
