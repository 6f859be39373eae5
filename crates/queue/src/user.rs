//! Custom disciplines: made afresh for every run, behind the trait.

use penstock_aqm::{Aqm, Context};
use penstock_units::param::Values;
use penstock_units::Rng;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a factory or a custom discipline may fail with.
pub type UserError = Box<dyn Error + Send + Sync>;

type Factory = dyn Fn(Start<'_>) -> Result<Box<dyn Aqm + Send>, UserError> + Send + Sync;

/// The discipline of a link.
#[derive(Clone, Debug)]
pub enum AqmConfig {
    /// One of [`penstock_aqm::KINDS`], by name.
    Kind(&'static str),
    /// A custom one.
    User(UserAqm),
}

impl AqmConfig {
    /// The kind's name.
    pub fn name(&self) -> &str {
        match self {
            AqmConfig::Kind(name) => name,
            AqmConfig::User(own) => own.name(),
        }
    }
}

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

/// How a custom discipline ends the run that it is part of; the trait's methods return
/// no errors. Clones belong to the same run.
#[derive(Clone, Debug, Default)]
pub struct Abort(Arc<Raised>);

#[derive(Debug, Default)]
struct Raised {
    raised: AtomicBool,
    error: Mutex<Option<UserError>>,
}

impl Abort {
    /// Ends the run soon, with this error unless there was one before. The engine looks every few
    /// thousand events; what the discipline answers meanwhile has no consequence.
    pub fn raise(&self, error: impl Into<UserError>) {
        let mut first = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.raised.swap(true, Ordering::Release) {
            *first = Some(error.into());
        }
    }

    /// Whether the run is to end.
    #[inline]
    pub fn raised(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed)
    }

    /// Takes the error out, for the caller that started the run.
    pub fn take(&self) -> Option<UserError> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the error as text; empty where there is none.
    pub fn message(&self) -> String {
        let error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.as_ref().map_or_else(String::new, ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_one_that_counts() {
        let abort = Abort::default();
        let other = abort.clone();
        assert!(!abort.raised());
        other.raise("first");
        abort.raise("second");
        assert!(abort.raised() && other.raised());
        assert_eq!(abort.message(), "first");
        assert_eq!(abort.take().map(|e| e.to_string()).as_deref(), Some("first"));
    }
}
