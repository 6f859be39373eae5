//! The way of a packet through a link: the discipline decides, the buffer keeps, the transmitter
//! sends.
//!
//! The discipline's type is a parameter here. Each kind has a copy of this code in which its own
//! `arrive` is inlined. The match on the kind happens once per packet, or once per batch.

use crate::link::buffer::Buffer;
use crate::link::fate::{Arriving, Fate, Served, Source};
use crate::link::held::Order;
use crate::link::loss::LossyWire;
use crate::link::transmitter::Transmitter;
use penstock_aqm::driver::{eager, Contract};
use penstock_aqm::{Aqm, Ecn, Packet, Visit};
use penstock_units::{Duration, Time};

/// The transmitter, and what waits for it.
pub(crate) struct Port {
    pub(crate) busy_until: Time,
    /// When something is to be replayed next: the start of a transmission, or what the link does by
    /// itself.
    pub(crate) next: Time,
    pub(crate) contract: Contract,
    delay: Duration,
    pub(crate) buffer: Buffer,
    transmitter: Transmitter,
    /// At an eager link: the caller was asked to have it served.
    due: bool,
    wire: Option<Box<LossyWire>>,
    /// A tap behind the queue: when the transmission of the packet accepted last starts, and its
    /// ECN field.
    pub(crate) tap: Option<Box<Option<(Time, Ecn)>>>,
}

impl Port {
    /// An idle one.
    pub(crate) fn new(
        contract: Contract,
        buffer: Buffer,
        transmitter: Transmitter,
        delay: Duration,
        wire: Option<LossyWire>,
    ) -> Self {
        Port {
            busy_until: Time::ZERO,
            next: Time::NEVER,
            contract,
            delay,
            buffer,
            transmitter,
            due: false,
            wire: wire.map(Box::new),
            tap: None,
        }
    }

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub(crate) fn crossing(&self, bytes: u32) -> Duration {
        self.transmitter.alone(bytes) + self.delay
    }

    /// Returns whether the transmitter has nothing to do at `now`.
    #[inline]
    pub(crate) fn idle(&self, now: Time) -> bool {
        self.busy_until <= now && self.buffer.q.pkts == 0
    }

    /// A packet of `bytes` finds the transmitter, which is steady, idle and is sent. Returns when it
    /// reaches the other end.
    #[inline]
    pub(crate) fn straight(&mut self, now: Time, bytes: u32, data: bool) -> Time {
        self.buffer.straight(now, bytes, data);
        self.busy_until = self.transmitter.finish_at_once(now, bytes);
        self.busy_until + self.delay
    }

    /// A packet is let in at a lazy link.
    #[inline(always)]
    fn pass(&mut self, now: Time, a: &Arriving, ecn: Ecn, idle: bool) -> Fate {
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
    #[inline(always)]
    fn over_the_wire(&mut self, start: Time, ecn: Ecn) -> Fate {
        if let Some(tap) = &mut self.tap {
            **tap = Some((start, ecn));
        }
        if self.wire.as_mut().is_some_and(|wire| wire.loses()) {
            return Fate::Dropped;
        }
        Fate::Through(self.busy_until + self.delay, ecn)
    }

    /// Replays the starts of transmissions before the arrival at `now` of a packet that began to be
    /// sent at `scheduled()`. Until `now` the link does nothing by itself: that comes at `internal`.
    /// With `ties` a start at that very instant goes first only if what is then in service began
    /// no later.
    #[inline(always)]
    fn start_before(
        &mut self,
        now: Time,
        internal: Time,
        ties: bool,
        scheduled: impl FnOnce() -> Time,
    ) {
        while self.next < now {
            self.next = self.buffer.start_next().min(internal);
        }
        if self.next == now && (!ties || self.buffer.in_service_since <= scheduled()) {
            while self.next == now {
                self.next = self.buffer.start_next().min(internal);
            }
        }
    }

    /// A packet arrives.
    #[inline(always)]
    fn arrive<A: Aqm + ?Sized>(&mut self, aqm: &mut A, a: &Arriving) -> Fate {
        let now = a.at;
        self.buffer.arrived += 1;
        let idle = self.idle(now);
        self.buffer.q.idle_since = idle.then_some(self.busy_until);
        let entry = self.contract.arrive(aqm, now, &a.pkt, &mut self.buffer);
        if let Some(stats) = self.buffer.stats.as_deref_mut() {
            stats.arrival(now, a.data);
            stats.average(now, aqm.average_pkts());
        }
        let ecn = match entry {
            Ok(ecn) => ecn,
            Err(reason) => {
                // A copy: what a call may look at has to stand in memory, for every packet.
                self.buffer.refused(now, &{ *a }, reason);
                return Fate::Dropped;
            }
        };
        if !eager(aqm) {
            return self.pass(now, a, ecn, idle);
        }
        let order = Order::of(aqm.schedules(), aqm.draws());
        let handle = self.buffer.hold(now, a, ecn, order);
        self.contract.enqueued(aqm, now, &Packet { ecn, ..a.pkt }, handle);
        if std::mem::replace(&mut self.due, true) {
            return Fate::Held(None);
        }
        Fate::Held(Some(self.transmitter.start(self.busy_until, now)))
    }

    /// The transmitter is free.
    #[inline(always)]
    fn serve<A: Aqm + ?Sized>(&mut self, aqm: &mut A, now: Time) -> Option<Served> {
        self.due = false;
        let served = self.contract.serve(aqm, now, &mut self.buffer);
        let left = self.buffer.q.pkts;
        debug_assert!(served.is_some() || left == 0, "a packet's turn while any waits");
        let (h, ecn) = served?;
        self.buffer.sent(now, &h, ecn);
        if self.busy_until < now {
            self.transmitter.idle();
        }
        self.busy_until = self.transmitter.finish(now, h.bytes);
        self.due = left > 0;
        let again =
            if self.due { self.transmitter.next_start(self.busy_until) } else { Time::NEVER };
        let fate = self.over_the_wire(now, ecn);
        Some(Served { index: h.index, flow: h.flow, bytes: h.bytes, fate, again })
    }
}

impl Port {
    /// The source is told of a turn of the transmitter, which is free at `now`. Returns when the
    /// next one comes.
    #[inline(always)]
    fn turn<A: Aqm + ?Sized>(&mut self, aqm: &mut A, now: Time, source: &mut impl Source) -> Time {
        let served = self.serve(aqm, now);
        self.told(now, served, source)
    }

