//! Stochastic Fair BLUE. W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: a queue
//! management algorithm for enforcing fairness", INFOCOM 2001; the rules, and the bucket that lets
//! a little of unresponsive flows through, are those of Linux 7.3, net/sched/sch_sfb.c.
//!
//! A flow is hashed into one of 16 bins in each of 8 levels. A bin counts the packets of its flows
//! that wait, and has a BLUE of its own. A flow is signalled with the least probability of its
//! eight bins: flows that answer share some bins with one that does not, but hardly ever all eight.
//!
//! ```text
//! arrival, in each level:  bin empty: p ← p − decrement;  bin ≥ target: p ← p + increment
//! p_min, q_min:            the least of the eight bins
//! q_min ≥ max:             drop
//! p_min = 1:               the flow answers nothing: penalty_rate of such packets pass
//! else with p_min:         a signal; of a capable packet a drop with max(0, 2·p_min − 1)
//! ```
//! The bins have two sets with a hash each. At every `rehash` they change places; for `warm_up`
//! before that the flows that answer nothing already train the one that is next, so that they are
//! not let go by the change.
//!
//! Settled here: a bin is told of a departure when the packet leaves the queue, under the hashes of
//! its arrival. The bucket's time counts from when it was filled last. Probabilities are real
//! numbers, where the kernel has 16 bits of them.

use crate::aqm::{Aqm, Service};
use crate::context::{Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::Hash;
use crate::verdict::{Reason, Verdict};
use penstock_units::param::{int, num, ParamError};
use penstock_units::{group, params, Duration, Ecn, Level, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "sfb",
    doc: "BLUE for each flow, by eight hashes: signals for flows that answer, a limit for those that do not.",
    source: "Feng, Kandlur, Saha, Shin 2001; Linux: sch_sfb",
    equations: "arrival:  in each of 8 levels the flow's bin:  empty: p ← p − decrement;  at least target: p ← p + increment\n\
        p_min, q_min:  the least of the eight\n\
        q_min ≥ max:   drop\n\
        p_min = 1:     drop what exceeds penalty_rate (bucket of penalty_burst)\n\
        else:          signal with p_min; capable: drop with max(0, 2·p_min − 1), else mark",
    expect: "One FIFO, no state per flow. Flows that answer are signalled as often as their own \
        bins ask for. Of a flow that answers nothing p grows until its bins hold less than target: \
        it keeps a little of the link, and the others have the rest. Only where that is not enough, \
        after some two thousand arrivals, p is 1 and the flow is pressed to penalty_rate.",
    weaknesses: "It is slow: from 0 to 1 a bin takes 1986 arrivals above the target, and back 21845 \
        to an empty bin. A bin is lowered only by arrivals that find it empty, so that a quiet one \
        keeps what it had. Ten flows that answer nothing share all eight bins with one in four \
        hundred others, which they take down with them until the next rehash. The ten packets a \
        second that still pass of them are too few to train the next hashes, so that a rehash lets \
        them go until they are found again. target counts packets, so that what it means in time depends on the link.",
    params: own_tables::<SfbParams>(),
    state: &states(COLUMNS),
    defaults: SfbParams::DEFAULTS,
};

group! {
    /// What the user of SFB sets.
    pub struct SfbParams {
        /// Its own keys.
        pub own: SfbOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct SfbOwn: Default {
        /// A bin with so many packets raises its probability.
        pub target: u32 {
            ty: int(1, 65_535),
            unit: "packets",
            default: 20,
            source: "iproute2: tc-sfb",
        },
        /// A flow all of whose bins hold so many packets gets no further one in.
        pub max: u32 { ty: int(1, 65_535), unit: "packets", default: 25, source: "iproute2: tc-sfb" },
        /// What an arrival at a bin above the target adds to its probability.
        pub increment: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.0005035477226,
            source: "iproute2: tc-sfb, 33/65535",
        },
        /// What an arrival at an empty bin takes off it.
        pub decrement: f64 {
            ty: num(0.0, 1.0),
            unit: "1",
            default: 0.0000457770656,
            source: "iproute2: tc-sfb, 3/65535",
        },
        /// Packets a second of flows that answer nothing that pass.
        pub penalty_rate: f64 {
            ty: num(0.0, 1e9),
            unit: "1/s",
            default: 10,
            source: "iproute2: tc-sfb",
        },
        /// Of those packets so many at once.
        pub penalty_burst: u32 {
            ty: int(0, 1_000_000),
            unit: "packets",
            default: 20,
            source: "iproute2: tc-sfb",
        },
        /// How often the hashes change.
        pub rehash: Duration { default: "600 s", source: "iproute2: tc-sfb" },
        /// For how long before that flows that answer nothing train the next ones.
        pub warm_up: Duration { default: "60 s", source: "iproute2: tc-sfb, db" },
    }
}

const LEVELS: usize = 8;
const BINS: usize = 16;

const COLUMNS: &[Column<Sfb>; 2] = &[
    column("p_min", "The probability for the packet that arrived last.", |d| d.p_min),
    column("q_min", "The packets in its emptiest bin.", |d| f64::from(d.q_min)),
];

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u32,
    p: f64,
}

