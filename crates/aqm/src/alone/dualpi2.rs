//! DualPI2, the coupled dual-queue AQM of L4S. RFC 9332, appendix A. Scalable packets (ECT(1), CE)
//! wait in the queue L, all others in C. PI2's controller ([`crate::parts::coupling`]) moves the
//! base probability p' by the longer delay of the two. C is signalled with p_C = p'², L with the
//! larger of p_CL = k·p' and its own p'_L, a ramp or a step. The scheduler prefers L and protects C.
//!
//! `variant` is a bundle of defaults, and every difference is a key: "rfc" is appendix A, "linux"
//! is sch_dualpi2 of Linux 7.3, "docsis" the values of DOCSIS 3.1 low latency as its public model
//! for ns-3 has them. The Classic controller of DOCSIS is its PIE; here it is PI2 with those gains.
//!
//! Settled here: a packet of L is "alone" in RFC 9332, Figure 7, if no other waits in L (`th_len`
//! counts the packet itself, as Linux's check at arrival does). A probability that is counted up is
//! at most 1, so that overload leaves no debt of marks. In overload a packet that is not dropped is
//! marked, whatever the count. The border of overload is k·p' = 1 for both queues.

use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::coupling::{Base, Identify};
use crate::parts::gate::{recur, Spread};
use crate::parts::memory::Memory;
use crate::parts::signal::Classic;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num, num_open, ParamError};
use penstock_units::{group, params, words, Bytes, Duration, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "dualpi2",
    doc: "Two coupled queues: Scalable packets (L4S) wait about a millisecond, Classic ones 15 ms, \
        and flows of both get equal rates.",
    source: "RFC 9332, appendix A; Linux: sch_dualpi2",
    equations: "arrival:         ECT(1), CE → L, others → C; at the limit it is dropped\n\
        every t_update:  p' ← p' + α·(q − target) + β·(q − q_old),  q = the longer of the heads' waits\n\
        \u{20}                p_C = p'²,  p_CL = k·p'\n\
        L leaves:        p'_L = ramp or step of its wait, 0 while it is alone in L\n\
        \u{20}                mark with max(p'_L, p_CL), or with each by itself\n\
        C leaves:        signal with p_C\n\
        overload:        k·p' ≥ 1: both are dropped with p_C, and the rest of L is marked\n\
        scheduler:       L first; C gets its share in bytes where both wait (WRR), or where it has\n\
        \u{20}                waited t_shift longer (TS-FIFO)",
    expect: "Prague and DCTCP, which are in L, wait less than a millisecond on average, and CUBIC \
        or Reno in C about 15 ms, on one link and without any state for flows. p_CL is k = 2 times \
        the square root of what C gets, so a flow in L has about the rate of one in C: from 10 to \
        100 Mbit/s and 10 to 50 ms a Prague flow has 1.1 to 2.1 times the rate of a CUBIC flow. \
        Without traffic in C the ramp alone holds L near 1 ms. Nothing of L is dropped short of \
        overload.",
    weaknesses: "On a link where a packet takes longer than the step, 1.2 ms at 10 Mbit/s, Linux \
        marks all of L that is not alone, and Prague gets a third of CUBIC's rate or less; \
        th_len = 1, as in the RFC, mends it. Equal rates hold for round trips like each other. L \
        does not forgive bursts: paced senders alone belong there. A sender that sets ECT(1) and \
        does not answer marks costs both queues the same share of packets, so that a single CUBIC \
        flow beside it nearly stops; what is sent into C gets its classic_protection all the same. \
        Linux's class that is never marked, and its filters, are left out; so are the PIE of \
        DOCSIS and its queue protection.",
    params: own_tables::<DualPi2Params>(),
    state: &states(COLUMNS),
    defaults: DualPi2Params::DEFAULTS,
};

