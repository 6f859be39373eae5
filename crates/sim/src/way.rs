//! The way of a packet: through the links of its route, down to the host at its end, and what the
//! host makes of it, as far ahead as nobody can notice ([`crate::inbox`]).

use crate::ends;
use crate::flow::{Flow, FlowKind};
use crate::network::{release, Network};
use crate::packet::{flag, Pkt, AT_HOST};
use crate::routes::HOST;
use crate::sched::{Event, Kind, Origin};
use penstock_aqm::Packet;
use penstock_queue::{Arriving, Fate, Sent};
use penstock_units::{Duration, Time};

/// Stands for the place of a packet that has none.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A packet as a link sees it that it comes to at `at`.
#[inline(always)]
pub(crate) fn arriving(at: Time, index: u32, p: &Pkt) -> Arriving {
    let pkt = Packet { bytes: p.bytes, ecn: p.ecn(), flow: p.flow, class: p.class };
    Arriving { at, pkt, index, data: !p.is(flag::ACK) }
}

impl Network {
    /// The link takes in what came to its inbox before `now`. What may happen to a packet there is
    /// asked once for all of them.
    pub(crate) fn take_in(&mut self, now: Time, link: u32, flows: &mut [Flow]) {
        if !self.inboxes[link as usize].keeps() {
            return;
        }
        for first in self.inboxes[link as usize].heads() {
            self.warm_packet(first.what().index());
        }
        let bound = Event::first_at(now);
        if self.links[link as usize].is_plain() {
            while let Some(event) = self.next_arrival(&bound, link, flows) {
                let index = event.what().index() as u32;
                let p = self.packets.items[index as usize];
                match self.links[link as usize].straight(event.time(), p.bytes, !p.is(flag::ACK)) {
                    Some(at) => self.leave(event.time(), at, link, index, p, flows),
                    None => self.through(event.time(), link, index, flows),
                }
            }
        } else {
            self.take_in_until(&bound, link, flows);
            self.links[link as usize].relax();
        }
        let free = self.links[link as usize].busy_until();
        if let Some(due) = self.inboxes[link as usize].call_again(free) {
            self.sched.push(due, Kind::Inbox, link);
        }
    }

    /// A packet comes to a link by an event of its own: what is in the inbox may go before it.
    #[inline]
    pub(crate) fn take_in_before(&mut self, event: &Event, link: u32, flows: &mut [Flow]) {
        if self.inboxes[link as usize].waits_for(event) {
            self.take_in_until(event, link, flows);
            self.sched.go_on();
        }
    }

    /// An eager link is served as its inbox says.
    #[inline(always)]
    fn serve(&mut self, service: &Event, link: u32, flows: &mut [Flow]) {
        self.events += 1;
        self.sched.begin_service(service);
        self.service(service.time(), link, flows);
    }

    /// An eager link that one source's packets come to sends what was due until `at`.
    #[inline]
    pub(crate) fn serve_until(&mut self, at: Time, link: u32, flows: &mut [Flow]) {
        let bound = Event::first_arrival_at(at);
        while let Some(service) = self.inboxes[link as usize].service_ahead_of(&bound) {
            self.serve(&service, link, flows);
        }
    }

    /// A link asks to be served at `at`.
    #[inline]
    pub(crate) fn ask_for_service(&mut self, at: Time, link: u32) {
        let inbox = &mut self.inboxes[link as usize];
        if !inbox.keeps() {
            return self.sched.push(at, Kind::Service, link);
        }
        inbox.serve(self.sched.event(at, Kind::Service, link));
        if let Some(due) = inbox.call(at) {
            self.sched.push(due, Kind::Inbox, link);
        }
    }

    /// Takes an arrival out of a link's inbox that goes before `bound`: it is what is worked out from
    /// now on. The packet behind it on the same side begins to be loaded: since it was sent,
    /// thousands of others have been.
    #[inline(always)]
    pub(crate) fn next_arrival(
        &mut self,
        bound: &Event,
        link: u32,
        flows: &[Flow],
    ) -> Option<Event> {
        let (event, behind) = self.inboxes[link as usize].ahead_of(bound)?;
        let behind = behind.map(|behind| behind.what().index());
        self.events += 1;
        self.sched.begin_arrival(&event);
        if self.crowded {
            self.warm(link, flows);
        } else if let Some(index) = behind {
            self.warm_packet(index);
        }
        Some(event)
    }

