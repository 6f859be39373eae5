//! A browser's session: which objects it fetches, and when its pages begin and end. `browser.rs`
//! says how the simulator's packets carry them.

use crate::config::{FlowConfig, Session};
use crate::pages::Page;
use penstock_units::{Duration, Rng, Time};
use std::sync::Arc;

/// The pages of a browser's session, whatever carries them: the simulator's packets or real ones.
///
/// Sizes and times are drawn in the order in which objects are handed out. They do not depend on
/// what the network does.
#[derive(Clone, Debug)]
pub struct Browsing {
    session: Arc<Session>,
    rng: Rng,
    /// The session's number within its group.
    number: u32,
    /// Objects of the page that nobody fetches yet.
    left: u32,
    /// Objects that are being fetched.
    out: u32,
    /// Bytes of the page.
    bytes: u64,
    began: Time,
    /// When the next page begins.
    next: Time,
}

/// An object that a connection is to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its size.
    pub bytes: u64,
    /// How long its connection waits after it.
    pub pause: Duration,
}

/// What follows an object that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// The connection takes another object of the page, after the pause.
    Another,
    /// Nothing: the page's last objects are on their way to other connections.
    Nothing,
    /// The page is complete. The next one begins at [`Browsing::next`].
    NextPage(Page),
}

impl Browsing {
    /// The session whose first connection `first` is.
    pub fn new(first: &FlowConfig, session: &Arc<Session>, seed: u64) -> Self {
        let number = first.index / session.connections.max(1);
        Browsing {
            session: Arc::clone(session),
            rng: Rng::stream(seed, &format!("session/{}/{number}", first.group)),
            number,
            left: 0,
            out: 0,
            bytes: 0,
            began: Time::ZERO,
            next: session.start,
        }
    }

    /// Returns when the next page begins; [`Time::NEVER`] while one is fetched, or after the stop.
    pub fn next(&self) -> Time {
        self.next
    }

    fn stopped(&self, now: Time) -> bool {
        self.session.stop.is_some_and(|stop| now >= stop)
    }

    /// Begins a page. Returns whether there is one: none does after the stop.
    pub fn begin(&mut self, now: Time) -> bool {
        self.next = Time::NEVER;
        if self.stopped(now) {
            return false;
        }
        (self.left, self.out) = (self.session.objects_per_page, 0);
        (self.bytes, self.began) = (0, now);
        true
    }

    /// Returns the object that a free connection takes, if there is one.
    pub fn hand_out(&mut self, now: Time) -> Option<Object> {
        if self.left == 0 || self.stopped(now) {
            return None;
        }
        let bytes = libm::ceil(self.session.object.draw(&mut self.rng).max(1.0)) as u64;
        let pause = self.session.inter_object.draw(&mut self.rng);
        self.left -= 1;
        self.out += 1;
        self.bytes += bytes;
        Some(Object { bytes, pause: Duration::from_secs_f64(pause) })
    }

    /// An object has arrived at `now`. `first` is the session's first connection, an index into
    /// [`crate::Config::flows`].
    pub fn arrived(&mut self, now: Time, first: u32) -> Follows {
        self.out -= 1;
        match (self.left, self.out) {
            (0, 0) => Follows::NextPage(self.complete(now, first)),
            (0, _) => Follows::Nothing,
            _ => Follows::Another,
        }
    }

    fn complete(&mut self, now: Time, first: u32) -> Page {
        self.next = now + Duration::from_secs_f64(self.session.think.draw(&mut self.rng));
        Page {
            end: now,
            flow: first,
            session: self.number,
            objects: self.session.objects_per_page,
            bytes: self.bytes,
            took: now.since(self.began),
        }
    }
}

/// A connection of a session.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) session: Arc<Session>,
    /// Its number within the session.
    pub(crate) number: u32,
    /// The session's pages; its first connection has them.
    pub(crate) browsing: Option<Box<Browsing>>,
    pub(crate) state: ConnectionState,
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
    /// Requests sent again within the measured window.
    pub(crate) repeats: u64,
    /// Requests of the present TCP connection that the server has; 0: nothing was opened yet.
    pub(crate) answered: u32,
    /// For captures: the first segment of the present object on an open connection, and what the
    /// last segments lacked until then.
    pub(crate) earlier: (i64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    /// Waits for an object.
    Free,
    /// Waits for the end of a pause.
    Pausing,
    /// Its request is under way.
    Asking,
    /// Its object comes.
    Fetching,
}

impl Connection {
    pub(crate) fn new(c: &FlowConfig, session: &Arc<Session>, number: u32, seed: u64) -> Self {
        let first = || Box::new(Browsing::new(c, session, seed));
        Connection {
            session: Arc::clone(session),
            number,
            browsing: (number == 0).then(first),
            state: ConnectionState::Free,
            due: Time::NEVER,
            bytes: 0,
            pause: Duration::ZERO,
            asked: 0,
            timeout: Duration::ZERO,
            repeats: 0,
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

    /// Returns whether the server does not yet have the request of that number.
    pub(crate) fn awaits(&self, request: u16) -> bool {
        self.state == ConnectionState::Asking && self.asked == request
    }
}
