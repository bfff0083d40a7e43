//! TOML text to values, with errors that name the line, the key and the nearest known name.

use crate::SpecError;
use serde::de::DeserializeOwned;

/// Reads `text`, which came from `file`, as a `T` that denies unknown keys.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SpecError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).map_or(1, |t| t.matches('\n').count() + 1));
        let message = error.message().trim().replace('\n', " ");
        let hint = unknown_name(&message).or_else(|| Some(remedy(&message).to_owned()));
        // These name the key themselves; another message may be about any line.
        let names_it = message.starts_with("unknown field") || message.starts_with("missing field");
        let key = key_at(text, line).filter(|_| !names_it);
        let message = key.map_or(message.clone(), |key| format!("`{key}`: {message}"));
        SpecError::Text { file: file.to_owned(), line, message, hint }
    })
}

/// The known name nearest to `name`, where one is near enough to be a slip.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// The key that line `line`, from 1, gives a value, with its table.
fn key_at(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let (key, _) = lines.last()?.split_once('=')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let key = Some(key.trim()).filter(|key| !key.is_empty() && key.chars().all(is_word))?;
    let table = lines.iter().rev().find_map(|line| line.trim().strip_prefix('['));
    let table = table.and_then(|rest| rest.split(']').next()).map(|name| name.trim_start_matches('['));
    Some(table.map_or(key.to_owned(), |table| format!("{table}.{key}")))
}

/// What to do about an error that no near name mends.
fn remedy(message: &str) -> &'static str {
    match message {
        _ if message.starts_with("missing field") => {
            "add the key; a whole example: flashlab suites show quick, or a file in data/drives"
        }
        _ if message.starts_with("unknown variant") => "write one of these words, in quotes",
        _ if message.ends_with("expected u32") || message.ends_with("expected u64") => {
            "write a whole number from 0 on, without quotes or a unit"
        }
        _ if message.ends_with("expected f64") => "write a number such as 0.5, without quotes or a unit",
        _ if message.ends_with("expected a boolean") => "write true or false, without quotes",
        _ if message.ends_with("expected a string") => "write it in quotes, a quantity with its unit",
        _ => "correct the line; a whole example: flashlab suites show quick, or a file in data/drives",
    }
}

/// serde says "unknown field `x`, expected one of `a`, `b`" (or "unknown variant"); this finds the
/// known name nearest to `x`.
fn unknown_name(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    let name = quoted.next()?;
    nearest(name, quoted).map(|n| format!("did you mean `{n}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_by_its_key_and_table() {
        let text = "a = 1\n[[step]]\n# x\nb.c = 2\n[t.u]\n\"d\" = 3\ne = { value = 4 }\nnothing";
        let keys: Vec<Option<String>> = [1, 4, 6, 7, 8].map(|line| key_at(text, line)).to_vec();
        let some = |key: &str| Some(key.to_owned());
        assert_eq!(keys, [some("a"), some("step.b.c"), None, some("t.u.e"), None]);
    }
}
