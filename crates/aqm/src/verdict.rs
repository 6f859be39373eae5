//! A discipline decides about each packet, and gives a reason.

use penstock_units::Level;

/// The reason why a packet was signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The discipline chose this packet, as a rule by chance.
    Early,
    /// A full threshold (`avg` beyond the end of the profile).
    Forced,
    /// A full buffer.
    Overflow,
}

/// The decision about a packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it (at the head: send it) as it is.
    Pass,
    /// Mark it, then treat it as `Pass` does.
    Mark(Level, Reason),
    /// Drop it.
    Drop(Reason),
}
