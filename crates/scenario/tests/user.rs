//! Disciplines of a user's own in a scenario: where they stand, what is told of them, how they end
//! a run.

use penstock_aqm::{Aqm, Common, Packet, Queue, Reason, Verdict};
use penstock_scenario::Scenario;
use penstock_sim::{run, AqmConfig, Handle, SimError, Start, UserAqm};
use penstock_units::param::{Param, Params as _, Value, Values, PARAM, REQUIRED, WHOLE};
use penstock_units::{Rng, Time};

const FILE: &str = r#"
duration = "5 s"
[topology]
bottleneck = { rate = "1.5 Mbit/s", delay = "10 ms", buffer = 20 }
[aqm]
kind = "red"
min_th = 5
ecn = true
[[traffic]]
kind = "ftp"
flows = 3
[sweep]
"aqm.kind" = ["red", "droptail"]
"#;

/// Drops every packet that finds `limit` waiting; gives up after `patience` packets.
struct Limit {
    limit: u32,
    patience: Option<u32>,
    abort: penstock_sim::Abort,
}

impl Aqm for Limit {
    fn arrive(&mut self, _: Time, _: &Packet, q: &Queue, _: &mut Rng) -> Verdict {
        if let Some(patience) = &mut self.patience {
            *patience = patience.saturating_sub(1);
            if *patience == 0 {
                self.abort.raise("out of patience");
            }
        }
        if q.pkts >= self.limit {
            Verdict::Drop(Reason::Early)
        } else {
            Verdict::Pass
        }
    }
}

fn limit(limit: u32, patience: Option<u32>) -> UserAqm {
    UserAqm::new("rust:limit", move |start: Start<'_>| {
        assert_eq!((start.link, Common::read(start.values).ecn), ("bottleneck", true));
        Ok(Box::new(Limit { limit, patience, abort: start.abort.clone() }))
    })
}

fn file() -> Scenario {
    Scenario::from_toml(FILE, "user.toml").unwrap()
}

/// A full buffer of 7 and a limit of 7 drop the same packets, for another reason.
#[test]
fn it_decides() {
    let own = file().with_user_aqm(limit(7, None)).unwrap();
    let tail =
        file().set_all(&[("aqm.kind", "droptail"), ("topology.bottleneck.buffer", "7")]).unwrap();
    let result = |s: &Scenario| {
        let result = run(&s.lower(1).unwrap(), &Handle::default()).unwrap();
        let metric = |name| {
            let i = penstock_sim::METRICS.iter().position(|m| m.name == name).unwrap();
            result.metrics[i].unwrap()
        };
        let (early, overflow) = (metric("drops_early"), metric("drops_overflow"));
        (early, overflow, metric("departures"), metric("goodput_bps"), metric("queue_mean_pkts"))
    };
    let (a, b) = (result(&own), result(&tail));
    assert!(a.0 > 10.0 && a.1 == 0.0, "{a:?}");
    assert_eq!((a.0, a.2, a.3, a.4), (b.1, b.2, b.3, b.4));
}

#[test]
fn naming_a_kind_puts_it_away() {
    let own = file().with_user_aqm(limit(7, None)).unwrap();
    let kinds = |s: &Scenario| {
        let config = s.lower(1).unwrap();
        assert_eq!(s.resolved()["aqm"]["kind"], config.links[0].aqm.name());
        assert_eq!(
            s.has_user_aqm(),
            config.links.iter().any(|l| matches!(l.aqm, AqmConfig::User(_)))
        );
        config.links.iter().map(|l| l.aqm.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&own), ["rust:limit", "droptail"]);
    assert_eq!(
        kinds(&own.with_user_reverse_aqm(limit(9, None)).unwrap()),
        ["rust:limit", "rust:limit"]
    );
    assert_eq!(kinds(&own.set("duration", "7 s").unwrap()), ["rust:limit", "droptail"]);
    assert_eq!(kinds(&own.set("aqm.reverse.kind", "ared").unwrap()), ["rust:limit", "ared"]);
    assert_eq!(kinds(&own.set("aqm.kind", "ared").unwrap()), ["ared", "droptail"]);
    assert_eq!(kinds(&own.with_aqm("red").unwrap()), ["red", "droptail"]);
    assert_eq!(own.with_aqm("red").unwrap().resolved(), file().resolved());
    assert_eq!(kinds(&own.point(None, &[]).unwrap()), ["rust:limit", "droptail"]);
    assert_eq!(
        kinds(&own.point(None, &[("aqm.kind", &"ared".into())]).unwrap()),
        ["ared", "droptail"]
    );
}

/// Of [aqm] only the keys of every kind are in force, and none of DropTail's habits under profile
/// ns-2.
#[test]
fn it_takes_the_keys_of_every_kind() {
    let own = file().set("profile", "ns-2").unwrap().with_user_aqm(limit(7, None)).unwrap();
    let aqm = &own.resolved()["aqm"];
    assert_eq!((&aqm["ecn"], &aqm["count_in_service"]), (&true.into(), &false.into()));
    assert!(aqm.get("min_th").is_none());
    assert!(
        own.set("aqm.count_in_service", "true").unwrap().lower(1).unwrap().links[0]
            .count_in_service
    );
}

