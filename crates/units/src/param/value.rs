//! Checked values, by key.

use super::{DelaySpec, Dist, Loss, RateSchedule, StartSpec};
use crate::{Bytes, Duration, QueueLen, Rate};
use std::collections::BTreeMap;

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
    /// A number; `None` where the key is automatic or holds a word (see [`Ty::NumOr`](super::Ty::NumOr)).
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
