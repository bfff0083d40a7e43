//! What this machine grants the engine, for `doctor`. Looks only: it opens for reading and makes a
//! ring that does no I/O.

use crate::explain::{BUFFERED_REMEDY, disabled_sysctl, errno_text, ring_refused};
use crate::region::Region;
use crate::ring::{Modes, Ring};
use flashlab_target::TargetError;
use flashlab_units::Bytes;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Entries of the ring that is tried.
const RING_ENTRIES: u32 = 32;

/// What the kernel grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Kernel release, such as `6.12.41`.
    pub kernel: String,
    /// The ring, or why there is none.
    pub io_uring: Result<RingProbe, Unavailable>,
    /// O_DIRECT on the path that was asked about; `None` without a path.
    pub direct: Option<Result<DirectProbe, Unavailable>>,
    /// Limit on locked memory, which registered buffers count against unless the user may lock
    /// without limit; `None` without a limit.
    pub memlock: Option<Bytes>,
}

/// What a ring is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingProbe {
    /// Setup flags and registrations in force.
    pub features: Vec<String>,
    /// Those asked for and not granted, with the reason.
    pub refused: Vec<String>,
    /// Operations the engine uses that exist.
    pub operations: Vec<&'static str>,
    /// Operations the engine uses that don't.
    pub missing: Vec<&'static str>,
}

/// O_DIRECT was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectProbe {
    /// What was opened: the path, or the directory that a file would be created in.
    pub path: PathBuf,
    /// What offsets and lengths must be multiples of; `None` where the kernel doesn't say.
    pub offset_align: Option<Bytes>,
}

/// Something the kernel does not grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// What the kernel said.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

/// Asks the kernel what the engine would get, on `path` if one is given: a file, a device, or a place
/// where a file would be created.
pub fn probe(path: Option<&Path>) -> Probe {
    Probe {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        io_uring: probe_ring(),
        direct: path.map(probe_direct),
        memlock: getrlimit(Resource::Memlock).current.map(Bytes),
    }
}

fn probe_ring() -> Result<RingProbe, Unavailable> {
    // On its own thread: a ring belongs to the thread that made it.
    let probed = std::thread::spawn(|| {
        let mut ring = Ring::new(RING_ENTRIES, &Modes::default())?;
        ring.try_registered_ring();
        if let (Ok(file), Ok(region)) = (File::open("/dev/null"), Region::map(RING_ENTRIES, Bytes::kib(4))) {
            ring.register(&file, &region);
        }
        let (operations, missing) = ring.operations();
        Ok(RingProbe { features: ring.features, refused: ring.refused, operations, missing })
    });
    match probed.join() {
        Ok(Ok(probe)) => Ok(probe),
        Ok(Err(TargetError::NotGranted { reason, remedy, .. })) => Err(Unavailable { reason, remedy }),
        Ok(Err(other)) => Err(Unavailable { reason: other.to_string(), remedy: "see the reason".into() }),
        Err(_) => {
            let (reason, remedy) = ring_refused(&io::Error::other("the probe panicked"), disabled_sysctl());
            Err(Unavailable { reason, remedy })
        }
    }
}

fn probe_direct(path: &Path) -> Result<DirectProbe, Unavailable> {
    let (opened, file) = open_direct(path);
    let file = file.map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL | libc::EOPNOTSUPP) => Unavailable {
            reason: format!("the file system of {} refuses O_DIRECT: {}", opened.display(), errno_text(&e)),
            remedy: format!("use a path on ext4 or xfs, or {BUFFERED_REMEDY}"),
        },
        _ => Unavailable {
            reason: format!("{} can't be opened: {}", opened.display(), errno_text(&e)),
            remedy: "check the path and its permissions".into(),
        },
    })?;
    if is_in_memory(&file) {
        return Err(Unavailable {
            reason: format!("{} is kept in memory, where O_DIRECT has no meaning", opened.display()),
            remedy: format!("use a path on ext4 or xfs, or {BUFFERED_REMEDY}"),
        });
    }
    match offset_align(&file) {
        Some(Bytes(0)) => Err(Unavailable {
            reason: format!("the file system of {} does no direct I/O", opened.display()),
            remedy: format!("use a path on ext4 or xfs, or {BUFFERED_REMEDY}"),
        }),
        offset_align => Ok(DirectProbe { path: opened, offset_align }),
    }
}

/// Opens the path itself, or a nameless file in the directory it is or would be in.
fn open_direct(path: &Path) -> (PathBuf, io::Result<File>) {
    let folder = if path.is_dir() {
        path.to_owned()
    } else if path.exists() {
        let file = File::options().read(true).custom_flags(libc::O_DIRECT | libc::O_NONBLOCK).open(path);
        return (path.to_owned(), file);
    } else {
        path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
    };
    let flags = libc::O_TMPFILE | libc::O_DIRECT;
    let file = File::options().read(true).write(true).mode(0o600).custom_flags(flags).open(&folder);
    (folder, file)
}

/// tmpfs and ramfs accept O_DIRECT and ignore it.
fn is_in_memory(file: &File) -> bool {
    const RAMFS_MAGIC: libc::__fsword_t = 0x8584_58f6;
    rustix::fs::fstatfs(file).is_ok_and(|fs| [libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&fs.f_type))
}

fn offset_align(file: &File) -> Option<Bytes> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let stat = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let said = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    said.then_some(Bytes(u64::from(stat.stx_dio_offset_align)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_for_a_new_file_is_probed_without_a_trace() {
        // Beside this program, which is on a disk; /tmp may be kept in memory.
        let program = std::env::current_exe().expect("program");
        let folder = tempfile::tempdir_in(program.parent().expect("its folder")).expect("folder");
        let probe = probe(Some(&folder.path().join("not-there-yet")));
        assert!(!probe.kernel.is_empty());
        let direct = probe.direct.expect("a path was given");
        assert!(direct.is_ok_and(|d| d.path == folder.path()));
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
    }

    #[test]
    fn memory_is_not_direct() {
        let refused = probe_direct(Path::new("/dev/shm")).expect_err("tmpfs");
        assert!(refused.reason.contains("memory") || refused.reason.contains("O_DIRECT"), "{refused:?}");
        assert!(refused.remedy.contains("--buffered"));
    }

    #[test]
    fn a_ring_says_what_it_has() {
        match probe(None).io_uring {
            Ok(ring) => {
                assert_eq!(ring.features.len() + ring.refused.len(), 7, "{ring:?}");
                assert!(ring.operations.contains(&"READ_FIXED"), "{ring:?}");
            }
            Err(refused) => assert!(refused.remedy.contains("psync"), "{refused:?}"),
        }
    }
}
