//! SCE, some congestion experienced: draft-morton-tsvwg-sce-04 (2022, expired), and what its
//! authors' kernel does (github.com/chromi/sce). A router that sees some congestion turns ECT(0) into
//! ECT(1); CE keeps the meaning of RFC 3168. One bit of the TCP header, ESCE, once NS and now AE,
//! tells the sender of ECT(1), and ECE tells of CE until CWR, as ever. Nothing is negotiated beyond
//! classic ECN: a receiver without SCE never sets ESCE.
//!
//! An ACK with ESCE moves the window by itself, by a part of what it acknowledges: Reno's by √W/2 in
//! a window of such ACKs, CUBIC's by √W, DCTCP's by half of it. The controls' files say how, as
//! `on_some_congestion`. A mark leaves 3/4 of Reno's and DCTCP's window, a loss of CUBIC's what it
//! does; 7/8 of any where an ESCE came within the last window of ACKs. A loss is what it was.
//!
//! Readings. An ACK with both bits answers CE alone. Changes of the window come at once, where the
//! kernel spreads a cut over a round trip. L4S uses ECT(1) for something else: both cannot be on one
//! path.

use crate::ecn::bits::{Bits, Mark};
use crate::ecn::classic;
use penstock_units::Ecn as Codepoint;

/// What a mark leaves where an ESCE came shortly before it, and where none did.
const CE_LEAVES: (f64, f64) = (0.875, 0.75);

/// Whether a router has set the field to some congestion.
#[inline]
pub(crate) fn some_congestion(ecn: Codepoint) -> bool {
    ecn == Codepoint::Ect1
}

/// Returns an ACK's bits: the echo of `ce`, and ESCE.
pub(crate) fn echo(ce: Mark, some: bool) -> Bits {
    let esce = if some { 0b100 } else { 0 };
    Bits::from_number(classic::echo(ce).number() | esce)
}

/// Returns what an ACK's bits say.
pub(crate) fn level(bits: Bits) -> Mark {
    match (bits.ece(), bits.ae()) {
        (true, _) => Mark::Ce,
        (false, true) => Mark::Incipient,
        (false, false) => Mark::None,
    }
}

/// What a sender remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    /// ACKs until ESCE is long ago.
    acks: u32,
}

impl Recent {
    /// An ACK has arrived, at a window of `cwnd`.
    pub(crate) fn on_ack(&mut self, bits: Bits, cwnd: f64) {
        self.acks = if bits.ae() { cwnd as u32 + 1 } else { self.acks.saturating_sub(1) };
    }

    /// Returns what a mark leaves of a window; `own`: of one whose control has a factor of its own.
    pub(crate) fn leaves(self, own: bool) -> Option<f64> {
        match (self.acks > 0, own) {
            (true, _) => Some(CE_LEAVES.0),
            (false, false) => Some(CE_LEAVES.1),
            (false, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn esce_beside_ece() {
        for (ce, some, bits, want) in [
            (Mark::None, false, 0b000, Mark::None),
            (Mark::None, true, 0b100, Mark::Incipient),
            (Mark::Ce, false, 0b001, Mark::Ce),
            (Mark::Ce, true, 0b101, Mark::Ce),
        ] {
            let echoed = echo(ce, some);
            assert_eq!((echoed.number(), level(echoed)), (bits, want));
        }
    }

    /// An ESCE at a window of four is recent at the next four ACKs.
    #[test]
    fn a_window_of_acks_is_recent() {
        let mut recent = Recent::default();
        assert_eq!((recent.leaves(false), recent.leaves(true)), (Some(0.75), None));
        recent.on_ack(echo(Mark::None, true), 4.0);
        for i in 1..=4 {
            recent.on_ack(Bits::NONE, 4.0);
            assert_eq!(recent.leaves(true), Some(0.875), "{i}");
        }
        recent.on_ack(Bits::NONE, 4.0);
        assert_eq!(recent.leaves(false), Some(0.75));
    }
}
