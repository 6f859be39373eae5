//! SFB, stochastic fair BLUE. W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic fair blue", INFOCOM
//! 2001, as Linux's `sch_sfb` has it (Linux 7.3, net/sched/sch_sfb.c). A flow has a bin in each of 8
//! levels of 16. A bin's probability grows while many packets of it wait, and falls while none does.
//! The least of a flow's eight decides, so that flows pay for another only where they share all
//! bins with it.
//!
//! Two sets of bins with hashes of their own take turns: every `rehash` seconds the other set
//! decides. In its last `db` seconds the set to come learns from the flows whose probability is 1.
//! Settled here: a set that is put away forgets its probabilities, and both clocks are looked at
//! when a packet arrives. The FIFO is the discipline's own, because each packet remembers its bins.

use crate::aqm::{Aqm, Service, Turn};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::Hash;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num, num_open, ParamError};
use penstock_units::{group, params, Duration, Ecn, Level, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "sfb",
    doc: "BLUE for bins of flows: a flow that does not answer is found and held to a few packets.",
    source: "Feng, Kandlur, Saha, Shin 2001; Linux: sch_sfb",
    equations: "arrival:  in each of 8 levels the flow's bin: qlen = 0 → p −= decrement,\n\
        \u{20}         qlen ≥ target → p += increment\n\
        p, qlen = the least of the eight;  qlen ≥ max → drop\n\
        p = 1:    one of penalty_rate packets a second passes, else drop\n\
        else:     drop with max(0, 2p − 1), mark with the rest of p (Not-ECT: drop)",
    expect: "Flows that answer have bins in which few packets wait, and lose next to nothing. A flow \
        that sends on fills its bins beyond target, its p rises to 1, and then it is held to what \
        the penalty lets through, without a queue for each flow. In the figure five flows share \
        what is held, and none answers: p rises from the queue on at which their bins hold target.",
    weaknesses: "The p of a flow that is held back falls again where nothing of it waits, so that more \
        than the penalty passes where the queue is short: of 1000 packets a second beside 24 downloads \
        60 pass, beside 4 downloads 430, where the penalty alone would be 10. A flow that shares its bins in all levels \
        with such flows pays as they do, and the more of these there are the likelier it is: with ten, \
        one in four hundred. It does not keep the queue short: up to target packets of each flow \
        wait. Reaching p = 1 takes two thousand arrivals.",
    params: own_tables::<SfbParams>(),
    state: &states(COLUMNS),
    defaults: SfbParams::DEFAULTS,
};

group! {
    /// What the user of SFB sets.
    pub struct SfbParams {
        /// Its own.
        pub own: SfbOwn,
        /// What every kind takes.
        pub common: Common,
    }
    defaults: [("ecn", "true")],
}

params! {
    /// Parameters.
    pub struct SfbOwn: Default {
        /// Packets in all; the link's buffer holds beside it, the smaller one counts.
        pub limit: u32 {
            ty: int(1, 1_000_000),
            unit: "packets",
            default: 1000,
            source: "Linux: sch_sfb, the interface's queue",
        },
        /// A packet whose bins all hold so many is dropped.
        pub max: u32 { ty: int(1, 65_535), unit: "packets", default: 25, source: "Linux: sch_sfb" },
        /// Packets in a bin from which its probability grows.
        pub target: u32 {
            ty: int(1, 65_535),
            unit: "packets",
            default: 20,
            source: "Linux: sch_sfb",
        },
        /// So much it grows at an arrival, in whole 1/65535.
        pub increment: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.0005,
            source: "iproute2, tc/q_sfb.c: 33/65535",
        },
        /// So much it falls at an arrival that finds the bin empty, in whole 1/65535.
        pub decrement: f64 {
            ty: num_open(0.0, 1.0),
            unit: "1",
            default: 0.00005,
            source: "iproute2, tc/q_sfb.c: 3/65535",
        },
        /// Packets a second that all flows at p = 1 may send together.
        pub penalty_rate: f64 {
            ty: num(0.0, 1e9),
            unit: "1/s",
            default: 10,
            source: "Linux: sch_sfb",
        },
        /// So many of them at once.
        pub penalty_burst: f64 {
            ty: num(0.0, 1e9),
            unit: "packets",
            default: 20,
            source: "Linux: sch_sfb",
        },
        /// The hash changes every so often; 0 s for never.
        pub rehash: Duration { default: "600 s", source: "Linux: sch_sfb" },
        /// So long before, the bins to come begin to learn.
        pub db: Duration { default: "60 s", source: "Linux: sch_sfb" },
    }
}

