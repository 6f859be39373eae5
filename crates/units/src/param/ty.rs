//! The type of a parameter says which values it may hold.

use super::{DelaySpec, Param, StartSpec, Value, Values};
use crate::{parse_duration, parse_queue, parse_rate, parse_size, QueueLen};

/// The values that a parameter may hold, and their range.
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
    /// Rates: `["1 Mbit/s", "3 Mbit/s"]`, or one of them alone.
    Rates,
    /// A size with its unit: `"1000 B"`.
    Size,
    /// A queue length: a bare number or `"40 packets"` counts packets, `"30 kB"` bytes.
    Queue,
    /// A delay per flow: a duration, `{ uniform = [a, b] }` or `{ spread = [a, b] }`.
    Delay,
    /// A start per flow: a duration, `{ uniform = [a, b] }` or `{ every = d, from = t }`.
    Start,
    /// A distribution of sizes: `{ pareto = { shape, mean, max } }`, `{ exponential = "12 kB" }`,
    /// `{ constant = … }`, `{ empirical = [["1 kB", 0.5], …] }`, or `{ empirical = "sizes.cdf" }`.
    SizeDist,
    /// A size with its unit, or a distribution of sizes.
    Sizes,
    /// A distribution of times, in the same forms.
    TimeDist,
    /// `{ poisson = { load = 0.6 } }` or `{ poisson = { rate = "200 /s" } }`.
    Arrivals,
    /// Random loss of a link: a probability per packet, or `{ gilbert_elliott = { p, r, good, bad }
    /// }`.
    Loss,
    /// The rate over time: `[{ at = "10 s", rate = "1 Mbit/s" }, …]`, `{ cycle = ["9 Mbit/s", "1
    /// Mbit/s"], every = "1 s" }`, `{ steps = "file.txt" }` or `{ mahimahi = "file.trace" }`.
    Schedule,
    /// What the first type allows, or one of the words.
    Or(&'static Ty, &'static [&'static str]),
    /// Tables with these keys, each under a name of the user's choice: `[aqm.class.gold]`. A key has
    /// one default, whatever the profile.
    Tables(&'static [Param]),
}

/// The text that a declaration gives as `auto` of a key that must be given.
pub const REQUIRED: &str = "required";

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

/// Any whole number.
pub const WHOLE: Ty = int(i64::MIN, i64::MAX);
/// Any number.
pub const NUMBER: Ty = num(f64::MIN, f64::MAX);

impl Ty {
    /// Returns what the type allows, for a person: "a number in (0, 1]".
    pub fn allowed(&self) -> String {
        let words = |w: &[&str]| format!("\"{}\"", w.join("\", \""));
        let text = match self {
            Ty::Bool => "true or false",
            &WHOLE => "a whole number",
            &NUMBER => "a number",
            Ty::Int { min, max } => return format!("a whole number in [{min}, {max}]"),
            Ty::Num { min, max, open: true } => return format!("a number in ({min}, {max}]"),
            Ty::Num { min, max, open: false } => return format!("a number in [{min}, {max}]"),
            Ty::Word(w) => return format!("one of {}", words(w)),
            Ty::Or(&Ty::Bool, w) => return format!("true, false or one of {}", words(w)),
            Ty::Or(number, w) => return format!("{} or one of {}", number.allowed(), words(w)),
            Ty::Tables(params) => {
                let key = |p: &Param| format!("{} ({})", p.name, p.ty.allowed());
                let keys: Vec<_> = params.iter().map(key).collect();
                return format!("tables by name, each with the keys {}", keys.join(", "));
            }
            Ty::Text => "a text",
            Ty::Duration => "a time with its unit, for example \"40 ms\"",
            Ty::Rate => "a rate with its unit, for example \"1.5 Mbit/s\"",
            Ty::Rates => "a rate, or a list of rates, for example [\"1 Mbit/s\", \"3 Mbit/s\"]",
            Ty::Size => "a size with its unit, for example \"1000 B\"",
            Ty::Queue => {
                "a number of packets, or a size, for example 40, \"40 packets\" or \"30 kB\""
            }
            Ty::Delay => {
                "a time, { uniform = [a, b] } or { spread = [a, b] }, \
                 for example { spread = [\"2 ms\", \"27 ms\"] }"
            }
            Ty::Start => {
                "a time, { uniform = [a, b] } or { every = d, from = t }, \
                 for example { uniform = [\"0 s\", \"0.1 s\"] }"
            }
            Ty::SizeDist => {
                "a distribution, for example \
                 { pareto = { shape = 1.5, mean = \"12 kB\", max = \"500 kB\" } }, \
                 { exponential = \"12 kB\" }, { constant = \"12 kB\" }, \
                 { uniform = [\"1 kB\", \"9 kB\"] } or { empirical = \"sizes.cdf\" }"
            }
            Ty::Sizes => {
                "a size with its unit, or a distribution, for example \"100 kB\", \
                 { exponential = \"12 kB\" } or { empirical = \"sizes.cdf\" }"
            }
            Ty::TimeDist => {
                "a distribution, for example { pareto = { shape = 1.5, mean = \"1 s\" } }, \
                 { exponential = \"1 s\" }, { constant = \"1 s\" }, { uniform = [\"1 s\", \"2 s\"] } \
                 or { empirical = [[\"1 ms\", 0.5], [\"5 ms\", 1]] }"
            }
            Ty::Arrivals => {
                "how often transfers begin, \
                 for example { poisson = { load = 0.6 } } or { poisson = { rate = \"200 /s\" } }"
            }
            Ty::Loss => {
                "a probability in [0, 1], or for example \
                 { gilbert_elliott = { p = 0.01, r = 0.3 } }"
            }
            Ty::Schedule => {
                "a list of steps ascending in time, \
                 for example [{ at = \"10 s\", rate = \"1 Mbit/s\" }], \
                 rates that take turns, { cycle = [\"9 Mbit/s\", \"1 Mbit/s\"], every = \"1 s\" }, \
                 a file with seconds and Mbit/s in each line, { steps = \"file.txt\" }, \
                 or a mahimahi trace, { mahimahi = \"file.trace\" } or \"file.trace\""
            }
        };
        text.into()
    }

    /// Returns whether a value is of this type and in its range.
    ///
    /// A file's values are checked as they are read; this is for values that a program wrote.
    pub fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Ty::Int { min, max }, Value::Int(n)) => (min..=max).contains(&n),
            (Ty::Num { min, max, open }, Value::Num(x)) => {
                x.is_finite() && (x > min || x == min && !open) && x <= max
            }
            (Ty::Word(words), Value::Word(w)) => words.contains(&w.as_str()),
            (Ty::Or(_, words), Value::Word(w)) => words.contains(&w.as_str()),
            (Ty::Or(number, _), other) => number.holds(other),
            (Ty::Tables(params), Value::Tables(tables)) => {
                let holds = |values: &Values, p: &Param| match values.get(p.name) {
                    Some(value) => p.ty.holds(value),
                    None => p.default.is_none() && p.auto != REQUIRED,
                };
                tables.iter().all(|(_, values)| params.iter().all(|p| holds(values, p)))
            }
            (Ty::Queue, Value::Queue(QueueLen::Packets(n))) => n.is_finite() && *n >= 0.0,
            (Ty::Bool, Value::Bool(_))
            | (Ty::Text, Value::Word(_))
            | (Ty::Duration, Value::Duration(_))
            | (Ty::Rate, Value::Rate(_))
            | (Ty::Rates, Value::Rates(_))
            | (Ty::Size, Value::Size(_))
            | (Ty::Queue, Value::Queue(_))
            | (Ty::Delay, Value::Delay(_))
            | (Ty::Start, Value::Start(_))
            | (Ty::SizeDist | Ty::Sizes | Ty::TimeDist, Value::Dist(_) | Value::DistFile(_))
            | (Ty::Arrivals, Value::Arrivals(_))
            | (Ty::Loss, Value::Loss(_))
            | (Ty::Schedule, Value::Schedule(_)) => true,
            _ => false,
        }
    }

    /// Returns the value of a default, as a declaration writes it: `0.1`, `true`, `"5 ms"`.
    ///
    /// `None` if the text is not of this type, or the type is one that only a TOML parser reads
    /// (lists of rates, distributions, losses, schedules, delays that are tables).
    pub fn literal(&self, text: &str) -> Option<Value> {
        let word = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        let value = match self {
            Ty::Bool => Value::Bool(text.parse().ok()?),
            Ty::Int { .. } => Value::Int(text.parse().ok()?),
            Ty::Num { .. } => Value::Num(text.parse().ok()?),
            Ty::Word(_) | Ty::Text => Value::Word(word?.into()),
            Ty::Or(number, _) => match word {
                Some(word) => Value::Word(word.into()),
                None => number.literal(text)?,
            },
            Ty::Duration => Value::Duration(parse_duration(word?).ok()?),
            Ty::Rate => Value::Rate(parse_rate(word?).ok()?),
            Ty::Size => Value::Size(parse_size(word?).ok()?),
            Ty::Queue => Value::Queue(match word {
                Some(word) => parse_queue(word).ok()?,
                None => QueueLen::Packets(text.parse().ok()?),
            }),
            Ty::Delay => Value::Delay(DelaySpec::Fixed(parse_duration(word?).ok()?)),
            Ty::Start => Value::Start(StartSpec::Fixed(parse_duration(word?).ok()?)),
            Ty::Rates
            | Ty::SizeDist
            | Ty::Sizes
            | Ty::TimeDist
            | Ty::Arrivals
            | Ty::Loss
            | Ty::Schedule
            | Ty::Tables(_) => return None,
        };
        self.holds(&value).then_some(value)
    }
}
