//! Ranges of `[sweep]`: axes whose values a design of experiments chooses.

use crate::error::{Problem, ScenarioError};
use crate::keys::{self, Tree};
use crate::node::{Item, Node};
use penstock_units::param::{DelaySpec, Loss, StartSpec, Value};
use penstock_units::{format_duration, format_rate, format_size, Bytes, Duration, QueueLen, Rate};
use serde_json::Value as Json;

type Result<T> = std::result::Result<T, ScenarioError>;

const LAWS: [(&str, Law); 3] =
    [("uniform", Law::Uniform), ("log_uniform", Law::LogUniform), ("integer", Law::Integer)];

/// An axis between two ends: `"aqm.max_p" = { log_uniform = [0.001, 0.5] }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The key path that it changes.
    pub path: String,
    law: Law,
    unit: Unit,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Uniform,
    LogUniform,
    Integer,
}

/// The quantity that the ends count.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Number,
    Whole,
    Packets,
    Nanoseconds,
    BitsPerSecond,
    Bytes,
}

impl Range {
    /// The axis that a table under `path` describes; both ends must be values of that key.
    pub(crate) fn read(tree: Tree<'_>, path: &str, node: &Node) -> Result<Range> {
        let place = keys::join("sweep", path);
        let conflict = |text: &str| ScenarioError::at(node, &place, Problem::Conflict(text.into()));
        let (law, [low, high]) = law_and_ends(node, &place)?;
        let low = measure(&keys::at_path(tree, path, low)?);
        let high = measure(&keys::at_path(tree, path, high)?);
        let (Some((low, unit)), Some((high, same))) = (low, high) else {
            return Err(conflict("has no values in between: write a list"));
        };
        if unit != same {
            return Err(conflict("both ends must count the same: packets or bytes"));
        }
        if low >= high {
            return Err(conflict("the first value must be below the second"));
        }
        match law {
            Law::LogUniform if low <= 0.0 => {
                return Err(conflict("a logarithmic range must begin above zero"))
            }
            Law::Uniform if unit == Unit::Whole => {
                return Err(conflict("takes whole numbers: write { integer = [a, b] }"));
            }
            Law::Integer if !matches!(unit, Unit::Number | Unit::Whole | Unit::Packets) => {
                return Err(conflict("has a unit: write { uniform = [a, b] }"));
            }
            Law::Integer if low.fract() != 0.0 || high.fract() != 0.0 => {
                return Err(conflict("both ends must be whole numbers"));
            }
            _ => {}
        }
        // A threshold may lie between two packets, a buffer may not: whole ends ask for whole
        // packets.
        let (law, unit) = match (law, unit) {
            (Law::Uniform, Unit::Packets) if low.fract() == 0.0 && high.fract() == 0.0 => {
                (Law::Integer, unit)
            }
            (Law::LogUniform, Unit::Packets) if low.fract() == 0.0 && high.fract() == 0.0 => {
                (law, Unit::Whole)
            }
            _ => (law, unit),
        };
        Ok(Range { path: path.into(), law, unit, low, high })
    }

    /// The value at `u` of the way, from 0 to 1: the inverse of the distribution function, so that
    /// uniform `u` give the law. Times, rates and sizes come in whole ns, bit/s and bytes; a key of
    /// whole numbers gets the nearest.
    pub fn at(&self, u: f64) -> Json {
        let Range { low, high, .. } = *self;
        let u = u.clamp(0.0, 1.0);
        let x = match self.law {
            Law::Uniform => low + u * (high - low),
            Law::LogUniform => libm::exp((1.0 - u) * libm::log(low) + u * libm::log(high)),
            // Every whole number, the ends too, has the same share.
            Law::Integer => (low + u * (high - low + 1.0)).floor(),
        };
        let x = x.clamp(low, high);
        match self.unit {
            Unit::Number | Unit::Packets if self.law != Law::Integer => Json::from(x),
            Unit::Number | Unit::Packets | Unit::Whole => Json::from(x.round() as i64),
            Unit::Nanoseconds => {
                Json::from(format_duration(Duration::from_nanos(x.round() as u64)))
            }
            Unit::BitsPerSecond => Rate::from_bps(x.round() as u64).map(format_rate).into(),
            Unit::Bytes => Json::from(format_size(Bytes(x.round() as u64))),
        }
    }
}

/// Reads the law that a table names, and the two ends of the range.
fn law_and_ends<'a>(node: &'a Node, place: &str) -> Result<(Law, [&'a Node; 2])> {
    let mut laws = node.table().into_iter().flat_map(|t| t.iter());
    let (Some((name, ends)), None) = (laws.next(), laws.next()) else {
        let allowed =
            "one of { uniform = [a, b] }, { log_uniform = [a, b] }, { integer = [a, b] }".into();
        return Err(ScenarioError::at(node, place, Problem::Value { allowed }));
    };
    let Some((_, law)) = LAWS.into_iter().find(|(known, _)| *known == name) else {
        let allowed = LAWS.iter().map(|(known, _)| known.to_string()).collect();
        let nearest = crate::error::nearest(name, LAWS.map(|(known, _)| known));
        let problem = Problem::UnknownKey { allowed, nearest };
        return Err(ScenarioError::new(node.origin, keys::join(place, name), problem));
    };
    let [low, high] = (match &ends.item {
        Item::List(list) => &list[..],
        _ => &[],
    }) else {
        let allowed = "two values, the lower one first".into();
        return Err(ScenarioError::at(ends, &keys::join(place, name), Problem::Value { allowed }));
    };
    Ok((law, [low, high]))
}

/// A checked value as a number of its smallest unit; `None` where nothing lies between two of them.
fn measure(value: &Value) -> Option<(f64, Unit)> {
    match value {
        Value::Int(n) => Some((*n as f64, Unit::Whole)),
        Value::Num(x) | Value::Loss(Loss::Bernoulli(x)) => Some((*x, Unit::Number)),
        Value::Queue(QueueLen::Packets(n)) => Some((*n, Unit::Packets)),
        Value::Queue(QueueLen::Bytes(n)) => Some((*n as f64, Unit::Bytes)),
        Value::Size(Bytes(n)) => Some((*n as f64, Unit::Bytes)),
        Value::Duration(d)
        | Value::Delay(DelaySpec::Fixed(d))
        | Value::Start(StartSpec::Fixed(d)) => Some((d.as_nanos() as f64, Unit::Nanoseconds)),
        Value::Rate(rate) => Some((rate.as_bps() as f64, Unit::BitsPerSecond)),
        _ => None,
    }
}
