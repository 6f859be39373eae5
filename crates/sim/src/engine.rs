//! The engine: takes events in order and moves packets between senders, hosts, links and receivers.

use crate::access::Host;
use crate::config::{App, Config, LinkConfig, Tap};
use crate::flow::{draw, Flow, FlowKind, Tcp, TcpApp, Web};
use crate::link::{Arriving, Fate, Link};
use crate::metrics::{
    jain, link_metric, link_metrics, quantile, FLOW_METRICS, GROUP_METRICS, METRICS,
};
use crate::pcap::{Capture, PacketView};
use crate::prefetch::prefetch;
use crate::result::{Column, FlowResult, LinkResult, RunResult, Table};
use crate::sched::{Kind, Scheduler, What, MAX_INDEX, MAX_TIME};
use crate::series::FlowSeries;
use crate::user::Abort;
use penstock_aqm::{Ecn, Packet};
use penstock_tcp::{Ack, Bits, Block, Io, Mark, Reply, Segment, MAX_BLOCKS};
use penstock_units::{Duration, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end the run early, with [`SimError::Stopped`].
    pub stop: AtomicBool,
    /// Simulated time so far, nanoseconds.
    pub now_ns: AtomicU64,
    /// What a discipline of the user's own ended the run with.
    pub abort: Abort,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// [`Control::stop`] was set.
    #[error("stopped")]
    Stopped,
    /// A discipline's values do not fit together.
    #[error("{link}: {error}")]
    Aqm {
        /// The link's name.
        link: String,
        /// What is wrong.
        error: penstock_units::param::ParamError,
    },
    /// A discipline of the user's own gave up; [`Control::abort`] has its error.
    #[error("{0}")]
    Aborted(String),
    /// More events than their order can be kept of: 10¹¹.
    #[error("more than 10^11 events: split the run")]
    TooManyEvents,
    /// The run is longer than the event queue's clock.
    #[error("duration is above {} days", MAX_TIME.as_nanos() / 86_400_000_000_000)]
    TooLong,
}

/// Runs a configuration to its end.
///
/// # Errors
/// If it was stopped, or the configuration is not one that the scenario parser lets through.
pub fn run(config: &Config, control: &Control) -> Result<RunResult, SimError> {
    run_watched(config, control, &mut || ())
}

/// [`run`], calling `watch` every few thousand events on the thread that it runs on.
///
/// # Errors
/// As for [`run`].
pub fn run_watched(
    config: &Config,
    control: &Control,
    watch: &mut dyn FnMut(),
) -> Result<RunResult, SimError> {
    let mut engine = Engine::new(config, &control.abort)?;
    engine.run(control, watch)?;
    if control.abort.raised() {
        return Err(SimError::Aborted(control.abort.message()));
    }
    Ok(engine.result())
}

/// How many events ahead [`Engine::warm`] looks: far enough for memory, near enough for the cache.
const AHEAD: usize = 2;

const NO_SACK: u32 = u32::MAX;

/// Bits of [`Pkt::flags`].
mod flag {
    pub(super) const ECN: u8 = 0b11;
    pub(super) const ACK: u8 = 1 << 2;
    pub(super) const SYN: u8 = 1 << 3;
    pub(super) const RETRANSMIT: u8 = 1 << 4;
    pub(super) const OWES_CWR: u8 = 1 << 5;
    pub(super) const DATAGRAM: u8 = 1 << 7;

    /// `bit` where `set`, without a branch.
    #[inline]
    pub(super) fn when(set: bool, bit: u8) -> u8 {
        u8::from(set) * bit
    }
}

/// A packet under way: 32 bytes, no header, no copy for the ACK. It knows its way, so that a link
/// need not look at the flow.
#[derive(Clone, Copy)]
struct Pkt {
    /// Data: the segment. ACK: the highest segment acknowledged.
    seq: i64,
    flow: u32,
    bytes: u32,
    /// SACK blocks in the side pool.
    sack: u32,
    /// The host that it goes to, and how.
    host: u32,
    route: u16,
    epoch: u16,
    /// Position on the route.
    hop: u8,
    flags: u8,
    class: u8,
    /// The TCP header's ECN bits.
    bits: Bits,
}

const _: () = assert!(size_of::<Pkt>() == 32);

