//! Classic ECN, RFC 3168, section 6.1: one level of congestion, echoed until the sender says that
//! it has reduced its window.

use crate::ecn::bits::{Bits, Mark};
use penstock_units::Ecn as Codepoint;

/// Returns what the field of arriving data says: both ECN-capable code points say the same (RFC
/// 3168, section 5).
#[inline]
pub(crate) fn mark(ecn: Codepoint) -> Mark {
    if ecn == Codepoint::Ce {
        Mark::Ce
    } else {
        Mark::None
    }
}

/// Returns what an ACK's bits say of marks.
#[inline]
pub(crate) fn level(bits: Bits) -> Mark {
    if bits.ece() {
        Mark::Ce
    } else {
        Mark::None
    }
}

/// Returns an ACK's bits: the echo of `level`.
#[inline]
pub(crate) fn echo(level: Mark) -> Bits {
    if level == Mark::Ce {
        Bits::ECE
    } else {
        Bits::NONE
    }
}

/// Returns a data segment's bits: CWR once after each reduction (6.1.2).
#[inline]
pub(crate) fn on_data(reduced: bool) -> Bits {
    if reduced {
        Bits::CWR
    } else {
        Bits::NONE
    }
}

/// Returns what the receiver echoes after a data segment: CWR ends the echo, unless that very
/// segment is marked (6.1.3).
#[inline]
pub(crate) fn latched(echoed: Mark, data: Bits, mark: Mark) -> Mark {
    match mark {
        Mark::Ce => Mark::Ce,
        _ if data.cwr() => Mark::None,
        _ => echoed,
    }
}
