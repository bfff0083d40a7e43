//! Puts fitted values into the text of a profile and leaves all else as it is.

use super::parameter::Free;
use crate::StudyError;
use toml_edit::{DocumentMut, Value, value};

/// A value with its new note.
pub(crate) struct Change<'a> {
    pub(crate) free: &'a Free,
    pub(crate) value: f64,
    pub(crate) note: String,
}

/// The text with `changes`, each marked as fitted.
pub(crate) fn written(text: &str, changes: &[Change<'_>]) -> Result<String, StudyError> {
    let mut document: DocumentMut = text.parse().map_err(|e| StudyError::Profile(format!("{e}")))?;
    for change in changes {
        let none = || StudyError::NoParameter { key: change.free.key.clone() };
        let (table, key) = change.free.key.split_once('.').ok_or_else(none)?;
        let parameters = document.get_mut("parameters").and_then(|p| p.get_mut(table)).and_then(|t| t.get_mut(key));
        let parameter = parameters.and_then(|p| p.as_table_like_mut()).ok_or_else(none)?;
        let number: Value = change.free.value(change.value).to_string().parse().map_err(|_| none())?;
        for (name, new) in [("value", number), ("source", "fitted".into()), ("note", change.note.as_str().into())] {
            // The spaces around the old one stay.
            match parameter.get_mut(name).and_then(|item| item.as_value_mut()) {
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = new;
                    *old.decor_mut() = decor;
                }
                None => _ = parameter.insert(name, value(new)),
            }
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value as Plain;

    #[test]
    fn only_the_parameter_changes() {
        let text = "# A drive.\nid = \"d\"\n\n[parameters.nand]\n# dies\ndies = { value = 165, source = \"inferred\", note = \"old\" } # end\nplanes = { value = 1, source = \"assumed\", note = \"\" }\n";
        let bound = |n| Plain::Integer(n);
        let free = Free::new("nand.dies", [&bound(200), &bound(10), &bound(1000)], "test").expect("good");
        let changes = [Change { free: &free, value: 171.0, note: "160 to 180".into() }];
        let new = written(text, &changes).expect("written");
        let expected = text.replace(
            "value = 165, source = \"inferred\", note = \"old\"",
            "value = 171, source = \"fitted\", note = \"160 to 180\"",
        );
        assert_eq!(new, expected);
        let other = Free { key: "nand.dice".into(), ..free };
        assert!(written(text, &[Change { free: &other, value: 1.0, note: String::new() }]).is_err());
    }
}
