//! The network: hosts, and the packets between them. A packet enters here from its host; `batch.rs`
//! takes it through a link, and `way.rs` onward. The links stand beside the network.

use crate::flow::{Flow, FlowKind, TcpApp};
use crate::host::Host;
use crate::inbox::{Inbox, NEAR};
use crate::line::Held;
use crate::log::PacketLog;
use crate::one_way::OneWay;
use crate::packet::{flag, Options, Pkt, Pool};
use crate::pcap::{Capture, PacketView};
use crate::prefetch::prefetch;
use crate::routes::Routes;
use crate::sched::{Event, Kind, Origin, Scheduler};
use penstock_queue::Link;
use penstock_tcp::{Ack, Stamp};
use penstock_units::Time;

/// Everything but the flows and the links, so that a flow's ends and a link can be at work with it
/// at hand.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) sched: Scheduler,
    pub(crate) packets: Pool<Pkt>,
    pub(crate) options: Options,
    /// The events of the flows' lines.
    pub(crate) held: Held,
    /// Of each link.
    pub(crate) inboxes: Vec<Inbox>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) routes: Routes,
    /// When the run ends.
    pub(crate) end: Time,
    /// When it pauses: nothing that happens then or later has been worked out at the senders or at
    /// a link.
    pub(crate) pause: Time,
    /// The measured window.
    pub(crate) window: (Time, Time),
    pub(crate) capture: Option<Box<Capture>>,
    /// The links in front of which packets are captured.
    pub(crate) capture_links: [u32; 2],
    /// Where one-way delays are asked for.
    pub(crate) one_way: Option<Box<OneWay>>,
    /// Packets that entered and left the network, for their conservation.
    pub(crate) entered: u64,
    pub(crate) left: u64,
    /// See [`crate::layout::crowded`].
    pub(crate) crowded: bool,
    /// Something is to be done for each arrival at a link: it is `crowded`, or packets are logged.
    pub(crate) attends: bool,
    /// Where packets are logged.
    pub(crate) log: Option<Box<PacketLog>>,
    /// Nothing is worked out ahead, or flows are written down as they come.
    pub(crate) watched: bool,
    /// ACKs before this may be worked out ahead of time: until then nobody looks at the senders.
    pub(crate) acks_foreseen_until: Time,
    /// What has happened, whether there was an event for it or not.
    pub(crate) events: u64,
}