group! {
    /// What the user of DualPI2 sets.
    pub struct DualPi2Params {
        /// Its own.
        pub own: DualPi2Own,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

words! {
    /// Whose defaults the other keys take.
    pub enum Variant {
        /// RFC 9332, appendix A.
        Rfc = "rfc",
        /// Linux's sch_dualpi2.
        Linux = "linux",
        /// DOCSIS 3.1 low latency.
        Docsis = "docsis",
    }
}

words! {
    /// L's own AQM.
    pub enum Native {
        /// From 0 to 1 over a range of waits.
        Ramp = "ramp",
        /// All beyond a wait, or a length.
        Step = "step",
    }
}

words! {
    /// How L's own signal and the coupled one come together.
    pub enum Joined {
        /// One signal with the larger probability.
        Max = "max",
        /// Each by itself.
        Independent = "independent",
    }
}

words! {
    /// Where something is decided.
    pub enum Where {
        /// Where packets leave.
        Departure = "departure",
        /// Where packets arrive.
        Arrival = "arrival",
    }
}

words! {
    /// Whether the border of overload belongs to it.
    pub enum Border {
        /// It does: k·p' ≥ 1.
        Reached = "reached",
        /// It does not: k·p' > 1.
        Passed = "passed",
    }
}

words! {
    /// Which queue goes next.
    pub enum Scheduler {
        /// Weighted round robin by bytes, L first.
        Wrr = "wrr",
        /// The head that has waited longest, after a bonus for L.
        TsFifo = "ts-fifo",
    }
}

params! {
    /// Parameters.
    pub struct DualPi2Own: Default {
        /// Whose defaults the other keys take: of RFC 9332, of Linux, or of DOCSIS 3.1.
        pub variant: Variant { default: "rfc", linux: "linux", source: "RFC 9332, appendix A" },
        /// The Classic queueing delay to keep.
        pub target: Option<Duration> {
            auto: "rfc, linux: 15 ms; docsis: 10 ms",
            source: "RFC 9332, appendix A.1",
        },
        /// The longest round trip for which the gains are made.
        pub rtt_max: Option<Duration> {
            auto: "rfc: 100 ms; linux, docsis: none, their gains are constants",
            source: "RFC 9332, appendix A.1",
        },
        /// Time between two updates of the base probability.
        pub t_update: Option<Duration> {
            auto: "min(target, rtt_max/3); without rtt_max: 16 ms",
            source: "RFC 9332, appendix A.1",
        },
        /// Gain of the delay's distance from the target.
        pub alpha: Option<f64> {
            ty: num(0.0, 256.0),
            unit: "1/s",
            auto: "0.1·t_update/rtt_max²; without rtt_max: linux 41/256, docsis 0.25",
            source: "RFC 9332, appendix A.1",
        },
        /// Gain of the delay's change.
        pub beta: Option<f64> {
            ty: num(0.0, 256.0),
            unit: "1/s",
            auto: "0.3/rtt_max; without rtt_max: linux 819/256, docsis 2.5",
            source: "RFC 9332, appendix A.1",
        },
        /// Whether the base probability is reckoned in Linux's whole numbers of 32 bits.
        pub fixed_point: Option<bool> { auto: "linux: true; others: false", source: "Linux" },
        /// The coupling factor: L is marked with k·p', C with p'².
        pub k: f64 {
            ty: num_open(0.0, 255.0),
            unit: "1",
            default: 2,
            source: "RFC 9332, appendix C",
        },
        /// Which packets go to L: ECT(1) and CE, or all that are ECN-capable.
        pub identify: Identify { default: "l4s", source: "RFC 9331, section 2; any-ect: Linux" },
        /// How signals are spread: evenly, by a count, or by chance.
        pub spread: Option<Spread> {
            auto: "rfc, docsis: recur; linux: random",
            source: "RFC 9332, Figure 4; Linux",
        },
        /// L's own AQM: a ramp from ramp_start, or a step.
        pub native: Option<Native> {
            auto: "rfc, docsis: ramp; linux: step",
            source: "RFC 9332, Figure 5; Linux",
        },
        /// Where the ramp begins.
        pub ramp_start: Option<Duration> {
            auto: "800 us; docsis: 1000 us − ramp_range",
            source: "RFC 9332, appendix A.1: minTh",
        },
        /// How wide the ramp is; at 0 it is a step.
        pub ramp_range: Option<Duration> {
            auto: "400 us; docsis: 524.288 us",
            source: "RFC 9332, appendix A.1: range",
        },
        /// The ramp begins at the time of this many bytes on the link at the earliest.
        pub ramp_floor: Option<Bytes> {
            auto: "none; docsis: 4000 B",
            source: "RFC 9332, appendix A.2, of DOCSIS 3.1: two packets",
        },
        /// The step: what waits longer is marked.
        pub step_thresh: Duration { default: "1 ms", source: "Linux" },
        /// The step as packets left in L, instead of a time.
        pub step_packets: Option<u32> { ty: int(0, 1_000_000), auto: "none", source: "Linux" },
        /// L's own AQM leaves a packet alone while L holds no more than this, itself counted.
        pub th_len: Option<u32> {
            ty: int(0, 1_000_000),
            unit: "packets",
            auto: "rfc: 1; linux, docsis: 0",
            source: "RFC 9332, appendix A.2: Th_len; Linux: min_qlen_step",
        },
        /// Where th_len is looked at.
        pub th_len_at: Option<Where> {
            auto: "rfc, docsis: departure; linux: arrival",
            source: "RFC 9332, appendix A.2",
        },
        /// How L's own signal and the coupled one come together: as the larger, or each by itself.
        pub joined: Option<Joined> {
            auto: "rfc, docsis: max; linux: independent",
            source: "RFC 9332, Figure 4; Linux",
        },
        /// The base probability signals nothing while fewer bytes wait in both queues.
        pub pi_guard: Option<Bytes> {
            auto: "linux: 2·mtu; others: 0 B",
            source: "Linux; RFC 9332 has none",
        },
        /// Where p_C and p_CL choose packets.
        pub decides: Where { default: "departure", source: "RFC 9332, appendix A.1" },
        /// Whether overload begins at k·p' = 1, or above it.
        pub overload: Option<Border> {
            auto: "rfc, docsis: reached; linux: passed",
            source: "RFC 9332, Figure 7; Linux",
        },
        /// In overload, drop capable packets too. Otherwise p' stays within 1/k, and what is too
        /// much fills the buffer.
        pub drop_on_overload: bool { default: true, source: "RFC 9332, appendix A.2; Linux" },
        /// Which queue goes next where both wait: by shares of bytes, or by time.
        pub scheduler: Scheduler { default: "wrr", source: "RFC 9332, appendix A.2" },
        /// C's share of the bytes while both queues wait, with "wrr".
        pub classic_protection: Option<f64> {
            ty: num(0.0, 1.0),
            unit: "1",
            auto: "rfc: 1/16; linux: 0.1; docsis: 26/256",
            source: "RFC 9332, appendix A.2; Linux",
        },
        /// L goes first unless C's head has waited this much longer, with "ts-fifo".
        pub t_shift: Duration { default: "50 ms", source: "RFC 9332, appendix A.2" },
        /// Bytes in both queues together: no room for one more packet of mtu, and an arriving one is
        /// dropped. The link's buffer holds beside it, the smaller one counts.
        pub limit_bytes: Option<Bytes> {
            auto: "rfc, docsis: 250 ms at the link's rate, at least 2·mtu; linux: none",
            source: "RFC 9332, appendix A.1",
        },
        /// The same in packets.
        pub limit_packets: Option<u32> {
            ty: int(1, 1_000_000_000),
            unit: "packets",
            auto: "linux: 10000; others: none",
            source: "Linux",
        },
        /// The same as memory: the arriving packet has to fit, and each counts packet_memory more.
        pub memory: Option<Bytes> {
            auto: "linux: 2·mtu·limit_packets; others: none",
            source: "Linux",
        },
        /// What a packet takes of the memory beside its bytes.
        pub packet_memory: Bytes { default: "0 B", source: "left open; Linux counts its buffers" },
        /// The largest packet, for the limit, the guard and the scheduler's first credit.
        pub mtu: Bytes { default: "1514 B", source: "Linux: Ethernet" },
    }
}

const COLUMNS: &[Column<DualPi2>; 10] = &[
    column("p", "The base probability p'.", |d| d.base.p()),
    column("p_c", "The probability of a signal in C, p'².", |d| d.base.p_c()),
    column("p_cl", "The probability coupled to L, k·p'.", |d| d.base.p_cl()),
    column("p_l", "L's own probability at the last departure from it.", |d| d.p_l),
    column("delay_c_s", "The wait of C's head at the last update.", |d| d.delays[C].as_secs_f64()),
    column("delay_l_s", "The wait of L's head at the last update.", |d| d.delays[L].as_secs_f64()),
    column("queue_c_pkts", "Packets in C.", |d| d.queues[C].len() as f64),
    column("queue_l_pkts", "Packets in L.", |d| d.queues[L].len() as f64),
    column("coupled", "Signals by p' since the start.", |d| d.coupled as f64),
    column("native", "Signals by L's own AQM since the start.", |d| d.native_signals as f64),
];

const L: usize = 0;
const C: usize = 1;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    handle: u32,
    /// Whether L's own AQM may signal it, where that is known since it came.
    native: bool,
    since: Time,
}

/// L's own AQM.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Where it begins and ends.
    Ramp {
        min_th: Duration,
        max_th: Duration,
    },
    Longer(Duration),
    More(u32),
}

