//! The way of a packet from a link: on to the next link of its route, or down to the host at its
//! end, which answers as far ahead as the result cannot differ ([`crate::inbox`]).

use crate::ends;
use crate::flow::{Flow, FlowKind};
use crate::lone;
use crate::network::Network;
use crate::packet::{flag, Pkt, AT_HOST};
use crate::routes::HOST;
use crate::sched::{Event, Kind, Origin};
use penstock_aqm::Ecn;
use penstock_queue::{Fate, Link, Sent};
use penstock_units::{Duration, Time};

impl Network {
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
        if self.attends {
            self.attend(link, event.what().index() as u32, flows);
        } else if let Some(index) = behind {
            self.warm_packet(index);
        }
        Some(event)
    }

    /// The packet at `index` comes to a link, where that is attended to.
    #[inline(never)]
    fn attend(&mut self, link: u32, index: u32, flows: &[Flow]) {
        if self.crowded {
            self.warm(link, flows);
        }
        self.write_down(link, index);
    }

    /// Logs a packet that comes to a link.
    #[inline]
    pub(crate) fn write_down(&mut self, link: u32, index: u32) {
        if let Some(log) = &mut self.log {
            log.arrives(link, index, &self.packets.items[index as usize]);
        }
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

    /// How long before its arrival at its first link a packet began to be sent by its host.
    #[cold]
    pub(crate) fn up_crossing(&self, p: &Pkt, flows: &[Flow]) -> Duration {
        let f = &flows[p.flow as usize];
        let back = p.is(flag::ACK | flag::REQUEST);
        let from = if back { f.ends.dst } else { f.ends.src };
        self.hosts[from as usize].up.crossing(p.bytes)
    }

    /// Does with a packet what its link decided at `now`. One that waits is told of in its turn.
    #[inline(always)]
    pub(crate) fn became(
        &mut self,
        now: Time,
        link: u32,
        index: u32,
        fate: Fate,
        flows: &mut [Flow],
    ) {
        match fate {
            Fate::Through(at, ecn) => self.leave(now, at, link, index, ecn, flows),
            Fate::Dropped => self.discard(index),
            Fate::Held(_) => {}
        }
    }

    /// An eager link sends a packet in its turn.
    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Time, link: u32, sent: Sent, flows: &mut [Flow]) {
        let Sent { index, flow, bytes, fate } = sent;
        if index == lone::NOWHERE {
            return lone::sent(self, flow, bytes, fate, flows);
        }
        self.became(now, link, index, fate, flows);
    }

    /// A packet reaches the other end of `link` at `at`, with this ECN field: it goes on to the next
    /// link, or down to its host.
    #[inline(always)]
    fn leave(&mut self, now: Time, at: Time, link: u32, index: u32, ecn: Ecn, flows: &mut [Flow]) {
        let p = &mut self.packets.items[index as usize];
        p.carry(ecn);
        let host = &self.hosts[p.host as usize];
        if !host.is_near() {
            let next = self.routes.at(p.route, p.hop + 1);
            // It may share its host's access link with packets from elsewhere.
            if next != HOST || host.merges() {
                p.hop += 1;
                return self.expect(at, next, Origin::Link(link), index);
            }
        }
        if p.is(flag::DATAGRAM) {
            // Nobody answers it, so its arrival needs no event.
            let (flow, bytes) = (p.flow, p.bytes);
            let at_once = self.hosts[p.host as usize].down.send_at_once(at, bytes);
            let down = at_once.or_else(|| self.down_slowly(at, index));
            if let FlowKind::Udp(u) = &mut flows[flow as usize].kind {
                u.arrives(down, bytes, self.window);
            }
            return self.discard(index);
        }
        // The access link has one feeder: the packet's arrival at its end is known.
        self.down(now, at, index, flows);
    }

    /// A packet enters its host's access link at `at`, which is known at `now`. Where the host does
    /// nothing but answer at once, so is the answer: it needs no event.
    #[inline(always)]
    pub(crate) fn down(&mut self, now: Time, at: Time, index: u32, flows: &mut [Flow]) {
        let p = &self.packets.items[index as usize];
        match self.hosts[p.host as usize].down.send_at_once(at, p.bytes) {
            Some(at) => self.at_host(now, at, index, flows),
            None => self.down_by_the_long_way(now, at, index, flows),
        }
    }

    #[inline(never)]
    fn down_by_the_long_way(&mut self, now: Time, at: Time, index: u32, flows: &mut [Flow]) {
        match self.down_slowly(at, index) {
            Some(at) => self.at_host(now, at, index, flows),
            None => self.discard(index),
        }
    }

    /// A packet will be at its host at `at`, which is known at `now`.
    #[inline(always)]
    fn at_host(&mut self, now: Time, at: Time, index: u32, flows: &mut [Flow]) {
        let p = &self.packets.items[index as usize];
        let host = &self.hosts[p.host as usize];
        let (answers, holds_back) = (host.answers(), host.holds_back());
        let (flow, brings_ack) = (p.flow, p.is(flag::ACK));
        if answers && at < self.end {
            self.events += 1;
            self.sched.begin(at, now);
            return ends::data(self, flows, at, index);
        }
        if holds_back && at < self.end {
            let f = &mut flows[flow as usize];
            if let FlowKind::Tcp(t) = &mut f.kind {
                if t.segments.is_empty() && ends::foresees_segment(self, t, f.ends, flow, at) {
                    self.events += 1;
                    self.sched.begin(at, now);
                    return ends::data(self, flows, at, index);
                }
            }
        }
        if brings_ack {
            if let FlowKind::Tcp(t) = &mut flows[flow as usize].kind {
                if t.acks.is_empty() && ends::foresees_ack(self, flows, flow as usize, at) {
                    self.events += 1;
                    self.sched.begin(at, now);
                    ends::ack(self, flows, at, index);
                    return;
                }
            }
        }
        self.wait_at_host(at, index, flows);
    }

    /// A packet is at its host at `at`, and has to wait for that time.
    #[inline]
    fn wait_at_host(&mut self, at: Time, index: u32, flows: &mut [Flow]) {
        let p = &mut self.packets.items[index as usize];
        p.hop = AT_HOST;
        let event = self.sched.event(at, Kind::Packet, index);
        if p.is(flag::ACK) {
            if let FlowKind::Tcp(t) = &mut flows[p.flow as usize].kind {
                // Those behind another one wait for that one's event.
                if t.acks.is_empty() {
                    self.sched.add(event);
                }
                return t.acks.push(&mut self.held, event);
            }
        } else if self.hosts[p.host as usize].holds_back() {
            if let FlowKind::Tcp(t) = &mut flows[p.flow as usize].kind {
                if t.segments.is_empty() {
                    self.sched.add(event);
                }
                return t.segments.push(&mut self.held, event);
            }
        }
        self.sched.add(event);
    }

    /// As [`Network::acks_behind`], of segments at a host that may hold ACKs back.
    pub(crate) fn segments_behind(&mut self, flow: usize, flows: &mut [Flow]) {
        loop {
            let f = &mut flows[flow];
            let FlowKind::Tcp(t) = &mut f.kind else { return };
            let Some(next) = t.segments.step(&mut self.held) else { return };
            let at = next.time();
            if at >= self.end || !ends::foresees_segment(self, t, f.ends, flow as u32, at) {
                return self.sched.add(next);
            }
            self.events += 1;
            self.sched.begin_arrival(&next);
            ends::data(self, flows, at, next.what().index() as u32);
        }
    }

    /// The event of a flow's first kept ACK has come, and that ACK is worked out. So are those
    /// behind it, as far ahead of time as nobody can notice. The next one gets an event.
    pub(crate) fn acks_behind(&mut self, flow: usize, flows: &mut [Flow]) {
        while let FlowKind::Tcp(t) = &mut flows[flow].kind {
            let Some(next) = t.acks.step(&mut self.held) else { return };
            if !ends::foresees_ack(self, flows, flow, next.time()) {
                return self.sched.add(next);
            }
            self.events += 1;
            self.sched.begin_arrival(&next);
            ends::ack(self, flows, next.time(), next.what().index() as u32);
        }
    }

    /// Captures a packet that comes to a link, if that is what the capture is of.
    #[inline]
    pub(crate) fn capture_in(&mut self, now: Time, link: u32, p: Pkt, flows: &[Flow]) {
        if self.capture.is_some() && self.capture_links.contains(&link) {
            self.record(now, p, flows);
        }
    }

    /// Captures a packet if its link has a tap behind its queue, and it got through just now.
    #[inline]
    pub(crate) fn capture_out(&mut self, link: &mut Link, mut p: Pkt, flows: &[Flow]) {
        if self.capture.is_none() {
            return;
        }
        if let Some((start, ecn)) = link.tapped() {
            p.carry(ecn);
            self.record(start, p, flows);
        }
    }
}
