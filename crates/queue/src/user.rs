//! Custom disciplines: made afresh for every run, behind the trait.

use penstock_aqm::{Abort, Aqm, Context, UserError};
use penstock_units::param::{Param, Values};
use penstock_units::Rng;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

type Factory = dyn Fn(Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> + Send + Sync;
type Settle = dyn Fn(&Values) -> Result<UserAqm, UserError> + Send + Sync;

/// A custom discipline: what makes one for a run, what results call it, and its parameters.
#[derive(Clone)]
pub struct UserAqm {
    name: Arc<str>,
    factory: Arc<Factory>,
    keys: Option<Keys>,
    origin: Option<Arc<dyn Any + Send + Sync>>,
}

/// What a custom discipline takes from `[aqm]`.
#[derive(Clone)]
struct Keys {
    params: &'static [Param],
    /// What is no key although one may take it for one, and why.
    refused: Arc<[(String, String)]>,
    settle: Arc<Settle>,
}

impl UserAqm {
    /// `name` stands as the discipline's kind in results. `factory` is called once for each link
    /// and run: state that it shares between the disciplines that it makes would couple runs.
    pub fn new(
        name: impl Into<Arc<str>>,
        factory: impl Fn(Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> + Send + Sync + 'static,
    ) -> Self {
        UserAqm { name: name.into(), factory: Arc::new(factory), keys: None, origin: None }
    }

    /// Declares its parameters, which are then keys of `[aqm]` beside those of every kind.
    ///
    /// `settle` gives the discipline with their checked values; an error says what is wrong with
    /// them. `refused` names what is no key although one may take it for one, and says why.
    pub fn declaring(
        self,
        params: &'static [Param],
        refused: Vec<(String, String)>,
        settle: impl Fn(&Values) -> Result<UserAqm, UserError> + Send + Sync + 'static,
    ) -> Self {
        let keys = Keys { params, refused: refused.into(), settle: Arc::new(settle) };
        UserAqm { keys: Some(keys), ..self }
    }

    /// Keeps what it was made from, for who asks for it again.
    pub fn made_from(self, origin: Arc<dyn Any + Send + Sync>) -> Self {
        UserAqm { origin: Some(origin), ..self }
    }

    /// What it was made from.
    pub fn origin(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.origin.as_deref()
    }

    /// The parameters that it declares.
    pub fn params(&self) -> &'static [Param] {
        self.keys.as_ref().map_or(&[], |keys| keys.params)
    }

    /// Why that name is no key of it, where that needs to be said.
    pub fn refuses(&self, name: &str) -> Option<&str> {
        let refused = &self.keys.as_ref()?.refused;
        refused.iter().find(|(each, _)| each == name).map(|(_, why)| why.as_str())
    }

    /// The discipline with these values of its parameters.
    ///
    /// # Errors
    /// Where it does not take them.
    pub fn settled(&self, values: &Values) -> Result<UserAqm, UserError> {
        let Some(keys) = &self.keys else { return Ok(self.clone()) };
        Ok(UserAqm { keys: self.keys.clone(), ..(keys.settle)(values)? })
    }

    /// What results call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes one for a run.
    ///
    /// # Errors
    /// What the factory fails with.
    pub fn make(&self, start: Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> {
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
    /// The keys that every kind takes ([`penstock_aqm::COMMON`]), and the parameters that it
    /// declares.
    pub values: &'a Values,
    /// The stream that the trait's methods are given, from its beginning: for a discipline that
    /// also draws at its timer. It then takes this one and leaves theirs alone; the two would give
    /// the same numbers.
    pub rng: Rng,
    /// Ends the run.
    pub abort: &'a Abort,
}