/// The bins of one hash.
#[derive(Clone, Debug)]
struct Set {
    hash: Hash,
    bins: Box<[[Bin; BINS]; LEVELS]>,
}

impl Set {
    fn new() -> Self {
        Set { hash: Hash::new(), bins: Box::new([[Bin::default(); BINS]; LEVELS]) }
    }

    /// The four bits of each level, of 32.
    fn bits(&mut self, flow: u32, rng: &mut Rng) -> u32 {
        (self.hash.bits(flow.into(), rng) >> 32) as u32
    }

    fn each(&mut self, bits: u32, mut act: impl FnMut(&mut Bin)) {
        for (level, bins) in self.bins.iter_mut().enumerate() {
            act(&mut bins[(bits >> (4 * level)) as usize % BINS]);
        }
    }
}

/// Stochastic Fair BLUE.
#[derive(Clone, Debug)]
pub struct Sfb {
    own: SfbOwn,
    ecn: bool,
    /// One of them decides, the other one is next.
    sets: [Set; 2],
    /// Which of them decides.
    at: usize,
    /// Whether the next one is trained.
    trains: bool,
    /// When the sets changed places.
    changed: Time,
    /// Of the waiting packets, from the head: their bits in the first set and in the second, under
    /// which they were counted there.
    waiting: VecDeque<[Option<u32>; 2]>,
    /// Whether the packet that arrived last is the last of them.
    entered: bool,
    tokens: u32,
    filled: Time,
    p_min: f64,
    q_min: u32,
}

