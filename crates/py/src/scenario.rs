//! A checked scenario.

use crate::aqm::{instance, Own};
use crate::errors::{scenario_error, ScenarioError};
use crate::facts::Facts;
use penstock_sim::UserAqm;
use pyo3::prelude::*;

/// A checked scenario; nothing in it changes.
#[pyclass(frozen, module = "penstock._penstock")]
pub struct Scenario {
    pub inner: penstock_scenario::Scenario,
}

fn made(
    result: Result<penstock_scenario::Scenario, penstock_scenario::ScenarioError>,
) -> PyResult<Scenario> {
    result.map(|inner| Scenario { inner }).map_err(|e| scenario_error(&e))
}

fn borrowed(changes: &[(String, String)]) -> Vec<(&str, &str)> {
    changes.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect()
}

fn inner(own: Option<Vec<Bound<'_, Own>>>) -> Vec<UserAqm> {
    own.unwrap_or_default().iter().map(|own| own.get().inner.clone()).collect()
}

#[pymethods]
impl Scenario {
    /// From the text of a scenario file; `file_name` stands in messages. `changes` (path and value,
    /// as for `set_all`) are made before anything is checked; the parameters of `own` are keys of
    /// its `[aqm]`, too.
    #[staticmethod]
    #[pyo3(signature = (text, file_name, changes=None, own=None))]
    fn from_toml(
        text: &str,
        file_name: &str,
        changes: Option<Vec<(String, String)>>,
        own: Option<Vec<Bound<'_, Own>>>,
    ) -> PyResult<Self> {
        made(penstock_scenario::Scenario::from_toml_with(
            text,
            file_name,
            &borrowed(&changes.unwrap_or_default()),
            &inner(own),
        ))
    }

    /// From the text of a file that may be a link alone, without traffic and duration; whether it
    /// has traffic comes second.
    #[staticmethod]
    #[pyo3(signature = (text, file_name, changes=None, own=None))]
    fn link_from_toml(
        text: &str,
        file_name: &str,
        changes: Option<Vec<(String, String)>>,
        own: Option<Vec<Bound<'_, Own>>>,
    ) -> PyResult<(Self, bool)> {
        let changes = changes.unwrap_or_default();
        let (changes, own) = (borrowed(&changes), inner(own));
        let made = penstock_scenario::Scenario::link_from_toml(text, file_name, &changes, &own);
        let (inner, has_traffic) = made.map_err(|e| scenario_error(&e))?;
        Ok((Scenario { inner }, has_traffic))
    }

