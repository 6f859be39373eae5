//! A discipline written in Python behind the core's trait.
//!
//! It runs on the thread that holds the GIL. Its packet, its queue and the tuples of its methods'
//! arguments are objects for the whole run, refilled for every call, and its methods are looked up
//! once. Python's own work is then most of a call. An exception that it raises ends the run.

use penstock_aqm::{Aqm, Common, Context, Ecn, Level, Packet, Queue, Reason, Service, Verdict};
use penstock_sim::{Abort, Start, UserAqm, UserError};
use penstock_units::param::{
    Param, Params as _, Ty, Value, Values, NUMBER, PARAM, REQUIRED, WHOLE,
};
use penstock_units::{Duration, QueueLen, Rng, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::PyTuple_SetItem;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyMapping, PyTuple, PyType};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The packet that a discipline decides about. One object serves all calls: copy what is to be
/// kept.
#[pyclass(frozen, name = "Packet", module = "penstock._penstock")]
pub struct PacketView {
    bytes: AtomicU32,
    flow: AtomicU32,
    class: AtomicU8,
    ecn: AtomicU8,
    /// Ticks.
    sojourn: AtomicU64,
    /// `penstock.Ecn`'s members in the order of the bits.
    members: [Py<PyAny>; 4],
}

#[pymethods]
impl PacketView {
    /// Size on the wire: bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.bytes.load(Relaxed)
    }

    /// Its ECN field.
    #[getter]
    fn ecn(&self, py: Python<'_>) -> Py<PyAny> {
        self.members[usize::from(self.ecn.load(Relaxed) & 3)].clone_ref(py)
    }

    /// Whether it may be marked: its ECN field is not `NOT_ECT`.
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.ecn.load(Relaxed) != Ecn::NotEct as u8
    }

    /// Number of its flow, as in the series.
    #[getter]
    fn flow(&self) -> u32 {
        self.flow.load(Relaxed)
    }

    /// Its priority class (DSCP): the traffic's `class`.
    #[getter]
    fn class_(&self) -> u8 {
        self.class.load(Relaxed)
    }

    /// In `depart`: how long it has waited, seconds; else 0.
    #[getter]
    fn sojourn_s(&self) -> f64 {
        Duration::from_ticks(self.sojourn.load(Relaxed)).as_secs_f64()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let ecn = self.ecn(py);
        format!("<penstock.Packet {} B, flow {}, {ecn}>", self.bytes(), self.flow())
    }
}

impl PacketView {
    fn put(&self, pkt: &Packet, sojourn: Duration) {
        self.sojourn.store(sojourn.as_ticks(), Relaxed);
        self.bytes.store(pkt.bytes, Relaxed);
        self.flow.store(pkt.flow, Relaxed);
        self.class.store(pkt.class, Relaxed);
        self.ecn.store(pkt.ecn as u8, Relaxed);
    }
}

/// The queue that a discipline manages. One object serves all calls: copy what is to be kept.
#[pyclass(frozen, name = "Queue", module = "penstock._penstock")]
#[derive(Default)]
pub struct QueueView {
    pkts: AtomicU32,
    bytes: AtomicU64,
    /// Ticks; all ones while the link transmits.
    idle_since: AtomicU64,
}

#[pymethods]
impl QueueView {
    /// Waiting packets, neither the one in transmission nor the one that arrives or leaves among
    /// them.
    #[getter]
    fn pkts(&self) -> u32 {
        self.pkts.load(Relaxed)
    }

    /// Their bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Since when the link has had nothing to send: seconds; `None` while it transmits.
    #[getter]
    fn idle_since_s(&self) -> Option<f64> {
        let t = Time::from_ticks(self.idle_since.load(Relaxed));
        (t != Time::NEVER).then(|| t.as_secs_f64())
    }

    fn __repr__(&self) -> String {
        format!("<penstock.Queue {} packets, {} B>", self.pkts(), self.bytes())
    }
}

impl QueueView {
    fn put(&self, q: &Queue) {
        self.pkts.store(q.pkts, Relaxed);
        self.bytes.store(q.bytes, Relaxed);
        self.idle_since.store(q.idle_since.unwrap_or(Time::NEVER).as_ticks(), Relaxed);
    }
}

/// The discipline's random stream.
#[pyclass(frozen, module = "penstock._penstock")]
struct Stream(Mutex<Rng>);

