//! What `--on` names: a modelled drive, or a path on this machine.

use crate::catalog::{self, Catalog, CatalogDrive};
use crate::exit::CliError;
use crate::made::Made;
use flashlab_drive::ModelledDrive;
use flashlab_guard::{Consent, Inspection, Subject};
use flashlab_io::{FileTarget, OpenOptions};
use flashlab_lab::TargetFacts;
use flashlab_samples::{Origin, TargetKind};
use flashlab_spec::{DriveProfile, SpecError, Suite, SuiteStep};
use flashlab_target::Target;
use flashlab_units::Bytes;
use std::path::{Path, PathBuf};

/// What was named; nothing is open yet.
pub(crate) enum Named {
    /// A modelled drive, purged and ready.
    Modelled(Box<ModelledDrive>),
    /// A path, looked at.
    Real(Box<Inspection>),
}

impl Named {
    /// What was seen at the path of a real one.
    pub(crate) fn inspection(&self) -> Option<&Inspection> {
        match self {
            Named::Modelled(_) => None,
            Named::Real(inspection) => Some(inspection),
        }
    }
}

/// Finds out what `on` names. A drive's name wins over a file of that name; a path has a slash
/// in it, exists, or is to be created with `--size`.
pub(crate) fn named(on: &str, size: Option<Bytes>, profiles: &[PathBuf], suite: &Suite) -> anyhow::Result<Named> {
    let catalog = Catalog::load(profiles)?;
    if let Ok(drive) = catalog.drive(on) {
        let model = model(drive, suite)?;
        let capacity = model.identity().capacity;
        if let Some(size) = size.filter(|size| *size > capacity) {
            return Err(too_large(size, capacity).into());
        }
        return Ok(Named::Modelled(Box::new(model)));
    }
    let path = Path::new(on);
    let is_path = on.contains('/') || on.ends_with(".img") || std::fs::symlink_metadata(path).is_ok();
    if !is_path {
        let unknown = catalog.drive(on).err();
        let text = unknown.as_ref().map(ToString::to_string).unwrap_or_default();
        return Err(CliError::usage(text, format!("for a file of that name write ./{on}")).into());
    }
    Ok(Named::Real(Box::new(flashlab_guard::inspect(path)?)))
}

/// A purged modelled drive at the scale that `suite` needs.
pub(crate) fn model(drive: &CatalogDrive, suite: &Suite) -> Result<ModelledDrive, SpecError> {
    let (profile, digest) = (drive.profile.clone(), Some(drive.sha256.clone()));
    Ok(ModelledDrive::for_suite(profile, catalog::hosts()?, digest, suite))
}

/// What a plan needs to know of a path, without opening it.
pub(crate) fn facts(inspection: &Inspection, size: Option<Bytes>) -> anyhow::Result<TargetFacts> {
    let (kind, capacity, logical_block) = match &inspection.subject {
        Subject::File(f) => (TargetKind::File, f.size.max(grown(inspection, size)), f.logical_block),
        Subject::LoopDevice(f) => (TargetKind::LoopDevice, f.size, f.logical_block),
        Subject::BlockDevice(f) => (TargetKind::BlockDevice, f.size, f.logical_block),
        Subject::Missing { .. } => match size {
            // Such as a device that is not there: a size makes none.
            _ if !inspection.protections.is_empty() => {
                let reasons = inspection.protections.clone();
                return Err(flashlab_guard::GuardError::Refused { path: inspection.path.clone(), reasons }.into());
            }
            Some(size) => (TargetKind::File, size, Bytes(512)),
            None => {
                return Err(flashlab_guard::GuardError::Missing { path: inspection.path.clone() }.into());
            }
        },
        Subject::Directory | Subject::Other(_) => {
            let reasons = inspection.protections.clone();
            return Err(flashlab_guard::GuardError::Refused { path: inspection.path.clone(), reasons }.into());
        }
    };
    if let (Some(size), false) = (size, matches!(inspection.subject, Subject::Missing { .. }))
        && size > capacity
    {
        return Err(too_large(size, capacity).into());
    }
    Ok(TargetFacts {
        id: name_of(inspection),
        kind,
        origin: Origin::Measured,
        capacity,
        logical_block,
        nominal_spare: None,
        write_rate: (flashlab_io::ASSUMED_RATE, "assumed"),
        read_rate: (flashlab_io::ASSUMED_RATE, "assumed"),
    })
}

