//! Draws from the distributions that a scenario states.

use penstock_units::param::Dist;
use penstock_units::Rng;

/// A draw from a distribution.
pub(crate) fn draw(dist: &Dist, rng: &mut Rng) -> f64 {
    match *dist {
        Dist::Constant(x) => x,
        Dist::Exponential(mean) => rng.exponential(mean),
        Dist::Pareto { shape, mean, max } => {
            let x = rng.pareto(shape, mean * (shape - 1.0) / shape);
            max.map_or(x, |m| x.min(m))
        }
    }
}