#[test]
fn it_may_end_the_run() {
    for patience in [1, 100] {
        let config = file().with_user_aqm(limit(7, Some(patience))).unwrap().lower(1).unwrap();
        let control = Handle::default();
        assert_eq!(run(&config, &control), Err(SimError::Aborted("out of patience".into())));
        assert_eq!(control.abort.take().unwrap().to_string(), "out of patience");
    }
    let refuses = UserAqm::new("rust:refuses", |_| Err("no such trace".into()));
    let config = file().with_user_aqm(refuses).unwrap().lower(1).unwrap();
    assert_eq!(run(&config, &Handle::default()), Err(SimError::Aborted("no such trace".into())));
}

const KEYS: &[Param] = &[
    Param { name: "ceiling", ty: WHOLE, default: Some("7"), ..PARAM },
    Param { name: "burst", ty: WHOLE, auto: "none", ..PARAM },
];

fn with_keys(params: &'static [Param]) -> UserAqm {
    let refused = vec![("odd".into(), "is odd".into())];
    limit(7, None).declaring(params, refused, |values: &Values| match values.get("ceiling") {
        Some(Value::Int(n)) if *n > 0 => Ok(limit(*n as u32, None)),
        other => Err(format!("no such limit: {other:?}").into()),
    })
}

/// What it declares are keys of [aqm]: of the file, of changes, of [sweep] and its ranges.
#[test]
fn its_parameters_are_keys() {
    let own = file().with_user_aqm(with_keys(KEYS)).unwrap();
    let aqm = |s: &Scenario| s.resolved()["aqm"].clone();
    assert_eq!((&aqm(&own)["ceiling"], &aqm(&own)["burst"]), (&7.into(), &serde_json::Value::Null));
    let nine = own.set("aqm.ceiling", "9").unwrap();
    assert_eq!(aqm(&nine)["ceiling"], 9);
    assert_eq!(nine.lower(1).unwrap().links[0].aqm_values.get("ceiling"), Some(&Value::Int(9)));
    let early = |s: &Scenario| {
        let result = run(&s.lower(1).unwrap(), &Handle::default()).unwrap();
        let i = penstock_sim::METRICS.iter().position(|m| m.name == "drops_early").unwrap();
        result.metrics[i].unwrap()
    };
    assert!(early(&own) > 0.0);
    assert_eq!(early(&nine), early(&file().with_user_aqm(limit(9, None)).unwrap()));
    let said = file().with_user_aqm_set(with_keys(KEYS), &[("ceiling", "9")]).unwrap();
    assert_eq!(aqm(&said), aqm(&nine));
    let swept =
        own.set_all(&[("sweep.aqm.ceiling", "{ integer = [2, 5] }"), ("sweep.samples", "3")]);
    let swept = swept.unwrap();
    assert_eq!(swept.ranges()[0].at(1.0), 5);
    assert_eq!(aqm(&swept.point(None, &[("aqm.ceiling", &3.into())]).unwrap())["ceiling"], 3);
    // Under a kind they are keys of another discipline: known, and not used.
    assert_eq!(aqm(&nine.with_aqm("red").unwrap()), aqm(&file()));
    let text = FILE.replace("min_th = 5", "min_th = 5\nceiling = 4");
    assert!(Scenario::from_toml(&text, "user.toml").is_err());
    let known = Scenario::from_toml_with(&text, "user.toml", &[], &[with_keys(KEYS)]).unwrap();
    assert_eq!(aqm(&known), aqm(&file()));
    assert_eq!(aqm(&known.with_user_aqm(with_keys(KEYS)).unwrap())["ceiling"], 4);
}

#[test]
fn what_is_wrong_with_a_parameter_is_said() {
    const NEEDED: &[Param] = &[Param { name: "ceiling", ty: WHOLE, auto: REQUIRED, ..PARAM }];
    let own = file().with_user_aqm(with_keys(KEYS)).unwrap();
    let said = |s: Result<Scenario, _>| {
        s.map_err(|e: penstock_scenario::ScenarioError| e.to_string()).unwrap_err()
    };
    for (path, value, message) in [
        ("aqm.ceiling", "2.5", "aqm.ceiling = 2.5: must be a whole number"),
        ("aqm.ceilin", "2", "aqm.ceilin: unknown key; nearest: ceiling"),
        ("aqm.odd", "2", "aqm.odd: is odd"),
        ("aqm.ceiling", "0", "aqm: no such limit: Some(Int(0))"),
        ("aqm.reverse.ceiling", "2.5", "aqm.reverse.ceiling = 2.5: must be a whole number"),
    ] {
        let error = said(own.set(path, value));
        assert!(error.contains(message), "{error}");
    }
    let error = said(file().with_user_aqm(with_keys(NEEDED)));
    assert!(error.contains("aqm.ceiling: is required: a whole number"), "{error}");
}