#[pymethods]
impl Stream {
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// A discipline written in Python, as scenarios take it.
#[pyclass(frozen, name = "UserAqm", module = "penstock._penstock")]
pub struct Own {
    pub inner: UserAqm,
}

#[pymethods]
impl Own {
    /// From a class or an instance of `penstock.Aqm`; every run gets a deep copy of what `settle`
    /// returns. Results call it `python:` and the name.
    ///
    /// `params` declares its parameters: name, type (`int`, `float`, `bool`, `str`, `word`), words,
    /// default as a TOML literal; no default is either automatic or `required`. `refused`: names that
    /// are none, and why. `settle` is called with the values of the parameters, by name, and
    /// returns the instance with them.
    #[new]
    fn new(
        object: Py<PyAny>,
        name: &str,
        params: Vec<Declared>,
        refused: Vec<(String, String)>,
        settle: Py<PyAny>,
    ) -> Self {
        let params = declared(params);
        let title = name.to_owned();
        let settled = move |values: &Values| {
            Python::attach(|py| {
                let given = PyDict::new(py);
                for (name, value) in values.iter() {
                    match value {
                        Value::Bool(b) => given.set_item(name, b)?,
                        Value::Int(n) => given.set_item(name, n)?,
                        Value::Num(x) => given.set_item(name, x)?,
                        Value::Word(text) => given.set_item(name, text)?,
                        _ => {} // no parameter declared here has another type
                    }
                }
                Ok(of_instance(settle.call1(py, (given,))?, &title))
            })
            .map_err(|error: PyErr| {
                let said = Python::attach(|py| error.value(py).to_string());
                UserError::from(said)
            })
        };
        Own { inner: of_instance(object, name).declaring(params, refused, settled) }
    }
}

/// Name, type, words and default of a parameter, and whether it is required.
type Declared = (String, String, Vec<String>, Option<String>, bool);

/// Declarations live as long as the process: there are few, one for each class and its defaults.
fn declared(params: Vec<Declared>) -> &'static [Param] {
    static KNOWN: Mutex<Vec<(Vec<Declared>, &'static [Param])>> = Mutex::new(vec![]);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, table)) = known.iter().find(|(declared, _)| *declared == params) {
        return table;
    }
    let param = |(name, ty, words, default, required): &Declared| Param {
        name: interned(name.clone()),
        ty: match ty.as_str() {
            "int" => WHOLE,
            "float" => NUMBER,
            "bool" => Ty::Bool,
            "word" => {
                Ty::Word(Vec::leak(words.iter().map(|word| interned(word.clone())).collect()))
            }
            _ => Ty::Text,
        },
        default: default.clone().map(interned),
        auto: if *required { REQUIRED } else { "" },
        ..PARAM
    };
    let table: &'static [Param] = Vec::leak(params.iter().map(param).collect());
    known.push((params, table));
    table
}

fn of_instance(object: Py<PyAny>, name: &str) -> UserAqm {
    let origin = Python::attach(|py| object.clone_ref(py));
    let made = UserAqm::new(format!("python:{name}"), move |start| {
        Python::attach(|py| match PyAqm::new(object.bind(py), start) {
            Ok(made) => Ok(Box::new(made) as Box<dyn Aqm + Send>),
            Err(error) => Err(Box::new(error) as UserError),
        })
    });
    made.made_from(Arc::new(origin))
}

/// The instance that a discipline was made from.
pub fn instance(own: &UserAqm) -> Option<&Py<PyAny>> {
    own.origin().and_then(|origin| origin.downcast_ref())
}

/// The packet and the queue that methods are given.
struct Views {
    packet: Py<PacketView>,
    queue: Py<QueueView>,
}

/// A method with the arguments `(now, packet, queue)`, in one tuple for the whole run.
///
/// A new tuple for every call would be a sixth of the cost of the call. CPython's own `zip` reuses
/// its tuple in the same way. The function behind a bound method is called with the instance as the
/// first argument: CPython would else put together a list of arguments for each call.
struct Method {
    bound: Py<PyAny>,
    function: Py<PyAny>,
    tuple: Py<PyTuple>,
    /// The place of `now` in the tuple.
    place: isize,
}

impl Method {
    fn new(bound: Bound<'_, PyAny>, Views { packet, queue }: &Views) -> PyResult<Self> {
        let py = bound.py();
        let method = py.import("types")?.getattr("MethodType")?;
        let (function, tuple, place) = if bound.is_exact_instance(method.cast::<PyType>()?) {
            let (function, itself) = (bound.getattr("__func__")?, bound.getattr("__self__")?);
            (function, (itself, 0.0, packet, queue).into_pyobject(py)?, 1)
        } else {
            (bound.clone(), (0.0, packet, queue).into_pyobject(py)?, 0)
        };
        let (function, tuple) = (function.unbind(), tuple.unbind());
        Ok(Method { bound: bound.unbind(), function, tuple, place })
    }

