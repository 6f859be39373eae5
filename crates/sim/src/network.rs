//! The way of a packet: from its host over the access link, through the links of its route, down to
//! the host at the other end.

use crate::ends;
use crate::flow::{Flow, FlowKind};
use crate::host::Host;
use crate::inbox::Inbox;
use crate::packet::{flag, Pkt, Pool, AT_HOST, NO_SACK};
use crate::pcap::{Capture, PacketView};
use crate::routes::{Routes, HOST};
use crate::sched::{Event, Kind, Scheduler};
use penstock_aqm::{Ecn, Packet};
use penstock_queue::{Arriving, Fate, Link};
use penstock_tcp::{Ack, Block, MAX_BLOCKS};
use penstock_units::Time;

/// Stands for the place of a packet that has none.
const NOWHERE: u32 = u32::MAX;

/// Everything but the flows, so that a flow's ends can be called with it at hand.
pub(crate) struct Network {
    pub(crate) sched: Scheduler,
    pub(crate) packets: Pool<Pkt>,
    pub(crate) sacks: Pool<[Block; MAX_BLOCKS]>,
    pub(crate) links: Vec<Link>,
    /// Of each link.
    pub(crate) inboxes: Vec<Inbox>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) routes: Routes,
    /// When the run ends.
    pub(crate) end: Time,
    /// The measured window.
    pub(crate) window: (Time, Time),
    pub(crate) capture: Option<Box<Capture>>,
    /// The links in front of which packets are captured.
    pub(crate) capture_links: [u32; 2],
    /// Packets that entered and left the network, for their conservation.
    pub(crate) entered: u64,
    pub(crate) left: u64,
    /// Nothing is worked out ahead, or flows are written down as they come.
    pub(crate) watched: bool,
    /// ACKs before this may be worked out ahead of time: until then nobody looks at the senders.
    pub(crate) acks_foreseen_until: Time,
    /// What has happened, whether there was an event for it or not.
    pub(crate) events: u64,
}

/// Takes a packet that is gone out of the pools; where a link is borrowed meanwhile;
/// else [`Network::discard`].
#[inline(always)]
fn release(
    packets: &mut Pool<Pkt>,
    sacks: &mut Pool<[Block; MAX_BLOCKS]>,
    left: &mut u64,
    index: u32,
) {
    let sack = packets.items[index as usize].sack;
    if sack != NO_SACK {
        sacks.remove(sack);
    }
    packets.remove(index);
    *left += 1;
}

impl Network {
    /// A host sends a packet at `now`: through its access link, to the first hop of its route.
    #[inline(always)]
    pub(crate) fn depart(&mut self, now: Time, host: u32, p: Pkt) {
        self.entered += 1;
        let index = self.packets.put(p);
        self.send_up(now, host, index);
    }

    /// The packet at `index` enters the access link of its host.
    #[inline(always)]
    pub(crate) fn send_up(&mut self, now: Time, host: u32, index: u32) {
        let p = &self.packets.items[index as usize];
        let link = self.routes.at(p.route, p.hop);
        match self.hosts[host as usize].up.send(now, p.bytes) {
            None => self.discard(index),
            Some(at) => self.expect(at, link, index),
        }
    }

    /// When somebody looks at the senders next, after they did at `now`.
    pub(crate) fn next_look(&self, now: Time) -> Time {
        if self.watched {
            Time::ZERO
        } else if now < self.window.1 {
            self.window.1.min(self.end)
        } else {
            self.end
        }
    }

    /// Until when arrivals at the first link of a route may be foreseen at `now`.
    pub(crate) fn foresight(&self, now: Time, route: u16) -> Time {
        let link = self.routes.at(route, 0);
        let inbox = self.inboxes.get(link as usize);
        inbox.map_or(now, |inbox| now + inbox.patience).min(self.end)
    }

    /// It is known that a datagram comes to the first link of its route at `at`.
    #[inline]
    pub(crate) fn foresee(&mut self, at: Time, p: Pkt) {
        let link = self.routes.at(p.route, 0);
        let index = self.enter(p);
        self.expect(at, link, index);
    }

