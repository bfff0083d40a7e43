//! The drives, hosts and suites that are built in, and those that the user adds.

use crate::exit::CliError;
use flashlab_analysis::{PublishedPoint, Reason};
use flashlab_spec::{DriveProfile, HostProfile, Hosts, Sibling, SpecError, Suite};
use flashlab_study::fit::FitPlan;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

const DRIVES: [(&str, &str); 7] = [
    ("data/drives/r6060-122.toml", include_str!("../../../data/drives/r6060-122.toml")),
    ("data/drives/j5060-61.toml", include_str!("../../../data/drives/j5060-61.toml")),
    ("data/drives/p5430-30.toml", include_str!("../../../data/drives/p5430-30.toml")),
    ("data/drives/p5336-61.toml", include_str!("../../../data/drives/p5336-61.toml")),
    ("data/drives/p5336-122.toml", include_str!("../../../data/drives/p5336-122.toml")),
    ("data/drives/6550-ion-61.toml", include_str!("../../../data/drives/6550-ion-61.toml")),
    ("data/drives/6600-ion-245.toml", include_str!("../../../data/drives/6600-ion-245.toml")),
];
const HOSTS: [(&str, &str); 3] = [
    ("data/hosts/fio.toml", include_str!("../../../data/hosts/fio.toml")),
    ("data/hosts/gdsio.toml", include_str!("../../../data/hosts/gdsio.toml")),
    ("data/hosts/checkpoint.toml", include_str!("../../../data/hosts/checkpoint.toml")),
];
const PUBLISHED: (&str, &str) = ("data/published/points.csv", include_str!("../../../data/published/points.csv"));
const SIBLINGS: (&str, &str) = ("data/siblings.toml", include_str!("../../../data/siblings.toml"));
const REASONS: (&str, &str) = ("data/published/reasons.csv", include_str!("../../../data/published/reasons.csv"));
const FIT: (&str, &str) = ("data/fit.toml", include_str!("../../../data/fit.toml"));
const SUITES: [(&str, &str); 5] = [
    ("data/suites/quick.toml", include_str!("../../../data/suites/quick.toml")),
    ("data/suites/review.toml", include_str!("../../../data/suites/review.toml")),
    ("data/suites/gds.toml", include_str!("../../../data/suites/gds.toml")),
    ("data/suites/checkpoint.toml", include_str!("../../../data/suites/checkpoint.toml")),
    ("data/suites/steady.toml", include_str!("../../../data/suites/steady.toml")),
];

/// A profile with the digest of the text it was read from.
#[derive(Debug, Clone)]
pub(crate) struct CatalogDrive {
    pub(crate) profile: DriveProfile,
    pub(crate) sha256: String,
    /// The text, and where it was read.
    pub(crate) text: String,
    pub(crate) file: String,
}

/// All drives that can be modelled.
pub(crate) struct Catalog {
    pub(crate) drives: Vec<CatalogDrive>,
}

impl Catalog {
    /// The built-in drives, their siblings, and those in `files`; a file may not take the name of another drive.
    pub(crate) fn load(files: &[PathBuf]) -> anyhow::Result<Self> {
        let mut drives = Vec::new();
        for (name, text) in DRIVES {
            drives.push(drive(text, name)?);
        }
        for sibling in Sibling::parse_all(SIBLINGS.1, SIBLINGS.0)? {
            let like = drives.iter().find(|d: &&CatalogDrive| d.profile.id == sibling.like);
            let like = like.ok_or_else(|| SpecError::unknown("drive", &sibling.like, DRIVES.map(|(name, _)| name)))?;
            drives.push(drive(&sibling.profile(&like.text, SIBLINGS.0)?, SIBLINGS.0)?);
        }
        for file in files {
            let added = drive(&read(file)?, &file.display().to_string())?;
            if drives.iter().any(|d| d.profile.id == added.profile.id) {
                let what = format!("{}: a drive named {} exists already", file.display(), added.profile.id);
                return Err(CliError::usage(what, "give it another id").into());
            }
            drives.push(added);
        }
        Ok(Catalog { drives })
    }

    /// A drive by name.
    pub(crate) fn drive(&self, id: &str) -> Result<&CatalogDrive, SpecError> {
        self.drives
            .iter()
            .find(|d| d.profile.id == id)
            .ok_or_else(|| SpecError::unknown("drive", id, self.drives.iter().map(|d| d.profile.id.as_str())))
    }
}

