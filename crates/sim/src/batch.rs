//! The one way into a link: packets that have come to its inbox, and one that comes by an event of
//! its own, are taken in by one loop, of which the discipline's own type is part.
//!
//! The links stand beside the network. What comes of a packet behind its link touches the network
//! and the flows, but no link: so the network can be at work while a link is.

use crate::flow::Flow;
use crate::lone;
use crate::network::Network;
use crate::packet::{flag, Pkt};
use crate::sched::{Event, Kind, Present};
use penstock_aqm::Packet;
use penstock_queue::{Arriving, Fate, Link, Served, Source};
use penstock_units::Time;

/// A link takes in what came to its inbox before `now`.
pub(crate) fn take_in(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    now: Time,
    link: u32,
) {
    let inbox = &mut net.inboxes[link as usize];
    if !inbox.keeps() {
        return;
    }
    let bound = Event::first_at(now);
    inbox.gather(&bound);
    let inbox = &net.inboxes[link as usize];
    for first in inbox.heads() {
        net.warm_packet(first.what().index());
    }
    if links[link as usize].is_plain() && net.log.is_none() {
        if let Some(event) = go_straight(net, &mut links[link as usize], flows, &bound, link) {
            let index = event.what().index() as u32;
            take_in_until(net, links, flows, &event, link, Some(index));
        }
    }
    let service = take_in_until(net, links, flows, &bound, link, None);
    let inbox = &mut net.inboxes[link as usize];
    inbox.serve(service);
    let own = &mut links[link as usize];
    own.relax();
    if let Some(due) = inbox.call_again(own) {
        net.sched.push(due, Kind::Inbox, link);
    }
}

/// A plain link passes on what comes before `bound` and finds it idle. Returns the first arrival
/// that does not, which is what is worked out from now on.
#[inline(always)]
fn go_straight(
    net: &mut Network,
    own: &mut Link,
    flows: &mut [Flow],
    bound: &Event,
    link: u32,
) -> Option<Event> {
    while let Some(event) = net.next_arrival(bound, link, flows) {
        let (now, index) = (event.time(), event.what().index() as u32);
        let p = &net.packets.items[index as usize];
        let Some(at) = own.straight(now, p.bytes, !p.is(flag::ACK)) else { return Some(event) };
        let ecn = p.ecn();
        net.became(now, link, index, Fate::Through(at, ecn), flows);
    }
    None
}

/// The packet at `index` comes to a link by an event of its own. What is in the link's inbox may go
/// before it.
#[inline]
pub(crate) fn arrive(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    event: &Event,
    link: u32,
    index: u32,
) {
    let p = net.packets.items[index as usize];
    net.capture_in(event.time(), link, p, flows);
    net.inboxes[link as usize].gather(event);
    let service = take_in_until(net, links, flows, event, link, Some(index));
    net.capture_out(&mut links[link as usize], p, flows);
    net.sched.go_on();
    let inbox = &mut net.inboxes[link as usize];
    if inbox.keeps() {
        inbox.serve(service);
        if let Some(due) = inbox.call(service.time()) {
            net.sched.push(due, Kind::Inbox, link);
        }
    } else if service != Event::LAST {
        net.sched.push(service.time(), Kind::Service, link);
    }
}

/// An eager link without an inbox is served.
pub(crate) fn serve(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    now: Time,
    link: u32,
) {
    let own = &mut links[link as usize];
    let Served { sent, again } = own.serve(now, |index| net.discard(index));
    if again != Time::NEVER {
        net.sched.push(again, Kind::Service, link);
    }
    if let Some(sent) = sent {
        net.capture_out(own, net.packets.items[sent.index as usize], flows);
        net.sent(now, link, sent, flows);
    }
}

