//! Properties of every discipline: any parameters in their declared range, any pattern of arrivals.
//! `PENSTOCK_CASES=100000` looks further.

use crate::common::ops::{self, drive, named, params, table, values, Op, Setup};
use penstock_aqm::parts::estimator::Idle;
use penstock_aqm::{build, Context, Ecn, Packet, Queue, Verdict, KINDS};
use penstock_units::param::{Param, Ty, Value};
use penstock_units::{Bytes, Duration, QueueLen, Rate, Rng, Time};
use proptest::prelude::*;

/// A value in the range of its declaration, its ends among them.
fn in_range(ty: &'static Ty) -> BoxedStrategy<Value> {
    match ty {
        Ty::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Ty::Int { min, max } => (*min..=*max).prop_map(Value::Int).boxed(),
        Ty::Num { min, max, open } => {
            let (min, max) = (*min, *max);
            let least = if *open { min + (max - min) * 1e-12 } else { min };
            let any = (0.0f64..=1.0).prop_map(move |x| (min + (max - min) * x).max(least));
            let small = (0.0f64..12.0)
                .prop_map(move |e| (min + (max - min) * libm::pow(10.0, -e)).max(least));
            prop_oneof![Just(least), Just(max), any, small].prop_map(Value::Num).boxed()
        }
        Ty::Or(inner, words) => {
            let words = prop::sample::select(words.to_vec()).prop_map(|w| Value::Word(w.into()));
            prop_oneof![in_range(inner), words].boxed()
        }
        Ty::Word(words) => {
            prop::sample::select(words.to_vec()).prop_map(|w| Value::Word(w.into())).boxed()
        }
        Ty::Duration => (1_000u64..10_000_000_000)
            .prop_map(|n| Value::Duration(Duration::from_nanos(n)))
            .boxed(),
        Ty::Size => (1u64..20_000).prop_map(|n| Value::Size(Bytes(n))).boxed(),
        Ty::Queue => prop_oneof![
            (0.01f64..300.0).prop_map(|n| Value::Queue(QueueLen::Packets(n))),
            (1u64..1_000_000).prop_map(|b| Value::Queue(QueueLen::Bytes(b))),
        ]
        .boxed(),
        Ty::Tables(params) => {
            let one = |p: &'static Param| in_range(&p.ty).prop_map(move |v| (p.name, v));
            let table = params.iter().map(one).collect::<Vec<_>>().prop_map(table);
            prop::collection::vec(table, 0..4).prop_map(named).boxed()
        }
        other => panic!("a discipline's key of type {other:?}: say here how to draw it"),
    }
}

fn setup() -> impl Strategy<Value = Setup> {
    let kinds = 0..KINDS.len();
    let link = (64_000u64..1_000_000_000, 0u64..500, 1u32..1000);
    (kinds, link).prop_flat_map(|(kind, (bps, ms, buffer))| {
        let kind = &KINDS[kind];
        let context = Context::new(
            Rate::from_bps(bps).unwrap(),
            Duration::from_millis(ms),
            QueueLen::Packets(f64::from(buffer)),
        );
        let one = |p: &'static Param| {
            let name = p.name;
            prop::option::weighted(0.3, in_range(&p.ty)).prop_map(move |v| v.map(|v| (name, v)))
        };
        let all: Vec<_> = params(kind).map(one).collect();
        all.prop_map(move |set| Setup {
            kind: kind.name,
            set: set.into_iter().flatten().collect(),
            context: context.clone(),
        })
    })
}

fn op() -> impl Strategy<Value = Op> {
    let field = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let ns = prop_oneof![0u64..1_000, 0u64..5_000_000, 0u64..20_000_000_000];
    prop_oneof![
        5 => (1u32..10_000, field, 0u32..5).prop_map(|(bytes, ecn, flow)| Op::Arrive { bytes, ecn, flow }),
        3 => Just(Op::Depart),
        2 => ns.prop_map(|ns| Op::Wait { ns }),
    ]
}

