//! Custom disciplines: made afresh for every run, behind the trait.

use crate::abort::{Abort, UserError};
use penstock_aqm::{Aqm, Context};
use penstock_units::param::Values;
use penstock_units::Rng;
use std::fmt;
use std::sync::Arc;

type Factory = dyn Fn(Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> + Send + Sync;

/// A custom discipline: what makes one for a run, and what results call it.
#[derive(Clone)]
pub struct UserAqm {
    name: Arc<str>,
    factory: Arc<Factory>,
}

impl UserAqm {
    /// `name` stands as the discipline's kind in results. `factory` is called once for each link
    /// and run: state that it shares between the disciplines that it makes would couple runs.
    pub fn new(
        name: impl Into<Arc<str>>,
        factory: impl Fn(Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> + Send + Sync + 'static,
    ) -> Self {
        UserAqm { name: name.into(), factory: Arc::new(factory) }
    }

    /// What results call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn make(&self, start: Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> {
        (self.factory)(start)
    }
}

impl fmt::Debug for UserAqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserAqm({})", self.name)
    }
}

/// What a custom discipline is made from.
pub struct Start<'a> {
    /// The link's name.
    pub link: &'a str,
    /// What the discipline may know of the link.
    pub context: &'a Context,
    /// The keys that every kind takes ([`penstock_aqm::COMMON`]).
    pub values: &'a Values,
    /// The stream that the trait's methods are given, from its beginning: for a discipline that
    /// also draws at its timer. It then takes this one and leaves theirs alone; the two would give
    /// the same numbers.
    pub rng: Rng,
    /// Ends the run.
    pub abort: &'a Abort,
}