impl Law {
    /// p'_L of a packet that waited `sojourn` and leaves `left` behind in L.
    #[inline(always)]
    fn p_l(self, sojourn: Duration, left: u32) -> f64 {
        match self {
            Law::Ramp { max_th, .. } if sojourn >= max_th => 1.0,
            Law::Ramp { min_th, max_th } if sojourn > min_th => {
                let over = sojourn.as_ticks() - min_th.as_ticks();
                over as f64 / (max_th.as_ticks() - min_th.as_ticks()) as f64
            }
            Law::Ramp { .. } => 0.0,
            Law::Longer(threshold) => f64::from(u8::from(sojourn > threshold)),
            Law::More(threshold) => f64::from(u8::from(left > threshold)),
        }
    }
}

/// Shares of the scheduler, in parts of this.
const WHOLE: f64 = 1e7;

/// What goes next where both queues wait.
#[derive(Clone, Debug)]
enum Order {
    /// L has the turn while the credit is not above 0. A byte of L adds `c` to it, one of C takes
    /// `l` from it: the shares are c : l.
    Wrr {
        c: i64,
        l: i64,
        first: i64,
        credit: i64,
    },
    TsFifo(Duration),
}

/// DualPI2.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    base: Base,
    signal: Classic,
    identify: Identify,
    random: bool,
    law: Law,
    th_len: u32,
    th_len_at_arrival: bool,
    independent: bool,
    pi_guard: u64,
    decides_at_arrival: bool,
    border_is_overload: bool,
    drop_on_overload: bool,
    order: Order,
    limit: u64,
    limit_packets: u32,
    memory: Memory,
    mtu: u64,
    queues: [VecDeque<Waiting>; 2],
    /// Probabilities added up: of L, of C, and of L's own AQM where that signals by itself.
    counts: [f64; 3],
    /// The queue of the packet that arrived last.
    arriving: usize,
    /// The queue whose turn it was last, and whether L's own AQM may signal its packet.
    serving: usize,
    serving_native: bool,
    p_l: f64,
    delays: [Duration; 2],
    coupled: u64,
    native_signals: u64,
}

