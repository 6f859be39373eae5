//! What the outside and a run say to each other besides the result: how far it is, that it is to
//! stop, why there is no result.

use crate::sched::MAX_TIME;
use penstock_queue::{Abort, LinkError};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end the run early, with [`SimError::Stopped`].
    pub stop: AtomicBool,
    /// Simulated time so far, nanoseconds.
    pub now_ns: AtomicU64,
    /// What a custom discipline ended the run with.
    pub abort: Abort,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// [`Control::stop`] was set.
    #[error("stopped")]
    Stopped,
    /// A link cannot be made.
    #[error(transparent)]
    Link(LinkError),
    /// A custom discipline gave up; [`Control::abort`] has its error.
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