    /// Begins to load what the next arrivals at a link will touch, where there are many flows.
    #[inline]
    fn warm(&self, link: u32, flows: &[Flow]) {
        let inbox = &self.inboxes[link as usize];
        if let Some(later) = inbox.peek(3) {
            self.warm_packet(later.what().index());
        }
        if let Some(next) = inbox.peek(1) {
            self.warm_flow(next.what().index(), flows);
        }
    }

    /// A datagram, which has crossed the access link of its host, comes to the first link of its
    /// route.
    #[inline]
    pub(crate) fn enter_at_link(&mut self, event: &Event, p: Pkt, flows: &mut [Flow]) {
        let (now, link) = (event.time(), self.routes.at(p.route, 0));
        self.take_in_before(event, link, flows);
        if self.capture.is_some() {
            let index = self.enter(p);
            self.through(now, link, index, flows);
        } else if self.inboxes[link as usize].eager {
            self.wait_ahead(now, link, p, flows);
        } else {
            self.pass_ahead(now, link, p, flows);
        }
    }

    /// A lone source's packet, known since `scheduled`, comes to an eager link at `at`, which may
    /// lie ahead. What waits there leaves in its turn.
    #[inline(never)]
    pub(crate) fn in_turn(
        &mut self,
        at: Time,
        scheduled: Time,
        link: u32,
        p: Pkt,
        flows: &mut [Flow],
    ) {
        self.serve_until(at, link, flows);
        self.sched.begin(at, scheduled);
        self.wait_ahead(at, link, p, flows);
    }

    /// The same at `now`, which may lie ahead, where the link is eager.
    #[inline(never)]
    pub(crate) fn wait_ahead(&mut self, now: Time, link: u32, p: Pkt, flows: &mut [Flow]) {
        if self.goes_on(&p) {
            let index = self.enter(p);
            let fate = self.pass(now, link, index, &p, flows);
            return self.stay(link, index, fate);
        }
        // It needs a place in the pool only if it goes on from the link, which knows the rest.
        self.entered += 1;
        self.left += 1;
        if let Fate::Held(Some(at)) = self.pass(now, link, NOWHERE, &p, flows) {
            self.ask_for_service(at, link);
        }
        self.bury(link);
    }

    /// The same where it is lazy. The packet needs a place in the pool only if it goes on from the
    /// link.
    #[inline(never)]
    pub(crate) fn pass_ahead(&mut self, now: Time, link: u32, p: Pkt, flows: &mut [Flow]) {
        if let Fate::Through(at, ecn) = self.pass(now, link, NOWHERE, &p, flows) {
            if self.goes_on(&p) {
                let index = self.enter(p);
                return self.leave(now, at, link, index, p.carrying(ecn), flows);
            }
            self.delivered(at, p.host, p.flow, p.bytes, flows);
        }
        self.entered += 1;
        self.left += 1;
    }

    /// Returns whether a packet passes more links after this one, or shares its host's access link
    /// with packets from elsewhere.
    #[inline(always)]
    fn goes_on(&self, p: &Pkt) -> bool {
        self.goes_on_to(p, self.routes.at(p.route, p.hop + 1))
    }

    /// The same where `next` is known, the link behind this one or [`HOST`].
    #[inline(always)]
    fn goes_on_to(&self, p: &Pkt, next: u32) -> bool {
        next != HOST || self.hosts[p.host as usize].merges()
    }

    /// A datagram leaves its last link at `at`. Nobody answers it, so it needs no event.
    #[inline]
    fn delivered(&mut self, at: Time, host: u32, flow: u32, bytes: u32, flows: &mut [Flow]) {
        let at = self.hosts[host as usize].down.send(at, bytes);
        if let FlowKind::Udp(u) = &mut flows[flow as usize].kind {
            u.arrives(at, bytes, self.window);
        }
    }

    /// Through one link and onward.
    #[inline(never)]
    pub(crate) fn through(&mut self, now: Time, link: u32, index: u32, flows: &mut [Flow]) {
        let p = self.packets.items[index as usize];
        if self.capture.is_some() {
            return self.through_captured(now, link, index, p, flows);
        }
        let l = &mut self.links[link as usize];
        if l.is_plain() {
            if let Some(at) = l.straight(now, p.bytes, !p.is(flag::ACK)) {
                return self.leave(now, at, link, index, p, flows);
            }
        }
        let fate = self.pass(now, link, index, &p, flows);
        self.follow(now, link, index, p, fate, flows);
    }

