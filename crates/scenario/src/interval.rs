//! The mean over runs with its interval: the one place where it is worked out.
//!
//! The interval is Student's t on a scale that keeps it where the quantity can be: the square root
//! for what is not below a bound, the arcsine of the square root for what lies between two, none for
//! what may be anywhere. `docs/decisions/0016-intervals.md` says why, and how often it covers.

use penstock_sim::Bounds;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean; `None` of nothing.
    pub mean: Option<f64>,
    /// Half-width of Student's interval; `None` below two values.
    pub half: Option<f64>,
    /// The interval's ends, from the bounds' least to their most; `None` below two values.
    pub ends: Option<(f64, f64)>,
    /// The number of values.
    pub n: usize,
}

/// Returns the mean of values and its interval of that level (0.95), summed in their order.
///
/// Bounds do not hold for a value that lies outside them: a utilization of 1.001 is what a short
/// window has. They are then as wide as the values.
pub fn estimate(values: &[f64], bounds: Bounds, level: f64) -> Estimate {
    let n = values.len();
    if n == 0 {
        return Estimate { mean: None, half: None, ends: None, n };
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A sum of equals, divided, need not be the value.
    let mean = if least == most { least } else { values.iter().sum::<f64>() / n as f64 };
    if n == 1 {
        return Estimate { mean: Some(mean), half: None, ends: None, n };
    }
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
    let half = twelve_digits(student(n, level) * (variance / n as f64).sqrt());
    let wide = Bounds { least: bounds.least.min(least), most: bounds.most.max(most) };
    Estimate { mean: Some(mean), half: Some(half), ends: Some(ends(mean, half, wide)), n }
}

/// Returns where an interval ends that has this half-width around the mean where there are no
/// bounds (by the delta method: the scale's slope at the mean).
pub fn ends(mean: f64, half: f64, bounds: Bounds) -> (f64, f64) {
    if half == 0.0 {
        return (mean, mean); // its last digits, too
    }
    let bounds = Bounds { least: bounds.least.min(mean), most: bounds.most.max(mean) };
    let (below, above) = (mean - bounds.least, bounds.most - mean);
    let (low, high) =
        if !(half > 0.0 && half.is_finite()) || below + above == f64::INFINITY && below == above {
            (mean - half, mean + half)
        } else if below <= 0.0 || above <= 0.0 {
            // At a bound the scale has no slope.
            (mean - half, mean + half)
        } else if above == f64::INFINITY {
            (mean - from_root(below, -half), mean + from_root(below, half))
        } else if below == f64::INFINITY {
            (mean - from_root(above, half), mean + from_root(above, -half))
        } else {
            let whole = below + above;
            let (at, half) = (below / whole, half / whole);
            (bounds.least + whole * arcsine(at, -half), bounds.least + whole * arcsine(at, half))
        };
    let (low, high) = (twelve_digits(low), twelve_digits(high));
    (low.max(bounds.least).min(mean), high.min(bounds.most).max(mean))
}

/// Returns how far from `x` above a bound the end lies that is `half` away on the root's scale.
fn from_root(x: f64, half: f64) -> f64 {
    let root = (x.sqrt() + half / (2.0 * x.sqrt())).max(0.0);
    (root * root - x).abs()
}

/// Returns where the end lies that is `half` away from `x`, which is between 0 and 1, on the scale of
/// the arcsine of the square root.
fn arcsine(x: f64, half: f64) -> f64 {
    let (sine, cosine) = (x.sqrt(), (1.0 - x).sqrt());
    let angle = libm::asin(sine) + half / (2.0 * sine * cosine);
    let end = libm::sin(angle.clamp(0.0, std::f64::consts::FRAC_PI_2));
    end * end
}

/// The factor of an interval of a mean of `n` values: the two-sided quantile of Student's t with
/// n − 1 degrees of freedom at that level (0.95). Infinite below two values, which have no interval.
pub fn student(n: usize, level: f64) -> f64 {
    // The law exists for every positive number of degrees of freedom.
    let law = StudentsT::new(0.0, 1.0, n.saturating_sub(1) as f64);
    law.map_or(f64::INFINITY, |law| twelve_digits(law.inverse_cdf(0.5 + level / 2.0)))
}

/// The two-sided p value of Student's test: the probability that |t| with n − 1 degrees of freedom is
/// larger than that of `t`. 1 below two values, which show nothing.
pub fn student_p(n: usize, t: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, n.saturating_sub(1) as f64);
    law.map_or(1.0, |law| twelve_digits(2.0 * law.cdf(-t.abs())))
}