fn cases() -> u32 {
    std::env::var("PENSTOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(), failure_persistence: None, max_global_rejects: 1 << 30, ..ProptestConfig::default()
    })]

    #[test]
    fn every_discipline_stays_sane_and_repeats_itself(
        setup in setup(),
        ops in prop::collection::vec(op(), 0..300),
        limit in 1u32..200,
    ) {
        let (Some(first), Some(second)) = (setup.build(), setup.build()) else { return Err(TestCaseError::reject("")) };
        prop_assert_eq!(drive(&setup, first, &ops, limit), drive(&setup, second, &ops, limit));
    }

    /// As the fuzz target does, from random bytes.
    #[test]
    fn every_input_of_the_fuzzer_passes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        ops::check(&bytes);
    }

    /// Whatever the ramp: as the average rises the probability does not fall, and the states come
    /// in order. Of two levels the worse does not fall: where the ramps end, marks of both give way
    /// to drops.
    #[test]
    fn profiles_are_monotone(
        min_th in 0.0f64..100.0, width in 0.01f64..100.0, mid in 0.0f64..=1.0, max_p in 0.0f64..=1.0, p2_max in 0.0f64..=1.0,
        n in 0.1f64..10.0, gentle in any::<bool>(), straight in any::<bool>(),
    ) {
        use penstock_aqm::family::{mecn::TwoLevel, nlred::Square, nred::Power};
        use penstock_aqm::parts::profile::{Arrival, Profile, Ramp, Straight};
        let max_th = min_th + width;
        let ramp = Ramp { min_th, max_th, max_p };
        let mut one = if gentle { Straight::Gentle { frozen: None } } else { Straight::Linear };
        let mut square = Square { gentle };
        let limit = max_th + 10.0;
        let mut power = Power { limit, n, straight };
        let mut two = TwoLevel { mid_th: min_th + mid * width, p2_max, gentle };
        let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
        let profiles: [(&mut dyn Profile, bool); 4] =
            [(&mut one, false), (&mut square, false), (&mut power, false), (&mut two, true)];
        for (i, (profile, two_levels)) in profiles.into_iter().enumerate() {
            let mut last = 0.0;
            for step in 0..1000 {
                let avg = f64::from(step) * (3.0 * max_th + 20.0) / 1000.0;
                let point = profile.at(&Arrival { now: Time::ZERO, avg, q: avg, pkt: &pkt }, &ramp);
                let p = point.p()[usize::from(two_levels)];
                prop_assert!((0.0..=1.0).contains(&p) && p >= last - 1e-12, "profile {i}: {p} after {last}");
                last = p;
            }
            prop_assert_eq!(last, 1.0);
        }
    }

    /// `p_a` is a probability, and in a run between two signals it does not fall.
    #[test]
    fn gates_are_monotone_in_the_count(p_b in 0.0f64..=1.0) {
        use penstock_aqm::parts::gate::{p_a, Spacing};
        for spacing in [Spacing::Uniform, Spacing::Wait, Spacing::Geometric, Spacing::Drawn] {
            let mut last = 0.0;
            for count in 0..2000 {
                let p = p_a(spacing, p_b, f64::from(count));
                prop_assert!((0.0..=1.0).contains(&p) && p >= last, "{spacing:?} at {count}: {p} after {last}");
                last = p;
            }
        }
    }

    /// The average stays between the smallest and the largest queue that it has seen, and idle time
    /// only brings it down.
    #[test]
    fn averages_stay_within_what_they_saw(w_q in 1e-9f64..=1.0, floor in any::<bool>(), steps in prop::collection::vec((0u32..1000, prop::option::of(0u64..1_000_000_000)), 1..200)) {
        let mut e = penstock_aqm::parts::estimator::Ewma::new(w_q, 1250.0, if floor { Idle::Floor } else { Idle::Exact });
        let (mut now, mut highest) = (Time::ZERO, 0.0f64);
        for (q, idle) in steps {
            let before = e.value();
            let q = if idle.is_some() { 0.0 } else { f64::from(q) };
            highest = highest.max(q);
            let since = idle.map(|_| now);
            now += Duration::from_nanos(idle.unwrap_or(1_000));
            let avg = e.update(now, q, since);
            prop_assert!(avg >= 0.0 && avg <= highest * (1.0 + 1e-9));
            prop_assert!(idle.is_none() || avg <= before);
        }
    }
}

/// UDP overload pins the average: the loss rate is the gate's. In whole packets the gaps are
/// uniform on 1/p_b … 2/p_b − 1 (`wait`), on 1 … 1/p_b − 1 (`uniform`), geometric: means (3/p_b −
/// 1)/2, 1/(2 p_b), 1/p_b. ns-2's notes give 2/3 p_b and 2 p_b/(1 + p_b) for the first two, which
/// is the same but for half a packet. w_q = 1 makes avg = q; q = 10 of 5 … 15 makes p_b = max_p /
/// 2.
#[test]
fn loss_under_overload_is_the_gates() {
    let red = penstock_aqm::kind("red").expect("red");
    type Rule = fn(f64) -> f64;
    let gates: [(&str, Rule); 3] =
        [("wait", |p| 2.0 * p / (3.0 - p)), ("uniform", |p| 2.0 * p), ("geometric", |p| p)];
    for (gate, rule) in gates {
        for p_b in [0.002, 0.01, 0.05] {
            let set = [
                ("min_th", Value::Queue(QueueLen::Packets(5.0))),
                ("max_th", Value::Queue(QueueLen::Packets(15.0))),
                ("max_p", Value::Num(2.0 * p_b)),
                ("w_q", Value::Num(1.0)),
                ("gate", Value::Word(gate.into())),
                ("unit", Value::Word("packets".into())),
            ];
            let context = Context::new(
                Rate::from_bps(10_000_000).unwrap(),
                Duration::from_millis(20),
                QueueLen::Packets(100.0),
            );
            let mut aqm = build("red", &values(red, &set), &context).expect("values that fit");
            let mut rng = Rng::stream(11, gate);
            let pkt = Packet { bytes: 1000, ecn: Ecn::NotEct, flow: 0, class: 0 };
            let q = Queue { pkts: 10, bytes: 10_000, idle_since: None };
            let n = 2_000_000;
            let dropped = (0..n)
                .filter(|_| aqm.arrive(Time::ZERO, &pkt, &q, &mut rng) != Verdict::Pass)
                .count();
            let got = dropped as f64 / f64::from(n);
            // Four standard errors of a count, and none of these gates spreads wider.
            let tolerance = 4.0 / (rule(p_b) * f64::from(n)).sqrt();
            assert!(
                (got / rule(p_b) - 1.0).abs() < tolerance,
                "{gate}, p_b {p_b}: {got}, should be {}",
                rule(p_b)
            );
        }
    }
}
