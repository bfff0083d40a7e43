//! New files, and more room for files that are there. Whatever fails leaves nothing behind.

use crate::permit::{grant, refuse_protected};
use crate::stat::{self, Stat};
use crate::{Consent, FileFacts, FileId, GuardError, Inspection, Subject, WritePermit, file, inspect, mark};
use flashlab_units::Bytes;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::path::Path;

/// Creates a new file of this size with all its space reserved, marked as created by flashlab, and
/// gives the permit to write it. Never touches a file that is there.
///
/// # Errors
/// [`GuardError::Exists`] if something is there, [`GuardError::NoSpace`] with what is missing,
/// [`GuardError::Size`] for a size that can't be had, [`GuardError::Refused`] and
/// [`GuardError::Io`] where no file can be made. In every case what was made has been removed.
pub fn create_file(path: &Path, size: Bytes) -> Result<(Inspection, WritePermit), GuardError> {
    let before = inspect(path)?;
    let Subject::Missing { parent, free } = &before.subject else {
        return Err(GuardError::Exists { path: path.to_owned() });
    };
    refuse_protected(&before, &Consent::default())?;
    check_size(path, size)?;
    check_space(path, parent, size, *free)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let file = match rustix::fs::open(&before.resolved, flags, mode) {
        Ok(fd) => File::from(fd),
        Err(Errno::EXIST) => return Err(GuardError::Exists { path: path.to_owned() }),
        Err(error) => return Err(GuardError::io("create it", path, error.into())),
    };
    let made = Stat::of(&file).map_err(|error| GuardError::look(path, error))?;
    let remains = Remains { path: &before.resolved, id: made.id, keep: false };
    // Marked before it is filled: if this process is killed in between, the file is known as ours.
    mark::write(&file, &made).map_err(|error| GuardError::io("mark it as ours", path, error))?;
    reserve(&file, path, size, parent)?;
    // Closed before the permit opens and locks it.
    drop(file);
    let (inspection, permit) = take(path, made.id)?;
    remains.keep();
    Ok((inspection, permit))
}

/// Makes a file at least this large, with all its space reserved, holes included, and gives the
/// permit to write it. A file that is larger stays as it is.
///
/// # Errors
/// As [`create_file`] and [`crate::permit()`]; [`GuardError::Missing`] if nothing is there. A file that
/// could not be grown has its old size again, and so has one whose [`Growth`] is not kept.
pub fn extend_file(
    path: &Path,
    size: Bytes,
    consent: &Consent,
) -> Result<(Inspection, WritePermit, Growth), GuardError> {
    let before = inspect(path)?;
    let permit = grant(&before, consent)?;
    let Subject::File(facts) = &before.subject else {
        return Err(GuardError::Size {
            path: path.to_owned(),
            size,
            reason: "only a regular file can be made larger".to_owned(),
            remedy: "leave --size away, or give one that fits the device",
        });
    };
    check_size(path, size)?;
    let wanted = size.max(facts.size);
    check_space(path, &before.resolved, missing(facts, wanted), facts.free)?;
    let file = permit.claim();
    if let Err(error) = reserve(file, path, wanted, &before.resolved) {
        // The file is as large as before, or larger by what could be reserved.
        file.set_len(facts.size.0).map_err(|error| GuardError::io("give it its old size again", path, error))?;
        return Err(error);
    }
    let growth = Growth { file: file.try_clone().map_err(|error| GuardError::look(path, error))?, was: facts.size };
    Ok((inspect(path)?, permit, growth))
}

/// What a file was made larger by. Dropped, it gives the file its old size again, unless it is kept.
#[derive(Debug)]
#[must_use = "dropped, it makes the file as small as it was"]
pub struct Growth {
    /// The claim of the permit, whose lock lasts as long as this.
    file: File,
    was: Bytes,
}

impl Growth {
    /// The file stays as large as it is.
    pub fn keep(mut self) {
        self.was = Bytes(u64::MAX);
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        let is_larger = self.file.metadata().is_ok_and(|found| found.len() > self.was.0);
        if is_larger {
            // The error that led here is the one to report.
            let _ = self.file.set_len(self.was.0);
        }
    }
}

/// Space that is still to be reserved.
fn missing(facts: &FileFacts, wanted: Bytes) -> Bytes {
    Bytes(wanted.0.saturating_sub(facts.allocated.0))
}

