//! The closed set of disciplines: a `match` per packet, nothing boxed; a user's own stands behind
//! the trait.

use crate::avq::Avq;
use crate::blue::Blue;
use crate::codel::Codel;
use crate::droptail::DropTail;
use crate::fq_codel::FqCodel;
use crate::pi::Pi;
use crate::pie::Pie;
use crate::red::RedFamily;
use crate::rem::Rem;
use crate::step::Step;
use crate::{Aqm, Codepoints, Packet, Queue, Verdict};
use penstock_units::{Duration, Rng, Time};

/// Any discipline.
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "one a link, and no pointer to follow a packet")]
pub enum Discipline {
    /// DropTail.
    DropTail(DropTail),
    /// RED and its descendants.
    Red(RedFamily),
    /// REM.
    Rem(Rem),
    /// PI.
    Pi(Pi),
    /// BLUE.
    Blue(Blue),
    /// AVQ.
    Avq(Avq),
    /// CoDel.
    Codel(Codel),
    /// PIE.
    Pie(Pie),
    /// FQ-CoDel.
    FqCodel(FqCodel),
    /// Step marking.
    Step(Step),
    /// A user's own.
    User(Box<dyn Aqm + Send>),
}

macro_rules! each {
    ($self:ident, $d:ident => $e:expr) => {
        match $self {
            Discipline::DropTail($d) => $e,
            Discipline::Red($d) => $e,
            Discipline::Rem($d) => $e,
            Discipline::Pi($d) => $e,
            Discipline::Blue($d) => $e,
            Discipline::Avq($d) => $e,
            Discipline::Codel($d) => $e,
            Discipline::Pie($d) => $e,
            Discipline::FqCodel($d) => $e,
            Discipline::Step($d) => $e,
            Discipline::User($d) => $e,
        }
    };
}

impl Aqm for Discipline {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        each!(self, d => d.arrive(now, pkt, q, rng))
    }
    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        each!(self, d => d.overflow(now, pkt, q));
    }
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        each!(self, d => d.depart(now, pkt, sojourn, q, rng))
    }
    fn decides_at_departure(&self) -> bool {
        each!(self, d => d.decides_at_departure())
    }
    fn schedules(&self) -> bool {
        each!(self, d => d.schedules())
    }
    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<u32> {
        each!(self, d => d.evict(now, pkt, q, full))
    }
    fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        each!(self, d => d.enqueued(now, pkt, handle));
    }
    fn next(&mut self, now: Time) -> Option<u32> {
        each!(self, d => d.next(now))
    }
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        each!(self, d => d.next_tick())
    }
    fn tick(&mut self, now: Time, q: &Queue) {
        each!(self, d => d.tick(now, q));
    }
    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        each!(self, d => d.average_pkts())
    }
    fn codepoints(&self) -> Codepoints {
        each!(self, d => d.codepoints())
    }
    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        each!(self, d => d.state(out));
    }
}
