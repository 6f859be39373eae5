//! Many runs that controllers outside step together. `python/penstock/rl` is what users see.

use crate::errors::scenario_error;
use crate::run::raw;
use crate::scenario::Scenario;
use crate::session::failed;
use penstock_scenario::{Session, SessionError};
use penstock_sim::Record;
use penstock_units::param::Param;
use penstock_units::Duration;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard};

/// What is set before each step.
enum Knob {
    /// Parameters of the bottleneck's discipline.
    Keys(Vec<String>),
    /// A flow's window, segments.
    Window(usize),
    /// A flow's pace, bits per second; its window does not limit it.
    Pacing(usize),
}

impl Knob {
    fn flow(&self) -> Option<usize> {
        match self {
            Knob::Keys(_) => None,
            Knob::Window(flow) | Knob::Pacing(flow) => Some(*flow),
        }
    }
}

/// One of the runs, and what is set in it.
struct Controlled {
    session: Session,
    params: Vec<&'static Param>,
}

/// Numbers of 64 bits that stand for a run: `ROW` in `python/penstock/rl/task.py`.
const ROW: usize = 17;
/// A window that limits nothing, segments.
const NO_WINDOW: f64 = 1e6;

impl Controlled {
    fn new(
        scenario: &penstock_scenario::Scenario,
        seed: u64,
        knob: &Knob,
    ) -> Result<Self, SessionError> {
        let session = Session::new(scenario.clone(), seed, &Record::default())?;
        let params = match knob {
            Knob::Keys(names) => {
                let names = names.iter().map(|name| scenario.parameter(name));
                names.collect::<Result<_, _>>()?
            }
            _ => vec![],
        };
        Ok(Controlled { session, params })
    }

    fn step(&mut self, knob: &Knob, values: &[f64], step: Duration) -> Result<(), SessionError> {
        let Controlled { session, params } = self;
        match (knob, values) {
            (Knob::Keys(_), values) => {
                session.tune(params.iter().copied().zip(values.iter().copied()))?
            }
            (Knob::Window(flow), [window]) => session.steer(*flow, *window, None)?,
            (Knob::Pacing(flow), [rate]) => session.steer(*flow, NO_WINDOW, Some(*rate))?,
            _ => {}
        }
        let until = session.run().now() + step;
        session.advance(until, &mut |_| ())
    }

    fn row(&mut self, flow: Option<usize>) -> [f64; ROW] {
        let session = &mut self.session;
        let (now, end) = (session.run().now(), session.run().end());
        let link = session.link(session.config().bottleneck);
        let t = link.step;
        let mut row = [0.0; ROW];
        row[..10].copy_from_slice(&[
            now.as_secs_f64(),
            f64::from(u8::from(now >= end)),
            f64::from(link.queue_pkts),
            link.queue_bytes as f64,
            t.arrivals as f64,
            t.drops as f64,
            t.marks as f64,
            t.departures as f64,
            t.bytes as f64,
            t.mean_wait_s().unwrap_or(0.0),
        ]);
        if let Some((s, step)) = flow.and_then(|flow| session.sender(flow)) {
            row[10..].copy_from_slice(&[
                s.cwnd,
                s.srtt_s.unwrap_or(0.0),
                s.pacing_bps.unwrap_or(0.0),
                step.acked_bytes as f64,
                step.counters.sent as f64,
                step.counters.retransmits as f64,
                step.counters.timeouts.into(),
            ]);
        }
        row
    }
}

/// Runs that are stepped together.
#[pyclass(frozen, module = "penstock._penstock")]
pub struct Controls {
    scenarios: Vec<penstock_scenario::Scenario>,
    knob: Knob,
    step: Duration,
    jobs: usize,
    runs: Mutex<Vec<Option<Controlled>>>,
}

impl Controls {
    fn guard(&self) -> PyResult<MutexGuard<'_, Vec<Option<Controlled>>>> {
        self.runs.try_lock().map_err(|_| PyRuntimeError::new_err("another thread steps these runs"))
    }

    /// How all of them stand, a row each.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        runs: &mut [Option<Controlled>],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let flow = self.knob.flow();
        let row = |run: &mut Option<Controlled>| run.as_mut().map_or([0.0; ROW], |r| r.row(flow));
        let rows: Vec<f64> = runs.iter_mut().flat_map(row).collect();
        raw(py, &rows, f64::to_ne_bytes)
    }

    /// Calls `work` with each of the runs and what belongs to it, on the threads.
    fn each<T: Send>(
        &self,
        runs: &mut [(&mut Option<Controlled>, T)],
        work: impl Fn(&mut Option<Controlled>, &T) -> Result<(), SessionError> + Sync,
    ) -> Result<(), SessionError> {
        let one_by_one = |part: &mut [(&mut Option<Controlled>, T)]| {
            part.iter_mut().try_for_each(|(run, value)| work(run, value))
        };
        let jobs = self.jobs.min(runs.len()).max(1);
        if jobs == 1 {
            return one_by_one(runs);
        }
        let size = runs.len().div_ceil(jobs);
        std::thread::scope(|scope| {
            let parts = runs.chunks_mut(size);
            let threads: Vec<_> = parts.map(|part| scope.spawn(|| one_by_one(part))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
        })
    }
}

