//! CAKE: tins for classes of traffic, fair queueing of hosts and of their flows, COBALT in each
//! queue. T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue
//! management solution for home gateways", LANMAN 2018 (arXiv 1804.07617); the rules and constants
//! are those of Linux 7.3, net/sched/sch_cake.c.
//!
//! Its layers, from the outside: `tins` (which tin a packet belongs to, which one is served),
//! `flows` (a tin's queues by flow, deficit round robin with a quantum for each host's load), and
//! COBALT (`super::cobalt`) in each queue.
//!
//! Settled here:
//! - CAKE's shaper is the link: its rate, or that of its shaper (`shaped`), and the link's framing
//!   count. So what COBALT drops is never charged to it, as with `ingress`.
//! - What has to go for want of memory goes before the arriving packet enters, whose bytes count in
//!   its queue, but which is not itself one to go.
//! - The quantum is rounded by a sequence that fills [0, 1) evenly, where Linux draws it.
//! - A queue that only remembers its COBALT is looked at whatever its deficit; while nothing waits,
//!   once a target of the first tin, all such looks at the next arrival.
//! - 1/√count is 0 in a queue that has not signalled yet, as Linux's initial value has it, though its
//!   comments say 1 (`Vars::fresh`). Seen in Linux 7.3: 20 flows at 100 Mbit/s lose a packet each 8 to
//!   13 ms after they begin.
//! - A queue that two flows share counts for the hosts of the one that came first.

mod flows;
mod tins;

pub use self::flows::Isolates;
use self::flows::Queues;
pub use self::tins::Tins;
use self::tins::{Choice, Scheme, Tin};
use crate::alone::cobalt::{Law, LawParams};
use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Hosts, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::{Chains, Hash};
use crate::parts::memory::Memory;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::ParamError;
use penstock_units::{group, params, Bytes, Duration, Ecn, Framing, Rate, Rng, Time};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "cake",
    doc: "Tins for classes, fair shares for hosts and flows, COBALT in each queue: home routers' default.",
    source: "Høiland-Jørgensen, Täht, Morton 2018 (CAKE); Linux: sch_cake",
    equations: "tin:        by the packet's DSCP; of those within their rate the last, else the one that is due first\n\
        queue:      of 1024 in the tin, in sets of 8, by flow\n\
        each round: quantum(flow) = quantum/load,  load = the busy flows of its source or its destination host, the more\n\
        each queue: COBALT;  target ← max(rtt/20, 1.5 frames' time);  the last packet of a queue is never dropped\n\
        memory:     above the limit the fullest queue loses its first packet, and its COBALT hears of it",
    expect: "As FQ-COBALT, and hosts are equal before their flows are: a host with four downloads \
        has no more than one with a single one. Traffic that is marked as voice or as bulk has tins \
        of its own: a call does not wait for downloads, and bulk has what the others leave. The first \
        time that a queue is late it signals with the next packet, and not after an interval, as \
        Linux's does: a download's slow start ends early. In the figure one queue is held: from then \
        on signals come as COBALT's.",
    weaknesses: "It believes DSCPs: whoever marks downloads as voice has a quarter of the link \
        ahead of the others, and the shares of diffserv8 add up to more than the link, so that low \
        tins starve while high ones are full. ACKs are not thinned out (Linux's ack-filter): a \
        discipline here does not see TCP's header, and on a very asymmetric link ACKs can fill the \
        slow direction. Its tins take the link's rate at the start. Hosts are those that the scenario \
        names; two behind one address are one.",
    params: own_tables::<CakeParams>(),
    state: &states(COLUMNS),
    defaults: CakeParams::DEFAULTS,
};

