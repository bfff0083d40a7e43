//! TOML text to values, with errors that name the line, the key and the nearest known name.

use crate::SpecError;
use serde::de::DeserializeOwned;

/// Reads `text`, which came from `file`, as a `T` that denies unknown keys.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, SpecError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text.get(..span.start).map_or(1, |t| t.matches('\n').count() + 1));
        let message = error.message().trim().replace('\n', " ");
        let hint = unknown_name(&message).or_else(|| Some(remedy(&message).to_owned()));
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

/// What to do about an error that no near name mends.
fn remedy(message: &str) -> &'static str {
    if message.starts_with("missing field") {
        "add the key; a whole example: flashlab suites show quick, or a file in data/drives"
    } else {
        "correct the line; a whole example: flashlab suites show quick, or a file in data/drives"
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
