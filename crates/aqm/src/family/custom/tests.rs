//! These tests compare the recombined family with its members.

use crate::testing::build;
use crate::{kind, Ecn, Packet, Queue};
use penstock_units::{Rng, Time};

/// Returns what a discipline makes of a queue that wanders over its whole profile: verdicts and all
/// that it publishes under `names`.
fn trace(
    name: &str,
    set: &[(&'static str, &'static str)],
    names: &[&str],
) -> Vec<(String, Vec<f64>)> {
    let kind = kind(name).unwrap();
    let mut d = build(kind, set).unwrap();
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
        let pkt =
            Packet { bytes: 1000, ecn, flow: (world.unit() * 50.0) as u32, class: (q as u8) % 3 };
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
        (
            "nred",
            &[("n_step", "\"timed\""), ("n_min", "0.25")],
            &[("profile", "\"power\""), ("adapter", "\"nred\"")],
            &["n"],
        ),
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
        (
            "rared",
            &[("climb", "\"once\"")],
            &[("profile", "\"rate-aware\"")],
            &["climb_pkts", "climb_marks"],
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
        assert_eq!(differs.map(|i| (&own[i], &said[i])), None, "{name} {parts:?} at {differs:?}");
    }
}

#[test]
fn drop_never_marks() {
    let all = trace("custom", &[("ecn", "true"), ("signal", "\"drop\""), ("w_q", "0.02")], &[]);
    assert!(all.iter().all(|(v, _)| !v.contains("Mark")));
}