impl Pkt {
    #[inline]
    fn ecn(self) -> Ecn {
        match self.flags & flag::ECN {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// What its code point says: with multi-level ECN ECT(1) is incipient congestion.
    #[inline]
    fn mark(self) -> Mark {
        match self.ecn() {
            Ecn::NotEct | Ecn::Ect0 => Mark::None,
            Ecn::Ect1 => Mark::Incipient,
            Ecn::Ce => Mark::Ce,
        }
    }
    #[inline]
    fn is(self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// A pool of values addressed by index; what was freed last is reused first.
struct Pool<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Pool<T> {
    fn new() -> Self {
        Pool { items: vec![], free: vec![] }
    }
    #[inline]
    fn put(&mut self, item: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self.items[i as usize] = item;
            i
        } else {
            assert!(self.items.len() < MAX_INDEX, "at most {MAX_INDEX} packets under way");
            self.items.push(item);
            (self.items.len() - 1) as u32
        }
    }
    #[inline]
    fn remove(&mut self, i: u32) {
        self.free.push(i);
    }
    fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

/// Everything but the flows, so that a flow's ends can be called with it at hand.
struct Core {
    sched: Scheduler,
    packets: Pool<Pkt>,
    sacks: Pool<[Block; MAX_BLOCKS]>,
    links: Vec<Link>,
    hosts: Vec<Host>,
    routes: Vec<Vec<u32>>,
    window: (Time, Time),
    capture: Option<Box<Capture>>,
    capture_links: [u32; 2],
    /// Packets that entered and left the network, for their conservation.
    entered: u64,
    left: u64,
}

/// Takes a packet that is gone out of the pools; for [`Core::discard`], and where a link is
/// borrowed meanwhile.
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

struct Engine {
    core: Core,
    flows: Vec<Flow>,
    bottleneck: usize,
    /// Of each link its name and mean rate over the window, for the results.
    link_rates: Vec<(String, f64)>,
    measure_links: bool,
    groups: usize,
    seed: u64,
    end: Time,
    events: u64,
    /// (end, flow, bytes, completion time) of finished transfers.
    transfers: Vec<(Time, u32, u64, Duration)>,
    record_transfers: bool,
    sampling: Option<Duration>,
    flow_series: Option<Box<FlowSeries>>,
}

/// What a sender asks of the engine.
struct Wire<'a> {
    core: &'a mut Core,
    now: Time,
    flow: u32,
    src: u32,
    dst: u32,
    forward: u16,
    class: u8,
    epoch: u16,
    segment: u32,
    header: u32,
    /// The code point of an ECN-capable segment.
    ect: Ecn,
    last: (i64, u32),
    rng: &'a mut penstock_units::Rng,
}

impl Io for Wire<'_> {
    #[inline]
    fn send(&mut self, s: Segment) {
        let payload = if s.syn {
            0
        } else if s.seq < self.last.0 {
            self.segment
        } else {
            self.last.1
        };
        // SYN and ACK are 40 bytes, whatever a data segment's header counts.
        let bytes = if s.syn { 40 } else { payload + self.header };
        let mut flags = if s.ect { self.ect as u8 } else { 0 };
        flags |= flag::when(s.syn, flag::SYN);
        flags |= flag::when(s.retransmit, flag::RETRANSMIT);
        flags |= flag::when(s.owes_cwr, flag::OWES_CWR);
        let p = Pkt {
            seq: s.seq,
            flow: self.flow,
            bytes,
            sack: NO_SACK,
            host: self.dst,
            route: self.forward,
            epoch: self.epoch,
            hop: 0,
            flags,
            class: self.class,
            bits: s.bits,
        };
        self.core.entered += 1;
        self.core.depart(self.now, self.src, p);
    }

    fn random(&mut self) -> f64 {
        self.rng.unit()
    }
}

impl Core {
    /// A host sends a packet at `now`: through its access link, to the first hop of its route.
    #[inline]
    fn depart(&mut self, now: Time, host: u32, p: Pkt) {
        let index = self.packets.put(p);
        self.send_up(now, host, index);
    }

    #[inline]
    fn send_up(&mut self, now: Time, host: u32, index: u32) {
        let bytes = self.packets.items[index as usize].bytes;
        match self.hosts[host as usize].up.send(now, bytes) {
            None => self.discard(index),
            Some(at) => self.sched.push(at, What::new(Kind::Packet, index)),
        }
    }

    /// A packet is gone, delivered or dropped.
    #[inline]
    fn discard(&mut self, index: u32) {
        release(&mut self.packets, &mut self.sacks, &mut self.left, index);
    }

    #[cold]
    fn discard_evicted(&mut self, link: u32) {
        let Core { links, packets, sacks, left, .. } = self;
        for index in links[link as usize].evicted.drain(..) {
            release(packets, sacks, left, index);
        }
    }

    /// A packet arrives at link `link`.
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
        // The link that the packet came over; asked only for ties.
        let (before, after) = self.links.split_at_mut(link as usize);
        let (this, after) = after.split_first_mut().expect("a link of the route");
        let (hosts, routes) = (&self.hosts, &self.routes);
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
        let fate = this.arrive(now, &a, scheduled);
        if !this.evicted.is_empty() {
            self.discard_evicted(link);
        }
        if self.capture.is_some() {
            self.record_out(link, p, flows);
        }
        self.follow(link, index, fate)
    }

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

    /// A packet leaves its last-but-this hop at `at`: on to the next link, or down to the host.
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
    fn down(&mut self, at: Time, host: u32, index: u32) {
        let p = &mut self.packets.items[index as usize];
        match self.hosts[host as usize].down.send(at, p.bytes) {
            None => self.discard(index),
            Some(at) => {
                p.hop = u8::MAX; // at the host
                self.sched.push(at, What::new(Kind::Packet, index));
            }
        }
    }

    /// If the link has a tap behind its queue: `p`, if it got through the queue just now.
    #[cold]
    fn record_out(&mut self, link: u32, p: Pkt, flows: &[Flow]) {
        let tap = &mut self.links[link as usize].tap;
        if let Some((start, ecn)) = tap.as_mut().and_then(|t| t.take()) {
            self.record(start, Pkt { flags: p.flags & !flag::ECN | ecn as u8, ..p }, flows);
        }
    }

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
}

impl Engine {
    fn new(c: &Config, abort: &Abort) -> Result<Self, SimError> {
        let end = Time::ZERO + c.duration;
        if end > MAX_TIME {
            return Err(SimError::TooLong);
        }
        let mut links = vec![];
        for i in 0..c.links.len() {
            links.push(Link::of(c, i, abort)?);
        }
        let mut capture_links = capture_links(c);
        if c.record.pcap.is_some_and(|tap| tap.out) {
            for link in std::mem::replace(&mut capture_links, [u32::MAX; 2]) {
                if let Some(link) = links.get_mut(link as usize) {
                    link.tap = Some(Box::default());
                }
            }
        }
        let hosts = feeders(c).into_iter().zip(&c.hosts).map(|(m, h)| Host::new(h, m)).collect();
        let mut flows: Vec<Flow> = c.flows.iter().map(|f| Flow::new(f, c.seed)).collect();
        let senders = senders(c);
        for f in &mut flows {
            if let FlowKind::Udp(u) = &mut f.kind {
                u.own_host =
                    senders[f.src as usize] == 1 && !c.routes[usize::from(f.forward)].is_empty();
            }
        }
        let (shift, slots) = geometry(c);
        let core = Core {
            sched: Scheduler::new(shift, slots),
            packets: Pool::new(),
            sacks: Pool::new(),
            links,
            hosts,
            routes: c.routes.clone(),
            window: (c.measure_from, c.measure_to),
            capture: c.record.pcap.map(|_| Box::new(Capture::new(end))),
            capture_links,
            entered: 0,
            left: 0,
        };
        let mean_rate =
            |l: &LinkConfig| (l.name.clone(), l.mean_rate(c.measure_from, c.measure_to));
        let mut engine = Engine {
            core,
            flows,
            bottleneck: c.bottleneck,
            link_rates: c.links.iter().map(mean_rate).collect(),
            measure_links: c.measure_links,
            groups: c.groups,
            seed: c.seed,
            end,
            events: 0,
            transfers: vec![],
            record_transfers: c.record.series.is_some(),
            sampling: c.record.series,
            flow_series: c.record.series.map(|_| Box::default()),
        };
        engine.begin(c.measure_from, c.measure_to);
        Ok(engine)
    }

