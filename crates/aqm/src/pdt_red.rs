//! PDT-RED, preferential dynamic thresholds: Sun, Wang 2007, as the RED-AT paper tells it (section
//! 4.3). Packets carry a priority class; each class has thresholds of its own, which move with the
//! unused buffer and the class's priority.
//!
//! Only that much is in the paper. Our reading takes dynamic thresholds as in shared-memory
//! switches (Choudhury, Hahne 1998): class c has `max_th = a_c·(B − q)` and `min_th =
//! max_th/ratio`, with one average and one buffer for all. `a_c` rises with the class (DSCP, 0 to
//! 63) from `share_low` towards `share_high`: `a_c = share_high − (share_high − share_low)/(1 +
//! c)`, so that neighbouring classes differ whatever numbering is used.

use crate::adapter::Adapter;
use crate::profile::Ramp;
use crate::red::{RedFamily, AVG, MAX_TH_NOW, MIN_TH_NOW, PARAMS, P_B, RAMP};
use crate::{Discipline, Kind};
use penstock_units::param::{num_open, Param, ParamError, Values, PARAM};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "pdt-red",
    doc: "RED with thresholds for each priority class, which move with the unused buffer.",
    source: "Sun, Wang 2007, as told by the RED-AT paper, section 4.3",
    equations: "RED, and for a packet of class c (DSCP 0…63):\n\
        a_c = share_high − (share_high − share_low)/(1 + c)\n\
        max_th = a_c·(B − q),  min_th = max_th/ratio",
    expect: "All classes share one buffer and one average; a higher class has higher thresholds, so under \
        overload the lower classes lose first. As the buffer fills, everybody's thresholds fall. Without \
        classes in the traffic all is class 0: in steady state its ramp runs from an average of a seventh of \
        the buffer to a third, and from half of it everything is dropped.",
    weaknesses:
        "The original (Sun, Wang 2007) was not at hand: the RED-AT paper says only that thresholds vary with \
        the unused buffer and the priority. The rule is the dynamic threshold of shared-memory switches \
        (Choudhury, Hahne 1998), and the shares are ours. Thresholds use the queue and the test uses its \
        average, so a burst lowers the ramp before the average has moved. Nothing keeps a high class from \
        starving a low one.",
    params: &[PARAMS, RAMP, PDT_RED],
    state: &[AVG, MIN_TH_NOW, MAX_TH_NOW, P_B],
    defaults: &[],
    ns2: &[],
    build: |v, cx| RedFamily::new(v, cx, KIND.state)?.with_classes(v).map(Discipline::Red),
};

/// Its own parameters.
pub(crate) const PDT_RED: &[Param] = &[
    Param {
        name: "share_low",
        ty: num_open(0.0, 1e6),
        unit: "1",
        default: Some("0.5"),
        source: "reading",
        doc: "max_th of class 0 over the unused buffer: while the queue stands its ramp reaches max_p at B·a/(1 + a), a third of the buffer.",
        ..PARAM
    },
    Param {
        name: "share_high",
        ty: num_open(0.0, 1e6),
        unit: "1",
        default: Some("4"),
        source: "reading",
        doc: "The same of the highest class, in the limit: four fifths of the buffer.",
        ..PARAM
    },
    Param {
        name: "ratio",
        ty: num_open(1.0, 1e6),
        unit: "1",
        default: Some("3"),
        source: "Floyd 1997: max_th = 3·min_th",
        doc: "max_th over min_th of every class.",
        ..PARAM
    },
];

/// PDT-RED's adapter.
#[derive(Clone, Debug)]
pub struct Classes {
    low: f64,
    high: f64,
    ratio: f64,
}

impl RedFamily {
    pub(crate) fn with_classes(mut self, v: &Values) -> Result<Self, ParamError> {
        let classes =
            Classes { low: v.num("share_low"), high: v.num("share_high"), ratio: v.num("ratio") };
        if classes.low > classes.high {
            return Err(ParamError::new(
                "share_low",
                format!("must not be above share_high ({})", classes.high),
            ));
        }
        // What is published before the first packet: class 0 at an empty queue.
        classes.arrived(0.0, 0, &mut self.ramp);
        Ok(self.with_adapter(Adapter::Classes(classes)))
    }
}

impl Classes {
    /// A packet of class `class` arrived and found `q` waiting.
    #[inline]
    pub fn arrived(&self, q: f64, class: u8, r: &mut Ramp) {
        let share = self.high - (self.high - self.low) / (1.0 + f64::from(class));
        // A full buffer leaves no room; the ramp stays a ramp.
        r.max_th = (share * (r.limit - q)).clamp(f64::MIN_POSITIVE, r.limit);
        r.min_th = r.max_th / self.ratio;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::{build, busy};
    use crate::{Aqm, Ecn, Packet, Verdict};
    use penstock_units::{Rng, Time};

    /// B 100: class 0 has 0.5 of the unused buffer, class 1 2.25, class 6 3.5, at most B.
    #[test]
    fn thresholds_by_hand() {
        let d = build(&KIND, &[]).unwrap();
        let (Adapter::Classes(c), mut r) = (d.adapter, d.ramp) else { unreachable!() };
        for (q, class, max_th) in
            [(0.0, 0, 50.0), (40.0, 0, 30.0), (80.0, 1, 45.0), (80.0, 6, 70.0), (10.0, 63, 100.0)]
        {
            c.arrived(q, class, &mut r);
            assert!(
                (r.max_th - max_th).abs() < 1e-9 && (r.min_th - max_th / 3.0).abs() < 1e-9,
                "{q} {class}: {r:?}"
            );
        }
    }

    /// The same queue treats the classes in the order of their priority.
    #[test]
    fn loss_falls_with_the_class() {
        for q in [20, 30, 45] {
            let mut last = f64::INFINITY;
            for class in [0, 1, 2, 8, 46] {
                let mut d = build(&KIND, &[("w_q", "1")]).unwrap();
                let mut rng = Rng::stream(1, "pdt");
                let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class };
                let dropped = (0..20_000)
                    .filter(|_| d.arrive(Time::ZERO, &pkt, &busy(q), &mut rng) != Verdict::Pass);
                let loss = dropped.count() as f64 / 20_000.0;
                assert!(loss <= last + 0.005, "q = {q}, class {class}: {loss} {last}");
                last = loss;
            }
        }
    }
}
