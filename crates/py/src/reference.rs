//! Policies and presets.

use polypath_proto::config::{POLICY_KEYS, PolicyValue, PolicyValues, Preset};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A key of policies for Python.
fn entry<'py>(
    py: Python<'py>,
    [key, meaning, source, kind]: [&str; 4],
    values: Vec<(&str, &str)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, text) in [("key", key), ("meaning", meaning), ("source", source), ("kind", kind)] {
        dict.set_item(name, text)?;
    }
    dict.set_item("values", values)?;
    Ok(dict)
}

/// All policies.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let keys = POLICY_KEYS.iter().map(|key| {
        let named = |value: &'static PolicyValue| (value.name, value.meaning);
        let (kind, values) = match key.values {
            PolicyValues::Choice(values) => ("choice", values.iter().map(named).collect()),
            PolicyValues::Parameterized(values) => {
                let written = values.iter().map(|it| (it.example, it.value.meaning));
                ("choice with a parameter", written.collect())
            }
            PolicyValues::Quantity { what, example } => ("quantity", vec![(example, what)]),
        };
        entry(py, [key.key, key.meaning, key.source, kind], values)
    });
    keys.collect()
}

/// All presets with what they are for.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, String)> {
    let of = |preset: &Preset| {
        let words: Vec<&str> = preset.meaning().split_whitespace().collect();
        (preset.name(), words.join(" "))
    };
    Preset::ALL.iter().map(of).collect()
}
