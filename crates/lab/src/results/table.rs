//! Flat tables as Parquet.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use polypath_sim::document::open_file;

use crate::journal::{Cell, Kind};

/// Rows that are written together, and thus the maximum in memory.
const GROUP: usize = 4_096;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file is not such a table.
    #[error("{}: {error}", .path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error.
        error: ParquetError,
    },
    /// A column is missing.
    #[error("{}: there is no column `{column}`", .path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
}

impl Kind {
    /// The type of such values in a file.
    fn physical(self) -> PhysicalType {
        match self {
            Self::Bool => PhysicalType::BOOLEAN,
            Self::Int => PhysicalType::INT64,
            Self::Float => PhysicalType::DOUBLE,
            Self::Text => PhysicalType::BYTE_ARRAY,
        }
    }
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub kind: Kind,
}

/// Writes a table row by row. The file gets its name when it is complete.
#[derive(Debug)]
pub struct TableWriter {
    path: PathBuf,
    temporary: PathBuf,
    columns: Vec<Column>,
    /// By column.
    waiting: Vec<Vec<Cell>>,
    writer: SerializedFileWriter<File>,
}

impl TableWriter {
    /// Begins a table.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, columns: Vec<Column>) -> Result<Self, TableError> {
        let mut temporary = path.to_owned().into_os_string();
        temporary.push(".part");
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary)
            .map_err(|error| TableError::Io { path: temporary.clone(), error })?;
        // The name of the library stays out of the file: its version would change the bytes.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("polypath".into())
            .build();
        let writer = schema(&columns)
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)))
            .map_err(|error| TableError::Parquet { path: path.to_owned(), error })?;
        let waiting = vec![Vec::new(); columns.len()];
        Ok(Self { path: path.to_owned(), temporary, columns, waiting, writer })
    }

    /// Adds a row with a cell for each column; missing ones are empty.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) -> Result<(), TableError> {
        let mut row = row.into_iter();
        for column in &mut self.waiting {
            column.push(row.next().unwrap_or_default());
        }
        if self.waiting.first().is_some_and(|column| column.len() >= GROUP) {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the table.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.flush()?;
        let path = self.path;
        self.writer.close().map_err(|error| TableError::Parquet { path: path.clone(), error })?;
        fs::rename(&self.temporary, &path).map_err(|error| TableError::Io { path, error })
    }

    fn flush(&mut self) -> Result<(), TableError> {
        if self.waiting.first().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        write_group(&mut self.writer, &self.columns, &self.waiting)
            .map_err(|error| TableError::Parquet { path: self.path.clone(), error })?;
        self.waiting.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> = columns
        .iter()
        .map(|column| {
            let text = (column.kind == Kind::Text).then_some(LogicalType::String);
            Type::primitive_type_builder(&column.name, column.kind.physical())
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(text)
                .build()
                .map(Arc::new)
        })
        .collect();
    Type::group_type_builder("schema").with_fields(fields?).build().map(Arc::new)
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    columns: &[Column],
    cells: &[Vec<Cell>],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (column, cells) in columns.iter().zip(cells) {
        match column.kind {
            Kind::Bool => write_column::<BoolType>(&mut group, cells, |cell| match cell {
                Cell::Bool(truth) => Some(*truth),
                _ => None,
            }),
            Kind::Int => write_column::<Int64Type>(&mut group, cells, |cell| match cell {
                Cell::Int(number) => Some(*number),
                _ => None,
            }),
            Kind::Float => write_column::<DoubleType>(&mut group, cells, Cell::number),
            Kind::Text => write_column::<ByteArrayType>(&mut group, cells, |cell| {
                text_of(cell).map(|text| ByteArray::from(text.into_bytes()))
            }),
        }?;
    }
    group.close()?;
    Ok(())
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    cells: &[Cell],
    value: impl Fn(&Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = cells.iter().map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}

/// A value as text; none for null.
pub(super) fn text_of(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Bool(truth) => Some(truth.to_string()),
        Cell::Int(number) => Some(number.to_string()),
        Cell::Float(number) => Some(number.to_string()),
        Cell::Text(text) => Some(text.clone()),
    }
}

/// A table that is read in pieces of several thousand rows.
pub struct Table {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    columns: Vec<String>,
}

impl Table {
    /// Opens a table.
    ///
    /// # Errors
    /// It is missing or not a table.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file =
            open_file(path).map_err(|error| TableError::Io { path: path.to_owned(), error })?;
        let reader = guarded(|| SerializedFileReader::new(file))
            .map_err(|error| TableError::Parquet { path: path.to_owned(), error })?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The number of a column.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn column(&self, name: &str) -> Result<usize, TableError> {
        let found = self.columns.iter().position(|column| column == name);
        found.ok_or_else(|| TableError::NoColumn {
            path: self.path.clone(),
            column: name.to_owned(),
        })
    }

