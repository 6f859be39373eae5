//! A link between two routers and the queue in front of it.
//!
//! Most disciplines decide at arrival. In a FIFO the departure of an accepted packet is then known
//! at once: the link is *lazy*, it keeps the starts of the waiting packets' transmissions and
//! replays departures, the discipline's timer and samples up to `now`, in order, before each
//! arrival. A discipline that decides at departure makes the link *eager*: it holds the packets
//! themselves and asks for an event when the transmitter falls free. Where the discipline orders
//! the packets itself, the link gives each a handle.

mod fate;
mod held;
mod loss;
mod service;
mod transmitter;

pub use fate::{Arriving, Fate};

use crate::config::{Keep, LinkConfig};
use crate::error::LinkError;
use crate::link::held::HeldPacket;
use crate::link::loss::Wire;
use crate::link::service::{Service, Waiting};
use crate::link::transmitter::Transmitter;
use crate::metrics::LinkView;
use crate::series::QueueSeries;
use crate::stats::LinkStats;
use crate::table::Table;
use crate::user::{Abort, AqmConfig, Start};
use penstock_aqm::{Aqm, Codepoints, Discipline, Ecn, Level, Packet, Queue, Reason, Verdict};
use penstock_units::{Duration, QueueLen, Rng, Time};

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
    service: Service,
    aqm: Discipline,
    codepoints: Codepoints,
    /// The discipline wants to see a waiting packet before each arrival.
    draws: bool,
    /// The discipline may give up packets that wait.
    evicts: bool,
    rng: Rng,
    /// The earlier of the discipline's timer and the next sample.
    next_internal: Time,
    wire: Option<Box<Wire>>,
    /// Of the whole run, for the conservation of packets.
    arrived: u64,
    departed: u64,
    lost: u64,
    stats: Option<Box<LinkStats>>,
    series: Option<Box<QueueSeries>>,
    /// A tap behind the queue: when the transmission of the packet accepted last starts, and its
    /// ECN field.
    tap: Option<Box<Option<(Time, Ecn)>>>,
}

