//! Which jobs may run at the same time on one target.

use flashlab_spec::{Job, SpecError, Verify};
use flashlab_target::TargetError;

/// Refuses jobs that would make each other's results meaningless; each was admitted alone. `has_ledger` says
/// whether verification keeps its ledger in a file.
///
/// # Errors
/// [`SpecError::Job`] with what to change.
pub(crate) fn check_together(jobs: &[Job], has_ledger: bool) -> Result<(), TargetError> {
    let refuse = |job: &Job, reason: String, remedy: &str| {
        Err(TargetError::Spec(SpecError::Job { workload: job.workload.clone(), reason, remedy: remedy.into() }))
    };
    for (i, job) in jobs.iter().enumerate() {
        for other in jobs[..i].iter().chain(&jobs[i + 1..]) {
            let name = &other.workload;
            if job.verify != Verify::Off && (other.rw.writes() || other.trims()) && overlap(job, other) {
                let reason = format!(
                    "verification needs to know the one write that each block should hold, and {name} writes to the same part at the same time"
                );
                return refuse(job, reason, "give each a part of its own with offset and size, or leave verify out");
            }
            if has_ledger && job.verify != Verify::Off && other.verify != Verify::Off {
                let reason = format!("a ledger file is of one job, and {name} verifies at the same time");
                return refuse(job, reason, "let one of them verify, or leave the ledger out");
            }
            if job.rw.writes() && other.rw.writes() && job.write_hint != other.write_hint {
                let reason = format!("a target has one write hint at a time, and that of {name} is another");
                return refuse(job, reason, "give all loads that write the same write_hint, or none");
            }
        }
    }
    Ok(())
}

/// Whether the parts of the target that they use have a block in common.
fn overlap(a: &Job, b: &Job) -> bool {
    let end = |job: &Job| job.region.offset.0 + job.region.length.0;
    a.region.offset.0 < end(b) && b.region.offset.0 < end(a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw, WriteHint};
    use flashlab_units::Bytes;

    fn job(name: &str, rw: Rw, offset: u64) -> Job {
        let region = Region { offset: Bytes::mib(offset), length: Bytes::mib(4) };
        Job::new(name, rw, Bytes::kib(4), region)
    }

    fn verifying(job: Job, verify: Verify) -> Job {
        Job { verify, ..job }
    }

    #[test]
    fn what_is_verified_is_written_by_nobody_else() {
        let stamp = verifying(job("stamp", Rw::Write, 0), Verify::Stamp);
        let check = verifying(job("check", Rw::Read, 0), Verify::Check);
        for (others, has_ledger, says) in [
            (vec![stamp.clone(), job("w", Rw::RandWrite, 3)], false, Some("stamp: verification needs")),
            (vec![job("t", Rw::RandTrim, 3), check.clone()], false, Some("and t writes to the same part")),
            (vec![stamp.clone(), check.clone()], false, Some("and stamp writes to the same part")),
            (vec![stamp.clone(), job("w", Rw::RandWrite, 4)], true, None),
            (vec![stamp.clone(), job("r", Rw::RandRead, 0)], true, None),
            (vec![stamp.clone(), verifying(job("b", Rw::Write, 4), Verify::Stamp)], false, None),
            (vec![stamp, verifying(job("b", Rw::Write, 4), Verify::Stamp)], true, Some("stamp: a ledger file is of")),
            (vec![check.clone(), job("r", Rw::RandRead, 0)], true, None),
            (vec![check], true, None),
        ] {
            let found = check_together(&others, has_ledger).err().map(|e| e.to_string());
            assert_eq!(found.is_some(), says.is_some(), "{found:?}");
            assert!(says.is_none_or(|says| found.as_ref().is_some_and(|found| found.contains(says))), "{found:?}");
        }
    }

    #[test]
    fn a_target_has_one_write_hint() {
        let hinted = |job: Job| Job { write_hint: Some(WriteHint::Short), ..job };
        let both = [job("a", Rw::Write, 0), hinted(job("b", Rw::Write, 0))];
        let error = check_together(&both, false).expect_err("two hints").to_string();
        assert!(error.starts_with("a: a target has one write hint at a time, and that of b"), "{error}");
        assert!(check_together(&both.map(hinted), false).is_ok());
        assert!(check_together(&[job("r", Rw::Read, 0), hinted(job("b", Rw::Write, 0))], false).is_ok());
    }
}
