//! The contract of a queue discipline.

use crate::abort::{Abort, UserError};
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::Codepoints;
use penstock_units::{Duration, Rng, Time};

/// The places where a discipline acts. Each way beyond the first costs an event for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// At arrivals alone. The queue is a FIFO, whose departures may be computed ahead of time.
    AtArrival,
    /// Also where packets leave the FIFO ([`Aqm::depart`]): to decide there (CoDel, REM that marks
    /// at departure) or to measure (PIE).
    AtDeparture,
    /// Also on packets that wait in the FIFO: it sees one, drawn at random, before each arrival
    /// ([`Aqm::drawn`]), and may give it up ([`Aqm::evict`]). CHOKe.
    Draws,
    /// It orders the packets itself ([`Aqm::enqueued`], [`Aqm::next`]), and may give up any of them
    /// ([`Aqm::evict`]). FQ-CoDel.
    Orders,
}

impl Service {
    /// Returns whether the discipline must see packets as they wait or leave.
    #[inline(always)]
    pub fn is_eager(self) -> bool {
        self != Service::AtArrival
    }

    /// Returns whether the discipline may give up packets that wait.
    #[inline(always)]
    pub fn evicts(self) -> bool {
        matches!(self, Service::Draws | Service::Orders)
    }
}

/// The answer to a free transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<P> {
    /// This packet goes next.
    Packet(P),
    /// Packets wait, but none may go before this time, which lies ahead: a shaper holds them.
    NotBefore(Time),
    /// Nothing waits.
    Empty,
}

/// A queue discipline. [`crate::driver::Driver`] calls its methods in the right order.
///
/// Most disciplines need [`Aqm::arrive`] only. [`Aqm::service`] says which of the others are
/// called.
pub trait Aqm {
    /// Returns where it acts: always the same.
    #[inline(always)]
    fn service(&self) -> Service {
        Service::AtArrival
    }

    /// A packet arrives; `q` does not count it yet. The driver carries the verdict out, unless the
    /// buffer is full. It then drops the packet whatever the verdict, and calls [`Aqm::overflow`].
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict;

    /// The packet that `arrive` has just seen did not fit and was dropped.
    fn overflow(&mut self, _now: Time, _pkt: &Packet, _q: &Queue) {}

    // ---- departures -----------------------------------------------------------------------------

    /// A packet that has waited `sojourn` is about to be transmitted; `q` no longer counts it.
    /// After [`Verdict::Drop`] the driver takes the next packet at once, so several calls at one
    /// instant are one dequeue. Not called with [`Service::AtArrival`].
    #[inline(always)]
    fn depart(
        &mut self,
        _now: Time,
        _pkt: &Packet,
        _sojourn: Duration,
        _q: &Queue,
        _rng: &mut Rng,
    ) -> Verdict {
        Verdict::Pass
    }

    // ---- packets that wait ----------------------------------------------------------------------
    //
    // A discipline knows waiting packets by handles, small numbers that the driver gives and uses
    // again.

    /// The discipline is given one of the waiting packets, drawn with equal chances, before the
    /// `arrive` of the packet to compare it with. This is not called while nothing waits. The
    /// handle is good for the first [`Aqm::evict`] after that. Only with [`Service::Draws`].
    fn drawn(&mut self, _handle: u32, _waiting: &Packet) {}

    /// Called after every `arrive`, whatever its verdict: a waiting packet to drop, and why. The
    /// arriving packet is not counted by `q` yet. The driver drops the named packet and asks again
    /// until the answer is `None`. Each time `q` and `full` (the arriving packet finds no room) are
    /// as they are then. Only with [`Service::Draws`] or [`Service::Orders`].
    fn evict(
        &mut self,
        _now: Time,
        _pkt: &Packet,
        _q: &Queue,
        _full: bool,
    ) -> Option<(u32, Reason)> {
        None
    }

    // ---- the order of service -------------------------------------------------------------------

    /// The packet that `arrive` let in waits under this handle. Only with [`Service::Orders`].
    fn enqueued(&mut self, _now: Time, _pkt: &Packet, _handle: u32) {}

    /// Returns the waiting packet whose turn it is, by its handle. The driver takes it out and calls
    /// [`Aqm::depart`] for it. Where none may go yet it says until when: it is asked again then, or
    /// at an arrival before that. Only with [`Service::Orders`].
    fn next(&mut self, _now: Time) -> Turn<u32> {
        Turn::Empty
    }

    // ---- the timer ------------------------------------------------------------------------------

    /// Returns when [`Aqm::tick`] is due next; `None` for never.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time that [`Aqm::next_tick`] named has come.
    fn tick(&mut self, _now: Time, _q: &Queue) {}

    // ---- other parameters -----------------------------------------------------------------------

    /// Goes on at `now` where `before` stopped, which is of the same kind and has other parameters:
    /// what evolves is that of `before`. What an adapter had moved starts again from its parameter.
    fn go_on(&mut self, _before: Self, _now: Time)
    where
        Self: Sized,
    {
    }

    /// It begins at `now`, not at time zero, and nothing has happened to it: its timers count from
    /// here.
    fn begin(&mut self, _now: Time) {}

    /// Returns a copy that goes on by itself, in a copy of the run, which `abort` ends. Only asked
    /// of a custom discipline.
    ///
    /// # Errors
    /// If it cannot be copied, which is what a custom discipline says unless it has its own answer.
    fn copied(&self, _abort: &Abort) -> Result<Box<dyn Aqm + Send>, UserError> {
        Err("a discipline of your own without Aqm::copied: the run cannot be copied".into())
    }

    // ---- what it tells --------------------------------------------------------------------------

    /// Returns how its marks are written.
    fn codepoints(&self) -> Codepoints {
        Codepoints::Wire
    }

    /// Returns the average queue as the discipline sees it, in packets; `None` where it keeps none.
    fn average_pkts(&self) -> Option<f64> {
        None
    }

    /// Returns the names of the bands into which it sorts packets; none where it does not. What
    /// becomes of each band is counted by itself, as it is for the link. Asked once.
    fn bands(&self) -> Vec<String> {
        vec![]
    }

    /// Returns the band of the packet that `arrive` has just seen: its place in [`Aqm::bands`].
    #[inline(always)]
    fn band(&self, _pkt: &Packet) -> Option<u8> {
        None
    }

    /// Returns the memory that it holds for its queue, in bytes, before any packet came.
    fn state_bytes(&self) -> usize {
        size_of_val(self)
    }

    /// Returns what it has to remember of each waiting packet, in bytes, beside the packet itself.
    fn packet_bytes(&self) -> usize {
        0
    }

    /// Publishes what keys come to that may be left out or hold a word, by their names: a length in
    /// the unit of the queue. To be asked before any packet came.
    fn settled(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Publishes the named variables, in the order of the kind's declaration.
    fn state(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
