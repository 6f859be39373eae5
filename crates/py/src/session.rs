//! A run in steps. `python/penstock/runs/session.py` is what users see.

use crate::errors::{scenario_error, ScenarioError, SimulationError};
use crate::run::{interval, own_error, raw, RunResult};
use crate::scenario::Scenario;
use penstock_scenario::{Session as Core, SessionError};
use penstock_sim::{Handle, Record};
use penstock_units::{Duration, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard};

/// A run in steps. One thread at a time has it.
#[pyclass(frozen, module = "penstock._penstock")]
pub struct Session {
    /// `None` once it has ended in a result, or failed. In a box: Python's objects are aligned to
    /// 16 bytes, the queues of a run to 64.
    run: Mutex<Option<Box<Core>>>,
}

/// The exception for what a session failed with.
pub fn failed(run: &mut Option<Box<Core>>, error: SessionError) -> PyErr {
    match error {
        SessionError::Scenario(error) => scenario_error(&error),
        SessionError::Refused(why) => ScenarioError::new_err(why),
        SessionError::Run(error) => {
            // It cannot go on.
            let raised = run.take().and_then(|core| core.run().handle().abort.take());
            raised.map_or_else(|| SimulationError::new_err(error.to_string()), own_error)
        }
    }
}

impl Session {
    fn new(core: Core) -> Self {
        Session { run: Mutex::new(Some(Box::new(core))) }
    }

    fn guard(&self) -> PyResult<MutexGuard<'_, Option<Box<Core>>>> {
        let at_work = "the session is at work already, in another thread or within a discipline";
        self.run.try_lock().map_err(|_| PyRuntimeError::new_err(at_work))
    }

    /// Lets `work` have the run, if there still is one.
    fn with<T>(&self, work: impl FnOnce(&mut Core) -> Result<T, SessionError>) -> PyResult<T> {
        let mut guard = self.guard()?;
        let core = guard.as_mut().ok_or_else(over)?;
        work(core).map_err(|error| failed(&mut guard, error))
    }
}

