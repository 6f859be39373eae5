//! The way of a packet through a link: the discipline decides, the buffer keeps, the transmitter
//! sends.
//!
//! The discipline's type is a parameter here. Each kind has a copy of this code in which its own
//! `arrive` is inlined. The match on the kind happens once per packet, or once per batch.

use crate::link::buffer::Buffer;
use crate::link::fate::{Arriving, Fate, Sent, Served, Source};
use crate::link::transmitter::Transmitter;
use crate::link::wire::Wire;
use penstock_aqm::driver::Driver;
use penstock_aqm::{Aqm, Ecn, Packet, Turn, Visit};
use penstock_units::{Duration, Time};

/// What packets wait for at an eager link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// None waits.
    Nothing,
    /// The transmitter.
    Transmitter,
    /// A time before which none may go: a shaper holds them.
    Shaper,
}

/// The transmitter, and what waits for it.
#[derive(Clone)]
pub(crate) struct Port {
    pub(crate) busy_until: Time,
    /// When something is to be replayed next: the start of a transmission, or what the link does by
    /// itself.
    pub(crate) next: Time,
    pub(crate) driver: Driver,
    delay: Duration,
    pub(crate) buffer: Buffer,
    transmitter: Transmitter,
    /// What packets wait for at an eager link.
    waits: Waits,
    /// When its turn comes, as the caller was told, unless nothing waits.
    due: Time,
    wire: Option<Box<Wire>>,
    /// A tap behind the queue: when the transmission of the packet accepted last starts, and its
    /// ECN field.
    pub(crate) tap: Option<Box<Option<(Time, Ecn)>>>,
}

impl Port {
    /// An idle one.
    pub(crate) fn new(
        driver: Driver,
        buffer: Buffer,
        transmitter: Transmitter,
        delay: Duration,
        wire: Option<Wire>,
    ) -> Self {
        Port {
            busy_until: Time::ZERO,
            next: Time::NEVER,
            driver,
            delay,
            buffer,
            transmitter,
            waits: Waits::Nothing,
            due: Time::NEVER,
            wire: wire.map(Box::new),
            tap: None,
        }
    }

    /// Returns how long before its arrival at the other end a packet of `bytes` began to be sent.
    pub(crate) fn crossing(&self, bytes: u32) -> Duration {
        self.transmitter.alone(bytes) + self.delay
    }

    /// All that waits at an eager link at `now` will be sent as it came. `told` is told of each
    /// packet, and what becomes of it.
    pub(crate) fn send_all(&mut self, now: Time, mut told: impl FnMut(Sent)) {
        let mut start = match self.waits {
            Waits::Nothing => return,
            Waits::Transmitter => self.due,
            Waits::Shaper => self.transmitter.start(self.busy_until, now),
        };
        for h in self.buffer.taken_as_they_came() {
            if self.busy_until < start {
                self.transmitter.idle();
            }
            self.busy_until = self.transmitter.finish(start, h.bytes);
            self.buffer.will_start(start, &h);
            let fate = self.over_the_wire(start, h.ecn);
            told(Sent { index: h.index, flow: h.flow, bytes: h.bytes, fate });
            start = self.transmitter.next_start(self.busy_until);
        }
        (self.due, self.waits) = (Time::NEVER, Waits::Nothing);
    }

