//! What calls a discipline: the one place that knows the order of its methods.
//!
//! An arriving packet: [`Aqm::drawn`] with a waiting packet, [`Aqm::arrive`], [`Aqm::evict`] until
//! it names none, then [`Aqm::overflow`] if the packet finds no room, else [`Aqm::enqueued`]. A
//! dequeue: [`Aqm::next`] and [`Aqm::depart`], again after each drop at the head.
//!
//! The packets themselves belong to a [`Line`], which the caller keeps in the form that it needs.
//! Which of its methods a discipline wants is known where its type is: one that only decides at
//! arrivals costs no more than its `arrive`.

use crate::aqm::Aqm;
use crate::ecn::{Codepoints, Ecn};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::{Rng, Time};

/// The waiting packets around a discipline.
pub trait Line {
    /// What the line keeps of a waiting packet.
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

/// A discipline with its random stream.
pub struct Driver<A> {
    aqm: A,
    contract: Contract,
}

/// Returns whether [`Aqm::depart`] is to be called.
///
/// Of a kind such answers are known when the program is compiled. They are asked of the discipline
/// wherever it is at hand, so that what a kind never does is not there.
#[inline(always)]
fn departs<A: Aqm + ?Sized>(aqm: &A) -> bool {
    aqm.decides_at_departure() || aqm.schedules()
}

/// Returns whether the discipline may give up packets that wait.
#[inline(always)]
fn evicts<A: Aqm + ?Sized>(aqm: &A) -> bool {
    aqm.draws() || aqm.schedules()
}

/// Returns whether the discipline must see packets as they wait or leave. Otherwise the caller may
/// compute departures ahead of time, and never calls [`Contract::serve`].
#[inline(always)]
pub fn eager<A: Aqm + ?Sized>(aqm: &A) -> bool {
    aqm.draws() || departs(aqm)
}

/// What drives a discipline, without the discipline itself.
pub struct Contract {
    rng: Rng,
    codepoints: Codepoints,
    departs: bool,
    draws: bool,
    orders: bool,
    eager: bool,
}

impl<A: Aqm> Driver<A> {
    /// A driver of `aqm`. All its random numbers come from `rng`.
    pub fn new(aqm: A, rng: Rng) -> Self {
        let contract = Contract::of(&aqm, rng);
        Driver { aqm, contract }
    }

    /// The discipline.
    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// See [`Contract::eager`].
    #[inline]
    pub fn eager(&self) -> bool {
        self.contract.eager
    }

    /// See [`Contract::draws`].
    pub fn draws(&self) -> bool {
        self.contract.draws
    }

    /// See [`Contract::orders`].
    pub fn orders(&self) -> bool {
        self.contract.orders
    }

    /// See [`Contract::arrive`].
    #[inline]
    pub fn arrive<L: Line>(
        &mut self,
        now: Time,
        pkt: &Packet,
        line: &mut L,
    ) -> Result<Ecn, Reason> {
        self.contract.arrive(&mut self.aqm, now, pkt, line)
    }

    /// See [`Contract::enqueued`].
    #[inline]
    pub fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        self.contract.enqueued(&mut self.aqm, now, pkt, handle);
    }

    /// See [`Contract::serve`].
    pub fn serve<L: Line>(&mut self, now: Time, line: &mut L) -> Option<(L::Waiting, Ecn)> {
        self.contract.serve(&mut self.aqm, now, line)
    }

    /// Returns when [`Driver::tick`] is due; `None` for never.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        self.aqm.next_tick()
    }

    /// The time that [`Driver::next_tick`] named has come.
    pub fn tick(&mut self, now: Time, q: &Queue) {
        self.aqm.tick(now, q);
    }
}

impl Contract {
    /// The contract of `aqm`. All its random numbers come from `rng`.
    pub fn of<A: Aqm + ?Sized>(aqm: &A, rng: Rng) -> Self {
        Contract {
            rng,
            codepoints: aqm.codepoints(),
            departs: departs(aqm),
            draws: aqm.draws(),
            orders: aqm.schedules(),
            eager: eager(aqm),
        }
    }

    /// Returns the contract of `aqm` in the place of this one, with its random stream, if the line
    /// can stay as it is: packets wait and leave in the same way.
    pub fn renewed<A: Aqm + ?Sized>(&self, aqm: &A) -> Option<Self> {
        let new = Contract::of(aqm, self.rng.clone());
        let way = |c: &Contract| (c.departs, c.draws, c.orders);
        (way(&new) == way(self)).then_some(new)
    }

    /// See [`eager`].
    #[inline]
    pub fn eager(&self) -> bool {
        self.eager
    }

    /// Returns whether the discipline orders the packets, and so knows each by its handle.
    pub fn orders(&self) -> bool {
        self.orders
    }

    /// Returns whether the discipline wants to see a waiting packet before each arrival.
    pub fn draws(&self) -> bool {
        self.draws
    }

    /// A packet arrives. Returns its ECN field if it is let in, else why it is dropped. The caller
    /// queues what is let in, and tells [`Contract::enqueued`].
    #[inline(always)]
    pub fn arrive<A: Aqm + ?Sized, L: Line>(
        &mut self,
        aqm: &mut A,
        now: Time,
        pkt: &Packet,
        line: &mut L,
    ) -> Result<Ecn, Reason> {
        if aqm.draws() {
            self.draw(aqm, line);
        }
        let verdict = aqm.arrive(now, pkt, line.queue(), &mut self.rng);
        let full = if evicts(aqm) { evict(aqm, now, pkt, line) } else { line.full(pkt) };
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

    #[inline]
    fn carried_out(&self, verdict: Verdict, ecn: Ecn) -> Result<Ecn, Reason> {
        match verdict {
            Verdict::Pass => Ok(ecn),
            Verdict::Mark(level, _) => Ok(self.codepoints.marked(ecn, level)),
            Verdict::Drop(reason) => Err(reason),
        }
    }

    /// The packet that was let in waits, with its ECN field as [`Contract::arrive`] returned it.
    /// The handle is the line's; it is not looked at unless [`Contract::orders`].
    #[inline]
    pub fn enqueued<A: Aqm + ?Sized>(&mut self, aqm: &mut A, now: Time, pkt: &Packet, handle: u32) {
        if aqm.schedules() {
            aqm.enqueued(now, pkt, handle);
        }
    }

    /// One dequeue: drops at the head what the discipline wants dropped. Returns the packet that is
    /// sent, with its ECN field; `None` if none is left.
    #[inline(always)]
    pub fn serve<A: Aqm + ?Sized, L: Line>(
        &mut self,
        aqm: &mut A,
        now: Time,
        line: &mut L,
    ) -> Option<(L::Waiting, Ecn)> {
        loop {
            let handle = if aqm.schedules() { Some(aqm.next(now)?) } else { None };
            let (pkt, since, waiting) = line.take(now, handle)?;
            if !departs(aqm) {
                return Some((waiting, pkt.ecn));
            }
            let sojourn = now.since(since);
            let verdict = aqm.depart(now, &pkt, sojourn, line.queue(), &mut self.rng);
            match self.carried_out(verdict, pkt.ecn) {
                Ok(ecn) => return Some((waiting, ecn)),
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
