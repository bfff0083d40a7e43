//! The text of a job file as sections: comments cut, variables filled in, globals inherited, every
//! option known.

use super::options::{self, Fate, Key};
use super::values::{self, KbBase};
use super::{Ignored, Note};
use crate::InteropError;
use crate::error::shown;

/// Sections that are read: far more than a person writes, and each inherits all globals above it.
const SECTIONS_MAX: usize = 4096;
/// Options of a section with all that it inherits.
const OPTIONS_MAX: usize = 4096;

/// An option that becomes a value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// The option as written.
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) line: u64,
    /// The base of prefixes where it stands: a global's options keep the global's.
    pub(super) base: KbBase,
}

/// What stands in a section.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    /// In the order of the file; of equal keys the last one counts.
    pub(super) entries: Vec<Entry>,
    pub(super) ignored: Vec<Ignored>,
    pub(super) notes: Vec<Note>,
}

/// A job section with all that it inherits.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) content: Content,
    /// How many of the entries are inherited.
    inherited: usize,
}

impl Section {
    /// The entry that counts.
    pub(super) fn get(&self, key: Key) -> Option<&Entry> {
        self.content.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// Whether a flag is set; its value was checked by [`read`].
    pub(super) fn is_on(&self, key: Key) -> bool {
        self.get(key).is_some_and(|entry| values::flag(entry.value.as_deref()).unwrap_or(false))
    }
}

/// Reads all job sections.
pub(super) fn read(
    text: &str,
    file: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Section>, InteropError> {
    let mut reader = Reader { file, sections: Vec::new(), globals: Content::default(), open: None };
    for (line, raw) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        reader.line(raw, line, variable)?;
    }
    reader.close()?;
    Ok(reader.sections)
}

struct Reader<'a> {
    file: &'a str,
    sections: Vec<Section>,
    /// What the globals so far say.
    globals: Content,
    open: Option<Section>,
}