/// Rounds to twelve significant digits, because the law's last digits depend on the platform's
/// logarithm.
fn twelve_digits(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_sim::{
        FLOW_METRICS, GROUP_METRICS, LINK_METRICS, METRICS, PACKET_METRICS, PAGE_METRICS,
        VIDEO_METRICS,
    };
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (n, level, t) in [
            (2, 0.95, 12.706_204_736),
            (3, 0.95, 4.302_652_730),
            (10, 0.95, 2.262_157_163),
            (30, 0.95, 2.045_229_642),
            (5, 0.99, 4.604_094_871),
        ] {
            assert!((student(n, level) - t).abs() < 1e-8, "n = {n}: {}", student(n, level));
        }
        assert_eq!(student(1, 0.95), f64::INFINITY);
    }

    /// The quantile's p value is what lies beyond it. With one degree of freedom it is Cauchy's law:
    /// far out 2/(π·t).
    #[test]
    fn p_values_are_what_lies_beyond() {
        for n in [2, 3, 10, 30, 1000] {
            assert!((student_p(n, student(n, 0.95)) - 0.05).abs() < 1e-10, "n = {n}");
            assert_eq!(student_p(n, 0.0), 1.0);
            assert_eq!(student_p(n, -2.0), student_p(n, 2.0));
        }
        assert!((student_p(2, 1.0) - 0.5).abs() < 1e-11);
        assert!((student_p(2, 1e6) * std::f64::consts::PI * 1e6 / 2.0 - 1.0).abs() < 1e-9);
        assert_eq!(student_p(10, f64::INFINITY), 0.0);
        assert_eq!(student_p(1, 3.0), 1.0);
    }

    /// 1, 2, 3, 4: mean 2.5, variance 5/3, standard error sqrt(5/12), t(3) = 3.182446305284.
    #[test]
    fn intervals_by_hand() {
        let e = estimate(&[1.0, 2.0, 3.0, 4.0], Bounds::NONE, 0.95);
        let half = 3.182_446_305_284 * (5.0f64 / 12.0).sqrt();
        let (low, high) = e.ends.unwrap();
        assert_eq!((e.mean, e.n), (Some(2.5), 4));
        assert!((e.half.unwrap() - half).abs() < 1e-9, "{e:?}");
        assert!((low - (2.5 - half)).abs() < 1e-9 && (high - (2.5 + half)).abs() < 1e-9, "{e:?}");
        // On the root's scale: (√2.5 ± half/(2·√2.5))² = 2.5 ± half + half²/10.
        let (low, high) = estimate(&[1.0, 2.0, 3.0, 4.0], Bounds::FROM_ZERO, 0.95).ends.unwrap();
        let more = half * half / 10.0;
        assert!(
            (low - (2.5 - half + more)).abs() < 1e-9 && (high - (2.5 + half + more)).abs() < 1e-9
        );
        // Of 3/4 the angle is 60°. A half-width of √3/2·π/6 moves it by 30°: to sin² 30° and 90°.
        let (low, high) =
            ends(0.75, 3f64.sqrt() / 2.0 * std::f64::consts::FRAC_PI_6, Bounds::SHARE);
        assert!((low - 0.25).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn what_has_no_spread_has_no_width() {
        let same = |x: f64, bounds| estimate(&[x; 3], bounds, 0.95);
        let seventeen_digits = 0.005_918_512_432_432_433;
        for (x, bounds) in [
            (0.0, Bounds::SHARE),
            (1.0, Bounds::SHARE),
            (0.1, Bounds::FROM_ZERO),
            (seventeen_digits, Bounds::FROM_ZERO),
            (seventeen_digits, Bounds::SHARE),
        ] {
            let e = same(x, bounds);
            assert_eq!((e.mean, e.half, e.ends), (Some(x), Some(0.0), Some((x, x))));
        }
        let one = estimate(&[7.0], Bounds::NONE, 0.95);
        assert_eq!((one.mean, one.half, one.ends), (Some(7.0), None, None));
        assert_eq!(estimate(&[], Bounds::NONE, 0.95).mean, None);
    }

    /// A utilization above 1 is what a short window has.
    #[test]
    fn bounds_are_as_wide_as_the_values() {
        let e = estimate(&[0.99, 1.002], Bounds::SHARE, 0.95);
        let (low, high) = e.ends.unwrap();
        assert!(low < 0.99 && high == 1.002, "{e:?}");
        let (low, high) = estimate(&[1.0, 1.001, 0.999], Bounds::SHARE, 0.95).ends.unwrap();
        assert!(low < 1.0 && high <= 1.001, "{low} {high}");
    }

    fn tables() -> Vec<(&'static str, Bounds)> {
        fn rows<V>(table: &[penstock_sim::Of<V>]) -> Vec<(&'static str, Bounds)> {
            table.iter().map(|m| (m.name, m.bounds)).collect()
        }
        [
            rows(METRICS),
            rows(LINK_METRICS),
            rows(GROUP_METRICS),
            rows(FLOW_METRICS),
            rows(PACKET_METRICS),
            rows(PAGE_METRICS),
            rows(VIDEO_METRICS),
        ]
        .concat()
    }

    /// A name means one thing, so that an interval can be made from name and values alone.
    #[test]
    fn a_name_has_the_same_bounds_at_every_level() {
        let all = tables();
        for (name, bounds) in &all {
            assert!(all.iter().all(|(other, b)| other != name || b == bounds), "{name}");
            let share = name.ends_with("_ratio")
                || name.ends_with("_share")
                || ["utilization", "jain", "connections"].contains(name);
            assert_eq!(*bounds == Bounds::SHARE, share, "{name}");
        }
    }

    proptest! {
        /// Of every metric, of whatever it may measure: some at a bound, some all but there.
        #[test]
        fn intervals_hold_the_mean_and_stay_where_the_metric_can_be(
            unit in proptest::collection::vec(
                prop_oneof![0.0..=1.0f64, Just(0.0), Just(1.0), 1e-15..1e-9f64, 1.0 - 1e-9..1.0f64],
                2..12,
            ),
            size in prop_oneof![Just(1.0), 1e-6..1e12f64],
            level in prop_oneof![Just(0.95), Just(0.99)],
        ) {
            for (name, bounds) in tables() {
                let most = if bounds.most.is_finite() { bounds.most } else { size };
                let values: Vec<f64> = unit.iter().map(|x| x * most).collect();
                let e = estimate(&values, bounds, level);
                let (mean, (low, high)) = (e.mean.unwrap(), e.ends.unwrap());
                prop_assert!(low <= mean && mean <= high, "{}: {:?}", name, e);
                prop_assert!(bounds.least <= low && high <= bounds.most, "{}: {:?}", name, e);
            }
        }

        /// The scales are for the edges: in the middle an interval is Student's.
        #[test]
        fn far_from_the_bounds_intervals_are_students(
            at in 0.4..0.6f64, spread in 1e-6..1e-2f64,
        ) {
            for bounds in [Bounds::SHARE, Bounds::FROM_ZERO] {
                let (low, high) = ends(at, spread, bounds);
                let off = (at - spread - low).abs().max((at + spread - high).abs());
                prop_assert!(off <= 0.01 * spread, "{} {}", low, high);
            }
        }
    }
}