    /// Calls it at the time `now`.
    #[inline(always)]
    #[allow(unsafe_code)] // PyO3 has no safe call that changes a tuple
    fn call<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        Views { packet, queue }: &Views,
    ) -> PyResult<Bound<'py, PyAny>> {
        let time = PyFloat::new(py, now).into_ptr();
        // SAFETY: the GIL is held, the tuple is alive and has that place. `PyTuple_SetItem` takes
        // over the reference to the number whether it fails or not. It fails for a tuple that
        // anybody else refers to, so that no tuple changes which the discipline can see.
        let refused = unsafe { PyTuple_SetItem(self.tuple.as_ptr(), self.place, time) } != 0;
        if refused {
            drop(PyErr::take(py));
            return self.bound.bind(py).call1((now, packet, queue));
        }
        self.function.bind(py).call1(self.tuple.bind(py))
    }
}

/// Verdicts by the names of `penstock.Verdict`.
const VERDICTS: [(&str, Verdict); 5] = [
    ("PASS", Verdict::Pass),
    ("DROP", Verdict::Drop(Reason::Early)),
    ("MARK", Verdict::Mark(Level::Ce, Reason::Early)),
    ("MARK_INCIPIENT", Verdict::Mark(Level::Incipient, Reason::Early)),
    ("DROP_FORCED", Verdict::Drop(Reason::Forced)),
];

/// Columns that the `queue` series always has.
const RESERVED: [&str; 4] = ["seed", "t_s", "queue_pkts", "queue_bytes"];

/// A discipline written in Python.
struct PyAqm {
    object: Py<PyAny>,
    stream: Py<Stream>,
    arrive: Method,
    // What the class does not override costs nothing.
    overflow: Option<Method>,
    depart: Option<Method>,
    average_pkts: Option<Py<PyAny>>,
    series: Option<Py<PyAny>>,
    timer: Option<Timer>,
    columns: Vec<&'static str>,
    views: Views,
    verdicts: [(Py<PyAny>, Verdict); VERDICTS.len()],
    abort: Abort,
}

struct Timer {
    tick: Py<PyAny>,
    interval: Duration,
    next: Time,
}

impl Timer {
    /// Returns the timer of a discipline that has `tick`, at the interval that it names.
    fn of(object: &Bound<'_, PyAny>, tick: Option<Py<PyAny>>) -> PyResult<Option<Self>> {
        let interval: Option<f64> = object.getattr("interval_s")?.extract()?;
        let refuse = |problem: &str| {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("{class} has {problem}")))
        };
        match (tick, interval) {
            (Some(tick), Some(interval)) => {
                let interval = span(interval)?;
                Ok(Some(Timer { tick, interval, next: Time::ZERO + interval }))
            }
            (None, None) => Ok(None),
            (Some(_), None) => refuse("tick, but no interval_s: seconds between two ticks"),
            (None, Some(_)) => refuse("interval_s, but no tick"),
        }
    }
}

/// Gives an instance its random numbers: in its own dict, where they are found before the base's
/// method and no `__setattr__` of the user's intervenes.
fn given_a_stream(object: &Bound<'_, PyAny>, rng: Rng) -> PyResult<Py<Stream>> {
    let stream = Bound::new(object.py(), Stream(Mutex::new(rng)))?;
    object.getattr("__dict__")?.set_item("random", stream.getattr("random")?)?;
    Ok(stream.unbind())
}

impl PyAqm {
    fn new(object: &Bound<'_, PyAny>, start: Start<'_>) -> PyResult<Self> {
        let py = object.py();
        let object = py.import("copy")?.call_method1("deepcopy", (object,))?;
        let module = py.import("penstock.model.aqm")?;
        let stream = given_a_stream(&object, start.rng.clone())?;
        object.call_method1("setup", (facts(&module, &start)?,))?;
        let mut made = PyAqm::of(object, stream, start.abort)?;
        for (name, _) in made.published(py)? {
            if RESERVED.contains(&name.as_str()) {
                let class = made.class(py);
                let problem =
                    format!("{class}.series: the name {name:?} is the queue's own column");
                return Err(PyValueError::new_err(problem));
            }
            made.columns.push(interned(name));
        }
        Ok(made)
    }

