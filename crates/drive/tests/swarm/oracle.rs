//! Which units must be mapped and which must not, from the requests themselves.
//!
//! The stream of requests is known ([`RequestStream`]), but not how far the drive came: a job ends in the
//! middle, and of the writes before its measured window those that only filled the buffer are not
//! mapped. So the oracle takes what is certain. A thread has done at least the requests that its share of
//! the result counts, less those that were outstanding when writes began to be mapped; writes of one
//! thread are admitted in their order. With one thread, the bytes in the drive's log say how many writes
//! were admitted.

use flashlab_drive::ModelledDrive;
use flashlab_samples::JobResult;
use flashlab_spec::{Job, Region, Rw};
use flashlab_target::Target;
use flashlab_units::Bytes;
use flashlab_workload::{Direction, Request, RequestStream};

/// What is known of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Mapped,
    Unmapped,
    Nothing,
}

/// What is known of each unit of a drive.
pub(crate) struct Oracle {
    units: Vec<Known>,
    unit: u64,
    /// Whether the drive uses up its spare before the first job that is no fill, by writes of its own.
    ages: bool,
}

impl Oracle {
    pub(crate) fn new(drive: &ModelledDrive) -> Self {
        let p = &drive.profile().parameters;
        let unit = p.mapping.indirection_unit.value.0;
        let whole = Region { offset: Bytes(0), length: drive.identity().capacity };
        let user = drive.scaled_job(&Job::new("whole", Rw::Read, Bytes(unit), whole)).region.length.0;
        let units = vec![Known::Unmapped; (user / unit) as usize];
        Oracle { units, unit, ages: p.mapping.initial_free_share.value < 1.0 }
    }

    pub(crate) fn purged(&mut self) {
        self.units.fill(Known::Unmapped);
    }

    /// Compares with the drive.
    pub(crate) fn check(&self, drive: &ModelledDrive) -> Result<(), String> {
        for (i, known) in self.units.iter().enumerate() {
            let offset = i as u64 * self.unit;
            match (known, drive.is_mapped(Bytes(offset))) {
                (Known::Mapped, false) => return Err(format!("the acknowledged unit at {offset} is not mapped")),
                (Known::Unmapped, true) => return Err(format!("the unit at {offset} is mapped and holds nothing")),
                _ => {}
            }
        }
        Ok(())
    }

    /// What `job`, which gave `result` on `drive`, makes known.
    pub(crate) fn learn(&mut self, drive: &ModelledDrive, job: &Job, result: &JobResult) {
        let job = drive.scaled_job(job);
        if self.ages {
            self.units.iter_mut().filter(|k| **k == Known::Unmapped).for_each(|k| *k = Known::Nothing);
        }
        let bulk = result.ios() > result.latency().count();
        if bulk {
            self.range(job.region.offset.0, result.write.bytes.0, Known::Mapped);
        } else if !job.trims() {
            self.wrote(&job, result);
        } else if matches!(job.rw, Rw::Trim | Rw::RandTrim) {
            self.trimmed(&job, result);
        } else if job.numjobs == 1 && job.iodepth == 1 {
            self.one_after_another(&job, result);
        } else {
            // Reads and trims overtake writes that wait for room: what is last is not known.
            self.touched(&job);
        }
    }

    /// The job wrote and did not trim.
    fn wrote(&mut self, job: &Job, result: &JobResult) {
        if !job.rw.writes() {
            return;
        }
        // What is not certain to be written may be written.
        self.touched_unmapped(job);
        let real_from_first = !job.extents.is_empty();
        for (i, share) in result.shares.iter().enumerate() {
            let outstanding = u64::from(job.iodepth);
            let done = if real_from_first { share.ios } else { share.ios.saturating_sub(outstanding) };
            let writes: Vec<Request> = requests(job, i as u32, done).filter(is_write).collect();
            let finished = real_from_first && share.ios * job.bs.0 == job.extents[i].iter().map(|e| e.length.0).sum();
            let unsure = if finished { 0 } else { outstanding as usize };
            for write in writes.iter().take(writes.len().saturating_sub(unsure)) {
                self.range(write.offset.0, u64::from(write.length), Known::Mapped);
            }
        }
    }

