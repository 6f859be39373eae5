//! Composite values: delays, starts, distributions, losses and rates over time, as they are written.

use crate::{Duration, Rate, Rng};
use std::sync::Arc;

/// A delay for each of a group's flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DelaySpec {
    /// All flows have this one.
    Fixed(Duration),
    /// Drawn per flow.
    Uniform(Duration, Duration),
    /// Even steps over the flows; one flow gets the middle.
    Spread(Duration, Duration),
}

/// A start time for each of a group's flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartSpec {
    /// All flows have this one.
    Fixed(Duration),
    /// Drawn per flow.
    Uniform(Duration, Duration),
    /// Flow `i` starts at `from + i·every`.
    Every {
        /// The gap between two starts.
        every: Duration,
        /// The first start.
        from: Duration,
    },
}

impl StartSpec {
    /// Returns between which times a flow starts.
    pub fn between(self, flow: u32) -> (Duration, Duration) {
        match self {
            StartSpec::Fixed(at) => (at, at),
            StartSpec::Uniform(a, b) => (a, b),
            StartSpec::Every { every, from } => {
                let later = every.as_nanos().saturating_mul(u64::from(flow));
                let at = from + Duration::from_nanos(later);
                (at, at)
            }
        }
    }
}

/// A distribution of a positive quantity (bytes, or seconds).
#[derive(Clone, Debug, PartialEq)]
pub enum Dist {
    /// Always this.
    Constant(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this shape and mean (of the unbounded law), cut at `max` where given.
    Pareto {
        /// Shape, above 1 so that the mean exists.
        shape: f64,
        /// Mean of the unbounded law; the scale is `mean·(shape − 1)/shape`.
        mean: f64,
        /// Values above this become this.
        max: Option<f64>,
    },
    /// Evenly spread between the first and the second.
    Uniform(f64, f64),
    /// As it was measured: values, and the share of all that is not above each. Both ascend, and
    /// the last share is 1. Between two points the share rises evenly; the first value has its own
    /// share to itself.
    Empirical(Arc<[(f64, f64)]>),
}

impl Dist {
    /// Draws a value.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match self {
            Dist::Constant(x) => *x,
            Dist::Exponential(mean) => rng.exponential(*mean),
            Dist::Uniform(low, high) => rng.uniform(*low, *high),
            Dist::Pareto { shape, mean, max } => {
                let x = rng.pareto(*shape, scale(*shape, *mean));
                max.map_or(x, |m| x.min(m))
            }
            Dist::Empirical(points) => {
                let u = rng.unit();
                // A share above u, so that a value of share 0 is never drawn by itself.
                let i = points.partition_point(|(_, share)| *share <= u);
                let (x, share) = points[i];
                let Some((below, from)) = i.checked_sub(1).map(|i| points[i]) else { return x };
                below + (x - below) * (u - from) / (share - from)
            }
        }
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        match self {
            Dist::Constant(x) => *x,
            Dist::Exponential(mean) => *mean,
            Dist::Uniform(low, high) => (low + high) / 2.0,
            Dist::Pareto { mean, max: None, .. } => *mean,
            Dist::Pareto { shape, mean, max: Some(max) } => {
                // The integral of P(X > x) from 0 to max.
                let scale = scale(*shape, *mean);
                let above = 1.0 - libm::pow((scale / max).min(1.0), shape - 1.0);
                max.min(scale) + scale / (shape - 1.0) * above
            }
            Dist::Empirical(points) => {
                let between =
                    points.windows(2).map(|p| (p[0].0 + p[1].0) / 2.0 * (p[1].1 - p[0].1));
                points[0].0 * points[0].1 + between.sum::<f64>()
            }
        }
    }
}

/// The smallest value of a Pareto law.
fn scale(shape: f64, mean: f64) -> f64 {
    mean * (shape - 1.0) / shape
}

