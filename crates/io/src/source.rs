//! The requests of one thread, cut to the amount asked for.
//!
//! Wraps the job's [`RequestStream`]: it ends after the thread's share of the amount and adds what
//! equal slices leave out of a whole pass. It must not touch the target.

use flashlab_spec::{Job, SpecError};
use flashlab_units::Bytes;
use flashlab_workload::{Direction, Request, RequestStream};

/// One thread's requests, in order.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    stream: RequestStream,
    /// Requests still to take from the stream before [`Source::turn`] decides.
    left: u64,
    /// Requests of the stream in one whole pass over the thread's slice.
    pass: u64,
    passes_left: u64,
    /// What equal slices leave out of a pass: at most one block and one shorter tail.
    extras: [Option<Request>; 2],
    extras_done: usize,
    /// The rest of an amount that is no multiple of bs, as one shorter request.
    short: Option<u32>,
}

impl Source {
    /// The requests of thread `index` of a validated `job`.
    pub(crate) fn new(job: &Job, index: u32) -> Self {
        let mut source = Source {
            stream: RequestStream::new(job, index),
            left: u64::MAX,
            pass: 0,
            passes_left: 0,
            extras: [None; 2],
            extras_done: 2,
            short: None,
        };
        let (Some(Bytes(amount)), jobs) = (job.amount, u64::from(job.numjobs)) else { return source };
        let whole_passes = !job.rw.is_random() && amount.is_multiple_of(job.region.length.0);
        if whole_passes {
            source.pass = job.region.length.0 / job.bs.0 / jobs;
            source.passes_left = amount / job.region.length.0;
            source.extras = left_over(job, u64::from(index));
            source.left = 0;
        } else {
            let ios = amount / job.bs.0;
            source.left = ios / jobs + u64::from(u64::from(index) < ios % jobs);
            let rest = (amount % job.bs.0) as u32;
            source.short = (index + 1 == job.numjobs && rest > 0).then_some(rest);
        }
        source
    }

    /// The next request; `None` once the thread's share of the amount was handed out.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Request> {
        if self.left > 0 {
            self.left -= 1;
            return Some(self.stream.next_request());
        }
        self.turn()
    }

    /// At the end of a slice, a pass or the amount.
    #[cold]
    fn turn(&mut self) -> Option<Request> {
        while self.extras_done < self.extras.len() {
            self.extras_done += 1;
            if let Some(extra) = self.extras[self.extras_done - 1] {
                return Some(extra);
            }
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            self.extras_done = 0;
            self.left = self.pass - 1;
            return Some(self.stream.next_request());
        }
        let length = self.short.take()?;
        Some(Request { length, ..self.stream.next_request() })
    }
}

/// The blocks of a region that equal slices leave out, handed out one a thread from the first on;
/// the thread after them takes the tail that is shorter than bs.
fn left_over(job: &Job, index: u64) -> [Option<Request>; 2] {
    let direction = if job.rw.writes() { Direction::Write } else { Direction::Read };
    let (bs, jobs) = (job.bs.0, u64::from(job.numjobs));
    let blocks = job.region.length.0 / bs;
    let (sliced, tail) = (blocks / jobs * jobs, job.region.length.0 % bs);
    let at = |block: u64, length: u64| Request {
        offset: Bytes(job.region.offset.0 + block * bs),
        length: length as u32,
        direction,
    };
    let block = (index < blocks - sliced).then(|| at(sliced + index, bs));
    let tail = (tail > 0 && index == (blocks - sliced) % jobs).then(|| at(blocks, tail));
    [block, tail]
}

/// Refuses an amount that can't be moved exactly.
///
/// # Errors
/// [`SpecError::Job`] for an amount of 0 or of a part of a logical block.
pub(crate) fn check_amount(job: &Job, logical_block: Bytes) -> Result<(), SpecError> {
    let refuse = |reason: String, remedy: String| SpecError::Job { workload: job.workload.clone(), reason, remedy };
    match job.amount {
        Some(Bytes(0)) => Err(refuse("the amount is 0".into(), format!("use at least {}", job.bs.exact()))),
        Some(amount) if !amount.0.is_multiple_of(logical_block.0) => Err(refuse(
            format!("the amount of {} is not a multiple of the logical block of {logical_block}", amount.exact()),
            format!("use {}", Bytes(amount.0.div_ceil(logical_block.0) * logical_block.0).exact()),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlab_spec::{Region, Rw};

    fn job(rw: Rw, bs: u64, numjobs: u32, length: u64, amount: u64) -> Job {
        Job {
            iodepth: 4,
            numjobs,
            amount: Some(Bytes(amount)),
            ..Job::new("w", rw, Bytes(bs), Region { offset: Bytes(8192), length: Bytes(length) })
        }
    }

    fn all(job: &Job) -> Vec<Request> {
        (0..job.numjobs)
            .flat_map(|i| {
                let mut source = Source::new(job, i);
                std::iter::from_fn(move || source.next())
            })
            .collect()
    }

    /// How often each 512 B sector of the region is touched.
    fn cover(job: &Job) -> Vec<u32> {
        let mut times = vec![0; (job.region.length.0 / 512) as usize];
        for request in all(job) {
            let first = (request.offset.0 - job.region.offset.0) / 512;
            (first..first + u64::from(request.length) / 512).for_each(|s| times[s as usize] += 1);
        }
        times
    }

    #[test]
    fn passes_cover_every_sector_equally_often_whatever_the_remainders() {
        for (bs, numjobs, length, passes) in
            [(4096, 1, 65_536, 1), (4096, 3, 65_536, 1), (4096, 5, 66_048, 1), (131_072, 4, 1_049_088, 1)]
                .into_iter()
                .chain([(8192, 7, 100_352, 3), (512, 2, 1536, 2), (4096, 4, 4 * 4096 + 512, 1)])
        {
            let times = cover(&job(Rw::Write, bs, numjobs, length, length * passes));
            assert!(times.iter().all(|n| u64::from(*n) == passes), "{bs} {numjobs} {length}: {times:?}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        for rw in [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite, Rw::RandRw] {
            for amount in [512, 4096, 4608, 65_536, 65_536 * 3 + 512, 1_000_448] {
                let job = job(rw, 4096, 3, 65_536, amount);
                assert_eq!(all(&job).iter().map(|r| u64::from(r.length)).sum::<u64>(), amount, "{rw:?}");
            }
        }
    }

    #[test]
    fn without_an_amount_it_is_the_stream() {
        let job = Job { amount: None, ..job(Rw::RandRead, 4096, 2, 65_536, 0) };
        let (mut source, mut stream) = (Source::new(&job, 1), RequestStream::new(&job, 1));
        assert!((0..10_000).all(|_| source.next() == Some(stream.next_request())));
    }

    #[test]
    fn amounts_that_can_not_be_exact_are_refused() {
        let says =
            |amount| check_amount(&job(Rw::Read, 4096, 1, 65_536, amount), Bytes(512)).map_err(|e| e.to_string());
        assert!(says(0).is_err_and(|e| e.contains("amount is 0")));
        assert!(says(1000).is_err_and(|e| e.contains("use 1KiB")));
        assert!(says(1024).is_ok());
    }
}
