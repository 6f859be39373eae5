//! RED, random early detection, and the family composed like it. S. Floyd, V. Jacobson, "Random
//! early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993: Fig. 2 is the
//! algorithm, names are its symbols. Gentle: Floyd, "Recommendation on using the gentle_ variant of
//! RED", 2000. ECN: RFC 3168.
//!
//! Its descendants change one part each, in their own files.
//!
//! Departs from the paper: once `count·p_b` reaches 1 Fig. 2 divides by zero or less; here that
//! signals for certain.

use crate::context::{Common, Context};
use crate::family::params::{Base, Ceiling, Setting, Thresholds};
use crate::kind::{own_tables, states, Column, Kind};
use crate::parts::compose::Composed;
use crate::parts::profile::Straight;
use penstock_units::group;
use penstock_units::param::ParamError;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "red",
    doc: "Random early detection: signals with a probability that ramps up with the average \
        queue.",
    source: "Floyd, Jacobson 1993; gentle: Floyd 2000; ECN: RFC 3168",
    equations: "busy:  avg ← (1 − w_q)·avg + w_q·q\n\
        idle:  avg ← (1 − w_q)^m·avg,  m = idle time·C\n\
        \n\
        p_b = 0                                          avg < min_th\n\
        p_b = max_p·(avg − min_th)/(max_th − min_th)     min_th ≤ avg < max_th\n\
        p_b = max_p + (1 − max_p)·(avg − max_th)/max_th  max_th ≤ avg < 2·max_th, gentle\n\
        drop (forced)                                    beyond\n\
        \n\
        p_a = p_b/(1 − count·p_b): signal with p_a;  count = packets since the last signal",
    expect: "Signals begin before the buffer is full, fall on flows in proportion to what they \
        send, and are spread evenly over time. The average settles where the ramp's probability \
        is what the flows need, so it rises with their number: the thresholds bound the queue, \
        they do not fix it. The average follows the queue with a time constant of 1/(w_q·C), one \
        second by default, so a short burst passes without a signal. The gate makes gaps uniform \
        on 1…1/p_b − 1 packets: at constant p_b it signals about 2·p_b of the packets, not p_b.",
    weaknesses: "No one setting of w_q, min_th, max_th and max_p suits every load, round-trip \
        time and packet size. A slow average lets a sudden load overflow the buffer first, and \
        still signals when the queue has gone; a fast one punishes bursts. Thresholds of a few \
        packets cost utilisation. Beyond the ramp capable packets are dropped too, unless \
        `forced` is \"mark\".",
    params: own_tables::<RedParams>(),
    state: &states(COLUMNS),
    defaults: RedParams::DEFAULTS,
};

group! {
    /// What the user of RED sets.
    pub struct RedParams {
        /// What the whole family takes.
        pub base: Base,
        /// Where the ramp lies.
        pub thresholds: Thresholds,
        /// The ramp's ceiling.
        pub ceiling: Ceiling,
        /// What every kind takes.
        pub common: Common,
    }
}

/// RED.
pub type Red = Composed<Straight, ()>;

const COLUMNS: &[Column<Red>; 3] = &[Red::AVG, Red::MAX_P, Red::P_B];

impl Red {
    /// RED on a link. Automatic thresholds and weight follow from the link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &RedParams, cx: &Context) -> Result<Self, ParamError> {
        let setting = Setting::of(p, &p.common, cx)?;
        let ramp = p.thresholds.ramp(&setting, p.ceiling.max_p)?;
        Ok(p.base.compose(&setting, ramp, p.ceiling.profile(), (), COLUMNS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};
    use crate::{Aqm, Ecn, Packet, Reason, Verdict};
    use penstock_units::{Rng, Time};

    fn build(set: &[(&'static str, &'static str)]) -> Result<Red, ParamError> {
        Red::new(&params(&KIND, set), &context())
    }

    /// 10 Mbit/s, 1000 B: C = 1250; target delay 5 ms: max(5, 3.125) = 5; 10 ms: 6.25; 40 ms: 25.
    #[test]
    fn automatic_setting() {
        for (set, min_th) in [(vec![], 5.0), (vec![("target_delay", "\"10 ms\"")], 6.25)] {
            let red = build(&set).unwrap();
            assert!((red.ramp.min_th - min_th).abs() < 1e-9);
            assert!((red.ramp.max_th - 3.0 * min_th).abs() < 1e-9);
        }
        let bytes = build(&[("unit", "\"bytes\"")]).unwrap();
        assert_eq!((bytes.ramp.min_th, bytes.ramp.max_th), (5000.0, 15_000.0));
    }

    #[test]
    fn thresholds_out_of_order_name_the_key() {
        let err = build(&[("min_th", "20"), ("max_th", "15")]).unwrap_err();
        assert_eq!(
            (err.name, err.problem.as_str()),
            ("min_th", "must be below max_th (15 packets)")
        );
    }

    /// q held at 10, w_q 0.002, min_th 5: nothing can be signalled before the 347th arrival.
    #[test]
    fn no_signal_before_the_average_arrives() {
        let mut red = build(&[("min_th", "5"), ("max_th", "15"), ("w_q", "0.002")]).unwrap();
        let mut rng = Rng::stream(1, "red");
        for k in 1..=346 {
            assert_eq!(red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng), Verdict::Pass, "k = {k}");
        }
        assert!(red.estimator.value() < 5.0);
        let later = (0..1000)
            .filter(|_| red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng) != Verdict::Pass);
        assert!(later.count() > 10);
    }

    #[test]
    fn beyond_the_end_everything_is_dropped_even_if_capable() {
        let set =
            [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("ecn", "true"), ("gentle", "false")];
        let mut red = build(&set).unwrap();
        let mut rng = Rng::stream(1, "red");
        let capable = Packet { ecn: Ecn::Ect0, ..PKT };
        for _ in 0..10 {
            let v = red.arrive(Time::ZERO, &capable, &busy(15), &mut rng);
            assert_eq!(v, Verdict::Drop(Reason::Forced));
        }
    }

    /// w_q = 1 makes avg = q. At p_b = 1/20 gaps are 1…19 packets (`uniform`), 20…39 (`wait`),
    /// geometric with mean 20.
    #[test]
    fn signal_rate_follows_the_gate() {
        for (gate, rate) in
            [("\"uniform\"", 0.1), ("\"wait\"", 1.0 / 29.5), ("\"geometric\"", 0.05)]
        {
            let set = [("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", gate)];
            let mut red = build(&set).unwrap();
            let mut rng = Rng::stream(5, "red");
            let n = 100_000;
            let signals = (0..n).filter(|_| {
                red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng) == Verdict::Drop(Reason::Early)
            });
            let got = signals.count() as f64 / f64::from(n);
            assert!((got - rate).abs() < 0.05 * rate, "{gate}: {got} {rate}");
        }
    }

    #[test]
    fn overflow_restarts_the_count() {
        let mut red =
            build(&[("min_th", "5"), ("max_th", "15"), ("w_q", "1"), ("gate", "\"wait\"")])
                .unwrap();
        let mut rng = Rng::stream(5, "red");
        // wait: no signal in the first 1/p_b = 20 packets after a restart.
        for _ in 0..200 {
            red.overflow(Time::ZERO, &PKT, &busy(10));
            for k in 1..20 {
                assert_eq!(
                    red.arrive(Time::ZERO, &PKT, &busy(10), &mut rng),
                    Verdict::Pass,
                    "k = {k}"
                );
            }
        }
    }
}
