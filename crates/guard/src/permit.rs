//! Consent in, permit out. The only place that makes a [`WritePermit`].

use crate::loops::{self, Backing};
use crate::machine::Machine;
use crate::snapshot::Snapshot;
use crate::stat::{self, Kind, Stat};
use crate::{DeviceNumber, FileId, GuardError, Inspection, LoopFacts, Protection, Subject, device, file, inspect};
use flashlab_units::Nanos;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// What the user allowed on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consent {
    /// The token typed after `--destroy-data`, if any. Devices need it.
    pub destroy_token: Option<String>,
    /// Whether `--overwrite` was given. Files that flashlab did not create need it.
    pub overwrite: bool,
}

/// The right to write to one object, for as long as this value lives.
///
/// It holds the object: a loop device is open exclusively, so that nothing can mount it, make it
/// swap, or build on it, and its file stays attached; a file carries a lock, and so does the file behind a
/// loop device, so that no second run takes it by either name. Open the target by its path *without* `O_EXCL`, keep the permit, and pass every opened
/// file through [`WritePermit::check`] before the first write.
#[derive(Debug)]
pub struct WritePermit {
    path: PathBuf,
    identity: String,
    object: Object,
    /// What holds the object. A file's is open for writing, so that it can be made larger.
    claim: File,
    /// The locked file behind a loop device; `None` where it has no name any more.
    _backing: Option<File>,
}

/// Exactly what may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Object {
    File { id: FileId, created: Option<Nanos> },
    Loop { name: String, number: DeviceNumber, backing: Backing, disk_sequence: Option<u64> },
}

/// Turns an inspection and the user's consent into a permit. Looks again first: what the permit says
/// rests on the facts of this moment, and must still be about the same object.
///
/// # Errors
/// [`GuardError::Refused`] with every reason that the consent doesn't remove,
/// [`GuardError::TokenMissing`] and [`GuardError::TokenWrong`] for devices,
/// [`GuardError::Changed`] if the path leads elsewhere than at the inspection,
/// [`GuardError::InUse`] if another process has it, [`GuardError::Missing`] if nothing is there.
pub fn permit(inspection: &Inspection, consent: &Consent) -> Result<WritePermit, GuardError> {
    let now = inspect(&inspection.path)?;
    if now.identity() != inspection.identity() {
        return Err(GuardError::Changed {
            path: inspection.path.clone(),
            was: inspection.identity_text(),
            now: now.identity_text(),
        });
    }
    grant(&now, consent)
}

/// As [`permit`], on an inspection that was made just now.
pub(crate) fn grant(now: &Inspection, consent: &Consent) -> Result<WritePermit, GuardError> {
    refuse_protected(now, consent)?;
    let (claim, object, held) = match &now.subject {
        Subject::Missing { .. } => return Err(GuardError::Missing { path: now.path.clone() }),
        Subject::File(facts) => (claim_file(&now.path)?, Object::File { id: facts.id, created: facts.created }, None),
        Subject::LoopDevice(facts) => {
            check_token(now, consent)?;
            let claim = claim_device(&now.path)?;
            let backing = loops::status(&claim).map_err(|error| GuardError::look(&now.path, error))?;
            // What was read through the claim must be what was inspected before it.
            let same = backing.id == facts.backing_id
                && (backing.offset, backing.size_limit) == (facts.offset, facts.size_limit)
                && backing.device.is_none();
            if !same {
                return Err(not_the_object(
                    &now.path,
                    now.identity_text(),
                    format!("{} over {}", facts.name, backing.id),
                ));
            }
            let (name, number) = (facts.name.clone(), facts.number);
            let held = claim_backing(&now.path, facts)?;
            (claim, Object::Loop { name, number, backing, disk_sequence: facts.disk_sequence }, held)
        }
        // All of these carry a protection, and have been refused above.
        Subject::BlockDevice(_) | Subject::Directory | Subject::Other(_) => {
            return Err(GuardError::Refused { path: now.path.clone(), reasons: now.protections.clone() });
        }
    };
    let (path, identity) = (now.path.clone(), now.identity_text());
    let permit = WritePermit { path, identity, object, claim, _backing: held };
    permit.check(&permit.claim)?;
    Ok(permit)
}

/// Refuses what is protected by more than the consent removes.
pub(crate) fn refuse_protected(now: &Inspection, consent: &Consent) -> Result<(), GuardError> {
    let stands = |reason: &&Protection| !(consent.overwrite && reason.overridable_by.is_some());
    let reasons: Vec<Protection> = now.protections.iter().filter(stands).cloned().collect();
    if reasons.is_empty() { Ok(()) } else { Err(GuardError::Refused { path: now.path.clone(), reasons }) }
}

fn check_token(now: &Inspection, consent: &Consent) -> Result<(), GuardError> {
    match (&consent.destroy_token, now.token()) {
        (Some(given), Some(token)) if *given == token => Ok(()),
        (Some(given), _) => Err(GuardError::TokenWrong { path: now.path.clone(), given: given.clone() }),
        (None, _) => Err(GuardError::TokenMissing { path: now.path.clone() }),
    }
}