    /// When its turn comes, as the caller was told, if anything waits.
    pub(crate) fn due(&self) -> Time {
        self.due
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
    fn pass(&mut self, a: &Arriving, ecn: Ecn, band: Option<u8>, idle: bool) -> Fate {
        let now = a.at;
        let start = self.transmitter.start(self.busy_until, now);
        if idle {
            self.transmitter.idle();
            self.buffer.in_service(start, a.pkt.bytes);
        }
        self.busy_until = self.transmitter.finish(start, a.pkt.bytes);
        if start > now {
            self.next = self.next.min(start);
        }
        self.buffer.pass(now, a, ecn, start, band);
        self.over_the_wire(start, ecn)
    }

    /// What the wire makes of the packet whose transmission begins at `start` and ends at
    /// `busy_until`.
    #[inline(always)]
    fn over_the_wire(&mut self, start: Time, ecn: Ecn) -> Fate {
        if let Some(tap) = &mut self.tap {
            **tap = Some((start, ecn));
        }
        let (mut at, mut ecn) = (self.busy_until + self.delay, ecn);
        if let Some(wire) = &mut self.wire {
            let Some(carried) = wire.carries(at, ecn) else { return Fate::Dropped };
            (at, ecn) = carried;
        }
        Fate::Through(at, ecn)
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
        let entry = self.driver.arrive(aqm, now, &a.pkt, &mut self.buffer);
        let band = aqm.band(&a.pkt);
        self.buffer.arrives(now, a.data, band, || aqm.average_pkts());
        let ecn = match entry {
            Ok(ecn) => ecn,
            Err(reason) => {
                // A copy: what a call may look at has to stand in memory, for every packet.
                self.buffer.refused(now, &{ *a }, reason, band);
                return Fate::Dropped;
            }
        };
        let service = aqm.service();
        if !service.is_eager() {
            return self.pass(a, ecn, band, idle);
        }
        let handle = self.buffer.hold(now, a, ecn, service, band);
        self.driver.enqueued(aqm, now, &Packet { ecn, ..a.pkt }, handle);
        // What has come may go before what a shaper holds.
        if self.waits == Waits::Transmitter {
            return Fate::Held(None);
        }
        self.waits = Waits::Transmitter;
        self.due = self.transmitter.start(self.busy_until, now);
        Fate::Held(Some(self.due))
    }

    /// An eager link's turn comes.
    #[inline(always)]
    fn serve<A: Aqm + ?Sized>(&mut self, aqm: &mut A, now: Time) -> Served {
        if self.due != now {
            return Served { sent: None, again: Time::NEVER };
        }
        if self.waits == Waits::Shaper {
            self.waits = Waits::Transmitter;
            self.due = self.transmitter.start(self.busy_until, now);
            if self.due > now {
                return Served { sent: None, again: self.due };
            }
        }
        let (h, ecn) = match self.driver.serve(aqm, now, &mut self.buffer) {
            Turn::Packet(sent) => sent,
            Turn::NotBefore(at) => {
                (self.due, self.waits) = (at, Waits::Shaper);
                self.buffer.nothing_in_service();
                return Served { sent: None, again: at };
            }
            Turn::Empty => {
                debug_assert!(self.buffer.q.pkts == 0, "a packet's turn while any waits");
                (self.due, self.waits) = (Time::NEVER, Waits::Nothing);
                return Served { sent: None, again: Time::NEVER };
            }
        };
        self.buffer.sent(now, &h, ecn);
        if self.busy_until < now {
            self.transmitter.idle();
        }
        self.busy_until = self.transmitter.finish(now, h.bytes);
        if self.buffer.q.pkts > 0 {
            self.due = self.transmitter.next_start(self.busy_until);
        } else {
            (self.due, self.waits) = (Time::NEVER, Waits::Nothing);
        }
        let fate = self.over_the_wire(now, ecn);
        let sent = Sent { index: h.index, flow: h.flow, bytes: h.bytes, fate };
        Served { sent: Some(sent), again: self.due }
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
    pub(crate) fn told(&mut self, now: Time, served: Served, source: &mut impl Source) -> Time {
        self.discard(|index| source.discard(index));
        source.turn(now, served);
        served.again
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

/// An eager link's turn comes.
pub(crate) struct Service<'a> {
    pub(crate) port: &'a mut Port,
    pub(crate) now: Time,
}

impl Visit for Service<'_> {
    type Output = Served;

    #[inline(never)]
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Served {
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
        let lazy = !aqm.service().is_eager();
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