    /// It is known that the packet at `index` comes to `link`, or to its host's access link, at
    /// `at`.
    #[inline(always)]
    fn expect(&mut self, at: Time, link: u32, index: u32) {
        let event = self.sched.event(at, Kind::Packet, index);
        let Some(inbox) = self.inboxes.get_mut(link as usize) else {
            return self.sched.add(event);
        };
        if !inbox.take(event) {
            return self.sched.add(event);
        }
        if let Some(due) = inbox.call(at) {
            self.sched.push(due, Kind::Inbox, link);
        }
    }

    /// The link takes in what came to its inbox before `now`.
    pub(crate) fn take_in(&mut self, now: Time, link: u32, flows: &mut [Flow]) {
        while let Some(event) = self.inboxes[link as usize].before(now) {
            self.take_one_in(&event, link, flows);
        }
        if let Some(due) = self.inboxes[link as usize].call_again() {
            self.sched.push(due, Kind::Inbox, link);
        }
    }

    /// A packet comes to a link by an event of its own: what is in the inbox may go before it.
    #[inline]
    pub(crate) fn take_in_before(&mut self, event: &Event, link: u32, flows: &mut [Flow]) {
        while let Some(first) = self.inboxes[link as usize].ahead_of(event) {
            self.take_one_in(&first, link, flows);
            self.sched.go_on();
        }
    }

    #[inline(always)]
    fn take_one_in(&mut self, event: &Event, link: u32, flows: &mut [Flow]) {
        self.events += 1;
        self.sched.begin_arrival(event);
        self.through(event.time(), link, event.what().index() as u32, flows);
    }

    /// A packet enters the network at `now` at the first hop of its route.
    #[inline]
    pub(crate) fn enter(&mut self, p: Pkt) -> u32 {
        self.entered += 1;
        self.packets.put(p)
    }

    /// A packet is gone, delivered or dropped.
    #[inline(always)]
    pub(crate) fn discard(&mut self, index: u32) {
        release(&mut self.packets, &mut self.sacks, &mut self.left, index);
    }

    /// A datagram, which has crossed the access link of its host, comes to the first link of its
    /// route.
    #[inline]
    pub(crate) fn enter_at_link(&mut self, event: &Event, p: Pkt, flows: &mut [Flow]) {
        let (now, link) = (event.time(), self.routes.at(p.route, 0));
        self.take_in_before(event, link, flows);
        if self.links[link as usize].holds() || self.capture.is_some() {
            let index = self.enter(p);
            self.through(now, link, index, flows);
        } else {
            self.enter_ahead(now, p, flows);
        }
    }

    /// The same at `now`, which may lie ahead. The packet needs a place in the pool only if it goes
    /// on from the link.
    #[inline]
    pub(crate) fn enter_ahead(&mut self, now: Time, p: Pkt, flows: &mut [Flow]) {
        let link = self.routes.at(p.route, 0);
        if let Fate::Through(at, ecn) = self.pass(now, link, NOWHERE, &p, flows) {
            if self.goes_on(&p) {
                let index = self.enter(p);
                return self.leave(now, at, index, &p, ecn, flows);
            }
            self.delivered(at, &p, flows);
        }
        self.entered += 1;
        self.left += 1;
    }

    /// Returns whether a packet passes more links after this one, or shares its host's access link
    /// with packets from elsewhere.
    #[inline(always)]
    fn goes_on(&self, p: &Pkt) -> bool {
        self.routes.at(p.route, p.hop + 1) != HOST || self.hosts[p.host as usize].merges()
    }

    /// A datagram leaves its last link at `at`. Nobody answers it, so it needs no event.
    #[inline]
    fn delivered(&mut self, at: Time, p: &Pkt, flows: &mut [Flow]) {
        let Some(at) = self.hosts[p.host as usize].down.send(at, p.bytes) else { return };
        if at >= self.window.0 && at < self.window.1 {
            if let FlowKind::Udp(u) = &mut flows[p.flow as usize].kind {
                u.delivered += u64::from(p.bytes);
            }
        }
    }

    /// Through one link and onward.
    #[inline(never)]
    pub(crate) fn through(&mut self, now: Time, link: u32, index: u32, flows: &mut [Flow]) {
        let p = self.packets.items[index as usize];
        if self.capture.is_some() {
            return self.through_captured(now, link, index, p, flows);
        }
        if let Some(at) = self.links[link as usize].straight(now, p.bytes) {
            return self.leave(now, at, index, &p, p.ecn(), flows);
        }
        let fate = self.pass(now, link, index, &p, flows);
        self.follow(now, link, index, &p, fate, flows);
    }

