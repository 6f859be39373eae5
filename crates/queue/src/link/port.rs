//! What a link does with a packet: the discipline decides, the buffer keeps, the transmitter sends.
//!
//! The discipline's type is a parameter here. Each kind has a copy of this code in which its own
//! `arrive` is inlined, and which of them a link uses is asked once per packet.

use crate::link::buffer::Buffer;
use crate::link::fate::{Arriving, Fate};
use crate::link::loss::Wire;
use crate::link::transmitter::Transmitter;
use penstock_aqm::driver::Contract;
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
    wire: Option<Box<Wire>>,
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
        wire: Option<Wire>,
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

    /// A packet of `bytes` finds the transmitter idle and is sent. Returns when it reaches the other
    /// end.
    #[inline]
    pub(crate) fn straight(&mut self, now: Time, bytes: u32, data: bool) -> Time {
        self.buffer.straight(now, bytes, data);
        self.transmitter.idle();
        self.busy_until = self.transmitter.finish(now, bytes);
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
        let Arrival { port, a } = self;
        let now = a.at;
        port.buffer.arrived += 1;
        let idle = port.idle(now);
        port.buffer.q.idle_since = idle.then_some(port.busy_until);
        let entry = port.contract.arrive(aqm, now, &a.pkt, &mut port.buffer);
        if let Some(stats) = &mut port.buffer.stats {
            stats.arrival(now, a.data);
            stats.average(now, aqm.average_pkts());
        }
        let ecn = match entry {
            Ok(ecn) => ecn,
            Err(reason) => {
                port.buffer.refused(now, a, reason);
                return Fate::Dropped;
            }
        };
        if !port.contract.eager() {
            return port.pass(now, a, ecn, idle);
        }
        let handle = port.buffer.hold(now, a, ecn);
        port.contract.enqueued(aqm, now, &Packet { ecn, ..a.pkt }, handle);
        if std::mem::replace(&mut port.due, true) {
            return Fate::Held(None);
        }
        Fate::Held(Some(port.transmitter.start(port.busy_until, now)))
    }
}

/// The place of the packet that goes next, its fate, and when the link is to be served again.
pub type Served = (u32, Fate, Option<Time>);

/// The transmitter is free.
pub(crate) struct Service<'a> {
    pub(crate) port: &'a mut Port,
    pub(crate) now: Time,
}

impl Visit for Service<'_> {
    type Output = Option<Served>;

    #[inline(never)]
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Option<Served> {
        let Service { port, now } = self;
        port.due = false;
        let served = port.contract.serve(aqm, now, &mut port.buffer);
        let left = port.buffer.q.pkts;
        debug_assert!(served.is_some() || left == 0, "a packet's turn while any waits");
        let (h, ecn) = served?;
        port.buffer.sent(now, &h, ecn);
        if port.busy_until < now {
            port.transmitter.idle();
        }
        port.busy_until = port.transmitter.finish(now, h.bytes);
        port.due = left > 0;
        let again = port.due.then(|| port.transmitter.next_start(port.busy_until));
        Some((h.index, port.over_the_wire(now, ecn), again))
    }
}
