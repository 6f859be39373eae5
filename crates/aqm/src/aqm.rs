//! The contract of a queue discipline.

use crate::ecn::Codepoints;
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::{Duration, Rng, Time};

/// A queue discipline. [`crate::driver::Driver`] calls its methods in the right order.
///
/// Most disciplines need [`Aqm::arrive`] only. The other methods come in groups: to decide when
/// packets leave, to give up packets that wait, to order the packets, to keep a timer.
pub trait Aqm {
    /// A packet arrives; `q` does not count it yet. The driver carries the verdict out, unless the
    /// buffer is full. It then drops the packet whatever the verdict, and calls [`Aqm::overflow`].
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict;

    /// The packet that `arrive` has just seen did not fit and was dropped.
    fn overflow(&mut self, _now: Time, _pkt: &Packet, _q: &Queue) {}

    // ---- departures -----------------------------------------------------------------------------

    /// Whether [`Aqm::depart`] is to be called, because the discipline decides there (CoDel, REM
    /// that marks at departure) or measures there (PIE). A driver may compute the departures of the
    /// other disciplines ahead of time.
    fn decides_at_departure(&self) -> bool {
        false
    }

    /// A packet that has waited `sojourn` is about to be transmitted; `q` no longer counts it.
    /// After [`Verdict::Drop`] the driver takes the next packet at once, so several calls at one
    /// instant are one dequeue. Called only where [`Aqm::decides_at_departure`] says so.
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

    /// Whether the discipline wants to see a waiting packet, drawn at random, before each arrival
    /// (CHOKe). The queue stays a FIFO.
    fn draws(&self) -> bool {
        false
    }

    /// One of the waiting packets, drawn with equal chances, before the `arrive` of the packet to
    /// compare it with. Not called while nothing waits. The handle is good for the first
    /// [`Aqm::evict`] after that. Only where [`Aqm::draws`].
    fn drawn(&mut self, _handle: u32, _waiting: &Packet) {}

    /// Called after every `arrive`, whatever its verdict: a waiting packet to drop, and why. The
    /// arriving packet is not counted by `q` yet. The driver drops the named packet and asks again
    /// until the answer is `None`. Each time `q` and `full` (the arriving packet finds no room) are
    /// as they are then. Only where [`Aqm::draws`] or [`Aqm::schedules`].
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

    /// Whether the discipline orders the waiting packets itself (FQ-CoDel). The queue of the others
    /// is a FIFO. Implies [`Aqm::decides_at_departure`].
    fn schedules(&self) -> bool {
        false
    }

    /// The packet that `arrive` let in waits under this handle. Only where [`Aqm::schedules`].
    fn enqueued(&mut self, _now: Time, _pkt: &Packet, _handle: u32) {}

    /// Returns the waiting packet whose turn it is. The driver takes it out and calls
    /// [`Aqm::depart`] for it. Names some packet while any waits. Only where [`Aqm::schedules`].
    fn next(&mut self, _now: Time) -> Option<u32> {
        None
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

    // ---- what it tells --------------------------------------------------------------------------

    /// Returns how its marks are written.
    fn codepoints(&self) -> Codepoints {
        Codepoints::Wire
    }

    /// Returns the average queue as the discipline sees it, in packets; `None` where it keeps none.
    fn average_pkts(&self) -> Option<f64> {
        None
    }

    /// Returns whether [`Aqm::average_pkts`] may ever answer. Of a custom discipline it is asked
    /// once: one that keeps no average is then not asked for it at every arrival.
    fn averages(&self) -> bool {
        true
    }

    /// Returns the memory that it holds for its queue, in bytes, before any packet came.
    fn state_bytes(&self) -> usize {
        size_of_val(self)
    }

    /// Returns what it has to remember of each waiting packet, in bytes, beside the packet itself.
    fn packet_bytes(&self) -> usize {
        0
    }

    /// Publishes the named variables, in the order of the kind's declaration.
    fn state(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