    #[cold]
    #[inline(never)]
    fn through_captured(&mut self, now: Time, link: u32, index: u32, p: Pkt, flows: &mut [Flow]) {
        if self.capture_links.contains(&link) {
            self.record(now, p, flows);
        }
        let fate = self.pass(now, link, index, &p, flows);
        self.record_out(link, p, flows);
        self.follow(now, link, index, &p, fate, flows);
    }

    /// What becomes of a packet that arrives at a link.
    #[inline(always)]
    fn pass(&mut self, now: Time, link: u32, index: u32, p: &Pkt, flows: &[Flow]) -> Fate {
        let a = Arriving {
            at: now,
            pkt: Packet { bytes: p.bytes, ecn: p.ecn(), flow: p.flow, class: p.class },
            index,
            data: !p.is(flag::ACK),
        };
        if self.links[link as usize].catch_up(now) {
            let scheduled = self.scheduled(now, p, flows);
            self.links[link as usize].settle(now, scheduled);
        }
        self.links[link as usize].arrive(&a)
    }

    /// When a packet that arrives at a link at `now` began to be sent to it.
    #[cold]
    fn scheduled(&self, now: Time, p: &Pkt, flows: &[Flow]) -> Time {
        let crossing = if p.hop == 0 {
            let f = &flows[p.flow as usize];
            let from = if p.is(flag::ACK) { f.ends.dst } else { f.ends.src };
            self.hosts[from as usize].up.crossing(p.bytes)
        } else {
            self.links[self.routes.at(p.route, p.hop - 1) as usize].crossing(p.bytes)
        };
        now.before(crossing)
    }

    /// Does with a packet what its link decided.
    #[inline(always)]
    fn follow(
        &mut self,
        now: Time,
        link: u32,
        index: u32,
        p: &Pkt,
        fate: Fate,
        flows: &mut [Flow],
    ) {
        match fate {
            Fate::Dropped => {
                self.bury(link);
                self.discard(index);
            }
            Fate::Held(at) => {
                self.bury(link);
                if let Some(at) = at {
                    self.sched.push(at, Kind::Service, link);
                }
            }
            Fate::Through(at, ecn) => self.leave(now, at, index, p, ecn, flows),
        }
    }

    /// Discards the packets that were dropped while they waited at a link.
    fn bury(&mut self, link: u32) {
        let Network { links, packets, sacks, left, .. } = self;
        for index in links[link as usize].gone() {
            release(packets, sacks, left, index);
        }
    }

    /// A packet reaches the other end of a link at `at`: it goes on to the next link, or down to
    /// its host.
    #[inline(always)]
    fn leave(&mut self, now: Time, at: Time, index: u32, p: &Pkt, ecn: Ecn, flows: &mut [Flow]) {
        let kept = &mut self.packets.items[index as usize];
        kept.flags = p.flags & !flag::ECN | ecn as u8;
        kept.hop = p.hop + 1;
        if self.goes_on(p) {
            let link = self.routes.at(p.route, p.hop + 1);
            self.expect(at, link, index);
        } else if p.is(flag::DATAGRAM) {
            self.delivered(at, p, flows);
            self.discard(index);
        } else {
            // The access link has one feeder: the packet's arrival at its end is known.
            self.down(now, at, p.host, index, flows);
        }
    }

    /// A packet enters a host's access link at `at`, which is known at `now`. Where the host does
    /// nothing but answer at once, so is the answer: it needs no event.
    #[inline(always)]
    pub(crate) fn down(&mut self, now: Time, at: Time, host: u32, index: u32, flows: &mut [Flow]) {
        let p = &mut self.packets.items[index as usize];
        let (down, answers) = {
            let host = &mut self.hosts[host as usize];
            (host.down.send(at, p.bytes), host.answers())
        };
        let Some(at) = down else { return self.discard(index) };
        p.hop = AT_HOST;
        if answers && at < self.end {
            self.events += 1;
            self.sched.begin(at, now);
            let p = *p;
            return ends::data(self, flows, at, index, p);
        }
        if p.is(flag::ACK) {
            if let FlowKind::Tcp(t) = &mut flows[p.flow as usize].kind {
                if t.foresees(at, self.acks_foreseen_until) {
                    self.events += 1;
                    self.sched.begin(at, now);
                    let p = *p;
                    ends::ack(self, flows, at, index, p);
                    return;
                }
            }
        }
        self.sched.push(at, Kind::Packet, index);
    }

