//! Where texts go: files that are whole or not there, report folders, the terminal.

use crate::exit::CliError;
use flashlab_analysis::RunRecord;
use flashlab_spec::DriveProfile;
use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The files of a report.
const PAGE: &str = "index.html";
const TABLE: &str = "results.csv";
const MANIFEST: &str = "manifest.json";

/// A folder that a report will be written into, by this process alone.
pub(crate) struct ReportFolder {
    path: PathBuf,
    /// Holds the lock on the folder.
    _lock: fs::File,
}

impl ReportFolder {
    /// Makes the folder, so that a bad path fails before anything is run. A folder that has a report
    /// is refused unless it may be replaced; one that has other files is refused in any case where a
    /// report file would take their place.
    pub(crate) fn prepare(path: &Path, replace: bool) -> Result<Self, CliError> {
        if path.exists() && !path.is_dir() {
            return Err(CliError::usage(format!("{}: not a folder", path.display()), "give --out another path"));
        }
        fs::create_dir_all(path).map_err(|source| write_error(path, "create the folder", source))?;
        let lock = lock(path)?;
        let existing = [PAGE, TABLE, MANIFEST].iter().find(|name| fs::symlink_metadata(path.join(name)).is_ok());
        if let (Some(name), false) = (existing, replace) {
            return Err(CliError::Refused {
                what: format!("{}: {name} is there already", path.display()),
                remedy: "pass --replace to overwrite the report (its store is kept), or --out DIR for another folder"
                    .into(),
            });
        }
        // Is it writable? Found out now rather than after the run.
        let probe = path.join(".flashlab-probe");
        fs::write(&probe, b"").map_err(|source| write_error(path, "write into the folder", source))?;
        let _ = fs::remove_file(&probe);
        Ok(ReportFolder { path: path.to_owned(), _lock: lock })
    }

    /// A file in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes page, table and manifest, each whole.
    pub(crate) fn write(&self, runs: &[RunRecord], profiles: &[DriveProfile], title: &str) -> anyhow::Result<()> {
        write_whole(&self.join(TABLE), &flashlab_report::results_csv(runs)?, true)?;
        write_whole(&self.join(MANIFEST), &flashlab_report::manifest_json(runs)?, true)?;
        let page = flashlab_report::html(runs, profiles, &crate::catalog::published()?, title)?;
        write_whole(&self.join(PAGE), &page, true)?;
        Ok(())
    }

    /// The files that a report is made of, as outputs.
    pub(crate) fn outputs(path: &Path) -> [PathBuf; 3] {
        [PAGE, TABLE, MANIFEST].map(|name| path.join(name))
    }

    /// Says what was written.
    pub(crate) fn announce(&self) {
        eprintln!("wrote {}, {TABLE} and {MANIFEST} beside it", self.join(PAGE).display());
    }
}

/// Locks a folder against other processes that make a report in it, until the file is dropped.
fn lock(folder: &Path) -> Result<fs::File, CliError> {
    let opened = fs::File::open(folder).map_err(|source| write_error(folder, "open the folder", source))?;
    match opened.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(CliError::Refused {
            what: format!("{}: another flashlab is making a report there", folder.display()),
            remedy: "wait until it has ended, or pass --out DIR for another folder".into(),
        }),
        // Some network file systems have no locks; the lock only keeps two of us apart.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(opened),
    }
}

/// Fails for a path that [`write_or_print`] would not write, so that this is known before a run and
/// before the first of two files is written.
pub(crate) fn check(path: &Path, replace: bool) -> Result<(), CliError> {
    if path == Path::new("-") {
        return Ok(());
    }
    if !replace && fs::symlink_metadata(path).is_ok() {
        return Err(CliError::Refused {
            what: format!("{}: exists already", path.display()),
            remedy: "pass --replace to overwrite it, or give another path".into(),
        });
    }
    let kind = match fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            return match fs::metadata(folder) {
                Ok(found) if found.is_dir() => Ok(()),
                Ok(_) => Err(write_error(path, "write it", std::io::ErrorKind::NotADirectory.into())),
                Err(source) => Err(write_error(path, "write it", source)),
            };
        }
    };
    if kind.is_block_device() {
        let what = format!("{}: a block device; its data would be lost", path.display());
        return Err(CliError::Refused { what, remedy: "give the path of a file".into() });
    }
    if kind.is_dir() {
        return Err(CliError::usage(format!("{}: a folder", path.display()), "give the path of a file in it"));
    }
    Ok(())
}

/// Fails where an output would take the place of an input, of the store or of another output, and where
/// a file that is to be replaced is a store or in use as a disk. Each is named with what it is.
pub(crate) fn keep_apart(outputs: &[(&str, &Path)], inputs: &[(&str, &Path)]) -> Result<(), CliError> {
    for (i, (what, output)) in outputs.iter().enumerate() {
        if *output == Path::new("-") {
            continue;
        }
        let others = inputs.iter().chain(&outputs[i + 1..]);
        if let Some((other, path)) = others.into_iter().find(|(_, path)| same_file(output, path)) {
            return Err(CliError::Refused {
                what: format!("{what} {} is also {other} ({})", output.display(), path.display()),
                remedy: "give each a file of its own".into(),
            });
        }
        if let Some(why) = precious(output) {
            return Err(CliError::Refused {
                what: format!("{what} {} would take the place of a file that {why}", output.display()),
                remedy: "give another path".into(),
            });
        }
    }
    Ok(())
}

/// The same file by device and inode, or, where one does not exist yet, by its resolved path.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
        return a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    let resolved = |path: &Path| {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).ok()?;
        Some(folder.join(path.file_name()?))
    };
    resolved(a).is_some_and(|a| Some(a) == resolved(b))
}

/// Why a file must not be replaced by a text, whatever the user allowed.
fn precious(path: &Path) -> Option<&'static str> {
    use flashlab_guard::ProtectionKind::{BackingFile, Mounted, Swap};
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut head = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    if read.is_ok() && head.starts_with(b"SQLite format 3\0") {
        return Some("is a store");
    }
    let seen = flashlab_guard::inspect(path).ok()?;
    let in_use = seen.protections.iter().any(|p| matches!(p.kind, Mounted | Swap | BackingFile));
    in_use.then_some("is in use as a disk")
}

/// Writes `text` to `path`, or to standard output for `-`. A file is written whole or not at all.
pub(crate) fn write_or_print(path: &Path, text: &str, replace: bool) -> anyhow::Result<()> {
    if path != Path::new("-") {
        return Ok(write_whole(path, text, replace)?);
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has gone, as in `| head`: not our error.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other.map_err(|source| write_error(Path::new("standard output"), "write to it", source))?),
    }
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write_or_print(Path::new("-"), text, false)
}

fn write_whole(path: &Path, text: &str, replace: bool) -> Result<(), CliError> {
    check(path, replace)?;
    let error = |source| write_error(path, "write it", source);
    // A pipe or a terminal has no place to rename a file to; `/dev/stdout` must stay what it is.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::File::options()
            .write(true)
            .open(path)
            .and_then(|mut f| f.write_all(text.as_bytes()))
            .map_err(error);
    }
    // A link stays a link, to the file that is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let partial = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = fs::File::create(&partial)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written.map_err(error)
}

fn write_error(path: &Path, action: &'static str, source: std::io::Error) -> CliError {
    CliError::File {
        path: path.display().to_string(),
        action,
        source,
        remedy: "check the path, its permissions and the space left, or give another",
    }
}

/// Columns of the terminal on standard output, 100 where it is none.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col).clamp(40, 200))
}

/// Whether standard output takes colour.
pub(crate) fn color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
