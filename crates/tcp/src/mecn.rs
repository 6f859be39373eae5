//! Multi-level ECN's two ends. A. Durresi, M. Sridharan, R. Jain, "Adaptive multi-level explicit
//! congestion notification", 2007, tables 2 and 3. (CWR, ECE) say 00: window reduced, 01: no
//! congestion, 10: incipient, 11: moderate.
//!
//! Readings. A mark cuts at most once a window of data, and its ACK does not grow the window;
//! ssthresh is the new cwnd. The text after Table 3 has the window go on growing on incipient
//! marks, which contradicts the table: not taken; `incipient` has two other answers that the paper
//! mentions. 00 goes out on the first new data segment after a reduction. A loss is answered by
//! beta3, but not in a window that a mark has cut already, as in classic ECN.

use crate::ecn::{Bits, Mark};
use crate::params::Incipient;
use crate::Sender;

/// Table 2, an ACK: which level it reflects.
pub(crate) fn reflected(level: Mark) -> Bits {
    match level {
        Mark::None => Bits::ECE,
        Mark::Incipient => Bits::CWR,
        Mark::Ce => Bits::CWR_ECE,
    }
}

/// Table 2, read: "window reduced" brings no news.
pub(crate) fn level(bits: Bits) -> Mark {
    match (bits.cwr(), bits.ece()) {
        (true, true) => Mark::Ce,
        (true, false) => Mark::Incipient,
        (false, _) => Mark::None,
    }
}

/// Table 1 with its bits in their printed order, (CE, ECT): ECT(1) is no congestion, ECT(0)
/// incipient. `wire` reads them the other way.
pub(crate) fn literal(ect: bool, wire: Mark) -> Mark {
    match wire {
        Mark::None if ect => Mark::Incipient,
        Mark::Incipient => Mark::None,
        other => other,
    }
}

/// A data segment's bits: nobody sends data the other way, so there is no congestion to reflect.
pub(crate) fn on_data(reduced: bool) -> Bits {
    if reduced {
        Bits::NONE
    } else {
        Bits::ECE
    }
}

impl Sender {
    /// Table 3: the first mark of a window.
    pub(crate) fn mecn_cut(&mut self, mark: Mark) {
        let cwnd = self.cwnd.min(f64::from(self.p.window)); // the window in force
        let left = match (mark, self.p.incipient) {
            (Mark::Ce, _) => cwnd * (1.0 - self.p.beta2),
            (_, Incipient::Additive) => (cwnd - 1.0).max(cwnd / 2.0),
            _ => cwnd * (1.0 - self.p.beta1),
        };
        self.mecn_set(left);
        self.cut_level = mark;
        self.counters.cuts_incipient += u64::from(mark == Mark::Incipient);
    }

    /// `escalate`: a moderate mark in a window cut for an incipient one leaves what it would have
    /// left at first.
    pub(crate) fn mecn_deepen(&mut self) {
        let left = match self.p.incipient {
            Incipient::Additive => (self.cwnd + 1.0) * (1.0 - self.p.beta2),
            _ => self.cwnd * (1.0 - self.p.beta2) / (1.0 - self.p.beta1),
        };
        self.mecn_set(left);
        self.cut_level = Mark::Ce;
        self.counters.ecn_cuts += 1;
    }

    fn mecn_set(&mut self, left: f64) {
        self.cwnd = left.max(self.p.cwnd_floor).min(self.cwnd);
        self.ssthresh = if self.p.cut_window { left.trunc() } else { left }.max(2.0);
        self.cwr = true;
    }
}
