//! Reports results as they arrive, in the chosen format.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::csv::Writer;
use anyhow::{Context, Result};
use polypath_meter::document::{Document, Interval, StreamLine, Timestamp};
use polypath_meter::{Event, Observer};

use super::options::{FormatOptions, ReportOptions};
use super::{csv, text};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Outlet};
use crate::place::{self, Before};
use crate::table::{Width, fold};

/// Maximum size of the text that is kept for the peer.
const KEPT: usize = 64 << 10;

/// Format of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Text.
    Text,
    /// One JSON document at the end.
    Json,
    /// A line of JSON for each event.
    JsonStream,
    /// None.
    Nothing,
}

/// Reports results.
#[derive(Debug)]
pub(crate) struct Reporter {
    format: Format,
    /// A file instead of standard output.
    file: Option<File>,
    /// Output that never blocks, for a server.
    outlet: Option<Arc<Outlet>>,
    outlet_is: OutletIs,
    timestamps: Timestamps,
    style: Style,
    detail: Detail,
    csv: Option<Writer<File>>,
    /// Before each line of text.
    prefix: String,
    /// Text for the peer.
    kept: Option<String>,
    /// Whether the next interval begins a table.
    table: Table,
    /// The first error while writing a report.
    failure: Option<Failure>,
}

/// Parts of a measurement that are printed as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detail {
    /// The results at the end.
    Least,
    Usual,
    /// The path too if there is only one.
    Most,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OutletIs {
    StandardOutput,
    LogFile,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timestamps {
    Off,
    On,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    Plain,
    Coloured,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Table {
    ToBegin,
    Begun,
}

impl Observer for Reporter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Started { document, wants_output } => {
                // Collects the text from now on, whatever the output format is.
                self.kept = wants_output.then(String::new);
                self.start(document);
            }
            Event::Interval(interval) => self.interval(interval),
            _ => {}
        }
    }

    fn output(&mut self) -> Option<String> {
        self.kept.take()
    }
}

impl Reporter {
    /// A reporter for a client, whose lines begin with the title, as in iperf3.
    pub fn of_client(options: &ReportOptions, title: Option<&str>) -> Result<Self> {
        let reporter = Self::new(&options.format, options.csv.as_deref())?;
        Ok(Self {
            prefix: title.map_or_else(String::new, |title| format!("{title}:  ")),
            ..reporter
        })
    }

