//! The forms that a scenario takes: set, compared, swept, resolved; schema and lists.

use crate::common::{good, EXAMPLE, SMALL};
use penstock_scenario::{document, init_template, list, list_json, schema, schema_json, Scenario};
use serde_json::{json, Value};

#[test]
fn the_template_is_a_scenario() {
    let s = good(init_template());
    assert_eq!(s.name(), "my scenario");
    s.lower(1).unwrap();
    for axis in s.axes() {
        for value in &axis.values {
            s.point(None, &[(&axis.path, value)]).unwrap().lower(1).unwrap();
        }
    }
}

#[test]
fn set_changes_one_key() {
    let s = good(EXAMPLE);
    for (path, value, pointer, found) in [
        ("aqm.kind", "ared", "/aqm/kind", json!("ared")),
        ("aqm.kind", "\"ared\"", "/aqm/kind", json!("ared")),
        ("topology.bottleneck.rate", "2 Mbit/s", "/topology/bottleneck/rate", json!("2 Mbit/s")),
        ("topology.bottleneck.buffer", "20", "/topology/bottleneck/buffer", json!("20 packets")),
        ("traffic.0.flows", "5", "/traffic/0/flows", json!(5)),
        ("traffic.0.start", "{ every = \"1 s\" }", "/traffic/0/start/every", json!("1 s")),
        ("aqm.reverse.kind", "red", "/aqm/reverse/kind", json!("red")),
        ("aqm.w_q", "rtt", "/aqm/w_q", json!("rtt")),
        ("aqm.ecn", "false", "/aqm/ecn", json!(false)),
        ("name", "2020-01-01", "/name", json!("2020-01-01")),
        ("seed", "3", "/seed", json!(3)),
    ] {
        let changed = s.set(path, value).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(changed.resolved().pointer(pointer), Some(&found), "{path}={value}");
    }
    assert_eq!(s.set("seed", "3").unwrap().seed(), 3);
}

/// A number comes back from the resolved scenario with its last bit. Without `float_roundtrip`
/// `serde_json` reads the first of these as 0.03945316445602368. This crate has to ask for it
/// itself: whether another crate of the build does is chance.
#[test]
fn a_number_keeps_its_last_bit() {
    for number in ["0.039453164456023676", "0.1", "1e-9", "0.30000000000000004"] {
        let first = good(EXAMPLE).set("aqm.w_q", number).unwrap();
        let resolved = first.resolved_json();
        let again = Scenario::from_json(&resolved).unwrap();
        let of = |s: &Scenario| s.resolved().pointer("/aqm/w_q").and_then(Value::as_f64);
        assert_eq!(of(&again), number.parse().ok());
        assert_eq!(again.resolved_json(), resolved);
    }
}

/// What is resolved reads back as itself, and runs as the same.
#[test]
fn resolved_is_a_fixed_point() {
    let ns2 = format!("profile = \"ns-2\"\n{SMALL}tcp = \"vegas\"\n[aqm]\nkind = \"ared\"\n");
    let rich = r#"duration = "10 s"
measure.to = "9 s"
[topology]
bottleneck = { rate = "1234567 bit/s", delay = "1.5 ms", buffer = "30 kB", loss = 0.1, schedule = [{ at = "1 s", rate = "0 bit/s" }] }
access = { rate = "1 Gbit/s", delay = { uniform = ["1 ms", "2 ms"] }, buffer = 50 }
egress = { rate = "1 Gbit/s", delay = { spread = ["1 ms", "2 ms"] } }
[aqm]
kind = "red"
min_th = "2500 B"
max_th = 12.5
d1 = 3
[[traffic]]
kind = "web"
flows = 3
start = { uniform = ["0 s", "1 s"] }
object = { exponential = "12345 B" }
think = { pareto = { shape = 1.2, mean = "0.1 s" } }
inter_object = { constant = "1 ns" }
[[traffic]]
kind = "onoff"
rate = "1 Mbit/s"
start = { every = "1 ms" }
[[traffic]]
kind = "poisson"
rate = "1 Mbit/s"
from = "R1"
to = "R0"
[[traffic]]
kind = "ftp"
bytes = 12345
"#
    .replace("d1 = 3\n", "");
    let cross = "duration = \"10 s\"\n[topology]\nkind = \"parking-lot\"\nhops = 2\ncross_flows = 1\nlink = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[traffic]]\nkind = \"ftp\"\n";
    let linux = format!("profile = \"linux\"\n{SMALL}");
    let reno = format!("profile = \"linux\"\n{SMALL}tcp = \"reno\"\ninitial_window = 2\n");
    let old = format!("{reno}recovery = \"sack\"\nquickack = 0\n");
    for text in [SMALL, EXAMPLE, init_template(), &ns2, &linux, &reno, &old, &rich, cross] {
        let first = good(text);
        let again = Scenario::from_json(&first.resolved_json())
            .unwrap_or_else(|e| panic!("{e}\n{}", first.resolved()));
        assert_eq!(first.resolved_json(), again.resolved_json());
        let lowered = |s: &Scenario| format!("{:?}", s.lower(3).unwrap());
        assert_eq!(lowered(&first), lowered(&again));
    }
}