    /// From an instance that is set up, which draws from `stream`.
    fn of(object: Bound<'_, PyAny>, stream: Py<Stream>, abort: &Abort) -> PyResult<Self> {
        let py = object.py();
        let module = py.import("penstock.model.aqm")?;
        let (class, base) = (object.get_type(), module.getattr("Aqm")?);
        let overridden = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            if class.getattr(name)?.is(base.getattr(name)?) {
                return Ok(None);
            }
            Ok(Some(object.getattr(name)?))
        };
        let timer = Timer::of(&object, overridden("tick")?.map(Bound::unbind))?;
        let verdict = module.getattr("Verdict")?;
        let member =
            |(name, v): (&str, Verdict)| Ok::<_, PyErr>((verdict.getattr(name)?.unbind(), v));
        let [a, b, c, d, e] = VERDICTS.map(member);
        let ecn = module.getattr("Ecn")?;
        let [m0, m1, m2, m3] = [0u8, 1, 2, 3].map(|bits| ecn.call1((bits,)).map(Bound::unbind));
        let packet = PacketView {
            bytes: AtomicU32::default(),
            flow: AtomicU32::default(),
            class: AtomicU8::default(),
            ecn: AtomicU8::default(),
            sojourn: AtomicU64::default(),
            members: [m0?, m1?, m2?, m3?],
        };
        let views =
            Views { packet: Py::new(py, packet)?, queue: Py::new(py, QueueView::default())? };
        let method = |bound| Method::new(bound, &views);
        Ok(PyAqm {
            arrive: method(object.getattr("arrive")?)?,
            overflow: overridden("overflow")?.map(method).transpose()?,
            depart: overridden("depart")?.map(method).transpose()?,
            average_pkts: overridden("average_pkts")?.map(Bound::unbind),
            series: overridden("series")?.map(Bound::unbind),
            timer,
            columns: vec![],
            views,
            verdicts: [a?, b?, c?, d?, e?],
            abort: abort.clone(),
            stream,
            object: object.unbind(),
        })
    }

    /// Calls into Python unless an earlier call has failed; a failure is kept for who started the
    /// run.
    #[inline(always)]
    fn guarded<T>(&self, otherwise: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        if self.abort.raised() {
            return otherwise;
        }
        Python::attach(|py| {
            call(py).unwrap_or_else(|error| {
                self.abort.raise(error);
                otherwise
            })
        })
    }

    #[inline(always)]
    fn ask(
        &self,
        method: &Method,
        name: &str,
        now: Time,
        (pkt, sojourn): (&Packet, Duration),
        q: &Queue,
    ) -> Verdict {
        self.guarded(Verdict::Pass, |py| {
            let answer = self.tell(py, method, now, (pkt, sojourn), q)?;
            let found = self.verdicts.iter().find(|(member, _)| answer.is(member));
            match found {
                Some((_, verdict)) => Ok(*verdict),
                None => {
                    let names = VERDICTS.map(|v| v.0).join(", ");
                    Err(self.rubbish(name, &answer, &format!("a penstock.Verdict ({names})")))
                }
            }
        })
    }

    /// Calls a method with time, packet and queue.
    #[inline(always)]
    fn tell<'py>(
        &self,
        py: Python<'py>,
        method: &Method,
        now: Time,
        (pkt, sojourn): (&Packet, Duration),
        q: &Queue,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.views.packet.get().put(pkt, sojourn);
        self.views.queue.get().put(q);
        method.call(py, now.as_secs_f64(), &self.views)
    }

    /// Returns what `series()` returns, by name.
    fn published(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let Some(series) = &self.series else { return Ok(vec![]) };
        let answer = series.bind(py).call0()?;
        let read = |mapping: &Bound<'_, PyMapping>| -> PyResult<_> {
            mapping.items()?.iter().map(|item| item.extract()).collect()
        };
        let rubbish = || self.rubbish("series", &answer, "a dict of names and numbers");
        answer.cast::<PyMapping>().ok().and_then(|m| read(m).ok()).ok_or_else(rubbish)
    }

    /// The values of the columns, in their order.
    fn row(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let published = self.published(py)?;
        if !published.iter().map(|(name, _)| name.as_str()).eq(self.columns.iter().copied()) {
            let (names, class) =
                (published.into_iter().map(|p| p.0).collect::<Vec<_>>(), self.class(py));
            return Err(PyValueError::new_err(format!(
                "{class}.series returned {names:?} after {:?}: it must give the same names in the same order every time",
                self.columns
            )));
        }
        Ok(published.into_iter().map(|p| p.1).collect())
    }

    /// Reads a number or `None`.
    fn number(&self, name: &str, what: &str, answer: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        answer.extract().map_err(|_| self.rubbish(name, answer, what))
    }

    fn rubbish(&self, name: &str, answer: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        let class = self.class(answer.py());
        match answer.repr() {
            Ok(answer) => {
                PyTypeError::new_err(format!("{class}.{name} returned {answer}, not {expected}"))
            }
            Err(error) => error,
        }
    }

    fn class(&self, py: Python<'_>) -> String {
        self.object.bind(py).get_type().name().map_or_else(|_| "Aqm".into(), |n| n.to_string())
    }
}

