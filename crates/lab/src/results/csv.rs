//! Tables as CSV (RFC 4180).

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::table::text_of;
use super::{
    EXECUTION, NETWORKS, RUNS, ResultsError, SAMPLE, SERIES, Table, TableError, finished,
    make_directory,
};
use crate::journal::Cell;

/// Writes the tables of a directory with results as CSV into another one; returns the files.
///
/// # Errors
/// There are no results or not all, a table cannot be read, or a file not written.
pub fn export(directory: &Path, out: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let failed = |path: &Path, error| ResultsError::Io { path: path.to_owned(), error };
    // A random sample has no study; its tables appear when all runs are there.
    if !(directory.join(SAMPLE).is_file() && directory.join(RUNS).is_file()) {
        finished(directory)?;
    }
    make_directory(out)?;
    let mut files = Vec::new();
    for name in [RUNS, NETWORKS, SERIES, EXECUTION] {
        let source = directory.join(name);
        // Only random samples have a table of networks, and only studies that keep series one of those.
        if (name == SERIES || name == NETWORKS) && !source.exists() {
            continue;
        }
        let target = out.join(name).with_extension("csv");
        let file = File::create(&target).map_err(|error| failed(&target, error))?;
        write_table(&Table::open(&source)?, BufWriter::new(file)).map_err(|error| match error {
            CsvError::Table(error) => ResultsError::Table(error),
            CsvError::Io(error) => failed(&target, error),
        })?;
        files.push(target);
    }
    Ok(files)
}

enum CsvError {
    Table(TableError),
    Io(io::Error),
}

impl From<TableError> for CsvError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

impl From<io::Error> for CsvError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn write_table(table: &Table, mut out: impl Write) -> Result<(), CsvError> {
    write_line(&mut out, table.columns().iter().map(|name| harmless(name)))?;
    let all: Vec<usize> = (0..table.columns().len()).collect();
    table.rows::<CsvError>(&all, |row| Ok(write_line(&mut out, row.iter().map(field))?))?;
    Ok(out.flush()?)
}

/// A cell as a field. Numbers may begin with a minus.
fn field(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::Text(text) => harmless(text),
        other => text_of(other).unwrap_or_default().into(),
    }
}

/// Text that no spreadsheet takes for a formula: after an apostrophe, if it begins like one.
fn harmless(text: &str) -> Cow<'_, str> {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}").into(),
        _ => text.into(),
    }
}

fn write_line<'a>(
    out: &mut impl Write,
    fields: impl Iterator<Item = Cow<'a, str>>,
) -> io::Result<()> {
    for (number, field) in fields.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(out, "{comma}{}", quoted(&field))?;
    }
    out.write_all(b"\r\n")
}

/// The fields of each line of a table. Whatever the text is, it is taken as well as it can be.
pub(crate) fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let (mut line, mut field, mut in_quotes) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if in_quotes && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => line.push(std::mem::take(&mut field)),
            '\r' if !in_quotes => {}
            '\n' if !in_quotes => {
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            letter => field.push(letter),
        }
    }
    if !field.is_empty() || !line.is_empty() {
        line.push(field);
        lines.push(line);
    }
    lines
}

/// A field, in quotes where it needs them.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let lines = vec![vec!["a", "b, \"c\"", ""], vec!["two\nlines", "", "x"]];
        let mut text = Vec::new();
        for line in &lines {
            write_line(&mut text, line.iter().map(|field| (*field).into())).expect("memory");
        }
        assert_eq!(read_csv(std::str::from_utf8(&text).expect("text")), lines);
        assert_eq!(read_csv("a,b\nc,d"), [["a", "b"], ["c", "d"]]);
    }

    #[test]
    fn text_that_looks_like_a_formula_gets_an_apostrophe_and_numbers_do_not() {
        for (cell, expected) in [
            (Cell::Text("=cmd|calc!A0".into()), "'=cmd|calc!A0"),
            (Cell::Text("+1".into()), "'+1"),
            (Cell::Text("-1".into()), "'-1"),
            (Cell::Text("@x".into()), "'@x"),
            (Cell::Text("\t=1".into()), "'\t=1"),
            (Cell::Text("a=1".into()), "a=1"),
            (Cell::Text(String::new()), ""),
            (Cell::Int(-3), "-3"),
            (Cell::Float(-0.5), "-0.5"),
            (Cell::Null, ""),
        ] {
            assert_eq!(field(&cell), expected);
        }
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        for (field, expected) in [
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(field), expected);
        }
    }
}
