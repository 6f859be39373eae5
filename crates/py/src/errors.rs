//! The exceptions that Python's side declares, raised with the facts of the Rust errors.

use penstock_scenario::Problem;
use penstock_units::{shorten, QuantityError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pyo3::import_exception!(penstock.errors, ScenarioError);
pyo3::import_exception!(penstock.errors, SimulationError);

/// A `ScenarioError` that carries what the Rust one does, as attributes.
pub fn scenario_error(error: &penstock_scenario::ScenarioError) -> PyErr {
    raised(&error.to_string(), error.problem(), |value| {
        value.setattr("file", error.file())?;
        value.setattr("line", error.line())?;
        value.setattr("path", error.path())?;
        value.setattr("found", error.found_value())
    })
}

/// A `ScenarioError` about a quantity by itself, which has no place in a file. Its message begins
/// with the text in quotes, so that an option's name can stand before it.
pub fn quantity_error(text: &str, error: QuantityError) -> PyErr {
    let message = format!("\"{}\": {error}", shorten(text));
    let found = error.found().to_string();
    raised(&message, &Problem::Quantity(error), |value| value.setattr("found", found))
}

fn raised(
    text: &str,
    problem: &Problem,
    place: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
) -> PyErr {
    let error = ScenarioError::new_err(text.to_string());
    let set = Python::attach(|py| {
        let value = error.value(py).as_any();
        value.setattr("allowed", PyTuple::new(py, problem.allowed())?)?;
        value.setattr("nearest", problem.nearest())?;
        value.setattr("problem", problem.kind())?;
        place(value)
    });
    match set {
        Ok(()) => error,
        Err(failed) => failed,
    }
}
