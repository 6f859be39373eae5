//! Reads the literals that parameter tables hold, for tests that stand below the scenario parser;
//! the crate's own unit tests include this file too.

use penstock_units::param::{Ty, Value};
use penstock_units::{parse_duration, parse_queue, parse_size, QueueLen};

/// The value of a literal of a declared type.
pub fn literal(ty: &Ty, text: &str) -> Value {
    let word = text.trim_matches('"');
    match ty {
        Ty::Bool => Value::Bool(text == "true"),
        Ty::Int { .. } => Value::Int(text.parse().unwrap()),
        Ty::Num { .. } => Value::Num(text.parse().unwrap()),
        Ty::NumOr(..) => text.parse().map_or_else(|_| Value::Word(word.into()), Value::Num),
        Ty::Duration => Value::Duration(parse_duration(word).unwrap()),
        Ty::Size => Value::Size(parse_size(word).unwrap()),
        Ty::Queue => text.parse().map_or_else(
            |_| Value::Queue(parse_queue(word).unwrap()),
            |n| Value::Queue(QueueLen::Packets(n)),
        ),
        _ => Value::Word(word.into()),
    }
}
