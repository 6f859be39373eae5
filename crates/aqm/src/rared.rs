//! RARED, rate-aware RED (RARED paper, Fig. 1): when the average climbs faster than `slope_th`,
//! this packet's probability is `max_p'` instead of RED's.
//!
//! Beyond the end of RED's profile its forced drop stands, climbing or not.
//!
//! `if avg_new > min_th and avg_new − avg_old > slope_th·(now − t_old) then p = max_p' else p =
//! p_a`.

use crate::adapter::Adapter;
use crate::ared::{Floyd, CLOCK, STEPS, TARGET};
use crate::profile::Ramp;
use crate::red::{RedFamily, AVG, MAX_P, PARAMS, P_B, RAMP, THRESHOLDS};
use crate::{Discipline, Kind, State};
use penstock_units::param::{num, num_open, Param, Ty, Values, PARAM};
use penstock_units::Time;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "rared",
    doc: "Rate-aware RED: a high probability while the average climbs fast.",
    source: "RARED paper",
    equations: "RED, but at each arrival:\n\
        avg_new > min_th and avg_new − avg_old > slope_th·(now − t_old):  p = max_p'  (max_p_climb), else RED's p_a",
    expect: "When a load rises suddenly, RED's average lags. RARED takes its slope for the sign: while it climbs \
        faster than 20 packets/s, four packets of five are signalled, and senders slow down before the queue \
        is long. When nothing climbs it is RED (or ARED: `base`). In the figure the queue stands from the \
        start: the average climbs at first, and where the gap is large enough 80 % are marked after 0.1 s, \
        when RED marks nothing; later it is RED.",
    weaknesses: "The slope of an average with a time constant of T can exceed slope_th only while q − avg > \
        slope_th·T: with the default weight (1 s) at gaps of more than 20 packets. On a fast link 20 \
        packets/s is nothing and every burst is hit, on a slow one it is never reached; `slope_th = \
        \"auto\"` scales with the thresholds (ours, the paper's future work). Signalling 80 % halves many \
        windows at once. The paper reads as if p = max_p' replaced p_a as it stands; so here, without the \
        gate (`climb`).",
    params: &[PARAMS, THRESHOLDS, RAMP, RARED, BASE, CLOCK, TARGET, STEPS],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let mut family = RedFamily::new(v, cx, STATE)?;
        if v.is("base", "ared") {
            family = family.with_adapter(Adapter::Floyd(Floyd::from_values(v, cx)?));
        }
        Ok(Discipline::Red(family.with_climb(v)))
    },
};

const STATE: &[State] = &[AVG, MAX_P, P_B, CLIMB_PKTS, CLIMB_MARKS];
pub(crate) const CLIMB_PKTS: State =
    State { name: "climb_pkts", doc: "Packets decided by max_p_climb since the start." };
pub(crate) const CLIMB_MARKS: State =
    State { name: "climb_marks", doc: "Of these, packets that were marked." };

/// The time in which `slope_th = "auto"` lets the average cross the ramp. With the paper's
/// thresholds, 5 and 15, it gives the paper's 20 packets/s.
const CROSSING_S: f64 = 0.5;

/// Its own parameters.
pub(crate) const RARED: &[Param] = &[
    Param {
        name: "slope_th",
        ty: Ty::NumOr(&num(0.0, 1e9), &["auto"]),
        unit: "packets/s",
        default: Some("20"),
        source: "RARED paper, section 4; \"auto\" is ours (the paper's future work)",
        doc:
            "The average climbs when it rises faster than this; \"auto\": (max_th − min_th) in half a second.",
        ..PARAM
    },
    Param {
        name: "max_p_climb",
        ty: num_open(0.0, 1.0),
        unit: "1",
        default: Some("0.8"),
        source: "RARED paper, section 4: max_p'",
        doc: "The probability while the average climbs.",
        ..PARAM
    },
    Param {
        name: "climb",
        ty: Ty::Word(&["bernoulli", "ramp"]),
        default: Some("\"bernoulli\""),
        source: "RARED paper, Fig. 1: p_d ← max_p'; \"the maximum drop probability\"",
        doc:
            "max_p_climb as it stands, an independent coin; or as the ceiling of the ramp, through the gate.",
        ..PARAM
    },
    Param {
        name: "slope_of",
        ty: Ty::Word(&["average", "instantaneous"]),
        default: Some("\"average\""),
        source: "RARED paper, Fig. 1: average queue occupancy",
        doc: "Whether the average's slope counts, or the queue's.",
        ..PARAM
    },
];

