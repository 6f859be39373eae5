//! The reasons why a run has no result.

#[cfg(doc)]
use crate::handle::Handle;
use crate::sched::MAX_TIME;
use penstock_queue::LinkError;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// [`Handle::stop`] was set.
    #[error("stopped")]
    Stopped,
    /// A link cannot be made.
    #[error(transparent)]
    Link(LinkError),
    /// A custom discipline gave up; [`Handle::abort`] has its error.
    #[error("{0}")]
    Aborted(String),
    /// The run is longer than the event queue's clock.
    #[error("duration is above {} days", MAX_TIME.as_nanos() / 86_400_000_000_000)]
    TooLong,
}

impl From<LinkError> for SimError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Custom(message) => SimError::Aborted(message),
            other => SimError::Link(other),
        }
    }
}
