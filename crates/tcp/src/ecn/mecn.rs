//! Multi-level ECN. A. Durresi, M. Sridharan, R. Jain, "Adaptive multi-level explicit congestion
//! notification", 2007, tables 1 to 3. In table 2 (CWR, ECE) say 00: window reduced, 01: no
//! congestion, 10: incipient, 11: moderate.
//!
//! Readings. A mark cuts at most once per window of data, and its ACK does not grow the window;
//! ssthresh becomes the new cwnd. The text after table 3 has the window grow on incipient marks,
//! which contradicts the table: not taken. `incipient` offers two other answers that the paper
//! mentions. 00 goes out on the first new data segment after a reduction. A loss is answered by
//! beta3, except in a window that a mark has already cut, as in classic ECN.
//!
//! Table 3 is written for Reno's window. With another congestion control β1 and β2 still say what a
//! mark takes, but never more than a loss would take under that control: section 2.3 wants an
//! answer to marks because "such a drastic step" as the answer to a drop "is not necessary". The
//! answer to a drop remains the control's, as the paper keeps Reno's 50 % for it "to maintain
//! backward compatibility"; beta3 is Reno's alone.

use crate::ecn::bits::{Bits, Mark};
use penstock_units::param::{num, ParamError};
use penstock_units::Ecn as Codepoint;

penstock_units::words! {
    /// How a multi-level sender answers an incipient mark.
    pub enum Incipient {
        /// By β1.
        Decrease = "decrease",
        /// By not growing.
        Hold = "hold",
        /// By one segment.
        Additive = "additive",
    }
}

penstock_units::words! {
    /// What the two ECN-capable code points of IP mean.
    pub enum Codepoints {
        /// Data are ECT(0), ECT(1) is incipient congestion.
        Wire = "wire",
        /// Data are ECT(1), ECT(0) is incipient congestion: the bits in their printed order.
        Literal = "literal",
    }
}

penstock_units::params! {
    /// Multi-level ECN's two ends.
    pub struct MecnParams: Default {
        /// mecn: the part of the window that an incipient mark takes.
        pub beta1: f64 {
            ty: num(0.0, 0.99),
            unit: "1",
            default: 0.2,
            source: "Durresi 2007, table 3",
        },
        /// mecn: the part of the window that a moderate mark takes.
        pub beta2: f64 {
            ty: num(0.0, 0.99),
            unit: "1",
            default: 0.4,
            source: "Durresi 2007, table 3",
        },
        /// mecn: the part of Reno's window that a loss takes.
        pub beta3: f64 {
            ty: num(0.0, 0.99),
            unit: "1",
            default: 0.5,
            source: "Durresi 2007, table 3",
        },
        /// mecn: an incipient mark takes beta1 of the window, only keeps its ACK from growing it,
        /// or takes one segment (at most half).
        pub incipient: Incipient {
            default: "decrease",
            source: "Durresi 2007, table 3; hold and additive: section 2.3",
        },
        /// mecn: a moderate mark in a window already cut for an incipient one deepens that cut.
        pub escalate: bool { default: false, source: "our reading: the paper is silent" },
        /// mecn: the receiver repeats the highest level until the sender says that it has reduced
        /// its window; false: each ACK tells the highest level among the packets that it answers.
        pub latch: bool {
            default: false,
            source: "RFC 3168 6.1.3 does so; Durresi 2007 reflects each mark once",
        },
        /// mecn: wire: data are ECT(0), ECT(1) is incipient; literal: Table 1's order of the bits,
        /// the other way round.
        pub codepoints: Option<Codepoints> {
            auto: "as the discipline says",
            source: "Durresi 2007, table 1; RFC 2481",
        },
    }
}

/// Table 2: returns the bits of an ACK that reflects `level`.
pub(crate) fn reflected(level: Mark) -> Bits {
    match level {
        Mark::None => Bits::ECE,
        Mark::Incipient => Bits::CWR,
        Mark::Ce => Bits::CWR_ECE,
    }
}

/// Table 2: returns the level that an ACK's bits reflect. "Window reduced" brings no news.
pub(crate) fn level(bits: Bits) -> Mark {
    match (bits.cwr(), bits.ece()) {
        (true, true) => Mark::Ce,
        (true, false) => Mark::Incipient,
        (false, _) => Mark::None,
    }
}

impl Codepoints {
    /// Table 1: returns the field of data that no router has marked.
    #[inline]
    pub(crate) fn unmarked(self) -> Codepoint {
        match self {
            Codepoints::Wire => Codepoint::Ect0,
            Codepoints::Literal => Codepoint::Ect1,
        }
    }

    /// Table 1: returns the level that the field of arriving data says.
    pub(crate) fn level(self, ecn: Codepoint) -> Mark {
        match ecn {
            Codepoint::Ce => Mark::Ce,
            Codepoint::NotEct => Mark::None,
            ect if ect == self.unmarked() => Mark::None,
            _ => Mark::Incipient,
        }
    }
}

/// Returns a data segment's bits. Nobody sends data the other way, so it reflects no congestion.
pub(crate) fn on_data(reduced: bool) -> Bits {
    if reduced {
        Bits::NONE
    } else {
        Bits::ECE
    }
}

impl MecnParams {
    /// Table 3: returns what the first mark of a window leaves of it.
    pub(crate) fn leaves(&self, mark: Mark, window: f64) -> f64 {
        match (mark, self.incipient) {
            (Mark::Ce, _) => window * (1.0 - self.beta2),
            (_, Incipient::Additive) => (window - 1.0).max(window / 2.0),
            (_, Incipient::Decrease | Incipient::Hold) => window * (1.0 - self.beta1),
        }
    }

    /// `escalate`: returns what a moderate mark would have left at first, of a window that an
    /// incipient one has cut to `cwnd`.
    pub(crate) fn leaves_deeper(&self, cwnd: f64) -> f64 {
        match self.incipient {
            Incipient::Additive => (cwnd + 1.0) * (1.0 - self.beta2),
            Incipient::Decrease | Incipient::Hold => cwnd * (1.0 - self.beta2) / (1.0 - self.beta1),
        }
    }

    /// Checks that each level takes at least as much as the one below it.
    pub(crate) fn check_order(&self) -> Result<(), ParamError> {
        for (low, high, below, above) in
            [("beta1", "beta2", self.beta1, self.beta2), ("beta2", "beta3", self.beta2, self.beta3)]
        {
            if below > above {
                let problem = format!("must not be above {high} ({above})");
                return Err(ParamError::new(low, problem));
            }
        }
        Ok(())
    }

    /// Whether a mark cuts the window at all.
    pub(crate) fn cuts(&self, mark: Mark) -> bool {
        match mark {
            Mark::None => false,
            Mark::Incipient => self.incipient != Incipient::Hold,
            Mark::Ce => true,
        }
    }
}
