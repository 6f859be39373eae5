//! The one declaration of a parameter.
//!
//! A discipline, a TCP variant, a traffic kind and the topology each own a `&'static [Param]`. The
//! scenario parser, the JSON Schema, `penstock list`, the Python classes, the docs and every error
//! message are made from these tables; nothing about a parameter is written down anywhere else.

use crate::{Bytes, Duration, QueueLen, Rate};
use std::collections::BTreeMap;

/// What a parameter may hold, and in which range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ty {
    /// `true` or `false`.
    Bool,
    /// A whole number, both ends included.
    Int {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number; `open` leaves the lower end out.
    Num {
        /// Smallest (excluded where `open`).
        min: f64,
        /// Largest, included.
        max: f64,
        /// Whether `min` itself is not allowed.
        open: bool,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// Free text.
    Text,
    /// A span of time with its unit: `"40 ms"`.
    Duration,
    /// A rate with its unit: `"1.5 Mbit/s"`.
    Rate,
    /// A size with its unit: `"1000 B"`.
    Size,
    /// A queue length: a bare number or `"40 packets"` counts packets, `"30 kB"` bytes.
    Queue,
    /// A delay per flow: a duration, `{ uniform = [a, b] }` or `{ spread = [a, b] }`.
    Delay,
    /// A start per flow: a duration, `{ uniform = [a, b] }` or `{ every = d, from = t }`.
    Start,
    /// A distribution of sizes: `{ pareto = { shape, mean, max } }`, `{ exponential = "12 kB" }`,
    /// `{ constant = … }`.
    SizeDist,
    /// A distribution of times, in the same forms.
    TimeDist,
    /// Random loss of a link: a probability per packet, or `{ gilbert_elliott = { p, r, good, bad }
    /// }`.
    Loss,
    /// The rate over time: `[{ at = "10 s", rate = "1 Mbit/s" }, …]`, or `{ mahimahi = "file.trace"
    /// }`.
    Schedule,
    /// A number in the first range, or one of the words.
    NumOr(&'static Ty, &'static [&'static str]),
}

/// The declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key in TOML and the keyword in Python.
    pub name: &'static str,
    /// What it may hold.
    pub ty: Ty,
    /// The unit, `"1"` for a pure number, empty where the value carries it.
    pub unit: &'static str,
    /// The default as a TOML literal; `None` when it is automatic or the key is required (see
    /// `auto`).
    pub default: Option<&'static str>,
    /// The default under `profile = "ns-2"`, where it differs.
    pub ns2: Option<&'static str>,
    /// What an absent value means when there is no default: a formula, or `"required"`.
    pub auto: &'static str,
    /// Paper, RFC section or program that the default and meaning come from.
    pub source: &'static str,
    /// One or two sentences for a person.
    pub doc: &'static str,
}

/// A parameter with neither default nor source: the base for `Param { name: …, ..PARAM }`.
pub const PARAM: Param = Param {
    name: "",
    ty: Ty::Text,
    unit: "",
    default: None,
    ns2: None,
    auto: "",
    source: "",
    doc: "",
};

/// A number in [min, max].
pub const fn num(min: f64, max: f64) -> Ty {
    Ty::Num { min, max, open: false }
}
/// A number in (min, max].
pub const fn num_open(min: f64, max: f64) -> Ty {
    Ty::Num { min, max, open: true }
}
/// A whole number in [min, max].
pub const fn int(min: i64, max: i64) -> Ty {
    Ty::Int { min, max }
}

/// A delay for each of a group's flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelaySpec {
    /// The same for all.
    Fixed(Duration),
    /// Drawn per flow.
    Uniform(Duration, Duration),
    /// Even steps over the flows; one flow gets the middle.
    Spread(Duration, Duration),
}

/// A start time for each of a group's flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartSpec {
    /// The same for all.
    Fixed(Duration),
    /// Drawn per flow.
    Uniform(Duration, Duration),
    /// Flow `i` starts at `from + i·every`.
    Every {
        /// The gap between two starts.
        every: Duration,
        /// The first start.
        from: Duration,
    },
}

/// A named distribution of a positive quantity (bytes, or seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dist {
    /// Always this.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this shape and mean (of the unbounded law), cut at `max` where given.
    Pareto {
        /// Shape, above 1 so that the mean exists.
        shape: f64,
        /// Mean of the unbounded law; the scale is `mean·(shape − 1)/shape`.
        mean: f64,
        /// Values above this become this.
        max: Option<f64>,
    },
}

