//! Footnotes: each different remark gets one number for the whole report.

/// Remarks in the order in which they were first met.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    texts: Vec<String>,
}

impl Notes {
    /// The number of `text`, from 1.
    pub(crate) fn number(&mut self, text: &str) -> usize {
        let at = self.texts.iter().position(|t| t == text).unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        at + 1
    }

    /// The numbers of all `texts`, ascending.
    pub(crate) fn numbers<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) -> Vec<usize> {
        let mut out: Vec<usize> = texts.into_iter().map(|text| self.number(text)).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// All with their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &str)> {
        self.texts.iter().enumerate().map(|(i, text)| (i + 1, text.as_str()))
    }
}