    /// Schedules what starts by itself.
    fn begin(&mut self, from: Time, to: Time) {
        let sched = &mut self.core.sched;
        sched.push(from, What::new(Kind::Window, 0));
        sched.push(to, What::new(Kind::Window, 1));
        if self.sampling.is_some() {
            sched.push(Time::ZERO, What::new(Kind::Sample, 0));
        }
        let mut datagrams = vec![];
        for (i, f) in self.flows.iter_mut().enumerate() {
            let i = i as u32;
            match &mut f.kind {
                FlowKind::Tcp(t) => {
                    let (start, stop) = match &t.app {
                        TcpApp::Ftp { start, stop, .. } => (*start, *stop),
                        TcpApp::Web(w) => (w.start, None),
                    };
                    sched.push(start, What::new(Kind::App, i));
                    if let Some(stop) = stop {
                        sched.push(stop, What::new(Kind::App, i));
                    }
                }
                FlowKind::Udp(u) => {
                    if let Some(t) = u.begin(&mut f.rng) {
                        datagrams.push((t, i as usize));
                    }
                }
            }
        }
        for (t, i) in datagrams {
            self.udp_next(t, i);
        }
    }

    fn run(&mut self, control: &Control, watch: &mut dyn FnMut()) -> Result<(), SimError> {
        while let Some((now, what)) = self.core.sched.pop() {
            if now >= self.end {
                break;
            }
            self.events += 1;
            if self.events & 0x3fff == 0 {
                control.now_ns.store(now.as_nanos(), Ordering::Relaxed);
                watch();
                if control.abort.raised() {
                    return Ok(());
                }
                if control.stop.load(Ordering::Relaxed) {
                    return Err(SimError::Stopped);
                }
                if self.core.sched.exhausted() {
                    return Err(SimError::TooManyEvents);
                }
            }
            self.warm();
            match what.kind() {
                Kind::Packet => self.packet(now, what.index() as u32),
                Kind::Timer => self.timer(now, what.index()),
                Kind::AckTimer => self.ack_timer(now, what.index()),
                Kind::Udp => self.udp(now, what.index()),
                Kind::Service => self.service(now, what.index() as u32),
                Kind::App => self.app(now, what.index()),
                Kind::Sample => self.sample(now),
                Kind::Window => self.snapshot(what.index()),
            }
        }
        if self.core.window.1 >= self.end {
            self.snapshot(1);
        }
        for link in &mut self.core.links {
            link.finish(self.end);
        }
        control.now_ns.store(self.end.as_nanos(), Ordering::Relaxed);
        Ok(())
    }