impl Sfb {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &SfbParams, cx: &Context) -> Result<Self, ParamError> {
        let _ = Unit::of(p, &p.common, cx)?;
        let own = p.own.clone();
        if own.max < own.target {
            return Err(ParamError::new(
                "max",
                format!("must be at least target ({})", own.target),
            ));
        }
        if own.warm_up > own.rehash {
            return Err(ParamError::new("warm_up", "must be at most rehash"));
        }
        Ok(Sfb {
            tokens: own.penalty_burst,
            own,
            ecn: p.common.ecn,
            sets: [Set::new(), Set::new()],
            at: 0,
            trains: false,
            changed: Time::ZERO,
            waiting: VecDeque::new(),
            entered: false,
            filled: Time::ZERO,
            p_min: 0.0,
            q_min: 0,
        })
    }

    /// The hashes' turns: the sets change places, or the next one begins to be trained.
    fn turn(&mut self, now: Time) {
        let age = now.since(self.changed);
        if age > self.own.rehash {
            self.sets[self.at].hash = Hash::new();
            self.at ^= 1;
            self.trains = false;
            self.changed = now;
        } else if age + self.own.warm_up > self.own.rehash {
            self.trains = true;
        }
    }

    /// An arrival at the flow's bins in a set. Returns its bits there, and the least probability
    /// and the fewest packets.
    fn met(&mut self, set: usize, flow: u32, rng: &mut Rng) -> (u32, f64, u32) {
        let bits = self.sets[set].bits(flow, rng);
        let SfbOwn { target, increment, decrement, .. } = self.own;
        let (mut p_min, mut q_min) = (1.0_f64, u32::MAX);
        self.sets[set].each(bits, |bin| {
            if bin.packets == 0 {
                bin.p = (bin.p - decrement).max(0.0);
            } else if bin.packets >= target {
                bin.p = (bin.p + increment).min(1.0);
            }
            p_min = p_min.min(bin.p);
            q_min = q_min.min(bin.packets);
        });
        (bits, p_min, q_min)
    }

    /// Whether a packet of a flow that answers nothing may pass. The bucket is filled only when it is
    /// empty, with what ten seconds bring at most.
    fn spares(&mut self, now: Time) -> bool {
        if self.tokens == 0 {
            let age = now.since(self.filled).as_secs_f64().min(10.0);
            let brought = age * self.own.penalty_rate;
            self.tokens = brought.min(f64::from(self.own.penalty_burst)) as u32;
            if self.tokens > 0 {
                self.filled = now;
            }
        }
        let spared = self.tokens > 0;
        self.tokens -= u32::from(spared);
        spared
    }

    /// The last packet waits, counted in the bins of these bits.
    fn enters(&mut self, bits: [Option<u32>; 2]) {
        for (set, bits) in self.sets.iter_mut().zip(bits) {
            if let Some(bits) = bits {
                set.each(bits, |bin| bin.packets += 1);
            }
        }
        self.waiting.push_back(bits);
    }

    /// A packet with these bits waits no more.
    fn leaves(&mut self, bits: Option<[Option<u32>; 2]>) {
        for (set, bits) in self.sets.iter_mut().zip(bits.unwrap_or_default()) {
            if let Some(bits) = bits {
                set.each(bits, |bin| bin.packets = bin.packets.saturating_sub(1));
            }
        }
    }

    /// What becomes of a packet that is signalled with `p`, at a draw below it. A capable one is
    /// marked where p is small, and dropped ever more often above a half.
    fn signalled(&self, pkt: &Packet, p: f64, draw: f64) -> Verdict {
        if draw >= p {
            Verdict::Pass
        } else if draw < 2.0 * p - 1.0 || !self.ecn || pkt.ecn == Ecn::NotEct {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Mark(Level::Ce, Reason::Early)
        }
    }
}

impl Aqm for Sfb {
    fn arrive(&mut self, now: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        self.turn(now);
        let (at, next) = (self.at, self.at ^ 1);
        let (own, p_min, q_min) = self.met(at, pkt.flow, rng);
        (self.p_min, self.q_min) = (p_min, q_min);
        let mut bits = [None; 2];
        bits[at] = Some(own);
        let verdict = if q_min >= self.own.max {
            Verdict::Drop(Reason::Forced)
        } else if p_min >= 1.0 {
            if self.trains {
                bits[next] = Some(self.met(next, pkt.flow, rng).0);
            }
            if self.spares(now) {
                Verdict::Pass
            } else {
                Verdict::Drop(Reason::Forced)
            }
        } else {
            self.signalled(pkt, p_min, rng.unit())
        };
        self.entered = !matches!(verdict, Verdict::Drop(_));
        if self.entered {
            self.enters(bits);
        }
        verdict
    }

    /// A packet that was to be dropped may find no room as well.
    fn overflow(&mut self, _: Time, _: &Packet, _: &Queue) {
        if self.entered {
            let bits = self.waiting.pop_back();
            self.leaves(bits);
        }
    }

