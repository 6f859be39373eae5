//! Emulation: the process that was forked for it calls [`isolate`] and, forked once more, [`run`].

use crate::errors::SimulationError;
use crate::run::RunResult;
use crate::scenario::Scenario;
use penstock_emulate::netns::{self, Privilege};
use penstock_emulate::session::bridge;
use penstock_emulate::sys::{self, Terminal};
use penstock_emulate::{Control, EmulateError, Options, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::os::fd::RawFd;

/// Leaves the caller's network. Returns `"root"` or `"user-namespace"`; on failure, raises a
/// document that says what refuses.
#[pyfunction]
pub fn emulate_isolate(rootless: bool) -> Result<String, EmulationFailed> {
    match netns::isolate(rootless)? {
        Privilege::Root => Ok("root".into()),
        Privilege::UserNamespace => Ok("user-namespace".into()),
    }
}

/// Emulates, in the first process of the process namespace; or between two interfaces, in a process
/// of its own. The caller holds it by the socket
/// `control`.
#[pyfunction]
pub fn emulate_run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seed: u64,
    options: &str,
    privilege: &str,
    control: RawFd,
) -> PyResult<String> {
    let options: Options =
        serde_json::from_str(options).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let privilege = if privilege == "root" { Privilege::Root } else { Privilege::UserNamespace };
    let scenario = &scenario.get().inner;
    let mut raised = None;
    let report = py.detach(|| {
        let mut alive = || {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        };
        let control = Control::inherited(control);
        if let Some([left, right]) = &options.between {
            let (between, control) = ([left.as_str(), right.as_str()], Some(control));
            return bridge(scenario, between, seed, &options, control, &mut alive);
        }
        netns::settle();
        penstock_emulate::run(scenario, seed, &options, privilege, control, &mut alive)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    Ok(report.map_err(EmulationFailed)?.to_json())
}

/// Between a fork and its exec: moves this process into namespaces, and goes on as a child there.
/// `terminal`: it gets the terminal on its standard input; `jobs`: and may be stopped from there.
#[pyfunction]
pub fn emulate_enter(namespaces: Vec<RawFd>, terminal: bool, jobs: bool) -> PyResult<()> {
    let terminal = match (terminal, jobs) {
        (false, _) => Terminal::Shared,
        (true, false) => Terminal::Given,
        (true, true) => Terminal::Jobs,
    };
    Ok(sys::enter(&namespaces, terminal)?)
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