/// A span of time: seconds, or text with its unit.
fn span(given: &Bound<'_, PyAny>) -> PyResult<Duration> {
    if let Ok(text) = given.cast::<pyo3::types::PyString>() {
        let text = text.to_str()?;
        return penstock_units::parse_duration(text)
            .map_err(|error| crate::errors::quantity_error(text, error));
    }
    let seconds: f64 = given.extract()?;
    if !(0.0..=1e9).contains(&seconds) {
        let message = format!("a span of {seconds} s: must be from 0 to 1e9 s");
        return Err(ScenarioError::new_err(message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// What stops the run where Python has a signal to handle, Ctrl-C, and keeps what that raises.
fn heeding(signal: &mut Option<PyErr>) -> impl FnMut(&Handle) + '_ {
    |handle| {
        if let Err(raised) = Python::attach(|py| py.check_signals()) {
            *signal = Some(raised);
            handle.stop.store(true, Relaxed);
        }
    }
}

/// The exception for a session that cannot do anything any more.
fn over() -> PyErr {
    ScenarioError::new_err("the session is over: its result was asked for, or it failed")
}

#[pymethods]
impl Session {
    /// The run of a scenario at its beginning.
    #[new]
    #[pyo3(signature = (scenario, seed, series_interval_s=None, events=false))]
    fn made(
        scenario: &Bound<'_, Scenario>,
        seed: u64,
        series_interval_s: Option<f64>,
        events: bool,
    ) -> PyResult<Self> {
        let series = series_interval_s.map(interval).transpose()?;
        let record = Record { series, events, ..Record::default() };
        let made = Core::new(scenario.get().inner.clone(), seed, &record);
        made.map(Session::new).map_err(|error| failed(&mut None, error))
    }

    /// Goes on for a span of time, or until a time: seconds, or text with its unit. Returns the
    /// time that it has come to, seconds.
    #[pyo3(signature = (span=None, until=None))]
    fn advance(
        &self,
        py: Python<'_>,
        span: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<f64> {
        let given = (span.map(self::span).transpose()?, until.map(self::span).transpose()?);
        let mut signal = None;
        let step = |core: &mut Core| {
            let (now, end) = (core.run().now(), core.run().end());
            let until = match given {
                (Some(span), None) => now + span,
                (None, Some(until)) if Time::ZERO + until <= end => Time::ZERO + until,
                (None, Some(until)) => {
                    let (end, until) = (end.as_secs_f64(), until.as_secs_f64());
                    let refused = format!("until {until} s: the run ends at {end} s");
                    return Err(SessionError::Refused(refused));
                }
                _ => {
                    let refused = "advance: either a span, as in advance(\"50 ms\"), or until=";
                    return Err(SessionError::Refused(refused.into()));
                }
            };
            core.advance(until, &mut heeding(&mut signal))?;
            Ok(core.run().now().as_secs_f64())
        };
        let own = self.guard()?.as_ref().is_some_and(|core| core.scenario().has_user_aqm());
        let done = if own { self.with(step) } else { py.detach(|| self.with(step)) };
        signal.map_or(done, Err)
    }

    /// The time before which everything has happened, seconds.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        self.with(|core| Ok(core.run().now().as_secs_f64()))
    }

    /// When the run ends, seconds.
    #[getter]
    fn end_s(&self) -> PyResult<f64> {
        self.with(|core| Ok(core.run().end().as_secs_f64()))
    }

    /// The names of the links.
    fn link_names(&self) -> PyResult<Vec<String>> {
        self.with(|core| Ok(core.config().links.iter().map(|l| l.name.clone()).collect()))
    }

    /// The number of the link of that name, or of the bottleneck.
    #[pyo3(signature = (name=None))]
    fn link_named(&self, name: Option<&str>) -> PyResult<usize> {
        self.with(|core| core.link_named(name))
    }

    /// Of each flow the number of its group.
    fn flow_groups(&self) -> PyResult<Vec<u32>> {
        self.with(|core| Ok(core.config().flows.iter().map(|f| f.group).collect()))
    }

    /// Of each link eight numbers of 64 bits: packets and bytes that wait; of the last step
    /// arrivals, drops, marks, departures, their bytes, and their mean delay in seconds, a float.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.with(|core| {
            let mut rows = vec![];
            for now in core.links() {
                let t = now.step;
                let (pkts, bytes) = (u64::from(now.queue_pkts), now.queue_bytes);
                rows.extend([pkts, bytes, t.arrivals, t.drops, t.marks, t.departures, t.bytes]);
                rows.push(t.mean_wait_s().unwrap_or(f64::NAN).to_bits());
            }
            Ok(rows)
        })?;
        raw(py, &rows, u64::to_ne_bytes)
    }

    /// Of each flow eight numbers of 64 bits: congestion window, slow-start threshold, smoothed
    /// round trip and pacing rate as floats; of the last step payload bytes acknowledged, segments
    /// sent, retransmissions, timeouts.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.with(|core| {
            let mut rows = vec![];
            for i in 0..core.config().flows.len() {
                let Some((s, step)) = core.sender(i) else {
                    rows.extend([f64::NAN.to_bits(); 4]);
                    rows.extend([0; 4]);
                    continue;
                };
                let or_nan = |x: Option<f64>| x.unwrap_or(f64::NAN);
                let state = [s.cwnd, s.ssthresh, or_nan(s.srtt_s), or_nan(s.pacing_bps)];
                rows.extend(state.map(f64::to_bits));
                let c = step.counters;
                rows.extend([step.acked_bytes, c.sent, c.retransmits, c.timeouts.into()]);
            }
            Ok(rows)
        })?;
        raw(py, &rows, u64::to_ne_bytes)
    }

    /// The variables of a link's discipline, by name.
    fn variables<'py>(&self, py: Python<'py>, link: usize) -> PyResult<Bound<'py, PyDict>> {
        let mut values = vec![];
        self.with(|core| {
            core.variables(link, &mut |name, value| values.push((name, value)));
            Ok(())
        })?;
        let dict = PyDict::new(py);
        for (name, value) in values {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Changes one key (path and value, as for `Scenario.set_all`) while the run goes on.
    fn set(&self, path: &str, value: &str) -> PyResult<()> {
        self.with(|core| core.set(path, value))
    }

    /// The scenario, as it has been changed.
    #[getter]
    fn scenario(&self) -> PyResult<Scenario> {
        self.with(|core| Ok(Scenario { inner: core.scenario().clone() }))
    }

    /// Sets a flow's window, segments, and the rate of its payload, bits per second.
    #[pyo3(signature = (flow, window, rate=None))]
    fn steer(&self, flow: usize, window: f64, rate: Option<f64>) -> PyResult<()> {
        self.with(|core| core.steer(flow, window, rate))
    }

    /// The discipline of a scenario's bottleneck takes over at a link.
    fn swap(&self, link: usize, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
        self.with(|core| core.swap(link, &scenario.get().inner))
    }

    /// A session that stands where this one does, and goes on by itself.
    fn copy(&self) -> PyResult<Self> {
        let copied = self.with(|core| Ok(core.copy()))?;
        copied.map(Session::new).map_err(own_error)
    }

    /// Lets the rest happen. The session is over then.
    fn finish(&self, py: Python<'_>) -> PyResult<RunResult> {
        let mut core = self.guard()?.take().ok_or_else(over)?;
        let mut signal = None;
        let own = core.scenario().has_user_aqm();
        let mut rest = || {
            let end = core.run().end();
            if core.run().now() < end {
                core.advance(end, &mut heeding(&mut signal))?;
            }
            Ok(())
        };
        let done = if own { rest() } else { py.detach(rest) };
        if let Some(signal) = signal {
            return Err(signal);
        }
        if let Err(error) = done {
            return Err(failed(&mut Some(core), error));
        }
        let finished = core.finish().map_err(|error| failed(&mut None, error));
        finished.map(|inner| RunResult { inner })
    }
}