    fn depart(&mut self, _: Time, _: &Packet, _: Duration, _: &Queue, _: &mut Rng) -> Verdict {
        let bits = self.waiting.pop_front();
        self.leaves(bits);
        Verdict::Pass
    }

    #[inline(always)]
    fn service(&self) -> Service {
        Service::AtDeparture
    }

    fn state_bytes(&self) -> usize {
        size_of_val(self) + 2 * size_of::<[[Bin; BINS]; LEVELS]>()
    }

    /// Each packet keeps its bits in both sets.
    fn packet_bytes(&self) -> usize {
        size_of::<[Option<u32>; 2]>()
    }

    fn go_on(&mut self, before: Self, _: Time) {
        let (own, ecn) = (self.own.clone(), self.ecn);
        *self = Sfb { own, ecn, ..before };
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy, context, params, PKT};

    fn sfb(set: &[(&'static str, &'static str)]) -> Sfb {
        Sfb::new(&params(&KIND, set), &context()).unwrap()
    }

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    fn pkt(flow: u32, ecn: Ecn) -> Packet {
        Packet { flow, ecn, ..PKT }
    }

    /// Capable packets at p = 0.4: marked with 0.4; 0.6: dropped with 0.2, marked with 0.4; 0.75:
    /// 0.5 and 0.25; 0.9: 0.8 and 0.1. Others are dropped with p.
    #[test]
    fn marks_turn_into_drops_above_a_half() {
        let sfb = sfb(&[("ecn", "true")]);
        for (p, dropped, marked) in
            [(0.4, 0, 400), (0.6, 200, 400), (0.75, 500, 250), (0.9, 800, 100)]
        {
            let mut seen = [0, 0];
            for i in 0..1000 {
                match sfb.signalled(&pkt(1, Ecn::Ect0), p, (f64::from(i) + 0.5) / 1000.0) {
                    Verdict::Drop(Reason::Early) => seen[0] += 1,
                    Verdict::Mark(Level::Ce, Reason::Early) => seen[1] += 1,
                    _ => {}
                }
            }
            assert_eq!(seen, [dropped, marked], "{p}");
            let other = |draw| sfb.signalled(&pkt(1, Ecn::NotEct), p, draw);
            assert_eq!(other(p - 0.001), Verdict::Drop(Reason::Early));
            assert_eq!(other(p), Verdict::Pass);
        }
    }