    /// The job trimmed and did nothing else.
    fn trimmed(&mut self, job: &Job, result: &JobResult) {
        self.touched(job);
        for (i, share) in result.shares.iter().enumerate() {
            let done = share.ios.saturating_sub(u64::from(job.iodepth));
            requests(job, i as u32, done).for_each(|r| self.deallocate(&r));
        }
    }

    /// One request after another: the log says which write was the last.
    fn one_after_another(&mut self, job: &Job, result: &JobResult) {
        let before = self.units.clone();
        let mut left = result.health.and_then(|log| log.host_written).map_or(0, |b| b.0 / result.scale);
        let mut stream = RequestStream::new(job, 0);
        self.touched(job);
        if left == 0 {
            return;
        }
        // Known again is what this job's own requests settle; of the rest, what was mapped before and is
        // in no trim of it can't be told from here.
        let mut settled: Vec<Option<Known>> = vec![None; self.units.len()];
        while left > 0 {
            let request = stream.next_request();
            let units = self.units_of(&request);
            match request.direction {
                Direction::Read => {}
                Direction::Write => {
                    left = left.saturating_sub(u64::from(request.length));
                    units.for_each(|u| settled[u] = Some(Known::Mapped));
                }
                Direction::Trim => self.whole_units_of(&request).for_each(|u| settled[u] = Some(Known::Unmapped)),
            }
        }
        // Trims after the last write until the end, before the next write would have come.
        loop {
            let request = stream.next_request();
            match request.direction {
                Direction::Read => {}
                Direction::Write => break,
                Direction::Trim => self.whole_units_of(&request).for_each(|u| settled[u] = Some(Known::Nothing)),
            }
        }
        for ((now, before), settled) in self.units.iter_mut().zip(before).zip(settled) {
            *now = settled.unwrap_or(before);
        }
    }

    /// Nothing is known any more of what the job can reach.
    fn touched(&mut self, job: &Job) {
        self.range(job.region.offset.0, job.region.length.0, Known::Nothing);
    }

    fn touched_unmapped(&mut self, job: &Job) {
        let (first, end) =
            (job.region.offset.0 / self.unit, (job.region.offset.0 + job.region.length.0).div_ceil(self.unit));
        let units = self.units[first as usize..end as usize].iter_mut();
        units.filter(|known| **known == Known::Unmapped).for_each(|known| *known = Known::Nothing);
    }

    fn range(&mut self, offset: u64, length: u64, known: Known) {
        if length > 0 {
            self.units[(offset / self.unit) as usize..(offset + length).div_ceil(self.unit) as usize].fill(known);
        }
    }

    fn deallocate(&mut self, request: &Request) {
        for unit in self.whole_units_of(request) {
            self.units[unit] = Known::Unmapped;
        }
    }

    fn units_of(&self, r: &Request) -> std::ops::Range<usize> {
        (r.offset.0 / self.unit) as usize..(r.offset.0 + u64::from(r.length)).div_ceil(self.unit) as usize
    }

    fn whole_units_of(&self, r: &Request) -> std::ops::Range<usize> {
        r.offset.0.div_ceil(self.unit) as usize..((r.offset.0 + u64::from(r.length)) / self.unit) as usize
    }
}

fn is_write(request: &Request) -> bool {
    request.direction == Direction::Write
}

/// The first `count` requests of a thread.
fn requests(job: &Job, thread: u32, count: u64) -> impl Iterator<Item = Request> + use<> {
    let mut stream = RequestStream::new(job, thread);
    (0..count).map(move |_| stream.next_request())
}