const COLUMNS: &[Column<Sfb>; 3] = &[
    column("p", "The last packet's probability, the least of its bins'.", |d| share(d.p)),
    column("p_max", "The highest probability of a bin.", |d| {
        share(d.sets[d.current].bins.iter().flatten().map(|bin| bin.p).max().unwrap_or(0))
    }),
    column("penalties", "Packets dropped since the start because p is 1.", |d| d.penalties as f64),
];

const LEVELS: usize = 8;
const BINS: usize = 16;
/// A probability of 1.
const CERTAIN: u32 = 65_535;

fn share(p: u32) -> f64 {
    f64::from(p) / f64::from(CERTAIN)
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    qlen: u32,
    p: u32,
}

/// A set of bins, and its hash, of which four bits name the bin in each level.
#[derive(Clone, Debug)]
struct Bins {
    hash: Hash,
    bins: Box<[[Bin; BINS]; LEVELS]>,
}

impl Bins {
    fn new() -> Self {
        Bins { hash: Hash::new(), bins: Box::new([[Bin::default(); BINS]; LEVELS]) }
    }

    fn bits(&mut self, pkt: &Packet, rng: &mut Rng) -> u32 {
        (self.hash.bits(u64::from(pkt.flow), rng) >> 32) as u32
    }

    fn each(&mut self, bits: u32) -> impl Iterator<Item = &mut Bin> {
        let bins = self.bins.iter_mut().enumerate();
        bins.map(move |(level, bins)| &mut bins[(bits >> (4 * level)) as usize % BINS])
    }
}

/// SFB.
#[derive(Clone, Debug)]
pub struct Sfb {
    sets: [Bins; 2],
    current: usize,
    /// When the sets change places next.
    change: Option<Time>,
    /// The packets that wait: the handle, and the bits in the sets that counted it.
    waiting: VecDeque<(u32, [Option<u32>; 2])>,
    arriving: [Option<u32>; 2],
    own: SfbOwn,
    increment: u32,
    decrement: u32,
    ecn: bool,
    tokens: f64,
    refilled: Time,
    p: u32,
    penalties: u64,
}

impl Sfb {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &SfbParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let own = p.own.clone();
        if own.target > own.max {
            return Err(ParamError::new("target", format!("must not be above max ({})", own.max)));
        }
        if own.rehash > Duration::ZERO && own.db > own.rehash {
            return Err(ParamError::new("db", "must not be above rehash"));
        }
        let whole = |key, p: f64| match libm::round(p * f64::from(CERTAIN)) as u32 {
            0 => Err(ParamError::new(key, "must be at least half of 1/65535")),
            whole => Ok(whole),
        };
        Ok(Sfb {
            sets: [Bins::new(), Bins::new()],
            current: 0,
            change: (own.rehash > Duration::ZERO).then(|| Time::ZERO + own.rehash),
            waiting: VecDeque::new(),
            arriving: [None; 2],
            increment: whole("increment", own.increment)?,
            decrement: whole("decrement", own.decrement)?,
            ecn: p.common.ecn,
            tokens: own.penalty_burst,
            refilled: Time::ZERO,
            p: 0,
            penalties: 0,
            own,
        })
    }

    /// The flow's bins of a set learn from an arrival. Returns the bits, the least p and the least
    /// qlen.
    fn learn(&mut self, set: usize, pkt: &Packet, rng: &mut Rng) -> (u32, u32, u32) {
        let bits = self.sets[set].bits(pkt, rng);
        let (mut p, mut qlen) = (CERTAIN, u32::MAX);
        for bin in self.sets[set].each(bits) {
            if bin.qlen == 0 {
                bin.p = bin.p.saturating_sub(self.decrement);
            } else if bin.qlen >= self.own.target {
                bin.p = CERTAIN.min(bin.p + self.increment);
            }
            (p, qlen) = (p.min(bin.p), qlen.min(bin.qlen));
        }
        (bits, p, qlen)
    }

    /// The sets change places where it is time. Returns whether the set to come learns.
    fn changes(&mut self, now: Time) -> bool {
        let Some(change) = self.change else { return false };
        if now <= change {
            return now + self.own.db > change;
        }
        let old = &mut self.sets[self.current];
        old.hash = Hash::new();
        old.bins.iter_mut().flatten().for_each(|bin| bin.p = 0);
        self.current ^= 1;
        self.change = Some(now + self.own.rehash);
        false
    }

    /// Returns whether a packet of a flow at p = 1 may pass: the bucket is filled where it is empty,
    /// with no more than ten seconds' worth.
    fn token(&mut self, now: Time) -> bool {
        if self.tokens < 1.0 {
            let since = now.since(self.refilled).as_secs_f64().min(10.0);
            self.tokens = (since * self.own.penalty_rate).min(self.own.penalty_burst);
            if self.tokens < 1.0 {
                return false;
            }
            self.refilled = now;
        }
        self.tokens -= 1.0;
        true
    }

    /// Returns what becomes of a packet at p for this number below 65536: of p, what is above a half
    /// counts twice for drops, the rest is marks.
    fn signal(&self, p: u32, r: u32, pkt: &Packet) -> Verdict {
        if r >= p {
            Verdict::Pass
        } else if r < (2 * p).saturating_sub(CERTAIN) || !self.ecn || pkt.ecn == Ecn::NotEct {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Mark(Level::Ce, Reason::Early)
        }
    }
}

