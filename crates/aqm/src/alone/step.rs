//! Step marking, the switch of DCTCP. M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010,
//! section 3.1: a packet is marked if the queue is longer than K when it arrives. RFC 8257, section
//! 3.1. No average, no randomness.
//!
//! The paper does not say what becomes of packets that are not ECN-capable. Switches mark with RED,
//! which drops them where it would mark others, and RFC 8257, section 5.1, warns of that; here they
//! pass by default, and only a full buffer drops them.

use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::kind::{own_tables, Kind};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::ParamError;
use penstock_units::{group, params, words, QueueLen, Rng, Time};
use penstock_units::{Ecn, Level};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "step",
    doc: "Marks every arriving packet while the queue is above a threshold, as DCTCP wants it.",
    source: "Alizadeh et al. 2010 (DCTCP); RFC 8257",
    equations: "arrival:  q > K → mark CE, else pass",
    expect: "Made for DCTCP, which reads the fraction of marked packets: the instantaneous queue, \
        without average or chance, tells it exactly when the queue is above K. With DCTCP the \
        queue stands around K, at full utilisation if K is above about a seventh of the \
        bandwidth-delay product.",
    weaknesses: "For TCP that halves its window at a mark (RFC 3168) it is too harsh: K must then \
        be a whole bandwidth-delay product, or the link idles. All flows are marked at once and \
        back off at once. A packet that is not ECN-capable passes by default and competes with \
        the others by filling the buffer; with `not_capable = \"drop\"` it loses everything above \
        K, its SYNs too. The paper does not say which of the two is meant.",
    params: own_tables::<StepParams>(),
    state: &[],
    defaults: StepParams::DEFAULTS,
};

group! {
    /// What the user of Step sets.
    pub struct StepParams {
        /// Its own.
        pub own: StepOwn,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// What becomes of a packet above the threshold that may not be marked.
    pub enum NotCapable {
        /// It passes.
        Pass = "pass",
        /// It is dropped.
        Drop = "drop",
    }
}

params! {
    /// Parameters.
    pub struct StepOwn: Default {
        /// K: a packet that finds more than this waiting is marked.
        pub threshold: QueueLen {
            unit: "packets",
            default: 20,
            source: "Alizadeh et al. 2010, section 4: K = 20 at 1 Gbit/s (65 at 10 Gbit/s)",
        },
        /// What becomes of a packet above the threshold that may not be marked; "drop" is what a
        /// switch does that marks with RED.
        pub not_capable: NotCapable {
            default: "pass",
            source: "left open by Alizadeh et al. 2010; RFC 8257, section 5.1",
        },
    }
}

/// Step marking.
#[derive(Clone, Debug)]
pub struct Step {
    /// K, in the unit of the queue.
    k: f64,
    bytes: bool,
    ecn: bool,
    /// Drop what may not be marked.
    drop: bool,
}

impl Step {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &StepParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?;
        Ok(Step {
            k: unit.length(p.own.threshold),
            bytes: unit.bytes,
            ecn: p.common.ecn,
            drop: p.own.not_capable == NotCapable::Drop,
        })
    }
}

impl Aqm for Step {
    #[inline]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, _: &mut Rng) -> Verdict {
        if q.length(self.bytes) <= self.k {
            Verdict::Pass
        } else if self.ecn && pkt.ecn != Ecn::NotEct {
            Verdict::Mark(Level::Ce, Reason::Early)
        } else if self.drop {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};

    #[test]
    fn marks_above_k_and_only_what_may_be_marked() {
        let (mark, drop) = (Verdict::Mark(Level::Ce, Reason::Early), Verdict::Drop(Reason::Early));
        let in_bytes = [("threshold", "\"20 kB\""), ("unit", "\"bytes\"")];
        for (set, pkts, bytes, ecn, want) in [
            (&[][..], 20, 1, Ecn::Ect0, Verdict::Pass),
            (&[], 21, 1, Ecn::Ect0, mark),
            (&[], 21, 1, Ecn::Ce, mark),
            (&[], 21, 1, Ecn::NotEct, Verdict::Pass),
            (&[("not_capable", "\"drop\"")], 21, 1, Ecn::NotEct, drop),
            (&[("not_capable", "\"drop\""), ("ecn", "false")], 21, 1, Ecn::Ect0, drop),
            (&in_bytes, 90, 20_000, Ecn::Ect0, Verdict::Pass),
            (&in_bytes, 1, 20_001, Ecn::Ect0, mark),
        ] {
            let mut aqm = Step::new(&params(&KIND, set), &context()).unwrap();
            let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
            let q = Queue { pkts, bytes, idle_since: None };
            let got = aqm.arrive(Time::ZERO, &pkt, &q, &mut Rng::stream(1, "test"));
            assert_eq!(got, want, "{set:?} {pkts} packets, {bytes} B, {ecn:?}");
        }
    }
}
