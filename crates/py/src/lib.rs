//! The Python extension `penstock._penstock`: convert, call, convert back. What it offers is typed
//! in `python/penstock/_penstock.pyi`; `tests/test_package.py` compares the two.

mod aqm;
mod controls;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
mod facts;
mod probe;
mod run;
mod scenario;
mod session;

use errors::quantity_error;
use penstock_units::QueueLen;
use pyo3::prelude::*;

/// The JSON Schema of a scenario file.
#[pyfunction]
fn schema() -> String {
    penstock_scenario::schema()
}

/// What there is (`"aqm"`, `"tcp"`, `"traffic"`, `"topology"`, `"scenario"`, `"metrics"`), with
/// parameters, as JSON.
#[pyfunction]
fn list_json(what: &str) -> PyResult<String> {
    penstock_scenario::list_json(what)
        .ok_or_else(|| pyo3::exceptions::PyValueError::new_err(format!("nothing is called {what}")))
}

/// A commented scenario to start from.
#[pyfunction]
fn init_template() -> String {
    penstock_scenario::init_template().to_string()
}

/// The factor of a confidence interval of a mean of `n` values at that level (Student's t with n − 1
/// degrees of freedom); `None` below two values.
#[pyfunction]
#[pyo3(signature = (n, level=0.95))]
fn student(n: usize, level: f64) -> Option<f64> {
    (n >= 2).then(|| penstock_scenario::student(n, level))
}

/// The two-sided p value of Student's test: how often |t| with n − 1 degrees of freedom is larger.
#[pyfunction]
fn student_p(n: usize, t: f64) -> f64 {
    penstock_scenario::student_p(n, t)
}

/// Bounds from Python's: `None` where there is none.
fn bounds((least, most): (Option<f64>, Option<f64>)) -> penstock_sim::Bounds {
    penstock_sim::Bounds {
        least: least.unwrap_or(f64::NEG_INFINITY),
        most: most.unwrap_or(f64::INFINITY),
    }
}

/// Of values that lie within bounds: mean, half-width of Student's interval, number, and the ends
/// of the interval within the bounds; `None` where there is none.
#[pyfunction]
#[allow(clippy::type_complexity)] // said in the stub, where Python reads it
fn estimate(
    values: Vec<f64>,
    within: (Option<f64>, Option<f64>),
    level: f64,
) -> (Option<f64>, Option<f64>, usize, Option<f64>, Option<f64>) {
    let found = penstock_scenario::estimate(&values, bounds(within), level);
    let (low, high) = found.ends.unzip();
    (found.mean, found.half, found.n, low, high)
}

/// The ends of the interval of a mean within bounds, from its half-width by Student's t.
#[pyfunction]
fn ends(mean: f64, half: f64, within: (Option<f64>, Option<f64>)) -> (f64, f64) {
    penstock_scenario::ends(mean, half, bounds(within))
}

/// The name that looks most like a word, as messages about scenarios propose it; empty without
/// names.
#[pyfunction]
fn nearest(word: &str, names: Vec<String>) -> String {
    penstock_scenario::nearest(word, names.iter().map(String::as_str))
}

/// Seconds of a span of time with its unit: `"10 ms"`.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<f64> {
    let span = penstock_units::parse_duration(text).map_err(|e| quantity_error(text, e))?;
    Ok(span.as_nanos() as f64 / 1e9) // a division rounds once: "10 ms" is 0.01
}

/// Bits per second of a rate with its unit: `"1.5 Mbit/s"`.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<f64> {
    let rate = penstock_units::parse_rate(text).map_err(|e| quantity_error(text, e))?;
    Ok(rate.as_bps() as f64)
}

/// Bytes of a size with its unit: `"64 KiB"`.
#[pyfunction]
fn parse_size(text: &str) -> PyResult<u64> {
    Ok(penstock_units::parse_size(text).map_err(|e| quantity_error(text, e))?.0)
}

/// A queue length, and whether it counts packets: `"40 packets"` is 40 packets, `"30 kB"` 30 000 B.
#[pyfunction]
fn parse_queue(text: &str) -> PyResult<(f64, bool)> {
    Ok(match penstock_units::parse_queue(text).map_err(|e| quantity_error(text, e))? {
        QueueLen::Packets(packets) => (packets, true),
        QueueLen::Bytes(bytes) => (bytes as f64, false),
    })
}

#[pymodule]
fn _penstock(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<facts::Facts>()?;
    m.add_class::<facts::LinkFacts>()?;
    m.add_class::<facts::GroupFacts>()?;
    m.add_class::<facts::FullPacket>()?;
    m.add_class::<run::RunResult>()?;
    m.add_class::<session::Session>()?;
    m.add_class::<controls::Controls>()?;
    m.add_class::<aqm::PacketView>()?;
    m.add_class::<aqm::QueueView>()?;
    m.add_class::<aqm::Own>()?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_function(wrap_pyfunction!(run::document, m)?)?;
    m.add_function(wrap_pyfunction!(run::warnings, m)?)?;
    #[cfg(target_os = "linux")]
    {
        m.add_function(wrap_pyfunction!(emulate::emulate_isolate, m)?)?;
        m.add_function(wrap_pyfunction!(emulate::emulate_run, m)?)?;
        m.add_function(wrap_pyfunction!(emulate::emulate_enter, m)?)?;
        m.add_function(wrap_pyfunction!(emulate::emulate_report, m)?)?;
    }
    m.add_function(wrap_pyfunction!(probe::probe, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(list_json, m)?)?;
    m.add_function(wrap_pyfunction!(init_template, m)?)?;
    m.add_function(wrap_pyfunction!(student, m)?)?;
    m.add_function(wrap_pyfunction!(student_p, m)?)?;
    m.add_function(wrap_pyfunction!(nearest, m)?)?;
    m.add_function(wrap_pyfunction!(estimate, m)?)?;
    m.add_function(wrap_pyfunction!(ends, m)?)?;
    m.add_function(wrap_pyfunction!(run::identical, m)?)?;
    m.add_function(wrap_pyfunction!(parse_duration, m)?)?;
    m.add_function(wrap_pyfunction!(parse_rate, m)?)?;
    m.add_function(wrap_pyfunction!(parse_size, m)?)?;
    m.add_function(wrap_pyfunction!(parse_queue, m)?)?;
    Ok(())
}
