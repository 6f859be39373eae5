//! The way of a packet: from its host over the access link, through the links of its route, down to
//! the host at the other end.

use crate::flow::{Flow, FlowKind};
use crate::host::Host;
use crate::packet::{flag, Pkt, Pool, AT_HOST, NO_SACK};
use crate::pcap::{Capture, PacketView};
use crate::sched::{Kind, Scheduler, What};
use penstock_aqm::{Ecn, Packet};
use penstock_queue::{Arriving, Fate, Link};
use penstock_tcp::{Ack, Block, MAX_BLOCKS};
use penstock_units::Time;

/// Everything but the flows, so that a flow's ends can be called with it at hand.
pub(crate) struct Network {
    pub(crate) sched: Scheduler,
    pub(crate) packets: Pool<Pkt>,
    pub(crate) sacks: Pool<[Block; MAX_BLOCKS]>,
    pub(crate) links: Vec<Link>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) routes: Vec<Vec<u32>>,
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
}

/// Takes a packet that is gone out of the pools; where a link is borrowed meanwhile;
/// else [`Network::discard`].
#[inline]
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
    #[inline]
    pub(crate) fn depart(&mut self, now: Time, host: u32, p: Pkt) {
        self.entered += 1;
        let index = self.packets.put(p);
        self.send_up(now, host, index);
    }

    /// The packet at `index` enters the access link of its host.
    #[inline]
    pub(crate) fn send_up(&mut self, now: Time, host: u32, index: u32) {
        let bytes = self.packets.items[index as usize].bytes;
        match self.hosts[host as usize].up.send(now, bytes) {
            None => self.discard(index),
            Some(at) => self.sched.push(at, What::new(Kind::Packet, index)),
        }
    }

    /// A packet enters the network at `now` at the first hop of its route.
    #[inline]
    pub(crate) fn enter(&mut self, p: Pkt) -> u32 {
        self.entered += 1;
        self.packets.put(p)
    }

    /// A packet is gone, delivered or dropped.
    #[inline]
    pub(crate) fn discard(&mut self, index: u32) {
        release(&mut self.packets, &mut self.sacks, &mut self.left, index);
    }

    /// Through one link and onward.
    #[inline]
    pub(crate) fn through(&mut self, now: Time, link: u32, index: u32, flows: &mut [Flow]) {
        let Some(at) = self.arrive(now, link, index, flows) else { return };
        self.leave(at, index, flows);
    }

    /// A packet reaches the other end of a link at `at`.
    #[inline]
    fn leave(&mut self, at: Time, index: u32, flows: &mut [Flow]) {
        if self.packets.items[index as usize].is(flag::DATAGRAM)
            && self.deliver_datagram(at, index, flows)
        {
            return;
        }
        self.onward(at, index);
    }

    /// Datagrams past their last shared link need no event: nobody answers them. Returns false
    /// where a link or a shared access link is still ahead.
    #[inline]
    fn deliver_datagram(&mut self, at: Time, index: u32, flows: &mut [Flow]) -> bool {
        let p = self.packets.items[index as usize];
        let f = &mut flows[p.flow as usize];
        let host = &mut self.hosts[f.dst as usize];
        if usize::from(p.hop) < self.routes[usize::from(p.route)].len() || host.down.merges {
            return false;
        }
        let arrives = host.down.send(at, p.bytes);
        let (from, to) = self.window;
        if let (Some(t), FlowKind::Udp(u)) = (arrives, &mut f.kind) {
            if t >= from && t < to {
                u.delivered += u64::from(p.bytes);
            }
        }
        self.discard(index);
        true
    }

    /// A packet arrives at link `link`. Returns when it reaches the other end, unless it waits or is
    /// dropped.
    #[inline]
    fn arrive(&mut self, now: Time, link: u32, index: u32, flows: &[Flow]) -> Option<Time> {
        let p = self.packets.items[index as usize];
        let data = !p.is(flag::ACK);
        let a = Arriving {
            pkt: Packet { bytes: p.bytes, ecn: p.ecn(), flow: p.flow, class: p.class },
            index,
            data,
        };
        if self.capture.is_some() && self.capture_links.contains(&link) {
            self.record(now, p, flows);
        }
        let Network { links, hosts, routes, packets, sacks, left, .. } = self;
        let (before, after) = links.split_at_mut(link as usize);
        let (this, after) = after.split_first_mut().expect("a link of the route");
        // How the packet came to the link; asked only for ties.
        let scheduled = || {
            let crossing = match p.hop {
                0 => {
                    let f = &flows[p.flow as usize];
                    let from = if data { f.src } else { f.dst };
                    hosts[from as usize].up.crossing(p.bytes)
                }
                hop => {
                    let last = routes[usize::from(p.route)][usize::from(hop) - 1] as usize;
                    let last = if last < before.len() {
                        &before[last]
                    } else {
                        &after[last - before.len() - 1]
                    };
                    last.crossing(p.bytes)
                }
            };
            now.before(crossing)
        };
        let fate = this.arrive(now, &a, scheduled, |index| release(packets, sacks, left, index));
        if self.capture.is_some() {
            self.record_out(link, p, flows);
        }
        self.follow(link, index, fate)
    }

    /// Does with a packet what its link decided. Returns when it reaches the other end.
    #[inline]
    fn follow(&mut self, link: u32, index: u32, fate: Fate) -> Option<Time> {
        match fate {
            Fate::Dropped => {
                self.discard(index);
                None
            }
            Fate::Held(at) => {
                if let Some(at) = at {
                    self.sched.push(at, What::new(Kind::Service, link));
                }
                None
            }
            Fate::Through(at, ecn) => {
                let p = &mut self.packets.items[index as usize];
                p.flags = p.flags & !flag::ECN | ecn as u8;
                p.hop += 1;
                Some(at)
            }
        }
    }

    /// A packet reaches the end of a hop at `at`: on to the next link, or down to the host.
    #[inline]
    fn onward(&mut self, at: Time, index: u32) {
        let p = self.packets.items[index as usize];
        let host = p.host;
        let route = &self.routes[usize::from(p.route)];
        if usize::from(p.hop) < route.len() || self.hosts[host as usize].down.merges {
            self.sched.push(at, What::new(Kind::Packet, index));
        } else {
            self.down(at, host, index);
        }
    }

    /// A packet enters a host's access link at `at` (which may lie ahead: the link has one feeder).
    #[inline]
    pub(crate) fn down(&mut self, at: Time, host: u32, index: u32) {
        let p = &mut self.packets.items[index as usize];
        match self.hosts[host as usize].down.send(at, p.bytes) {
            None => self.discard(index),
            Some(at) => {
                p.hop = AT_HOST;
                self.sched.push(at, What::new(Kind::Packet, index));
            }
        }
    }

    /// An eager link's transmitter is free.
    pub(crate) fn service(&mut self, now: Time, link: u32, flows: &mut [Flow]) {
        let Network { links, packets, sacks, left, .. } = self;
        let served = links[link as usize].serve(now, |index| release(packets, sacks, left, index));
        let Some((a, fate, again)) = served else { return };
        if self.capture.is_some() {
            let p = self.packets.items[a.index as usize];
            self.record_out(link, p, flows);
        }
        if let Some(at) = again {
            self.sched.push(at, What::new(Kind::Service, link));
        }
        if let Some(at) = self.follow(link, a.index, fate) {
            self.leave(at, a.index, flows);
        }
    }

    /// Turns the packet at `index` into the ACK that answers it.
    #[inline]
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
            src: f.src,
            dst: f.dst,
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
            last: tcp.filter(|_| p.epoch == f.epoch).map(|t| t.last),
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
