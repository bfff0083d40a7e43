//! The requests of one thread, cut to the amount asked for.
//!
//! Wraps the job's [`RequestStream`]: it ends after the thread's share of the amount, after the passes
//! or after a list that is played once, and adds what equal slices leave out of a whole pass. It must
//! not touch the target.

use flashlab_spec::{Job, Pattern, ReplayEnd, Rw, SpecError};
use flashlab_units::Bytes;
use flashlab_workload::{Direction, Request, RequestStream};

/// One thread's requests, in order.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    stream: RequestStream,
    /// Requests still to take from the stream before [`Source::turn`] decides.
    left: u64,
    rest: Rest,
}

/// What comes after [`Source::left`].
#[derive(Debug, Clone)]
enum Rest {
    /// Passes over a slice of equal requests, and at the end one shorter request.
    Slices(Slices),
    /// The stream up to its own end or to so many bytes, whichever comes first.
    Metered { bytes_left: u64, has_end: bool },
}

#[derive(Debug, Clone)]
struct Slices {
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
    /// The requests of thread `index` of a validated `job` on a target with this logical block.
    pub(crate) fn new(job: &Job, index: u32, logical_block: Bytes) -> Self {
        let stream = RequestStream::new(job, index);
        let has_end = job.passes.is_some() || job.replay.as_ref().is_some_and(|r| r.end == ReplayEnd::Once);
        // A mix has no direction for what equal slices leave out.
        let is_plain = job.pattern == Pattern::default() && job.replay.is_none() && job.rw != Rw::ReadWrite;
        if has_end || (!is_plain && job.amount.is_some()) {
            // Each thread moves an equal share in blocks, the first ones take what is left over.
            let share = |Bytes(amount): Bytes| {
                let is_whole = job.pattern.sizes.is_none() && amount.is_multiple_of(job.bs.0);
                let block = if is_whole { job.bs.0 } else { logical_block.0 };
                let (blocks, jobs) = (amount / block, u64::from(job.numjobs));
                (blocks / jobs + u64::from(u64::from(index) < blocks % jobs)) * block
            };
            let bytes_left = job.amount.map_or(u64::MAX, share);
            return Source { stream, left: 0, rest: Rest::Metered { bytes_left, has_end } };
        }
        let (left, slices) = Slices::new(job, u64::from(index));
        Source { stream, left, rest: Rest::Slices(slices) }
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

    /// Whether a list, passes or the amount beside them have come to their end.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        match self.rest {
            Rest::Metered { bytes_left, has_end } => bytes_left == 0 || (has_end && self.stream.is_over()),
            Rest::Slices(_) => false,
        }
    }

    /// At the end of a slice, a pass or the amount; or always, where requests are metered.
    #[inline(never)]
    fn turn(&mut self) -> Option<Request> {
        match &mut self.rest {
            Rest::Metered { bytes_left: 0, .. } => None,
            Rest::Metered { bytes_left, has_end } => {
                let request = if *has_end { self.stream.next()? } else { self.stream.next_request() };
                let length = u64::from(request.length).min(*bytes_left) as u32;
                *bytes_left -= u64::from(length);
                Some(Request { length, ..request })
            }
            Rest::Slices(slices) => slices.turn(&mut self.stream, &mut self.left),
        }
    }
}

impl Slices {
    /// Also how many requests come from the stream at first.
    fn new(job: &Job, index: u64) -> (u64, Self) {
        let mut slices = Slices { pass: 0, passes_left: 0, extras: [None; 2], extras_done: 2, short: None };
        let (Some(Bytes(amount)), jobs) = (job.amount, u64::from(job.numjobs)) else { return (u64::MAX, slices) };
        if !job.rw.is_random() && amount.is_multiple_of(job.region.length.0) {
            slices.pass = job.region.length.0 / job.bs.0 / jobs;
            slices.passes_left = amount / job.region.length.0;
            slices.extras = left_over(job, index);
            return (0, slices);
        }
        let ios = amount / job.bs.0;
        let rest = (amount % job.bs.0) as u32;
        slices.short = (index + 1 == jobs && rest > 0).then_some(rest);
        (ios / jobs + u64::from(index < ios % jobs), slices)
    }

