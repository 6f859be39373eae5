//! A link between two routers and the queue in front of it.
//!
//! Most disciplines decide at arrival. In a FIFO the departure of an accepted packet is then known
//! at once: the link is *lazy*, it keeps the starts of the waiting packets' transmissions and
//! replays departures, the discipline's timer and samples up to `now`, in order, before each
//! arrival. A discipline that decides at departure makes the link *eager*: it holds the packets
//! themselves and asks for an event when the transmitter falls free. Where the discipline orders
//! the packets itself, the link gives each a handle.

mod bands;
mod buffer;
mod fate;
mod held;
mod port;
mod transmitter;
mod wire;

pub use fate::{Arriving, Fate, Sent, Served, Source};

use crate::config::{AqmConfig, Keep, LinkConfig};
use crate::error::LinkError;
use crate::link::buffer::Buffer;
use crate::link::port::{Arrival, Port, Service, Stretch};
use crate::link::transmitter::Transmitter;
use crate::link::wire::Wire;
use crate::metrics::LinkView;
use crate::packets::PacketStats;
use crate::table::Table;
use crate::tally::Tally;
use crate::user::Start;
use penstock_aqm::driver::Driver;
use penstock_aqm::{Abort, Discipline, Ecn, Queue, UserError};
use penstock_units::{Duration, QueueLen, Rng, Time};

