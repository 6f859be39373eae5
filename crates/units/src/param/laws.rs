//! Composite values: delays, starts, distributions, losses and rates over time, as they are written.

use crate::{Duration, Rate};

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

/// A named distribution of a positive quantity (bytes, or seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// A mahimahi trace: the file, and the hash that its content must have, where that is known.
    Mahimahi {
        /// Its path.
        file: String,
        /// FNV-1a (64 bit) of its content, in hexadecimal.
        hash: Option<String>,
    },
}
