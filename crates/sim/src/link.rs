//! A link between two routers and the queue in front of it.
//!
//! Most disciplines decide at arrival. In a FIFO the departure of an accepted packet is then known
//! at once: the link is *lazy*, it keeps the starts of the waiting packets' transmissions and
//! replays departures, the discipline's timer and samples up to `now`, in order, before each
//! arrival. A discipline that decides at departure makes the link *eager*: it holds the packets
//! themselves and asks for an event when the transmitter falls free. Where the discipline orders
//! the packets itself, the link gives each a handle.

use crate::config::{Config, LinkConfig, Schedule, Trace};
use crate::engine::SimError;
use crate::link_metrics::LinkView;
use crate::result::Table;
use crate::series::QueueSeries;
use crate::stats::LinkStats;
use crate::user::{Abort, AqmConfig, Start};
use penstock_aqm::{Aqm, Codepoints, Discipline, Ecn, Level, Packet, Queue, Reason, Verdict};
use penstock_units::param::Loss;
use penstock_units::{Duration, QueueLen, Rate, Rng, Time, TxClock, BYTE_AT_ONE_BPS};
use std::collections::VecDeque;
use std::sync::Arc;

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the other end at this time, with this ECN field.
    Through(Time, Ecn),
    /// It waits at an eager link; `Some`: the link asks to be served then.
    Held(Option<Time>),
    /// It is gone.
    Dropped,
}

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    /// What the discipline sees of it.
    pub pkt: Packet,
    /// Its place in the driver's pool.
    pub index: u32,
    /// Whether it carries data; else it is an ACK.
    pub data: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    start: Time,
    bytes: u32,
    flow: u32,
}

#[derive(Clone, Copy, Debug)]
struct HeldPacket {
    arrived: Time,
    arriving: Arriving,
    ecn: Ecn,
}

/// The packets that wait at an eager link.
enum Held {
    Fifo(VecDeque<HeldPacket>),
    /// In the discipline's order; the handle is the place. What was freed last is used first.
    Ordered {
        places: Vec<HeldPacket>,
        free: Vec<u32>,
    },
}

impl Held {
    fn new(ordered: bool) -> Self {
        if ordered {
            Held::Ordered { places: vec![], free: vec![] }
        } else {
            Held::Fifo(VecDeque::new())
        }
    }

    fn len(&self) -> usize {
        match self {
            Held::Fifo(line) => line.len(),
            Held::Ordered { places, free } => places.len() - free.len(),
        }
    }

    /// Its handle, where the discipline orders.
    fn put(&mut self, p: HeldPacket) -> Option<u32> {
        match self {
            Held::Fifo(line) => {
                line.push_back(p);
                None
            }
            Held::Ordered { places, free } => Some(if let Some(handle) = free.pop() {
                places[handle as usize] = p;
                handle
            } else {
                places.push(p);
                u32::try_from(places.len() - 1).expect("fewer packets than the engine's pool holds")
            }),
        }
    }

    /// The packet whose turn it is.
    fn next(&mut self, now: Time, aqm: &mut Discipline) -> Option<HeldPacket> {
        match self {
            Held::Fifo(line) => line.pop_front(),
            Held::Ordered { .. } => {
                let next = aqm.next(now);
                debug_assert_eq!(next.is_some(), self.len() > 0, "a packet's turn while any waits");
                next.map(|handle| self.take(handle))
            }
        }
    }

    fn take(&mut self, handle: u32) -> HeldPacket {
        let Held::Ordered { places, free } = self else { unreachable!("a FIFO gives no handles") };
        debug_assert!(!free.contains(&handle), "the handle of a waiting packet");
        free.push(handle);
        places[handle as usize]
    }
}

/// The transmitter: a rate, a rate that changes, or opportunities.
struct Transmitter {
    tx: TxClock,
    /// Steps still to come, the next one last; empty for a constant rate.
    steps: Vec<(Time, Option<Rate>)>,
    rate: Option<Rate>,
    /// What did not fill a tick, in bits times ticks a second, while the rate changes.
    rest: u128,
    trace: Option<Box<Opportunities>>,
}

