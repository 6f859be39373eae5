//! Signals: drop or mark, given the packet's ECN capability (RFC 3168).

use crate::{Ecn, Level, Packet, Reason, Verdict};

/// Classic ECN: mark CE where the packet allows it, else drop.
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
    /// The gate chose this packet at probability `p_b`.
    #[inline]
    pub fn early(&self, pkt: &Packet, p_b: f64) -> Verdict {
        if self.ecn && pkt.ecn != Ecn::NotEct && p_b <= self.mark_p {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_only_what_may_be_marked() {
        let pkt = |ecn| Packet { bytes: 1000, ecn, flow: 0, class: 0 };
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
}
