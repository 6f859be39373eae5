//! Emulation: the process that was forked for it calls [`isolate`] and, forked once more, [`run`].

use crate::errors::SimulationError;
use crate::run::RunResult;
use crate::scenario::Scenario;
use penstock_emulate::netns::{self, Privilege};
use penstock_emulate::{EmulateError, Options, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

/// Leaves the caller's network. Returns `"root"` or `"user-namespace"`; on failure, raises a
/// document that says what refuses.
#[pyfunction]
pub fn emulate_isolate(rootless: bool) -> Result<String, EmulationFailed> {
    match netns::isolate(rootless)? {
        Privilege::Root => Ok("root".into()),
        Privilege::UserNamespace => Ok("user-namespace".into()),
    }
}

/// Emulates, in the first process of the process namespace. `tell(t_s, queue_pkts, received,
/// dropped, marked)` is called about ten times per second; an exception that it raises ends the
/// run.
#[pyfunction]
pub fn emulate_run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    options: &str,
    privilege: &str,
    tell: Py<PyAny>,
) -> PyResult<String> {
    let options: Options =
        serde_json::from_str(options).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let privilege = if privilege == "root" { Privilege::Root } else { Privilege::UserNamespace };
    let scenario = &scenario.get().inner;
    let mut raised = None;
    let report = py.detach(|| {
        netns::settle();
        let mut told = |s: penstock_emulate::session::Status| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                tell.call1(py, (s.t_s, s.queue_pkts, s.received, s.dropped, s.marked)).map(drop)
            });
            raised = answer.err();
            raised.is_none()
        };
        penstock_emulate::run(scenario, seed, &options, privilege, &mut told)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    Ok(report.map_err(EmulationFailed)?.to_json())
}

/// The result and how it went (JSON), from what [`emulate_run`] returned.
#[pyfunction]
pub fn emulate_report(text: &str) -> PyResult<(RunResult, String)> {
    let report = Report::from_json(text).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let emulation = serde_json::to_string(&report.emulation)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((RunResult { inner: report.result }, emulation))
}

/// Raised with a JSON document: the kind of failure, and the message.
pub struct EmulationFailed(EmulateError);

impl From<EmulateError> for EmulationFailed {
    fn from(e: EmulateError) -> Self {
        EmulationFailed(e)
    }
}

impl From<EmulationFailed> for PyErr {
    fn from(EmulationFailed(e): EmulationFailed) -> PyErr {
        let kind = match &e {
            EmulateError::Scenario(_) => "scenario",
            EmulateError::Interrupted => "interrupted",
            EmulateError::Capture(_) => "capture",
            EmulateError::Refused(_) | EmulateError::Missing(_) => "refused",
            _ => "failed",
        };
        let message = match &e {
            EmulateError::Capture(errno) => errno.to_string(),
            _ => e.to_string(),
        };
        SimulationError::new_err(json!({ "kind": kind, "message": message }).to_string())
    }
}