/// An empirical distribution that a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct DistFile {
    /// Its path.
    pub file: String,
    /// What one of the file's units is, where that is not a byte or a second.
    pub unit: Option<f64>,
}

/// When the transfers of a group begin, where they do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At random, so often that their payload is this part of what the bottleneck can carry.
    PoissonLoad(f64),
    /// At random, so many per second.
    PoissonRate(f64),
}

/// Random loss on a wire, decided for each packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet with this probability, whatever became of the others.
    Bernoulli(f64),
    /// Loss in bursts: a wire that is good or bad (Gilbert 1960, Elliott 1963). It starts good;
    /// each packet is lost with the probability of the present state, and then the state may
    /// change.
    GilbertElliott {
        /// Probability that good turns bad, per packet.
        p: f64,
        /// Probability that bad turns good, per packet.
        r: f64,
        /// Probability of loss while good.
        good: f64,
        /// Probability of loss while bad.
        bad: f64,
    },
}

/// A link's rate over time, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSchedule {
    /// Steps, ascending in time; `None` is a link that is down.
    Steps(Vec<(Duration, Option<Rate>)>),
    /// Rates that take turns, from time zero to the end of the run; `None` is a link that is down.
    Cycle {
        /// The rates, one after the other, and again.
        rates: Vec<Option<Rate>>,
        /// The time for which each holds.
        every: Duration,
    },
    /// Steps that a file holds, and begins again after the last: the file, and the hash that its
    /// content must have, where that is known.
    StepsFile {
        /// Its path.
        file: String,
        /// FNV-1a (64 bit) of its content, in hexadecimal.
        hash: Option<String>,
    },
    /// A mahimahi trace: the file, and the hash that its content must have, where that is known.
    Mahimahi {
        /// Its path.
        file: String,
        /// FNV-1a (64 bit) of its content, in hexadecimal.
        hash: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter is 10; of the rest two thirds lie evenly between 10 and 30, and the others between
    /// 50 and 70, as no value lies between 30 and 50. Mean: 10/4 + 20/2 + 60/4.
    #[test]
    fn empirical_distributions_rise_evenly_between_their_points() {
        let points = [(10.0, 0.25), (30.0, 0.75), (50.0, 0.75), (70.0, 1.0)];
        let dist = Dist::Empirical(Arc::new(points));
        assert_eq!(dist.mean(), 27.5);
        let mut rng = Rng::stream(1, "sizes");
        let n = 100_000;
        let drawn: Vec<f64> = (0..n).map(|_| dist.draw(&mut rng)).collect();
        let share = |low: f64, high: f64| {
            drawn.iter().filter(|x| (low..=high).contains(*x)).count() as f64 / f64::from(n)
        };
        for (low, high, want) in
            [(10.0, 10.0, 0.25), (10.0, 20.0, 0.5), (30.1, 49.9, 0.0), (50.0, 60.0, 0.125)]
        {
            assert!((share(low, high) - want).abs() < 0.005, "{low} to {high}");
        }
        assert_eq!(share(10.0, 70.0), 1.0);
    }

    #[test]
    fn means_are_those_of_what_is_drawn() {
        let pareto = |max| Dist::Pareto { shape: 1.5, mean: 12e3, max };
        for (dist, rough) in [
            (Dist::Constant(5.0), 1e-9),
            (Dist::Exponential(5.0), 0.02),
            (Dist::Uniform(2.0, 6.0), 0.01),
            (pareto(Some(5e5)), 0.02),
            (pareto(Some(3e3)), 1e-9), // below the smallest value
            (Dist::Pareto { shape: 3.0, mean: 3.0, max: None }, 0.02),
        ] {
            let mut rng = Rng::stream(3, "mean");
            let mean = (0..200_000).map(|_| dist.draw(&mut rng)).sum::<f64>() / 2e5;
            assert!((mean / dist.mean() - 1.0).abs() < rough, "{dist:?}: {mean}");
        }
    }
}