/// The controller of these parameters.
fn base(own: &DualPi2Own) -> Result<Base, ParamError> {
    let rtt_max = own.rtt_max.or((own.variant == Variant::Rfc).then(|| Duration::from_millis(100)));
    if rtt_max == Some(Duration::ZERO) {
        return Err(ParamError::new("rtt_max", "must be above 0 s"));
    }
    let docsis = own.variant == Variant::Docsis;
    let target = own.target.unwrap_or(Duration::from_millis(if docsis { 10 } else { 15 }));
    let t_update = own.t_update.unwrap_or_else(|| match rtt_max {
        Some(rtt) => target.min(Duration::from_ticks(rtt.as_ticks() / 3)),
        None => Duration::from_millis(16),
    });
    let (alpha, beta) = match rtt_max.map(Duration::as_secs_f64) {
        Some(rtt) => (0.1 * t_update.as_secs_f64() / (rtt * rtt), 0.3 / rtt),
        None if docsis => (0.25, 2.5),
        None => (41.0 / 256.0, 819.0 / 256.0),
    };
    let gains = (own.alpha.unwrap_or(alpha), own.beta.unwrap_or(beta));
    let fixed = own.fixed_point.unwrap_or(own.variant == Variant::Linux);
    let most = if own.drop_on_overload { 1.0 } else { (1.0 / own.k).min(1.0) };
    Base::new((target, t_update), gains, own.k, most, fixed)
}

