//! Tables as CSV (RFC 4180).

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, Terminator, WriterBuilder};

use super::table::text_of;
use super::{
    EXECUTION, NETWORKS, RUNS, ResultsError, SAMPLE, SERIES, Table, TableError, finished,
    make_directory,
};
use crate::journal::Cell;

/// Writes the tables of a directory with results as CSV into another one; returns the files.
///
/// # Errors
/// Results are missing, a table cannot be read, or a file cannot be written.
pub fn export(directory: &Path, out: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let failed = |path: &Path, error| ResultsError::Io { path: path.to_owned(), error };
    // A random sample has no study; its tables exist once all runs are complete.
    if !(directory.join(SAMPLE).is_file() && directory.join(RUNS).is_file()) {
        finished(directory)?;
    }
    make_directory(out)?;
    let mut files = Vec::new();
    for name in [RUNS, NETWORKS, SERIES, EXECUTION] {
        let source = directory.join(name);
        // Only random samples have a table of networks, and only studies that keep series have one of series.
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

impl From<csv::Error> for CsvError {
    fn from(error: csv::Error) -> Self {
        Self::Io(error.into())
    }
}

fn write_table(table: &Table, out: impl Write) -> Result<(), CsvError> {
    // Line ends of RFC 4180.
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    out.write_record(table.columns().iter().map(|name| harmless(name).into_owned()))?;
    let all: Vec<usize> = (0..table.columns().len()).collect();
    table.rows::<CsvError>(&all, |row| {
        Ok(out.write_record(row.iter().map(|cell| field(cell).into_owned()))?)
    })?;
    Ok(out.flush()?)
}

/// A cell as a field. Numbers may begin with a minus.
fn field(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::Text(text) => harmless(text),
        other => text_of(other).unwrap_or_default().into(),
    }
}

/// Text that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe before it.
fn harmless(text: &str) -> Cow<'_, str> {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}").into(),
        _ => text.into(),
    }
}

/// The number and the fields of each nonempty line of a table. Invalid text is read as far as possible.
pub(crate) fn read_csv(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut counted, mut ends) = (0, 0);
    // Reading text in memory cannot fail, with lines of any length.
    let lines = reader.records().flatten().map(|line| {
        // The reader's position is that before empty lines, and between both ends of a line.
        let begin = line.position().map_or(0, |position| position.byte() as usize);
        let bytes = text.as_bytes();
        let skipped = bytes.iter().skip(begin).take_while(|byte| b"\r\n".contains(byte)).count();
        let now = begin + skipped;
        let passed = bytes.get(counted..now).unwrap_or_default();
        ends += passed.iter().filter(|byte| **byte == b'\n').count();
        counted = now;
        (ends + 1, line.iter().map(str::to_owned).collect())
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_numbers() {
        let line = |number, fields: &[&str]| {
            (number, fields.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let text = "a,\"b, \"\"c\"\"\",\r\n\r\n\"two\nlines\",,x\r\nshort\n";
        let expected = [
            line(1, &["a", "b, \"c\"", ""]),
            line(3, &["two\nlines", "", "x"]),
            line(5, &["short"]),
        ];
        assert_eq!(read_csv(text), expected);
        assert_eq!(read_csv("a,b\nc,d"), [line(1, &["a", "b"]), line(2, &["c", "d"])]);
        assert_eq!(read_csv(""), []);
        assert_eq!(read_csv("\"open").len(), 1);
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
}
