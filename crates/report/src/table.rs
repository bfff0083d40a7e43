//! A text table that fits the terminal it is printed on.
//!
//! Columns are measured by what a terminal shows, not by bytes or characters. A table that is too
//! wide first gives up the columns that may go, the highest `drop` rank first; then the text columns
//! that may wrap are narrowed. Cells are cleaned of control characters, because some of them come
//! from devices.

use crate::text::clean;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Between two columns.
const GAP: usize = 2;
/// A wrapped column is not made narrower than this, so that words stay readable.
const WRAP_WIDTH_MIN: usize = 12;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    title: String,
    group: Option<String>,
    align: Align,
    drop_rank: u8,
    wrap: bool,
}

impl Column {
    /// A left-aligned column that is always shown.
    pub fn text(title: impl Into<String>) -> Self {
        Column { title: title.into(), group: None, align: Align::Left, drop_rank: 0, wrap: false }
    }

    /// A right-aligned column that is always shown.
    pub fn number(title: impl Into<String>) -> Self {
        Column { align: Align::Right, ..Column::text(title) }
    }

    /// May be left out where the table is too wide; higher ranks go first, rank 0 stays.
    pub fn drop_rank(mut self, rank: u8) -> Self {
        self.drop_rank = rank;
        self
    }

    /// Stands under a common heading with the neighbours of the same group.
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// May be narrowed by breaking its cells into lines.
    pub fn wrap(mut self) -> Self {
        self.wrap = true;
        self
    }
}