/// The hosts that load modelled drives.
pub(crate) fn hosts() -> Result<Hosts, SpecError> {
    let profiles = HOSTS.iter().map(|(name, text)| HostProfile::parse(text, name));
    Ok(Hosts::new(profiles.collect::<Result<Vec<_>, _>>()?))
}

/// The figures that reviews printed and that can be compared.
pub(crate) fn published() -> anyhow::Result<Vec<PublishedPoint>> {
    Ok(flashlab_analysis::published(PUBLISHED.1, PUBLISHED.0)?)
}

/// Why single results lie far from what was published.
pub(crate) fn reasons() -> anyhow::Result<Vec<Reason>> {
    Ok(flashlab_analysis::reasons(REASONS.1, REASONS.0)?)
}

/// What fits may change.
pub(crate) fn fit_plan() -> Result<FitPlan, SpecError> {
    FitPlan::parse(FIT.1, FIT.0)
}

/// All built-in suites.
pub(crate) fn suites() -> Result<Vec<Suite>, SpecError> {
    SUITES.iter().map(|(name, text)| Suite::parse(text, name)).collect()
}

/// The text of a built-in suite.
pub(crate) fn suite_text(id: &str) -> Result<&'static str, SpecError> {
    let all = suites()?;
    let found = all.iter().position(|s| s.id == id);
    found.map(|i| SUITES[i].1).ok_or_else(|| SpecError::unknown("suite", id, all.iter().map(|s| s.id.as_str())))
}

/// The file that a suite is named by, if it is not a built-in one.
pub(crate) fn file_of_suite(name: &str) -> Option<&Path> {
    (name.contains('/') || name.ends_with(".toml")).then(|| Path::new(name))
}

/// A suite by name, or from a file if the name is a path or ends in `.toml`.
pub(crate) fn suite(name: &str) -> anyhow::Result<Suite> {
    if let Some(file) = file_of_suite(name) {
        return Ok(Suite::parse(&read(file)?, name)?);
    }
    Ok(Suite::parse(suite_text(name)?, &format!("data/suites/{name}.toml"))?)
}

fn drive(text: &str, name: &str) -> Result<CatalogDrive, SpecError> {
    let profile = DriveProfile::parse(text, name)?;
    let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CatalogDrive { profile, sha256, text: text.to_owned(), file: name.to_owned() })
}

/// The text of a file that was named on the command line.
pub(crate) fn read(path: &Path) -> Result<String, CliError> {
    const REMEDY: &str = "check the path; it is read as text in UTF-8";
    std::fs::read_to_string(path).map_err(|source| unread(path, source, REMEDY))
}

/// Opens a file that is read piece by piece.
pub(crate) fn open(path: &Path) -> Result<std::fs::File, CliError> {
    std::fs::File::open(path).map_err(|source| unread(path, source, "check the path"))
}

fn unread(path: &Path, source: std::io::Error, remedy: &'static str) -> CliError {
    match source.kind() {
        std::io::ErrorKind::NotFound => CliError::usage(format!("{}: no such file", path.display()), remedy),
        _ => CliError::File { path: path.display().to_string(), action: "read it", source, remedy },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_data_folder_is_built_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
        let built_in = DRIVES.iter().chain(&SUITES).chain(&HOSTS).map(|(name, _)| *name);
        let mut built_in: Vec<String> = built_in.map(str::to_owned).collect();
        let mut files: Vec<String> = ["drives", "suites", "hosts"]
            .iter()
            .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder").map(move |f| (folder, f)))
            .map(|(folder, f)| format!("data/{folder}/{}", f.expect("a file").file_name().display()))
            .collect();
        built_in.sort();
        files.sort();
        assert_eq!(built_in, files);
    }

    #[test]
    fn all_of_them_are_good() {
        assert!(!Catalog::load(&[]).expect("profiles").drives.is_empty());
        assert!(suites().expect("suites").iter().any(|s| s.id == "quick"));
        hosts().expect("hosts");
        let catalog = Catalog::load(&[]).expect("profiles");
        fit_plan().expect("a plan").drives().for_each(|drive| _ = catalog.drive(drive).expect("a built-in drive"));
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let error = Catalog::load(&[]).expect("profiles").drive("r6060-121").expect_err("unknown").to_string();
        assert!(error.contains("did you mean `r6060-122`?"), "{error}");
        assert!(suite("quik").expect_err("unknown").to_string().contains("did you mean `quick`?"));
    }
}
