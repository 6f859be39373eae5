//! This file has the ECN field of a packet, and writes marks into it.

/// The two ECN bits of the IP header (RFC 3168, section 5). What ECT(1) means is a matter of what a
/// connection's ends have agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECT(1).
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns the field that the lowest two bits of a number are.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// The strength of a mark. A marker never lowers a mark that an earlier router set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Multi-level ECN's first level: ECT(1) on the wire.
    Incipient,
    /// Congestion experienced; multi-level ECN's moderate level.
    Ce,
}

crate::words! {
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
    /// Returns the field of data that no router has marked.
    #[inline]
    pub fn unmarked(self) -> Ecn {
        match self {
            Codepoints::Wire => Ecn::Ect0,
            Codepoints::Literal => Ecn::Ect1,
        }
    }

    /// Returns the field of an incipient mark.
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
