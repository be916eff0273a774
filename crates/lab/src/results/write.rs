//! Writes the tables from the journal.

use std::collections::BTreeMap;
use std::mem;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::table::{Column, TableWriter};
use super::{EXECUTION, RUNS, SERIES, WriteError};
use crate::journal::{Cell, Entry, Journal, JournalError, Kind, Outcome, Plan, RunId, Status};
use crate::study::{Axis, Point, Study};

/// Maximum number of errors in a summary.
const ERRORS: usize = 5;

/// A row of `runs`. There can be millions, so the integers are small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowKey {
    pub point: u32,
    pub variant: u32,
    pub replication: u32,
    pub id: RunId,
}

impl RowKey {
    fn point(&self) -> usize {
        self.point as usize
    }

    fn variant(&self) -> usize {
        self.variant as usize
    }
}

/// Number of rows by status, and errors.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub statuses: BTreeMap<Status, usize>,
    pub errors: Vec<String>,
}

/// Rows that all threads prepare together, and thus the maximum in memory.
const TOGETHER: usize = 512;

/// Writes all tables in the order of `rows`; memory does not grow with their number. Call it inside a thread pool.
pub(crate) fn write(
    study: &Study,
    directory: &Path,
    (journal, plan): (&Journal, &Plan),
    rows: &[RowKey],
) -> Result<Tally, WriteError> {
    let kinds = journal.kinds(rows.iter().map(|row| row.id));
    let mut columns = leading_columns(study);
    columns.extend(result_columns(&kinds));
    let mut runs = TableWriter::create(&directory.join(RUNS), columns)?;
    let mut series = match study.series() {
        Some(_) => Some(TableWriter::create(&directory.join(SERIES), series_columns())?),
        None => None,
    };
    let mut execution = TableWriter::create(&directory.join(EXECUTION), execution_columns())?;
    let mut repeated = repeated(rows);
    let mut tally = Tally::default();
    let names: Vec<&String> = kinds.keys().collect();
    let axes = axis_cells(study);
    for keys in rows.chunks(TOGETHER) {
        let prepare = |places: &mut Places, key: &RowKey| -> Result<Prepared, JournalError> {
            let entry = journal.read(key.id)?;
            let executed = entry.as_ref().map(|entry| execution_row(key.id, entry));
            let mut outcome = entry.map_or_else(|| nothing(plan, key), |entry| entry.outcome);
            places.find(&outcome.result.names, &names);
            let row = row(study, key, &mut outcome, &axes, places);
            Ok(Prepared { row, executed, outcome })
        };
        let prepared: Result<Vec<_>, _> =
            keys.par_iter().map_init(Places::default, prepare).collect();
        for (key, prepared) in keys.iter().zip(prepared?) {
            let is_first =
                repeated.get_mut(&key.id).is_none_or(|written| !mem::replace(written, true));
            if let Some(row) = prepared.executed.filter(|_| is_first) {
                execution.push(row)?;
            }
            tally.count(&prepared.outcome);
            runs.push(prepared.row)?;
            if let Some(series) = &mut series {
                write_series(series, study, key, &prepared.outcome)?;
            }
        }
    }
    runs.finish()?;
    execution.finish()?;
    series.map_or(Ok(()), TableWriter::finish)?;
    Ok(tally)
}

/// Runs of several rows, and whether their execution was written; equivalent configurations share their runs.
fn repeated(rows: &[RowKey]) -> BTreeMap<RunId, bool> {
    let mut ids: Vec<RunId> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| (pair[0], false)).collect()
}

/// Columns of results, from their names and types.
pub(crate) fn result_columns(
    kinds: &BTreeMap<String, Option<Kind>>,
) -> impl Iterator<Item = Column> {
    // A column without any value is one of missing numbers.
    let kind = |kind: Option<Kind>| kind.unwrap_or(Kind::Float);
    kinds.iter().map(move |(name, found)| column(&format!("result.{name}"), kind(*found)))
}

/// A row, ready to be written, and the rest of the outcome: its values are in the row.
struct Prepared {
    row: Vec<Cell>,
    executed: Option<[Cell; 7]>,
    outcome: Outcome,
}

/// Places of a shape's values in a run; the next run usually has the same shape.
#[derive(Default)]
pub(crate) struct Places {
    shape: Arc<Vec<String>>,
    /// By column.
    places: Vec<Option<usize>>,
}

impl Places {
    /// Adapts them to a shape, for columns of these names.
    pub fn find(&mut self, shape: &Arc<Vec<String>>, names: &[&String]) {
        if Arc::ptr_eq(&self.shape, shape) && self.places.len() == names.len() {
            return;
        }
        let known: BTreeMap<&String, usize> = shape.iter().zip(0..).collect();
        self.places = names.iter().map(|name| known.get(name).copied()).collect();
        self.shape = Arc::clone(shape);
    }

    /// Moves the values of a run of this shape to a row, in the order of the columns.
    pub fn take(&self, values: &mut [Cell], row: &mut Vec<Cell>) {
        let mut take = |place: usize| values.get_mut(place).map(mem::take).unwrap_or_default();
        row.extend(self.places.iter().map(|place| place.map_or(Cell::Null, &mut take)));
    }
}