/// Random loss on a wire, decided for each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet with this probability, whatever became of the others.
    Bernoulli(f64),
    /// Loss in bursts: a wire that is good or bad (Gilbert 1960, Elliott 1963). It starts good;
    /// each packet is lost with the probability of the present state, and then the state may
    /// change.
    GilbertElliott {
        /// Probability that good turns bad, per packet.
        p: f64,
        /// Probability that bad turns good, per packet.
        r: f64,
        /// Probability of loss while good.
        good: f64,
        /// Probability of loss while bad.
        bad: f64,
    },
}

/// A link's rate over time, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSchedule {
    /// Steps, ascending in time; `None` is a link that is down.
    Steps(Vec<(Duration, Option<Rate>)>),
    /// A mahimahi trace: the file, and the hash that its content must have, where that is known.
    Mahimahi {
        /// Its path.
        file: String,
        /// FNV-1a (64 bit) of its content, in hexadecimal.
        hash: Option<String>,
    },
}

/// A value that has passed its declaration's check.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Num(f64),
    /// One of the declared words, or free text.
    Word(String),
    /// A span of time.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// A size.
    Size(Bytes),
    /// A queue length.
    Queue(QueueLen),
    /// Delays.
    Delay(DelaySpec),
    /// Starts.
    Start(StartSpec),
    /// A distribution of bytes or of seconds.
    Dist(Dist),
    /// Random loss.
    Loss(Loss),
    /// A rate over time.
    Schedule(RateSchedule),
}

/// Checked values of one table, by key; an absent key is automatic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<&'static str, Value>);

/// A value that its table does not allow together with the others.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct ParamError {
    /// The key.
    pub name: &'static str,
    /// What is wrong, for a person: "must be below max_th (15)".
    pub problem: String,
}

impl ParamError {
    /// An error about the key `name`.
    pub fn new(name: &'static str, problem: impl Into<String>) -> Self {
        ParamError { name, problem: problem.into() }
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $get:ident, $opt:ident, $variant:ident => $ty:ty;)*) => {$(
        $(#[$doc])*
        /// # Panics
        /// If the key is absent or of another type: the declaration then does not fit its reader.
        pub fn $get(&self, name: &str) -> $ty {
            self.$opt(name).unwrap_or_else(|| panic!("parameter {name} has no value"))
        }
        /// The same, `None` where the key is automatic.
        pub fn $opt(&self, name: &str) -> Option<$ty> {
            match self.0.get(name) {
                None => None,
                Some(Value::$variant(v)) => Some(v.clone()),
                Some(other) => panic!("parameter {name} holds {other:?}"),
            }
        }
    )*};
}

impl Values {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }
    /// Sets a key.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }
    /// The raw value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
    /// All keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(k, v)| (*k, v))
    }
    getters! {
        /// A truth value.
        bool, opt_bool, Bool => bool;
        /// A whole number.
        int, opt_int, Int => i64;
        /// A span of time.
        duration, opt_duration, Duration => Duration;
        /// A rate.
        rate, opt_rate, Rate => Rate;
        /// A size.
        size, opt_size, Size => Bytes;
        /// A queue length.
        queue, opt_queue, Queue => QueueLen;
        /// A word.
        word, opt_word, Word => String;
        /// Delays.
        delay, opt_delay, Delay => DelaySpec;
        /// Starts.
        start, opt_start, Start => StartSpec;
        /// A distribution.
        dist, opt_dist, Dist => Dist;
        /// Random loss.
        loss, opt_loss, Loss => Loss;
        /// A rate over time.
        schedule, opt_schedule, Schedule => RateSchedule;
    }
    /// A number.
    ///
    /// # Panics
    /// If the key is absent or of another type.
    pub fn num(&self, name: &str) -> f64 {
        self.opt_num(name).unwrap_or_else(|| panic!("parameter {name} has no value"))
    }
    /// A number; `None` where the key is automatic or holds a word (see [`Ty::NumOr`]).
    pub fn opt_num(&self, name: &str) -> Option<f64> {
        match self.0.get(name) {
            Some(Value::Num(v)) => Some(*v),
            Some(Value::Int(v)) => Some(*v as f64),
            _ => None,
        }
    }
    /// Whether the key holds this word.
    pub fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Word(w)) if w == word)
    }
}
