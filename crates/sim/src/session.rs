//! What a browser's session remembers; `browser.rs` says what it does.

use crate::config::{FlowConfig, Session};
use penstock_units::{Duration, Rng, Time};
use std::sync::Arc;

/// A connection of a session.
pub(crate) struct Connection {
    pub(crate) session: Arc<Session>,
    /// Its number within the session.
    pub(crate) number: u32,
    /// What the session's connections share; the first one has it.
    pub(crate) shared: Option<Box<Shared>>,
    pub(crate) state: State,
    /// When it does something by itself: the end of a pause, or the request's timeout.
    pub(crate) due: Time,
    /// Size of the present object.
    pub(crate) bytes: u64,
    /// The pause after it.
    pub(crate) pause: Duration,
    /// The number of the present request. A repeated request has the same number.
    pub(crate) asked: u16,
    /// When the request is sent again.
    pub(crate) timeout: Duration,
    /// Requests of the present TCP connection that the server has; 0: nothing was opened yet.
    pub(crate) answered: u32,
    /// For captures: the first segment of the present object on an open connection, and what the
    /// last segments lacked until then.
    pub(crate) earlier: (i64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for an object.
    Free,
    /// Waits for the end of a pause.
    Pausing,
    /// Its request is under way.
    Asking,
    /// Its object comes.
    Fetching,
}

/// What the connections of a session share.
pub(crate) struct Shared {
    /// Sizes and times are drawn here, in the order in which objects are handed out: they do not
    /// depend on what the network does.
    pub(crate) rng: Rng,
    /// The session's number within its group.
    pub(crate) number: u32,
    /// Objects of the page that nobody fetches yet.
    pub(crate) left: u32,
    /// Objects that are being fetched.
    pub(crate) out: u32,
    /// Bytes of the page.
    pub(crate) bytes: u64,
    pub(crate) began: Time,
    /// When the next page begins.
    pub(crate) next: Time,
    /// Requests sent again within the measured window.
    pub(crate) repeats: u64,
}

impl Connection {
    pub(crate) fn new(c: &FlowConfig, session: &Arc<Session>, number: u32, seed: u64) -> Self {
        let shared = || {
            let of = c.index / session.connections.max(1);
            Box::new(Shared {
                rng: Rng::stream(seed, &format!("session/{}/{of}", c.group)),
                number: of,
                left: 0,
                out: 0,
                bytes: 0,
                began: Time::ZERO,
                next: session.start,
                repeats: 0,
            })
        };
        Connection {
            session: Arc::clone(session),
            number,
            shared: (number == 0).then(shared),
            state: State::Free,
            due: Time::NEVER,
            bytes: 0,
            pause: Duration::ZERO,
            asked: 0,
            timeout: Duration::ZERO,
            answered: 0,
            earlier: (0, 0),
        }
    }

    /// Returns how many bytes the client had sent on the TCP connection before an ACK that comes
    /// now, or before the request of that number.
    pub(crate) fn upstream(&self, request: Option<u16>) -> u32 {
        let before = match request {
            Some(number) if self.awaits(number) && self.session.persistent => self.answered,
            Some(number) if self.awaits(number) => 0,
            Some(_) => self.answered.saturating_sub(1),
            None => self.answered,
        };
        before.wrapping_mul(self.session.request.unwrap_or(0))
    }

    /// Returns how many connections the request of that number is ahead of the present one.
    pub(crate) fn ahead(&self, request: u16) -> u16 {
        u16::from(!self.session.persistent && self.answered > 0 && self.awaits(request))
    }

    /// Returns what the last segments of the objects before segment `seq` lack, where those before
    /// the present object lack `now`. A segment sent again may be of the object before.
    pub(crate) fn lacking(&self, seq: i64, now: u32) -> u32 {
        match self.earlier {
            _ if !self.session.persistent => 0,
            (first, then) if seq < first => then,
            _ => now,
        }
    }

    /// Whether the server does not yet have the request of that number.
    pub(crate) fn awaits(&self, request: u16) -> bool {
        self.state == State::Asking && self.asked == request
    }
}
