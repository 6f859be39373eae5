//! The way in which a custom discipline ends its run.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a factory or a custom discipline may fail with.
pub type UserError = Box<dyn Error + Send + Sync>;

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

    /// Returns whether the run is to end.
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