    /// From 0, 1985 arrivals above the target are not enough and 1986 are. Then what exceeds the
    /// bucket is dropped: 20 pass at once, and one each 100 ms.
    #[test]
    fn a_flow_that_answers_nothing_is_pressed_to_the_penalty_rate() {
        let (mut sfb, mut rng) = (sfb(&[("max", "65535")]), Rng::stream(1, "test"));
        (0..20).for_each(|_| {
            let _ = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(0), &mut rng);
        });
        for n in 1..=1985 {
            let _ = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(20), &mut rng);
            assert!(sfb.p_min < 1.0, "{n}");
        }
        let mut passed =
            |at| sfb.arrive(ms(at), &pkt(7, Ecn::NotEct), &busy(20), &mut rng) == Verdict::Pass;
        assert_eq!((0..30).filter(|_| passed(0)).count(), 20);
        // Asked every 10 ms for ten seconds.
        assert_eq!((1..=1000).filter(|i| passed(10 * i)).count(), 100);
    }

    /// Another flow shares some bins with it, but not all, and passes.
    #[test]
    fn the_others_pass() {
        let (mut sfb, mut rng) = (sfb(&[]), Rng::stream(1, "test"));
        for _ in 0..3000 {
            let _ = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(20), &mut rng);
        }
        assert_eq!(sfb.q_min, 25, "what is let in ends at max");
        let verdict = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(25), &mut rng);
        assert_eq!(verdict, Verdict::Drop(Reason::Forced));
        for flow in 100..200 {
            let verdict = sfb.arrive(ms(0), &pkt(flow, Ecn::NotEct), &busy(25), &mut rng);
            assert_eq!(verdict, Verdict::Pass, "{flow}");
            sfb.overflow(ms(0), &pkt(flow, Ecn::NotEct), &busy(25));
        }
    }

    /// A bin that is empty at an arrival is lowered, and one that overflowed is as before.
    #[test]
    fn bins_count_what_waits() {
        let (mut sfb, mut rng) =
            (sfb(&[("target", "2"), ("increment", "0.25")]), Rng::stream(1, "t"));
        let mut come = |sfb: &mut Sfb| {
            let _ = sfb.arrive(ms(0), &pkt(1, Ecn::Ect0), &busy(0), &mut rng);
            (sfb.q_min, sfb.p_min)
        };
        assert_eq!(
            (come(&mut sfb), come(&mut sfb), come(&mut sfb)),
            ((0, 0.0), (1, 0.0), (2, 0.25))
        );
        let held = sfb.waiting.len();
        sfb.enters([Some(0), None]);
        sfb.overflow(ms(0), &pkt(1, Ecn::Ect0), &busy(0));
        assert_eq!(sfb.waiting.len(), held);
        let mut rng = Rng::stream(2, "t");
        while !sfb.waiting.is_empty() {
            let _ = sfb.depart(ms(1), &pkt(1, Ecn::Ect0), Duration::ZERO, &busy(0), &mut rng);
        }
        let left: u32 =
            sfb.sets.iter().flat_map(|s| s.bins.iter().flatten()).map(|b| b.packets).sum();
        assert_eq!((left, come(&mut sfb).0), (0, 0));
    }

    /// A full buffer refuses a packet that SFB drops: those that wait stay counted.
    #[test]
    fn a_packet_is_not_taken_out_for_one_that_was_dropped() {
        let (mut sfb, mut rng) = (sfb(&[("max", "20")]), Rng::stream(1, "test"));
        for _ in 0..20 {
            let _ = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(20), &mut rng);
        }
        for _ in 0..3 {
            let verdict = sfb.arrive(ms(0), &pkt(7, Ecn::NotEct), &busy(20), &mut rng);
            assert_eq!(verdict, Verdict::Drop(Reason::Forced));
            sfb.overflow(ms(0), &pkt(7, Ecn::NotEct), &busy(20));
        }
        assert_eq!((sfb.waiting.len(), sfb.q_min), (20, 20));
    }

    /// A change each second. In the half of it before, packets that pass train the next hashes. Those
    /// that the bucket lets through are too few for that: the flow that answers nothing is let go by
    /// the change unless more of it waits.
    #[test]
    fn the_next_hashes_learn_from_what_waits() {
        let (half, none) = ("\"500 ms\"", "\"0 s\"");
        for (warm_up, rate, known) in
            [(half, "1e6", true), (half, "10", false), (none, "1e6", false)]
        {
            let set = [
                ("rehash", "\"1 s\""),
                ("warm_up", warm_up),
                ("increment", "0.01"),
                ("penalty_rate", rate),
            ];
            let (mut sfb, mut rng) = (sfb(&set), Rng::stream(1, "test"));
            let mut before = 0.0;
            for i in 0..1050 {
                if sfb.waiting.len() > 24 {
                    let _ = sfb.depart(ms(i), &PKT, Duration::ZERO, &busy(9), &mut rng);
                }
                let _ = sfb.arrive(ms(i), &pkt(7, Ecn::NotEct), &busy(24), &mut rng);
                before = if i <= 1000 { sfb.p_min } else { before };
            }
            assert_eq!(before, 1.0);
            assert_eq!(sfb.p_min == 1.0, known, "{warm_up}, {rate}: {}", sfb.p_min);
        }
    }
}