impl Network {
    /// A host sends a packet at `now`, or later if it may leave `not_before`: through its access
    /// link, to the first hop of its route.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, not_before: Time, host: u32, p: Pkt) {
        let index = self.enter(p);
        if not_before > now {
            return self.send_later(not_before, host, index);
        }
        self.send_up(now, host, index);
    }

    /// The packet at `index` may leave its host at `at`, which is to come. Apart, as what follows a
    /// pace alone: inlined, it keeps registers from what all senders do.
    #[inline(never)]
    fn send_later(&mut self, at: Time, host: u32, index: u32) {
        if self.hosts[host as usize].shared() {
            if let Some(one_way) = &mut self.one_way {
                one_way.waits(index);
            }
            // What others send meanwhile goes first.
            return self.sched.push(at, Kind::Departure, index);
        }
        let p = &self.packets.items[index as usize];
        let link = self.routes.at(p.route, p.hop);
        match self.hosts[host as usize].up.send_at_once(at, p.bytes) {
            None => self.up_slowly(at, host, index),
            // Most of it belongs far ahead of what others have sent.
            Some(at) => self.expect_among::<0>(at, link, Origin::Host, index),
        }
    }

    /// The time has come at which the packet at `index` may leave its host.
    pub(crate) fn leaves_host(&mut self, now: Time, index: u32, flows: &[Flow]) {
        let flow = self.packets.items[index as usize].flow;
        self.send_up(now, flows[flow as usize].ends.src, index);
    }

    /// The packet at `index` enters the access link of its host.
    #[inline(always)]
    pub(crate) fn send_up(&mut self, now: Time, host: u32, index: u32) {
        let p = &self.packets.items[index as usize];
        let link = self.routes.at(p.route, p.hop);
        match self.hosts[host as usize].up.send_at_once(now, p.bytes) {
            None => self.up_slowly(now, host, index),
            Some(at) => self.expect(at, link, Origin::Host, index),
        }
    }

    /// As [`Network::send_up`], by the long way.
    #[inline(never)]
    fn up_slowly(&mut self, now: Time, host: u32, index: u32) {
        let p = &self.packets.items[index as usize];
        if let Some(one_way) = &mut self.one_way {
            one_way.leaves(now, index, p);
        }
        let link = self.routes.at(p.route, p.hop);
        match self.hosts[host as usize].up.send_slowly(now, p.bytes, self.window) {
            None => self.discard(index),
            Some(at) => self.expect(at, link, Origin::Host, index),
        }
    }

    /// The packet at `index` enters by the long way, at `at`, the access link of the host that it
    /// goes to. Returns when it is there; `None` where it is lost.
    #[inline(never)]
    pub(crate) fn down_slowly(&mut self, at: Time, index: u32) -> Option<Time> {
        let p = &self.packets.items[index as usize];
        let there = self.hosts[p.host as usize].down.send_slowly(at, p.bytes, self.window)?;
        if let Some(one_way) = &mut self.one_way {
            one_way.arrives(there, index, p);
        }
        Some(there)
    }

    /// When somebody looks at the senders next, after `now`.
    pub(crate) fn next_look(&self, now: Time) -> Time {
        if self.watched {
            return Time::ZERO;
        }
        let (from, to) = self.window;
        let look = [from, to].into_iter().find(|look| now < *look);
        look.unwrap_or(self.end).min(self.end).min(self.pause)
    }

    /// Until when arrivals at the first link of a route may be foreseen at `now`.
    pub(crate) fn foresight(&self, now: Time, route: u16) -> Time {
        let link = self.routes.at(route, 0);
        let inbox = self.inboxes.get(link as usize);
        inbox.map_or(now, |inbox| now + inbox.patience).min(self.end).min(self.pause)
    }

    /// It is known that a datagram comes to the first link of its route at `at`.
    #[inline]
    pub(crate) fn foresee(&mut self, at: Time, p: Pkt) {
        let link = self.routes.at(p.route, 0);
        let index = self.enter_ahead(p);
        self.expect(at, link, Origin::Host, index);
    }

    /// A datagram that has passed its source's own access link enters the network.
    #[inline]
    pub(crate) fn enter_ahead(&mut self, p: Pkt) -> u32 {
        let index = self.enter(p);
        if let Some(one_way) = &mut self.one_way {
            one_way.placed(index, &p);
        }
        index
    }

    /// It is known that the packet at `index` comes to `link`, or to its host's access link, at
    /// `at`.
    #[inline(always)]
    pub(crate) fn expect(&mut self, at: Time, link: u32, from: Origin, index: u32) {
        self.expect_among::<NEAR>(at, link, from, index);
    }

    /// The same, where it is sorted in within the last `NEAR` places.
    #[inline(always)]
    fn expect_among<const NEAR: usize>(&mut self, at: Time, link: u32, from: Origin, index: u32) {
        let event = self.sched.arrival(at, from, index);
        let Some(inbox) = self.inboxes.get_mut(link as usize) else {
            return self.sched.add(event);
        };
        if !inbox.take(event, from, NEAR) {
            return self.sched.add(event);
        }
        if let Some(due) = inbox.call(at) {
            self.sched.push(due, Kind::Inbox, link);
        }
    }

    /// The event of a packet that comes to `link` has come. Returns whether the packet waits in the
    /// link's inbox for others.
    #[inline]
    pub(crate) fn waits_for_others(&mut self, event: &Event, link: u32) -> bool {
        let inbox = &mut self.inboxes[link as usize];
        let waits = inbox.keeps() && inbox.take_late(*event);
        if waits {
            self.events -= 1; // it counts where the link takes it in
            if let Some(due) = inbox.call(event.time()) {
                self.sched.push(due, Kind::Inbox, link);
            }
        }
        waits
    }

    /// Begins to load a packet.
    #[inline]
    pub(crate) fn warm_packet(&self, index: usize) {
        prefetch::<_, 1>(&self.packets.items[index]);
    }

    /// Begins to load what the packet at `index` will touch at its ends.
    #[inline]
    pub(crate) fn warm_flow(&self, index: usize, flows: &[Flow]) {
        let p = &self.packets.items[index];
        prefetch::<_, 1>(&self.hosts[p.host as usize]);
        // A data packet touches the receiver, an ACK the sender behind it.
        if p.is(flag::ACK) {
            prefetch::<_, 7>(&flows[p.flow as usize]);
        } else {
            prefetch::<_, 2>(&flows[p.flow as usize]);
        }
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
        self.packets.items[index as usize].forget(&mut self.options);
        self.packets.remove(index);
        self.left += 1;
    }

    /// Turns the packet at `index` into the ACK that answers it, of so many bytes; `syn`: a SYN.
    #[inline(always)]
    pub(crate) fn answer(
        &mut self,
        index: u32,
        ack: &Ack,
        (bytes, syn): (u32, bool),
        host: u32,
        route: u16,
    ) {
        let p = &mut self.packets.items[index as usize];
        p.flags = flag::ACK | flag::when(syn, flag::SYN);
        p.set_ack(ack, &mut self.options);
        p.bytes = bytes;
        p.hop = 0;
        p.host = host;
        p.route = route;
    }

    /// Captures a packet.
    #[cold]
    pub(crate) fn record(&mut self, now: Time, p: Pkt, flows: &[Flow]) {
        let f = &flows[p.flow as usize];
        let ack = p.ack(&self.options);
        let tcp = match &f.kind {
            FlowKind::Tcp(t) => Some(t),
            FlowKind::Udp(_) => None,
        };
        // What the simulator counts as headers; of the packet itself, which may belong to an
        // earlier connection.
        let header = tcp.map_or(28, |t| t.p.header_bytes());
        let empty = p.is(flag::ACK | flag::SYN);
        let browser = tcp.and_then(|t| match &t.app {
            TcpApp::Browser(c) => Some(c),
            _ => None,
        });
        let request = p.is(flag::REQUEST).then_some(p.epoch);
        let epoch = match (request, browser) {
            (Some(request), Some(c)) => f.ends.epoch.wrapping_add(c.ahead(request)),
            _ => p.epoch,
        };
        // The first segment that it tells of, or asks for.
        let next = p.seq + i64::from(p.is(flag::ACK | flag::REQUEST));
        let view = PacketView {
            udp: tcp.is_none(),
            flow: p.flow,
            src: f.ends.src,
            dst: f.ends.dst,
            epoch,
            ack: p.is(flag::ACK | flag::REQUEST),
            upstream: browser.map_or(0, |c| c.upstream(request)),
            syn: p.is(flag::SYN),
            push: p.pushes(),
            bits: p.bits,
            ecn: p.ecn(),
            class: p.class,
            seq: p.seq,
            segment: tcp.map_or(0, |t| t.p.segment_bytes()),
            payload: if empty { 0 } else { p.bytes.saturating_sub(header) },
            lacking: browser.zip(tcp).map_or(0, |(c, t)| c.lacking(next, t.lacking())),
            first_data: tcp.map_or(0, |t| t.sender.first_data()),
            last: tcp.filter(|_| epoch == f.ends.epoch).map(|t| (t.last, t.last_bytes)),
            window: tcp.map_or(0, |t| t.p.window.min(ack.window)),
            sack: tcp.is_some_and(|t| t.p.sack()),
            blocks: ack.blocks,
            option: ack.option,
            stamps: tcp.filter(|t| t.p.timestamps).map(|t| {
                let sends = Stamp::of(now, t.p.rtt.stamp_unit());
                if p.is(flag::ACK | flag::REQUEST) {
                    (sends, ack.echo)
                } else {
                    (ack.echo, Stamp::NONE)
                }
            }),
        };
        if let Some(c) = &mut self.capture {
            c.packet(now, &view);
        }
    }

    /// Packets in = delivered or dropped + under way. Every run checks it: it costs nothing and
    /// guards everything.
    pub(crate) fn assert_conservation(&self, links: &[Link]) {
        let live = self.packets.live() as u64;
        assert_eq!(self.entered, self.left + live, "packets are conserved");
        assert!(links.iter().all(Link::conserves), "a queue's packets are conserved");
        // The run ends with an event that it does not come to: that may be an arrival.
        debug_assert!(live <= self.somewhere(links) + 1, "every packet under way is somewhere");
    }

    /// The packets that wait at links and at hosts or have an event. Some count twice.
    fn somewhere(&self, links: &[Link]) -> u64 {
        let held = links.iter().filter(|link| link.is_eager());
        let links = held.map(|link| link.waiting() as usize).sum::<usize>();
        let inboxes = self.inboxes.iter().map(Inbox::arrivals).sum::<usize>();
        (links + inboxes + self.held.live() + self.sched.arrivals()) as u64
    }
}