impl Aqm for Sfb {
    fn arrive(&mut self, now: Time, pkt: &Packet, q: &Queue, rng: &mut Rng) -> Verdict {
        if q.pkts >= self.own.limit {
            return Verdict::Drop(Reason::Overflow);
        }
        let warms = self.changes(now);
        let (bits, p, qlen) = self.learn(self.current, pkt, rng);
        self.arriving = [None; 2];
        self.arriving[self.current] = Some(bits);
        self.p = p;
        if qlen >= self.own.max {
            return Verdict::Drop(Reason::Forced);
        }
        if p < CERTAIN {
            let r = (rng.bits() & u64::from(CERTAIN)) as u32;
            return self.signal(p, r, pkt);
        }
        if warms {
            let other = self.current ^ 1;
            self.arriving[other] = Some(self.learn(other, pkt, rng).0);
        }
        if self.token(now) {
            return Verdict::Pass;
        }
        self.penalties += 1;
        Verdict::Drop(Reason::Forced)
    }

    fn enqueued(&mut self, _: Time, _: &Packet, handle: u32) {
        for (set, bits) in self.sets.iter_mut().zip(self.arriving) {
            bits.into_iter().for_each(|bits| set.each(bits).for_each(|bin| bin.qlen += 1));
        }
        self.waiting.push_back((handle, self.arriving));
    }

    fn next(&mut self, _: Time) -> Turn<u32> {
        let Some((handle, counted)) = self.waiting.pop_front() else { return Turn::Empty };
        for (set, bits) in self.sets.iter_mut().zip(counted) {
            bits.into_iter().for_each(|bits| set.each(bits).for_each(|bin| bin.qlen -= 1));
        }
        Turn::Packet(handle)
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::Orders
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + 2 * size_of_val(&*self.sets[0].bins)
    }

    fn packet_bytes(&self) -> usize {
        size_of::<(u32, [Option<u32>; 2])>()
    }

    /// The bins and what waits stay.
    fn go_on(&mut self, before: Self, now: Time) {
        let Sfb { own, increment, decrement, ecn, .. } = self.clone();
        let change = (own.rehash > Duration::ZERO).then(|| now + own.rehash);
        *self = Sfb { own, increment, decrement, ecn, change, ..before };
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, busy, context, params, PKT};

