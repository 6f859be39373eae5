//! How two ends agree on what ECN's bits mean, and find out that a path changes them. RFC 3168,
//! section 6.1.1; RFC 9768, sections 3.1 and 3.2.2.
//!
//! A SYN asks, its answer agrees, and both tell how the other's packet arrived: the answer in its
//! bits, the client in those of the first packet after it. Here that is the first data segment,
//! since no packet is sent for the handshake's ACK alone; and the receiver answers a repeated SYN
//! instead of sending its answer again by itself.

use crate::ecn::bits::{Bits, Ecn};
use penstock_units::Ecn as Codepoint;

/// An answer to a SYN tells of ECN at most so many times.
const ANSWERS: u8 = 2;

/// Returns the bits of a SYN that asks for `ecn`, and was sent `before` times.
///
/// The first SYN asks. One that is sent again may have been lost because it asked: AccECN asks a
/// second time (RFC 9768 3.1.4), the others do not (RFC 3168 6.1.1.1).
pub(crate) fn request(ecn: Ecn, before: u8) -> Bits {
    match ecn {
        Ecn::AccEcn if before < 2 => Bits::ALL,
        Ecn::Classic | Ecn::Sce if before < 1 => Bits::CWR_ECE,
        Ecn::Mecn if before < 1 => Bits::CWR, // our reading: the paper has no negotiation
        _ => Bits::NONE,
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

/// Returns the bits of the answer to a SYN that came with `syn`, after `before` other answers. From
/// the third on it does without ECN (RFC 9768 3.1.4.2).
pub(crate) fn confirm(agreed: Ecn, syn: Codepoint, before: u8) -> Bits {
    match agreed {
        _ if before >= ANSWERS => Bits::NONE,
        Ecn::Off => Bits::NONE,
        Ecn::Classic | Ecn::Sce => Bits::ECE,
        Ecn::Mecn => Bits::CWR,
        Ecn::AccEcn => reflect(syn),
    }
}

/// RFC 9768, table 2: returns the bits that tell with which ECN field a packet of the handshake
/// came.
pub(crate) fn reflect(arrived: Codepoint) -> Bits {
    Bits::from_number(match arrived {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    })
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

/// Returns with which ECN field a packet came whose answer has these bits; `None` for bits that say
/// nothing of that.
pub(crate) fn reflected(bits: Bits) -> Option<Codepoint> {
    [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce]
        .into_iter()
        .find(|field| reflect(*field) == bits)
}

/// Returns whether no router may have turned one ECN field into the other (RFC 9768 3.2.2.3).
/// Capable packets stay capable, others do not become so, and CE stays.
pub(crate) fn mangled(sent: Codepoint, arrived: Codepoint) -> bool {
    use Codepoint::{Ce, NotEct};
    sent != arrived && (sent == NotEct || arrived == NotEct || sent == Ce)
}

/// Returns whether the first packet after the handshake, which reflects the ECN field `sent` on the
/// SYN's answer, shows that the path changes bits: they are cleared (RFC 9768 3.2.2.1, table 4), or
/// the field was changed. Bits that reflect nothing are let pass.
pub(crate) fn third_is_bad(bits: Bits, sent: Codepoint) -> bool {
    bits == Bits::NONE || reflected(bits).is_some_and(|arrived| mangled(sent, arrived))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Codepoint::{Ce, Ect0, Ect1, NotEct};
    use Ecn::{AccEcn, Classic, Mecn, Off, Sce};

    const FIELDS: [Codepoint; 4] = [NotEct, Ect1, Ect0, Ce];

    /// Every pair of ends. Only AccECN falls back. A classic end never mistakes multi-level ECN's
    /// bits for its own, nor the other way round. SCE's ends and classic ones do not know of each
    /// other: each takes the other for its own kind.
    #[test]
    fn ends_agree_or_do_without() {
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
            for arrived in FIELDS {
                let agreed = accept(receiver, request(sender, 0));
                let concluded = conclude(sender, confirm(agreed, arrived, 0));
                assert_eq!((agreed, concluded), (want, want), "{sender:?} to {receiver:?}");
            }
        }
    }

    #[test]
    fn some_congestion_is_not_negotiated() {
        for (sender, receiver) in [(Sce, Classic), (Classic, Sce), (Sce, AccEcn), (AccEcn, Sce)] {
            let agreed = accept(receiver, request(sender, 0));
            let concluded = conclude(sender, confirm(agreed, NotEct, 0));
            let classic = |end: Ecn, is: Ecn| is == if end == Sce { Sce } else { Classic };
            assert!(classic(receiver, agreed) && classic(sender, concluded));
        }
    }

    /// All eight SYNs at all four servers: what is agreed to.
    #[test]
    fn every_syn() {
        let table = [
            // AE CWR ECE, then what a server without ECN, a classic, a multi-level and an AccECN
            // one make of it
            (0b000, [Off, Off, Off, Off]),
            (0b001, [Off, Off, Off, AccEcn]),
            (0b010, [Off, Off, Mecn, Off]),
            (0b011, [Off, Classic, Off, Classic]),
            (0b100, [Off, Off, Off, AccEcn]),
            (0b101, [Off, Off, Off, AccEcn]),
            (0b110, [Off, Off, Off, AccEcn]),
            (0b111, [Off, Classic, Off, AccEcn]),
        ];
        for (bits, want) in table {
            let got = [Off, Classic, Mecn, AccEcn].map(|ecn| accept(ecn, Bits::from_number(bits)));
            assert_eq!(got, want, "{bits:03b}");
        }
    }

    /// All eight answers at all four clients: what is concluded. 101 is reserved, and taken as
    /// AccECN (RFC 9768 3.1.3); 111 is the SYN's own bits sent back by a broken server.
    #[test]
    fn every_answer() {
        let table = [
            (0b000, [Off, Off, Off, Off]),
            (0b001, [Off, Classic, Off, Classic]),
            (0b010, [Off, Off, Mecn, AccEcn]),
            (0b011, [Off, Off, Off, AccEcn]),
            (0b100, [Off, Off, Off, AccEcn]),
            (0b101, [Off, Off, Off, AccEcn]),
            (0b110, [Off, Off, Off, AccEcn]),
            (0b111, [Off, Off, Off, Off]),
        ];
        for (bits, want) in table {
            let got =
                [Off, Classic, Mecn, AccEcn].map(|ecn| conclude(ecn, Bits::from_number(bits)));
            assert_eq!(got, want, "{bits:03b}");
        }
    }

    /// RFC 9768, table 2, and the way back: the bits of both ends' handshake packets say how the
    /// other's arrived.
    #[test]
    fn the_field_of_the_handshake_is_reflected() {
        for (arrived, bits) in [(NotEct, 0b010), (Ect1, 0b011), (Ect0, 0b100), (Ce, 0b110)] {
            assert_eq!(confirm(AccEcn, arrived, 0).number(), bits);
            assert_eq!(reflected(Bits::from_number(bits)), Some(arrived));
        }
        for bits in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(reflected(Bits::from_number(bits)), None, "{bits:03b}");
        }
    }

    /// SYNs and answers that are sent again.
    #[test]
    fn repetition_asks_for_less() {
        let asked = |ecn| [0, 1, 2, 3].map(|before| request(ecn, before).number());
        assert_eq!(asked(AccEcn), [0b111, 0b111, 0, 0]);
        assert_eq!(asked(Classic), [0b011, 0, 0, 0]);
        assert_eq!(asked(Mecn), [0b010, 0, 0, 0]);
        assert_eq!(asked(Off), [0; 4]);
        let told = |ecn| [0, 1, 2, 3].map(|before| confirm(ecn, Ect0, before).number());
        assert_eq!(told(AccEcn), [0b100, 0b100, 0, 0]);
        assert_eq!(told(Classic), [0b001, 0b001, 0, 0]);
        assert_eq!(told(Off), [0; 4]);
    }

    /// All sixteen: what was sent, and what may come of it.
    #[test]
    fn what_a_path_may_do_to_the_field() {
        for (sent, may) in [
            (NotEct, [true, false, false, false]),
            (Ect1, [false, true, true, true]),
            (Ect0, [false, true, true, true]),
            (Ce, [false, false, false, true]),
        ] {
            assert_eq!(FIELDS.map(|arrived| !mangled(sent, arrived)), may, "{sent:?}");
        }
    }

    /// All eight third packets, after answers that were Not-ECT and ECT(0).
    #[test]
    fn every_third_packet() {
        for (bits, not_ect, ect0) in [
            (0b000, true, true), // cleared
            (0b001, false, false),
            (0b010, false, true), // ECT(0) came as Not-ECT
            (0b011, true, false), // Not-ECT came as ECT(1)
            (0b100, true, false),
            (0b101, false, false),
            (0b110, true, false),
            (0b111, false, false),
        ] {
            let bad = |sent| third_is_bad(Bits::from_number(bits), sent);
            assert_eq!((bad(NotEct), bad(Ect0)), (not_ect, ect0), "{bits:03b}");
        }
    }
}
