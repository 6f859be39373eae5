//! Checked values, by key.

use super::{Arrivals, DelaySpec, Dist, DistFile, Loss, RateSchedule, StartSpec};
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
    /// Rates.
    Rates(Vec<Rate>),
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
    /// One that is still in its file.
    DistFile(DistFile),
    /// When transfers begin.
    Arrivals(Arrivals),
    /// Random loss.
    Loss(Loss),
    /// A rate over time.
    Schedule(RateSchedule),
    /// Tables by name, in the order of the file.
    Tables(Vec<(String, Values)>),
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
    /// The problem, for a person: "must be below max_th (15)".
    pub problem: String,
}

impl ParamError {
    /// An error about the key `name`.
    pub fn new(name: &'static str, problem: impl Into<String>) -> Self {
        ParamError { name, problem: problem.into() }
    }
}

impl Values {
    /// Returns a set without values.
    pub fn new() -> Self {
        Self::default()
    }
    /// Sets a key.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.0.insert(name, value);
    }
    /// Returns the value of a key. [`Field::read`](super::Field::read) makes a type of it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
    /// Returns whether a value, or one in a table of these, is such a one.
    pub fn any(&self, is: &dyn Fn(&Value) -> bool) -> bool {
        self.0.values().any(|value| match value {
            Value::Tables(tables) => tables.iter().any(|(_, values)| values.any(is)),
            value => is(value),
        })
    }
    /// Returns all keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(k, v)| (*k, v))
    }
}