    fn sfb(set: &[(&'static str, &'static str)]) -> Sfb {
        Sfb::new(&params(&KIND, set), &context()).unwrap()
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Packets of a flow wait.
    fn waits(sfb: &mut Sfb, rng: &mut Rng, flow: u32, n: u32) {
        for handle in 0..n {
            let _ = sfb.arrive(Time::ZERO, &Packet { flow, ..PKT }, &busy(handle), rng);
            sfb.enqueued(Time::ZERO, &PKT, handle);
        }
    }

    /// P(drop), P(mark) of a capable packet: p 0.4: 0, 0.4; 0.6: 0.2, 0.4; 0.75: 0.5, 0.25; 0.9: 0.8,
    /// 0.1. Counted over all 65536 numbers, each is met within 3/65536.
    #[test]
    fn drops_and_marks_by_hand() {
        let sfb = sfb(&[]);
        let capable = Packet { ecn: Ecn::Ect0, ..PKT };
        for (p, drop, mark) in
            [(0.4, 0.0, 0.4), (0.6, 0.2, 0.4), (0.75, 0.5, 0.25), (0.9, 0.8, 0.1)]
        {
            let count = |pkt: &Packet, want: Verdict| {
                let p = libm::round(p * 65_535.0) as u32;
                let n = (0..65_536).filter(|r| sfb.signal(p, *r, pkt) == want).count();
                n as f64 / 65_536.0
            };
            let (dropped, marked) =
                (Verdict::Drop(Reason::Early), Verdict::Mark(Level::Ce, Reason::Early));
            for (pkt, verdict, share) in [
                (&capable, dropped, drop),
                (&capable, marked, mark),
                (&PKT, dropped, drop + mark),
                (&PKT, marked, 0.0),
            ] {
                assert!((count(pkt, verdict) - share).abs() < 3.0 / 65_536.0, "{p} {verdict:?}");
            }
        }
    }

    /// 33/65535 an arrival from 20 packets on: p is 1 with the 1986th. Then the burst of 20 passes
    /// and no more; a second later ten do. Below target nothing changes; empty, it falls by 3.
    #[test]
    fn a_flow_that_does_not_answer_is_held_to_the_penalty() {
        let mut sfb = sfb(&[]);
        let mut rng = Rng::stream(1, "test");
        waits(&mut sfb, &mut rng, 1, 19);
        let mut arrive = |sfb: &mut Sfb, ms| sfb.arrive(at(ms), &PKT, &busy(30), &mut rng);
        let flow = |sfb: &mut Sfb| {
            for set in sfb.sets[0].bins.iter_mut().flatten() {
                set.qlen = 20;
            }
        };
        flow(&mut sfb);
        for _ in 0..1985 {
            let _ = arrive(&mut sfb, 1);
        }
        assert_eq!(sfb.p, 1985 * 33);
        let passes = |sfb: &mut Sfb, arrive: &mut dyn FnMut(&mut Sfb, u64) -> Verdict, ms| {
            (0..100).filter(|_| arrive(sfb, ms) == Verdict::Pass).count()
        };
        assert_eq!(passes(&mut sfb, &mut arrive, 1), 20);
        assert_eq!(passes(&mut sfb, &mut arrive, 1001), 10);
        assert_eq!(sfb.penalties, 80 + 90);
        sfb.sets[0].bins.iter_mut().flatten().for_each(|bin| bin.qlen = 19);
        let _ = arrive(&mut sfb, 1001);
        assert_eq!(sfb.p, CERTAIN);
        sfb.sets[0].bins.iter_mut().flatten().for_each(|bin| bin.qlen = 0);
        let _ = arrive(&mut sfb, 1001);
        assert_eq!(sfb.p, CERTAIN - 3);
        sfb.sets[0].bins.iter_mut().flatten().for_each(|bin| bin.qlen = 25);
        assert_eq!(arrive(&mut sfb, 9000), Verdict::Drop(Reason::Forced));
    }

    /// Another flow shares no more than some levels: its p stays 0, its bins count its packets, and
    /// all are empty again when what waits has left.
    #[test]
    fn the_least_of_the_levels_decides() {
        let mut sfb = sfb(&[("increment", "0.1")]);
        let mut rng = Rng::stream(1, "test");
        waits(&mut sfb, &mut rng, 1, 22);
        assert!(sfb.p > 0);
        waits(&mut sfb, &mut rng, 2, 1);
        assert_eq!(sfb.p, 0);
        let waiting =
            |sfb: &Sfb| (*sfb.sets[0].bins).map(|level| level.iter().map(|b| b.qlen).sum::<u32>());
        assert_eq!(waiting(&sfb), [23u32; LEVELS]);
        while sfb.next(Time::ZERO) != Turn::Empty {}
        assert_eq!(waiting(&sfb), [0; LEVELS]);
    }

    /// 10 s, the last 2 s of which the set to come learns from a flow at p = 1: at 11 s its bins
    /// decide, and know it; what waits in both is counted off both.
    #[test]
    fn sets_take_turns() {
        let set = [("rehash", "\"10 s\""), ("db", "\"2 s\""), ("target", "1"), ("increment", "1")];
        let mut sfb = sfb(&set);
        let mut rng = Rng::stream(1, "test");
        let mut comes = |sfb: &mut Sfb, ms| {
            let verdict = sfb.arrive(at(ms), &PKT, &busy(1), &mut rng);
            if verdict == Verdict::Pass {
                sfb.enqueued(at(ms), &PKT, 0);
            }
        };
        for ms in [0, 1, 2, 7000] {
            comes(&mut sfb, ms);
        }
        assert!(sfb.sets[1].bins.iter().flatten().all(|bin| bin.qlen == 0));
        for ms in [9000, 9001, 9002] {
            comes(&mut sfb, ms);
        }
        assert_eq!(
            sfb.sets[1].bins[0].iter().map(|bin| (bin.qlen, bin.p)).max(),
            Some((3, CERTAIN))
        );
        comes(&mut sfb, 11_000);
        assert_eq!((sfb.current, sfb.p), (1, CERTAIN));
        assert!(sfb.sets[0].bins.iter().flatten().all(|bin| bin.p == 0));
        while sfb.next(Time::ZERO) != Turn::Empty {}
        assert!(sfb.sets.iter().flat_map(|set| *set.bins).flatten().all(|bin| bin.qlen == 0));
    }

    #[test]
    fn keys_that_do_not_fit_are_refused() {
        for (set, problem) in [
            (&[("target", "30")][..], "target: must not be above max (25)"),
            (&[("rehash", "\"9 s\"")], "db: must not be above rehash"),
            (&[("increment", "1e-6")], "increment: must be at least half of 1/65535"),
        ] {
            assert_eq!(build(&KIND, set).err().unwrap().to_string(), problem);
        }
    }
}
