//! A congestion control decides how the window grows in congestion avoidance, and what a cut leaves
//! of it.
//!
//! One file per control, and one line in the list at the end of this file. A file holds the
//! control's parameters, its row of [`VARIANTS`], its state and its equations; the list makes the
//! closed set of them.

pub(crate) mod algorithm;
mod bbr;
mod bbr3;
mod cubic;
mod cubic_linux;
mod dctcp;
mod extremum;
pub(crate) mod fixed;
mod highspeed;
pub(crate) mod hystart;
mod ledbat;
mod model;
mod prague;
mod reno;
mod variant;
pub(crate) mod vegas;
mod vegas_linux;
mod westwood;
pub(crate) mod window;

pub use hystart::{HyStart, HyStartParams};
pub use model::{Model, Phase};
pub use variant::{Form, VariantInfo};

use crate::ecn::bits::Ecn;
use crate::info::CaState;
use crate::recovery::kind::Recovery;
use crate::sent::Sent;
use algorithm::{Acked, CongestionControl, Cut, Did, Growth, Random, Steered};
use penstock_units::param::{
    field, Field, Param, ParamError, Params, Ty, Under, Value, Values, PARAM,
};
use penstock_units::{Duration, Time};
use window::Window;

/// Makes of a list of `Name: module, Params;` the closed set of controls beside Reno's.
macro_rules! controls {
    ($($name:ident: $module:ident, $params:ident;)*) => {
        $( pub use $module::*; )*

        /// A congestion control and its parameters.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub enum ControlParams {
            /// One segment per round trip, half of the window at a cut (RFC 5681).
            #[default]
            Reno,
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name($params),
            )*
        }

        /// What a sender's control keeps. Boxed: Reno's keeps nothing, and what all senders share
        /// should fill few cache lines.
        #[derive(Clone, Debug)]
        pub(crate) enum Control {
            Reno(reno::Reno),
            $( $name(Box<$module::$name>), )*
        }

        const ROWS: &[&[VariantInfo]] = &[reno::VARIANTS, $( &[$module::INFO] ),*];

        const TABLES: &[&[Param]] = &[&[WORD], $( $params::TABLE ),*];

        impl ControlParams {
            /// Reads the key `tcp`, and the parameters of the control that it names.
            fn of_values(values: &Values) -> Self {
                let named: &VariantInfo = field(values, "tcp");
                $( if named.name == $module::INFO.name {
                    return ControlParams::$name(Params::read(values));
                } )*
                ControlParams::Reno
            }

            /// Returns the control's name in the key `tcp`; Reno's has one per way of recovery.
            fn name(&self) -> Option<&'static str> {
                match self {
                    ControlParams::Reno => None,
                    $( ControlParams::$name(_) => Some($module::INFO.name), )*
                }
            }

            fn write_own(&self, out: &mut Values) {
                match self {
                    ControlParams::Reno => {}
                    $( ControlParams::$name(p) => p.write(out), )*
                }
            }

            /// Whether the answer to marks depends on their number, so that receivers report each
            /// (RFC 8257, 3.2) and SYNs are ECT (3.6).
            #[inline]
            pub(crate) fn counts_marks(&self) -> bool {
                match self {
                    ControlParams::Reno => false,
                    $( ControlParams::$name(_) => $module::$name::COUNTS_MARKS, )*
                }
            }

            /// Whether the control sets the window itself.
            pub(crate) fn full(&self) -> bool {
                match self {
                    ControlParams::Reno => false,
                    $( ControlParams::$name(_) => $module::$name::FULL, )*
                }
            }

            /// Whether it has a pace of its own.
            pub(crate) fn paces(&self) -> bool {
                match self {
                    ControlParams::Reno => false,
                    $( ControlParams::$name(_) => $module::$name::PACES, )*
                }
            }

            /// Whether SCE has an answer for it.
            pub(crate) fn answers_sce(&self) -> bool {
                match self {
                    ControlParams::Reno => true,
                    $( ControlParams::$name(_) => $module::$name::SCE, )*
                }
            }

            /// Whether its segments are ECT(1).
            #[inline]
            pub(crate) fn scalable(&self) -> bool {
                match self {
                    ControlParams::Reno => false,
                    $( ControlParams::$name(_) => $module::$name::SCALABLE, )*
                }
            }

            /// Checks the parameters against each other and against the use of ECN.
            pub(crate) fn check_with(&self, ecn: Ecn) -> Result<(), ParamError> {
                match self {
                    ControlParams::Reno => Ok(()),
                    $( ControlParams::$name(p) => $module::$name::check(p, ecn), )*
                }
            }
        }

        impl Control {
            pub(crate) fn new(p: &ControlParams) -> Self {
                match p {
                    ControlParams::Reno => Control::Reno(reno::Reno),
                    $( ControlParams::$name(p) => {
                        Control::$name(Box::new($module::$name::new(p)))
                    } )*
                }
            }

            /// Whether it has to see every ACK.
            #[inline]
            pub(crate) fn watches(&self) -> bool {
                match self {
                    Control::Reno(_) => false,
                    $( Control::$name(c) => c.watches(), )*
                }
            }

            /// Whether it paces segments.
            pub(crate) fn paces(&self) -> bool {
                match self {
                    Control::Reno(_) => false,
                    $( Control::$name(_) => $module::$name::PACES, )*
                }
            }

            /// Whether it sets the window itself.
            #[inline]
            pub(crate) fn full(&self) -> bool {
                match self {
                    Control::Reno(_) => false,
                    $( Control::$name(_) => $module::$name::FULL, )*
                }
            }

            /// Whether it asks if the window limits sending.
            pub(crate) fn minds_use(&self) -> bool {
                match self {
                    Control::Reno(_) => true,
                    $( Control::$name(_) => $module::$name::MINDS_USE, )*
                }
            }

            /// Whether a record of each segment under way is kept for it.
            pub(crate) fn records(&self) -> bool {
                match self {
                    Control::Reno(_) => false,
                    $( Control::$name(c) => c.records(), )*
                }
            }
        }

        controls! { @dispatch [$($name)*]
            fn started(&mut self, now: Time);
            fn on_ack(&mut self, a: &Acked, w: &mut Window);
            fn grow(&mut self, g: &Growth<'_>, w: &mut Window);
            fn on_cut(&mut self, c: &Cut, w: &mut Window);
            fn on_level(&mut self, table_3: f64, c: &Cut, w: &mut Window);
            fn steer(&mut self, s: &Steered, w: &mut Window, random: Random<'_>) -> Did;
            fn resumes(&mut self, now: Time, w: &mut Window, random: Random<'_>);
            fn on_lost(&mut self, sent: &Sent, total: u64, w: &mut Window);
            fn on_state(&mut self, from: CaState, to: CaState, w: &mut Window);
            fn undo(&mut self, w: &mut Window);
            fn on_some_congestion(&mut self, now: Time, acked: f64, w: &mut Window);
            fn cuts_marks_as_losses(&self) -> bool;
            fn pacing(&self, w: &Window) -> Option<Duration>;
            fn least_burst(&self) -> Option<u32>;
            fn buffered(&self) -> u64;
            fn model(&self) -> Option<Model>;
        }
    };
    (@dispatch $names:tt $( fn $f:ident $args:tt $(-> $out:ty)?; )*) => {
        /// The methods of [`CongestionControl`].
        impl Control {
            $( controls! { @method $names $f $args ($($out)?) } )*
        }
    };
    (@method $names:tt $f:ident (&mut self $(, $arg:ident: $ty:ty)*) ($($out:ty)?)) => {
        #[inline]
        pub(crate) fn $f(&mut self $(, $arg: $ty)*) $(-> $out)? {
            controls! { @match $names self c => c.$f($($arg),*) }
        }
    };
    (@method $names:tt $f:ident (&self $(, $arg:ident: $ty:ty)*) ($($out:ty)?)) => {
        #[inline]
        pub(crate) fn $f(&self $(, $arg: $ty)*) $(-> $out)? {
            controls! { @match $names self c => c.$f($($arg),*) }
        }
    };
    (@match [$($name:ident)*] $self:ident $c:ident => $call:expr) => {
        match $self {
            Control::Reno($c) => $call,
            $( Control::$name($c) => $call, )*
        }
    };
}

// The list. A line adds a control; VARIANTS has them in this order, after Reno's four.
controls! {
    Vegas: vegas, VegasParams;
    Westwood: westwood, WestwoodParams;
    HighSpeed: highspeed, HighSpeedParams;
    Cubic: cubic, CubicParams;
    Dctcp: dctcp, DctcpParams;
    Ledbat: ledbat, LedbatParams;
    Bbr: bbr, BbrParams;
    Bbr3: bbr3, Bbr3Params;
    Prague: prague, PragueParams;
    Fixed: fixed, FixedParams;
}

/// Every value of the key `tcp`: Reno's control under four ways of recovery, then the other
/// controls in the order in which they were published.
pub const VARIANTS: &[VariantInfo] = penstock_units::joined!(ROWS);

const WORDS: &[&str] = &{
    let mut words = [""; VARIANTS.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = VARIANTS[i].name;
        i += 1;
    }
    words
};

/// The declaration of the key `tcp`.
const WORD: Param = Param {
    name: "tcp",
    ty: <&VariantInfo>::TY,
    default: Some("\"reno\""),
    under: Under { linux: Some("\"cubic\""), quic: Some("\"cubic\""), ..Under::all(None) },
    source:
        "the papers' experiments use Reno; Linux: CONFIG_DEFAULT_TCP_CONG; quinn, neqo, s2n-quic",
    doc: "The sender's variant.",
    ..PARAM
};

/// The value of the key `tcp`.
impl Field for &'static VariantInfo {
    const TY: Ty = Ty::Word(WORDS);
    fn read(value: Option<&Value>) -> Option<Self> {
        match value? {
            Value::Word(word) => VARIANTS.iter().find(|v| v.name == word),
            _ => None,
        }
    }
    fn value(&self) -> Option<Value> {
        Some(Value::Word(self.name.into()))
    }
}

