//! A host: its access link in both directions.

use penstock_queue::{HostConfig, Pipe};

/// Both directions in one cache line.
#[repr(align(64))]
pub(crate) struct Host {
    /// Towards the router.
    pub(crate) up: Pipe,
    /// From the router.
    pub(crate) down: Pipe,
}

const _: () = assert!(size_of::<Host>() == 64);

impl Host {
    /// A host whose pipes are idle. `merges`: packets come down to it from more than one link.
    pub(crate) fn new(c: &HostConfig, merges: bool) -> Self {
        Host { up: Pipe::new(c, false), down: Pipe::new(c, merges) }
    }
}
