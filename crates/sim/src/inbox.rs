//! Inboxes: arrivals that wait until their link takes many of them in together.
//!
//! A packet that arrives at a link comes out of it after the link's delay at the earliest. Until
//! then nothing else in the network depends on the arrival. So it needs no event: it goes to the
//! link's inbox, in order. One event per delay, or per hundred packets, has the link take in all
//! that has come. This is the lookahead of parallel simulation (Chandy, Misra 1979), used on one
//! core. Where packets wait in front of a lazy link, an arrival comes out only behind them, and the
//! link takes in that much later.
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

/// A packet is sorted in if it belongs within the last `NEAR` places. One that belongs further
/// ahead gets an event of its own, as do most of those that are sent before a pace lets them go.
/// When the event comes, the packet waits here for the others all the same, if it can.
const NEAR: usize = 16;
/// An inbox pays from this many packets per link delay.
const WORTH: u64 = 8;
/// The most packets that it is emptied after, while they are in the processor's cache.
const BATCH: u64 = 128;

/// See the module. What hosts send comes after a short access link, what another link sends after a
/// long one and is known early: each is nearly in order by itself, and has a line of its own.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Inbox {
    /// Arrivals from other links, and those that had an event of their own.
    links: Line,
    /// The first arrival or service that is waited for. [`Time::NEVER`] while there is nothing.
    first: Time,
    /// Arrivals from hosts.
    hosts: Line,
    /// How long an arrival may wait here: the link's delay or less. Zero: the link has no inbox.
    pub(crate) patience: Duration,
    /// When the link is to be served; [`Event::LAST`]: never.
    service: Event,
    /// The link takes in what has come then: its patience with the first one ends.
    call: Time,
    /// How much longer it may wait, at the most, where packets wait in front of the link.
    more: Duration,
    /// The same of a lazy link, whatever the link is now.
    longer: Duration,
    /// When the link's transmitter will be free, as the link said when it last took something in.
    busy_until: Time,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Inbox>() == 192);

/// Arrivals in order.
#[derive(Clone)]
struct Line {
    events: Ring<Event>,
    /// The instant of the first one; [`Line::EMPTY`] where there is none.
    first: u64,
}

impl Line {
    const EMPTY: u64 = u64::MAX;

    fn new() -> Self {
        Line { events: Ring::new(Event::FIRST), first: Self::EMPTY }
    }

    /// Takes an arrival, unless it belongs too far ahead.
    #[inline(always)]
    fn insert(&mut self, event: Event) -> bool {
        let taken = self.events.insert(event, NEAR);
        if taken && event.instant() < self.first {
            self.first = event.instant();
        }
        taken
    }