/// A link takes in what goes before `bound`, an eager one with the departures that are due until
/// then, and behind that `last`, whose event `bound` is, and which is what is worked out now.
/// Returns when the link is to be served.
#[inline(never)]
fn take_in_until(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    bound: &Event,
    link: u32,
    last: Option<u32>,
) -> Event {
    let inbox = &net.inboxes[link as usize];
    let service = inbox.service();
    let (due, asked) = (service.time(), service.cause());
    // Without an inbox each departure has an event.
    let until = if inbox.keeps() { bound.end_of_departures() } else { Time::ZERO };
    let (before, rest) = links.split_at_mut(link as usize);
    let (own, behind) = rest.split_first_mut().expect("the link's number");
    let present = net.sched.present();
    let began = present;
    let (bound, at, index) = (*bound, Time::ZERO, 0);
    let batch = Batch {
        net,
        flows,
        link,
        before,
        behind,
        bound,
        until,
        last,
        present,
        at,
        index,
        began,
        asked,
    };
    let (Batch { asked, .. }, due) = own.stretch(batch, due);
    Event::departure(due, asked)
}

/// The arrivals of a link, and what comes of them in the network.
struct Batch<'a> {
    net: &'a mut Network,
    flows: &'a mut [Flow],
    link: u32,
    /// The links before it, and those behind it, in the network's order.
    before: &'a [Link],
    behind: &'a [Link],
    bound: Event,
    until: Time,
    last: Option<u32>,
    /// The place of the last one among all that happens.
    present: Present,
    /// When the packet comes that is taken in, and its place in the pool.
    at: Time,
    index: u32,
    /// Its place among all that happens: what comes of it is scheduled there, behind the turns
    /// before it.
    began: Present,
    /// What asked for an eager link's next turn.
    asked: Present,
}

impl Batch<'_> {
    /// Another link.
    fn other(&self, link: u32) -> &Link {
        match link.checked_sub(self.link + 1) {
            Some(behind) => &self.behind[behind as usize],
            None => &self.before[link as usize],
        }
    }

    /// The packet that is taken in.
    #[inline(always)]
    fn taken(&self) -> &Pkt {
        &self.net.packets.items[self.index as usize]
    }

    /// The next packet: from the inbox, or else the last one.
    #[inline(always)]
    fn next_index(&mut self) -> Option<(Time, u32)> {
        let net = &mut *self.net;
        if let Some(event) = net.next_arrival(&self.bound, self.link, self.flows) {
            return Some((event.time(), event.what().index() as u32));
        }
        let index = self.last.take()?;
        net.write_down(self.link, index);
        net.sched.go_back(self.present);
        Some((self.bound.time(), index))
    }
}

impl Source for Batch<'_> {
    #[inline(always)]
    fn next(&mut self) -> bool {
        let Some((at, index)) = self.next_index() else { return false };
        (self.at, self.index) = (at, index);
        self.began = self.net.sched.present();
        true
    }

    #[inline(always)]
    fn packet(&self) -> Arriving {
        let Batch { at, index, .. } = self;
        let p = self.taken();
        let pkt = Packet { bytes: p.bytes, ecn: p.ecn(), flow: p.flow, class: p.class };
        Arriving { at: *at, pkt, index: *index, data: !p.is(flag::ACK) }
    }

    #[cold]
    fn scheduled(&self) -> Time {
        let p = self.taken();
        let crossing = match p.hop.checked_sub(1) {
            None => self.net.up_crossing(p, self.flows),
            Some(last) => self.other(self.net.routes.at(p.route, last)).crossing(p.bytes),
        };
        self.at.before(crossing)
    }

    #[inline(always)]
    fn became(&mut self, fate: Fate) {
        if let Fate::Held(Some(_)) = fate {
            self.asked = self.began;
        }
        self.net.became(self.at, self.link, self.index, fate, self.flows);
    }

    #[inline(always)]
    fn turn(&mut self, now: Time, served: Served) {
        self.net.events += 1;
        self.net.sched.begin_departure(now, self.asked);
        self.asked = self.net.sched.present();
        if let Some(sent) = served.sent {
            self.net.sent(now, self.link, sent, self.flows);
        }
    }

    fn discard(&mut self, index: u32) {
        // A lone source's packet has no place in the pool.
        if index != lone::NOWHERE {
            self.net.discard(index);
        }
    }

    #[inline]
    fn until(&self) -> Time {
        self.until
    }
}