    /// A reporter with these options.
    pub fn new(options: &FormatOptions, csv: Option<&Path>) -> Result<Self> {
        let format = match (options.json, options.json_stream) {
            (true, _) => Format::Json,
            (_, true) => Format::JsonStream,
            _ => Format::Text,
        };
        let create = |path: &Path| place::open_to_write(path, Before::Keep);
        let file = options.logfile.as_deref().map(create).transpose()?;
        let fresh = |path: &Path| place::open_to_write(path, Before::Discard);
        let mut csv = csv.map(fresh).transpose()?.map(Writer::from_writer);
        if let Some(csv) = &mut csv {
            csv.write_record(csv::HEADER)?;
            csv.flush()?;
        }
        let colours = file.is_none()
            && io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Self {
            format,
            file,
            outlet: None,
            outlet_is: OutletIs::StandardOutput,
            timestamps: if options.timestamps { Timestamps::On } else { Timestamps::Off },
            style: if colours { Style::Coloured } else { Style::Plain },
            detail: match (options.detail.quiet, options.detail.verbose) {
                (true, _) => Detail::Least,
                (_, true) => Detail::Most,
                _ => Detail::Usual,
            },
            csv,
            prefix: String::new(),
            kept: None,
            table: Table::ToBegin,
            failure: None,
        })
    }

    /// One for a server, whose clients must not wait for the reader of standard output.
    pub fn of_server(options: &FormatOptions) -> Result<Self, Failure> {
        let mut reporter = Self::new(options, None).map_err(Failure::Usage)?;
        let (outlet, outlet_is) = match reporter.file.take() {
            Some(file) => (output::results_to(file)?, OutletIs::LogFile),
            None => (output::results()?, OutletIs::StandardOutput),
        };
        Ok(Self { outlet: Some(Arc::new(outlet)), outlet_is, ..reporter })
    }

    /// Waits until a server's reports are written, as long as the reader takes one within each `patience`.
    pub fn flush(&self, patience: Duration) -> Outcome {
        let Some(outlet) = &self.outlet else { return Ok(()) };
        outlet.flush(patience);
        self.failure_of(outlet)
    }

    /// The error of the output that never blocks.
    fn failure_of(&self, outlet: &Outlet) -> Outcome {
        match self.outlet_is {
            OutletIs::StandardOutput => output::failure_of(outlet),
            OutletIs::LogFile => output::failure_of_log(outlet),
        }
    }

    /// A reporter to the same output, whose lines begin with `prefix`.
    pub fn sibling(&self, prefix: String) -> Result<Self> {
        Ok(Self {
            file: self.file.as_ref().map(File::try_clone).transpose()?,
            outlet: self.outlet.clone(),
            csv: None,
            prefix,
            kept: None,
            table: Table::ToBegin,
            failure: None,
            ..*self
        })
    }

    /// A reporter for additional measurements, which only the text report includes.
    pub fn aside(&self) -> Result<Self> {
        let format = if self.format == Format::Text { Format::Text } else { Format::Nothing };
        Ok(Self { format, ..self.sibling(self.prefix.clone())? })
    }

    /// Whether the document at the end contains the intervals.
    pub fn tells_intervals_at_the_end(&self) -> bool {
        self.format == Format::Json
    }

    /// Reports the start.
    fn start(&mut self, document: &Document) {
        self.table = Table::ToBegin;
        if self.detail != Detail::Least {
            self.lines(|_| text::start(&document.start));
        }
        if self.format == Format::JsonStream {
            self.json_line(&StreamLine::start(document));
        }
    }

    /// Reports an interval.
    fn interval(&mut self, interval: &Interval) {
        let begins = std::mem::replace(&mut self.table, Table::Begun) == Table::ToBegin;
        let shows_paths = self.detail == Detail::Most || interval.paths.len() > 1;
        if self.detail != Detail::Least {
            self.lines(|width| text::interval(interval, (begins, shows_paths), width));
        }
        if self.format == Format::JsonStream {
            self.json_line(&StreamLine::interval(interval));
        }
        if let Some(csv) = &mut self.csv {
            let written = csv::rows(interval).iter().try_for_each(|row| csv.write_record(row));
            let written =
                written.and_then(|()| Ok(csv.flush()?)).context("cannot write the CSV file");
            self.note(written.map_err(Failure::Failed));
        }
    }

    /// Reports the end. An error is not printed as text: the caller does that.
    pub fn end(&mut self, document: &Document) {
        self.lines(|width| text::end(document, width));
        match self.format {
            Format::Text | Format::Nothing => {}
            Format::Json => {
                let text = serde_json::to_string_pretty(document);
                self.json(text);
            }
            Format::JsonStream => {
                self.json_line(&StreamLine::end(document));
                if let Some(error) = &document.error {
                    self.json_line(&StreamLine::Error(error.clone()));
                }
            }
        }
    }

    /// Reports the end of another kind of measurement: its JSON document takes one line.
    pub fn end_on_one_line(&mut self, document: &Document) {
        if self.format == Format::Json {
            let text = serde_json::to_string(document);
            return self.json(text);
        }
        self.end(document);
    }

    /// Reports that the measurement did not begin.
    pub fn failed(&mut self, document: &Document) {
        match self.format {
            Format::Text | Format::Nothing => {}
            Format::Json => self.end(document),
            Format::JsonStream => {
                if let Some(error) = &document.error {
                    self.json_line(&StreamLine::Error(error.clone()));
                }
            }
        }
    }

    /// Prints a remark, in text only.
    pub fn remark(&mut self, remark: &str) {
        self.lines(|_| vec![remark.to_owned()]);
    }

    /// Whether all reports could be written.
    pub fn outcome(&mut self) -> Outcome {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn lines(&mut self, lines: impl Fn(Width) -> Vec<String>) {
        if self.format != Format::Text && self.kept.is_none() {
            return;
        }
        if let Some(kept) = &mut self.kept {
            // The peer has a terminal of its own.
            for line in &lines(Width::FULL) {
                if kept.len() + line.len() < KEPT {
                    kept.push_str(line);
                    kept.push('\n');
                }
            }
        }
        if self.format != Format::Text {
            return;
        }
        let mut text = String::new();
        let width = self.width();
        for line in lines(width) {
            let line = fold(&line, width);
            if self.timestamps == Timestamps::On {
                text.push_str(&Timestamp::now().to_rfc3339());
                text.push(' ');
            }
            text.push_str(&self.prefix);
            text.push_str(&self.styled(line));
            text.push('\n');
        }
        self.write(text.as_bytes());
    }

    /// Columns that are left after the time and the prefix of a line.
    fn width(&self) -> Width {
        if self.file.is_some() || self.outlet_is == OutletIs::LogFile {
            return Width::FULL;
        }
        let time = if self.timestamps == Timestamps::On {
            Timestamp::now().to_rfc3339().len() + 1
        } else {
            0
        };
        Width::of_output().less(time + self.prefix.chars().count())
    }

    fn styled(&self, line: String) -> String {
        if self.style == Style::Plain {
            return line;
        }
        match () {
            () if line.contains("MISSED") => format!("\x1b[31m{line}\x1b[0m"),
            () if line.starts_with("[  SUM]") => format!("\x1b[1m{line}\x1b[0m"),
            () if line.starts_with("[path") => format!("\x1b[36m{line}\x1b[0m"),
            () => line,
        }
    }

    fn json_line(&mut self, line: &StreamLine) {
        let text = serde_json::to_string(line);
        self.json(text);
    }

    fn json(&mut self, text: serde_json::Result<String>) {
        match text {
            Ok(text) => self.write((text + "\n").as_bytes()),
            Err(error) => self.note(Err(error.into())),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let outlet = self.outlet.clone();
        let written = match (&mut self.file, &outlet) {
            (Some(file), _) => {
                file.write_all(bytes).context("cannot write the log file").map_err(Failure::Failed)
            }
            (None, Some(outlet)) => {
                outlet.put(bytes.to_vec());
                self.failure_of(outlet)
            }
            (None, None) => output::print(bytes),
        };
        self.note(written);
    }

    fn note(&mut self, outcome: Outcome) {
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
        }
    }
}
