//! The driver calls a discipline. It is the one place that knows the order of its methods.
//!
//! An arriving packet: [`Aqm::drawn`] with a waiting packet, [`Aqm::arrive`], [`Aqm::evict`] until
//! it names none, then [`Aqm::overflow`] if the packet finds no room, else [`Aqm::enqueued`]. A
//! dequeue: [`Aqm::next`] and [`Aqm::depart`], again after each drop at the head.
//!
//! The packets themselves belong to a [`Line`], which the caller keeps in the form that it needs.
//! Which of its methods a discipline wants is known where its type is: one that only decides at
//! arrivals costs no more than its `arrive`.

use crate::aqm::{Aqm, Service, Turn};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::{Codepoints, Ecn};
use penstock_units::{Rng, Time};

/// The waiting packets around a discipline.
pub trait Line {
    /// The line's record of a waiting packet.
    type Waiting;

    /// Returns the queue as the discipline sees it.
    fn queue(&self) -> &Queue;

    /// Returns whether the packet finds no room.
    fn full(&self, pkt: &Packet) -> bool;

    /// Returns a waiting packet and its handle, drawn with equal chances; `None` while nothing
    /// waits. Asked only for a discipline that draws.
    fn draw(&self, rng: &mut Rng) -> Option<(u32, Packet)>;

    /// The discipline gives a waiting packet up: takes it out and drops it.
    fn evict(&mut self, now: Time, handle: u32, reason: Reason);

    /// Takes out the packet that goes next: the one with this handle, or the first of a FIFO.
    /// Returns it as the discipline sees it, and since when it has waited.
    fn take(&mut self, now: Time, handle: Option<u32>) -> Option<(Packet, Time, Self::Waiting)>;

    /// A packet that was taken out is dropped.
    fn drop_head(&mut self, now: Time, waiting: Self::Waiting, reason: Reason);
}

/// The driver of a discipline, which the caller keeps beside it.
///
/// [`Aqm::service`] of a kind is known when the program is compiled. It is asked of the discipline
/// wherever that is at hand, so that what a kind never does is not there.
#[derive(Clone)]
pub struct Driver {
    rng: Rng,
    codepoints: Codepoints,
    service: Service,
}

impl Driver {
    /// The driver of `aqm`. All its random numbers come from `rng`.
    pub fn of<A: Aqm + ?Sized>(aqm: &A, rng: Rng) -> Self {
        Driver { rng, codepoints: aqm.codepoints(), service: aqm.service() }
    }

    /// Returns the driver of `aqm` in the place of this one, with its random stream, if the line
    /// can stay as it is: packets wait and leave in the same way.
    pub fn renewed<A: Aqm + ?Sized>(&self, aqm: &A) -> Option<Self> {
        let same = aqm.service() == self.service;
        same.then(|| Driver::of(aqm, self.rng.clone()))
    }

    /// Returns the random stream, as far as it was drawn from.
    pub fn stream(&self) -> Rng {
        self.rng.clone()
    }

    /// Returns where the discipline acts. With [`Service::AtArrival`] the caller may compute
    /// departures ahead of time, and never calls [`Driver::serve`].
    #[inline]
    pub fn service(&self) -> Service {
        self.service
    }

    /// A packet arrives. Returns its ECN field if it is let in, else why it is dropped. The caller
    /// queues what is let in, and tells [`Driver::enqueued`].
    #[inline(always)]
    pub fn arrive<A: Aqm + ?Sized, L: Line>(
        &mut self,
        aqm: &mut A,
        now: Time,
        pkt: &Packet,
        line: &mut L,
    ) -> Result<Ecn, Reason> {
        let service = aqm.service();
        if service == Service::Draws {
            self.draw(aqm, line);
        }
        let verdict = aqm.arrive(now, pkt, line.queue(), &mut self.rng);
        let full = if service.evicts() { evict(aqm, now, pkt, line) } else { line.full(pkt) };
        if full {
            aqm.overflow(now, pkt, line.queue());
            return Err(Reason::Overflow);
        }
        self.carried_out(verdict, pkt.ecn)
    }

    #[inline]
    fn draw<A: Aqm + ?Sized, L: Line>(&mut self, aqm: &mut A, line: &L) {
        if let Some((handle, waiting)) = line.draw(&mut self.rng) {
            aqm.drawn(handle, &waiting);
        }
    }

    /// What cannot be marked is dropped (RFC 3168, section 5).
    #[inline]
    fn carried_out(&self, verdict: Verdict, ecn: Ecn) -> Result<Ecn, Reason> {
        match verdict {
            Verdict::Pass => Ok(ecn),
            Verdict::Mark(_, reason) if ecn == Ecn::NotEct => Err(reason),
            Verdict::Mark(level, _) => Ok(self.codepoints.marked(ecn, level)),
            Verdict::Drop(reason) => Err(reason),
        }
    }

    /// The packet that was let in waits, with its ECN field as [`Driver::arrive`] returned it. The
    /// handle is the line's; it is not looked at but with [`Service::Orders`].
    #[inline]
    pub fn enqueued<A: Aqm + ?Sized>(&mut self, aqm: &mut A, now: Time, pkt: &Packet, handle: u32) {
        if aqm.service() == Service::Orders {
            aqm.enqueued(now, pkt, handle);
        }
    }

    /// One dequeue: drops at the head what the discipline wants dropped. Returns the packet that is
    /// sent, with its ECN field.
    #[inline(always)]
    pub fn serve<A: Aqm + ?Sized, L: Line>(
        &mut self,
        aqm: &mut A,
        now: Time,
        line: &mut L,
    ) -> Turn<(L::Waiting, Ecn)> {
        let orders = aqm.service() == Service::Orders;
        loop {
            let mut handle = None;
            if orders {
                match aqm.next(now) {
                    Turn::Packet(next) => handle = Some(next),
                    Turn::NotBefore(at) => {
                        debug_assert!(at > now, "it lies ahead");
                        return Turn::NotBefore(at);
                    }
                    Turn::Empty => return Turn::Empty,
                }
            }
            let Some((pkt, since, waiting)) = line.take(now, handle) else { return Turn::Empty };
            let sojourn = now.since(since);
            let verdict = aqm.depart(now, &pkt, sojourn, line.queue(), &mut self.rng);
            match self.carried_out(verdict, pkt.ecn) {
                Ok(ecn) => return Turn::Packet((waiting, ecn)),
                Err(reason) => line.drop_head(now, waiting, reason),
            }
        }
    }
}

/// Gives up packets for the arriving one as the discipline says. Returns whether that finds no room
/// all the same.
#[inline]
fn evict<A: Aqm + ?Sized, L: Line>(aqm: &mut A, now: Time, pkt: &Packet, line: &mut L) -> bool {
    loop {
        let full = line.full(pkt);
        let Some((handle, reason)) = aqm.evict(now, pkt, line.queue(), full) else { return full };
        line.evict(now, handle, reason);
    }
}
