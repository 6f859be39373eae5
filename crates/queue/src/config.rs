//! The configuration of a link and of an access link.

use crate::user::UserAqm;
use penstock_aqm::Context;
use penstock_units::param::{Dist, Loss, Values};
use penstock_units::{Duration, Framing, QueueLen, Rate, Time};
use std::sync::Arc;

/// A link between two routers and the queue in front of it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Its name in series, traces and random streams: `"bottleneck"`, `"bottleneck.reverse"`,
    /// `"R0-R1"`.
    pub name: String,
    /// The link the other way, an index into the links of the run; a capture takes both.
    pub opposite: Option<u32>,
    /// Rate at the start of the run; with a trace what the discipline may believe.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// What may wait.
    pub buffer: QueueLen,
    /// Whether the packet in transmission counts against `buffer`.
    pub count_in_service: bool,
    /// The discipline.
    pub aqm: AqmConfig,
    /// Its checked values.
    pub aqm_values: Arc<Values>,
    /// What the discipline may know of the link.
    pub aqm_context: Context,
    /// What the wire loses, after the queue.
    pub loss: Loss,
    /// Whether the wire clears the ECN field of packets, after the queue.
    pub bleach: bool,
    /// What the wire adds to its delay.
    pub jitter: Option<Jitter>,
    /// How the rate changes.
    pub schedule: Schedule,
    /// What a packet takes on the wire, where that is not its own size.
    pub framing: Option<Framing>,
    /// The link is a token bucket that holds so much time at `rate`, which is steady then: packets
    /// leave at once while it is not empty. Without one they are sent at `rate`.
    pub burst: Option<Duration>,
}

/// How much longer than its delay each packet is on a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// In seconds.
    pub law: Dist,
    /// Whether a packet overtakes those before it where it takes so much less.
    pub reorder: bool,
}

/// The discipline of a link.
#[derive(Clone, Debug)]
pub enum AqmConfig {
    /// One of [`penstock_aqm::KINDS`], by name.
    Kind(&'static str),
    /// A custom one.
    User(UserAqm),
}

impl AqmConfig {
    /// The kind's name.
    pub fn name(&self) -> &str {
        match self {
            AqmConfig::Kind(name) => name,
            AqmConfig::User(own) => own.name(),
        }
    }
}

/// A link's rate over time.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Steps, ascending in time; `None` is a link that is down. Without steps the rate never
    /// changes.
    Steps(Vec<(Time, Option<Rate>)>),
    /// Opportunities to send, instead of a rate.
    Trace(Arc<Trace>),
}

/// A mahimahi trace (Netravali et al. 2015): at each of these instants up to [`Trace::OPPORTUNITY`]
/// bytes leave, at once. They may be several small packets or part of a large one; what finds
/// nothing to send is lost. After the last instant it begins again.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Vec<Duration>);

impl Trace {
    /// Bytes that one opportunity takes: an MTU. (mahimahi itself counts 1504, with the four bytes
    /// that its TUN device prepends to each packet.)
    pub const OPPORTUNITY: u32 = 1500;

    /// From instants in ascending order, the last above zero; `None` if they are not so.
    pub fn new(at: Vec<Duration>) -> Option<Self> {
        let ascending = at.windows(2).all(|w| w[0] <= w[1]);
        (ascending && at.last().is_some_and(|last| *last > Duration::ZERO)).then_some(Trace(at))
    }
    /// The opportunities of one round.
    pub fn instants(&self) -> &[Duration] {
        &self.0
    }
    /// The length of one round.
    pub fn period(&self) -> Duration {
        *self.0.last().expect("checked when it was made")
    }
    /// Opportunities before `t`.
    pub fn before(&self, t: Time) -> u64 {
        let period = self.period().as_ticks();
        // Rounds that ended before `t`; the next begins where the last one's last opportunity is.
        let rounds = t.as_ticks().saturating_sub(1) / period;
        let rest = t.as_ticks() - rounds * period;
        rounds * self.0.len() as u64 + self.0.partition_point(|at| at.as_ticks() < rest) as u64
    }
    /// Bits per second over one round, at least 1.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.0.len() as f64 * f64::from(Trace::OPPORTUNITY) * 8.0;
        let bps = (bits / self.period().as_secs_f64()).round().max(1.0);
        Rate::from_bps(bps as u64).expect("at least 1")
    }
}

impl Schedule {
    /// Returns the mean rate from `from` to `to`, bits per second, of a link that begins at `rate`.
    pub fn mean_rate(&self, rate: Rate, (from, to): (Time, Time)) -> f64 {
        let seconds = to.since(from).as_secs_f64();
        match self {
            Schedule::Trace(trace) => {
                let n = trace.before(to) - trace.before(from);
                n as f64 * f64::from(Trace::OPPORTUNITY) * 8.0 / seconds
            }
            Schedule::Steps(steps) => {
                let mut bits = 0.0;
                let start = std::iter::once((Time::ZERO, Some(rate)));
                let mut steps = start.chain(steps.iter().copied()).peekable();
                while let Some((at, rate)) = steps.next() {
                    let until = steps.peek().map_or(to, |step| step.0).min(to);
                    bits += until.since(at.max(from)).as_secs_f64()
                        * rate.map_or(0.0, |r| r.as_bps() as f64);
                }
                bits / seconds
            }
        }
    }
}

impl LinkConfig {
    /// Whether packets may overtake each other on the wire.
    pub fn reorders(&self) -> bool {
        self.jitter.as_ref().is_some_and(|jitter| jitter.reorder)
    }

    /// Mean rate from `from` to `to`, bits per second.
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        self.schedule.mean_rate(self.rate, (from, to))
    }
}

/// What a link keeps besides carrying packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep {
    /// The window over which it counts; `None`: it counts nothing.
    pub window: Option<(Time, Time)>,
    /// The sampling interval of the `queue` series.
    pub series: Option<Duration>,
    /// Whether it writes the `events` series.
    pub events: bool,
    /// The window over which it counts each flow's packets that carry data; `None`: it does not.
    pub flows: Option<(Time, Time)>,
    /// Whether it counts what becomes of its packets from its beginning on ([`crate::Tally`]).
    pub tally: bool,
}

/// A host's access link, the same in both directions. Each direction is a FIFO.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// `None`: the host is the router itself, there is no access link.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Packets that may wait in each direction; `None`: any number.
    pub buffer: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 2, 5 ms, again and again: 6, 7, 7, 10, 11 …
    #[test]
    fn opportunities_are_counted_over_rounds() {
        let at = [1, 2, 2, 5].map(Duration::from_millis);
        let trace = Trace::new(at.to_vec()).unwrap();
        let micro = |us: u64| Time::from_nanos(us * 1000);
        for (us, n) in [
            (0, 0),
            (1000, 0),
            (1001, 1),
            (2001, 3),
            (5000, 3),
            (5001, 4),
            (6000, 4),
            (7001, 7),
            (50_001, 40),
        ] {
            assert_eq!(trace.before(micro(us)), n, "before {us} us");
        }
        // 4 · 12000 bits in 5 ms.
        assert_eq!(trace.mean_rate().as_bps(), 9_600_000);
        // An opportunity at zero falls together with the last one of the round before.
        let zero = Trace::new(vec![Duration::ZERO, Duration::from_millis(10)]).unwrap();
        assert_eq!([1, 10_000, 10_001, 20_001].map(|us| zero.before(micro(us))), [1, 1, 3, 5]);
        assert_eq!(Trace::new(vec![]), None);
        assert_eq!(Trace::new(vec![Duration::ZERO]), None);
        assert_eq!(Trace::new(vec![at[3], at[0]]), None);
    }
}