group! {
    /// What the user of CAKE sets.
    pub struct CakeParams {
        /// Its own keys.
        pub own: CakeOwn,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

params! {
    /// Parameters.
    pub struct CakeOwn: Default {
        /// The tins, by DSCP: all in one; best effort, bulk and latency; those and video; or eight.
        pub tins: Tins { default: "diffserv3", source: "Linux: sch_cake" },
        /// What has a queue, and whether hosts are equal before their flows are.
        pub isolation: Isolates { default: "triple-isolate", source: "Linux: sch_cake" },
        /// The largest usual round-trip time: COBALT's interval; its target is a twentieth.
        pub rtt: Duration { default: "100 ms", source: "Linux: sch_cake, internet" },
        /// Whether tins take turns by deficit round robin, as where no bandwidth is set, and not by
        /// clocks at their shares of the link's rate.
        pub unlimited: bool { default: false, source: "Linux: sch_cake" },
        /// Bytes in all queues together, `packet_overhead` counted; the link's buffer holds beside
        /// it.
        pub memory_limit: Option<Bytes> {
            auto: "four rtt at the link's rate, from 4 MiB to 15503360 B; unlimited: 15503360 B",
            source: "Linux: sch_cake, memlimit",
        },
        /// What a packet takes of `memory_limit` beside its own bytes; Linux counts the memory of
        /// its buffers, for a full frame about 800 B more.
        pub packet_overhead: Bytes { default: "0 B", quiet: true, source: "Linux: truesize" },
    }
}

const COLUMNS: &[Column<Cake>; 3] = &[
    column("sparse_flows", "Queues of flows that have not yet used up a quantum.", |d| {
        d.count(|queues| queues.sparse)
    }),
    column("bulk_flows", "Queues of flows that have.", |d| d.count(|queues| queues.bulk)),
    column("decaying_flows", "Empty queues whose COBALT is not at rest.", |d| {
        d.count(|queues| queues.decaying)
    }),
];

/// Linux counts a frame as this: an Ethernet MTU and its header.
const FRAME: u32 = 1514;
/// What all tins hold at most: 10,240 such frames.
const MOST_MEMORY: u64 = 10_240 * FRAME as u64;
/// No packet has arrived.
const NOBODY: (u32, u8, u8, u32) = (u32::MAX, 0, 0, 0);

/// CAKE.
#[derive(Clone, Debug)]
pub struct Cake {
    scheme: &'static Scheme,
    tins: Vec<Tin>,
    choice: Choice,
    isolates: Isolates,
    hash: Hash,
    hosts: Hosts,
    framing: Framing,
    packets: Chains,
    memory: Memory,
    ecn: bool,
    /// All packets that wait.
    waiting: u32,
    /// The packet that arrived last: flow, class, tin and queue there.
    arriving: (u32, u8, u8, u32),
    /// The tin and the queue whose turn it was last.
    serving: (u8, u32),
    /// Whether this turn follows a drop at the same instant.
    again: bool,
    /// How often queues that decay are looked at while nothing waits.
    look: Duration,
}

/// How a tin of `rate` treats its flows: COBALT's law, and the bytes of a round.
fn tin_of(rate: Option<Rate>, rtt: Duration, cx: &Context) -> (Law, u32) {
    let least = Duration::from_ticks(rtt.as_ticks() / 20);
    let frame = rate.map_or(Duration::ZERO, |rate| {
        Duration::from_secs_f64(8.0 * f64::from(FRAME) / rate.as_bps() as f64)
    });
    let target = Duration::from_ticks(frame.as_ticks() / 2 * 3).max(least);
    let longer = Duration::from_ticks(target.as_ticks() - least.as_ticks());
    let interval = (rtt + longer).max(target + target);
    let law = LawParams { target, interval, frame_time: Some(frame), ..LawParams::default() };
    let quantum = rate.map_or(FRAME, |rate| (rate.as_bps() / 8 / 4096).clamp(300, 1514) as u32);
    (Law::new(&law, cx), quantum)
}

impl Cake {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &CakeParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let CakeOwn { tins, isolation, rtt, unlimited, memory_limit, packet_overhead } = &p.own;
        if *rtt < Duration::from_micros(20) {
            return Err(ParamError::new("rtt", "must be at least 20 us"));
        }
        if packet_overhead.0 > 1 << 20 {
            return Err(ParamError::new("packet_overhead", "must be at most 1048576 B"));
        }
        let scheme = Scheme::of(*tins);
        let made = scheme.tins.iter().map(|tin| {
            let rate = tins::rate(cx.rate, tin);
            let (law, quantum) = tin_of((!unlimited).then_some(rate), *rtt, cx);
            Tin { turn: tins::Turns::new(tin, rate), queues: Queues::new(quantum), law }
        });
        let tins: Vec<Tin> = made.collect();
        let of_rate = (cx.rate.as_bps() as f64 / 8.0 * 4.0 * rtt.as_secs_f64()) as u64;
        let auto = if *unlimited { MOST_MEMORY } else { of_rate.clamp(4 << 20, MOST_MEMORY) };
        Ok(Cake {
            scheme,
            choice: Choice::new(*unlimited),
            isolates: *isolation,
            hash: Hash::new(),
            hosts: cx.hosts.clone(),
            framing: cx.framing,
            packets: Chains::default(),
            memory: Memory {
                limit: memory_limit.map_or(auto, |limit| limit.0),
                per_packet: packet_overhead.0,
            },
            ecn: p.common.ecn,
            waiting: 0,
            arriving: NOBODY,
            serving: (0, 0),
            again: false,
            look: tins[0].law.target(),
            tins,
        })
    }

    fn count(&self, of: impl Fn(&Queues) -> u32) -> f64 {
        self.tins.iter().map(|tin| f64::from(of(&tin.queues))).sum()
    }

    /// The key of a packet's queue.
    fn key(&self, flow: u32) -> u64 {
        let (source, destination) = self.hosts.of(flow);
        match self.isolates {
            Isolates::Flowblind => 0,
            Isolates::Srchost => source.into(),
            Isolates::Dsthost => destination.into(),
            Isolates::Hosts => u64::from(source) << 32 | u64::from(destination),
            _ => flow.into(),
        }
    }

    /// The link fell idle at `since`: the looks until `now` at queues that decay.
    #[cold]
    fn rest(&mut self, since: Time, now: Time) {
        let mut at = since;
        while self.tins.iter().any(|tin| tin.queues.decaying > 0) && at + self.look <= now {
            at += self.look;
            self.tins.iter_mut().for_each(|tin| tin.queues.look(&tin.law, at));
        }
    }

    /// The fullest queue in which something waits, the arriving packet counted in its own; of
    /// several the first.
    #[cold]
    fn fattest(&self, arriving: u32) -> (u8, u32) {
        let (.., tin, queue) = self.arriving;
        let mut most = (0, (0, 0));
        for (t, i, bytes) in (0..)
            .zip(&self.tins)
            .flat_map(|(t, tin)| tin.queues.waiting().map(move |(i, bytes)| (t, i, bytes)))
        {
            let bytes = bytes + if (t, i) == (tin, queue) { u64::from(arriving) } else { 0 };
            if bytes > most.0 {
                most = (bytes, (t, i));
            }
        }
        most.1
    }
}

impl Aqm for Cake {
    #[inline(always)]
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if let Some(since) = q.idle_since {
            self.rest(since, now);
        }
        // Packets of one flow often come in a row.
        if (pkt.flow, pkt.class) != (self.arriving.0, self.arriving.1) {
            let tin = self.scheme.tin(pkt.class);
            let bits = (self.hash.bits(self.key(pkt.flow), rng) >> 32) as u32;
            let queue = self.tins[usize::from(tin)].queues.place(bits);
            self.arriving = (pkt.flow, pkt.class, tin, queue);
        }
        Verdict::Pass
    }

    fn evict(&mut self, now: Time, pkt: &Packet, q: &Queue, full: bool) -> Option<(u32, Reason)> {
        if self.waiting == 0 || !(full || self.memory.exceeded(q, pkt.bytes)) {
            return None;
        }
        let (t, i) = self.fattest(pkt.bytes);
        let tin = &mut self.tins[usize::from(t)];
        let flow = tin.queues.flow(i);
        let handle = self.packets.pop(&mut flow.packets).expect("it holds something");
        flow.packets.bytes -= u64::from(self.packets.bytes(handle));
        flow.vars.queue_full(&tin.law, now);
        tin.turn.packets -= 1;
        self.waiting -= 1;
        Some((handle, Reason::Overflow))
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Time, pkt: &Packet, handle: u32) {
        let (.., t, i) = self.arriving;
        let tin = &mut self.tins[usize::from(t)];
        tin.turn.arrives(now);
        self.waiting += 1;
        let flow = tin.queues.flow(i);
        self.packets.push(&mut flow.packets, handle, pkt.bytes);
        if !flow.is_active() {
            // The hosts' numbers are hashed as flows' are, apart from them.
            let (source, destination) = self.hosts.of(pkt.flow);
            let bits =
                |side: u64, host: u32| (self.hash.drawn(side << 32 | u64::from(host)) >> 32) as u32;
            let hosts = [bits(1, source), bits(2, destination)];
            tin.queues.enters(i, hosts, self.isolates);
        } else {
            tin.queues.goes_on(i);
        }
    }

    #[inline(always)]
    fn next(&mut self, now: Time) -> Turn<u32> {
        if self.waiting == 0 {
            return Turn::Empty;
        }
        let mut looks = !std::mem::take(&mut self.again);
        loop {
            let t = self.choice.tin(&mut self.tins, now);
            let Tin { queues, law, .. } = &mut self.tins[t];
            if std::mem::take(&mut looks) {
                queues.look(law, now);
            }
            if let Some((i, handle)) = queues.turn(&self.packets, law, now, self.isolates) {
                self.serving = (t as u8, i);
                return Turn::Packet(handle);
            }
        }
    }

    #[inline(always)]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        sojourn: Duration,
        _: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let (t, i) = self.serving;
        let Tin { turn, queues, law } = &mut self.tins[usize::from(t)];
        let flow = queues.flow(i);
        flow.packets.bytes -= u64::from(pkt.bytes);
        turn.packets -= 1;
        self.waiting -= 1;
        let capable = self.ecn && pkt.ecn != Ecn::NotEct;
        let last = flow.packets.is_empty();
        let verdict = flow.vars.dequeue(law, now, sojourn, (capable, last), rng);
        if matches!(verdict, Verdict::Drop(_)) {
            self.again = true;
        } else {
            let wire = self.framing.wire(pkt.bytes);
            flow.sends(wire);
            turn.sends(now, wire);
        }
        verdict
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn bands(&self) -> Vec<String> {
        match self.scheme.tins {
            [_] => vec![],
            tins => tins.iter().map(|tin| tin.name.to_owned()).collect(),
        }
    }

    #[inline(always)]
    fn band(&self, _: &Packet) -> Option<u8> {
        (self.tins.len() > 1).then_some(self.arriving.2)
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self)
            + size_of_val(&*self.tins)
            + self.tins.iter().map(|tin| tin.queues.heap_bytes()).sum::<usize>()
    }

    /// Each packet keeps the time at which it came, and its place in its queue.
    fn packet_bytes(&self) -> usize {
        size_of::<Time>() + Chains::PACKET_BYTES
    }

    /// The tins stay as they are, and as many.
    fn go_on(&mut self, before: Self, _: Time) {
        let new = std::mem::replace(self, before);
        if self.tins.len() == new.tins.len() {
            self.scheme = new.scheme;
            for (tin, new) in self.tins.iter_mut().zip(new.tins) {
                tin.law = new.law;
                tin.queues.quantum = new.queues.quantum;
                tin.turn.takes(new.turn);
            }
        }
        (self.choice, self.isolates) = (new.choice, new.isolates);
        (self.memory, self.ecn, self.look) = (new.memory, new.ecn, new.look);
        (self.hosts, self.framing, self.arriving) = (new.hosts, new.framing, NOBODY);
    }

    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("memory_limit", self.memory.limit as f64);
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests;