    /// Calls `each` with the columns of these numbers in every row.
    ///
    /// # Errors
    /// The file is damaged, or `each` fails.
    pub fn rows<E: From<TableError>>(
        &self,
        columns: &[usize],
        mut each: impl FnMut(&[Cell]) -> Result<(), E>,
    ) -> Result<(), E> {
        for number in 0..self.reader.num_row_groups() {
            let wrong = |error| TableError::Parquet { path: self.path.clone(), error };
            let group = guarded(|| self.reader.get_row_group(number)).map_err(wrong)?;
            let read = guarded(|| {
                columns.iter().map(|column| read_column(&*group, *column)).collect::<Result<_, _>>()
            });
            let read: Vec<Vec<Cell>> = read.map_err(wrong)?;
            // Sizes in the file are accepted only as far as the data exists.
            let rows = read.first().map_or(0, Vec::len);
            if i64::try_from(rows) != Ok(group.metadata().num_rows()) {
                let message =
                    format!("{} rows announced, {rows} found", group.metadata().num_rows());
                return Err(wrong(ParquetError::General(message)).into());
            }
            let mut cells: Vec<_> = read.into_iter().map(Vec::into_iter).collect();
            for _ in 0..rows {
                let row: Vec<Cell> =
                    cells.iter_mut().map(|column| column.next().unwrap_or_default()).collect();
                each(&row)?;
            }
        }
        Ok(())
    }
}

/// Calls the library, which panics on some damaged files.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let damaged = |_| Err(ParquetError::General("it is damaged".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

fn read_column(group: &dyn RowGroupReader, column: usize) -> Result<Vec<Cell>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
    match group.get_column_reader(column)? {
        ColumnReader::BoolColumnReader(reader) => cells_of(reader, rows, Cell::Bool),
        ColumnReader::Int64ColumnReader(reader) => cells_of(reader, rows, Cell::Int),
        ColumnReader::DoubleColumnReader(reader) => cells_of(reader, rows, Cell::Float),
        ColumnReader::ByteArrayColumnReader(reader) => cells_of(reader, rows, |bytes| {
            Cell::Text(String::from_utf8_lossy(bytes.data()).into_owned())
        }),
        _ => Err(ParquetError::General("a column of a kind that is not used here".into())),
    }
}

fn cells_of<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    cell: impl Fn(T::T) -> Cell,
) -> Result<Vec<Cell>, ParquetError> {
    let room = rows.min(GROUP);
    let (mut levels, mut values) = (Vec::with_capacity(room), Vec::with_capacity(room));
    while levels.len() < rows {
        let (read, _, _) =
            reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?;
        if read == 0 {
            break;
        }
    }
    let mut values = values.into_iter();
    let next = |level| match level {
        0 => Cell::Null,
        _ => values.next().map_or(Cell::Null, &cell),
    };
    Ok(levels.into_iter().map(next).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_back_across_groups_of_rows() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("table.parquet");
        let column = |name: &str, kind| Column { name: name.into(), kind };
        let columns = vec![
            column("truth", Kind::Bool),
            column("int", Kind::Int),
            column("float", Kind::Float),
            column("text", Kind::Text),
        ];
        let row = |n: i64| {
            if n % 7 == 0 {
                return vec![Cell::Null; 4];
            }
            let text = Cell::Text(format!("äpfel {n}"));
            vec![Cell::Bool(n % 2 == 0), Cell::Int(-n), Cell::Float(n as f64 / 3.0), text]
        };
        let rows = GROUP as i64 + 10;
        let mut writer = TableWriter::create(&path, columns).expect("a table");
        (0..rows).for_each(|n| writer.push(row(n)).expect("written"));
        assert!(!path.exists(), "a table appears when it is whole");
        writer.finish().expect("written");
        let table = Table::open(&path).expect("a table");
        assert_eq!(table.columns(), ["truth", "int", "float", "text"]);
        let mut number = 0;
        table
            .rows::<TableError>(&[0, 1, 2, 3], |cells| {
                assert_eq!(cells, row(number));
                number += 1;
                Ok(())
            })
            .expect("readable");
        assert_eq!(number, rows);
        assert!(matches!(table.column("no"), Err(TableError::NoColumn { .. })));
    }

    #[test]
    fn kinds_that_do_not_mix_become_text() {
        for (one, other, both) in [
            (Kind::Int, Kind::Float, Kind::Float),
            (Kind::Bool, Kind::Bool, Kind::Bool),
            (Kind::Bool, Kind::Int, Kind::Text),
            (Kind::Text, Kind::Float, Kind::Text),
        ] {
            assert_eq!(one.or(other), both);
            assert_eq!(other.or(one), both);
        }
    }

    #[test]
    fn a_table_that_was_changed_is_read_or_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("table.parquet");
        let columns = vec![
            Column { name: "point".into(), kind: Kind::Int },
            Column { name: "text".into(), kind: Kind::Text },
        ];
        let mut writer = TableWriter::create(&path, columns).expect("a file");
        for n in 0..3 {
            writer.push([Cell::Int(n), Cell::Text(format!("row {n}"))]).expect("room");
        }
        writer.finish().expect("written");
        let whole = fs::read(&path).expect("a table");
        let mut refused = 0;
        for place in 0..whole.len() {
            for other in [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, whole[place] ^ 0x10, whole[place] ^ 1] {
                let mut changed = whole.clone();
                changed[place] = other;
                fs::write(&path, &changed).expect("room");
                let mut rows = 0;
                let read = Table::open(&path).and_then(|table| {
                    let columns = [table.column("point")?, table.column("text")?];
                    table.rows(&columns, |_| {
                        rows += 1;
                        Ok(())
                    })
                });
                assert!(rows <= 3, "{rows} rows with {other:#x} at {place}");
                refused += usize::from(read.is_err());
            }
        }
        assert!(refused > whole.len(), "{refused}");
    }
}
