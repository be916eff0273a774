//! Tables of results, as Arrow without copying (the Arrow PyCapsule interface).

use std::fs::File;
use std::path::PathBuf;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure;

/// A table in a Parquet file.
#[pyclass(module = "polypath._polypath", frozen)]
pub(crate) struct Table {
    path: PathBuf,
}

#[pymethods]
impl Table {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let table = Self { path };
        table.reader()?;
        Ok(table)
    }

    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to us whether to follow the wish.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(self.reader()?);
        PyCapsule::new(py, stream, Some(c"arrow_array_stream".to_owned()))
    }
}

impl Table {
    fn reader(&self) -> PyResult<Box<dyn RecordBatchReader + Send>> {
        let fail =
            |error: &dyn std::fmt::Display| failure(format!("{}: {error}", self.path.display()));
        let file = File::open(&self.path).map_err(|error| fail(&error))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| fail(&error))?;
        Ok(Box::new(builder.build().map_err(|error| fail(&error))?))
    }
}
