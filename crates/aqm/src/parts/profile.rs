//! Profiles: the curve from the average to a probability. RED's own ramp is here; the curves of its
//! descendants are in their files.

use crate::packet::Packet;
use penstock_units::Time;

/// An arrival as an adapter and a profile see it: the average has taken it in, nothing is decided.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The time of the arrival.
    pub now: Time,
    /// The new average.
    pub avg: f64,
    /// The instantaneous queue.
    pub q: f64,
    /// The packet.
    pub pkt: &'a Packet,
}

/// The ramp in force, in the unit of the queue: what an adapter may move while the queue runs.
/// Numbers that only one profile has belong to that profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Nothing is signalled below this average.
    pub min_th: f64,
    /// The ramp ends at this average.
    pub max_th: f64,
    /// The probability at the ramp's end.
    pub max_p: f64,
}

/// The place of the average on the profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// Below the profile.
    Below,
    /// On it, with this probability `p_b`.
    On(f64),
    /// On both ramps of a two-level profile: incipient and moderate.
    Levels(f64, f64),
    /// On the part of a two-level profile that rises beyond both.
    Severe(f64),
    /// Beyond its end.
    Beyond,
}

impl Point {
    /// Returns the probabilities before the gates, of the first level and of the second.
    pub fn p(&self) -> [f64; 2] {
        match *self {
            Point::Below => [0.0; 2],
            Point::On(p) => [p, 0.0],
            Point::Levels(p1, p2) => [p1, p2],
            Point::Severe(p) => [0.0, p],
            Point::Beyond => [1.0; 2],
        }
    }
}

/// Returns `x^n`, at most 1. Whole exponents up to 8, which most are, are products: NRED asks at
/// each arrival, and a power takes as long as the rest of it.
pub(crate) fn power(x: f64, n: f64) -> f64 {
    let whole = n as u32;
    let p = if whole <= 8 && f64::from(whole) == n {
        (0..whole).fold(1.0, |p, _| p * x)
    } else {
        libm::pow(x, n)
    };
    p.clamp(0.0, 1.0)
}

/// A curve from the average to a probability.
pub trait Profile {
    /// Returns where the average at this arrival lies for this packet. It is [`Point::Below`] for
    /// every average below `min_th`.
    fn at(&mut self, a: &Arrival, ramp: &Ramp) -> Point;

    /// Returns the ramp that the last packet met: `own`, unless each packet meets another one.
    #[inline(always)]
    fn in_force<'a>(&'a self, own: &'a Ramp) -> &'a Ramp {
        own
    }

    /// Publishes what its own keys come to (see [`crate::Aqm::settled`]).
    fn settled(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Returns the gentle part of a profile, from `p` at `max_th` to 1 at `2·max_th`; `None` beyond it.
#[inline]
pub(crate) fn gentle_part(avg: f64, max_th: f64, p: f64) -> Option<f64> {
    // p_b <- max_p + (1 - max_p) (avg - max_th) / max_th
    (avg < 2.0 * max_th).then(|| (p + (1.0 - p) * (avg - max_th) / max_th).clamp(0.0, 1.0))
}

/// Returns a straight ramp from 0 at `from` to `p` at `to`.
#[inline]
pub(crate) fn ramp(avg: f64, from: f64, to: f64, p: f64) -> f64 {
    // p_b <- max_p (avg - min_th) / (max_th - min_th)
    (p * (avg - from) / (to - from)).clamp(0.0, 1.0)
}

/// RED's profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Straight {
    /// The ramp from 0 at `min_th` to `max_p` at `max_th` (Floyd, Jacobson 1993).
    Linear,
    /// The ramp goes on from `max_p` at `max_th` to 1 at `2·max_th` (Floyd 2000). `frozen` keeps
    /// the slope of that part at the first `max_p` when an adapter moves it, as ns-2 does.
    Gentle {
        /// The first `max_p`, where the slope stays with it.
        frozen: Option<f64>,
    },
}

impl Profile for Straight {
    #[inline]
    fn at(&mut self, a: &Arrival, r: &Ramp) -> Point {
        let avg = a.avg;
        if avg < r.min_th {
            return Point::Below;
        }
        if avg < r.max_th {
            return Point::On(ramp(avg, r.min_th, r.max_th, r.max_p));
        }
        match self {
            Straight::Linear => Point::Beyond,
            Straight::Gentle { frozen } => {
                let p = gentle_part(avg, r.max_th, frozen.unwrap_or(r.max_p));
                p.map_or(Point::Beyond, Point::On)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::PKT;

    /// Returns the place of `avg` on the profile.
    pub(crate) fn at(mut profile: impl Profile, avg: f64, ramp: &Ramp) -> Point {
        profile.at(&Arrival { now: Time::ZERO, avg, q: avg, pkt: &PKT }, ramp)
    }

    /// 5, 15; 0.1.
    pub(crate) const RAMP5_15: Ramp = Ramp { min_th: 5.0, max_th: 15.0, max_p: 0.1 };

    #[test]
    fn red_by_hand() {
        use Point::{Below, Beyond, On};
        let gentle = Straight::Gentle { frozen: None };
        for (avg, linear, gently) in [
            (4.99, Below, Below),
            (5.0, On(0.0), On(0.0)),
            (10.0, On(0.05), On(0.05)),
            (15.0, Beyond, On(0.1)),
            (22.5, Beyond, On(0.55)), // 0.1 + 0.9 * 7.5 / 15
            (30.0, Beyond, Beyond),
        ] {
            assert_eq!(at(Straight::Linear, avg, &RAMP5_15), linear, "avg = {avg}");
            assert_eq!(at(gentle, avg, &RAMP5_15), gently, "gentle, avg = {avg}");
        }
    }

    /// ns-2, UDP overload: max_p adapted to 0.5, avg 42.1, max_th 30: 0.1 + 0.9 * 12.1 / 30 =
    /// 0.463.
    #[test]
    fn a_frozen_slope_jumps_down_at_max_th() {
        let r = Ramp { min_th: 10.0, max_th: 30.0, max_p: 0.5 };
        let p = |frozen| match at(Straight::Gentle { frozen }, 42.1, &r) {
            Point::On(p) => p,
            other => panic!("{other:?}"),
        };
        assert!((p(Some(0.1)) - 0.463).abs() < 1e-9);
        assert!((p(None) - 0.701_666_666).abs() < 1e-6);
    }
}
