//! The closed set of disciplines: a `match` per packet, nothing boxed. A user's own discipline is
//! behind the trait, as every one is for what is not done per packet.

use crate::abort::{Abort, UserError};
use crate::aqm::Aqm;
use crate::context::Context;
use crate::kind::Kind;
use penstock_units::param::{ParamError, Params, Values};
use penstock_units::Time;
use std::ops::{Deref, DerefMut};

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
            User(Box<dyn Aqm + Send>),
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
                    Discipline::User(d) => visit.visit(&mut **d),
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

        impl Discipline {
            /// [`Aqm::copied`], of any discipline.
            ///
            /// # Errors
            /// If it is a custom one that cannot be copied.
            pub fn copy(&self, abort: &Abort) -> Result<Discipline, UserError> {
                Ok(match self {
                    $( Discipline::$name(d) => Discipline::$name(d.clone()), )*
                    Discipline::User(d) => Discipline::User(d.copied(abort)?),
                })
            }
        }

        impl From<Discipline> for Box<dyn Aqm + Send> {
            fn from(d: Discipline) -> Self {
                match d {
                    $( Discipline::$name(d) => Box::new(d), )*
                    Discipline::User(d) => d,
                }
            }
        }

        impl Deref for Discipline {
            type Target = dyn Aqm + Send;

            fn deref(&self) -> &Self::Target {
                match self {
                    $( Discipline::$name(d) => d, )*
                    Discipline::User(d) => d.as_ref(),
                }
            }
        }

        impl DerefMut for Discipline {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $( Discipline::$name(d) => d, )*
                    Discipline::User(d) => d.as_mut(),
                }
            }
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
    Cobalt(CobaltParams) in alone::cobalt, "COBALT.";
    FqCodel(FqCodelParams) in alone::fq_codel, "FQ-CoDel.";
    FqCobalt(FqCobaltParams) in alone::fq_cobalt, "FQ-COBALT.";
    Cake(CakeParams) in alone::cake, "CAKE.";
    FqPie(FqPieParams) in alone::fq_pie, "FQ-PIE.";
    DocsisPie(DocsisPieParams) in alone::docsis_pie, "DOCSIS-PIE.";
    Pi2(Pi2Params) in alone::pi2, "PI2.";
    DualPi2(DualPi2Params) in alone::dualpi2, "DualPI2.";
    Wred(WredParams) in family::wred, "WRED.";
    Choke(ChokeParams) in alone::choke, "CHOKe.";
    Sfb(SfbParams) in alone::sfb, "Stochastic Fair BLUE.";
    Afd(AfdParams) in alone::afd, "Approximate fair dropping.";
    Sfq(SfqParams) in alone::sfq, "SFQ.";
    Step(StepParams) in alone::step, "Step marking.";
    Bernoulli(BernoulliParams) in alone::bernoulli, "One probability for every packet.";
    Custom(CustomParams) in family::custom, "RED's family recombined.";
}

/// An operation on a discipline whose type is known.
pub trait Visit {
    /// The result of the operation.
    type Output;

    /// Does it.
    fn visit<A: Aqm + ?Sized>(self, aqm: &mut A) -> Self::Output;
}
