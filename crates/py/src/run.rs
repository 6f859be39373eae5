//! Running seeds on threads, and what a run gives back.

use crate::aqm::interned;
use crate::errors::{scenario_error, ScenarioError, SimulationError};
use crate::scenario::Scenario;
use penstock_sim::{
    link_metrics, Column, Control, FlowResult, LinkResult, Table, FLOW_METRICS, GROUP_METRICS,
    METRICS,
};
use penstock_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};
use pyo3::IntoPyObjectExt;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration as Wall, Instant};

/// How often Python is asked whether Ctrl-C was pressed, and told how far the runs are.
const WAKE: Wall = Wall::from_millis(50);

/// Runs every seed and returns the results in the order of `seeds`, whichever thread was faster.
///
/// The GIL is released, unless a discipline written in Python stands in the scenario: then, as with
/// one job, the seeds run one after the other on this thread, where Ctrl-C reaches that code.
/// `progress(fraction, done, total)` is called about twenty times a second; what it raises, and
/// Ctrl-C, stops all runs at once.
#[pyfunction]
#[pyo3(signature = (scenario, seeds, jobs, series_interval_s=None, events=false, pcap=None, progress=None))]
#[allow(clippy::too_many_arguments)] // the keywords of a Python function
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    seeds: Vec<u64>,
    jobs: usize,
    series_interval_s: Option<f64>,
    events: bool,
    pcap: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<RunResult>> {
    let series = series_interval_s.map(interval).transpose()?;
    let scenario = &scenario.get().inner;
    let prepared = |seed: u64| -> PyResult<penstock_sim::Config> {
        let mut config = scenario.lower(seed).map_err(|e| scenario_error(&e))?;
        config.record.series = series;
        config.record.events = events;
        config.record.pcap = pcap.as_deref().map(|name| tap(&config, name)).transpose()?;
        Ok(config)
    };
    let one = |seed: u64, control: &Control| -> PyResult<penstock_sim::RunResult> {
        penstock_sim::run(&prepared(seed)?, control)
            .map_err(|e| SimulationError::new_err(e.to_string()))
    };

    let total = seeds.len();
    let controls: Vec<Control> = seeds.iter().map(|_| Control::default()).collect();
    let stop_all = || controls.iter().for_each(|c| c.stop.store(true, Ordering::Relaxed));
    let span_ns = scenario.duration_s() * 1e9 * total as f64;
    let tell = |done: usize| -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &progress {
                let at: u64 = controls.iter().map(|c| c.now_ns.load(Ordering::Relaxed)).sum();
                callback.call1(py, ((at as f64 / span_ns).min(1.0), done, total))?;
            }
            Ok(())
        })
    };

    // One after the other needs no thread, which would cost a short run a tenth of its time.
    if scenario.has_user_aqm() || jobs.min(total) <= 1 {
        let one_by_one = || {
            let woken = Cell::new(Instant::now());
            let in_turn = seeds.iter().zip(&controls).enumerate();
            let results = in_turn.map(|(done, (seed, control))| {
                let result = watched(&prepared(*seed)?, control, &woken, || tell(done))?;
                if woken.get().elapsed() >= WAKE {
                    woken.set(Instant::now());
                    tell(done + 1)?;
                }
                Ok(result)
            });
            let results = results.collect();
            Python::attach(|py| py.check_signals())?; // a Ctrl-C within the last moments counts too
            results
        };
        return if scenario.has_user_aqm() { one_by_one() } else { py.detach(one_by_one) };
    }

    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut results: Vec<Option<penstock_sim::RunResult>> = seeds.iter().map(|_| None).collect();
    // The error of the earliest seed wins; Python's own (Ctrl-C) comes before all, as seed "−1".
    let mut failed: Option<(isize, PyErr)> = None;
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 0..jobs.clamp(1, total.max(1)) {
                let sender = sender.clone();
                let (next, stopped, one, seeds, controls) =
                    (&next, &stopped, &one, &seeds, &controls);
                scope.spawn(move || loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= total || stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    // The receiver lives until every sender is gone, so this cannot fail.
                    let _ = sender.send((i, one(seeds[i], &controls[i])));
                });
            }
            drop(sender);
            let (mut done, mut woken) = (0, Instant::now());
            loop {
                match receiver.recv_timeout(WAKE.saturating_sub(woken.elapsed())) {
                    Ok((i, Ok(result))) => {
                        results[i] = Some(result);
                        done += 1;
                    }
                    Ok((i, Err(error))) => {
                        stopped.store(true, Ordering::Relaxed);
                        stop_all();
                        if failed.as_ref().is_none_or(|(j, _)| (i as isize) < *j) {
                            failed = Some((i as isize, error));
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if woken.elapsed() >= WAKE {
                    woken = Instant::now();
                    if let Err(error) = tell(done) {
                        stopped.store(true, Ordering::Relaxed);
                        stop_all();
                        failed = Some((-1, error));
                    }
                }
            }
        });
    });
    if let Some((_, error)) = failed {
        return Err(error);
    }
    py.check_signals()?; // a Ctrl-C within the last moments counts too
    Ok(results.into_iter().flatten().map(|inner| RunResult { inner }).collect())
}