impl Link {
    fn with(c: &LinkConfig, aqm: Discipline, seed: u64, ties_by_scheduling: bool) -> Self {
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
            draws: aqm.draws(),
            evicts: aqm.draws() || aqm.schedules(),
            service: Service::new(&aqm),
            codepoints: aqm.codepoints(),
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

    /// Makes a link. With `ties_by_scheduling` an arrival may go before the departure of its
    /// instant. A custom discipline ends the run by `abort`.
    ///
    /// # Errors
    /// If the discipline's values do not fit together, or a custom discipline cannot be made.
    pub fn new(
        c: &LinkConfig,
        seed: u64,
        ties_by_scheduling: bool,
        keep: &Keep,
        abort: &Abort,
    ) -> Result<Self, LinkError> {
        let aqm = discipline(c, seed, abort)?;
        let mut columns = vec![];
        aqm.state(&mut |name, _| columns.push(name));
        let mut link = Link::with(c, aqm, seed, ties_by_scheduling);
        link.stats = keep.window.map(|(from, to)| Box::new(LinkStats::new(from, to)));
        if keep.series.is_some() || keep.events {
            // The first sample is taken at time zero.
            link.series = Some(Box::new(QueueSeries::new(keep.series, keep.events, &columns)));
            link.schedule_internal();
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

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub fn crossing(&self, bytes: u32) -> Duration {
        self.transmitter.alone(bytes) + self.delay
    }

    /// Puts a tap behind the queue.
    pub fn tap(&mut self) {
        self.tap = Some(Box::default());
    }

    /// Takes from the tap when the transmission of the packet that got through last starts, and its
    /// ECN field.
    pub fn tapped(&mut self) -> Option<(Time, Ecn)> {
        self.tap.as_mut()?.take()
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
            let start = self.service.next_start();
            if start <= now && start <= self.next_internal {
                let w = self.service.pop().expect("a packet waits");
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
            && !self.transmitter.has_opportunities();
        if self.limit_in_bytes {
            let in_service = if busy { u64::from(self.in_service_bytes) } else { 0 };
            self.q.bytes + in_service + u64::from(bytes) > self.limit
        } else {
            u64::from(self.q.pkts) + u64::from(busy) >= self.limit
        }
    }

    /// A packet arrives. `scheduled` tells when it began to be sent to this link; it is asked only
    /// where that matters. Packets that the discipline gives up for it go to `evicted`, by their
    /// places in the driver's pool.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        a: &Arriving,
        scheduled: impl FnOnce() -> Time,
        evicted: impl FnMut(u32),
    ) -> Fate {
        self.replay(now, scheduled);
        self.arrived += 1;
        let idle = self.busy_until <= now && self.q.pkts == 0;
        let ecn = match self.judge(now, a, idle, evicted) {
            Verdict::Drop(reason) => {
                self.refused(now, a, reason);
                return Fate::Dropped;
            }
            Verdict::Pass => a.pkt.ecn,
            Verdict::Mark(level, _) => self.codepoints.marked(a.pkt.ecn, level),
        };
        let Service::Lazy { waiting } = &mut self.service else {
            return self.hold(now, a, ecn);
        };
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
            waiting.push_back(Waiting { start, bytes: a.pkt.bytes, flow: a.pkt.flow });
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

    /// Replays what has happened before a packet's arrival at `now`.
    #[inline]
    fn replay(&mut self, now: Time, scheduled: impl FnOnce() -> Time) {
        if self.ties_by_scheduling {
            self.advance(now.before(Duration::from_ticks(1)));
            let tie = self.service.next_start() == now;
            let departs =
                if tie { self.in_service_since <= scheduled() } else { self.next_internal == now };
            if departs {
                self.advance(now);
            }
        } else {
            self.advance(now);
        }
    }

    /// Asks the discipline about the packet that arrives, and then whether there is room for it.
    #[inline]
    fn judge(&mut self, now: Time, a: &Arriving, idle: bool, evicted: impl FnMut(u32)) -> Verdict {
        self.q.idle_since = idle.then_some(self.busy_until);
        if self.draws {
            self.draw();
        }
        let verdict = self.aqm.arrive(now, &a.pkt, &self.q, &mut self.rng);
        if let Some(stats) = &mut self.stats {
            stats.arrival(now, a.data);
            stats.average(now, self.aqm.average_pkts());
        }
        if self.evicts {
            self.make_room(now, &a.pkt, evicted);
        }
        if self.full(a.pkt.bytes) {
            self.aqm.overflow(now, &a.pkt, &self.q);
            return Verdict::Drop(Reason::Overflow);
        }
        verdict
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

    /// Shows the discipline a waiting packet.
    #[cold]
    fn draw(&mut self) {
        let Service::Eager { held, .. } = &self.service else { return };
        if let Some((handle, waiting)) = held.draw(&mut self.rng) {
            self.aqm.drawn(handle, &waiting);
        }
    }

    /// Drops what the discipline gives up for the packet that arrives.
    fn make_room(&mut self, now: Time, pkt: &Packet, mut evicted: impl FnMut(u32)) {
        while let Some((handle, reason)) = self.aqm.evict(now, pkt, &self.q, self.full(pkt.bytes)) {
            let Service::Eager { held, .. } = &mut self.service else { return };
            let h = held.take(handle);
            if let Some(stats) = &mut self.stats {
                stats.held(now, self.q.pkts);
            }
            self.q.pkts -= 1;
            self.q.bytes -= u64::from(h.arriving.pkt.bytes);
            self.dropped(now, &h.arriving, reason, "evict");
            evicted(h.arriving.index);
        }
    }

    /// A packet waits at an eager link.
    fn hold(&mut self, now: Time, a: &Arriving, ecn: Ecn) -> Fate {
        let Service::Eager { held, due } = &mut self.service else { return Fate::Dropped };
        if let Some(stats) = &mut self.stats {
            stats.held(now, self.q.pkts);
        }
        self.q.pkts += 1;
        self.q.bytes += u64::from(a.pkt.bytes);
        if let Some(handle) = held.put(HeldPacket { arrived: now, arriving: *a, ecn }) {
            self.aqm.enqueued(now, &Packet { ecn, ..a.pkt }, handle);
        }
        if let Some(series) = &mut self.series {
            series.accepted(now, Time::NEVER, ecn != a.pkt.ecn, &a.pkt, &self.q);
        }
        if std::mem::replace(due, true) {
            return Fate::Held(None);
        }
        Fate::Held(Some(self.transmitter.start(self.busy_until, now)))
    }

    /// The transmitter is free. Returns the packet that goes next, its fate, and when to be served
    /// again. Packets that the discipline drops at the head go to `dropped`.
    pub fn serve(
        &mut self,
        now: Time,
        dropped: impl FnMut(u32),
    ) -> Option<(Arriving, Fate, Option<Time>)> {
        self.advance(now);
        if let Service::Eager { due, .. } = &mut self.service {
            *due = false;
        }
        let (h, ecn) = self.dequeue(now, dropped)?;
        self.departed += 1;
        let (pkt, bytes) = (h.arriving.pkt, h.arriving.pkt.bytes);
        if let Some(stats) = &mut self.stats {
            stats.departure(h.arrived, now, bytes, h.arriving.data);
            if let Some(level) = raised(pkt.ecn, ecn) {
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
        let again = self.again();
        Some((h.arriving, self.over_the_wire(now, ecn), again))
    }

    /// Takes packets from the head of an eager link until the discipline lets one go. Returns that
    /// one with its ECN field.
    fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(u32)) -> Option<(HeldPacket, Ecn)> {
        loop {
            let Service::Eager { held, .. } = &mut self.service else { return None };
            let h = held.next(now, &mut self.aqm)?;
            if self.busy_until < now {
                self.transmitter.idle();
            }
            self.leave(now, h.arriving.pkt.bytes);
            self.q.idle_since = None;
            let pkt = Packet { ecn: h.ecn, ..h.arriving.pkt };
            match self.aqm.depart(now, &pkt, now.since(h.arrived), &self.q, &mut self.rng) {
                Verdict::Drop(reason) => {
                    self.dropped(now, &h.arriving, reason, "drop_head");
                    dropped(h.arriving.index);
                }
                Verdict::Pass => return Some((h, h.ecn)),
                Verdict::Mark(level, _) => return Some((h, self.codepoints.marked(h.ecn, level))),
            }
        }
    }

    /// Returns when to be served again, if any packet is left.
    fn again(&mut self) -> Option<Time> {
        let Service::Eager { held, due } = &mut self.service else { return None };
        *due = held.len() > 0;
        due.then(|| self.transmitter.next_start(self.busy_until))
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
        let held = self.service.len() as u64;
        self.arrived == self.departed + self.lost + held && held == u64::from(self.q.pkts)
    }
}

fn discipline(l: &LinkConfig, seed: u64, abort: &Abort) -> Result<Discipline, LinkError> {
    match &l.aqm {
        AqmConfig::Kind(name) => penstock_aqm::build(name, &l.aqm_values, &l.aqm_context)
            .map_err(|error| LinkError::Aqm { link: l.name.clone(), error }),
        AqmConfig::User(custom) => {
            let (context, values) = (&l.aqm_context, &l.aqm_values);
            let rng = aqm_stream(seed, &l.name);
            let made = custom.make(Start { link: &l.name, context, values, rng, abort });
            made.map(Discipline::User).map_err(|error| {
                abort.raise(error);
                LinkError::Custom(abort.message())
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