    #[cold]
    #[inline(never)]
    fn through_captured(&mut self, now: Time, link: u32, index: u32, p: Pkt, flows: &mut [Flow]) {
        if self.capture_links.contains(&link) {
            self.record(now, p, flows);
        }
        let fate = self.pass(now, link, index, &p, flows);
        self.record_out(link, p, flows);
        self.follow(now, link, index, p, fate, flows);
    }

    /// What becomes of a packet that arrives at a link.
    #[inline(always)]
    fn pass(&mut self, now: Time, link: u32, index: u32, p: &Pkt, flows: &[Flow]) -> Fate {
        let a = arriving(now, index, p);
        let l = &mut self.links[link as usize];
        if !l.catch_up(now) {
            return l.arrive(&a);
        }
        let scheduled = self.scheduled(now, p, flows);
        let l = &mut self.links[link as usize];
        l.settle(now, scheduled);
        l.arrive(&a)
    }

    /// When a packet that arrives at a link at `now` began to be sent to it.
    #[cold]
    fn scheduled(&self, now: Time, p: &Pkt, flows: &[Flow]) -> Time {
        let crossing = match p.hop.checked_sub(1) {
            None => self.up_crossing(p, flows),
            Some(last) => self.links[self.routes.at(p.route, last) as usize].crossing(p.bytes),
        };
        now.before(crossing)
    }

    /// How long before its arrival at its first link a packet began to be sent by its host.
    #[cold]
    pub(crate) fn up_crossing(&self, p: &Pkt, flows: &[Flow]) -> Duration {
        let f = &flows[p.flow as usize];
        let back = p.is(flag::ACK | flag::REQUEST);
        let from = if back { f.ends.dst } else { f.ends.src };
        self.hosts[from as usize].up.crossing(p.bytes)
    }

    /// Does with a packet what its link decided.
    #[inline(always)]
    fn follow(&mut self, now: Time, link: u32, index: u32, p: Pkt, fate: Fate, flows: &mut [Flow]) {
        match fate {
            Fate::Through(at, ecn) => self.leave(now, at, link, index, p.carrying(ecn), flows),
            _ => self.stay(link, index, fate),
        }
    }

    /// Does with a packet what its link decided, where it does not leave the link.
    #[inline(always)]
    fn stay(&mut self, link: u32, index: u32, fate: Fate) {
        self.bury(link);
        match fate {
            Fate::Dropped => self.discard(index),
            Fate::Held(Some(at)) => self.ask_for_service(at, link),
            Fate::Held(None) | Fate::Through(..) => {}
        }
    }

    /// Discards the packets that were dropped while they waited at a link.
    #[inline(always)]
    pub(crate) fn bury(&mut self, link: u32) {
        if self.links[link as usize].gave_up() {
            self.bury_them(link);
        }
    }

    #[cold]
    #[inline(never)]
    fn bury_them(&mut self, link: u32) {
        let Network { links, packets, sacks, left, .. } = self;
        for index in links[link as usize].gone().filter(|index| *index != NOWHERE) {
            release(packets, sacks, left, index);
        }
    }