    /// An eager link's transmitter is free.
    pub(crate) fn service(&mut self, now: Time, link: u32, flows: &mut [Flow]) {
        let served = self.links[link as usize].serve(now);
        self.bury(link);
        let Some((a, fate, again)) = served else { return };
        let p = self.packets.items[a.index as usize];
        if self.capture.is_some() {
            self.record_out(link, p, flows);
        }
        if let Some(at) = again {
            self.sched.push(at, Kind::Service, link);
        }
        self.follow(now, link, a.index, &p, fate, flows);
    }

    /// Turns the packet at `index` into the ACK that answers it.
    #[inline(always)]
    pub(crate) fn answer(&mut self, index: u32, ack: &Ack, syn: bool, host: u32, route: u16) {
        let sack = if ack.n_blocks > 0 {
            let mut blocks = [Block::default(); MAX_BLOCKS];
            let n = usize::from(ack.n_blocks);
            blocks[..n].copy_from_slice(&ack.blocks[..n]);
            self.sacks.put(blocks)
        } else {
            NO_SACK
        };
        let p = &mut self.packets.items[index as usize];
        p.seq = ack.seq;
        p.bytes = 40;
        p.hop = 0;
        p.sack = sack;
        p.host = host;
        p.route = route;
        p.bits = ack.bits;
        p.flags = flag::ACK | flag::when(ack.ect, Ecn::Ect0 as u8) | flag::when(syn, flag::SYN);
    }

    /// Captures `p` if the link has a tap behind its queue and `p` got through just now.
    #[cold]
    fn record_out(&mut self, link: u32, p: Pkt, flows: &[Flow]) {
        if let Some((start, ecn)) = self.links[link as usize].tapped() {
            self.record(start, Pkt { flags: p.flags & !flag::ECN | ecn as u8, ..p }, flows);
        }
    }

    /// Captures a packet.
    #[cold]
    fn record(&mut self, now: Time, p: Pkt, flows: &[Flow]) {
        let f = &flows[p.flow as usize];
        let blocks = if p.sack == NO_SACK {
            [Block::default(); MAX_BLOCKS]
        } else {
            self.sacks.items[p.sack as usize]
        };
        let tcp = match &f.kind {
            FlowKind::Tcp(t) => Some(t),
            FlowKind::Udp(_) => None,
        };
        // What the simulator counts as headers; of the packet itself, which may belong to an
        // earlier connection.
        let header = tcp.map_or(28, |t| t.p.header_bytes());
        let empty = p.is(flag::ACK | flag::SYN);
        let view = PacketView {
            udp: tcp.is_none(),
            flow: p.flow,
            src: f.ends.src,
            dst: f.ends.dst,
            epoch: p.epoch,
            ack: p.is(flag::ACK),
            syn: p.is(flag::SYN),
            bits: p.bits,
            ecn: p.ecn(),
            class: p.class,
            seq: p.seq,
            segment: tcp.map_or(0, |t| t.p.segment_bytes()),
            payload: if empty { 0 } else { p.bytes.saturating_sub(header) },
            first_data: tcp.map_or(0, |t| t.sender.first_data()),
            last: tcp.filter(|_| p.epoch == f.ends.epoch).map(|t| t.last),
            window: tcp.map_or(0, |t| t.p.window),
            sack: tcp.is_some_and(|t| t.p.sack()),
            blocks,
        };
        if let Some(c) = &mut self.capture {
            c.packet(now, &view);
        }
    }

    /// Packets in = delivered or dropped + under way. Every run checks it: it costs nothing and
    /// guards everything.
    pub(crate) fn assert_conservation(&self) {
        let live = self.packets.live() as u64;
        assert_eq!(self.entered, self.left + live, "packets are conserved");
        assert!(self.links.iter().all(Link::conserves), "a queue's packets are conserved");
    }
}
