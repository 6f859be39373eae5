//! Profiles: the curve from the average to a probability.

/// The parameters of a ramp that an adapter may move while the queue runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Below it nothing happens.
    pub min_th: f64,
    /// Where the ramp ends.
    pub max_th: f64,
    /// The probability at its end.
    pub max_p: f64,
}

/// Where the average stands on the profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// Below the profile.
    Below,
    /// On it, with this probability `p_b`.
    On(f64),
    /// Beyond its end.
    Beyond,
}

/// A profile.
#[derive(Clone, Debug)]
pub enum Profile {
    /// RED's ramp from 0 at `min_th` to `max_p` at `max_th` (Floyd, Jacobson 1993).
    Linear,
    /// The ramp goes on from `max_p` at `max_th` to 1 at `2·max_th` (Floyd 2000). `frozen` keeps the slope of that part
    /// at the first `max_p` when an adapter moves it, as ns-2 does.
    Gentle {
        /// The first `max_p`, where the slope stays with it.
        frozen: Option<f64>,
    },
}

impl Profile {
    /// Where `avg` stands.
    #[inline]
    pub fn at(&self, avg: f64, r: &Ramp) -> Point {
        if avg < r.min_th {
            return Point::Below;
        }
        if avg < r.max_th {
            // p_b <- max_p (avg - min_th) / (max_th - min_th)
            return Point::On((r.max_p * (avg - r.min_th) / (r.max_th - r.min_th)).clamp(0.0, 1.0));
        }
        match self {
            Profile::Linear => Point::Beyond,
            Profile::Gentle { .. } if avg >= 2.0 * r.max_th => Point::Beyond,
            Profile::Gentle { frozen } => {
                // p_b <- max_p + (1 - max_p) (avg - max_th) / max_th
                let max_p = frozen.unwrap_or(r.max_p);
                Point::On((max_p + (1.0 - max_p) * (avg - r.max_th) / r.max_th).clamp(0.0, 1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: Ramp = Ramp { min_th: 5.0, max_th: 15.0, max_p: 0.1 };

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

    /// ns-2, UDP overload: max_p adapted to 0.5, avg 42.1, max_th 30: 0.1 + 0.9 * 12.1 / 30 = 0.463.
    #[test]
    fn a_frozen_slope_jumps_down_at_max_th() {
        let r = Ramp { min_th: 10.0, max_th: 30.0, max_p: 0.5 };
        let p = |frozen| match (Profile::Gentle { frozen }).at(42.1, &r) {
            Point::On(p) => p,
            other => panic!("{other:?}"),
        };
        assert!((p(Some(0.1)) - 0.463).abs() < 1e-9);
        assert!((p(None) - 0.701_666_666).abs() < 1e-6);
    }
}
