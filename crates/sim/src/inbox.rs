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

use crate::aside::Aside;
use crate::config::Config;
use crate::sched::{Event, Origin};
use penstock_queue::{AqmConfig, Link, LinkConfig, Ring};
use penstock_units::{Duration, Time};

/// A packet is sorted in if it belongs within the last `NEAR` places. One that belongs further
/// ahead, as do most of those that are sent before a pace lets them go, is set aside until the link
/// takes in what comes then ([`crate::aside`]).
pub(crate) const NEAR: usize = 16;
/// An inbox pays from this many packets per link delay.
const WORTH: u64 = 8;
/// The most packets that it is emptied after, while they are in the processor's cache.
const BATCH: u64 = 128;

/// See the module. What hosts send comes after a short access link, what another link sends after a
/// long one and is known early: each is nearly in order by itself, and has a line of its own.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Inbox {
    /// Arrivals from other links, those that were set aside, and those that had an event of their own.
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
    /// How much longer it may wait, at the most, where packets wait in front of a lazy link.
    longer: Duration,
    /// When a lazy link's transmitter will be free, as the link said when it last took something in.
    busy_until: Time,
    /// Arrivals that belong too far ahead to be sorted in, once there were any.
    aside: Option<Box<Aside>>,
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

    /// Takes an arrival, unless it belongs more than `near` places ahead.
    #[inline(always)]
    fn insert(&mut self, event: Event, near: usize) -> bool {
        let taken = self.events.insert(event, near);
        if taken && event.instant() < self.first {
            self.first = event.instant();
        }
        taken
    }

    /// Takes arrivals that are in order.
    fn merge(&mut self, events: &[Event]) {
        if let Some(first) = events.first() {
            self.events.merge(events);
            self.first = self.first.min(first.instant());
        }
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
    pub(crate) fn new(c: &Config, i: usize, foresees: bool) -> Self {
        let l = &c.links[i];
        let packet = Duration::from_secs_f64(12_000.0 / l.rate.as_bps() as f64);
        let custom = |l: &LinkConfig| matches!(l.aqm, AqmConfig::User(_));
        let seen = !foresees || custom(l) && c.links.iter().filter(|l| custom(l)).count() > 1;
        let pays = l.delay.as_ticks() >= WORTH * packet.as_ticks();
        let batch = Duration::from_ticks(BATCH * packet.as_ticks());
        let patience = if pays && !seen { l.delay.min(batch) } else { Duration::ZERO };
        let longer = Duration::from_ticks(batch.as_ticks() - patience.as_ticks());
        Inbox {
            links: Line::new(),
            hosts: Line::new(),
            service: Event::LAST,
            patience,
            longer,
            busy_until: Time::ZERO,
            aside: None,
            first: Time::NEVER,
            call: Time::NEVER,
        }
    }

    /// Takes an arrival, and sorts it in within the last `near` places, or sets it aside. Returns
    /// false where it needs an event of its own.
    #[inline(always)]
    pub(crate) fn take(&mut self, event: Event, from: Origin, near: usize) -> bool {
        let line = match from {
            Origin::Host => &mut self.hosts,
            Origin::Link(_) => &mut self.links,
        };
        self.patience != Duration::ZERO && (line.insert(event, near) || self.set_aside(event))
    }

    #[inline(never)]
    fn set_aside(&mut self, event: Event) -> bool {
        let patience = self.patience;
        self.aside.get_or_insert_with(|| Box::new(Aside::new(patience))).put(event)
    }

    /// What was set aside and goes before `bound` takes its place among the others.
    #[inline]
    pub(crate) fn gather(&mut self, bound: &Event) {
        if let Some(aside) = &mut self.aside {
            self.links.merge(aside.take_before(bound));
        }
    }

    /// Takes an arrival whose event has come. Those come in order, whatever hosts have sent ahead
    /// of time.
    #[inline]
    pub(crate) fn take_late(&mut self, event: Event) -> bool {
        self.links.insert(event, NEAR)
    }

    /// The first arrival.
    fn next(&self) -> Option<&Event> {
        let aside = self.aside.as_ref().and_then(|aside| aside.first());
        self.heads().chain(aside).min()
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
        let aside = self.aside.as_ref().map_or(0, |aside| aside.len());
        self.hosts.events.len() + self.links.events.len() + aside
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
        let due = at + self.patience + waits.min(self.longer);
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
        (self.first, self.call) = (Time::NEVER, Time::NEVER);
        self.call_again(link)
    }

    /// Returns when the link is to take in what is left.
    pub(crate) fn call_again(&mut self, link: &Link) -> Option<Time> {
        self.hosts.events.relax();
        self.links.events.relax();
        self.busy_until = if link.is_eager() { Time::ZERO } else { link.busy_until() };
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