/// One run on this thread; what `tell` raises ends it, too.
fn watched(
    config: &penstock_sim::Config,
    control: &Control,
    woken: &Cell<Instant>,
    tell: impl Fn() -> PyResult<()>,
) -> PyResult<RunResult> {
    let result = penstock_sim::run_watched(config, control, &mut || {
        if woken.get().elapsed() >= WAKE {
            woken.set(Instant::now());
            if let Err(error) = tell() {
                control.abort.raise(error);
            }
        }
    });
    result.map(|inner| RunResult { inner }).map_err(|error| {
        match control.abort.take().map(|e| e.downcast::<PyErr>()) {
            Some(Ok(raised)) => *raised,
            _ => SimulationError::new_err(error.to_string()),
        }
    })
}

/// A sampling interval from seconds.
fn interval(seconds: f64) -> PyResult<Duration> {
    if !(1e-9..=1e9).contains(&seconds) {
        return Err(PyValueError::new_err(format!(
            "series interval {seconds} s: must be from 1e-9 to 1e9 s"
        )));
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// In front of the queue of the link of that name or, with `:out` after it, behind that queue.
/// Where no link is called so, "bottleneck" is the link that the metrics describe.
fn tap(config: &penstock_sim::Config, name: &str) -> PyResult<penstock_sim::Tap> {
    let (link, out) = name.strip_suffix(":out").map_or((name, false), |link| (link, true));
    let named = config.links.iter().position(|l| l.name == link);
    match named.or((link == "bottleneck").then_some(config.bottleneck)) {
        Some(i) => Ok(penstock_sim::Tap { link: i as u32, out }),
        None => {
            let names: Vec<&str> = config.links.iter().map(|l| l.name.as_str()).collect();
            Err(ScenarioError::new_err(format!(
                "no link is called {link}; there are: {} (with :out after the name: behind its queue)",
                names.join(", ")
            )))
        }
    }
}

/// The document that `penstock run --json` prints.
#[pyfunction]
pub fn document(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    results: Vec<Bound<'_, RunResult>>,
) -> String {
    let scenario = &scenario.get().inner;
    let results: Vec<&penstock_sim::RunResult> = results.iter().map(|r| &r.get().inner).collect();
    py.detach(|| penstock_scenario::document(scenario, &results))
}

/// What one run gives back.
#[pyclass(frozen, module = "penstock._penstock")]
pub struct RunResult {
    pub(crate) inner: penstock_sim::RunResult,
}

fn named<'py>(
    py: Python<'py>,
    names: impl IntoIterator<Item = &'static penstock_sim::Metric>,
    values: &[Option<f64>],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (metric, value) in names.into_iter().zip(values) {
        dict.set_item(metric.name, value)?;
    }
    Ok(dict)
}

/// Numbers from their bytes: [`raw`] backwards.
fn cooked<T, const N: usize>(raw: &[u8], number: fn([u8; N]) -> T) -> Vec<T> {
    raw.chunks_exact(N)
        .map(|chunk| number(chunk.try_into().expect("chunks of that size")))
        .collect()
}

/// The words of a column, of which there are few lists.
fn interned_list(words: Vec<String>) -> &'static [&'static str] {
    static LISTS: Mutex<BTreeSet<&'static [&'static str]>> = Mutex::new(BTreeSet::new());
    let words: Vec<&'static str> = words.into_iter().map(interned).collect();
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lists.get(words.as_slice()) {
        return known;
    }
    let words: &'static [&'static str] = Vec::leak(words);
    lists.insert(words);
    words
}

/// The bytes of numbers in the machine's order: what numpy and Arrow read in place.
fn raw<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |buffer| {
        for (place, value) in buffer.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&bytes(*value));
        }
        Ok(())
    })
}

/// What pickle carries of a result: seed, events, metrics, groups, flows, links, tables, capture.
type Pickled<'py> = (
    u64,
    u64,
    Vec<Option<f64>>,
    Vec<Vec<Option<f64>>>,
    Vec<(u32, Vec<Option<f64>>)>,
    Vec<(String, Vec<Option<f64>>)>,
    Vec<(String, Vec<PickledColumn<'py>>)>,
    Option<Bound<'py, PyBytes>>,
);
/// Name, type, numbers, words: as [`RunResult::table`] gives them.
type PickledColumn<'py> = (String, String, Bound<'py, PyBytes>, Vec<String>);

