//! A link between two routers and the queue in front of it.
//!
//! Most disciplines decide at arrival. In a FIFO the departure of an accepted packet is then known
//! at once: the link is *lazy*, it keeps the starts of the waiting packets' transmissions and
//! replays departures, the discipline's timer and samples up to `now`, in order, before each
//! arrival. A discipline that decides at departure makes the link *eager*: it holds the packets
//! themselves and asks for an event when the transmitter falls free. Where the discipline orders
//! the packets itself, the link gives each a handle.

mod buffer;
mod fate;
mod held;
mod loss;
mod transmitter;

pub use fate::{Arriving, Fate};

use crate::config::{Keep, LinkConfig};
use crate::error::LinkError;
use crate::link::buffer::{Buffer, Open};
use crate::link::loss::Wire;
use crate::link::transmitter::Transmitter;
use crate::metrics::LinkView;
use crate::table::Table;
use crate::user::{Abort, AqmConfig, Start};
use penstock_aqm::driver::Driver;
use penstock_aqm::{Aqm, Discipline, Ecn, Packet};
use penstock_units::{Duration, Rng, Time};

/// See the module. The caller is the simulator's engine with its packets, or a router with real
/// ones.
pub struct Link {
    transmitter: Transmitter,
    delay: Duration,
    busy_until: Time,
    /// An arrival may go before the departure of its instant.
    ties_by_scheduling: bool,
    driver: Driver<Discipline>,
    buffer: Buffer,
    /// At an eager link: the caller was asked to call [`Link::serve`].
    due: bool,
    /// The earlier of the discipline's timer and the next sample.
    next_internal: Time,
    /// The earlier of `next_internal` and the next start of a transmission that is known.
    next: Time,
    wire: Option<Box<Wire>>,
    /// A tap behind the queue: when the transmission of the packet accepted last starts, and its
    /// ECN field.
    tap: Option<Box<Option<(Time, Ecn)>>>,
}

