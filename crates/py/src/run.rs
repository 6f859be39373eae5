//! Running seeds, and what a run gives back.

use crate::aqm::interned;
use crate::errors::{scenario_error, ScenarioError, SimulationError};
use crate::scenario::Scenario;
use penstock_scenario::{run_many, BatchError, Progress};
use penstock_sim::{
    no_models, page_table, AccessParts, BandResult, Column, FlowResult, LinkResult, Of,
    PacketResult, PageResult, Table, UserError, LINK_METRICS, METRICS, PACKET_METRICS,
    PAGE_METRICS,
};
use penstock_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyBytes, PyDict, PyList, PyType};
use pyo3::IntoPyObjectExt;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

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
    let whole = scenario.duration_s() * seeds.len() as f64;
    let tell = |at: Progress| -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(callback) = &progress {
                callback.call1(py, ((at.simulated_s / whole).min(1.0), at.done, at.total))?;
            }
            Ok(())
        })
    };
    let batch = |jobs| run_many(seeds.len(), jobs, |i| prepared(seeds[i]), tell);
    let results = if scenario.has_user_aqm() { batch(1) } else { py.detach(|| batch(jobs)) };
    let results = results.map_err(raised)?;
    py.check_signals()?; // a Ctrl-C within the last moments counts too
    Ok(results.into_iter().map(|inner| RunResult { inner }).collect())
}

/// The exception for what ended the runs: Python's own where there is one.
fn raised(error: BatchError<PyErr, PyErr>) -> PyErr {
    match error {
        BatchError::Prepare(error) | BatchError::Told(error) => error,
        BatchError::Run(error) => SimulationError::new_err(error.to_string()),
        BatchError::Custom(error) => own_error(error),
    }
}

/// The exception for what a custom discipline failed with: what it raised, where it is in Python.
pub fn own_error(error: UserError) -> PyErr {
    match error.downcast::<PyErr>() {
        Ok(raised) => *raised,
        Err(error) => SimulationError::new_err(error.to_string()),
    }
}

/// A sampling interval from seconds.
pub fn interval(seconds: f64) -> PyResult<Duration> {
    if !(1e-9..=1e9).contains(&seconds) {
        return Err(PyValueError::new_err(format!(
            "series interval {seconds} s: must be from 1e-9 to 1e9 s"
        )));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Returns the tap in front of the queue of the link of that name or, with `:out` after it, behind
/// that queue. Where no link is called so, "bottleneck" is the link that the metrics describe.
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

/// What is to be said of runs of a scenario, beside their numbers.
#[pyfunction]
pub fn warnings(scenario: &Bound<'_, Scenario>, results: Vec<Bound<'_, RunResult>>) -> Vec<String> {
    let results: Vec<&penstock_sim::RunResult> = results.iter().map(|r| &r.get().inner).collect();
    penstock_scenario::warnings(&scenario.get().inner, &results)
}

/// Whether there are several results and they are all the same: no seed changes anything.
#[pyfunction]
pub fn identical(results: Vec<Bound<'_, RunResult>>) -> bool {
    let results: Vec<&penstock_sim::RunResult> = results.iter().map(|r| &r.get().inner).collect();
    penstock_scenario::identical(&results)
}

/// What one run gives back.
#[pyclass(frozen, module = "penstock._penstock")]
pub struct RunResult {
    pub(crate) inner: penstock_sim::RunResult,
}

fn named<'py, V>(
    py: Python<'py>,
    table: &[Of<V>],
    values: &[Option<f64>],
) -> PyResult<Bound<'py, PyDict>> {
    dict(py, table.iter().map(|metric| metric.name).zip(values.iter().copied()))
}

fn dict<'py>(
    py: Python<'py>,
    values: impl Iterator<Item = (&'static str, Option<f64>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The columns of a table, as [`RunResult::table`] gives them.
fn columns<'py>(py: Python<'py>, table: &Table) -> PyResult<Vec<PickledColumn<'py>>> {
    let column = |(name, column): &(String, Column)| {
        let (kind, buffer, words) = match column {
            Column::F64(v) => ("f64", raw(py, v, f64::to_ne_bytes)?, &[][..]),
            Column::U64(v) => ("u64", raw(py, v, u64::to_ne_bytes)?, &[][..]),
            Column::Word(v, words) => ("word", PyBytes::new(py, v), *words),
        };
        Ok((name.clone(), kind.to_owned(), buffer, words.iter().map(|w| w.to_string()).collect()))
    };
    table.columns.iter().map(column).collect()
}