impl Transmitter {
    fn new(c: &LinkConfig) -> Self {
        let (mut steps, trace) = match &c.schedule {
            Schedule::Steps(steps) => (steps.clone(), None),
            Schedule::Trace(trace) => (vec![], Some(Box::new(Opportunities::new(trace)))),
        };
        steps.reverse();
        Transmitter { tx: TxClock::new(c.rate), steps, rate: Some(c.rate), rest: 0, trace }
    }

    /// When a packet that arrives at `now` begins to be sent, if the one before it has left at
    /// `free`.
    #[inline]
    fn start(&mut self, free: Time, now: Time) -> Time {
        match &mut self.trace {
            None => free.max(now),
            Some(trace) => trace.start(now),
        }
    }

    /// The same for a packet that waits already when the one before it begins to be sent.
    fn next_start(&mut self, free: Time) -> Time {
        match &mut self.trace {
            None => free,
            Some(trace) => trace.next_start(),
        }
    }

    /// When `bytes` begun at `start` have left; [`Time::NEVER`] where the link stays down.
    #[inline]
    fn finish(&mut self, start: Time, bytes: u32) -> Time {
        if self.steps.is_empty() && self.rest == 0 && self.trace.is_none() {
            if self.rate.is_none() {
                return Time::NEVER;
            }
            return start + self.tx.next(bytes);
        }
        self.finish_slowly(start, bytes)
    }

