//! AFD, approximate fair dropping. R. Pan, L. Breslau, B. Prabhakar, S. Shenker, "Approximate
//! fairness through differential dropping", ACM CCR 33(2), 2003. A shadow buffer remembers the flows
//! of packets that it sampled. What it holds of a flow tells the flow's rate, and each flow is
//! dropped down to the share m_fair, which a controller moves by the queue.
//!
//! Settled here: samples count bytes; flows are found by a hash, so that those in one place share
//! a rate; m_fair starts at all that is held and stays between nothing and that. Cisco's Nexus, which
//! has AFD, looks at large flows alone, and its constants are not public.

use crate::aqm::Aqm;
use crate::context::{at_least_a_microsecond, Common, Context, Unit};
use crate::kind::{column, own_tables, publish, states, Column, Kind};
use crate::packet::{Packet, Queue};
use crate::parts::isolation::Hash;
use crate::parts::signal::Classic;
use crate::verdict::Verdict;
use penstock_units::param::{int, num, num_open, ParamError};
use penstock_units::{group, params, Duration, QueueLen, Rng, Time};
use std::collections::VecDeque;

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "afd",
    doc: "One FIFO in which each flow is dropped down to a common rate, told by samples.",
    source: "Pan, Breslau, Prabhakar, Shenker 2003",
    equations: "arrival:         D_i = max(0, 1 − m_fair/m_i): signal with D_i\n\
        \u{20}                with 1/sample the packet's flow and size enter the shadow buffer,\n\
        \u{20}                and the oldest of its samples leaves;  m_i = bytes of flow i in it\n\
        every interval:  m_fair ← m_fair + α·(q_old − target) − β·(q − target)",
    expect: "Flows above the common rate are cut down to it whatever they answer, and those below lose \
        little, with one FIFO and a few counters. The queue settles at its target. In the figure \
        five flows send alike: where the queue is longer than the target, m_fair falls until they \
        are dropped.",
    weaknesses: "A rate is known by the samples of some seconds, so that short flows are past before \
        they count, and new ones have a head start. With many flows each has few samples, which err, \
        and a flow that answers pays for each error: beside three downloads a source that answers \
        nothing keeps 44 % of the link with 500 samples, 33 % with 2500, 29 % with 10000 (of all \
        packets), where 25 % would be fair. The gains do not scale with the link: m_fair moves by bytes of queue, whatever the \
        shadow buffer holds. With ECN a capable flow that answers nothing is marked and not \
        dropped, so it keeps what it sends.",
    params: own_tables::<AfdParams>(),
    state: &states(COLUMNS),
    defaults: AfdParams::DEFAULTS,
};

group! {
    /// What the user of AFD sets.
    pub struct AfdParams {
        /// Its own.
        pub own: AfdOwn,
        /// What every kind takes.
        pub common: Common,
    }
}

params! {
    /// Parameters.
    pub struct AfdOwn: Default {
        /// The queue that the controller aims at.
        pub target: QueueLen {
            unit: "packets",
            default: 20,
            source: "settled here",
        },
        /// The time between two updates of m_fair.
        pub interval: Duration { default: "6.25 ms", source: "settled here: 160 updates a second" },
        /// Gain of the queue at the update before.
        pub alpha: f64 { ty: num(0.0, 1e6), unit: "1", default: 1.7, source: "settled here" },
        /// Gain of the queue now; above alpha, so that the two integrate.
        pub beta: f64 { ty: num(0.0, 1e6), unit: "1", default: 1.8, source: "settled here" },
        /// Samples in the shadow buffer.
        pub shadow: u32 { ty: int(1, 65_536), unit: "packets", default: 500, source: "settled here" },
        /// One packet in so many is sampled.
        pub sample: f64 {
            ty: num_open(0.0, 1e6),
            unit: "packets",
            default: 5,
            source: "settled here",
        },
        /// Places of the hash of flows.
        pub places: u32 { ty: int(1, 65_536), unit: "1", default: 1024, source: "settled here" },
    }
}

const COLUMNS: &[Column<Afd>; 2] = &[
    column("m_fair_bytes", "Bytes of samples that each flow may have.", |d| d.fair),
    column("p", "The last packet's probability.", |d| d.p),
];

/// AFD.
#[derive(Clone, Debug)]
pub struct Afd {
    hash: Hash,
    /// Bytes of samples in each place of the hash.
    of: Vec<u64>,
    /// The samples: the place and the size.
    shadow: VecDeque<(u32, u32)>,
    held: u64,
    size: usize,
    sample: f64,
    /// m_fair.
    fair: f64,
    target: f64,
    alpha: f64,
    beta: f64,
    q_old: f64,
    interval: Duration,
    next: Time,
    signal: Classic,
    mean: f64,
    p: f64,
}

impl Afd {
    /// A discipline for a link.
    ///
    /// # Errors
    /// If a value is out of its range, or the values do not fit together; the error names the key.
    pub fn new(p: &AfdParams, cx: &Context) -> Result<Self, ParamError> {
        let unit = Unit::of(p, &p.common, cx)?.in_bytes();
        let own = &p.own;
        at_least_a_microsecond("interval", own.interval)?;
        if own.sample < 1.0 {
            return Err(ParamError::new("sample", "must be at least 1 packet"));
        }
        if own.beta <= own.alpha {
            return Err(ParamError::new("beta", "must be above alpha"));
        }
        let mean = unit.mean.0 as f64;
        Ok(Afd {
            hash: Hash::new(),
            of: vec![0; own.places as usize],
            shadow: VecDeque::with_capacity(own.shadow as usize),
            held: 0,
            size: own.shadow as usize,
            sample: own.sample,
            fair: f64::from(own.shadow) * mean,
            target: unit.length(own.target),
            alpha: own.alpha,
            beta: own.beta,
            q_old: 0.0,
            interval: own.interval,
            next: Time::ZERO + own.interval,
            signal: Classic::new(p.common.ecn),
            mean,
            p: 0.0,
        })
    }