/// Tables for pickle.
fn pickled<'py>(py: Python<'py>, series: &[Table]) -> PyResult<PickledTables<'py>> {
    series.iter().map(|table| Ok((table.name.to_owned(), columns(py, table)?))).collect()
}

/// [`pickled`] backwards.
fn unpickled(tables: PickledTables<'_>) -> Vec<Table> {
    let column = |(name, kind, raw, words): PickledColumn<'_>| {
        let raw = raw.as_bytes();
        let column = match kind.as_str() {
            "f64" => Column::F64(cooked(raw, f64::from_ne_bytes)),
            "u64" => Column::U64(cooked(raw, u64::from_ne_bytes)),
            _ => Column::Word(raw.to_vec(), interned_list(words)),
        };
        (name, column)
    };
    let table = |(name, columns): (String, Vec<_>)| Table {
        name: interned(name),
        columns: columns.into_iter().map(column).collect(),
    };
    tables.into_iter().map(table).collect()
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
pub fn raw<'py, T: Copy, const N: usize>(
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

/// The parts of a result that pickle carries: seed, events, metrics, groups, flows, links, bands,
/// pages and packets, tables, lead-in, capture, the longest queue at an access link.
type Pickled<'py> = (
    u64,
    u64,
    Vec<Option<f64>>,
    Vec<Vec<Option<f64>>>,
    Vec<(u32, Vec<Option<f64>>)>,
    Vec<(String, Vec<Option<f64>>, PickledTables<'py>)>,
    Vec<(String, String, Vec<Option<f64>>)>,
    (Option<PickledPages>, Option<PickledPackets>),
    PickledTables<'py>,
    Option<u64>,
    Option<Bound<'py, PyBytes>>,
    Option<AccessParts>,
);
/// The metrics of pages: of all groups, and of each that has pages.
type PickledPages = (Vec<Option<f64>>, Vec<(u32, Vec<Option<f64>>)>);
/// The metrics of packets: of each group, and of each flow.
type PickledPackets = (Vec<Vec<Option<f64>>>, Vec<Vec<Option<f64>>>);
/// Tables by their names.
type PickledTables<'py> = Vec<(String, Vec<PickledColumn<'py>>)>;
/// Name, type, numbers, words: as [`RunResult::table`] gives them.
type PickledColumn<'py> = (String, String, Bound<'py, PyBytes>, Vec<String>);

#[pymethods]
impl RunResult {
    /// Only for pickle: a result from what `__reduce__` gave.
    #[new]
    fn unpickled(state: Pickled<'_>) -> PyResult<Self> {
        let (
            seed,
            events,
            metrics,
            groups,
            flows,
            links,
            bands,
            (pages, packets),
            tables,
            lead_in,
            pcap,
            access,
        ) = state;
        let flows =
            flows.into_iter().map(|(group, metrics)| FlowResult { group, metrics }).collect();
        let link =
            |(name, metrics, series)| LinkResult { name, metrics, series: unpickled(series) };
        let links = links.into_iter().map(link).collect();
        let band = |(link, name, metrics)| BandResult { link, name, metrics };
        let bands = bands.into_iter().map(band).collect();
        let series = unpickled(tables);
        let pcap = pcap.map(|bytes| bytes.as_bytes().to_vec());
        let lead_in = lead_in.map(Duration::from_ticks);
        let pages = pages.map(|(metrics, groups)| PageResult { metrics, groups });
        let packets = packets.map(|(groups, flows)| PacketResult { groups, flows });
        let inner = penstock_sim::RunResult {
            seed,
            events,
            metrics,
            groups,
            flows,
            links,
            bands,
            pages,
            packets,
            series,
            lead_in,
            pcap,
            access: access.map(Into::into),
        };
        Ok(RunResult { inner })
    }