impl ControlParams {
    /// The key `tcp`, then the parameters of every control.
    pub const TABLE: &'static [Param] = penstock_units::joined!(TABLES);

    /// Whether losses may be repaired in this way under it: that of its row, or any of the key
    /// `recovery`.
    pub(crate) fn takes(&self, recovery: Recovery) -> bool {
        match self.name() {
            None => reno::rows().any(|v| v.recovery == Some(recovery)),
            Some(_) if self.hears_of_states() => recovery == Recovery::Rack,
            Some(_) => match self.variant(recovery).recovery {
                Some(own) => own == recovery,
                None => recovery.word().is_some(),
            },
        }
    }

    /// Whether receivers acknowledge marked segments and others apart, for Linux's DCTCP.
    pub(crate) fn tells_marks_apart(&self) -> bool {
        matches!(self, ControlParams::Dctcp(p) if p.dctcp == Form::Linux)
    }

    /// Whether it acts when a cut is over, or when something begins to be repaired: only
    /// `recovery = "rack"` tells.
    pub(crate) fn hears_of_states(&self) -> bool {
        match self {
            ControlParams::Vegas(p) => p.vegas == Form::Linux,
            ControlParams::Westwood(p) => p.westwood == Form::Linux,
            _ => false,
        }
    }

    /// Returns the row of [`VARIANTS`] for this control with this way of repairing losses. Under
    /// `recovery = "rack"` or `"quic"` Reno's own row says so.
    pub fn variant(&self, recovery: Recovery) -> &'static VariantInfo {
        if let ControlParams::Vegas(VegasParams { vegas: Form::Linux, .. }) = self {
            return &vegas::IN_LINUX;
        }
        let name = self.name();
        let fits = |v: &&VariantInfo| match name {
            Some(name) => v.name == name,
            None => v.recovery == Some(recovery),
        };
        let rows = VARIANTS.iter().chain(reno::rows());
        rows.into_iter().find(fits).expect("each control has a row for each way of recovery")
    }
}