    /// A packet was dropped while it waited at a link.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_up(&mut self, index: u32) {
        if index != NOWHERE {
            self.discard(index);
        }
    }

    /// A packet reaches the other end of `link` at `at`: it goes on to the next link, or down to its
    /// host. What the pool holds of it is brought up to date where it has to wait.
    #[inline(always)]
    pub(crate) fn leave(
        &mut self,
        now: Time,
        at: Time,
        link: u32,
        index: u32,
        p: Pkt,
        flows: &mut [Flow],
    ) {
        let next = self.routes.at(p.route, p.hop + 1);
        if self.goes_on_to(&p, next) {
            let kept = &mut self.packets.items[index as usize];
            kept.flags = p.flags;
            kept.hop = p.hop + 1;
            return self.expect(at, next, Origin::Link(link), index);
        }
        if p.is(flag::DATAGRAM) {
            self.delivered(at, p.host, p.flow, p.bytes, flows);
            return self.discard(index);
        }
        // The access link has one feeder: the packet's arrival at its end is known.
        self.down(now, at, index, p, flows);
    }

    /// A packet enters its host's access link at `at`, which is known at `now`. Where the host does
    /// nothing but answer at once, so is the answer: it needs no event.
    #[inline(always)]
    pub(crate) fn down(&mut self, now: Time, at: Time, index: u32, p: Pkt, flows: &mut [Flow]) {
        let (down, answers) = {
            let host = &mut self.hosts[p.host as usize];
            (host.down.send(at, p.bytes), host.answers())
        };
        let Some(at) = down else { return self.discard(index) };
        if answers && at < self.end {
            self.events += 1;
            self.sched.begin(at, now);
            return ends::data(self, flows, at, index, p);
        }
        if p.is(flag::ACK) {
            if let FlowKind::Tcp(t) = &mut flows[p.flow as usize].kind {
                if t.acks.is_empty() && t.foresees(at, self.acks_foreseen_until) {
                    self.events += 1;
                    self.sched.begin(at, now);
                    ends::ack(self, flows, at, index, p);
                    return;
                }
            }
        }
        self.wait_at_host(at, index, p, flows);
    }

    /// A packet is at its host at `at`, and has to wait for that time.
    #[inline]
    fn wait_at_host(&mut self, at: Time, index: u32, p: Pkt, flows: &mut [Flow]) {
        let kept = &mut self.packets.items[index as usize];
        kept.flags = p.flags;
        kept.hop = AT_HOST;
        let event = self.sched.event(at, Kind::Packet, index);
        if p.is(flag::ACK) {
            if let FlowKind::Tcp(t) = &mut flows[p.flow as usize].kind {
                // Those behind another one wait for that one's event.
                if t.acks.is_empty() {
                    self.sched.add(event);
                }
                return t.acks.push(&mut self.waiting, event);
            }
        }
        self.sched.add(event);
    }

    /// The event of a flow's first kept ACK has come, and that ACK is worked out. So are those
    /// behind it, as far ahead of time as nobody can notice. The next one gets an event.
    pub(crate) fn acks_behind(&mut self, flow: usize, flows: &mut [Flow]) {
        while let FlowKind::Tcp(t) = &mut flows[flow].kind {
            let Some(next) = t.acks.step(&mut self.waiting) else { return };
            if !t.foresees(next.time(), self.acks_foreseen_until) {
                return self.sched.add(next);
            }
            self.events += 1;
            self.sched.begin_arrival(&next);
            let index = next.what().index() as u32;
            let p = self.packets.items[index as usize];
            ends::ack(self, flows, next.time(), index, p);
        }
    }

    /// An eager link's transmitter is free.
    pub(crate) fn service(&mut self, now: Time, link: u32, flows: &mut [Flow]) {
        let served = self.links[link as usize].serve(now);
        self.bury(link);
        if self.capture.is_some() {
            self.record_sent(link, served.sent, flows);
        }
        if served.again != Time::NEVER {
            self.ask_for_service(served.again, link);
        }
        self.sent(now, link, served.sent, flows);
    }

    #[cold]
    fn record_sent(&mut self, link: u32, sent: Option<Sent>, flows: &[Flow]) {
        if let Some(Sent { index, .. }) = sent.filter(|sent| sent.index != NOWHERE) {
            let p = self.packets.items[index as usize];
            self.record_out(link, p, flows);
        }
    }

    /// An eager link sends a packet in its turn.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, link: u32, sent: Option<Sent>, flows: &mut [Flow]) {
        let Some(Sent { index, flow, bytes, fate }) = sent else { return };
        if index == NOWHERE {
            if let Fate::Through(at, _) = fate {
                let host = flows[flow as usize].ends.dst;
                self.delivered(at, host, flow, bytes, flows);
            }
            return;
        }
        let p = self.packets.items[index as usize];
        match fate {
            Fate::Through(at, ecn) => self.leave(now, at, link, index, p.carrying(ecn), flows),
            _ => self.discard(index),
        }
    }

    /// Captures `p` if the link has a tap behind its queue and `p` got through just now.
    #[cold]
    fn record_out(&mut self, link: u32, p: Pkt, flows: &[Flow]) {
        if let Some((start, ecn)) = self.links[link as usize].tapped() {
            self.record(start, p.carrying(ecn), flows);
        }
    }
}
