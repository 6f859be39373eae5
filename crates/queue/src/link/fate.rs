//! The words between a link and its caller: a packet, its fate, a turn of the transmitter.

use penstock_aqm::{Ecn, Packet};
use penstock_units::Time;

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the other end at this time, with this ECN field.
    Through(Time, Ecn),
    /// It waits at an eager link; `Some`: the link asks to be served then, and not at a later time
    /// that it asked for before.
    Held(Option<Time>),
    /// It is gone.
    Dropped,
}

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// When it arrives.
    pub at: Time,
    /// What the discipline sees of it.
    pub pkt: Packet,
    /// Its place in the caller's pool.
    pub index: u32,
    /// Whether it carries data; else it is an ACK.
    pub data: bool,
}

/// What a free transmitter does in its turn.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The packet that it sends, if any may go.
    pub sent: Option<Sent>,
    /// When the link is to be served again; [`Time::NEVER`]: nothing waits.
    pub again: Time,
}

/// A packet whose transmission begins.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its place in the caller's pool.
    pub index: u32,
    /// Its flow.
    pub flow: u32,
    /// Its size.
    pub bytes: u32,
    /// What becomes of it.
    pub fate: Fate,
}

/// Where a link's packets come from, one after the other, and where they go.
pub trait Source {
    /// Goes on to the next packet, which comes no earlier than the last one. Returns false where
    /// there is none for now.
    fn next(&mut self) -> bool;

    /// Returns the packet that it has come to.
    fn packet(&self) -> Arriving;

    /// Returns when that began to be sent to the link.
    fn scheduled(&self) -> Time;

    /// Is told what became of it. Where it waits at an eager link, what comes of that is told in
    /// its turn.
    fn became(&mut self, fate: Fate);

    /// Is told what an eager link's transmitter does in its turn at `now`.
    fn turn(&mut self, now: Time, served: Served);

    /// Is told of a packet that was let in and dropped all the same, by its place in the caller's
    /// pool; before it is told of the arrival or the turn that it was dropped for.
    fn discard(&mut self, index: u32);

    /// There is no packet for now: an eager link has its turns that come before this time.
    fn until(&self) -> Time;
}
