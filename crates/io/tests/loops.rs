//! The engine on loop devices, and faults that a real kernel injects.
#![allow(clippy::print_stdout)]

mod common;

use common::{After, Loop, Throttle, job, once, scratch, shell, timed, writable};
use flashlab_guard::{Consent, inspect, permit};
use flashlab_io::{EngineChoice, FileTarget, OpenOptions};
use flashlab_samples::{Ended, TargetKind};
use flashlab_spec::{Job, Rw};
use flashlab_target::{Target, TargetError, Unobserved};
use flashlab_units::{Bytes, Nanos};

#[test]
fn block_sizes_from_512_to_1m_on_a_512_byte_device() {
    let Some(device) = Loop::new(Bytes::mib(8), 512) else { return };
    let mut target = writable(&device.device, &OpenOptions::default());
    let identity = target.identity().clone();
    assert_eq!((identity.kind, identity.capacity), (TargetKind::LoopDevice, Bytes::mib(8)));
    assert_eq!(identity.logical_block, Bytes(512));
    for (bs, length) in [(512, 1 << 19), (1536, 1536 * 300), (4096, 1 << 21), (1 << 17, 1 << 23), (1 << 20, 1 << 23)] {
        for rw in [Rw::Write, Rw::Read, Rw::RandRw] {
            let job = Job { numjobs: 2, ..once(rw, Bytes(bs), Bytes(length)) };
            let result = target.run(&job, &mut Unobserved).expect("result");
            assert!(result.is_clean(), "{rw:?} {bs}: {:?}", result.errors);
            assert_eq!(result.bytes(), Bytes(length), "{rw:?} {bs}");
        }
    }
    drop(target);
    // The last fill wrote 1 MiB blocks over the whole device; the backing file has them.
    let mut target = writable(&device.device, &OpenOptions::default());
    let fill = once(Rw::Write, Bytes(512), Bytes::mib(8));
    assert!(target.run(&fill, &mut Unobserved).expect("result").is_clean());
    drop(target);
    let data = std::fs::read(&device.backing).expect("backing file");
    let mut blocks: Vec<&[u8]> = data.chunks(512).collect();
    assert!(blocks.iter().zip(0u64..).all(|(b, i)| b[..8] == (i * 512).to_le_bytes()));
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), 8 << 11);
}

#[test]
fn less_than_a_logical_block_is_refused() {
    let Some(device) = Loop::new(Bytes::mib(1), 4096) else { return };
    let mut target = writable(&device.device, &OpenOptions::default());
    let refused = target.run(&once(Rw::Read, Bytes(512), Bytes::mib(1)), &mut Unobserved);
    assert!(matches!(&refused, Err(TargetError::Spec(_))), "{refused:?}");
}

#[test]
fn a_device_that_loses_its_medium_fails_the_job_and_keeps_the_result() {
    let Some(device) = Loop::new(Bytes::mib(16), 4096) else { return };
    let mut target = writable(&device.device, &OpenOptions::default());
    assert!(target.run(&once(Rw::Write, Bytes::mib(1), Bytes::mib(16)), &mut Unobserved).expect("fill").is_clean());
    let cut = || {
        let backing = std::fs::File::options().write(true).open(&device.backing).expect("backing file");
        backing.set_len(4 << 20).expect("cut");
    };
    let job = Job { numjobs: 2, ..timed(Rw::RandRead, Bytes::kib(4), Bytes::mib(16), Nanos::secs(3_600)) };
    let result = target.run(&job, &mut After::act(2, cut)).expect("result");
    assert_eq!(result.ended, Ended::Failed);
    assert!(result.ios() > 0 && !result.is_clean());
    let error = &result.errors[0];
    assert_eq!(error.kind, "EIO", "{:?}", result.errors);
    assert!(error.first_offset.is_some_and(|at| at >= Bytes::mib(4)), "{error:?}");
    assert!(error.count > 0);
}

