//! What can go wrong, each with the place and the remedy.

use crate::Protection;
use flashlab_units::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// Why something was not looked at, not created or not permitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The system refused an operation.
    #[error("{}: could not {action}: {source}\n  {remedy}", path.display())]
    Io {
        /// What was being done, such as `look at it`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
        /// What to do about it.
        remedy: String,
    },
    /// The folder of a path that is to be created does not exist.
    #[error("{}: the folder {} does not exist\n  create it with mkdir -p, or correct the path", path.display(), parent.display())]
    NoParent {
        /// The path as given.
        path: PathBuf,
        /// The folder that is missing.
        parent: PathBuf,
    },
    /// A symbolic link leads to nothing.
    #[error("{}: a symbolic link to {}, which does not exist\n  correct the link, or name the file itself", path.display(), target.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
        /// Where it points.
        target: PathBuf,
    },
    /// A loop device with no file behind it.
    #[error("{}: a loop device with no file attached\n  attach one with losetup {} FILE, or name the file itself", path.display(), path.display())]
    NoBackingFile {
        /// The loop device.
        path: PathBuf,
    },
    /// There is nothing to write to yet.
    #[error("{}: does not exist\n  add --size, such as --size 1G, to create it", path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// A new file was asked for where something is.
    #[error("{}: exists already; a new file is never put in the place of another\n  name a path that is free", path.display())]
    Exists {
        /// The path as given.
        path: PathBuf,
    },
    /// It is protected. The reasons are all that were found.
    #[error("{}: refused, nothing was written{}", path.display(), list(reasons))]
    Refused {
        /// The path as given.
        path: PathBuf,
        /// What protects it, the gravest first.
        reasons: Vec<Protection>,
    },
    /// A device was to be overwritten without its token.
    #[error("{}: all data on this device would be lost, and its --destroy-data TOKEN was not given\n  run `flashlab plan SUITE --on {}`, or repeat a load with --plan, to see what would be written and the token; tokens of several go together, --destroy-data A,B", path.display(), path.display())]
    TokenMissing {
        /// The device.
        path: PathBuf,
    },
    /// The token given is not the token of this device.
    #[error("{}: `{given}` is not the token of this device as it is now; another file may be attached\n  run `flashlab plan SUITE --on {}`, or repeat a load with --plan, to see what would be written and the token", path.display(), path.display())]
    TokenWrong {
        /// The device.
        path: PathBuf,
        /// What was typed.
        given: String,
    },
    /// The path led to one thing when it was inspected and to another afterwards.
    #[error("{}: refused, it changed since it was inspected\n  then: {was}\n  now: {now}\n  run the plan again and read what it says", path.display())]
    Changed {
        /// The path as given.
        path: PathBuf,
        /// Identity at the inspection.
        was: String,
        /// Identity afterwards.
        now: String,
    },
    /// An opened file is not the object that a permit names.
    #[error("{}: the opened file is not what the permit names\n  permitted: {permitted}\n  opened: {opened}\n  nothing was written; something replaced it while it was being opened", path.display())]
    NotTheObject {
        /// The path of the permit.
        path: PathBuf,
        /// What the permit names.
        permitted: String,
        /// What was opened.
        opened: String,
    },
    /// Another process has it.
    #[error("{}: refused, it is in use: {holder}\n  wait for the other to end, or name another target", path.display())]
    InUse {
        /// The path as given.
        path: PathBuf,
        /// Who has it, as far as that is known.
        holder: String,
    },
    /// The size asked for can't be had.
    #[error("{}: {} was asked for and can't be: {reason}\n  {remedy}", path.display(), size.exact())]
    Size {
        /// The path as given.
        path: PathBuf,
        /// The size asked for.
        size: Bytes,
        /// Why not.
        reason: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Not enough space. What was begun has been removed.
    #[error("{}: {}\n  nothing was left behind; free some space, or give a smaller --size", path.display(), shortage(*needed, *free, *missing, file_system))]
    NoSpace {
        /// The path as given.
        path: PathBuf,
        /// Name of the file system.
        file_system: String,
        /// Bytes still to be reserved.
        needed: Bytes,
        /// Bytes free for this user; `None` if unknown.
        free: Option<Bytes>,
        /// Bytes short; `None` if unknown, as with a quota.
        missing: Option<Bytes>,
    },
}

/// The reasons, one a line, each with its remedy.
fn list(reasons: &[Protection]) -> String {
    reasons.iter().map(|reason| format!("\n  - {}\n    {}", reason.detail, reason.remedy())).collect()
}

/// What is needed, what there is, and the difference.
fn shortage(needed: Bytes, free: Option<Bytes>, missing: Option<Bytes>, file_system: &str) -> String {
    let free = free.map_or("how much is free is unknown".to_owned(), |free| format!("{free} free"));
    let missing = missing.map_or("its space ran out".to_owned(), |missing| format!("{missing} missing"));
    format!("out of space on this {file_system} file system: {needed} needed, {free}, {missing}")
}

impl GuardError {
    /// A failed system call, with the remedy that fits the error.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let remedy = remedy(path, &source);
        GuardError::Io { action, path: path.to_owned(), source, remedy }
    }

    /// A path that could not even be looked at.
    pub(crate) fn look(path: &Path, source: io::Error) -> Self {
        GuardError::io("look at it", path, source)
    }
}

/// What helps against a system error.
fn remedy(path: &Path, error: &io::Error) -> String {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => match blocked_at(path) {
            Some(folder) => format!("you may not enter {}; ask its owner, or run as a user who may", folder.display()),
            None => "run as a user who may, or ask the owner for permission".to_owned(),
        },
        Some(Errno::LOOP) => {
            "the symbolic links go round in a circle; correct them, or name the file itself".to_owned()
        }
        Some(Errno::NOENT) => "check the spelling of the path".to_owned(),
        Some(Errno::NOTDIR) => "a part of the path is a file, not a folder; correct the path".to_owned(),
        Some(Errno::NAMETOOLONG) => "use a shorter path".to_owned(),
        Some(Errno::ROFS) => "the file system is mounted read-only; name a path on a writable one".to_owned(),
        Some(Errno::TXTBSY) => "the file is being executed or is in use as swap; name another file".to_owned(),
        Some(Errno::DQUOT) => "your disk quota is used up; free some space, or give a smaller --size".to_owned(),
        _ => "check that the path is on a healthy, mounted file system".to_owned(),
    }
}

/// The first folder of a path that can't be searched.
fn blocked_at(path: &Path) -> Option<PathBuf> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).collect();
    folders.reverse();
    folders.into_iter().find(|f| rustix::fs::access(*f, rustix::fs::Access::EXEC_OK).is_err()).map(Path::to_owned)
}
