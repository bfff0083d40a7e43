//! Drives that have a data sheet and no results: a measured drive of the family with another sheet.

use crate::{DriveProfile, SpecError, toml_text};
use serde::Deserialize;
use toml::{Table, Value};

/// Ratings of one capacity, which a sibling of another size does not share.
const OF_ONE_CAPACITY: [&str; 2] = ["pbw", "latency_random_write"];

/// What a sibling has of its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sibling {
    /// Name on the command line.
    pub id: String,
    /// Model.
    pub model: String,
    /// The drive of the family that was measured.
    pub like: String,
    /// Ratings that differ.
    #[serde(default)]
    rated: Table,
    /// Parameters that its own sheet gives.
    parameters: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    drive: Vec<Sibling>,
}

impl Sibling {
    /// Reads a list of siblings; `file` is named in errors.
    pub fn parse_all(text: &str, file: &str) -> Result<Vec<Self>, SpecError> {
        Ok(toml_text::parse::<File>(text, file)?.drive)
    }

    /// The text of its profile, from that of the drive that it is like. What was published of that one, or
    /// fitted or inferred from it, is an assumption here.
    ///
    /// # Errors
    /// If a text is no profile, or the profile can't work; `file` is named.
    pub fn profile(&self, like: &str, file: &str) -> Result<String, SpecError> {
        let mut table: Table = toml_text::parse(like, file)?;
        let word = |text: String| Value::String(text);
        table.insert("id".into(), word(self.id.clone()));
        table.insert("model".into(), word(self.model.clone()));
        table.insert("status".into(), word(format!("predicted: as {}, with the sheet of this drive", self.like)));
        if let Some(Value::Table(rated)) = table.get_mut("rated") {
            rated.retain(|key, _| !OF_ONE_CAPACITY.contains(&key));
            rated.extend(self.rated.clone());
        }
        let boxes = table.get_mut("parameters").and_then(Value::as_table_mut).into_iter().flatten();
        for (name, parameters) in boxes {
            let Some(parameters) = parameters.as_table_mut() else { continue };
            for parameter in parameters.iter_mut().filter_map(|(_, p)| p.as_table_mut()) {
                self.assume(parameter);
            }
            let own = self.parameters.get(name).and_then(Value::as_table);
            parameters.extend(own.cloned().unwrap_or_default());
        }
        let text = toml::to_string(&table).unwrap_or_else(|e| unreachable!("it was a table of TOML: {e}"));
        DriveProfile::parse(&text, file)?;
        Ok(text)
    }

    fn assume(&self, parameter: &mut Table) {
        let from_a_sheet = |p: &Table| matches!(p.get("source").and_then(Value::as_str), Some("spec" | "assumed"));
        if !from_a_sheet(parameter) {
            parameter.insert("source".into(), Value::String("assumed".into()));
            parameter.insert("note".into(), Value::String(format!("as the {}", self.like)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use flashlab_units::Bytes;

    const LIKE: &str = include_str!("../../../data/drives/r6060-122.toml");
    const LIST: &str = include_str!("../../../data/siblings.toml");

    #[test]
    fn a_sibling_is_the_drive_with_another_sheet() {
        let all = Sibling::parse_all(LIST, "siblings.toml").expect("a list");
        let sibling = all.iter().find(|s| s.id == "r6060-61").expect("there");
        let text = sibling.profile(LIKE, "siblings.toml").expect("a profile");
        let (profile, like) =
            (DriveProfile::parse(&text, "x").expect("good"), DriveProfile::parse(LIKE, "y").expect("good"));
        let (p, of) = (&profile.parameters, &like.parameters);
        assert_eq!((profile.id.as_str(), p.capacity.user.value), ("r6060-61", Bytes(61_440_000_000_000)));
        assert!(profile.status.starts_with("predicted"), "{}", profile.status);
        assert_eq!((p.capacity.user.source, p.nand.dies.source), (Source::Spec, Source::Assumed));
        assert_eq!((p.nand.dies.value, p.nand.dies.note.as_str()), (of.nand.dies.value, "as the r6060-122"));
        assert_eq!(profile.rated.random_write_block, Some(Bytes::kib(16)));
        assert!(profile.parameter_rows().iter().all(|row| row.source != Source::Fitted), "nothing was fitted to it");
    }

    #[test]
    fn what_can_not_work_is_refused() {
        let small = LIST.replacen("\"16TiB\"", "\"13TiB\"", 1);
        let all = Sibling::parse_all(&small, "siblings.toml").expect("a list");
        assert!(all[0].profile(LIKE, "siblings.toml").is_err(), "no spare");
        assert!(Sibling::parse_all(&LIST.replacen("like =", "liek =", 1), "s.toml").is_err());
    }
}