impl Params for ControlParams {
    const TABLES: &'static [&'static [Param]] = &[ControlParams::TABLE];

    fn read(values: &Values) -> Self {
        ControlParams::of_values(values)
    }

    fn write(&self, out: &mut Values) {
        if let Some(name) = self.name() {
            out.set("tcp", Value::Word(name.into()));
        }
        self.write_own(out);
    }
}

impl Params for Recovery {
    const TABLES: &'static [&'static [Param]] = &[Recovery::TABLE];

    /// `tcp` names Reno's control by its way of recovery; the others leave that to `recovery`, and
    /// so does `reno` where that says `rack` or `quic`.
    fn read(values: &Values) -> Self {
        let named: &VariantInfo = field(values, "tcp");
        let rack = || values.get("recovery") == Recovery::Rack.word().as_ref();
        let quic = || values.get("recovery") == Recovery::Quic.word().as_ref();
        let in_linux = || values.get("vegas") == Form::Linux.value().as_ref();
        match named.recovery {
            None => Recovery::of_key(values),
            Some(_) if named.name == reno::WITH_RACK.name && rack() => Recovery::Rack,
            Some(_) if named.name == reno::WITH_RACK.name && quic() => Recovery::Quic,
            Some(_) if named.name == vegas::INFO.name && in_linux() && rack() => Recovery::Rack,
            Some(own) => own,
        }
    }

    fn write(&self, out: &mut Values) {
        if out.get("tcp").is_none() {
            out.put("tcp", &ControlParams::Reno.variant(*self));
        }
        if let Some(word) = self.word() {
            out.set("recovery", word);
        }
    }
}