    /// Begins to load what the next event will touch, while this one is worked on: with thousands
    /// of flows a packet would else wait for memory four times.
    #[inline]
    fn warm(&self) {
        if let Some(later) = self.core.sched.peek(2 * AHEAD) {
            if later.kind() == Kind::Packet {
                prefetch::<_, 1>(&self.core.packets.items[later.index()]);
            }
        }
        let Some(next) = self.core.sched.peek(AHEAD) else { return };
        match next.kind() {
            Kind::Packet => {}
            Kind::Timer => return prefetch::<_, 3>(&self.flows[next.index()]),
            _ => return,
        }
        let p = &self.core.packets.items[next.index()];
        prefetch::<_, 1>(&self.core.hosts[p.host as usize]);
        if p.hop != u8::MAX {
            return;
        }
        // A data packet touches the receiver, an ACK the sender behind it.
        if p.is(flag::ACK) {
            prefetch::<_, 7>(&self.flows[p.flow as usize]);
        } else {
            prefetch::<_, 2>(&self.flows[p.flow as usize]);
        }
    }

    /// A packet arrives: at a link, at its router's end of an access link, or at the host.
    #[inline]
    fn packet(&mut self, now: Time, index: u32) {
        let p = self.core.packets.items[index as usize];
        if p.hop == u8::MAX {
            return if p.is(flag::ACK) {
                self.ack(now, index, p)
            } else {
                self.data(now, index, p)
            };
        }
        match self.core.routes[usize::from(p.route)].get(usize::from(p.hop)).copied() {
            Some(link) => self.through(now, link, index),
            None => self.core.down(now, p.host, index),
        }
    }

    /// Through one link and onward.
    #[inline]
    fn through(&mut self, now: Time, link: u32, index: u32) {
        let Some(at) = self.core.arrive(now, link, index, &self.flows) else { return };
        self.leave(at, index);
    }

    /// A packet reaches the other end of a link at `at`.
    #[inline]
    fn leave(&mut self, at: Time, index: u32) {
        if self.core.packets.items[index as usize].is(flag::DATAGRAM)
            && self.deliver_datagram(at, index)
        {
            return;
        }
        self.core.onward(at, index);
    }

    /// Datagrams past their last shared link need no event: nobody answers them. False: not there
    /// yet.
    #[inline]
    fn deliver_datagram(&mut self, at: Time, index: u32) -> bool {
        let p = self.core.packets.items[index as usize];
        let f = &mut self.flows[p.flow as usize];
        let host = &mut self.core.hosts[f.dst as usize];
        if usize::from(p.hop) < self.core.routes[usize::from(p.route)].len() || host.down.merges {
            return false;
        }
        let arrives = host.down.send(at, p.bytes);
        let (from, to) = self.core.window;
        if let (Some(t), FlowKind::Udp(u)) = (arrives, &mut f.kind) {
            if t >= from && t < to {
                u.delivered += u64::from(p.bytes);
            }
        }
        self.core.discard(index);
        true
    }

    /// A segment or datagram at its receiver.
    #[inline]
    fn data(&mut self, now: Time, index: u32, p: Pkt) {
        let f = &mut self.flows[p.flow as usize];
        let t = match &mut f.kind {
            FlowKind::Tcp(t) => t,
            FlowKind::Udp(u) => {
                if now >= self.core.window.0 && now < self.core.window.1 {
                    u.delivered += u64::from(p.bytes);
                }
                return self.core.discard(index);
            }
        };
        if p.epoch != f.epoch {
            return self.core.discard(index); // of an earlier connection
        }
        let segment = Segment {
            seq: p.seq,
            syn: p.is(flag::SYN),
            retransmit: p.is(flag::RETRANSMIT),
            ect: p.ecn() != Ecn::NotEct,
            bits: p.bits,
            owes_cwr: p.is(flag::OWES_CWR),
        };
        match t.receiver.on_segment(now, &segment, p.mark()) {
            Reply::Now(ack) => {
                let (dst, src, route) = (f.dst, f.src, f.backward);
                self.core.answer(index, &ack, segment.syn, src, route);
                self.core.send_up(now, dst, index);
            }
            Reply::Later => {
                let due = t.receiver.deadline().unwrap_or(Time::NEVER);
                if due < t.ack_timer_at {
                    t.ack_timer_at = due;
                    self.core.sched.push(due, What::new(Kind::AckTimer, p.flow));
                }
                self.core.discard(index);
            }
        }
    }

