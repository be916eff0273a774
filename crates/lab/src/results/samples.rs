//! Series of a study.

use std::path::Path;

use super::{SERIES, Table, TableError};
use crate::journal::Cell;

/// One sample of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample<'a> {
    /// Number of the point.
    pub point: usize,
    /// Name of the variant.
    pub variant: &'a str,
    /// Number of the run.
    pub replication: usize,
    /// Name of the series.
    pub series: &'a str,
    /// Seconds since the start of the run.
    pub time_s: f64,
    /// The value; `None` if there was none at the time.
    pub value: Option<f64>,
}

/// Calls `each` with every sample of the series in a directory with results.
///
/// # Errors
/// There are no series, or the file is damaged.
pub fn samples(directory: &Path, mut each: impl FnMut(Sample<'_>)) -> Result<(), TableError> {
    let table = Table::open(&directory.join(SERIES))?;
    let mut columns = Vec::new();
    for name in ["point", "variant", "replication", "series", "time_s", "value"] {
        columns.push(table.column(name)?);
    }
    table.rows(&columns, |row| {
        if let [
            Cell::Int(point),
            Cell::Text(variant),
            Cell::Int(run),
            Cell::Text(series),
            time,
            value,
        ] = row
            && let Some(time_s) = time.number()
        {
            let number = |number: &i64| usize::try_from(*number).unwrap_or_default();
            each(Sample {
                point: number(point),
                variant,
                replication: number(run),
                series,
                time_s,
                value: value.number(),
            });
        }
        Ok(())
    })
}
