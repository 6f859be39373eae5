//! A discipline of RED's family put together by name: estimator, profile, gate, signal and adapter.
//! Every member of the family that has a kind of its own can be said this way, and then does the
//! same, bit for bit.

use crate::adapter::Adapter;
use crate::amecn::{Levels, AMECN};
use crate::ared::{Floyd, CLOCK, TARGET};
use crate::dt_red::DT_RED;
use crate::feng::{Feng, FENG};
use crate::mecn::{MECN, P2, P2_MAX};
use crate::nred::{EXPONENT, NRED};
use crate::pdt_red::PDT_RED;
use crate::profile::Profile;
use crate::rared::{CLIMB_MARKS, CLIMB_PKTS, RARED};
use crate::red::{RedFamily, AVG, MAX_P, MAX_TH_NOW, MIN_TH_NOW, PARAMS, P_B, RAMP, THRESHOLDS};
use crate::red_at::{Regions, RED_AT};
use crate::{Discipline, Kind, State};
use penstock_units::param::{num, num_open, Param, Ty, PARAM};

/// The kind as it is listed.
pub const KIND: Kind = Kind {
    name: "custom",
    doc: "RED's family recombined: an estimator, a profile, a gate, a signal and an adapter, by name.",
    source: "the parts' papers",
    equations: "estimator  avg ← ewma | instantaneous\n\
        profile    p ← ramp | rate-aware | square | power | two-level\n\
        gate       uniform | wait | geometric\n\
        signal     drop | classic | levels\n\
        adapter    none | ared | feng-ared | amecn | nred | red-at | dt-red | pdt-red",
    expect: "What the parts say: with its defaults it is RED. A member of the family said this way gives the same \
        packets, bit for bit, as its own kind. It is for what nobody has published: a square profile with \
        ARED's adapter, two levels on the instantaneous queue. The adapter must have something to move: \
        ared, feng-ared and amecn move max_p, nred moves n, the others the thresholds.",
    weaknesses: "Combinations that make no sense are not refused: nred's adapter does nothing to a ramp, amecn's \
        p2_max nothing to one level. `alpha`, `beta` and `max_p_low` belong to the adapter that is chosen \
        and have its defaults.",
    params: &[
        PARTS, PARAMS, THRESHOLDS, RAMP, MECN, AMECN, RARED, NRED, RED_AT, FENG, DT_RED, PDT_RED, CLOCK,
        TARGET, SHARED,
    ],
    state: STATE,
    defaults: &[],
    ns2: &[],
    build: |v, cx| {
        let mut d = RedFamily::new(v, cx, STATE)?;
        if v.is("estimator", "instantaneous") {
            d = d.instantaneous();
        }
        d = match v.word("profile").as_str() {
            "square" => d.with_profile(Profile::Square { gentle: v.bool("gentle") })?,
            "power" => d.within_the_buffer(v).with_profile(Profile::Power)?,
            "two-level" => d.with_two_ramps(v)?,
            "rate-aware" => d.with_climb(v),
            _ => d,
        };
        d = match v.word("signal").as_str() {
            "drop" => d.without_marks(),
            "levels" => d.with_two_marks(v),
            _ => d,
        };
        d = match v.word("adapter").as_str() {
            "ared" => d.with_adapter(Adapter::Floyd(Floyd::from_values(v, cx)?)),
            "feng-ared" => d.with_adapter(Adapter::Feng(Feng::from_values(v)?)),
            "amecn" => {
                let levels = Levels::from_values(v)?;
                levels.begin(&mut d.ramp);
                d.with_adapter(Adapter::Levels(levels))
            }
            "nred" => d.with_exponent(v)?,
            "red-at" => {
                let regions = Regions::from_values(v, &d.ramp, &d.unit)?;
                d.with_adapter(Adapter::Regions(regions))
            }
            "dt-red" => d.with_bursts(v)?,
            "pdt-red" => d.with_classes(v)?,
            _ => d,
        };
        Ok(Discipline::Red(d))
    },
};