    /// For pickle: results come back from other processes.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        let (py, r) = (slf.py(), &slf.get().inner);
        let flows: Vec<_> = r.flows.iter().map(|f| (f.group, f.metrics.clone())).collect();
        let link = |l: &LinkResult| {
            PyResult::Ok((l.name.clone(), l.metrics.clone(), pickled(py, &l.series)?))
        };
        let links = r.links.iter().map(link).collect::<PyResult<Vec<_>>>()?;
        let band = |b: &BandResult| (b.link.clone(), b.name.clone(), b.metrics.clone());
        let bands: Vec<_> = r.bands.iter().map(band).collect();
        let tables = pickled(py, &r.series)?;
        let (metrics, groups) = (r.metrics.clone(), r.groups.clone());
        let pages = r.pages.as_ref().map(|p| (p.metrics.clone(), p.groups.clone()));
        let packets = r.packets.as_ref().map(|p| (p.groups.clone(), p.flows.clone()));
        let parts = (pages, packets);
        let (lead_in, pcap) = (r.lead_in.map(Duration::as_ticks), slf.get().pcap(py));
        let access = r.access.map(AccessParts::from);
        let (seed, events) = (r.seed, r.events);
        let state = (
            seed, events, metrics, groups, flows, links, bands, parts, tables, lead_in, pcap,
            access,
        );
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

    /// The run's metrics by name; `None` where one does not apply. Those of pages are there where a
    /// web group has `connections`.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = named(py, METRICS, &self.inner.metrics)?;
        dict.update(named(py, PAGE_METRICS, self.inner.page_metrics())?.as_mapping())?;
        Ok(dict)
    }

    /// How long the lead-in took, seconds; `None` without one. The tables' times count from its
    /// beginning.
    #[getter]
    fn lead_in_s(&self) -> Option<f64> {
        self.inner.lead_in.map(Duration::as_secs_f64)
    }

    /// The metrics of each traffic group.
    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let dicts = (0..self.inner.groups.len()).map(|i| {
            let dict = dict(py, self.inner.group(i))?;
            dict.update(named(py, PAGE_METRICS, self.inner.pages_of(i))?.as_mapping())?;
            dict.update(named(py, PACKET_METRICS, self.inner.packets_of(i))?.as_mapping())?;
            Ok(dict)
        });
        PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
    }

    /// The metrics of each flow, with the number of its group.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let dicts = self.inner.flows.iter().enumerate().map(|(i, f)| {
            let dict = dict(py, f.named())?;
            dict.update(named(py, PACKET_METRICS, self.inner.packets_of_flow(i))?.as_mapping())?;
            dict.set_item("group", f.group)?;
            Ok(dict)
        });
        PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
    }

    /// The metrics of each link by its name; empty where the bottleneck alone is measured, which
    /// `metrics` describes.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for link in &self.inner.links {
            dict.set_item(&link.name, named(py, LINK_METRICS, &link.metrics)?)?;
        }
        Ok(dict)
    }

    /// The metrics of each band by the names of its link and its own; empty where no discipline
    /// declares bands.
    #[getter]
    fn bands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let links = PyDict::new(py);
        for band in &self.inner.bands {
            let metrics = named(py, LINK_METRICS, &band.metrics)?;
            match links.get_item(&band.link)? {
                Some(bands) => bands.set_item(&band.name, metrics)?,
                None => links.set_item(&band.link, [(&band.name, metrics)].into_py_dict(py)?)?,
            }
        }
        Ok(links)
    }

    /// The names of the tables that were recorded.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.inner.series.iter().map(|t| t.name).collect()
    }

    /// A recorded table: per column its type (`"f64"`, `"u64"`, `"word"`: one byte that counts in
    /// the last), the raw numbers, and the words of a column of words. `None` if it was not
    /// recorded. `link`: that of a link other than the bottleneck.
    #[pyo3(signature = (name, link=None))]
    fn table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        link: Option<&str>,
    ) -> PyResult<Option<Vec<PickledColumn<'py>>>> {
        if let Some(link) = link {
            let link = self.inner.links.iter().find(|l| l.name == link);
            let table = link.and_then(|l| l.series.iter().find(|t| t.name == name));
            return table.map(|table| columns(py, table)).transpose();
        }
        let found = |name: &str| self.inner.series.iter().find(|t| t.name == name);
        // A run without browsers' sessions has no pages, and one without a control that has a
        // model none of those, as one without transfers has no rows in `fct`.
        let none = match name {
            "pages" if found("fct").is_some() => Some(page_table(&[])),
            "model" if found("cwnd").is_some() => Some(no_models()),
            _ => None,
        };
        found(name).or(none.as_ref()).map(|table| columns(py, table)).transpose()
    }

    /// The capture that was asked for: a complete pcap file.
    #[getter]
    fn pcap<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.inner.pcap.as_deref().map(|bytes| PyBytes::new(py, bytes))
    }
}
