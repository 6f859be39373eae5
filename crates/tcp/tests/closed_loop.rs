//! Sender and receiver over a channel that loses, delays, marks and reorders: everything arrives,
//! whatever the variant.

use crate::common::*;
use penstock_tcp::{
    AccEcnParams, Ace, Ack, Bits, Ecn, EctOn, Incipient, LossParams, MecnParams, QuicParams,
    RackParams, Receiver, Recovery, Reply, Segment, Sender, TcpParams, VARIANTS,
};
use penstock_units::param::{Params, Profile, Ty, Value, Values};
use penstock_units::{Bytes, Codepoints, Duration, Ecn as Codepoint, Rng, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug, Clone)]
struct Channel {
    data_loss: f64,
    ack_loss: f64,
    mark: f64,
    /// Up to this many milliseconds beyond the first ten.
    jitter_ms: u64,
    /// How often a segment overtakes those before it.
    overtakes: f64,
    meddles: Meddles,
}

/// What boxes on the way do to ECN.
#[derive(Debug, Clone, Copy)]
enum Meddles {
    Not,
    /// The IP header's field is cleared.
    WithFields,
    /// The TCP header's bits are cleared.
    WithBits,
    /// Options do not arrive.
    WithOptions,
}

impl Meddles {
    fn with_data(self, s: Segment) -> Segment {
        match self {
            Meddles::Not | Meddles::WithOptions => s,
            Meddles::WithFields => Segment { ecn: Codepoint::NotEct, ..s },
            Meddles::WithBits => Segment { bits: Bits::NONE, ..s },
        }
    }

    fn with_ack(self, a: Ack) -> Ack {
        match self {
            Meddles::Not => a,
            Meddles::WithFields => Ack { ecn: Codepoint::NotEct, ..a },
            Meddles::WithBits => Ack { bits: Bits::NONE, ..a },
            Meddles::WithOptions => Ack { option: None, ..a },
        }
    }
}

/// Both ends and the packets between them.
struct Loop {
    p: Arc<TcpParams>,
    channel: Channel,
    tcp: Sender,
    receiver: Receiver,
    now: Time,
    rng: Rng,
    data: VecDeque<(Time, Segment)>,
    acks: VecDeque<(Time, Ack)>,
    segments: i64,
}

impl Loop {
    /// When something arrives that leaves at `departs`, behind the last one.
    fn after(&mut self, departs: Time, last: Option<Time>) -> Time {
        let ns = 1e7 + self.rng.unit() * self.channel.jitter_ms as f64 * 1e6;
        (departs + Duration::from_nanos(ns as u64)).max(last.unwrap_or(Time::ZERO))
    }

    /// Lets the sender do something, and a clone of it the same; then looks at what came of it.
    fn sender(&mut self, act: impl Fn(&mut Sender, &mut Outbox)) -> Result<(), TestCaseError> {
        let (mut twin, mut out, mut twins) =
            (self.tcp.clone(), Outbox::default(), Outbox::default());
        act(&mut self.tcp, &mut out);
        act(&mut twin, &mut twins);
        prop_assert_eq!((&out.0, &out.1), (&twins.0, &twins.1), "a clone does the same");
        prop_assert_eq!((self.tcp.cwnd(), self.tcp.deadline()), (twin.cwnd(), twin.deadline()));
        let (p, tcp) = (&self.p, &self.tcp);
        let above_0 = tcp.cwnd() > 0.0 || p.variant().name == "vegas" && is_ns2(p);
        prop_assert!(
            tcp.cwnd().is_finite() && above_0 && tcp.cwnd() >= p.cwnd_floor.min(1.0),
            "cwnd {}",
            tcp.cwnd()
        );
        prop_assert!(tcp.ssthresh() >= 1.0, "ssthresh {}", tcp.ssthresh());
        prop_assert!(out.1.is_sorted(), "departures are in order");
        for (s, departs) in out.0.into_iter().zip(out.1) {
            let edge = self.tcp.acknowledged() + i64::from(self.p.window);
            prop_assert!(s.seq <= edge.max(0), "{} is beyond the receiver's window, {edge}", s.seq);
            prop_assert!(s.seq <= self.segments, "{} was never given", s.seq);
            let ect = s.ecn != Codepoint::NotEct;
            prop_assert!(!(ect && self.p.ecn == Ecn::Off));
            let all = self.p.accecn.ect_on == EctOn::All;
            let asks = ["dctcp", "prague"].contains(&self.p.variant().name);
            prop_assert!(!(ect && s.syn) || asks || all);
            if self.rng.unit() >= self.channel.data_loss {
                let ecn = match (ect && self.rng.unit() < self.channel.mark, self.rng.unit() < 0.5)
                {
                    (false, _) => s.ecn,
                    (true, false) if s.ecn == Codepoint::Ect0 => Codepoint::Ect1,
                    (true, false) => Codepoint::Ect0,
                    (true, true) => Codepoint::Ce,
                };
                let s = self.channel.meddles.with_data(Segment { ecn, ..s });
                let at = self.after(departs.max(self.now), self.data.back().map(|d| d.0));
                self.data.push_back((at, s));
                if self.rng.unit() < self.channel.overtakes {
                    let place = (self.rng.unit() * self.data.len() as f64) as usize;
                    // Nothing arrives before it leaves.
                    let place = place.max(self.data.partition_point(|d| d.0 < departs));
                    (place + 1..self.data.len()).rev().for_each(|i| {
                        let front = self.data[i - 1].1;
                        self.data[i - 1].1 = std::mem::replace(&mut self.data[i].1, front);
                    });
                }
            }
        }
        // In flight is what is outstanding, less what has arrived or is lost, and what went again.
        let i = self.tcp.info();
        prop_assert!(i.sacked + i.lost <= i.unacked && i.retrans <= i.lost, "{i:?}");
        prop_assert!(i.delivered <= self.tcp.counters().sent, "{i:?}");
        let outstanding = !self.tcp.done();
        prop_assert!(
            !outstanding || self.tcp.deadline().is_some(),
            "the timer runs while data are outstanding"
        );
        Ok(())
    }

