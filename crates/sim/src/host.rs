//! A host: its access link in both directions.

use penstock_queue::{HostConfig, Pipe};

/// Both directions in one cache line.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Host {
    /// Towards the router.
    pub(crate) up: Pipe,
    /// From the router.
    pub(crate) down: Pipe,
}

const _: () = assert!(size_of::<Host>() == 64);

/// [`Pipe::note`] of the pipe down: packets come to it from more than one link, and each needs an
/// event there.
const MERGES: u8 = 1;
/// All that the host does is to answer, at once, what comes down to it.
const ANSWERS: u8 = 2;
/// All that it does is to answer one flow, whose ACKs it may hold back.
const HOLDS_BACK: u8 = 4;
/// One link leads to it, which is all of the routes there.
const NEAR: u8 = 8;
/// [`Pipe::note`] of the pipe up: more than one end of a flow sends from the host.
const SHARED: u8 = 1;

/// What is known of a host before the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// See [`MERGES`].
    pub(crate) merges: bool,
    /// See [`NEAR`].
    pub(crate) near: bool,
    /// See [`ANSWERS`].
    pub(crate) answers: bool,
    /// See [`HOLDS_BACK`].
    pub(crate) holds_back: bool,
    /// See [`SHARED`].
    pub(crate) shared: bool,
    /// Whether a queue may form in the pipe up, and in the one down: see [`crate::access`].
    pub(crate) queues: [bool; 2],
}

impl Host {
    /// A host whose pipes are idle. Queues that may form are measured.
    pub(crate) fn new(c: &HostConfig, part: Part) -> Self {
        let [up, down] = part.queues.map(|may| Pipe::new(c, may));
        let mut host = Host { up, down };
        host.up.note = u8::from(part.shared) * SHARED;
        let notes = [
            (part.merges, MERGES),
            (part.near, NEAR),
            (part.answers, ANSWERS),
            (part.holds_back, HOLDS_BACK),
        ];
        host.down.note = notes.into_iter().map(|(is, note)| u8::from(is) * note).sum();
        host
    }

    /// Returns whether packets come down to it from more than one link.
    #[inline]
    pub(crate) fn merges(&self) -> bool {
        self.down.note & MERGES != 0
    }

    /// Returns whether one link leads to it, which is all of the routes there.
    #[inline]
    pub(crate) fn is_near(&self) -> bool {
        self.down.note & NEAR != 0
    }

    /// Returns whether more than one end of a flow sends from it.
    #[inline]
    pub(crate) fn shared(&self) -> bool {
        self.up.note & SHARED != 0
    }

    /// Returns whether all it does is to answer, at once, what comes down to it.
    #[inline]
    pub(crate) fn answers(&self) -> bool {
        self.down.note & ANSWERS != 0
    }

    /// Returns whether all it does is to answer one flow, whose ACKs it may hold back.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.down.note & HOLDS_BACK != 0
    }
}