/// What it stands on.
const BASE: &[Param] = &[Param {
    name: "base",
    ty: Ty::Word(&["red", "ared"]),
    default: Some("\"red\""),
    source: "RARED paper: Fig. 1 has RED; section 5 compares with ARED",
    doc: "What it is when the average does not climb.",
    ..PARAM
}];

/// The switch: is the queue climbing at this arrival?
#[derive(Clone, Debug)]
pub struct Climb {
    /// In units of the queue a second.
    slope_th: f64,
    pub(crate) max_p: f64,
    /// As the ceiling of the ramp.
    pub(crate) ramp: bool,
    instantaneous: bool,
    last: f64,
    last_at: Time,
    pub(crate) pkts: u64,
    pub(crate) marks: u64,
}

impl RedFamily {
    pub(crate) fn with_climb(mut self, v: &Values) -> Self {
        let r = &self.ramp;
        let auto = (r.max_th - r.min_th) / CROSSING_S;
        let slope = v.opt_num("slope_th").map_or(auto, |th| th * self.unit.per_pkt);
        self.climb = Some(Climb {
            slope_th: slope,
            max_p: v.num("max_p_climb"),
            ramp: v.is("climb", "ramp"),
            instantaneous: v.is("slope_of", "instantaneous"),
            last: 0.0,
            last_at: Time::ZERO,
            pkts: 0,
            marks: 0,
        });
        self
    }
}

impl Climb {
    /// A packet arrives: whether its probability is `max_p'`. To be asked at every arrival, since
    /// it keeps the previous one.
    #[inline]
    pub fn climbs(&mut self, now: Time, avg: f64, q: f64, r: &Ramp) -> bool {
        let new = if self.instantaneous { q } else { avg };
        let rise = new - std::mem::replace(&mut self.last, new);
        let elapsed = now.since(std::mem::replace(&mut self.last_at, now)).as_secs_f64();
        // Two arrivals at one instant have no slope.
        avg > r.min_th && elapsed > 0.0 && rise > self.slope_th * elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::tests::{build, RAMP5_15};

    fn climb(set: &[(&'static str, &str)]) -> Climb {
        build(&KIND, &[&[("min_th", "5"), ("max_th", "15")], set].concat()).unwrap().climb.unwrap()
    }

    /// 0.05 in 2 ms is 25 packets/s > 20; in 3 ms 16.7; at one instant there is no slope; below
    /// min_th it does not count.
    #[test]
    fn slope_by_hand() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        for (from, rise, us, want) in [
            (8.0, 0.05, 2000, true),
            (8.0, 0.05, 3000, false),
            (8.0, 0.05, 0, false),
            (8.0, -0.05, 2000, false),
            (4.0, 0.05, 2000, false),
            (4.96, 0.05, 2000, true), // now above
        ] {
            let mut c = climb(&[]);
            let _ = c.climbs(at(1000), from, 0.0, &RAMP5_15);
            assert_eq!(
                c.climbs(at(1000 + us), from + rise, 0.0, &RAMP5_15),
                want,
                "{from} {rise} {us}"
            );
        }
        let mut c = climb(&[("slope_of", "\"instantaneous\"")]);
        let _ = c.climbs(at(0), 8.0, 3.0, &RAMP5_15);
        assert!(!c.climbs(at(2000), 8.0, 3.0, &RAMP5_15));
        assert!(c.climbs(at(4000), 8.0, 4.0, &RAMP5_15));
    }

    #[test]
    fn automatic_slope_is_the_papers() {
        assert_eq!(climb(&[("slope_th", "\"auto\"")]).slope_th, 20.0);
        assert_eq!(climb(&[("slope_th", "20"), ("unit", "\"bytes\"")]).slope_th, 20_000.0);
    }
}
