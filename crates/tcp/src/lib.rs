//! TCP senders and receivers as sans-IO state machines.
//!
//! No clock, no sockets, no randomness of its own: ACKs, timer expiries and times come in; segments
//! to send and a timer's deadline go out.
//!
//! A connection's data are cut into segments once, so sender and receiver count segments; segment 0
//! is the SYN (or, without a handshake, the first data), the byte sequence number of data segment
//! `k` follows from it. One file a variant: [`Sender`] holds what all share, and each variant
//! answers ACKs in its own file.

mod accecn;
mod cubic;
mod dctcp;
mod ecn;
mod mecn;
mod newreno;
mod params;
mod receiver;
mod reno;
mod rtt;
mod sack;
mod sender;
mod tahoe;
mod vegas;
mod westwood;

#[cfg(test)]
extern crate self as penstock_tcp;
#[cfg(test)]
#[path = "../tests/common/params.rs"]
mod testing;

pub use ecn::{Bits, Mark};
pub use params::{Ecn, Incipient, Recovery, TcpParams, Variant, VariantInfo, PARAMS, VARIANTS};
pub use receiver::{Receiver, Reply};
pub use rtt::RttEstimator;
pub use sender::{Counters, Io, Segment, Sender};

/// Segments `left` to `right`, the right one excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub left: i64,
    /// One past the last.
    pub right: i64,
}

/// The most SACK blocks that fit one ACK beside timestamps (RFC 2018, section 3; ns-2).
pub const MAX_BLOCKS: usize = 3;

/// What an ACK says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// The highest segment received in order; −1 for none.
    pub seq: i64,
    /// The header's ECN bits: what they mean the SYN has settled.
    pub bits: Bits,
    /// ECN-capable transport: the answer to a DCTCP sender's SYN alone.
    pub ect: bool,
    /// SACK blocks, the most recent first.
    pub blocks: [Block; MAX_BLOCKS],
    /// How many of them are set.
    pub n_blocks: u8,
}