    /// From the same tables as JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        made(penstock_scenario::Scenario::from_json(text))
    }

    /// Another scenario that differs in some keys (path and value), which only have to hold
    /// together; a value is TOML, or a bare word for a string.
    fn set_all(&self, changes: Vec<(String, String)>) -> PyResult<Self> {
        made(self.inner.set_all(&borrowed(&changes)))
    }

    /// The same scenario under another discipline at the bottleneck, which takes its own keys of
    /// `[aqm]`; some of them changed (name and value, as for `set_all`).
    #[pyo3(signature = (kind, set=None))]
    fn with_aqm(&self, kind: &str, set: Option<Vec<(String, String)>>) -> PyResult<Self> {
        made(self.inner.with_aqm_set(kind, &borrowed(&set.unwrap_or_default())))
    }

    /// The same scenario under a discipline written in Python, at the bottleneck or in the opposite
    /// direction, with these values of its parameters (as for `set_all`).
    fn with_user_aqm(
        &self,
        own: &Bound<'_, Own>,
        set: Vec<(String, String)>,
        reverse: bool,
    ) -> PyResult<Self> {
        let (aqm, set) = (own.get().inner.clone(), borrowed(&set));
        made(if reverse {
            self.inner.with_user_reverse_aqm_set(aqm, &set)
        } else {
            self.inner.with_user_aqm_set(aqm, &set)
        })
    }

    /// The instance of the discipline written in Python in a direction, with the values of its
    /// parameters, and its name; `None` where there is none.
    fn user_aqm(&self, py: Python<'_>, reverse: bool) -> Option<(Py<PyAny>, String)> {
        let own = self.inner.user_aqm(reverse)?;
        Some((instance(own)?.clone_ref(py), own.name().trim_start_matches("python:").into()))
    }

    /// How `[sweep]` chooses values of its ranges: their paths, samples, method and seed; `None`
    /// without a range.
    fn design(&self) -> Option<(Vec<String>, u64, String, u64)> {
        let design = self.inner.design()?;
        let paths = self.inner.ranges().into_iter().map(|range| range.path);
        Some((paths.collect(), design.samples, design.method, design.seed))
    }

    /// The values of the ranges, in their order, at each point of the unit cube; as JSON.
    fn sampled(&self, points: Vec<Vec<f64>>) -> Vec<Vec<String>> {
        let ranges = self.inner.ranges();
        let values = |point: &Vec<f64>| {
            ranges.iter().zip(point).map(|(r, u)| r.at(*u).to_string()).collect()
        };
        points.iter().map(values).collect()
    }

    /// Whether a discipline written in Python stands in it.
    #[getter]
    fn has_user_aqm(&self) -> bool {
        self.inner.has_user_aqm()
    }

    /// The scenario as the text of a file.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Every key with its value in force, defaults included.
    fn resolved_json(&self) -> String {
        self.inner.resolved_json()
    }

    /// `resolved_json`, and the same without `name` and `seed`: equal texts are the same runs, seed
    /// by seed.
    fn canonical_json(&self) -> (String, String) {
        self.inner.canonical_json()
    }

    /// What follows from the scenario before anything runs.
    fn facts(&self) -> Facts {
        self.inner.facts().into()
    }

    /// The names of the traffic groups, in the order of a result's groups.
    fn group_names(&self) -> Vec<String> {
        self.inner.group_names()
    }

    /// The names of the links, in the order of a result's links.
    fn link_names(&self) -> Vec<String> {
        self.inner.link_names()
    }

    /// The name of the link that a run's metrics describe.
    #[getter]
    fn bottleneck_name(&self) -> &str {
        self.inner.bottleneck_name()
    }

    /// Whether a result has the metrics of every link.
    #[getter]
    fn measures_links(&self) -> bool {
        self.inner.measures_links()
    }

    /// Whether groups and flows have the metrics of their packets.
    #[getter]
    fn records_groups(&self) -> bool {
        self.inner.records_groups()
    }

    /// The kind of the discipline at the bottleneck, or `python:` and the name of the user's class.
    #[getter]
    fn aqm(&self) -> &str {
        self.inner.aqm()
    }

    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The first seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// Simulated time.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration_s()
    }

    /// Packets of 1000 B that its links can carry: about proportional to the time that a run takes.
    #[getter]
    fn work(&self) -> f64 {
        self.inner.work()
    }

    /// `[sweep]` and `[[variant]]`: the axes (path, values as JSON), the names of the variants and
    /// the number of seeds.
    fn grid(&self) -> (Vec<(String, String)>, Vec<String>, Option<u64>) {
        let axes = self.inner.axes().into_iter();
        let axes = axes.map(|axis| (axis.path, serde_json::Value::Array(axis.values).to_string()));
        (axes.collect(), self.inner.variants(), self.inner.sweep_seeds())
    }

    /// A point of the grid: with a variant's changes and then those of the axes (path, value as
    /// JSON).
    fn point(&self, variant: Option<&str>, set: Vec<(String, String)>) -> PyResult<Self> {
        let values = set.iter().map(|(path, value)| {
            let value = serde_json::from_str::<serde_json::Value>(value);
            value.map_err(|e| ScenarioError::new_err(format!("{path}: {e}")))
        });
        let values = values.collect::<PyResult<Vec<_>>>()?;
        let set: Vec<_> = set.iter().map(|(path, _)| path.as_str()).zip(&values).collect();
        made(self.inner.point(variant, &set))
    }
}
