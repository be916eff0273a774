//! Message traces: tables of times and lengths.

use std::sync::Arc;

use polypath_units::{ByteCount, Duration};

use super::Arrival;
use crate::Delivery;

/// A file with messages.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, expecting = "a table, for example { file = \"messages.csv\" }")
)]
pub struct TraceSource {
    /// Name of the file, relative to the folder of the scenario.
    pub file: String,
    /// What follows the last message.
    #[cfg_attr(feature = "serde", serde(default))]
    pub after_end: AfterEnd,
    /// Hash of the content. If set, a file with other content is an error.
    #[cfg_attr(feature = "serde", serde(default))]
    pub digest: Option<String>,
    /// What was read from it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub content: Option<Arc<MessageTrace>>,
}

/// What follows the last message of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum AfterEnd {
    /// Nothing.
    #[default]
    Stop,
    /// The first message again, after the interval between the last two.
    Repeat,
}

/// Messages in order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageTrace {
    rows: Vec<TraceRow>,
}

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// Since the start of the flow.
    pub after: Duration,
    /// Length.
    pub bytes: u32,
    /// Stream of the flow, from 0.
    pub stream: Option<u16>,
    /// Whether it waits for others.
    pub delivery: Option<Delivery>,
}

/// A list that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TraceError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// What a column has, and what a number in it is multiplied by.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Column {
    /// In nanoseconds.
    Time(f64),
    /// In bytes.
    Size(u64),
    Stream,
    Ordered,
}

impl MessageTrace {
    /// Reads a table: a header with units in brackets (`time [s],size [B],stream,ordered`), then a row per message, in
    /// order of time. `stream` and `ordered` (`yes`, `no`) may be missing or empty. Lines with `#` are remarks.
    ///
    /// # Errors
    /// Where it is wrong, and how.
    pub fn from_csv(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        let at = |line| move |message| TraceError { line, message };
        let (number, header) =
            lines.next().ok_or_else(|| at(1)("there is no header".to_owned()))?;
        let columns = columns(header).map_err(at(number))?;
        let mut rows: Vec<TraceRow> = Vec::new();
        for (number, line) in lines {
            let row = row(line, &columns).map_err(at(number))?;
            if let Some(last) = rows.last().filter(|last| last.after > row.after) {
                let message = format!("{} comes after {}", row.after, last.after);
                return Err(at(number)(message));
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(at(number)("there are no messages".to_owned()));
        }
        Ok(Self { rows })
    }

    /// The messages.
    pub fn rows(&self) -> &[TraceRow] {
        &self.rows
    }
}

fn columns(header: &str) -> Result<Vec<Column>, String> {
    let columns: Vec<Column> = header.split(',').map(column).collect::<Result<_, _>>()?;
    let kind = std::mem::discriminant::<Column>;
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].iter().any(|other| kind(other) == kind(column)) {
            return Err(format!("column {} was there before", index + 1));
        }
    }
    if !columns.iter().any(|column| matches!(column, Column::Time(_))) {
        return Err("there is no column `time [s]`".to_owned());
    }
    if !columns.iter().any(|column| matches!(column, Column::Size(_))) {
        return Err("there is no column `size [B]`".to_owned());
    }
    Ok(columns)
}

fn column(cell: &str) -> Result<Column, String> {
    let cell = cell.trim();
    let (name, unit) = match cell.split_once('[') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix(']').map(str::trim)),
        None => (cell, None),
    };
    match (name, unit) {
        ("time", Some(unit)) => {
            let unit: Duration = format!("1 {unit}").parse().map_err(|e| format!("{e}"))?;
            Ok(Column::Time(unit.as_nanos() as f64))
        }
        ("size", Some(unit)) => {
            let unit: ByteCount = format!("1 {unit}").parse().map_err(|e| format!("{e}"))?;
            Ok(Column::Size(unit.as_bytes()))
        }
        ("time" | "size", None) => {
            Err(format!("`{cell}` has no unit: write, for example, `time [s]`, `size [B]`"))
        }
        ("stream", None) => Ok(Column::Stream),
        ("ordered", None) => Ok(Column::Ordered),
        _ => Err(format!(
            "`{cell}` is no column; columns: `time [s]`, `size [B]`, `stream`, `ordered`"
        )),
    }
}