const STATE: &[State] =
    &[AVG, MIN_TH_NOW, MAX_TH_NOW, MAX_P, P2_MAX, EXPONENT, P_B, P2, CLIMB_PKTS, CLIMB_MARKS];

const PARTS: &[Param] = &[
    Param {
        name: "estimator",
        ty: Ty::Word(&["ewma", "instantaneous"]),
        default: Some("\"ewma\""),
        source: "Floyd, Jacobson 1993; DCTCP looks at the queue itself",
        doc: "What follows the queue: the weighted average, or the queue itself.",
        ..PARAM
    },
    Param {
        name: "profile",
        ty: Ty::Word(&["ramp", "rate-aware", "square", "power", "two-level"]),
        default: Some("\"ramp\""),
        source: "red; rared; nlred; nred; mecn",
        doc: "From the average to probabilities; the keys are those of the kind that has it.",
        ..PARAM
    },
    Param {
        name: "signal",
        ty: Ty::Word(&["drop", "classic", "levels"]),
        default: Some("\"classic\""),
        source: "RFC 3168; AMECN paper, Table 1",
        doc: "Drop; or, with `ecn`, mark CE; or mark incipient and moderate congestion.",
        ..PARAM
    },
    Param {
        name: "adapter",
        ty: Ty::Word(&[
            "none",
            "ared",
            "feng-ared",
            "amecn",
            "nred",
            "red-at",
            "dt-red",
            "pdt-red",
        ]),
        default: Some("\"none\""),
        source: "the kinds of these names",
        doc: "What retunes the profile; the keys are those of the kind that has it.",
        ..PARAM
    },
];

/// Keys that several adapters have, each with a default of its own.
const SHARED: &[Param] = &[
    Param {
        name: "alpha",
        ty: num_open(0.0, 1.0),
        unit: "1",
        auto: "the adapter's",
        source: "ared; red-at",
        doc: "Step up of the adapter that has an alpha.",
        ..PARAM
    },
    Param {
        name: "beta",
        ty: num_open(0.0, 1.0),
        unit: "1",
        auto: "the adapter's",
        source: "ared; red-at",
        doc: "Step down of the adapter that has a beta.",
        ..PARAM
    },
    Param {
        name: "max_p_low",
        ty: Ty::NumOr(&num(0.0, 1.0), &["rate"]),
        unit: "1",
        auto: "the adapter's",
        source: "ared; feng-ared",
        doc: "Lower bound of max_p of the adapter that has one.",
        ..PARAM
    },
    Param {
        name: "max_p_high",
        ty: Ty::NumOr(&num(0.0, 1.0), &["none"]),
        unit: "1",
        auto: "the adapter's",
        source: "ared; feng-ared",
        doc: "Upper bound of max_p of the adapter that has one.",
        ..PARAM
    },
];

#[cfg(test)]
mod tests {
    use crate::registry::tests::{context, values};
    use crate::{build, kind, Aqm, Ecn, Packet, Queue};
    use penstock_units::{Rng, Time};