impl Aqm for PyAqm {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, _: &mut Rng) -> Verdict {
        self.ask(&self.arrive, "arrive", now, (pkt, Duration::ZERO), q)
    }

    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        if let Some(method) = &self.overflow {
            self.guarded((), |py| self.tell(py, method, now, (pkt, Duration::ZERO), q).map(drop));
        }
    }

    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        _: &mut Rng,
    ) -> Verdict {
        let Some(method) = &self.depart else { return Verdict::Pass };
        self.ask(method, "depart", now, (pkt, sojourn), q)
    }

    fn service(&self) -> Service {
        if self.depart.is_some() {
            Service::AtDeparture
        } else {
            Service::AtArrival
        }
    }

    #[inline]
    fn next_tick(&self) -> Option<Time> {
        // After a failure none is due: the replay of a fine timer over a long silence would only
        // delay the end.
        self.timer.as_ref().filter(|_| !self.abort.raised()).map(|t| t.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        let Some(timer) = &self.timer else { return };
        let interval = self.guarded(None, |py| {
            let queue = &self.views.queue;
            queue.get().put(q);
            let answer = timer.tick.bind(py).call1((now.as_secs_f64(), queue))?;
            self.number("tick", "seconds or None", &answer)?.map(span).transpose()
        });
        if let Some(timer) = &mut self.timer {
            timer.next = now + interval.unwrap_or(timer.interval);
        }
    }

    fn begin(&mut self, now: Time) {
        if let Some(timer) = &mut self.timer {
            timer.next += now.since(Time::ZERO);
        }
    }

    fn copied(&self, abort: &Abort) -> Result<Box<dyn Aqm + Send>, UserError> {
        Python::attach(|py| {
            let object = py.import("copy")?.call_method1("deepcopy", (&self.object,))?;
            let rng = self.stream.get().0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let stream = given_a_stream(&object, rng)?;
            let mut made = PyAqm::of(object, stream, abort)?;
            made.columns.clone_from(&self.columns);
            if let (Some(timer), Some(own)) = (&mut made.timer, &self.timer) {
                timer.next = own.next;
            }
            Ok(Box::new(made) as Box<dyn Aqm + Send>)
        })
        .map_err(|error: PyErr| Box::new(error) as UserError)
    }

    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        let method = self.average_pkts.as_ref()?;
        self.guarded(None, |py| {
            let answer = method.bind(py).call0()?;
            self.number("average_pkts", "packets or None", &answer)
        })
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let row = self.guarded(vec![], |py| self.row(py));
        for (name, value) in self.columns.iter().zip(row) {
            out(name, value);
        }
    }
}

/// Reads a timer's interval.
fn span(seconds: f64) -> PyResult<Duration> {
    if (1e-9..=1e9).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!(
        "interval until the next tick: {seconds} s: must be from 1e-9 to 1e9 s"
    )))
}

/// `penstock.LinkFacts` of the link.
fn facts<'py>(module: &Bound<'py, PyModule>, start: &Start<'_>) -> PyResult<Bound<'py, PyAny>> {
    let Context { rate, delay, buffer, .. } = start.context;
    let (pkts, bytes) = match buffer {
        QueueLen::Packets(n) => (Some(*n as u64), None),
        QueueLen::Bytes(b) => (None, Some(*b)),
    };
    let facts = PyDict::new(module.py());
    facts.set_item("name", start.link)?;
    facts.set_item("rate_bps", rate.as_bps() as f64)?;
    facts.set_item("delay_s", delay.as_secs_f64())?;
    facts.set_item("buffer_pkts", pkts)?;
    facts.set_item("buffer_bytes", bytes)?;
    let common = Common::read(start.values);
    facts.set_item("mean_packet_bytes", common.mean_packet.0)?;
    facts.set_item("ecn", common.ecn)?;
    module.getattr("LinkFacts")?.call((), Some(&facts))
}

/// Names that tables have for as long as the process runs. There are few: one for each column that
/// a discipline publishes.
pub fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