fn row(line: &str, columns: &[Column]) -> Result<TraceRow, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{} cells, but {} columns", cells.len(), columns.len()));
    }
    let mut row = TraceRow { after: Duration::ZERO, bytes: 0, stream: None, delivery: None };
    for (cell, column) in cells.into_iter().zip(columns) {
        match column {
            Column::Time(unit) => {
                let number = cell.parse::<f64>().ok().map(|number| number * unit);
                let steps = number.filter(|steps| (0.0..1.8e19).contains(steps));
                let steps = steps.ok_or_else(|| format!("`{cell}` is no time from zero on"))?;
                row.after = Duration::from_nanos((steps + 0.5) as u64);
            }
            Column::Size(unit) => {
                let bytes = cell.parse::<u64>().ok().and_then(|number| number.checked_mul(*unit));
                let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
                row.bytes = bytes.ok_or_else(|| format!("`{cell}` is no length of a message"))?;
            }
            Column::Stream if cell.is_empty() => {}
            Column::Stream => {
                let stream = cell.parse().map_err(|_| format!("`{cell}` is no stream"))?;
                row.stream = Some(stream);
            }
            Column::Ordered => {
                row.delivery = match cell {
                    "" => None,
                    "yes" => Some(Delivery::Ordered),
                    "no" => Some(Delivery::Unordered),
                    _ => return Err(format!("`{cell}` is neither `yes` nor `no`")),
                };
            }
        }
    }
    Ok(row)
}

/// The messages of a list, once or over and over.
#[derive(Clone, Debug)]
pub(crate) struct TraceArrivals {
    content: Arc<MessageTrace>,
    after_end: AfterEnd,
    next: usize,
    /// Length of the rounds before.
    before: Duration,
}

impl TraceArrivals {
    /// Nothing of a list that was not read.
    pub fn new(of: &TraceSource) -> Self {
        let content = of.content.clone();
        let content = content.unwrap_or_else(|| Arc::new(MessageTrace { rows: Vec::new() }));
        Self { content, after_end: of.after_end, next: 0, before: Duration::ZERO }
    }

    pub fn next(&mut self) -> Option<Arrival> {
        let rows = &self.content.rows;
        if self.next == rows.len() {
            // The distance of the last two, so that a list of equal distances goes on as it was.
            let [.., before, last] = rows[..] else { return None };
            let period = last.after + (last.after - before.after);
            if self.after_end == AfterEnd::Stop || period.is_zero() {
                return None;
            }
            self.before += period;
            self.next = 0;
        }
        let row = rows.get(self.next)?;
        self.next += 1;
        let after = self.before + row.after;
        let (delivery, stream) = (row.delivery, row.stream);
        Some(Arrival { after, bytes: row.bytes.into(), delivery, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(text: &str, after_end: AfterEnd) -> impl Iterator<Item = (u64, u64)> {
        let content = Some(Arc::new(MessageTrace::from_csv(text).unwrap()));
        let source = TraceSource { file: String::new(), after_end, digest: None, content };
        let mut arrivals = TraceArrivals::new(&source);
        let next = move || arrivals.next();
        std::iter::from_fn(next).map(|arrival| (arrival.after.as_millis(), arrival.bytes))
    }

    #[test]
    fn tables_are_read_and_repeated() {
        let text = "# voice\ntime [ms],size [B]\n0,160\n20, 160\n\n40,1000\n";
        let once: Vec<_> = arrivals(text, AfterEnd::Stop).collect();
        assert_eq!(once, [(0, 160), (20, 160), (40, 1_000)]);
        let again: Vec<_> = arrivals(text, AfterEnd::Repeat).take(7).collect();
        assert_eq!(again[3..], [(60, 160), (80, 160), (100, 1_000), (120, 160)]);
    }

    #[test]
    fn columns_can_be_in_any_order_and_some_be_empty() {
        let text = "ordered,size [kB],stream,time [s]\nno,2,3,0.5\n,1,,1\nyes,1,0,1\n";
        let rows = MessageTrace::from_csv(text).unwrap().rows;
        let row = |ms, bytes, stream, delivery| TraceRow {
            after: Duration::from_millis(ms),
            bytes,
            stream,
            delivery,
        };
        assert_eq!(rows[0], row(500, 2_000, Some(3), Some(Delivery::Unordered)));
        assert_eq!(rows[1], row(1_000, 1_000, None, None));
        assert_eq!(rows[2], row(1_000, 1_000, Some(0), Some(Delivery::Ordered)));
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        let cases = [
            ("", 1, "no header"),
            ("time [s]\n0\n", 1, "no column `size [B]`"),
            ("time,size [B]\n", 1, "has no unit"),
            ("time [s],size [B],time [s]\n", 1, "column 3 was there before"),
            ("time [s],length [B]\n", 1, "is no column"),
            ("time [s],size [B]\n", 1, "no messages"),
            ("time [s],size [B]\n0,1\n1\n", 3, "1 cells, but 2 columns"),
            ("time [s],size [B]\n1,10\n0.5,10\n", 3, "500 ms comes after 1 s"),
            ("time [s],size [B]\n-1,10\n", 2, "no time"),
            ("time [s],size [B]\n1,99999999999\n", 2, "no length"),
            ("time [s],size [B],ordered\n1,9,maybe\n", 2, "neither"),
        ];
        for (text, line, message) in cases {
            let error = MessageTrace::from_csv(text).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text}: {error}");
        }
    }
}