/// For each value of each axis, its text and its number.
fn axis_cells(study: &Study) -> Vec<Vec<[Cell; 2]>> {
    let of_axis = |axis: &Axis| {
        let cells = |index| [Cell::Text(axis.label_of(index)), float(axis.position(index))];
        (0..axis.values.len()).map(cells).collect()
    };
    study.axes().iter().map(of_axis).collect()
}

/// The statuses of rows, without their results.
pub(crate) fn tally(
    (journal, plan): (&Journal, &Plan),
    rows: &[RowKey],
) -> Result<Tally, JournalError> {
    let mut tally = Tally::default();
    for key in rows {
        let note = journal.note(key.id);
        match note.filter(|note| note.status == Status::Ok) {
            Some(note) => *tally.statuses.entry(note.status).or_default() += 1,
            None => {
                let entry = journal.read(key.id)?;
                tally.count(&entry.map_or_else(|| nothing(plan, key), |entry| entry.outcome));
            }
        }
    }
    Ok(tally)
}

impl Tally {
    pub fn count(&mut self, outcome: &Outcome) {
        *self.statuses.entry(outcome.status).or_default() += 1;
        if let Some(error) = &outcome.error
            && self.errors.len() < ERRORS
            && !self.errors.contains(error)
        {
            self.errors.push(error.clone());
        }
    }
}

/// The row of a run that is not in the journal, because it was not possible.
fn nothing(plan: &Plan, key: &RowKey) -> Outcome {
    let error = plan.refused(key.point(), key.variant()).unwrap_or("the run was not made");
    Outcome::without_result(Status::Refused, error.into())
}

pub(crate) fn column(name: &str, kind: Kind) -> Column {
    Column { name: name.to_owned(), kind }
}

/// Columns that have a value in every row, whatever the outcome.
fn leading_columns(study: &Study) -> Vec<Column> {
    let mut columns = key_columns();
    columns.push(column("seed", Kind::Int));
    for axis in study.axes() {
        columns.push(column(&format!("axis.{}", axis.name), Kind::Text));
        columns.push(column(&format!("at.{}", axis.name), Kind::Float));
    }
    columns.extend(["status", "error", "trace_hash"].map(|name| column(name, Kind::Text)));
    let measures = study.measures().iter();
    columns
        .extend(measures.map(|measure| column(&format!("measure.{}", measure.name), Kind::Float)));
    columns
}

fn key_columns() -> Vec<Column> {
    vec![
        column("run", Kind::Text),
        column("point", Kind::Int),
        column("variant", Kind::Text),
        column("replication", Kind::Int),
    ]
}

fn key_cells(study: &Study, key: &RowKey) -> [Cell; 4] {
    [
        Cell::Text(key.id.to_string()),
        Cell::Int(key.point.into()),
        Cell::Text(study.variants()[key.variant()].name.clone()),
        Cell::Int(key.replication.into()),
    ]
}

pub(crate) fn float(number: Option<f64>) -> Cell {
    number.map_or(Cell::Null, Cell::Float)
}

/// The cells of a row; takes the values out of the result.
fn row(
    study: &Study,
    key: &RowKey,
    outcome: &mut Outcome,
    axes: &[Vec<[Cell; 2]>],
    places: &Places,
) -> Vec<Cell> {
    let text = |text: &Option<String>| text.clone().map_or(Cell::Null, Cell::Text);
    let point: &Point = &study.points().at(key.point());
    let mut row: Vec<Cell> = key_cells(study, key).into();
    row.push(Cell::Int(study.seed(point, key.variant(), key.replication) as i64));
    for (cells, index) in axes.iter().zip(&point.values) {
        row.extend(cells.get(*index).cloned().unwrap_or_default());
    }
    row.push(Cell::Text(outcome.status.name().into()));
    row.extend([text(&outcome.error), text(&outcome.trace_hash)]);
    let result = &mut outcome.result;
    for measure in study.measures() {
        row.push(float(measure.of(&result.names, &result.values).ok().flatten()));
    }
    places.take(&mut result.values, &mut row);
    row
}

fn series_columns() -> Vec<Column> {
    let mut columns = key_columns();
    columns.extend([
        column("series", Kind::Text),
        column("time_s", Kind::Float),
        column("value", Kind::Float),
    ]);
    columns
}

fn write_series(
    table: &mut TableWriter,
    study: &Study,
    key: &RowKey,
    outcome: &Outcome,
) -> Result<(), WriteError> {
    for (name, times, values) in &outcome.result.series {
        for (time, value) in times.iter().zip(values) {
            let sample = [Cell::Text(name.clone()), Cell::Float(*time), float(*value)];
            table.push(key_cells(study, key).into_iter().chain(sample))?;
        }
    }
    Ok(())
}

pub(crate) fn execution_columns() -> Vec<Column> {
    vec![
        column("run", Kind::Text),
        column("wall_s", Kind::Float),
        column("core_s", Kind::Float),
        column("started_unix_s", Kind::Float),
        column("host", Kind::Text),
        column("version", Kind::Text),
        column("revision", Kind::Text),
    ]
}

pub(crate) fn execution_row(id: RunId, entry: &Entry) -> [Cell; 7] {
    [
        Cell::Text(id.to_string()),
        Cell::Float(entry.execution.wall_s),
        float(entry.execution.core_s),
        Cell::Float(entry.execution.started_unix_s),
        Cell::Text(entry.program.host.clone()),
        Cell::Text(entry.program.version.clone()),
        Cell::Text(entry.program.revision.clone()),
    ]
}