#[test]
fn resolved_has_defaults_and_nulls() {
    let r = good(SMALL).resolved();
    for (pointer, found) in [
        ("/name", json!("scenario")),
        ("/measure/from", json!("0 s")),
        ("/measure/to", Value::Null),
        ("/topology/bottleneck/buffer", json!("50 packets")),
        ("/topology/access", Value::Null),
        ("/aqm/kind", json!("droptail")),
        ("/aqm/unit", Value::Null),
        ("/traffic/0/min_rto", json!("1 s")),
        ("/traffic/0/segment", json!("1000 B")),
        ("/traffic/0/stop", Value::Null),
    ] {
        assert_eq!(r.pointer(pointer), Some(&found), "{pointer}");
    }
    assert_eq!(r.pointer("/traffic/0/alpha"), None, "Reno does not read Vegas's keys");
    assert_eq!(r.pointer("/sweep"), None);
}

#[test]
fn each_kind_takes_its_own_keys() {
    let s = good(&format!(
        "{SMALL}ecn = \"classic\"\n[aqm]\nkind = \"red\"\ntarget_low = 0.3\nphi = 1.1\n"
    ));
    assert_eq!(s.resolved().pointer("/aqm/target_low"), None);
    assert_eq!(
        s.with_aqm("ared").unwrap().resolved().pointer("/aqm/target_low"),
        Some(&json!(0.3))
    );
    assert_eq!(s.with_aqm("rem").unwrap().resolved().pointer("/aqm/phi"), Some(&json!(1.1)));
    let wrong = s.with_aqm("rde").unwrap_err().to_string();
    assert!(wrong.contains("aqm.kind = \"rde\": must be one of"), "{wrong}");
}

#[test]
fn sweeps_and_variants() {
    let s = good(&format!(
        "{SMALL}[aqm]\nkind = \"red\"\nmin_th = 5\nmax_th = 15\n\
         [sweep]\n\"aqm.min_th\" = [5, 20]\naqm.max_th = [60]\ntraffic.0.flows = [1, 2]\nseeds = 3\n\
         [[variant]]\nname = \"plain\"\nset = {{}}\n\
         [[variant]]\nname = \"ecn\"\nset = {{ \"aqm.ecn\" = true, traffic.0.ecn = \"classic\" }}\n"
    ));
    let axes: Vec<_> = s.axes().into_iter().map(|a| (a.path, a.values.len())).collect();
    assert_eq!(
        axes,
        [("aqm.min_th".into(), 2), ("aqm.max_th".into(), 1), ("traffic.0.flows".into(), 2)]
    );
    assert_eq!(
        (s.sweep_seeds(), s.variants()),
        (Some(3), vec!["plain".to_string(), "ecn".to_string()])
    );
    let point =
        s.point(Some("ecn"), &[("aqm.min_th", &json!(20)), ("aqm.max_th", &json!(60))]).unwrap();
    let r = point.resolved();
    assert_eq!(
        (&r["aqm"]["min_th"], &r["aqm"]["ecn"], &r["traffic"][0]["ecn"]),
        (&json!("20 packets"), &json!(true), &json!("classic"))
    );
    assert!(point.axes().is_empty() && point.variants().is_empty());
    let apart = s.point(None, &[("aqm.min_th", &json!(20))]).unwrap_err().to_string();
    assert!(apart.contains("aqm.min_th = 20: must be below"), "{apart}");
    assert!(s.point(Some("enc"), &[]).unwrap_err().to_string().contains("nearest: \"ecn\""));
    assert_eq!(s.source()["sweep"]["seeds"], json!(3));
}

