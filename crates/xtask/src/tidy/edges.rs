//! Which crate may use which: the table of the architecture as data, and the check against it.

use super::{Finding, Tree};
use cargo_metadata::Metadata;

/// Where a person finds the table.
const TABLE: &str = "crates/xtask/src/tidy/edges.rs";

/// What a crate may use of ours.
#[derive(Debug, Clone, Copy)]
enum Uses {
    /// These, and no other.
    Only(&'static [&'static str]),
    /// Every crate above it in the table.
    AllAbove,
}

/// The allowed edges: each crate with what it may use, in the order of the flow.
///
/// A crate uses only crates above it, so no cycle can be written here. Change the table together
/// with the architecture, with the reason in the commit.
const EDGES: &[(&str, Uses)] = &[
    ("units", Uses::Only(&[])),
    ("samples", Uses::Only(&["units"])),
    ("spec", Uses::Only(&["units"])),
    ("workload", Uses::Only(&["units", "spec"])),
    ("target", Uses::Only(&["units", "spec", "samples", "workload"])),
    ("drive", Uses::Only(&["units", "spec", "samples", "workload", "target"])),
    ("guard", Uses::Only(&["units"])),
    ("nvme", Uses::Only(&["units", "samples", "guard"])),
    ("io", Uses::Only(&["units", "spec", "samples", "workload", "target", "guard", "nvme"])),
    ("checkpoint", Uses::Only(&["units", "spec"])),
    ("gds", Uses::Only(&["units", "spec", "samples", "workload", "target", "guard", "io"])),
    ("analysis", Uses::Only(&["units", "spec", "samples"])),
    ("lab", Uses::Only(&["units", "spec", "samples", "workload", "target", "checkpoint", "analysis"])),
    ("study", Uses::Only(&["units", "spec", "samples", "workload", "target", "drive", "lab", "analysis"])),
    ("store", Uses::Only(&["units", "spec", "samples", "target", "analysis"])),
    ("interop", Uses::Only(&["units", "spec", "samples", "workload", "checkpoint"])),
    ("report", Uses::Only(&["units", "spec", "samples", "analysis"])),
    ("flashlab", Uses::AllAbove),
    ("xtask", Uses::Only(&[])),
];

/// The crates that are programs: they may turn errors into text at once.
const PROGRAMS: &[&str] = &["flashlab", "xtask"];

/// Every dependency between our crates, of any kind, must stand in the table.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    edges(&tree.metadata)
}

fn edges(metadata: &Metadata) -> Vec<Finding> {
    let ours: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let name = short(&package.name);
        let path = format!("crates/{name}");
        let Some(allowed) = allowed(name) else {
            let remedy = format!("give it a row in {TABLE}, with the reason in the commit");
            findings.push(Finding::whole(&path, "the crate isn't in the table of allowed edges", remedy));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|used| ours.contains(&used.name.as_str())) {
            let used = short(&dependency.name);
            // A crate that names itself (for its own tests, with other features) is no edge.
            if used == name || allowed.contains(&used) {
                continue;
            }
            let may = if allowed.is_empty() { "no crate of ours".to_owned() } else { allowed.join(", ") };
            let what = format!("{path} → {used} is not allowed; {name} may use: {may}");
            let remedy = format!("the table is in {TABLE}: change it with the reason in the commit");
            findings.push(Finding::whole(&format!("{path}/Cargo.toml"), what, remedy));
        }
    }
    findings
}

/// `anyhow` is for programs; a library names its errors.
pub(super) fn check_anyhow(tree: &Tree) -> Vec<Finding> {
    let libraries = tree.metadata.packages.iter().filter(|package| !PROGRAMS.contains(&short(&package.name)));
    libraries
        .filter(|package| package.dependencies.iter().any(|used| used.name == "anyhow"))
        .map(|package| {
            let path = format!("crates/{}/Cargo.toml", short(&package.name));
            Finding::whole(&path, "anyhow in a library crate", "give the crate one thiserror enum")
        })
        .collect()
}

/// What a crate may use, or nothing when it isn't in the table.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    let row = EDGES.iter().position(|(known, _)| *known == name)?;
    Some(match EDGES[row].1 {
        Uses::Only(names) => names.to_vec(),
        Uses::AllAbove => EDGES[..row].iter().map(|(above, _)| *above).collect(),
    })
}

/// The room's name: `flashlab-units` is `units`.
fn short(package: &str) -> &str {
    package.strip_prefix("flashlab-").unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{metadata, shown, tree};
    use super::*;

    #[test]
    fn every_allowed_crate_stands_above() {
        for (row, (name, _)) in EDGES.iter().enumerate() {
            for used in allowed(name).expect("it is in the table") {
                let above = EDGES.iter().position(|(known, _)| *known == used);
                assert!(above.is_some_and(|above| above < row), "{name} → {used}");
            }
        }
    }

    #[test]
    fn a_forbidden_edge_fails_and_is_named() {
        let fabricated = metadata(&[
            ("flashlab-units", &[("serde", "normal")]),
            ("flashlab-samples", &[("flashlab-units", "normal")]),
            ("flashlab-spec", &[("flashlab-units", "normal"), ("flashlab-samples", "normal")]),
        ]);
        assert_eq!(
            shown(&edges(&fabricated)),
            ["crates/spec/Cargo.toml: crates/spec → samples is not allowed; spec may use: units; the table is in \
              crates/xtask/src/tidy/edges.rs: change it with the reason in the commit"]
        );
    }

    #[test]
    fn dev_and_build_dependencies_are_edges_too() {
        for kind in ["dev", "build"] {
            let fabricated = metadata(&[
                ("flashlab-units", &[]),
                ("flashlab-drive", &[("flashlab-units", kind)]),
                ("xtask", &[("flashlab-units", kind)]),
            ]);
            let findings = edges(&fabricated);
            assert_eq!(findings.len(), 1, "{kind}: {findings:?}");
            assert!(
                findings[0].what.contains("crates/xtask → units is not allowed; xtask may use: no crate of ours"),
                "{kind}: {findings:?}"
            );
        }
    }

    #[test]
    fn a_crate_outside_the_table_fails() {
        let findings = edges(&metadata(&[("flashlab-attic", &[])]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/attic");
        assert!(findings[0].what.contains("isn't in the table"), "{findings:?}");
    }

    #[test]
    fn the_program_may_use_every_room_but_not_the_developers_commands() {
        let rooms: Vec<String> = EDGES.iter().map(|(name, _)| format!("flashlab-{name}")).collect();
        let uses: Vec<(&str, &str)> =
            rooms.iter().filter(|name| *name != "flashlab-flashlab").map(|name| (name.as_str(), "normal")).collect();
        let mut packages: Vec<(&str, &[(&str, &str)])> = rooms.iter().map(|name| (name.as_str(), &[][..])).collect();
        packages.retain(|(name, _)| *name != "flashlab-flashlab");
        packages.push(("flashlab", &uses));
        let findings = edges(&metadata(&packages));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.contains("crates/flashlab → xtask is not allowed"), "{findings:?}");
    }

    #[test]
    fn anyhow_is_for_programs() {
        let mut sample = tree(&[]);
        sample.metadata = metadata(&[("flashlab", &[("anyhow", "normal")]), ("flashlab-io", &[("anyhow", "dev")])]);
        let findings = check_anyhow(&sample);
        assert_eq!(
            shown(&findings),
            ["crates/io/Cargo.toml: anyhow in a library crate; give the crate one thiserror enum"]
        );
    }
}
