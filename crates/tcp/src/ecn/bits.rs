//! The three ECN bits of the TCP header, and how a SYN and its answer agree on their meaning. RFC
//! 3168, section 6.1.1; RFC 9768, section 3.1; multi-level ECN's code points are in `mecn.rs`.

use penstock_units::Ecn as Codepoint;

penstock_units::words! {
    /// How the two ends use ECN.
    pub enum Ecn {
        /// Not at all.
        Off = "off",
        /// RFC 3168.
        Classic = "classic",
        /// Multi-level ECN.
        Mecn = "mecn",
        /// RFC 9768.
        AccEcn = "accecn",
        /// Some congestion experienced.
        Sce = "sce",
    }
}

/// A TCP header's bits AE, CWR and ECE, from the highest to the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u8);

impl Bits {
    /// No bit is set.
    pub const NONE: Bits = Bits(0b000);
    /// ECN-Echo.
    pub const ECE: Bits = Bits(0b001);
    /// Congestion window reduced.
    pub const CWR: Bits = Bits(0b010);
    /// Both.
    pub const CWR_ECE: Bits = Bits(0b011);
    /// All three: an AccECN SYN.
    pub const ALL: Bits = Bits(0b111);

    /// The lowest three bits of a number: RFC 9768's ACE field.
    #[inline]
    pub const fn from_number(n: u8) -> Self {
        Bits(n & 0b111)
    }
    /// The bits as a number below eight.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }
    /// Accurate ECN (RFC 3540's NS).
    pub const fn ae(self) -> bool {
        self.0 & 0b100 != 0
    }
    /// Congestion window reduced.
    pub const fn cwr(self) -> bool {
        self.0 & 0b010 != 0
    }
    /// ECN-Echo.
    pub const fn ece(self) -> bool {
        self.0 & 0b001 != 0
    }
}

/// The strength of a packet's mark, or of the mark that an ACK reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// No mark.
    #[default]
    None,
    /// Multi-level ECN's first level; SCE's some congestion.
    Incipient,
    /// Congestion experienced; multi-level ECN's moderate level.
    Ce,
}

/// Returns the bits of a SYN that asks for `ecn`.
pub(crate) fn request(ecn: Ecn) -> Bits {
    match ecn {
        Ecn::Off => Bits::NONE,
        Ecn::Classic | Ecn::Sce => Bits::CWR_ECE,
        Ecn::Mecn => Bits::CWR, // our reading: the paper has no negotiation
        Ecn::AccEcn => Bits::ALL,
    }
}

/// Returns what a receiver that can do `ecn` agrees to when it reads a SYN's bits.
pub(crate) fn accept(ecn: Ecn, syn: Bits) -> Ecn {
    match (ecn, syn) {
        (Ecn::Classic, bits) if bits.cwr() && bits.ece() => Ecn::Classic, // RFC 3168 knows no AE
        (Ecn::Sce, bits) if bits.cwr() && bits.ece() => Ecn::Sce,
        (Ecn::AccEcn, Bits::CWR_ECE) => Ecn::Classic,
        (Ecn::Mecn, Bits::CWR) => Ecn::Mecn,
        // RFC 9768 3.1.3 takes unknown bits for AccECN. CWR alone is known: multi-level ECN.
        (Ecn::AccEcn, bits) if bits != Bits::NONE && bits != Bits::CWR => Ecn::AccEcn,
        _ => Ecn::Off,
    }
}

/// Returns the bits of a SYN's answer. AccECN's tell which ECN field the SYN arrived with (RFC
/// 9768, table 2).
pub(crate) fn confirm(agreed: Ecn, syn: Codepoint) -> Bits {
    match (agreed, syn) {
        (Ecn::Off, _) => Bits::NONE,
        (Ecn::Classic | Ecn::Sce, _) => Bits::ECE,
        (Ecn::Mecn, _) => Bits::CWR,
        (Ecn::AccEcn, Codepoint::NotEct) => Bits(0b010),
        (Ecn::AccEcn, Codepoint::Ect1) => Bits(0b011),
        (Ecn::AccEcn, Codepoint::Ect0) => Bits(0b100),
        (Ecn::AccEcn, Codepoint::Ce) => Bits(0b110),
    }
}

/// Returns what a sender that asked for `ecn` concludes from the answer's bits.
pub(crate) fn conclude(ecn: Ecn, answer: Bits) -> Ecn {
    match (ecn, answer) {
        (Ecn::Classic | Ecn::AccEcn, Bits::ECE) => Ecn::Classic,
        (Ecn::Sce, Bits::ECE) => Ecn::Sce,
        (Ecn::Mecn, Bits::CWR) => Ecn::Mecn,
        (Ecn::AccEcn, bits) if bits != Bits::NONE && bits != Bits::ALL => Ecn::AccEcn,
        _ => Ecn::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of ends. Only AccECN falls back. SCE's ends and classic ones do not know of each
    /// other. A classic end never mistakes multi-level ECN's
    /// bits for its own, nor the other way round.
    #[test]
    fn ends_agree_or_do_without() {
        use Ecn::{AccEcn, Classic, Mecn, Off, Sce};
        for (sender, receiver, want) in [
            (Off, Off, Off),
            (Off, Classic, Off),
            (Off, Mecn, Off),
            (Off, AccEcn, Off),
            (Classic, Off, Off),
            (Classic, Classic, Classic),
            (Classic, Mecn, Off),
            (Classic, AccEcn, Classic),
            (Mecn, Off, Off),
            (Mecn, Classic, Off),
            (Mecn, Mecn, Mecn),
            (Mecn, AccEcn, Off),
            (AccEcn, Off, Off),
            (AccEcn, Classic, Classic),
            (AccEcn, Mecn, Off),
            (AccEcn, AccEcn, AccEcn),
            (Sce, Sce, Sce),
            (Sce, Off, Off),
            (Sce, Mecn, Off),
        ] {
            let agreed = accept(receiver, request(sender));
            let concluded = conclude(sender, confirm(agreed, Codepoint::NotEct));
            assert_eq!((agreed, concluded), (want, want), "{sender:?} to {receiver:?}");
        }
        for (sender, receiver) in [(Sce, Classic), (Classic, Sce), (Sce, AccEcn), (AccEcn, Sce)] {
            let agreed = accept(receiver, request(sender));
            let concluded = conclude(sender, confirm(agreed, Codepoint::NotEct));
            let classic = |end: Ecn, is: Ecn| is == if end == Sce { Sce } else { Classic };
            assert!(classic(receiver, agreed) && classic(sender, concluded));
        }
    }
}