/// L's own AQM with these parameters, on this link.
fn law(own: &DualPi2Own, cx: &Context) -> Result<Law, ParamError> {
    let native = match own.variant {
        Variant::Linux => Native::Step,
        Variant::Rfc | Variant::Docsis => Native::Ramp,
    };
    if own.native.unwrap_or(native) == Native::Step {
        return Ok(own.step_packets.map_or(Law::Longer(own.step_thresh), Law::More));
    }
    if own.step_packets.is_some() {
        return Err(ParamError::new("step_packets", "needs native = \"step\""));
    }
    let docsis = own.variant == Variant::Docsis;
    let range =
        own.ramp_range.unwrap_or(Duration::from_nanos(if docsis { 524_288 } else { 400_000 }));
    let min_th = own.ramp_start.unwrap_or(if docsis {
        Duration::from_ticks(Duration::from_millis(1).as_ticks().saturating_sub(range.as_ticks()))
    } else {
        Duration::from_micros(800)
    });
    let floor = own.ramp_floor.unwrap_or(Bytes(if docsis { 4000 } else { 0 }));
    let floor = Duration::from_secs_f64(8.0 * floor.0 as f64 / cx.rate.as_bps() as f64);
    let min_th = min_th.max(floor);
    let max_th = Duration::from_ticks(min_th.as_ticks().saturating_add(range.as_ticks()));
    Ok(Law::Ramp { min_th, max_th })
}

