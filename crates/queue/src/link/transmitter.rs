//! The transmitter of a link: a rate, a rate that changes, or opportunities.

use crate::config::{LinkConfig, Schedule, Trace};
use penstock_units::{Duration, Rate, Time, TxClock, BYTE_AT_ONE_BPS};
use std::sync::Arc;

/// The transmitter: a rate, a rate that changes, or opportunities.
pub(crate) struct Transmitter {
    tx: TxClock,
    /// Steps still to come, the next one last; empty for a constant rate.
    steps: Vec<(Time, Option<Rate>)>,
    rate: Option<Rate>,
    /// What did not fill a tick, in bits times ticks a second, while the rate changes.
    rest: u128,
    trace: Option<Box<Opportunities>>,
    /// There is a rate, and it changes no more: `tx` alone tells how long a packet takes.
    steady: bool,
}

impl Transmitter {
    /// A transmitter at time zero.
    pub(crate) fn new(c: &LinkConfig) -> Self {
        let (mut steps, trace) = match &c.schedule {
            Schedule::Steps(steps) => (steps.clone(), None),
            Schedule::Trace(trace) => (vec![], Some(Box::new(Opportunities::new(trace)))),
        };
        steps.reverse();
        let steady = steps.is_empty() && trace.is_none();
        let rate = Some(c.rate);
        Transmitter { tx: TxClock::new(c.rate), steps, rate, rest: 0, trace, steady }
    }

    /// When a packet that arrives at `now` begins to be sent, if the one before it has left at
    /// `free`.
    #[inline]
    pub(crate) fn start(&mut self, free: Time, now: Time) -> Time {
        match &mut self.trace {
            None => free.max(now),
            Some(trace) => trace.start(now),
        }
    }

    /// When a packet begins to be sent that waits already while the one before it is sent.
    pub(crate) fn next_start(&mut self, free: Time) -> Time {
        match &mut self.trace {
            None => free,
            Some(trace) => trace.next_start(),
        }
    }

    /// When `bytes` begun at `start` have left; [`Time::NEVER`] where the link stays down.
    #[inline]
    pub(crate) fn finish(&mut self, start: Time, bytes: u32) -> Time {
        if self.steady {
            return start + self.tx.next(bytes);
        }
        self.finish_slowly(start, bytes)
    }

    /// The end of `bytes` that find a steady transmitter idle at `start`.
    #[inline]
    pub(crate) fn finish_at_once(&mut self, start: Time, bytes: u32) -> Time {
        debug_assert!(self.steady, "the caller has asked");
        self.tx.idle();
        start + self.tx.next(bytes)
    }

    #[inline(never)]
    fn finish_slowly(&mut self, start: Time, bytes: u32) -> Time {
        if let Some(trace) = &mut self.trace {
            return trace.send(bytes);
        }
        let end = self.finish_stepwise(start, bytes);
        // Behind the last step there is no rest.
        self.steady = self.steps.is_empty() && self.rate.is_some();
        end
    }

    fn finish_stepwise(&mut self, start: Time, bytes: u32) -> Time {
        let mut t = start;
        let mut work = u128::from(bytes) * u128::from(BYTE_AT_ONE_BPS) + self.rest;
        self.rest = 0;
        loop {
            while let Some((at, rate)) = self.steps.last().copied() {
                if at > t {
                    break;
                }
                self.rate = rate;
                self.steps.pop();
                if let Some(r) = rate {
                    self.tx = TxClock::new(r);
                }
            }
            let until = self.steps.last().map(|s| s.0);
            match (self.rate, until) {
                (None, None) => return Time::NEVER,
                (None, Some(u)) => t = u,
                (Some(r), until) => {
                    let bps = u128::from(r.as_bps());
                    let need = Duration::from_ticks(u64::try_from(work / bps).unwrap_or(u64::MAX));
                    match until {
                        Some(u) if t + need > u => {
                            work -= u128::from(u.since(t).as_ticks()) * bps;
                            t = u;
                        }
                        _ => {
                            self.rest = if self.steps.is_empty() { 0 } else { work % bps };
                            return t + need;
                        }
                    }
                }
            }
        }
    }

    /// Returns how long `bytes` take by themselves.
    pub(crate) fn alone(&self, bytes: u32) -> Duration {
        self.tx.alone(bytes)
    }

    /// Returns whether it sends at opportunities: then no packet is in service between them.
    #[inline]
    pub(crate) fn has_opportunities(&self) -> bool {
        self.trace.is_some()
    }

    /// Returns whether there is a rate that changes no more.
    pub(crate) fn is_steady(&self) -> bool {
        self.steady
    }

    /// It had nothing to send.
    #[inline]
    pub(crate) fn idle(&mut self) {
        self.tx.idle();
        self.rest = 0;
    }
}

/// Where a link stands in its mahimahi trace. An opportunity is used by what waits at its instant:
/// several packets share one, a large one takes several. What arrives at the very instant is too
/// late, and bytes that nobody used are lost.
struct Opportunities {
    trace: Arc<Trace>,
    /// The start of the present round, and its first opportunity that has not been taken.
    round: Time,
    next: usize,
    /// The opportunity taken last, and the bytes left of it.
    at: Time,
    left: u32,
}

