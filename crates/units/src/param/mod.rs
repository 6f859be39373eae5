//! The one declaration of a parameter.
//!
//! A discipline, a TCP variant, a traffic kind and the topology each own a `&'static [Param]`. The
//! scenario parser, the JSON Schema, `penstock list`, the Python classes, the docs and every error
//! message are made from these tables; nothing about a parameter is written down anywhere else.

mod declare;
mod defaults;
mod field;
mod laws;
mod ty;
mod value;

pub use declare::without_indent;
pub use field::{field, Field, Named, Params};
pub use laws::{DelaySpec, Dist, Loss, RateSchedule, StartSpec};
pub use ty::{int, num, num_open, Ty, REQUIRED};
pub use value::{ParamError, Value, Values};

/// The declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key in TOML and the keyword in Python.
    pub name: &'static str,
    /// The values that it may hold.
    pub ty: Ty,
    /// The unit, `"1"` for a pure number, empty where the value carries it.
    pub unit: &'static str,
    /// The default as a TOML literal; `None` when it is automatic or the key is required (see
    /// `auto`).
    pub default: Option<&'static str>,
    /// The default under `profile = "ns-2"`, where it differs.
    pub ns2: Option<&'static str>,
    /// The meaning of an absent value when there is no default: a formula, or `"required"`.
    pub auto: &'static str,
    /// Paper, RFC section or program that the default and meaning come from.
    pub source: &'static str,
    /// One or two sentences for a person.
    pub doc: &'static str,
}

/// A parameter with neither default nor source: the base for `Param { name: …, ..PARAM }`.
pub const PARAM: Param = Param {
    name: "",
    ty: Ty::Text,
    unit: "",
    default: None,
    ns2: None,
    auto: "",
    source: "",
    doc: "",
};
