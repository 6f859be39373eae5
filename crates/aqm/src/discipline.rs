//! The closed set of disciplines: a `match` per packet, nothing boxed. A user's own discipline is
//! behind the trait.

use crate::aqm::Aqm;
use crate::context::Context;
use crate::ecn::Codepoints;
use crate::kind::Kind;
use crate::packet::{Packet, Queue};
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{ParamError, Params, Values};
use penstock_units::{Duration, Rng, Time};

/// Makes the enum, its dispatch and the list of kinds from one line per kind: the type, its
/// parameters, and the module that has both beside the constant `KIND`.
macro_rules! disciplines {
    ($( $name:ident($params:ident) in $folder:ident::$file:ident, $doc:literal; )*) => {
        $( pub use crate::$folder::$file::{$name, $params}; )*

        /// Any discipline.
        #[non_exhaustive]
        pub enum Discipline {
            $( #[doc = $doc] $name($name), )*
            /// A user's own.
            User(User),
        }

        $(
            impl From<$name> for Discipline {
                fn from(d: $name) -> Self {
                    Discipline::$name(d)
                }
            }
        )*

        /// Every kind, in the order of `penstock list aqm`.
        pub const KINDS: &[Kind] = &[$( crate::$folder::$file::KIND ),*];

        /// Makes a discipline of each kind from checked values, in the order of [`KINDS`].
        pub(crate) const BUILD: &[fn(&Values, &Context) -> Result<Discipline, ParamError>] = &[$(
            |values, cx| $name::new(&$params::read(values), cx).map(Discipline::$name)
        ),*];

        impl Discipline {
            /// Lets `visit` work on the discipline itself: one `match` for all that it does there.
            #[inline(always)]
            pub fn visited<V: Visit>(&mut self, visit: V) -> V::Output {
                match self {
                    $( Discipline::$name(d) => visit.visit(d), )*
                    Discipline::User(d) => visit.visit(d),
                }
            }

            /// [`Aqm::go_on`], where the two are of one kind. A custom discipline starts afresh.
            pub fn go_on_from(&mut self, before: Discipline, now: Time) {
                match (self, before) {
                    $( (Discipline::$name(d), Discipline::$name(before)) => d.go_on(before, now), )*
                    _ => {}
                }
            }
        }

        macro_rules! each {
            ($self:ident, $d:ident => $e:expr) => {
                match $self {
                    $( Discipline::$name($d) => $e, )*
                    Discipline::User($d) => $e,
                }
            };
        }
    };
}

disciplines! {
    DropTail(DropTailParams) in alone::droptail, "DropTail.";
    Red(RedParams) in family::red, "RED.";
    Ared(AredParams) in family::ared, "ARED.";
    Feng(FengParams) in family::feng, "Feng's ARED.";
    Blue(BlueParams) in alone::blue, "BLUE.";
    Rem(RemParams) in alone::rem, "REM.";
    Pi(PiParams) in alone::pi, "PI.";
    Avq(AvqParams) in alone::avq, "AVQ.";
    Mecn(MecnParams) in family::mecn, "MECN.";
    Amecn(AmecnParams) in family::amecn, "AMECN.";
    Rared(RaredParams) in family::rared, "RARED.";
    Nred(NredParams) in family::nred, "NRED.";
    RedAt(RedAtParams) in family::red_at, "RED-AT.";
    DtRed(DtRedParams) in family::dt_red, "DT-RED.";
    PdtRed(PdtRedParams) in family::pdt_red, "PDT-RED.";
    Nlred(NlredParams) in family::nlred, "NLRED.";
    Codel(CodelParams) in alone::codel, "CoDel.";
    Pie(PieParams) in alone::pie, "PIE.";
    FqCodel(FqCodelParams) in alone::fq_codel, "FQ-CoDel.";
    Choke(ChokeParams) in alone::choke, "CHOKe.";
    Step(StepParams) in alone::step, "Step marking.";
    Custom(CustomParams) in family::custom, "RED's family recombined.";
}

/// A user's discipline, behind the trait. What it wants of its driver is asked once: the driver
/// looks at it for every packet.
pub struct User {
    aqm: Box<dyn Aqm + Send>,
    departs: bool,
    draws: bool,
    orders: bool,
    averages: bool,
}

impl From<Box<dyn Aqm + Send>> for User {
    fn from(aqm: Box<dyn Aqm + Send>) -> Self {
        User {
            departs: aqm.decides_at_departure(),
            draws: aqm.draws(),
            orders: aqm.schedules(),
            averages: aqm.averages(),
            aqm,
        }
    }
}

impl Aqm for User {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        self.aqm.arrive(now, pkt, q, rng)
    }
    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        self.aqm.overflow(now, pkt, q);
    }
    #[inline]
    fn decides_at_departure(&self) -> bool {
        self.departs
    }
    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        self.aqm.depart(now, pkt, sojourn, q, rng)
    }
    #[inline]
    fn draws(&self) -> bool {
        self.draws
    }
    fn drawn(&mut self, handle: u32, waiting: &Packet) {
        self.aqm.drawn(handle, waiting);
    }
    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        self.aqm.evict(now, pkt, q, full)
    }
    #[inline]
    fn schedules(&self) -> bool {
        self.orders
    }
    fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        self.aqm.enqueued(now, pkt, handle);
    }
    fn next(&mut self, now: Time) -> Option<u32> {
        self.aqm.next(now)
    }
    #[inline]
    fn next_tick(&self) -> Option<Time> {
        self.aqm.next_tick()
    }
    fn tick(&mut self, now: Time, q: &Queue) {
        self.aqm.tick(now, q);
    }
    fn codepoints(&self) -> Codepoints {
        self.aqm.codepoints()
    }
    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        if self.averages {
            self.aqm.average_pkts()
        } else {
            None
        }
    }
    fn state_bytes(&self) -> usize {
        self.aqm.state_bytes()
    }
    fn packet_bytes(&self) -> usize {
        self.aqm.packet_bytes()
    }
    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.state(out);
    }
}

/// What is done to a discipline whose type is known.
pub trait Visit {
    /// What that gives.
    type Output;

    /// Does it.
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Self::Output;
}

impl Aqm for Discipline {
    #[inline]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        each!(self, d => d.arrive(now, pkt, q, rng))
    }
    fn overflow(&mut self, now: Time, pkt: &Packet, q: &Queue) {
        each!(self, d => d.overflow(now, pkt, q));
    }
    fn decides_at_departure(&self) -> bool {
        each!(self, d => d.decides_at_departure())
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
    fn draws(&self) -> bool {
        each!(self, d => d.draws())
    }
    fn drawn(&mut self, handle: u32, waiting: &Packet) {
        each!(self, d => d.drawn(handle, waiting));
    }
    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        each!(self, d => d.evict(now, pkt, q, full))
    }
    fn schedules(&self) -> bool {
        each!(self, d => d.schedules())
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
    fn codepoints(&self) -> Codepoints {
        each!(self, d => d.codepoints())
    }
    #[inline]
    fn average_pkts(&self) -> Option<f64> {
        each!(self, d => d.average_pkts())
    }
    fn state_bytes(&self) -> usize {
        each!(self, d => d.state_bytes())
    }
    fn packet_bytes(&self) -> usize {
        each!(self, d => d.packet_bytes())
    }
    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        each!(self, d => d.state(out));
    }
}