/// Values by hand: a + u (b - a); a^(1-u) b^u; a + floor(u (b - a + 1)).
#[test]
fn ranges_of_a_sweep() {
    let s = good(&format!(
        "{SMALL}[aqm]\nkind = \"red\"\nmin_th = 5\nmax_th = 15\n\
         [sweep]\naqm.kind = [\"red\", \"ared\"]\n\"topology.bottleneck.delay\" = {{ uniform = [\"1 ms\", \"0.101 s\"] }}\n\
         \"aqm.max_p\" = {{ log_uniform = [0.0625, 0.25] }}\ntraffic.0.flows = {{ integer = [1, 4] }}\n\
         \"topology.bottleneck.rate\" = {{ log_uniform = [\"1 Mbit/s\", \"100 Mbit/s\"] }}\n\
         \"topology.bottleneck.buffer\" = {{ uniform = [\"10 kB\", \"20 kB\"] }}\n\
         \"topology.bottleneck.reverse_buffer\" = {{ log_uniform = [1, \"100 packets\"] }}\n\
         \"aqm.min_th\" = {{ uniform = [1, 4] }}\n\"aqm.max_th\" = {{ uniform = [10.5, 20.5] }}\nsamples = 7\ndesign_seed = 3\n"
    ));
    let design = s.design().unwrap();
    assert_eq!((design.samples, design.method.as_str(), design.seed), (7, "lhs", 3));
    assert_eq!(s.axes().len(), 1, "ranges are no lists");
    let ranges = s.ranges();
    for (i, path, values) in [
        (
            0,
            "topology.bottleneck.delay",
            [json!("1 ms"), json!("26 ms"), json!("51 ms"), json!("101 ms")],
        ),
        (1, "aqm.max_p", [json!(0.0625), json!(0.08838834764831845), json!(0.125), json!(0.25)]),
        (2, "traffic.0.flows", [json!(1), json!(2), json!(3), json!(4)]),
        (
            3,
            "topology.bottleneck.rate",
            [json!("1 Mbit/s"), json!("3.162278 Mbit/s"), json!("10 Mbit/s"), json!("100 Mbit/s")],
        ),
        (
            4,
            "topology.bottleneck.buffer",
            [json!("10 kB"), json!("12500 B"), json!("15 kB"), json!("20 kB")],
        ),
        (5, "topology.bottleneck.reverse_buffer", [json!(1), json!(3), json!(10), json!(100)]),
        (6, "aqm.min_th", [json!(1), json!(2), json!(3), json!(4)]),
        (7, "aqm.max_th", [json!(10.5), json!(13.0), json!(15.5), json!(20.5)]),
    ] {
        assert_eq!(ranges[i].path, path);
        for (u, expected) in [0.0, 0.25, 0.5, 1.0].into_iter().zip(values) {
            let found = ranges[i].at(u);
            match (found.as_f64(), expected.as_f64()) {
                (Some(x), Some(y)) => assert!((x - y).abs() < 1e-15, "{path} at {u}: {x} for {y}"),
                _ => assert_eq!(found, expected, "{path} at {u}"),
            }
        }
    }
    let point = s.point(None, &[("topology.bottleneck.delay", &ranges[0].at(0.5))]).unwrap();
    assert_eq!(point.resolved().pointer("/topology/bottleneck/delay"), Some(&json!("51 ms")));
    assert!(point.design().is_none() && point.ranges().is_empty());
}