    /// The source is told of the turn that was at `now`. Returns when the next one comes.
    #[inline(always)]
    pub(crate) fn told(
        &mut self,
        now: Time,
        served: Option<Served>,
        source: &mut impl Source,
    ) -> Time {
        self.discard(|index| source.discard(index));
        let next = served.map_or(Time::NEVER, |served| served.again);
        source.turn(now, served);
        next
    }

    /// The caller is told of the packets that were let in and dropped all the same.
    #[inline(always)]
    pub(crate) fn discard(&mut self, told: impl FnMut(u32)) {
        if !self.buffer.gone.is_empty() {
            self.buffer.gone.drain(..).for_each(told);
        }
    }
}

/// A packet arrives.
pub(crate) struct Arrival<'a> {
    pub(crate) port: &'a mut Port,
    pub(crate) a: &'a Arriving,
}

impl Visit for Arrival<'_> {
    type Output = Fate;

    #[inline(never)]
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Fate {
        self.port.arrive(aqm, self.a)
    }
}

/// The transmitter is free.
pub(crate) struct Service<'a> {
    pub(crate) port: &'a mut Port,
    pub(crate) now: Time,
}

impl Visit for Service<'_> {
    type Output = Option<Served>;

    #[inline(never)]
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Option<Served> {
        self.port.serve(aqm, self.now)
    }
}

/// What a source has arrives, until the link does something by itself.
pub(crate) struct Stretch<'a, S> {
    pub(crate) port: &'a mut Port,
    /// When it does.
    pub(crate) internal: Time,
    /// An arrival may go before the departure of its instant.
    pub(crate) ties: bool,
    pub(crate) source: S,
    /// When an eager link is to be served next.
    pub(crate) due: Time,
}

/// Where a stretch ends.
pub(crate) struct Stretched<S> {
    pub(crate) source: S,
    pub(crate) due: Time,
    /// The source's packet has yet to arrive, when the link has done what it does by itself.
    pub(crate) more: bool,
}

impl<S: Source> Visit for Stretch<'_, S> {
    type Output = Stretched<S>;

    #[inline(never)]
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Stretched<S> {
        // A source of its own can stand in registers.
        let Stretch { port, internal, ties, mut source, mut due } = self;
        let lazy = !eager(aqm);
        while source.next() {
            let a = source.packet();
            if internal <= a.at {
                return Stretched { source, due, more: true };
            }
            if lazy {
                port.start_before(a.at, internal, ties, || source.scheduled());
                source.became(port.arrive(aqm, &a));
                continue;
            }
            while due <= a.at {
                due = port.turn(aqm, due, &mut source);
            }
            let fate = port.arrive(aqm, &a);
            port.discard(|index| source.discard(index));
            if let Fate::Held(Some(at)) = fate {
                due = at;
            }
            source.became(fate);
        }
        if !lazy {
            let until = source.until().min(internal);
            while due < until {
                due = port.turn(aqm, due, &mut source);
            }
        }
        Stretched { source, due, more: false }
    }
}