    /// Takes the first arrival out. Returns also the one behind it.
    #[inline(always)]
    fn pop(&mut self) -> Option<(Event, Option<&Event>)> {
        let (event, behind) = self.events.step()?;
        self.first = behind.map_or(Self::EMPTY, Event::instant);
        Some((event, behind))
    }
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
        let longer = Duration::from_ticks(batch.as_ticks() - patience.as_ticks());
        let more = if link.is_eager() { Duration::ZERO } else { longer };
        Inbox {
            links: Line::new(),
            hosts: Line::new(),
            service: Event::LAST,
            patience,
            longer,
            more,
            busy_until: Time::ZERO,
            first: Time::NEVER,
            call: Time::NEVER,
        }
    }

    /// Takes an arrival. Returns false where it needs an event of its own.
    #[inline]
    pub(crate) fn take(&mut self, event: Event, from: Origin) -> bool {
        let line = match from {
            Origin::Host => &mut self.hosts,
            Origin::Link(_) => &mut self.links,
        };
        self.patience != Duration::ZERO && line.insert(event)
    }

    /// Takes an arrival whose event has come. Those come in order, whatever hosts have sent ahead
    /// of time.
    #[inline]
    pub(crate) fn take_late(&mut self, event: Event) -> bool {
        self.links.insert(event)
    }

    /// The first arrival.
    fn next(&self) -> Option<&Event> {
        match (self.hosts.events.get(0), self.links.events.get(0)) {
            (Some(host), Some(link)) => Some(host.min(link)),
            (host, link) => host.or(link),
        }
    }

    /// Returns whether another link's arrival goes first where both sides have one at the same
    /// instant, or none.
    #[cold]
    fn link_first(&self) -> bool {
        match (self.hosts.events.get(0), self.links.events.get(0)) {
            (Some(host), Some(link)) => link < host,
            _ => false,
        }
    }

    /// The first arrival from either side.
    #[inline]
    pub(crate) fn heads(&self) -> impl Iterator<Item = &Event> {
        [&self.links, &self.hosts].into_iter().filter_map(|line| line.events.get(0))
    }

    /// The number of arrivals in it.
    pub(crate) fn arrivals(&self) -> usize {
        self.hosts.events.len() + self.links.events.len()
    }

    /// Returns whether it keeps what happens at the link. Otherwise that needs events of its own.
    #[inline]
    pub(crate) fn keeps(&self) -> bool {
        self.patience != Duration::ZERO
    }

    /// Keeps when the link is to be served: [`Event::LAST`] for one that is not.
    #[inline]
    pub(crate) fn serve(&mut self, event: Event) {
        debug_assert!(self.keeps(), "the caller has asked");
        self.service = event;
    }

    /// When the link is to be served, and what asked for it.
    #[inline(always)]
    pub(crate) fn service(&self) -> &Event {
        &self.service
    }

    /// Returns when the link is to take in the arrival at `at`, if that is earlier than was said
    /// before.
    #[inline]
    pub(crate) fn call(&mut self, at: Time) -> Option<Time> {
        if at >= self.first {
            return None;
        }
        self.first = at;
        self.earlier(at)
    }

    /// Returns when the link is to take in the first arrival of all, at `at`. It comes out of the
    /// link after the link's delay, and behind the packets that waited there when the link last
    /// took something in.
    fn earlier(&mut self, at: Time) -> Option<Time> {
        let waits = self.busy_until.max(at).since(at);
        let due = at + self.patience + waits.min(self.more);
        (due < self.call).then(|| {
            self.call = due;
            due
        })
    }

    /// The link has another discipline. Returns when it is to take in what has come.
    pub(crate) fn renew(&mut self, link: &Link) -> Option<Time> {
        if !self.keeps() {
            return None;
        }
        // It is served again when something comes.
        self.service = Event::LAST;
        self.more = if link.is_eager() { Duration::ZERO } else { self.longer };
        (self.first, self.call) = (Time::NEVER, Time::NEVER);
        self.call_again(link.busy_until())
    }

    /// Returns when the link, whose transmitter will be free at `free`, is to take in what is left.
    pub(crate) fn call_again(&mut self, free: Time) -> Option<Time> {
        self.hosts.events.relax();
        self.links.events.relax();
        self.busy_until = free;
        let first = self.next().copied().unwrap_or(Event::LAST).min(self.service);
        if first == Event::LAST {
            return None;
        }
        self.call(first.time())
    }

    /// The time to take in what has come is `now`, or has passed. Returns false where another event
    /// has seen to that.
    pub(crate) fn called(&mut self, now: Time) -> bool {
        let due = self.call == now;
        if due {
            (self.first, self.call) = (Time::NEVER, Time::NEVER);
        }
        due
    }

    /// The arrival from a host `ahead` places behind the first one; else that from another link.
    #[inline]
    pub(crate) fn peek(&self, ahead: usize) -> Option<&Event> {
        self.hosts.events.get(ahead).or_else(|| self.links.events.get(ahead))
    }

    /// The first arrival, if it goes before `event`, and the one behind it on the same side.
    #[inline(always)]
    pub(crate) fn ahead_of(&mut self, event: &Event) -> Option<(Event, Option<&Event>)> {
        let (host, link) = (self.hosts.first, self.links.first);
        let of_link = link < host || link == host && self.link_first();
        let line = if of_link { &mut self.links } else { &mut self.hosts };
        let ready = line.first < event.instant()
            || line.first == event.instant() && line.events.get(0).is_some_and(|e| e < event);
        if !ready {
            return None;
        }
        line.pop()
    }
}
