//! The discipline of a scenario by itself.

use crate::errors::scenario_error;
use crate::run::own_error;
use crate::scenario::Scenario;
use penstock_scenario::{Counts, Probe, ProbeError};
use penstock_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What the bottleneck's discipline does to packets while the queue is held at `queue` packets, by
/// `runs` random streams: for each of `from_s` how many packets it saw in the `window_s` seconds
/// that follow, and of these how many it marked incipient, marked CE, and dropped.
#[pyfunction]
#[pyo3(signature = (scenario, queue, from_s, window_s, runs, capable=true, flows=1, load=1.0))]
#[allow(clippy::too_many_arguments)] // the keywords of a Python function
pub fn probe(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    queue: u32,
    from_s: Vec<f64>,
    window_s: f64,
    runs: u64,
    capable: bool,
    flows: u32,
    load: f64,
) -> PyResult<Vec<(u64, u64, u64, u64)>> {
    for (name, value, least) in [("window_s", window_s, 1e-9), ("load", load, 1e-3)] {
        if !(least..=1e3).contains(&value) {
            return Err(PyValueError::new_err(format!(
                "{name} = {value}: must be from {least} to 1000"
            )));
        }
    }
    if let Some(bad) = from_s.iter().find(|s| !(0.0..=1e6).contains(*s)) {
        return Err(PyValueError::new_err(format!("from_s = {bad}: must be from 0 to 1e6 s")));
    }
    let from = from_s.into_iter().map(Duration::from_secs_f64).collect();
    let window = Duration::from_secs_f64(window_s);
    let how = Probe { queue, load, capable, flows, from, window, runs };
    let scenario = &scenario.get().inner;
    let counts = py.detach(|| scenario.probe(&how)).map_err(|error| match error {
        ProbeError::Scenario(error) => scenario_error(&error),
        ProbeError::Own(error) => own_error(error),
    })?;
    Ok(counts.iter().map(|c: &Counts| (c.packets, c.incipient, c.ce, c.dropped)).collect())
}
