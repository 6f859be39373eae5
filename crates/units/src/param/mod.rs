//! The one declaration of a parameter.
//!
//! A discipline, a TCP variant, a traffic kind and the topology each own a `&'static [Param]`. The
//! scenario parser, the JSON Schema, `penstock list`, the Python classes, the docs and every error
//! message are made from these tables; nothing about a parameter is written down anywhere else.

mod declare;
mod defaults;
mod field;
mod laws;
mod profile;
mod ty;
mod value;
mod words;

pub use field::{field, Field, Named, Params};
pub use laws::{Arrivals, DelaySpec, Dist, DistFile, Loss, RateSchedule, StartSpec};
pub use profile::{Literals, OwnDefaults, Profile, Under};
pub use ty::{int, num, num_open, Ty, NUMBER, REQUIRED, WHOLE};
pub use value::{ParamError, Value, Values};
pub use words::without_indent;

/// The declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key in TOML and the keyword in Python.
    pub name: &'static str,
    /// The values that it may hold.
    pub ty: Ty,
    /// The unit, `"1"` for a pure number, empty where the value carries it.
    pub unit: &'static str,
    /// The general default as a TOML literal; `None` when it is automatic or the key is required (see
    /// `auto`).
    pub default: Option<&'static str>,
    /// The defaults under other profiles than that of `default`, where they differ.
    pub under: Under<Option<&'static str>>,
    /// The meaning of an absent value when there is no default: a formula, or `"required"`.
    pub auto: &'static str,
    /// Paper, RFC section or program that the default and meaning come from.
    pub source: &'static str,
    /// One or two sentences for a person.
    pub doc: &'static str,
    /// A resolved scenario names the key only where it has another value than the general default,
    /// or its profile has another default. Scenarios that know nothing of the key keep their
    /// documents.
    pub quiet: bool,
}

/// A parameter with neither default nor source: the base for `Param { name: …, ..PARAM }`.
pub const PARAM: Param = Param {
    name: "",
    ty: Ty::Text,
    unit: "",
    default: None,
    under: Under::all(None),
    auto: "",
    source: "",
    doc: "",
    quiet: false,
};
