//! A handle on a run: the outside watches and stops it.

use penstock_queue::Abort;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Handle {
    /// Set to end the run early, with [`crate::SimError::Stopped`].
    pub stop: AtomicBool,
    /// Simulated time so far, nanoseconds.
    pub now_ns: AtomicU64,
    /// What a custom discipline ended the run with.
    pub abort: Abort,
}