    /// What a discipline makes of a queue that wanders over its whole profile: verdicts and all
    /// that it publishes under `names`.
    fn trace(name: &str, set: &[(&'static str, &str)], names: &[&str]) -> Vec<(String, Vec<f64>)> {
        let kind = kind(name).unwrap();
        let mut d = build(name, &values(kind, set), &context()).unwrap();
        let mut rng = Rng::stream(7, "custom");
        let mut world = Rng::stream(8, "world");
        let (mut now, mut q) = (Time::ZERO, 0.0f64);
        let mut out = vec![];
        for _ in 0..30_000 {
            now = Time::from_nanos(now.as_nanos() + (world.unit() * 2e6) as u64);
            q = (q + 6.0 * world.unit() - 2.99).clamp(0.0, 99.0);
            while let Some(t) = d.next_tick().filter(|t| *t <= now) {
                d.tick(t, &Queue { pkts: q as u32, bytes: q as u64 * 1000, idle_since: None });
            }
            let ecn = if world.unit() < 0.5 { Ecn::Ect0 } else { Ecn::NotEct };
            let pkt = Packet {
                bytes: 1000,
                ecn,
                flow: (world.unit() * 50.0) as u32,
                class: (q as u8) % 3,
            };
            let verdict = d.arrive(
                now,
                &pkt,
                &Queue { pkts: q as u32, bytes: q as u64 * 1000, idle_since: None },
                &mut rng,
            );
            let mut state = vec![];
            d.state(&mut |name, value| {
                if names.contains(&name) {
                    state.push(value);
                }
            });
            out.push((format!("{verdict:?}"), state));
        }
        assert!(out.iter().any(|(v, _)| v != "Pass"), "{name}: something is signalled");
        out
    }

    #[test]
    fn members_of_the_family_are_said_by_their_parts() {
        type Set = [(&'static str, &'static str)];
        let common: &Set = &[("w_q", "0.02"), ("ecn", "true")];
        let th: &Set = &[("min_th", "10"), ("max_th", "30")];
        let cases: &[(&str, &Set, &Set, &[&str])] = &[
            ("red", th, &[], &["max_p"]),
            ("red", &[("gentle", "false"), ("gate", "\"wait\"")], &[], &["max_p"]),
            ("ared", th, &[("adapter", "\"ared\"")], &["max_p"]),
            ("feng-ared", th, &[("adapter", "\"feng-ared\"")], &["max_p"]),
            ("nlred", th, &[("profile", "\"square\""), ("gentle", "false")], &["max_p"]),
            ("nred", th, &[("profile", "\"power\""), ("adapter", "\"nred\"")], &["n"]),
            ("red-at", th, &[("adapter", "\"red-at\"")], &["min_th", "max_th"]),
            ("dt-red", &[("min_th", "4")], &[("adapter", "\"dt-red\"")], &["min_th", "max_th"]),
            ("pdt-red", &[], &[("adapter", "\"pdt-red\"")], &["min_th", "max_th"]),
            ("rared", th, &[("profile", "\"rate-aware\"")], &["climb_pkts", "climb_marks"]),
            (
                "rared",
                &[("base", "\"ared\""), ("climb", "\"ramp\"")],
                &[("profile", "\"rate-aware\""), ("adapter", "\"ared\""), ("climb", "\"ramp\"")],
                &["max_p", "climb_pkts"],
            ),
            ("mecn", th, &[("profile", "\"two-level\""), ("signal", "\"levels\"")], &["p2_max"]),
            (
                "amecn",
                &[("target_queue", "40")],
                &[("profile", "\"two-level\""), ("signal", "\"levels\""), ("adapter", "\"amecn\"")],
                &["p2_max"],
            ),
        ];
        for (name, set, parts, names) in cases {
            let names = [&["avg_pkts"], *names].concat();
            let own: Vec<_> = [common, set].concat();
            let own_kind = kind(name).unwrap();
            let known = |k: &str| own_kind.params.iter().copied().flatten().any(|p| p.name == k);
            let set_in_custom: Vec<_> = own.iter().filter(|(k, _)| *k != "base").copied().collect();
            let said: Vec<_> = [&set_in_custom[..], parts].concat();
            let own: Vec<_> = own.into_iter().filter(|(k, _)| known(k) || *k == "ecn").collect();
            let (own, said) = (trace(name, &own, &names), trace("custom", &said, &names));
            let differs = own.iter().zip(&said).position(|(a, b)| a != b);
            assert_eq!(
                differs.map(|i| (&own[i], &said[i])),
                None,
                "{name} {parts:?} at {differs:?}"
            );
        }
    }

    #[test]
    fn drop_never_marks() {
        let all = trace("custom", &[("ecn", "true"), ("signal", "\"drop\""), ("w_q", "0.02")], &[]);
        assert!(all.iter().all(|(v, _)| !v.contains("Mark")));
    }
}