fn keys(schema: &Value, out: &mut Vec<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        out.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(map) => map.values().for_each(|v| keys(v, out)),
        Value::Array(list) => list.iter().for_each(|v| keys(v, out)),
        _ => {}
    }
}

#[test]
fn the_schema_names_every_key() {
    let read: Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(read, schema_json());
    let mut named = vec![];
    keys(&read, &mut named);
    for what in ["aqm", "tcp", "traffic", "topology", "scenario"] {
        for entry in list(what).unwrap().as_array().unwrap() {
            for param in entry["params"].as_array().unwrap() {
                let name = param["name"].as_str().unwrap();
                assert!(named.iter().any(|k| k == name), "{what}: {name}");
            }
        }
    }
}

#[test]
fn lists() {
    let aqm = list("aqm").unwrap();
    assert_eq!(aqm[0]["name"], "droptail");
    assert!(aqm.as_array().unwrap().iter().all(|k| k["state"].is_array() && k["doc"].is_string()));
    let red = aqm.as_array().unwrap().iter().find(|k| k["name"] == "red").unwrap();
    let w_q = red["params"].as_array().unwrap().iter().find(|p| p["name"] == "w_q").unwrap();
    assert_eq!((&w_q["default"], &w_q["ns2"]), (&json!("auto"), &json!("rtt")));
    assert!(w_q["range"].as_str().unwrap().contains("(0, 1]"));
    // A profile lists its defaults, those of one kind or variant among them.
    let profiles = list("profiles").unwrap();
    let of = |profile: usize, table: &str, key: &str| {
        let rows = profiles[profile]["params"].as_array().unwrap();
        let row = rows.iter().find(|p| p["table"] == table && p["name"] == key);
        row.map(|p| p["default"].as_str().unwrap().to_string())
    };
    assert_eq!(of(0, "traffic", "window"), None, "the general defaults");
    assert_eq!(of(1, "traffic", "window").as_deref(), Some("20"));
    assert_eq!(of(1, "tcp = \"vegas\"", "beta").as_deref(), Some("3"));
    assert_eq!(of(1, "aqm", "w_q").as_deref(), Some("rtt"));
    assert_eq!(of(2, "traffic", "tcp").as_deref(), Some("cubic"));
    assert!(list_json("metrics").is_some() && list_json("nothing").is_none());
    // TCP's keys are listed once.
    let traffic = list_json("traffic").unwrap();
    assert!(!traffic.contains("\"min_rto\"") && traffic.contains("\"bytes\""), "{traffic}");
}

#[test]
fn a_document_has_no_clock() {
    let s = good(SMALL);
    let run = |seed| penstock_sim::RunResult {
        seed,
        events: 10,
        metrics: vec![Some(seed as f64 / 3.0); penstock_sim::METRICS.len()],
        groups: vec![vec![None; penstock_sim::GROUP_METRICS.len()]],
        flows: vec![penstock_sim::FlowResult {
            group: 0,
            metrics: vec![Some(0.1); penstock_sim::FLOW_METRICS.len()],
        }],
        links: vec![],
        packets: None,
        bands: vec![],
        pages: None,
        series: vec![],
        lead_in: None,
        pcap: None,
        access: None,
    };
    let runs = [run(1), run(2)];
    let text = document(&s, &runs.iter().collect::<Vec<_>>());
    let d: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        d.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["scenario", "version", "runs", "summary", "identical"]
    );
    assert_eq!((&d["runs"][1]["seed"], &d["runs"][0]["flows"][0]["group"]), (&json!(2), &json!(0)));
    assert!(d["runs"][0]["groups"]["0"].is_object());
    for metric in penstock_sim::METRICS {
        let estimate = &d["summary"][metric.name];
        assert_eq!((&estimate["mean"], &estimate["n"]), (&json!(0.5), &json!(2)));
        // Half the difference of two values times t(1).
        assert!((estimate["ci95"].as_f64().unwrap() - 12.706_204_736 / 6.0).abs() < 1e-8);
    }
}