/// Whether a suite writes, on whatever target; as its plan says, once there is one.
pub(crate) fn writes(suite: &Suite) -> bool {
    suite.steps.iter().any(|step| match step {
        SuiteStep::Purge | SuiteStep::Fill(_) | SuiteStep::Steady(_) | SuiteStep::Checkpoint(_) => true,
        SuiteStep::Sweep(load) => load.rw.writes(),
        SuiteStep::Concurrent(step) => step.loads.iter().any(|load| load.rw.writes()),
    })
}

/// Refuses what can't be read as it is: a load that writes nothing makes and grows no file.
pub(crate) fn to_be_read(inspection: &Inspection, size: Option<Bytes>) -> anyhow::Result<()> {
    match (&inspection.subject, size) {
        (Subject::Missing { .. }, _) => {
            let what =
                format!("{}: does not exist, and a load that only reads creates no file", inspection.path.display());
            Err(CliError::usage(what, "check the path, or write the file first, with a load such as --rw write").into())
        }
        (Subject::File(f), Some(size)) if size > f.size => Err(too_large(size, f.size).into()),
        _ => Ok(()),
    }
}

/// Opens a path for a suite: creates it if it is missing and a size is given, grows a file that is
/// ours, and gets the permit if the suite writes. A file that was created or has grown is noted in `made`.
pub(crate) fn open(
    inspection: Inspection,
    size: Option<Bytes>,
    consent: &Consent,
    writes: bool,
    options: &OpenOptions,
    made: &mut Made,
) -> anyhow::Result<FileTarget> {
    let path: PathBuf = inspection.path.clone();
    if !writes {
        return Ok(FileTarget::open(&inspection, None, options)?);
    }
    let (inspection, permit) = match (&inspection.subject, size) {
        (Subject::Missing { .. }, None) => return Err(flashlab_guard::GuardError::Missing { path }.into()),
        (Subject::Missing { .. }, Some(size)) => {
            let created = flashlab_guard::create_file(&path, size)?;
            made.add(&path);
            created
        }
        (Subject::File(f), Some(size)) if size > f.size && f.created_by_flashlab => {
            let (inspection, permit, growth) = flashlab_guard::extend_file(&path, size, consent)?;
            made.grew(growth);
            (inspection, permit)
        }
        _ => {
            let permit = flashlab_guard::permit(&inspection, consent)?;
            (inspection, permit)
        }
    };
    let target = FileTarget::open(&inspection, Some(permit), options)?;
    let capacity = target.identity().capacity;
    match size {
        Some(size) if size > capacity => Err(too_large(size, capacity).into()),
        _ => Ok(target),
    }
}

/// The profile of the drive that a stored run was modelled with, if it is known here.
pub(crate) fn profile_of(catalog: &Catalog, id: &str, sha256: Option<&str>) -> Option<DriveProfile> {
    let known = catalog.drives.iter().find(|d| d.profile.id == id)?;
    (Some(known.sha256.as_str()) == sha256).then(|| known.profile.clone())
}

fn grown(inspection: &Inspection, size: Option<Bytes>) -> Bytes {
    match &inspection.subject {
        Subject::File(f) if f.created_by_flashlab => size.unwrap_or_default(),
        _ => Bytes(0),
    }
}

/// The name of a target in results.
pub(crate) fn name_of(inspection: &Inspection) -> String {
    match &inspection.subject {
        Subject::LoopDevice(f) => f.name.clone(),
        Subject::BlockDevice(f) => f.name.clone(),
        _ => inspection.resolved.file_name().unwrap_or(inspection.resolved.as_os_str()).to_string_lossy().into_owned(),
    }
}

fn too_large(size: Bytes, capacity: Bytes) -> SpecError {
    SpecError::Value {
        file: "the command line".into(),
        key: "--size".into(),
        value: size.exact(),
        reason: format!("the target has {capacity}; only a file that flashlab created is grown, by a load that writes"),
        remedy: format!("use at most --size {}, an offset included", capacity.exact()),
    }
}
