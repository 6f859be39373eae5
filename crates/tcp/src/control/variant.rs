//! Users see a variant as a row that each control writes beside its algorithm.

use crate::recovery::kind::Recovery;
use penstock_units::param::{OwnDefaults, Param};

penstock_units::words! {
    /// Whose rule or whose arithmetic a control follows.
    pub enum Form {
        /// The RFC's, in real numbers.
        Rfc = "rfc",
        /// Linux's, in integers.
        Linux = "linux",
    }
}

/// SCE takes parts of a segment: the reason why it is refused in integers.
pub(crate) const FRACTIONS: &str =
    "must be \"rfc\" with ecn = \"sce\", which takes parts of segments";

/// A value of the key `tcp`: a congestion control, and how losses are repaired under it.
#[derive(Clone, Copy, Debug)]
pub struct VariantInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// A line for a person.
    pub doc: &'static str,
    /// The source that it comes from.
    pub source: &'static str,
    /// The way in which it repairs losses; `None`: as the key `recovery` says.
    pub recovery: Option<Recovery>,
    /// The parameters that only some variants read, this one among them.
    pub own: &'static [&'static [Param]],
    /// Defaults that differ from those of [`PARAMS`](crate::PARAMS).
    pub defaults: OwnDefaults,
    /// Linux's name of this control, where Linux has it.
    pub linux: Option<&'static str>,
}

impl VariantInfo {
    /// Returns whether `key` is among the variant's own.
    pub fn owns(&self, key: &str) -> bool {
        self.own.iter().copied().flatten().any(|p| p.name == key)
    }
}

/// A variant without anything of its own, which leaves repairs to the key `recovery`: the base for
/// `VariantInfo { name: …, ..VARIANT }`.
pub(crate) const VARIANT: VariantInfo = VariantInfo {
    name: "",
    doc: "",
    source: "",
    recovery: None,
    own: &[],
    defaults: OwnDefaults::NONE,
    linux: None,
};
