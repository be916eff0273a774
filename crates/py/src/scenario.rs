//! One run.

use std::path::PathBuf;

use polypath_sim::document::Document;
use polypath_sim::{Form, Scenario as Plan, Simulation};
use pyo3::prelude::*;

use crate::failure;

/// A scenario that makes sense, as it was written, with changes.
#[pyclass(module = "polypath._polypath", frozen)]
pub(crate) struct Scenario {
    document: Document,
    plan: Plan,
}

impl Scenario {
    fn of(mut document: Document, edits: &[String]) -> PyResult<Self> {
        for edit in edits {
            document.set(edit).map_err(failure)?;
        }
        let plan = Plan::from_document(&document).map_err(failure)?;
        Ok(Self { document, plan })
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn read(path: PathBuf, edits: Vec<String>) -> PyResult<Self> {
        Self::of(Document::read(&path).map_err(failure)?, &edits)
    }

    #[staticmethod]
    fn parse(text: String, edits: Vec<String>) -> PyResult<Self> {
        Self::of(Document::parse("scenario", text).map_err(failure)?, &edits)
    }

    fn edited(&self, edits: Vec<String>) -> PyResult<Self> {
        Self::of(self.document.clone(), &edits)
    }

    #[getter]
    fn title(&self) -> &str {
        &self.plan.title
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.plan.run.seed
    }

    /// The result of a run as JSON.
    fn run(&self, py: Python<'_>, seed: Option<u64>, wire: bool) -> PyResult<String> {
        let seed = seed.unwrap_or(self.plan.run.seed);
        let form = if wire { Form::Wire } else { Form::Structured };
        let plan = &self.plan;
        py.detach(move || {
            let simulation =
                Simulation::with(plan, seed, form).map_err(|error| error.to_string())?;
            let result = simulation.run().map_err(|error| error.to_string())?;
            serde_json::to_string(&result).map_err(|error| error.to_string())
        })
        .map_err(failure)
    }
}