    /// A held-back ACK may be due.
    fn ack_timer(&mut self, now: Time, flow: usize) {
        let f = &mut self.flows[flow];
        let FlowKind::Tcp(t) = &mut f.kind else { return };
        if t.ack_timer_at != now {
            return; // overtaken
        }
        t.ack_timer_at = Time::NEVER;
        if let Some(ack) = t.receiver.on_timer(now) {
            let p = Pkt {
                seq: 0,
                flow: flow as u32,
                bytes: 40,
                sack: NO_SACK,
                host: f.src,
                route: f.backward,
                epoch: f.epoch,
                hop: 0,
                flags: 0,
                class: f.class,
                bits: Bits::NONE,
            };
            let index = self.core.packets.put(p);
            self.core.entered += 1;
            self.core.answer(index, &ack, false, f.src, f.backward);
            self.core.send_up(now, f.dst, index);
        } else if let Some(due) = t.receiver.deadline() {
            t.ack_timer_at = due;
            self.core.sched.push(due, What::new(Kind::AckTimer, flow as u32));
        }
    }

    /// An ACK at its sender.
    #[inline]
    fn ack(&mut self, now: Time, index: u32, p: Pkt) {
        let mut ack = Ack { seq: p.seq, bits: p.bits, ..Ack::default() };
        if p.sack != NO_SACK {
            ack.blocks = self.core.sacks.items[p.sack as usize];
            ack.n_blocks = ack.blocks.iter().filter(|b| b.right > 0).count() as u8;
        }
        self.core.discard(index);
        let flow = p.flow as usize;
        if self.flows[flow].epoch != p.epoch {
            return; // of an earlier connection
        }
        let done = self.with_sender(now, flow, |s, wire| s.on_ack(now, &ack, wire));
        if done {
            self.transfer_done(now, flow);
        }
    }

