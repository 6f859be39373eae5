//! Units of Penstock: integer time, rates, sizes, queue lengths; the ECN field; named random
//! streams; the one declaration of a parameter ([`param::Param`]) from which TOML, Python, schema,
//! lists, docs and error messages are made.
//!
//! This crate depends on no other. It never reads a clock and never prints.

mod ecn;
mod framing;
mod join;
mod quantity;
mod rng;
mod time;

pub mod param;

pub use ecn::{Codepoints, Ecn, Level};
pub use framing::{Cells, Framing};
pub use join::{join, length};
pub use quantity::{
    any_case, format_duration, format_frequency, format_rate, format_size, parse_duration,
    parse_frequency, parse_queue, parse_rate, parse_size, shorten, QuantityError, DURATION_UNITS,
    FREQUENCY_UNITS, QUEUE_UNITS, RATE_UNITS, SIZE_UNITS,
};
pub use rng::Rng;
pub use time::{Bytes, Duration, QueueLen, Rate, Time, TxClock, BYTE_AT_ONE_BPS, TICKS_PER_NANO};

/// The README's example is a test of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
