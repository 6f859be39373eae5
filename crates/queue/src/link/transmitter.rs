//! The transmitter of a link: a rate, a rate that changes, opportunities, or a bucket of tokens.

use crate::config::{LinkConfig, Schedule, Trace};
use penstock_units::{Duration, Framing, Rate, Time, TxClock, BYTE_AT_ONE_BPS};
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub(crate) struct Transmitter {
    tx: TxClock,
    /// Steps still to come, the next one last; empty for a constant rate.
    steps: Vec<(Time, Option<Rate>)>,
    rate: Option<Rate>,
    /// What did not fill a tick, in bits times ticks a second, while the rate changes.
    rest: u128,
    trace: Option<Box<Opportunities>>,
    framing: Option<Framing>,
    bucket: Option<Bucket>,
    /// `tx` alone tells how long a packet takes: there is a rate, it changes no more, and packets
    /// take their own size.
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
        let (rate, framing) = (Some(c.rate), c.framing);
        let bucket = c.burst.map(Bucket::full);
        let steady = steps.is_empty() && trace.is_none() && framing.is_none() && bucket.is_none();
        let tx = TxClock::new(c.rate);
        Transmitter { tx, steps, rate, rest: 0, trace, framing, bucket, steady }
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
        let bytes = self.framing.map_or(bytes, |framing| framing.wire(bytes));
        if let Some(trace) = &mut self.trace {
            return trace.send(bytes);
        }
        if let Some(bucket) = &mut self.bucket {
            return bucket.send(start, self.tx.next(bytes));
        }
        if self.steps.is_empty() && self.rate.is_some() {
            return start + self.tx.next(bytes);
        }
        let end = self.finish_stepwise(start, bytes);
        // Behind the last step there is no rest.
        self.steady = self.steps.is_empty() && self.rate.is_some() && self.framing.is_none();
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

    /// Returns how long a packet of `bytes` takes by itself.
    pub(crate) fn alone(&self, bytes: u32) -> Duration {
        if self.bucket.is_some() {
            return Duration::ZERO;
        }
        self.tx.alone(self.framing.map_or(bytes, |framing| framing.wire(bytes)))
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

/// A bucket of tokens, which are time at the link's rate. A packet leaves when the bucket holds the
/// time that it takes, and takes that out; the bucket fills as time passes, up to `burst`. A packet
/// that takes more than that leaves when the bucket is full.
#[derive(Clone)]
struct Bucket {
    burst: Duration,
    /// When it is full if nothing more is sent.
    full_at: Time,
}

impl Bucket {
    fn full(burst: Duration) -> Self {
        Bucket { burst, full_at: Time::ZERO }
    }

    /// When a packet leaves that takes `long` and is the first to wait from `start` on.
    fn send(&mut self, start: Time, long: Duration) -> Time {
        // At t the bucket holds burst − (full_at − t).
        let leaves = start.max((self.full_at + long).before(self.burst.max(long)));
        self.full_at = self.full_at.max(leaves) + long;
        leaves
    }
}

/// Where a link stands in its mahimahi trace. An opportunity is used by what waits at its instant:
/// several packets share one, a large one takes several. What arrives at the very instant is too
/// late, and bytes that nobody used are lost.
#[derive(Clone)]
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
        let rate = Some(rate);
        Transmitter { tx, steps, rate, rest: 0, trace: None, framing: None, bucket: None, steady }
    }

    /// 1 Mbit/s, 5000 B are 40 ms: three packets of 1500 B, 12 ms each, leave 4 ms, and the fourth
    /// waits for 8. After that one leaves every 12 ms. At 80 ms the bucket is empty, at 120 ms full.
    #[test]
    fn a_bucket_lets_a_burst_go_at_once() {
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        let mut shaper = Transmitter {
            tx: TxClock::new(Rate::from_bps(1_000_000).unwrap()),
            bucket: Some(Bucket::full(Duration::from_millis(40))),
            ..transmitter(&[(1, None)])
        };
        let mut free = ms(0);
        for want in [0, 0, 0, 8, 20, 32, 44, 56, 68, 80] {
            free = shaper.finish(free, 1500);
            assert_eq!(free, ms(want));
        }
        let late = [0; 4].map(|_| shaper.finish(ms(120), 1500));
        assert_eq!(late, [120, 120, 120, 128].map(ms), "full again, and no more than that");
        // With overhead each takes more: 1500 + 375 B are 15 ms.
        shaper.framing = Some(Framing { overhead: 375, ..Framing::NONE });
        let framed = [0; 4].map(|_| shaper.finish(ms(300), 1500));
        assert_eq!(framed, [300, 300, 305, 320].map(ms));
        // 6000 B are 48 ms, more than it holds: they go when it is full, at 360 ms, and at 408.
        assert_eq!([0; 2].map(|_| shaper.finish(ms(320), 6000 - 375)), [360, 408].map(ms));
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

    /// ns-3's test suite of its token bucket, cases 1 and 3. 6 kB/s and 6000 B: four packets of 1500 B
    /// find tokens, the fifth waits for a packet's worth. 5 kB/s and 5000 B: of packets of 1000 B that
    /// come every 100 ms, each of which finds 500 B more, the tenth is the first to wait.
    #[test]
    fn a_bucket_as_ns3_has_it() {
        let shaper = |bps, burst_ms| Transmitter {
            tx: TxClock::new(Rate::from_bps(bps).unwrap()),
            bucket: Some(Bucket::full(Duration::from_millis(burst_ms))),
            ..transmitter(&[(1, None)])
        };
        let ms = |t: u64| Time::from_nanos(t * 1_000_000);
        let mut bucket = shaper(48_000, 1000);
        let went = [0; 5].map(|_| bucket.finish(ms(0), 1500));
        assert_eq!(went, [0, 0, 0, 0, 250].map(ms));
        let mut bucket = shaper(40_000, 1000);
        let waits: Vec<_> =
            (0..10).map(|i| bucket.finish(ms(100 * i), 1000) > ms(100 * i)).collect();
        assert_eq!(waits, [vec![false; 9], vec![true]].concat());
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