    fn answer(&mut self, ack: Ack) {
        if self.rng.unit() >= self.channel.ack_loss {
            let capable = ack.ecn != Codepoint::NotEct;
            let marked = capable && self.rng.unit() < self.channel.mark;
            let ack = Ack { ecn: if marked { Codepoint::Ce } else { ack.ecn }, ..ack };
            let ack = self.channel.meddles.with_ack(ack);
            let at = self.after(self.now, self.acks.back().map(|a| a.0));
            self.acks.push_back((at, ack));
        }
    }

    /// Runs to the end of the transfer.
    fn run(&mut self) -> Result<(), TestCaseError> {
        let given = self.segments - self.tcp.first_data() + 1;
        let now = self.now;
        self.sender(|tcp, out| tcp.give(now, given as u64, out))?;
        for _ in 0..400_000 {
            if self.tcp.done() {
                prop_assert_eq!(
                    self.receiver.received(),
                    self.segments + 1,
                    "every segment was delivered"
                );
                return Ok(());
            }
            let next = [
                self.data.front().map(|d| d.0),
                self.acks.front().map(|a| a.0),
                self.receiver.deadline(),
                self.tcp.deadline(),
            ];
            let Some(now) = next.iter().flatten().min().copied() else {
                return Err(TestCaseError::fail("nothing will ever happen again"));
            };
            prop_assert!(now >= self.now, "deadlines lie ahead");
            self.now = now;
            match next.iter().position(|t| *t == Some(now)) {
                Some(0) => {
                    let (_, s) = self.data.pop_front().expect("the front");
                    let mut twin = self.receiver.clone();
                    let reply = self.receiver.on_segment(now, &s);
                    prop_assert_eq!(twin.on_segment(now, &s), reply);
                    match reply {
                        Reply::Now(ack) => self.answer(ack),
                        Reply::Later => prop_assert!(self.receiver.deadline().is_some()),
                    }
                }
                Some(1) => {
                    let (_, ack) = self.acks.pop_front().expect("the front");
                    self.sender(|tcp, out| tcp.on_ack(now, &ack, out))?;
                }
                Some(2) => {
                    let ack = self.receiver.on_timer(now).expect("it was due");
                    self.answer(ack);
                }
                _ => self.sender(|tcp, out| tcp.on_timer(now, out))?,
            }
        }
        Err(TestCaseError::fail(format!("no end in sight at {:?}: {:?}", self.now, self.tcp)))
    }
}

/// A value within a declaration; `at` in [0, 1] says where.
fn value(ty: &Ty, at: f64) -> Value {
    match ty {
        Ty::Bool => Value::Bool(at < 0.5),
        Ty::Word(words) => Value::Word(words[(at * 0.999 * words.len() as f64) as usize].into()),
        // Small numbers as often as large ones.
        Ty::Num { min, max, .. } => {
            Value::Num((min + (max - min) * libm::pow(at, 8.0)).max(min + 1e-9))
        }
        Ty::Int { min, max } => {
            let span = (max - min) as f64 * libm::pow(at, 8.0);
            Value::Int(min + span as i64)
        }
        Ty::Duration => Value::Duration(Duration::from_secs_f64(1e-6 + 0.2 * at)),
        other => panic!("a control's key of type {other:?}: say here how to draw it"),
    }
}

/// Every variant, with its keys drawn from its tables, or left as they are where these do not fit
/// together.
fn variant() -> impl Strategy<Value = TcpParams> {
    let keys = prop::collection::vec(prop_oneof![Just(None), (0.0f64..1.0).prop_map(Some)], 12);
    let profile = prop::sample::select(Profile::ALL);
    let recovery = prop::sample::select(vec![None, Some("rack"), Some("quic")]);
    let flags = (profile, recovery);
    (prop::sample::select(VARIANTS), flags, keys).prop_map(|(variant, flags, keys)| {
        let (profile, recovery) = flags;
        let p = match profile {
            Profile::Ns2 => ns2(variant.name),
            other => TcpParams::under(other, variant.name).expect("a variant"),
        };
        let mut values = Values::new();
        p.write(&mut values);
        let own =
            variant.own.iter().copied().chain([RackParams::TABLE, QuicParams::TABLE]).flatten();
        for (key, at) in own.zip(keys) {
            if let Some(at) = at {
                values.set(key.name, value(&key.ty, at));
            }
        }
        // Reno's window goes with these, too.
        if let Some(word) = recovery.filter(|_| variant.name == "reno") {
            values.set("recovery", Value::Word(word.into()));
        }
        let drawn = TcpParams { ecn: p.ecn, ..TcpParams::read(&values) };
        if drawn.check().is_ok() {
            drawn
        } else {
            p
        }
    })
}

