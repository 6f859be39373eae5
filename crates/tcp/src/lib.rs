//! TCP senders and receivers as sans-IO state machines.
//!
//! No clock, no sockets, no randomness: ACKs, timer expiries and times come in; segments to send
//! and a timer's deadline go out. A connection's data are cut into segments once, so sender and
//! receiver count segments. Segment 0 is the SYN or, without a handshake, the first data; the byte
//! sequence number of data segment `k` follows from it.
//!
//! Two axes make a sender: how it repairs losses (`recovery/`) and how it sizes its window
//! (`control/`). Each value of an axis is a file. From the bottom up:
//!
//! - `segment.rs`: what the two ends hand to each other; `ecn/`: what its bits mean.
//! - `rtt.rs`: the round trip and the timeout. `control/`: the window's growth and cuts, as
//!   numbers.
//! - `minimum.rs`: the smallest value of late.
//! - `params.rs`: everything that a user sets.
//! - `sent.rs`, `timers.rs`, `pace.rs`: what is under way, what is waited for, how far apart
//!   segments leave.
//! - `usage.rs`: how much of its window a sender uses.
//! - `connection.rs`: what all senders share, sequence numbers and window; `sending.rs`.
//! - `ecn/answer.rs` and `recovery/`: what marks and losses make a sender do.
//! - `sender.rs`: the way in, data, ACKs and timers. `receiver.rs`: the other end, `held.rs`: for
//!   how long it holds ACKs back.
//! - `info.rs`: how a sender stands, for reports.
//! - `quirks.rs`: where ns-2 differs.

mod buffer;
mod connection;
mod control;
mod ecn;
mod held;
mod info;
mod minimum;
mod pace;
mod params;
mod quirks;
mod receiver;
mod recovery;
mod room;
mod rtt;
mod segment;
mod sender;
mod sending;
mod sent;
mod stamp;
mod timers;
mod usage;

pub use connection::{Counters, Io};
pub use control::*;
pub use ecn::abe::AbeParams;
pub use ecn::accecn::{AccEcnParams, Ace, EctOn};
pub use ecn::bits::{Bits, Ecn, Mark};
pub use ecn::mecn::{Incipient, MecnParams};
pub use ecn::option::{AccEcnOption, FieldOrder};
pub use info::{CaState, DeliveredBytes, Info};
pub use pace::{PaceKeys, Pacing, PacingParams};
pub use params::{GrowthPer, SsthreshFrom, TcpParams, PARAMS};
pub use receiver::{Receiver, Reply};
pub use recovery::kind::{BookKeeping, LossParams, QuicParams, RackParams, Recovery, Reduction};
pub use rtt::{RttClock, RttEstimator, RttParams};
pub use segment::{Ack, Block, Segment, MAX_BLOCKS};
pub use sender::Sender;
pub use sent::DeliveryRate;
pub use stamp::Stamp;
pub use timers::{Timer, Timers};
pub use usage::Validation;

/// The README's example is a test of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
