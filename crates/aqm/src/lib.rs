//! Active queue management, one algorithm a file.
//!
//! This crate never reads a clock, opens a socket, spawns a thread, logs, or draws randomness of
//! its own: time, packets, the queue's state and a random stream come in, verdicts go out. The
//! simulator, the real-packet router, Python and users' programs all run the same object.
//!
//! RED and its descendants are five parts: an [`estimator`] (how `avg` follows `q`), a [`profile`]
//! (from `avg` to a probability), a [`gate`] (from the probability to a verdict for this packet), a
//! [`signal`] (drop, or mark and how), and an [`adapter`] (what retunes the others, and when).
//! [`red::RedFamily`] composes them; disciplines outside the family stand beside it behind the same
//! trait, [`Aqm`].

pub mod adapter;
pub mod amecn;
pub mod ared;
pub mod avq;
pub mod blue;
pub mod codel;
pub mod custom;
pub mod droptail;
pub mod dt_red;
pub mod estimator;
pub mod feng;
pub mod fq_codel;
pub mod gate;
pub mod mecn;
pub mod nlred;
pub mod nred;
pub mod pdt_red;
pub mod pi;
pub mod pie;
pub mod probe;
pub mod profile;
pub mod rared;
pub mod red;
pub mod red_at;
pub mod rem;
pub mod signal;
pub mod step;

mod discipline;
#[cfg(test)]
#[path = "../tests/common/literal.rs"]
mod literal;
mod registry;
pub use discipline::Discipline;
pub use registry::{build, kind, Context, Kind, State, COMMON, KINDS};

use penstock_units::{Duration, Rng, Time};

/// The two ECN bits of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct = 0,
    /// ECT(1).
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// What a discipline sees of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// A number that tells flows apart.
    pub flow: u32,
    /// Its priority class (DSCP).
    pub class: u8,
}

/// What a discipline sees of its queue. The packet in transmission has left the queue: it counts
/// neither in the length nor against the limit (unless `count_in_service` says so).
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Waiting packets, the arriving one not among them.
    pub pkts: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Since when the link has had nothing to send; `None` while it transmits.
    pub idle_since: Option<Time>,
}

impl Queue {
    /// Its length, in bytes or in packets.
    #[inline]
    pub fn length(&self, in_bytes: bool) -> f64 {
        if in_bytes {
            self.bytes as f64
        } else {
            f64::from(self.pkts)
        }
    }
}

/// Why a packet was signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The gate's random decision.
    Early,
    /// A full threshold (`avg` beyond the end of the profile).
    Forced,
    /// A full buffer.
    Overflow,
}

/// How strong a mark is. A marker never lowers a mark that an earlier router set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Multi-level ECN's first level: ECT(1) on the wire.
    Incipient,
    /// Congestion experienced; multi-level ECN's moderate level.
    Ce,
}

/// How multi-level ECN's states stand in the two ECN bits of the IP header (AMECN paper, Table 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoints {
    /// ECT is the header's first bit and CE the second (RFC 2481): no congestion ECT(0), incipient
    /// ECT(1), moderate CE.
    #[default]
    Wire,
    /// The table's digits as the field's value: no congestion ECT(1), incipient ECT(0), moderate
    /// CE.
    Literal,
}

impl Codepoints {
    /// The codepoint of an incipient mark.
    #[inline]
    pub fn incipient(self) -> Ecn {
        match self {
            Codepoints::Wire => Ecn::Ect1,
            Codepoints::Literal => Ecn::Ect0,
        }
    }

    /// The field of a packet after a mark: never a lower one than an earlier router set.
    #[inline]
    pub fn marked(self, field: Ecn, level: Level) -> Ecn {
        match (field, level) {
            (Ecn::NotEct, _) => Ecn::NotEct,
            (Ecn::Ce, _) | (_, Level::Ce) => Ecn::Ce,
            (_, Level::Incipient) => self.incipient(),
        }
    }

    /// What a field says; `None`: no congestion, or no capability.
    #[inline]
    pub fn level(self, field: Ecn) -> Option<Level> {
        match field {
            Ecn::Ce => Some(Level::Ce),
            field if field == self.incipient() => Some(Level::Incipient),
            _ => None,
        }
    }
}

