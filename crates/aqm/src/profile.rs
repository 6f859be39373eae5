//! Profiles: the curve from the average to a probability.

/// The numbers of a profile, in the unit of the queue: what an adapter may move while the queue
/// runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Below it nothing happens.
    pub min_th: f64,
    /// Where the second level of a two-level profile begins.
    pub mid_th: f64,
    /// Where the ramp ends.
    pub max_th: f64,
    /// The buffer, `B`: where a power-law profile ends.
    pub limit: f64,
    /// The probability at the ramp's end (two levels: `p1_max`).
    pub max_p: f64,
    /// The same of the second level.
    pub p2_max: f64,
    /// The exponent of a power law.
    pub n: f64,
}

/// Where the average stands on the profile.
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

/// A profile.
#[derive(Clone, Debug)]
pub enum Profile {
    /// RED's ramp from 0 at `min_th` to `max_p` at `max_th` (Floyd, Jacobson 1993).
    Linear,
    /// The ramp goes on from `max_p` at `max_th` to 1 at `2·max_th` (Floyd 2000). `frozen` keeps
    /// the slope of that part at the first `max_p` when an adapter moves it, as ns-2 does.
    Gentle {
        /// The first `max_p`, where the slope stays with it.
        frozen: Option<f64>,
    },
    /// NLRED's parabola (see [`crate::nlred`]).
    Square {
        /// Goes on from 1.5·`max_p` at `max_th` to 1 at `2·max_th`.
        gentle: bool,
    },
    /// NRED's power law up to the buffer (see [`crate::nred`]).
    Power,
    /// MECN's two ramps (see [`crate::mecn`]).
    TwoLevel {
        /// Goes on from the larger ceiling at `max_th` to 1 at `2·max_th`.
        gentle: bool,
    },
}

/// From `p` at `max_th` to 1 at `2·max_th`.
#[inline]
fn gentle_part(avg: f64, max_th: f64, p: f64) -> Option<f64> {
    // p_b <- max_p + (1 - max_p) (avg - max_th) / max_th
    (avg < 2.0 * max_th).then(|| (p + (1.0 - p) * (avg - max_th) / max_th).clamp(0.0, 1.0))
}

/// From 0 at `from` to `p` at `to`.
#[inline]
fn ramp(avg: f64, from: f64, to: f64, p: f64) -> f64 {
    // p_b <- max_p (avg - min_th) / (max_th - min_th)
    (p * (avg - from) / (to - from)).clamp(0.0, 1.0)
}

impl Profile {
    /// Where `avg` stands.
    #[inline]
    pub fn at(&self, avg: f64, r: &Ramp) -> Point {
        if avg < r.min_th {
            return Point::Below;
        }
        let on = |p: Option<f64>| p.map_or(Point::Beyond, Point::On);
        match self {
            Profile::Linear | Profile::Gentle { .. } if avg < r.max_th => {
                Point::On(ramp(avg, r.min_th, r.max_th, r.max_p))
            }
            Profile::Linear => Point::Beyond,
            Profile::Gentle { frozen } => on(gentle_part(avg, r.max_th, frozen.unwrap_or(r.max_p))),
            Profile::Square { .. } if avg < r.max_th => {
                let x = (avg - r.min_th) / (r.max_th - r.min_th);
                Point::On((1.5 * r.max_p * x * x).clamp(0.0, 1.0))
            }
            Profile::Square { gentle: true } => {
                on(gentle_part(avg, r.max_th, (1.5 * r.max_p).min(1.0)))
            }
            Profile::Square { gentle: false } => Point::Beyond,
            // p <- ((avg - min_th) / (B - min_th))^n
            Profile::Power if avg < r.limit => {
                Point::On(libm::pow((avg - r.min_th) / (r.limit - r.min_th), r.n).clamp(0.0, 1.0))
            }
            Profile::Power => Point::Beyond,
            Profile::TwoLevel { .. } if avg < r.max_th => {
                let p1 = ramp(avg, r.min_th, r.max_th, r.max_p);
                if avg < r.mid_th {
                    Point::On(p1)
                } else {
                    Point::Levels(p1, ramp(avg, r.mid_th, r.max_th, r.p2_max))
                }
            }
            Profile::TwoLevel { gentle: true } => {
                let p = gentle_part(avg, r.max_th, r.max_p.max(r.p2_max));
                p.map_or(Point::Beyond, Point::Severe)
            }
            Profile::TwoLevel { gentle: false } => Point::Beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: Ramp = Ramp {
        min_th: 5.0,
        mid_th: 10.0,
        max_th: 15.0,
        limit: 100.0,
        max_p: 0.1,
        p2_max: 0.1,
        n: 2.0,
    };

    #[test]
    fn red_by_hand() {
        use Point::{Below, Beyond, On};
        let gentle = Profile::Gentle { frozen: None };
        for (avg, linear, gently) in [
            (4.99, Below, Below),
            (5.0, On(0.0), On(0.0)),
            (10.0, On(0.05), On(0.05)),
            (15.0, Beyond, On(0.1)),
            (22.5, Beyond, On(0.55)), // 0.1 + 0.9 * 7.5 / 15
            (30.0, Beyond, Beyond),
        ] {
            assert_eq!(Profile::Linear.at(avg, &RAMP), linear, "avg = {avg}");
            assert_eq!(gentle.at(avg, &RAMP), gently, "gentle, avg = {avg}");
        }
    }

    /// ns-2, UDP overload: max_p adapted to 0.5, avg 42.1, max_th 30: 0.1 + 0.9 * 12.1 / 30 =
    /// 0.463.
    #[test]
    fn a_frozen_slope_jumps_down_at_max_th() {
        let r = Ramp { min_th: 10.0, max_th: 30.0, max_p: 0.5, ..RAMP };
        let p = |frozen| match (Profile::Gentle { frozen }).at(42.1, &r) {
            Point::On(p) => p,
            other => panic!("{other:?}"),
        };
        assert!((p(Some(0.1)) - 0.463).abs() < 1e-9);
        assert!((p(None) - 0.701_666_666).abs() < 1e-6);
    }
}