#[pymethods]
impl Controls {
    /// Room for `number` runs of these scenarios. `kind`: what is set, `"keys"` with names of
    /// parameters, `"window"` or `"pacing"` with the number of a flow.
    #[new]
    fn new(
        scenarios: Vec<Bound<'_, Scenario>>,
        number: usize,
        kind: &str,
        names: Vec<String>,
        step_s: f64,
        jobs: usize,
    ) -> PyResult<Self> {
        let flow = || names.first().and_then(|name| name.parse().ok()).unwrap_or_default();
        let knob = match kind {
            "window" => Knob::Window(flow()),
            "pacing" => Knob::Pacing(flow()),
            _ => Knob::Keys(names.clone()),
        };
        if !(1e-6..=1e9).contains(&step_s) {
            let message = format!("step: {step_s} s: must be from 1e-6 to 1e9 s");
            return Err(PyValueError::new_err(message));
        }
        let scenarios: Vec<_> = scenarios.iter().map(|s| s.get().inner.clone()).collect();
        for scenario in &scenarios {
            if scenario.has_user_aqm() {
                let message =
                    "scenario: a discipline of your own in Python takes no controller outside";
                return Err(PyValueError::new_err(message));
            }
            if let Knob::Keys(names) = &knob {
                for name in names {
                    scenario.parameter(name).map_err(|e| scenario_error(&e))?;
                }
            }
        }
        let step = Duration::from_secs_f64(step_s);
        let runs = Mutex::new((0..number).map(|_| None).collect());
        Ok(Controls { scenarios, knob, step, jobs, runs })
    }

    /// Begins runs: place, number of the scenario, seed. Returns the rows of all places.
    fn begin<'py>(
        &self,
        py: Python<'py>,
        places: Vec<(usize, usize, u64)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut guard = self.guard()?;
        let runs = &mut *guard;
        let (count, known) = (runs.len(), self.scenarios.len());
        if places.iter().any(|(place, scenario, _)| *place >= count || *scenario >= known) {
            return Err(PyValueError::new_err("no such place or scenario"));
        }
        py.detach(|| {
            let mut wanted: Vec<Option<(usize, u64)>> = vec![None; count];
            places.iter().for_each(|(place, s, seed)| wanted[*place] = Some((*s, *seed)));
            let mut work: Vec<_> = runs.iter_mut().zip(wanted).collect();
            work.retain(|(_, wanted)| wanted.is_some());
            self.each(&mut work, |run, wanted| {
                if let Some((scenario, seed)) = *wanted {
                    *run = Some(Controlled::new(&self.scenarios[scenario], seed, &self.knob)?);
                }
                Ok(())
            })
        })
        .map_err(|error| failed(&mut None, error))?;
        self.rows(py, runs)
    }

    /// Sets each run's numbers, floats in the machine's order, and lets it go on for a step; those
    /// at `waiting` stand still. Returns the rows of all.
    fn step<'py>(
        &self,
        py: Python<'py>,
        values: &[u8],
        waiting: Vec<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut guard = self.guard()?;
        let runs = &mut *guard;
        let numbers: Vec<f64> = values
            .chunks_exact(8)
            .map(|chunk| f64::from_ne_bytes(chunk.try_into().expect("eight bytes")))
            .collect();
        let each = numbers.len() / runs.len().max(1);
        if each == 0 || runs.iter().any(Option::is_none) {
            return Err(PyValueError::new_err("the runs have not begun, or there are no numbers"));
        }
        py.detach(|| {
            let numbered = runs.iter_mut().zip(numbers.chunks_exact(each)).enumerate();
            let going = numbered.filter(|(place, _)| !waiting.contains(place));
            let mut work: Vec<_> = going.map(|(_, pair)| pair).collect();
            self.each(&mut work, |run, values| {
                run.as_mut().map_or(Ok(()), |run| run.step(&self.knob, values, self.step))
            })
        })
        .map_err(|error| failed(&mut None, error))?;
        self.rows(py, runs)
    }
}
