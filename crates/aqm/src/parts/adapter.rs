//! Adapters retune the profile, and decide when. Each is one paper's contribution and is in that
//! paper's file. This file has what they share.

use crate::context::at_least_a_microsecond;
use crate::parts::profile::{Arrival, Ramp};
use crate::verdict::Verdict;
use penstock_units::param::ParamError;
use penstock_units::{params, words, Duration, Time};

/// The way in which an adapter decides a packet in place of the profile in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instead {
    /// By an independent coin.
    Coin(f64),
    /// By the ramp with this ceiling, through the gate.
    Ceiling(f64),
}

/// An adapter retunes a member of the family with profile `P`. It moves the ramp, or numbers of the
/// profile itself.
pub trait Adapter<P> {
    /// A packet arrived.
    fn arrived(&mut self, _a: &Arrival, _ramp: &mut Ramp, _profile: &mut P) {}

    /// Returns how this packet is to be decided if not by the profile. Called once per arrival,
    /// after [`Adapter::arrived`]. The answer counts only where the average is on the profile.
    #[inline]
    fn instead(&mut self, _a: &Arrival, _ramp: &Ramp) -> Option<Instead> {
        None
    }

    /// The adapter is told what became of a packet that was decided by [`Adapter::instead`].
    fn decided(&mut self, _verdict: Verdict) {}

    /// Returns when [`Adapter::tick`] is due.
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time has come; the average is `avg`, the queue `q`.
    fn tick(&mut self, _avg: f64, _q: f64, _ramp: &mut Ramp, _profile: &mut P) {}

    /// It starts at `now`, not at time zero.
    fn start(&mut self, _now: Time) {}

    /// Publishes what its own keys come to (see [`crate::Aqm::settled`]).
    fn settled(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Returns the bytes that it keeps outside itself.
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// RED has no adapter.
impl<P> Adapter<P> for () {}

/// An adapter that may be left out.
impl<P, A: Adapter<P>> Adapter<P> for Option<A> {
    #[inline]
    fn arrived(&mut self, a: &Arrival, ramp: &mut Ramp, profile: &mut P) {
        if let Some(adapter) = self {
            adapter.arrived(a, ramp, profile);
        }
    }
    #[inline]
    fn instead(&mut self, a: &Arrival, ramp: &Ramp) -> Option<Instead> {
        self.as_mut().and_then(|adapter| adapter.instead(a, ramp))
    }
    fn decided(&mut self, verdict: Verdict) {
        if let Some(adapter) = self {
            adapter.decided(verdict);
        }
    }
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.as_ref().and_then(|adapter| adapter.next_tick())
    }
    fn tick(&mut self, avg: f64, q: f64, ramp: &mut Ramp, profile: &mut P) {
        if let Some(adapter) = self {
            adapter.tick(avg, q, ramp, profile);
        }
    }
    fn start(&mut self, now: Time) {
        if let Some(adapter) = self {
            adapter.start(now);
        }
    }
    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if let Some(adapter) = self {
            adapter.settled(out);
        }
    }
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, Adapter::heap_bytes)
    }
}

/// Two adapters: the first retunes, the second decides packets in place of the profile.
impl<P, A: Adapter<P>, B: Adapter<P>> Adapter<P> for (A, B) {
    #[inline]
    fn arrived(&mut self, a: &Arrival, ramp: &mut Ramp, profile: &mut P) {
        self.0.arrived(a, ramp, profile);
    }
    #[inline]
    fn instead(&mut self, a: &Arrival, ramp: &Ramp) -> Option<Instead> {
        self.1.instead(a, ramp)
    }
    fn decided(&mut self, verdict: Verdict) {
        self.1.decided(verdict);
    }
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.0.next_tick()
    }
    fn tick(&mut self, avg: f64, q: f64, ramp: &mut Ramp, profile: &mut P) {
        self.0.tick(avg, q, ramp, profile);
    }
    fn start(&mut self, now: Time) {
        self.0.start(now);
        self.1.start(now);
    }
    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.settled(out);
        self.1.settled(out);
    }
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes() + self.1.heap_bytes()
    }
}

words! {
    /// What drives an adapter that acts every interval.
    pub enum AdaptOn {
        /// A timer.
        Interval = "interval",
        /// The first arrival after the interval (ns-2).
        Arrival = "arrival",
    }
}

params! {
    /// When an adapter with a clock acts.
    pub struct ClockParams: Default {
        /// Time between two adaptations.
        pub interval: Duration {
            default: "0.5 s",
            source: "Floyd, Gummadi, Shenker 2001, Fig. 2; AMECN paper, Fig. 3",
        },
        /// A timer, or the first arrival after the interval.
        pub adapt_on: AdaptOn {
            default: "interval",
            ns2: "arrival",
            source: "Floyd, Gummadi, Shenker 2001: every interval; ns-2: at arrivals",
        },
    }
}

/// The clock of an adapter that acts every interval.
#[derive(Clone, Debug)]
pub struct Clock {
    interval: Duration,
    /// Acts at arrivals, the first one an interval after `at`, as ns-2 does; else on a timer.
    at_arrivals: bool,
    /// Timer: when due next. Arrivals: when the interval began.
    at: Time,
}

impl Clock {
    /// A clock whose first interval starts at time zero.
    ///
    /// # Errors
    /// If the interval is so short that it would flood the clock.
    pub fn new(params: &ClockParams) -> Result<Self, ParamError> {
        let interval = params.interval;
        at_least_a_microsecond("interval", interval)?;
        let at_arrivals = params.adapt_on == AdaptOn::Arrival;
        let at = if at_arrivals { Time::ZERO } else { Time::ZERO + interval };
        Ok(Clock { interval, at_arrivals, at })
    }

    /// The first interval starts at `now`.
    pub fn start(&mut self, now: Time) {
        self.at = if self.at_arrivals { now } else { now + self.interval };
    }

    /// Returns whether an arrival at `now` finds the interval over.
    #[inline]
    pub fn over(&self, now: Time) -> bool {
        self.at_arrivals && now > self.at + self.interval
    }

    /// The interval begins again at `now`.
    pub fn restart(&mut self, now: Time) {
        self.at = now;
    }

    /// Returns whether arrivals drive it, not a timer.
    pub fn at_arrivals(&self) -> bool {
        self.at_arrivals
    }

    /// Returns when the timer is due.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        (!self.at_arrivals).then_some(self.at)
    }

    /// The timer has come.
    pub fn ticked(&mut self) {
        self.at += self.interval;
    }
}

/// The region of the average, relative to the thresholds. Adapters that answer crossings act on
/// entering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `avg < min_th`.
    Below,
    /// Between them. On one of them the status stays as it was.
    Between,
    /// `avg > max_th`.
    Above,
}

impl Status {
    /// Moves with the average. Returns the status that it enters, if that is another one.
    #[inline]
    pub fn enter(&mut self, avg: f64, r: &Ramp) -> Option<Status> {
        let now = if avg < r.min_th {
            Status::Below
        } else if avg > r.max_th {
            Status::Above
        } else if avg > r.min_th && avg < r.max_th {
            Status::Between
        } else {
            return None;
        };
        (std::mem::replace(self, now) != now).then_some(now)
    }
}
