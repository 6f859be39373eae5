//! Inboxes: what comes to a link before anybody can notice.
//!
//! A packet that arrives at a link comes out of it after the link's delay at the earliest. Until
//! then nothing else in the network depends on the arrival. So it needs no event: it goes to the
//! link's inbox, in order. One event per delay, or per hundred packets, has the link take in all
//! that has come. This is the lookahead of parallel simulation (Chandy, Misra 1979), used on one
//! core.
//!
//! A link has an inbox unless the order of what happens at several links is seen: custom disciplines
//! of several links may share something, such as a file that they write. Where packets wait at the
//! link itself, the inbox also keeps when the link is to be served: a packet that leaves then needs
//! the link's delay, too. Arrivals and services are taken in by the time and the order that they
//! would have had in the event queue.

use crate::config::Config;
use crate::sched::{Event, Origin};
use penstock_queue::{AqmConfig, Link, LinkConfig, Ring};
use penstock_units::{Duration, Time};

/// So far from the end of the inbox a packet is looked a place for. One that belongs further ahead
/// gets an event of its own.
const NEAR: usize = 16;
/// An inbox pays if so many packets may pass during the link's delay.
const WORTH: u64 = 8;
/// It is emptied after so many packets or before, while they are in the processor's cache.
const BATCH: u64 = 128;

/// See the module. What hosts send comes after a short access link, what another link sends after a
/// long one and is known early: each is nearly in order by itself, and has a line of its own.
pub(crate) struct Inbox {
    /// Arrivals from hosts.
    hosts: Ring<Event>,
    /// Arrivals from other links.
    links: Ring<Event>,
    /// When the link is to be served; [`Event::LAST`]: never.
    service: Event,
    /// Packets wait at the link itself, which asks to be served.
    pub(crate) eager: bool,
    /// How long an arrival may wait here: the link's delay or less. Zero: the link has no inbox.
    pub(crate) patience: Duration,
    /// The first arrival or service that is waited for: the link takes in what has come when its
    /// patience with that one ends. [`Time::NEVER`] while there is nothing.
    first: Time,
}

impl Inbox {
    /// The inbox of link `i`, which stays empty unless the run `foresees`.
    pub(crate) fn new(c: &Config, i: usize, link: &Link, foresees: bool) -> Self {
        let l = &c.links[i];
        let packet = Duration::from_secs_f64(12_000.0 / l.rate.as_bps() as f64);
        let custom = |l: &LinkConfig| matches!(l.aqm, AqmConfig::User(_));
        let seen = !foresees || custom(l) && c.links.iter().filter(|l| custom(l)).count() > 1;
        let pays = l.delay.as_ticks() >= WORTH * packet.as_ticks();
        let batch = Duration::from_ticks(BATCH * packet.as_ticks());
        let patience = if pays && !seen { l.delay.min(batch) } else { Duration::ZERO };
        Inbox {
            hosts: Ring::new(Event::FIRST),
            links: Ring::new(Event::FIRST),
            service: Event::LAST,
            eager: link.holds(),
            patience,
            first: Time::NEVER,
        }
    }

    /// Takes an arrival. Returns false where it needs an event of its own.
    #[inline]
    pub(crate) fn take(&mut self, event: Event, from: Origin) -> bool {
        let line = match from {
            Origin::Host => &mut self.hosts,
            Origin::Link(_) => &mut self.links,
        };
        self.patience != Duration::ZERO && line.insert(event, NEAR)
    }

    /// The first arrival.
    #[inline(always)]
    fn next(&self) -> Option<&Event> {
        match (self.hosts.get(0), self.links.get(0)) {
            (Some(host), Some(link)) => Some(host.min(link)),
            (host, link) => host.or(link),
        }
    }

    /// Takes the first arrival out if `ready` says so of it.
    #[inline(always)]
    fn pop_if(&mut self, ready: impl FnOnce(&Event) -> bool) -> Option<Event> {
        match self.links.get(0) {
            Some(link) if self.hosts.get(0).is_none_or(|host| link < host) => {
                self.links.pop_if(ready)
            }
            _ => self.hosts.pop_if(ready),
        }
    }

    /// The number of arrivals in it.
    pub(crate) fn arrivals(&self) -> usize {
        self.hosts.len() + self.links.len()
    }

    /// Returns whether it keeps what happens at the link. Otherwise that needs events of its own.
    #[inline]
    pub(crate) fn keeps(&self) -> bool {
        self.patience != Duration::ZERO
    }

    /// Keeps when the link is to be served.
    #[inline]
    pub(crate) fn serve(&mut self, event: Event) {
        debug_assert!(self.keeps(), "the caller has asked");
        self.service = event;
    }

    /// When the link is to be served; behind the end of every run: not at all.
    #[inline(always)]
    pub(crate) fn due(&self) -> Time {
        self.service.time()
    }

    /// The link is to be served at `at`, where nothing else can fall on that instant.
    #[inline(always)]
    pub(crate) fn serve_alone(&mut self, at: Time) {
        self.service = Event::service_at(at);
    }

    /// The link's service, if it goes before `event`.
    #[inline(always)]
    pub(crate) fn service_ahead_of(&mut self, event: &Event) -> Option<Event> {
        let first = self.service < *event;
        first.then(|| std::mem::replace(&mut self.service, Event::LAST))
    }

    /// When the link is to be served, and what asked for it.
    #[inline(always)]
    pub(crate) fn service(&self) -> &Event {
        &self.service
    }

    /// Returns whether anything is to happen at the link before `event`.
    #[inline]
    pub(crate) fn waits_for(&self, event: &Event) -> bool {
        self.service < *event || self.next().is_some_and(|first| first < event)
    }

    /// Returns when the link is to take in the arrival at `at`, if that is earlier than was said
    /// before.
    #[inline]
    pub(crate) fn call(&mut self, at: Time) -> Option<Time> {
        (at < self.first).then(|| {
            self.first = at;
            at + self.patience
        })
    }

    /// The same for what is left.
    pub(crate) fn call_again(&mut self) -> Option<Time> {
        self.hosts.relax();
        self.links.relax();
        let first = self.next().copied().unwrap_or(Event::LAST).min(self.service);
        if first == Event::LAST {
            return None;
        }
        self.call(first.time())
    }

    /// The time to take in what has come is `now`, or has passed. Returns false where another event
    /// has seen to that.
    pub(crate) fn called(&mut self, now: Time) -> bool {
        let due = self.first + self.patience == now;
        if due {
            self.first = Time::NEVER;
        }
        due
    }

    /// The arrival from a host `ahead` places behind the first one; else that from another link.
    #[inline]
    pub(crate) fn peek(&self, ahead: usize) -> Option<&Event> {
        self.hosts.get(ahead).or_else(|| self.links.get(ahead))
    }

    /// The first arrival, if it goes before `event`.
    #[inline(always)]
    pub(crate) fn ahead_of(&mut self, event: &Event) -> Option<Event> {
        self.pop_if(|first| first < event)
    }
}
