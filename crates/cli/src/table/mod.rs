//! Text and tables that fit the width of the terminal.
//!
//! A table takes the first of these forms that fits:
//! 1. one line per row, each column as wide as its longest cell;
//! 2. the same with the names of the columns, and the text in a last column of words, on several lines;
//! 3. several blocks one below the other: each begins with the columns that name the row, and has as many of the others as fit;
//! 4. the rows stacked, each with a line per column.
//!
//! No column is left out. Text that is not written to a terminal has its full width, unless `COLUMNS` is set.

mod fold;
mod width;

pub(crate) use fold::{fold, wrapped};
pub(crate) use width::Width;

/// Columns before the first cell, and between two cells.
const GAP: usize = 2;
/// The narrowest column of words: below that, a table is divided.
const NARROWEST_WORDS: usize = 24;

/// A table as text.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    keys: usize,
    has_words: bool,
}

impl Table {
    /// A table whose first column names the rows. It is aligned to the left, the others are to the right.
    pub fn new<T: ToString>(header: &[T], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let header: Vec<String> = header.iter().map(ToString::to_string).collect();
        let rows = rows.into_iter().map(|mut row| {
            row.resize(header.len(), String::new());
            row
        });
        Self { rows: rows.collect(), header, keys: 1, has_words: false }
    }

    /// Sets the number of leading columns that name a row; they are repeated in each block.
    pub fn keys(mut self, keys: usize) -> Self {
        self.keys = keys.min(self.header.len());
        self
    }

    /// Marks the last column as words: it is aligned to the left, and wraps.
    pub fn with_words(mut self) -> Self {
        self.has_words = true;
        self
    }

    /// The table after an empty line, in the form that the width allows.
    pub fn text(&self, width: Width) -> String {
        let mut out = String::new();
        for block in self.form(width) {
            out.push('\n');
            for line in block {
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
        out
    }

    /// The lines of each block.
    fn form(&self, width: Width) -> Vec<Vec<String>> {
        let all: Vec<usize> = (0..self.header.len()).collect();
        let natural: Vec<usize> = all
            .iter()
            .map(|column| self.widest(*column).max(length(&self.header[*column])))
            .collect();
        let Some(width) = width.columns().filter(|width| sum(&natural) > *width) else {
            return vec![self.block(&all, &natural)];
        };
        let least: Vec<usize> = all.iter().map(|column| self.least(*column)).collect();
        if let Some(widths) = self.narrowed(&all, &least, width) {
            return vec![self.block(&all, &widths)];
        }
        let (keys, others) = all.split_at(self.keys);
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for column in others {
            let fits = |block: &Vec<usize>| {
                let with = [block.as_slice(), &[*column]].concat();
                self.narrowed(&with, &least, width).is_some()
            };
            match blocks.last_mut() {
                Some(block) if fits(block) => block.push(*column),
                _ if fits(&keys.to_vec()) => blocks.push([keys, &[*column]].concat()),
                _ => return vec![self.stack(width)],
            }
        }
        let text = |block: &Vec<usize>| {
            self.narrowed(block, &least, width).map(|widths| self.block(block, &widths))
        };
        blocks.iter().filter_map(text).collect()
    }

    /// Widths of columns with wrapped names, if they fit; the rest belongs to the column of words.
    fn narrowed(&self, columns: &[usize], least: &[usize], width: usize) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = columns.iter().map(|column| least[*column]).collect();
        let spare = width.checked_sub(sum(&widths))?;
        if let (true, Some(last)) = (self.has_words_at(columns.last().copied()?), widths.last_mut())
        {
            *last = (*last + spare).min(self.widest(self.header.len() - 1)).max(*last);
        }
        Some(widths)
    }

    /// Lines of the columns, the names first.
    fn block(&self, columns: &[usize], widths: &[usize]) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, row) in [&self.header].into_iter().chain(&self.rows).enumerate() {
            let cells: Vec<Vec<String>> = columns
                .iter()
                .zip(widths)
                .map(|(column, width)| match number == 0 || self.has_words_at(*column) {
                    true => wrapped(&row[*column], *width),
                    false => vec![row[*column].clone()],
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                let mut text = String::new();
                for ((column, width), cell) in columns.iter().zip(widths).zip(&cells) {
                    // The names of columns stand on the rows, those of few lines too.
                    let skipped = if number == 0 { height - cell.len() } else { 0 };
                    let cell = line.checked_sub(skipped).and_then(|line| cell.get(line));
                    let cell = cell.map_or("", String::as_str);
                    text += &match *column == 0 || self.has_words_at(*column) {
                        true => format!("{:GAP$}{cell:<width$}", ""),
                        false => format!("{:GAP$}{cell:>width$}", ""),
                    };
                }
                lines.push(text);
            }
        }
        lines
    }

    /// The rows, stacked.
    fn stack(&self, width: usize) -> Vec<String> {
        let (keys, others) = self.header.split_at(self.keys);
        let name_width = others.iter().map(|name| length(name)).max().unwrap_or(0);
        let mut lines = Vec::new();
        for row in &self.rows {
            let names = keys.iter().zip(row).map(|(key, cell)| match key.as_str() {
                "" => cell.clone(),
                key => format!("{key} {cell}"),
            });
            lines.push(format!("{:GAP$}{}", "", names.collect::<Vec<_>>().join(", ")));
            for (name, cell) in others.iter().zip(&row[self.keys..]) {
                lines.push(format!("    {name:<name_width$}  {cell}"));
            }
        }
        lines.iter().flat_map(|line| fold::line(line, width)).collect()
    }

    /// The longest cell of a column, without its name.
    fn widest(&self, column: usize) -> usize {
        self.rows.iter().map(|row| length(&row[column])).max().unwrap_or(0)
    }

    /// The minimum width of a column.
    fn least(&self, column: usize) -> usize {
        let cells = match self.has_words_at(column) {
            true => self.widest(column).min(NARROWEST_WORDS),
            false => self.widest(column),
        };
        self.header[column].split_whitespace().map(length).fold(cells, usize::max)
    }

    fn has_words_at(&self, column: usize) -> bool {
        self.has_words && column + 1 == self.header.len()
    }
}

/// Width of text in terminal columns.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn sum(widths: &[usize]) -> usize {
    widths.iter().map(|width| GAP + width).sum()
}

#[cfg(test)]
mod tests;