/// See the module. The caller is the simulator's engine with its packets, or a router with real
/// ones.
pub struct Link {
    aqm: Discipline,
    port: Port,
    /// An arrival may go before the departure of its instant.
    ties_by_scheduling: bool,
    /// The earliest of the discipline's timer, the next sample and, at an eager link, the start of a
    /// packet that was let in before a swap.
    next_internal: Time,
    /// Nothing is decided, written down or lost here: while the link is idle, it is a delay.
    plain: bool,
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
        let aqm = discipline(c, aqm_stream(seed, &c.name), abort)?;
        let driver = Driver::of(&*aqm, aqm_stream(seed, &c.name));
        let transmitter = Transmitter::new(c);
        let opportunities = transmitter.has_opportunities();
        let buffer = Buffer::new(c, keep, &*aqm, opportunities);
        let wire = Wire::new(c, seed);
        let plain = matches!(aqm, Discipline::DropTail(_))
            && transmitter.is_steady()
            && wire.is_none()
            && buffer.series.is_none()
            && takes_one(c.buffer);
        let port = Port::new(driver, buffer, transmitter, c.delay, wire);
        let mut link = Link { aqm, port, ties_by_scheduling, next_internal: Time::NEVER, plain };
        link.schedule_internal();
        Ok(link)
    }

    /// The discipline gets other parameters at `now`, before which everything has happened: those of
    /// `c`, which is of the same kind. It goes on where it was ([`penstock_aqm::Aqm::go_on`]), with the packets
    /// that wait. Returns false, and changes nothing, where packets would have to wait in another
    /// way.
    ///
    /// # Errors
    /// If the values do not fit together.
    pub fn retune(&mut self, now: Time, c: &LinkConfig) -> Result<bool, LinkError> {
        let AqmConfig::Kind(_) = c.aqm else { return Ok(false) };
        let aqm = discipline(c, self.port.driver.stream(), &Abort::default())?;
        let Some(driver) = self.port.driver.renewed(&*aqm) else { return Ok(false) };
        self.port.driver = driver;
        let before = std::mem::replace(&mut self.aqm, aqm);
        self.aqm.go_on_from(before, now);
        self.schedule_internal();
        Ok(true)
    }

    /// The discipline of `c`, of whatever kind, takes the place of the present one at `now`, before
    /// which everything has happened: it begins here, with the random stream of the one before.
    /// What waits was the other's: it is sent in the order in which it came, nobody decides about
    /// it any more, and it counts as waiting until it starts to be sent. `told` is told now of each
    /// packet of an eager link, and what becomes of it. The bands of the link are counted no more.
    ///
    /// # Errors
    /// If the discipline's values do not fit together, or a custom one cannot be made.
    pub fn swap(
        &mut self,
        now: Time,
        c: &LinkConfig,
        abort: &Abort,
        told: impl FnMut(Sent),
    ) -> Result<(), LinkError> {
        let stream = self.port.driver.stream();
        let mut aqm = discipline(c, stream.clone(), abort)?;
        aqm.begin(now);
        self.port.send_all(now, told);
        self.port.buffer.renew(&*aqm);
        self.port.driver = Driver::of(&*aqm, stream);
        self.aqm = aqm;
        self.plain = false;
        self.schedule_internal();
        Ok(())
    }

    /// Returns a copy that goes on by itself, in a copy of the run, which `abort` ends.
    ///
    /// # Errors
    /// If a custom discipline cannot be copied.
    pub fn copy(&self, abort: &Abort) -> Result<Self, UserError> {
        let Link { port, ties_by_scheduling, next_internal, plain, .. } = self;
        Ok(Link {
            aqm: self.aqm.copy(abort)?,
            port: port.clone(),
            ties_by_scheduling: *ties_by_scheduling,
            next_internal: *next_internal,
            plain: *plain,
        })
    }

    /// Returns what has become of the link's packets so far, where that is asked for.
    pub fn tally(&self) -> Option<Tally> {
        self.port.buffer.series.as_ref()?.tally()
    }

    /// Returns the queue, and publishes the discipline's variables.
    pub fn state(&self, out: &mut dyn FnMut(&'static str, f64)) -> Queue {
        self.aqm.state(out);
        self.port.buffer.q
    }

    /// The buffer holds `buffer` from now on. What waits above that stays.
    pub fn resize(&mut self, buffer: QueueLen) {
        self.plain &= takes_one(buffer);
        self.port.buffer.resize(buffer);
    }

    /// Returns what the link's metrics are computed from, where it is measured. `mean_rate` is the
    /// link's mean rate over the window in bits per second.
    pub fn view(&self, mean_rate: f64) -> Option<LinkView> {
        let stats = self.port.buffer.stats.as_deref()?.clone();
        Some(LinkView { stats, mean_rate })
    }

    /// Returns the same of the window up to `now`, before which everything has happened; the link
    /// goes on.
    pub fn view_at(&mut self, now: Time, mean_rate: f64) -> Option<LinkView> {
        self.finish(now);
        let mut view = self.view(mean_rate)?;
        view.stats.close(now);
        Some(view)
    }

    /// Returns the same for each band that the discipline declares, by the band's name.
    pub fn bands(&self, mean_rate: f64) -> Vec<(String, LinkView)> {
        let view = |(name, stats)| (name, LinkView { stats, mean_rate });
        self.port.buffer.bands.iter().flat_map(|bands| bands.stats()).map(view).collect()
    }

    /// Returns what was counted of a flow's packets that carry data, where that was asked for.
    pub fn flow(&mut self, flow: u32) -> Option<PacketStats> {
        Some(self.port.buffer.series.as_mut()?.flows()?.flow(flow))
    }

    /// Returns the mean queueing delay over the window, seconds, where the link is measured and
    /// packets left.
    pub fn delay_mean_s(&self) -> Option<f64> {
        self.port.buffer.stats.as_deref()?.delays().mean()
    }

    /// The measured window ends at `at`, if it was to end later.
    pub fn close(&mut self, at: Time) {
        if let Some(stats) = &mut self.port.buffer.stats {
            stats.close(at);
        }
        if let Some(bands) = &mut self.port.buffer.bands {
            bands.close(at);
        }
        if let Some(flows) = self.port.buffer.series.as_mut().and_then(|series| series.flows()) {
            flows.close(at);
        }
    }

    /// Returns the series that were recorded since the last call; the link goes on recording.
    pub fn taken_tables(&mut self) -> Vec<Table> {
        self.port.buffer.series.as_mut().map(|series| series.taken()).unwrap_or_default()
    }

    /// Returns when the transmitter will be free, as far as is known.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.port.busy_until
    }

    /// When an eager link is to be served next, as the caller was told; [`Time::NEVER`]: nothing waits.
    pub fn due(&self) -> Time {
        self.port.due()
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.port.buffer.q.pkts
    }

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub fn crossing(&self, bytes: u32) -> Duration {
        self.port.crossing(bytes)
    }

    /// Returns whether packets wait at the link itself, and so need a place in the caller's pool
    /// when they arrive.
    #[inline]
    pub fn is_eager(&self) -> bool {
        self.port.driver.service().is_eager()
    }

    /// Puts a tap behind the queue.
    pub fn tap(&mut self) {
        self.port.tap = Some(Box::default());
        self.plain = false;
    }

    /// Takes from the tap when the transmission of the packet that got through last starts, and its
    /// ECN field.
    pub fn tapped(&mut self) -> Option<(Time, Ecn)> {
        self.port.tap.as_mut()?.take()
    }

    fn schedule_internal(&mut self) {
        let tick = self.aqm.next_tick().unwrap_or(Time::NEVER);
        let sample = self.port.buffer.series.as_ref().map_or(Time::NEVER, |s| s.next_sample());
        // What was let in before a swap may wait in front of an eager link.
        let eager = self.port.driver.service().is_eager();
        let start = if eager { self.port.buffer.next_start() } else { Time::NEVER };
        self.next_internal = tick.min(sample).min(start);
        self.port.next = self.port.buffer.next_start().min(self.next_internal);
    }

    /// Replays what has happened up to and including `now`: departures first, then timers and
    /// samples.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if self.port.next <= now {
            self.replay_apart(now);
        }
    }

    #[inline(never)]
    fn replay_apart(&mut self, now: Time) {
        self.replay(now);
    }

    #[inline(always)]
    fn replay(&mut self, now: Time) {
        while self.port.next <= now {
            let start = self.port.buffer.next_start();
            if start <= self.next_internal {
                self.port.next = self.port.buffer.start_next().min(self.next_internal);
            } else {
                self.internal(self.next_internal);
            }
        }
    }

    /// Replays what has happened before a packet's arrival at `now`. Returns whether something
    /// happens at that very instant, of which the order of scheduling says whether it comes before
    /// the arrival: [`Link::settle`].
    #[inline]
    fn catch_up(&mut self, now: Time) -> bool {
        if self.port.next > now {
            return false;
        }
        // With ties by scheduling what happens at `now` itself is left for `settle`.
        let tie = Duration::from_ticks(u64::from(self.ties_by_scheduling));
        self.replay(now.before(tie));
        self.port.next == now
    }

    /// Replays what happens at `now` if it goes before the arrival of a packet that began to be
    /// sent to this link at `scheduled`.
    #[cold]
    fn settle(&mut self, now: Time, scheduled: Time) {
        let buffer = &self.port.buffer;
        if buffer.next_start() != now || buffer.in_service_since <= scheduled {
            self.advance(now);
        }
    }

    /// The discipline's timer or a sample, whichever is due at `t`.
    #[cold]
    fn internal(&mut self, t: Time) {
        let idle = self.port.idle(t);
        let buffer = &mut self.port.buffer;
        if self.aqm.next_tick() == Some(t) {
            buffer.q.idle_since = idle.then_some(self.port.busy_until);
            self.aqm.tick(t, &buffer.q);
        }
        if let Some(series) = &mut buffer.series {
            if series.next_sample() == t {
                series.sample(t, &buffer.q, &self.aqm);
            }
        }
        self.schedule_internal();
    }

    /// Returns whether [`Link::straight`] may be asked: nothing is decided, written down or lost
    /// here.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// A packet of `bytes`, which is `data` or an ACK, arrives at `now` at a link that [is
    /// plain](Link::is_plain). Returns when it reaches the other end, if it finds the link idle;
    /// else `None`, and the packet has yet to arrive.
    #[inline]
    pub fn straight(&mut self, now: Time, bytes: u32, data: bool) -> Option<Time> {
        debug_assert!(self.plain, "the caller has asked");
        if self.port.busy_until > now {
            return None;
        }
        self.advance(now);
        Some(self.port.straight(now, bytes, data))
    }

    /// A packet arrives, which began to be sent to this link at `scheduled()`: that is asked for
    /// where something else happens at the instant of the arrival. `discard` is told of each packet
    /// that was let in before and is dropped now, by its place in the caller's pool.
    #[inline]
    pub fn arrive(
        &mut self,
        a: &Arriving,
        scheduled: impl FnOnce() -> Time,
        discard: impl FnMut(u32),
    ) -> Fate {
        if self.catch_up(a.at) {
            self.settle(a.at, scheduled());
        }
        let fate = self.aqm.visited(Arrival { port: &mut self.port, a });
        self.port.discard(discard);
        fate
    }

    /// All that a source has arrives, each packet as by [`Link::arrive`]; before it, at an eager
    /// link, those leave whose turn comes until then, the first of them at `due`. Returns the
    /// source, and when the link is to be served next.
    #[inline]
    pub fn stretch<S: Source>(&mut self, mut source: S, mut due: Time) -> (S, Time) {
        loop {
            let (internal, ties) = (self.next_internal, self.ties_by_scheduling);
            let stretch = Stretch { port: &mut self.port, internal, ties, source, due };
            let end = self.aqm.visited(stretch);
            (source, due) = (end.source, end.due);
            if end.more {
                self.after_internal(&mut source, &mut due);
                continue;
            }
            while due < source.until() {
                due = self.turn(&mut source, due);
            }
            return (source, due);
        }
    }

    /// The source is told of an eager link's turn at `now`, before which the link may do something
    /// by itself. Returns when the next one comes.
    #[cold]
    #[inline(never)]
    fn turn<S: Source>(&mut self, source: &mut S, now: Time) -> Time {
        let served = self.serve(now, |index| source.discard(index));
        self.port.told(now, served, source)
    }

    /// The source's packet arrives. Before it the link does something by itself.
    #[cold]
    #[inline(never)]
    fn after_internal<S: Source>(&mut self, source: &mut S, due: &mut Time) {
        let a = source.packet();
        while *due <= a.at {
            *due = self.turn(source, *due);
        }
        let scheduled = source.scheduled();
        let fate = self.arrive(&a, || scheduled, |index| source.discard(index));
        if let Fate::Held(Some(at)) = fate {
            *due = at;
        }
        source.became(fate);
    }

    /// An eager link's turn has come, if it is one that the link still wants: an arrival may have
    /// asked for an earlier one. `discard` is told of each packet that is dropped at the head, by
    /// its place in the caller's pool.
    #[inline]
    pub fn serve(&mut self, now: Time, discard: impl FnMut(u32)) -> Served {
        self.advance(now);
        let served = self.aqm.visited(Service { port: &mut self.port, now });
        self.port.discard(discard);
        served
    }

    /// Gives memory back where much has long been unused. To be called once in a while.
    #[inline]
    pub fn relax(&mut self) {
        self.port.buffer.relax();
    }

    /// The run ends at `end`.
    pub fn finish(&mut self, end: Time) {
        self.advance(end);
        let buffer = &mut self.port.buffer;
        let avg = self.aqm.average_pkts();
        if let Some(stats) = &mut buffer.stats {
            stats.held(end, buffer.q.pkts);
            stats.average(end, avg);
        }
        if let Some(bands) = &mut buffer.bands {
            bands.finish(end);
        }
    }

    /// Returns whether packets in = out + dropped + waiting.
    pub fn conserves(&self) -> bool {
        self.port.buffer.conserves()
    }
}

/// Returns whether an idle link takes any packet.
fn takes_one(buffer: QueueLen) -> bool {
    matches!(buffer, QueueLen::Packets(n) if n >= 1.0)
}

fn discipline(l: &LinkConfig, rng: Rng, abort: &Abort) -> Result<Discipline, LinkError> {
    match &l.aqm {
        AqmConfig::Kind(name) => penstock_aqm::build(name, &l.aqm_values, &l.aqm_context)
            .map_err(|error| LinkError::Aqm { link: l.name.clone(), error }),
        AqmConfig::User(custom) => {
            let (context, values) = (&l.aqm_context, &l.aqm_values);
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

#[cfg(test)]
mod tests;