impl DualPi2 {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &DualPi2Params, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let own = &p.own;
        let linux = own.variant == Variant::Linux;
        if !(1..=1 << 20).contains(&own.mtu.0) {
            return Err(ParamError::new("mtu", "must be in [1 B, 1048576 B]"));
        }
        if own.packet_memory.0 > 1 << 20 {
            return Err(ParamError::new("packet_memory", "must be at most 1048576 B"));
        }
        let share = own.classic_protection.unwrap_or(match own.variant {
            Variant::Rfc => 1.0 / 16.0,
            Variant::Linux => 0.1,
            Variant::Docsis => 26.0 / 256.0,
        });
        let c = (share * WHOLE).round() as i64;
        let l = WHOLE as i64 - c;
        let first = own.mtu.0 as i64 * (c - l);
        let order = match own.scheduler {
            Scheduler::Wrr => Order::Wrr { c, l, first, credit: first },
            Scheduler::TsFifo => Order::TsFifo(own.t_shift),
        };
        let most = ((cx.rate.as_bps() as f64 / 8.0 * 0.25) as u64).max(2 * own.mtu.0);
        let limit = own.limit_bytes.map_or(if linux { u64::MAX } else { most }, |limit| limit.0);
        let limit_packets = own.limit_packets.unwrap_or(if linux { 10_000 } else { u32::MAX });
        let twice = 2 * own.mtu.0 * u64::from(limit_packets);
        let memory = own.memory.map_or(if linux { twice } else { u64::MAX }, |memory| memory.0);
        for (name, room, least) in
            [("limit_bytes", limit, own.mtu.0), ("memory", memory, own.mtu.0 + own.packet_memory.0)]
        {
            if room < least {
                let problem = format!("must hold a packet of mtu, {least} B");
                return Err(ParamError::new(name, problem));
            }
        }
        let guard = own.pi_guard.map_or(if linux { 2 * own.mtu.0 } else { 0 }, |guard| guard.0);
        let arrival = if linux { Where::Arrival } else { Where::Departure };
        let border = if linux { Border::Passed } else { Border::Reached };
        let joined = if linux { Joined::Independent } else { Joined::Max };
        let spread = if linux { Spread::Random } else { Spread::Recur };
        let th_len = u32::from(own.variant == Variant::Rfc);
        Ok(DualPi2 {
            base: base(own)?,
            signal: Classic::new(p.common.ecn),
            identify: own.identify,
            random: own.spread.unwrap_or(spread) == Spread::Random,
            law: law(own, cx)?,
            th_len: own.th_len.unwrap_or(th_len),
            th_len_at_arrival: own.th_len_at.unwrap_or(arrival) == Where::Arrival,
            independent: own.joined.unwrap_or(joined) == Joined::Independent,
            pi_guard: guard,
            decides_at_arrival: own.decides == Where::Arrival,
            border_is_overload: own.overload.unwrap_or(border) == Border::Reached,
            drop_on_overload: own.drop_on_overload,
            order,
            limit,
            limit_packets,
            memory: Memory { limit: memory, per_packet: own.packet_memory.0 },
            mtu: own.mtu.0,
            queues: [VecDeque::new(), VecDeque::new()],
            counts: [0.0; 3],
            arriving: L,
            serving: L,
            serving_native: false,
            p_l: 0.0,
            delays: [Duration::ZERO; 2],
            coupled: 0,
            native_signals: 0,
        })
    }

    /// Whether p' signals a packet with p_C: evenly, or by two draws below p'.
    #[inline(always)]
    fn squared(&mut self, queue: usize, rng: &mut Rng) -> bool {
        if self.random {
            let p = self.base.p();
            rng.unit() < p && rng.unit() < p
        } else {
            recur(&mut self.counts[queue], self.base.p_c())
        }
    }

    /// Whether a packet of L is signalled with `p`, by the count of that number.
    #[inline(always)]
    fn straight(&mut self, count: usize, p: f64, rng: &mut Rng) -> bool {
        if self.random {
            p >= 1.0 || p > 0.0 && rng.unit() < p
        } else {
            recur(&mut self.counts[count], p)
        }
    }

    /// Whether k·p' is beyond what marks can tell.
    #[inline(always)]
    fn overloaded(&self) -> bool {
        let coupled = self.base.coupled();
        self.drop_on_overload && (coupled > 1.0 || self.border_is_overload && coupled == 1.0)
    }

    /// What p' makes of a packet of C.
    #[inline(always)]
    fn classic(&mut self, pkt: &Packet, rng: &mut Rng) -> Verdict {
        if self.base.p() == 0.0 || !self.squared(C, rng) {
            return Verdict::Pass;
        }
        self.coupled += 1;
        if self.overloaded() {
            return Verdict::Drop(Reason::Early);
        }
        self.signal.early(pkt, 0.0)
    }

    /// What p' and p'_L make of a packet of L. Where each signals by itself, or at arrivals, `p_l`
    /// is 0.
    #[inline(always)]
    fn scalable(&mut self, pkt: &Packet, p_l: f64, rng: &mut Rng) -> Verdict {
        if self.overloaded() {
            self.coupled += 1;
            if self.squared(L, rng) {
                return Verdict::Drop(Reason::Early);
            }
            return self.signal.early(pkt, 0.0);
        }
        let p_cl = self.base.p_cl();
        if !self.straight(L, p_l.max(p_cl), rng) {
            return Verdict::Pass;
        }
        if p_l > p_cl {
            self.native_signals += 1;
        } else {
            self.coupled += 1;
        }
        self.signal.early(pkt, 0.0)
    }

    /// What becomes of a packet that leaves L after `sojourn`; `guarded`: p' has no say.
    #[inline(always)]
    fn leaves_l(
        &mut self,
        pkt: &Packet,
        sojourn: Duration,
        guarded: bool,
        rng: &mut Rng,
    ) -> Verdict {
        let left = self.queues[L].len() as u32;
        let subject =
            if self.th_len_at_arrival { self.serving_native } else { left + 1 > self.th_len };
        self.p_l = if subject { self.law.p_l(sojourn, left) } else { 0.0 };
        if !self.independent && !guarded {
            return self.scalable(pkt, self.p_l, rng);
        }
        let coupled = if guarded { Verdict::Pass } else { self.scalable(pkt, 0.0, rng) };
        if matches!(coupled, Verdict::Drop(_)) {
            return coupled;
        }
        // A step needs no chance and no count.
        let p_l = self.p_l;
        if p_l > 0.0 && (p_l >= 1.0 || self.straight(2, p_l, rng)) {
            self.native_signals += 1;
            return self.signal.early(pkt, 0.0);
        }
        coupled
    }

    /// The queue whose turn it is where both wait.
    #[inline(always)]
    fn chosen(&self) -> usize {
        match &self.order {
            Order::Wrr { credit, .. } => usize::from(*credit > 0),
            // L's age + t_shift ≥ C's age: L's head came no more than t_shift after C's.
            Order::TsFifo(shift) => {
                let [l, c] = [L, C].map(|i| self.queues[i][0].since);
                usize::from(l > c + *shift)
            }
        }
    }

    /// A packet of `bytes` is sent: the credit moves where the other queue waits too.
    #[inline(always)]
    fn sends(&mut self, bytes: u32) {
        let Order::Wrr { c, l, credit, .. } = &mut self.order else { return };
        let bytes = i64::from(bytes);
        if self.serving == L && !self.queues[C].is_empty() {
            *credit += *c * bytes;
        } else if self.serving == C && !self.queues[L].is_empty() {
            *credit -= *l * bytes;
        }
    }

    /// The link asked for a packet while both queues were empty.
    fn rests(&mut self) {
        if let Order::Wrr { first, credit, .. } = &mut self.order {
            *credit = *first;
        }
    }

    fn full(&self, pkt: &Packet, q: &Queue) -> bool {
        q.bytes + self.mtu > self.limit
            || q.pkts >= self.limit_packets
            || self.memory.exceeded(q, pkt.bytes)
    }
}

