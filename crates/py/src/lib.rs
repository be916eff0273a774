//! The simulator and the laboratory for Python: what package `polypath` has that is not written in Python.
//!
//! Everything that takes time lets other threads of Python run.

mod identity;
mod reference;
mod scenario;
mod study;
mod table;

use pyo3::prelude::*;

pyo3::create_exception!(
    _polypath,
    PolypathError,
    pyo3::exceptions::PyException,
    "A scenario or a study makes no sense, or a run could not be made; the text says what and where."
);

/// The module `polypath._polypath`.
#[pymodule]
fn _polypath(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PolypathError", module.py().get_type::<PolypathError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(reference::policies, module)?)?;
    module.add_function(wrap_pyfunction!(reference::presets, module)?)?;
    module.add_function(wrap_pyfunction!(study::gather, module)?)?;
    Ok(())
}

/// An error as Python gets it.
fn failure(error: impl ToString) -> PyErr {
    PolypathError::new_err(error.to_string())
}