impl Link {
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
        let driver = Driver::new(aqm, aqm_stream(seed, &c.name));
        let transmitter = Transmitter::new(c);
        let opportunities = transmitter.has_opportunities();
        let mut link = Link {
            buffer: Buffer::new(c, keep, driver.orders(), opportunities, &columns),
            transmitter,
            delay: c.delay,
            busy_until: Time::ZERO,
            ties_by_scheduling,
            driver,
            due: false,
            next_internal: Time::NEVER,
            next: Time::NEVER,
            wire: Wire::new(c.loss, seed, &c.name).map(Box::new),
            tap: None,
        };
        link.schedule_internal();
        Ok(link)
    }

    /// Returns what the link's metrics are computed from, where it is measured. `mean_rate` is the
    /// link's mean rate over the window in bits per second.
    pub fn view(&self, mean_rate: f64) -> Option<LinkView> {
        let stats = self.buffer.stats.as_deref()?.clone();
        Some(LinkView { stats, mean_rate })
    }

    /// The measured window ends at `at`, if it was to end later.
    pub fn close(&mut self, at: Time) {
        if let Some(stats) = &mut self.buffer.stats {
            stats.close(at);
        }
    }

    /// The series that were recorded.
    pub fn tables(&mut self) -> Vec<Table> {
        self.buffer.series.take().map(|series| series.tables()).unwrap_or_default()
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.buffer.q.pkts
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
        let tick = self.driver.next_tick().unwrap_or(Time::NEVER);
        let sample = self.buffer.series.as_ref().map_or(Time::NEVER, |s| s.next_sample());
        self.next_internal = tick.min(sample);
        self.next = self.buffer.next_start().min(self.next_internal);
    }

    /// Replays what has happened up to and including `now`: departures first, then timers and
    /// samples.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        while self.next <= now {
            if self.next == self.next_internal && self.next < self.buffer.next_start() {
                self.internal(self.next_internal);
            } else {
                self.buffer.start_next();
                self.next = self.buffer.next_start().min(self.next_internal);
            }
        }
    }

    /// Replays what has happened before a packet's arrival at `now`. Returns whether something
    /// happens at that very instant, of which the order of scheduling says whether it comes before
    /// the arrival: the caller then calls [`Link::settle`].
    #[inline]
    pub fn catch_up(&mut self, now: Time) -> bool {
        if !self.ties_by_scheduling {
            self.advance(now);
            return false;
        }
        self.advance(now.before(Duration::from_ticks(1)));
        self.next == now
    }

    /// Replays what happens at `now` if it goes before the arrival of a packet that began to be
    /// sent to this link at `scheduled`.
    #[cold]
    pub fn settle(&mut self, now: Time, scheduled: Time) {
        if self.buffer.next_start() != now || self.buffer.in_service_since <= scheduled {
            self.advance(now);
        }
    }

    /// Returns whether the transmitter has nothing to do at `now`.
    #[inline]
    fn idle(&self, now: Time) -> bool {
        self.busy_until <= now && self.buffer.q.pkts == 0
    }

    /// The discipline's timer or a sample, whichever is due at `t`.
    #[cold]
    fn internal(&mut self, t: Time) {
        if self.driver.next_tick() == Some(t) {
            self.buffer.q.idle_since = self.idle(t).then_some(self.busy_until);
            self.driver.tick(t, &self.buffer.q);
        }
        if let Some(series) = &mut self.buffer.series {
            if series.next_sample() == t {
                series.sample(t, &self.buffer.q, self.driver.aqm());
            }
        }
        self.schedule_internal();
    }

    /// A packet arrives at the time that [`Link::catch_up`] was called for. Packets that the
    /// discipline gives up for it go to `evicted`, by their places in the caller's pool.
    #[inline]
    pub fn arrive(&mut self, now: Time, a: &Arriving, evicted: impl FnMut(u32)) -> Fate {
        self.buffer.arrived += 1;
        let idle = self.idle(now);
        self.buffer.q.idle_since = idle.then_some(self.busy_until);
        let mut line = Open { buffer: &mut self.buffer, gone: evicted };
        let entry = self.driver.arrive(now, &a.pkt, &mut line);
        if let Some(stats) = &mut self.buffer.stats {
            stats.arrival(now, a.data);
            stats.average(now, self.driver.aqm().average_pkts());
        }
        let ecn = match entry {
            Ok(ecn) => ecn,
            Err(reason) => {
                self.buffer.refused(now, a, reason);
                return Fate::Dropped;
            }
        };
        if self.driver.eager() {
            return self.hold(now, a, ecn);
        }
        let start = self.transmitter.start(self.busy_until, now);
        if idle {
            self.transmitter.idle();
            self.buffer.in_service(start, a.pkt.bytes);
        }
        self.busy_until = self.transmitter.finish(start, a.pkt.bytes);
        if start > now {
            self.next = self.next.min(start);
        }
        self.buffer.pass(now, a, ecn, start);
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

    /// A packet waits at an eager link.
    fn hold(&mut self, now: Time, a: &Arriving, ecn: Ecn) -> Fate {
        let handle = self.buffer.hold(now, a, ecn);
        self.driver.enqueued(now, &Packet { ecn, ..a.pkt }, handle);
        if std::mem::replace(&mut self.due, true) {
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
        self.due = false;
        let mut line = Open { buffer: &mut self.buffer, gone: dropped };
        let served = self.driver.serve(now, &mut line);
        let left = self.buffer.q.pkts;
        debug_assert!(served.is_some() || left == 0, "a packet's turn while any waits");
        let (h, ecn) = served?;
        self.buffer.sent(now, &h, ecn);
        if self.busy_until < now {
            self.transmitter.idle();
        }
        self.busy_until = self.transmitter.finish(now, h.arriving.pkt.bytes);
        self.due = left > 0;
        let again = self.due.then(|| self.transmitter.next_start(self.busy_until));
        Some((h.arriving, self.over_the_wire(now, ecn), again))
    }

    /// The run ends at `end`.
    pub fn finish(&mut self, end: Time) {
        self.advance(end);
        let pkts = self.buffer.q.pkts;
        let avg = self.driver.aqm().average_pkts();
        if let Some(stats) = &mut self.buffer.stats {
            stats.held(end, pkts);
            stats.average(end, avg);
        }
    }

    /// Returns whether packets in = out + dropped + waiting.
    pub fn conserves(&self) -> bool {
        self.buffer.conserves()
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