/// A look at what was created, and its permit. A file system without attributes can't keep the mark,
/// but there is no doubt about a file that was made a moment ago.
fn take(path: &Path, made: FileId) -> Result<(Inspection, WritePermit), GuardError> {
    let now = inspect(path)?;
    if !matches!(&now.subject, Subject::File(facts) if facts.id == made) {
        let was = "the file just created".to_owned();
        return Err(GuardError::Changed { path: path.to_owned(), was, now: now.identity_text() });
    }
    let permit = grant(&now, &Consent { destroy_token: None, overwrite: true })?;
    Ok((now, permit))
}

/// Sizes that no file can have, and sizes beyond this process's limit. Exceeding the limit would end
/// the process with a signal instead of an error.
fn check_size(path: &Path, size: Bytes) -> Result<(), GuardError> {
    check_size_within(path, size, getrlimit(Resource::Fsize).current)
}

fn check_size_within(path: &Path, size: Bytes, limit: Option<u64>) -> Result<(), GuardError> {
    let refuse =
        |reason: &str, remedy| GuardError::Size { path: path.to_owned(), size, reason: reason.to_owned(), remedy };
    if size == Bytes::ZERO {
        return Err(refuse("an empty file can't be tested", "give a --size above zero, such as --size 1G"));
    }
    if i64::try_from(size.0).is_err() {
        return Err(refuse("no file is that large", "give a smaller --size"));
    }
    match limit {
        Some(limit) if size.0 > limit => Err(refuse(
            &format!("this process may not make files above {}", Bytes(limit).exact()),
            "raise the limit with ulimit -f, or give a smaller --size",
        )),
        _ => Ok(()),
    }
}

/// Asks before it is tried, so that a file system isn't filled to the brim and emptied again.
fn check_space(path: &Path, beside: &Path, needed: Bytes, free: Option<Bytes>) -> Result<(), GuardError> {
    match free {
        Some(free) if needed > free => Err(no_space(path, beside, needed, Some(free))),
        _ => Ok(()),
    }
}

/// `beside` is something on the same file system.
fn no_space(path: &Path, beside: &Path, needed: Bytes, free: Option<Bytes>) -> GuardError {
    let missing = free.and_then(|free| needed.0.checked_sub(free.0)).filter(|short| *short > 0).map(Bytes);
    GuardError::NoSpace { path: path.to_owned(), file_system: file::file_system_at(beside), needed, free, missing }
}

/// Reserves space from the start to `size`. `beside` is something on the same file system.
fn reserve(file: &File, path: &Path, size: Bytes, beside: &Path) -> Result<(), GuardError> {
    let had = Stat::of(file).map(|stat| stat.allocated).unwrap_or_default();
    let Err(error) = rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size.0) else { return Ok(()) };
    let refuse =
        |reason: &str, remedy| GuardError::Size { path: path.to_owned(), size, reason: reason.to_owned(), remedy };
    Err(match error {
        Errno::NOSPC => {
            // What was reserved before the space ran out goes back in a moment, and counts as free.
            let taken = Stat::of(file).map(|stat| stat.allocated.0.saturating_sub(had.0)).unwrap_or_default();
            let free = stat::free(beside).map(|free| Bytes(free.0.saturating_add(taken)));
            no_space(path, beside, Bytes(size.0.saturating_sub(had.0)), free)
        }
        Errno::DQUOT => refuse("the disk quota is used up", "free some space, or give a smaller --size"),
        Errno::FBIG => refuse("the file system has no files that large", "give a smaller --size"),
        Errno::OPNOTSUPP => refuse(
            "the file system can't reserve space, so a run could end half way",
            "fill a file yourself (dd if=/dev/zero of=PATH bs=1M) and name it with --overwrite",
        ),
        other => GuardError::io("reserve its space", path, other.into()),
    })
}

/// Removes a file that was begun, unless it is kept. Removes nothing that has taken its place.
struct Remains<'a> {
    path: &'a Path,
    id: FileId,
    keep: bool,
}

impl Remains<'_> {
    fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Remains<'_> {
    fn drop(&mut self) {
        if !self.keep && Stat::at(self.path).is_ok_and(|stat| stat.id == self.id) {
            // The error that led here is the one to report.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

#[cfg(test)]
#[path = "create_tests.rs"]
mod tests;