impl Reader<'_> {
    fn refuse(&self, line: u64, option: &str, reason: impl Into<String>, remedy: impl Into<String>) -> InteropError {
        InteropError::Option {
            file: self.file.to_owned(),
            line,
            option: shown(option),
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }

    fn line(&mut self, raw: &str, line: u64, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), InteropError> {
        // The first of them anywhere on a line begins a comment.
        let (code, comment) = raw.find([';', '#']).map_or((raw, ""), |at| raw.split_at(at));
        let text = code.trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some(heading) = text.strip_prefix('[') {
            return self.heading(heading, line);
        }
        if self.open.is_none() {
            let remedy = "put it under [global] or a job section";
            return Err(self.refuse(line, text, "it stands before the first section", remedy));
        }
        let text = self.expand(text, line, variable)?;
        if !comment.is_empty() && !code.ends_with(char::is_whitespace) {
            let text = format!("`{}` begins a comment here too; what is left is `{}`", &comment[..1], shown(&text));
            self.content().notes.push(Note { line, text });
        }
        self.option(&text, line)
    }

    /// The section that is being read. Callers have made sure that there is one.
    fn content(&mut self) -> &mut Content {
        &mut self.open.get_or_insert_with(|| Section::empty(String::new(), 0, Content::default())).content
    }

    fn heading(&mut self, heading: &str, line: u64) -> Result<(), InteropError> {
        self.close()?;
        let name = heading.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(self.refuse(line, &format!("[{heading}"), "it is no section", "write [name]"));
        };
        if self.sections.len() >= SECTIONS_MAX {
            let reason = format!("there are more than {SECTIONS_MAX} sections");
            return Err(self.refuse(line, name, reason, "split the job file"));
        }
        // fio takes every name that begins so for a global.
        let inherited = if name.starts_with("global") { Content::default() } else { self.globals.clone() };
        self.open = Some(Section::empty(name.to_owned(), line, inherited));
        Ok(())
    }

    /// Ends the section that is being read.
    fn close(&mut self) -> Result<(), InteropError> {
        let Some(mut section) = self.open.take() else { return Ok(()) };
        self.set_base(&mut section)?;
        if !section.name.starts_with("global") {
            self.sections.push(section);
            return Ok(());
        }
        self.globals.entries.append(&mut section.content.entries);
        self.globals.ignored.append(&mut section.content.ignored);
        self.globals.notes.append(&mut section.content.notes);
        Ok(())
    }

    /// `kb_base` holds for all of its section, wherever it stands in it.
    fn set_base(&self, section: &mut Section) -> Result<(), InteropError> {
        let own = |entries: &[Entry]| entries.iter().rev().find(|e| e.key == Key::KbBase).cloned();
        let Some(entry) = own(&section.content.entries).or_else(|| own(&self.globals.entries)) else { return Ok(()) };
        let base = match entry.value.as_deref() {
            Some("1024") => KbBase::Binary,
            Some("1000") => KbBase::Decimal,
            _ => return Err(self.refuse(entry.line, &entry.name, "it is neither 1000 nor 1024", "use one of them")),
        };
        section.content.entries.iter_mut().skip(section.inherited).for_each(|entry| entry.base = base);
        Ok(())
    }

    /// Fills in `${NAME}`; what fio would compute from the machine is refused.
    fn expand(&self, text: &str, line: u64, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, InteropError> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                return Err(self.refuse(line, text, "`${` has no end", "write ${NAME}"));
            };
            let Some(value) = variable(name) else {
                let reason = format!("the environment variable `{}` is not set", shown(name));
                return Err(self.refuse(line, text, reason, "set it, or write the value"));
            };
            expanded.push_str(&value);
            rest = after;
        }
        expanded.push_str(rest);
        if let Some(word) = ["$pagesize", "$ncpus", "$mb_memory"].into_iter().find(|word| expanded.contains(word)) {
            let reason = format!("`{word}` depends on the machine that fio runs on");
            return Err(self.refuse(line, text, reason, "write the value"));
        }
        Ok(expanded)
    }

    fn option(&mut self, text: &str, line: u64) -> Result<(), InteropError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if name.ends_with(char::is_whitespace) || value.is_some_and(|v| v.starts_with(char::is_whitespace)) {
            let remedy =
                format!("fio misreads blanks beside the =: write {}={}", name.trim(), value.unwrap_or("").trim());
            return Err(self.refuse(line, name.trim(), "there are blanks beside the =", remedy));
        }
        if value.is_none() && name.split_whitespace().next() == Some("include") {
            let reason = "other files are not read in from here";
            return Err(self.refuse(line, text, reason, "put their lines in its place"));
        }
        let Some(fate) = options::fate(name) else { return Err(self.unknown(name, line)) };
        let (name, value) = (name.to_owned(), value.map(str::to_owned));
        match fate {
            Fate::MappedUnless(_, neutral) if value.as_deref().is_some_and(|value| neutral.contains(&value)) => {
                self.ignore(text, line, "with this value it changes nothing");
            }
            Fate::Mapped(key) | Fate::MappedUnless(key, _) => {
                self.check_flag(key, &name, value.as_deref(), line)?;
                if self.content().entries.len() >= OPTIONS_MAX {
                    let reason = format!("the section has more than {OPTIONS_MAX} options");
                    return Err(self.refuse(line, &name, reason, "give each option once"));
                }
                self.content().entries.push(Entry { key, name, value, line, base: KbBase::default() });
            }
            Fate::Ignored(reason) => self.ignore(text, line, reason),
            Fate::Refused(_, neutral) if value.as_deref().is_some_and(|value| neutral.contains(&value)) => {
                self.ignore(text, line, "with this value it changes nothing");
            }
            Fate::Refused(reason, _) => return Err(self.refuse(line, &name, reason, "leave it out")),
        }
        Ok(())
    }

    fn ignore(&mut self, text: &str, line: u64, reason: &'static str) {
        let option = shown(text);
        let ignored = &mut self.content().ignored;
        if ignored.len() < OPTIONS_MAX {
            ignored.push(Ignored { option, line, reason });
        }
    }

    /// Flags are checked where they stand; all other mapped options need a value.
    fn check_flag(&self, key: Key, name: &str, value: Option<&str>, line: u64) -> Result<(), InteropError> {
        if matches!(key, Key::Stonewall | Key::TimeBased | Key::Norandommap | Key::ZeroBuffers) {
            return values::flag(value).map(drop).map_err(|(reason, remedy)| self.refuse(line, name, reason, remedy));
        }
        match value {
            Some(value) if !value.is_empty() => Ok(()),
            _ => Err(self.refuse(line, name, "it has no value", format!("write {name}=VALUE"))),
        }
    }

    fn unknown(&self, name: &str, line: u64) -> InteropError {
        let remedy = match flashlab_spec::nearest(name, options::known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("options that are taken over: {}", options::mapped().collect::<Vec<_>>().join(", ")),
        };
        self.refuse(line, name, "it is no option that is known here", remedy)
    }
}

impl Section {
    fn empty(name: String, line: u64, content: Content) -> Self {
        Section { name, line, inherited: content.entries.len(), content }
    }
}
