//! What a session shows is what the scenario that says the same gives.

use penstock_lab::{answer, Did, Lab, Session};
use penstock_scenario::Scenario;
use penstock_sim::{run, Column, Handle, Table};
use penstock_units::{Duration, Time};
use serde_json::{json, Value as Json};

const TEXT: &str = r#"
duration = "20 s"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "5 Mbit/s"
reverse_rate = "5 Mbit/s"
delay = "20 ms"
buffer = "60 packets"


[topology.access]
rate = "50 Mbit/s"
delay = "2 ms"

[aqm]
kind = "red"
min_th = 5
max_th = 15
ecn = true

[[traffic]]
kind = "ftp"
flows = 4
ecn = "classic"

[[traffic]]
kind = "cbr"
rate = "100 kbit/s"
packet = "500 B"
"#;
const SAMPLE: Duration = Duration::from_millis(20);

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "lab.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// The lengths of the queue, by sample.
fn queue(tables: &[Table]) -> Vec<u64> {
    let of = |t: &Table| match &t.columns[1].1 {
        Column::U64(pkts) => pkts.clone(),
        _ => panic!("packets"),
    };
    tables.iter().filter(|t| t.name == "queue").flat_map(of).collect()
}

/// The same of a run of the whole scenario.
fn native(text: &str) -> Vec<u64> {
    let scenario = scenario(text);
    let mut config = scenario.lower(scenario.seed()).unwrap();
    config.record.series = Some(SAMPLE);
    let mut pkts = queue(&run(&config, &Handle::default()).unwrap().series);
    pkts.pop(); // at the end itself, which no step comes to
    pkts
}

#[test]
fn a_change_of_the_rate_is_a_schedule() {
    let mut session = Session::new(scenario(TEXT), SAMPLE).unwrap();
    let before = queue(&session.advance(at(8)).unwrap());
    assert_eq!(session.set("topology.bottleneck.rate", "2 Mbit/s").unwrap(), Did::Again);
    assert_eq!(session.now(), Time::ZERO);
    let again = queue(&session.advance(at(8)).unwrap());
    assert_eq!(before, again, "nothing changes before the change");
    let after = queue(&session.advance(at(20)).unwrap());
    let step = "schedule = [{ at = \"8 s\", rate = \"2 Mbit/s\" }]\nbuffer";
    let whole = native(&TEXT.replace("buffer", step));
    assert!([again, after].concat() == whole);
}

#[test]
fn fewer_flows_are_flows_that_stop() {
    let mut session = Session::new(scenario(TEXT), SAMPLE).unwrap();
    session.advance(at(8)).unwrap();
    assert_eq!(session.set("traffic.0.flows", "1").unwrap(), Did::Again);
    let shown = queue(&session.advance(at(20)).unwrap());
    let late = &shown[600..];
    assert!(late.iter().sum::<u64>() > 0, "the one that is left fills the queue now and then");
    // More of them again: two start at 20 s.
    assert_eq!(session.set("traffic.0.flows", "3").unwrap(), Did::Again);
    assert_eq!(session.config().flows.len(), 4 + 2 + 1);
    let groups: Vec<u32> = session.config().flows.iter().map(|f| f.group).collect();
    assert_eq!(groups, [0, 0, 0, 0, 0, 0, 1], "in the order of the groups");
    assert_eq!(shown, queue(&session.advance(at(20)).unwrap()));
}

#[test]
fn other_parameters_act_at_once_and_stay_when_it_is_worked_out_again() {
    let mut session = Session::new(scenario(TEXT), SAMPLE).unwrap();
    let first = queue(&session.advance(at(5)).unwrap());
    assert_eq!(session.set("aqm.max_th", "50").unwrap(), Did::Now);
    assert_eq!(session.set("aqm.min_th", "30").unwrap(), Did::Now);
    assert_eq!(session.set("topology.bottleneck.buffer", "90 packets").unwrap(), Did::Now);
    assert_eq!(session.now(), at(5));
    let second = queue(&session.advance(at(10)).unwrap());
    let mean = |q: &[u64]| q.iter().sum::<u64>() as f64 / q.len() as f64;
    assert!(mean(&second) > 1.5 * mean(&first), "{} {}", mean(&first), mean(&second));
    assert_eq!(session.set("topology.bottleneck.rate", "4 Mbit/s").unwrap(), Did::Again);
    assert_eq!(queue(&session.advance(at(10)).unwrap()), [first, second].concat());
}

#[test]
fn all_else_begins_anew_and_a_refusal_changes_nothing() {
    let mut session = Session::new(scenario(TEXT), SAMPLE).unwrap();
    session.advance(at(1)).unwrap();
    let refused = session.set("aqm.min_th", "40").unwrap_err();
    assert!(refused.contains("min_th") && refused.contains("max_th"), "{refused}");
    assert!(session.set("aqm.nonsense", "1").is_err());
    assert_eq!(session.now(), at(1));
    assert_eq!(session.set("topology.bottleneck.delay", "50 ms").unwrap(), Did::Anew);
    assert_eq!(session.now(), Time::ZERO);
    let want = native(&TEXT.replace("20 ms", "50 ms"));
    assert!(queue(&session.advance(at(20)).unwrap()) == want);
}

fn asked(lab: &mut Lab, request: &Json) -> Json {
    let said = answer(lab, request.to_string().as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&said).unwrap()
}

#[test]
fn the_form_comes_from_the_declarations() {
    let mut lab = Lab::default();
    let open = json!({ "do": "open", "toml": TEXT, "sample_s": 0.02 });
    assert_eq!(asked(&mut lab, &open)["session"], 0);
    let told = asked(&mut lab, &json!({ "do": "describe", "session": 0 }));
    let groups = told["controls"].as_array().unwrap();
    let paths: Vec<_> = groups.iter().map(|g| g["path"].as_str().unwrap()).collect();
    let all = ["aqm", "topology.bottleneck", "topology.access", "traffic.0", "traffic.1"];
    assert_eq!(paths, all);
    let keys = groups[0]["keys"].as_array().unwrap();
    let key = |name: &str| keys.iter().find(|k| k["name"] == name).unwrap();
    let (max_p, gate) = (key("max_p"), key("gate"));
    assert_eq!(
        (&max_p["min"], &max_p["max"], &max_p["value"]),
        (&json!(0.0), &json!(1.0), &json!(0.1))
    );
    assert!(!max_p["doc"].as_str().unwrap().is_empty());
    assert_eq!(gate["words"], json!(["uniform", "wait", "geometric", "drawn"]));
    assert_eq!(key("w_q")["value"], "auto");
    let numbers = lab.advance(0, 1.0).unwrap();
    assert_eq!((numbers[0], numbers[1]), (1.0, 0.0));
    asked(&mut lab, &json!({ "do": "close", "session": 0 }));
    assert!(lab.advance(0, 2.0).is_err());
    // Its place is used again.
    assert_eq!(asked(&mut lab, &open)["session"], 0);
}

#[test]
fn the_text_that_it_gives_reads_back() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/tests/documents");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let name = path.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let scenario = Scenario::from_toml(&text, &name).unwrap();
            let written = scenario.to_toml();
            let again =
                Scenario::from_toml(&written, &name).unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(again.source(), scenario.source(), "{written}");
            seen += 1;
        }
    }
    assert_eq!(seen, 50);
}