#[pymethods]
impl RunResult {
    /// Only for pickle: a result from what `__reduce__` gave.
    #[new]
    fn unpickled(state: Pickled<'_>) -> PyResult<Self> {
        let (seed, events, metrics, groups, flows, links, tables, pcap) = state;
        let flows =
            flows.into_iter().map(|(group, metrics)| FlowResult { group, metrics }).collect();
        let links = links.into_iter().map(|(name, metrics)| LinkResult { name, metrics }).collect();
        let series = tables.into_iter().map(|(name, columns)| {
            let columns = columns.into_iter().map(|(name, kind, raw, words)| {
                let raw = raw.as_bytes();
                let column = match kind.as_str() {
                    "f64" => Column::F64(cooked(raw, f64::from_ne_bytes)),
                    "u64" => Column::U64(cooked(raw, u64::from_ne_bytes)),
                    _ => Column::Word(raw.to_vec(), interned_list(words)),
                };
                (name, column)
            });
            Table { name: interned(name), columns: columns.collect() }
        });
        let series = series.collect();
        let pcap = pcap.map(|bytes| bytes.as_bytes().to_vec());
        let inner =
            penstock_sim::RunResult { seed, events, metrics, groups, flows, links, series, pcap };
        Ok(RunResult { inner })
    }

    /// For pickle: results come back from other processes.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        let (py, r) = (slf.py(), &slf.get().inner);
        let flows: Vec<_> = r.flows.iter().map(|f| (f.group, f.metrics.clone())).collect();
        let links: Vec<_> = r.links.iter().map(|l| (l.name.clone(), l.metrics.clone())).collect();
        let tables = r.series.iter().map(|t| Ok((t.name, slf.get().table(py, t.name)?)));
        let tables = tables.collect::<PyResult<Vec<_>>>()?;
        let (metrics, groups) = (r.metrics.clone(), r.groups.clone());
        let state = (r.seed, r.events, metrics, groups, flows, links, tables, slf.get().pcap(py));
        Ok((slf.get_type(), (state.into_bound_py_any(py)?,)))
    }

    /// The seed it ran with.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Events that the engine handled.
    #[getter]
    fn events(&self) -> u64 {
        self.inner.events
    }

    /// The run's metrics by name; `None` where one does not apply.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        named(py, METRICS, &self.inner.metrics)
    }

    /// The metrics of each traffic group.
    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let dicts = self.inner.groups.iter().map(|g| named(py, GROUP_METRICS, g));
        PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
    }

    /// The metrics of each flow, with the number of its group.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let dicts = self.inner.flows.iter().map(|f| {
            let dict = named(py, FLOW_METRICS, &f.metrics)?;
            dict.set_item("group", f.group)?;
            Ok(dict)
        });
        PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
    }

    /// The metrics of each link by its name; empty in a dumbbell, whose one link `metrics`
    /// describes.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for link in &self.inner.links {
            dict.set_item(&link.name, named(py, link_metrics(), &link.metrics)?)?;
        }
        Ok(dict)
    }

    /// The names of the tables that were recorded.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.inner.series.iter().map(|t| t.name).collect()
    }

    /// A recorded table: per column its type (`"f64"`, `"u64"`, `"word"`: one byte that counts in
    /// the last), the raw numbers, and the words of a column of words. `None` if it was not
    /// recorded.
    #[allow(clippy::type_complexity)] // said in the stub, where Python reads it
    fn table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<Vec<(String, &'static str, Bound<'py, PyBytes>, Vec<&'static str>)>>> {
        let Some(table) = self.inner.series.iter().find(|t| t.name == name) else {
            return Ok(None);
        };
        let columns = table.columns.iter().map(|(name, column)| {
            let (kind, buffer, words) = match column {
                Column::F64(v) => ("f64", raw(py, v, f64::to_ne_bytes)?, &[][..]),
                Column::U64(v) => ("u64", raw(py, v, u64::to_ne_bytes)?, &[][..]),
                Column::Word(v, words) => ("word", PyBytes::new(py, v), *words),
            };
            Ok((name.clone(), kind, buffer, words.to_vec()))
        });
        columns.collect::<PyResult<Vec<_>>>().map(Some)
    }

    /// The capture that was asked for: a complete pcap file.
    #[getter]
    fn pcap<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.inner.pcap.as_deref().map(|bytes| PyBytes::new(py, bytes))
    }
}
