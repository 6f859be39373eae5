//! A lone datagram source at a link that is all of its packets' way: they are worked out in one loop,
//! in which the source, its access link, the link with its discipline, and the receiver take turns.
//! Nothing else in the network can fall on the instants of that link, and only the times matter.

use crate::flow::{Flow, FlowKind, Udp};
use crate::host::Host;
use crate::network::Network;
use crate::routes::HOST;
use crate::sched::{Event, Kind};
use penstock_aqm::{Ecn, Packet};
use penstock_queue::{Arriving, Fate, Link, Pipe, Sent, Served, Source};
use penstock_units::{Rng, Time};

/// Stands for the place in the pool of a packet that has none: a lone source's needs none.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Returns whether a flow is such a source: nobody else's packets come to its first link, behind
/// which is its receiver's own access link.
pub(crate) fn is_all(net: &Network, f: &Flow) -> bool {
    let FlowKind::Udp(u) = &f.kind else { return false };
    u.lone
        && f.ends.src != f.ends.dst
        && net.routes.at(f.ends.forward, 1) == HOST
        && !net.hosts[f.ends.dst as usize].merges()
        && net.inboxes[net.routes.at(f.ends.forward, 0) as usize].keeps()
}

/// Its packet comes to the link at `now`, by an event, and with it those behind that are foreseen.
#[inline(never)]
pub(crate) fn arrive(
    net: &mut Network,
    links: &mut [Link],
    flows: &mut [Flow],
    now: Time,
    flow: usize,
) {
    let Flow { ends, kind: FlowKind::Udp(u), rng, .. } = &mut flows[flow] else { return };
    let link = net.routes.at(ends.forward, 0) as usize;
    let (due, until) = (net.inboxes[link].service().time(), net.foresight(now, ends.forward));
    let Network { hosts, end, window, .. } = net;
    let (src, dst) = two(hosts, ends.src as usize, ends.dst as usize);
    let lone = Lone {
        up: &mut src.up,
        down: &mut dst.down,
        flow: flow as u32,
        class: ends.class,
        u,
        rng,
        first: Some(now),
        next: None,
        known: now,
        now,
        until,
        end: *end,
        window: *window,
        bytes: 0,
        came: 0,
        turns: 0,
        again: None,
    };
    let (Lone { known, now: last, came, turns, again, .. }, due) = links[link].stretch(lone, due);
    // The first packet has been counted with its event.
    net.events += came - 1 + turns;
    net.entered += came;
    net.left += came;
    net.sched.begin(last, known);
    net.inboxes[link].serve(Event::departure(due, net.sched.present()));
    if let Some(at) = again {
        net.sched.push(at, Kind::Udp, flow as u32);
    }
}

/// An eager link sends a packet of a lone source, of which nothing more comes for now.
pub(crate) fn sent(net: &mut Network, flow: u32, bytes: u32, fate: Fate, flows: &mut [Flow]) {
    let Flow { ends, kind: FlowKind::Udp(u), .. } = &mut flows[flow as usize] else { return };
    if let Fate::Through(at, _) = fate {
        u.arrives(net.hosts[ends.dst as usize].down.send(at, bytes, net.window), bytes, net.window);
    }
}

/// Two hosts, which are not the same.
fn two(hosts: &mut [Host], a: usize, b: usize) -> (&mut Host, &mut Host) {
    let (low, high) = hosts.split_at_mut(a.max(b));
    if a < b {
        (&mut low[a], &mut high[0])
    } else {
        (&mut high[0], &mut low[b])
    }
}

/// The source, and its receiver.
struct Lone<'a> {
    up: &'a mut Pipe,
    down: &'a mut Pipe,
    flow: u32,
    class: u8,
    u: &'a mut Udp,
    rng: &'a mut Rng,
    /// When its first packet comes to the link.
    first: Option<Time>,
    /// When its next packet leaves.
    next: Option<Time>,
    /// When the packet that came last did, and when that was known.
    now: Time,
    known: Time,
    until: Time,
    end: Time,
    window: (Time, Time),
    /// Its size.
    bytes: u32,
    /// Packets that came to the link.
    came: u64,
    /// Turns of an eager link's transmitter.
    turns: u64,
    /// The first packet that does not come before `until` does then.
    again: Option<Time>,
}

impl Source for Lone<'_> {
    #[inline(always)]
    fn next(&mut self) -> bool {
        let u = &mut *self.u;
        let at = loop {
            if let Some(at) = self.first.take() {
                break at;
            }
            let Some(leaves) = self.next else { return false };
            if let Some(at) = self.up.send(leaves, u.bytes, self.window) {
                break at;
            }
            // Its own access link is full.
            u.sent += 1;
            self.next = u.after(self.rng).filter(|t| *t < self.end);
        };
        if at >= self.until {
            self.again = Some(at);
            return false;
        }
        u.sent += 1;
        self.came += 1;
        (self.known, self.now, self.bytes) = (self.now, at, u.bytes);
        self.next = u.after(self.rng);
        true
    }

    #[inline(always)]
    fn packet(&self) -> Arriving {
        let Lone { now: at, bytes, flow, class, .. } = *self;
        let pkt = Packet { bytes, ecn: Ecn::NotEct, flow, class };
        Arriving { at, pkt, index: NOWHERE, data: true }
    }

    #[inline]
    fn scheduled(&self) -> Time {
        self.now.before(self.up.crossing(self.bytes))
    }

    #[inline(always)]
    fn became(&mut self, fate: Fate) {
        if let Fate::Through(at, _) = fate {
            let at = self.down.send(at, self.bytes, self.window);
            self.u.arrives(at, self.bytes, self.window);
        }
    }

    /// It has no place in the pool.
    #[inline]
    fn discard(&mut self, _: u32) {}

    /// The link's turns come with the packets behind them.
    #[inline(always)]
    fn until(&self) -> Time {
        Time::ZERO
    }

    #[inline(always)]
    fn turn(&mut self, _: Time, served: Served) {
        self.turns += 1;
        if let Some(Sent { fate: Fate::Through(at, _), bytes, .. }) = served.sent {
            self.u.arrives(self.down.send(at, bytes, self.window), bytes, self.window);
        }
    }
}