impl Opportunities {
    fn new(trace: &Arc<Trace>) -> Self {
        Opportunities {
            trace: Arc::clone(trace),
            round: Time::ZERO,
            next: 0,
            at: Time::ZERO,
            left: 0,
        }
    }

    fn take(&mut self) {
        let instants = self.trace.instants();
        self.at = self.round + instants[self.next];
        self.left = Trace::OPPORTUNITY;
        self.next += 1;
        if self.next == instants.len() {
            self.round += self.trace.period();
            self.next = 0;
        }
    }

    /// Forgets opportunities up to and including `now`.
    fn pass(&mut self, now: Time) {
        let period = self.trace.period().as_ticks();
        // Whole rounds that lie behind, then those of this round.
        let rounds = now.since(self.round).as_ticks().saturating_sub(1) / period;
        if rounds > 0 {
            self.round += Duration::from_ticks(rounds * period);
            self.next = 0;
        }
        let instants = self.trace.instants();
        let passed = instants[self.next..].partition_point(|at| self.round + *at <= now);
        self.next += passed;
        if self.next == instants.len() {
            self.round += self.trace.period();
            self.next = 0;
            // The first of a round may fall on the last of the one before.
            self.next = instants.partition_point(|at| self.round + *at <= now);
        }
    }

    fn start(&mut self, now: Time) -> Time {
        if now < self.at {
            return self.next_start();
        }
        self.pass(now);
        self.take();
        self.at
    }

    fn next_start(&mut self) -> Time {
        if self.left == 0 {
            self.take();
        }
        self.at
    }

    /// When the last of `bytes` leaves.
    fn send(&mut self, mut bytes: u32) -> Time {
        while bytes > self.left {
            bytes -= self.left;
            self.take();
        }
        self.left -= bytes;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmitter(steps: &[(u64, Option<u64>)]) -> Transmitter {
        let mut steps: Vec<_> = steps
            .iter()
            .map(|(ms, bps)| (Time::from_nanos(ms * 1_000_000), bps.and_then(Rate::from_bps)))
            .collect();
        steps.reverse();
        let rate = Rate::from_bps(8_000).unwrap();
        let (tx, steady) = (TxClock::new(rate), steps.is_empty());
        Transmitter { tx, steps, rate: Some(rate), rest: 0, trace: None, steady }
    }

    /// 8 kbit/s: 1000 B take a second. By hand.
    #[test]
    fn a_rate_may_change_in_the_middle_of_a_packet() {
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        for (steps, start, want) in [
            (vec![], 0, 1000),
            (vec![(500, Some(16_000))], 0, 750), // half at 8, half at 16 kbit/s
            (vec![(500, None), (800, Some(8_000))], 0, 1300), // 300 ms down
            (vec![(200, Some(16_000))], 300, 800), // already changed
            (vec![(100, None), (200, Some(80_000)), (250, Some(8_000))], 0, 650), // 0.1 + 0.5 + 0.4
        ] {
            assert_eq!(transmitter(&steps).finish(ms(start), 1000), ms(want), "{steps:?}");
        }
        assert_eq!(transmitter(&[(500, None)]).finish(ms(0), 1000), Time::NEVER);
    }

    /// Opportunities at 1, 2, 2 and 5 ms of every 5: what each packet (bytes, arrival in ms) is
    /// given, as start and end. By hand.
    #[test]
    fn packets_share_opportunities() {
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        for (packets, want) in [
            (
                vec![(1500, 0), (1500, 0), (1500, 0), (1500, 0)],
                vec![(1, 1), (2, 2), (2, 2), (5, 5)],
            ),
            (vec![(500, 0), (500, 0), (500, 0), (1, 0)], vec![(1, 1), (1, 1), (1, 1), (2, 2)]),
            (vec![(2000, 0), (1000, 0), (1, 0)], vec![(1, 2), (2, 2), (2, 2)]), // 500 B over, 1000 B fill them
            (vec![(500, 0), (500, 1)], vec![(1, 1), (2, 2)]), // the rest of 1 ms is lost, and who comes at 1 ms too late
            (vec![(4000, 0), (600, 1)], vec![(1, 2), (2, 5)]), // 500 B over, not enough for all of the next
            (vec![(100, 2), (100, 5), (100, 23)], vec![(5, 5), (6, 6), (25, 25)]),
            (vec![(15_000, 0)], vec![(1, 12)]), // the tenth
        ] {
            let trace = Trace::new([1, 2, 2, 5].map(Duration::from_millis).to_vec()).unwrap();
            let mut o = Opportunities::new(&Arc::new(trace));
            for ((bytes, at), (start, end)) in packets.iter().zip(&want) {
                assert_eq!(
                    (o.start(ms(*at)), o.send(*bytes)),
                    (ms(*start), ms(*end)),
                    "{packets:?}"
                );
            }
        }
    }
}