/// The first of these uses of ECN that the variant allows.
fn allowed(p: &TcpParams, uses: [Ecn; 4]) -> Ecn {
    let fits = |ecn: &Ecn| TcpParams { ecn: *ecn, ..p.clone() }.check().is_ok();
    uses.into_iter().find(fits).expect("a variant allows something")
}

fn accecn() -> impl Strategy<Value = AccEcnParams> {
    let ace = prop::sample::select(vec![Ace::Rfc, Ace::Linux]);
    let ect_on = prop::sample::select(vec![EctOn::Data, EctOn::Established, EctOn::All]);
    (any::<bool>(), ace, ect_on, any::<bool>()).prop_map(
        |(accecn_option, ace, ect_on, ecn_fallback)| AccEcnParams {
            accecn_option,
            ace,
            ect_on,
            ecn_fallback,
        },
    )
}

fn params() -> impl Strategy<Value = TcpParams> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let grows = any::<bool>();
    let bursts = prop_oneof![Just(0u32), 1u32..20];
    let overhead = prop_oneof![Just(0u64), 1u64..20];
    let buffer = prop::option::of(1u64..100);
    let numbers = (1u32..60, 1u32..20, 2.0f64..100.0, overhead, bursts, grows, buffer);
    let mecn = (
        prop::sample::select(vec![Incipient::Decrease, Incipient::Hold, Incipient::Additive]),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec![None, Some(Codepoints::Wire), Some(Codepoints::Literal)]),
    );
    let ecn = prop::sample::select(vec![Ecn::Classic, Ecn::Mecn, Ecn::AccEcn, Ecn::Sce]);
    let uses_of_ecn = (ecn, mecn, accecn());
    (variant(), flags, numbers, uses_of_ecn).prop_map(|(p, flags, numbers, uses_of_ecn)| {
        let (which, mecn, mut accecn) = uses_of_ecn;
        let (incipient, escalate, latch, codepoints) = mecn;
        let (ecn, delayed_ack, handshake, limited_transmit, go_back_n) = flags;
        let (window, initial_window, initial_ssthresh, overhead, bursts, grows, buffer) = numbers;
        let (first, last) = if ecn { (which, Ecn::Off) } else { (Ecn::Off, which) };
        let ecn = allowed(&p, [first, Ecn::Classic, last, Ecn::AccEcn]);
        if ecn != Ecn::AccEcn && accecn.ect_on == EctOn::All {
            accecn.ect_on = EctOn::Established;
        }
        let mut pacing = p.pacing.clone();
        pacing.keys.min_tso_segments = if p.recovery == Recovery::Rack { bursts } else { 0 };
        TcpParams {
            ecn,
            accecn,
            mecn: MecnParams { incipient, escalate, latch, codepoints, ..p.mecn },
            delayed_ack,
            handshake,
            limited_transmit,
            loss: LossParams { go_back_n, ..p.loss },
            window,
            window_start: grows.then_some(window.div_ceil(3)),
            send_buffer: buffer
                .filter(|_| p.recovery != Recovery::Quic)
                .map(|segments| Bytes(segments * p.segment.0)),
            initial_window,
            initial_ssthresh: Some(initial_ssthresh),
            send_overhead: Duration::from_millis(overhead),
            pacing,
            ..p
        }
    })
}

fn channel() -> impl Strategy<Value = Channel> {
    let loss = || prop_oneof![Just(0.0), 0.0f64..0.05, 0.0f64..0.4];
    let meddles = prop::sample::select(vec![
        Meddles::Not,
        Meddles::WithFields,
        Meddles::WithBits,
        Meddles::WithOptions,
    ]);
    let numbers = (loss(), loss(), loss(), 0u64..200, loss());
    (numbers, meddles).prop_map(|((data_loss, ack_loss, mark, jitter_ms, overtakes), meddles)| {
        Channel { data_loss, ack_loss, mark, jitter_ms, meddles, overtakes }
    })
}

fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes(p in params(), channel in channel(), segments in 1i64..400, seed in any::<u64>()) {
        let p = Arc::new(p);
        let tcp = Sender::new(Arc::clone(&p), 0.3);
        let segments = segments - 1 + tcp.first_data();
        let receiver = Receiver::new(&p);
        let rng = Rng::stream(seed, "closed loop");
        let (data, acks) = (VecDeque::new(), VecDeque::new());
        Loop { p, channel, tcp, receiver, now: Time::ZERO, rng, data, acks, segments }.run()?;
    }
}