    /// D_i of a flow of which the shadow buffer holds so many bytes.
    fn drops(&self, of_flow: u64) -> f64 {
        if of_flow == 0 {
            return 0.0;
        }
        (1.0 - self.fair / of_flow as f64).max(0.0)
    }

    /// A packet of this place is sampled.
    fn remember(&mut self, place: u32, bytes: u32) {
        if self.shadow.len() >= self.size {
            if let Some((place, bytes)) = self.shadow.pop_front() {
                self.of[place as usize] -= u64::from(bytes);
                self.held -= u64::from(bytes);
            }
        }
        self.shadow.push_back((place, bytes));
        self.of[place as usize] += u64::from(bytes);
        self.held += u64::from(bytes);
    }
}

impl Aqm for Afd {
    fn arrive(&mut self, _: Time, pkt: &Packet, _: &Queue, rng: &mut Rng) -> Verdict {
        let place = self.hash.place(u64::from(pkt.flow), self.of.len(), rng);
        self.p = self.drops(self.of[place as usize]);
        if rng.unit() * self.sample < 1.0 {
            self.remember(place, pkt.bytes);
        }
        if self.p > 0.0 && rng.unit() < self.p {
            self.signal.early(pkt, self.p)
        } else {
            Verdict::Pass
        }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.next)
    }

    fn tick(&mut self, now: Time, q: &Queue) {
        let length = q.bytes as f64;
        let moved = self.alpha * (self.q_old - self.target) - self.beta * (length - self.target);
        // More than all samples is no more than all of them, were they of the mean size.
        let most = (self.held as f64).max(self.size as f64 * self.mean);
        self.fair = (self.fair + moved).clamp(0.0, most);
        self.q_old = length;
        self.next = now + self.interval;
    }

    fn state_bytes(&self) -> usize {
        let samples = self.shadow.capacity() * size_of::<(u32, u32)>();
        size_of_val(self) + size_of_val(&*self.of) + samples
    }

    /// The samples stay, as many as there is room for, and so does m_fair.
    fn go_on(&mut self, before: Self, _: Time) {
        if before.of.len() == self.of.len() {
            self.hash = before.hash;
            for (place, bytes) in before.shadow {
                self.remember(place, bytes);
            }
            (self.fair, self.q_old) = (before.fair, before.q_old);
        }
        self.next = before.next;
    }

    fn state(&self, out: &mut dyn FnMut(&'static str, f64)) {
        publish(COLUMNS, self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build, busy, context, params, PKT};

    fn afd(set: &[(&'static str, &'static str)]) -> Afd {
        Afd::new(&params(&KIND, set), &context()).unwrap()
    }

    /// m_fair = 1000 B: of a flow with 4000 B three in four go, with 900 B or none nothing.
    #[test]
    fn drops_by_hand() {
        let mut afd = afd(&[]);
        afd.fair = 1000.0;
        assert_eq!([4000, 2000, 1000, 900, 0].map(|m| afd.drops(m)), [0.75, 0.5, 0.0, 0.0, 0.0]);
    }

    /// 20 kB are the target, gains 0.5 and 0.75: from 100 kB, with the queue at 0, then 20, then 40
    /// packets: + 0.5·(−20) + 0.75·20 = 5 kB; + 0.5·(−20) = −10 kB; − 0.75·20 = −15 kB.
    #[test]
    fn the_controller_by_hand() {
        let mut afd = afd(&[("alpha", "0.5"), ("beta", "0.75")]);
        afd.fair = 100_000.0;
        for (queue, fair) in [(0, 105_000.0), (20, 95_000.0), (40, 80_000.0)] {
            afd.tick(Time::ZERO, &busy(queue));
            assert_eq!(afd.fair, fair, "{queue}");
        }
    }

    /// Four samples are held: what is older does not count.
    #[test]
    fn the_shadow_buffer_forgets() {
        let mut afd = afd(&[("shadow", "4"), ("sample", "1")]);
        let mut rng = Rng::stream(1, "test");
        for flow in [1, 1, 1, 2, 2, 2] {
            let _ = afd.arrive(Time::ZERO, &Packet { flow, ..PKT }, &busy(1), &mut rng);
        }
        let mut held = afd.of.clone();
        held.retain(|bytes| *bytes > 0);
        held.sort_unstable();
        assert_eq!((held, afd.held), (vec![1000, 3000], 4000));
    }

    /// Flow 1 sends four times as much as flow 2 and four times what is fair: both pass alike.
    #[test]
    fn what_passes_is_fair() {
        let mut afd = afd(&[]);
        let mut rng = Rng::stream(1, "test");
        afd.fair = 100_000.0;
        let mut passed = [0; 3];
        for i in 0..100_000 {
            let flow = if i % 5 == 0 { 2 } else { 1 };
            let verdict = afd.arrive(Time::ZERO, &Packet { flow, ..PKT }, &busy(20), &mut rng);
            passed[flow as usize] += i32::from(i >= 10_000 && verdict == Verdict::Pass);
        }
        let ratio = f64::from(passed[1]) / f64::from(passed[2]);
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn keys_that_do_not_fit_are_refused() {
        for (set, problem) in [
            (&[("sample", "0.5")][..], "sample: must be at least 1 packet"),
            (&[("beta", "1.7")], "beta: must be above alpha"),
            (&[("interval", "\"1 ns\"")], "interval: must be at least 1 us"),
        ] {
            assert_eq!(build(&KIND, set).err().unwrap().to_string(), problem);
        }
    }
}
