//! One probability for every packet, whatever waits.
//!
//! Each arrival is dropped, or marked where that is allowed, with the probability `p`, each by
//! itself: a Bernoulli trial. So the losses of a path are modelled in the analyses of TCP (Mathis et
//! al. 1997; Padhye et al. 1998), and so a controller outside decides that sets `p` while the
//! simulation runs.

use crate::aqm::Aqm;
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{num, ParamError};
use penstock_units::{group, params, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "bernoulli",
    doc: "Every packet is dropped or marked with the same probability, whatever waits.",
    source: "Mathis, Semke, Mahdavi, Ott 1997: losses of one probability",
    equations: "arrival:  signal with p",
    expect: "Each long flow of Reno's gets about 1.22·MSS / (RTT·√p), and the queue is what is left \
        over: where that is less than the flow's share of the link, nothing waits, else the buffer \
        fills. It is meant for theory, for loss of a known rate under ECN, and for a controller \
        outside that sets p while the simulation runs.",
    weaknesses: "It controls nothing by itself: any load but one leaves the link idle or the buffer \
        full. The probability does not depend on a packet's size, so small packets lose as often as \
        large ones.",
    params: own_tables::<BernoulliParams>(),
    state: &states(COLUMNS),
    defaults: BernoulliParams::DEFAULTS,
};

group! {
    /// What the user sets.
    pub struct BernoulliParams {
        /// Its own.
        pub own: BernoulliOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct BernoulliOwn: Default {
        /// Probability with which a packet is dropped or marked.
        pub p: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.01,
            source: "Mathis et al. 1997, figure 2: from 0.0001 to 0.1",
        },
    }
}

const COLUMNS: &[Column<Bernoulli>; 1] = &[column("p", "The probability.", |d| d.p)];

/// See the module.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    p: f64,
    signal: Classic,
}

impl Bernoulli {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range; the error names the key.
    pub fn new(p: &BernoulliParams, cx: &Context) -> Result<Self, ParamError> {
        Unit::of(p, &p.common, cx)?;
        Ok(Bernoulli { p: p.own.p, signal: Classic::new(p.common.ecn) })
    }
}

impl Aqm for Bernoulli {
    #[inline]
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        if self.p > 0.0 && rng.unit() < self.p {
            self.signal.early(pkt, self.p)
        } else {
            Verdict::Pass
        }
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, params};
    use crate::Ecn;

    fn chosen(p: &'static str, ecn: Ecn) -> (usize, Option<Verdict>) {
        let p = params::<BernoulliParams>(&KIND, &[("p", p), ("ecn", "true")]);
        let mut d = Bernoulli::new(&p, &context()).unwrap();
        let mut rng = Rng::stream(1, "bernoulli");
        let pkt = Packet { bytes: 1000, ecn, flow: 0, class: 0 };
        let q = Queue { pkts: 9, bytes: 9000, idle_since: None };
        let verdicts = (0..100_000).map(|_| d.arrive(Time::ZERO, &pkt, &q, &mut rng));
        let chosen: Vec<_> = verdicts.filter(|v| *v != Verdict::Pass).collect();
        (chosen.len(), chosen.first().copied())
    }

    /// Of 100 000 packets 12 500 at 1/8, give or take √(100 000 · 7/64) = 105.
    #[test]
    fn every_packet_has_the_same_chance() {
        let (n, verdict) = chosen("0.125", Ecn::NotEct);
        assert!((n as f64 - 12_500.0).abs() < 400.0, "{n}");
        assert_eq!(chosen("0.125", Ecn::Ect0).0, n, "the same numbers whatever they carry");
        assert_ne!(chosen("0.125", Ecn::Ect0).1, verdict);
        assert_eq!(chosen("0", Ecn::NotEct).0, 0);
        assert_eq!(chosen("1", Ecn::NotEct).0, 100_000);
    }
}
