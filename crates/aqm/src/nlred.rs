//! NLRED: K. Zhou, K. Yeung, V. Li, "Nonlinear RED: a simple yet efficient active queue management
//! scheme", Computer Networks 50, 2006. `p_b = 1.5·max_p·((avg − min_th)/(max_th − min_th))²`
//! between the thresholds, then a forced drop: gentler than RED's ramp at light load, and with the
//! same area under it (∫1.5 x² = ∫x).

use crate::profile::Profile;
use crate::red::{RedFamily, PARAMS, RAMP, STATE, THRESHOLDS};
use crate::{Discipline, Kind};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "nlred",
    doc: "Nonlinear RED: a parabola of 1.5·max_p instead of the ramp.",
    source: "Zhou, Yeung, Li 2006",
    equations: "avg as in RED\n\
        p_b = 1.5·max_p·((avg − min_th)/(max_th − min_th))²  min_th ≤ avg < max_th\n\
        drop (forced)                                        beyond",
    expect:
        "A parabola with the same area under it as RED's ramp: gentler near min_th, steeper near max_th. \
        Light load costs less throughput; under heavy load it signals more than RED, so the average depends \
        less on the load. It is RED in everything else, and as cheap.",
    weaknesses:
        "It has RED's parameters, and they need the same care; the average still moves with the load. At \
        max_th the probability jumps from 1.5·max_p to 1, as in RED of 1993, and capable packets are dropped \
        there; `gentle` ramps instead, which the paper has not.",
    params: &[PARAMS, THRESHOLDS, RAMP],
    state: STATE,
    defaults: &[("gentle", "false")],
    ns2: &[],
    build: |v, cx| {
        let family = RedFamily::new(v, cx, STATE)?;
        Ok(Discipline::Red(family.with_profile(Profile::Square { gentle: v.bool("gentle") })?))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Point;
    use crate::red::tests::RAMP5_15;

    /// max_p 0.1 between 5 and 15: 0.15 x².
    #[test]
    fn parabola_by_hand() {
        for (gentle, avg, want) in [
            (false, 4.0, Point::Below),
            (false, 10.0, Point::On(0.0375)),
            (false, 13.0, Point::On(0.096)),
            (false, 15.0, Point::Beyond),
            (true, 15.0, Point::On(0.15)),
            (true, 22.5, Point::On(0.575)), // 0.15 + 0.85 / 2
            (true, 30.0, Point::Beyond),
        ] {
            match ((Profile::Square { gentle }).at(avg, &RAMP5_15), want) {
                (Point::On(got), Point::On(want)) => {
                    assert!((got - want).abs() < 1e-12, "{avg}: {got}")
                }
                (got, want) => assert_eq!(got, want, "{avg}"),
            }
        }
    }
}