/// Rows under columns, printed by [`Table::render`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When the number of cells is not the number of columns.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| clean(cell.as_ref())).collect();
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell a column");
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How wide the table is with all its columns, unwrapped.
    pub fn natural_width(&self) -> usize {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        total(&self.widths(&all))
    }

    /// The table as lines of at most `width` columns, the header in bold with `color`. Only columns
    /// that may neither go nor wrap can make a line longer.
    pub fn render(&self, width: usize, color: bool) -> String {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut widths = self.widths(&shown);
        while total(&self.narrowed(&shown, &widths, width)) > width {
            // The last of the columns with the highest rank, so that the table shrinks from the right.
            let Some(gone) = (0..shown.len())
                .filter(|i| self.columns[shown[*i]].drop_rank > 0)
                .max_by_key(|i| self.columns[shown[*i]].drop_rank)
            else {
                break;
            };
            shown.remove(gone);
            widths.remove(gone);
        }
        let widths = self.narrowed(&shown, &widths, width);
        let mut out = String::new();
        let titles: Vec<&str> = shown.iter().map(|c| self.columns[*c].title.as_str()).collect();
        let (bold, off) = if color { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
        let groups = self.group_line(&shown, &widths);
        for line in groups.into_iter().chain(self.lines(&shown, &widths, &titles)) {
            out.push_str(&format!("{bold}{line}{off}\n"));
        }
        for row in &self.rows {
            let cells: Vec<&str> = shown.iter().map(|c| row[*c].as_str()).collect();
            for line in self.lines(&shown, &widths, &cells) {
                out.push_str(&line);
                out.push('\n');
            }
        }
        out
    }

    /// Width of each shown column, unwrapped.
    fn widths(&self, shown: &[usize]) -> Vec<usize> {
        let cell = |column: usize| self.rows.iter().map(move |row| row[column].width()).max().unwrap_or(0);
        let mut widths: Vec<usize> = shown.iter().map(|c| cell(*c).max(self.columns[*c].title.width())).collect();
        for (group, range) in self.groups(shown) {
            let short = group.width().saturating_sub(total(&widths[range.clone()]));
            widths[range.start] += short;
        }
        widths
    }

    /// The groups with the positions of their columns among the shown ones.
    fn groups(&self, shown: &[usize]) -> Vec<(&str, Range<usize>)> {
        let mut out: Vec<(&str, Range<usize>)> = Vec::new();
        for (i, column) in shown.iter().enumerate() {
            let Some(group) = self.columns[*column].group.as_deref() else { continue };
            match out.last_mut() {
                Some((name, range)) if *name == group && range.end == i => range.end = i + 1,
                _ => out.push((group, i..i + 1)),
            }
        }
        out
    }

    /// The headings of the groups, each over the right end of its columns.
    fn group_line(&self, shown: &[usize], widths: &[usize]) -> Option<String> {
        let groups = self.groups(shown);
        let mut line = String::new();
        for (group, range) in &groups {
            let end = total(&widths[..range.end]);
            let pad = end.saturating_sub(line.width() + group.width());
            line.extend([&" ".repeat(pad), *group]);
        }
        (!groups.is_empty()).then_some(line)
    }

    /// The widths with the columns that may wrap narrowed, the widest first, until `width` is met or
    /// nothing more can give.
    fn narrowed(&self, shown: &[usize], widths: &[usize], width: usize) -> Vec<usize> {
        let mut out = widths.to_vec();
        let floor = |i: usize| WRAP_WIDTH_MIN.max(self.columns[shown[i]].title.width());
        while total(&out) > width {
            let widest = (0..out.len()).filter(|i| self.columns[shown[*i]].wrap && out[*i] > floor(*i));
            let Some(i) = widest.max_by_key(|i| out[*i]) else { break };
            out[i] -= 1;
        }
        out
    }

    /// One row as lines; cells that don't fit their column continue below.
    fn lines(&self, shown: &[usize], widths: &[usize], cells: &[&str]) -> Vec<String> {
        let wrapped: Vec<Vec<String>> = cells.iter().zip(widths).map(|(cell, w)| wrap(cell, *w)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|n| {
                let mut line = String::new();
                for (i, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                    let text = cell.get(n).map_or("", String::as_str);
                    let pad = " ".repeat(width.saturating_sub(text.width()));
                    if i > 0 {
                        line.push_str(&" ".repeat(GAP));
                    }
                    match self.columns[shown[i]].align {
                        Align::Left => line.extend([text, &pad]),
                        Align::Right => line.extend([&pad, text]),
                    }
                }
                line.trim_end().to_owned()
            })
            .collect()
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Breaks `text` at spaces into lines of at most `width` columns; a longer word is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let gap = usize::from(!line.is_empty());
        if line.width() + gap + word.width() <= width {
            line.extend([&" "[..gap], word]);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if !line.is_empty() && line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(vec![
            Column::text("name"),
            Column::number("IOPS"),
            Column::number("p99").drop_rank(1),
            Column::number("p99.99").drop_rank(2),
            Column::text("reason").wrap(),
        ]);
        table.row(["a", "1,000", "86.2 us", "1.5 ms", "it is mounted at /home and so may not be written"]);
        table.row(["漢字", "2", "1 us", "2 us", "x"]);
        table
    }

    #[test]
    fn columns_align_by_what_a_terminal_shows() {
        let text = sample().render(200, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "name   IOPS      p99  p99.99  reason");
        assert_eq!(lines[1], "a     1,000  86.2 us  1.5 ms  it is mounted at /home and so may not be written");
        assert_eq!(lines[2], "漢字      2     1 us    2 us  x");
    }

    #[test]
    fn groups_stand_over_their_columns() {
        let mut table = Table::new(vec![
            Column::number("depth"),
            Column::number("1").group("MB/s by jobs"),
            Column::number("8").group("MB/s by jobs"),
            Column::number("1").group("p99"),
        ]);
        table.row(["4", "10", "20", "1 us"]);
        let expected = "       MB/s by jobs   p99\ndepth         1   8     1\n    4        10  20  1 us\n";
        assert_eq!(table.render(80, false), expected);
        assert_eq!(table.natural_width(), expected.lines().map(str::len).max().unwrap_or_default());
    }

    #[test]
    fn wraps_first_then_drops_from_the_right() {
        let fits = |width: usize| {
            let text = sample().render(width, false);
            assert!(text.lines().all(|l| l.width() <= width), "{width}:\n{text}");
            text
        };
        assert!(fits(60).contains("p99.99"));
        let narrow = fits(40);
        assert!(narrow.contains("p99 ") && !narrow.contains("p99.99"), "{narrow}");
        let narrower = fits(30);
        assert!(!narrower.contains("p99") && narrower.contains("reason"), "{narrower}");
        let words: String = narrower.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("mounted") && words.contains("written"), "nothing is cut: {words}");
    }

    #[test]
    fn wrapping_keeps_every_character() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("漢字漢字", 4), ["漢字", "漢字"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn hostile_cells_are_harmless() {
        let mut table = Table::new(vec![Column::text("model")]);
        table.row(["\u{1b}[2Jgone\r\n"]);
        let text = table.render(80, false);
        assert!(!text.contains('\u{1b}') && text.lines().count() == 2, "{text:?}");
        assert!(table.render(80, true).starts_with("\u{1b}[1mmodel"));
    }
}
