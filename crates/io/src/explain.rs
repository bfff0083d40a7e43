//! From an error number to what it means here and what to do about it.

use flashlab_target::TargetError;
use std::io;
use std::path::Path;

/// How a person asks for the other engine.
pub(crate) const PSYNC_REMEDY: &str = "ask for the psync engine (--engine psync, iodepth 1 only)";
/// How a person asks for a run through the page cache.
pub(crate) const BUFFERED_REMEDY: &str = "use --buffered to measure through the page cache and have the result say so";

/// The names of error numbers that I/O returns; what results call them.
const NAMES: [(i32, &str); 32] = [
    (libc::EIO, "EIO"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EFBIG, "EFBIG"),
    (libc::ENXIO, "ENXIO"),
    (libc::ENODEV, "ENODEV"),
    (libc::EREMOTEIO, "EREMOTEIO"),
    (libc::EILSEQ, "EILSEQ"),
    (libc::ENODATA, "ENODATA"),
    (libc::EBADE, "EBADE"),
    (libc::ENOLINK, "ENOLINK"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ETIME, "ETIME"),
    (libc::EINVAL, "EINVAL"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::EINTR, "EINTR"),
    (libc::EBUSY, "EBUSY"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EFAULT, "EFAULT"),
    (libc::EROFS, "EROFS"),
    (libc::EPERM, "EPERM"),
    (libc::EACCES, "EACCES"),
    (libc::EBADF, "EBADF"),
    (libc::ESTALE, "ESTALE"),
    (libc::ECANCELED, "ECANCELED"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::ECONNABORTED, "ECONNABORTED"),
    (libc::EPROTO, "EPROTO"),
    (libc::EOVERFLOW, "EOVERFLOW"),
    (libc::ENOENT, "ENOENT"),
];

/// The name of an error number, such as `EIO`.
pub(crate) fn errno_name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| format!("errno-{errno}"), |(_, name)| (*name).to_owned())
}

/// Name and text of a system error, for a reason.
pub(crate) fn errno_text(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |errno| format!("{} ({error})", errno_name(errno)))
}

/// Why `io_uring_setup` failed and what to do, given what the sysctl `kernel.io_uring_disabled`
/// says (`None` where there is no such file, before Linux 6.6).
pub(crate) fn ring_refused(error: &io::Error, disabled: Option<u8>) -> (String, String) {
    match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), Some(2)) => (
            "it is switched off by the sysctl kernel.io_uring_disabled = 2".into(),
            format!("set it to 0 as root (sysctl -w kernel.io_uring_disabled=0), or {PSYNC_REMEDY}"),
        ),
        (Some(libc::EPERM), Some(1)) => (
            "the sysctl kernel.io_uring_disabled = 1 allows it only to CAP_SYS_ADMIN and kernel.io_uring_group".into(),
            format!("run as root, join that group, set the sysctl to 0, or {PSYNC_REMEDY}"),
        ),
        (Some(libc::EPERM), _) => (
            "io_uring_setup is not permitted (EPERM), most often by the seccomp filter of a container".into(),
            format!("run with a seccomp profile that allows io_uring, or {PSYNC_REMEDY}"),
        ),
        (Some(libc::ENOSYS), _) => (
            "io_uring_setup does not exist (ENOSYS): the kernel is built without it, or a seccomp filter hides it"
                .into(),
            format!("use a kernel with CONFIG_IO_URING, outside such a filter, or {PSYNC_REMEDY}"),
        ),
        (Some(libc::ENOMEM), _) => (
            "there is not enough memory, or the limit on locked memory is too low (ENOMEM)".into(),
            format!("raise it with `ulimit -l`, use a smaller iodepth or numjobs, or {PSYNC_REMEDY}"),
        ),
        (Some(libc::EMFILE | libc::ENFILE), _) => {
            ("too many files are open".into(), "raise the limit with `ulimit -n`, or use a smaller numjobs".into())
        }
        _ => (errno_text(error), format!("use another kernel, or {PSYNC_REMEDY}")),
    }
}

/// Why a ring could not be had, as the seam's error.
pub(crate) fn ring_error(error: &io::Error) -> TargetError {
    let (reason, remedy) = ring_refused(error, disabled_sysctl());
    TargetError::NotGranted { what: "io_uring", reason, remedy }
}

/// The sysctl `kernel.io_uring_disabled`, where the kernel has it.
pub(crate) fn disabled_sysctl() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

/// Why the target could not be opened.
pub(crate) fn open_error(path: &Path, error: io::Error, direct: bool) -> TargetError {
    if direct && error.raw_os_error() == Some(libc::EINVAL) {
        return direct_refused(path, "the file system refuses O_DIRECT on open (EINVAL)".into());
    }
    let remedy = match error.raw_os_error() {
        Some(libc::ENOENT) => "check the path; what writes creates a file where --size is given",
        Some(libc::EACCES | libc::EPERM) => "check its permissions and whether it is read-only, or run as root",
        Some(libc::EROFS) => "it is read-only: only jobs that read can run on it",
        Some(libc::EBUSY) => "it is mounted or held by another program; release it first",
        Some(libc::ETXTBSY) => "it is in use as a program or for swap; use another file",
        Some(libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => "the device is gone or has no medium; attach it again",
        _ => "check the path",
    };
    TargetError::Io { action: "opening", path: path.display().to_string(), source: error, remedy: remedy.into() }
}

/// O_DIRECT can't be had on this target.
pub(crate) fn direct_refused(path: &Path, reason: String) -> TargetError {
    TargetError::NotGranted {
        what: "O_DIRECT",
        reason: format!("{}: {reason}", path.display()),
        remedy: format!("use a path on ext4 or xfs, or {BUFFERED_REMEDY}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn each_way_to_lose_io_uring_says_what_to_do() {
        for (number, disabled, reason, remedy) in [
            (libc::EPERM, Some(2), "io_uring_disabled = 2", "sysctl -w kernel.io_uring_disabled=0"),
            (libc::EPERM, Some(1), "io_uring_disabled = 1", "join that group"),
            (libc::EPERM, Some(0), "seccomp", "seccomp profile"),
            (libc::EPERM, None, "seccomp", "seccomp profile"),
            (libc::ENOSYS, None, "ENOSYS", "CONFIG_IO_URING"),
            (libc::ENOMEM, Some(0), "locked memory", "ulimit -l"),
            (libc::EMFILE, Some(0), "too many files", "ulimit -n"),
            (libc::EINVAL, Some(0), "EINVAL", "another kernel"),
        ] {
            let (said, advice) = ring_refused(&errno(number), disabled);
            assert!(said.contains(reason), "{number}: {said}");
            assert!(advice.contains(remedy), "{number}: {advice}");
        }
    }

    #[test]
    fn o_direct_refused_is_no_buffered_run() {
        let refused = open_error(Path::new("/x"), errno(libc::EINVAL), true);
        assert!(
            matches!(&refused, TargetError::NotGranted { what: "O_DIRECT", remedy, .. } if remedy.contains("--buffered"))
        );
        assert!(matches!(open_error(Path::new("/x"), errno(libc::EINVAL), false), TargetError::Io { .. }));
        let text = open_error(Path::new("/x"), errno(libc::EBUSY), true).to_string();
        assert!(text.contains("opening /x") && text.contains("mounted or held"), "{text}");
    }

    #[test]
    fn unknown_numbers_keep_their_number() {
        assert_eq!((errno_name(libc::ENOSPC), errno_name(4000)), ("ENOSPC".into(), "errno-4000".into()));
    }
}