    /// Lets `f` work on a flow's sender, then looks after its timer; whether the transfer is
    /// complete.
    #[inline]
    fn with_sender(
        &mut self,
        now: Time,
        flow: usize,
        f: impl FnOnce(&mut penstock_tcp::Sender, &mut Wire<'_>),
    ) -> bool {
        let fl = &mut self.flows[flow];
        let FlowKind::Tcp(t) = &mut fl.kind else { return false };
        let t: &mut Tcp = t;
        let mut wire = Wire {
            core: &mut self.core,
            now,
            flow: flow as u32,
            src: fl.src,
            dst: fl.dst,
            forward: fl.forward,
            class: fl.class,
            epoch: fl.epoch,
            segment: t.p.segment_bytes(),
            header: t.p.header_bytes(),
            ect: if t.p.literal_codepoints() { Ecn::Ect1 } else { Ecn::Ect0 },
            last: t.last,
            rng: &mut fl.rng,
        };
        f(&mut t.sender, &mut wire);
        // One event stands for the timer; it is looked at again when it comes, and moved only to an
        // earlier time.
        if let Some(due) = t.sender.deadline() {
            if due < t.timer_at {
                t.timer_at = due;
                self.core.sched.push(due, What::new(Kind::Timer, flow as u32));
            }
        }
        t.bytes.is_some() && t.sender.done()
    }

    fn timer(&mut self, now: Time, flow: usize) {
        let FlowKind::Tcp(t) = &mut self.flows[flow].kind else { return };
        if t.timer_at != now {
            return; // overtaken by an earlier one
        }
        t.timer_at = Time::NEVER;
        let due = t.sender.deadline();
        if due.is_some_and(|d| d > now) {
            let due = due.expect("checked");
            t.timer_at = due;
            self.core.sched.push(due, What::new(Kind::Timer, flow as u32));
        } else if due.is_some() {
            self.with_sender(now, flow, |s, wire| s.on_timer(now, wire));
        }
    }

    // ---- applications --------------------------------------------------------------------------------------

    fn app(&mut self, now: Time, flow: usize) {
        let f = &mut self.flows[flow];
        let FlowKind::Tcp(t) = &mut f.kind else { return };
        match &mut t.app {
            TcpApp::Ftp { start, stop, bytes } => {
                if Some(now) == *stop && now > *start {
                    t.sender.stop();
                } else if now == *start {
                    let bytes = *bytes;
                    self.transfer(now, flow, bytes);
                }
            }
            TcpApp::Web(w) => {
                if w.stop.is_some_and(|s| now >= s) {
                    return;
                }
                let bytes = draw(&w.object, &mut f.rng).max(1.0);
                let again = w.active;
                w.active = true;
                let bytes = libm::ceil(bytes) as u64;
                if again {
                    // A connection of its own for every object.
                    let phase = f.rng.unit();
                    t.acked_before = t.acked_bytes();
                    t.sender.reset(phase);
                    t.receiver.reset();
                    f.epoch = f.epoch.wrapping_add(1);
                }
                self.transfer(now, flow, Some(bytes));
            }
        }
    }

    fn transfer(&mut self, now: Time, flow: usize, bytes: Option<u64>) {
        let FlowKind::Tcp(t) = &mut self.flows[flow].kind else { return };
        t.began = now;
        let segments = t.cut(bytes);
        self.with_sender(now, flow, |s, wire| s.give(now, segments, wire));
    }

    fn transfer_done(&mut self, now: Time, flow: usize) {
        let f = &mut self.flows[flow];
        let FlowKind::Tcp(t) = &mut f.kind else { return };
        let bytes = t.bytes.take().unwrap_or(0);
        self.transfers.push((now, flow as u32, bytes, now.since(t.began)));
        t.sender.stop();
        if let TcpApp::Web(w) = &mut t.app {
            let wait = next_object(w, &mut f.rng);
            self.core.sched.push(now + wait, What::new(Kind::App, flow as u32));
        }
    }

    /// A datagram source's packet leaves its host; where the host is the source's own, it has
    /// already crossed the access link and reaches the first link of its route, which saves an
    /// event.
    #[inline]
    fn udp(&mut self, now: Time, flow: usize) {
        let f = &mut self.flows[flow];
        let FlowKind::Udp(u) = &mut f.kind else { return };
        u.sent += 1;
        let p = Pkt {
            seq: u.sent as i64,
            flow: flow as u32,
            bytes: u.bytes,
            sack: NO_SACK,
            host: f.dst,
            route: f.forward,
            epoch: 0,
            hop: 0,
            flags: flag::DATAGRAM,
            class: f.class,
            bits: Bits::NONE,
        };
        let after = u.after(&mut f.rng);
        let own_host = u.own_host;
        self.core.entered += 1;
        if own_host {
            let link = self.core.routes[usize::from(f.forward)][0];
            let index = self.core.packets.put(p);
            self.through(now, link, index);
        } else {
            self.core.depart(now, f.src, p);
        }
        if let Some(leaves) = after {
            self.udp_next(leaves, flow);
        }
    }

    /// Schedules a datagram source's next packet, which leaves its host at `leaves`.
    #[inline]
    fn udp_next(&mut self, leaves: Time, flow: usize) {
        let f = &mut self.flows[flow];
        let FlowKind::Udp(u) = &mut f.kind else { return };
        let mut next = Some(leaves);
        while let Some(leaves) = next {
            let at = if u.own_host {
                self.core.hosts[f.src as usize].up.send(leaves, u.bytes)
            } else {
                Some(leaves)
            };
            if let Some(at) = at {
                self.core.sched.push(at, What::new(Kind::Udp, flow as u32));
                return;
            }
            // Its own access link is full.
            u.sent += 1;
            next = u.after(&mut f.rng).filter(|t| *t < self.end);
        }
    }

    /// An eager link's transmitter is free.
    fn service(&mut self, now: Time, link: u32) {
        let Core { links, packets, sacks, left, .. } = &mut self.core;
        let served = links[link as usize].serve(now, |index| release(packets, sacks, left, index));
        let Some((a, fate, again)) = served else { return };
        if self.core.capture.is_some() {
            let p = self.core.packets.items[a.index as usize];
            self.core.record_out(link, p, &self.flows);
        }
        if let Some(at) = again {
            self.core.sched.push(at, What::new(Kind::Service, link));
        }
        if let Some(at) = self.core.follow(link, a.index, fate) {
            self.leave(at, a.index);
        }
    }

    // ---- measuring -----------------------------------------------------------------------------------------

    fn snapshot(&mut self, which: usize) {
        for f in &mut self.flows {
            if let FlowKind::Tcp(t) = &mut f.kind {
                t.window[which] = t.snapshot();
            }
        }
    }

    fn sample(&mut self, now: Time) {
        self.events -= 1; // watching a run does not change its numbers
        let Some(series) = &mut self.flow_series else { return };
        let t_s = now.as_secs_f64();
        for (i, f) in self.flows.iter().enumerate() {
            let FlowKind::Tcp(t) = &f.kind else { continue };
            let s = &t.sender;
            series.cwnd[0].push(t_s);
            series.cwnd[1].push(s.cwnd());
            series.cwnd[2].push(s.ssthresh());
            series.cwnd_flow.push(i as u64);
            if let Some(rtt) = s.rtt() {
                series.rtt[0].push(t_s);
                series.rtt[1].push(rtt.as_secs_f64());
                series.rtt_flow.push(i as u64);
            }
        }
        if let Some(d) = self.sampling {
            self.core.sched.push(now + d, What::new(Kind::Sample, 0));
        }
    }

    fn result(mut self) -> RunResult {
        self.assert_conservation();
        let (from, to) = self.core.window;
        let seconds = to.since(from).as_secs_f64();
        let flows: Vec<FlowResult> = self
            .flows
            .iter()
            .map(|f| FlowResult { group: f.group, metrics: flow_metrics(f, seconds) })
            .collect();
        let ended: Vec<_> =
            self.transfers.iter().filter(|t| t.0 >= from && t.0 < to).copied().collect();
        let groups =
            (0..self.groups).map(|g| self.group_metrics(g as u32, &flows, &ended)).collect();
        let metrics = self.run_metrics(&flows, &ended);
        let links = if self.measure_links { self.links() } else { vec![] };
        let mut series = vec![];
        let link = &mut self.core.links[self.bottleneck];
        if let Some(s) = link.series.take() {
            series.extend(s.tables());
        }
        if let Some(s) = self.flow_series.take() {
            series.extend(s.tables());
        }
        if self.record_transfers {
            series.push(self.transfer_table());
        }
        let pcap = self.core.capture.take().map(|c| c.finish());
        RunResult {
            seed: self.seed,
            events: self.events,
            metrics,
            groups,
            flows,
            links,
            series,
            pcap,
        }
    }

    /// Packets in = delivered or dropped + under way. Every run checks it: it costs nothing and
    /// guards everything.
    fn assert_conservation(&self) {
        let live = self.core.packets.live() as u64;
        assert_eq!(self.core.entered, self.core.left + live, "packets are conserved");
        assert!(self.core.links.iter().all(Link::conserves), "a queue's packets are conserved");
    }

    fn run_metrics(
        &self,
        flows: &[FlowResult],
        ended: &[(Time, u32, u64, Duration)],
    ) -> Vec<Option<f64>> {
        let stats =
            self.core.links[self.bottleneck].stats.as_ref().expect("the bottleneck is measured");
        let rate = self.link_rates[self.bottleneck].1;
        let counted: Vec<f64> = self
            .flows
            .iter()
            .zip(flows)
            .filter(|(f, _)| f.counts)
            .map(|(_, r)| r.metrics[0].unwrap_or(0.0))
            .collect();
        let sum = |which: usize, udp: bool| -> Option<f64> {
            let of = |f: &Flow| matches!(f.kind, FlowKind::Udp(_)) == udp;
            let parts: Vec<f64> = self
                .flows
                .iter()
                .zip(flows)
                .filter(|(f, _)| of(f))
                .filter_map(|(_, r)| r.metrics[which])
                .collect();
            (!parts.is_empty()).then(|| parts.iter().sum())
        };
        let mut fct: Vec<f64> = ended.iter().map(|t| t.3.as_secs_f64()).collect();
        METRICS
            .iter()
            .map(|m| match m.name {
                "goodput_bps" => (!counted.is_empty()).then(|| counted.iter().sum()),
                "jain" => jain(&counted),
                "retransmits" => sum(1, false),
                "timeouts" => sum(2, false),
                "udp_goodput_bps" => sum(0, true),
                "fct_p50_s" => quantile(&mut fct, 0.5),
                "fct_p99_s" => quantile(&mut fct, 0.99),
                "transfers" => Some(ended.len() as f64),
                name => link_metric(stats, rate, name),
            })
            .collect()
    }

    fn links(&self) -> Vec<LinkResult> {
        let measured = self.core.links.iter().zip(&self.link_rates);
        let of = |(link, (name, rate)): (&Link, &(String, f64))| {
            let stats = link.stats.as_ref().expect("every link is measured");
            let metrics = link_metrics().map(|m| link_metric(stats, *rate, m.name)).collect();
            LinkResult { name: name.clone(), metrics }
        };
        measured.map(of).collect()
    }

    fn group_metrics(
        &self,
        group: u32,
        flows: &[FlowResult],
        ended: &[(Time, u32, u64, Duration)],
    ) -> Vec<Option<f64>> {
        let mine: Vec<&FlowResult> = flows.iter().filter(|f| f.group == group).collect();
        let sum = |i: usize| {
            let parts: Vec<f64> = mine.iter().filter_map(|f| f.metrics[i]).collect();
            (!parts.is_empty()).then(|| parts.iter().sum())
        };
        let goodputs: Vec<f64> = mine.iter().filter_map(|f| f.metrics[0]).collect();
        let fct: Vec<f64> = ended
            .iter()
            .filter(|t| self.flows[t.1 as usize].group == group)
            .map(|t| t.3.as_secs_f64())
            .collect();
        GROUP_METRICS
            .iter()
            .map(|m| match m.name {
                "goodput_bps" => sum(0),
                "retransmits" => sum(1),
                "timeouts" => sum(2),
                "sent" => sum(3),
                "ecn_cuts" => sum(4),
                "cuts_incipient" => sum(5),
                "cuts_moderate" => sum(6),
                "jain" => jain(&goodputs),
                "fct_mean_s" => {
                    (!fct.is_empty()).then(|| fct.iter().sum::<f64>() / fct.len() as f64)
                }
                _ => Some(fct.len() as f64),
            })
            .collect()
    }

    fn transfer_table(&self) -> Table {
        let (mut t, mut flow, mut bytes, mut fct) = (vec![], vec![], vec![], vec![]);
        for (end, f, b, d) in &self.transfers {
            t.push(end.as_secs_f64());
            flow.push(u64::from(*f));
            bytes.push(*b);
            fct.push(d.as_secs_f64());
        }
        Table {
            name: "fct",
            columns: vec![
                ("t_s".into(), Column::F64(t)),
                ("flow".into(), Column::U64(flow)),
                ("bytes".into(), Column::U64(bytes)),
                ("fct_s".into(), Column::F64(fct)),
            ],
        }
    }
}

impl Core {
    /// Turns the packet at `index` into the ACK that answers it.
    #[inline]
    fn answer(&mut self, index: u32, ack: &Ack, syn: bool, host: u32, route: u16) {
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
}

fn flow_metrics(f: &Flow, seconds: f64) -> Vec<Option<f64>> {
    match &f.kind {
        FlowKind::Tcp(t) => {
            let [a, b] = t.window;
            let rate = (b.acked_bytes - a.acked_bytes) as f64 * 8.0 / seconds;
            let cuts = b.counters.ecn_cuts - a.counters.ecn_cuts;
            let incipient = b.counters.cuts_incipient - a.counters.cuts_incipient;
            let mecn = t.p.ecn == penstock_tcp::Ecn::Mecn;
            FLOW_METRICS
                .iter()
                .map(|m| match m.name {
                    "goodput_bps" => Some(rate),
                    "retransmits" => Some((b.counters.retransmits - a.counters.retransmits) as f64),
                    "timeouts" => Some((b.counters.timeouts - a.counters.timeouts) as f64),
                    "sent" => Some((b.counters.sent - a.counters.sent) as f64),
                    "ecn_cuts" => Some(cuts as f64),
                    "cuts_incipient" => mecn.then_some(incipient as f64),
                    "cuts_moderate" => mecn.then_some((cuts - incipient) as f64),
                    "connections" => matches!(t.app, TcpApp::Ftp { .. })
                        .then(|| f64::from(u8::from(b.connected && !a.connected && t.p.handshake))),
                    _ => t.sender.rtt().map(Duration::as_secs_f64),
                })
                .collect()
        }
        FlowKind::Udp(u) => FLOW_METRICS
            .iter()
            .map(|m| match m.name {
                "goodput_bps" => Some(u.delivered as f64 * 8.0 / seconds),
                "sent" => Some(u.sent as f64),
                _ => None,
            })
            .collect(),
    }
}

/// How long a web session waits after an object.
fn next_object(w: &mut Web, rng: &mut penstock_units::Rng) -> Duration {
    w.left = w.left.saturating_sub(1);
    let seconds = if w.left > 0 {
        draw(&w.inter_object, rng)
    } else {
        w.left = w.objects_per_page;
        draw(&w.think, rng)
    };
    Duration::from_secs_f64(seconds)
}

/// A link's discipline, new.
/// For each host, whether packets come down to it from more than one link.
fn feeders(c: &Config) -> Vec<bool> {
    const NONE: u32 = u32::MAX;
    let mut feeder: Vec<Option<u32>> = vec![None; c.hosts.len()];
    let mut merges = vec![false; c.hosts.len()];
    let mut feed = |host: u32, route: u16| {
        let last = c.routes[usize::from(route)].last().copied().unwrap_or(NONE);
        let f = &mut feeder[host as usize];
        // Without a link in between, packets come from other hosts' access links.
        if last == NONE || f.is_some_and(|x| x != last) {
            merges[host as usize] = true;
        }
        *f = Some(last);
    };
    for f in &c.flows {
        feed(f.dst, f.forward);
        feed(f.src, f.backward);
    }
    merges
}

/// For each host, how many flow ends send from it.
fn senders(c: &Config) -> Vec<u32> {
    let mut n = vec![0; c.hosts.len()];
    for f in &c.flows {
        n[f.src as usize] += 1;
        n[f.dst as usize] += u32::from(!matches!(f.app, App::Udp { .. } | App::Replay { .. }));
    }
    n
}

/// The captured link and its opposite.
fn capture_links(c: &Config) -> [u32; 2] {
    let Some(Tap { link, .. }) = c.record.pcap else { return [u32::MAX; 2] };
    [link, c.links[link as usize].opposite.unwrap_or(u32::MAX)]
}

/// The wheel's geometry: slots of about one packet time of the fastest link that carries traffic,
/// enough of them to hold the longest hop. Speed depends on it, results do not.
fn geometry(c: &Config) -> (u32, usize) {
    let bps = c.links.iter().map(|l| l.rate.as_bps()).max().unwrap_or(1_000_000);
    let packet = Duration::from_nanos((1000 * 8 * 1_000_000_000u64 / bps).clamp(1 << 8, 1 << 22));
    // Some packets a slot: the engine looks a few events ahead within it.
    let shift = 63 - packet.as_ticks().leading_zeros() + 1;
    let hop = c.links.iter().map(|l| l.delay.as_ticks()).max().unwrap_or(0);
    let slots = ((hop * 4) >> shift).clamp(1 << 8, 1 << 14) as usize;
    (shift, slots)
}