/// Opens a file for writing, without writing, and locks it against other runs.
fn claim_file(path: &Path) -> Result<File, GuardError> {
    let open = || {
        let handle = stat::handle(path)?;
        if Stat::of(&handle)?.kind != Kind::Regular {
            return Err(io::Error::other("it is no regular file any more"));
        }
        stat::reopen(&handle, OFlags::RDWR)
    };
    let file = open().map_err(|error| GuardError::io("open it for writing", path, error))?;
    lock(&file, path, || "another run has locked the file".to_owned())?;
    Ok(file)
}

/// Locks the file behind a loop device, which a run may have taken by its own name before it was attached.
/// `None` where its name no longer leads to it, so that no run can take it by that.
fn claim_backing(path: &Path, facts: &LoopFacts) -> Result<Option<File>, GuardError> {
    let file = &facts.backing_file;
    let Ok(handle) = stat::handle(file) else { return Ok(None) };
    if Stat::of(&handle).map_err(|error| GuardError::look(file, error))?.id != facts.backing_id {
        return Ok(None);
    }
    // Network file systems lock only what is open for writing; a user of the device may have no right to that.
    let opened = stat::reopen(&handle, OFlags::RDWR).or_else(|_| stat::reopen(&handle, OFlags::RDONLY));
    let opened = opened.map_err(|error| GuardError::io("open the file behind the device to lock it", file, error))?;
    lock(&opened, path, || format!("another run has locked the file behind it, {}", file.display()))?;
    Ok(Some(opened))
}

/// Locks a file against other runs; a refusal names `path`, and says by `holder` who has it.
fn lock(file: &File, path: &Path, holder: impl FnOnce() -> String) -> Result<(), GuardError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(GuardError::InUse { path: path.to_owned(), holder: holder() }),
        // Some network file systems have no locks; the lock only keeps two runs apart.
        Err(TryLockError::Error(error)) if has_no_locks(&error) => Ok(()),
        Err(TryLockError::Error(error)) => Err(GuardError::io("lock it", path, error)),
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || Errno::from_io_error(error) == Some(Errno::NOLCK)
}

/// Opens a device exclusively. The kernel refuses this while anything has the device mounted, as
/// swap or as a member, also where the mount can't be seen from here, as in a container.
fn claim_device(path: &Path) -> Result<File, GuardError> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(File::from(fd)),
        Err(Errno::BUSY) => Err(GuardError::InUse {
            path: path.to_owned(),
            holder: "the kernel holds it for another run, or for a mount that can't be seen from here".to_owned(),
        }),
        Err(error) => Err(GuardError::io("open it exclusively", path, error.into())),
    }
}

fn not_the_object(path: &Path, permitted: String, opened: String) -> GuardError {
    GuardError::NotTheObject { path: path.to_owned(), permitted, opened }
}

impl WritePermit {
    /// Makes sure that an opened file is the very object that may be written, and that nothing has
    /// begun to use it meanwhile. Call it on every file opened for writing, before the first write.
    ///
    /// # Errors
    /// [`GuardError::NotTheObject`] if it is something else, [`GuardError::Refused`] if it is now
    /// mounted, held, swap or attached.
    pub fn check(&self, file: &File) -> Result<(), GuardError> {
        let stat = Stat::of(file).map_err(|error| GuardError::look(&self.path, error))?;
        let machine = Machine::real();
        let reasons = match &self.object {
            Object::File { id, created } => {
                if stat.kind != Kind::Regular || (stat.id, stat.created) != (*id, *created) {
                    return Err(self.mismatch(describe(&stat)));
                }
                file::uses(&Snapshot::take(&machine)?, &self.path, *id)
            }
            Object::Loop { name, number, backing, disk_sequence } => {
                if stat.kind != Kind::Block || stat.device != *number {
                    return Err(self.mismatch(describe(&stat)));
                }
                let shows = loops::status(file).map_err(|error| GuardError::look(&self.path, error))?;
                if shows != *backing || machine.disk_sequence(name) != *disk_sequence {
                    return Err(self.mismatch(format!("{name} over another file ({})", shows.id)));
                }
                device::uses_of_loop(&Snapshot::take(&machine)?, name)
            }
        };
        if reasons.is_empty() { Ok(()) } else { Err(GuardError::Refused { path: self.path.clone(), reasons }) }
    }

    /// The path that was inspected.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who may be written, for people and for the record of a run.
    pub fn identity_text(&self) -> &str {
        &self.identity
    }

    /// The file that the permit holds open.
    pub(crate) fn claim(&self) -> &File {
        &self.claim
    }

    fn mismatch(&self, opened: String) -> GuardError {
        not_the_object(&self.path, self.identity.clone(), opened)
    }
}

/// What an opened file is, for the message that it is the wrong one.
fn describe(stat: &Stat) -> String {
    match stat.kind {
        Kind::Regular => format!("file {} inode {}", stat.id.device, stat.id.inode),
        Kind::Block => format!("block device {}", stat.device),
        Kind::Directory => "a directory".to_owned(),
        Kind::Other(what) => format!("a {what}"),
    }
}
