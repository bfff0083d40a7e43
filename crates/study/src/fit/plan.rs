//! What a fit may change of which drive, and the figures that each part of it is held against.

use super::parameter::Free;
use flashlab_spec::SpecError;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// Parameters of one drive at most: more would follow the figures without saying anything.
const FREE_MAX: usize = 25;

/// The plan of all fits, from the text of `data/fit.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct FitPlan {
    parameters: BTreeMap<String, Free>,
    blocks: Vec<Block>,
    drives: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Parameters that are fitted together, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Block {
    /// Name.
    pub(crate) name: String,
    /// Suites and workloads that tell of them.
    pub(crate) workloads: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    parameter: BTreeMap<String, Bounds>,
    block: Vec<Block>,
    drive: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    start: Value,
    low: Value,
    high: Value,
    /// Why it begins there; for the reader of the file.
    #[allow(dead_code)]
    why: String,
}

impl FitPlan {
    /// Reads and checks a plan; `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let plan: File = toml::from_str(text).map_err(|error| SpecError::Text {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| text.get(..span.start).map_or(1, |t| t.matches('\n').count() + 1)),
            message: error.message().trim().replace('\n', " "),
            hint: Some("a whole example: data/fit.toml".into()),
        })?;
        let free = |(key, b): (&String, &Bounds)| {
            Ok((key.clone(), Free::new(key, [&b.start, &b.low, &b.high], &format!("{file}, parameter"))?))
        };
        let parameters = plan.parameter.iter().map(free).collect::<Result<BTreeMap<_, _>, SpecError>>()?;
        for (drive, blocks) in &plan.drive {
            let keys: Vec<&String> = blocks.values().flatten().collect();
            for key in &keys {
                if !parameters.contains_key(*key) {
                    return Err(SpecError::unknown("parameter", key, parameters.keys().map(String::as_str)));
                }
            }
            for block in blocks.keys() {
                if !plan.block.iter().any(|b| b.name == *block) {
                    return Err(SpecError::unknown("block", block, plan.block.iter().map(|b| b.name.as_str())));
                }
            }
            if keys.len() > FREE_MAX {
                return Err(SpecError::Value {
                    file: file.to_owned(),
                    key: format!("drive.{drive}"),
                    value: format!("{} parameters", keys.len()),
                    reason: format!("at most {FREE_MAX} may be fitted"),
                    remedy: "leave those out that the figures of this drive say least about".into(),
                });
            }
        }
        Ok(FitPlan { parameters, blocks: plan.block, drives: plan.drive })
    }

    /// Drives that can be fitted.
    pub fn drives(&self) -> impl Iterator<Item = &str> {
        self.drives.keys().map(String::as_str)
    }

    /// Blocks of `drive` in order, each with its free parameters.
    ///
    /// # Errors
    /// If the plan does not know the drive.
    pub(crate) fn blocks_of(&self, drive: &str) -> Result<Vec<(&Block, Vec<&Free>)>, SpecError> {
        let of_drive = self.drives.get(drive).ok_or_else(|| SpecError::unknown("drive", drive, self.drives()))?;
        let mut out = Vec::new();
        for block in &self.blocks {
            if let Some(keys) = of_drive.get(&block.name) {
                out.push((block, keys.iter().map(|key| &self.parameters[key]).collect()));
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[parameter."nand.dies"]
start = 200
low = 10
high = 1000
why = "a test"

[[block]]
name = "reads"
workloads = { review = ["rand-read-4k"] }

[drive.d]
reads = ["nand.dies"]
"#;

    #[test]
    fn slips_in_a_plan_are_named() {
        let plan = FitPlan::parse(TEXT, "fit.toml").expect("good");
        let blocks = plan.blocks_of("d").expect("known");
        assert_eq!((blocks[0].0.name.as_str(), blocks[0].1[0].key.as_str()), ("reads", "nand.dies"));
        assert!(plan.blocks_of("e").expect_err("unknown").to_string().contains("`e`"));
        for (from, to, says) in [
            ("reads = [", "raeds = [", "did you mean `reads`"),
            ("[\"nand.dies\"]", "[\"nand.dice\"]", "did you mean `nand.dies`"),
            ("start = 200", "start = 2", "does not lie between"),
            ("why =", "because =", "fit.toml:"),
        ] {
            let error = FitPlan::parse(&TEXT.replace(from, to), "fit.toml").expect_err(to).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