    fn turn(&mut self, stream: &mut RequestStream, left: &mut u64) -> Option<Request> {
        while self.extras_done < self.extras.len() {
            self.extras_done += 1;
            if let Some(extra) = self.extras[self.extras_done - 1] {
                return Some(extra);
            }
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            self.extras_done = 0;
            *left = self.pass - 1;
            return Some(stream.next_request());
        }
        let length = self.short.take()?;
        Some(Request { length, ..stream.next_request() })
    }
}

/// The blocks of a region that equal slices leave out, handed out one a thread from the first on;
/// the thread after them takes the tail that is shorter than bs.
fn left_over(job: &Job, index: u64) -> [Option<Request>; 2] {
    let direction = match (job.trims(), job.rw.writes()) {
        (true, _) => Direction::Trim,
        (_, true) => Direction::Write,
        (_, false) => Direction::Read,
    };
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

/// The number in the region of the whole block that equal slices leave to thread `index`, if its passes
/// take one.
pub(crate) fn left_over_block(job: &Job, index: u32) -> Option<u64> {
    let jobs = u64::from(job.numjobs);
    let whole_passes = job.passes.is_none()
        && !job.rw.is_random()
        && job.amount.is_some_and(|amount| amount.0.is_multiple_of(job.region.length.0));
    let blocks = job.region.length.0 / job.bs.0;
    let block = blocks / jobs * jobs + u64::from(index);
    (whole_passes && block < blocks).then_some(block)
}

/// Refuses an amount that can't be moved exactly.
///
/// # Errors
/// [`SpecError::Job`] for an amount of a part of a logical block.
pub(crate) fn check_amount(job: &Job, logical_block: Bytes) -> Result<(), SpecError> {
    let refuse = |reason: String, remedy: String| SpecError::Job { workload: job.workload.clone(), reason, remedy };
    match job.amount {
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
    use flashlab_spec::{Region, Sharing, SizeRule, Sizes};

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
                let mut source = Source::new(job, i, Bytes(512));
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
        let (mut source, mut stream) = (Source::new(&job, 1, Bytes(512)), RequestStream::new(&job, 1));
        assert!((0..10_000).all(|_| source.next() == Some(stream.next_request())));
    }

    #[test]
    fn amounts_are_exact_whatever_the_sizes_and_the_place() {
        let sizes = Sizes::all(SizeRule::Range { min: Bytes(512), max: Bytes(4096), step: Bytes(512) });
        for rw in [Rw::Trim, Rw::Write, Rw::ReadWrite, Rw::RandTrim, Rw::RandRw] {
            for (sizes, sharing) in [(Some(sizes.clone()), None), (None, Some(Sharing::Shared)), (None, None)] {
                let pattern = Pattern { sizes, sharing, ..Pattern::default() };
                for amount in [512, 65_536 * 3 + 1024] {
                    let job = Job { pattern: pattern.clone(), ..job(rw, 4096, 3, 65_536, amount) };
                    assert_eq!(all(&job).iter().map(|r| u64::from(r.length)).sum::<u64>(), amount, "{rw:?}");
                }
            }
        }
    }

    #[test]
    fn passes_end_with_the_stream_or_the_amount() {
        let passes = |rw, amount| Job { amount, passes: Some(2), ..job(rw, 4096, 3, 17 * 4096 + 512, 0) };
        assert_eq!(cover(&passes(Rw::Trim, None)), vec![2; 17 * 8 + 1]);
        assert_eq!(all(&passes(Rw::RandRead, None)).len(), 2 * 3 * 17);
        let bytes = all(&passes(Rw::Write, Some(Bytes(5120)))).iter().map(|r| u64::from(r.length)).sum::<u64>();
        assert_eq!(bytes, 5120);
    }

    #[test]
    fn a_sequential_mix_moves_what_was_asked_for() {
        let requests = all(&job(Rw::ReadWrite, 4096, 1, 65_536, 2 * 65_536));
        assert_eq!(requests.len(), 32);
        assert!(Direction::ALL[..2].iter().all(|d| requests.iter().any(|r| r.direction == *d)));
    }

    #[test]
    fn amounts_that_can_not_be_exact_are_refused() {
        let says =
            |amount| check_amount(&job(Rw::Read, 4096, 1, 65_536, amount), Bytes(512)).map_err(|e| e.to_string());
        assert!(says(1000).is_err_and(|e| e.contains("use 1KiB")));
        assert!(says(1024).is_ok());
    }
}
