//! How marks are written into the ECN field of a packet.

use penstock_units::words;

pub use penstock_units::Ecn;

/// How strong a mark is. A marker never lowers a mark that an earlier router set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Multi-level ECN's first level: ECT(1) on the wire.
    Incipient,
    /// Congestion experienced; multi-level ECN's moderate level.
    Ce,
}

words! {
    /// How multi-level ECN's states are written in the two ECN bits of the IP header (AMECN paper,
    /// Table 1).
    pub enum Codepoints {
        /// ECT is the header's first bit and CE the second (RFC 2481): no congestion ECT(0),
        /// incipient ECT(1), moderate CE.
        Wire = "wire",
        /// The table's digits are the field's value: no congestion ECT(1), incipient ECT(0),
        /// moderate CE.
        Literal = "literal",
    }
}

impl Codepoints {
    /// Returns the codepoint of an incipient mark.
    #[inline]
    pub fn incipient(self) -> Ecn {
        match self {
            Codepoints::Wire => Ecn::Ect1,
            Codepoints::Literal => Ecn::Ect0,
        }
    }

    /// Returns the field of a packet after a mark. It is never lower than what an earlier router
    /// set.
    #[inline]
    pub fn marked(self, field: Ecn, level: Level) -> Ecn {
        match (field, level) {
            (Ecn::NotEct, _) => Ecn::NotEct,
            (Ecn::Ce, _) | (_, Level::Ce) => Ecn::Ce,
            (_, Level::Incipient) => self.incipient(),
        }
    }

    /// Returns what a field says; `None` for no congestion or no capability.
    #[inline]
    pub fn level(self, field: Ecn) -> Option<Level> {
        match field {
            Ecn::Ce => Some(Level::Ce),
            field if field == self.incipient() => Some(Level::Incipient),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_never_lowered() {
        use Codepoints::{Literal, Wire};
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (codepoints, field, level, want) in [
            (Wire, Ect0, Level::Incipient, Ect1),
            (Wire, Ect1, Level::Incipient, Ect1),
            (Wire, Ce, Level::Incipient, Ce),
            (Wire, Ect0, Level::Ce, Ce),
            (Wire, Ect1, Level::Ce, Ce),
            (Wire, NotEct, Level::Ce, NotEct),
            (Literal, Ect1, Level::Incipient, Ect0),
            (Literal, Ect0, Level::Incipient, Ect0),
            (Literal, Ce, Level::Incipient, Ce),
            (Literal, Ect0, Level::Ce, Ce),
        ] {
            let marked = codepoints.marked(field, level);
            assert_eq!(marked, want, "{field:?} {level:?}");
            assert!(codepoints.level(marked) >= codepoints.level(field));
        }
        assert_eq!((Wire.level(Ect1), Wire.level(Ect0)), (Some(Level::Incipient), None));
        assert_eq!((Literal.level(Ect1), Literal.level(Ect0)), (None, Some(Level::Incipient)));
    }
}