impl Aqm for DualPi2 {
    #[inline(always)]
    fn arrive(&mut self, _: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        self.arriving = usize::from(!self.identify.scalable(pkt.ecn));
        if q.idle_since.is_some() && q.pkts == 0 {
            self.rests();
        }
        if self.full(pkt, q) {
            return Verdict::Drop(Reason::Overflow);
        }
        if !self.decides_at_arrival || q.bytes < self.pi_guard {
            return Verdict::Pass;
        }
        if self.arriving == C {
            self.classic(pkt, rng)
        } else {
            self.scalable(pkt, 0.0, rng)
        }
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Time, _: &Packet, handle: u32) {
        let queue = &mut self.queues[self.arriving];
        let native = queue.len() as u32 >= self.th_len;
        queue.push_back(Waiting { handle, native, since: now });
    }

    #[inline(always)]
    fn next(&mut self, _: Time) -> Turn<u32> {
        self.serving = match (self.queues[L].is_empty(), self.queues[C].is_empty()) {
            (false, false) => self.chosen(),
            (false, true) => L,
            _ => C,
        };
        let Some(waiting) = self.queues[self.serving].pop_front() else {
            self.rests();
            return Turn::Empty;
        };
        self.serving_native = waiting.native;
        Turn::Packet(waiting.handle)
    }

    #[inline(always)]
    fn depart(
        &mut self,
        _: Time,
        pkt: &Packet,
        sojourn: Duration,
        q: &Queue,
        rng: &mut Rng,
    ) -> Verdict {
        let guarded = self.decides_at_arrival || q.bytes < self.pi_guard;
        let verdict = if self.serving == L {
            self.leaves_l(pkt, sojourn, guarded, rng)
        } else if guarded {
            Verdict::Pass
        } else {
            self.classic(pkt, rng)
        };
        if !matches!(verdict, Verdict::Drop(_)) {
            self.sends(pkt.bytes);
        }
        verdict
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.base.next())
    }

    fn tick(&mut self, now: Time, _: &Queue) {
        self.delays = [L, C].map(|queue| {
            self.queues[queue].front().map_or(Duration::ZERO, |head| now.since(head.since))
        });
        self.base.tick(now, self.delays[L].max(self.delays[C]));
    }

    fn bands(&self) -> Vec<String> {
        vec!["L".into(), "C".into()]
    }

    #[inline(always)]
    fn band(&self, _: &Packet) -> Option<u8> {
        Some(self.arriving as u8)
    }

    /// Each packet keeps its place and the time at which it came.
    fn packet_bytes(&self) -> usize {
        size_of::<Waiting>()
    }

    fn begin(&mut self, now: Time) {
        self.base.begin(now);
    }

    fn go_on(&mut self, before: Self, _: Time) {
        self.base.go_on(&before.base);
        self.queues = before.queues;
        self.counts = before.counts;
        (self.arriving, self.serving) = (before.arriving, before.serving);
        self.serving_native = before.serving_native;
        self.p_l = before.p_l;
        self.delays = before.delays;
        (self.coupled, self.native_signals) = (before.coupled, before.native_signals);
    }

    /// A word is its place among the words.
    fn settled(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.base.settled(out);
        out("spread", f64::from(u8::from(self.random)));
        match self.law {
            Law::Ramp { min_th, max_th } => {
                out("native", 0.0);
                out("ramp_start", min_th.as_secs_f64());
                out("ramp_range", max_th.as_secs_f64() - min_th.as_secs_f64());
            }
            Law::Longer(_) | Law::More(_) => out("native", 1.0),
        }
        out("th_len", f64::from(self.th_len));
        out("th_len_at", f64::from(u8::from(self.th_len_at_arrival)));
        out("joined", f64::from(u8::from(self.independent)));
        out("pi_guard", self.pi_guard as f64);
        out("overload", f64::from(u8::from(!self.border_is_overload)));
        if let Order::Wrr { c, .. } = self.order {
            out("classic_protection", c as f64 / WHOLE);
        }
        if self.limit < u64::MAX {
            out("limit_bytes", self.limit as f64);
        }
        if self.limit_packets < u32::MAX {
            out("limit_packets", f64::from(self.limit_packets));
        }
        if self.memory.limit < u64::MAX {
            out("memory", self.memory.limit as f64);
        }
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests;