    #[inline(never)]
    fn finish_slowly(&mut self, start: Time, bytes: u32) -> Time {
        match &mut self.trace {
            None => self.finish_stepwise(start, bytes),
            Some(trace) => trace.send(bytes),
        }
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

    #[inline]
    fn idle(&mut self) {
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

/// Random loss on the wire.
struct Wire {
    loss: Loss,
    bad: bool,
    rng: Rng,
}

impl Wire {
    fn new(loss: Loss, seed: u64, link: &str) -> Option<Self> {
        let ever = match loss {
            Loss::Bernoulli(p) => p > 0.0,
            Loss::GilbertElliott { good, bad, .. } => good > 0.0 || bad > 0.0,
        };
        ever.then(|| Wire { loss, bad: false, rng: Rng::stream(seed, &format!("loss/{link}")) })
    }

    /// Whether it loses the next packet.
    fn loses(&mut self) -> bool {
        match self.loss {
            Loss::Bernoulli(p) => self.rng.unit() < p,
            Loss::GilbertElliott { p, r, good, bad } => {
                let lost = self.rng.unit() < if self.bad { bad } else { good };
                self.bad ^= self.rng.unit() < if self.bad { r } else { p };
                lost
            }
        }
    }
}

/// See the module. Any driver may stand around it: the simulator's engine with its packets, a
/// router with real ones.
pub struct Link {
    transmitter: Transmitter,
    delay: Duration,
    busy_until: Time,
    limit: u64,
    limit_in_bytes: bool,
    count_in_service: bool,
    in_service_bytes: u32,
    /// When the packet in service began to be sent.
    in_service_since: Time,
    /// An arrival may go before the departure of its instant.
    ties_by_scheduling: bool,
    q: Queue,
    waiting: VecDeque<Waiting>,
    held: Held,
    eager: bool,
    /// The discipline orders the packets that are held.
    ordered: bool,
    /// Places in the driver's pool of packets dropped to make room for the one that arrived last;
    /// the driver takes them.
    pub evicted: Vec<u32>,
    service_due: bool,
    aqm: Discipline,
    codepoints: Codepoints,
    rng: Rng,
    /// The earlier of the discipline's timer and the next sample.
    next_internal: Time,
    wire: Option<Box<Wire>>,
    /// Of the whole run, for the conservation of packets.
    arrived: u64,
    departed: u64,
    lost: u64,
    pub(crate) stats: Option<Box<LinkStats>>,
    pub(crate) series: Option<Box<QueueSeries>>,
    /// A tap behind the queue: when the transmission of the packet accepted last starts, and its
    /// ECN field.
    pub(crate) tap: Option<Box<Option<(Time, Ecn)>>>,
}

impl Link {
    pub(crate) fn new(
        c: &LinkConfig,
        aqm: Discipline,
        seed: u64,
        ties_by_scheduling: bool,
    ) -> Self {
        let (limit, limit_in_bytes) = match c.buffer {
            QueueLen::Packets(n) => (n.max(0.0) as u64, false),
            QueueLen::Bytes(b) => (b, true),
        };
        let mut link = Link {
            transmitter: Transmitter::new(c),
            delay: c.delay,
            busy_until: Time::ZERO,
            limit,
            limit_in_bytes,
            count_in_service: c.count_in_service,
            in_service_bytes: 0,
            in_service_since: Time::ZERO,
            ties_by_scheduling,
            q: Queue { pkts: 0, bytes: 0, idle_since: Some(Time::ZERO) },
            waiting: VecDeque::new(),
            codepoints: aqm.codepoints(),
            held: Held::new(aqm.schedules()),
            eager: aqm.decides_at_departure() || aqm.schedules(),
            ordered: aqm.schedules(),
            evicted: vec![],
            service_due: false,
            aqm,
            rng: aqm_stream(seed, &c.name),
            next_internal: Time::NEVER,
            wire: Wire::new(c.loss, seed, &c.name).map(Box::new),
            arrived: 0,
            departed: 0,
            lost: 0,
            stats: None,
            series: None,
            tap: None,
        };
        link.schedule_internal();
        link
    }

    /// Link `i` of a run, with the counters and the series that the run asks for.
    ///
    /// # Errors
    /// If the discipline's values do not fit together, or a user's own cannot be made.
    pub fn of(c: &Config, i: usize, abort: &Abort) -> Result<Self, SimError> {
        let l = &c.links[i];
        let aqm = discipline(l, c.seed, abort)?;
        let mut columns = vec![];
        aqm.state(&mut |name, _| columns.push(name));
        let mut link = Link::new(l, aqm, c.seed, c.ties_by_scheduling);
        if i == c.bottleneck || c.measure_links {
            link.stats = Some(Box::new(LinkStats::new(c.measure_from, c.measure_to)));
        }
        if i == c.bottleneck && (c.record.series.is_some() || c.record.events) {
            link.record(QueueSeries::new(c.record.series, c.record.events, &columns));
        }
        Ok(link)
    }

    /// Returns what the link's metrics are computed from, where it is measured. `mean_rate` is the
    /// link's mean rate over the window in bits per second.
    pub fn view(&self, mean_rate: f64) -> Option<LinkView> {
        let stats = self.stats.as_deref()?.clone();
        Some(LinkView { stats, mean_rate })
    }

    /// The measured window ends at `at`, if it was to end later.
    pub fn close(&mut self, at: Time) {
        if let Some(stats) = &mut self.stats {
            stats.close(at);
        }
    }

    /// The series that were recorded.
    pub fn tables(&mut self) -> Vec<Table> {
        self.series.take().map(|series| series.tables()).unwrap_or_default()
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.q.pkts
    }

    /// How long before its arrival at the other end a packet of `bytes` began to be sent.
    pub(crate) fn crossing(&self, bytes: u32) -> Duration {
        self.transmitter.tx.alone(bytes) + self.delay
    }

    /// Starts recording: the first sample is taken at time zero.
    pub(crate) fn record(&mut self, series: QueueSeries) {
        self.series = Some(Box::new(series));
        self.schedule_internal();
    }

    fn schedule_internal(&mut self) {
        let tick = self.aqm.next_tick().unwrap_or(Time::NEVER);
        let sample = self.series.as_ref().map_or(Time::NEVER, |s| s.next_sample());
        self.next_internal = tick.min(sample);
    }

    /// Replays what has happened up to and including `now`: departures first, then timers and
    /// samples.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        loop {
            let start = self.waiting.front().map_or(Time::NEVER, |w| w.start);
            if start <= now && start <= self.next_internal {
                let w = self.waiting.pop_front().expect("there is a front");
                self.leave(start, w.bytes);
                self.departed += 1;
                if let Some(series) = &mut self.series {
                    series.event(start, "dequeue", w.flow, w.bytes, self.q.pkts);
                }
            } else if self.next_internal <= now {
                self.internal(self.next_internal);
            } else {
                return;
            }
        }
    }

    /// A waiting packet starts to be sent.
    #[inline]
    fn leave(&mut self, start: Time, bytes: u32) {
        if let Some(stats) = &mut self.stats {
            stats.held(start, self.q.pkts);
        }
        self.q.pkts -= 1;
        self.q.bytes -= u64::from(bytes);
        self.in_service_bytes = bytes;
        self.in_service_since = start;
    }

    /// The discipline's timer or a sample, whichever is due at `t`.
    #[cold]
    fn internal(&mut self, t: Time) {
        if self.aqm.next_tick() == Some(t) {
            let idle = self.busy_until <= t && self.q.pkts == 0;
            self.q.idle_since = idle.then_some(self.busy_until);
            self.aqm.tick(t, &self.q);
        }
        if let Some(series) = &mut self.series {
            if series.next_sample() == t {
                series.sample(t, &self.q, &self.aqm);
            }
        }
        self.schedule_internal();
    }

    /// Whether a packet of `bytes` finds no room. Between opportunities no packet is in service.
    #[inline]
    fn full(&self, bytes: u32) -> bool {
        let busy = self.count_in_service
            && self.q.idle_since.is_none()
            && self.transmitter.trace.is_none();
        if self.limit_in_bytes {
            let in_service = if busy { u64::from(self.in_service_bytes) } else { 0 };
            self.q.bytes + in_service + u64::from(bytes) > self.limit
        } else {
            u64::from(self.q.pkts) + u64::from(busy) >= self.limit
        }
    }

    /// A packet arrives. `scheduled` tells when it began to be sent to this link; it is asked only
    /// where that matters.
    #[inline]
    pub fn arrive(&mut self, now: Time, a: &Arriving, scheduled: impl FnOnce() -> Time) -> Fate {
        if self.ties_by_scheduling {
            self.advance(now.before(Duration::from_ticks(1)));
            let tie = self.waiting.front().is_some_and(|w| w.start == now);
            let departs =
                if tie { self.in_service_since <= scheduled() } else { self.next_internal == now };
            if departs {
                self.advance(now);
            }
        } else {
            self.advance(now);
        }
        self.arrived += 1;
        let idle = self.busy_until <= now && self.q.pkts == 0;
        self.q.idle_since = idle.then_some(self.busy_until);
        let verdict = self.aqm.arrive(now, &a.pkt, &self.q, &mut self.rng);
        if let Some(stats) = &mut self.stats {
            stats.arrival(now, a.data);
            stats.average(now, self.aqm.average_pkts());
        }
        if self.ordered && !matches!(verdict, Verdict::Drop(_)) {
            self.make_room(now, &a.pkt);
        }
        let verdict = if self.full(a.pkt.bytes) {
            self.aqm.overflow(now, &a.pkt, &self.q);
            Verdict::Drop(Reason::Overflow)
        } else {
            verdict
        };
        let ecn = match verdict {
            Verdict::Drop(reason) => {
                self.refused(now, a, reason);
                return Fate::Dropped;
            }
            Verdict::Pass => a.pkt.ecn,
            Verdict::Mark(level, _) => self.codepoints.marked(a.pkt.ecn, level),
        };
        if self.eager {
            return self.hold(now, a, ecn);
        }
        let start = self.transmitter.start(self.busy_until, now);
        if idle {
            self.transmitter.idle();
            self.in_service_bytes = a.pkt.bytes;
            self.in_service_since = start;
        }
        self.busy_until = self.transmitter.finish(start, a.pkt.bytes);
        if start > now {
            if let Some(stats) = &mut self.stats {
                stats.held(now, self.q.pkts);
            }
            self.q.pkts += 1;
            self.q.bytes += u64::from(a.pkt.bytes);
            self.waiting.push_back(Waiting { start, bytes: a.pkt.bytes, flow: a.pkt.flow });
        } else {
            self.departed += 1;
        }
        if let Some(stats) = &mut self.stats {
            stats.departure(now, start, a.pkt.bytes, a.data);
            if let Some(level) = raised(a.pkt.ecn, ecn) {
                stats.mark(start, level);
            }
        }
        if let Some(series) = &mut self.series {
            series.accepted(now, start, ecn != a.pkt.ecn, &a.pkt, &self.q);
        }
        self.over_the_wire(start, ecn)
    }

    /// What the wire makes of the packet whose transmission begins at `start` and ends at
    /// `busy_until`.
    #[inline]
    fn over_the_wire(&mut self, start: Time, ecn: Ecn) -> Fate {
        if let Some(tap) = &mut self.tap {
            **tap = Some((start, ecn));
        }
        if self.wire.as_mut().is_some_and(|wire| wire.loses()) {
            return Fate::Dropped;
        }
        Fate::Through(self.busy_until + self.delay, ecn)
    }

    /// A packet is not let in.
    #[cold]
    fn refused(&mut self, now: Time, a: &Arriving, reason: Reason) {
        let word = match reason {
            Reason::Early => "drop_early",
            Reason::Forced => "drop_forced",
            Reason::Overflow => "drop_overflow",
        };
        self.dropped(now, a, reason, word);
    }

    #[cold]
    fn dropped(&mut self, now: Time, a: &Arriving, reason: Reason, word: &str) {
        self.lost += 1;
        if let Some(stats) = &mut self.stats {
            stats.dropped(now, reason, a.data);
        }
        if let Some(series) = &mut self.series {
            series.event(now, word, a.pkt.flow, a.pkt.bytes, self.q.pkts);
        }
    }

    // ---- eager links ---------------------------------------------------------------------------------------

    /// Drops what the discipline gives up for the packet that arrives.
    fn make_room(&mut self, now: Time, pkt: &Packet) {
        while let Some(handle) = self.aqm.evict(now, pkt, &self.q, self.full(pkt.bytes)) {
            let h = self.held.take(handle);
            if let Some(stats) = &mut self.stats {
                stats.held(now, self.q.pkts);
            }
            self.q.pkts -= 1;
            self.q.bytes -= u64::from(h.arriving.pkt.bytes);
            self.dropped(now, &h.arriving, Reason::Overflow, "evict");
            self.evicted.push(h.arriving.index);
        }
    }

    fn hold(&mut self, now: Time, a: &Arriving, ecn: Ecn) -> Fate {
        if let Some(stats) = &mut self.stats {
            stats.held(now, self.q.pkts);
        }
        self.q.pkts += 1;
        self.q.bytes += u64::from(a.pkt.bytes);
        if let Some(handle) = self.held.put(HeldPacket { arrived: now, arriving: *a, ecn }) {
            self.aqm.enqueued(now, &Packet { ecn, ..a.pkt }, handle);
        }
        if let Some(series) = &mut self.series {
            series.accepted(now, Time::NEVER, ecn != a.pkt.ecn, &a.pkt, &self.q);
        }
        if self.service_due {
            return Fate::Held(None);
        }
        self.service_due = true;
        Fate::Held(Some(self.transmitter.start(self.busy_until, now)))
    }

    /// The transmitter is free: the packet that goes next, its fate, and when to be served again.
    /// Packets that the discipline drops at the head go to `dropped`.
    pub fn serve(
        &mut self,
        now: Time,
        mut dropped: impl FnMut(u32),
    ) -> Option<(Arriving, Fate, Option<Time>)> {
        self.advance(now);
        self.service_due = false;
        loop {
            let h = self.held.next(now, &mut self.aqm)?;
            let bytes = h.arriving.pkt.bytes;
            if self.busy_until < now {
                self.transmitter.idle();
            }
            self.leave(now, bytes);
            self.q.idle_since = None;
            let pkt = Packet { ecn: h.ecn, ..h.arriving.pkt };
            let verdict = self.aqm.depart(now, &pkt, now.since(h.arrived), &self.q, &mut self.rng);
            let ecn = match verdict {
                Verdict::Drop(reason) => {
                    self.dropped(now, &h.arriving, reason, "drop_head");
                    dropped(h.arriving.index);
                    continue;
                }
                Verdict::Pass => h.ecn,
                Verdict::Mark(level, _) => self.codepoints.marked(h.ecn, level),
            };
            self.departed += 1;
            if let Some(stats) = &mut self.stats {
                stats.departure(h.arrived, now, bytes, h.arriving.data);
                if let Some(level) = raised(h.arriving.pkt.ecn, ecn) {
                    stats.mark(now, level);
                }
            }
            if let Some(series) = &mut self.series {
                if ecn != h.ecn {
                    series.event(now, "mark_head", pkt.flow, bytes, self.q.pkts);
                }
                series.event(now, "dequeue", pkt.flow, bytes, self.q.pkts);
            }
            self.busy_until = self.transmitter.finish(now, bytes);
            let again = (self.held.len() > 0).then(|| {
                self.service_due = true;
                self.transmitter.next_start(self.busy_until)
            });
            let fate = self.over_the_wire(now, ecn);
            return Some((h.arriving, fate, again));
        }
    }

    /// The run ends at `end`.
    pub fn finish(&mut self, end: Time) {
        self.advance(end);
        let pkts = self.q.pkts;
        let avg = self.aqm.average_pkts();
        if let Some(stats) = &mut self.stats {
            stats.held(end, pkts);
            stats.average(end, avg);
        }
    }

    /// Packets in = out + dropped + held.
    pub fn conserves(&self) -> bool {
        let held = if self.eager { self.held.len() } else { self.waiting.len() } as u64;
        self.arrived == self.departed + self.lost + held && held == u64::from(self.q.pkts)
    }
}

fn discipline(l: &LinkConfig, seed: u64, abort: &Abort) -> Result<Discipline, SimError> {
    match &l.aqm {
        AqmConfig::Kind(name) => penstock_aqm::build(name, &l.aqm_values, &l.aqm_context)
            .map_err(|error| SimError::Aqm { link: l.name.clone(), error }),
        AqmConfig::User(own) => {
            let (context, values) = (&l.aqm_context, &l.aqm_values);
            let rng = aqm_stream(seed, &l.name);
            let made = own.make(Start { link: &l.name, context, values, rng, abort });
            made.map(Discipline::User).map_err(|error| {
                abort.raise(error);
                SimError::Aborted(abort.message())
            })
        }
    }
}

/// The random stream of a link's discipline.
fn aqm_stream(seed: u64, link: &str) -> Rng {
    Rng::stream(seed, &format!("aqm/{link}"))
}

/// The mark that stands in the field `after` and did not `before`: one that an earlier router set
/// is not this one's.
#[inline]
fn raised(before: Ecn, after: Ecn) -> Option<Level> {
    (after != before).then_some(if after == Ecn::Ce { Level::Ce } else { Level::Incipient })
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
        Transmitter { tx: TxClock::new(rate), steps, rate: Some(rate), rest: 0, trace: None }
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

    /// Gilbert's model loses in the bad state alone: a share p/(p + r) of the packets, in bursts of
    /// 1/r.
    #[test]
    fn losses_come_in_bursts() {
        let spec = Loss::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 };
        let mut wire = Wire::new(spec, 1, "a-b").unwrap();
        let n = 400_000;
        let lost: Vec<bool> = (0..n).map(|_| wire.loses()).collect();
        let all = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // Standard errors: bursts sqrt(n p) of about 3850, that is 1.6 %; a burst's length
        // 0.87/sqrt(3850) of 4.
        assert!(
            (bursts / f64::from(n) - 0.01 * 0.25 / 0.26).abs() < 4.0 * 0.016 * 0.0096,
            "{bursts} bursts"
        );
        assert!((all / bursts - 4.0).abs() < 4.0 * 3.5 / bursts.sqrt(), "{} a burst", all / bursts);
        // Elliott's: each state has a probability of its own.
        let spec = Loss::GilbertElliott { p: 0.5, r: 0.5, good: 0.1, bad: 0.3 };
        let mut wire = Wire::new(spec, 1, "a-b").unwrap();
        let share = (0..n).filter(|_| wire.loses()).count() as f64 / f64::from(n);
        assert!((share - 0.2).abs() < 4.0 * (0.2f64 * 0.8 / f64::from(n)).sqrt(), "{share}");
        // It starts good, and without p it stays so.
        let mut good =
            Wire::new(Loss::GilbertElliott { p: 0.0, r: 0.0, good: 0.0, bad: 1.0 }, 1, "a-b")
                .unwrap();
        assert!((0..100).all(|_| !good.loses()));
        assert!(Wire::new(Loss::Bernoulli(0.0), 1, "a-b").is_none());
    }
}