#[test]
fn a_full_file_system_is_counted_as_enospc() {
    let folder = scratch();
    let mount = folder.path().to_string_lossy().into_owned();
    if let Err(reason) = shell("mount", &["-t", "tmpfs", "-o", "size=4m", "flashlab-test", &mount]) {
        println!("skipped: no mount: {reason}");
        return;
    }
    let path = folder.path().join("t.img");
    let file = std::fs::File::create_new(&path).and_then(|f| f.set_len(16 << 20));
    let result = file.map(|()| {
        let mut target = writable(&path, &OpenOptions { direct: false, ..OpenOptions::default() });
        target.run(&once(Rw::Write, Bytes::kib(64), Bytes::mib(16)), &mut Unobserved)
    });
    let unmounted = shell("umount", &["--lazy", &mount]);
    let result = result.expect("sparse file").expect("result");
    assert_eq!(unmounted.err(), None);
    assert_eq!(result.ended, Ended::Failed);
    assert!(result.errors.iter().any(|e| e.kind == "ENOSPC"), "{:?}", result.errors);
    assert!(result.write.bytes > Bytes::ZERO && result.write.bytes < Bytes::mib(16));
}

#[test]
fn an_io_that_does_not_come_back_is_reported_with_its_age() {
    let Some(device) = Loop::new(Bytes::mib(4), 4096) else { return };
    let Some(throttle) = Throttle::new("stuck") else { return };
    let deadline = Nanos::millis(400);
    for (engine, iodepth) in [(EngineChoice::IoUring, 2), (EngineChoice::Psync, 1)] {
        let options = OpenOptions { engine, ..OpenOptions::default() };
        let mut target = writable(&device.device, &options).with_deadline(deadline);
        // One byte a second: a 4 KiB read takes more than an hour.
        throttle.limit("read_bps_device", &device.number(), 1);
        let job = Job { iodepth, ..timed(Rw::RandRead, Bytes::kib(4), Bytes::mib(4), Nanos::secs(3_600)) };
        let result = target.run(&job, &mut Unobserved).expect("result");
        throttle.limit("read_bps_device", &device.number(), 0);
        assert_eq!((result.ended, result.ios()), (Ended::Failed, 0));
        let error = &result.errors[0];
        let age = error.kind.strip_prefix("stuck-").and_then(|age| age.parse::<Nanos>().ok());
        assert!(age.is_some_and(|age| age >= deadline), "{error:?}");
        // psync sits in the kernel and can't say at which offset.
        assert_eq!(error.first_offset.is_some(), engine == EngineChoice::IoUring);
    }
}

#[test]
fn a_device_is_not_written_without_a_permit_or_through_the_wrong_one() {
    let (Some(one), Some(two)) = (Loop::new(Bytes::mib(1), 4096), Loop::new(Bytes::mib(1), 4096)) else { return };
    let mut target =
        FileTarget::open(&inspect(&one.device).expect("look"), None, &OpenOptions::default()).expect("open");
    let refused = target.run(&job(Rw::Write, Bytes::kib(4), Bytes::mib(1)), &mut Unobserved);
    // Neither run time nor amount: that is refused first; the permit is asked for only for what could run.
    assert!(matches!(&refused, Err(TargetError::Spec(_))), "{refused:?}");
    let refused = target.run(&once(Rw::Write, Bytes::kib(4), Bytes::mib(1)), &mut Unobserved);
    assert!(matches!(&refused, Err(TargetError::NotPermitted { .. })), "{refused:?}");
    let other = inspect(&two.device).expect("look");
    let consent = Consent { destroy_token: other.token(), overwrite: false };
    let wrong = permit(&other, &consent).expect("permit");
    let refused = FileTarget::open(&inspect(&one.device).expect("look"), Some(wrong), &OpenOptions::default());
    assert!(matches!(&refused, Err(TargetError::NotPermitted { .. })), "{:?}", refused.err());
}
