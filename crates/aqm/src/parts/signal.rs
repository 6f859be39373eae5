//! A signal is a drop or a mark, depending on the packet's ECN capability.

use crate::packet::Packet;
use crate::verdict::{Reason, Verdict};
use penstock_units::{Codepoints, Ecn, Level};

/// Classic ECN (RFC 3168): mark CE where the packet allows it, else drop.
#[derive(Clone, Debug)]
pub struct Classic {
    /// Whether the queue marks at all.
    pub ecn: bool,
    /// Above this `p_b` a capable packet is dropped all the same (ns-2 since 2002: 0.1).
    pub mark_p: f64,
    /// Beyond the end of the profile, mark capable packets instead of dropping them, as Linux does.
    pub mark_forced: bool,
}

impl Classic {
    /// Marks what may be marked, at any probability, and drops the rest.
    pub fn new(ecn: bool) -> Self {
        Classic { ecn, mark_p: 1.0, mark_forced: false }
    }

    #[inline]
    fn at_level(&self, level: Level, pkt: &Packet, p_b: f64) -> Verdict {
        if self.ecn && pkt.ecn != Ecn::NotEct && p_b <= self.mark_p {
            Verdict::Mark(level, Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
    }

    /// The gate chose this packet at probability `p_b`.
    #[inline]
    pub fn early(&self, pkt: &Packet, p_b: f64) -> Verdict {
        self.at_level(Level::Ce, pkt, p_b)
    }

    /// The average is beyond the end of the profile.
    #[inline]
    pub fn forced(&self, pkt: &Packet) -> Verdict {
        if self.ecn && self.mark_forced && pkt.ecn != Ecn::NotEct {
            Verdict::Mark(Level::Ce, Reason::Forced)
        } else {
            Verdict::Drop(Reason::Forced)
        }
    }
}

/// The strength of the signal that the profile's point asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The first level, or the only one.
    Incipient,
    /// The second of two.
    Moderate,
    /// Beyond both.
    Severe,
}

/// The way in which the family signals.
#[derive(Clone, Debug)]
pub enum Signal {
    /// The signal has one level: CE.
    Classic(Classic),
    /// Two levels (AMECN paper, Table 1): incipient, and CE for moderate; severe congestion drops.
    Levels {
        /// The part that both levels have in common with classic ECN.
        classic: Classic,
        /// Severe congestion marks moderate instead.
        mark_severe: bool,
        /// The code points in which the marks are written.
        codepoints: Codepoints,
    },
}

impl Signal {
    /// A gate chose this packet at probability `p_b`.
    #[inline]
    pub fn early(&self, severity: Severity, pkt: &Packet, p_b: f64) -> Verdict {
        match (self, severity) {
            (Signal::Classic(c), _) => c.early(pkt, p_b),
            (Signal::Levels { classic, .. }, Severity::Incipient) => {
                classic.at_level(Level::Incipient, pkt, p_b)
            }
            (Signal::Levels { mark_severe: false, .. }, Severity::Severe) => {
                Verdict::Drop(Reason::Early)
            }
            (Signal::Levels { classic, .. }, _) => classic.early(pkt, p_b),
        }
    }

    /// Returns how the marks are written.
    pub fn codepoints(&self) -> Codepoints {
        match self {
            Signal::Classic(_) => Codepoints::Wire,
            Signal::Levels { codepoints, .. } => *codepoints,
        }
    }

    /// The average is beyond the end of the profile.
    #[inline]
    pub fn forced(&self, pkt: &Packet) -> Verdict {
        match self {
            Signal::Classic(classic) | Signal::Levels { classic, .. } => classic.forced(pkt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pkt(ecn: Ecn) -> Packet {
        Packet { bytes: 1000, ecn, flow: 0, class: 0 }
    }

    #[test]
    fn marks_only_what_may_be_marked() {
        let (mark, drop) = (Verdict::Mark(Level::Ce, Reason::Early), Verdict::Drop(Reason::Early));
        for (ecn_on, mark_p, field, p_b, want) in [
            (false, 1.0, Ecn::Ect0, 0.05, drop),
            (true, 1.0, Ecn::Ect0, 0.05, mark),
            (true, 1.0, Ecn::Ect1, 1.0, mark),
            (true, 1.0, Ecn::Ce, 0.05, mark),
            (true, 1.0, Ecn::NotEct, 0.05, drop),
            (true, 0.1, Ecn::Ect0, 0.1, mark),
            (true, 0.1, Ecn::Ect0, 0.11, drop),
        ] {
            let s = Classic { ecn: ecn_on, mark_p, mark_forced: false };
            assert_eq!(s.early(&pkt(field), p_b), want, "{ecn_on} {mark_p} {field:?} {p_b}");
            assert_eq!(s.forced(&pkt(field)), Verdict::Drop(Reason::Forced));
        }
        let linux = Classic { ecn: true, mark_p: 1.0, mark_forced: true };
        assert_eq!(linux.forced(&pkt(Ecn::Ect0)), Verdict::Mark(Level::Ce, Reason::Forced));
        assert_eq!(linux.forced(&pkt(Ecn::NotEct)), Verdict::Drop(Reason::Forced));
    }

    /// AMECN paper, Table 1.
    #[test]
    fn two_levels_and_a_drop() {
        use Severity::{Incipient, Moderate, Severe};
        let drop = Verdict::Drop(Reason::Early);
        let (one, two) = (
            Verdict::Mark(Level::Incipient, Reason::Early),
            Verdict::Mark(Level::Ce, Reason::Early),
        );
        for (mark_severe, field, severity, want) in [
            (false, Ecn::Ect0, Incipient, one),
            (false, Ecn::Ect0, Moderate, two),
            (false, Ecn::Ect0, Severe, drop),
            (true, Ecn::Ect0, Severe, two),
            (false, Ecn::NotEct, Incipient, drop),
            (true, Ecn::NotEct, Severe, drop),
        ] {
            let classic = Classic { ecn: true, mark_p: 1.0, mark_forced: false };
            let s = Signal::Levels { classic, mark_severe, codepoints: Codepoints::Wire };
            assert_eq!(
                s.early(severity, &pkt(field), 0.05),
                want,
                "{mark_severe} {field:?} {severity:?}"
            );
            assert_eq!(s.forced(&pkt(field)), Verdict::Drop(Reason::Forced));
        }
    }
}