/// What to do with a packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it (at the head: send it) as it is.
    Pass,
    /// Mark it, then as `Pass`.
    Mark(Level, Reason),
    /// Drop it.
    Drop(Reason),
}

/// A queue discipline.
pub trait Aqm {
    /// A packet arrives; `q` does not count it yet. The caller carries the verdict out, unless the
    /// buffer is full: then it drops the packet whatever the verdict, and calls [`Aqm::overflow`].
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict;

    /// The packet that `arrive` has just seen did not fit and was dropped.
    fn overflow(&mut self, _now: Time, _pkt: &Packet, _q: &Queue) {}

    /// A packet that has waited `sojourn` is about to be transmitted; `q` no longer counts it.
    /// After [`Verdict::Drop`] the caller takes the next packet at once, so that several calls at
    /// one instant are one dequeue. Called only where [`Aqm::decides_at_departure`] says so.
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

    /// Whether [`Aqm::depart`] is to be called: the discipline decides there (CoDel, marking REM)
    /// or measures (PIE). A driver may compute the departures of the others ahead of time.
    fn decides_at_departure(&self) -> bool {
        false
    }

    /// Whether the discipline orders the waiting packets itself (FQ-CoDel); the others' queue is a
    /// FIFO. It knows packets by handles, small numbers that the driver gives and uses again.
    /// Implies [`Aqm::decides_at_departure`].
    fn schedules(&self) -> bool {
        false
    }

    /// Called after an `arrive` that did not drop: the waiting packet to drop in favour of the
    /// arriving one, which `q` does not count yet. The caller drops it and asks again, with `q` and
    /// `full` (the arriving packet finds no room) as they are then, until the answer is `None`.
    /// Only where [`Aqm::schedules`].
    fn evict(&mut self, _now: Time, _pkt: &Packet, _q: &Queue, _full: bool) -> Option<u32> {
        None
    }

    /// The packet that `arrive` let in waits under this handle. Only where [`Aqm::schedules`].
    fn enqueued(&mut self, _now: Time, _pkt: &Packet, _handle: u32) {}

    /// The waiting packet whose turn it is; the caller takes it out and calls [`Aqm::depart`] for
    /// it. Some packet while any waits. Only where [`Aqm::schedules`].
    fn next(&mut self, _now: Time) -> Option<u32> {
        None
    }

    /// When [`Aqm::tick`] is due next; `None` for never.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// The time that [`Aqm::next_tick`] named has come.
    fn tick(&mut self, _now: Time, _q: &Queue) {}

    /// How its marks are written.
    fn codepoints(&self) -> Codepoints {
        Codepoints::Wire
    }

    /// The average queue as the discipline sees it, in packets; `None` where it keeps none.
    fn average_pkts(&self) -> Option<f64> {
        None
    }

    /// Publishes the named variables, in the order of the kind's declaration.
    fn state(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_never_lowered() {
        use Codepoints::{Literal, Wire};
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        for (codepoints, field, level, want) in [
            (Wire, Ect0, Level::Incipient, Ect1),
            (Wire, Ect1, Level::Incipient, Ect1),
            (Wire, Ce, Level::Incipient, Ce),
            (Wire, Ect0, Level::Ce, Ce),
            (Wire, Ect1, Level::Ce, Ce),
            (Wire, NotEct, Level::Ce, NotEct),
            (Literal, Ect1, Level::Incipient, Ect0),
            (Literal, Ect0, Level::Incipient, Ect0),
            (Literal, Ce, Level::Incipient, Ce),
            (Literal, Ect0, Level::Ce, Ce),
        ] {
            let marked = codepoints.marked(field, level);
            assert_eq!(marked, want, "{field:?} {level:?}");
            assert!(codepoints.level(marked) >= codepoints.level(field));
        }
        assert_eq!((Wire.level(Ect1), Wire.level(Ect0)), (Some(Level::Incipient), None));
        assert_eq!((Literal.level(Ect1), Literal.level(Ect0)), (None, Some(Level::Incipient)));
    }
}
